"""Locks between threads and processes. A lock is released when its process ends, even if it is killed.

A thread holds `folder_lock` while it replaces a file of a folder. It uses flock on the folder itself, so that different
users with write access exclude one another too, and no lock file is left behind. If a folder cannot be locked (Windows,
some network file systems), it locks a file in a temporary folder of this user, named by a digest of the folder's path,
with flock or msvcrt. If that fails too, only the threads of this process exclude one another.

`key_lock` only avoids conflicts: threads and processes that read, change and store the same value wait for one another,
so that no change has to be repeated. It uses one of a fixed number of lock files of this user, and after a time-out it
continues without the lock.

`document_lock` is held for as long as a large change takes, such as an append. It uses flock on the document itself,
which can be read and replaced meanwhile; who waits for it in vain gets an error.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

from zarrscope.errors import Unreadable, ZarrscopeError
from zarrscope.runtime.keyed_locks import KeyedLocks
from zarrscope.runtime.waits import LockHolder, waiting_for_lock

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

TIMEOUT = 30.0
"""Seconds to wait for another process to release a lock. It holds the lock only for a comparison and a rename, so a
longer wait means that the process was suspended."""
SLOTS = 256
"""The number of lock files for keys. Writers of two keys that share a lock file sometimes wait for each other without
need."""

SYSTEM_TELLS = os.path.exists("/proc/locks")
"""Whether the system tells which process holds a lock, so that holders leave no notes."""

_folders, _keys, _documents = KeyedLocks(), KeyedLocks(), KeyedLocks()
_held = threading.local()
"""The folders and slots that this thread has locked."""
_UNLOCKABLE = {errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EISDIR, errno.EACCES}
_BUSY = {errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK}


@contextmanager
def folder_lock(
    folder: str,
    *,
    on_folder: bool = sys.platform != "win32",
    timeout: float = TIMEOUT,
    shared: bool = False,
    key: str = "",
) -> Iterator[None]:
    """Holds the lock of an existing `folder`. The lock is reentrant. Locks with `shared` do not exclude each other.
    `on_folder` False uses a lock file of this user instead of the folder. `key`: the value that will be written, for
    front ends.

    Raises Unreadable if another process still holds the lock after `timeout` seconds, FileNotFoundError.
    """
    if folder in _mine():
        yield
        return
    if shared and on_folder:
        handle = _lock_folder(folder, timeout, key, shared=True)
        if handle is not None:
            try:
                yield
            finally:
                _release(handle)
            return
    with _folders.hold(folder, timeout) as held:
        if not held:
            raise _busy(folder)
        handle = _lock_folder(folder, timeout, key) if on_folder else None
        if handle is None:
            from hashlib import sha256

            digest = sha256(os.fsencode(os.path.realpath(folder))).hexdigest()
            handle = _lock_file(digest, folder, timeout, key)
        _mine().add(folder)
        try:
            yield
        finally:
            _mine().discard(folder)
            _release(handle)


@contextmanager
def document_lock(path: str, *, on_file: bool = sys.platform != "win32", timeout: float = TIMEOUT) -> Iterator[bool]:
    """Holds the lock of an existing file. Gives False if the file cannot be opened, or the file system cannot lock it.
    `on_file` False uses a lock file of this user instead.

    Raises Unreadable if another thread or process still holds the lock after `timeout` seconds.
    """
    with _documents.hold(path, timeout) as held:
        if not held:
            raise _busy(path)
        if on_file:  # open for reading, because a file that is open for writing is not replaced (linux.py)
            try:
                handle = _lock_existing(path, timeout, "", flags=os.O_RDONLY)
            except ZarrscopeError:
                raise
            except OSError:  # reading the document gives a better error
                handle = None
        else:
            from hashlib import sha256

            handle = _lock_file(sha256(os.fsencode(os.path.realpath(path))).hexdigest(), path, timeout, "")
        try:
            yield handle is not None
        finally:
            _release(handle)


@contextmanager
def key_lock(name: str) -> Iterator[None]:
    """Holds the lock of `name`, which excludes other threads and processes of this user. After TIMEOUT seconds of
    waiting it goes on without the lock."""
    from hashlib import blake2b

    slot = f"slot-{int.from_bytes(blake2b(os.fsencode(name), digest_size=4).digest()) % SLOTS:03d}"
    if slot in _mine():
        yield
        return
    with _keys.hold(name, TIMEOUT):
        handle = None
        try:
            handle = _lock_file(slot, os.path.dirname(name), TIMEOUT, os.path.basename(name))
        except Unreadable:
            pass
        _mine().add(slot)
        try:
            yield
        finally:
            _mine().discard(slot)
            _release(handle)


def _mine() -> set[str]:
    if not hasattr(_held, "names"):
        _held.names = set()
    names: set[str] = _held.names
    return names


def _lock_folder(folder: str, timeout: float, key: str, shared: bool = False) -> int | None:
    """Locks a folder, and returns its descriptor; None if folders cannot be locked here."""
    return _lock_existing(folder, timeout, key, shared, flags=os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))


def _lock_existing(path: str, timeout: float, key: str, shared: bool = False, *, flags: int) -> int | None:
    while True:
        handle = os.open(path, flags | getattr(os, "O_CLOEXEC", 0))
        try:
            if not _acquire(handle, path, timeout, key, shared):
                os.close(handle)
                return None
            # While this thread waited, another process may have removed or replaced what is at the path. Then the lock
            # is on the old one, and the new one has to be locked.
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        except BaseException:
            os.close(handle)
            raise
        _release(handle)


def _lock_file(name: str, folder: str, timeout: float, key: str) -> int | None:
    try:
        handle = os.open(os.path.join(_lock_files(), name), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return None
    try:
        if _acquire(handle, folder, timeout, key):
            return handle
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def _lock_files() -> str:
    from tempfile import gettempdir

    runtime = os.environ.get("XDG_RUNTIME_DIR")
    user = str(os.getuid()) if sys.platform != "win32" else os.environ.get("USERNAME", "user")
    folder = os.path.join(runtime, "zarrscope") if runtime else os.path.join(gettempdir(), f"zarrscope-{user}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if sys.platform != "win32" and os.lstat(folder).st_uid != os.getuid():
        raise PermissionError(errno.EPERM, "the folder belongs to another user", folder)
    return folder


def _acquire(handle: int, folder: str, timeout: float, key: str, shared: bool = False) -> bool:
    """Waits for the lock of an open file; returns False if the system cannot lock it. It polls, so that the user can
    interrupt the wait."""
    if (found := _tried(handle, shared)) is None:
        deadline, pause = time.monotonic() + timeout, 0.0005
        holder = partial(_holder, os.fstat(handle))
        with waiting_for_lock(folder, key, holder) as wait:
            while (found := _tried(handle, shared)) is None:
                if time.monotonic() > deadline:
                    raise _busy(folder, holder())
                wait.check()
                time.sleep(pause)
                pause = min(pause * 2, 0.02)
    if found and not shared and not SYSTEM_TELLS and (note := _note(os.fstat(handle))):
        from zarrscope.stores.local.lock_holders import leave_note

        leave_note(note)
    return found


def _holder(locked: os.stat_result) -> LockHolder:
    """The process that has locked a file."""
    from zarrscope.stores.local.lock_holders import holder_in_note, holder_of  # most locks are free

    if SYSTEM_TELLS:
        return holder_of(locked.st_dev, locked.st_ino)
    return holder_in_note(note) if (note := _note(locked)) else LockHolder()


def _note(locked: os.stat_result) -> str:
    """The path of the note that names the holder of a file's lock (lock_holders.py); "" if there can be none."""
    try:
        return os.path.join(_lock_files(), f"holder-{locked.st_dev:x}-{locked.st_ino:x}")
    except OSError:
        return ""


