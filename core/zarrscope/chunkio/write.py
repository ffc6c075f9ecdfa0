"""Writing into arrays: whole chunks at once, parts of chunks without losing anybody's update.

A chunk (a shard) that a selection covers is encoded and put; nobody ever reads a part of it, and it reaches the disk
when the system sees fit, as with zarr-python: who wrote it can write it again. One covered in part is read, changed and
stored, flushed to disk, only if what is stored is still what was read, else read again; those who do that to the same
key take turns, threads and processes alike. Of a shard only the inner chunks that the selection touches are encoded
anew. A chunk of nothing but the fill value, to the bit, is not stored; where all of it is written one stored before is
erased, as zarr-python does by default (a part-written one is stored: an erasure could not be made conditional).

Many chunks are encoded on all cores, and so are the inner chunks of one shard: in slabs, gathered in one go.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zarrscope.background import shared
from zarrscope.errors import BadChunk, Conflict, ZarrscopeError
from zarrscope.locator import Index
from zarrscope.reader import Room
from zarrscope.selection import Piece, Selection
from zarrscope.store import ABSENT, Buffer

if TYPE_CHECKING:
    from zarrscope.array import Array
    from zarrscope.codecs import CodecPipeline
    from zarrscope.codecs.sharding import Shard

ATTEMPTS = 100
"""How often a write at a border is tried again when others keep changing the same chunk."""
SLAB_BYTES = 8 << 20
"""The inner chunks of a shard are gathered and encoded so many decoded bytes at a time: one slab per thread."""


def write(array: Array, selection: Selection, values: ArrayLike) -> None:
    """Stores `values`, broadcast to the selection. Raises as Array.__setitem__ says."""
    array.need_writing()
    grid = array.metadata.grid
    pipeline = array.pipeline_of(grid.chunk_shape)
    array.check_size(grid.chunk_shape)
    array.settle_keys(selection)
    given = _broadcast(array, values, selection)
    edges = [grid.edges(axis, n) for axis, n in enumerate(array.shape)]
    alone = selection.size <= prod(pipeline.spec.shape) and pipeline.shard is None
    scratch = _Scratch(array)

    def work() -> Iterator[Callable[[], None]]:
        for piece in selection.pieces(edges):
            values = given[piece.target] if piece.target else given
            chunk = _Chunk(array, array.pipeline_of(grid.shape_at(piece.chunk)), piece, values, scratch)
            yield from chunk.steps()

    shared().share(work(), lambda step: step(), threads=1 if alone else None)


def erase_outside(array: Array, shape: tuple[int, ...]) -> None:
    """Erases the chunks that lie wholly outside `shape`."""
    keys, grid = array.metadata.keys, array.metadata.grid
    before, after = grid.extent(array.shape), grid.extent(shape)
    kept = [min(b, a) for b, a in zip(before, after, strict=True)]
    for axis in range(array.ndim):  # axis by axis, so that only chunks that go are visited, and each once
        spans = [range(kept[i]) if i < axis else range(before[i]) for i in range(array.ndim)]
        spans[axis] = range(kept[axis], before[axis])
        array.store.erase_values(keys.key(chunk) for chunk in product(*spans))


def _broadcast(array: Array, values: ArrayLike, selection: Selection) -> NDArray[Any]:
    dtype = array.dtype
    if dtype.hasobject and dtype.names is None and not isinstance(values, np.ndarray):
        given = np.empty((), object) if isinstance(values, str | bytes) else np.asarray(values, object)
        if isinstance(values, str | bytes):
            given[()] = values
    else:
        given = np.asarray(values)
    if given.dtype != dtype and not (dtype.hasobject and given.dtype.kind in "OSUT"):
        given = given.astype(dtype)
    return np.broadcast_to(given, selection.shape).reshape(selection.extent)


@dataclass
class _Chunk:
    """What one write does to one chunk of the grid: `values` go to `piece.source` of it."""

    array: Array
    pipeline: CodecPipeline
    piece: Piece
    values: NDArray[Any]
    scratch: _Scratch

    @property
    def key(self) -> str:
        return self.array.metadata.keys.key(self.piece.chunk)

    @property
    def shape(self) -> Index:
        return self.pipeline.spec.shape

    def steps(self) -> Iterator[Callable[[], None]]:
        """The work, in parts that may be done side by side."""
        shard = self.pipeline.shard
        if not self.piece.covers:
            yield self.change
        elif shard is None or not self.shape:
            yield self.replace
        else:
            yield from _Slabs(self, shard).steps()

    # ------------------------------------------------------------------ all of it
    def replace(self) -> None:
        chunk = self.values
        if not (self.piece.whole and chunk.flags.c_contiguous and chunk.dtype == self.array.dtype):
            chunk = self.memory(self.shape)
            if not self.piece.whole:
                chunk[...] = self.array.fill_value
            _gather(self.values, chunk[self.piece.source or ...])
        if self.is_blank(chunk):
            self.array.store.erase(self.key)
        else:
            with self.scratch.room() as room:
                with self.named():
                    encoded = self.pipeline.lend(chunk, room)
                self.array.store.put(self.key, encoded)

    def memory(self, shape: Index) -> NDArray[Any]:
        """Of this thread, until it asks again. What it holds is undefined."""
        kept: NDArray[Any] | None = getattr(self.scratch.threads, "kept", None)
        if kept is None or kept.shape != shape:
            kept = self.scratch.threads.kept = np.empty(shape, self.array.dtype)
        return kept

    # ------------------------------------------------------------------ a part of it
    def change(self) -> None:
        store, key = self.array.store, self.key
        with store.turn(key):
            for _ in range(ATTEMPTS):
                found = store.get_versioned(key)
                value = self.changed(None if found is None else found[0])
                if value is None:
                    return
                try:
                    store.set(key, value, expect=ABSENT if found is None else found[1])
                    return
                except Conflict as conflict:
                    lost = conflict
        raise lost

    def changed(self, stored: bytes | None) -> bytes | None:
        """What is to be stored in the place of `stored`; None where nothing is, and nothing needs to be."""
        if self.pipeline.shard is not None and self.shape:
            return self._changed_shard(self.pipeline.shard, stored)
        if stored is None:
            chunk = np.full(self.shape, self.array.fill_value, self.array.dtype)
        else:
            with self.named():
                chunk = _own(self.pipeline.decode(stored))
        chunk[self.piece.source or ...] = self.values
        if stored is None and self.is_blank(chunk):
            return None
        with self.named():
            return self.pipeline.encode(chunk)

    def _changed_shard(self, shard: Shard, stored: bytes | None) -> bytes | None:
        chunks: dict[Index, Buffer] = {}
        size = shard.inner.spec.shape
        touched = [_touched(part, n) for part, n in zip(self.piece.source, size, strict=True)]
        with self.named():
            if stored is not None:
                chunks.update(shard.split(stored))
            for parts in product(*touched):
                index, source, target = (tuple(each) for each in zip(*parts, strict=True))
                values = self.values[target]
                if values.shape == size:  # its old content does not matter, be it damaged
                    inner = np.empty(size, self.array.dtype)
                elif index in chunks:
                    inner = _own(shard.inner.decode(chunks[index]))
                else:
                    inner = np.full(size, self.array.fill_value, self.array.dtype)
                inner[source] = values
                if self.is_blank(inner):
                    chunks.pop(index, None)
                else:
                    chunks[index] = shard.inner.encode(inner)
        if stored is None and not chunks:
            return None
        return shard.assemble(chunks)

    # ------------------------------------------------------------------ both
    def is_blank(self, chunk: NDArray[Any]) -> bool:
        """Nothing but the fill value; never where that is undefined."""
        first = self.scratch.first
        if first is not None and chunk.size and chunk[(0,) * chunk.ndim].tobytes() != first:
            return False  # nearly every chunk is told by its first element
        from zarrscope.codecs import is_fill

        return self.array.metadata.fill.defined and is_fill(chunk, self.array.metadata.fill)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Errors of codecs say which chunk they met."""
        try:
            yield
        except BadChunk as error:
            error.advice = error.advice or "It is left as it is: writing a part of it would lose the rest."
            error.index = error.index or self.piece.chunk
            raise self.array.located(error, self.key)  # noqa: B904 - it is that error
        except ZarrscopeError as error:
            raise self.array.located(error, self.key)  # noqa: B904 - it is that error


