"""A sheet with a list from which an item is chosen by typing and arrows: commands, bookmarks, formats of an export."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.widget import Widget
from textual.widgets import Static

from zarrscope_app.presenters import strings
from zarrscope_app.presenters.strings_terminal import NOTHING_FOUND, PICKER_FOOT
from zarrscope_app.tui.sheet import Sheet

if TYPE_CHECKING:
    from rich.text import Text

MOST_LINES = 14
_AROUND = 8
"""The lines of the screen besides those of the list: the frame, the typed text, the keys, and a margin."""

_BESIDE = 8
"""The columns besides those of the item and its note: the frame, the cursor, the scroll bar."""


class Picker(Sheet):
    """A list of items that contain all typed words in title, id and note. `answered` gets the id of the chosen one."""

    def __init__(self, title: str, items: Sequence[tuple[str, str, str]]) -> None:
        """`items`: for each item its id, its title, and a text for the right side of its line."""
        super().__init__("", PICKER_FOOT, {})
        self._title = title
        self._items = [(id, strings.clean(text, 60), strings.clean(note, 20)) for id, text, note in items]
        self._typed = ""
        self._at = 0

    def content(self) -> Widget:
        return Static(self._list(), id="picker-list", markup=False)

    @property
    def _most(self) -> int:
        """The number of lines of the list, which must fit on the screen because it scrolls by itself."""
        return max(3, min(MOST_LINES, self.app.size.height - _AROUND))

    @property
    def found(self) -> list[tuple[str, str, str]]:
        """The items that contain all typed words; first the one with this very title, then those that begin with the
        typed text, then others with the words in their title. The id helps who calls a thing by another word: "create"
        finds "New group", and the note who knows a key or the ending of a file."""
        typed = self._typed.lower()
        words = typed.split()

        def rank(item: tuple[str, str, str]) -> tuple[bool, ...]:
            title = item[1].lower()
            return title != typed, not title.startswith(typed), not all(word in title for word in words)

        return sorted((i for i in self._items if all(w in " ".join(i).lower() for w in words)), key=rank)

    def _list(self) -> Text:
        from rich.text import Text

        found, most = self.found, self._most
        first = max(0, min(self._at - most // 2, len(found) - most))
        notes = max((len(note) for _, _, note in self._items), default=0)
        wide = max(10, min(52, int(self.app.size.width * 0.95) - notes - _BESIDE))
        told = Text(no_wrap=True)
        told.append(f"{self._title}  ", "dim")
        told.append(f"{self._typed}▏\n\n")
        for number, (_, text, note) in enumerate(found[first : first + most], first):
            here = number == self._at
            told.append(f"{'▸' if here else ' '} {strings.clean(text, wide):<{wide}}", "bold reverse" if here else "")
            told.append(f" {note}\n", "dim")
        if not found:
            told.append(f"  {NOTHING_FOUND}\n", "dim")
        told.append("\n" * max(0, most - max(1, len(found))))
        return told

    def takes(self, event: events.Key) -> bool:
        """Moves the cursor or changes the text; returns False for a key that ends the choice."""
        moves = {"up": -1, "down": 1, "pageup": -self._most, "pagedown": self._most, "tab": 1, "shift+tab": -1}
        if event.key in moves:
            self._at += moves[event.key]
        elif event.key == "backspace":
            self._typed = self._typed[:-1]
        elif event.is_printable and event.character is not None:
            self._typed, self._at = self._typed + event.character, 0
        elif event.key == "ctrl+u":
            self._typed, self._at = "", 0
        elif event.key == "enter":
            return not self.found  # the list says that nothing was found, and the text can be corrected
        else:
            return event.key not in ("escape", "ctrl+c")
        self._at = max(0, min(self._at, len(self.found) - 1))
        for shown in self.query("#picker-list"):
            assert isinstance(shown, Static)
            shown.update(self._list(), layout=False)
        return True

    def answer(self, event: events.Key) -> None:
        found = self.found
        if self.answered is not None:
            self.answered(found[self._at][0] if event.key == "enter" and found else None)
