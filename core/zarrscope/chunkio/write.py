"""Writes into arrays: whole chunks in one step, parts of chunks without losing another writer's update.

A chunk (or shard) that the selection covers completely is encoded and stored without flushing it to disk, as in
zarr-python: after a crash its writer can write all of it again. A chunk covered in part is read, changed, stored and
flushed to disk. It is stored only if the stored value is still the one that was read; otherwise it is read again.
Threads and processes that do this to the same key take turns. In a shard, only the inner chunks that the selection
touches are encoded anew. A chunk that holds nothing but the fill value, to the bit, is not stored. If the selection
covers it completely, a chunk stored before is erased, as zarr-python does by default; if the selection covers it in
part, it is stored, because stores cannot erase a value only if it is unchanged.

Many chunks are encoded on all cores. The inner chunks of one shard are encoded on all cores as well, in slabs whose
elements are gathered by one copy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.chunkio.stored_chunks import stored_chunks
from zarrscope.codecs.sharding import shard_of
from zarrscope.errors import BadChunk, Conflict, ZarrscopeError
from zarrscope.model.buffers import Arena
from zarrscope.model.scattered import CoordinateSelection, OrthogonalSelection, ScatteredChunkSelection, inner_pieces
from zarrscope.model.selection import ChunkIndex, ChunkSelection, Selection
from zarrscope.model.storage import ABSENT, Buffer
from zarrscope.runtime.threads import shared
from zarrscope.runtime.tuning import SLAB_BYTES

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zarrscope.chunkio.source import ArraySource
    from zarrscope.codecs import CodecPipeline
    from zarrscope.codecs.sharding import Shard
    from zarrscope.stores.puts import Puts

ATTEMPTS = 100
"""The most attempts to write a chunk in part while others keep changing it."""


def write(
    array: ArraySource, selection: Selection | OrthogonalSelection | CoordinateSelection, values: ArrayLike
) -> None:
    """Stores `values`, broadcast to the selection. Raises the errors that Array.__setitem__ lists."""
    array.need_writing()
    grid = array.metadata.grid
    pipeline = array.grid_chunk_pipeline(grid.chunk_shape)
    array.check_size(grid.chunk_shape)
    array.choose_keys(selection)
    given = as_elements(array, values, selection)
    edges = [grid.edges(axis, n) for axis, n in enumerate(array.shape)]
    alone = selection.size <= prod(pipeline.spec.shape) and shard_of(pipeline) is None
    scratch = _ArenaPool(array)

    with array.store.bulk.puts(partial(array.need_unchanged, writing=True)) as puts:

        def work() -> Iterator[Callable[[], None]]:
            for piece in selection.chunk_selections(edges):
                values = given[piece.target] if piece.target else given
                pipeline = array.grid_chunk_pipeline(grid.shape_at(piece.chunk))
                yield from _ChunkWriter(array, pipeline, piece, values, scratch, puts).steps()

        shared().share(work(), lambda step: step(), threads=1 if alone else None)


def keys_outside(array: ArraySource, shape: tuple[int, ...]) -> Iterator[str]:
    """Yields the keys of the chunks that lie wholly outside `shape`: of the stored ones where the store can list,
    otherwise of all chunks that may exist. Raises Unreadable or Refused before it yields the first key.
    """
    keys, grid = array.metadata.keys, array.metadata.grid
    before, after = grid.grid_shape(array.shape), grid.grid_shape(shape)
    kept = [min(b, a) for b, a in zip(before, after, strict=True)]
    if kept == list(before):
        return iter(())
    stored = stored_chunks(array)
    if stored is not None:
        return (keys.key(chunk) for chunk in stored if any(i >= n for i, n in zip(chunk, kept, strict=True)))
    return _keys_between(array, kept, before)


def erase_outside(array: ArraySource, outside: Iterator[str], undo: Callable[[], object]) -> None:
    """Erases the chunks at these keys, which lie outside the new shape of an array. If the first of them cannot be
    erased, nothing is lost yet, and `undo` is called to restore the former shape."""
    erased = False
    try:
        for key in outside:
            array.store.erase(key)
            erased = True
    except ZarrscopeError:
        if not erased:
            undo()
        raise


def _keys_between(array: ArraySource, kept: list[int], before: ChunkIndex) -> Iterator[str]:
    keys = array.metadata.keys
    for axis in range(array.ndim):  # axis by axis: visits only the chunks to erase, and each one once
        spans = [range(kept[i]) if i < axis else range(before[i]) for i in range(array.ndim)]
        spans[axis] = range(kept[axis], before[axis])
        yield from (keys.key(chunk) for chunk in product(*spans))


def as_elements(
    array: ArraySource, values: ArrayLike, selection: Selection | OrthogonalSelection | CoordinateSelection
) -> NDArray[Any]:
    """Returns `values` converted to the array's data type and broadcast to the selection's shape, as numpy's own
    assignment would store them."""
    given = _items(array, values) if array.dtype.hasobject else _elements(array.dtype, values, selection)
    if hasattr(values, "__array__"):
        given = _without_leading_axes(given, len(selection.shape))
    return _broadcast_to(given, selection.shape).reshape(selection.full_shape)


def _broadcast_to(given: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    try:
        return np.broadcast_to(given, shape)
    except ValueError:  # numpy's sentence tells of axes that it remapped
        raise ValueError(
            f"values of shape {given.shape} cannot be broadcast to the selection's shape {shape}"
        ) from None


def _without_leading_axes(given: NDArray[Any], ndim: int) -> NDArray[Any]:
    """The array without leading axes of length one that the selection does not have. Numpy's assignment drops these
    axes of arrays, but not of lists."""
    while given.ndim > ndim and given.shape[0] == 1:
        given = given[0]
    return given


def _elements(
    dtype: np.dtype[Any], values: ArrayLike, selection: Selection | OrthogonalSelection | CoordinateSelection
) -> NDArray[Any]:
    """Raises OverflowError, ValueError or TypeError, as numpy does, for values that do not fit.

    Numpy checks Python numbers and its own scalars, but casts arrays without checking their values. A single element
    accepts some values that several elements do not (a boolean element accepts any object).
    """
    if isinstance(values, np.ndarray) and values.dtype == dtype:
        return values
    if not hasattr(values, "__array__") and dtype.kind == "V" and "int" in dtype.name:
        _need_small_ints(dtype, values)
    if selection.scalar or isinstance(values, np.generic):
        element = np.zeros(1, dtype)
        element[0] = values
        return element.reshape(())
    if not hasattr(values, "__array__"):
        try:
            return np.asarray(values, dtype)
        except (OverflowError, TypeError):
            if np.asarray(values, object).ndim > len(selection.shape):
                raise ValueError("the lists are nested deeper than the selection has axes") from None
            raise
    source = _without_leading_axes(np.asarray(values), len(selection.shape))
    _broadcast_to(source, selection.shape)  # as in numpy, shapes that do not fit are refused before values
    made = np.empty(source.shape, dtype)
    made[...] = source
    return made


def _need_small_ints(dtype: np.dtype[Any], values: ArrayLike) -> None:
    """Raises OverflowError for Python integers outside of int2 to uint4, as numpy does for its own integers; ml_dtypes
    would store them modulo 2**bits."""
    found = np.asarray(values)
    if found.dtype.kind not in "iuO":
        return
    given = found.astype(object)
    try:
        fit = np.array_equal(found.astype(dtype).astype(object), given)
    except TypeError:  # ml_dtypes 0.5.0 takes an integer of more than 64 bits for no number
        if not all(isinstance(number, int) for number in given.flat):
            raise
        fit = False
    if not fit:
        raise OverflowError(f"Python integers out of bounds for {dtype.name}")


def _items(array: ArraySource, values: ArrayLike) -> NDArray[Any]:
    """Returns `values` as an array of Python objects: texts, bytes or any objects, as the array's data type requires.
    Raises ValueError for an item of another kind, as numpy's StringDType does."""
    if isinstance(values, str | bytes | bytearray | memoryview):
        given = np.empty((), object)
        given[()] = values
    else:
        given = np.asarray(values if hasattr(values, "__array__") else np.asarray(values, object))
    kind = array.metadata.dtype.name
    if kind not in _ITEMS:
        return given.astype(object) if given.dtype != array.dtype else given
    types, plain = _ITEMS[kind]
    if given.dtype.kind in plain:
        return given.astype(object)
    found: object = given.dtype
    if given.dtype.kind == "O":
        found = next((type(item).__name__ for item in given.flat if not isinstance(item, types)), None)
        if found is None:
            return given
    raise ValueError(f"{array.path} holds {_HOLDS[kind]}, not {found}: convert the values first")


