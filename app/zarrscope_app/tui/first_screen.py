"""Shows the first screen of the terminal while the application is being imported: the name of the hierarchy, as the
application shows it, the address beside a note that it is being opened, and the first rows of the tree if the address
is a folder.

The first screen is written directly to the terminal's alternate screen, so no toolkit has to be imported for it; the
application then uses the same screen. If the imports end with an error or a signal, the terminal is restored. The first
screen lists no keys, because none works before the application runs; keys that are pressed early wait for the
application, and are not echoed.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeAlias

from zarrscope.errors.confidential import scrub
from zarrscope.errors.visible import visible
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.presenters.session.last_part import last_part
from zarrscope_app.tui.terminal import CONSOLE_FONT

_ENTER, _LEAVE = "\x1b[?1049h\x1b[2J\x1b[H", "\x1b[2J\x1b[H\x1b[?1049l"
ROWS_SECONDS = 0.15
"""The most seconds for which the imports wait for the rows; on a slow disk the rows appear later, or with the
application."""
SIDE, WIDE_SIDE, WIDE = 25, 39, 120
"""The width of the tree without its border: SIDE columns, or WIDE_SIDE in a terminal of at least WIDE columns."""
_COLUMNS, _LINES = 80, 24
_PLAIN_SIGNS = {"…": ".", "▸": ">", "▾": "v"}
_HEAD, _PLAIN = "\x1b[7m", "\x1b[0m"

Modes: TypeAlias = list[Any]
"""Modes of a terminal, as termios gives them: numbers, and a list of control characters."""


class FirstScreen:
    """A context that shows the first screen. It stays until the application draws over it, unless the block ends with
    an error before `finish`. The terminal echoes no keys until the end of the block, or until the application, which
    takes the modes by `hand_over`, restores them."""

    def __init__(self, url: str, *, colored: bool) -> None:
        self._url, self._colored, self._shown = url, colored, False
        self._lock = threading.Lock()
        """Held while rows are written, so that none is written over the application's screen."""
        self._over = False
        self.has_rows = False
        self.modes: Modes | None = None
        """The modes of the terminal before the first screen; None if they were not changed, or after `hand_over`."""
        self._listing: threading.Thread | None = None

    def __enter__(self) -> None:
        if sys.__stderr__ is None:
            return
        try:
            columns, lines = os.get_terminal_size(sys.__stderr__.fileno())
        except (OSError, ValueError):
            return
        # A serial console, or a terminal that has no size yet, reports 0. Textual then assumes the same default size.
        columns, lines = columns or _COLUMNS, max(lines or _LINES, 2)
        self._shown = True
        address = visible(scrub(self._url))
        head = cut_to(f" {last_part(address) or address}", max(2, columns - 1))
        head = head.ljust(columns - sum(not character.isascii() for character in head))  # these may take two columns
        shown = f"{_HEAD}{head}{_PLAIN}" if self._colored else head
        # A long address loses its beginning, because its end says most.
        room = columns - len(words.OPENING) - 5
        rest = address if len(address) <= room else f"…{address[1 - room :]}" if room > 1 else ""
        note = cut_to(f"{words.OPENING} {rest}".rstrip(), max(columns - 2, len(words.OPENING) + 1))
        _write(f"{_ENTER}{shown}\x1b[{max(lines - 1, 2)};2H{note}")
        self.modes = _without_echo()
        self._listing = threading.Thread(target=self._show_rows, args=(columns, max(lines - 3, 0)), daemon=True)
        self._listing.start()

    def wait_for_rows(self) -> None:
        """Waits at most ROWS_SECONDS for the rows, because the imports, which come next, would delay the thread that
        lists them."""
        if self._listing is not None:
            self._listing.join(ROWS_SECONDS)

    def _show_rows(self, columns: int, most: int) -> None:
        """Writes the first rows of the tree beneath the address. Runs in a thread, because a disk may be slow."""
        from zarrscope_app.tui.first_rows import first_rows

        width = WIDE_SIDE if columns >= WIDE else SIDE
        try:
            rows = first_rows(self._url, most, lambda row: cut_to(row, width) == row)[:most]
        except Exception:  # the application opens the folder again, and reports the error
            return
        told = "".join(f"\x1b[{line};1H{row}" for line, row in enumerate((cut_to(row, width) for row in rows), 2))
        with self._lock:
            if not self._over:
                _write(told)
                self.has_rows = True

    def finish(self) -> None:
        """Writes no more rows, because the application is about to draw."""
        with self._lock:
            self._over = True

    def hand_over(self) -> Modes | None:
        """Returns `modes`, for the application to restore when it ends; only once, because the terminal may have others
        when the application begins again after Ctrl+Z."""
        modes, self.modes = self.modes, None
        return modes

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        drawn_over = self._over
        self.finish()
        if (modes := self.hand_over()) is not None:
            _set_modes(modes)
        if kind is not None and self._shown and not drawn_over:
            _write(_LEAVE)


def cut_to(row: str, width: int) -> str:
    """A row cut to at most `width` columns. Without a toolkit, the width is known only of ASCII, of the mark in front
    and of "…", so every other character counts as two columns."""
    room = width
    for at, character in enumerate(row):
        room -= 1 if character.isascii() or character in "▸▾…" else 2
        if room < 0:
            return row[:at]
    return row


def _without_echo() -> Modes | None:
    """Stops the terminal from echoing and translating keys. Returns the terminal modes before the change; None without
    a POSIX terminal."""
    try:
        import termios
    except ImportError:  # Windows
        return None
    stdin = sys.__stdin__
    if stdin is None:
        return None
    try:
        before = termios.tcgetattr(stdin.fileno())
    except (OSError, ValueError, termios.error):
        return None
    modes = [*before]
    modes[0] &= ~termios.ICRNL  # else an early Enter would reach the application as another key
    modes[3] &= ~(termios.ECHO | termios.ICANON)
    _set_modes(modes)
    return before


def _set_modes(modes: Modes) -> None:
    import termios

    with suppress(OSError, termios.error):
        termios.tcsetattr(sys.__stdin__.fileno() if sys.__stdin__ is not None else 0, termios.TCSANOW, modes)


def _write(text: str) -> None:
    """Writes to the terminal at stderr, with replacements for characters that its encoding lacks."""
    stream = sys.__stderr__
    if stream is None:
        return
    font = CONSOLE_FONT if os.environ.get("TERM", "").startswith("linux") else stream.encoding
    stream.buffer.write(_spelled(text, font).encode(stream.encoding, "replace"))
    stream.flush()


def _spelled(text: str, encoding: str) -> str:
    """A text with ASCII signs of the same width in place of those that an encoding, or a font's code page, lacks."""
    for sign, plain in _PLAIN_SIGNS.items():
        try:
            sign.encode(encoding)
        except UnicodeEncodeError:
            text = text.replace(sign, plain)
    return text
