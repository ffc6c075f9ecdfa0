"""Checks several documents in the background, and reports each finding once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from zarrscope.jsondoc.document import Document
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.findings import MOST, findings_of
from zarrscope_app.presenters.form.mending import Verdict, verdict, version_of
from zarrscope_app.presenters.form.merged import MergedNode
from zarrscope_app.presenters.form.view_models import FieldFinding


class JudgeOfSeveral:
    """Checks documents in the background while `on` is True; calls `repaint()` when results have arrived."""

    def __init__(self, owner: Owner, repaint: Callable[[], object]) -> None:
        self._owner, self._repaint = owner, repaint
        self.on = False
        """Whether the form is visible: only then documents are checked."""
        self._ticket: Ticket | None = None
        self._judged: dict[str, tuple[Document, Verdict]] = {}

    def stop(self) -> None:
        """Stops the running check, whose results are no longer needed."""
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None

    def look_at(self, parts: Sequence[MergedNode]) -> None:
        """Checks the documents that were not checked yet in their present form."""
        self.stop()
        new = [part for part in parts if self.verdict_of(part) is None]
        if not new or not self.on:
            return

        def work(cancelled: Callable[[], bool]) -> dict[str, tuple[Document, Verdict]]:
            found = {}
            for part in new:
                if cancelled():
                    break
                found[part.path] = (part.document, verdict(part.attributes, version_of(part.attributes)))
            return found

        def done(outcome: JobResult[dict[str, tuple[Document, Verdict]]]) -> None:
            self._ticket = None
            self._judged.update(outcome.value or {})
            self._repaint()

        self._ticket = self._owner.fetch(work, done)

    def verdict_of(self, part: MergedNode) -> Verdict | None:
        """The verdict on a document in its present form; None if it was not checked yet."""
        document, verdict = self._judged.get(part.path, (None, None))
        return verdict if document is part.document else None

    def verdicts(self, parts: Sequence[MergedNode]) -> dict[str, Verdict]:
        """Path of a node → verdict, as far as the documents were checked; empty while the form is not visible."""
        found = {part.path: self.verdict_of(part) for part in parts} if self.on else {}
        return {path: each for path, each in found.items() if each is not None}

    def findings(self, parts: Sequence[MergedNode]) -> tuple[FieldFinding, ...]:
        """The findings of all nodes; a finding of several nodes is listed once."""
        found: dict[tuple[str, str], FieldFinding] = {}
        having: Counter[tuple[str, str]] = Counter()
        verdicts = self.verdicts(parts)
        for part in parts:
            verdict = verdicts.get(part.path)
            for each in findings_of(part.subject, verdict.violations) if verdict is not None else ():
                key = (each.pointer, each.sentence)
                having[key] += 1
                found[key] = each if each.mend else found.get(key, each)
        ordered = sorted(found.items(), key=lambda item: not item[1].wrong)[:MOST]
        return tuple(
            replace(each, sentence=strings.joined(each.sentence, words.in_some(having[key], len(parts))))
            for key, each in ordered
        )


def summed_up_all(verdicts: Mapping[str, tuple[str, bool]]) -> str:
    """The verdicts of `judged_all` in a few words, without findings: "All 3 valid", "1 of 3 with errors: /b"."""
    told = {path: each for path, each in verdicts.items() if each[0]}
    if len({sentence for sentence, _ in told.values()}) < 2:
        return words.judged_all(verdicts)
    broken = [strings.clean(path, 40) for path, (_, wrong) in told.items() if wrong]
    if not broken:
        return f"All {strings.count(len(told))} valid"
    named = ", ".join(broken[: words.MOST_REMARKS]) + " …" * (len(broken) > words.MOST_REMARKS)
    return f"{strings.count(len(broken))} of {strings.count(len(told))} with errors: {named}"
