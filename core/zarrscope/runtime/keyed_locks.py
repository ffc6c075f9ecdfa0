"""One lock per key: threads that want the same key take turns, threads that want other keys do not wait.

A lock exists only while it is in use, so the number of possible keys does not matter. After a fork the child starts
with no lock held, because the threads that held them are in the parent.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from weakref import WeakSet

from zarrscope.runtime.interrupts import LOOK_SECONDS, check


class KeyedLocks:
    """Reentrant locks by key."""

    def __init__(self) -> None:
        self._reset()
        _all.add(self)

    def _reset(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[Hashable, tuple[threading.RLock, int]] = {}

    @contextmanager
    def hold(self, key: Hashable, timeout: float = -1) -> Iterator[bool]:
        """Holds the lock of `key`. Gives False, and holds nothing, if the lock was not free within
        `timeout` seconds."""
        with self._guard:
            lock, users = self._locks.get(key, (threading.RLock(), 0))
            self._locks[key] = (lock, users + 1)
        held = False
        try:
            held = lock.acquire(blocking=False) or _acquired(lock, timeout)
            yield held
        finally:
            if held:
                lock.release()
            with self._guard:
                lock, users = self._locks[key]
                if users == 1:
                    del self._locks[key]
                else:
                    self._locks[key] = (lock, users - 1)


def _acquired(lock: threading.RLock, timeout: float) -> bool:
    """Waits for the lock. Raises Interrupted."""
    end = time.monotonic() + timeout if timeout >= 0 else float("inf")
    while (left := end - time.monotonic()) > 0:
        if lock.acquire(timeout=min(LOOK_SECONDS, left)):
            return True
        check()
    return False


_all: WeakSet[KeyedLocks] = WeakSet()


def _after_fork() -> None:
    for locks in list(_all):
        locks._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
