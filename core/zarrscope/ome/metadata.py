"""Parses OME-Zarr metadata, 0.1 to 0.5 and leniently 0.6. Pure functions of attributes.

Specification: spec E; https://ngff.openmicroscopy.org.

All functions take the attributes of one group and return frozen data plus warnings in plain words. They open nothing,
and no content of a file makes them raise. A fault affects as little as possible: a bad colour only the colour, a bad
dataset only its level; a multiscale is left out only if none of its datasets is usable.

    {"ome": {"version": "0.5", "multiscales": [{"name": "cells",
      "axes": [{"name": "y", "type": "space", "unit": "micrometer"},
               {"name": "x", "type": "space", "unit": "micrometer"}],
      "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [0.5, 0.5]}]}]}]}}
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON


MAX_DATASETS = 64
MAX_RANK = 32
"""The most axes of an image, the same as of an array (spec F.1)."""

TYPE_OF_NAME = {"t": "time", "time": "time", "c": "channel", "ch": "channel", "channel": "channel"} | dict.fromkeys(
    ("z", "y", "x", "depth", "height", "width", "row", "col", "column", "lat", "lon", "latitude", "longitude"), "space"
)
"""The type of an axis for which only the name is known."""

HISTORICAL_AXES = ("t", "c", "z", "y", "x")
"""The axes that 0.1 and 0.2 imply."""

Color = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension. `type` is "space", "time", "channel", another word of the file, or "" if it is not known.

    `unit` is spelled as in the file ("micrometer"); presenters shorten it. `guessed`: no document names the axis.
    """

    name: str
    type: str = ""
    unit: str | None = None
    guessed: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Dataset:
    """One level as the document names it: physical position = scale x index + translation, per axis, pixel centres."""

    path: str
    scale: tuple[float, ...] | None
    translation: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Channel:
    """How viewers should show one channel, from the key "omero". `window`: the contrast limits; `range`: the slider's
    ends."""

    label: str
    color: Color | None = None
    window: tuple[float, float] | None = None
    range: tuple[float, float] | None = None
    active: bool = True
    inverted: bool = False


@dataclass(frozen=True, slots=True)
class Multiscale:
    """One entry of `multiscales`, paths already resolved to nodes of the hierarchy. `axes` None: not stated."""

    name: str
    version: str
    axes: tuple[Axis, ...] | None
    datasets: tuple[Dataset, ...]
    channels: tuple[Channel, ...] = ()
    defaults: Mapping[str, int] | None = None
    is_label: bool = False
    colors: Mapping[int, tuple[int, int, int, int]] | None = None
    source: str | None = None
    """For a label image: the path of its image."""
    warnings: tuple[str, ...] = ()
    properties: Mapping[int, Mapping[str, Any]] | None = None
    """For a label image: the properties of each label value."""


def block(attributes: Mapping[str, Any]) -> tuple[Mapping[str, Any], str, tuple[str, ...]]:
    """(the object that holds the OME keys, its version or "", warnings) (spec E.1)."""
    ome = attributes.get("ome")
    if isinstance(ome, Mapping):
        return ome, text_of(ome.get("version")), ()
    return attributes, "", ()


def has_multiscales(attributes: Mapping[str, Any]) -> bool:
    """Whether a group with these attributes is an image; the multiscales themselves may still be wrong."""
    value = block(attributes)[0].get("multiscales")
    return isinstance(value, list) and bool(value)


def resolve(group: str, path: str) -> str | None:
    """The node that `path` means inside `group` ("/a/b"), never above the root; None for a refused path (spec F.10).

    Refused are absolute paths, URLs, backslashes and NUL: metadata never lead out of their hierarchy.
    """
    if path.startswith("/") or "\\" in path or "\0" in path or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", path):
        return None
    parts = [part for part in group.split("/") if part]
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


