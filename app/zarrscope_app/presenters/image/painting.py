"""Paints tiles from chunks: the work that workers do for the picture. Pure functions over numpy arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zarrscope.errors import Unsupported
from zarrscope.model.frozen import frozen
from zarrscope.view.loader import ChunkResult, ChunkState
from zarrscope.view.render import (
    NOT_A_NUMBER,
    ChannelDisplay,
    Picture,
    Plane,
    as_numbers,
    auto_levels,
    histogram,
    label_colors,
    overlay,
    pattern,
    render,
)
from zarrscope_app.presenters.image.projection import Accumulator
from zarrscope_app.presenters.image.tile_geometry import AxisIndices, TilePart, TilePlace, Tiling

LayerKey = tuple[str, Any]
BINS = 64
GREY = 31
"""The grey value of pixels without data, from 0 to 255: 12 %."""
SIGN = (200, 84, 64)
DOT = 56
"""The difference in grey between a dot and its surroundings. Dots mark chunks that are not stored."""


@frozen
class LabelDisplay:
    """How to draw a label image: `colors` gives single labels a colour (red, green, blue, alpha, 0 to 255)."""

    opacity: float
    colors: tuple[tuple[int, tuple[int, int, int, int]], ...] = ()
    outline: bool = False
    chosen: int | None = None
    """The only label to draw; None draws all labels."""

    def picture(self, plane: Plane) -> Picture:
        """The colours of a plane of labels, with their opacity (h, w, 4)."""
        if self.chosen is not None:
            plane = np.where(plane == self.chosen, plane, np.zeros((), plane.dtype))
        return label_colors(plane, dict(self.colors), self.outline)


@frozen
class DisplaySettings:
    """The display settings of all sources (channels and label images). While the limits of a channel are not known,
    they are measured from the plane that is painted."""

    channels: tuple[tuple[LayerKey, ChannelDisplay | None, ChannelDisplay], ...]
    """For each channel (key; display settings, None while the limits are not known; the same settings without
    limits)."""
    labels: tuple[tuple[LayerKey, LabelDisplay], ...] = ()
    dots: bool = True
    """Whether chunks that are not stored are marked."""
    alpha: LayerKey | None = None
    """The channel that holds the opacity of the others; None if there is none. Transparent pixels show grey."""

    def part_of(self, key: LayerKey) -> str:
        """The part of complex values that is drawn for a channel."""
        return next((unlimited.part for at, _, unlimited in self.channels if at == key), "magnitude")


@frozen
class Measure:
    """The measure of a channel from a sample of its values: suggested contrast limits `lo` and `hi`, the range `low` to
    `high` of the values, and their histogram over this range."""

    lo: float
    hi: float
    low: float
    high: float
    counts: tuple[int, ...]


@frozen
class Mark:
    """A rectangle of a tile without data, in pixels of the tile, and the reason `state`."""

    state: str
    y0: int
    x0: int
    y1: int
    x1: int


MarksOfLayers = dict[LayerKey, tuple[Mark, ...]]


@dataclass(frozen=True, eq=False)
class UnmarkedPicture:
    """A picture without the signs for missing data, and the `marks` where they belong. If the picture is much enlarged,
    a host draws the signs at screen resolution, so that they are not mistaken for data."""

    picture: Picture
    marks: tuple[Mark, ...]


@dataclass(frozen=True, eq=False)
class Assembled:
    """The pixels of a tile, and the marks of its missing and failed chunks."""

    plane: Plane
    marks: tuple[Mark, ...]


def assemble(part: TilePart, results: Mapping[AxisIndices, ChunkResult], step: int = 1) -> Assembled:
    """Puts the chunks of a tile together into its pixels, of which every `step`-th is kept. Pixels of missing or
    failed chunks have the fill value."""
    sheet = part.sheet
    array = sheet.array
    height, width = part.y1 - part.y0, part.x1 - part.x0
    out = np.empty((-(-height // step), -(-width // step)), array.dtype)
    marks: list[Mark] = []
    whole = [*part.chunks()]
    gathered = Accumulator(part.method, out.shape, array.dtype) if part.span is not None else None
    if not (len(whole) == 1 and _has_data(results.get(whole[0]))):
        out[...] = array.fill_value
    edges = [array.edges(axis) for axis in range(array.ndim)]
    for index in whole:
        result = results.get(index)
        spans = [edge.span(i) for i, edge in zip(index, edges, strict=True)]
        starts = [start for start, _ in spans]
        ya, yb = _overlap(part.y0, part.y1, spans[sheet.y], step)
        xa, xb = _overlap(part.x0, part.x1, spans[sheet.x], step)
        if ya >= yb or xa >= xb:
            continue
        rows = slice((ya - part.y0) // step, (yb - 1 - part.y0) // step + 1)
        columns = slice((xa - part.x0) // step, (xb - 1 - part.x0) // step + 1)
        if result is None or result.data is None:
            state = "fill"
            if result is not None and result.state is ChunkState.FAILED:
                state = "undecodable" if isinstance(result.error, Unsupported) else "failed"
            if gathered is not None and state == "fill":  # in a projection, chunks of other planes may be stored
                along, first, stop = part.span or (0, 0, 0)
                deep = min(stop, spans[along][1]) - max(first, spans[along][0])
                gathered.add_constant(rows, columns, array.fill_value, deep)
                continue
            marks.append(Mark(state, rows.start, columns.start, rows.stop, columns.stop))
            continue
        pick: list[Any] = [i - s for i, s in zip(part.index, starts, strict=True)]
        pick[sheet.y] = slice(ya - starts[sheet.y], yb - starts[sheet.y], step)
        pick[sheet.x] = slice(xa - starts[sheet.x], xb - starts[sheet.x], step)
        if gathered is not None:
            along, first, stop = part.span or (0, 0, 0)
            pick[along] = slice(max(0, first - starts[along]), min(stop, spans[along][1]) - starts[along])
            gathered.add(rows, columns, result.data[tuple(pick)].transpose(*_stacked(along, sheet.y, sheet.x)))
            continue
        cut = result.data[tuple(pick)]
        out[rows, columns] = cut if sheet.y < sheet.x else cut.T
    return Assembled(out if gathered is None else gathered.result(array.fill_value), tuple(marks))


def _stacked(along: int, y: int, x: int) -> tuple[int, int, int]:
    """The positions of the projected axis, the height and the width in a stack that has only these three axes."""
    left = sorted((along, y, x))
    return left.index(along), left.index(y), left.index(x)


def _has_data(result: ChunkResult | None) -> bool:
    return result is not None and result.data is not None


def _overlap(low: int, high: int, span: tuple[int, int], step: int) -> tuple[int, int]:
    """The part of `low` to `high` in a chunk's span, beginning at a drawn pixel (low, low + step, …)."""
    first = max(low, span[0])
    first += -(first - low) % step
    return first, min(high, span[1])


