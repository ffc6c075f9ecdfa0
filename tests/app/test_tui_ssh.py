"""The terminal application over a real sshd: keys, screen, change of size, broken connection."""

from __future__ import annotations

import os
import re
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("termios", reason="pseudo-terminals are POSIX")

import servers
from terminals import SECONDS, Terminal, plane_of

pytestmark = pytest.mark.needs("sshd")


@pytest.fixture
def volume(tmp_path: Path) -> str:
    return plane_of(tmp_path / "far.zarr")


@pytest.fixture
def far(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, volume: str) -> Iterator[Terminal]:
    """The explorer at the other end of ssh -t; its process id is in the file "pid"."""
    with servers.sshd(tmp_path_factory.mktemp("sshd")) as arguments:
        command = f"echo $$ > {shlex.quote(str(tmp_path / 'pid'))}; "
        command += f"exec {shlex.quote(sys.executable)} -m zarrscope_app tui {shlex.quote(volume)}"
        terminal = Terminal(*arguments[1:], "-tt", "127.0.0.1", command, program=arguments[0], TERM="xterm-256color")
        yield terminal
        terminal.close()


def ended(pid: int) -> bool:
    """Whether a process is gone within a while."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_keys_go_in_and_a_screen_in_colour_comes_out(far: Terminal) -> None:
    """sshd passes on TERM but not COLORTERM, so the application uses 256 colours."""
    far.sees("q quit")
    far.sees("3-D")
    far.press("\x1b[B\r")
    far.sees("0 / 2")
    far.wait(lambda written: re.search(r"[34]8;5;2[345]\d", written), "a picture in the palette's colours")
    assert "8;2;" not in far.written
    far.press("\t\x1b[C")
    far.sees("1")
    far.press("q")
    assert far.ended() == 0
    assert far.after == far.before


def test_another_size_draws_all_anew(far: Terminal) -> None:
    far.sees("q quit")
    far.sees("3-D")
    far.press("")
    far.resize(40, 132)
    far.wait(lambda written: re.search(r"\x1b\[40;\d+H", written) and "q quit" in written, "the last line is written")
    far.press("q")
    assert far.ended() == 0


def test_a_link_that_is_cut_leaves_nothing_running(far: Terminal, tmp_path: Path) -> None:
    far.sees("q quit")
    pid = int((tmp_path / "pid").read_text())
    far.process.kill()
    assert ended(pid)
