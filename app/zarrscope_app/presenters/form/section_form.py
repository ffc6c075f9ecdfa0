"""The view of a node's attributes by their meaning: the sections, edits of their fields, and the check against the
OME-Zarr specification."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType

from zarrscope.errors import ZarrscopeError
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.edits import apply
from zarrscope.ome.edits import Edit
from zarrscope.ome.violations import Violation
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import json_text, typed_member, words
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.mending import Verdict, verdict, version_of
from zarrscope_app.presenters.form.sections.conventions import DIMENSIONS
from zarrscope_app.presenters.form.sections.model import NodeFacts, Subject, subject_of
from zarrscope_app.presenters.form.sections.table import SIZE, edits_of, fields_of, sections_of, takes_number
from zarrscope_app.presenters.form.view_models import Field, FormSection
from zarrscope_app.presenters.typed_numbers import typed_number

_NOTHING: Mapping[str, str] = MappingProxyType({})
_REMEMBERED = 3
CHANNEL = "channel/"
"""The start of the ids of the fields of channels."""


def is_section_field(pointer: str) -> bool:
    """Whether an id belongs to a section's field; such an id is not a JSON pointer."""
    return bool(pointer) and not pointer.startswith("/")


class SectionForm:
    """The sections of each node's attributes, and the data outside the attributes from which the sections are made,
    such as shapes."""

    def __init__(self) -> None:
        self._facts: dict[str, NodeFacts] = {}
        self._linked: dict[str, bool] = {}
        self._made: list[tuple[Document, NodeFacts, bool | None, tuple[FormSection, ...]]] = []
        """The sections that were made last, and the data from which they were made."""
        self._previewed: tuple[Document, dict[str, str], Document, dict[str, tuple[str, str]]] | None = None
        """A document, texts that wait, and their results as `expected` returns them."""

    def set_facts(self, facts: NodeFacts) -> None:
        """Sets the data outside the attributes of the node from which its sections are made, such as shapes."""
        self._facts[facts.path] = facts

    def subject(self, path: str, draft: Draft, document: Document) -> Subject:
        """The data from which the sections of a node are made."""
        facts = self._facts.get(path, NodeFacts(path))
        return subject_of(document, draft.prefix, facts, self._linked.get(path))

    def sections(
        self, path: str, draft: Draft, waiting: Mapping[str, str] = _NOTHING, expected: Mapping[str, str] = _NOTHING
    ) -> tuple[FormSection, ...]:
        """The sections that fit the attributes. Invalid typed text is shown in its field; fields that differ from the
        stored document are marked.

        `waiting`: field → text that is not yet applied. `expected`: those texts that wait until the hierarchy is open
        for writing; fields that follow them show their new values already.
        """
        now = self._sections_of(path, draft, self.expected(path, draft, expected)[0])
        typed = {id: (text, "") for id, text in waiting.items()}
        if not draft.dirty:
            return tuple(_with_state(section, typed, None) for section in now) if typed else now
        stored = self._sections_of(path, draft, draft.base)
        before = {field.pointer: field.text for section in stored for row in section.rows for field in row.fields}
        return tuple(_with_state(section, {**draft.errors, **typed}, before) for section in now)

    def expected(
        self, path: str, draft: Draft, texts: Mapping[str, str]
    ) -> tuple[Document, dict[str, tuple[str, str]]]:
        """The document as it will be when the texts are applied, without those that would be refused or would read
        values; and those of members and of the whole text that would be refused: field → (text, reason)."""
        now, refused = draft.now, dict[str, tuple[str, str]]()
        if not texts or draft.large:
            return now, refused
        if self._previewed is not None and self._previewed[0] is now and self._previewed[1] == dict(texts):
            return self._previewed[2:]
        linked = self._linked.get(path)
        fields = {f.pointer: f for f in fields_of(self._sections_of(path, draft, now))}
        for id, text in texts.items():
            subject = replace(self.subject(path, draft, now), linked=linked)
            field = fields.get(id)
            if id == "linked":
                linked = text.strip().lower() == "true"
            elif id == json_text.WHOLE or not is_section_field(id):
                try:
                    now = _with_text(draft, now, id, text)
                except ZarrscopeError as error:
                    refused[id] = (text, words.refusal(error))
            elif field is None or (field.kind == "number" and not strings.is_number(text)):
                continue
            elif not (id.startswith(CHANNEL) and subject.must_read):
                with suppress(ZarrscopeError):
                    now = apply(now, draft.prefix, edits_of(subject, id, text))
        self._previewed = (draft.now, dict(texts), now, refused)
        return now, refused

    def _sections_of(self, path: str, draft: Draft, document: Document) -> tuple[FormSection, ...]:
        subject = self.subject(path, draft, document)
        for made_of, facts, linked, sections in self._made:
            if made_of is document and facts is subject.facts and linked == subject.linked:
                return sections
        made = sections_of(subject)
        self._made = [*self._made[-_REMEMBERED:], (document, subject.facts, subject.linked, made)]
        return made

    def are_empty(self, path: str, draft: Draft) -> bool:
        """Whether the stored document states nothing that the sections show: they only offer to name dimensions."""
        sections = self._sections_of(path, draft, draft.base)
        others = any(section.id != DIMENSIONS.id for section in sections)
        named = self.subject(path, draft, draft.base).names is not None
        return not others and not named and not any(field.text for field in fields_of(sections))

    def prepare(self, path: str, draft: Draft, document: Document) -> None:
        """Makes the sections of a document that will be shown next; may be called on any thread."""
        self._sections_of(path, draft, draft.base)
        self._sections_of(path, draft, document)

    def edited(self, path: str, draft: Draft, id: str, text: str) -> Document:
        """The document after the typed `text` was applied to the field `id`. Raises ZarrscopeError."""
        if id == "linked":
            self._linked[path] = text.strip().lower() == "true"
            return draft.now
        subject = self.subject(path, draft, draft.now)
        made = apply(draft.now, draft.prefix, edits_of(subject, id, text))
        draft.note_channels(subject.facts)
        return made

    def takes_number(self, path: str, draft: Draft, id: str, text: str) -> bool:
        """Whether a text can be typed into a field for a number."""
        return takes_number(self.subject(path, draft, draft.now), id, text)

    def must_read(self, path: str, draft: Draft, id: str = CHANNEL) -> bool:
        """Whether the edit of a field reads values, which waits for the store."""
        return id.startswith(CHANNEL) and self.subject(path, draft, draft.now).must_read

    def taken(self, path: str, draft: Draft, changes: Sequence[Callable[[Subject], Sequence[Edit]]]) -> Document:
        """The document with several changes, each applied to the result of the one before it. Raises ZarrscopeError."""
        now = draft.now
        for change in changes:
            now = apply(now, draft.prefix, change(self.subject(path, draft, now)))
        draft.note_channels(self.subject(path, draft, now).facts)
        return now

    def why_not(self, path: str, draft: Draft, id: str, text: str) -> str:
        """The reason why a text for a field is invalid; "" if it is valid. Changes nothing; may be called on any
        thread."""
        if id == "linked":
            return ""
        found = {f.pointer: f for section in self.sections(path, draft) for row in section.rows for f in row.fields}
        subject = self.subject(path, draft, draft.now)
        if id in found and found[id].kind == "number" and not takes_number(subject, id, text):
            return strings.NOT_A_NUMBER
        if id in found and found[id].kind == "number" and not id.startswith(SIZE):
            text = typed_number(text)
        try:
            edits_of(replace(subject, facts=replace(subject.facts, shown=None)), id, text)  # reads no values
        except ZarrscopeError as error:
            return words.refusal(error)
        return ""


