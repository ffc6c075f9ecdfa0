"""Reads a selection of an array: decides which chunks are read, how much of each, and on which thread.

The plan is made per axis, combined row by row and split into jobs (read_plan.py). The calling thread and the decode
threads take jobs from one locked iterator; each thread has its own reader, arena and scratch memory. Each chunk is
decoded in one of three ways, which are the codec's three methods:

* of a large chunk that is needed in part, only that part is decoded, where the codec can (pipeline.Window);
* tiny chunks (`CodecPipeline.decodes_many`), and parts of large ones where the codec can merge them (`reads_blocks`),
  are decoded many by one call and put into the result by one assignment (batch.py);
* every other chunk is decoded completely: directly into the result if its elements are contiguous there, otherwise into
  scratch memory first.

Chunks of remote stores, nested shards and arrays without axes are fetched by `Array.fetch`, with many requests at once.
Every way applies the same checks; a chunk that is not stored reads as the fill value.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from zarrscope.chunkio.batch import Batch
from zarrscope.chunkio.locator import EncodedChunk
from zarrscope.chunkio.output_buffer import allocate_result
from zarrscope.chunkio.read_plan import AxisPart, PlanRow, RowSlice, axis_parts, by_grid_chunk, pack_jobs, rows
from zarrscope.errors import BadChunk, ZarrscopeError
from zarrscope.model.buffers import Arena, BytesSource, RangeReadable
from zarrscope.model.metadata import RegularGrid
from zarrscope.model.selection import ChunkIndex, ChunkSelection, Selection, cross
from zarrscope.runtime.interrupts import uninterrupted
from zarrscope.runtime.threads import shared
from zarrscope.runtime.tuning import (
    JOB_BYTES,
    JOB_CHUNKS,
    LOCK_PATIENCE_SECONDS,
    MERGED_BYTES,
    MERGED_CHUNKS,
    PLANNED_CHUNKS,
    SERIAL_BYTES,
    SERIAL_COPIED_BYTES,
    SERIAL_QUICK_BYTES,
    SERIAL_TINY_BYTES,
)
from zarrscope.stores.value_reader import Reader

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zarrscope.chunkio.source import ArraySource, CountOfChunks
    from zarrscope.codecs import CodecPipeline
    from zarrscope.codecs.window import DecodeWindow
    from zarrscope.model.storage import Buffer

LOCKED = getattr(sys, "_is_gil_enabled", lambda: True)()  # whether Python has a GIL


@uninterrupted
def read(array: ArraySource, selection: Selection, counted: CountOfChunks | None = None) -> NDArray[Any]:
    """The elements in the shape of `selection.full_shape`. Raises the errors that Array.__getitem__ lists."""
    out, blank = allocate_result(array, selection)
    if selection.size:
        reading = _ReadJob(array, selection, out, blank)
        reading.run()
        if reading.absent == reading.touched:
            array.need_unchanged(writing=False)
        if counted is not None:
            counted(reading.absent, reading.touched)
    return out


class _WorkerState:
    """The arenas, reader and scratch memory of one thread during one read; later reads reuse the arenas."""

    _free: list[tuple[Arena, Arena]] = []  # noqa: RUF012 - shared on purpose

    def __init__(self, array: ArraySource) -> None:
        try:
            self.arena, self.scratch = self._free.pop()
        except IndexError:
            self.arena, self.scratch = Arena(), Arena()
        self.reader = array.store.bulk.reader(self.arena, array.locator.max_stored_size)
        self._elements: NDArray[Any] | None = None
        self.absent = 0  # the number of chunks that were not stored

    def memory(self, size: int) -> NDArray[np.uint8]:
        """Memory with undefined content, valid until the next call."""
        if self._elements is not None and size > self._elements.nbytes:
            self._elements = None
        self.scratch.clear()
        return np.frombuffer(self.scratch.take(size), np.uint8)

    def elements(self, pipeline: CodecPipeline) -> NDArray[Any] | None:
        """Memory for one decoded chunk, valid until the next request for memory; None where elements are objects."""
        if self._elements is None or self._elements.shape != pipeline.spec.shape:
            shape, dtype = pipeline.spec.shape, pipeline.dtype
            if dtype.hasobject:
                return None
            self._elements = pipeline.empty_chunk(self.memory(prod(shape) * dtype.itemsize))
        return self._elements

    def close(self) -> None:
        self.reader.close()
        self.arena.clear()
        self.scratch.clear()
        if len(self._free) < 2 * shared().decode_threads:
            self._free.append((self.arena, self.scratch))


class _ReadJob:
    def __init__(self, array: ArraySource, selection: Selection, out: NDArray[Any], blank: bool) -> None:
        self.array, self.out = array, out
        self.locator = array.locator
        self.parts = selection.axis_selections([self.locator.edges(axis) for axis in range(array.ndim)])
        self.touched = prod(len(parts) for parts in self.parts)
        self.blank = blank
        """Whether the result already holds the fill value."""
        self.chunk_bytes = prod(self.locator.chunk_shape) * array.dtype.itemsize
        self._regular: CodecPipeline | None = None
        """The pipeline of all chunks, if all have the same shape."""
        if self.locator.tiers or isinstance(array.metadata.grid, RegularGrid):
            array.check_size(self.locator.chunk_shape)
            self._regular = array.chunk_pipeline(self.locator.chunk_shape)
        self._most = -1 if self._regular is None else self._regular.encoded.limit
        """The largest size of an encoded chunk; −1 if it differs between chunks."""
        regular = self._regular if self.touched > 1 else None
        self._decodes_many = regular is not None and regular.decodes_many
        """Whether many chunks are decoded by one call."""
        self._reads_blocks = regular is not None and regular.reads_blocks and self._window_of_first() is not None
        """Whether parts of many chunks are decoded by one call."""
        self.threads = 1
        self._windows: dict[object, DecodeWindow | None] = {}
        self._local = threading.local()
        self._states: list[_WorkerState] = []
        self._file_lock = threading.Lock()
        self._kept: WeakSet[Any] = WeakSet()
        """The files of shards that stay open until the read ends."""

    def run(self) -> None:
        array, locator = self.array, self.locator
        background = shared()
        threads = self.threads = 1 if self._is_small() else background.decode_threads
        try:
            if array.store.remote:
                background.share(self._arrivals(), self._place_many)
            elif len(locator.tiers) > 1 or not array.ndim or array.metadata.alternative_keys:
                groups = by_grid_chunk(self.parts, locator.chunks_per_shard)
                items = (item for group in groups for item in fetched(array, group))
                background.share(items, self._place, threads)
            elif self.touched == 1:
                self._do_one()
            else:
                background.share(self._sharded_jobs() if locator.tiers else self._jobs(), _call, threads)
        finally:
            for state in self._states:
                state.close()
            for kept in list(self._kept):  # closes them, as the traceback of an error would keep them open
                kept.close()

    def _is_small(self) -> bool:
        """Whether waking a second thread would take longer than it saves (tests/bench: tiny and raw, planes)."""
        if self.touched == 1:
            return True
        each, enough = self.chunk_bytes, SERIAL_TINY_BYTES if self._decodes_many else SERIAL_BYTES
        if self._regular is not None and self._regular.copies_only:
            window = self._window_of_first()
            each, enough = window.size if window is not None else each, SERIAL_COPIED_BYTES
        elif self._regular is not None and self._regular.fast:
            enough = SERIAL_QUICK_BYTES
        return self.touched * each <= enough

    def _window_of_first(self) -> DecodeWindow | None:
        assert self._regular is not None
        return self._regular.window(tuple(parts[0].source for parts in self.parts))

    # ------------------------------------------------------------------ jobs
    def _jobs(self) -> Iterator[Callable[[], None]]:
        """The jobs for chunks that are stored under their own keys."""
        *outer, last = axis_parts(self.parts)
        keys = self.array.metadata.keys

        def longer(key: tuple[str, str], text: str) -> tuple[str, str]:
            if keys.reverse:
                return key[0], keys.separator + text + key[1]
            return key[0] + text + keys.separator, key[1]

        row_slices = (RowSlice(row, last) for row in rows(self.out, outer, (keys.prefix + keys.stem, ""), longer))
        for some in pack_jobs(row_slices, self._job_size()):
            yield partial(self._do_each, some)

    def _job_size(self) -> int:
        """Chunks per job: enough that taking a job costs little, few enough that every thread gets some."""
        joins = self._decodes_many or self._reads_blocks
        each = max(1, self.chunk_bytes)
        most = max(
            1, min(MERGED_CHUNKS, MERGED_BYTES // each) if self._reads_blocks else min(JOB_CHUNKS, JOB_BYTES // each)
        )
        share = self.touched // ((2 if joins else 4) * self.threads)
        return most if self.threads == 1 else max(1, min(most, share))

    def _sharded_jobs(self) -> Iterator[Callable[[], None]]:
        """The jobs for inner chunks, shard by shard. This thread reads the index, and the thread that takes the job
        reads the chunks."""
        per_shard = self.locator.chunks_per_shard
        axes: list[list[list[AxisPart]]] = []
        for some, n in zip(axis_parts(self.parts), per_shard, strict=True):
            groups: dict[int, list[AxisPart]] = {}
            for part in some:
                groups.setdefault(part.selection.chunk // n, []).append(part)
            axes.append(list(groups.values()))
        keys = self.array.metadata.keys
        for group in product(*axes):
            chunk = tuple(some[0].selection.chunk // n for some, n in zip(group, per_shard, strict=True))
            key = keys.key(chunk)
            inner = [
                [part.selection.chunk - c * n for part in some]
                for some, c, n in zip(group, chunk, per_shard, strict=True)
            ]
            state = self._state  # state of this thread, which also takes the next job
            state.arena.clear()
            try:
                spans = self.locator.spans(state.reader, key, inner)
            except ZarrscopeError as error:
                self.array.located(error, key)
                raise
            *outer, last = group
            beneath = rows(self.out, outer, (key, ""), lambda key, text: key)
            if spans is None:
                for row in beneath:
                    self._fill(row, last)
                continue
            n = len(last)
            row_slices = (RowSlice(row, last, spans[j * n : (j + 1) * n]) for j, row in enumerate(beneath))
            kept = self._hold(state.reader)  # `spans` fit only this version of the shard
            for job in pack_jobs(row_slices, self._job_size()):
                yield partial(self._do_inner, job, kept)

    @property
    def absent(self) -> int:
        """The number of chunks that were not stored."""
        return sum(state.absent for state in self._states)

    def _fill(self, row: PlanRow, some: Sequence[AxisPart]) -> None:
        self._state.absent += len(some)
        if not self.blank:
            row.target[..., some[0].selection.target.start : some[-1].selection.target.stop] = self.array.fill_value

    # ------------------------------------------------------------------ working
    def _do_one(self) -> None:
        """Reads a single chunk without a plan, because planning would take longer than reading (benchmark "pixel")."""
        parts = [some[0] for some in self.parts]
        chunk, source = tuple(part.chunk for part in parts), tuple(part.source for part in parts)
        last = AxisPart(parts[-1], "", 0)
        whole = all(part.whole for part in parts)
        key = self.locator.key(chunk)
        row = PlanRow(chunk[:-1], (key, ""), source[:-1], self.out, whole, all(part.covers for part in parts), ())
        if not self.locator.tiers:
            self._do_each((RowSlice(row, (last,)),))
            return
        inner = [[i % n] for i, n in zip(chunk, self.locator.chunks_per_shard, strict=True)]
        try:
            spans = self.locator.spans(self._state.reader, key, inner)
        except ZarrscopeError as error:
            self.array.located(error, key)
            raise
        if spans is None:
            self._fill(row, (last,))
        else:
            self._do_inner((RowSlice(row, (last,), spans),), self._hold(self._state.reader))

    def _hold(self, reader: Reader) -> object:
        """Keeps the file of the reader's current shard open."""
        kept = reader.keep()
        if hasattr(kept, "close"):
            self._kept.add(kept)
        return kept

    def _new_state(self) -> _WorkerState:
        made = _WorkerState(self.array)
        self._states.append(made)
        return made

    @property
    def _state(self) -> _WorkerState:
        """The state of the current thread."""
        found: _WorkerState | None = getattr(self._local, "state", None)
        if found is None:
            found = self._local.state = self._new_state()
        return found

    def _pipeline(self, chunk: ChunkIndex) -> CodecPipeline:
        if self._regular is not None:
            return self._regular
        shape = self.locator.stored_chunk_shape(chunk)
        self.array.check_size(shape)
        return self.array.chunk_pipeline(shape)

    def _check_stored(self, size: int, row: PlanRow, part: AxisPart) -> None:
        """Refuses values larger than any encoded chunk: a sparse file may claim terabytes (spec F.3)."""
        chunk = (*row.chunk, part.selection.chunk)
        pipeline = self._pipeline(chunk)
        most = pipeline.encoded.limit
        if size > most:
            raise BadChunk(
                f"{size:,} bytes are stored, where a chunk encodes to {most:,} at most",
                codec=pipeline.codecs[-1].name,
                index=chunk,
            )

    def _do_each(self, job: Sequence[RowSlice]) -> None:
        """Reads chunks that are stored under their own keys."""
        state = self._state
        state.arena.clear()
        reader = state.reader
        batch = Batch()
        joins = self._decodes_many or self._reads_blocks
        mine = LOCKED and joins and self.threads > 1 and self._file_lock.acquire(timeout=LOCK_PATIENCE_SECONDS)
        try:
            for row_slice in job:
                row = row_slice.row
                before, after = row.key
                for part in row_slice.parts:
                    try:
                        if not joins:
                            state.arena.clear()
                        reader.seek(f"{before}{part.text}{after}")
                        if reader.size is not None and reader.size > self._most:
                            self._check_stored(reader.size, row, part)
                        self._put(state, row, part, reader, batch)
                    except Exception as error:
                        raise self.array.failure(error, (*row.chunk, part.selection.chunk))  # noqa: B904 - the error caught
        finally:
            if mine:
                self._file_lock.release()
        if self._regular is not None:
            batch.decode_into_result(self._regular, self.chunk_bytes, state.memory, state.arena, self.array.failure)

    def _do_inner(self, job: Sequence[RowSlice], kept: object) -> None:
        """Reads inner chunks of one shard."""
        state = self._state
        state.arena.clear()
        key = job[0].row.key[0]
        state.reader.take(key, kept)
        chunks = [(*row_slice.row.chunk, part.selection.chunk) for row_slice in job for part in row_slice.parts]
        spans = [span for row_slice in job for span in row_slice.spans]
        given = zip(chunks, self.locator.read_spans(state.reader, key, chunks, spans), strict=True)
        batch = Batch()
        for row_slice in job:
            for part, (chunk, data) in zip(row_slice.parts, given, strict=False):
                try:
                    self._put(state, row_slice.row, part, _Fetched(data), batch)
                except Exception as error:
                    raise self.array.failure(error, chunk)  # noqa: B904 - the error caught, or a new one caused by it
        if self._regular is not None:
            batch.decode_into_result(self._regular, self.chunk_bytes, state.memory, state.arena, self.array.failure)

    def _put(self, state: _WorkerState, row: PlanRow, part: AxisPart, reader: Reader | _Fetched, batch: Batch) -> None:
        """Decodes one chunk and copies its selected part into the result; or adds it to the batch to be decoded
        next."""
        pipeline = self._regular or self._pipeline((*row.chunk, part.selection.chunk))
        whole = row.whole and part.selection.whole
        target = (
            row.target[..., part.selection.target] if whole or not (self._decodes_many or self._reads_blocks) else None
        )
        direct = whole and target is not None and target.flags.c_contiguous
        if not direct and (window := self._window(pipeline, row, part)) is not None:
            source = reader.source()
            if source is None:
                self._fill(row, (part,))
            elif self._reads_blocks and (encoded := pipeline.read_blocks(source, window)) is not None:
                batch.blocks.setdefault(id(window), (window, []))[1].append((row, part, encoded))
            else:
                row.target[..., part.selection.target] = pipeline.decode_window(
                    source, window, state.memory(window.size)
                )
            return
        data = reader.whole()
        if data is None:
            self._fill(row, (part,))
        elif self._decodes_many:
            batch.chunks.append((row, part, data))
        elif direct and target is not None:
            pipeline.decode(data, target)
        else:
            taken = pipeline.decode(data, state.elements(pipeline))[(*row.source, part.selection.source)]
            row.target[..., part.selection.target] = taken

    def _window(self, pipeline: CodecPipeline, row: PlanRow, part: AxisPart) -> DecodeWindow | None:
        name = (row.source_ids, part.source_id, pipeline.spec.shape)
        try:
            return self._windows[name]
        except KeyError:
            taken = part.selection
            made = self._windows[name] = pipeline.window((*row.source, taken.source), row.covers and taken.covers)
            return made

    # ------------------------------------------------------------------ many requests at once
    def _arrivals(self) -> Iterator[Sequence[tuple[ChunkSelection, EncodedChunk]]]:
        """The chunk selections with their encoded chunks as they arrive; several at once if one call can decode
        several."""
        most = self._job_size() if self._decodes_many else 1
        for some in fetched_together(self.array, map(cross, product(*self.parts)), PLANNED_CHUNKS):
            yield from (some[at : at + most] for at in range(0, len(some), most))

    def _place_many(self, items: Sequence[tuple[ChunkSelection, EncodedChunk]]) -> None:
        """Decodes chunks that arrived together, by one call if the codecs can."""
        pipeline = self._regular
        encoded = [payload for _, payload in items if isinstance(payload, bytes | memoryview)]
        if pipeline is not None and 1 < len(encoded) == len(items):
            state = self._state
            state.arena.clear()
            try:
                decoded = pipeline.decode_many(encoded, state.memory(len(encoded) * self.chunk_bytes), state.arena)
            except Exception:
                pass  # decoding one after the other names the damaged one, and reads an outdated shard index again
            else:
                for (piece, _), values in zip(items, decoded, strict=True):
                    self.out[piece.target] = values[piece.source]
                return
        for item in items:
            self._place(item)

    def _place(self, item: tuple[ChunkSelection, EncodedChunk]) -> None:
        """Decodes one chunk and copies its selected part into the result."""
        piece, payload = item
        out, array = self.out, self.array
        if payload is None:
            self._state.absent += 1
            if not self.blank:
                out[piece.target] = array.fill_value
            return
        chunk = piece.chunk
        if isinstance(payload, ZarrscopeError):
            raise array.failure(payload, chunk)
        target = out[piece.target] if piece.target else out
        if piece.whole and target.flags.c_contiguous:
            decoded = array.decode(chunk, payload, target)
            if decoded is not target:
                target[...] = decoded
        else:
            state, pipeline = self._state, self._pipeline(chunk)
            window = self._window_of(pipeline, piece)
            if window is not None:
                try:
                    target[...] = pipeline.decode_window(BytesSource(payload), window, state.memory(window.size))
                    return
                except Exception:
                    pass  # decoding the whole chunk reports the fault, or reads an outdated shard index again
            target[...] = array.decode(chunk, payload, state.elements(pipeline))[piece.source]

    def _window_of(self, pipeline: CodecPipeline, piece: ChunkSelection) -> DecodeWindow | None:
        name = (tuple([(part.start, part.stop, part.step) for part in piece.source]), piece.covers, pipeline.spec.shape)
        try:
            return self._windows[name]
        except KeyError:
            return self._windows.setdefault(name, pipeline.window(piece.source, piece.covers))


class _Fetched:
    """Fetched bytes with the interface of a Reader; None where nothing is stored."""

    __slots__ = ("_data",)

    def __init__(self, data: Buffer | None) -> None:
        self._data = data

    def whole(self) -> Buffer | None:
        return self._data

    def source(self) -> RangeReadable | None:
        return None if self._data is None else BytesSource(self._data)


def fetched(array: ArraySource, pieces: Iterable[ChunkSelection]) -> Iterator[tuple[ChunkSelection, EncodedChunk]]:
    """Yields each chunk selection with its chunk's bytes as they arrive."""
    for some in fetched_together(array, pieces):
        yield from some


def fetched_together(
    array: ArraySource, pieces: Iterable[ChunkSelection], batch: int | None = None
) -> Iterator[Sequence[tuple[ChunkSelection, EncodedChunk]]]:
    """Like `fetched`, but yields one sequence for all chunk selections whose chunks arrived together. Requests `batch`
    chunks at once; None: all."""
    waiting = iter(pieces)
    while by_chunk := {piece.chunk: piece for piece in islice(waiting, batch)}:
        for some in array.fetch_together(by_chunk):
            yield [(by_chunk[chunk], payload) for chunk, payload in some]


def _call(job: Callable[[], None]) -> None:
    job()