def multiscales(attributes: Mapping[str, Any], path: str, home: str = "") -> list[Multiscale]:
    """Every usable entry of `multiscales` of the group at `path`; an empty list when there is none.

    `home`: the version of OME-Zarr that belongs to the group's dialect, "" if there is none.
    """
    ome, version, _ = block(attributes)
    entries = ome.get("multiscales")
    if not isinstance(entries, list):
        return []
    shared: list[str] = []
    if home == "0.5" and ome is attributes:
        shared.append("The OME metadata is at the top of the attributes, but version 0.5 has it under 'ome'.")
    if home == "0.4" and ome is not attributes:
        shared.append("The OME metadata is under 'ome', which only version 0.5 and later have.")
    channels, defaults = _omero(ome.get("omero"), shared)
    label = ome.get("image-label")
    colors, source = _image_label(label, path, shared)
    found = []
    for i, entry in enumerate(entries):
        if not isinstance(entry, Mapping):
            continue
        warnings = list(shared)
        parsed = _entry(entry, path, version or text_of(entry.get("version")), warnings)
        if parsed is None:
            continue
        axes, datasets, sniffed = parsed
        name = text_of(entry.get("name")) or (path.rsplit("/", 1)[-1] if i == 0 else f"{path.rsplit('/', 1)[-1]} {i}")
        found.append(
            Multiscale(
                name, sniffed, axes, datasets, channels, defaults, isinstance(label, Mapping), colors, source,
                tuple(dict.fromkeys(warnings)), _label_properties(label),
            )
        )  # fmt: skip
    return found


def _entry(
    entry: Mapping[str, Any], path: str, version: str, warnings: list[str]
) -> tuple[tuple[Axis, ...] | None, tuple[Dataset, ...], str] | None:
    """Axes, datasets and the inferred version (spec E.1) of one multiscale; None when no dataset is usable."""
    raw = entry.get("datasets")
    listed = raw if isinstance(raw, list) else []
    if len(listed) > MAX_DATASETS:
        warnings.append(f"The image names {len(listed)} levels; only the first {MAX_DATASETS} are used.")
    axes = _axes(_intrinsic(entry, listed) or entry.get("axes"), warnings)
    if not version:
        stated = entry.get("axes")
        strings = isinstance(stated, list) and any(isinstance(a, str) for a in stated)
        version = "0.3" if strings else "0.4" if stated else "0.1"
    # In 0.6 these map the intrinsic coordinate system to others, so they are not part of a level's transformation.
    outer = None if "coordinateSystems" in entry else entry.get("coordinateTransformations")
    datasets: list[Dataset] = []
    for item in listed[:MAX_DATASETS]:
        name = item.get("path") if isinstance(item, Mapping) else None
        if not isinstance(name, str):
            warnings.append("A level has no path and is left out.")
            continue
        target = resolve(path, name)
        if target is None:
            warnings.append(f"The level {name!r} lies outside this hierarchy and is left out.")
            continue
        scale, translation = _combined(item.get("coordinateTransformations"), outer, axes, warnings)
        datasets.append(Dataset(target, scale, translation))
    if not datasets:
        return None
    return axes, tuple(datasets), version


def _intrinsic(entry: Mapping[str, Any], datasets: Sequence[Any]) -> JSON:
    """The axes of the coordinate system that the levels are mapped to (0.6), else None."""
    systems = [s for s in listed(entry.get("coordinateSystems")) if isinstance(s, Mapping)]
    if not systems:
        return None
    for item in datasets:
        steps = item.get("coordinateTransformations") if isinstance(item, Mapping) else None
        step = steps[0] if isinstance(steps, list) and steps else steps
        output = step.get("output") if isinstance(step, Mapping) else None
        name = output.get("name") if isinstance(output, Mapping) else output
        for system in systems:
            if system.get("name") == name:
                return system.get("axes")
    return systems[0].get("axes")


def _axes(value: object, warnings: list[str]) -> tuple[Axis, ...] | None:
    if not isinstance(value, list) or not value or len(value) > MAX_RANK:
        return None
    axes: list[Axis] = []
    for i, item in enumerate(value):
        if isinstance(item, str):
            name, kind, unit = item, "", None
        elif isinstance(item, Mapping):
            name = text_of(item.get("name")) or f"axis {i}"
            kind, unit = text_of(item.get("type")), text_of(item.get("unit")) or None
        else:
            warnings.append(f"Axis {i} is neither a name nor an object; it is called 'axis {i}'.")
            name, kind, unit = f"axis {i}", "", None
        if any(axis.name == name for axis in axes):
            warnings.append(f"Two axes are called {name!r}; the second is shown as '{name} {i}'.")
            name = f"{name} {i}"
        axes.append(Axis(name, kind or TYPE_OF_NAME.get(name.lower(), ""), unit))
    return tuple(axes)


