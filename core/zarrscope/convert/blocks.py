"""Divides arrays into regions, blocks of destination chunks that are processed together. Also compares elements.

A region consists of whole chunks (or shards) of the destination, so two workers never write the same key. Where memory
allows, it also covers whole chunks of the source, so none is decoded twice; for a remote source, it covers as many
chunks as are requested in parallel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zarrscope.model.metadata import ArrayMetadata
from zarrscope.model.selection import ChunkIndex, Selection
from zarrscope.runtime.tuning import REGION_BYTES

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

ChunkRegion = tuple[range, ...]
"""A range of destination chunks along each axis."""
ElementRegion = tuple[range, ...]
"""A range of elements along each axis."""


def region_shape(
    unit: Sequence[int],
    metadata: ArrayMetadata,
    factors: Sequence[int] | None = None,
    many: int = 1,
    max_bytes: int = REGION_BYTES,
) -> tuple[int, ...]:
    """The number of chunks of `metadata`'s grid in a region, along each axis.

    The source array has `factors` times as many elements along each axis, and is decoded in blocks of the shape
    `unit`. A region reads at most `max_bytes` bytes of the source, or one block if that is larger. If the blocks are
    small, it covers about `many` of them.
    """
    grid = metadata.grid
    extent = grid.grid_shape(metadata.shape)
    times = factors if factors is not None else (1,) * len(extent)
    itemsize = metadata.dtype.itemsize or 64
    limit = max(max_bytes, itemsize * prod(unit))
    own = [max(1, c * f) for c, f in zip(grid.chunk_shape, times, strict=True)]
    steps = [1] * len(extent)
    size = itemsize * prod(own)
    for axis in reversed(range(len(extent))):
        wanted = max(1, min(-(-unit[axis] // own[axis]), extent[axis]))
        steps[axis] = max(1, min(wanted, limit // max(1, size)))
        size *= steps[axis]
    units = prod(max(1, step * o // u) for step, o, u in zip(steps, own, unit, strict=True))
    for axis in reversed(range(len(extent))):
        more = max(1, min(extent[axis] // max(1, steps[axis]), limit // max(1, size), -(-many // units)))
        steps[axis], size, units = steps[axis] * more, size * more, units * more
    return tuple(steps)


def regions(
    metadata: ArrayMetadata, steps: Sequence[int], chosen: Iterable[ChunkIndex] | None = None
) -> Iterator[ChunkRegion]:
    """Splits the chunk grid into regions of `steps` chunks along each axis. Yields all regions, or those at the indices
    `chosen`."""
    extent = metadata.grid.grid_shape(metadata.shape)
    if chosen is None:
        chosen = product(*(range(-(-n // step)) for n, step in zip(extent, steps, strict=True)))
    for place in chosen:
        yield tuple(range(i * step, min(n, (i + 1) * step)) for i, n, step in zip(place, extent, steps, strict=True))


def spans_of(metadata: ArrayMetadata, region: ChunkRegion) -> ElementRegion:
    """The elements of the array that the chunks of a region hold."""
    spans = []
    for axis, chunks in enumerate(region):
        edges = metadata.grid.edges(axis, metadata.shape[axis])
        spans.append(range(edges.span(chunks[0])[0], min(metadata.shape[axis], edges.span(chunks[-1])[1])))
    return tuple(spans)


def slabs(spans: ElementRegion, unit: Sequence[int], itemsize: int, factors: Sequence[int]) -> Iterator[ElementRegion]:
    """Cuts `spans` into parts, at the edges of blocks of the shape `unit` if possible. The source values of a part take
    at most REGION_BYTES, or one such block if that is more."""
    units = [max(1, min(len(s), u // f)) for s, u, f in zip(spans, unit, factors, strict=True)]
    steps = list(units)
    size = itemsize * prod(steps) * prod(factors)
    for axis in reversed(range(len(spans))):
        times = max(1, min(-(-len(spans[axis]) // units[axis]), REGION_BYTES // max(1, size)))
        steps[axis] = units[axis] * times
        size *= times
    cut = [
        [range(s.start + low, min(s.stop, s.start + low + step)) for low in range(0, len(s), step)]
        for s, step in zip(spans, steps, strict=True)
    ]
    yield from product(*cut)


def selection(spans: ElementRegion) -> Selection:
    """A region as a selection that keeps all axes."""
    return Selection(tuple(spans), tuple(map(len, spans)), False)


def inside(spans: ElementRegion, outer: ElementRegion) -> tuple[slice, ...]:
    """The slices that take the region `spans` out of an array that holds only the region `outer`."""
    return tuple(slice(s.start - o.start, s.stop - o.start) for s, o in zip(spans, outer, strict=True))


def spelled(spans: ElementRegion) -> str:
    """The text of a region in messages: "0:5, 3:9"."""
    return ", ".join(f"{s.start}:{s.stop}" for s in spans)


def equal(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether all elements are equal: numbers bit by bit, except that NaN equals NaN."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.hasobject:
        return all(map(_same, a.reshape(-1), b.reshape(-1)))
    if a.tobytes() == b.tobytes():
        return True
    return a.dtype.kind in "fc" and bool(np.array_equal(a, b, equal_nan=True))


def _same(a: ArrayLike, b: ArrayLike) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b))
    return bool(a == b) or (a != a and b != b)
