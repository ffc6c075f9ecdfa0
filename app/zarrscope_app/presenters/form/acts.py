"""Acts on the attributes as they mean something: mends of findings, changes asked for in words, the view taken over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from zarrscope.errors import ZarrscopeError
from zarrscope.jsondoc.document import pointer_of, tokens_of
from zarrscope.jsondoc.edits import apply
from zarrscope.ome.edits import Edit
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import json_text
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.findings import field_of, findings_of, mend, nearest, wrong_texts
from zarrscope_app.presenters.form.members import is_section_field
from zarrscope_app.presenters.form.mending import Asked, mended
from zarrscope_app.presenters.form.section_form import Judge, SectionForm
from zarrscope_app.presenters.form.sections.image import CHANNELS
from zarrscope_app.presenters.form.sections.model import Subject
from zarrscope_app.presenters.form.several import SeveralForm
from zarrscope_app.presenters.form.view_models import Finding, FormSection, Way

ViewChanges = Callable[[str], Sequence[Asked]]
"""What the picture on the screen states of the image at a path; () where it shows another node."""


class ActsOnMeaning:
    """Part of the edit presenter: acts that change several members at once."""

    _path: str
    _writable: bool
    _drafts: dict[str, Draft]
    _several: SeveralForm | None
    _sections: SectionForm
    _judge: Judge
    _judging: bool
    _later: list[Callable[[], object]]
    _to_take: tuple[str, Sequence[Callable[[Subject], Sequence[Edit]]]] | None = None
    _view: ViewChanges = staticmethod(lambda path: ())

    def _draft(self) -> Draft | None:
        raise NotImplementedError  # EditPresenter defines it

    def _refresh(self) -> None:
        raise NotImplementedError  # EditPresenter defines it

    def _refuse(self, why: str) -> None:
        raise NotImplementedError  # EditPresenter defines it

    def show_way(self, way: Way) -> None:
        raise NotImplementedError  # EditPresenter defines it

    # ------------------------------------------------------------------ changes asked for in words
    def change(self, asked: Sequence[Asked]) -> None:
        """Makes changes, all of them or none, in one undo; of several nodes, to each. In a place open for reading they
        wait until it is open for writing."""
        if not self._writable:
            self._ask_later(partial(self.change, asked))
        elif self._several is not None:
            self._several.change(asked)
        elif (draft := self._draft()) is not None:
            around = self._sections.subject(self._path, draft, draft.now).around
            self._make(draft, lambda: mended(draft.now, draft.prefix, around, asked))

    def _ask_later(self, act: Callable[[], object]) -> None:
        self._later.append(act)
        self._refresh()

    def _do_later(self) -> None:
        """Does what was asked for before the place was open for writing."""
        if self._writable:
            later, self._later = self._later, []
            for act in later:
                act()

    def take(self, path: str, changes: Sequence[Callable[[Subject], Sequence[Edit]]]) -> None:
        """Makes changes to a node's attributes as one edit, as soon as its form is on show and can be edited."""
        self._to_take = (path, changes)
        self._take()

    def _take(self) -> None:
        asked = self._to_take
        if asked is not None and asked[0] == self._path and self._writable and (draft := self._draft()) is not None:
            self._to_take = None
            self._make(draft, lambda: self._sections.taken(asked[0], draft, asked[1]))

    def _make(self, draft: Draft, make: Callable[[], Any]) -> None:
        try:
            draft.push(make())
        except ZarrscopeError as error:
            self._refuse(strings.clean(error.message.rstrip(".")) + ".")
        self._refresh()

    # ------------------------------------------------------------------ the view
    def offer_view(self, view: ViewChanges) -> None:
        """From where `take_view` takes contrast, colours and visibility."""
        self._view = view

    def _view_changes(self) -> Sequence[Asked]:
        paths = self._several.paths if self._several is not None else (self._path,)
        return next((found for found in map(self._view, paths) if found), ())

    def _with_commands(self, sections: tuple[FormSection, ...]) -> tuple[FormSection, ...]:
        """What the picture shows is offered beside the channels."""
        if not self._view_changes():
            return sections
        return tuple(replace(each, command="take-view") if each.id == CHANNELS.id else each for each in sections)

    def take_view(self) -> None:
        """Writes contrast, colours and visibility of the picture on the screen into the form; saving is another act."""
        changes = self._view_changes()
        if changes:
            self.change(changes)

    # ------------------------------------------------------------------ findings
    def _findings(self, draft: Draft) -> tuple[Finding, ...]:
        typed = wrong_texts(draft.errors)
        if not self._judging or self._judge.judged is not draft.now:
            return typed
        subject = self._sections.subject(self._path, draft, draft.now)
        return typed + findings_of(subject, self._judge.verdict.findings)

    def mend(self, pointer: str) -> None:
        """Does what the finding at `pointer` offers; in a place open for reading it waits."""
        if not self._writable:
            self._ask_later(partial(self.mend, pointer))
            return
        if self._several is not None:
            self._several.mend(pointer)
            return
        draft = self._draft()
        if draft is None:
            return
        subject = self._sections.subject(self._path, draft, draft.now)
        for found in self._judge.verdict.findings:
            edits = mend(subject, found) if found.pointer == pointer else ()
            if edits:
                self._make(draft, partial(apply, draft.now, draft.prefix, edits))
                return

    def locate(self, pointer: str) -> str:
        """Shows the field that a finding is about, in the way that has it; its id, "" where there is none."""
        if self._several is not None:
            return self._several.locate(pointer)
        draft = self._drafts.get(self._path)
        if draft is None:
            return ""
        if pointer in draft.errors and (pointer == json_text.WHOLE or is_section_field(pointer)):
            self.show_way("json" if pointer == json_text.WHOLE else "image")
            return pointer
        subject = self._sections.subject(self._path, draft, draft.now)
        id = "" if pointer in draft.errors else field_of(subject, pointer)
        if id:
            self.show_way("image")
            return id
        id = nearest(subject.attributes, pointer)
        tokens = tokens_of(id)
        for depth in range(len(tokens)):
            draft.folded[pointer_of(tokens[:depth])] = False
        self.show_way("fields")
        return id
