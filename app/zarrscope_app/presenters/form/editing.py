"""Edits the displayed document: one field or the whole document, with undo and redo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from zarrscope.errors import ZarrscopeError
from zarrscope.jsondoc.document import Document
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.background_edits import BackgroundEdits, SplicesText
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.drafts import Drafts


class DraftEditor:
    """Edits the displayed draft, if it can be edited now. A text that is refused is kept for its field, with the
    reason."""

    def __init__(self, drafts: Drafts, background: BackgroundEdits, repaint: Callable[[], object]) -> None:
        self._drafts, self._background, self._repaint = drafts, background, repaint

    def draft(self) -> Draft | None:
        """The displayed draft; None if it cannot be edited now."""
        if self._drafts.shown is not None and not self._drafts.writable:
            self._repaint()  # repaints the form, so that an editor with typed text shows the stored value again
        return self._drafts.editable

    def change(self, pointer: str, change: SplicesText, text: str = "", *, reads: bool = False) -> bool:
        """Replaces the displayed document by change(document, pointer in the document). Returns False if the change is
        refused, or no document can be edited. `reads`: whether `change` may wait for the store."""
        draft = self.draft()
        if draft is None:
            return False
        if reads or draft.large or self._background.busy:
            self._background.change(self._drafts.path, draft, pointer, change, text, reads=reads)
            return True
        try:
            new = change(draft.now, draft.prefix + pointer)
            draft.need_object(new)
        except ZarrscopeError as error:
            self.wrong(pointer, text, words.refusal(error))
            return False
        draft.errors.pop(pointer, None)
        draft.push(new)
        self._repaint()
        return True

    def wrong(self, pointer: str, text: str, why: str) -> None:
        """Keeps an invalid `text` for its field, with the reason `why` it is invalid."""
        if (draft := self.draft()) is not None:
            draft.errors[pointer] = (text, why)
            self._repaint()

    def refuse(self, why: str) -> None:
        """Shows the reason `why` an edit is refused that does not concern the text of a single field."""
        if (draft := self.draft()) is not None:
            draft.hint = why
            self._repaint()

    def make(self, make: Callable[[Draft], Document], *, reads: bool = False) -> bool:
        """Replaces the displayed document by the result of `make`. Returns False, and shows the reason, if `make`
        refuses. For a large document, or if `make` may wait for the store (`reads`), returns True before `make` has
        run."""
        draft = self.draft()
        if draft is None:
            return False
        if reads or draft.large or self._background.busy:
            self._background.alter(draft, lambda made: made.push(make(made)), reads=reads)
            return True
        try:
            draft.push(make(draft))
        except ZarrscopeError as error:
            self.refuse(words.refusal(error))
            return False
        self._repaint()
        return True

    def travel(self, by: Literal[-1, 1]) -> None:
        """Undoes the latest edit (-1), or redoes it (1)."""

        def act() -> None:
            draft = self.draft()
            if draft is not None and draft.travel(by):
                draft.errors.clear()
                self._background.compare(draft)
                self._repaint()

        self._background.in_turn(act)

    def revert(self) -> None:
        """Drops all changes, as one edit."""

        def act() -> None:
            draft = self.draft()
            if draft is not None and (draft.dirty or draft.errors):
                draft.push(draft.base)
                draft.errors.clear()
                self._background.compare(draft)
                self._repaint()

        self._background.in_turn(act)