def _with_text(draft: Draft, document: Document, id: str, text: str) -> Document:
    """The document with a text that was typed for a member, or with the whole text of the attributes. Raises
    ZarrscopeError."""
    if id == json_text.WHOLE:
        made = json_text.with_text(document, draft.prefix, text)
        draft.need_object(made)
        return made
    return typed_member.edited(document, draft.prefix, id, text)


def _with_state(
    section: FormSection, typed: Mapping[str, tuple[str, str]], before: Mapping[str, str] | None
) -> FormSection:
    def stated(field: Field) -> Field:
        changed = before is not None and field.pointer != "linked" and before.get(field.pointer, "") != field.text
        return replace(field, changed=changed)

    rows = tuple(replace(row, fields=tuple(stated(field) for field in row.fields)) for row in section.rows)
    return with_typed(replace(section, rows=rows), typed)


def with_typed(section: FormSection, typed: Mapping[str, tuple[str, str]]) -> FormSection:
    """The section with typed texts: field → (text, reason why it is invalid)."""
    if not typed:
        return section

    def stated(field: Field) -> Field:
        text, error = typed.get(field.pointer, (field.text, field.error))
        return replace(field, text=text, error=error)

    rows = tuple(replace(row, fields=tuple(stated(field) for field in row.fields)) for row in section.rows)
    return replace(section, rows=rows)


class Judge:
    """Checks the displayed attributes in the background; a new check cancels the running one."""

    def __init__(self, owner: Owner, repaint: Callable[[], object]) -> None:
        self._owner, self._repaint = owner, repaint
        self.on = False
        """Whether the form is visible."""
        self._document: Document | None = None
        self._ticket: Ticket | None = None
        self.verdict = Verdict("")
        self.judged: Document | None = None
        """The document that `verdict` is about; None before the first check."""

    def look_at(self, draft: Draft, faulty: Callable[[], str] | None = None) -> None:
        """Checks the present text of the draft, unless it was already checked or the form is not visible. A draft of a
        whole document is checked even then, by `faulty`, which returns the reason why the text describes no valid node,
        and waits for the store."""
        document = draft.now
        if not (self.on or draft.whole) or document is self._document:
            return
        self._document = document
        attributes, whole, key = document.get(draft.prefix, {}), draft.whole, document.key
        if self._ticket is not None:
            self._ticket.cancel()

        def work() -> Verdict:
            if not whole:
                return verdict(attributes, version_of(attributes))
            reason = faulty() if faulty is not None else ""
            sentence = words.still_faulty(key, reason)
            return Verdict(sentence, (Violation("", sentence, "must", ""),), sentence) if reason else Verdict("")

        def done(outcome: JobResult[Verdict]) -> None:
            self._ticket = None
            self.verdict, self.judged = outcome.value or Verdict(""), document
            self._repaint()

        self._ticket = self._owner.fetch(work, done)
