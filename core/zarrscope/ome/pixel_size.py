"""Pixel sizes of a whole pyramid, and the edits that correct them at every level at once.

Specification: spec E.2; https://ngff.openmicroscopy.org. A level's scale is the pixel size times its factor, which says
how much coarser the level is. Correcting the pixel size means recomputing the scale of every level by its factor, and
the translation with it: a level's offset from the finest level grows with the pixel, and the finest level stays in
place. If a factor contradicts the shapes of the arrays, the factor of the shapes replaces it. Pure: nothing is opened.

    sizes = pixel_sizes(group.attributes, shape_of=shapes.get)
    [axis.name for axis in sizes.axes], sizes.sizes, sizes.factors
    edits = set_pixel_sizes(group.attributes, {2: "0.5"}, shape_of=shapes.get)     # axis 2 of every level
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from zarrscope.errors import Refused
from zarrscope.errors.visible import counted
from zarrscope.ome.edits import Edit, axes_at, base_of, edit, multiscale
from zarrscope.ome.metadata import HISTORICAL_AXES, TYPE_OF_NAME, Axis, block, number

ShapeOf = Callable[[str], "tuple[int, ...] | None"]
"""The shape of the array at a level's path, as the document spells the path; None where it is not known."""
EARLY = ("0.1", "0.2", "0.3")
"""Versions that cannot state pixel sizes."""
_ONE = Fraction(1)


def no_shapes(path: str) -> None:
    """The `shape_of` of a caller without shapes: returns None."""


@dataclass(frozen=True, slots=True)
class PixelSizes:
    """The pixel sizes and units that an entry of `multiscales` states."""

    axes: tuple[Axis, ...]
    sizes: tuple[Fraction | None, ...]
    """The pixel sizes of the finest level, per axis; None where they are not stated."""
    paths: tuple[str, ...]
    """The levels as the document names them."""
    factors: tuple[tuple[Fraction, ...], ...]
    """For each level and axis: the level's pixel size divided by that of the finest level."""
    doubtful: tuple[tuple[int, int, Fraction], ...] = ()
    """(level, axis, stated factor) where the shapes of the arrays imply another factor."""
    upgrades: str = ""
    """The version of an image that cannot state pixel sizes, and that setting one converts to 0.4; "" for others."""
    problem: str = ""
    """The reason why the pixel sizes cannot be changed here; "" if they can."""


@dataclass(slots=True)
class _Vector:
    """Numbers of a transformation, and the JSON pointer of each."""

    values: list[Any]
    pointers: list[str]


@dataclass(slots=True)
class _Steps:
    """The transformations of one level, or of all levels: at most one scale and one translation."""

    at: str
    """The pointer to the list of transformations."""
    scale: _Vector | None = None
    translation: _Vector | None = None
    identity: str = ""
    """The pointer to an identity transformation, which can be replaced by the scale."""
    stated: bool = False
    """Whether there are any transformations."""
    problem: str = ""


# ---------------------------------------------------------------------- reading
def _steps_at(value: object, at: str) -> _Steps:
    found = _Steps(at, stated=bool(value))
    for step, pointer in _flat(value, at):
        kind = step.get("type")
        if kind in ("scale", "translation"):
            held = step.get(str(kind))
            if not isinstance(held, list) or any(number(n) is None for n in held):
                found.problem = f"The {kind} at {pointer} is not a list of numbers"
                return found
            vector = _Vector(held, [f"{pointer}/{kind}/{i}" for i in range(len(held))])
            if getattr(found, str(kind)) is not None:
                found.problem = f"There is a second {kind} at {pointer}"
                return found
            setattr(found, str(kind), vector)
        elif kind == "affine" and (vectors := _diagonal(step.get("affine"), f"{pointer}/affine")) is not None:
            found.scale, found.translation = vectors
        elif kind == "identity":
            found.identity = pointer
        else:
            found.problem = f"The transformation at {pointer} is neither a scale nor a translation"
            return found
    return found


def _flat(value: object, at: str, depth: int = 0) -> list[tuple[Mapping[str, Any], str]]:
    """A flat list of (transformation, JSON pointer), from a list, one object (0.6), or a sequence (0.6)."""
    if isinstance(value, Mapping):
        if value.get("type") == "sequence" and depth < 8:
            return _flat(value.get("transformations"), f"{at}/transformations", depth + 1)
        return [(value, at)]
    if isinstance(value, list) and depth < 8:
        return [found for i, item in enumerate(value) for found in _flat(item, f"{at}/{i}", depth + 1)]
    return []