Affine = tuple[tuple[float, ...] | None, tuple[float, ...] | None]


def _combined(inner: object, outer: object, axes: tuple[Axis, ...] | None, warnings: list[str]) -> Affine:
    """The dataset's transformations, then those of the whole multiscale, as one scale and one translation."""
    rank = len(axes) if axes else None
    scale: tuple[float, ...] | None = None
    translation: tuple[float, ...] | None = None
    for step in (*_steps(inner), *_steps(outer)):
        s, t = _step(step, warnings)
        for vector in (s, t):
            if vector is not None and rank is not None and len(vector) != rank:
                warnings.append(f"A transformation has {len(vector)} numbers for {rank} axes; it is not applied.")
                s = t = None
                break
        if s is not None:
            if any(v == 0 or not math.isfinite(v) for v in s):
                warnings.append("A scale is zero or not finite; it is not applied.")
                continue
            scale = s if scale is None else _product(scale, s)
            translation = None if translation is None else _product(translation, s)
            rank = len(s)
        if t is not None:
            translation = t if translation is None else tuple(a + b for a, b in zip(translation, t, strict=True))
            rank = len(t)
    return scale, translation


def _product(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(x * y for x, y in zip(a, b, strict=True))


def _steps(value: object, depth: int = 0) -> list[Mapping[str, Any]]:
    """A flat list of transformations, from a list, one object (0.6), or a sequence (0.6)."""
    if isinstance(value, Mapping):
        if value.get("type") == "sequence" and depth < 8:
            return _steps(value.get("transformations"), depth + 1)
        return [value]
    if isinstance(value, list) and depth < 8:
        return [step for item in value[:MAX_DATASETS] for step in _steps(item, depth + 1)]
    return []


def _step(step: Mapping[str, Any], warnings: list[str]) -> Affine:
    kind = step.get("type")
    if kind == "scale":
        if (scale := _vector(step.get("scale"))) is None:
            warnings.append("A scale is not a list of numbers; it is not applied.")
        return scale, None
    if kind == "translation":
        if (translation := _vector(step.get("translation"))) is None:
            warnings.append("A translation is not a list of numbers; it is not applied.")
        return None, translation
    if kind == "affine" and (diagonal := _diagonal(step.get("affine"))) is not None:
        return diagonal
    if kind != "identity":
        warnings.append(f"The transformation {str(kind)[:40]!r} is not applied; positions may be off.")
    return None, None


def _diagonal(value: object) -> Affine | None:
    """Scale and translation of an N x (N+1) matrix that only scales and shifts; None for another one."""
    rows = [_vector(row) for row in value] if isinstance(value, list) and 0 < len(value) <= MAX_RANK else []
    n = len(rows)
    if not n or any(row is None or len(row) != n + 1 for row in rows):
        return None
    matrix = [row for row in rows if row is not None]
    if any(matrix[i][j] != 0 for i in range(n) for j in range(n) if i != j):
        return None
    return tuple(matrix[i][i] for i in range(n)), tuple(row[n] for row in matrix)


def _vector(value: object) -> tuple[float, ...] | None:
    if not isinstance(value, list) or not 0 < len(value) <= MAX_RANK + 1:
        return None
    numbers = [number(v) for v in value]
    return None if None in numbers else tuple(n for n in numbers if n is not None)


def number(value: object) -> float | None:
    """A JSON number that a float can hold; true and false are not numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        converted = float(value)
    except OverflowError:
        return None
    return converted if math.isfinite(converted) else None


def listed(value: object) -> list[Any]:
    """The value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def text_of(value: object) -> str:
    """The value if it is text, else ""."""
    return value if isinstance(value, str) else ""


# ---------------------------------------------------------------------- omero (spec E.3)
def color(value: object) -> Color | None:
    """(r, g, b) of "RRGGBB", with or without "#"; 3 digits are doubled, of 8 digits the last two
    (opacity) are dropped."""
    if not isinstance(value, str):
        return None
    digits = value.strip().removeprefix("#").removeprefix("0x")
    if len(digits) == 3:
        digits = "".join(d * 2 for d in digits)
    if len(digits) not in (6, 8) or not re.fullmatch("[0-9a-fA-F]+", digits):
        return None
    return int(digits[0:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)


def _omero(value: object, warnings: list[str]) -> tuple[tuple[Channel, ...], Mapping[str, int]]:
    """Channels as the metadata state them (their number may differ from the array's), and default
    indices of t and z."""
    if not isinstance(value, Mapping):
        return (), {}
    channels = []
    stated = value.get("channels")
    for i, item in enumerate(stated if isinstance(stated, list) else ()):
        if not isinstance(item, Mapping):
            warnings.append(f"Channel {i} is not described by an object; defaults are used.")
            item = {}
        rgb = color(item.get("color"))
        if rgb is None and item.get("color") is not None:
            warnings.append(f"The colour of channel {i}, {str(item['color'])[:20]!r}, is not RRGGBB; it is replaced.")
        window = item.get("window")
        limits: Mapping[str, Any] = window if isinstance(window, Mapping) else {}
        channels.append(
            Channel(
                label=text_of(item.get("label")) or f"channel {i}",
                color=rgb,
                window=_pair(limits.get("start"), limits.get("end")),
                range=_pair(limits.get("min"), limits.get("max")),
                active=item.get("active") is not False,
                inverted=item.get("inverted") is True,
            )
        )
    defaults = {}
    rdefs = value.get("rdefs")
    for name, key in (("t", "defaultT"), ("z", "defaultZ")):
        index = rdefs.get(key) if isinstance(rdefs, Mapping) else None
        if isinstance(index, int) and not isinstance(index, bool) and index >= 0:
            defaults[name] = index
    return tuple(channels), defaults


def _pair(low: object, high: object) -> tuple[float, float] | None:
    a, b = number(low), number(high)
    return None if a is None or b is None or not a < b else (a, b)


# ---------------------------------------------------------------------- labels (spec E.4)
def _image_label(
    value: object, path: str, warnings: list[str]
) -> tuple[Mapping[int, tuple[int, int, int, int]] | None, str | None]:
    if not isinstance(value, Mapping):
        return None, None
    colors: dict[int, tuple[int, int, int, int]] = {}
    stated = value.get("colors")
    for item in stated if isinstance(stated, list) else ():
        label = item.get("label-value") if isinstance(item, Mapping) else None
        rgba = item.get("rgba") if isinstance(item, Mapping) else None
        if isinstance(label, float) and label.is_integer():
            label = int(label)
        numbers = _vector(rgba)
        if not isinstance(label, int) or isinstance(label, bool) or numbers is None or len(numbers) not in (3, 4):
            continue
        r, g, b, a = (min(255, max(0, round(v))) for v in (*numbers, 255.0)[:4])
        colors[label] = (r, g, b, a)
    source = value.get("source")
    image = source.get("image") if isinstance(source, Mapping) else None
    target = resolve(path, image if isinstance(image, str) else "../../")
    if target is None:
        warnings.append(f"The image these labels belong to, {str(image)[:60]!r}, lies outside this hierarchy.")
    return colors, target


def _label_properties(value: object) -> Mapping[int, Mapping[str, Any]] | None:
    """The `properties` of `image-label` by label value. Entries that repeat a value are merged."""
    stated = value.get("properties") if isinstance(value, Mapping) else None
    if not isinstance(stated, list):
        return None
    found: dict[int, dict[str, Any]] = {}
    for item in stated:
        label = item.get("label-value") if isinstance(item, Mapping) else None
        if isinstance(label, float) and label.is_integer():
            label = int(label)
        if isinstance(label, int) and not isinstance(label, bool):
            found.setdefault(label, {}).update((k, v) for k, v in item.items() if k != "label-value")
    return found


def label_paths(attributes: Mapping[str, Any], path: str) -> tuple[str, ...]:
    """The label images that the `labels` group at `path` lists."""
    stated = block(attributes)[0].get("labels")
    resolved = [resolve(path, name) for name in stated if isinstance(name, str)] if isinstance(stated, list) else []
    return tuple(dict.fromkeys(p for p in resolved if p is not None and p != path))
