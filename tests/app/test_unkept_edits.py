"""Unsaved edits that cannot be stored for the next start, because the home folder is full or cannot be written: the
problems say so, and a program that is told to end prints the edits instead of losing them without a word."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from typing_window import WINDOW
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import Workspace
from zarrscope_app.settings import FileSettings

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and pseudo-terminals of POSIX")
SECONDS = 60.0


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """While it contains anything, the disk of the settings is full. Its folder can be written as far as its mode says,
    which is so in a home folder whose quota is used up."""
    found: list[bool] = []
    replace = os.replace

    def replaced(source: Any, target: Any) -> None:
        if found and Path(target).parent.name == "state":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    monkeypatch.setattr("os.replace", replaced)
    return found


def test_a_failed_write_is_remembered_until_one_succeeds(tmp_path: Path, full: list[bool]) -> None:
    settings = FileSettings(tmp_path / "state")
    full.append(True)
    settings.store("words", "x")
    assert settings.load("words") is None
    assert settings.unwritable() == str(tmp_path / "state")
    full.clear()
    settings.store("words", "x")
    assert settings.unwritable() == ""


def test_the_problems_say_at_once_that_edits_could_not_be_stored(
    tmp_path: Path, full: list[bool], mailbox: Mailbox
) -> None:
    zarrscope.open(tmp_path / "a.zarr", "w-").create_group("/g", {"note": "before", "list": [1, 2]})
    workspace = Workspace(mailbox, FileSettings(tmp_path / "state"))
    session = workspace.open(str(tmp_path / "a.zarr" / "g"), writable=True)
    mailbox.run_until(lambda: bool(session.edit.state.fields))
    assert session.problems.note == ""
    told: list[str] = []
    session.problems.changed.connect(lambda: told.append(session.problems.sentence))
    full.append(True)
    session.edit.edit("/note", "typed")
    mailbox.run_until(lambda: any("unsaved edits are not kept for the next start" in each for each in told))
    assert str(tmp_path / "state") in session.problems.note
    assert not session.keeps_unsaved
    full.clear()
    session.edit.edit("/note", "typed again")
    mailbox.run_until(lambda: session.keeps_unsaved)
    mailbox.run_until(lambda: session.problems.note == "")
    full.append(True)
    session.edit.edit("/list/1", "7")
    lost = workspace.keep_unsaved()
    assert "Not saved, and not kept for the next start" in lost
    assert "typed again" in lost
    assert "7" in lost
    workspace.close_all()


def test_edits_that_are_stored_are_not_printed(tmp_path: Path, mailbox: Mailbox) -> None:
    zarrscope.open(tmp_path / "a.zarr", "w-").create_group("/g", {"note": "before"})
    workspace = Workspace(mailbox, FileSettings(tmp_path / "state"))
    session = workspace.open(str(tmp_path / "a.zarr" / "g"), writable=True)
    mailbox.run_until(lambda: bool(session.edit.state.fields))
    session.edit.edit("/note", "typed")
    assert workspace.keep_unsaved() == ""
    workspace.close_all()
    (file,) = (tmp_path / "state").glob("unsaved-*.json")
    assert "typed" in file.read_text()


@pytest.fixture
def volume(tmp_path: Path) -> str:
    zarrscope.open(tmp_path / "a.zarr", "w-").create_group("/g", {"note": "before"})
    (tmp_path / "state").write_text("a file")  # so nothing can be stored there
    return str(tmp_path / "a.zarr" / "g")


@posix
def test_a_window_that_is_told_to_end_prints_the_edits(volume: str, tmp_path: Path) -> None:
    pytest.importorskip("qtpy")
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "XDG_STATE_HOME": str(tmp_path / "state")}
    process = subprocess.Popen(
        [sys.executable, "-c", WINDOW, volume],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "typed\n"
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    assert process.returncode == 143
    assert "Not saved, and not kept for the next start" in told
    assert '"note": "typed"' in told


@posix
def test_a_terminal_that_is_told_to_end_prints_the_edits(volume: str, tmp_path: Path) -> None:
    from terminals import terminals

    with terminals() as start:
        terminal = start("-m", "zarrscope_app", "tui", "--write", volume, XDG_STATE_HOME=str(tmp_path / "state"))
        terminal.sees("q quit")
        terminal.sees("Format")
        terminal.press("e")
        terminal.sees("1 member")
        terminal.press("\x1b[B\r\x15typed\r")
        terminal.sees("1 change")
        terminal.press("")
        os.kill(terminal.process.pid, signal.SIGTERM)
        assert terminal.ended() == 143
        _, _, after = terminal.written.rpartition("\x1b[?1049l")
        assert "Not saved, and not kept for the next start" in after
        assert '"note": "typed"' in after
