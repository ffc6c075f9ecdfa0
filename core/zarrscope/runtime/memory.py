"""Reuses memory for large results, and returns memory to the system, in a process that belongs to an application
(process.py).

The system clears each page of new memory, which for a result of 64 MiB takes a third of the time of decoding it
(2026-11-21, tests/bench/run.py "full"). So large results lie in mappings that are used again when the result and all
its views are gone. Unused mappings are marked as free: the system takes them when it needs memory, as if they had been
released.
"""

from __future__ import annotations

import mmap
import sys
import threading
from typing import TYPE_CHECKING

import numpy as np

from zarrscope.runtime.process import is_owned
from zarrscope.runtime.tuning import KEPT_BYTES, KEPT_FROM

if TYPE_CHECKING:
    from numpy.typing import NDArray


def take(size: int) -> NDArray[np.uint8] | None:
    """Pooled memory of `size` bytes with undefined content for a result; None if numpy should allocate it."""
    return _pool.take(size) if is_owned() and KEPT_FROM <= size <= KEPT_BYTES else None


class MemoryPool:
    """Memory mappings that are lent for results, and reused when the results are gone."""

    possible = all(hasattr(mmap, name) for name in ("MAP_PRIVATE", "MAP_ANONYMOUS", "MADV_FREE"))
    """Whether the system supports marking memory as free; if not, the pool keeps no memory. Tests force both cases."""

    def __init__(self) -> None:
        self.waiting: list[mmap.mmap] = []
        self._guard = threading.RLock()
        """Reentrant: a result may be garbage-collected while this thread takes memory for another one."""

    def take(self, size: int) -> NDArray[np.uint8] | None:
        """Lends `size` bytes with undefined content. Returns None if the pool cannot; numpy should then allocate the
        memory."""
        if not self.possible:
            return None
        chosen = None
        with self._guard:
            for found in sorted(self.waiting, key=len):
                if size <= len(found) <= 2 * size and found in self.waiting:
                    self.waiting.remove(found)
                    chosen = found
                    break
        if chosen is None:
            chosen = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            try:
                chosen.madvise(mmap.MADV_HUGEPAGE)
            except (AttributeError, OSError):  # the system has no MADV_HUGEPAGE
                pass
        return np.asarray(_Lent(chosen, size, self))

    def give_back(self, memory: mmap.mmap, advice: int) -> None:
        try:
            memory.madvise(advice)
        except OSError:  # this memory cannot be marked as free, so it is unmapped
            return
        with self._guard:
            self.waiting.append(memory)
            while sum(map(len, self.waiting)) > KEPT_BYTES:
                self.waiting.pop(0)


class _Lent:
    """Pooled memory under a numpy array. It returns to the pool when the array and all its views are gone."""

    def __init__(self, memory: mmap.mmap, size: int, pool: MemoryPool) -> None:
        self._memory, self._pool, self._advice = memory, pool, mmap.MADV_FREE
        self.__array_interface__ = np.frombuffer(memory, np.uint8, size).__array_interface__

    def __del__(self) -> None:
        self._pool.give_back(self._memory, self._advice)


_pool = MemoryPool()


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
