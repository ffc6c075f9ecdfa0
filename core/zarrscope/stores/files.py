"""Reading many files beneath one folder, each opened by one call of the system that follows no link (spec F.8, F.9).

LocalStore follows every key from the root and looks at each name on the way for a link that leads out. Linux can be
asked to open a path on which there is no link at all: what it opens then lies within the store, whatever becomes of the
path meanwhile. Where there is a link, or the system cannot do that, LocalStore's own way is taken, and its errors
raised.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from zarrscope.errors import Unreadable
from zarrscope.reader import Reader, Room, Source
from zarrscope.store import Buffer, ByteRange, check_key

if TYPE_CHECKING:
    from zarrscope.stores.local import LocalStore

_READ_ONLY = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_OPENAT2 = 437
"""The number of the system call, the same on all machines that Linux runs on but Alpha."""
_NO_SYMLINKS = 4
_BY_PATH = -100
_KIND = 0o170000
"""The bits of a file's mode that say what it is."""


class FileReader(Reader):
    """The files of a LocalStore, read into `room`."""

    follows_no_links = sys.platform == "linux"
    """The system may be able to open a path only if there is no link on it. Tests force the other way too."""
    fills = hasattr(os, "preadv")
    """The system reads at an offset into memory that is there already. Tests force the other way too."""

    size: int = 0

    def __init__(self, store: LocalStore, room: Room) -> None:
        self._store: LocalStore = store
        self._room = room
        self._root = os.fsencode(store.root.rstrip("/") + "/")
        self._key: str | None = None
        self._file: int | None = None
        self._kept: _Open | None = None
        self._open = _opener() if self.follows_no_links and not store.allow_outside else None

    def seek(self, key: str) -> None:
        if key == self._key:
            return
        if self._file is not None:
            self.close()
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
        # A link, a folder, what may not be read …: what to make of it is known there.
        opened = self._store._opened(key)
        if opened is not None:
            self._file, self.size = opened

    def whole(self) -> Buffer | None:
        return None if self._file is None else self.read(0, self.size)

    def part(self, part: ByteRange) -> Buffer | None:
        return None if self._file is None else self.read(*part.span(self.size))

    def source(self) -> Source | None:
        return None if self._file is None else self

    def read(self, start: int, stop: int) -> Buffer:
        file = self._file
        assert file is not None
        length = stop - start
        try:
            if not self.fills:
                return self._store._read(file, start, length)
            piece = self._room.take(length)
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
            self._kept = _Open(os.dup(self._file), self.size)
        return self._kept

    def take(self, key: str, kept: object) -> None:
        if kept is self._kept and key == self._key:
            return
        if not isinstance(kept, _Open):
            self.seek(key)
            return
        self.close()
        self._key, self._kept, self._file, self.size = key, kept, os.dup(kept.file), kept.size

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file = self._kept = self._key = None


class _Open:
    """An open file, closed when nobody needs it any more."""

    __slots__ = ("file", "size")

    def __init__(self, file: int, size: int) -> None:
        self.file, self.size = file, size

    def __del__(self) -> None:
        os.close(self.file)


@cache
def _opener() -> Any:
    """Opens a path for reading if there is no link on it: a handle, or the negative number of the error.

    None where the system has no such call (Linux before 5.6), or does not let us call it (some containers).
    """
    try:
        call: Any = ctypes.CDLL(None, use_errno=True).syscall
        call.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)
        call.restype = ctypes.c_long
    except (OSError, AttributeError):
        return None
    how = struct.pack("=QQQ", _READ_ONLY, 0, _NO_SYMLINKS)

    def opened(path: bytes) -> int:
        handle: int = call(_OPENAT2, _BY_PATH, path, how, len(how))
        return handle if handle >= 0 else -ctypes.get_errno()

    handle = opened(b"/")
    if handle < 0:
        return None
    os.close(handle)
    return opened
