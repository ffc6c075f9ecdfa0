"""Textual's driver for this platform, changed to write only cells that have changed, and no more often than the link
allows.

If frames are made faster than they may be written, those in between are never written (see screen_changes.py).
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable

from textual.driver import Driver

from zarrscope_app.tui.first_screen import Modes
from zarrscope_app.tui.late_answers import use_in
from zarrscope_app.tui.screen_changes import ScreenChanges
from zarrscope_app.tui.terminal import Terminal

SLOW_PERIOD = 0.1
"""Seconds between two frames on a slow link."""
CLEAR = "\x1b[m\x1b[2J\x1b[H"
"""Written before the alternate screen is left: the Linux console and GNU screen have none by default, and the shell
would write over the remains of the application."""
PERIOD = 1 / 30
"""Seconds between two frames on a fast link."""


def sparing(
    base: type[Driver], terminal: Terminal, answered: Callable[[str], None], modes: Callable[[], Modes | None]
) -> type[Driver]:
    """A driver class derived from `base` that writes as little as possible to `terminal`. `answered` gets the answers
    of the terminal that come too late for the start. `modes` returns those that the terminal gets at the end if the
    first screen changed them, once."""
    use_in(base, answered, terminal.read)
    period = SLOW_PERIOD if terminal.slow else PERIOD

    class Sparing(base):  # type: ignore[misc, valid-type]  # the platform's class is known when it runs
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)
            encoding = getattr(sys.__stderr__, "encoding", "utf-8")
            self._changes = ScreenChanges(colored=terminal.colors != "mono", encoding=encoding, font=terminal.font)
            self._waiting: asyncio.TimerHandle | None = None
            self._free = 0.0
            self._shown_size: os.terminal_size | None = None

        def start_application_mode(self) -> None:
            """Starts the driver. The terminal echoes keys at no time between the first screen and the application, so
            Textual finds the silent modes, and is given those before them to restore."""
            super().start_application_mode()
            if (before := modes()) is not None:
                self.attrs_before = before

        def write(self, data: str) -> None:
            """Takes text for the screen; text that paints no cells is written at once."""
            self._forget_if_resized()
            passed = self._changes.feed(data)
            if passed:
                super().write(passed)
            if self._waiting is None and self._changes.pending:
                wait = max(0.0, self._free - time.monotonic())
                self._waiting = self._loop.call_later(wait, self.show)

        def show(self) -> None:
            """Writes the changed cells."""
            self._waiting = None
            told = self._changes.changes()
            if told:
                self._free = time.monotonic() + period
                super().write(told)
                super().flush()

        def _forget_if_resized(self) -> None:
            """Forgets the screen after a change of size: the terminal then shows something else, and Textual writes all
            of it again."""
            stream = sys.__stderr__
            try:
                size = os.get_terminal_size(stream.fileno()) if stream is not None else None
            except (OSError, ValueError):
                return
            if size != self._shown_size:
                self._shown_size = size
                # A terminal without a size reports 0.
                self._changes.forget((size.lines or sys.maxsize, size.columns or sys.maxsize) if size else None)

        def stop_application_mode(self) -> None:
            """Ends the driver. It writes nothing to the terminal afterwards, because another program then uses the
            screen."""
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None
            super().write(CLEAR)
            super().stop_application_mode()

    return Sparing
