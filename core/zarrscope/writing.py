"""Writing into arrays: whole chunks at once, parts of chunks without losing anybody's update.

A chunk (a shard) that a selection covers is encoded and stored. One covered in part is read, changed and stored only if
what is stored is still what was read, else read again: threads of one process take turns by a lock per key, processes
are told apart by versions. A chunk of nothing but the fill value, to the bit, is not stored; where all of it is written
one stored before is erased, as zarr-python does by default (a part-written one is stored: an erasure could not be made
conditional). Many chunks are encoded on all cores.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zarrscope.background import shared
from zarrscope.errors import BadChunk, Conflict, ZarrscopeError
from zarrscope.locator import Index
from zarrscope.selection import Piece, Selection
from zarrscope.store import ABSENT, Version

if TYPE_CHECKING:
    from zarrscope.array import Array
    from zarrscope.codecs import CodecPipeline

ATTEMPTS = 100
"""How often a write at a border is tried again when others keep changing the same chunk."""


def write(array: Array, selection: Selection, values: ArrayLike) -> None:
    """Stores `values`, broadcast to the selection. Raises as Array.__setitem__ says."""
    array.need_writing()
    grid = array.metadata.grid
    pipeline = array.pipeline_of(grid.chunk_shape)
    array.check_size(grid.chunk_shape)
    array.settle_keys(selection)
    given = _broadcast(array, values, selection)
    edges = [grid.edges(axis, n) for axis, n in enumerate(array.shape)]
    alone = selection.size <= prod(pipeline.spec.shape)

    def write_piece(piece: Piece) -> None:
        _write_chunk(array, piece, given[piece.target] if piece.target else given)

    shared().share(selection.pieces(edges), write_piece, threads=1 if alone else None)


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


def _write_chunk(array: Array, piece: Piece, values: NDArray[Any]) -> None:
    store, key = array.store, array.metadata.keys.key(piece.chunk)
    shape = array.metadata.grid.shape_at(piece.chunk)
    pipeline = array.pipeline_of(shape)
    with _writing(store.url, key):
        if piece.covers:
            if piece.whole and values.flags.c_contiguous and values.shape == shape and values.dtype == array.dtype:
                chunk = values
            else:
                chunk = np.full(shape, array.fill_value, array.dtype)
                chunk[piece.source or ...] = values
            if _is_blank(array, chunk):
                store.erase(key)
            else:
                store.set(key, _encode(array, pipeline, chunk, key))
            return
        for _ in range(ATTEMPTS):
            chunk, version = _stored_chunk(array, pipeline, key, piece.chunk)
            chunk[piece.source or ...] = values
            if version == ABSENT and _is_blank(array, chunk):
                return
            try:
                store.set(key, _encode(array, pipeline, chunk, key), expect=version)
                return
            except Conflict as conflict:
                lost = conflict
        raise lost


def _stored_chunk(array: Array, pipeline: CodecPipeline, key: str, index: Index) -> tuple[NDArray[Any], Version]:
    found = array.store.get_versioned(key)
    if found is None:
        return np.full(pipeline.spec.shape, array.fill_value, array.dtype), ABSENT
    data, version = found
    try:
        chunk = pipeline.decode(data)
    except BadChunk as error:
        error.advice = error.advice or "It is left as it is: writing a part of it would lose the rest."
        error.index = error.index or index
        raise array.located(error, key)  # noqa: B904 - it is that error
    return (chunk if chunk.flags.writeable else chunk.copy()), version


def _encode(array: Array, pipeline: CodecPipeline, chunk: NDArray[Any], key: str) -> bytes:
    try:
        return pipeline.encode(chunk)
    except ZarrscopeError as error:
        raise array.located(error, key)  # noqa: B904 - it is that error


def _is_blank(array: Array, chunk: NDArray[Any]) -> bool:
    """Nothing but the fill value; never where that is undefined."""
    from zarrscope.codecs import is_fill

    return array.metadata.fill.defined and is_fill(chunk, array.metadata.fill)


_locks: dict[tuple[str, str], tuple[threading.Lock, int]] = {}
_locks_guard = threading.Lock()


@contextmanager
def _writing(url: str, key: str) -> Iterator[None]:
    """Held by the one thread of this process that writes this key. Other processes are told apart by versions."""
    name = (url, key)
    with _locks_guard:
        lock, users = _locks.get(name, (threading.Lock(), 0))
        _locks[name] = (lock, users + 1)
    try:
        with lock:
            yield
    finally:
        with _locks_guard:
            lock, users = _locks[name]
            if users == 1:
                del _locks[name]
            else:
                _locks[name] = (lock, users - 1)
