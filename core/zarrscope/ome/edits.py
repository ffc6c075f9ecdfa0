"""Edits that repair OME-Zarr metadata: names, axes, units and channels. Pure: they take attributes and return edits by
JSON pointer.

Specification: spec E; https://ngff.openmicroscopy.org. Pixel sizes, which concern every level at once, are in
`pixel_size`. Nothing is written here: the edits are applied to the document that holds the attributes.

    for edit in set_name(group.attributes, 0, "nuclei"):
        print(edit.pointer, edit.text)        # /ome/multiscales/0/name "nuclei"
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zarrscope.errors import Refused
from zarrscope.ome.metadata import Channel, block, color, number
from zarrscope.ome.units import unit_name

NEW_COLOURS = ("00FFFF", "FF00FF", "FFFF00", "00FF00", "FF0000", "0000FF")
"""Colours for channels that state none."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One change. `pointer` (RFC 6901) is relative to the attributes; `text` is the JSON text of the new value."""

    pointer: str
    text: str
    fresh: bool = False
    """Whether an object or list is formatted like its neighbours, not as in `text`."""


def edit(pointer: str, value: object) -> Edit:
    """Makes an edit that puts a value at a pointer."""
    return Edit(pointer, json.dumps(value, ensure_ascii=False), isinstance(value, dict | list))


def base_of(attributes: Mapping[str, Any]) -> str:
    """The pointer to the object with the OME keys: "/ome" since 0.5, "" before."""
    return "/ome" if block(attributes)[0] is not attributes else ""


def multiscale(attributes: Mapping[str, Any], index: int = 0) -> Mapping[str, Any]:
    """An entry of `multiscales`. Raises Refused if there is no such entry."""
    entries = block(attributes)[0].get("multiscales")
    entry = entries[index] if isinstance(entries, list) and index < len(entries) else None
    if not isinstance(entry, Mapping):
        raise Refused(
            "This group states no image: it has no multiscales",
            pointer=f"{base_of(attributes)}/multiscales",
            advice="Name the group of an image, such as the one that zarrscope tree shows with levels.",
        )
    return entry


def set_name(attributes: Mapping[str, Any], index: int, name: str) -> list[Edit]:
    """Makes the edit that gives the image another name."""
    multiscale(attributes, index)
    return [edit(f"{base_of(attributes)}/multiscales/{index}/name", name)]


def set_description(attributes: Mapping[str, Any], index: int, description: str) -> list[Edit]:
    """Makes the edit that describes the image in its `metadata`: OME-Zarr has no other place for it, and its example
    has the member `description` there. Raises Refused if `metadata` is no object."""
    held, at = multiscale(attributes, index).get("metadata"), f"{base_of(attributes)}/multiscales/{index}/metadata"
    if held is not None and not isinstance(held, Mapping):
        raise Refused("The metadata of this image are no object", pointer=at)
    if held is None:
        return [edit(at, {"description": description})]
    return [edit(f"{at}/description", description)]


# ---------------------------------------------------------------------- axes
def axes_at(attributes: Mapping[str, Any], index: int = 0) -> tuple[str, Sequence[Any]]:
    """(pointer of the list of axes that belongs to the levels, that list); in 0.6 of the intrinsic coordinate system.

    An empty list where the entry states none.
    """
    entry, at = multiscale(attributes, index), f"{base_of(attributes)}/multiscales/{index}"
    systems = entry.get("coordinateSystems")
    if isinstance(systems, list) and systems:
        place = _intrinsic(entry, systems)
        held = systems[place].get("axes") if isinstance(systems[place], Mapping) else None
        return f"{at}/coordinateSystems/{place}/axes", held if isinstance(held, list) else ()
    held = entry.get("axes")
    return f"{at}/axes", held if isinstance(held, list) else ()


def _intrinsic(entry: Mapping[str, Any], systems: Sequence[Any]) -> int:
    """The index of the coordinate system that the levels are mapped to; the first where they name none."""
    names = [system.get("name") if isinstance(system, Mapping) else None for system in systems]
    datasets = entry.get("datasets")
    for dataset in datasets if isinstance(datasets, list) else ():
        steps = dataset.get("coordinateTransformations") if isinstance(dataset, Mapping) else None
        step = steps[0] if isinstance(steps, list) and steps else steps
        output = step.get("output") if isinstance(step, Mapping) else None
        name = output.get("name") if isinstance(output, Mapping) else output
        if name in names:
            return names.index(name)
    return 0


