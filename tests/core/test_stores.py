"""Every store and wrapper runs the store contract and a state machine that compares it with a dict."""

from __future__ import annotations

import io
import itertools
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from contracts.http_server import WebServer, web_server
from contracts.store import Reading, Writing, machine
from temporary import new_folder
from zarrscope.stores.dry_run import DryRunStore
from zarrscope.stores.fsspec import FsspecStore
from zarrscope.stores.http import HTTPStore
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import Counting, Faults, Gate, Latency, PrefixStore, ReadOnlyStore, Wrapper
from zarrscope.stores.zip.ranges import RemoteFile
from zarrscope.stores.zip.store import ZipStore


class PlainLocalStore(LocalStore):
    """LocalStore as on a system without pread, folder locks, lookups relative to a folder, and unnamed files."""

    _nameless = False
    _positional = False
    _by_handle = False
    _lock_on_folder = False


class DerivedStore(MemoryStore):
    """A backend that defines only get, set, erase and list; all other operations are derived."""

    _list_dir = Store._list_dir
    _list_prefix = Store._list_prefix
    _erase_prefix = Store._erase_prefix


class DerivedFromLevels(MemoryStore):
    """A backend that can list only one level."""

    _list = Store._list
    _list_prefix = Store._list_prefix
    _erase_prefix = Store._erase_prefix


NUMBERS = itertools.count()


def bucket(memory: Any, *, plain: bool) -> Any:
    from fsspec.asyn import AsyncFileSystem

    class Bucket(AsyncFileSystem):  # type: ignore[misc]  # fsspec has no types
        cachable = False

        async def _info(self, path: str, **kwargs: Any) -> Any:
            return memory.info(path)

        async def _ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
            return memory.ls(path, detail=detail)

        async def _cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any) -> Any:
            if memory.isdir(path):
                raise FileNotFoundError(path)
            size = memory.info(path)["size"]
            if start is not None and start < 0 and plain:
                raise ValueError("no negative start")
            if start is not None and start >= size > 0:
                raise OSError("416")
            return memory.cat_file(path, start, end)

    return Bucket()


def opened_gate(store: Store) -> Gate:
    gate = Gate(store)
    gate.release()
    return gate


WRAPPED = {
    "wrapper": Wrapper,
    "counting": Counting,
    "gate": opened_gate,
    "latency": lambda store: Latency(store, 1.0, wait=lambda seconds: None),
    "faults": lambda store: Faults(store),
    "part": lambda store: PrefixStore(store, "in/here/"),
    "dry run": DryRunStore,
    "dry run of a dry run": lambda store: DryRunStore(DryRunStore(store)),
    "part of part": lambda store: PrefixStore(PrefixStore(store, "in/"), "here/"),
}


class TestMemory(Writing):
    def empty(self) -> Store:
        return MemoryStore()


class TestDerived(Writing):
    def empty(self) -> Store:
        return DerivedStore()


class TestDerivedFromLevels(Writing):
    def empty(self) -> Store:
        return DerivedFromLevels()


class TestFsspec(Reading):
    """A file system of fsspec that is not asynchronous."""

    def filled(self, values: Mapping[str, bytes]) -> Store:
        store = FsspecStore(f"memory://bucket{next(NUMBERS)}/x.zarr")
        for key, value in values.items():
            store._filesystem.pipe_file(f"{store._root}/{key}", value)
        return store


class TestAsynchronousFsspec(TestFsspec):
    """An asynchronous file system, which fails as those of buckets do: for ranges beyond the end and, if `plain`, for
    ranges from the end."""

    @pytest.fixture(autouse=True, params=[False, True])
    def _plain(self, request: pytest.FixtureRequest) -> None:
        self.plain: bool = request.param

    def filled(self, values: Mapping[str, bytes]) -> Store:
        store = super().filled(values)
        assert isinstance(store, FsspecStore)
        store._filesystem = bucket(store._filesystem, plain=self.plain)
        return store


class TestLocal(Writing):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def empty(self) -> Store:
        return LocalStore(self.folder / "x.zarr")


class TestPlainLocal(TestLocal):
    def empty(self) -> Store:
        return PlainLocalStore(self.folder / "x.zarr", sync=False)


class TestWrapped(Writing):
    @pytest.fixture(autouse=True, params=list(WRAPPED))
    def _wrapper(self, request: pytest.FixtureRequest) -> None:
        self.wrap: Any = WRAPPED[request.param]

    def empty(self) -> Store:
        store: Store = self.wrap(MemoryStore())
        return store


