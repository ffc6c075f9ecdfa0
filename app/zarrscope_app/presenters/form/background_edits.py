"""Edits documents in the background, one after the other in the order of the requests, if they are large or if the edit
reads values.

A document of several megabytes takes long to parse, to edit and to compare. A small one is edited at once, so that the
typed text is visible immediately.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeVar

from zarrscope.errors import ZarrscopeError
from zarrscope.jsondoc.document import Document
from zarrscope.model.frozen import frozen
from zarrscope.runtime.threads import JobResult, Owner
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.draft import Draft, diff_of
from zarrscope_app.presenters.form.section_form import SectionForm
from zarrscope_app.presenters.form.view_models import Change, Diff

Made = TypeVar("Made")
SplicesText = Callable[[Document, str], Document]
"""A function that makes one edit: (document, pointer of a value in it) → the edited document. Raises ZarrscopeError."""


@frozen
class _Edited:
    document: Document
    changes: tuple[Change, ...]
    base: Document


class BackgroundEdits:
    """Edits of the displayed document in the background, and the actions that wait for them."""

    def __init__(self, owner: Owner, sections: SectionForm, repaint: Callable[[], object]) -> None:
        self._owner, self._sections, self._repaint = owner, sections, repaint
        self._queue: deque[Callable[[], object]] = deque()
        self.working = False
        self.reading = False
        """Whether the running edit waits for the store."""
        self.setting: dict[str, str] = {}
        """Id of a field → the typed text that is being applied."""

    @property
    def busy(self) -> bool:
        """Whether an edit of a large document is being made."""
        return self.working or bool(self._queue)

    def in_turn(self, act: Callable[[], object]) -> None:
        """Runs an action after the edits that were requested before it; at once if no edit is running."""
        if self.working:
            self._queue.append(act)
        else:
            act()

    def change(
        self, path: str, draft: Draft, pointer: str, change: SplicesText, text: str, *, reads: bool = False
    ) -> None:
        """Like `DraftEditor.change`, but in the background, for a large document or an edit that reads values."""
        if text:
            self.setting[pointer] = text

        def work() -> _Edited:
            made = draft.copy()
            new = change(made.now, made.prefix + pointer)
            made.need_object(new)
            made.push(new)
            if not made.whole:
                self._sections.prepare(path, made, new)
            return _Edited(new, made.find_changes(), made.base)

        def done(outcome: JobResult[_Edited]) -> None:
            if self.setting.get(pointer) == text:
                del self.setting[pointer]
            if isinstance(outcome.error, ZarrscopeError):
                draft.errors[pointer] = (text, words.refusal(outcome.error))
            elif outcome.value is None:
                draft.failure = strings.problem(outcome.error or RuntimeError(), path).headline
            else:
                draft.errors.pop(pointer, None)
                draft.push(outcome.value.document)
                draft.know_changes(outcome.value.base, draft.now, outcome.value.changes)
                self.compare(draft)

        self.in_turn(lambda: self._start(work, done, reads))

    def _start(self, work: Callable[[], Made], done: Callable[[JobResult[Made]], object], reads: bool = False) -> None:
        self.working, self.reading = True, reads

        def ended(outcome: JobResult[Made]) -> None:
            self.working = self.reading = False
            done(outcome)
            while self._queue and not self.working:
                self._queue.popleft()()
            self._repaint()

        self._owner.fetch(work, ended)
        self._repaint()

    def compare(self, draft: Draft) -> None:
        """In a conflict over a large document, finds the disputed fields after an edit of mine."""
        if draft.large and draft.theirs is not None:
            self.alter(draft, Draft.compare_sides)

    def alter(self, draft: Draft, act: Callable[[Draft], object], *, reads: bool = False) -> None:
        """Applies a slow action to a copy of the draft in the background; the draft then takes over the result."""

        def start() -> None:
            made = draft.copy()

            def done(outcome: JobResult[None]) -> None:
                if outcome.error is None:
                    draft.adopt(made)
                elif isinstance(outcome.error, ZarrscopeError):
                    draft.hint = words.refusal(outcome.error)
                else:
                    draft.failure = strings.problem(outcome.error).headline

            def work() -> None:
                act(made)
                made.compare_sides()

            self._start(work, done, reads)

        self.in_turn(start)

    def diff(self, draft: Draft) -> Diff:
        """The difference from the stored document if it was already computed. Otherwise returns a placeholder, computes
        the difference in the background and calls `repaint` when it is ready."""
        base, now = draft.base, draft.now
        if draft.known_diff is not None or not draft.dirty:
            return draft.diff()

        def done(outcome: JobResult[Diff]) -> None:
            if outcome.value is not None:
                draft.know(base, now, outcome.value)

        if not self.working:
            self._start(lambda: diff_of(base, now, draft.prefix, draft.channels), done)
        return Diff(strings.LOADING, draft.changes)
