"""The colours of the map: by stored size, or by the ratio of decoded to stored size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zarrscope_app.presenters import strings
from zarrscope_app.presenters.node_description import ratio

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope_app.presenters.chunks.missing import PlanePart

COLORINGS = (("size", "Stored size"), ("ratio", "Ratio"))
"""The values by which cells can be coloured: (id, label)."""


def values_of(array: Array, axes: tuple[int, int], window: PlanePart, step: tuple[int, int], fixed: tuple[int, ...],
              there: NDArray[np.int64]) -> NDArray[np.float64]:  # fmt: skip
    """The decoded bytes of the stored chunks of each cell, without those beyond the array's edge. In a cell of several
    chunks all count as equally large."""
    grid, shape = array.metadata.grid, array.shape
    lengths = []
    for side, axis in enumerate(axes):
        first, extent, width = window[side], window[side + 2], step[side]
        starts = range(first, first + extent, width)
        if axis < 0:
            lengths.append(np.ones(1))
            continue
        edges = grid.edges(axis, shape[axis])
        spans = [(edges.span(at)[0], edges.span(min(at + width, first + extent) - 1)[1]) for at in starts]
        many = np.array([min(at + width, first + extent) - at for at in starts])
        lengths.append(np.array([min(stop, shape[axis]) - start for start, stop in spans]) / many)
    rest = 1
    for axis, at in enumerate(fixed):
        if axis not in axes:
            start, stop = grid.edges(axis, shape[axis]).span(at)
            rest *= min(stop, shape[axis]) - start
    return np.outer(*lengths) * rest * array.dtype.itemsize * there


def shades_of(
    there: NDArray[np.int64], sizes: NDArray[np.int64], values: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float32], tuple[tuple[float, str], ...]]:
    """The strength of each cell's colour, from 0 for the smallest value to 1 for the largest; and (strength, value in
    words) for the strengths 0, 0.5 and 1: without 0.5 if its words are those of an end, nothing if all cells have one
    value. With `values`, the decoded bytes, the value is the ratio, otherwise the stored size."""
    known = (there > 0) & (sizes > 0)
    if not known.any():
        return np.zeros(there.shape, np.float32), ()
    found = sizes.astype(np.float64)
    if values is not None:  # by its logarithm, because one chunk of equal values would make all others alike
        found = np.log(np.maximum(values, 1) / np.maximum(sizes, 1))
    low, high = float(found[known].min()), float(found[known].max())
    words = size_text if values is None else ratio_text
    if low == high or words(low) == words(high):  # a difference that the legend could not name
        return np.ones(there.shape, np.float32), ()
    shades = np.clip((found - low) / (high - low), 0, 1).astype(np.float32)
    named = [(share, words(low + share * (high - low))) for share in (0.0, 0.5, 1.0)]
    if named[1][1] in (named[0][1], named[2][1]):
        del named[1]
    return shades, tuple(named)


def size_text(value: float) -> str:
    """A size in words."""
    return strings.size(round(value))


def ratio_text(logarithm: float) -> str:
    """A ratio, by its logarithm, in words: "2.4 to 1"."""
    return ratio(round(math.exp(logarithm) * 1_000_000), 1_000_000)