def fit_labels(assembled: Assembled, part: TilePart, tile: Tiling, place: TilePlace) -> Plane:
    """A label plane stretched over a tile's pixels. Each pixel gets the nearest label, because labels cannot be
    interpolated."""
    rows = np.arange(place.y0, place.y1, tile.step)
    columns = np.arange(place.x0, place.x1, tile.step)
    own, other = tile.sheet, part.sheet
    y = (own.offset[0] + own.factor[0] * (rows + 0.5) - other.offset[0]) / other.factor[0]
    x = (own.offset[1] + own.factor[1] * (columns + 0.5) - other.offset[1]) / other.factor[1]
    plane = assembled.plane
    if not plane.size:
        return np.zeros((len(rows), len(columns)), plane.dtype)
    at_y = np.clip(np.floor(y).astype(int) - part.y0, 0, plane.shape[0] - 1)
    at_x = np.clip(np.floor(x).astype(int) - part.x0, 0, plane.shape[1] - 1)
    fitted: Plane = plane[at_y[:, None], at_x[None, :]]
    return fitted


def paint(
    planes: Mapping[LayerKey, Plane], marks: MarksOfLayers, settings: DisplaySettings
) -> tuple[Picture, dict[LayerKey, Measure], UnmarkedPicture | None]:
    """Paints a tile, and measures the channels that have no limits yet, where they were read. Also returns the picture
    without the signs for missing data; None if there are no signs to draw."""
    found: dict[LayerKey, Measure] = {}
    drawn: list[Plane | None] = []
    used: list[ChannelDisplay] = []
    for key, display, unlimited in settings.channels:
        plane = planes.get(key)
        if plane is None:
            continue
        if display is None and (known := known_values(plane, marks.get(key, ()))).size:
            found[key] = measure([known], part=unlimited.part)
            display = replace(unlimited, lo=found[key].lo, hi=found[key].hi)
        drawn.append(plane)
        used.append(display or unlimited)
    shape = next(iter(planes.values())).shape
    picture = render(drawn, used, NOT_A_NUMBER) if drawn else np.zeros((*shape, 3), np.uint8)
    if settings.alpha is not None and (opacity := planes.get(settings.alpha)) is not None:
        weight = opacity[..., None].astype(np.uint16) + (opacity[..., None] > 127)  # 255 counts as 256
        picture = ((picture * weight + np.uint16(GREY) * (256 - weight)) >> 8).astype(np.uint8)
    for key, label in settings.labels:
        plane = planes.get(key)
        if plane is not None:
            picture = overlay(picture, label.picture(plane), label.opacity)
    drawn_marks = dict.fromkeys(mark for key in planes for mark in marks.get(key, ()))
    signs = tuple(mark for mark in drawn_marks if settings.dots or mark.state != "fill")
    bare = UnmarkedPicture(picture.copy(), signs) if signs else None
    return sign(picture, signs), found, bare


