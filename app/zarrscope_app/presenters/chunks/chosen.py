"""The chunk (or shard) that was chosen on the map: its details, the check of its content, its place in the image."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

from psygnal import Signal

from zarrscope.check.chunk_trace import ChunkTrace, first_bytes, trace_chunk
from zarrscope.check.inventory import UNKNOWN, Inventory, inner_chunks
from zarrscope.chunkio.stored_chunks import elements_of
from zarrscope.nodes.internals import stored_array
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.chunks.inside import Inside, inside_of
from zarrscope_app.presenters.chunks.missing import all_stored, next_missing, part_around
from zarrscope_app.presenters.chunks.view_models import Chosen, InnerMap, missing_reason, size_text
from zarrscope_app.presenters.chunks.words import (
    bytes_part,
    held_along,
    index_place,
    inner_place,
    inner_title,
    inside_text,
    inside_title,
    trace_parts,
    trace_sentence,
    whole_value,
)
from zarrscope_app.presenters.coalesce import CoalescedCall
from zarrscope_app.presenters.node_description import Item, ratio

if TYPE_CHECKING:
    from zarrscope.chunkio.stored_chunks import ElementRanges
    from zarrscope.model.selection import ChunkIndex
    from zarrscope.nodes.array import Array

MOST_CELLS = 128
"""The most cells along a side of the map."""
MOST_UNASKED = 1 << 24
"""The most bytes of values in a chunk that is read and decoded as soon as it is chosen."""
MOST_READ = 1 << 28
"""The most bytes of one chunk that are read to check it."""


class ChoosesChunk(ABC):
    """The part of ChunksPresenter that deals with the chosen chunk."""

    checked = Signal(str, tuple)
    """Emits (path of the array, index of a chunk) when `check` has read a chunk that other views could not read."""
    image_asked = Signal(int, tuple)
    """Emits (level, range of elements along each axis of the finest level) when the image should show a chunk."""

    _owner: Owner
    _notify: CoalescedCall
    _shape: tuple[int, ...]
    _level: int
    _channels: tuple[int, tuple[str, ...]]
    _rows: int
    _columns: int
    _part: tuple[int, int, int, int] | None
    _inventory: Inventory | None
    _chosen: Chosen | None
    _failed: dict[ChunkIndex, str]
    _failed_within: dict[ChunkIndex, set[ChunkIndex]]
    _seeking: bool
    _none_missing: bool
    _inside: Inside | None
    """The chunks in the chosen shard, once its index has been read."""
    _inner: ChunkIndex | None
    """The chosen chunk in that shard; None: the shard as a whole."""
    _inner_at: dict[int, int]
    """The displayed inner chunk along an axis, where a person has set it."""
    _reading: Ticket | None = None
    """The job that reads the chosen chunk; choosing another one cancels it."""
    _pictured: bool
    """Whether the node has a picture, in which a chunk can be shown."""

    @property
    @abstractmethod
    def _array(self) -> Array | None:
        """The array whose chunks are shown."""

    @abstractmethod
    def recovered(self, path: str, index: ChunkIndex) -> None:
        """Removes the mark of a chunk that was read at last."""

    @abstractmethod
    def _inner_index(self) -> tuple[int, ...]:
        """The number of the inner chunk, along each axis, at which the image is cut."""

    @abstractmethod
    def look(self) -> None:
        """Begins to list the stored chunks."""

    @abstractmethod
    def set_chunk(self, axis: str, chunk: int) -> None:
        """Sets the number of the displayed chunk along an axis that is not shown."""

    @abstractmethod
    def _name(self, axis: int) -> str:
        """The name of an axis."""

    @abstractmethod
    def _fixed(self) -> tuple[int, ...]:
        """The number of the displayed chunk along each axis."""

    @abstractmethod
    def _window(self) -> tuple[int, int, int, int]:
        """The displayed part of the plane, in chunks."""

    @abstractmethod
    def _step(self) -> tuple[int, int]:
        """The number of chunks per cell along each side."""

    @abstractmethod
    def _draw(self) -> None:
        """Counts the stored chunks in each cell, in the background."""

    def choose(self, row: int, column: int) -> None:
        """Chooses a cell of the map: shows details of its chunk, or, if the cell stands for several chunks, enlarges
        the cell to a map of them."""
        array, window, step = self._array, self._window(), self._step()
        if array is None:
            return
        first = (window[0] + row * step[0], window[1] + column * step[1])
        if not (0 <= row * step[0] < window[2] and 0 <= column * step[1] < window[3]):
            return
        if step != (1, 1):
            end = (min(first[0] + step[0], window[0] + window[2]), min(first[1] + step[1], window[1] + window[3]))
            self._part = (*first, end[0] - first[0], end[1] - first[1])
            self._draw()
            return
        index = list(self._fixed())
        if self._rows >= 0:
            index[self._rows] = first[0]
        if self._columns >= 0:
            index[self._columns] = first[1]
        self._choose(array, tuple(index))

    def _choose(self, array: Array, index: ChunkIndex) -> None:
        self._chosen = self._describe(array, index)
        self._inside, self._inner, self._inner_at = None, None, {}
        self._notify.soon()
        if self._reading is not None:
            self._reading.cancel()
        if stored_array(array).locator.tiers:
            self._look_inside(array, index)
        elif self._size_of(index) is not None:
            self._read(array, self._chosen, asked=False)

    def show_missing(self) -> None:
        """Chooses the next chunk that is not stored, and moves the map to its plane; the first follows the last."""
        array, inventory = self._array, self._inventory
        self._seeking = inventory is None
        if array is None or inventory is None:
            self.look()
            return
        chosen, shown = self._chosen, (self._rows, self._columns)
        found = next_missing(inventory, chosen.index if chosen is not None else None, self._fixed(), shown)
        self._none_missing = found is None and all_stored(inventory)
        if found is not None:
            for axis, chunk in enumerate(found):
                if axis not in shown and chunk != self._fixed()[axis]:
                    self.set_chunk(self._name(axis), chunk)
            self._part = None
            self._part = part_around(found, shown, self._window(), MOST_CELLS)
            self._draw()
            self._choose(array, found)
        self._notify.soon()

    def _size_of(self, index: ChunkIndex) -> int | None:
        """The stored size of a chunk, UNKNOWN, or None if it is not stored."""
        return self._inventory.size_of(index) if self._inventory is not None and self._inventory.known else UNKNOWN

    def _describe(self, array: Array, index: ChunkIndex) -> Chosen:
        kind = "Shard" if array.shards is not None else "Chunk"
        size, spans, tiers = (
            self._size_of(index),
            elements_of(stored_array(array), index),
            stored_array(array).locator.tiers,
        )
        nbytes = prod(stop - start for start, stop in spans) * array.dtype.itemsize
        stored = "no" if size is None else "yes" if size >= 0 else strings.UNKNOWN
        items = [Item("Key", strings.clean(array.metadata.keys.key(index))), Item("Stored", stored)]
        if size is not None and size >= 0:
            items.append(Item("Size", size_text(array, size, nbytes, f", {ratio(nbytes, size)}" if size else "")))
            items.append(Item("Bytes", whole_value(size)))
            if tiers := stored_array(array).locator.tiers:
                items.append(Item("Index", index_place(tiers[0].index_size, size, tiers[0].at_start)))
        items.append(Item("Holds", self._held(spans)))
        failed = self._failed.get(index, "")
        told = failed or (missing_reason(array.metadata.fill, kind) if size is None else "")
        return Chosen(index, f"{kind} {', '.join(map(str, index))}", tuple(items), told, bool(failed))

    def _held(self, spans: ElementRanges) -> str:
        axis, names = self._channels
        held = (held_along(self._name(i), *span, names if i == axis else ()) for i, span in enumerate(spans))
        return ", ".join(held) or "one value"

    # ------------------------------------------------------------------ chunks in the chosen shard
    def choose_inner(self, row: int, column: int) -> None:
        """Chooses a chunk in the chosen shard, by its cell; the same one again: chooses the whole shard."""
        array, chosen, inside = self._array, self._chosen, self._inside
        if array is None or chosen is None or inside is None:
            return
        index = list(self._inner_place(inside))
        for axis, step in ((self._rows, row), (self._columns, column)):
            if axis >= 0:
                index[axis] = inside.ranges[axis].start + step
        inner = tuple(index)
        if any(i not in span for i, span in zip(inner, inside.ranges, strict=True)):
            return
        if inner == self._inner:
            kept = self._inner_at
            self._choose(array, chosen.index)
            self._inner_at = kept
            return
        if self._reading is not None:
            self._reading.cancel()
        self._inner = inner
        self._chosen = self._describe_inner(array, chosen.index, inner, inside.span_of(inner))
        self._notify.soon()
        if inside.span_of(inner) is not None:
            self._read(array, self._chosen, asked=False)

    def set_inner(self, axis: str, chunk: int) -> None:
        """Sets the number of the displayed inner chunk along an axis that is not shown."""
        array, inside = self._array, self._inside
        for at in range(array.ndim if array is not None else 0):
            if inside is not None and self._name(at) == axis and at not in (self._rows, self._columns):
                self._inner_at[at] = chunk
                self._notify.soon()

    def _inner_place(self, inside: Inside) -> ChunkIndex:
        """The inner chunk through which the displayed plane of the shard goes: that of the picture, unless another
        index was set."""
        at = [self._inner_at.get(axis, index) for axis, index in enumerate(self._inner_index())]
        return inside.within(at)

    def _inner_map(self) -> InnerMap | None:
        inside, chosen = self._inside, self._chosen
        if inside is None or chosen is None:
            return None
        at, axes = self._inner_place(inside), (self._rows, self._columns)
        cells, shades, _ = inside.plane(at, axes)
        fixed = tuple(
            (self._name(axis), at[axis], span.start, span.stop - 1)
            for axis, span in enumerate(inside.ranges)
            if axis not in axes and len(span) > 1
        )
        shown = self._inner is not None and all(
            i == j for axis, (i, j) in enumerate(zip(self._inner, at, strict=True)) if axis not in axes
        )
        cell = inside.plane(self._inner, axes)[2] if shown and self._inner is not None else None
        return InnerMap(inside_title(chosen.index), cells, shades, fixed, cell)

    def _describe_inner(
        self, array: Array, shard: ChunkIndex, inner: ChunkIndex, span: tuple[int, int] | None
    ) -> Chosen:
        spans = self._elements(array, shard, inner)
        nbytes = prod(stop - start for start, stop in spans) * array.dtype.itemsize
        items = [
            Item("Key", strings.clean(array.metadata.keys.key(shard))),
            Item("Stored", "no" if span is None else "yes"),
        ]
        if span is not None:
            size = span[1] - span[0]
            packed = f", {ratio(nbytes, size)}" if size else ""
            items.append(Item("Size", f"{strings.size(size)} for {strings.size(nbytes)} of values{packed}"))
            items.append(Item("Bytes", inner_place(span)))
        items.append(Item("Holds", self._held(spans)))
        failed = self._failed.get(shard, "") if inner in self._failed_within.get(shard, ()) else ""
        told = failed or (missing_reason(array.metadata.fill, "Chunk") if span is None else "")
        return Chosen(shard, inner_title(inner, shard), tuple(items), told, bool(failed))

    def _elements(self, array: Array, index: ChunkIndex, inner: ChunkIndex | None) -> ElementRanges:
        """The elements of a chunk or shard, or of a chunk in that shard."""
        if inner is None:
            return elements_of(stored_array(array), index)
        widths = stored_array(array).locator.chunk_shape
        return [(i * w, min((i + 1) * w, n)) for i, w, n in zip(inner, widths, array.shape, strict=True)]

    def _look_inside(self, array: Array, index: ChunkIndex) -> None:
        """Counts the chunks in a shard, by reading its index, and reads its first bytes."""

        def work() -> tuple[Inside | None, bytes | None]:
            return inside_of(array, index, inner_chunks(array, index)), first_bytes(array, index)

        def done(outcome: JobResult[tuple[Inside | None, bytes | None]]) -> None:
            chosen = self._chosen
            if chosen is None or chosen.index != index or self._array is not array:
                return
            if outcome.error is not None:
                said = strings.problem(outcome.error).headline
                self._chosen = replace(chosen, sentence=said, failed=True)
            elif outcome.value:
                self._inside, first = outcome.value
                inside = (Item("Inside", inside_text(self._inside.sizes)),) if self._inside is not None else ()
                self._chosen = replace(chosen, items=(*chosen.items, *inside), parts=bytes_part(first))
            self._notify.soon()

        self._reading = self._owner.read(work, done)

    def _read(self, array: Array, chosen: Chosen, *, asked: bool) -> None:
        """Reads and decodes the chosen chunk. `asked`: a person asked for it; otherwise only the first bytes of a large
        chunk are read."""
        index, inner = chosen.index, self._inner
        spans = self._elements(array, index, inner)
        if not asked and prod(stop - start for start, stop in spans) * array.dtype.itemsize > MOST_UNASKED:
            at = self._inside.span_of(inner) if inner is not None and self._inside is not None else None
            self._reading = self._owner.read(
                lambda: first_bytes(array, index, at), self._first_bytes_came(array, index, inner)
            )
            return

        def done(outcome: JobResult[ChunkTrace | None]) -> None:
            if self._array is not array:
                return
            trace = outcome.value
            error = outcome.error or (trace.error if trace is not None else None)
            said = trace_sentence(trace) if trace is not None else chosen.sentence
            if error is not None:
                said = self._failed[index] = strings.problem(error).headline
                if inner is not None:
                    self._failed_within.setdefault(index, set()).add(inner)
            elif inner is None:
                self._succeeded(array, index)
            else:
                self.recovered(array.path, inner)
                self.checked.emit(array.path, inner)
            if self._is_chosen(array, index, inner) and self._chosen is not None:
                parts = trace_parts(trace) if trace is not None else ()
                self._chosen = replace(self._chosen, sentence=said, failed=error is not None, parts=parts)
            self._notify.soon()

        self._reading = self._owner.read(lambda: trace_chunk(array, inner or index), done)

    def _is_chosen(self, array: Array, index: ChunkIndex, inner: ChunkIndex | None) -> bool:
        chosen = self._chosen
        return self._array is array and chosen is not None and (chosen.index, self._inner) == (index, inner)

    def _first_bytes_came(
        self, array: Array, index: ChunkIndex, inner: ChunkIndex | None
    ) -> Callable[[JobResult[bytes | None]], None]:
        def done(outcome: JobResult[bytes | None]) -> None:
            if self._is_chosen(array, index, inner) and self._chosen is not None:
                self._chosen = replace(self._chosen, parts=bytes_part(outcome.value))
                self._notify.soon()

        return done

    def _succeeded(self, array: Array, index: ChunkIndex) -> None:
        """Removes the mark of a chunk that could not be read before."""
        self._failed.pop(index, None)
        for within in self._failed_within.pop(index, ()):
            self.checked.emit(array.path, within)

    def check(self) -> None:
        """Reads and decodes the chosen chunk, even if it failed before."""
        array, chosen = self._array, self._chosen
        if array is None or chosen is None:
            return
        if self._reading is not None:
            self._reading.cancel()
        spans = self._elements(array, chosen.index, self._inner)
        nbytes = prod(stop - start for start, stop in spans) * array.dtype.itemsize
        if nbytes > MOST_READ:
            self._chosen = replace(chosen, sentence=f"It holds {strings.size(nbytes)}: use zarrscope check.")
            self._notify.soon()
            return
        self._chosen = replace(chosen, sentence=strings.LOADING, failed=False)
        self._notify.soon()
        if stored_array(array).locator.tiers and self._inner is None:
            self._read_whole_shard(array, chosen, spans)
        else:
            self._read(array, chosen, asked=True)

    def _read_whole_shard(self, array: Array, chosen: Chosen, spans: ElementRanges) -> None:
        began = time.monotonic()

        def done(outcome: JobResult[Any]) -> None:
            if self._array is not array:
                return
            if outcome.error is not None:
                said = strings.problem(outcome.error).headline
                self._failed[chosen.index] = said
            else:
                self._succeeded(array, chosen.index)
                said = f"Read and decoded in {strings.short((time.monotonic() - began) * 1000)} ms."
            if self._is_chosen(array, chosen.index, None) and self._chosen is not None:
                self._chosen = replace(self._chosen, sentence=said, failed=outcome.error is not None)
            self._notify.soon()

        self._reading = self._owner.read(lambda: array[tuple(slice(*span) for span in spans)], done)

    # ------------------------------------------------------------------ its place in the image
    def show_in_image(self) -> None:
        """Asks for the chosen chunk to be shown in the image: its level, its place in the plane, and an index within
        it along the other axes."""
        array, chosen = self._array, self._chosen
        if array is None or chosen is None or not self._pictured:
            return
        spans = self._elements(array, chosen.index, self._inner)
        finest = zip(spans, array.shape, self._shape, strict=True)
        places = tuple((start * whole // n, -(-stop * whole // n)) for (start, stop), n, whole in finest)
        self.image_asked.emit(self._level, places)