class TestWrappedLocal(TestLocal):
    def empty(self) -> Store:
        return Counting(PrefixStore(LocalStore(self.folder / "x.zarr"), "a/b/"))


class TestDryRun(Writing):
    """A dry run: the values of the store and those of the dry run appear as one store."""

    def empty(self) -> Store:
        store = MemoryStore({"old/a": b"1", "old/b/c": b"2", "zarr.json": b"3"})
        dry = DryRunStore(store)
        dry.files.move_prefix(dry, "old/", "new/here/")
        dry.erase("zarr.json")
        dry.erase_prefix("new/")
        return dry

    def filled(self, values: Mapping[str, bytes]) -> Store:
        within = {key: value for key, value in values.items() if not key.startswith("a/d")}
        dry = DryRunStore(MemoryStore({**within, "from/e": values["a/d/e"], "gone/x": b"", "a/b": b"old"}))
        dry.files.move_prefix(dry, "from/", "a/d/")
        dry.erase_prefix("gone/")
        dry.set("a/b", values["a/b"])
        return dry


class TestReadOnly(Reading):
    def filled(self, values: Mapping[str, bytes]) -> Store:
        return ReadOnlyStore(MemoryStore(values))


def zipped(values: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for key, value in values.items():
            archive.writestr(key, value)
    return file.getvalue()


class TestZip(Reading):
    method = zipfile.ZIP_STORED

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def filled(self, values: Mapping[str, bytes]) -> Store:
        path = self.folder / "x.zip"
        path.write_bytes(zipped(values, self.method))
        return ZipStore(path)


class TestDeflatedZip(TestZip):
    method = zipfile.ZIP_DEFLATED


class TestBzippedZip(TestZip):
    method = zipfile.ZIP_BZIP2


class TestWrittenZip(Writing):
    name = "x.zip"

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def empty(self) -> Store:
        return ZipStore(self.folder / self.name, writable=True, sync=False)


class TestWrittenOzx(TestWrittenZip):
    name = "new/x.ozx"


class ShortTail(RemoteFile):
    """A remote archive of which only the directory was read when it was opened."""

    def __init__(self, store: HTTPStore) -> None:
        super().__init__(store)
        self._from, self._tail = self.size, b""


class OverTheWeb(Reading):
    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        with web_server() as server:
            self.server: WebServer = server
            yield


class TestHTTP(OverTheWeb):
    def filled(self, values: Mapping[str, bytes]) -> Store:
        self.server.values.update({f"some where/x.zarr/{key}": value for key, value in values.items()})
        return HTTPStore(self.server.url + "/some where/x.zarr/", pause=0)


class TestHTTPWithoutRanges(TestHTTP):
    def filled(self, values: Mapping[str, bytes]) -> Store:
        self.server.ranges = False
        return super().filled(values)


class TestZipOverHTTP(OverTheWeb):
    def filled(self, values: Mapping[str, bytes]) -> Store:
        self.server.values["x.zip"] = zipped(values, zipfile.ZIP_DEFLATED)
        return ZipStore(RemoteFile(HTTPStore(self.server.url + "/x.zip")))


class TestZipOverHTTPWithoutRanges(TestZipOverHTTP):
    def filled(self, values: Mapping[str, bytes]) -> Store:
        self.server.ranges = False
        return super().filled(values)


class TestLongZipOverHTTP(OverTheWeb):
    """Opening the archive reads its end, which contains no value, so each value needs its own request."""

    method = zipfile.ZIP_STORED

    def filled(self, values: Mapping[str, bytes]) -> Store:
        data = zipped(values, self.method)
        with zipfile.ZipFile(file := io.BytesIO(data), "a") as archive:
            archive.comment = bytes(60_000)
        self.server.values["x.zip"] = file.getvalue()
        return ZipStore(ShortTail(HTTPStore(self.server.url + "/x.zip")))


class TestLongDeflatedZipOverHTTP(TestLongZipOverHTTP):
    method = zipfile.ZIP_DEFLATED


TestDryRunMachine = machine(lambda: DryRunStore(MemoryStore()))
TestPlainLocalMachine = machine(lambda: PlainLocalStore(new_folder(), sync=False))
TestDerivedMachine = machine(DerivedStore)
TestPrefixMachine = machine(
    lambda: PrefixStore(MemoryStore({"in/here/too/x": b"", "in/hereafter": b""}), "in/here/to/")
)
