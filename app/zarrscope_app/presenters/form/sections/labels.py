"""Label images: the colour and the properties of each label."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zarrscope.errors import Refused
from zarrscope.jsondoc.pointers import pointer_of
from zarrscope.ome.edits import Edit, base_of, colour_digits, edit
from zarrscope.ome.metadata import block
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.sections.members import SectionMember, kind_of, mapping_at, member_section
from zarrscope_app.presenters.form.sections.model import MOST_ROWS, Section, Subject, make_field
from zarrscope_app.presenters.form.view_models import FormRow

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

MOST_PROPERTIES = 6
"""The most properties of one label that are shown side by side."""
NEW = "new"
"""The last part of the id of the field that adds an entry."""
_PROPERTY = re.compile(r"\s*([^:=]*?)\s*:\s*([^=]*?)\s*=\s*(.*?)\s*", re.DOTALL)


def _is_label_image(subject: Subject) -> bool:
    attributes = subject.attributes
    return isinstance(attributes, Mapping) and mapping_at(block(attributes)[0], "image-label") is not None


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
    if not _is_label_image(subject):
        return []
    rows = [
        FormRow(
            words.label(value),
            (make_field(f"label/{place}", words.label(value), _hex(rgba), words.COLOUR, editor="colour"),),
            words.opacity(rgba[3]) if rgba[3] != 255 else "",
        )
        for place, value, rgba in _colours(subject)[:MOST_ROWS]
    ]
    return [*rows, _adding("label", words.NEW_COLOUR, words.NEW_COLOUR_HINT)]


def _adding(section: str, title: str, hint: str) -> FormRow:
    """The row whose field adds an entry to a list; the field is empty again afterwards."""
    return FormRow(words.ADD, (make_field(f"{section}/{NEW}", title, "", title),), hint)


def _hex(rgba: Sequence[int]) -> str:
    return "".join(f"{part:02X}" for part in rgba[:3])


def _edits(subject: Subject, parts: Sequence[str], text: str) -> list[Edit]:
    if parts[1] == NEW:
        return _new_colour(subject, text)
    digits, place = colour_digits(text), parts[1]
    at = f"{base_of(subject.attributes)}/image-label/colors/{place}/rgba"
    return [Edit(f"{at}/{i}", str(int(digits[2 * i : 2 * i + 2], 16))) for i in range(3)]


def _new_colour(subject: Subject, text: str) -> list[Edit]:
    """Adds the colour that the picture gives to a label."""
    if not text.strip():
        return []
    value = _label_value(subject, text)
    if any(item.get("label-value") == value for _, item in _listed(subject, "colors")):
        raise Refused(words.has_colour(value))
    return _appended(subject, "colors", {"label-value": value, "rgba": _shown_colour(value)})


def _shown_colour(value: int) -> list[int]:
    """The colour of a label in the picture while the file states none; label 0 is transparent."""
    import numpy as np

    from zarrscope.view.render import label_colors

    fitting = next((kind for kind in (np.uint16, np.int64, np.uint64) if _fits(value, np.iinfo(kind))), None)
    if fitting is None:
        raise Refused(words.no_label(str(value)))
    return [int(part) for part in label_colors(np.array([[value]], fitting))[0, 0]]


def _fits(value: int, limits: JSON) -> bool:
    return bool(limits.min <= value <= limits.max)


def _label_value(subject: Subject, text: str) -> int:
    """The label that a person typed. Raises Refused if the values of the image cannot be this label."""
    bare = text.strip().removeprefix("label").strip()
    limits = subject.facts.limits
    if not re.fullmatch(r"-?\d{1,20}", bare) or (limits is not None and not limits[0] <= int(bare) <= limits[1]):
        raise Refused(words.no_label(text))
    return int(bare)


def _appended(subject: Subject, name: str, item: Mapping[str, Any]) -> list[Edit]:
    """Adds an item to a list of the label image, or makes the list."""
    at = f"{base_of(subject.attributes)}/image-label"
    held = block(subject.attributes)[0]["image-label"].get(name)
    return [edit(f"{at}/{name}/-", item) if isinstance(held, list) else edit(f"{at}/{name}", [item])]


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


def _new_property(subject: Subject, text: str) -> list[Edit]:
    """Adds a property to a label: "5: area=12.5"; changes it if the label has it."""
    if not text.strip():
        return []
    match = _PROPERTY.fullmatch(text)
    name = match[2] if match else ""
    if match is None or not name or name == "label-value":
        raise Refused(words.not_understood(text, words.EXAMPLE_PROPERTY))
    label, value = _label_value(subject, match[1]), _typed_value(match[3])
    for place, item in _listed(subject, "properties"):
        if item.get("label-value") == label:
            at = f"{base_of(subject.attributes)}/image-label/properties/{place}"
            return [Edit(at + pointer_of([name]), value)]
    return _appended(subject, "properties", {"label-value": label, name: json.loads(value)})


def _typed_value(text: str) -> str:
    """JSON text of a number, a boolean or a text as a person types it."""
    try:
        plain = kind_of(json.loads(text)) is not None
    except ValueError:
        plain = False
    return text if plain else json.dumps(text, ensure_ascii=False)


def _property_rows(subject: Subject) -> list[FormRow]:
    if not _is_label_image(subject):
        return []
    return [*_MEMBERS.rows(subject), _adding("property", words.NEW_PROPERTY, words.NEW_PROPERTY_HINT)]


def _property_edits(subject: Subject, parts: Sequence[str], text: str) -> Sequence[Edit]:
    return _new_property(subject, text) if parts[1] == NEW else _MEMBERS.edits(subject, parts, text)


LABELS = Section("labels", words.LABELS, _rows, _edits, _notes, first_parts=("label",), of_images=True)
_MEMBERS = member_section("property", words.PROPERTIES, _properties)
PROPERTIES = replace(_MEMBERS, rows=_property_rows, edits=_property_edits, of_images=True)
