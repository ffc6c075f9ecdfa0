"""The dialog of a conflict: both versions of a document, from which the person chooses for each field.

The dialog opens by itself when a save finds that somebody else changed the document, because the change is not stored
until the person has decided.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from textual import events

from zarrscope_app.presenters import Session, strings
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.presenters.form.conflict_rows import MINE, THEIRS, can_merge, conflict_rows, conflict_summary
from zarrscope_app.presenters.form.presenter import EditPresenter, EditStatus
from zarrscope_app.presenters.form.view_models import Side, Whose
from zarrscope_app.tui.asking import Asks, FollowingSheet

SEEN = 20
"""The most disputed fields that are listed at once, around that under the cursor: Textual lays out all lines of the
dialog again for each key."""
LEAST_FIXED = 4
"""The fields that one side changed that are listed even beneath as many disputed ones."""


class ConflictSheet(FollowingSheet):
    """Both values of each disputed field: the person chooses a side for each field, or one side for all."""

    rows_of_one = 3

    def __init__(self, edit: EditPresenter) -> None:
        super().__init__(self._sides, words.CONFLICT_FOOT, {}, edit.changed)
        self._edit = edit
        self._at = 0

    def _sides(self) -> str:
        state = self._edit.state
        made = conflict_rows(state)
        begin = min(max(0, self._at - SEEN // 2), max(0, made.disputed - SEEN))
        end = min(begin + SEEN, made.disputed)
        fixed = made[made.disputed : made.disputed + max(LEAST_FIXED, SEEN - made.disputed)]
        shown = [*enumerate(made[begin:end], begin), *enumerate(fixed, made.disputed)]
        rows = []
        for number, row in shown:
            here = number == self._at and not row.fixed
            rows.append(strings.joined(f"{'▸' if here else ' '} {row.label}", row.note))
            for whose, title, text in (("mine", MINE, row.mine), ("theirs", THEIRS, row.theirs)):
                sign = "[x]" if row.choice == whose else "   " if row.fixed else "[ ]"
                rows.append(f"    {sign} {title:<7} {text}")
        return "\n".join([state.sentence, conflict_summary(state, len(shown)), "", *rows])

    def takes(self, event: events.Key) -> bool:
        """Moves between fields or chooses a side. Enter closes the sheet only if each field has a side; otherwise it
        goes to the first one without."""
        rows = conflict_rows(self._edit.state)
        disputed = rows[: rows.disputed]
        if event.key in ("up", "down", "tab", "shift+tab") and disputed:
            self._go(1 if event.key in ("down", "tab") else -1, len(disputed))
            return True
        side = _SIDES.get(event.key)
        if side is not None and self._at < len(disputed):
            field = disputed[self._at].field
            self._edit.choose(field.pointer, side, field.path)
            self._go(0, len(disputed))
            return True
        if event.key == "enter" and not can_merge(self._edit.state):
            undecided = (number for number, row in enumerate(disputed) if not row.choice)
            self._go(next(undecided, self._at) - self._at, len(disputed))
            return True
        return event.key == "d" or super().takes(event)  # d opens this sheet, and must not close it at once

    def _go(self, by: int, fields: int) -> None:
        self._at = max(0, min(self._at + by, fields - 1))
        self._again()

    def answer(self, event: events.Key) -> None:
        found = _ENDS.get(event.character or "", "chosen" if event.key == "enter" else None)
        if found is not None:
            self._edit.resolve(found)


_SIDES: dict[str, Side] = {"m": "mine", "left": "mine", "t": "theirs", "right": "theirs"}
_ENDS: dict[str, Whose] = {"M": "mine", "T": "theirs"}


def ask_side(keys: Asks) -> None:
    """Shows both sides of a conflict, and merges them as the person chooses. Says so if there is no conflict."""
    edit = keys.session.edit
    if edit.state.status is EditStatus.CONFLICT:
        keys.show_sheet(ConflictSheet(edit), lambda _: None)


class Conflicts:
    """Opens the dialog of each conflict once."""

    def __init__(self, keys: Asks) -> None:
        self._keys = keys
        self._shown: WeakKeyDictionary[Session, set[str]] = WeakKeyDictionary()
        """The nodes in conflict whose dialog was shown."""

    def follow(self, free: bool) -> None:
        """Opens the dialog if the displayed node has come into conflict. `free`: whether nothing else is asked."""
        session = self._keys.session
        state, shown = session.edit.state, self._shown.setdefault(session, set())
        if state.status is not EditStatus.CONFLICT:
            shown.discard(state.path)
        elif free and state.path not in shown:
            shown.add(state.path)
            ask_side(self._keys)
