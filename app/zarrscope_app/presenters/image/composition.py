"""Parts of the display: composes tiles into one picture, as hosts do; makes scale bars, and describes axes and levels.
Pure functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from zarrscope.view.image import Image
from zarrscope.view.render import Picture
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.image.painting import GREY
from zarrscope_app.presenters.image.view_models import AxisView, LevelView, Rect, ScaleBar, Tile

T = TypeVar("T")


def compose(tiles: Iterable[Tile], rect: Rect, height: int, width: int) -> Picture:
    """The tiles in a rectangle of the plane as one picture (height, width, 3): nearest pixels, grey where there are no
    data."""
    canvas = np.full((height, width, 3), GREY, np.uint8)
    y0, x0, y1, x1 = rect
    if height < 1 or width < 1 or y1 <= y0 or x1 <= x0:
        return canvas
    ys = y0 + (np.arange(height) + 0.5) * (y1 - y0) / height
    xs = x0 + (np.arange(width) + 0.5) * (x1 - x0) / width
    for tile in tiles:
        if tile.rgb is None:
            continue
        top, left, bottom, right = tile.rect
        a, b = np.searchsorted(ys, (top, bottom))
        c, d = np.searchsorted(xs, (left, right))
        if a < b and c < d:
            rows = np.minimum((ys[a:b] - top) / (bottom - top) * tile.rgb.shape[0], tile.rgb.shape[0] - 1)
            columns = np.minimum((xs[c:d] - left) / (right - left) * tile.rgb.shape[1], tile.rgb.shape[1] - 1)
            canvas[a:b, c:d] = tile.rgb[rows.astype(int)[:, None], columns.astype(int)[None, :]]
    return canvas


def unit_of(image: Image, axis: int) -> str | None:
    """The unit that the file gives an axis, or None. None also for the axis of the three colours of a plain RGB
    array."""
    unit = image.axes[axis].unit
    return None if unit == "rgb" else unit


def scale_bar(image: Image, axis: int, indices: float) -> ScaleBar | None:
    """A bar of a round length that fits into `indices`; None without a physical scale."""
    unit = unit_of(image, axis)
    per_index = abs(image.levels[0].scale[axis])
    limit = per_index * indices
    if not unit or not (math.isfinite(limit) and limit > 0):
        return None
    power = 10.0 ** math.floor(math.log10(limit))
    length = max(m * power for m in (1, 2, 5) if m * power <= limit * (1 + 1e-9))
    return ScaleBar(length / per_index, strings.length(length, unit))


def aspect(image: Image, y: int, x: int) -> float:
    """The physical height of a pixel divided by its width; 1 if the units of the axes differ or the scale in the file
    is not usable."""
    scale = image.levels[0].scale
    if image.axes[y].unit != image.axes[x].unit or not scale[x] or not scale[y]:
        return 1.0
    ratio = abs(scale[y] / scale[x])
    return ratio if 0.01 < ratio < 100 else 1.0


def axis_view(image: Image, axis: int, index: int, role: str, playing: bool) -> AxisView:
    """Describes one axis, with its position in the axis' unit if the metadata state one, or with the name of the
    channel."""
    unit, named = unit_of(image, axis), image.axes[axis]
    physical = bool(unit) or (image.multiscale is not None and named.type in ("space", "time"))
    return AxisView(
        named.name,
        named.type,
        strings.unit(unit),
        image.shape[axis],
        index,
        role,
        strings.length(image.physical(axis, index), unit) if physical else "",
        strings.step(index, image.shape[axis]),
        playing,
        strings.clean(named.name, 24),
        str(index),
        f"/ {strings.count(max(0, image.shape[axis] - 1))}",
        strings.clean(image.channel_name(axis, index), 24),
    )


class SnapshotParts:
    """The parts of a picture's last snapshot. A part is made again only after something it shows has changed, because a
    slider makes a hundred snapshots a second, in which all but one index are the same."""

    def __init__(self) -> None:
        self._image: Image | None = None
        self._parts: dict[Hashable, tuple[object, Any]] = {}

    def part(self, image: Image, name: Hashable, key: object, make: Callable[[], T]) -> T:
        """The part `name` of the snapshot of an image: the last one, unless `key` or the image differs from then."""
        if image is not self._image:
            self._image, self._parts = image, {}
        found = self._parts.get(name)
        if found is None or found[0] != key:
            found = self._parts[name] = key, make()
        made: T = found[1]
        return made

    def each(self, image: Image, name: str, wanted: Sequence[tuple[object, Callable[[], T]]]) -> tuple[T, ...]:
        """Several parts of one kind; `wanted` has the key of each and the function that makes it."""
        return tuple(self.part(image, (name, place), key, make) for place, (key, make) in enumerate(wanted))


def level_views(image: Image, plane: tuple[int, int]) -> tuple[LevelView, ...]:
    """A snapshot of each level of an image, from which a person can choose."""
    return tuple(
        LevelView(level.path, level.shape, level_text(image, k, plane)) for k, level in enumerate(image.levels)
    )


def level_text(image: Image, level: int, shown: Sequence[int]) -> str:
    """A level in words: "1 · 512 × 512 · 1.3 µm"."""
    at, unit = image.levels[level], unit_of(image, shown[-1])
    return strings.joined(
        str(level),
        strings.shape([at.shape[axis] for axis in shown]),
        strings.length(at.scale[shown[-1]], unit) if unit else "",
    )