def _tried(handle: int, shared: bool) -> bool | None:
    """Locks an open file if it is free. False: the system cannot lock it; None: it is locked."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        return True
    except OSError as error:
        if isinstance(error, BlockingIOError) or (sys.platform == "win32" and error.errno in _BUSY):
            return None
        if error.errno in _UNLOCKABLE:
            return False
        raise


def _release(handle: int | None) -> None:
    if handle is None:
        return
    if not SYSTEM_TELLS and (note := _note(os.fstat(handle))):
        with suppress(OSError):
            os.unlink(note)  # before another process has the lock and leaves its own
    if sys.platform == "win32":
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
    else:  # closing alone does not unlock if a forked child has a copy of the descriptor
        fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)


def mark(handle: int) -> None:
    """Marks an open file as in use by locking it: `unused` returns False until the file is closed."""
    if sys.platform != "win32":
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass


def unused(path: str) -> bool | None:
    """Whether no running process has marked the file (`mark`); None if the system does not tell."""
    if sys.platform == "win32":
        return None
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    except OSError:
        return None
    finally:
        os.close(handle)


def _busy(folder: str, holder: LockHolder | None = None) -> Unreadable:
    from zarrscope.stores.local.lock_holders import locked  # most locks are free

    return locked(f"the folder {folder} for writing", holder or LockHolder())