_ITEMS: dict[str, tuple[tuple[type, ...], str]] = {"string": ((str,), "UT"), "bytes": ((bytes, bytearray), "S")}
"""The data type of values → the accepted Python types of items, and the kinds of numpy arrays that contain only
these."""
_HOLDS = {"string": "text", "bytes": "bytes"}


@dataclass
class _ChunkWriter:
    """Writes one grid chunk: `values` replace its part `piece.source`."""

    array: ArraySource
    pipeline: CodecPipeline
    piece: ChunkSelection | ScatteredChunkSelection
    values: NDArray[Any]
    scratch: _ArenaPool
    puts: Puts

    @property
    def key(self) -> str:
        return self.array.metadata.keys.key(self.piece.chunk)

    @property
    def shape(self) -> ChunkIndex:
        return self.pipeline.spec.shape

    def steps(self) -> Iterator[Callable[[], None]]:
        """The steps of writing this chunk, which may run in parallel."""
        shard = shard_of(self.pipeline)
        if not self.piece.covers:
            yield self.change
        elif shard is None or not self.shape:
            yield self.replace
        else:
            yield from _ShardWriter(self, shard).steps()

    # ------------------------------------------------------------------ all of it
    def replace(self) -> None:
        chunk = self.values
        if not (self.piece.whole and chunk.flags.c_contiguous and chunk.dtype == self.array.dtype):
            chunk = self.memory(self.shape)
            if not self.piece.whole:
                chunk[...] = self.array.fill_value
            _gather(self.values, chunk[self.piece.source or ...])
        if self.is_blank(chunk):
            self.puts.add(partial(self.array.store.erase, self.key))
        else:
            with self.scratch.arena() as arena:
                with self.named():
                    encoded = self.pipeline.encode_view(chunk, arena)
                self.puts.put(self.key, [encoded])

    def memory(self, shape: ChunkIndex) -> NDArray[Any]:
        """Scratch memory of this thread with undefined content, valid until the next call."""
        kept: NDArray[Any] | None = getattr(self.scratch.threads, "kept", None)
        if kept is None or kept.shape != shape:
            kept = self.scratch.threads.kept = np.empty(shape, self.array.dtype)
        return kept

    # ------------------------------------------------------------------ a part of it
    def change(self) -> None:
        store, key = self.array.store, self.key
        self.puts.checked()
        with store.lock(key):
            for _ in range(ATTEMPTS):
                found = store.get_versioned(key, self.array.locator.max_stored_size)
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
        """The value to store in place of `stored`; None if nothing is stored and nothing needs to be stored."""
        shard = shard_of(self.pipeline)
        if shard is not None and self.shape:
            return self._changed_shard(shard, stored)
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
        chunks: dict[ChunkIndex, Buffer] = {}
        size = shard.inner.spec.shape
        with self.named():
            if stored is not None:
                chunks.update(shard.split(stored))
            for index, source, target, covers in self._inner(size):
                values = self.values[target]
                if covers:  # the old content is replaced, so damage in it does not matter
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

    def _inner(self, size: ChunkIndex) -> Iterator[tuple[ChunkIndex, Any, Any, bool]]:
        """Yields (inner chunk, positions in it, positions in the values, whether it is covered) for each one that the
        selection touches."""
        if isinstance(self.piece, ScatteredChunkSelection):
            for inner in inner_pieces(self.piece.places, self.shape, size):
                yield inner.chunk, inner.source, inner.target, False
            return
        touched = [_touched(part, n) for part, n in zip(self.piece.source, size, strict=True)]
        for parts in product(*touched):
            index, source, target = (tuple(each) for each in zip(*parts, strict=True))
            yield index, source, target, self.values[target].shape == size

    # ------------------------------------------------------------------ both
    def is_blank(self, chunk: NDArray[Any]) -> bool:
        """Whether all values are the fill value; False if the array has no fill value."""
        first = self.scratch.first
        if first is not None and chunk.size and chunk[(0,) * chunk.ndim].tobytes() != first:
            return False  # in most chunks, already the first element differs
        from zarrscope.codecs import is_fill

        return self.array.metadata.fill.defined and is_fill(chunk, self.array.metadata.fill)

    @contextmanager
    def named(self) -> Iterator[None]:
        """While this context is active, errors of codecs get the index of the chunk."""
        try:
            yield
        except BadChunk as error:
            error.advice = error.own_advice or "It stays unchanged: writing a part of it would lose the other part."
            error.index = error.index or self.piece.chunk
            self.array.located(error, self.key)
            raise
        except ZarrscopeError as error:
            self.array.located(error, self.key)
            raise


