"""A lock on a folder that other threads and other processes respect, and that leaves nothing behind in the folder.

POSIX: flock on the folder itself, so that different users who may write there exclude one another too. Where a folder
cannot be locked (Windows, some network file systems): a file named by digest in a temporary folder of this user, locked
with flock or msvcrt. Where that cannot be locked either, threads of this process still exclude one another.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from zarrscope.errors import Unreadable

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

TIMEOUT = 30.0
"""Seconds to wait for another process. It holds the lock for a compare and a rename; a longer wait is a stopped one."""

_threads = tuple(threading.RLock() for _ in range(64))
_UNLOCKABLE = {errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EISDIR, errno.EACCES}
_BUSY = {errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK}


@contextmanager
def folder_lock(folder: str, *, on_folder: bool = sys.platform != "win32", timeout: float = TIMEOUT) -> Iterator[None]:
    """Holds the lock of an existing `folder`. Raises Unreadable after `timeout` seconds, FileNotFoundError.

    `on_folder` False forces the lock file of this user.
    """
    digest = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()
    thread = _threads[int(digest[:8], 16) % len(_threads)]
    if not thread.acquire(timeout=timeout):
        raise _busy(folder)
    try:
        handle = _lock_folder(folder, timeout) if on_folder else None
        if handle is None:
            handle = _lock_file(digest, folder, timeout)
        try:
            yield
        finally:
            if handle is not None:
                _unlock(handle)
                os.close(handle)
    finally:
        thread.release()


def _lock_folder(folder: str, timeout: float) -> int | None:
    """A descriptor of the locked folder; None where folders cannot be locked."""
    while True:
        handle = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_DIRECTORY", 0))
        try:
            if not _acquire(handle, folder, timeout):
                os.close(handle)
                return None
            # It may have been removed and made anew while we waited: then we hold the lock of nothing.
            if os.path.samestat(os.fstat(handle), os.stat(folder)):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock_file(digest: str, folder: str, timeout: float) -> int | None:
    try:
        handle = os.open(os.path.join(_lock_files(), digest), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return None
    try:
        if _acquire(handle, folder, timeout):
            return handle
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def _lock_files() -> str:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    user = str(os.getuid()) if sys.platform != "win32" else os.environ.get("USERNAME", "user")
    folder = os.path.join(runtime, "zarrscope") if runtime else os.path.join(tempfile.gettempdir(), f"zarrscope-{user}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if sys.platform != "win32" and os.lstat(folder).st_uid != os.getuid():
        raise PermissionError(errno.EPERM, "somebody else's folder", folder)
    return folder


def _acquire(handle: int, folder: str, timeout: float) -> bool:
    """Waits for the lock of an open file; False where there is no such lock. Polls, so that a wait can end."""
    deadline = time.monotonic() + timeout
    pause = 0.0005
    while True:
        try:
            if sys.platform == "win32":
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            busy = isinstance(error, BlockingIOError) or (sys.platform == "win32" and error.errno in _BUSY)
            if not busy:
                if error.errno in _UNLOCKABLE:
                    return False
                raise
        if time.monotonic() > deadline:
            raise _busy(folder)
        time.sleep(pause)
        pause = min(pause * 2, 0.02)


def _unlock(handle: int) -> None:
    if sys.platform == "win32":
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(handle, fcntl.LOCK_UN)


def _busy(folder: str) -> Unreadable:
    return Unreadable(
        f"Another program holds the folder {folder} for writing",
        advice="Wait until it is done, or close it, then try again.",
    )
