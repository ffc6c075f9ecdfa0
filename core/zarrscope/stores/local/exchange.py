"""Replaces a file only if it is still the one that was compared, even against programs that ignore zarrscope's locks.

Between a comparison and a rename another program may store a new file, which the rename would destroy. If the system
supports it (Linux, `renameat2`), the new file and the old file are exchanged in one step instead. Then the old file is
examined: if it is the expected one and no program writes to it, it is deleted; otherwise it is exchanged back. During
these microseconds readers find the new value.

One risk remains: a program opened the file before and writes to it after the examination, and the system does not
report open files (another user's file, a network drive). On systems other than Linux the file's number, size and times
are checked once more directly before the rename; a value stored between these two calls is lost.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress

from zarrscope.model.storage import Version
from zarrscope.stores.local.linux import exchange, open_for_writing
from zarrscope.stores.local.replace import rename_over

PIECE = 1 << 20
"""Bytes that are read at a time for a comparison."""
PATIENCE = 0.25
"""Seconds to wait for another writer that has the file open."""
_CANNOT = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EXDEV}


class Changed(Exception):
    """The file has another content now, or a program is writing to it. It was left as it is."""


def replace_expected(unfinished: str, path: str, old: os.stat_result, expected: Version, *, exchanges: bool) -> None:
    """Replaces `path` by the file `unfinished` if `path` still holds `expected`. Raises Changed, OSError.

    `old`: the stat of the file that held it. `exchanges` False forces the method for systems without exchange.
    """
    swap = exchange() if exchanges else None
    deadline = time.monotonic() + PATIENCE
    while swap is not None:
        ours = os.stat(unfinished)
        one, other = os.fsencode(unfinished), os.fsencode(path)
        kept = False
        try:
            error = swap(one, other)
            if error in _CANNOT:
                break
            if error == errno.ENOENT and not os.path.lexists(path):
                raise Changed
            if error:
                raise OSError(error, os.strerror(error), path)
            found, busy = _came_out(unfinished, old.st_size, expected)
            kept = found and not busy
        finally:
            if not kept:
                _put_back(unfinished, path, ours)
        if kept:
            with suppress(FileNotFoundError):
                os.unlink(unfinished)
            return
        if not found or time.monotonic() > deadline:
            raise Changed
        time.sleep(0.01)  # the file is unchanged but open: wait, because the other process may be about to close it
    if not _same(old, os.stat(path)):
        raise Changed
    rename_over(unfinished, path)


def _came_out(path: str, size: int, expected: Version) -> tuple[bool, bool]:
    """Whether the old file has the expected content, and whether a program may be writing to it."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False, False
    try:
        # Checked before reading: a process that had it open may have written before we read;
        # no other process can open it now.
        busy = bool(open_for_writing(handle))
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size != size:
            return False, busy
        same = Version.of_pieces(lambda at: os.pread(handle, PIECE, at)) == expected
        return same, busy
    finally:
        os.close(handle)


def _put_back(unfinished: str, path: str, ours: os.stat_result) -> None:
    """Puts the old file back, unless a newer one is at its path."""
    swap = exchange()
    there = ours  # `path` holds our file, unless another program has stored a newer one
    aside = os.stat(unfinished, follow_symlinks=False)
    if swap is None or os.path.samestat(aside, ours):
        return  # the files were not exchanged
    # If the exchange fails, the file was erased meanwhile, so the old file counts as erased too.
    while not swap(os.fsencode(unfinished), os.fsencode(path)):
        came = os.stat(unfinished, follow_symlinks=False)
        if os.path.samestat(came, there):
            return
        there, aside = aside, came


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    names = ("st_ino", "st_dev", "st_size", "st_mtime_ns", "st_ctime_ns")
    return all(getattr(one, name) == getattr(other, name) for name in names)
