"""Searches the names and values of all fields for a text, collapsed branches included. Runs in the background."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from psygnal import Signal

from zarrscope.jsondoc.document import Document, pointer_of
from zarrscope.model.frozen import frozen
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.drafts import Drafts

MOST = 10_000
"""The most matches that are counted; there may be more."""
_BETWEEN = 2000
"""The number of fields that are searched between two checks for cancellation."""
NOTHING, LOOKING = "nothing found", "looking …"


@frozen
class SearchState:
    """The search text, and the position of the current match among all matches."""

    text: str = ""
    sentence: str = ""
    """The position of the match, "3 of 12"; "" if there is no search text."""
    pointer: str | None = None
    """The pointer of the field of the current match; None if there is no match."""


class FormSearch:
    """The search in the form of one node: call `look_for` with a text, then `step`. The search calls `shown(pointer)`
    to make the field of a match visible."""

    changed = Signal()

    def __init__(self, owner: Owner, drafts: Drafts, shown: Callable[[str], object]) -> None:
        self._owner, self._drafts, self._shown = owner, drafts, shown
        self._ticket: Ticket | None = None
        self._text = ""
        self._document: Document | None = None
        """The document in which the matches were found; None before the first search."""
        self._places: list[str] = []
        self._at = 0

    @property
    def found(self) -> SearchState:
        """The present result as a snapshot for hosts."""
        if not self._text:
            return SearchState()
        if self._ticket is not None:
            return SearchState(self._text, LOOKING)
        if not self._places:
            return SearchState(self._text, NOTHING)
        many = "+" if len(self._places) == MOST else ""
        told = f"{strings.count(self._at + 1)} of {strings.count(len(self._places))}{many}"
        return SearchState(self._text, told, self._places[self._at])

    def look_for(self, text: str) -> None:
        """Searches for another text, and shows the first match. "" ends the search."""
        if text != self._text or self._document is not self._now:
            self._text = text
            self._look(0)

    def step(self, by: int) -> None:
        """Goes to the next or the previous match; after the last one follows the first."""
        if not self._text or self._ticket is not None:
            return
        if self._document is not self._now:  # edited meanwhile
            self._look(self._at + by)
        elif self._places:
            self._go(self._at + by)

    @property
    def _draft(self) -> Draft | None:
        return self._drafts.shown

    @property
    def _now(self) -> Document | None:
        return self._draft.now if self._draft is not None else None

    def _look(self, at: int) -> None:
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None
        self._places, self._document, self._at = [], self._now, 0
        draft, text = self._draft, self._text
        if draft is not None and text:
            document, prefix = draft.now, draft.prefix

            def work(cancelled: Callable[[], bool]) -> list[str]:
                return _places(document.get(prefix, {}), text, cancelled)

            def done(outcome: JobResult[list[str]]) -> None:
                self._ticket, self._places = None, outcome.value or []
                self._go(at)

            self._ticket = self._owner.fetch(work, done)
        self.changed.emit()

    def _go(self, at: int) -> None:
        if self._places:
            self._at = at % len(self._places)
            self._shown(self._places[self._at])
        self.changed.emit()


def _places(value: object, text: str, cancelled: Callable[[], bool]) -> list[str]:
    wanted, found = text.casefold(), []
    for number, (pointer, told) in enumerate(_fields(value)):
        if number % _BETWEEN == 0 and cancelled():
            break
        if wanted in told.casefold():
            found.append(pointer)
            if len(found) == MOST:
                break
    return found


def _fields(value: object) -> Iterator[tuple[str, str]]:
    """(pointer, name and value as text) of all members, in the document's order."""
    stack = [iter([("", "", value)])]
    while stack:
        for pointer, name, each in stack[-1]:
            yield pointer, f"{name}\n{_text(each)}"
            if isinstance(each, dict):
                stack.append(iter([(pointer + pointer_of([key]), key, one) for key, one in each.items()]))
                break
            if isinstance(each, list):
                stack.append(iter([(f"{pointer}/{i}", "", one) for i, one in enumerate(each)]))
                break
        else:
            stack.pop()


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if isinstance(value, dict | list) else json.dumps(value)