def set_axis(
    attributes: Mapping[str, Any],
    index: int,
    axis: int,
    *,
    name: str | None = None,
    type: str | None = None,
    unit: str | None = None,
) -> list[Edit]:
    """Changes name, type or unit of one axis. `unit` may be a symbol ("um", "µm"); "" removes the unit.

    Raises Refused if axes are not objects (before 0.4), and for a name that another axis has.
    """
    pointer, axes = axes_at(attributes, index)
    held = axes[axis] if axis < len(axes) else None
    if not isinstance(held, Mapping):
        raise Refused(
            "The axes of this image are not objects, so they have no type and no unit",
            pointer=pointer,
            advice="State a pixel size: that makes the image one of OME-Zarr 0.4, whose axes have units.",
        )
    if name is not None and any(
        isinstance(other, Mapping) and other.get("name") == name for i, other in enumerate(axes) if i != axis
    ):
        raise Refused(f"Another axis is called {name!r}", pointer=f"{pointer}/{axis}/name")
    kind = type if type is not None else held.get("type")
    spelled = None if unit is None else unit_name(unit, kind if isinstance(kind, str) else "")
    given = {"name": name, "type": type, "unit": spelled}
    return [edit(f"{pointer}/{axis}/{member}", value) for member, value in given.items() if value is not None]


# ---------------------------------------------------------------------- channels
@dataclass(frozen=True, slots=True)
class ChannelEdit:
    """The changes to a channel (omero). None: no change. `window` is (start, end) as typed."""

    label: str | None = None
    color: str | None = None
    window: tuple[str, str] | None = None
    active: bool | None = None


def set_channel(
    attributes: Mapping[str, Any],
    channel: int,
    change: ChannelEdit,
    count: int | None = None,
    limits: tuple[float, float] | None = None,
    shown: Callable[[], Sequence[Channel]] = tuple,
) -> list[Edit]:
    """Changes label, colour, window and visibility of one channel.

    OME-Zarr requires that the metadata state all channels or none, each with a colour and a window. If they lack one,
    it is added as the picture shows it. A new colour also turns the `model` of `rdefs` from "greyscale" into "color".

    Parameters
    ----------
    attributes
        The attributes of the image's group.
    channel
        Its index along the channel axis.
    change
        The changes; the colour as "RRGGBB" or "RGB", with or without "#".
    count
        The number of channels of the image. Needed if the metadata list none, or fewer.
    limits
        The range of the data type, for the ends of a window that is new.
    shown
        Returns the channels as the picture shows them, with their windows; called only if the metadata lack a channel.
        A channel that it does not return gets one of NEW_COLOURS and a window over the whole range.

    Raises
    ------
    Refused
        There is no such channel; the colour is not valid; the window is empty.
    """
    ome, at = block(attributes)[0], f"{base_of(attributes)}/omero"
    omero = ome.get("omero")
    stated = omero.get("channels") if isinstance(omero, Mapping) else None
    listed: Sequence[Any] = stated if isinstance(stated, list) else ()
    total = max(len(listed), count or 0)
    if not 0 <= channel < total:
        raise Refused(f"There is no channel {channel}: the image has {total}", pointer=f"{at}/channels/{channel}")
    members = _members(change)
    if channel < len(listed) and isinstance(listed[channel], Mapping):
        found = _changed(listed[channel], f"{at}/channels/{channel}", members, change, limits)
    else:
        found = _added(omero, listed, at, total, channel, members, change, limits, shown())
    return [*found, *(_in_colour(omero, at) if "color" in members else ())]


def _in_colour(omero: object, at: str) -> list[Edit]:
    """The edit that turns an image from greyscale into colour: other readers paint its channels white otherwise."""
    rdefs = omero.get("rdefs") if isinstance(omero, Mapping) else None
    is_grey = isinstance(rdefs, Mapping) and rdefs.get("model") == "greyscale"
    return [edit(f"{at}/rdefs/model", "color")] if is_grey else []


def _members(change: ChannelEdit) -> dict[str, Any]:
    """The new members of a channel, without its window."""
    found: dict[str, Any] = {}
    if change.label is not None:
        found["label"] = change.label
    if change.color is not None:
        found["color"] = colour_digits(change.color)
    if change.active is not None:
        found["active"] = change.active
    return found


