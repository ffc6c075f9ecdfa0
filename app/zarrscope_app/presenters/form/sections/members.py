"""Sections whose fields are plain members of the attributes: each field changes its own member."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zarrscope.errors import Refused
from zarrscope.model.frozen import frozen
from zarrscope.ome.edits import Edit, edit
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.field_editors import Editor
from zarrscope_app.presenters.form.sections.model import MOST_ROWS, Section, Subject, make_field
from zarrscope_app.presenters.form.view_models import Field, FieldKind, FormRow
from zarrscope_app.presenters.typed_times import time_text, typed_time

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

Notes = Callable[[Subject], Sequence[str]]


@frozen
class SectionMember:
    """A text, number or boolean at a pointer within the attributes. Members of one `row` are shown side by side.
    `value` is None for a member that is missing, and is added by typing."""

    row: str
    label: str
    pointer: str
    value: JSON
    choices: tuple[str, ...] = ()
    check: Callable[[str], str] = lambda text: ""
    """The reason why a text is refused; "" if it is accepted."""
    kind: FieldKind = "text"
    """The kind of a member that is missing."""
    is_time: bool = False
    """Whether a number is a time, which is shown and typed as a date."""
    title: str = ""
    """The heading of the column; the label if it is ""."""
    edits: Callable[[str], Sequence[Edit]] | None = None
    """The edits for a typed text, if they are more than a new value at the pointer."""


def kind_of(value: object) -> FieldKind | None:
    """The kind of a value that a single field can hold; None for lists and objects."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "text"
    return "number" if isinstance(value, int | float) else None


def member_section(
    id: str, title: str, listed: Callable[[Subject], Sequence[SectionMember]], notes: Notes = lambda subject: ()
) -> Section:
    """A section of the members that `listed` returns; it is left out if there are none."""

    def rows(subject: Subject) -> list[FormRow]:
        found: dict[str, list[Any]] = {}
        for place, member in enumerate(listed(subject)):
            if len(found) >= MOST_ROWS and member.row not in found:
                break
            found.setdefault(member.row, []).append(_field(f"{id}/{place}", member))
        return [FormRow(strings.clean(label, 60), tuple(fields)) for label, fields in found.items()]

    def edits(subject: Subject, parts: Sequence[str], text: str) -> list[Edit]:
        member = listed(subject)[int(parts[1])]
        if member.edits is not None:
            return [*member.edits(text)]
        kind = member.kind if member.value is None else kind_of(member.value)
        if member.value is None and not text.strip():
            return []
        if member.is_time:
            text = typed_time(text)
        if why := member.check(text):
            raise Refused(why.rstrip("."), pointer=member.pointer)
        if kind == "bool":
            return [Edit(member.pointer, text.strip().lower())]
        return [Edit(member.pointer, text.strip()) if kind == "number" else edit(member.pointer, text)]

    def lines(subject: Subject) -> list[str]:
        more = len({member.row for member in listed(subject)}) - MOST_ROWS
        return [*notes(subject), *([words.more_rows(more)] if more > 0 else [])]

    return Section(id, title, rows, edits, lines)


def _field(id: str, member: SectionMember) -> Field:
    kind = (member.kind if member.value is None else kind_of(member.value)) or "text"
    text = "" if member.value is None else str(member.value)
    if member.value is not None and kind != "text":
        text = strings.exact(member.value, 10_000)
    editor: Editor = "check" if kind == "bool" else "choice" if member.choices else "line"
    if member.is_time:
        text, kind, editor = time_text(member.value) or text, "text", "date"
    title = member.title or member.label
    return make_field(id, member.label, text, title, kind=kind, editor=editor, choices=member.choices)


def mapping_at(attributes: object, *names: str) -> Mapping[str, Any] | None:
    """The JSON object that `names` lead to, one within the other; None if there is no such object."""
    for name in names:
        attributes = attributes.get(name) if isinstance(attributes, Mapping) else None
    return attributes if isinstance(attributes, Mapping) else None
