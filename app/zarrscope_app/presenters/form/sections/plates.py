"""Plates and wells: their names and contents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zarrscope.ome.edits import base_of
from zarrscope.ome.metadata import block
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.sections.members import SectionMember, kind_of, mapping_at, member_section
from zarrscope_app.presenters.form.sections.model import Subject

_SHOWN = ("name", "description", "maximumfieldcount", "starttime", "endtime")


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
    name = plate.get("name", "")
    found = [SectionMember(words.NAME, words.PLATE_NAME, f"{at}/name", name)] if isinstance(name, str) else []
    for place, item in _objects(plate, "acquisitions"):
        row = words.acquisition(item.get("id", place))
        found += [
            SectionMember(row, member, f"{at}/acquisitions/{place}/{member}", item[member])
            for member in _SHOWN
            if kind_of(item.get(member)) is not None
        ]
    return found


def _plate_notes(subject: Subject) -> list[str]:
    plate = mapping_at(_ome(subject), "plate")
    if plate is None:
        return []
    return [words.plate(*(len(_objects(plate, name)) for name in ("rows", "columns", "wells"))), words.WELL_NAMES]


def _well(subject: Subject) -> list[SectionMember]:
    at = f"{base_of(subject.attributes)}/well/images" if isinstance(subject.attributes, Mapping) else ""
    return [
        SectionMember(
            words.field(str(item.get("path", place))),
            words.ACQUISITION,
            f"{at}/{place}/acquisition",
            item["acquisition"],
        )
        for place, item in _objects(mapping_at(_ome(subject), "well"), "images")
        if kind_of(item.get("acquisition")) == "number"
    ]


def _well_notes(subject: Subject) -> list[str]:
    well = mapping_at(_ome(subject), "well")
    return [] if well is None else [words.well(len(_objects(well, "images"))), words.WELL_NAMES]


PLATE = member_section("plate", words.PLATE, _plate, _plate_notes)
WELL = member_section("well", words.WELL, _well, _well_notes)
