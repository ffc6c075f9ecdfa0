"""Selections of elements by lists of positions, grouped by the chunks in which the elements lie.

Both classes have the interface of a Selection for writing (chunkio/write.py). If an element is given twice, the last
value stays, as in numpy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from zarrscope.model.metadata import RegularEdges
from zarrscope.model.selection import Edges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Positions = NDArray[np.intp]


class AxisGroup(NamedTuple):
    """The selected positions that lie in one chunk, along one axis."""

    chunk: int
    within: Positions
    """The positions relative to the chunk's beginning."""
    members: Positions
    """The indices of these positions in the list of all positions, ascending."""


class OrthogonalSelection:
    """The elements at every combination of the positions that are given per axis, as `array.oindex` selects them."""

    def __init__(self, positions: Sequence[Positions], shape: tuple[int, ...], scalar: bool = False) -> None:
        self.positions = tuple(positions)
        self.shape = shape
        """The shape of the result, without the axes that an integer indexes."""
        self.scalar = scalar
        self.full_shape = tuple(map(len, positions))
        self.size = prod(self.full_shape)

    def chunk_selections(self, edges: Sequence[Edges]) -> Iterator[ScatteredChunkSelection]:
        """Yields the selected elements chunk by chunk: each chunk that holds any, once."""
        if not self.size:
            return
        groups = [grouped(each, axis) for each, axis in zip(self.positions, edges, strict=True)]
        for chosen in product(*groups):
            within = OrthogonalSelection(
                [group.within for group in chosen], tuple(len(group.within) for group in chosen)
            )
            members = np.ix_(*(group.members for group in chosen))
            yield ScatteredChunkSelection(
                tuple(group.chunk for group in chosen), np.ix_(*within.positions), members, within
            )


class CoordinateSelection:
    """The elements at single points, given as one list of coordinates per axis, as `array.vindex` selects them."""

    def __init__(self, positions: Sequence[Positions], shape: tuple[int, ...], scalar: bool = False) -> None:
        self.positions = tuple(positions)
        self.shape = shape
        self.scalar = scalar
        self.size = len(positions[0])
        self.full_shape = (self.size,)

    def chunk_selections(self, edges: Sequence[Edges]) -> Iterator[ScatteredChunkSelection]:
        """Yields the selected points chunk by chunk: each chunk that holds any, once."""
        if not self.size:
            return
        chunks = np.empty((len(self.positions), self.size), np.intp)
        within = np.empty_like(chunks)
        for axis, (positions, each) in enumerate(zip(self.positions, edges, strict=True)):
            for group in grouped(positions, each):
                chunks[axis, group.members] = group.chunk
                within[axis, group.members] = group.within
        order = np.lexsort(chunks[::-1])  # stable: points of one chunk keep their order
        ends = np.flatnonzero((np.diff(chunks[:, order], axis=1) != 0).any(axis=0)) + 1
        for members in np.split(order, ends):
            own = tuple(within[:, members])
            chunk = tuple(int(n) for n in chunks[:, members[0]])
            yield ScatteredChunkSelection(chunk, own, (members,), CoordinateSelection(own, (len(members),)))


class ScatteredChunkSelection(NamedTuple):
    """The selected elements of one chunk: a ChunkSelection with index arrays in place of slices."""

    chunk: tuple[int, ...]
    source: tuple[NDArray[np.intp], ...]
    """Index arrays into the chunk."""
    target: tuple[NDArray[np.intp], ...]
    """Index arrays into the values that are read or written."""
    places: OrthogonalSelection | CoordinateSelection
    """The positions within the chunk, to be divided among its inner chunks."""
    whole: bool = False
    covers: bool = False


def grouped(positions: Positions, edges: Edges) -> list[AxisGroup]:
    """Groups the positions along one axis by the chunks in which they lie."""
    order = np.argsort(positions, kind="stable")
    ascending = positions[order]
    found, done = [], 0
    while done < len(ascending):
        chunk = edges.chunk_of(int(ascending[done]))
        low, high = edges.span(chunk)
        end = int(np.searchsorted(ascending, high))
        members = np.sort(order[done:end])
        found.append(AxisGroup(chunk, positions[members] - low, members))
        done = end
    return found


def inner_pieces(
    places: OrthogonalSelection | CoordinateSelection, shape: Sequence[int], size: Sequence[int]
) -> Iterator[ScatteredChunkSelection]:
    """The inner chunks of `size` that the positions touch, in a chunk of `shape`."""
    return places.chunk_selections([RegularEdges(n, length) for n, length in zip(size, shape, strict=True)])
