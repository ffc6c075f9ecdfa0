"""What lies under the cursor: the exact value of every visible channel, at full resolution."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from zarrscope.background import Owner, Ticket
from zarrscope.chunks import ChunkLoader, ChunkResult, State
from zarrscope.pyramid import Image
from zarrscope_app.presenters import words
from zarrscope_app.presenters.tiles import Index
from zarrscope_app.presenters.values import Probe

MAX_CHUNK_BYTES = 64 << 20
"""A chunk larger than this is not read only because the cursor passed over it."""
WAITING = "…"


class Prober:
    """Reads one chunk per channel at most, and only for the last place asked."""

    def __init__(self, owner: Owner, loader: ChunkLoader, probed: Callable[[], None]) -> None:
        self._owner, self._loader, self._probed = owner, loader, probed
        self._ticket: Ticket | None = None
        self._asked: tuple[Any, ...] = ()
        self.probe = Probe()
        self._again: Callable[[], Probe] | None = None
        self._failed: dict[Index, str] = {}

    def clear(self) -> None:
        self._drop()
        self._again = None
        if self.probe != Probe():
            self.probe = Probe()
            self._owner.post(self._probed)

    def _drop(self) -> None:
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None
        self._asked = ()

    def at(
        self,
        image: Image,
        index: list[int],
        shown: tuple[int, int],
        place: tuple[float, float],
        channels: tuple[tuple[str, int], ...],
    ) -> Probe:
        """`place` (y, x) in indices of level 0; `channels`: (label, position on the channel axis)."""
        at = list(index)
        for axis, position in zip(shown, place, strict=True):
            at[axis] = math.floor(position)
            if not 0 <= at[axis] < image.shape[axis]:
                self.clear()
                return self.probe
        index = list(index)
        self._again = lambda: self.at(image, index, shown, place, channels)
        array = image.levels[0].array
        values: list[tuple[str, str]] = []
        wanted: list[Index] = []
        sentence = ""
        for label, channel in channels:
            where = list(at)
            if image.channel_axis is not None:
                where[image.channel_axis] = channel
            chunk = tuple(array.edges(axis).chunk_of(i) for axis, i in enumerate(where))
            data = self._loader.peek(array, chunk)
            if data is not None:
                inside = tuple(i - array.edges(axis).span(chunk[axis])[0] for axis, i in enumerate(where))
                values.append((words.clean(label, 40), words.exact(data[inside])))
            elif chunk in self._failed:
                sentence = self._failed[chunk]
                values.append((words.clean(label, 40), "–"))
            else:
                wanted.append(chunk)
                values.append((words.clean(label, 40), WAITING))
        self.probe = self._worded(image, at, shown, values, bool(wanted), sentence)
        self._read(array, wanted)
        return self.probe

    def _worded(
        self,
        image: Image,
        at: list[int],
        shown: tuple[int, int],
        values: list[tuple[str, str]],
        pending: bool,
        why: str,
    ) -> Probe:
        others = [i for i in range(len(at)) if i not in shown and i != image.channel_axis and image.shape[i] > 1]
        index_text = " ".join(f"{words.clean(image.axes[i].name, 12)} {at[i]}" for i in (*others, *shown))
        places = [
            words.length(image.physical(i, at[i]), image.axes[i].unit)
            for i in shown
            if image.axes[i].unit and image.axes[i].unit != "rgb"
        ]
        position = ", ".join(places)
        numbers = values[0][1] if len(values) == 1 else " · ".join(f"{label} {value}" for label, value in values)
        text = "   ".join(part for part in (" · ".join(p for p in (index_text, position) if p), numbers, why) if part)
        index = tuple(-1 if i == image.channel_axis else n for i, n in enumerate(at))
        return replace(
            Probe(), index=index, index_text=index_text, position_text=position, values=tuple(values), text=text,
            pending=pending, sentence=why,
        )  # fmt: skip

    def _read(self, array: Any, wanted: list[Index]) -> None:
        asked = (array.path, *dict.fromkeys(wanted))
        if asked == self._asked and self._ticket is not None:
            return
        self._drop()
        if not wanted or math.prod(array.chunks) * array.dtype.itemsize > MAX_CHUNK_BYTES:
            return

        def came(result: ChunkResult) -> None:
            if result.state is State.FAILED and result.error is not None:
                self._failed[result.index] = words.failed_chunk(result.error)

        def done() -> None:
            self._ticket = None
            self._asked = ()
            if self._again is not None:
                self._again()
                self._probed()
            self._failed.clear()

        self._asked = asked
        self._ticket = self._loader.request(self._owner, array, asked[1:], came, done)
