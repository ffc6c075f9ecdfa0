"""Names of values for a person: "pixel size z, level 0" for a number deep within the metadata of an image."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from zarrscope.jsondoc.pointers import BESIDE
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import words

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

NAMES = "/dimension_names"
"""The pointer of the names of an array's dimensions in the documents of Zarr v3."""
_Naming = Callable[[Any, tuple[str, ...]], str]


def name_of(pointer: str, attributes: object) -> str:
    """The name of the value at a pointer within the attributes; "" if it is no known part of OME-Zarr."""
    for pattern, naming in _NAMES:
        match = pattern.fullmatch(pointer)
        if match is not None:
            ome = attributes.get("ome", attributes) if isinstance(attributes, Mapping) else {}
            return strings.clean(naming(ome, match.groups()), 200)
    return ""


def _at(value: JSON, *steps: str) -> JSON:
    """The value that names and positions lead to; None if there is none."""
    for step in steps:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def _axis(ome: JSON, image: str, axis: str) -> tuple[str, str]:
    """(name, type) of an axis; its position if it has no name."""
    found = _at(ome, "multiscales", image, "axes", axis)
    if isinstance(found, str):
        return found, ""
    name = _at(found, "name")
    return (name if isinstance(name, str) and name else f"of axis {axis}"), str(_at(found, "type"))


def _number(ome: JSON, parts: tuple[str, ...]) -> str:
    image, level, member, axis = parts
    if not axis:
        told = words.PIXEL_SIZES if member == "scale" else words.OFFSETS
        return _of_image(words.at_level(told, _path(ome, image, level)), image)
    name, kind = _axis(ome, image, axis)
    size = words.TIME_STEP.lower() if kind == "time" else words.PIXEL_SIZE.lower()
    told = f"{size if member == 'scale' else words.OFFSET} {name}"
    return _of_image(words.at_level(told, _path(ome, image, level)), image)


def _path(ome: JSON, image: str, level: str) -> str:
    """The path of a level, by which everybody calls it; its position if it has none."""
    path = _at(ome, "multiscales", image, "datasets", level, "path")
    return path if isinstance(path, str) else level


def _of_image(told: str, image: str) -> str:
    return told if image == "0" else words.of_further_image(told, int(image))


def _member_of_axis(ome: JSON, parts: tuple[str, ...]) -> str:
    image, axis, member = parts
    name = _axis(ome, image, axis)[0]
    told = {"name": words.axis_name(int(axis)), "type": words.axis_type(name), "unit": words.unit_of(name)}[member]
    return _of_image(told, image)


_CHANNEL: dict[str, Callable[[int], str]] = {
    "color": words.colour_of,
    "label": words.channel_name,
    "active": words.shown,
    "window/start": words.start_of,
    "window/end": words.end_of,
}
_IMAGE = r"(?:/ome)?/multiscales/(\d+)"
_NAMES: tuple[tuple[re.Pattern[str], _Naming], ...] = (
    (
        re.compile(rf"{_IMAGE}/datasets/(\d+)/coordinateTransformations/\d+/(scale|translation)(?:/(\d+))?"),
        lambda ome, parts: _number(ome, tuple(part or "" for part in parts)),
    ),
    (re.compile(rf"{_IMAGE}/axes/(\d+)/(name|type|unit)"), _member_of_axis),
    (re.compile(rf"{_IMAGE}/name"), lambda ome, parts: _of_image(words.NAME, parts[0])),
    (re.compile(rf"{_IMAGE}/metadata/description"), lambda ome, parts: _of_image(words.DESCRIPTION, parts[0])),
    (
        re.compile(r"(?:/ome)?/omero/channels/(\d+)/(color|label|active|window/start|window/end)"),
        lambda ome, parts: _CHANNEL[parts[1]](int(parts[0])),
    ),
    (re.compile(r"(?:/ome)?/plate/name"), lambda ome, parts: words.PLATE_NAME),
    (re.compile(re.escape(BESIDE + NAMES) + r"/(\d+)"), lambda ome, parts: words.name_of_dimension(int(parts[0]))),
    (re.compile(re.escape(BESIDE + NAMES)), lambda ome, parts: words.DIMENSIONS),
)
"""Pattern of pointers → the name of such a value."""
