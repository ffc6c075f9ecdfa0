"""Selections: numpy basic indexing against a shape and a chunk grid. Pure arithmetic; no data is touched.

`select` turns an index (integers, slices with any step, ellipsis, newaxis) into a Selection: the output's shape and,
for every axis, the selected positions. `chunk_selections` combines these with the edges of a grid and yields each
touched chunk, the selected part of it, and its place in the output. Guarantees: the same elements in the same order as
numpy (negative steps too); every element of the output is covered by exactly one chunk selection; the work is
proportional to the touched chunks, never to the size of the array. A wrong index raises IndexError as in numpy, not a
ZarrscopeError.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Protocol, SupportsIndex, cast

from zarrscope.errors import Refused
from zarrscope.errors.visible import counted
from zarrscope.runtime.named_tuple import NamedTuple

MAX_TOUCHED = 4_000_000
"""The most chunks along one axis that are planned at once: a document can easily claim 2^62 chunks of one element."""

ChunkIndex = tuple[int, ...]
"""The index of a chunk in its chunk grid."""


class Edges(Protocol):
    """One axis of a chunk grid (metadata.RegularEdges is one)."""

    @property
    def length(self) -> int:
        """The array's extent along this axis; the last chunk may reach beyond it."""

    def chunk_of(self, position: int) -> int:
        """The chunk that holds the element at a position of the axis."""

    def span(self, chunk: int) -> tuple[int, int]:
        """The positions (first, after the last) of a chunk; the last chunk may reach beyond the array."""


class AxisSelection(NamedTuple):
    """The part of one chunk that a selection takes, along one axis."""

    chunk: int
    source: slice
    """A slice of the chunk; its step may be negative."""
    target: slice
    """A slice of the output; ascending, without gaps."""
    whole: bool
    """Whether the whole chunk is selected in stored order, including elements beyond the array's edge: it can be
    decoded in place."""
    covers: bool
    """Whether every element within the array is selected, in any order: the old value of the chunk does not matter."""


class ChunkSelection(NamedTuple):
    """The part of one chunk that a selection takes."""

    chunk: tuple[int, ...]
    source: tuple[slice, ...]
    target: tuple[slice, ...]
    whole: bool
    covers: bool


class Selection:
    """The elements of an array that an index expression selects.

    `positions`: the selected indices in order, per axis of the array. `shape`: the shape of the result, as numpy gives
    it.
    """

    __slots__ = ("full_shape", "positions", "scalar", "shape", "size")

    def __init__(self, positions: tuple[range, ...], shape: tuple[int, ...], scalar: bool) -> None:
        self.positions = positions
        self.shape = shape
        self.scalar = scalar
        """Whether numpy would return a scalar: every axis is indexed by an integer, and there is no ellipsis."""
        self.full_shape: tuple[int, ...] = tuple(map(len, positions))
        """The shape of the result before integer axes are dropped and new axes are inserted: one entry per axis of the
        array."""
        self.size = prod(self.full_shape)

    def axis_selections(self, edges: Sequence[Edges]) -> list[list[AxisSelection]]:
        """For each axis, the selected parts of the chunks along it, in the order of the output. Targets are within
        `full_shape`."""
        if not self.size:
            return [[] for _ in self.positions]
        for axis, (p, e) in enumerate(zip(self.positions, edges, strict=True)):
            if len(p) <= MAX_TOUCHED:
                continue
            touched = min(len(p), abs(e.chunk_of(p[-1]) - e.chunk_of(p[0])) + 1)
            if touched > MAX_TOUCHED:
                raise Refused(
                    f"The selection touches {touched:,} chunks along axis {axis}, more than {MAX_TOUCHED:,}",
                    advice="Take a smaller region at a time.",
                )
        return [_parts(p, e) for p, e in zip(self.positions, edges, strict=True)]

    def chunk_selections(self, edges: Sequence[Edges]) -> Iterator[ChunkSelection]:
        """Yields each touched chunk once: the product of `axis_selections`."""
        if self.size:
            yield from map(cross, product(*self.axis_selections(edges)))


