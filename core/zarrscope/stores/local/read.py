"""Reads many files beneath one folder, and opens each by one system call that follows no link (spec F.8, F.9).

LocalStore checks each folder in the path of a key, and the file, for a link out of the store. Linux can open a path on
the condition that it contains no link at all. An opened file is then inside the store, even if another program changes
the path meanwhile. On other systems the folders of the path are opened one after the other (open_folder.py). If the
path contains a link, or the system cannot open folders, LocalStore's own method is used, and its errors are raised.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from zarrscope.errors import Unreadable
from zarrscope.model.buffers import Arena, RangeReadable
from zarrscope.model.storage import Buffer, ByteRange
from zarrscope.stores.keys import check_key, too_large
from zarrscope.stores.local.children import NO_FOLLOW
from zarrscope.stores.local.linux import open_without_links
from zarrscope.stores.local.open_folder import OpenFolder
from zarrscope.stores.value_reader import Reader

if TYPE_CHECKING:
    from zarrscope.stores.local.folder import Folder

_ALONE: AbstractContextManager[object] = nullcontext()
_KIND = 0o170000
"""The bits of a file's mode that state its kind."""


class FileReader(Reader):
    """Reads the files of a LocalStore into `arena`, which is memory that is reused."""

    follows_no_links = sys.platform == "linux"
    """Whether the system may have a call that opens a path only if it contains no link. Tests force both cases."""
    fills = hasattr(os, "preadv")
    """Whether the system can read at an offset into existing memory. Tests force both cases."""

    size: int = 0

    def __init__(self, store: Folder, arena: Arena, limit: int | None = None) -> None:
        self._store: Folder = store
        self._limit = limit
        self._arena = arena
        self._root = os.fsencode(store.root.rstrip("/") + "/")
        self._key: str | None = None
        self._file: int | None = None
        self._kept: _Open | None = None
        self._offset = _ALONE
        self._folder: OpenFolder | None = None
        self._open = open_without_links() if self.follows_no_links and not store.allow_outside else None
        if self._open is None and store._by_handle and NO_FOLLOW and not store.allow_outside:
            self._open = self._folder = OpenFolder(self._root)

    def seek(self, key: str) -> None:
        if key == self._key:
            return
        if self._file is not None:
            self._leave()
        self._key, self.size = key, 0
        check_key(key)
        if self._open is not None and ".zs-" not in key:
            file = self._open(self._root + key.encode()) if key.isascii() else -1
            if file >= 0:
                found = os.fstat(file)
                if found[0] & _KIND == stat.S_IFREG:
                    self._file, self.size = file, found.st_size
                    return
                os.close(file)
            elif file == -errno.ENOENT:
                return
        # LocalStore handles the other cases: a link, a folder, a file that may not be read.
        opened = self._store._opened(key)
        if opened is not None:
            self._file, self.size = opened

    @property
    def stamp(self) -> str | None:
        if self._file is None:
            return None
        told = os.fstat(self._file)
        return f"{told.st_dev}.{told.st_ino}.{told.st_mtime_ns}.{told.st_ctime_ns}"

    def whole(self) -> Buffer | None:
        return None if self._file is None else self.read(0, self.size)

    def part(self, part: ByteRange) -> Buffer | None:
        return None if self._file is None else self.read(*part.span(self.size))

    def source(self) -> RangeReadable | None:
        return None if self._file is None else self

    def read(self, start: int, stop: int) -> Buffer:
        file = self._file
        assert file is not None
        length = stop - start
        if self._limit is not None and length > self._limit:
            raise too_large(length, self._limit).located(store=self._store.url, key=self._key)
        try:
            if not self.fills:
                with self._offset:
                    return self._store._read(file, start, length)
            piece = self._arena.take(length)
            done = os.preadv(file, (piece,), start) if length else 0
            while 0 < done < length and (more := os.preadv(file, (piece[done:],), start + done)):
                done += more
            return piece if done == length else piece[:done]
        except OSError as error:
            raise self._store._failure(error, self._key or "", "read") from error
        except (MemoryError, ValueError, OverflowError) as error:
            raise Unreadable(
                f"The value is too large to hold in memory ({error})", store=self._store.url, key=self._key
            ) from error

    def keep(self) -> object:
        if self._kept is None and self._file is not None:
            if not self._store._positional:
                self._offset = threading.Lock()
            self._kept = _Open(os.dup(self._file), self.size, self._offset)
        return self._kept

    def take(self, key: str, kept: object) -> None:
        if kept is self._kept and key == self._key:
            return
        if not isinstance(kept, _Open):
            self.seek(key)
            return
        self._leave()
        self._key, self._kept, self._file, self.size = key, kept, os.dup(kept.file), kept.size
        self._offset = kept.offset

    def close(self) -> None:
        self._leave()
        if self._folder is not None:
            self._folder.close()

    def _leave(self) -> None:
        file, self._file = self._file, None
        self._kept = self._key = None
        self._offset = _ALONE
        if file is not None:
            os.close(file)


class _Open:
    """An open file, as a handle that several Readers use (`keep`). It is closed when none of them uses it any more.

    Duplicated handles of a file share one file position. So on a system that cannot read at an offset in one call, a
    thread holds the lock `offset` from its seek to the end of its read.
    """

    __slots__ = ("__weakref__", "file", "offset", "size")

    def __init__(self, file: int, size: int, offset: AbstractContextManager[object]) -> None:
        self.file, self.size, self.offset = file, size, offset

    def close(self) -> None:
        file, self.file = self.file, -1
        if file >= 0:
            os.close(file)

    __del__ = close
