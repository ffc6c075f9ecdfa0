"""Collections of images: plates and wells, their names and contents; series, which say only where to edit images."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from zarrscope.ome.collection import role
from zarrscope.ome.edits import base_of
from zarrscope.ome.metadata import block
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.sections.members import SectionMember, kind_of, mapping_at, member_section
from zarrscope_app.presenters.form.sections.model import Subject
from zarrscope_app.presenters.form.view_models import FieldKind

_Check = Callable[[str], str]


def _takes_all(text: str) -> str:
    return ""


def _whole(text: str) -> str:
    return "" if re.fullmatch(r"0|[1-9][0-9]*", text.strip()) else words.WHOLE_NUMBER


def _count(text: str) -> str:
    return "" if re.fullmatch(r"[1-9][0-9]*", text.strip()) else words.WHOLE_COUNT


def _time(text: str) -> str:
    return "" if re.fullmatch(r"-?(0|[1-9][0-9]*)", text.strip()) else words.NO_TIME


_SHOWN: tuple[tuple[str, FieldKind, _Check], ...] = (
    ("name", "text", _takes_all),
    ("description", "text", _takes_all),
    ("maximumfieldcount", "number", _count),
    ("starttime", "number", _time),
    ("endtime", "number", _time),
)
"""The members of an acquisition: name, kind, check of a typed text."""
_TIMES = ("starttime", "endtime")


def _ome(subject: Subject) -> Mapping[str, Any]:
    return block(subject.attributes)[0] if isinstance(subject.attributes, Mapping) else {}


def _objects(owner: Mapping[str, Any] | None, name: str) -> list[tuple[int, Mapping[str, Any]]]:
    held = owner.get(name) if owner is not None else None
    return [(i, item) for i, item in enumerate(held if isinstance(held, list) else ()) if isinstance(item, Mapping)]


def _plate(subject: Subject) -> list[SectionMember]:
    plate = mapping_at(_ome(subject), "plate")
    if plate is None:
        return []
    at = f"{base_of(subject.attributes)}/plate"
    found = []
    if _is_text(plate.get("name")):
        found.append(SectionMember(words.NAME, words.PLATE_NAME, f"{at}/name", plate.get("name")))
    if _is_number(plate.get("field_count")):
        label, held = words.FIELD_COUNT, plate.get("field_count")
        found.append(SectionMember(label, label, f"{at}/field_count", held, check=_count, kind="number"))
    return found


def _acquisitions(subject: Subject) -> list[SectionMember]:
    """The members of all acquisitions; those that are missing are empty, and can be filled."""
    at = f"{base_of(subject.attributes)}/plate/acquisitions" if isinstance(subject.attributes, Mapping) else ""
    found = []
    for place, item in _objects(mapping_at(_ome(subject), "plate"), "acquisitions"):
        row = words.acquisition(item.get("id", place))
        for name, kind, check in _SHOWN:
            held = item.get(name)
            if held is not None and kind_of(held) is None:
                continue  # a list or an object: see All fields
            is_time = name in _TIMES and _is_number(held)
            if held is not None and kind_of(held) != kind:
                check = _takes_all
            label, pointer = words.part_of(row, name), f"{at}/{place}/{name}"
            found.append(SectionMember(row, label, pointer, held, check=check, kind=kind, is_time=is_time, title=name))
    return found


def _is_text(held: object) -> bool:
    return held is None or isinstance(held, str)


def _is_number(held: object) -> bool:
    return held is None or kind_of(held) == "number"


def _plate_notes(subject: Subject) -> list[str]:
    plate = mapping_at(_ome(subject), "plate")
    if plate is None:
        return []
    counted = words.plate(*(len(_objects(plate, name)) for name in ("rows", "columns", "wells")))
    return [counted, words.WELL_NAMES, words.OF_EACH_IMAGE]


def _well(subject: Subject) -> list[SectionMember]:
    at = f"{base_of(subject.attributes)}/well/images" if isinstance(subject.attributes, Mapping) else ""
    found = []
    for place, item in _objects(mapping_at(_ome(subject), "well"), "images"):
        row, held = words.field(str(item.get("path", place))), item.get("acquisition")
        if _is_number(held):
            label, pointer = words.part_of(row, words.ACQUISITION), f"{at}/{place}/acquisition"
            found.append(SectionMember(row, label, pointer, held, check=_whole, kind="number", title=words.ACQUISITION))
    return found


def _well_notes(subject: Subject) -> list[str]:
    well = mapping_at(_ome(subject), "well")
    return [] if well is None else [words.well(len(_objects(well, "images"))), words.WELL_NAMES, words.OF_EACH_IMAGE]


def _series_notes(subject: Subject) -> list[str]:
    """A series has nothing of its own to edit by meaning: people look there for what its images state."""
    is_series = isinstance(subject.attributes, Mapping) and role(subject.attributes) == "series"
    return [words.OF_EACH_IMAGE] if is_series else []


ACQUISITIONS = member_section("acquisition", words.ACQUISITIONS, _acquisitions)
PLATE = member_section("plate", words.PLATE, _plate, _plate_notes)
WELL = member_section("well", words.WELL, _well, _well_notes)
SERIES = member_section("series", words.SERIES, lambda subject: [], _series_notes)
