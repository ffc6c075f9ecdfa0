"""The engines that read and write buckets and databases, used as their documentation says; see engines.py.

An address is that of zarrscope: s3://bucket/store?endpoint=…; sqlite:///path, lmdb:///path.
"""

from __future__ import annotations

import json
import selectors
import socket
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from bench.engines import TensorStore, Zarr2, Zarr3

AT_ONCE = 128
"""The number of concurrent requests, for engines with such a setting."""


def _told(address: str) -> tuple[str, str, str]:
    """(bucket, key, endpoint)."""
    parts = urlsplit(address)
    return parts.netloc, parts.path.strip("/"), parse_qs(parts.query)["endpoint"][0]


class TensorStoreS3(TensorStore):
    """tensorstore with 128 concurrent requests."""

    def __init__(self) -> None:
        super().__init__()
        shared = {"s3_request_concurrency": {"limit": AT_ONCE}, "aws_credentials": {"type": "anonymous"}}
        self.context = self.library.Context(shared)

    def _place(self, address: str) -> dict[str, Any]:
        bucket, key, endpoint = _told(address)
        return {"driver": "s3", "bucket": bucket, "path": f"{key}/", "endpoint": endpoint, "aws_region": "us-east-1"}

    def open(self, path: str, node: str) -> Any:
        driver = "zarr" if "v2" in path else "zarr3"
        spec = {"driver": driver, "kvstore": self._place(path)}
        return self.library.open(spec, open=True, read=True, context=self.context).result()

    def create(self, path: str, plan: dict[str, Any]) -> Any:
        place = self._place(path)
        grid = {"name": "regular", "configuration": {"chunk_shape": plan["chunks"]}}
        metadata = {"shape": plan["shape"], "data_type": "uint16", "chunk_grid": grid, "codecs": plan["codecs"]}
        kvstore = {**place, "path": f"{place['path']}a/"}
        spec = {"driver": "zarr3", "metadata": {**metadata, "fill_value": 0}, "kvstore": kvstore}
        return self.library.open(spec, create=True, context=self.context).result()


class _Zarr3Bucket(Zarr3, ABC):
    def __init__(self) -> None:
        super().__init__()
        self.library.config.set({"async.concurrency": AT_ONCE})

    @abstractmethod
    def _store(self, address: str, *, writes: bool) -> Any: ...

    def open(self, path: str, node: str) -> Any:
        return self.library.open_array(self._store(path, writes=False), path=node or "", mode="r")

    def create(self, path: str, plan: dict[str, Any]) -> Any:
        return super().create(self._store(path, writes=True), plan)


class Zarr3Obstore(_Zarr3Bucket):
    packages: ClassVar = ("zarr", "obstore")

    def _store(self, address: str, *, writes: bool) -> Any:
        from obstore.store import S3Store

        bucket, key, endpoint = _told(address)
        store = S3Store(
            bucket, prefix=key, endpoint=endpoint, region="us-east-1", skip_signature=True,
            client_options={"allow_http": True},
        )  # fmt: skip
        return self.library.storage.ObjectStore(store, read_only=not writes)


class Zarr3Fsspec(_Zarr3Bucket):
    packages: ClassVar = ("zarr", "s3fs")

    def _store(self, address: str, *, writes: bool) -> Any:
        bucket, key, endpoint = _told(address)
        options = {"anon": True, "endpoint_url": endpoint, "config_kwargs": {"max_pool_connections": AT_ONCE}}
        return self.library.storage.FsspecStore.from_url(
            f"s3://{bucket}/{key}", storage_options=options, read_only=not writes
        )


@dataclass(frozen=True)
class _Values:
    """The location of an array's values, and the array's metadata."""

    place: str
    shape: tuple[int, ...]
    pieces: tuple[int, ...]
    """The shape of the values that one key stores."""
    separator: str
    prefix: str


class Wire:
    """Plain sockets: fetches the document of an array and then the values that a selection crosses, without decoding.

    It is a lower bound for every reader of this server, and would not do as one: it neither signs nor encrypts nor
    repeats requests, and it knows the server's answers.
    """

    packages: ClassVar = ()

    def __init__(self) -> None:
        self._idle: list[socket.socket] = []
        """Connections that are open and not used."""

    def open(self, path: str, node: str) -> _Values:
        bucket, key, endpoint = _told(path)
        self._server = urlsplit(endpoint)
        place, new = f"/{bucket}/{key}", "v2" not in path
        (text,) = self._fetched([f"{place}/{'zarr.json' if new else '.zarray'}"])
        document = json.loads(text)
        pieces = document["chunk_grid"]["configuration"]["chunk_shape"] if new else document["chunks"]
        separator = "/" if new else document.get("dimension_separator", ".")
        return _Values(place, tuple(document["shape"]), tuple(pieces), separator, "c/" if new else "")

    def read(self, array: _Values, selection: tuple[Any, ...]) -> Any:
        crossed = []
        for chosen, length, piece in zip(selection, array.shape, array.pieces, strict=True):
            first, stop = (chosen, chosen + 1) if isinstance(chosen, int) else chosen.indices(length)[:2]
            crossed.append(range(first // piece, -(-stop // piece)))
        keys = [array.prefix + array.separator.join(map(str, index)) for index in product(*crossed)]
        return self._fetched([f"{array.place}/{key}" for key in keys])

    def _fetched(self, paths: list[str]) -> list[bytearray]:
        """The values at these paths, in order of arrival: each by a connection of its own."""
        while len(self._idle) < len(paths):
            made = socket.create_connection((self._server.hostname, self._server.port))
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            made.setblocking(False)
            self._idle.append(made)
        found: list[bytearray] = []
        with selectors.DefaultSelector() as selector:
            for connection, path in zip(self._idle, paths, strict=False):
                connection.send(f"GET {path} HTTP/1.1\r\nHost: {self._server.netloc}\r\n\r\n".encode())
                selector.register(connection, selectors.EVENT_READ, _Answer())
            while len(found) < len(paths):
                for ready, _ in selector.select():
                    if ready.data.receive(ready.fileobj):
                        selector.unregister(ready.fileobj)
                        found.append(ready.data.body)
        return found


class _Answer:
    """An answer that is being received."""

    def __init__(self) -> None:
        self.body = bytearray()
        self._came = -1

    def receive(self, connection: socket.socket) -> bool:
        """Receives what has arrived. Returns whether that is all."""
        if self._came >= 0:
            self._came += connection.recv_into(memoryview(self.body)[self._came :])
        else:
            head, _, rest = connection.recv(1 << 17).partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200 "):
                raise RuntimeError(f"The server answered {head[:80]!r}")
            self.body = bytearray(int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0]))
            self.body[: len(rest)] = rest
            self._came = len(rest)
        return self._came == len(self.body)


class Zarr2Database(Zarr2):
    """zarr-python 2.18 with its SQLite and LMDB stores."""

    def __init__(self) -> None:
        super().__init__()
        self._stores: dict[str, Any] = {}
        """A process may open an LMDB environment only once."""

    def open(self, path: str, node: str) -> Any:
        scheme, _, place = path.partition("://")
        if path not in self._stores and scheme == "lmdb":
            self._stores[path] = self.library.LMDBStore(place, readonly=True, lock=False)
        elif path not in self._stores:
            self._stores[path] = self.library.SQLiteStore(place)
        return self.library.open_array(self._stores[path], path=node, mode="r")
