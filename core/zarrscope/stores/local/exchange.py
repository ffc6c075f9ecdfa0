"""Replaces a file only if it still has the expected content, even if other programs ignore zarrscope's locks.

Between the comparison and the rename another program may store a new file, which the rename would destroy. If the
system supports it (Linux, `renameat2`), the new file and the old file are exchanged in one step instead, and the old
file is examined afterwards: if it has the expected content and no program has it open for writing, it is deleted;
otherwise the files are exchanged back. Until then, for some microseconds, readers find the new value.

One risk remains on Linux: if the system does not report which files are open (files of another user, network drives), a
program that opened the old file before may write to it after the examination, and that change is lost. On other systems
the file's inode number, size and times are compared once more directly before the rename; a value that is stored
between these two calls is lost.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress

from zarrscope.model.storage import Version
from zarrscope.runtime.tuning import FILE_PIECE_BYTES
from zarrscope.stores.local.linux import exchange, open_for_writing
from zarrscope.stores.local.replace import rename_over

PATIENCE = 0.25
"""Seconds to wait until another program closes the file that it has open for writing."""
_CANNOT = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EXDEV}


class Changed(Exception):
    """The file has another content now, or a program has it open for writing. It was not replaced."""


def replace_expected(unfinished: str, path: str, old: os.stat_result, expected: Version, *, exchanges: bool) -> None:
    """Replaces `path` by the file `unfinished` if the content of `path` still has the version `expected`. Raises
    Changed, OSError.

    `old`: the stat of the file when it was compared. `exchanges` False uses the method for systems that cannot exchange
    files.
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
        time.sleep(0.01)  # the file is unchanged but open for writing: the other program may be about to close it
    if not _same(old, os.stat(path)):
        raise Changed
    rename_over(unfinished, path)


def _came_out(path: str, size: int, expected: Version) -> tuple[bool, bool]:
    """Examines the old file, which is now at `path`: returns whether it has the expected content, and whether a program
    has it open for writing."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False, False
    try:
        # Checked before the file is read: bytes that a program with an open handle wrote until then are read too, and
        # no other program opens it under its temporary name.
        busy = bool(open_for_writing(handle))
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size != size:
            return False, busy
        same = Version.of_pieces(lambda at: os.pread(handle, FILE_PIECE_BYTES, at)) == expected
        return same, busy
    finally:
        os.close(handle)


def _put_back(unfinished: str, path: str, ours: os.stat_result) -> None:
    """Exchanges the files back, so that the old file, or a newer one that another program stored meanwhile, is at
    `path`."""
    swap = exchange()
    there = ours  # the file that is at `path` now, unless another program has replaced it
    aside = os.stat(unfinished, follow_symlinks=False)
    if swap is None or os.path.samestat(aside, ours):
        return  # the files were not exchanged
    # If the exchange fails, another program erased the file at `path` meanwhile: the old file then stays erased too.
    while not swap(os.fsencode(unfinished), os.fsencode(path)):
        came = os.stat(unfinished, follow_symlinks=False)
        if os.path.samestat(came, there):
            return
        there, aside = aside, came


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    names = ("st_ino", "st_dev", "st_size", "st_mtime_ns", "st_ctime_ns")
    return all(getattr(one, name) == getattr(other, name) for name in names)
