"""The levels of a pyramid: their number, shapes and positions in space, and the metadata that describe them.

Each level is made from the next finer level, here called the level above. Spatial axes are shortened by whole factors;
time, channels and other axes stay as they are. A level's scale is that of the level above times the factor. Its
translation moves to the middle of the first block: half a pixel of the level above for a mean of two. The other members
of a multiscale (name, axes, its own coordinate transformations, omero, image-label) stay as they are. Specification:
reference.md E.2, E.4; OME-Zarr 0.4 and 0.5 "multiscales".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import zarrscope.ome.metadata as ome
from zarrscope.convert.downsampling import METHODS, Method, coarser_shape, middle
from zarrscope.errors import Refused
from zarrscope.errors.visible import counted
from zarrscope.model.metadata import ArrayMetadata
from zarrscope.ome.metadata import TYPE_OF_NAME, Axis

SMALL = 256
"""If no number of levels is given, the coarsest level is the first with at most this many elements along y and x."""
MAX_LEVELS = 32
DESCRIPTIONS: dict[Method, str] = {
    "mean": "Each element is the mean of its block of the level above, rounded to the nearest value, halves to even.",
    "nearest": "Each element is the first one of its block of the level above.",
    "mode": "Each element is the most frequent value of its block of the level above.",
}


@dataclass(frozen=True)
class Pyramid:
    """The options for building pyramids. Raises Refused for impossible ones.

    `levels`: the number of levels, including the finest one; None: levels are added until y and x are at most SMALL.
    `factors`: one number for all spatial axes, or a mapping from axis names to numbers (2 for axes that it lacks).
    `method`: None means nearest for labels, and mean for other images. `axes`: the names of a plain array's axes.
    """

    levels: int | None = None
    factors: int | Mapping[str, int] = 2
    method: Method | None = None
    axes: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.levels is not None and not 1 <= self.levels <= MAX_LEVELS:
            raise Refused(f"A pyramid has 1 to {MAX_LEVELS} levels, the finest one among them, not {self.levels}")
        if self.method is not None and self.method not in METHODS:
            raise Refused(f"There is no method {self.method!r}", advice=f"The methods are {', '.join(METHODS)}.")
        for factor in [self.factors] if isinstance(self.factors, int) else self.factors.values():
            if not 1 <= factor <= 64:
                raise Refused(f"A factor of {factor} is not possible: it must be from 1 to 64")

    def factor(self, axis: Axis) -> int:
        """The factor by which an axis shrinks from level to level."""
        if axis.type != "space":
            return 1
        return self.factors if isinstance(self.factors, int) else self.factors.get(axis.name, 2)


@dataclass(frozen=True)
class PyramidLevel:
    """How one level is made from the level above: the array at `above` in the destination, with metadata `metadata`."""

    above: str
    metadata: ArrayMetadata
    factors: tuple[int, ...]
    method: Method


@dataclass(frozen=True)
class LevelStep:
    """One level to be built: its path relative to the image, its shape, and its factors from the level above."""

    path: str
    shape: tuple[int, ...]
    factors: tuple[int, ...]


def steps(shape: Sequence[int], axes: Sequence[Axis], names: Sequence[str], wanted: Pyramid) -> list[LevelStep]:
    """The levels below the finest one, from fine to coarse; `names` has a path for every possible level."""
    unknown = set() if isinstance(wanted.factors, int) else set(wanted.factors) - {axis.name for axis in axes}
    if unknown:
        raise Refused(
            f"There is no axis {min(unknown)!r}, for which a factor is given",
            advice=f"The axes are {', '.join(a.name for a in axes)}.",
        )
    shown = [i for i, axis in enumerate(axes) if axis.type == "space"][-2:]
    found: list[LevelStep] = []
    here = tuple(shape)
    while len(found) + 1 < (wanted.levels or MAX_LEVELS):
        if wanted.levels is None and all(here[i] <= SMALL for i in shown):
            break
        factors = tuple(1 if n <= 1 else wanted.factor(axis) for n, axis in zip(here, axes, strict=True))
        if all(f == 1 for f in factors):
            break
        here = coarser_shape(here, factors)
        found.append(LevelStep(names[len(found)], here, factors))
    return found


def level_names(base: str, taken: set[str]) -> list[str]:
    """Paths for levels 1, 2, … below the finest one at `base`: "0" → "1", "s0" → "s1", "scale0/image" →
    "scale1/image"; another path gets a number appended. None of `taken` is used."""
    match = re.search(r"(\d+)(?!.*\d)", base)
    names: list[str] = []
    for k in range(1, MAX_LEVELS + 1):
        if match is not None:
            name = f"{base[: match.start()]}{int(match.group()) + k}{base[match.end() :]}"
        else:
            name = f"{base}_{k}"
        n = 1
        free = name
        while free in taken:
            n += 1
            free = f"{name}-{n}"
        names.append(free)
    return names


# ---------------------------------------------------------------------------------------------- metadata
def entries(attributes: Mapping[str, Any]) -> list[Any]:
    """The list of multiscales in a group's attributes, whose place depends on the version of OME-Zarr."""
    found = ome.block(attributes)[0].get("multiscales")
    return found if isinstance(found, list) else []


