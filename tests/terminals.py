"""Runs a program in a pseudo-terminal, for tests. POSIX only."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope_app.tui.screen_changes import ScreenChanges

SECONDS = 90.0


class Terminal:
    """A command in a pseudo-terminal of its own."""

    def __init__(
        self,
        *arguments: str,
        program: str = sys.executable,
        size: tuple[int, int] = (24, 80),
        answers: bytes | None = None,
        **environment: str,
    ) -> None:
        """`size`: lines and columns. `answers`: the answer to the question for the terminal's abilities (DA1)."""
        self._mine, self._its = pty.openpty()
        fcntl.ioctl(self._its, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self.before = termios.tcgetattr(self._its)
        others = {"COLORTERM", "NO_COLOR", "TEXTUAL_COLOR_SYSTEM", "COLUMNS", "LINES"}  # a terminal has its own
        self.process = subprocess.Popen(
            [program, *arguments],
            stdin=self._its,
            stdout=self._its,
            stderr=self._its,
            env={**{k: v for k, v in os.environ.items() if k not in others}, "TERM": "screen-256color", **environment},
            start_new_session=True,
        )
        self.written = ""
        self._bytes = self._all = b""
        self.answers = b"\x1b[?62;22c" if answers is None else answers

    def _read(self, seconds: float) -> bool:
        if not select.select([self._mine], [], [], seconds)[0]:
            return False
        read = os.read(self._mine, 1 << 16)
        if b"\x1b[c" in self._all[-2:] + read and self.answers:  # the question may come in two pieces
            os.write(self._mine, self.answers)
        self._bytes += read
        self._all += read
        self.written = self._bytes.decode(errors="replace")
        return True

    def wait(self, happened: Callable[[str], object], what: str) -> None:
        end = time.monotonic() + SECONDS
        while not happened(self.written):
            if time.monotonic() > end:
                pytest.fail(f"This did not happen: {what}; the last of the screen:\n{self.written[-2000:]!r}")
            self._read(0.1)

    def sees(self, text: str) -> None:
        """Waits for a text that was written in one go or is on the screen; only changed cells are written."""
        self.wait(lambda written: text in written or any(text in line for line in self.screen()), f"{text!r} is seen")

    def screen(self) -> list[str]:
        """The lines of the screen, from all output since the start."""
        shown = ScreenChanges()
        shown.feed(self._all.decode(errors="replace"))
        return ["".join(row.text) for row in shown._rows]

    def press(self, keys: str) -> None:
        self.written, self._bytes = "", b""
        os.write(self._mine, keys.encode())

    def written_until_quiet(self, seconds: float = 0.4) -> int:
        """The number of bytes written until no more have come for `seconds`."""
        while self._read(seconds):
            pass
        return len(self._bytes)

    def resize(self, lines: int, columns: int) -> None:
        """Changes its size, as a window manager does."""
        fcntl.ioctl(self._its, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        os.killpg(self.process.pid, signal.SIGWINCH)

    def ended(self) -> int:
        """Waits for the end of the command, reads all its output, and returns the exit status."""
        end = time.monotonic() + SECONDS
        while self.process.poll() is None:
            assert time.monotonic() < end, "it did not end"
            self._read(0.05)
        while self._read(0.05):
            pass
        return self.process.returncode

    @property
    def after(self) -> list[Any]:
        found: list[Any] = termios.tcgetattr(self._its)
        return found

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._mine)
        os.close(self._its)


@contextmanager
def terminals() -> Iterator[Callable[..., Terminal]]:
    """Returns a function that starts terminals, which are closed afterwards."""
    started: list[Terminal] = []

    def start(*arguments: str, **environment: Any) -> Terminal:
        started.append(Terminal(*arguments, **environment))
        return started[-1]

    try:
        yield start
    finally:
        for terminal in started:
            terminal.close()


def plane_of(place: Path, **how: Any) -> str:
    """The address of a new hierarchy with one array, three planes of 64 by 64; `how` goes to create_array."""
    with zarrscope.open(str(place), mode="w-") as h:
        a = h.create_array("/plane", shape=(3, 64, 64), dtype="uint16", chunks=(1, 32, 32), **how)
        a[...] = np.arange(3 * 64 * 64).reshape(3, 64, 64)
    return str(place)
