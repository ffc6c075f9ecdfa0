"""Computes the tiles that a viewport needs, and the chunks that a tile needs. Pure arithmetic.

A *sheet* is the plane of one level: its size, its chunks along the two shown axes, and the position of its pixels in
indices of level 0. A *tiling* cuts a sheet into tiles of about 256 to 512 pixels whose edges are chunk edges if
possible: small chunks are merged, large ones split. A *source* is one layer of a tile: a channel, or a label image on
top.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from zarrscope.model.frozen import frozen
from zarrscope.nodes.internals import stored_array
from zarrscope.view.image import Image, index_at
from zarrscope_app.presenters.image.projection import Projection
from zarrscope_app.presenters.image.view_models import Rect

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array

AxisIndices = tuple[int, ...]

TILE = 512
MAX_TILES = 100
BASE_TILES = 4
"""The coarsest level is drawn beneath everything else if it has at most this many tiles."""
LEAST_SIDE = 64
"""The fewest pixels, along the longer side, of a level that stands for the whole plane. Some pyramids end with a level
of a single pixel: contrast measured there fits nothing else."""
MAX_OVERVIEW = 1 << 22
"""The most elements of a plane that is read to stand for the whole one, unless there is no smaller one."""


@dataclass(frozen=True, eq=False)
class LevelPlane:
    """One level of an image as a plane. `y`, `x`: the axes shown as height and width, in any order. The edge of pixel i
    lies at offset + factor · i in indices of level 0."""

    array: Array
    level: int
    y: int
    x: int
    height: int
    width: int
    factor: tuple[float, float]
    offset: tuple[float, float]

    def rect(self, y0: float, x0: float, y1: float, x1: float) -> Rect:
        """The rectangle of pixels of this level, in indices of level 0."""
        (fy, fx), (oy, ox) = self.factor, self.offset
        return oy + fy * y0, ox + fx * x0, oy + fy * y1, ox + fx * x1

    def window(self, rect: Rect) -> tuple[int, int, int, int]:
        """The pixels of this level that a rectangle of level 0 touches, clipped to the sheet."""
        (fy, fx), (oy, ox) = self.factor, self.offset
        y0 = min(max(0, math.floor((rect[0] - oy) / fy + 1e-9)), self.height)
        x0 = min(max(0, math.floor((rect[1] - ox) / fx + 1e-9)), self.width)
        y1 = min(max(y0, math.ceil((rect[2] - oy) / fy - 1e-9)), self.height)
        x1 = min(max(x0, math.ceil((rect[3] - ox) / fx - 1e-9)), self.width)
        return y0, x0, y1, x1

    def pixel(self, y: float, x: float) -> tuple[int, int]:
        """The row and column in this level for a position in level 0. A position outside gives the nearest pixel."""
        (fy, fx), (oy, ox) = self.factor, self.offset
        row, column = math.floor((y - oy) / fy), math.floor((x - ox) / fx)
        return min(max(row, 0), self.height - 1), min(max(column, 0), self.width - 1)


def sheet(image: Image, level: int, y: int, x: int) -> LevelPlane:
    """The plane of a level that the axes `y` and `x` span, and where it lies in indices of level 0."""
    at, finest = image.levels[level], image.levels[0]

    def offset(axis: int) -> float:
        # If a coarser level has the translation of the finest, the edges of both coincide in most files.
        if level == 0 or at.translation[axis] == finest.translation[axis] or not finest.scale[axis]:
            return 0.0
        shift = (at.translation[axis] - finest.translation[axis]) / finest.scale[axis]
        edge = shift - at.factors[axis] / 2 + 0.5
        return 0.0 if abs(edge) < 1e-6 else edge

    return LevelPlane(
        at.array, level, y, x, at.shape[y], at.shape[x], (at.factors[y], at.factors[x]), (offset(y), offset(x))
    )


@frozen
class TilePlace:
    """A tile of a tiling, or its visible part: pixels y0 … y1, x0 … x1 of its level."""

    row: int
    column: int
    y0: int
    x0: int
    y1: int
    x1: int

    def holds(self, other: TilePlace) -> bool:
        """Whether the other place lies within this one; both are of one level."""
        return self.y0 <= other.y0 and self.x0 <= other.x0 and other.y1 <= self.y1 and other.x1 <= self.x1


@dataclass(frozen=True, eq=False)
class Tiling:
    """The tiles into which a sheet is cut. `step`: only every step-th pixel is drawn, because the screen has fewer
    pixels than the level."""

    sheet: LevelPlane
    tile_height: int
    tile_width: int
    step: int = 1

    @cached_property
    def stamp(self) -> tuple[Any, ...]:
        """A key that is equal for two tilings if a tile of one can be used in place of the same tile of the other."""
        s = self.sheet
        return s.array.path, s.level, s.y, s.x, self.tile_height, self.tile_width, self.step

    def window(self, rect: Rect) -> tuple[range, range]:
        """The rows and the columns of the tiles that a rectangle, in indices of level 0, touches."""
        y0, x0, y1, x1 = self.sheet.window(rect)
        if y0 >= y1 or x0 >= x1:
            return range(0), range(0)
        return (
            range(y0 // self.tile_height, (y1 - 1) // self.tile_height + 1),
            range(x0 // self.tile_width, (x1 - 1) // self.tile_width + 1),
        )

    def places(self, rect: Rect) -> list[TilePlace]:
        """The tiles that a rectangle of level 0 touches, those nearest its centre first. Each tile is cropped to its
        visible chunks."""
        rows, columns = self.window(rect)
        y0, x0, y1, x1 = self.sheet.window(rect)
        cy, cx = (y0 + y1) / 2, (x0 + x1) / 2
        (ya, yb), (xa, xb) = self._in_sight(self.sheet.y, y0, y1), self._in_sight(self.sheet.x, x0, x1)
        found = [
            TilePlace(p.row, p.column, max(p.y0, ya), max(p.x0, xa), min(p.y1, yb), min(p.x1, xb))
            for p in (self.place(row, column) for row, column in product(rows, columns))
        ]
        found.sort(key=lambda p: ((p.y0 + p.y1) / 2 - cy) ** 2 + ((p.x0 + p.x1) / 2 - cx) ** 2)
        return found

    def _in_sight(self, axis: int, low: int, high: int) -> tuple[int, int]:
        """The range `low` to `high` of pixels along an axis, extended to whole chunks, because chunks are read as a
        whole."""
        array = self.sheet.array
        if low >= high or array.chunks[axis] % self.step:  # a cropped tile might not begin at a multiple of `step`
            return 0, int(array.shape[axis])
        edges = array.edges(axis)
        first, _ = edges.span(edges.chunk_of(low))
        _, last = edges.span(edges.chunk_of(high - 1))
        return int(first), int(last)

    def place(self, row: int, column: int) -> TilePlace:
        """The place of a whole tile; at the edges of the level it is smaller."""
        y0, x0 = row * self.tile_height, column * self.tile_width
        return TilePlace(
            row,
            column,
            y0,
            x0,
            min(y0 + self.tile_height, self.sheet.height),
            min(x0 + self.tile_width, self.sheet.width),
        )


def tiling(sheet: LevelPlane, rect: Rect, pixels: tuple[int, int]) -> Tiling:
    """The tiling of a sheet for a viewport; tiles are made so large that at most MAX_TILES are visible."""
    y0, x0, y1, x1 = sheet.window(rect)
    per_pixel = min((y1 - y0) / max(1, pixels[0]), (x1 - x0) / max(1, pixels[1]))
    step = 1 << max(0, math.floor(math.log2(per_pixel))) if per_pixel >= 2 else 1
    chunks = sheet.array.chunks
    grow = step
    while True:
        found = Tiling(
            sheet,
            tile_length(chunks[sheet.y], sheet.height, TILE * grow),
            tile_length(chunks[sheet.x], sheet.width, TILE * grow),
            step,
        )
        rows, columns = found.window(rect)
        if len(rows) * len(columns) <= MAX_TILES:
            return found
        grow *= 2


def tile_length(chunk: int, extent: int, wanted: int) -> int:
    """A length near `wanted`, if possible a multiple or a divisor of the chunk's length."""
    chunk = max(1, min(chunk, max(1, extent)))
    if chunk <= wanted:
        return chunk * (wanted // chunk)
    for parts in range(math.ceil(chunk / wanted), max(2, 2 * chunk // wanted) + 1):
        if chunk % parts == 0:
            return chunk // parts
    return wanted


def chunks_of(array: Array, axis: int, low: int, high: int) -> range:
    """The chunks along an axis that contain the pixels `low` to `high` - 1; at least one."""
    edges = array.edges(axis)
    return range(edges.chunk_of(low), edges.chunk_of(max(low, high - 1)) + 1)


@dataclass(frozen=True, eq=False)
class TilePart:
    """The part of one source in one tile: a window of a plane of an array. `index`: one number per axis; the numbers of
    the displayed axes are ignored."""

    sheet: LevelPlane
    index: AxisIndices
    y0: int
    x0: int
    y1: int
    x1: int
    span: tuple[int, int, int] | None = None
    """(axis, first, last + 1) of a projection, in indices of this array."""
    method: str = ""

    def chunks(self) -> Iterator[AxisIndices]:
        """The indices of the chunks that the window touches."""
        spans = []
        wide = {self.sheet.y: (self.y0, self.y1), self.sheet.x: (self.x0, self.x1)}
        if self.span is not None:
            wide[self.span[0]] = self.span[1:]
        for axis, i in enumerate(self.index):
            low, high = wide.get(axis, (i, i + 1))
            spans.append(chunks_of(self.sheet.array, axis, low, high))
        yield from product(*spans)


@dataclass(frozen=True, eq=False)
class TileSource:
    """One layer of the tiles. `key`: ("channel", n) or ("label", path). `index`: one number per axis at level 0 of
    `image`; None for the displayed axes."""

    key: tuple[str, Any]
    image: Image
    index: AxisIndices
    y: int
    x: int
    projection: Projection | None = None

    def part(self, tile: Tiling, place: TilePlace) -> TilePart:
        """The part of this source in a tile: for a channel the window of the tile, for a label image the window at the
        same position in the label image."""
        own = tile.sheet
        if self.key[0] == "channel":
            at = index_at(self.image, own.level, self.index)
            span, method = None, ""
            if (along := self.projection) is not None:
                shown = self.image.levels[own.level]
                span = (along.axis, *along.at_level(shown.factors[along.axis], shown.shape[along.axis]))
                method = along.method
            return TilePart(own, at, place.y0, place.x0, place.y1, place.x1, span, method)
        level = self.level_near(own.factor)
        mine = sheet(self.image, level, self.y, self.x)
        window = mine.window(own.rect(place.y0, place.x0, place.y1, place.x1))
        return TilePart(mine, index_at(self.image, level, self.index), *window)

    def level_near(self, factor: tuple[float, float]) -> int:
        """The coarsest level that is at least as fine as `factor`."""
        fits = [
            k
            for k, level in enumerate(self.image.levels)
            if level.factors[self.y] <= factor[0] * 1.1 and level.factors[self.x] <= factor[1] * 1.1
        ]
        return max(fits, key=lambda k: self.image.levels[k].factors[self.x], default=0)


def overview_level(image: Image, y: int, x: int) -> int:
    """The level that stands for the whole plane, as `overview_of` chooses it."""
    fine_first = sorted(range(len(image.levels)), key=lambda k: image.levels[k].factors[x])
    return fine_first[overview_of([(image.levels[k].shape[y], image.levels[k].shape[x]) for k in fine_first])]


def overview_of(shapes: Sequence[tuple[int, ...]], most: int = MAX_OVERVIEW) -> int:
    """Chooses one of the planes of a pyramid by their shapes, fine ones first: the coarsest of at least LEAST_SIDE
    pixels along the longer side; a smaller one if that has more than `most` elements."""
    chosen = last = len(shapes) - 1
    for level in range(last, -1, -1):
        if level < last and math.prod(shapes[level]) > most:
            break
        chosen = level
        if max(shapes[level], default=0) >= LEAST_SIDE:
            break
    return chosen


class ReadingCost(NamedTuple):
    """The cost of reading chunks: their number, their bytes when decoded, and the requests to another computer."""

    chunks: int = 0
    nbytes: int = 0
    requests: int = 0


def requests(array: Array, spans: Mapping[int, tuple[int, int]], chunks: int) -> int:
    """The number of requests for these chunks, if the store is on another computer; else 0. Chunks of a shard are read
    together: a request for its index, and one for neighbouring chunks. `spans`: axis → first element, last + 1; on
    other axes one element."""
    if not stored_array(array).store.remote:
        return 0
    if (shards := array.shards) is None:
        return chunks
    return 2 * math.prod((high - 1) // shards[axis] - low // shards[axis] + 1 for axis, (low, high) in spans.items())


def cost(tile: Tiling, places: list[TilePlace], sources: tuple[TileSource, ...]) -> ReadingCost:
    """The cost of a set of tiles. The chunks are counted without listing them, because there may be millions."""
    if not places or not sources:
        return ReadingCost()
    hull = TilePlace(
        0,
        0,
        min(p.y0 for p in places),
        min(p.x0 for p in places),
        max(p.y1 for p in places),
        max(p.x1 for p in places),
    )
    total = nbytes = asked = 0
    channels: set[tuple[AxisIndices, ...]] = set()
    for source in sources:
        part = source.part(tile, hull)
        array, y, x = part.sheet.array, part.sheet.y, part.sheet.x
        deep = chunks_of(array, *part.span) if part.span is not None else range(1)
        along = part.span[0] if part.span is not None else -1
        fixed = tuple(array.edges(a).chunk_of(i) for a, i in enumerate(part.index) if a not in (y, x, along))
        stamp = ((id(array),), fixed)
        if stamp in channels:
            continue
        channels.add(stamp)
        rows = len(chunks_of(array, y, part.y0, part.y1))
        columns = len(chunks_of(array, x, part.x0, part.x1))
        total += rows * columns * len(deep)
        nbytes += rows * columns * len(deep) * math.prod(array.chunks) * array.dtype.itemsize
        spans = {y: (part.y0, part.y1), x: (part.x0, part.x1)} | ({along: part.span[1:]} if part.span else {})
        asked += requests(array, spans, rows * columns * len(deep))
    return ReadingCost(total, nbytes, asked)


def chunk_key(array: Array, index: AxisIndices) -> str:
    """The key of a chunk in the store."""
    try:
        at = stored_array(array).locator.grid_index(index)
        return str(array.metadata.keys.key(at))
    except Exception:
        return ", ".join(map(str, index))
