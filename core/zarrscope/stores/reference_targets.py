"""The files to which the references of a reference file lead, as file systems of fsspec: here, on the web, in buckets.

Web servers are read by HTTPStore and buckets by ObjectStore, not by fsspec's file systems. Those for the web do not
repeat requests that a busy server refuses, and take a part for the requested one without looking. Those for buckets
keep the credentials of their first use as long as the process lives, even after these expired. They read buckets only
if the option `backend` asks for it, or obstore is not installed.
"""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, TypeVar

from zarrscope.errors import Refused, Unreadable, ZarrscopeError
from zarrscope.errors.confidential import public
from zarrscope.model.storage import ByteRange
from zarrscope.stores.address_options import BUCKETS
from zarrscope.stores.fsspec_logins import file_system_logins, file_system_options
from zarrscope.stores.http import HTTPStore
from zarrscope.stores.network import SETTINGS, Network
from zarrscope.stores.object_store import ObjectStore
from zarrscope.stores.remote import loop

WEB = frozenset({"http", "https"})
_HERE = (None, "file", "local")
_FILES_HELD = 1024
"""Web files whose HTTPStore is kept, with what it knows of the answers of its server."""
_BUCKETS_HELD = 64
"""Buckets whose ObjectStore is kept, with the credentials that the service accepts."""

T = TypeVar("T")


class Targets(dict[str | None, Any]):
    """The file systems by protocol. Each is made when it is first needed.

    `in_bucket` returns the file system for a bucket's scheme, `check` the path of a local file that may be read.
    """

    def __init__(
        self, url: str, settings: Network, in_bucket: Callable[[str], Any], check: Callable[[str], str]
    ) -> None:
        super().__init__()
        self._url, self._network, self._in_bucket, self._check = url, settings, in_bucket, check

    def __missing__(self, protocol: str | None) -> object:
        if protocol in _HERE:
            found: object = LocalFiles(self._check)
        elif protocol in WEB:
            found = WebFiles(self._network)
        elif protocol in BUCKETS:
            found = self._in_bucket(str(protocol))
        else:
            raise Refused(
                f"The reference file refers to an address with {protocol}://, which references may not use",
                store=self._url,
                advice="References may lead to web servers, buckets and files.",
            )
        self[protocol] = found
        return found


class LocalFiles:
    """A file system of the files of this computer to which references may lead (`check`)."""

    async_impl = True

    def __init__(self, check: Callable[[str], str]) -> None:
        self._check = check

    async def _cat_file(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        with open(self._check(path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            first, last, _ = slice(start, end).indices(size)
            file.seek(first)
            return file.read(max(0, last - first))

    async def _size(self, path: str) -> int:
        return os.stat(self._check(path)).st_size


class StoredFiles(ABC):
    """A file system of files elsewhere, each of which is a value of one of our stores. A missing file raises
    FileNotFoundError, everything else as the store."""

    async_impl = True

    def __init__(self, settings: Network) -> None:
        # A denied file is not treated as absent, whatever the user allows: a reference says that it exists.
        self._network = Network(**{name: getattr(settings, name) for name in SETTINGS if name != "missing_is_fill"})

    @abstractmethod
    def place(self, path: str) -> tuple[HTTPStore | ObjectStore, str]:
        """The store of a file, and its key there."""

    @abstractmethod
    def isdir(self, path: str) -> bool:
        """Whether a path is that of a folder with references in parquet, as far as the service can tell."""

    async def _cat_file(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        with _named(path):
            store, key = self.place(path)
            return _present(await self._on_its_loop(store._fetch(key, _part(start, end), None)), path)

    async def _size(self, path: str) -> int:
        with _named(path):
            store, key = self.place(path)
            return _present(await self._on_its_loop(store._size(key)), path)

    async def _on_its_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits `work` on the event loop of our stores, which has the connections."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop()))

    # ------------------------------------------------------------------ for references in parquet
    def cat_file(self, path: str) -> bytes:
        """The whole file. It blocks, so it must not be called on the event loop of our stores."""
        with _named(path):
            store, key = self.place(path)
            return _present(store._get(key, None), path)

    def unstrip_protocol(self, path: str) -> str:
        """The path itself, which is a whole URL already."""
        return path


class WebFiles(StoredFiles):
    """The files on web servers. Each is a store of its own, with one value."""

    def __init__(self, settings: Network) -> None:
        super().__init__(settings)
        self._store = lru_cache(_FILES_HELD)(lambda path: HTTPStore(path, self._network))

    def place(self, path: str) -> tuple[HTTPStore, str]:
        return self._store(path), ""

    def isdir(self, path: str) -> bool:
        return False  # only the name of the folder tells


class BucketFiles(StoredFiles):
    """The files in buckets. `options`: as for the address of a bucket."""

    def __init__(self, settings: Network, options: Mapping[str, Any]) -> None:
        super().__init__(settings)
        limits = {name: getattr(self._network, name) for name in SETTINGS}
        self._store = lru_cache(_BUCKETS_HELD)(lambda bucket: ObjectStore(bucket, **{**options, **limits}))

    def place(self, path: str) -> tuple[ObjectStore, str]:
        scheme, _, rest = path.partition("://")
        bucket, _, key = rest.partition("/")
        return self._store(f"{scheme}://{bucket}"), key

    def isdir(self, path: str) -> bool:
        store, key = self.place(f"{path.rstrip('/')}/.zmetadata")
        return store._get(key, None) is not None


def bucket_files(scheme: str, settings: Network, options: Mapping[str, Any]) -> object:
    """The file system for the addresses of a bucket's scheme."""
    if options.get("backend", "obstore") != "fsspec" and find_spec("obstore") is not None:
        return BucketFiles(settings, {name: value for name, value in options.items() if name != "backend"})
    import fsspec
    from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper

    logins = file_system_logins(scheme, options)
    # With several credentials to try, the file system takes those that it finds itself.
    told = logins[0].options if len(logins) == 1 else file_system_options(scheme, options)
    # fsspec would return the file system of an earlier hierarchy, whose credentials may have expired.
    found = fsspec.filesystem(scheme, skip_instance_cache=True, **told)
    return found if found.async_impl else AsyncFileSystemWrapper(found)


def _present(found: T | None, path: str) -> T:
    if found is None:
        raise FileNotFoundError(path)
    return found


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Errors of reading a file name it in their message: their store and key will be those of the reference."""
    try:
        yield
    except ZarrscopeError as error:
        error.message = f"{error.message}; the reference leads to {public(path)}"
        error.store = error.key = None
        raise


def _part(start: int | None, end: int | None) -> ByteRange | None:
    if start is not None and start < 0:
        return ByteRange.last(-start)
    if start is None and end is None:
        return None
    return ByteRange(start or 0, None if end is None else max(0, end - (start or 0)))


def gone(path: str) -> Unreadable:
    """The error for a reference that leads to a missing file."""
    return Unreadable(
        f"The reference file refers to {public(path)!r}, which is not there",
        advice="The data may have moved since the reference file was made: ask for a newer one.",
    )


__all__ = ["WEB", "LocalFiles", "Targets", "WebFiles", "bucket_files", "gone"]
