"""The rows of a list of problems, for all front ends: a sign for the severity, and texts that differ between rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from zarrscope.model.frozen import frozen
from zarrscope_app.presenters.differences import COMPARED
from zarrscope_app.presenters.strings import Problem, clean, joined


@frozen
class Sign:
    """The sign of a severity. Signs differ in shape, because not everybody can distinguish their colours."""

    name: str
    """The severity in a word, for a screen reader and a tooltip: "Error"."""
    icon: str
    """The name of its icon among the resources; also that of its colour."""
    character: str
    """The sign in a page, whose fonts have many signs."""
    narrow: str
    """The sign in a terminal: one column wide in every font."""


SIGNS: Final = {
    "error": Sign("Error", "error", "⊗", "×"),
    "warning": Sign("Warning", "warning", "⚠\ufe0e", "!"),
    "information": Sign("Remark", "info", "ⓘ", "i"),
    COMPARED: Sign("Difference", "difference", "≠", "≠"),
}
"""Severity → its sign."""


@frozen
class ProblemRow:
    """One problem as a row of a list."""

    severity: str
    """The key of its sign in SIGNS; a terminal uses it as the name of the sign's colour."""
    sign: Sign
    node: str
    """The path of its node, for the beginning of the row; "" if the headline names it, or if it is the root."""
    headline: str
    """The sentence, with its place if another row would have the same text."""
    beneath: tuple[str, ...]
    """The texts beneath the headline."""
    problem: Problem

    @property
    def text(self) -> str:
        """The whole text of the row: "/labels/cells · The colors of the labels should be stated."."""
        return joined(self.node, self.headline)


def rows_of(problems: Sequence[Problem]) -> tuple[ProblemRow, ...]:
    """The rows of a list of problems, in its order."""
    shown = [(_node_before(found), found.headline) for found in problems]
    often = Counter(shown)
    return tuple(
        ProblemRow(
            found.severity,
            SIGNS.get(found.severity, SIGNS["warning"]),
            node,
            joined(headline, found.part or found.place) if often[node, headline] > 1 else headline,
            _beneath(found),
            found,
        )
        for found, (node, headline) in zip(problems, shown, strict=True)
    )


def _node_before(found: Problem) -> str:
    path = clean(found.path)
    return "" if path in ("", "/") or found.headline.startswith((path, found.path)) else path


def _beneath(found: Problem) -> tuple[str, ...]:
    """The location, and the details unless they only repeat it and the headline."""
    said = found.details in (found.headline, joined(found.headline, found.place))
    return tuple(text for text in (found.place, "" if said else found.details) if text and text != found.headline)
