"""Changes attributes by their meaning: makes requested changes and corrections of findings, and locates the field of a
finding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from zarrscope.errors import Refused
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.edits import apply
from zarrscope.ome.edits import Edit
from zarrscope.ome.violations import Violation
from zarrscope_app.presenters.form import json_text, words
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.drafts import Drafts
from zarrscope_app.presenters.form.editing import DraftEditor
from zarrscope_app.presenters.form.findings import field_of, findings_of, mend, mend_reads, nearest, wrong_texts
from zarrscope_app.presenters.form.mending import Asked, mended
from zarrscope_app.presenters.form.revealing import reveal
from zarrscope_app.presenters.form.section_form import Judge, SectionForm, is_section_field
from zarrscope_app.presenters.form.sections.model import Subject
from zarrscope_app.presenters.form.view_models import FieldFinding, Way


class SemanticEdits:
    """Actions that change several members of the displayed draft at once, and the findings that offer such actions as
    corrections."""

    def __init__(self, drafts: Drafts, editor: DraftEditor, sections: SectionForm, judge: Judge) -> None:
        self._drafts, self._editor, self._sections, self._judge = drafts, editor, sections, judge
        self._to_take: tuple[str, Sequence[Callable[[Subject], Sequence[Edit]]]] | None = None

    # ------------------------------------------------------------------ changes asked for in words
    def change(self, asked: Sequence[Asked]) -> None:
        """Makes changes, all of them or none, as one step of the undo history."""
        if (draft := self._editor.draft()) is not None:
            path = self._drafts.path
            facts = self._sections.subject(path, draft, draft.now).facts

            def made(draft: Draft) -> Document:
                document = mended(draft.now, draft.prefix, facts, asked)
                draft.note_channels(facts)
                return document

            self._editor.make(made, reads=self._sections.must_read(path, draft))

    def take(self, path: str, changes: Sequence[Callable[[Subject], Sequence[Edit]]]) -> None:
        """Makes changes to a node's attributes as one edit, as soon as its form is displayed and can be edited."""
        self._to_take = (path, changes)
        self.take_waiting()

    def take_waiting(self) -> None:
        """Makes the changes that `take` could not make at once, if their node is displayed and can be edited now."""
        asked, draft = self._to_take, self._drafts.editable
        if asked is not None and draft is not None and asked[0] == self._drafts.path:
            self._to_take = None
            reads = self._sections.must_read(asked[0], draft)
            self._editor.make(lambda d: self._sections.taken(asked[0], d, asked[1]), reads=reads)

    # ------------------------------------------------------------------ findings
    @property
    def findings(self) -> tuple[FieldFinding, ...]:
        """Invalid typed texts, followed by the findings of the OME-Zarr specification about the displayed draft."""
        draft = self._drafts.shown
        if draft is None:
            return ()
        typed = wrong_texts(draft.errors)
        if draft.whole or not self._judge.on or self._judge.judged is not draft.now:
            return typed
        subject = self._sections.subject(self._drafts.path, draft, draft.now)
        return typed + findings_of(subject, self._judge.verdict.violations)

    def found_at(self, pointer: str) -> tuple[Violation, ...]:
        """The findings about the displayed draft at `pointer`."""
        return tuple(found for found in self._judge.verdict.violations if found.pointer == pointer)

    def mend(self, offered: Sequence[Violation]) -> None:
        """Makes the correction that the first of these findings offers which offers one."""
        draft = self._editor.draft()
        if draft is None:
            return
        subject = self._sections.subject(self._drafts.path, draft, draft.now)
        for found in offered:
            if mend_reads(subject, found):
                self._editor.make(partial(_mended_by_values, subject, found), reads=True)
                return
            if edits := mend(subject, found):
                self._editor.make(partial(_applied, subject, edits))
                return

    def place_of(self, pointer: str) -> tuple[str, Way | None]:
        """(id of the field that a finding is about, view of the form that contains this field); ("", None) while no
        form is displayed."""
        draft = self._drafts.shown
        if draft is None or draft.whole:
            return "", None
        if pointer in draft.errors and pointer == json_text.WHOLE:
            return pointer, "json"
        if pointer in draft.errors and is_section_field(pointer):
            return pointer, "image"
        subject = self._sections.subject(self._drafts.path, draft, draft.now)
        id = "" if pointer in draft.errors else field_of(subject, pointer)
        if id:
            return id, "image"
        id = nearest(subject.attributes, pointer)
        reveal(draft, id)
        return id, "fields"


def _applied(subject: Subject, edits: Sequence[Edit], draft: Draft) -> Document:
    draft.note_channels(subject.facts)
    return apply(draft.now, draft.prefix, edits)


def _mended_by_values(subject: Subject, found: Violation, draft: Draft) -> Document:
    """The document with the correction of a finding that reads values. Waits for the store. Raises Refused."""
    edits = mend(replace(subject, attributes=draft.now.get(draft.prefix, {})), found)
    if not edits:
        raise Refused(words.NO_WINDOW_FOUND, pointer=found.pointer)
    return _applied(subject, edits, draft)
