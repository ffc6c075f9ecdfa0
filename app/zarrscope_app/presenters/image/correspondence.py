"""Converts positions in one image to positions in another: along axes of the same name, by physical units, or by index
if a unit is missing. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from zarrscope.model.frozen import frozen
from zarrscope.view.image import Image
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.image.composition import unit_of
from zarrscope_app.presenters.image.view_models import Rect
from zarrscope_app.presenters.units import METRES, SECONDS


@frozen
class Ruler:
    """An axis of the finest level: `step` and `start` (the middle of index 0) in metres if `measure` is "length", in
    seconds if it is "time", in indices if it is "", because the file gives no unit."""

    step: float = 1.0
    start: float = 0.0
    measure: str = ""


@frozen
class AxisMap:
    """Converts coordinates along an axis of one image to those of another: factor · v + shift. Pixel i spans i …
    i+1."""

    factor: float = 1.0
    shift: float = 0.0

    def __call__(self, value: float) -> float:
        return self.factor * value + self.shift


def ruler(image: Image, axis: int) -> Ruler:
    """The Ruler of an axis of an image."""
    level, symbol = image.levels[0], strings.unit(unit_of(image, axis))
    for measure, table in (("length", METRES), ("time", SECONDS)):
        if symbol in table:
            step, start = level.scale[axis] * table[symbol], level.translation[axis] * table[symbol]
            if math.isfinite(start) and math.isfinite(step) and step > 0:
                return Ruler(step, start, measure)
    return Ruler()


def axis_map(source: Ruler, target: Ruler) -> AxisMap:
    """The conversion between two axes."""
    if not source.measure or source.measure != target.measure:
        return AxisMap()
    factor = source.step / target.step
    # The middle of a pixel is half a pixel after its edge, in either image.
    return AxisMap(factor, (source.start - target.start - source.step / 2) / target.step + 0.5)


def axis_like(image: Image, name: str) -> int:
    """The number of the axis called `name`, in upper or lower case; -1 if there is none."""
    return next((i for i, axis in enumerate(image.axes) if axis.name.lower() == name.lower()), -1)


def between(source: Image, target: Image, names: Sequence[str]) -> tuple[AxisMap, ...] | None:
    """The conversion for each axis in `names` from `source` to `target`; None if `target` lacks one of the axes."""
    found = []
    for name in names:
        here, there = axis_like(source, name), axis_like(target, name)
        if here < 0 or there < 0:
            return None
        found.append(axis_map(ruler(source, here), ruler(target, there)))
    return tuple(found)


def moved(rect: Rect, down: AxisMap, across: AxisMap) -> Rect:
    """A rectangle in the plane of one image, converted to the plane of another."""
    return down(rect[0]), across(rect[1]), down(rect[2]), across(rect[3])


def index_like(source: Image, target: Image, name: str, index: int) -> int:
    """The index of `target` that contains the middle of an index of `source`, clipped to the axis; -1 if `target` does
    not have the axis."""
    ways = between(source, target, (name,))
    if ways is None:
        return -1
    last = target.shape[axis_like(target, name)] - 1
    return min(max(0, math.floor(ways[0](index + 0.5) + 1e-6)), last)  # 1e-6: the middle may lie on an edge


def level_like(source: Image, level: int, target: Image, name: str) -> int:
    """The level of `target` whose pixels are nearest in size to those of a level of `source`, along an axis."""
    here, there = axis_like(source, name), axis_like(target, name)
    if here < 0 or there < 0:
        return 0
    ratio = axis_map(ruler(source, here), ruler(target, there)).factor
    wanted = source.levels[level].factors[here] * ratio
    sizes = [at.factors[there] for at in target.levels]
    return min(range(len(sizes)), key=lambda k: abs(math.log(sizes[k] / wanted)) if wanted > 0 else k)
