"""The sections of several nodes as one form: common values are shown, different values are marked as different. Pure
functions.

Fields are matched by their meaning (the pixel size in z), not by their position, because axes may be ordered
differently.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from zarrscope.errors import Refused, ZarrscopeError
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.edits import apply
from zarrscope.model.frozen import frozen
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.section_form import CHANNEL
from zarrscope_app.presenters.form.sections.model import MOST_ROWS, NodeFacts, Subject, subject_of
from zarrscope_app.presenters.form.sections.table import edits_of, sections_of
from zarrscope_app.presenters.form.view_models import Field, FormRow, FormSection

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

RowKey = tuple[str, int]
"""The label of a row, and the number of rows above it with the same label."""


@frozen
class MergedNode:
    """One node of the form: its edited `document`, and the stored document `base`."""

    path: str
    document: Document
    base: Document
    prefix: str
    facts: NodeFacts
    linked: bool | None = None

    @property
    def attributes(self) -> JSON:
        """The edited attributes; {} if the document has none."""
        return self.document.get(self.prefix, {})

    @property
    def subject(self) -> Subject:
        """The edited attributes with the facts about their node, as the sections of the form take them."""
        return subject_of(self.document, self.prefix, self.facts, self.linked)

    def without_values(self) -> MergedNode:
        """This node, such that an edit reads no values."""
        return replace(self, facts=replace(self.facts, shown=None))

    def stored_texts(self) -> dict[str, str] | None:
        """Id of a field → its text in the stored document; None if nothing was edited."""
        if self.document.bytes == self.base.bytes:
            return None
        sections = sections_of(subject_of(self.base, self.prefix, self.facts, self.linked))
        return {field.pointer: field.text for section in sections for row in section.rows for field in row.fields}


@frozen
class Merged:
    """The sections of a form of several nodes, and which field of each node a field of the form stands for."""

    sections: tuple[FormSection, ...] = ()
    places: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Id of a field of the form → path of a node → id of the node's field."""


@dataclass
class _Section:
    """The rows of the nodes in one section."""

    title: str
    rows: dict[RowKey, dict[str, dict[str, Field]]] = field(default_factory=dict)
    """Row → title of a field → path of a node → the node's field."""
    row_notes: dict[RowKey, list[str]] = field(default_factory=dict)
    notes: list[Sequence[str]] = field(default_factory=list)
    changed: set[tuple[RowKey, str]] = field(default_factory=set)


def merged(parts: Sequence[MergedNode]) -> Merged:
    """The form of all parts. Takes long for many parts, so it must not be called on a host's thread."""
    found: dict[str, _Section] = {}
    for part in parts:
        stored = part.stored_texts()
        for section in sections_of(part.subject):
            held = found.setdefault(section.id, _Section(section.title))
            held.notes.append(section.notes)
            seen: Counter[str] = Counter()
            for row in section.rows:
                key = (row.label, seen[row.label])
                seen[row.label] += 1
                held.row_notes.setdefault(key, []).append(row.note)
                fields = held.rows.setdefault(key, {})
                for each in row.fields:
                    fields.setdefault(each.title, {}).setdefault(part.path, each)
                    if stored is not None and each.pointer != "linked" and stored.get(each.pointer, "") != each.text:
                        held.changed.add((key, each.title))
    places: dict[str, Mapping[str, str]] = {}
    return Merged(tuple(_section(id, held, len(parts), places) for id, held in found.items()), places)


def _section(id: str, held: _Section, nodes: int, places: dict[str, Mapping[str, str]]) -> FormSection:
    rows = []
    for key, titles in [*held.rows.items()][:MOST_ROWS]:
        fields = tuple(_field(each, (key, title) in held.changed, places) for title, each in titles.items())
        notes = {*held.row_notes[key]}
        stating = max(len(each) for each in titles.values())
        note = notes.pop() if len(notes) == 1 else ""
        rows.append(FormRow(key[0], fields, strings.joined(words.in_some(stating, nodes), note)))
    alike = [note for note in (held.notes[0] if len(held.notes) == nodes else ()) if all(note in n for n in held.notes)]
    if any(len(notes) > len(alike) for notes in held.notes):
        alike.append(words.NOTES_DIFFER)
    if len(held.rows) > MOST_ROWS:
        alike.append(words.more_rows(len(held.rows) - MOST_ROWS))
    return FormSection(id, held.title, tuple(rows), tuple(alike))


def _field(held: Mapping[str, Field], changed: bool, places: dict[str, Mapping[str, str]]) -> Field:
    first = next(iter(held.values()))
    id = first.pointer
    while id in places:  # another row has a field of this id, because axes or members are ordered differently
        id += "+"
    places[id] = {path: each.pointer for path, each in held.items()}
    texts = {each.text for each in held.values()}
    kind = first.kind if all(each.kind == first.kind for each in held.values()) else "text"
    if len(texts) == 1:
        return replace(first, pointer=id, kind=kind, changed=changed)
    told = words.values(len(texts))
    return replace(first, pointer=id, kind=kind, text="", summary=told, changed=changed, differs=told)


# ---------------------------------------------------------------------- editing
def expected(
    parts: Sequence[MergedNode], places: Mapping[str, Mapping[str, str]], texts: Mapping[str, str]
) -> list[MergedNode]:
    """The parts as they will be when texts that wait (field of the form → text) are applied. A text that one node would
    refuse, or for which values would be read, is left out."""
    now = [*parts]
    for id, text in texts.items():
        if id == "linked":
            now = [replace(part, linked=text.strip().lower() == "true") for part in now]
            continue
        here = places.get(id, {})
        if any(here.get(part.path, "").startswith(CHANNEL) and part.subject.must_read for part in now):
            continue
        with suppress(ZarrscopeError):
            made = edited(now, here, text)
            now = [_waiting_with(part, made[part.path]) if part.path in made else part for part in now]
    return now


def _waiting_with(part: MergedNode, document: Document) -> MergedNode:
    """The node with another document; of a node without edits no field is marked as edited, because nothing is."""
    same = part.document.bytes == part.base.bytes
    return replace(part, document=document, base=document if same else part.base)


def edited(parts: Sequence[MergedNode], places: Mapping[str, str], text: str) -> dict[str, Document]:
    """Path → the document with `text` in one field. `places`: path → id of the node's field. Raises Refused if the text
    is invalid for one of the nodes."""

    def change(part: MergedNode) -> Document:
        edits = edits_of(part.subject, places[part.path], text)
        return apply(part.document, part.prefix, edits)

    return each_changed([part for part in parts if part.path in places], change)


def each_changed(parts: Sequence[MergedNode], change: Callable[[MergedNode], Document]) -> dict[str, Document]:
    """Path → the result of `change` for each part. Raises Refused, with the path of the node, if `change` fails for one
    part."""
    found = {}
    for part in parts:
        try:
            found[part.path] = change(part)
        except ZarrscopeError as error:
            raise Refused(words.of_node(part.path, error.message.rstrip(".")), key=part.document.key) from error
    return found
