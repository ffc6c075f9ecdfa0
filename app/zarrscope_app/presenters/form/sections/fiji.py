"""Sections for attributes that plug-ins of Fiji write: the calibration of ImageJ (n5-ij, "ImageJ" metadata), and the
transform of COSEM (n5-universe, "COSEM" metadata)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.sections.conventions import size_fault
from zarrscope_app.presenters.form.sections.members import SectionMember, kind_of, mapping_at, member_section
from zarrscope_app.presenters.form.sections.model import Subject
from zarrscope_app.presenters.form.view_models import FieldKind

IMAGEJ_TITLE, COSEM_TITLE = "ImageJ", "Transform (COSEM)"
_SIZES = {"x": "pixelWidth", "y": "pixelHeight", "z": "pixelDepth"}
_COUNTS = {"numChannels": "channel", "numSlices": "slice", "numFrames": "frame"}
_LISTS = ("axes", "scale", "translate", "units")
_TIMES = {"frameInterval": "frame interval", "fps": "frames per second"}


def _top(subject: Subject) -> Mapping[str, Any]:
    """The attributes if they hold a calibration of ImageJ; otherwise nothing."""
    top = subject.attributes if isinstance(subject.attributes, Mapping) else {}
    return top if "pixelUnit" in top and kind_of(top.get("pixelWidth")) == "number" else {}


def _calibration(subject: Subject) -> list[SectionMember]:
    top = _top(subject)
    found = []

    def add(row: str, label: str, name: str, kind: FieldKind, **more: Any) -> None:
        if name in top and kind_of(top[name]) == kind:
            found.append(SectionMember(row, label, f"/{name}", top[name], **more))

    add("title", "title", "title", "text")
    for axis, name in _SIZES.items():
        add(axis, words.pixel_size_of(axis), name, "number", check=size_fault)
        add(axis, f"origin {axis} (pixels)", f"{axis}Origin", "number")
    add(words.UNIT, words.UNIT, "pixelUnit", "text", choices=words.N5_UNITS)
    for name, label in _TIMES.items():
        add(label, label, name, "number")
    return found


def _counts(subject: Subject) -> list[str]:
    """The numbers of channels, slices and frames, which follow the shape of the array and are not edited."""
    top = _top(subject)
    told = [strings.counted(top[name], one) for name, one in _COUNTS.items() if isinstance(top.get(name), int)]
    return [f"{', '.join(told)}."] if told else []


def _transform(subject: Subject) -> list[SectionMember]:
    held = mapping_at(subject.attributes, "transform")
    lists: dict[str, Any] = {} if held is None else {name: held.get(name) for name in _LISTS}
    axes = lists.get("axes")
    if not isinstance(axes, list) or any(not isinstance(e, list) or len(e) != len(axes) for e in lists.values()):
        return []
    found = []
    for i, axis in enumerate(axes):
        if not isinstance(axis, str):
            return []
        size, moved, unit = (lists[name][i] for name in ("scale", "translate", "units"))
        if kind_of(size) != "number" or kind_of(moved) != "number" or not isinstance(unit, str):
            return []
        at = "/transform"
        found += [
            SectionMember(axis, words.pixel_size_of(axis), f"{at}/scale/{i}", size, check=size_fault),
            SectionMember(axis, words.offset_of(axis), f"{at}/translate/{i}", moved),
            SectionMember(axis, words.unit_of(axis), f"{at}/units/{i}", unit, choices=words.N5_UNITS),
        ]
    return found


def _transform_notes(subject: Subject) -> list[str]:
    twice = bool(_transform(subject)) and mapping_at(subject.attributes, "pixelResolution") is not None
    return ["pixelResolution states pixel sizes, too, x first: change both."] if twice else []


IMAGEJ = member_section("imagej", IMAGEJ_TITLE, _calibration, _counts)
COSEM = member_section("transform", COSEM_TITLE, _transform, _transform_notes)
