"""The colours of the application on light and dark terminals, and the choice between them.

Every text has a contrast of at least 4.5 : 1 to its background (WCAG 2, level AA); tests/app/test_tui_theme.py measures
it.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import get_args

from rich.terminal_theme import TerminalTheme
from textual.app import App
from textual.theme import Theme

from zarrscope_app.presenters import Settings
from zarrscope_app.presenters.strings_terminal import ThemeChoice
from zarrscope_app.tui.terminal import Terminal, has_light_background, read_answers

LIGHT = Theme(
    name="zarrscope-light",
    primary="#2f6db5",
    secondary="#2f6db5",
    accent="#8a4600",
    warning="#7a4b00",
    error="#a8123a",
    success="#136b2c",
    foreground="#1c1c1c",
    background="#fbfbfb",
    surface="#f0f0f0",
    panel="#e4e4e4",
    dark=False,
)
DARK = "textual-dark"
_NAMED_DARK = TerminalTheme(
    (18, 18, 18),
    (224, 224, 224),
    [
        (0, 0, 0), (255, 110, 120), (110, 200, 110), (220, 190, 90),
        (120, 170, 255), (210, 150, 255), (90, 200, 210), (224, 224, 224),
    ],
)  # fmt: skip
_NAMED_LIGHT = TerminalTheme(
    (251, 251, 251),
    (28, 28, 28),
    [
        (0, 0, 0), (168, 18, 58), (19, 107, 44), (122, 75, 0),
        (32, 80, 160), (120, 40, 150), (0, 100, 115), (240, 240, 240),
    ],
)  # fmt: skip
"""The named colours of a difference: those of Textual's themes have too little contrast."""
_STORED = "theme"
"""The name of the choice among the settings."""

CSS = """
Screen { layout: vertical; overflow: hidden; }
#head, #tabs, #status, #footer { height: 1; width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
#status { height: auto; min-height: 1; max-height: 6; }
#head { background: $primary 40%; }
#footer { color: $text-muted; background: $surface; }
#error-bar { height: auto; max-height: 3; background: $error 30%; display: none; }
#error-bar.warning { background: $warning 30%; }
#error-bar.information { background: $primary 20%; }
#body { height: 1fr; }
#side { width: 26; border-right: vkey $primary 40%; }
#side InputLine { display: none; height: 1; border: none; padding: 0; }
#entry { display: none; height: 1; border: none; padding: 0; background: $surface; }
#controls { height: auto; max-height: 6; padding-left: 1; }
#panes { height: 1fr; }
.wide #side { width: 40; }
InputLine > .input--placeholder { color: $text-muted; }
.few-colors Lines .lines--accent { color: yellow; }
.few-colors Lines .lines--cursor { background: transparent; text-style: underline; }
.few-colors Lines:focus .lines--cursor { background: transparent; text-style: reverse; }
.few-colors.light Lines .lines--accent { color: blue; }
"""


class Themes:
    """The light and the dark theme of one application."""

    def __init__(self, app: App[int], settings: Settings, terminal: Terminal, asked: str = "auto") -> None:
        """`asked`: the choice of the command line; "auto" for the stored one."""
        self._app, self._settings = app, settings
        self._light_terminal = terminal.light
        app.register_theme(LIGHT)
        app.ansi_theme_dark, app.ansi_theme_light = _NAMED_DARK, _NAMED_LIGHT
        self.choice: ThemeChoice = _choice(asked)
        if self.choice == "auto":
            with suppress(ValueError):
                self.choice = _choice(json.loads(settings.load(_STORED) or '""'))

    @property
    def light(self) -> bool:
        """Whether the light theme is used."""
        return self._light_terminal if self.choice == "auto" else self.choice == "light"

    @property
    def name(self) -> str:
        """Textual's name of the theme."""
        return LIGHT.name if self.light else DARK

    def choose(self, choice: str | None) -> None:
        """Changes the theme, and stores the choice for the next start; None changes nothing."""
        if choice is None:
            return
        self.choice = _choice(choice)
        self._settings.store(_STORED, json.dumps(self.choice))
        self.show()

    def take(self, answer: str) -> None:
        """Takes a late answer of the terminal; only one about its background changes anything."""
        answers = read_answers(answer.encode())
        if answers.lightness is not None:
            self._light_terminal = has_light_background({}, answers)
            self.show()

    def show(self) -> None:
        """Shows the chosen theme."""
        self._app.set_class(self.light, "light")
        self._app.theme = self.name


def _choice(text: object) -> ThemeChoice:
    """A stored or typed text as a choice; "auto" for anything else."""
    return next((each for each in get_args(ThemeChoice) if each == text), "auto")
