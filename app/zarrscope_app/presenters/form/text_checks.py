"""Texts while they are typed: their faults are reported before they are applied, and the text in the editor with the
keyboard focus is kept for the next start, as the process may be killed. The draft stays unchanged."""

from __future__ import annotations

from collections.abc import Callable

from psygnal import Signal

from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope_app.presenters.form import json_text
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.drafts import Drafts
from zarrscope_app.presenters.form.json_text import TextFault
from zarrscope_app.presenters.form.waiting import Aside, Waiting

LONGEST = 1 << 18
"""The most characters of a text that is kept while it is typed: a longer one would hold the host up at each key.
It is kept once it is applied."""


class TextChecks:
    """Checks the text that is being typed, in the background; the check of a newer text cancels the one before."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._ticket: Ticket | None = None

    def _drop_former(self) -> None:
        if self._ticket is not None:
            self._ticket.cancel()

    def ask(self, why_not: Callable[[], str], report: Callable[[str], None]) -> None:
        """Checks the text of a field: calls `report(sentence)`, with "" if the text is valid."""
        self._drop_former()
        self._ticket = self._owner.fetch(why_not, lambda outcome: report(outcome.value or ""))

    def ask_json(self, text: str, draft: Draft, report: Callable[[int, str], object]) -> None:
        """Checks the text of all attributes: calls `report(line, sentence)`, with 0 and "" if the text is valid."""

        def done(outcome: JobResult[TextFault | None]) -> None:
            fault = outcome.value
            report(*(fault.line, fault.sentence) if fault is not None else (0, ""))

        self._drop_former()
        self._ticket = self._owner.fetch(lambda: json_text.fault_in(text, draft), done)


class BeingTyped:
    """The text that is being typed; hosts call `note` for every change, and `end` when it was applied or given up."""

    changed = Signal()

    def __init__(self, drafts: Drafts, paths: Callable[[], tuple[str, ...]]) -> None:
        """`paths`: the nodes of the displayed form."""
        self._drafts, self._paths = drafts, paths
        self._aside: Aside | None = None

    def note(self, id: str, text: str) -> None:
        """Keeps a text that is being typed into the field `id`, or json_text.WHOLE."""
        if not self._drafts.writable or len(text) > LONGEST:
            self._aside = None
            return
        self._aside = Waiting.beside(self._paths(), {id: text}, self._drafts)
        self._aside.kind = self._drafts.kind
        draft = self._drafts.selected
        self._aside.whole = draft.base.key if draft is not None and draft.whole else ""
        self.changed.emit()

    def end(self) -> None:
        """Called when the text was applied, so that it is kept as an edit, or was given up."""
        self._aside = None

    @property
    def asides(self) -> tuple[Aside, ...]:
        """The text, as one that waits until it can be applied."""
        return (self._aside,) if self._aside is not None else ()