class _Scratch:
    """What one write has for all its chunks: memory above all, for fresh memory costs as much as what is put there."""

    def __init__(self, array: Array) -> None:
        self.first: bytes | None = None
        """The fill value as it lies in memory, where all values of the type have one size."""
        if not array.dtype.hasobject and array.dtype.itemsize and array.metadata.fill.defined:
            self.first = np.full((), array.metadata.fill.value, array.dtype).tobytes()
        self.threads = threading.local()
        """`kept`: where a thread gathers."""
        self._rooms: list[Room] = []

    def take(self) -> Room:
        """Where nobody else has what was encoded, until it is given back."""
        return self._rooms.pop() if self._rooms else Room()

    def give(self, room: Room) -> None:
        room.clear()
        self._rooms.append(room)

    @contextmanager
    def room(self) -> Iterator[Room]:
        room = self.take()
        try:
            yield room
        finally:
            self.give(room)


def _gather(values: NDArray[Any], chunk: NDArray[Any]) -> None:
    """Copies `values` to `chunk`, of the same shape: rows that lie without gaps in both as one item each.

    That takes 40 % less than element by element ("write full").
    """
    size = values.itemsize
    plain = values.dtype == chunk.dtype and not values.dtype.hasobject and size > 0
    if plain and values.size and values.ndim and values.strides[-1] == chunk.strides[-1] == size:
        row = np.dtype((np.void, values.shape[-1] * size))
        values, chunk = values.view(row), chunk.view(row)
    np.copyto(chunk, values)


