"""A part of an image, chosen before its layers are made: channels, levels, ranges along axes.

    channels 0, 2, CD45    levels 1–    t 0–10, y 100–400

`part_of` parses typed text; `cut` makes the layers of the part. Ranges are in indices of the image's finest level, also
if that level is not wanted, and include both ends. A range is widened until it begins and ends at an element edge that
all wanted levels share.
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
from zarrscope_app.presenters.image.channel_search import matching_channels
from zarrscope_app.presenters.layers.presenter import Layer

PROMPTS = {
    "channels": ("Channels", "all, or 0, 2, or names"),
    "levels": ("Levels", "all, or 1, or 1–"),
    "ranges": ("Part", "all, or t 0–10, y 100–400"),
}
"""Field → (label, description of the accepted text)."""
CHOOSE = "Only a part…"
EXPLANATION = "Channels, levels and ranges of the image, chosen before it is added."
_RANGE = re.compile(r"\s*(\d+)?\s*(?:[-–:]\s*(\d+)?)?\s*")


@frozen
class LayerPart:
    """The wanted part of an image; an empty LayerPart means the whole image. `channels`: numbers, names or parts of
    names. `levels`: (first, last). `ranges`: axis → (first, last) index. A last of None means up to the end."""

    channels: tuple[int | str, ...] = ()
    levels: tuple[int, int | None] | None = None
    ranges: Mapping[str, tuple[int, int | None]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.channels or self.levels or self.ranges)


def part_of(texts: Mapping[str, str]) -> LayerPart:
    """Parses the texts typed into the fields of PROMPTS; an empty text, or "all", means all. Raises Refused."""
    typed = {name: "" if text.strip().lower() == "all" else text.strip() for name, text in texts.items()}
    channels = tuple(channel for item in typed.get("channels", "").split(",") for channel in _channels(item.strip()))
    levels = _range(typed["levels"]) if typed.get("levels") else None
    ranges: dict[str, tuple[int, int | None]] = {}
    for item in filter(None, (item.strip() for item in typed.get("ranges", "").split(","))):
        name, _, rest = item.partition(" ")
        ranges[name] = _range(rest)
    return LayerPart(channels, levels, ranges)


def _channels(item: str) -> tuple[int | str, ...]:
    """The channels of a text between two commas: several numbers, or one name, which may contain blanks."""
    words = item.split()
    return tuple(map(int, words)) if all(map(str.isdecimal, words)) else (item,)


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
    wanted = {number for channel in part.channels for number in _numbers(channel, layers)}
    chosen = [layer for layer in layers if not wanted or layer.channel is None or layer.channel in wanted]
    # A layer of points has no `data`, so it stays as it is: it has neither the levels nor the axes of an image.
    return [
        _cropped(_leveled(layer, part.levels), part.ranges, layer.data[0].shape) if layer.data else layer
        for layer in chosen
    ]


def _numbers(channel: int | str, layers: Sequence[Layer]) -> tuple[int, ...]:
    """The numbers of the channels that a number, a name or a part of a name stands for. A number that no channel has is
    a name, such as the wavelength 488. A whole name stands for its channel alone. Raises Refused if there is none."""
    names = {layer.channel: layer.channel_name for layer in layers if layer.channel is not None}
    if isinstance(channel, int) and channel in names:
        return (channel,)
    text, numbers = str(channel), [*names]
    found = tuple(numbers[place] for place in matching_channels([*names.values()], text))
    found = tuple(number for number in found if names[number].lower() == text.lower()) or found
    if not found:
        some = strings.clean(", ".join(filter(None, names.values())), 200)
        raise Refused(
            f"There is no channel {strings.clean(text, 40)}",
            advice=f"The image has {len(names)}, counted from 0{f': {some}' if some else ''}.",
        )
    return found


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


def _cropped(layer: Layer, ranges: Mapping[str, tuple[int, int | None]], shape: Sequence[int]) -> Layer:
    """A part of a layer whose finest level in the file has this shape."""
    for name in ranges:
        if name not in layer.axis_names:
            known = ", ".join(layer.axis_names)
            raise Refused(f"There is no axis {strings.clean(name, 40)}", advice=f"{layer.name} has {known}.")
    if not ranges:
        return layer
    notes = []
    data: list[Any] = list(layer.data)
    shift = list(layer.translation)
    for axis, name in enumerate(layer.axis_names):
        if name not in ranges:
            continue
        length = shape[axis]
        first, last = ranges[name]
        if first >= length:
            raise Refused(f"{name} {first} is beyond the end", advice=f"The last index is {length - 1}.")
        stop = length if last is None else min(last + 1, length)
        factors = [max(1, round(length / level.shape[axis])) for level in layer.data]
        edge = lcm(*factors)
        begin, end = first // edge * edge, min(length, ceil(stop / edge) * edge)
        if (begin, end) != (first, stop):
            notes.append(f"{name} {begin}–{end - 1} is shown: all added levels have an edge there.")
        for k, factor in enumerate(factors):
            whole = (slice(None),) * axis
            data[k] = data[k][(*whole, slice(begin // factor, max(begin // factor + 1, ceil(end / factor))))]
        shift[axis] += begin // factors[0] * layer.scale[axis]
    return replace(layer, data=tuple(data), translation=tuple(shift), warnings=(*layer.warnings, *notes))
