"""The displayed fields or text of a large document, made in the background from a copy of the draft.

The previous fields stay visible until the new ones are ready. A new request cancels the running one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope_app.presenters.form import json_text
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.field_tree import fields
from zarrscope_app.presenters.form.json_text import TextFault
from zarrscope_app.presenters.form.section_form import SectionForm
from zarrscope_app.presenters.form.view_models import Field, TextShape, Way


@dataclass(frozen=True)
class ShownFields:
    """The fields of one view of the attributes; for the view "json" also their text."""

    fields: tuple[Field, ...] = ()
    text: str = ""
    fault: TextFault | None = None
    shape: TextShape | None = None


NOTHING = ShownFields()


def shown_of(draft: Draft, way: Way, fold_above: int) -> ShownFields:
    """The fields of a draft, or its text, for the view `way`. Takes long for a large document."""
    if way in ("json", "document"):
        text, fault = json_text.shown(draft)
        known = draft.json.shape if draft.json is not None and draft.json.text is text else None
        return ShownFields(json_text.lines_of(text, fault), text, fault, known or json_text.shape_of(text))
    return ShownFields(fields(draft, fold_above) if way == "fields" else ())


class BackgroundView:
    """`look` returns the fields or the text that were made last, and requests new ones if the draft has changed;
    `repaint()` is called when these are ready."""

    def __init__(self, owner: Owner, sections: SectionForm, fold_above: int, repaint: Callable[[], object]) -> None:
        self._owner, self._sections, self._fold_above, self._repaint = owner, sections, fold_above, repaint
        self._ticket: Ticket | None = None
        self._wanted: tuple[Any, ...] = ()
        self._made: tuple[Any, ...] = ()
        """The state of the draft from which `_shown` was made."""
        self._shown = NOTHING

    @property
    def pending(self) -> bool:
        """Whether fields or text are being made in the background."""
        return self._ticket is not None

    def look(self, path: str, draft: Draft, way: Way) -> ShownFields:
        """The fields or the text that were made last, which may be out of date; NOTHING for another node or view than
        the last one."""
        wanted = _state_of(path, draft, way)
        if not (_same(wanted, self._made) and draft.settled):
            self._ask(wanted, path, draft, way)
        shown = self._shown if self._made[:2] == (path, way) else NOTHING
        if way == "json" and draft.json is not None and draft.json.document is draft.now and not draft.errors:
            return ShownFields(shown.fields, draft.json.text, None, draft.json.shape)
        return shown

    def made_of(self, draft: Draft) -> tuple[Field, ...]:
        """The fields of the present draft; () while they are being made."""
        now = bool(self._made) and all(a is b for a, b in zip(self._made[-2:], (draft.now, draft.base), strict=True))
        return self._shown.fields if now and not self.pending else ()

    def _ask(self, wanted: tuple[Any, ...], path: str, draft: Draft, way: Way) -> None:
        if self._ticket is not None:
            if _same(wanted, self._wanted):
                return
            self._ticket.cancel()
        self._wanted = wanted
        made = draft.copy()

        def work(cancelled: Callable[[], bool]) -> ShownFields:
            if not cancelled():
                made.find_changes()
            if not cancelled() and not made.whole:
                self._sections.prepare(path, made, made.now)
            return NOTHING if cancelled() else shown_of(made, way, self._fold_above)

        def done(outcome: JobResult[ShownFields]) -> None:
            self._ticket = None
            self._made, self._shown = wanted, outcome.value or NOTHING
            draft.know_changes(made.base, made.now, made.find_changes())
            draft.json = made.json or draft.json
            self._repaint()

        self._ticket = self._owner.fetch(work, done)


def _state_of(path: str, draft: Draft, way: Way) -> tuple[Any, ...]:
    """All data that determine the displayed fields or text. If any of these data change, the fields or the text must be
    made again."""
    folds = frozenset(draft.folded.items()) if way == "fields" else ()
    pages = frozenset(draft.pages.items()) if way == "fields" else ()
    return (path, way, folds, pages, frozenset(draft.errors.items()), draft.now, draft.base)


def _same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two results of `_state_of` are equal. Documents are compared as objects, because comparing contents takes
    long."""
    return one[:-2] == other[:-2] and all(a is b for a, b in zip(one[-2:], other[-2:], strict=True))
