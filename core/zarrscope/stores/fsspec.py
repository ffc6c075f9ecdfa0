"""Buckets and servers that fsspec has a file system for: s3://, gs://, abfs://, sftp://. Reading only.

Values come by fsspec's `cat_file`, by range where a range is wanted; many under way at once where the file system is
asynchronous (S3, Google, Azure), one after the other where it is not (SFTP). Listings are asked for anew each time,
never taken from fsspec's cache. Each file system fails in its own way at ranges from the end or beyond it: then the
size is asked for, and the range taken within it. A value that may not be read counts as absent, for so S3 answers those
who may not list; a place where nothing can be listed either is Unreadable.

Credentials come from where the services' own tools look for them (environment, configuration files); without any,
buckets are read anonymously. `options` go to the file system as they are.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from zarrscope.errors import Unreadable, Unsupported, ZarrscopeError
from zarrscope.store import Answer, ByteRange, Entry, Request, Store
from zarrscope.stores.remote import RemoteStore

_ABSENT = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


class FsspecStore(RemoteStore):
    """The values beneath a URL of any scheme that fsspec knows. Raises Unsupported when its package is missing."""

    listable = True

    def __init__(self, url: str, *, extra: str = "", **options: Any) -> None:
        super().__init__()
        self.url = url.rstrip("/")
        scheme = url.partition("://")[0]
        try:
            import fsspec

            with self._naming(""):
                self.files: Any
                self.files, root = fsspec.core.url_to_fs(
                    url, use_listings_cache=False, **{**_credentials(scheme), **options}
                )
        except (ImportError, ValueError) as error:
            raise Unsupported(
                f"Reading from {scheme}:// needs a package that is not installed: {error}",
                feature=f"scheme {scheme}",
                store=url,
                advice=f"Run: pip install 'zarrscope[{extra}]'" if extra else "Install what fsspec asks for.",
            ) from error
        self._root = root.rstrip("/")
        self._asks_sizes = False
        """Ranges from the end are not understood."""

    # ------------------------------------------------------------------ reading
    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        own: asyncio.AbstractEventLoop = self.files.loop
        return own

    def _path(self, key: str) -> str:
        return f"{self._root}/{key}" if key else self._root

    async def _fetch(self, key: str, part: ByteRange | None) -> bytes | None:
        cat, info = self.files._cat_file, self.files._info
        path = self._path(key)
        try:
            if part is None:
                return bytes(await cat(path))
            if part.length != 0 and (part.start is not None or not self._asks_sizes):
                try:
                    return bytes(await cat(path, **_limits(part)))
                except _ABSENT:
                    raise
                except Exception:  # beyond the end, or a range from the end that is not understood
                    self._asks_sizes = self._asks_sizes or part.start is None
            found = await info(path)
            if found["type"] != "file":
                return None
            start, stop = part.span(found["size"])
            return bytes(await cat(path, start=start, end=stop)) if stop > start else b""
        except _ABSENT:
            return None
        except Exception as error:
            raise self._failed(error, key) from error

    def _get(self, key: str, part: ByteRange | None) -> bytes | None:
        if self.files.async_impl:
            return super()._get(key, part)
        path = self._path(key)
        with self._naming(key):
            try:
                if self.files.isdir(path):
                    return None
                if part is None:
                    return bytes(self.files.cat_file(path))
                start, stop = part.span(self.files.info(path)["size"])
                return bytes(self.files.cat_file(path, start=start, end=stop)) if stop > start else b""
            except _ABSENT:
                return None

    def _get_many(self, requests: Sequence[Request], cancelled: Callable[[], bool]) -> Iterator[tuple[int, Answer]]:
        if self.files.async_impl:
            return super()._get_many(requests, cancelled)
        return Store._get_many(self, requests, cancelled)

    def size(self, key: str) -> int | None:
        """How many bytes the value has; None when absent."""
        with self._naming(key):
            try:
                found = self.files.info(self._path(key))
            except _ABSENT:
                return None
            return int(found["size"]) if found["type"] == "file" else None

    # ------------------------------------------------------------------ listing
    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        for found in self._listed(prefix, "ls"):
            name = found["name"].rstrip("/").rpartition("/")[2]
            folder = found["type"] == "directory"
            yield Entry(name, folder, None if folder else found["size"])

    def _list_prefix(self, prefix: str) -> Iterator[str]:
        for found in self._listed(prefix, "find"):
            if found["type"] == "file":
                yield found["name"].lstrip("/")[len(self._root.lstrip("/")) :].lstrip("/")

    def _listed(self, prefix: str, how: str) -> list[dict[str, Any]]:
        path = self._path(prefix.rstrip("/"))
        with self._naming(prefix):
            try:
                found = getattr(self.files, how)(path, detail=True)
            except (FileNotFoundError, NotADirectoryError):
                return []
        rows = found.values() if isinstance(found, dict) else found
        # A bucket may hold an empty object that stands for the folder itself; a file is listed as itself.
        return [row for row in rows if row["name"].strip("/") != path.strip("/")]

    # ------------------------------------------------------------------ failing
    @contextmanager
    def _naming(self, key: str) -> Iterator[None]:
        """Failures of the file system as ours."""
        try:
            yield
        except (*_ABSENT[:3], ImportError, ZarrscopeError):
            raise
        except Exception as error:
            raise self._failed(error, key) from error

    def _failed(self, error: Exception, key: str) -> Unreadable:
        denied = isinstance(error, PermissionError)
        return Unreadable(
            f"The request failed: {str(error) or type(error).__name__}",
            store=self.url,
            key=key or None,
            advice="Check the credentials: they come from the environment, as for the service's own tools."
            if denied
            else "Check the address and the network, then try again.",
        )


def _limits(part: ByteRange) -> dict[str, int | None]:
    if part.start is None:
        return {"start": -(part.length or 0)}
    return {"start": part.start, "end": None if part.length is None else part.start + part.length}


def _credentials(scheme: str) -> dict[str, Any]:
    """Options that make a bucket readable for whoever has no credentials for it."""
    if scheme in ("s3", "s3a"):
        home = os.path.expanduser("~/.aws")
        known = any(name.startswith("AWS_") and "REGION" not in name and "ENDPOINT" not in name for name in os.environ)
        return {} if known or os.path.isdir(home) else {"anon": True}
    return {}
