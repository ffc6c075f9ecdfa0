"""The first screen of the terminal, shown while the application is being imported: the address, and that it is being
opened.

It is written directly to the alternate screen, so no toolkit has to be imported for it; the application then uses the
same screen. If the imports end with an error or a signal, the terminal is restored.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType

from zarrscope.errors.confidential import scrub
from zarrscope.errors.visible import visible
from zarrscope_app.presenters import strings_terminal as words

_ENTER, _LEAVE = "\x1b[?1049h\x1b[2J\x1b[H", "\x1b[?1049l"
_HEAD, _PLAIN = "\x1b[7m", "\x1b[0m"


class FirstScreen:
    """A context that shows the first screen. It stays until the application draws over it, unless the block ends with
    an error."""

    def __init__(self, url: str, *, colored: bool) -> None:
        self._url, self._colored, self._shown = url, colored, False

    def __enter__(self) -> None:
        if sys.__stderr__ is None:
            return
        try:
            columns, lines = os.get_terminal_size(sys.__stderr__.fileno())
        except (OSError, ValueError):
            return
        self._shown = True
        head, room = visible(scrub(self._url)), max(2, columns - 1)
        # Of a long address the end is kept, because it has the name.
        head = (head if len(head) <= room else f"…{head[1 - room :]}").ljust(columns)
        _write(f"{_ENTER}{head if not self._colored else f'{_HEAD}{head}{_PLAIN}'}\x1b[{lines - 1};2H{words.OPENING}")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if kind is not None and self._shown:
            _write(_LEAVE)


def _write(text: str) -> None:
    """Writes to the terminal at stderr, with replacements for characters that its encoding lacks."""
    stream = sys.__stderr__
    if stream is None:
        return
    stream.buffer.write(text.replace("…", _ellipsis(stream.encoding)).encode(stream.encoding, "replace"))
    stream.flush()


def _ellipsis(encoding: str) -> str:
    try:
        "…".encode(encoding)
    except UnicodeEncodeError:
        return "."  # of the same width
    return "…"
