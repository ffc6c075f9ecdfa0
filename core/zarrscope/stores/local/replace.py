"""The steps of replacing a file atomically: write a new file beside it, flush it, copy the old file's mode and owner,
and rename the new file over the old one.

write.py decides on their order and on the lock to hold. Each step raises OSError.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from zarrscope.model.storage import Buffer
from zarrscope.runtime.tuning import SYSTEM_CALL_BYTES, SYSTEM_CALL_PIECES

if sys.platform != "win32":
    import fcntl

ACCESS_LIST = "system.posix_acl_access"
"""The extended attribute that holds the access control list of a file, see acl(5)."""


def make_folders(folder: str) -> list[str]:
    """Makes `folder` and the missing folders above it. Returns those that it made, the innermost first; none of them is
    left if it fails."""
    missing, made = list[str](), list[str]()
    while not os.path.isdir(folder):
        missing.append(folder)
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    try:
        for each in reversed(missing):
            try:
                os.mkdir(each)
            except FileExistsError:  # another process was faster
                pass
            else:
                made.insert(0, each)
            if not os.path.isdir(each) and os.path.lexists(each):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), each)
    except BaseException:
        remove_made(made)
        raise
    return made


def remove_made(folders: Sequence[str]) -> None:
    """Removes folders that were made for something that could not be stored, the innermost first; those in which others
    have stored something stay."""
    with suppress(OSError):
        for each in folders:
            os.rmdir(each)


def write(handle: int, parts: Sequence[Buffer]) -> None:
    """Writes the parts, one after the other, into an open file. Raises OSError."""
    if len(parts) > 1 and hasattr(os, "writev"):
        for at in range(0, len(parts), SYSTEM_CALL_PIECES):
            views = [memoryview(part) for part in parts[at : at + SYSTEM_CALL_PIECES] if len(part)]
            done = os.writev(handle, views) if views else 0
            for view in views:
                if done < len(view):
                    write(handle, (view[done:],))
                done = max(0, done - len(view))
        return
    for part in parts:
        view = memoryview(part)
        while view:
            view = view[os.write(handle, view[:SYSTEM_CALL_BYTES]) :]


def keep(old: os.stat_result, path: str, unfinished: str) -> tuple[str, ...]:
    """Gives the new file the owner, mode and extended attributes of `path`, as far as permitted. `old` is the stat of
    `path`. Returns the names of the rights that were not permitted: those of the group, the mode and the list.

    The access control list is one of the extended attributes. If `path` has none, the list that the new file inherited
    from its folder is removed, because it may give rights that the old file did not give.
    """
    if hasattr(os, "chown") and (old.st_uid != os.getuid() or old.st_gid != os.getgid()):
        try:
            os.chown(unfinished, old.st_uid, old.st_gid)
        except OSError:
            with suppress(OSError):
                os.chown(unfinished, -1, old.st_gid)
    names: Sequence[str] = ()
    lost: list[str] = []
    if sys.platform == "linux":
        with suppress(OSError):
            names = os.listxattr(path)
        if ACCESS_LIST not in names:
            with suppress(OSError):
                os.removexattr(unfinished, ACCESS_LIST)
    with suppress(OSError):
        os.chmod(unfinished, stat.S_IMODE(old.st_mode))
    if sys.platform == "linux":
        for name in names:
            try:
                os.setxattr(unfinished, name, os.getxattr(path, name))
            except OSError:
                lost += ["access control list"] if name == ACCESS_LIST else []
    new = os.stat(unfinished)
    lost += ["mode"] if stat.S_IMODE(new.st_mode) != stat.S_IMODE(old.st_mode) else []
    lost += ["group"] if new.st_gid != old.st_gid else []
    return tuple(sorted(lost))


def rename_over(unfinished: str, path: str) -> None:
    """Renames the new file `unfinished` to `path`, and so replaces the file there in one step."""
    patiently(lambda: os.replace(unfinished, path), lambda: not os.path.isdir(path))


def patiently(act: Callable[[], object], may_come: Callable[[], bool] = lambda: True) -> None:
    """Runs `act`. On Windows it is repeated for two seconds while access is denied: Windows refuses to rename or remove
    a file while a reader has it open, and readers are quick.

    If `may_come()` is False, waiting is useless, and the error is raised at once.
    """
    pause = 0.001
    while True:
        try:
            act()
            return
        except PermissionError:
            if sys.platform != "win32" or pause > 1 or not may_come():
                raise
        time.sleep(pause)
        pause *= 2


def flush(handle: int) -> None:
    """Waits until the written data are on disk. On macOS fsync is not enough: it leaves them in the disk's cache."""
    if sys.platform == "darwin":
        try:
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            return
        except OSError:  # a network drive
            pass
    os.fsync(handle)


def sync_folder(folder: str) -> None:
    """Stores the names in a folder durably, so that a new or renamed file survives a power failure. Does nothing on
    Windows, nor where the file system cannot do it."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            flush(handle)
        finally:
            os.close(handle)
