"""Finds the stored chunks of an array from the store's listing, so that work on a sparse array grows with its stored
chunks, not with its grid.

A grid of up to MANY chunks is visited as a whole, because that takes no longer than a listing. Where the store cannot
list, every chunk has to be requested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from zarrscope.errors import Refused
from zarrscope.model.selection import ChunkIndex
from zarrscope.model.storage import never
from zarrscope.runtime.tuning import VISITED_CHUNKS

if TYPE_CHECKING:
    from zarrscope.chunkio.source import ArraySource
    from zarrscope.model.metadata import ChunkKeys

MOST = 1 << 30
"""The most chunks that are visited in a store that cannot list."""

SPARSE = 16
"""An array is sparse when fewer than one in this many chunks is stored."""

ElementRanges = Sequence[tuple[int, int]]
"""A range of elements (start, stop) along each axis."""

ArrayT = TypeVar("ArrayT", bound="ArraySource")


def index_of(keys: ChunkKeys, key: str, ndim: int) -> ChunkIndex | None:
    """The index of the chunk that `key` belongs to, within the grid or not; None if it is not a chunk's key."""
    if not key.startswith(keys.prefix):
        return None
    rest = key[len(keys.prefix) :]
    if ndim == 0:
        return () if rest == keys.scalar else None
    if not rest.startswith(keys.stem):
        return None
    parts = rest[len(keys.stem) :].split(keys.separator)
    if len(parts) != ndim or not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
        return None
    index = tuple(map(int, reversed(parts) if keys.reverse else parts))
    return index if keys.key(index) == key else None


def region_of(keys: ChunkKeys, key: str, ndim: int) -> tuple[int | None, ...] | None:
    """The region of the chunks that lie at `key`, which may be a file or a folder: one index per axis, None for all
    chunks along that axis. Returns None if `key` can hold no chunk."""
    index = index_of(keys, key, ndim)
    if index is not None or not ndim:
        return index
    if f"{key}/" == keys.prefix + keys.stem:
        return (None,) * ndim
    if keys.separator != "/" or not key.startswith(keys.prefix + keys.stem):
        return None
    parts = key[len(keys.prefix) + len(keys.stem) :].split("/")
    if len(parts) >= ndim or not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
        return None
    known = (*map(int, parts), *(None,) * (ndim - len(parts)))
    return known[::-1] if keys.reverse else known


class ChunkSet:
    """A set of chunks of a grid, in C order. Holds the numbers of the chunks: sixteen million chunks take 128 MiB."""

    def __init__(self, extent: ChunkIndex, indices: Iterable[ChunkIndex]) -> None:
        self.extent = extent
        numbers = (number_of(index, extent) for index in indices)
        self._numbers: np.ndarray[tuple[int], np.dtype[np.int64]] | list[int]
        if prod(extent) < 1 << 63:
            self._numbers = np.unique(np.fromiter(numbers, np.int64))
        else:
            self._numbers = sorted(set(numbers))

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[ChunkIndex]:
        for number in self._numbers:
            yield index_at(int(number), self.extent)


def number_of(index: ChunkIndex, extent: ChunkIndex) -> int:
    """The number of a chunk, counted in C order."""
    number = 0
    for i, n in zip(index, extent, strict=True):
        number = number * n + i
    return number


def index_at(number: int, extent: ChunkIndex) -> ChunkIndex:
    """The index of the chunk with a number, counted in C order."""
    index: list[int] = []
    for n in reversed(extent):
        number, i = divmod(number, n)
        index.append(i)
    return tuple(reversed(index))


def stored_chunks(array: ArraySource, cancelled: Callable[[], bool] = never) -> ChunkSet | None:
    """The chunks of the grid that are stored; None where visiting all chunks is as quick, or the store cannot list.

    Raises Unreadable; and Refused where the store cannot list and the grid is too large to visit.
    """
    metadata = array.metadata
    extent = metadata.grid.grid_shape(array.shape)
    total = prod(extent)
    if total <= VISITED_CHUNKS:
        return None
    if not array.store.listable:
        if total > MOST:
            raise array.located(
                Refused(
                    f"The array has {total:,} chunks, and the store cannot list which of them are there",
                    advice="Use a store that can list its keys, such as a folder or a bucket.",
                )
            )
        return None
    forms = (metadata.keys, *metadata.alternative_keys)

    def found() -> Iterator[ChunkIndex]:
        for form in forms:
            for count, key in enumerate(array.store.list_prefix(form.prefix)):
                if count % 1024 == 0 and cancelled():
                    return
                index = index_of(form, key, len(extent))
                if index is not None and all(i < n for i, n in zip(index, extent, strict=True)):
                    yield index

    return ChunkSet(extent, found())


def elements_of(array: ArraySource, chunk: ChunkIndex) -> ElementRanges:
    """The ranges of the elements that a grid chunk holds, without those beyond the array's edge."""
    grid, shape = array.metadata.grid, array.shape
    spans = (grid.edges(axis, n).span(i) for axis, (n, i) in enumerate(zip(shape, chunk, strict=True)))
    return [(low, min(high, n)) for (low, high), n in zip(spans, shape, strict=True)]


def listed(arrays: Iterable[ArrayT], cancelled: Callable[[], bool] = never) -> list[tuple[ArrayT, ChunkSet]] | None:
    """Each array with its stored chunks; None if `stored_chunks` returns None for one of the arrays."""
    found = []
    for array in arrays:
        stored = stored_chunks(array, cancelled)
        if stored is None:
            return None
        found.append((array, stored))
    return found


def is_sparse(found: Iterable[tuple[ArraySource, ChunkSet]]) -> bool:
    """Whether few chunks are stored, so that reading neighbours together with them wastes time."""
    return all(SPARSE * len(stored) < prod(stored.extent) for _, stored in found)


def blocks_touched(
    found: Iterable[tuple[ArrayT, ChunkSet]], block: Callable[[ArrayT, ElementRanges], Sequence[range]]
) -> list[ChunkIndex]:
    """The blocks, in C order, that hold elements of stored chunks of any of these arrays.

    `block(array, ranges)` returns, for each axis, the indices of the blocks that contain these ranges of elements.
    """
    touched: set[ChunkIndex] = set()
    for array, stored in found:
        for chunk in stored:
            touched.update(product(*block(array, elements_of(array, chunk))))
    return sorted(touched)
