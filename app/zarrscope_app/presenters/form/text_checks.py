"""Checks texts while they are typed: reports their faults before they are applied. The draft stays unchanged."""

from __future__ import annotations

from collections.abc import Callable

from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope_app.presenters.form import json_text
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.json_text import TextFault


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
