"""Says that something was copied, because a terminal shows nothing then and may have refused it."""

from __future__ import annotations

from textual.app import App

from zarrscope_app.presenters import strings_terminal as words


class TellsCopies(App[int]):
    """An application with a sentence about the last copy, for the status line."""

    copied = ""
    """The sentence; "" again after the next key."""

    def copy_to_clipboard(self, text: str) -> None:
        """Asks the terminal to put a text on the clipboard, which not every terminal does."""
        super().copy_to_clipboard(text)
        self.copied = words.COPIED
        self.after_key()

    def after_key(self) -> None:
        """Repaints the status line."""
