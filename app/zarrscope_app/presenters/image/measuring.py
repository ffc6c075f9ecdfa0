"""Measurements in the picture: values along a line, statistics of a region. The values are read in the background.

A line is sampled at the nearest pixel of the finest level. A region is read chunk by chunk, at the finest level at
which it has at most `MAX_PIXELS` pixels; the result names the level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from zarrscope.model.frozen import frozen
from zarrscope.model.selection import select
from zarrscope.nodes.internals import stored_array
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope.view.image import Image, index_at
from zarrscope.view.render import as_numbers
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.absent_chunks import AbsentChunks
from zarrscope_app.presenters.image import words
from zarrscope_app.presenters.image.tile_geometry import sheet
from zarrscope_app.presenters.image.view_models import MeasuredRow, Measurement, Rect

if TYPE_CHECKING:
    from zarrscope.model.dtype import Element
    from zarrscope.nodes.array import Array

Values = npt.NDArray[Any]
MAX_SAMPLES = 4096
MAX_PIXELS = 1 << 28
"""The most pixels of a region per channel; larger regions are measured at a coarser level."""


@frozen
class MeasuredChannel:
    """The measured part of an image: one of its channels, at an index for every axis (the indices of the two displayed
    axes are ignored)."""

    label: str
    color: tuple[int, int, int]
    index: tuple[int, ...]
    part: str = "magnitude"


@frozen
class MeasuredPlane:
    """The plane of a measurement: an image, and the axes displayed as height and width."""

    image: Image
    y: int
    x: int


@dataclass
class Statistics:
    """Statistics of values that arrive in pieces, merged without losing precision. NaN is counted separately."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    """The sum of squared differences from the mean."""
    low: Element = None
    high: Element = None
    nan: int = 0

    def add(self, values: Values) -> None:
        """Adds values of any shape; NaN are only counted, in `nan`."""
        flat = values.reshape(-1)
        if flat.dtype.kind == "f":
            known = flat[~np.isnan(flat)]
            self.nan += flat.size - known.size
            flat = known
        if not flat.size:
            return
        low, high = flat.min(), flat.max()
        self.low = low if self.low is None or low < self.low else self.low
        self.high = high if self.high is None or high > self.high else self.high
        with np.errstate(all="ignore"):
            numbers = flat.astype(np.float64)
            mean = float(numbers.mean())
            squares = float(np.square(numbers - mean).sum())
        total = self.count + flat.size
        away = mean - self.mean
        self.squares += squares + away * away * self.count * flat.size / total
        self.mean += away * flat.size / total
        self.count = total

    @property
    def deviation(self) -> float:
        """The population standard deviation (divided by n, not by n - 1)."""
        return math.sqrt(self.squares / self.count) if self.count else math.nan


class Measuring:
    """Measures in the background, one measurement at a time. `changed` is called whenever `measurement` changes."""

    def __init__(self, owner: Owner, changed: Callable[[], None]) -> None:
        self._owner, self._changed = owner, changed
        self._ticket: Ticket | None = None
        self.measurement = Measurement()

    def clear(self) -> None:
        """Removes the measurement, and cancels a running one."""
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None
        if self.measurement != Measurement():
            self.measurement = Measurement()
            self._changed()

    def line(self, plane: MeasuredPlane, channels: Sequence[MeasuredChannel], place: Rect) -> None:
        """Measures values along the straight line from (y0, x0) to (y1, x1), in indices of the finest level."""
        samples = _samples(plane, place)
        title = words.line_title(plane.image, plane.y, plane.x, place)

        def work(report: Callable[[float], None], cancelled: Callable[[], bool]) -> tuple[MeasuredRow, ...]:
            rows = []
            for number, channel in enumerate(channels):
                absent = AbsentChunks()
                values = _along(plane, channel, samples, cancelled, absent)
                found = Statistics()
                found.add(values)
                text = strings.joined(words.statistics(found), absent.brief)
                rows.append(MeasuredRow(channel.label, channel.color, text, values.astype(np.float64)))
                report((number + 1) / len(channels))
            return tuple(rows)

        self._start(
            Measurement("line", place, title, length=words.line_length(plane.image, plane.y, plane.x, place)), work
        )

    def region(self, plane: MeasuredPlane, channels: Sequence[MeasuredChannel], place: Rect) -> None:
        """Measures statistics of the pixels whose middle is inside a rectangle."""
        image = plane.image
        level, window = measured_window(plane, place)
        y0, x0, y1, x1 = window
        if y0 >= y1 or x0 >= x1:
            return
        title = words.region_title(image, plane.y, plane.x, level, window)

        def work(report: Callable[[float], None], cancelled: Callable[[], bool]) -> tuple[MeasuredRow, ...]:
            array = image.levels[level].array
            pieces = list(_pieces(array, plane, window))
            rows = []
            for number, channel in enumerate(channels):
                at, found, absent = index_at(image, level, channel.index), Statistics(), AbsentChunks()
                for done, (rows_of, columns_of) in enumerate(pieces):
                    if cancelled():
                        return ()
                    found.add(_read(array, plane, at, rows_of, columns_of, channel.part, absent))
                    report((number + (done + 1) / len(pieces)) / len(channels))
                text = strings.joined(words.statistics(found), absent.brief)
                rows.append(MeasuredRow(channel.label, channel.color, text))
            return tuple(rows)

        self._start(Measurement("region", place, title), work)

    def _start(
        self,
        begun: Measurement,
        work: Callable[[Callable[[float], None], Callable[[], bool]], tuple[MeasuredRow, ...]],
    ) -> None:
        self.clear()
        self.measurement = replace(begun, progress=0.0)

        def report(progress: float) -> None:
            self._owner.post(lambda: self._progress(begun, progress))

        def run(cancelled: Callable[[], bool]) -> tuple[MeasuredRow, ...]:
            return work(report, cancelled)

        def done(outcome: JobResult[tuple[MeasuredRow, ...]]) -> None:
            self._ticket = None
            sentence = strings.problem(outcome.error).headline if outcome.error is not None else ""
            rows = outcome.value or ()
            low, high = words.scale_of([row.profile for row in rows if row.profile is not None])
            self.measurement = replace(begun, rows=rows, progress=None, sentence=sentence, low_text=low, high_text=high)
            self._changed()

        self._ticket = self._owner.read(run, done)
        self._changed()

    def _progress(self, of: Measurement, progress: float) -> None:
        now = self.measurement
        if (
            now.progress is not None
            and (now.kind, now.place) == (of.kind, of.place)
            and progress - now.progress >= 0.01
        ):
            self.measurement = replace(now, progress=progress)
            self._changed()


# ---------------------------------------------------------------------- lines
def _samples(plane: MeasuredPlane, place: Rect) -> npt.NDArray[np.intp]:
    """The pixels under a line as an array (n, 2), including both ends; n is about the length of the line in pixels."""
    height, width = plane.image.shape[plane.y], plane.image.shape[plane.x]
    y0, x0, y1, x1 = place
    n = int(min(MAX_SAMPLES, max(2, math.ceil(max(abs(y1 - y0), abs(x1 - x0))) + 1)))
    ys = np.clip(np.floor(np.linspace(y0, y1, n)), 0, height - 1)
    xs = np.clip(np.floor(np.linspace(x0, x1, n)), 0, width - 1)
    return np.stack([ys, xs], axis=1).astype(np.intp)


def _along(
    plane: MeasuredPlane,
    channel: MeasuredChannel,
    samples: npt.NDArray[np.intp],
    cancelled: Callable[[], bool],
    absent: AbsentChunks,
) -> Values:
    """Reads the values at single pixels, chunk by chunk."""
    array = plane.image.levels[0].array
    edges_y, edges_x = array.edges(plane.y), array.edges(plane.x)
    chunks = [(edges_y.chunk_of(int(y)), edges_x.chunk_of(int(x))) for y, x in samples]
    found: Values | None = None
    for chunk in dict.fromkeys(chunks):
        if cancelled():
            break
        here = np.array([i for i, at in enumerate(chunks) if at == chunk])
        (top, left), (bottom, right) = samples[here].min(0), samples[here].max(0)
        block = _read(array, plane, channel.index, slice(top, bottom + 1), slice(left, right + 1), channel.part, absent)
        values = block[samples[here, 0] - top, samples[here, 1] - left]
        found = np.zeros(len(samples), values.dtype) if found is None else found
        found[here] = values
    return found if found is not None else np.zeros(0)


# ---------------------------------------------------------------------- regions
def measured_window(plane: MeasuredPlane, place: Rect) -> tuple[int, tuple[int, int, int, int]]:
    """The level at which a region is measured, and the window of the region in pixels of this level."""
    image = plane.image
    y0, x0, y1, x1 = min(place[0], place[2]), min(place[1], place[3]), max(place[0], place[2]), max(place[1], place[3])
    window = (0, 0, 0, 0)
    level = 0
    for level in range(len(image.levels)):
        shown = sheet(image, level, plane.y, plane.x)
        (fy, fx), (oy, ox) = shown.factor, shown.offset
        window = (
            max(0, math.ceil((y0 - oy) / fy - 0.5)),
            max(0, math.ceil((x0 - ox) / fx - 0.5)),
            min(shown.height, math.ceil((y1 - oy) / fy - 0.5)),
            min(shown.width, math.ceil((x1 - ox) / fx - 0.5)),
        )
        if (window[2] - window[0]) * (window[3] - window[1]) <= MAX_PIXELS:
            break
    return level, window


def _pieces(array: Array, plane: MeasuredPlane, window: tuple[int, int, int, int]) -> Iterator[tuple[slice, slice]]:
    """The blocks (rows, columns) into which a window is cut at the edges of chunks."""
    y0, x0, y1, x1 = window
    for rows in _cut(array, plane.y, y0, y1):
        for columns in _cut(array, plane.x, x0, x1):
            yield rows, columns


def _cut(array: Array, axis: int, low: int, high: int) -> list[slice]:
    edges, found = array.edges(axis), []
    while low < high:
        _, end = edges.span(edges.chunk_of(low))
        found.append(slice(low, min(int(end), high)))
        low = min(int(end), high)
    return found


def _read(
    array: Array,
    plane: MeasuredPlane,
    index: tuple[int, ...],
    rows: slice,
    columns: slice,
    part: str,
    absent: AbsentChunks,
) -> Values:
    """Reads a block (rows, columns) of the plane at `index` as numbers."""
    pick: list[Any] = [int(i) for i in index]
    pick[plane.y], pick[plane.x] = slice(int(rows.start), int(rows.stop)), slice(int(columns.start), int(columns.stop))
    selection = select(tuple(pick), array.shape)
    block = stored_array(array).read(selection, absent.add).reshape(selection.shape)
    return as_numbers(block if plane.y < plane.x else block.T, part)
