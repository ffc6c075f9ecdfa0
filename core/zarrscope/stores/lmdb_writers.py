"""Finds out whether another process writes into an LMDB environment, and which one.

LMDB waits for the mutex of writers in C: without a limit, and nobody can end the wait. The mutex lies in the lock file,
and the C library of Linux stores the thread there that has locked it. So before a transaction that writes, the store
looks at the mutex, and waits in steps that a person can end.

Neither place is documented: they are tried on an environment of our own before they are used. Where they differ,
nothing is known about writers, and LMDB itself waits.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress

from zarrscope.runtime.memo import memoized
from zarrscope.runtime.waits import LockHolder
from zarrscope.stores.local.lock_holders import described, lockers

_MUTEX = 64
"""The offset of the writers' mutex in the lock file: behind the header, which fills one cache line."""
_THREAD = 0x3FFFFFFF
"""The bits of the mutex that hold the number of the thread; 0 for a free one, or one whose holder was killed."""


class WritersMutex:
    """The mutex of the writers of an open environment.

    Its lock file stays open for as long as the environment: closing any descriptor of it would release the locks by
    which LMDB tells other processes that this one uses the environment.
    """

    def __init__(self, path: str) -> None:
        self._file = f"{path}-lock" if os.path.isfile(path) else os.path.join(path, "lock.mdb")
        self._handle = -1
        with suppress(OSError):
            self._handle = os.open(self._file, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))

    def __del__(self) -> None:
        self.close()  # an environment that is dropped closes itself first, in the order of its attributes

    def close(self) -> None:
        """Closes the lock file. The environment must be closed."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    @property
    def is_locked(self) -> bool:
        """Whether a thread of another process is known to write into the environment."""
        return self._thread() != 0

    @property
    def holder(self) -> LockHolder:
        """The process that writes into the environment; process 0 if the system does not tell."""
        thread = self._thread()
        process = _process_of(thread) if thread else 0
        # In another container the same number may be that of another process, which does not use this file.
        return described(process) if process in lockers(self._file) else LockHolder()

    def _thread(self) -> int:
        """The thread of another process that has locked the mutex; 0 if there is none, or it is not known."""
        thread = _locked_by(self._handle) if self._handle >= 0 else 0
        if not thread or os.path.exists(f"/proc/self/task/{thread}") or not _is_known():
            return 0
        return thread


def _process_of(thread: int) -> int:
    with suppress(OSError, ValueError), open(f"/proc/{thread}/status", encoding="utf-8") as file:
        for line in file:
            if line.startswith("Tgid:"):
                return int(line.split()[1])
    return 0


def _locked_by(handle: int) -> int:
    """The thread in the mutex of a lock file; 0 if it is free."""
    try:
        return int.from_bytes(os.pread(handle, 4, _MUTEX), sys.byteorder) & _THREAD
    except OSError:
        return 0


@memoized(1)
def _is_known() -> bool:
    """Whether this LMDB and this system keep the thread where it is looked for."""
    if sys.platform != "linux":
        return False
    from tempfile import TemporaryDirectory

    import lmdb

    try:
        with TemporaryDirectory(prefix="zarrscope-") as folder, lmdb.open(folder, map_size=1 << 20) as environment:
            handle = os.open(os.path.join(folder, "lock.mdb"), os.O_RDONLY)
            try:
                before = _locked_by(handle)
                with environment.begin(write=True):
                    within = _locked_by(handle)
                return (before, within, _locked_by(handle)) == (0, threading.get_native_id(), 0)
            finally:
                os.close(handle)
    except (OSError, lmdb.Error):  # no temporary folder
        return False
