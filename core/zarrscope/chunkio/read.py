"""Reading a selection of an array: which chunks, how much of each, and onto which thread.

The plan is made per axis, crossed row by row and cut into jobs (rows.py), which the calling thread and the decode
threads take from one locked iterator, each with its own reader, room and scratch. Per unit one of three ways, the
codec's three verbs:

* of a large unit that is needed in part, only that part is decoded, where the codec can (pipeline.Window);
* tiny units, and parts of large ones where the codec can join them (`CodecPipeline.batches`, `cuts`), are decoded many
  by one call and put into the result by one assignment (gathered.py);
* all else is decoded whole: straight into the result where it lies there without gaps, else by way of scratch.

Remote stores, nested shards and arrays without axes go by `Array.fetch`, many requests at once. The same checks hold on
all ways; what is not stored reads as the fill value.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.background import shared
from zarrscope.errors import BadChunk, ZarrscopeError
from zarrscope.gathered import Gathered
from zarrscope.locator import Index, Payload
from zarrscope.metadata import RegularGrid
from zarrscope.reader import Held, Reader, Room, Source
from zarrscope.result import result_for
from zarrscope.rows import Along, Row, Stretch, alongs, by_chunk, packed, rows
from zarrscope.selection import Piece, Selection, join

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zarrscope.array import Array
    from zarrscope.codecs import CodecPipeline
    from zarrscope.codecs.pipeline import Window
    from zarrscope.store import Buffer

SERIAL_BYTES = 256 * 1024
"""A local read that decodes less than this is not worth waking a thread for …"""
SERIAL_TINY_BYTES = 512 * 1024
"""… nor less than this of tiny units, of which half is Python's own work and the system's (2026-11-21, regions of 64³
anywhere in 128 MiB: two threads take a seventh less; in the same one again and again, "tiny", as long as one) …"""
SERIAL_COPIED_BYTES = 1 << 20
"""… nor less than this of what is only copied …"""
SERIAL_QUICK_BYTES = 8 << 20
"""… nor less than this where decoding is as quick as copying (2026-11-21, tests/bench/run.py "raw", planes and regions
of blosc-lz4: a thread that slept needs 50 to 100 µs to come, and so long again to be waited for)."""
JOB_BYTES = 1 << 20
"""So much is decoded before a thread asks for more work …"""
JOB_UNITS = 256
"""… and no more units than this."""
JOINED_UNITS = 8
"""Parts of so many units are decoded by one call …"""
JOINED_BYTES = 32 << 20
"""… or of fewer, which decode to no more than this as a whole: so much memory bounds what is read of them."""
PATIENCE = 0.002
"""Seconds that a thread waits for its turn to read files. One at a time reads those that the system holds in memory,
and the others decode: they would only take Python's lock from each other, with a sleep and a waking for each call.
Disks that take longer are read side by side (2026-11-21, tests/bench/run.py "tiny", full: 22 ms instead of 28)."""
LOCKED = getattr(sys, "_is_gil_enabled", lambda: True)()
"""There is such a lock."""
BATCH = 4096
"""So many chunks of a remote store are planned at once."""


def read(array: Array, selection: Selection) -> NDArray[Any]:
    """The selected elements in the shape of `selection.extent`. Raises as Array.__getitem__ says."""
    out, blank = result_for(array, selection)
    if selection.size:
        _Reading(array, selection, out, blank).run()
    return out


class _Hands:
    """What one thread works with during one read: given back after, for the next read of any thread."""

    _free: list[tuple[Room, Room]] = []  # noqa: RUF012 - shared on purpose

    def __init__(self, array: Array) -> None:
        try:
            self.room, self.scratch = self._free.pop()
        except IndexError:
            self.room, self.scratch = Room(), Room()
        self.reader = array.store.reader(self.room)
        self._elements: NDArray[Any] | None = None

    def memory(self, size: int) -> NDArray[np.uint8]:
        """Bytes of whatever content, good until asked again."""
        if self._elements is not None and size > self._elements.nbytes:
            self._elements = None
        self.scratch.clear()
        return np.frombuffer(self.scratch.take(size), np.uint8)

    def elements(self, pipeline: CodecPipeline) -> NDArray[Any] | None:
        """A chunk to decode into, good until memory is asked for again; None where elements are objects."""
        if self._elements is None or self._elements.shape != pipeline.spec.shape:
            shape, dtype = pipeline.spec.shape, pipeline.dtype
            if dtype.hasobject:
                return None
            self._elements = pipeline.laid_out(self.memory(prod(shape) * dtype.itemsize))
        return self._elements

    def close(self) -> None:
        self.reader.close()
        self.room.clear()
        self.scratch.clear()
        if len(self._free) < 2 * shared().decode_threads:
            self._free.append((self.room, self.scratch))


class _Reading:
    def __init__(self, array: Array, selection: Selection, out: NDArray[Any], blank: bool) -> None:
        self.array, self.out = array, out
        self.locator = array.locator
        self.parts = selection.parts([self.locator.edges(axis) for axis in range(array.ndim)])
        self.touched = prod(len(parts) for parts in self.parts)
        self.blank = blank
        """The result holds the fill value already."""
        self.unit_bytes = prod(self.locator.unit_shape) * array.dtype.itemsize
        self._regular: CodecPipeline | None = None
        """The codecs of all units, where all are alike."""
        if self.locator.tiers or isinstance(array.metadata.grid, RegularGrid):
            array.check_size(self.locator.unit_shape)
            self._regular = array.unit_pipeline(self.locator.unit_shape)
        self._most = -1 if self._regular is None else self._regular.encoded.limit
        """No unit is encoded to more bytes; −1: that is to be asked for each."""
        regular = self._regular if self.touched > 1 else None
        self._batches = regular is not None and regular.batches
        """Units are decoded many at once."""
        self._cuts = regular is not None and regular.cuts and self._window_of_first() is not None
        """Parts of units are."""
        self.threads = 1
        self._windows: dict[object, Window | None] = {}
        self._here = threading.local()
        self._hands: list[_Hands] = []
        self._turn = threading.Lock()

    def run(self) -> None:
        array, locator = self.array, self.locator
        background = shared()
        threads = self.threads = 1 if self._is_small() else background.decode_threads
        try:
            if array.store.remote:
                background.share(fetched(array, map(join, product(*self.parts)), BATCH), self._place)
            elif len(locator.tiers) > 1 or not array.ndim or array.metadata.alternative_keys:
                groups = by_chunk(self.parts, locator.units_per_chunk)
                items = (item for group in groups for item in fetched(array, group))
                background.share(items, self._place, threads)
            elif self.touched == 1:
                self._do_one()
            else:
                background.share(self._sharded_jobs() if locator.tiers else self._jobs(), _call, threads)
        finally:
            for hands in self._hands:
                hands.close()

    def _is_small(self) -> bool:
        """Whether waking a thread would take longer than it saves (tests/bench: tiny and raw, planes and regions)."""
        if self.touched == 1:
            return True
        each, enough = self.unit_bytes, SERIAL_TINY_BYTES if self._batches else SERIAL_BYTES
        if self._regular is not None and self._regular.copies:
            window = self._window_of_first()
            each, enough = window.size if window is not None else each, SERIAL_COPIED_BYTES
        elif self._regular is not None and self._regular.quick:
            enough = SERIAL_QUICK_BYTES
        return self.touched * each <= enough

    def _window_of_first(self) -> Window | None:
        assert self._regular is not None
        return self._regular.window(tuple(parts[0].source for parts in self.parts))

    # ------------------------------------------------------------------ jobs
    def _jobs(self) -> Iterator[Callable[[], None]]:
        """Of chunks under their own keys."""
        *outer, last = alongs(self.parts)
        keys = self.array.metadata.keys

        def longer(key: tuple[str, str], text: str) -> tuple[str, str]:
            if keys.reverse:
                return key[0], keys.separator + text + key[1]
            return key[0] + text + keys.separator, key[1]

        stretches = (Stretch(row, last) for row in rows(self.out, outer, (keys.prefix + keys.stem, ""), longer))
        for some in packed(stretches, self._job_size()):
            yield partial(self._do_each, some)

    def _job_size(self) -> int:
        """Large enough to be worth taking, small enough that all threads have some."""
        joins = self._batches or self._cuts
        each = max(1, self.unit_bytes)
        most = max(1, min(JOINED_UNITS, JOINED_BYTES // each) if self._cuts else min(JOB_UNITS, JOB_BYTES // each))
        share = self.touched // ((2 if joins else 4) * self.threads)
        return most if self.threads == 1 else max(1, min(most, share))

    def _sharded_jobs(self) -> Iterator[Callable[[], None]]:
        """Of inner chunks: one shard after the other; its index is read here, its chunks by those who take the job."""
        per_shard = self.locator.units_per_chunk
        axes: list[list[list[Along]]] = []
        for some, n in zip(alongs(self.parts), per_shard, strict=True):
            groups: dict[int, list[Along]] = {}
            for along in some:
                groups.setdefault(along.part.chunk // n, []).append(along)
            axes.append(list(groups.values()))
        keys = self.array.metadata.keys
        for group in product(*axes):
            chunk = tuple(some[0].part.chunk // n for some, n in zip(group, per_shard, strict=True))
            key = keys.key(chunk)
            inner = [
                [along.part.chunk - c * n for along in some] for some, c, n in zip(group, chunk, per_shard, strict=True)
            ]
            hands = self._mine  # of the thread that asks for work, and so has none
            hands.room.clear()
            try:
                spans = self.locator.spans(hands.reader, key, inner)
            except ZarrscopeError as error:
                raise self.array.located(error, key)  # noqa: B904 - it is that error
            *outer, last = group
            beneath = rows(self.out, outer, (key, ""), lambda key, text: key)
            if spans is None:
                for row in beneath:
                    self._fill(row, last)
                continue
            n = len(last)
            stretches = (Stretch(row, last, spans[j * n : (j + 1) * n]) for j, row in enumerate(beneath))
            kept = hands.reader.keep()  # a shard that replaces this one meanwhile has other places for its chunks
            for job in packed(stretches, self._job_size()):
                yield partial(self._do_inner, job, kept)

    def _fill(self, row: Row, some: Sequence[Along]) -> None:
        if not self.blank:
            row.target[..., some[0].part.target.start : some[-1].part.target.stop] = self.array.fill_value

    # ------------------------------------------------------------------ working
    def _do_one(self) -> None:
        """The only unit there is ("pixel"): the plan would take longer than the reading."""
        parts = [some[0] for some in self.parts]
        unit, source = tuple(part.chunk for part in parts), tuple(part.source for part in parts)
        last = Along(parts[-1], "", 0)
        whole = all(part.whole for part in parts)
        key = self.locator.key(unit)
        row = Row(unit[:-1], (key, ""), source[:-1], self.out, whole, ())
        if not self.locator.tiers:
            self._do_each((Stretch(row, (last,)),))
            return
        inner = [[i % n] for i, n in zip(unit, self.locator.units_per_chunk, strict=True)]
        try:
            spans = self.locator.spans(self._mine.reader, key, inner)
        except ZarrscopeError as error:
            raise self.array.located(error, key)  # noqa: B904 - it is that error
        if spans is None:
            self._fill(row, (last,))
        else:
            self._do_inner((Stretch(row, (last,), spans),), self._mine.reader.keep())

    def _new_hands(self) -> _Hands:
        made = _Hands(self.array)
        self._hands.append(made)
        return made

    @property
    def _mine(self) -> _Hands:
        """This thread's."""
        found: _Hands | None = getattr(self._here, "hands", None)
        if found is None:
            found = self._here.hands = self._new_hands()
        return found

    def _pipeline(self, unit: Index) -> CodecPipeline:
        if self._regular is not None:
            return self._regular
        shape = self.locator.shape_of(unit)
        self.array.check_size(shape)
        return self.array.unit_pipeline(shape)

    def _check_stored(self, size: int, row: Row, along: Along) -> None:
        """Refuses to read what no chunk encodes to: a file may be empty over terabytes (spec F.3)."""
        unit = (*row.chunk, along.part.chunk)
        pipeline = self._pipeline(unit)
        most = pipeline.encoded.limit
        if size > most:
            raise BadChunk(
                f"{size:,} bytes are stored, where a chunk encodes to {most:,} at most",
                codec=pipeline.codecs[-1].name,
                index=unit,
            )

    def _do_each(self, job: Sequence[Stretch]) -> None:
        """Units under their own keys."""
        hands = self._mine
        hands.room.clear()
        reader = hands.reader
        gathered = Gathered()
        joins = self._batches or self._cuts
        mine = LOCKED and joins and self.threads > 1 and self._turn.acquire(timeout=PATIENCE)
        try:
            for stretch in job:
                row = stretch.row
                before, after = row.key
                for along in stretch.some:
                    try:
                        if not joins:
                            hands.room.clear()
                        reader.seek(f"{before}{along.text}{after}")
                        if reader.size is not None and reader.size > self._most:
                            self._check_stored(reader.size, row, along)
                        self._put(hands, row, along, reader, gathered)
                    except Exception as error:
                        raise self.array.failure(error, (*row.chunk, along.part.chunk))  # noqa: B904 - it is that error
        finally:
            if mine:
                self._turn.release()
        if self._regular is not None:
            gathered.put(self._regular, self.unit_bytes, hands.memory, hands.room, self.array.failure)

    def _do_inner(self, job: Sequence[Stretch], kept: object) -> None:
        """Inner chunks of one shard."""
        hands = self._mine
        hands.room.clear()
        key = job[0].row.key[0]
        hands.reader.take(key, kept)
        units = [(*stretch.row.chunk, along.part.chunk) for stretch in job for along in stretch.some]
        spans = [span for stretch in job for span in stretch.spans]
        given = zip(units, self.locator.read_spans(hands.reader, key, units, spans), strict=True)
        gathered = Gathered()
        for stretch in job:
            for along, (unit, data) in zip(stretch.some, given, strict=False):
                try:
                    self._put(hands, stretch.row, along, _Given(data), gathered)
                except Exception as error:
                    raise self.array.failure(error, unit)  # noqa: B904 - it is that error, or has it as its cause
        if self._regular is not None:
            gathered.put(self._regular, self.unit_bytes, hands.memory, hands.room, self.array.failure)

    def _put(self, hands: _Hands, row: Row, along: Along, reader: Reader | _Given, gathered: Gathered) -> None:
        """Decodes one unit and puts what the selection takes of it where it goes; or gathers it to be decoded soon."""
        pipeline = self._regular or self._pipeline((*row.chunk, along.part.chunk))
        whole = row.whole and along.part.whole
        target = row.target[..., along.part.target] if whole or not (self._batches or self._cuts) else None
        direct = whole and target is not None and target.flags.c_contiguous
        if not direct and (window := self._window(pipeline, row, along)) is not None:
            source = reader.source()
            if source is None:
                self._fill(row, (along,))
            elif self._cuts and (cut := pipeline.cut(source, window)) is not None:
                gathered.cuts.setdefault(id(window), (window, []))[1].append((row, along, cut))
            else:
                row.target[..., along.part.target] = pipeline.decode_window(source, window, hands.memory(window.size))
            return
        data = reader.whole()
        if data is None:
            self._fill(row, (along,))
        elif self._batches:
            gathered.units.append((row, along, data))
        elif direct and target is not None:
            pipeline.decode(data, target)
        else:
            taken = pipeline.decode(data, hands.elements(pipeline))[(*row.source, along.part.source)]
            row.target[..., along.part.target] = taken

    def _window(self, pipeline: CodecPipeline, row: Row, along: Along) -> Window | None:
        name = (row.kinds, along.kind, pipeline.spec.shape)
        try:
            return self._windows[name]
        except KeyError:
            made = self._windows[name] = pipeline.window((*row.source, along.part.source))
            return made

    # ------------------------------------------------------------------ many requests at once
    def _place(self, item: tuple[Piece, Payload]) -> None:
        """Decodes one unit and puts what the selection takes of it where it goes."""
        piece, payload = item
        out, array = self.out, self.array
        if payload is None:
            if not self.blank:
                out[piece.target] = array.fill_value
            return
        unit = piece.chunk
        if isinstance(payload, ZarrscopeError):
            raise array.failure(payload, unit)
        target = out[piece.target] if piece.target else out
        if piece.whole and target.flags.c_contiguous:
            decoded = array.decode(unit, payload, target)
            if decoded is not target:
                target[...] = decoded
        else:
            hands, pipeline = self._mine, self._pipeline(unit)
            window = self._window_of(pipeline, piece.source)
            if window is not None:
                try:
                    target[...] = pipeline.decode_window(Held(payload), window, hands.memory(window.size))
                    return
                except Exception:
                    pass  # decoding all of it tells what is wrong, and asks again where a shard's index was out of date
            target[...] = array.decode(unit, payload, hands.elements(pipeline))[piece.source]

    def _window_of(self, pipeline: CodecPipeline, source: tuple[slice, ...]) -> Window | None:
        name = (tuple([(part.start, part.stop, part.step) for part in source]), pipeline.spec.shape)
        try:
            return self._windows[name]
        except KeyError:
            made = self._windows[name] = pipeline.window(source)
            return made


class _Given:
    """Bytes at hand where a Reader is expected; None where nothing is stored."""

    __slots__ = ("_data",)

    def __init__(self, data: Buffer | None) -> None:
        self._data = data

    def whole(self) -> Buffer | None:
        return self._data

    def source(self) -> Source | None:
        return None if self._data is None else Held(self._data)


def fetched(array: Array, pieces: Iterable[Piece], batch: int | None = None) -> Iterator[tuple[Piece, Payload]]:
    """Each piece with its unit's bytes, as they come; `batch` of them are asked for at once, or all."""
    waiting = iter(pieces)
    while by_unit := {piece.chunk: piece for piece in islice(waiting, batch)}:
        for unit, payload in array.fetch(by_unit):
            yield by_unit[unit], payload


def _call(job: Callable[[], None]) -> None:
    job()