def with_levels(entry: Mapping[str, Any], base: str, built: Sequence[LevelStep], method: Method) -> dict[str, Any]:
    """A multiscale whose finest level is at `base`, and whose others are `built`. The finest keeps its own metadata."""
    dataset = next(
        (d for d in entry.get("datasets", []) if isinstance(d, Mapping) and d.get("path") == base), {"path": base}
    )
    datasets: list[dict[str, Any]] = [dict(dataset)]
    place = ome.multiscales({"multiscales": [{"axes": entry.get("axes"), "datasets": [dataset]}]}, "/")
    finest = place[0].datasets[0] if place else None
    rank = len(built[0].shape) if built else 0
    scale = [*finest.scale] if finest is not None and finest.scale is not None else [1.0] * rank
    shift = [*finest.translation] if finest is not None and finest.translation is not None else [0.0] * rank
    tells = "coordinateTransformations" in dataset
    for step in built:
        shift = [t + s * middle(f, method) for t, s, f in zip(shift, scale, step.factors, strict=True)]
        scale = [s * f for s, f in zip(scale, step.factors, strict=True)]
        made: dict[str, Any] = {"path": step.path}
        if tells:
            made["coordinateTransformations"] = [{"type": "scale", "scale": [*scale]}]
            if any(shift):
                made["coordinateTransformations"].append({"type": "translation", "translation": [*shift]})
        datasets.append(made)
    made_by = {"method": "zarrscope.convert", "description": DESCRIPTIONS[method]}
    return {**entry, "datasets": datasets, "type": method, "metadata": made_by}


def with_entries(attributes: Mapping[str, Any], changed: Sequence[Any]) -> dict[str, Any]:
    """Returns `attributes` with another list of multiscales in the same place."""
    if isinstance(attributes.get("ome"), Mapping):
        return {**attributes, "ome": {**attributes["ome"], "multiscales": [*changed]}}
    return {**attributes, "multiscales": [*changed]}


def image_attributes(name: str, axes: Sequence[Axis], version: str) -> dict[str, Any]:
    """The attributes of a new image whose finest level is at "0", in OME-Zarr 0.5 or 0.4."""
    described = []
    for axis in axes:
        own = {"name": axis.name, "type": axis.type, "unit": axis.unit}
        described.append({key: value for key, value in own.items() if value})
    scale = [{"type": "scale", "scale": [1.0] * len(axes)}]
    entry: dict[str, Any] = {"axes": described, "datasets": [{"path": "0", "coordinateTransformations": scale}]}
    if name:
        entry = {"name": name, **entry}
    if version == "0.5":
        return {"ome": {"version": version, "multiscales": [entry]}}
    return {"multiscales": [{"version": version, **entry}]}


def named_axes(names: Sequence[str | None] | None, rank: int, stated: tuple[str, ...] | None) -> tuple[Axis, ...]:
    """The axes of a plain array, named as the caller states, else by its dimension names. Raises Refused."""
    chosen: Sequence[str | None] | None = stated if stated is not None else names
    if stated is not None and len(stated) != rank:
        raise Refused(
            f"{counted(len(stated), 'axis does', 'axes do')} not fit an array with {counted(rank, 'axis', 'axes')}: "
            + ", ".join(stated)
        )
    if chosen is None and rank == 2:
        chosen = ("y", "x")
    if chosen is None or not all(chosen):
        raise Refused(
            "The axes of this array are not named, so its axes of space are unknown",
            advice="Name them, such as --axes zyx.",
        )
    axes = tuple(Axis(str(name), TYPE_OF_NAME.get(str(name).lower(), "")) for name in chosen)
    if len({axis.name for axis in axes}) < rank:
        raise Refused(
            f"Two axes have the same name: {', '.join(a.name for a in axes)}", advice="Name them with --axes."
        )
    if not any(axis.type == "space" for axis in axes):
        raise Refused(
            f"None of the axes {', '.join(a.name for a in axes)} is an axis of space, so no coarser level can be made",
            advice="Name them, such as --axes zyx.",
        )
    return axes
