"""The terminal application in a real (pseudo-)terminal: however it ends, the terminal is as it was before."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope

pty = pytest.importorskip("pty", reason="pseudo-terminals are POSIX")
termios = pytest.importorskip("termios", reason="pseudo-terminals are POSIX")

SECONDS = 30.0
CRASH = """
import sys
from zarrscope_app.tui.app import Explorer
def fail(self, by):
    raise ValueError("a fault in a handler")
Explorer._turn = fail
app = Explorer(sys.argv[1])
app.run()
sys.exit(app.return_code or 0)
"""


class Terminal:
    """A command in a terminal of 80 x 24."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        import fcntl
        import struct

        self._mine, self._its = pty.openpty()
        fcntl.ioctl(self._its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(self._its)
        given = {k: v for k, v in os.environ.items() if k not in ("COLORTERM", "NO_COLOR", "TEXTUAL_COLOR_SYSTEM")}
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=self._its,
            stdout=self._its,
            stderr=self._its,
            env={**given, "TERM": "screen-256color", **environment},
            start_new_session=True,
        )
        self.written = ""
        self._bytes = b""

    def _read(self, seconds: float) -> bool:
        if not select.select([self._mine], [], [], seconds)[0]:
            return False
        self._bytes += os.read(self._mine, 1 << 16)
        self.written = self._bytes.decode(errors="replace")
        return True

    def wait(self, happened: Callable[[str], object], what: str) -> None:
        end = time.monotonic() + SECONDS
        while not happened(self.written):
            if time.monotonic() > end:
                pytest.fail(f"This did not happen: {what}; the last of the screen:\n{self.written[-2000:]!r}")
            self._read(0.1)

    def sees(self, text: str) -> None:
        self.wait(lambda written: text in written, f"{text!r} is on the screen")

    def press(self, keys: str) -> None:
        self.written, self._bytes = "", b""
        os.write(self._mine, keys.encode())

    def ended(self) -> int:
        """The exit status, everything written read."""
        end = time.monotonic() + SECONDS
        while self.process.poll() is None:
            assert time.monotonic() < end, "it did not end"
            self._read(0.05)
        while self._read(0.05):
            pass
        return self.process.returncode

    @property
    def after(self) -> list[Any]:
        return termios.tcgetattr(self._its)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._mine)
        os.close(self._its)


@pytest.fixture
def volume(tmp_path: Path) -> str:
    h = zarrscope.open(str(tmp_path / "plane.zarr"), mode="w-")
    a = h.create_array("/plane", shape=(3, 64, 64), dtype="uint16", chunks=(1, 32, 32), attributes={"note": "before"})
    a[...] = np.arange(3 * 64 * 64).reshape(3, 64, 64)
    return str(tmp_path / "plane.zarr")


@pytest.fixture
def start() -> Iterator[Callable[..., Terminal]]:
    started: list[Terminal] = []

    def make(*arguments: str, **environment: str) -> Terminal:
        terminal = Terminal(*arguments, **environment)
        started.append(terminal)
        return terminal

    yield make
    for terminal in started:
        terminal.close()


def explore(start: Callable[..., Terminal], volume: str, **environment: str) -> Terminal:
    terminal = start("-m", "zarrscope_app", "tui", volume, **environment)
    terminal.sees("q quit")
    terminal.sees("plane")
    return terminal


def assert_clean(terminal: Terminal) -> None:
    """Modes as before, alternate screen left, cursor shown, mouse and paste reports off."""
    assert terminal.after == terminal.before
    for mode, wanted in ((1049, "l"), (25, "h"), (1000, "l"), (1003, "l"), (1006, "l"), (2004, "l")):
        set_last = re.findall(rf"\x1b\[\?{mode}([hl])", terminal.written)
        assert set_last[-1:] == [wanted], f"mode {mode}: {set_last}"


def test_quitting_leaves_a_clean_terminal(start: Callable[..., Terminal], volume: str) -> None:
    terminal = explore(start, volume)
    terminal.press("q")
    assert terminal.ended() == 0
    assert_clean(terminal)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_a_clean_terminal(start: Callable[..., Terminal], volume: str, number: int) -> None:
    terminal = explore(start, volume)
    terminal.process.send_signal(number)
    terminal.ended()
    assert_clean(terminal)


def test_a_fault_leaves_a_clean_terminal_and_says_itself(start: Callable[..., Terminal], volume: str) -> None:
    terminal = start("-c", CRASH, volume)
    terminal.sees("q quit")
    terminal.press("]")
    assert terminal.ended() != 0
    assert_clean(terminal)
    told = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.written)
    assert "a fault in a handler" in told.rpartition("\n[?1049l")[2]


def test_without_true_colour_the_picture_is_grey_and_says_so(start: Callable[..., Terminal], volume: str) -> None:
    terminal = explore(start, volume)
    terminal.press("\x1b[B\r")
    terminal.wait(lambda written: re.search(r"\x1b\[[0-9;]*[34]8;5;2[345]\d", written), "greys of the palette")
    assert "38;2;" not in terminal.written
    assert "48;2;" not in terminal.written


def test_true_colour_where_the_terminal_says_so(start: Callable[..., Terminal], volume: str) -> None:
    terminal = explore(start, volume, COLORTERM="truecolor")
    terminal.press("\x1b[B\r")
    terminal.wait(lambda written: re.search(r"\x1b\[[34]8;2;\d+;\d+;\d+;48;2;\d+;\d+;\d+m▀", written), "half blocks")


@pytest.mark.parametrize("width", [10, 11, 40])
@pytest.mark.parametrize("line", ["", "a" * 200, "  " + "word " * 30, " " * 60 + "x" * 30, "note: " + "/folder" * 20])
def test_long_lines_are_folded_and_lose_nothing(line: str, width: int) -> None:
    from zarrscope_app.tui.lines import _fold

    folded = [text for text, _ in _fold(line, width)]
    assert all(len(text) <= width for text in folded)
    assert "".join("".join(folded).split()) == "".join(line.split())
