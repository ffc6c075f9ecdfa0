"""The table of sections: the possible meanings of metadata, in the order of display."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zarrscope.ome.edits import Edit
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form.sections.conventions import CF, DIMENSIONS, RESOLUTION
from zarrscope_app.presenters.form.sections.fiji import COSEM, IMAGEJ
from zarrscope_app.presenters.form.sections.geo import GEO
from zarrscope_app.presenters.form.sections.image import AXES, CHANNELS, IMAGE
from zarrscope_app.presenters.form.sections.labels import LABELS, PROPERTIES
from zarrscope_app.presenters.form.sections.model import Section, Subject
from zarrscope_app.presenters.form.sections.pixels import PIXELS, TIME_STEP, takes
from zarrscope_app.presenters.form.sections.plates import ACQUISITIONS, PLATE, SERIES, WELL
from zarrscope_app.presenters.form.sections.transformations import TRANSFORMATIONS
from zarrscope_app.presenters.form.view_models import Field, FormSection
from zarrscope_app.presenters.typed_numbers import typed_number

SECTIONS: tuple[Section, ...] = (
    PIXELS, RESOLUTION, IMAGEJ, COSEM, CHANNELS, TIME_STEP, IMAGE, AXES, TRANSFORMATIONS, LABELS, PROPERTIES, PLATE,
    ACQUISITIONS, WELL, SERIES, CF, GEO, DIMENSIONS,
)  # fmt: skip

SIZE = "size/"
"""The beginning of the id of a pixel size."""


def sections_of(subject: Subject) -> tuple[FormSection, ...]:
    """The sections whose schema the attributes follow, with their fields."""
    found = []
    for section in SECTIONS:
        rows, notes = tuple(section.rows(subject)), tuple(section.notes(subject))
        if rows or notes:
            found.append(FormSection(section.id, section.title, rows, notes))
    return tuple(found)


def takes_number(subject: Subject, id: str, text: str) -> bool:
    """Whether a text can be typed into a field for a number; a pixel size may have a unit."""
    return takes(subject, id.split("/"), text) if id.startswith(SIZE) else strings.is_number(typed_number(text))


def edits_of(subject: Subject, id: str, text: str) -> Sequence[Edit]:
    """The edits for a text typed into a field. Raises Refused."""
    parts = id.split("/")
    return next(section for section in SECTIONS if section.owns(parts[0])).edits(subject, parts, text)


def level_notes(subject: Subject) -> list[str]:
    """Sentences that say how the other levels of an image change when the finest one is edited."""
    return [note for section in SECTIONS if section.tells_levels for note in section.notes(subject)]


def meaning_of(sections: Sequence[FormSection]) -> str:
    """The title of the view by meaning, from its sections: "Plate", "CF conventions"; "" for an image."""
    of_images = {section.id for section in SECTIONS if section.of_images}
    return "" if not sections or any(each.id in of_images for each in sections) else sections[0].title


def fields_of(sections: Sequence[FormSection]) -> tuple[Field, ...]:
    """All fields in one list, each beneath its section, for hosts that paint lines."""
    found: list[Field] = []
    for section in sections:
        notes = _together(section.notes)
        found.append(Field(section.id, section.title, "object", "", notes, 0, title=section.title, editor="none"))
        found += [
            replace(field, summary=f"{field.summary}   {row.note}") if row.note and field is row.fields[0] else field
            for row in section.rows
            for field in row.fields
        ]
    return tuple(found)


def _together(notes: Sequence[str]) -> str:
    """Notes one after the other: after a sentence on the same line, after anything else on the next."""
    told = ""
    for note in notes:
        told += (" " if told.endswith(".") else "\n" if told else "") + note
    return told
