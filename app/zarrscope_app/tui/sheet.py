"""Sheets, which are dialogs over the screen: the list of keys, a choice, or unsaved changes to save or drop."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from zarrscope_app.presenters import Field, Job, strings
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.presenters.commands import FOOTERS, LABELS, TERMINAL_KEYS, key_sheet
from zarrscope_app.presenters.form.view_models import Closing
from zarrscope_app.presenters.strings_jobs import jobs_question
from zarrscope_app.tui.entry import Guarded

if TYPE_CHECKING:
    from rich.text import Text

PICKS = "123456789abcdefghijklmnopqrstuvwxyz"


def _colored(diff: str, title: str = "", sentence: str = "") -> Text:
    from rich.text import Text

    text = Text(end="").append(f"{title}\n" if title else "", "bold").append(f"{sentence}\n\n" if sentence else "")
    for line in diff.splitlines() or [strings.NOTHING_TO_SAVE]:
        style = "green" if line.startswith("+") else "red" if line.startswith("-") else ""
        text.append(strings.clean(line) + "\n", style)
    return text


class Sheet(Guarded, ModalScreen[str]):
    """A sheet over the screen: a text that scrolls, and beneath it the keys that answer it, which stay in sight."""

    DEFAULT_CSS = """
    Sheet { align: center middle; }
    Sheet .sheet { width: 76; max-width: 95%; height: auto; max-height: 90%; border: round $primary;
      background: $surface; padding: 0 1; }
    Sheet VerticalScroll { height: auto; max-height: 100%; }
    Sheet .foot { dock: bottom; height: auto; color: $text-muted; }
    """

    def __init__(self, text: str | Text, foot: str, answers: dict[str, str]) -> None:
        super().__init__()
        self._text = text
        self.foot = foot
        self._answers = answers
        self.answered: Callable[[str | None], object] | None = None

    def spell(self, spelled: Callable[[str], str]) -> None:
        """Spells the names of keys as the terminal can show them."""
        self.foot = spelled(self.foot)

    @staticmethod
    def text_width(columns: int) -> int:
        """The columns for text on a screen of `columns`: without border, blanks and scrollbar."""
        return max(10, min(76, columns * 95 // 100) - 6)

    @staticmethod
    def text_height(lines: int) -> int:
        """The lines for text on a screen of `lines`: without border and the line of keys."""
        return max(1, lines * 90 // 100 - 3)

    @classmethod
    def of_diff(cls, diff: str) -> Sheet:
        """A sheet with a difference, whose answer saves or discards it."""
        return cls(_colored(diff), FOOTERS["diff"], {"s": "save", "x": "discard"})

    @classmethod
    def of_closing(cls, asked: Closing) -> Sheet:
        """The question before a hierarchy with unsaved changes is closed."""
        text = _colored(asked.text, asked.title, asked.sentence)
        foot = "closing-opens" if asked.opens else "diff" if asked.can_answer else "closing-unfit"
        return cls(text, FOOTERS[foot], {"s": "save", "x": "discard"} if asked.can_answer else {"x": "discard"})

    @classmethod
    def of_jobs(cls, running: Iterable[Job]) -> Sheet:
        """The question before a hierarchy is closed while jobs of it run."""
        told = jobs_question((job.name, job.progress, job.text) for job in running)
        return cls(told, words.JOBS_FOOT, {"x": "stop"})

    @classmethod
    def of_kinds(cls, field: Field) -> Sheet:
        """A sheet with the kinds to which a field can be converted, by number."""
        answers = {str(number): kind for number, kind in enumerate(field.kinds, 1)}
        lines = [f"{'▸' if kind == field.kind else ' '} {number}  {kind}" for number, kind in answers.items()]
        return cls("\n".join([f"{field.label}: {LABELS['kind']}", "", *lines]), FOOTERS["kinds"], {**answers})

    @classmethod
    def of_choices(cls, field: Field) -> Sheet:
        """A sheet with the proposals for a field, by digit and letter; 0 asks for another text."""
        answers = dict(zip(PICKS, field.choices, strict=False))
        lines = [f"{'▸' if text == field.text else ' '} {key}  {text}" for key, text in answers.items()]
        other = f"  0  {LABELS['another-text']}"
        return cls("\n".join([strings.clean(field.title), "", *lines, other]), FOOTERS["choices"], {**answers, "0": ""})

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet"):
            with VerticalScroll():
                yield self.content()
            if self.foot:
                yield Static(self.foot, classes="foot", markup=False)

    def content(self) -> Widget:
        """The widget above the line of keys."""
        return Static(self._text, markup=False)

    def scrolls(self, key: str) -> bool:
        """Whether a key only scrolls the text; then scrolls it."""
        if key not in ("up", "down", "pageup", "pagedown", "home", "end", "tab", "shift+tab"):
            return False
        for box in self.query(VerticalScroll):  # empty before the sheet is mounted
            page = max(1, box.size.height - 1)
            by = {"up": -1, "down": 1, "pageup": -page, "pagedown": page, "home": -(10**6), "end": 10**6}.get(key, 0)
            box.scroll_relative(y=by, animate=False)
        return True

    def takes(self, event: events.Key) -> bool:
        """Whether a key belongs to the sheet and leaves it open; then handles it."""
        return self.scrolls(event.key)

    def answer(self, event: events.Key) -> None:
        """Reports the choice made by a key. The sheet was closed before."""
        if self.answered is not None:
            self.answered(self._answers.get(event.key, self._answers.get(event.character or "")))


class KeySheet(Sheet):
    """A sheet with the keys of all commands whose ids are in `can`, the commands of this application."""

    def __init__(self, can: Container[str]) -> None:
        super().__init__("", words.KEYS_FOOT, {})
        self._rows = key_sheet(*TERMINAL_KEYS, can=can)

    def spell(self, spelled: Callable[[str], str]) -> None:
        super().spell(spelled)
        rows = [(spelled(keys), spelled(label)) for keys, label in self._rows]
        wide = max(len(keys) for keys, _ in rows)
        self._text = "\n".join(f"{keys:<{wide}}  {label}" for keys, label in rows)
