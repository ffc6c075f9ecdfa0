"""A file replaced by a new one: written beside it, flushed, given what the old one had, renamed over it.

The steps, for putting.py, which says in which order and under which lock. Each raises OSError.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from zarrscope.store import Buffer

MOST = 1 << 30
"""Bytes per system call: Linux transfers a little less than 2 GiB at once."""
VECTORS = 512
"""Pieces per system call: POSIX promises 16, all systems take 1,024."""


def make_folders(folder: str) -> list[str]:
    """Makes `folder` and those above it; the existing folders in which something new appeared."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    for each in reversed(missing):
        with suppress(FileExistsError):
            os.mkdir(each)
        if not os.path.isdir(each) and os.path.lexists(each):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), each)
    return [os.path.dirname(each) for each in missing]


def write(handle: int, parts: Sequence[Buffer]) -> None:
    """Writes the parts, one after the other, into an open file. Raises OSError."""
    if len(parts) > 1 and hasattr(os, "writev"):
        for at in range(0, len(parts), VECTORS):
            views = [memoryview(part) for part in parts[at : at + VECTORS] if len(part)]
            done = os.writev(handle, views) if views else 0
            for view in views:
                if done < len(view):
                    write(handle, (view[done:],))
                done = max(0, done - len(view))
        return
    for part in parts:
        view = memoryview(part)
        while view:
            view = view[os.write(handle, view[:MOST]) :]


def keep(old: os.stat_result, path: str, unfinished: str) -> None:
    """Gives the new file the owner, mode and extended attributes of `path`, as far as we may; `old` is its stat."""
    if hasattr(os, "chown") and (old.st_uid != os.getuid() or old.st_gid != os.getgid()):
        try:
            os.chown(unfinished, old.st_uid, old.st_gid)
        except OSError:
            with suppress(OSError):
                os.chown(unfinished, -1, old.st_gid)
    with suppress(OSError):
        os.chmod(unfinished, stat.S_IMODE(old.st_mode))
    if sys.platform == "linux":
        with suppress(OSError):
            for name in os.listxattr(path):
                with suppress(OSError):
                    os.setxattr(unfinished, name, os.getxattr(path, name))


def rename_over(unfinished: str, path: str) -> None:
    """Replaces `path` at once. Windows refuses while a reader has the file open: readers are quick, so try again."""
    pause = 0.001
    while True:
        try:
            os.replace(unfinished, path)
            return
        except PermissionError:
            if sys.platform != "win32" or pause > 1 or os.path.isdir(path):
                raise
        time.sleep(pause)
        pause *= 2


def sync_folder(folder: str) -> None:
    if sys.platform == "win32":
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