def _diagonal(value: object, at: str) -> tuple[_Vector, _Vector] | None:
    """Scale and translation of an N x (N+1) matrix that only scales and shifts; None for another one."""
    rows = value if isinstance(value, list) else []
    n = len(rows)
    if not n or any(not isinstance(row, list) or len(row) != n + 1 for row in rows):
        return None
    if any(number(v) is None or (i != j < n and v != 0) for i, row in enumerate(rows) for j, v in enumerate(row)):
        return None

    def vector(places: list[tuple[int, int]]) -> _Vector:
        return _Vector([rows[i][j] for i, j in places], [f"{at}/{i}/{j}" for i, j in places])

    return vector([(i, i) for i in range(n)]), vector([(i, n) for i in range(n)])


def _fraction(value: object) -> Fraction:
    """A JSON number as an exact fraction of its text: 0.1 is a tenth."""
    return Fraction(Decimal(repr(value)))


@dataclass(slots=True)
class _Pyramid:
    """One entry of `multiscales`: its axes, levels and factors."""

    at: str
    axes: tuple[Axis, ...]
    paths: list[str]
    shapes: list[tuple[int, ...] | None]
    levels: list[_Steps]
    outer: _Steps
    """The entry's own transformations; none if it has coordinate systems (0.6), because they then do not apply to
    levels."""
    version: str

    @property
    def rank(self) -> int:
        return len(self.axes)

    @property
    def problem(self) -> str:
        if not self.axes or not self.levels:
            return "The image names no axes or no levels, and no array shows their number"
        found = next((steps.problem for steps in (*self.levels, self.outer) if steps.problem), "")
        if found:
            return found
        for steps in (*self.levels, self.outer):
            for vector in (steps.scale, steps.translation):
                if vector is not None and len(vector.values) != self.rank:
                    where = vector.pointers[0].rpartition("/")[0] if vector.pointers else steps.at
                    return f"The numbers at {where} are {len(vector.values)}, for {counted(self.rank, 'axis', 'axes')}"
        return ""

    def inner(self, level: int, axis: int) -> Fraction | None:
        """A level's own scale along an axis; None if it is not stated, or not usable."""
        steps = self.levels[level]
        if steps.scale is None:
            return _ONE if steps.identity or (steps.stated and steps.translation) else None
        value = _fraction(steps.scale.values[axis])
        return value if value else None

    def outer_scale(self, axis: int) -> Fraction:
        return _ONE if self.outer.scale is None else _fraction(self.outer.scale.values[axis]) or _ONE

    def size(self, axis: int) -> Fraction | None:
        inner = self.inner(0, axis)
        if inner is None:
            return None if self.outer.scale is None else self.outer_scale(axis)
        return inner * self.outer_scale(axis)

    def factor(self, level: int, axis: int) -> tuple[Fraction, Fraction | None]:
        """(the true factor, the stated factor if it differs)."""
        finest, own = self.inner(0, axis), self.inner(level, axis)
        stated = None if finest is None or own is None else own / finest
        fine, coarse = self.shapes[0], self.shapes[level]
        if level == 0 or fine is None or coarse is None or len(fine) != self.rank or len(coarse) != self.rank:
            return stated or _ONE, None
        n, m = fine[axis], coarse[axis]
        if stated is not None and stated > 0 and abs(n / stated - m) <= 1:
            return stated, None
        return _by_shapes(n, m), stated


