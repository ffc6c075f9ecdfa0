"""Violations of the rules of OME-Zarr, and the checks of JSON values that the rules of all versions share."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeGuard

Strength = Literal["must", "should"]


STATED = {
    "name": "the name",
    "type": "the type of downscaling",
    "metadata": "the metadata of downscaling",
    "maximumfieldcount": "the largest number of fields (maximumfieldcount)",
}
"""Members that should be there, in words."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule of OME-Zarr that attributes break: `pointer` (RFC 6901) into the attributes, a sentence, and whether the
    rule is a MUST or a SHOULD. `advice`: a sentence about the correction.
    """

    pointer: str
    message: str
    strength: Strength
    advice: str

    def beneath(self, pointer: str) -> Violation:
        """The same violation in attributes that are at `pointer` of a larger value."""
        return replace(self, pointer=pointer + self.pointer)


class Rules:
    """Collects the violations in one object that holds OME keys."""

    def __init__(self, ome: Mapping[str, Any]) -> None:
        self.ome = ome
        self.found: list[Violation] = []

    def must(self, pointer: str, message: str, advice: str) -> None:
        """Adds a violation of a MUST."""
        self.found.append(Violation(pointer, message, "must", advice))

    def should(self, pointer: str, message: str, advice: str) -> None:
        """Adds a violation of a SHOULD."""
        self.found.append(Violation(pointer, message, "should", advice))

    # ------------------------------------------------------------------ shapes of JSON
    def objects(self, owner: Mapping[str, Any], name: str, at: str, *, needed: bool = True) -> list[Mapping[str, Any]]:
        """The objects in the list `name` of `owner`; other items are violations, and so is an empty list."""
        if name not in owner and not needed:
            return []
        value = owner.get(name)
        if not isinstance(value, list) or not value:
            advice = f"Write {name!r} as a list, in brackets, or add the entries that it lacks."
            self.must(f"{at}/{name}", f"{name} must be a list with at least one entry", advice)
            return []
        for i, item in enumerate(value):
            if not isinstance(item, Mapping):
                advice = "Write the entry as an object, in braces, or remove it."
                self.must(f"{at}/{name}/{i}", f"an entry of {name} must be an object", advice)
        return [item if isinstance(item, Mapping) else {} for item in value]

    def whole(self, owner: Mapping[str, Any], name: str, at: str, *, needed: bool = False, low: int = 0) -> None:
        """Checks that the member `name` of `owner` is a whole number of at least `low`."""
        if name not in owner:
            if needed:
                self.must(f"{at}/{name}", f"{name} is missing", f"Add {name!r}, a whole number.")
            return
        value = owner[name]
        if type(value) is not int or value < low:
            advice = "Write it in digits, without quotes and without a decimal point."
            self.must(f"{at}/{name}", f"{name} must be a whole number, {low} or more", advice)

    def text(self, owner: Mapping[str, Any], name: str, at: str, *, needed: bool = False) -> str | None:
        """The text of the member `name` of `owner`; None, and a violation, if it is something else."""
        value = owner.get(name)
        if value is None and not needed and name not in owner:
            return None
        if not isinstance(value, str):
            advice = f"Write {name!r} as text, in quotes." if name in owner else f"Add {name!r}."
            self.must(f"{at}/{name}", f"{name} must be text", advice)
            return None
        return value

    def unique(self, values: Sequence[Any], at: str, what: str) -> None:
        """Checks that no value is there twice."""
        seen = [value if isinstance(value, Hashable) else repr(value) for value in values if value is not None]
        if len(set(seen)) != len(seen):
            self.must(
                at, f"every {what} must be there once only", "Rename or remove the entries that repeat another one."
            )

    # ------------------------------------------------------------------ rules of all versions
    def layout(self) -> None:
        """Checks the layout of a series of images, which bioformats2raw writes."""
        if self.ome["bioformats2raw.layout"] != 3:
            self.must("/bioformats2raw.layout", "the layout must be 3", "Write 3, the only layout that there is.")

    def labels(self) -> None:
        """Checks the list of the label images of an image."""
        value = self.ome["labels"]
        if not isinstance(value, list) or not all(isinstance(path, str) for path in value):
            self.must(
                "/labels", "labels must be a list of paths", 'List the paths of the label images, such as ["cells"].'
            )

    def channel(self, channel: Mapping[str, Any], at: str, color: Strength) -> None:
        """Checks how a channel is displayed. `color`: the strength of the rule for the form of its color."""
        stated = self.text(channel, "color", at, needed=True)
        if stated is not None and not re.fullmatch(r"[0-9A-Fa-f]{6}", stated):
            say = self.must if color == "must" else self.should
            advice = "Write red, green and blue like 00FF00, without a #."
            say(f"{at}/color", "a color is six hexadecimal digits", advice)
        window = channel.get("window")
        ends = [window.get(name) for name in ("min", "max", "start", "end")] if isinstance(window, Mapping) else None
        if ends is None or not are_numbers(ends):
            advice = "Write all four: min and max as the range of the values, start and end as the contrast."
            self.must(f"{at}/window", "a window has the numbers min, max, start and end", advice)

    def source(self, label: Mapping[str, Any]) -> None:
        """Checks the path from a label image to its image."""
        source = label.get("source", {})
        if not isinstance(source, Mapping) or not isinstance(source.get("image", ""), str):
            advice = 'Write the path of the image, such as {"image": "../../"}.'
            self.must("/image-label/source", "source must be an object whose image is a path", advice)

    def label_value(self, item: Mapping[str, Any], at: str) -> None:
        """Checks an entry about one label value: its number, and its color."""
        value = item.get("label-value")
        if type(value) is not int and not (isinstance(value, float) and value.is_integer()):
            advice = "Write the value that the label's pixels have."
            self.must(f"{at}/label-value", "label-value must be a whole number", advice)
        rgba = item.get("rgba")
        if "rgba" in item and not (are_numbers(rgba) and len(rgba) == 4 and all(_is_octet(n) for n in rgba)):
            advice = "Write red, green, blue and opacity, such as [255, 0, 0, 255]."
            self.must(f"{at}/rgba", "rgba must be four whole numbers, 0 to 255", advice)


def are_numbers(value: object) -> TypeGuard[list[float]]:
    """Whether a value is a list of numbers."""
    return isinstance(value, list) and all(isinstance(n, (int, float)) and not isinstance(n, bool) for n in value)


def _is_octet(value: object) -> bool:
    """Whether a value is a whole number from 0 to 255."""
    return type(value) is int and 0 <= value <= 255


def stated_version(ome: Mapping[str, Any], known: Sequence[str]) -> str | None:
    """The first of the `known` versions of OME-Zarr that a part of the metadata states; None if there is none."""
    for name in ("multiscales", "plate", "well", "image-label", "omero"):
        held = ome.get(name)
        held = held[0] if isinstance(held, list) and held else held
        if isinstance(held, Mapping) and held.get("version") in known:
            return str(held["version"])
    return None
