"""Sheets over the screen: the keys, and the changes before they are saved or dropped."""

from __future__ import annotations

from collections.abc import Container

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from zarrscope_app.presenters import words
from zarrscope_app.presenters.commands import FOOTERS, TERMINAL_KEYS, key_sheet


class Sheet(ModalScreen[str]):
    DEFAULT_CSS = """
    Sheet { align: center middle; }
    Sheet VerticalScroll { width: 76; max-width: 95%; height: auto; max-height: 90%; border: round $primary;
      background: $surface; padding: 0 1; }
    Sheet .foot { color: $text-muted; }
    """

    def __init__(self, text: object, foot: str, answers: dict[str, str]) -> None:
        super().__init__()
        self._text = text
        self._foot = foot
        self._answers = answers

    @classmethod
    def of_keys(cls, can: Container[str]) -> Sheet:
        """The keys of the commands that this host `can`."""
        rows = key_sheet(*TERMINAL_KEYS, can=can)
        wide = max(len(keys) for keys, _ in rows)
        return cls("\n".join(f"{keys:<{wide}}  {label}" for keys, label in rows), "", {})

    @classmethod
    def of_diff(cls, diff: str) -> Sheet:
        from rich.text import Text

        text = Text()
        for line in diff.splitlines() or [words.NOTHING_TO_SAVE]:
            style = "green" if line.startswith("+") else "red" if line.startswith("-") else ""
            text.append(words.clean(line) + "\n", style)
        return cls(text, FOOTERS["diff"], {"s": "save", "x": "discard"})

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(self._text, markup=False)  # type: ignore[arg-type]
            if self._foot:
                yield Static(self._foot, classes="foot", markup=False)

    def on_key(self, event: events.Key) -> None:
        if event.key in ("up", "down", "pageup", "pagedown", "tab"):
            return
        event.stop()
        self.dismiss(self._answers.get(event.character or ""))
