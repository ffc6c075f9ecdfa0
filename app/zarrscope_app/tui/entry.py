"""One line of input; and a guard against exceptions in handlers, which would end the program.

Textual's `Input` handles printable keys at once and leaves the others to bindings, which run only after the key has
gone up to the application, so keys that arrive together are applied in the wrong order. Here the application passes
keys to `key` instead, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, cast

from textual import events
from textual.message_pump import MessagePump
from textual.widgets import Input

from zarrscope_app.presenters import Session


class TellsFaults(Protocol):
    """The member of the application that reports an exception in a widget."""

    def fault(self, error: Exception) -> None:
        """Shows the exception among the problems instead of ending the application."""


class Guarded(MessagePump):
    """A widget of the explorer: an exception in one of its handlers is reported, and the next event is handled."""

    async def on_event(self, event: events.Event) -> None:
        try:
            await super().on_event(event)
        except Exception as error:
            self.fault(error)

    def fault(self, error: Exception) -> None:
        """Reports an unexpected exception."""
        cast(TellsFaults, self.app).fault(error)


class Painter(Guarded):
    """A widget that paints the snapshots of one session, which is that of the hierarchy in front."""

    session: Session

    def follow(self, session: Session) -> None:
        """Paints another session."""
        self.session = session


class InputLine(Guarded, Input, can_focus=True):
    """One line of input. `key` and `paste` change the text at once; Enter and Escape are left to the application."""

    def __init__(self, **options: Any) -> None:
        # Selecting all on focus would select text that was typed before the focus message arrived.
        super().__init__(select_on_focus=False, **options)
        self.cursor_blink = False  # each blink would send bytes over SSH while nobody types

    def key(self, event: events.Key) -> None:
        """Handles a key in a line of text."""
        if event.is_printable and event.character is not None:
            self.paste(event.character)
            return
        act = ACTS.get(event.key)
        if act is not None:
            act(self)

    def paste(self, text: str) -> None:
        """Inserts the first line of a text in place of the selection, or at the cursor."""
        line = (text.splitlines() or [""])[0]
        if self.selection.is_empty:
            self.insert_text_at_cursor(line)
        else:
            self.replace(line, *self.selection)


ACTS: dict[str, Callable[[InputLine], None]] = {
    "left": lambda entry: entry.action_cursor_left(),
    "right": lambda entry: entry.action_cursor_right(),
    "shift+left": lambda entry: entry.action_cursor_left(True),
    "shift+right": lambda entry: entry.action_cursor_right(True),
    "ctrl+left": lambda entry: entry.action_cursor_left_word(),
    "ctrl+right": lambda entry: entry.action_cursor_right_word(),
    "ctrl+shift+left": lambda entry: entry.action_cursor_left_word(True),
    "ctrl+shift+right": lambda entry: entry.action_cursor_right_word(True),
    "home": lambda entry: entry.action_home(),
    "ctrl+a": lambda entry: entry.action_home(),
    "end": lambda entry: entry.action_end(),
    "ctrl+e": lambda entry: entry.action_end(),
    "shift+home": lambda entry: entry.action_home(True),
    "shift+end": lambda entry: entry.action_end(True),
    "ctrl+shift+a": lambda entry: entry.action_select_all(),
    "backspace": lambda entry: entry.action_delete_left(),
    "delete": lambda entry: entry.action_delete_right(),
    "ctrl+d": lambda entry: entry.action_delete_right(),
    "ctrl+w": lambda entry: entry.action_delete_left_word(),
    "ctrl+u": lambda entry: entry.action_delete_left_all(),
    "ctrl+k": lambda entry: entry.action_delete_right_all(),
    "ctrl+x": lambda entry: entry.action_cut(),
    "ctrl+v": lambda entry: entry.paste(entry.app.clipboard),
}
"""The effect of each key, by Textual's name of the key; the effects are those of Textual's own input."""
