"""Label images: the colour and the properties of each label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zarrscope.jsondoc.document import pointer_of
from zarrscope.ome.edits import Edit, base_of, colour_digits
from zarrscope.ome.metadata import block
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.sections.members import SectionMember, kind_of, mapping_at, member_section
from zarrscope_app.presenters.form.sections.model import MOST_ROWS, Section, Subject, make_field
from zarrscope_app.presenters.form.view_models import FormRow

MOST_PROPERTIES = 6
"""The most properties of one label that are shown side by side."""


def _listed(subject: Subject, name: str) -> list[tuple[int, Mapping[str, Any]]]:
    """(position, object) of each JSON object in the list `name` of the label image's attributes."""
    if not isinstance(subject.attributes, Mapping):
        return []
    label = mapping_at(block(subject.attributes)[0], "image-label")
    items = label.get(name) if label is not None else None
    return [(i, item) for i, item in enumerate(items if isinstance(items, list) else ()) if isinstance(item, Mapping)]


def _colours(subject: Subject) -> list[tuple[int, Any, list[int]]]:
    """(index, label, red, green, blue and opacity) of the valid colours."""
    found = []
    for place, item in _listed(subject, "colors"):
        rgba = item.get("rgba")
        if isinstance(rgba, list) and len(rgba) == 4 and all(type(v) is int and 0 <= v <= 255 for v in rgba):
            found.append((place, item.get("label-value"), rgba))
    return found


def _rows(subject: Subject) -> list[FormRow]:
    return [
        FormRow(
            words.label(value),
            (make_field(f"label/{place}", words.label(value), _hex(rgba), words.COLOUR, editor="colour"),),
            words.opacity(rgba[3]) if rgba[3] != 255 else "",
        )
        for place, value, rgba in _colours(subject)[:MOST_ROWS]
    ]


def _hex(rgba: Sequence[int]) -> str:
    return "".join(f"{part:02X}" for part in rgba[:3])


def _edits(subject: Subject, parts: Sequence[str], text: str) -> list[Edit]:
    digits, place = colour_digits(text), parts[1]
    at = f"{base_of(subject.attributes)}/image-label/colors/{place}/rgba"
    return [Edit(f"{at}/{i}", str(int(digits[2 * i : 2 * i + 2], 16))) for i in range(3)]


def _notes(subject: Subject) -> list[str]:
    more = len(_colours(subject)) - MOST_ROWS
    return [words.more_rows(more)] if more > 0 else []


def _properties(subject: Subject) -> list[SectionMember]:
    found = []
    for place, item in _listed(subject, "properties"):
        at = f"{base_of(subject.attributes)}/image-label/properties/{place}"
        row = words.label(item.get("label-value"))
        plain = [name for name, value in item.items() if name != "label-value" and kind_of(value) is not None]
        found += [SectionMember(row, name, at + pointer_of([name]), item[name]) for name in plain[:MOST_PROPERTIES]]
    return found


LABELS = Section("labels", words.LABELS, _rows, _edits, _notes)
PROPERTIES = member_section("property", words.PROPERTIES, _properties)
