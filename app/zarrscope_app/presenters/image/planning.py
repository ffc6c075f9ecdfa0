"""Plans what to load for a view: the level that fits the screen, its tiles, the coarser level beneath, and whether
loading them costs too much. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from zarrscope.model.frozen import frozen
from zarrscope.view.image import Image, level_for
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.image import words
from zarrscope_app.presenters.image.display_settings import ChannelStyle, LabelStyle
from zarrscope_app.presenters.image.projection import Projection
from zarrscope_app.presenters.image.tile_geometry import (
    BASE_TILES,
    ReadingCost,
    TileSource,
    cost,
    overview_level,
    sheet,
    tiling,
)
from zarrscope_app.presenters.image.tile_manager import TilePlan
from zarrscope_app.presenters.image.view_models import Rect

MAX_CHUNKS = 8192
"""The most chunks that are read unasked: one takes about 0.3 ms of a processor, however small it is."""
MAX_REQUESTS = 2048
"""The most requests to another computer for chunks that are read unasked: one takes about 1 ms of a processor, and they
share the connections."""
MAX_BYTES = 1 << 30
"""The most decoded bytes that are read unasked."""


@frozen
class RequestedView:
    """The requested view. `index`: one number per axis of the image, at level 0. `level`: the wanted level, None for
    the level that fits the screen. `anyway`: whether to load the level whatever it costs."""

    image: Image
    index: tuple[int, ...]
    y: int
    x: int
    rect: Rect
    pixels: tuple[int, int]
    level: int | None = None
    anyway: bool = False
    projection: Projection | None = None

    @property
    def whole(self) -> Rect:
        """The whole plane, as a rectangle in indices of level 0."""
        return 0.0, 0.0, float(self.image.shape[self.y]), float(self.image.shape[self.x])


class PlaneKey(NamedTuple):
    """Identifies the plane that a tile shows: the image, the indices, the two axes and the projection."""

    path: str
    name: str
    at: tuple[int, ...]
    y: int
    x: int
    projection: Projection | None


@frozen
class PlannedView:
    """The plan for a view. `blocked`: the reason why the level that fits the screen is left out; "" if the plan
    includes it."""

    plan: TilePlan
    level: int
    blocked: str

    @property
    def chunks(self) -> int:
        """The number of chunks that the planned tiles need."""
        return sum(cost(tile, list(places), self.plan.sources).chunks for tile, places in self.plan.layers)


def plan(view: RequestedView, channels: Sequence[ChannelStyle], labels: Sequence[LabelStyle]) -> PlannedView:
    """Plans which tiles to load: first an overview if it is small, then the level that fits the screen."""
    image, y, x = view.image, view.y, view.x
    level = fitting(view)
    sources = _sources(view, channels, labels)
    layers = []
    base = overview_level(image, y, x)
    if image.levels[base].factors[x] > image.levels[level].factors[x]:
        under = tiling(sheet(image, base, y, x), view.whole, view.pixels)
        places = under.places(view.whole)
        if len(places) <= BASE_TILES and not exceeds(cost(under, places, sources), part=4):
            layers.append((under, tuple(places)))
    over = tiling(sheet(image, level, y, x), view.rect, view.pixels)
    places = over.places(view.rect)
    needed = cost(over, places, sources)
    blocked = ""
    if not view.anyway and exceeds(needed):
        blocked = strings.too_much(needed.chunks, needed.nbytes)
    else:
        layers.append((over, tuple(places)))
    key = PlaneKey(image.path, image.name, view.index, y, x, view.projection)
    return PlannedView(TilePlan(key, tuple(layers), sources), level, blocked)


def exceeds(found: ReadingCost, part: int = 1) -> bool:
    """Whether a cost is more than the limit for reading unasked, or than `1 / part` of it."""
    limits = MAX_CHUNKS, MAX_BYTES, MAX_REQUESTS
    return any(cost > limit // part for cost, limit in zip(found, limits, strict=True))


def fitting(view: RequestedView) -> int:
    """The level to show: the wanted one, else the coarsest that has a pixel for each pixel of the screen."""
    if view.level is not None:
        return view.level
    height, width = view.rect[2] - view.rect[0], view.rect[3] - view.rect[1]
    zoom = (view.pixels[0] / max(height, 1e-9), view.pixels[1] / max(width, 1e-9))
    return level_for(view.image, zoom, (view.y, view.x))


def _sources(
    view: RequestedView, channels: Sequence[ChannelStyle], labels: Sequence[LabelStyle]
) -> tuple[TileSource, ...]:
    found = []
    for i, channel in enumerate(channels):
        if channel.visible:
            found.append(channel_source(view, i))
    for label in labels:
        label.sentence = ""
        if label.visible and label.image is not None:
            source = _label_source(view, label.image, label.path)
            if source is None:
                label.sentence = strings.LABEL_AXES
            else:
                found.append(source)
    return tuple(found)


def channel_source(view: RequestedView, channel: int) -> TileSource:
    """The source of a channel's tiles. Images without a channel axis have one channel, 0."""
    at = list(view.index)
    if view.image.channel_axis is not None:
        at[view.image.channel_axis] = channel
    return TileSource(("channel", channel), view.image, tuple(at), view.y, view.x, view.projection)


def label_sources(view: RequestedView, labels: Sequence[LabelStyle]) -> tuple[tuple[str, TileSource], ...]:
    """(name, source) of the displayed label images, for the values under the cursor."""
    found = []
    for label in labels:
        if label.visible and label.image is not None:
            source = _label_source(view, label.image, label.path)
            if source is not None:
                found.append((label.path.rsplit("/", 1)[-1] or label.image.name, source))
    return tuple(found)


def _label_source(view: RequestedView, labels: Image, path: str) -> TileSource | None:
    """The source of a label image. Its axes are found by name; an axis that it lacks (channels) is ignored."""
    names = {axis.name: i for i, axis in enumerate(view.image.axes)}
    own = {axis.name: i for i, axis in enumerate(labels.axes)}
    y, x = view.image.axes[view.y].name, view.image.axes[view.x].name
    if y not in own or x not in own:
        return None
    at = [
        min(view.index[names[axis.name]], labels.shape[i] - 1) if axis.name in names else 0
        for i, axis in enumerate(labels.axes)
    ]
    return TileSource(("label", path), labels, tuple(at), own[y], own[x])


def cost_text(view: RequestedView, channels: Sequence[ChannelStyle], labels: Sequence[LabelStyle]) -> tuple[str, str]:
    """The cost of a view in words: "64 planes: 4,096 chunks, 3.1 GiB to read", and its size alone: "3.1 GiB"."""
    sources = _sources(view, channels, labels)
    over = tiling(sheet(view.image, fitting(view), view.y, view.x), view.rect, view.pixels)
    chunks, nbytes, _ = cost(over, over.places(view.rect), sources)
    along = view.projection
    planes = along.stop - along.start if along is not None else 1
    return words.projection_cost(planes, chunks, nbytes), strings.size(nbytes)
