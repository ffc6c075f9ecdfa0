"""Reading many files beneath one folder, each opened within its own folder, which was checked once (spec F.8, F.9).

LocalStore follows every key from the root and looks at each name on the way for a link that leads out. Here the folder
of a key is opened, and the system asked where it really lies: where that is the place its path says, no link was on the
way, and files opened within it by name, themselves no links, lie within the store whatever becomes of the path
meanwhile. Where it is elsewhere, or the system cannot tell, LocalStore's own way is taken, and its errors raised.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from zarrscope.errors import Unreadable
from zarrscope.reader import Reader, Room, Source
from zarrscope.store import Buffer, ByteRange, check_key

if TYPE_CHECKING:
    from zarrscope.stores.local import LocalStore

_FILE = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
_FOLDER = getattr(os, "O_PATH", 0) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_HERE = ("", ".", "..")


class FileReader(Reader):
    """The files of a LocalStore, read into `room`."""

    size: int = 0

    holds_folders = hasattr(os, "O_PATH") and os.open in os.supports_dir_fd and os.path.isdir("/proc/self/fd")
    """The system opens files within an open folder and says where that lies. Tests force the other way too."""
    fills = hasattr(os, "preadv")
    """The system reads at an offset into memory that is there already. Tests force the other way too."""

    def __init__(self, store: LocalStore, room: Room) -> None:
        self._store: LocalStore = store
        self._room = room
        self._folder: str | None = None
        self._within: int | None = None
        """The open folder; None where LocalStore's own way has to be taken."""
        self._key = ""
        self._file: int | None = None

    def seek(self, key: str) -> None:
        if key == self._key:
            return
        if self._file is not None:
            os.close(self._file)
            self._file = None
        self._key = key
        folder, _, name = key.rpartition("/")
        if folder != self._folder:
            self._enter(folder)
        if self._within is None or name in _HERE or ".zs-" in name or len(name) > 255:
            self._open_from_the_root(key)
            return
        try:
            self._file = os.open(name, _FILE, dir_fd=self._within)
        except FileNotFoundError:
            return
        except (OSError, ValueError):  # a link, a folder that may not be entered … what to say of it is known there
            self._open_from_the_root(key)
            return
        found = os.fstat(self._file)
        if not stat.S_ISREG(found.st_mode):
            os.close(self._file)
            self._file = None
            self._open_from_the_root(key)
            return
        self.size = found.st_size

    def _enter(self, folder: str) -> None:
        if self._within is not None:
            os.close(self._within)
        self._within, self._folder = None, folder
        if not self.holds_folders or ".zs-" in folder:
            return
        if folder:
            check_key(folder)
        path = os.path.join(self._store.root, folder) if folder else self._store.root
        try:
            within = os.open(path, _FOLDER)
        except (OSError, ValueError):
            return
        if self._store.allow_outside or _lies_at(within, path):
            self._within = within
        else:
            os.close(within)

    def _open_from_the_root(self, key: str) -> None:
        self._file = self._store._opened(check_key(key))
        if self._file is not None:
            self.size = os.fstat(self._file).st_size

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
            raise self._store._failure(error, self._key, "read") from error
        except (MemoryError, ValueError, OverflowError) as error:
            raise Unreadable(
                f"The value is too large to hold in memory ({error})", store=self._store.url, key=self._key
            ) from error

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
        if self._within is not None:
            os.close(self._within)
        self._file = self._within = self._folder = None
        self._key = ""


def _lies_at(handle: int, path: str) -> bool:
    """Whether what is open is really at `path`, no link on the way."""
    try:
        return os.readlink(f"/proc/self/fd/{handle}") == path
    except OSError:
        return False
