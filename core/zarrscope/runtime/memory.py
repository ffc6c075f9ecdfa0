"""The memory that a selection is read into.

Refused where it cannot fit, zeros where that saves filling, and with its axes in the order in which chunks have them.

Memory that the system gives for the first time is cleared by it, page after page, which for 64 MiB takes as long as
decoding a third of them (2026-11-21, tests/bench/run.py "full"). So large results lie in mappings that are used again
once nobody holds the result or a view of it. Those that wait are marked as free: the system takes them when it needs
memory, as if they had been given back.
"""

from __future__ import annotations

import mmap
import os
import threading
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zarrscope.errors import Refused
from zarrscope.selection import Selection

if TYPE_CHECKING:
    from zarrscope.array import Array

ZEROED_BYTES = 64 * 1024 * 1024
"""A result as large as this is asked for as zeros, which the system gives when they are first touched."""
KEPT_FROM = 8 << 20
"""Results from this size on are kept to be used again: memory of smaller ones the C library keeps itself …"""
KEPT_BYTES = 256 << 20
"""… and not more than this in all."""


def result_for(array: Array, selection: Selection) -> tuple[NDArray[Any], bool]:
    """Memory for the selected elements, in the shape of `selection.extent`; and whether it holds the fill value.

    Raises what is wrong with the array; Refused where the result cannot fit.
    """
    array.pipeline_of(array.metadata.grid.chunk_shape)  # raises what is wrong with the array before anything is read
    extent = selection.extent
    size = prod(extent) * array.dtype.itemsize
    try:
        if size > _memory():
            raise MemoryError
        axes = array.unit_pipeline(array.locator.unit_shape).axes
        # In memory as in the chunks: turning them over takes longer than decoding them ("v2 F order", full).
        shape = extent if axes is None else tuple(extent[axis] for axis in axes)
        out, blank = _memory_for(shape, array.dtype, size, fill_is_zero(array))
        return (out if axes is None else out.transpose([axes.index(axis) for axis in range(array.ndim)])), blank
    except (MemoryError, ValueError):
        raise array.located(
            Refused(
                f"The selection of shape {extent} needs {size / 2**30:,.1f} GiB of memory, and this machine has "
                f"{_memory() / 2**30:,.1f} GiB",
                advice="Read a smaller region at a time.",
            )
        ) from None


def _memory_for(shape: tuple[int, ...], dtype: np.dtype[Any], size: int, zero: bool) -> tuple[NDArray[Any], bool]:
    kept = None if dtype.hasobject or not KEPT_FROM <= size <= KEPT_BYTES else _kept.take(size)
    if kept is not None:
        return kept.view(dtype).reshape(shape), False
    zeroed = zero and size >= ZEROED_BYTES
    return (np.zeros if zeroed else np.empty)(shape, dtype), zeroed


def fill_is_zero(array: Array) -> bool:
    """Whether memory of zeros is memory of fill values."""
    dtype = array.dtype
    return not dtype.hasobject and not any(np.asarray(array.fill_value, dtype).tobytes())


class _Kept:
    """Mappings that are lent as results and come back when these are gone."""

    possible = all(hasattr(mmap, name) for name in ("MAP_PRIVATE", "MAP_ANONYMOUS", "MADV_FREE"))
    """Where the system cannot be told that memory is free, none is kept. Tests force that too."""

    def __init__(self) -> None:
        self.waiting: list[mmap.mmap] = []
        self._guard = threading.RLock()
        """The same thread may come again: a result may go while memory for another is looked for."""

    def take(self, size: int) -> NDArray[np.uint8] | None:
        """`size` bytes of whatever content; None where they are to be had in the usual way only."""
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
            except (AttributeError, OSError):  # not on this system
                pass
        return np.asarray(_Lent(chosen, size, self))

    def give_back(self, memory: mmap.mmap, advice: int) -> None:
        try:
            memory.madvise(advice)
        except OSError:  # not with this memory: it goes back to the system
            return
        with self._guard:
            self.waiting.append(memory)
            while sum(map(len, self.waiting)) > KEPT_BYTES:
                self.waiting.pop(0)


class _Lent:
    """What numpy holds as long as anybody has the result, or a view of it."""

    def __init__(self, memory: mmap.mmap, size: int, kept: _Kept) -> None:
        self._memory, self._kept, self._advice = memory, kept, mmap.MADV_FREE
        self.__array_interface__ = np.frombuffer(memory, np.uint8, size).__array_interface__

    def __del__(self) -> None:
        self._kept.give_back(self._memory, self._advice)


_kept = _Kept()


@cache
def _memory() -> int:
    """The memory of this machine in bytes: a result that cannot fit is refused rather than tried."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 46