def colour_digits(text: str) -> str:
    """The six digits of a colour: "#00f" → "0000FF". Six digits stay as typed. Raises Refused."""
    rgb = color(text)
    if rgb is None or len(text.strip().removeprefix("#").removeprefix("0x")) == 8:
        raise Refused(f"{text!r} is not a colour", advice="Use six hexadecimal digits: 00FF7F.")
    typed = text.strip()
    return typed if re.fullmatch("[0-9A-Fa-f]{6}", typed) else "".join(f"{part:02X}" for part in rgb)


def _changed(
    held: Mapping[str, Any],
    at: str,
    members: Mapping[str, Any],
    change: ChannelEdit,
    limits: tuple[float, float] | None,
) -> list[Edit]:
    found = [edit(f"{at}/{member}", value) for member, value in members.items()]
    if change.window is None:
        return found
    window = held.get("window")
    ends = _window(change.window, window if isinstance(window, Mapping) else {}, limits)
    if not isinstance(window, Mapping):
        return [*found, edit(f"{at}/window", {name: json.loads(text) for name, text in ends.items()})]
    return [*found, *(Edit(f"{at}/window/{name}", text) for name, text in ends.items())]


def _window(typed: tuple[str, str], held: Mapping[str, Any], limits: tuple[float, float] | None) -> dict[str, str]:
    """The members of a channel's `omero` window that change, as JSON text: `start` and `end` as typed, and `min` and
    `max` if they must be widened to contain them."""
    start, end = (_finite(text) for text in typed)
    if not start < end:
        raise Refused(f"The window {typed[0]} to {typed[1]} is empty", advice="Its start is less than its end.")
    found = {"start": typed[0].strip(), "end": typed[1].strip()}
    low, high = number(held.get("min")), number(held.get("max"))
    least, most = limits if limits is not None else (start, end)
    if low is None or low > start:
        found["min"] = found["start"] if low is not None or least > start else _spelled(least)
    if high is None or high < end:
        found["max"] = found["end"] if high is not None or most < end else _spelled(most)
    return found


def _finite(text: str) -> float:
    try:
        value = number(json.loads(text))
    except ValueError:
        value = None
    if value is None:
        raise Refused(f"{text!r} is not a number", advice="Use a point, no separators: 0.108 or 1e-3.")
    return value


def _spelled(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))


def _added(
    omero: object,
    listed: Sequence[Any],
    at: str,
    total: int,
    channel: int,
    members: Mapping[str, Any],
    change: ChannelEdit,
    limits: tuple[float, float] | None,
    shown: Sequence[Channel],
) -> list[Edit]:
    """Adds a channel and the others that the list lacks, because readers identify channels by position."""
    kept = [item if isinstance(item, Mapping) else None for item in listed] + [None] * (total - len(listed))
    made = [_new_channel(i, limits, shown) if item is None else item for i, item in enumerate(kept)]
    new = {**made[channel], **members}
    if change.window is not None:
        texts = _window(change.window, new.get("window", {}), limits)
        new["window"] = {**new.get("window", {}), **{name: json.loads(text) for name, text in texts.items()}}
    made[channel] = new
    if not isinstance(omero, Mapping):
        return [edit(at, {"channels": made})]
    return [edit(f"{at}/channels", made)]


def _new_channel(place: int, limits: tuple[float, float] | None, shown: Sequence[Channel]) -> dict[str, Any]:
    seen = shown[place] if place < len(shown) else Channel("")
    rgb = seen.color
    return {
        "label": f"channel {place}",
        "color": NEW_COLOURS[place % len(NEW_COLOURS)] if rgb is None else "".join(f"{part:02X}" for part in rgb),
        "window": new_window(seen, limits),
        "active": seen.active,
    }


def new_window(seen: Channel, limits: tuple[float, float] | None) -> dict[str, int | float]:
    """The members of a channel's new `omero` window. `limits`: the range of the data type, for integers only; the ends
    of their window are whole numbers."""
    window, reach = seen.window, limits or seen.range or seen.window or (0.0, 1.0)
    start, end = reach if window is None or not window[0] < window[1] else window
    if limits is not None:
        start, end = float(math.floor(start)), float(math.ceil(end))
    ends = {"min": min(start, reach[0]), "start": start, "end": end, "max": max(end, reach[1])}
    return {name: int(value) if value == int(value) else value for name, value in ends.items()}