def preview(planes: Mapping[LayerKey, Plane], marks: MarksOfLayers, settings: DisplaySettings, every: int) -> Picture:
    """Paints only every `every`-th pixel in each direction: a coarse picture while there is much to draw."""
    thinned = {key: plane[::every, ::every] for key, plane in planes.items()}
    coarse = {
        key: tuple(Mark(m.state, m.y0 // every, m.x0 // every, -(-m.y1 // every), -(-m.x1 // every)) for m in drawn)
        for key, drawn in marks.items()
    }
    return paint(thinned, coarse, settings)[0]


def sign(picture: Picture, marks: Sequence[Mark]) -> Picture:
    """Draws the signs for chunks without data into the picture."""
    for mark in marks:
        part = picture[mark.y0 : mark.y1, mark.x0 : mark.x1]
        mask = pattern(mark.state, part.shape[0], part.shape[1], mark.y0, mark.x0)
        if mark.state == "fill":
            part[mask] = np.where(part[mask] > 127, part[mask] - DOT, part[mask] + DOT)
        else:
            part[...] = GREY
            part[mask] = SIGN if mark.state == "failed" else (150, 150, 150)
    return picture


def is_covered(marks: Sequence[Mark], place: TilePlace, step: int) -> bool:
    """Whether no chunk of a tile is stored, so that its marks for the fill value cover all of it."""
    whole = -(-(place.y1 - place.y0) // step) * -(-(place.x1 - place.x0) // step)
    return sum((m.y1 - m.y0) * (m.x1 - m.x0) for m in marks if m.state == "fill") >= whole


def known_values(plane: Plane, marks: Sequence[Mark]) -> Plane:
    """The values of a plane without those of chunks that could not be read, as a 1-D array; all values as the plane
    itself. A chunk that is not stored has known values: the fill value."""
    failed = [mark for mark in marks if mark.state != "fill"]
    if not failed:
        return plane
    known = np.ones(plane.shape, bool)
    for mark in failed:
        known[mark.y0 : mark.y1, mark.x0 : mark.x1] = False
    values: Plane = plane[known]
    return values


def measure(samples: Sequence[Plane], span: tuple[float, float] | None = None, part: str = "magnitude") -> Measure:
    """Contrast limits and histogram of planes, from a sample of about a quarter of a million values. The histogram
    covers at least the range `span`."""
    total = sum(plane.size for plane in samples)
    every = max(1, total // 250_000)
    flat = np.concatenate([plane.reshape(-1)[::every] for plane in samples]) if samples else np.zeros(0)
    if flat.dtype.kind == "c":
        flat = as_numbers(flat, part)
        if part == "phase":
            span = (-math.pi, math.pi)
    if flat.dtype.kind == "b":
        counts = np.bincount(flat.view(np.uint8), minlength=2)
        return Measure(0.0, 1.0, 0.0, 1.0, (int(counts[0]), int(counts[1])))
    lo, hi = (-math.pi, math.pi) if part == "phase" else auto_levels(flat)
    spread = histogram(flat, BINS)
    low, high = float(spread.edges[0]), float(spread.edges[-1])
    reach = (min(low, lo), max(high, hi)) if span is None else (min(low, span[0]), max(high, span[1]))
    if flat.dtype.kind in "iu" and flat.dtype.itemsize == 1:
        reach = (0.0, 256.0) if flat.dtype.kind == "u" else (-128.0, 128.0)
    if reach != (low, high) or len(spread.counts) < BINS:
        spread = histogram(flat, BINS, reach)
    return Measure(lo, hi, reach[0], reach[1], tuple(int(n) for n in spread.counts))
