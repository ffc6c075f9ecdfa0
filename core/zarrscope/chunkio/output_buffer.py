"""The memory that a selection is read into.

A result that cannot fit into memory is refused. If the fill value is zero, memory that the system has zeroed need not
be filled. The axes of a result have the same order in memory as in the chunks. Large results reuse memory
(runtime/memory.py).
"""

from __future__ import annotations

import os
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.errors import Refused
from zarrscope.model.selection import Selection
from zarrscope.runtime.memo import memoized
from zarrscope.runtime.tuning import KEPT_BYTES, KEPT_FROM, ZEROED_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zarrscope.chunkio.source import ArraySource


def allocate_result(array: ArraySource, selection: Selection) -> tuple[NDArray[Any], bool]:
    """Memory for the selected elements, in the shape of `selection.full_shape`; and whether it already holds the fill
    value.

    Raises the array's own error if it cannot be read, and Refused if the result cannot fit into memory.
    """
    array.grid_chunk_pipeline(array.metadata.grid.chunk_shape)  # raises the array's own error before anything is read
    extent = selection.full_shape
    size = prod(extent) * array.dtype.itemsize
    try:
        if size > _memory():
            raise MemoryError
        axes = array.chunk_pipeline(array.locator.chunk_shape).axes
        # Laid out as in the chunks: transposing would take longer than decoding ("v2 F order", full).
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
    if KEPT_FROM <= size <= KEPT_BYTES and not dtype.hasobject:
        from zarrscope.runtime import memory

        kept = memory.take(size)
        if kept is not None:
            return kept.view(dtype).reshape(shape), False
    zeroed = zero and size >= ZEROED_BYTES
    return (np.zeros if zeroed else np.empty)(shape, dtype), zeroed


def fill_is_zero(array: ArraySource) -> bool:
    """Whether zeroed memory already holds the fill value."""
    dtype = array.dtype
    return not dtype.hasobject and not any(np.asarray(array.fill_value, dtype).tobytes())


@memoized(1)
def _memory() -> int:
    """The memory of this machine in bytes. A larger result is refused before any chunk is read."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 46
