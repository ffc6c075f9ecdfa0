"""The values under the cursor: the exact value of every visible channel, at full resolution."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zarrscope.runtime.threads import Owner, Ticket
from zarrscope.view.image import Image
from zarrscope.view.loader import ChunkLoader, ChunkResult, ChunkState
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.image import words
from zarrscope_app.presenters.image.tile_geometry import AxisIndices, TileSource
from zarrscope_app.presenters.values import Probe

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array

MAX_CHUNK_BYTES = 64 << 20
"""The most bytes of a chunk that is read because the cursor passes over it."""
WAITING = "…"


class Prober:
    """Reads the values under the cursor: at most one chunk per channel, and only for the latest position of the
    cursor."""

    def __init__(self, owner: Owner, loader: ChunkLoader, probed: Callable[[], None]) -> None:
        self._owner, self._loader, self._probed = owner, loader, probed
        self._tickets: dict[str, Ticket] = {}
        """The running reads, by the path of the array."""
        self._asked: tuple[Any, ...] = ()
        self.probe = Probe()
        self._again: Callable[[], Probe] | None = None
        self._failed: dict[tuple[str, AxisIndices], str] = {}

    def clear(self) -> None:
        """Ends reading, and empties the readout."""
        self._drop()
        self._again = None
        if self.probe != Probe():
            self.probe = Probe()
            self._owner.post(self._probed)

    def _drop(self) -> None:
        for ticket in self._tickets.values():
            ticket.cancel()
        self._tickets.clear()
        self._asked = ()

    def at(
        self,
        image: Image,
        index: list[int],
        shown: tuple[int, int],
        place: tuple[float, float],
        channels: tuple[tuple[str, int], ...],
        labels: tuple[tuple[str, TileSource], ...] = (),
    ) -> Probe:
        """Reads the values at `place` (y, x), in indices of level 0. `channels`: (label, position on the channel axis).
        `labels`: (name, source) of the displayed label images, which use the same indices."""
        at = list(index)
        for axis, position in zip(shown, place, strict=True):
            at[axis] = math.floor(position)
            if not 0 <= at[axis] < image.shape[axis]:
                self.clear()
                return self.probe
        index = list(index)
        self._again = lambda: self.at(image, index, shown, place, channels, labels)
        asked: list[tuple[str, Any, list[int]]] = []
        for label, channel in channels:
            where = list(at)
            if image.channel_axis is not None:
                where[image.channel_axis] = channel
            asked.append((label, image.levels[0].array, where))
        for name, source in labels:
            where = list(source.index)
            where[source.y], where[source.x] = at[shown[0]], at[shown[1]]
            if all(i < n for i, n in zip(where, source.image.shape, strict=True)):
                asked.append((name, source.image.levels[0].array, where))
        values: list[tuple[str, str]] = []
        about = {source.image.levels[0].array.path: source.image.label_properties for _, source in labels}
        wanted: list[tuple[Any, AxisIndices]] = []
        sentence = ""
        for label, array, where in asked:
            chunk = tuple(array.edges(axis).chunk_of(i) for axis, i in enumerate(where))
            data = self._loader.peek(array, chunk)
            if data is not None:
                inside = tuple(i - array.edges(axis).span(chunk[axis])[0] for axis, i in enumerate(where))
                value = data[inside]
                told = about[array.path].get(int(value)) if array.path in about and data.dtype.kind in "iub" else None
                values.append((strings.clean(label, 40), words.label_value(strings.exact(value), told)))
            elif (array.path, chunk) in self._failed:
                sentence = self._failed[array.path, chunk]
                values.append((strings.clean(label, 40), "–"))
            else:
                wanted.append((array, chunk))
                values.append((strings.clean(label, 40), WAITING))
        self.probe = self._worded(image, at, shown, values, bool(wanted), sentence, bare=not labels)
        self._read(wanted)
        return self.probe

    def blank(self, image: Image, index: list[int], shown: tuple[int, int], names: Sequence[str], *, bare: bool) -> str:
        """The line for the middle pixel while all its values are awaited; reads nothing."""
        at = [image.shape[i] // 2 if i in shown else position for i, position in enumerate(index)]
        values = [(strings.clean(name, 40), WAITING) for name in names]
        return self._worded(image, at, shown, values, True, "", bare).text

    def _worded(
        self,
        image: Image,
        at: list[int],
        shown: tuple[int, int],
        values: list[tuple[str, str]],
        pending: bool,
        why: str,
        bare: bool,
    ) -> Probe:
        others = [i for i in range(len(at)) if i not in shown and i != image.channel_axis and image.shape[i] > 1]
        index_text = " ".join(f"{strings.clean(image.axes[i].name, 12)} {at[i]}" for i in (*others, *shown))
        places = [
            strings.length(image.physical(i, at[i]), image.axes[i].unit)
            for i in shown
            if image.axes[i].unit and image.axes[i].unit != "rgb"
        ]
        position = ", ".join(places)
        numbers = (
            values[0][1] if bare and len(values) == 1 else " · ".join(f"{label} {value}" for label, value in values)
        )
        text = "   ".join(part for part in (" · ".join(p for p in (index_text, position) if p), numbers, why) if part)
        index = tuple(-1 if i == image.channel_axis else n for i, n in enumerate(at))
        return replace(
            Probe(), index=index, index_text=index_text, values=tuple(values), text=text,
            pending=pending, sentence=why,
        )  # fmt: skip

    def _read(self, wanted: list[tuple[Any, AxisIndices]]) -> None:
        arrays: dict[str, tuple[Any, dict[AxisIndices, None]]] = {}
        for array, chunk in wanted:
            if math.prod(array.chunks) * array.dtype.itemsize <= MAX_CHUNK_BYTES:
                arrays.setdefault(array.path, (array, {}))[1][chunk] = None
        asked = tuple((path, *chunks) for path, (_, chunks) in arrays.items())
        if asked == self._asked and self._tickets:
            return
        self._drop()
        self._asked = asked
        for array, chunks in arrays.values():
            self._ask(array, chunks)

    def _ask(self, array: Array, chunks: dict[AxisIndices, None]) -> None:
        def came(result: ChunkResult) -> None:
            if result.state is ChunkState.FAILED and result.error is not None:
                self._failed[array.path, result.index] = strings.failed_chunk(result.error)

        def done() -> None:
            self._tickets.pop(array.path, None)
            if self._tickets:
                return
            self._asked = ()
            if self._again is not None:
                self._again()
                self._probed()
            self._failed.clear()

        self._tickets[array.path] = self._loader.request(self._owner, array, chunks, came, done)