def _by_shapes(fine: int, coarse: int) -> Fraction:
    """How much shorter a level is: a whole number if dividing by it, rounded up or down, gives `coarse`."""
    if not fine or not coarse:
        return _ONE
    near = max(1, round(fine / coarse))
    return Fraction(near) if coarse in (fine // near, -(-fine // near)) else Fraction(fine, coarse)


def _pyramid(attributes: Mapping[str, Any], index: int, shape_of: ShapeOf) -> _Pyramid:
    entry, at = multiscale(attributes, index), f"{base_of(attributes)}/multiscales/{index}"
    ome, version, _ = block(attributes)
    own = entry.get("version")
    version = version or (own if isinstance(own, str) else "")
    datasets = entry.get("datasets")
    levels, paths = [], []
    for i, item in enumerate(datasets if isinstance(datasets, list) else ()):
        held: Mapping[str, Any] = item if isinstance(item, Mapping) else {}
        paths.append(str(held.get("path", "")))
        place = f"{at}/datasets/{i}/coordinateTransformations"
        levels.append(_steps_at(held.get("coordinateTransformations"), place))
    shapes = [shape_of(path) for path in paths]
    modern = "coordinateSystems" in entry
    place = f"{at}/coordinateTransformations"
    outer = _Steps(place) if modern else _steps_at(entry.get("coordinateTransformations"), place)
    rank = len(shapes[0]) if shapes and shapes[0] is not None else None
    stated = axes_at(attributes, index)[1]
    axes = _named(stated or _implied(rank, version, levels))
    if not version and not ome.get("version"):
        version = "0.4" if any(isinstance(axis, Mapping) for axis in stated) else "0.3" if stated else "0.1"
    return _Pyramid(at, axes, paths, shapes, levels, outer, version)


def _implied(rank: int | None, version: str, levels: Sequence[_Steps]) -> Sequence[Any]:
    """Axes that a document does not name: 0.1 and 0.2 have t, c, z, y, x; others get numbers."""
    if rank is None:
        vector = levels[0].scale if levels else None
        rank = len(vector.values) if vector is not None else 5 if version in ("0.1", "0.2", "") else 0
    return HISTORICAL_AXES if rank == 5 else [f"axis {i}" for i in range(rank)]


def _named(stated: Sequence[Any]) -> tuple[Axis, ...]:
    axes = []
    for i, item in enumerate(stated):
        held = item if isinstance(item, Mapping) else {"name": item}
        name = held.get("name") if isinstance(held.get("name"), str) else f"axis {i}"
        kind, unit = held.get("type"), held.get("unit")
        axes.append(
            Axis(
                str(name),
                kind if isinstance(kind, str) else TYPE_OF_NAME.get(str(name).lower(), ""),
                unit if isinstance(unit, str) and unit else None,
            )
        )
    return tuple(axes)


def pixel_sizes(attributes: Mapping[str, Any], index: int = 0, shape_of: ShapeOf = no_shapes) -> PixelSizes:
    """Reads the pixel sizes of an entry of `multiscales`, and how much coarser each level is.

    Parameters
    ----------
    attributes
        The attributes of the image's group, 0.1 to 0.6.
    index
        The index of the entry of `multiscales`.
    shape_of
        Returns the shape of the array at a level's path, None if it is not known.

    Raises
    ------
    Refused
        There is no such entry.
    """
    found = _pyramid(attributes, index, shape_of)
    if found.problem:
        return PixelSizes(found.axes, (None,) * found.rank, tuple(found.paths), (), problem=found.problem)
    told = [[found.factor(level, axis) for axis in range(found.rank)] for level in range(len(found.levels))]
    doubtful = tuple(
        (level, axis, stated)
        for level, row in enumerate(told)
        for axis, (true, stated) in enumerate(row)
        if stated is not None and stated != true
    )
    early = found.version if found.version in EARLY and not any(s.stated for s in found.levels) else ""
    return PixelSizes(
        found.axes,
        tuple(found.size(axis) for axis in range(found.rank)),
        tuple(found.paths),
        tuple(tuple(true for true, _ in row) for row in told),
        doubtful,
        early,
    )


# ---------------------------------------------------------------------- correcting
def set_pixel_sizes(
    attributes: Mapping[str, Any],
    sizes: Mapping[int, str],
    index: int = 0,
    shape_of: ShapeOf = no_shapes,
) -> list[Edit]:
    """The edits that give axes another pixel size at every level.

    Parameters
    ----------
    attributes
        The attributes of the image's group, 0.1 to 0.6. An image of 0.1 to 0.3, which cannot state pixel sizes, becomes
        one of 0.4.
    sizes
        Axis → the size of a pixel of the finest level, as a person typed it; the document gets the same text.
    index
        The index of the group's multiscale, from 0.
    shape_of
        Returns the shape of a level's array by its path, if it is known.

    Raises
    ------
    Refused
        A size is not a number above zero; the levels are transformed by more than scales and translations.

    Examples
    --------
    >>> from zarrscope.ome.pixel_size import set_pixel_sizes
    >>> level = lambda path, n: {"path": path, "coordinateTransformations": [{"type": "scale", "scale": [n, n]}]}
    >>> axes = [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    >>> entry = {"axes": axes, "datasets": [level("0", 1.0), level("1", 2.0)]}
    >>> for edit in set_pixel_sizes({"ome": {"version": "0.5", "multiscales": [entry]}}, {1: "0.25"}):
    ...     print(edit.pointer, edit.text)
    /ome/multiscales/0/datasets/0/coordinateTransformations/0/scale/1 0.25
    /ome/multiscales/0/datasets/1/coordinateTransformations/0/scale/1 0.5
    """
    found = _pyramid(attributes, index, shape_of)
    if found.problem:
        raise Refused(
            found.problem,
            pointer=found.at,
            advice="Correct it under All fields, or as JSON, where you can change every number.",
        )
    wanted = {axis: positive(text) for axis, text in sizes.items()}
    if any(not 0 <= axis < found.rank for axis in wanted):
        raise Refused(f"The image has {counted(found.rank, 'axis', 'axes')}", pointer=found.at)
    edits: list[Edit] = []
    if found.version in EARLY and not any(steps.stated for steps in found.levels):
        edits += _upgraded(attributes, found)
    inner: dict[int, tuple[Fraction, str]] = {}
    for axis, value in wanted.items():
        outer = found.outer_scale(axis)
        text = sizes[axis].strip()
        if outer != _ONE and found.inner(0, axis) == _ONE and found.outer.scale is not None:
            edits += _number(found.outer.scale, axis, value, text)
            inner[axis] = (_ONE, "")
        else:
            inner[axis] = (value / outer, text if outer == _ONE else "")
    for level in range(len(found.levels)):
        edits += _level_edits(found, level, inner)
    return edits


def positive(text: str) -> Fraction:
    """The number above zero that a person typed. Raises Refused."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    told = number(value)
    if told is None or not told > 0 or not math.isfinite(told):
        raise Refused(
            f"{text.strip()!r} is not a pixel size, which is a number above zero",
            advice="Use a number above zero, with a point: 0.108 or 1e-3.",
        )
    return Fraction(Decimal(text.strip()))


def _level_edits(found: _Pyramid, level: int, wanted: Mapping[int, tuple[Fraction, str]]) -> list[Edit]:
    """The edits of the scale and the translation of one level."""
    steps = found.levels[level]
    scales = {axis: size * found.factor(level, axis)[0] for axis, (size, _) in wanted.items()}
    typed = {axis: text for axis, (_, text) in wanted.items() if level == 0}
    if steps.scale is None:
        return _new_scale(found, level, scales)
    edits: list[Edit] = []
    for axis, value in scales.items():
        edits += _number(steps.scale, axis, value, typed.get(axis, ""))
    if steps.translation is not None and level:
        for axis, (size, _) in wanted.items():
            before, origin = found.inner(0, axis), _origin(found, axis)
            if before is not None:
                apart = _fraction(steps.translation.values[axis]) - origin
                edits += _number(steps.translation, axis, origin + apart * size / before)
    return edits


def _origin(found: _Pyramid, axis: int) -> Fraction:
    held = found.levels[0].translation
    return Fraction(0) if held is None else _fraction(held.values[axis])


def _number(vector: _Vector, axis: int, value: Fraction, typed: str = "") -> list[Edit]:
    """The edit of one number of a transformation; none if it has that value already."""
    held = vector.values[axis]
    if _fraction(held) == value and not typed:
        return []
    if typed and _fraction(held) == value and repr(held) == typed:
        return []
    return [Edit(vector.pointers[axis], typed or spelled(value, isinstance(held, int)))]


def spelled(value: Fraction, whole: bool = False) -> str:
    """The shortest JSON number that reads back as the nearest float; without a decimal point if `whole` and it is
    whole.
    """
    if whole and value.denominator == 1:
        return str(value.numerator)
    try:
        return repr(float(value))
    except OverflowError:
        raise Refused("A scale would be too large for a number of 64 bits") from None


def _new_scale(found: _Pyramid, level: int, scales: Mapping[int, Fraction]) -> list[Edit]:
    """The edits that add a scale to a level without one. An axis of unknown pixel size gets its factor as the scale."""
    steps = found.levels[level]
    numbers = [
        float(spelled(scales[axis] if axis in scales else found.factor(level, axis)[0])) for axis in range(found.rank)
    ]
    if steps.identity:
        return [edit(f"{steps.identity}/type", "scale"), edit(f"{steps.identity}/scale", numbers)]
    made: dict[str, Any] = {"type": "scale", "scale": numbers}
    if steps.translation is None:
        return [edit(steps.at, [made])]
    moved = {"type": "translation", "translation": steps.translation.values}
    return [edit(steps.at, [made, moved])]


def _upgraded(attributes: Mapping[str, Any], found: _Pyramid) -> list[Edit]:
    """The edits that turn an image of 0.1 to 0.3 into 0.4: axes as objects, and the version number if one is stated."""
    ome, base = block(attributes)[0], base_of(attributes)
    axes = [{"name": axis.name} | ({"type": axis.type} if axis.type else {}) for axis in found.axes]
    edits = [edit(f"{found.at}/axes", axes), edit(f"{found.at}/version", "0.4")]
    for name in ("omero", "image-label"):
        held = ome.get(name)
        if isinstance(held, Mapping) and held.get("version") in EARLY:
            edits.append(edit(f"{base}/{name}/version", "0.4"))
    return edits
