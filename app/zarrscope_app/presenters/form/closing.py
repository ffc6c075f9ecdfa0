"""The question before a hierarchy with unsaved changes is closed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from zarrscope_app.presenters import strings
from zarrscope_app.presenters.commands import LABELS, command
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.drafts import Drafts
from zarrscope_app.presenters.form.view_models import Closing

_MOST_LINES = 200
"""The most texts that the question shows one by one."""


def closing(
    drafts: Drafts, diff: str, can_save: bool, waiting: Iterable[tuple[str, str]], acts: Iterable[tuple[str, str]]
) -> Closing | None:
    """The question; None if nothing would be lost.

    `diff` shows the changes of all drafts; `waiting` are (path, text) of the texts, and `acts` (path, title) of the
    actions that wait until the hierarchy is open for writing.
    """
    invalid = _invalid(drafts.unsaved())
    texts, chosen = [*waiting], [*acts]
    later = bool(texts or chosen)
    if not later and not drafts.unsaved():
        return None
    told = [diff] if diff else []
    shown = ((words.WAITING_TEXTS, texts), (words.WAITING_ACTS, chosen), (words.INVALID_TEXTS, invalid))
    for title, lines in shown:
        told += _listed(title, lines)
    opens = later and not drafts.writable
    if later:
        waits = words.CLOSING_WAITS if texts else words.CLOSING_ACTS_WAIT
        sentence, can_save = waits if opens else words.CLOSING_ELSEWHERE, False
    else:
        sentence = strings.UNSAVED if can_save else words.CLOSING_INVALID if invalid else words.CLOSING_UNFIT
    answer = command("writable" if opens else "save").label
    return Closing(LABELS["close-title"], sentence, "\n".join(told), answer, can_save or opens, opens)


def unsaved_lines(drafts: Mapping[str, Draft], diff: str) -> list[str]:
    """The lines of a diff of all drafts by path, then the texts that were typed into them and are not valid."""
    return [*diff.splitlines(), *_listed(words.INVALID_TEXTS, _invalid(drafts))]


def _invalid(drafts: Mapping[str, Draft]) -> list[tuple[str, str]]:
    return [(path, text) for path, draft in drafts.items() for text, _ in draft.errors.values()]


def _listed(title: str, lines: Sequence[tuple[str, str]]) -> list[str]:
    """A title and its (path, text), line by line; nothing without any."""
    return [title, *(f"  {path}: {strings.clean(text, 200)}" for path, text in lines[:_MOST_LINES])] if lines else []