class _ArenaPool:
    """Memory that the chunks of one write reuse, because allocating it for each chunk takes as long as filling it."""

    def __init__(self, array: ArraySource) -> None:
        self.first: bytes | None = None
        """The bytes of the fill value in memory, if all values of the type have one size."""
        if not array.dtype.hasobject and array.dtype.itemsize and array.metadata.fill.defined:
            self.first = np.full((), array.metadata.fill.value, array.dtype).tobytes()
        self.threads = threading.local()
        """Its attribute `kept` is the memory in which this thread collects the values of a chunk."""
        self._arenas: list[Arena] = []

    def take(self) -> Arena:
        """An arena for encoded chunks; the caller owns it until it passes it to `give`."""
        return self._arenas.pop() if self._arenas else Arena()

    def give(self, arena: Arena) -> None:
        arena.clear()
        self._arenas.append(arena)

    @contextmanager
    def arena(self) -> Iterator[Arena]:
        arena = self.take()
        try:
            yield arena
        finally:
            self.give(arena)


def _gather(values: NDArray[Any], chunk: NDArray[Any]) -> None:
    """Copies `values` to `chunk`, which has the same shape. Rows without gaps in both are copied as one item each.

    Copying rows takes 40 % less time than copying element by element (benchmark "write full").
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


class _ShardWriter:
    """A shard that is written whole: its inner chunks in slabs, each gathered at once and encoded by one thread."""

    def __init__(self, chunk: _ChunkWriter, shard: Shard) -> None:
        self.chunk, self.shard = chunk, shard
        source: Any = chunk.piece.source  # slices, as scattered elements never cover a whole chunk
        turned = (slice(None, None, -1 if part.step is not None and part.step < 0 else 1) for part in source)
        self.values = chunk.values[tuple(turned)]
        """The values in the order of the chunk's elements: axes with a negative step are reversed back."""
        self.encoded: dict[ChunkIndex, Buffer] = {}
        self._arenas: list[Arena] = []
        """The arenas that hold the encoded chunks."""
        self._guard = threading.Lock()
        self._left = 0

    def steps(self) -> Iterator[Callable[[], None]]:
        slabs = list(self._slabs())
        self._left = len(slabs)
        for slab in slabs:
            yield partial(self._encode, slab)

    def _slabs(self) -> Iterator[tuple[range, ...]]:
        """Yields the slabs, each as ranges of inner chunks, one range per axis; the last axes are filled up first."""
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
            arena = chunk.scratch.take()
            self._arenas.append(arena)
            with chunk.named():
                indices = list(product(*slab))
                which = [i for i, inner in enumerate(gathered) if not chunk.is_blank(inner)]
                encoded = shard.inner.encode_many(gathered, which, arena)
                made = {indices[i]: data for i, data in zip(which, encoded, strict=True)}
            self.encoded.update(made)
        with self._guard:
            self._left -= 1
            last = not self._left
        if last:
            if self.encoded:
                chunk.puts.put(chunk.key, [*shard.parts(self.encoded)])
            else:
                chunk.puts.add(partial(chunk.array.store.erase, chunk.key))
            self.encoded = {}
            for arena in self._arenas:
                chunk.scratch.give(arena)

    def _gathered(self, slab: tuple[range, ...]) -> NDArray[Any] | None:
        """The elements of the slab, one inner chunk after the other; None if the written values do not cover the
        slab."""
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
