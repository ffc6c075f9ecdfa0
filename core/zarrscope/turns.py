"""Turns: threads that ask for the same name go one after the other, those that ask for others do not wait.

A lock for each name, for as long as somebody uses it, so that any number of names costs nothing. After a fork the child
begins with none held: the threads that held them are the parent's.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from weakref import WeakSet


class Turns:
    """Locks by name. The same thread may take the same name again."""

    def __init__(self) -> None:
        self._reset()
        _all.add(self)

    def _reset(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[Hashable, tuple[threading.RLock, int]] = {}

    @contextmanager
    def hold(self, name: Hashable, timeout: float = -1) -> Iterator[bool]:
        """Holds `name`. Gives False, and holds nothing, when its turn did not come within `timeout` seconds."""
        with self._guard:
            lock, users = self._locks.get(name, (threading.RLock(), 0))
            self._locks[name] = (lock, users + 1)
        held = False
        try:
            held = lock.acquire(timeout=timeout)
            yield held
        finally:
            if held:
                lock.release()
            with self._guard:
                lock, users = self._locks[name]
                if users == 1:
                    del self._locks[name]
                else:
                    self._locks[name] = (lock, users - 1)


_all: WeakSet[Turns] = WeakSet()


def _after_fork() -> None:
    for turns in list(_all):
        turns._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
