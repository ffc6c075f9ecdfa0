"""Reuses memory for large results, and returns memory to the system.

The system clears each page of new memory, which for a result of 64 MiB takes a third of the time of decoding it
(2026-11-21, tests/bench/run.py "full"). So large results lie in mappings that are used again when the result and all
its views are gone. A mapping waits for the next result for a second at most, then it is unmapped: a program that reads
less often than that would save little. While it waits it is marked as free: the system takes it when it needs memory,
as if it had been unmapped.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
from time import monotonic, sleep
from typing import TYPE_CHECKING

import numpy as np

from zarrscope.runtime.process import is_owned
from zarrscope.runtime.tuning import IDLE_SECONDS, KEPT_BYTES, KEPT_SECONDS

if TYPE_CHECKING:
    from numpy.typing import NDArray


def take(size: int) -> NDArray[np.uint8] | None:
    """Pooled memory of `size` bytes (KEPT_FROM to KEPT_BYTES) with undefined content for a result; None if numpy should
    allocate it."""
    return _pool.take(size)


class MemoryPool:
    """Memory mappings that are lent for results, and reused when the results are gone."""

    possible = all(hasattr(mmap, name) for name in ("MAP_PRIVATE", "MAP_ANONYMOUS", "MADV_FREE"))
    """Whether the system supports marking memory as free; if not, the pool keeps no memory. Tests force both cases."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Empties the pool. A forked child calls it: it has none of its parent's threads, one of which may have held
        the lock."""
        self._guard = threading.RLock()
        """Reentrant: a result may be garbage-collected while this thread takes memory for another one."""
        self.waiting: dict[mmap.mmap, float] = {}
        """When each mapping came back, in the time of `monotonic`; the oldest first."""
        self._watched = False
        """Whether a thread unmaps what has waited long enough; if not, nothing is kept."""
        self._taken = 0.0

    def take(self, size: int) -> NDArray[np.uint8] | None:
        """Lends `size` bytes with undefined content. Returns None if the pool cannot; numpy should then allocate the
        memory."""
        if not self.possible:
            return None
        chosen = None
        with self._guard:
            for found in sorted(self.waiting, key=len):
                if size <= len(found) <= 2 * size and self.waiting.pop(found, None) is not None:
                    chosen = found
                    break
        if chosen is None:
            try:
                chosen = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            except OSError:  # there is not enough memory; numpy raises MemoryError
                return None
            try:
                chosen.madvise(mmap.MADV_HUGEPAGE)
            except (AttributeError, OSError):  # the system has no MADV_HUGEPAGE
                pass
        self._watch()
        return np.asarray(_Lent(chosen, size, self))

    def give_back(self, memory: mmap.mmap, advice: int) -> None:
        """Keeps the memory of a result that is gone, or unmaps it by dropping the last reference to it."""
        with self._guard:
            if not self._watched:
                return
            try:
                memory.madvise(advice)
            except OSError:  # this memory cannot be marked as free
                return
            self.waiting[memory] = monotonic()
            while sum(map(len, self.waiting)) > KEPT_BYTES:
                del self.waiting[next(iter(self.waiting))]

    def _watch(self) -> None:
        """Starts the thread that unmaps what has waited long enough, unless it runs."""
        with self._guard:
            self._taken = monotonic()
            if self._watched or _address_space_is_limited():
                return
            self._watched = True
        try:
            threading.Thread(target=self._unmap_old, name="zarrscope-memory", daemon=True).start()
        except RuntimeError:  # the limit on threads is reached, or the interpreter is shutting down
            self._watched = False

    def _unmap_old(self) -> None:
        while self._drop_old():
            sleep(KEPT_SECONDS / 4)

    def _drop_old(self) -> bool:
        """Drops what has waited long enough. False if nothing waits and no memory has been taken for a while."""
        with self._guard:
            now = monotonic()
            old = [memory for memory, since in self.waiting.items() if since <= now - KEPT_SECONDS]
            for memory in old:
                del self.waiting[memory]
            self._watched = bool(self.waiting) or self._taken > now - IDLE_SECONDS
            return self._watched  # `old` is unmapped after the lock is released


class _Lent:
    """Pooled memory under a numpy array. It returns to the pool when the array and all its views are gone."""

    def __init__(self, memory: mmap.mmap, size: int, pool: MemoryPool) -> None:
        self._memory, self._pool, self._advice = memory, pool, mmap.MADV_FREE
        self.__array_interface__ = np.frombuffer(memory, np.uint8, size).__array_interface__

    def __del__(self) -> None:
        self._pool.give_back(self._memory, self._advice)


def _address_space_is_limited() -> bool:
    """Whether `ulimit -v` limits this process: it counts what waits, which the system can then not take back."""
    try:
        import resource
    except ImportError:  # Windows
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


_pool = MemoryPool()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _pool.reset())


def give_back() -> None:
    """Makes the C library return freed memory to the system, if the process belongs to an application.

    glibc keeps memory that threads freed, including buffers of some hundred KiB: after 64 MiB of chunks were dropped,
    80 MiB stayed in use. Takes a few milliseconds.
    """
    if is_owned() and sys.platform.startswith("linux"):
        import ctypes

        try:
            ctypes.CDLL(None).malloc_trim(0)
        except (OSError, AttributeError):  # another C library
            pass
