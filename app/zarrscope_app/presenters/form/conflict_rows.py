"""A conflict in words: one row per field with both values side by side, the same in every host."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, overload

from zarrscope.model.frozen import frozen
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form.view_models import Disagreement, EditState, Side

MOST_ROWS = 200
"""The most fields that are listed. Further fields are resolved together, by the choice of one side."""
_TOLD = 1000
"""The most characters of a value from which the text of its row is made."""
ABSENT = "(not there)"
FIELD, BEFORE, MINE, THEIRS = "Field", "As it was", "Mine", "Theirs"
CHOOSE = "Choose a side"
WHOLE = "all attributes"
_LINES = re.compile(r"\s*\n\s*")
_SIDES: dict[Side, str] = {"mine": "only you changed it", "theirs": "only they changed it"}


@frozen
class ConflictRow:
    """One field of a conflict, in texts that a host paints unchanged."""

    field: Disagreement
    label: str
    before: str
    mine: str
    theirs: str
    choice: Side | Literal[""]
    fixed: bool
    """Whether only one side changed the field: then there is no choice to make."""
    note: str = ""


class ConflictRows(Sequence[ConflictRow]):
    """The rows of a conflict. Each is made when it is first asked for: making all of them takes longer than a frame of
    the screen, which shows a few."""

    def __init__(self, disputed: Sequence[Disagreement], fitting: Sequence[Disagreement]) -> None:
        self.disputed = len(disputed)
        """The number of rows with a choice to make, which come first."""
        self._fields = (*disputed, *fitting)
        self._made: dict[int, ConflictRow] = {}

    def __len__(self) -> int:
        return len(self._fields)

    @overload
    def __getitem__(self, place: int) -> ConflictRow: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[ConflictRow, ...]: ...
    def __getitem__(self, place: int | slice) -> ConflictRow | tuple[ConflictRow, ...]:
        if isinstance(place, slice):
            return tuple(self[at] for at in range(*place.indices(len(self))))
        at = range(len(self))[place]
        if at not in self._made:
            self._made[at] = _row(self._fields[at], at >= self.disputed)
        return self._made[at]


def conflict_rows(state: EditState) -> ConflictRows:
    """A row for each disputed field, then for each field that only they changed, which is news to the person, then for
    each that only the person changed; at most `MOST_ROWS`."""
    disputed = state.conflicts[:MOST_ROWS]
    return ConflictRows(disputed, state.fitting[: MOST_ROWS - len(disputed)])


def can_merge(state: EditState) -> bool:
    """Whether a side was chosen for each disputed field."""
    return all(each.choice for each in state.conflicts)


def conflict_summary(state: EditState, listed: int = MOST_ROWS) -> str:
    """A sentence with the numbers of disputed and of merged fields. `listed`: the most rows that the host lists."""
    left = sum(not each.choice for each in state.conflicts)
    total = len(state.conflicts) + len(state.fitting)
    return strings.joined(
        f"Choose a side for {strings.counted(left, 'field')}, then merge" if left else "Merge, review, then save",
        f"{strings.counted(len(state.fitting), 'field')} changed on one side only: kept" if state.fitting else "",
        f"{strings.count(total - listed)} more not listed" if total > listed else "",
    )


def _row(field: Disagreement, fixed: bool) -> ConflictRow:
    at = field.name or strings.clean(field.pointer, 200) or WHOLE
    before, mine, theirs = map(_one_line, (field.base, field.mine, field.theirs))
    note = _SIDES[field.choice] if fixed and field.choice else ""
    label = strings.joined(strings.clean(field.path, 200), at)
    return ConflictRow(field, label, before, mine, theirs, field.choice, fixed, note)


def _one_line(text: str | None) -> str:
    return ABSENT if text is None else strings.clean(_LINES.sub(" ", text[:_TOLD]), 400)
