"""Texts tried while they are typed: what is wrong is said before they are taken over. Nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope_app.presenters.form import json_text
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.json_text import TextFault
from zarrscope_app.presenters.form.section_form import SectionForm
from zarrscope_app.presenters.form.several import SeveralForm


class TriesTexts:
    """Part of the edit presenter: the latest text that is being typed is tried in the background."""

    _owner: Owner
    _path: str
    _drafts: dict[str, Draft]
    _several: SeveralForm | None
    _sections: SectionForm
    _trying: Ticket | None

    def try_text(self, pointer: str, text: str, told: Callable[[str], None]) -> None:
        """What is wrong with a text while it is being typed into a section: `told(sentence)`, "" where nothing is."""
        draft, path, sections = self._drafts.get(self._path), self._path, self._sections
        if self._several is not None:
            ask = self._several.why_not(pointer, text)
        elif draft is not None:
            ask = partial(sections.why_not, path, draft, pointer, text)
        else:
            return
        if self._trying is not None:
            self._trying.cancel()
        self._trying = self._owner.fetch(ask, lambda outcome: told(outcome.value or ""))

    def try_json(self, text: str, told: Callable[[int, str], object]) -> None:
        """Which line of a text is wrong while it is being typed, and why: `told(line, sentence)`; 0 and "": none."""
        draft = self._drafts.get(self._path)
        if draft is None:
            return

        def done(outcome: JobResult[TextFault | None]) -> None:
            fault = outcome.value
            told(*(fault.line, fault.sentence) if fault is not None else (0, ""))

        if self._trying is not None:
            self._trying.cancel()
        self._trying = self._owner.fetch(lambda: json_text.fault_in(text, draft), done)
