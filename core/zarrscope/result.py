"""The memory that a selection is read into.

Refused where it cannot fit, zeros where that saves filling, and with its axes in the order in which chunks have them.
"""

from __future__ import annotations

import os
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.errors import Refused
from zarrscope.selection import Selection

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zarrscope.array import Array

ZEROED_BYTES = 64 * 1024 * 1024
"""A result as large as this is asked for as zeros, which the system gives when they are first touched."""


def result_for(array: Array, selection: Selection) -> NDArray[Any]:
    """Memory for the selected elements, in the shape of `selection.extent`.

    Raises what is wrong with the array; Refused where the result cannot fit.
    """
    array.pipeline_of(array.metadata.grid.chunk_shape)  # raises what is wrong with the array before anything is read
    extent = selection.extent
    size = prod(extent) * array.dtype.itemsize
    try:
        if size > _memory():
            raise MemoryError
        make = np.zeros if size >= ZEROED_BYTES and fill_is_zero(array) else np.empty
        axes = array.unit_pipeline(array.locator.unit_shape).axes
        if axes is None:
            return make(extent, array.dtype)
        # In memory as in the chunks: turning them over takes longer than decoding them ("v2 F order", full).
        out = make([extent[axis] for axis in axes], array.dtype)
        return out.transpose([axes.index(axis) for axis in range(array.ndim)])
    except (MemoryError, ValueError):
        raise array.located(
            Refused(
                f"The selection of shape {extent} needs {size / 2**30:,.1f} GiB of memory, and this machine has "
                f"{_memory() / 2**30:,.1f} GiB",
                advice="Read a smaller region at a time.",
            )
        ) from None


def is_filled(array: Array, out: NDArray[Any]) -> bool:
    """Whether a result holds the fill value before anything is read."""
    return out.nbytes >= ZEROED_BYTES and fill_is_zero(array)


def fill_is_zero(array: Array) -> bool:
    """Whether memory of zeros is memory of fill values."""
    dtype = array.dtype
    return not dtype.hasobject and not any(np.asarray(array.fill_value, dtype).tobytes())


@cache
def _memory() -> int:
    """The memory of this machine in bytes: a result that cannot fit is refused rather than tried."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 46
