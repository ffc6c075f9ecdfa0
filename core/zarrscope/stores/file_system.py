"""Makes a store of a folder in a file system object of fsspec, such as that of an fsspec mapper or of a upath.UPath.

It reads as fsspec.py does. It writes by the file system's own methods, but only in memory and in buckets, where a value
is stored as a whole; in other file systems a reader could see a part of a value. The comparison with `expect` and the
storing happen under a lock of this process; another process can store a value in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrscope.errors import Unsupported
from zarrscope.model.storage import Version
from zarrscope.stores.fsspec import FsspecStore
from zarrscope.stores.process_addresses import object_address, open_object_address

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_WHOLE = frozenset({"memory", "s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl"})
"""The protocols of file systems that store a value completely or not at all."""
_ATTEMPTS = 20


class FileSystemStore(FsspecStore):
    """The values beneath `root` in the file system `files`. It changes no settings of that object and never closes
    it."""

    def __init__(self, files: AbstractFileSystem, root: str = "") -> None:
        self._hold(files, root)
        protocol = files.protocol
        self.writable = not _WHOLE.isdisjoint([protocol] if isinstance(protocol, str) else protocol)
        self.url = object_address(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return open_object_address, (self.url,)

    def close(self) -> None:
        """Does nothing: the file system belongs to the caller."""

    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        with self._lock_key(key):
            if expect is not None:
                self._expect(key, expect, self._get_versioned(key))
            path = self._path(key)
            with self._naming(key):
                for attempt in range(_ATTEMPTS):
                    try:
                        self._filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
                        self._filesystem.pipe_file(path, value)
                        break
                    except FileNotFoundError:  # `_erase` removed the folder meanwhile
                        if attempt + 1 == _ATTEMPTS:
                            raise
        return Version.of(value)

    def _erase(self, key: str) -> None:
        with self._lock_key(key), self._naming(key):
            if self.size(key) is not None:
                self._filesystem.rm_file(self._path(key))
                self._erase_empty(key)

    def _erase_empty(self, key: str) -> None:
        """Removes folders that became empty, where the file system has folders."""
        above = key.rpartition("/")[0]
        while above:
            try:
                if self._filesystem.ls(self._path(above), detail=False):
                    return
                self._filesystem.rmdir(self._path(above))
            except Exception:  # it is no folder, or no longer empty
                return
            above = above.rpartition("/")[0]


def unwrapped(files: Any, root: str) -> tuple[Any, str]:
    """Removes fsspec's wrappers that only change paths or make calls asynchronous. Returns (file system, folder in
    it)."""
    while True:
        kind = type(files).__name__
        if kind == "DirFileSystem":
            files, root = files.fs, f"{files.path.rstrip('/')}/{root.strip('/')}".rstrip("/")
        elif kind == "AsyncFileSystemWrapper":
            files = files.sync_fs
        elif getattr(files, "asynchronous", False):
            try:
                files = type(files)(*files.storage_args, **{**files.storage_options, "asynchronous": False})
            except Exception as error:
                raise Unsupported(
                    f"A file system that was made with asynchronous=True cannot be opened: {error}",
                    feature="fsspec",
                    advice="Make it without asynchronous=True.",
                ) from error
        else:
            return files, root