def cross(parts: tuple[AxisSelection, ...]) -> ChunkSelection:
    """Combines the selections of one chunk along each axis into one n-dimensional selection of that chunk."""
    if not parts:
        return ChunkSelection((), (), (), True, True)
    chunk, source, target, whole, covers = zip(*parts, strict=True)
    return ChunkSelection(chunk, source, target, all(whole), all(covers))


def select(index: object, shape: tuple[int, ...]) -> Selection:
    """The selection that `index` makes of an array of `shape`. Raises IndexError as numpy does."""
    parts = index if isinstance(index, tuple) else (index,)
    taken = ellipses = 0
    for part in parts:
        if part is Ellipsis:
            ellipses += 1
        elif part is not None:
            taken += 1
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if taken > len(shape):
        raise IndexError(
            f"too many indices: the array has {counted(len(shape), 'axis', 'axes')}, but {taken} were indexed"
        )
    positions: list[range] = []
    result: list[int] = []

    def everything(count: int) -> None:
        for _ in range(count):
            length = shape[len(positions)]
            positions.append(range(length))
            result.append(length)

    for part in parts:
        if part is None:
            result.append(1)
        elif part is Ellipsis:
            everything(len(shape) - taken)
        else:
            axis = len(positions)
            if isinstance(part, slice):
                try:
                    positions.append(range(*part.indices(shape[axis])))
                except ValueError:
                    raise IndexError(f"the slice of axis {axis} has a step of zero") from None
                except TypeError:
                    raise IndexError(
                        f"the slice of axis {axis} has a bound that is neither an integer nor None"
                    ) from None
                result.append(len(positions[-1]))
            else:
                i = _position(part, axis, shape[axis])
                positions.append(range(i, i + 1))
    everything(len(shape) - len(positions))
    scalar = not result and not ellipses
    return Selection(tuple(positions), tuple(result), scalar)


def _position(part: object, axis: int, length: int) -> int:
    try:
        if type(part) is int:  # without the slower tests below: most indices are plain integers
            i = part
        elif isinstance(part, bool) or getattr(getattr(part, "dtype", None), "kind", "") == "b":  # a mask
            raise TypeError
        else:
            i = operator.index(cast(SupportsIndex, part))
    except TypeError:
        several = isinstance(part, list | tuple) or hasattr(part, "__array__")
        raise IndexError(
            f"axis {axis} was indexed with {type(part).__name__}: only integers, slices (:), ellipsis (...) and "
            f"newaxis are valid here{'; read a region first to pick elements by a list or a mask' if several else ''}"
        ) from None
    if not -length <= i < length:
        raise IndexError(f"index {i} is out of bounds for axis {axis} with size {length}")
    return int(i + length if i < 0 else i)


def _parts(positions: range, edges: Edges) -> list[AxisSelection]:
    start, step, count, length = positions.start, positions.step, len(positions), edges.length
    if count == 1:
        chunk = edges.chunk_of(start)
        low, high = edges.span(chunk)
        source = slice(start - low, start - low + 1, 1)
        return [AxisSelection(chunk, source, slice(0, 1, 1), high - low == 1, min(high, length) - low == 1)]
    parts: list[AxisSelection] = []
    done = 0
    while done < count:
        at = start + done * step
        chunk = edges.chunk_of(at)
        low, high = edges.span(chunk)
        reach = (high - 1 - at) // step if step > 0 else (at - low) // -step
        n = min(count - done, reach + 1)
        first = at - low
        if n == 1:
            source = slice(first, first + 1, 1)
        else:
            stop = first + (n - 1) * step + (1 if step > 0 else -1)
            source = slice(first, stop if stop >= 0 else None, step)
        parts.append(
            AxisSelection(
                chunk,
                source,
                slice(done, done + n, 1),
                n == high - low and (step > 0 or n == 1),
                n == min(high, length) - low,
            )
        )
        done += n
    return parts
