"""A file replaced only if it is still the one that was compared, against programs that know nothing of our locks.

Between a comparison and a rename anybody may store something else, which the rename would destroy. Where the system can
(Linux, `renameat2`), the new file and the old change places instead, at once. Then the file that came out is examined:
the expected one, with no writer, is deleted; any other is exchanged back to where its writer put it. During these
microseconds readers find the new value.

What remains is a writer who opened the file before and writes after we looked, where the system does not tell of open
files (another user's file, a network drive). Elsewhere than on Linux the file is looked at once more, by its number,
size and times, directly before the rename: what is stored between these two calls is lost.
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
"""Bytes that are read at once to be compared."""
PATIENCE = 0.25
"""Seconds that a writer who has the file open is waited for."""
_CANNOT = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EXDEV}


class Changed(Exception):
    """Something else is stored there now, or somebody is writing it; what is there was left as it is."""


def replace_expected(unfinished: str, path: str, old: os.stat_result, expected: Version, *, exchanges: bool) -> None:
    """Replaces `path` by the file `unfinished` if it still holds `expected`, as `old` did. Raises Changed, OSError.

    `exchanges` False forces the way of systems that cannot let files change places.
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
        time.sleep(0.01)  # it is unchanged but open somewhere: wait, for the other process may just close it
    if not _same(old, os.stat(path)):
        raise Changed
    rename_over(unfinished, path)


def _came_out(path: str, size: int, expected: Version) -> tuple[bool, bool]:
    """Whether the file holds what is expected, and whether somebody may be writing into it."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False, False
    try:
        # Checked before reading: a process that had it open may have written before we read; no other can open it any
        # more.
        busy = bool(open_for_writing(handle))
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size != size:
            return False, busy
        same = Version.of_pieces(lambda at: os.pread(handle, PIECE, at)) == expected
        return same, busy
    finally:
        os.close(handle)


def _put_back(unfinished: str, path: str, ours: os.stat_result) -> None:
    """Puts the file that was taken out back, unless a newer one is there."""
    swap = exchange()
    there = ours  # `path` holds our file, as long as nobody else has stored anything
    aside = os.stat(unfinished, follow_symlinks=False)
    if swap is None or os.path.samestat(aside, ours):
        return  # the files were not exchanged
    # A swap that fails means that the file was erased meanwhile, so the file that was taken out counts as erased.
    while not swap(os.fsencode(unfinished), os.fsencode(path)):
        came = os.stat(unfinished, follow_symlinks=False)
        if os.path.samestat(came, there):
            return
        there, aside = aside, came


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    names = ("st_ino", "st_dev", "st_size", "st_mtime_ns", "st_ctime_ns")
    return all(getattr(one, name) == getattr(other, name) for name in names)
