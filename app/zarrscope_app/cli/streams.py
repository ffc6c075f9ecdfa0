"""stdout and stderr of the command line, filtered so that no text can control the terminal.

`show` and `say` filter the text that they print. This module filters all other output: messages of click that quote
arguments, questions, tracebacks, warnings, lines of logging. Intended control sequences go through `steer`.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from typing import TextIO

from zarrscope.errors.confidential import scrub
from zarrscope.errors.visible import visible_lines
from zarrscope_app.cli.plain import plain


class InertStream(io.TextIOWrapper):
    """Text on a terminal or in a pipe, with control and invisible characters escaped. Bytes (`buffer`)
    pass unchanged."""

    confidential = False
    """Whether passwords are removed from addresses in the text: in messages, but not in values that were requested."""
    outlives_reader = False
    """Whether output is dropped when its reader has ended, so that the work continues."""
    terminal = False
    """Whether the stream is a terminal."""

    def write(self, text: str) -> int:
        self.steer(visible_lines(scrub(text) if self.confidential else text))
        return len(text)

    def steer(self, sequence: str) -> None:
        """Writes a control sequence that zarrscope itself made, without escaping it."""
        if self.terminal and sequence:
            _cursor[0] = sequence.removesuffix("\x1b[K")[-1:] or _cursor[0]
        try:
            super().write(sequence)
        except OSError as error:
            self._lost(error)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self._lost(error)

    def _lost(self, error: OSError) -> None:
        """Handles a failed write. If the reader of the pipe or the terminal is gone and `outlives_reader` is set, this
        and all further output is dropped; otherwise the error is raised."""
        if not self.outlives_reader or error.errno not in _CLOSED:
            raise error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())  # the null device also takes the text that is still in Python's buffer
        os.close(nowhere)


_cursor = ["\n"]
"""The last character that was written to a terminal, apart from the sequence that clears the rest of the line."""


def interpose(write: Callable[[], None]) -> None:
    """Lets `write` write whole lines to the terminal at stderr. A line that is not complete, of a listing or of
    progress, is ended first, so that neither stands in the other."""
    if _cursor[0] not in "\r\n":
        steer("\n")
    write()
    sys.stderr.flush()


_CLOSED = {errno.EPIPE, errno.EIO, *((errno.EINVAL,) if sys.platform == "win32" else ())}


def outlive_reader() -> None:
    """Makes a closed output pipe end the output only, not the work of the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, InertStream):
            stream.outlives_reader = True


def make_inert() -> None:
    """Makes sys.stdout and sys.stderr write text without terminal control sequences."""
    _replace_closed()
    sys.stdout, sys.stderr = _inert(sys.stdout), _inert(sys.stderr)
    if isinstance(sys.stderr, InertStream):
        sys.stderr.confidential = True


def _replace_closed() -> None:
    """Puts the null device in the place of standard streams that were closed before the process began (`>&-`). Their
    numbers must be taken: a file of a store that got one would receive the messages of libraries."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - used until the end


def _inert(stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper) or isinstance(stream, InertStream):
        return stream  # tests replace it
    encoding, buffering = stream.encoding, stream.line_buffering
    stream.flush()
    # Text from a file may have characters that the terminal's encoding lacks: they are escaped. The former stream stays
    # open, because other code may still use it.
    made = InertStream(stream.buffer, encoding=encoding, errors="backslashreplace", line_buffering=buffering)
    made.terminal = stream.isatty()
    _kept.append(stream)
    return made


_kept: list[TextIO] = []


def steer(sequence: str) -> None:
    """Writes a control sequence that zarrscope itself made to the terminal at stderr, without escaping it."""
    stream = sys.stderr
    if isinstance(stream, InertStream):
        stream.steer(sequence)
    else:
        stream.write(sequence)


def rewrite(line: str) -> None:
    """Writes `line` over the line that the cursor is in; nothing with --plain."""
    if plain():
        return
    steer("\r")
    sys.stderr.write(line)
    sys.stderr.flush()
