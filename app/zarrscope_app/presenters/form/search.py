"""Searches the displayed view of the attributes for a text: the fields of the sections, all members with those in
collapsed branches, or the JSON text. Members and text are searched in the background.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from zarrscope.jsondoc.pointers import pointer_of
from zarrscope.model.frozen import frozen
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.drafts import Drafts
from zarrscope_app.presenters.form.view_models import EditState, Way
from zarrscope_app.presenters.signals import signal

MOST = 10_000
"""The most matches that are counted; there may be more."""
_BETWEEN = 2000
"""The number of fields that are searched between two checks for cancellation."""
_Place = str | tuple[int, int]
"""The id of a field, or the span of a match in a text."""
_Work = Callable[[Callable[[], bool]], Sequence[_Place]]
NOTHING, LOOKING = "nothing found", "looking …"


def in_all_fields(found: int) -> str:
    """The sentence about a text that only members have which are not in the displayed sections."""
    return f"not here; {strings.count(found)} in {words.WAYS['fields']}"


@frozen
class SearchState:
    """The search text, and the position of the current match among all matches."""

    text: str = ""
    sentence: str = ""
    """The position of the match, "3 of 12"; "" if there is no search text."""
    pointer: str | None = None
    """The pointer of the member of the current match, if all members are displayed; None if there is no match."""
    field: str = ""
    """The id of the field of the current match, if sections are displayed."""
    span: tuple[int, int] | None = None
    """The first and the last character, plus one, of the current match in the displayed JSON text."""


class FormSearch:
    """The search in the displayed form: call `look_for` with a text, then `step`. The search calls `shown(pointer)`
    to make the member of a match visible. `view` returns the form's state."""

    changed = signal()

    def __init__(
        self, owner: Owner, drafts: Drafts, shown: Callable[[str], object], view: Callable[[], EditState]
    ) -> None:
        self._owner, self._drafts, self._shown, self._view = owner, drafts, shown, view
        self._ticket: Ticket | None = None
        self._text = ""
        self._seen: tuple[Way, object] | None = None
        """The view and the document in which the matches were found; None before the first search."""
        self._places: Sequence[_Place] = []
        self._elsewhere = 0
        """Members with the text, if no field of the displayed sections has it."""
        self._at = 0

    @property
    def found(self) -> SearchState:
        """The present result as a snapshot for hosts."""
        if not self._text:
            return SearchState()
        if self._ticket is not None:
            return SearchState(self._text, LOOKING)
        if not self._places:
            return SearchState(self._text, in_all_fields(self._elsewhere) if self._elsewhere else NOTHING)
        many = "+" if len(self._places) == MOST else ""
        told = f"{strings.count(self._at + 1)} of {strings.count(len(self._places))}{many}"
        place = self._places[self._at]
        if isinstance(place, tuple):
            return SearchState(self._text, told, span=place)
        if self._seen is not None and self._seen[0] == "image":
            return SearchState(self._text, told, field=place)
        return SearchState(self._text, told, place)

    def look_for(self, text: str) -> None:
        """Searches for another text, and shows the first match. "" ends the search."""
        if text != self._text or self._seen != self._now:
            self._text = text
            self._look(0)

    def step(self, by: int) -> None:
        """Goes to the next or the previous match; after the last one follows the first."""
        if not self._text or self._ticket is not None:
            return
        if self._seen != self._now:  # edited meanwhile, or another view is displayed
            self._look(self._at + by)
        elif self._places:
            self._go(self._at + by)

    @property
    def _now(self) -> tuple[Way, object]:
        """The displayed view, and the document that it shows."""
        draft, state = self._drafts.shown, self._view()
        if state.way == "fields":
            return state.way, draft.now if draft is not None else None
        return state.way, state.sections if state.way == "image" else state.text

    def _look(self, at: int) -> None:
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None
        self._places, self._elsewhere, self._at, self._seen = [], 0, 0, self._now
        state, text, draft = self._view(), self._text, self._drafts.shown
        if text and state.way == "image":
            self._places = _fields_with(state, text)
        work: _Work | None = None
        if text and state.way in ("json", "document"):
            work = partial(_spans, state.text, text)
        elif text and not self._places and draft is not None:
            work = _members(draft, text)
        if work is None:
            self._go(at)
        else:
            self._ticket = self._owner.fetch(work, partial(self._done, state.way, at))
            self.changed.emit()

    def _done(self, way: Way, at: int, outcome: JobResult[Sequence[_Place]]) -> None:
        self._ticket, found = None, outcome.value or []
        if way == "image":
            self._elsewhere = len(found)
            self.changed.emit()
        else:
            self._places = found
            self._go(at)

    def _go(self, at: int) -> None:
        if self._places:
            self._at = at % len(self._places)
            place = self._places[self._at]
            if isinstance(place, str) and self._seen is not None and self._seen[0] == "fields":
                self._shown(place)
        self.changed.emit()


def _fields_with(state: EditState, text: str) -> list[str]:
    """The ids of the fields of sections that have a text in their value, their name or the title of their section."""
    wanted = text.casefold()
    return [
        field.pointer
        for section in state.sections
        for row in section.rows
        for field in row.fields
        if wanted in f"{section.title}\n{field.label}\n{field.title}\n{field.text}".casefold()
    ]


def _spans(whole: str, text: str, cancelled: Callable[[], bool]) -> list[tuple[int, int]]:
    """The places of a text in a JSON text."""
    found: list[tuple[int, int]] = []
    for match in re.finditer(re.escape(text), whole, re.IGNORECASE):
        found.append(match.span())
        if len(found) == MOST or (len(found) % _BETWEEN == 0 and cancelled()):
            break
    return found


def _members(draft: Draft, text: str) -> Callable[[Callable[[], bool]], list[str]]:
    document, prefix = draft.now, draft.prefix
    return lambda cancelled: _places(document.get(prefix, {}), text, cancelled)


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
