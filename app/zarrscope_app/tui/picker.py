"""A sheet with a list from which an item is chosen by typing and arrows: commands, bookmarks, formats of an export."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from zarrscope_app.presenters import strings
from zarrscope_app.presenters.strings_terminal import PICKER_FOOT
from zarrscope_app.tui.sheet import Sheet

if TYPE_CHECKING:
    from rich.text import Text

MOST_LINES = 14


class Picker(Sheet):
    """A list of items that contain all typed words. `answered` gets the id of the chosen one."""

    def __init__(self, title: str, items: Sequence[tuple[str, str, str]]) -> None:
        """`items`: for each item its id, its title, and a text for the right side of its line."""
        super().__init__("", PICKER_FOOT, {})
        self._title = title
        self._items = [(id, strings.clean(text, 60), strings.clean(note, 20)) for id, text, note in items]
        self._typed = ""
        self._at = 0

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(self._list(), id="picker-list", markup=False)
            yield Static(self.foot, classes="foot", markup=False)

    @property
    def found(self) -> list[tuple[str, str, str]]:
        """The items that contain all typed words; first those that begin with the typed text."""
        typed = self._typed.lower()
        found = [item for item in self._items if all(word in item[1].lower() for word in typed.split())]
        return sorted(found, key=lambda item: not item[1].lower().startswith(typed))

    def _list(self) -> Text:
        from rich.text import Text

        found = self.found
        first = max(0, min(self._at - MOST_LINES // 2, len(found) - MOST_LINES))
        told = Text(no_wrap=True)
        told.append(f"{self._title}  ", "dim")
        told.append(f"{self._typed}▏\n\n")
        for number, (_, text, note) in enumerate(found[first : first + MOST_LINES], first):
            here = number == self._at
            told.append(f"{'▸' if here else ' '} {text:<52}", "bold reverse" if here else "")
            told.append(f" {note}\n", "dim")
        told.append("\n" * max(0, MOST_LINES - len(found)))
        return told

    def takes(self, event: events.Key) -> bool:
        """Moves the cursor or changes the text; returns False for a key that ends the choice."""
        moves = {"up": -1, "down": 1, "pageup": -MOST_LINES, "pagedown": MOST_LINES, "tab": 1, "shift+tab": -1}
        if event.key in moves:
            self._at += moves[event.key]
        elif event.key == "backspace":
            self._typed = self._typed[:-1]
        elif event.is_printable and event.character is not None:
            self._typed, self._at = self._typed + event.character, 0
        else:
            return False
        self._at = max(0, min(self._at, len(self.found) - 1))
        for shown in self.query("#picker-list"):
            assert isinstance(shown, Static)
            shown.update(self._list(), layout=False)
        return True

    def answer(self, event: events.Key) -> None:
        found = self.found
        if self.answered is not None:
            self.answered(found[self._at][0] if event.key == "enter" and found else None)
