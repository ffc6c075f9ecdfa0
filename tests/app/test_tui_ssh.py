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


SLOWLY = """
import sys, time
from zarrscope_app.presenters.jobs import JobsPresenter
run = JobsPresenter.run
def slowly(jobs, name, work, *answers):
    def waits(report, cancelled):
        def told(progress, text):
            report(progress, text)
            while not cancelled():
                time.sleep(0.01)
        return work(told, cancelled)
    return run(jobs, name, waits, *answers)
JobsPresenter.run = slowly
from zarrscope_app.cli import main
sys.exit(main())
"""
"""The program, whose jobs wait at their first report until they are stopped."""


@pytest.fixture
def volume(tmp_path: Path) -> str:
    return plane_of(tmp_path / "far.zarr")


@pytest.fixture
def far(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, volume: str) -> Iterator[Terminal]:
    """The explorer at the other end of ssh -t; its process id is in the file "pid"."""
    with servers.sshd(tmp_path_factory.mktemp("sshd")) as arguments:
        terminal = _far(arguments, tmp_path, "-m", "zarrscope_app", "tui", volume)
        yield terminal
        terminal.close()


@pytest.fixture
def slow(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, volume: str) -> Iterator[Terminal]:
    """As `far`, with jobs that wait in their middle."""
    with servers.sshd(tmp_path_factory.mktemp("sshd")) as arguments:
        terminal = _far(arguments, tmp_path, "-c", SLOWLY, "tui", f"{volume}/plane")
        yield terminal
        terminal.close()


def _far(arguments: list[str], folder: Path, *program: str) -> Terminal:
    path = f"PYTHONPATH={os.environ.get('PYTHONPATH', '')}"  # which sshd does not pass on
    command = (
        f"echo $$ > {shlex.quote(str(folder / 'pid'))}; exec {shlex.join(['env', path, sys.executable, *program])}"
    )
    return Terminal(*arguments[1:], "-tt", "127.0.0.1", command, program=arguments[0], TERM="xterm-256color")


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


def export_begun(far: Terminal, target: Path) -> None:
    """Exports the array, until the job waits in its middle."""
    far.sees("q quit")
    far.sees("Values")
    for keys, seen in (
        (":", "type to find"), ("export\r", "The whole node"), ("whole\r", ".npy"), ("npy\r", "Enter accept"),
        (f"\x15{target}\r", "y write"),
    ):  # fmt: skip
        far.press(keys)
        far.sees(seen)
    far.sees("KiB")
    far.press("y")
    far.sees("^X stops it")
    far.sees("100 %")


def test_an_export_that_is_stopped_leaves_nothing_and_says_so(slow: Terminal, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    export_begun(slow, folder / "v.npy")
    assert [path.name[:2] for path in folder.iterdir()] == [".v"], "unfinished, under another name"
    slow.press("\x18")
    slow.sees("Cancelled. Nothing was written to")
    assert not [*folder.iterdir()]
    slow.press("q")
    assert slow.ended() == 0


def test_leaving_in_an_export_asks_and_then_leaves_no_unfinished_file(slow: Terminal, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    export_begun(slow, folder / "v.npy")
    slow.press("q")
    slow.sees("x stop and leave")
    slow.sees("Export v.npy 100 %")
    slow.press("\x1b")
    slow.wait(lambda _: not any("stop and leave" in line for line in slow.screen()), "the question is gone")
    assert [*folder.iterdir()], "it goes on"
    slow.press("q")
    slow.sees("x stop and leave")
    slow.press("x")
    assert slow.ended() == 0
    assert not [*folder.iterdir()]


def test_a_link_that_is_cut_in_an_export_leaves_no_unfinished_file(slow: Terminal, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    export_begun(slow, folder / "v.npy")
    assert [*folder.iterdir()]
    slow.process.kill()
    assert ended(int((tmp_path / "pid").read_text()))
    assert not [*folder.iterdir()]
