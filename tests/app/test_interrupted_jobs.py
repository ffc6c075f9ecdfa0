"""Ctrl+C in the shell that has started the window, and in the terminal application, while an export runs: the process
ends only when the unfinished file is gone. POSIX only."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("termios", reason="pseudo-terminals are POSIX")
from terminals import Terminal, plane_of, terminals

HELD = """
import fcntl, sys, termios, time
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # from now on Ctrl+C in this terminal is a signal to this process
from zarrscope_app.presenters.jobs import JobsPresenter
run = JobsPresenter.run
def held(jobs, name, work, *answers):
    def waits(report, cancelled):
        def told(progress, text):
            report(progress, text)
            while not cancelled():
                time.sleep(0.01)
            time.sleep(LATE)  # the work looks for a stop after each chunk
        return work(told, cancelled)
    return run(jobs, name, waits, *answers)
JobsPresenter.run = held
"""
"""Jobs wait at their first report until they are stopped, and stop late: the end of the interpreter alone waits for
less."""

WINDOW = f"""LATE = 3
{HELD}
from qtpy.QtCore import QTimer
from qtpy.QtWidgets import QApplication
from zarrscope_app import qt
application = QApplication([])
timer = QTimer()
def go_on():
    session = qt._windows[0].workspace.current if qt._windows else None
    if session is None or session.node is None or session.state.selecting:
        return
    export = session.export
    if not export.state.target:
        export.begin()
        export.choose("whole", "npy", sys.argv[2])
    elif export.state.ready and not session.jobs.items:
        export.run()
    elif any(job.progress is not None for job in session.jobs.running):
        timer.stop()
        print("it runs", flush=True)
timer.timeout.connect(go_on)
timer.start(20)
sys.exit(qt.main([sys.argv[1]]))
"""
TERMINAL = f"""LATE = 2
{HELD}
from zarrscope_app.cli import main
sys.exit(main(["tui", sys.argv[1]]))
"""


@pytest.fixture
def start() -> Iterator[Callable[..., Terminal]]:
    with terminals() as start:
        yield start


@pytest.fixture
def volume(tmp_path: Path) -> str:
    return f"{plane_of(tmp_path / 'plane.zarr')}/plane"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "out"
    made.mkdir()
    return made


def is_unfinished(folder: Path) -> bool:
    return [path.name[:2] for path in folder.iterdir()] == [".v"]


@pytest.mark.needs("qt")
def test_ctrl_c_over_an_export_of_the_window(start: Callable[..., Terminal], volume: str, folder: Path) -> None:
    terminal = start("-c", WINDOW, volume, str(folder / "v.npy"), QT_QPA_PLATFORM="offscreen")
    terminal.sees("it runs")
    assert is_unfinished(folder)
    terminal.press("\x03")
    assert terminal.ended() == 128 + signal.SIGINT
    assert not [*folder.iterdir()]


@pytest.mark.parametrize("way", ["key", "signal"])
def test_ctrl_c_over_an_export_of_the_terminal(
    start: Callable[..., Terminal], volume: str, folder: Path, way: str
) -> None:
    """The key asks, because the terminal application reads it; a signal does not ask."""
    terminal = start("-c", TERMINAL, volume)
    for seen, keys in (
        ("Values", ":"), ("type to find", "export\r"), ("The whole node", "whole\r"), (".npy", "npy\r"),
        ("Enter accept", f"\x15{folder / 'v.npy'}\r"), ("KiB", "y"),
    ):  # fmt: skip
        terminal.sees(seen)
        terminal.press(keys)
    terminal.sees("100 %")
    assert is_unfinished(folder)
    if way == "key":
        terminal.press("\x03")
        terminal.sees("x stop and leave")
        assert is_unfinished(folder), "it goes on"
        terminal.press("x")
    else:
        terminal.process.send_signal(signal.SIGINT)
    assert terminal.ended() == (0 if way == "key" else 128 + signal.SIGINT)
    assert not [*folder.iterdir()]
    assert terminal.after == terminal.before