def _own(chunk: NDArray[Any]) -> NDArray[Any]:
    return chunk if chunk.flags.writeable else chunk.copy()


def _touched(part: slice, size: int) -> Iterator[tuple[int, slice, slice]]:
    """(inner chunk, positions in it, positions in the values) along one axis, of inner chunks `size` long."""
    positions = range(1 << 62)[part]
    done = 0
    while done < len(positions):
        chunk, first = divmod(positions[done], size)
        step = positions.step
        reach = (size - 1 - first) // step if step > 0 else first // -step
        n = min(len(positions) - done, reach + 1)
        stop = first + (n - 1) * step + (1 if step > 0 else -1)
        yield chunk, slice(first, stop if stop >= 0 else None, step), slice(done, done + n)
        done += n


class _Slabs:
    """A shard that is written whole: its inner chunks in slabs, each gathered at once and encoded by one thread."""

    def __init__(self, chunk: _Chunk, shard: Shard) -> None:
        self.chunk, self.shard = chunk, shard
        turned = (
            slice(None, None, -1 if part.step is not None and part.step < 0 else 1) for part in chunk.piece.source
        )
        self.values = chunk.values[tuple(turned)]
        """In stored order: those of a chunk that is covered may come backwards."""
        self.encoded: dict[Index, Buffer] = {}
        self._rooms: list[Room] = []
        """Where they lie."""
        self._guard = threading.Lock()
        self._left = 0

    def steps(self) -> Iterator[Callable[[], None]]:
        slabs = list(self._slabs())
        self._left = len(slabs)
        for slab in slabs:
            yield lambda slab=slab: self._encode(slab)  # type: ignore[misc]

    def _slabs(self) -> Iterator[tuple[range, ...]]:
        """Ranges of inner chunks: whole trailing axes, as many as SLAB_BYTES take, and one of each axis before them."""
        grid = self.shard.grid
        fits = max(1, SLAB_BYTES // max(1, prod(self.shard.inner.spec.shape) * self.chunk.array.dtype.itemsize))
        lengths: list[int] = []
        for n in reversed(grid):
            length = min(n, fits)
            lengths.insert(0, length)
            fits = fits // n if length == n else 1
            fits = max(1, fits)
        yield from product(
            *([range(i, min(i + k, n)) for i in range(0, n, k)] for n, k in zip(grid, lengths, strict=True))
        )

    def _encode(self, slab: tuple[range, ...]) -> None:
        chunk, shard = self.chunk, self.shard
        gathered = self._gathered(slab)
        if gathered is not None:
            room = chunk.scratch.take()
            self._rooms.append(room)
            with chunk.named():
                indices = list(product(*slab))
                which = [i for i, inner in enumerate(gathered) if not chunk.is_blank(inner)]
                encoded = shard.inner.lend_each(gathered, which, room)
                made = {indices[i]: data for i, data in zip(which, encoded, strict=True)}
            self.encoded.update(made)
        with self._guard:
            self._left -= 1
            last = not self._left
        if last:
            store = chunk.array.store
            if self.encoded:
                store.put(chunk.key, *shard.parts(self.encoded))
            else:
                store.erase(chunk.key)
            self.encoded = {}
            for room in self._rooms:
                chunk.scratch.give(room)

    def _gathered(self, slab: tuple[range, ...]) -> NDArray[Any] | None:
        """The inner chunks of the slab one after the other; None where the values do not reach."""
        chunk, size = self.chunk, self.shard.inner.spec.shape
        low = [s.start * n for s, n in zip(slab, size, strict=True)]
        high = [s.stop * n for s, n in zip(slab, size, strict=True)]
        values = self.values[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
        if not values.size:
            return None
        counts = tuple(len(s) for s in slab)
        whole = tuple(b - a for a, b in zip(low, high, strict=True))
        if values.shape != whole:
            padded = np.full(whole, chunk.array.fill_value, chunk.array.dtype)
            padded[tuple(slice(0, n) for n in values.shape)] = values
            values = padded
        rank = len(size)
        memory = chunk.memory((*counts, *size))
        split = values.reshape([n for pair in zip(counts, size, strict=True) for n in pair])
        _gather(split.transpose([*range(0, 2 * rank, 2), *range(1, 2 * rank, 2)]), memory)
        gathered: NDArray[Any] = memory.reshape(-1, *size)
        return gathered
