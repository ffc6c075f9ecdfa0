"""Finds the stored chunks of an array, and their sizes, from the store's listing. No chunk is read.

Where the store cannot list, the first byte of each chunk is requested if the grid is small; if it is large, nothing is
known about its chunks. The memory of an inventory grows with the number of stored chunks, not with the grid: a grid of
2^60 chunks takes no more memory than a small one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zarrscope.chunkio.presence import are_present
from zarrscope.chunkio.stored_chunks import index_at, index_of, number_of
from zarrscope.errors import Unreadable
from zarrscope.model.buffers import Arena
from zarrscope.model.storage import never
from zarrscope.runtime.tuning import LISTED_AT_ONCE

if TYPE_CHECKING:
    from zarrscope.model.metadata import ChunkKeys
    from zarrscope.model.selection import ChunkIndex
    from zarrscope.nodes.array import Array

MOST_KEPT = 1 << 22
"""The most chunks that an inventory records one by one (64 MiB). If there are more, it records the first ones, and sums
over all."""
MOST_ASKED = 4096
"""In a store that cannot list, the chunks are requested one by one if the grid has at most this many."""
MOST_INNER = 1 << 16
"""The most inner chunks of one shard that are reported one by one."""
UNKNOWN = -1
"""The size of a chunk if the store does not report it."""


@dataclass(frozen=True, eq=False)
class Inventory:
    """The stored chunks of the grid; in a sharded array the shards."""

    grid: ChunkIndex
    total: int
    known: bool
    """False: the store cannot list, and the grid is too large to request each chunk."""
    complete: bool
    """False: cancelled before the end."""
    present: int
    nbytes: int | None
    """The bytes of all stored chunks; None if the size of one of them is not known."""
    outside: int
    """The number of chunks that are stored, but lie outside the grid."""
    numbers: NDArray[Any]
    """The numbers of the stored chunks in C order, ascending; at most MOST_KEPT."""
    sizes: NDArray[np.int64]
    """The sizes in bytes, in the order of `numbers`; UNKNOWN where the store does not report them."""

    @property
    def absent(self) -> int:
        """The number of chunks of the grid that are not stored."""
        return self.total - self.present

    def spread(self) -> tuple[int, int, int] | None:
        """(smallest, median, largest) size of a chunk; None where no size is known."""
        told = self.sizes[self.sizes >= 0]
        return (int(np.min(told)), int(np.median(told)), int(np.max(told))) if told.size else None

    def histogram(self, bins: int = 16) -> tuple[int, ...]:
        """The number of chunks in each of `bins` ranges of equal width from the smallest to the largest size; empty if
        no size is known, or if all are equal."""
        told = self.sizes[self.sizes >= 0]
        if not told.size or told.min() == told.max():
            return ()
        return tuple(map(int, np.histogram(told, bins)[0]))

    def size_of(self, chunk: ChunkIndex) -> int | None:
        """The size of a stored chunk, or UNKNOWN if the store does not report it; None for a chunk that is not
        stored."""
        number = number_of(chunk, self.grid)
        at = int(np.searchsorted(self.numbers, number))
        return int(self.sizes[at]) if at < len(self.numbers) and self.numbers[at] == number else None

    def absent_chunks(self) -> Iterator[ChunkIndex]:
        """The chunks that are not stored, in C order. Only for an inventory that kept every stored chunk."""
        at = 0
        for number in range(self.total):
            if at < len(self.numbers) and self.numbers[at] == number:
                at += 1
            else:
                yield index_at(number, self.grid)

    def next_absent(self, number: int) -> ChunkIndex | None:
        """The first chunk from number `number` on, in C order, that is not stored; after the last chunk follows the
        first. None if all are stored, or if that is not known because not every stored chunk was noted."""
        if not self.known or len(self.numbers) != self.present or not self.absent:
            return None
        for start in (number, 0):
            later = self.numbers[np.searchsorted(self.numbers, start) :]
            gaps = np.flatnonzero(later != start + np.arange(len(later)))
            found = start + (int(gaps[0]) if gaps.size else len(later))
            if found < self.total:
                return index_at(found, self.grid)
        return None

    def cut(
        self,
        row_axis: int,
        column_axis: int,
        fixed: ChunkIndex,
        step: tuple[int, int] = (1, 1),
        first: tuple[int, int] = (0, 0),
        extent: tuple[int, int] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Cuts a plane of the grid into cells of `step` chunks. Returns (stored chunks, their bytes) for each cell.

        `fixed`: the index of the plane along the other axes. If `row_axis` or `column_axis` is negative, the plane has
        one row or one column. `first` and `extent` choose a part of the plane, in chunks.
        """
        axes = (row_axis, column_axis)
        lengths = extent or tuple(
            self.grid[axis] - low if axis >= 0 else 1 for axis, low in zip(axes, first, strict=True)
        )
        shape = tuple(-(-length // width) for length, width in zip(lengths, step, strict=True))
        wanted = np.ones(len(self.numbers), bool)
        places = [np.zeros(len(self.numbers), np.int64) for _ in axes]
        rest = self.numbers
        for axis in range(len(self.grid) - 1, -1, -1):
            place, rest = rest % self.grid[axis], rest // self.grid[axis]
            if axis not in axes:
                wanted &= (place == fixed[axis]).astype(bool)
                continue
            side = axes.index(axis)
            wanted &= ((place >= first[side]) & (place < first[side] + lengths[side])).astype(bool)
            places[side] = ((place - first[side]) // step[side]).astype(np.int64)
        cells = (places[0] * shape[1] + places[1])[wanted]
        sizes = np.maximum(self.sizes[wanted], 0)
        many = shape[0] * shape[1]
        counts = np.bincount(cells, minlength=many).reshape(shape)
        return counts, np.bincount(cells, sizes, many).astype(np.int64).reshape(shape)


def take_inventory(
    array: Array,
    cancelled: Callable[[], bool] = never,
    progress: Callable[[int], object] = lambda found: None,
) -> Inventory:
    """Finds the stored chunks of an array. `progress` is called with the number found so far. Waits for the store.

    Raises Unreadable if the store does not answer.
    """
    grid = tuple(array.metadata.grid.grid_shape(array.shape))
    total = prod(grid)
    taken = _Taken(grid, total)
    if array.store.listable:
        for count, (key, size) in enumerate(_keys(array, cancelled)):
            if count % LISTED_AT_ONCE == 0:
                progress(taken.present)
            taken.note(array, key, size)
    elif total <= MOST_ASKED:
        _ask(array, taken, cancelled)
    else:
        return taken.inventory(known=False, complete=True)
    return taken.inventory(known=True, complete=not cancelled())


class _Taken:
    def __init__(self, grid: ChunkIndex, total: int) -> None:
        self.grid, self.total = grid, total
        self.present = self.outside = self.nbytes = self.unsized = 0
        self._numbers: list[int] = []
        self._sizes: list[int] = []
        self._seen: set[int] = set()

    def note(self, array: Array, key: str, size: int | None) -> None:
        """Counts the chunk that is stored under `key`. All other keys, such as those of documents, are skipped."""
        forms: tuple[ChunkKeys, ...] = (array.metadata.keys, *array.metadata.alternative_keys)
        index = next((i for i in (index_of(form, key, len(self.grid)) for form in forms) if i is not None), None)
        if index is None:
            return
        if not all(i < n for i, n in zip(index, self.grid, strict=True)):
            self.outside += 1
            return
        self.add(number_of(index, self.grid), size, twice=len(forms) > 1)

    def add(self, number: int, size: int | None, twice: bool = False) -> None:
        """Adds a stored chunk. `twice`: it may also be stored under another key, and counts once."""
        if twice:
            if number in self._seen:
                return
            self._seen.add(number)
        self.present += 1
        self.unsized += size is None
        self.nbytes += size or 0
        if len(self._numbers) < MOST_KEPT:
            self._numbers.append(number)
            self._sizes.append(UNKNOWN if size is None else size)

    def inventory(self, known: bool, complete: bool) -> Inventory:
        numbers = np.array(self._numbers, np.int64 if self.total < 1 << 63 else object)
        order = np.argsort(numbers, kind="stable")
        sizes = np.array(self._sizes, np.int64)
        nbytes = self.nbytes if known and not self.unsized else None
        return Inventory(
            self.grid, self.total, known, complete, self.present, nbytes, self.outside, numbers[order], sizes[order]
        )


def _keys(array: Array, cancelled: Callable[[], bool]) -> Iterator[tuple[str, int | None]]:
    """Yields each key that may hold a chunk, with its size where the listing gives it."""
    store, metadata = array.store, array.metadata
    for prefix in dict.fromkeys(keys.prefix for keys in (metadata.keys, *metadata.alternative_keys)):
        if store.remote:
            found = store.bulk.list_sizes(prefix)
        else:
            found = ((key, store.bulk.size_of(key)) for key in store.list_prefix(prefix))
        for each in found:
            if cancelled():
                return
            yield each


def _ask(array: Array, taken: _Taken, cancelled: Callable[[], bool]) -> None:
    """Requests the first byte of each chunk, unless a reader found out before whether it is stored."""
    key = array.metadata.keys.key
    for number, stored in are_present(
        array.store, [key(index_at(n, taken.grid)) for n in range(taken.total)], cancelled
    ):
        if stored:
            taken.add(number, None)


@dataclass(frozen=True)
class InnerChunk:
    """A chunk within a shard: its index in the array, and its byte range in the shard, None if it is not stored."""

    index: ChunkIndex
    span: tuple[int, int] | None


def inner_chunks(array: Array, shard: ChunkIndex) -> tuple[InnerChunk, ...]:
    """The chunks within a shard, from its index; none if the array has no shards, or shards with too many chunks.

    Reads the index. Raises BadChunk, Unreadable.
    """
    locator = array._stored.locator
    if not locator.tiers or prod(locator.chunks_per_shard) > MOST_INNER:
        return ()
    spans: Sequence[range] = [
        range(c * n, min((c + 1) * n, whole))
        for c, n, whole in zip(shard, locator.chunks_per_shard, locator.grid_shape, strict=True)
    ]
    within = [range(len(span)) for span in spans]
    reader = array.store.bulk.reader(Arena(), locator.max_stored_size)
    try:
        found = locator.spans(reader, array.metadata.keys.key(shard), within)
    finally:
        reader.close()
    places = [index_at(n, tuple(map(len, spans))) for n in range(prod(map(len, spans)))]
    told = found if found is not None else [None] * len(places)
    if len(told) != len(places):
        raise Unreadable("The index of the shard has a wrong number of entries", store=array.store.url)
    return tuple(
        InnerChunk(tuple(span[i] for span, i in zip(spans, place, strict=True)), bytes_there)
        for place, bytes_there in zip(places, told, strict=True)
    )
