"""A part of an image, chosen before its layers are made: channels, levels, ranges along axes.

    channels 0, 2    levels 1–    t 0–10, y 100–400

`part_of` parses typed text; `cut` makes the layers of the part. Ranges are in indices of the finest wanted level and
include both ends. With several levels, a range is widened until it begins and ends at an element edge that all levels
share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from math import ceil, lcm
from typing import Any

from zarrscope.errors import Refused
from zarrscope.model.frozen import frozen
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.layers.presenter import Layer

PROMPTS = {
    "channels": ("Channels", "all, or 0, 2"),
    "levels": ("Levels", "all, or 1, or 1–"),
    "ranges": ("Part", "all, or t 0–10, y 100–400"),
}
"""Field → (label, description of the accepted text)."""
CHOOSE = "Only a part…"
EXPLANATION = "Channels, levels and ranges of the image, chosen before it is added."
_RANGE = re.compile(r"\s*(\d+)?\s*(?:[-–:]\s*(\d+)?)?\s*")


@frozen
class LayerPart:
    """The wanted part of an image; an empty LayerPart means the whole image. `levels`: (first, last). `ranges`: axis →
    (first, last) index. A last of None means up to the end."""

    channels: tuple[int, ...] = ()
    levels: tuple[int, int | None] | None = None
    ranges: Mapping[str, tuple[int, int | None]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.channels or self.levels or self.ranges)


def part_of(texts: Mapping[str, str]) -> LayerPart:
    """Parses the texts typed into the fields of PROMPTS; an empty text, or "all", means all. Raises Refused."""
    typed = {name: "" if text.strip().lower() == "all" else text.strip() for name, text in texts.items()}
    channels = tuple(_index(word) for word in re.split(r"[,\s]+", typed.get("channels", "")) if word)
    levels = _range(typed["levels"]) if typed.get("levels") else None
    ranges: dict[str, tuple[int, int | None]] = {}
    for item in filter(None, (item.strip() for item in typed.get("ranges", "").split(","))):
        name, _, rest = item.partition(" ")
        ranges[name] = _range(rest)
    return LayerPart(channels, levels, ranges)


def _index(word: str) -> int:
    if not word.isdecimal():
        raise Refused(f"{strings.clean(word, 40)} is not the number of a channel", advice="Type numbers from 0: 0, 2.")
    return int(word)


def _range(text: str) -> tuple[int, int | None]:
    found = _RANGE.fullmatch(text)
    if found is None or not text.strip() or (found[1] is None and found[2] is None):
        raise Refused(f"{strings.clean(text, 40) or 'nothing'} is not a range", advice="Type two indices: 10–20.")
    first = int(found[1] or 0)
    if found[2] is not None:
        last: int | None = int(found[2])
    else:
        last = None if re.search("[-–:]", text) else first
    if last is not None and last < first:
        raise Refused(f"The range {first}–{last} is empty", advice="Type the smaller index first: 10–20.")
    return first, last


def cut(layers: Sequence[Layer], part: LayerPart) -> list[Layer]:
    """The layers of a part. Raises Refused for a channel, level or axis that does not exist."""
    if not part:
        return list(layers)
    channels = [layer.channel for layer in layers if layer.channel is not None]
    for channel in part.channels:
        if channel not in channels:
            raise Refused(f"There is no channel {channel}", advice=f"The image has {len(channels)}, counted from 0.")
    chosen = [layer for layer in layers if not part.channels or layer.channel is None or layer.channel in part.channels]
    # A layer of points has no `data`, so it stays as it is: it has neither the levels nor the axes of an image.
    return [_cropped(_leveled(layer, part.levels), part.ranges) if layer.data else layer for layer in chosen]


def _leveled(layer: Layer, levels: tuple[int, int | None] | None) -> Layer:
    if levels is None:
        return layer
    first, last = levels
    kept = layer.data[first : None if last is None else last + 1]
    if not kept:
        raise Refused(
            f"There is no level {first}", advice=f"{layer.name} has {strings.counted(len(layer.data), 'level')}."
        )
    scale, translation = layer.places[first]
    return replace(layer, data=kept, scale=scale, translation=translation, places=layer.places[first:])


def _cropped(layer: Layer, ranges: Mapping[str, tuple[int, int | None]]) -> Layer:
    for name in ranges:
        if name not in layer.axis_names:
            known = ", ".join(layer.axis_names)
            raise Refused(f"There is no axis {strings.clean(name, 40)}", advice=f"{layer.name} has {known}.")
    if not ranges:
        return layer
    finest, notes = layer.data[0], []
    data: list[Any] = list(layer.data)
    shift = list(layer.translation)
    for axis, name in enumerate(layer.axis_names):
        if name not in ranges:
            continue
        length = finest.shape[axis]
        first, last = ranges[name]
        if first >= length:
            raise Refused(f"{name} {first} is beyond the end", advice=f"The last index is {length - 1}.")
        stop = length if last is None else min(last + 1, length)
        factors = [max(1, round(length / level.shape[axis])) for level in layer.data]
        edge = lcm(*factors)
        begin, end = first // edge * edge, min(length, ceil(stop / edge) * edge)
        if (begin, end) != (first, stop):
            notes.append(f"{name} {begin}–{end - 1} is shown: all levels have an edge there.")
        for k, factor in enumerate(factors):
            whole = (slice(None),) * axis
            data[k] = data[k][(*whole, slice(begin // factor, max(begin // factor + 1, ceil(end / factor))))]
        shift[axis] += begin * layer.scale[axis]
    return replace(layer, data=tuple(data), translation=tuple(shift), warnings=(*layer.warnings, *notes))
