"""The files to which the references of a reference file lead, as file systems of fsspec: here, on the web, in buckets.

Web servers are read by HTTPStore, not by fsspec's file system: that one does not repeat requests that a busy server
refuses, and takes a part for the requested one without looking.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from functools import lru_cache
from typing import Any, TypeVar

from zarrscope.errors import Refused, Unreadable, ZarrscopeError
from zarrscope.errors.confidential import public
from zarrscope.model.storage import ByteRange
from zarrscope.stores.address_options import BUCKETS
from zarrscope.stores.http import HTTPStore
from zarrscope.stores.network import SETTINGS, Network
from zarrscope.stores.remote import loop

WEB = frozenset({"http", "https"})
_HERE = (None, "file", "local")
_FILES_HELD = 1024
"""Web files whose HTTPStore is kept, with what it knows of the answers of its server."""

T = TypeVar("T")


class Targets(dict[str | None, Any]):
    """The file systems by protocol. Each is made when it is first needed.

    `options_of` returns the options of the file system for a bucket, `check` the path of a local file that may be read.
    """

    def __init__(
        self, url: str, settings: Network, options_of: Callable[[str], dict[str, Any]], check: Callable[[str], str]
    ) -> None:
        super().__init__()
        self._url, self._network, self._options_of, self._check = url, settings, options_of, check

    def __missing__(self, protocol: str | None) -> Any:
        import fsspec
        from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper

        if protocol in _HERE:
            found: Any = LocalFiles(self._check)
        elif protocol in WEB:
            found = WebFiles(self._network)
        elif protocol in BUCKETS:
            found = fsspec.filesystem(protocol, **self._options_of(str(protocol)))
            if not found.async_impl:
                found = AsyncFileSystemWrapper(found)
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


class WebFiles:
    """A file system of files on web servers. A missing file raises FileNotFoundError, everything else as HTTPStore."""

    async_impl = True

    def __init__(self, settings: Network) -> None:
        # A denied file is not treated as absent, whatever the user allows: a reference says that it exists.
        network = Network(**{name: getattr(settings, name) for name in SETTINGS if name != "missing_is_fill"})
        self._file = lru_cache(_FILES_HELD)(lambda path: HTTPStore(path, network))

    async def _cat_file(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        return await self._on_its_loop(path, self._file(path)._fetch("", _part(start, end), None))

    async def _size(self, path: str) -> int:
        return await self._on_its_loop(path, self._file(path)._size(""))

    async def _on_its_loop(self, path: str, work: Coroutine[Any, Any, T | None]) -> T:
        """Awaits `work` on the event loop of HTTPStore, which has the connections."""
        try:
            found = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop()))
        except ZarrscopeError as error:
            raise _about(error, path) from error.__cause__
        if found is None:
            raise FileNotFoundError(path)
        return found

    # ------------------------------------------------------------------ for references in parquet
    def cat_file(self, path: str) -> bytes:
        """The whole file. Waits, on any thread but that of HTTPStore."""
        try:
            value = self._file(path)._get("", None)
        except ZarrscopeError as error:
            raise _about(error, path) from error.__cause__
        if value is None:
            raise FileNotFoundError(path)
        return value

    def unstrip_protocol(self, path: str) -> str:
        """The path itself, which is a whole URL already."""
        return path


def _about(error: ZarrscopeError, path: str) -> ZarrscopeError:
    """The error, which names the file in its message: its store and key will be those of the reference."""
    error.message = f"{error.message}; the reference leads to {public(path)}"
    error.store = error.key = None
    return error


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


__all__ = ["WEB", "LocalFiles", "Targets", "WebFiles", "gone"]
