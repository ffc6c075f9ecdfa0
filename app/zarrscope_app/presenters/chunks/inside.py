"""The chunks in the chosen shard, as a plane of cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zarrscope.nodes.internals import stored_array
from zarrscope_app.presenters.chunks.view_models import ABSENT, PRESENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zarrscope.check.inventory import InnerChunk
    from zarrscope.model.selection import ChunkIndex
    from zarrscope.nodes.array import Array

NOT_STORED = -1
"""The size of an inner chunk that is not stored."""


@dataclass(frozen=True, eq=False)
class Inside:
    """The chunks in one shard."""

    ranges: tuple[range, ...]
    """The numbers of the chunks along each axis, within the array."""
    sizes: NDArray[np.int64]
    """The stored bytes of each chunk, or NOT_STORED; one axis for each of the array's."""
    starts: NDArray[np.int64]
    """The offset of each chunk in the shard, or NOT_STORED."""

    def span_of(self, index: ChunkIndex) -> tuple[int, int] | None:
        """The byte range in the shard of the chunk `index` of the array; None if it is not stored."""
        at = tuple(i - span.start for i, span in zip(index, self.ranges, strict=True))
        start, size = int(self.starts[at]), int(self.sizes[at])
        return (start, start + size) if size >= 0 else None

    def within(self, index: Sequence[int]) -> ChunkIndex:
        """The chunk of this shard that is nearest to a chunk of the array."""
        pairs = zip(index, self.ranges, strict=True)
        return tuple(min(max(i, span.start), max(span.start, span.stop - 1)) for i, span in pairs)

    def plane(
        self, at: ChunkIndex, axes: tuple[int, int]
    ) -> tuple[NDArray[np.uint8], NDArray[np.float32], tuple[int, int]]:
        """A plane along two axes (negative: one row or column) through the chunk `at`: the states of the cells, their
        sizes from 0 to 1, and the cell of `at`."""
        cut = tuple(
            slice(None) if axis in axes else i - span.start
            for axis, (i, span) in enumerate(zip(at, self.ranges, strict=True))
        )
        sizes = self.sizes[cut]
        if axes[0] > axes[1] >= 0:
            sizes = sizes.T
        sizes = np.atleast_2d(sizes)
        largest = max(1, int(self.sizes.max(initial=0)))
        cells = np.where(sizes >= 0, PRESENT, ABSENT).astype(np.uint8)
        row, column = (at[axis] - self.ranges[axis].start if axis >= 0 else 0 for axis in axes)
        return cells, (np.maximum(sizes, 0) / largest).astype(np.float32), (row, column)


def inside_of(array: Array, shard: ChunkIndex, inner: Sequence[InnerChunk]) -> Inside | None:
    """The chunks of a shard, as `inner_chunks` lists them; None if it lists none."""
    locator = stored_array(array).locator
    if not inner:
        return None
    ranges = tuple(
        range(c * n, min((c + 1) * n, whole))
        for c, n, whole in zip(shard, locator.chunks_per_shard, locator.grid_shape, strict=True)
    )
    shape = tuple(map(len, ranges))
    spans = [each.span or (NOT_STORED, 2 * NOT_STORED) for each in inner]
    starts, stops = np.array(spans, np.int64).T.reshape(2, *shape)
    return Inside(ranges, stops - starts, starts)
