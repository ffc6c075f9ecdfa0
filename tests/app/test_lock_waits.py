"""A save that waits for a lock: every host names the document, the folder and the process that holds its lock; Esc ends
the wait, and nothing was written then."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from terminal_hand import Screen, explore
from zarrscope.errors import Unreadable
from zarrscope.runtime.threads import Mailbox
from zarrscope.runtime.waits import LockHolder, PendingRequest
from zarrscope.stores.local import locks
from zarrscope.stores.local.lock_holders import holder_of
from zarrscope_app.presenters import EditStatus, Session, SessionStatus
from zarrscope_app.presenters.session import waiting_words as words

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows locks a file of the user in place of the folder, which HOLD cannot lock"
)
LINUX = pytest.mark.skipif(not os.path.exists("/proc/locks"), reason="only Linux names the holder of a lock")
HOLD = "import fcntl, os, sys, time; fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), 2); print(); time.sleep(600)"
SECONDS = 60.0


@pytest.fixture
def place(tmp_path: Path) -> Path:
    zarrscope.open(tmp_path / "v.zarr", "w-").create_group("/g", {"note": "old"})
    return tmp_path / "v.zarr"


@pytest.fixture
def holder(place: Path) -> Iterator[subprocess.Popen[str]]:
    """A stopped process that holds the lock of the folder of /g."""
    with subprocess.Popen([sys.executable, "-c", HOLD, str(place / "g")], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)  # a signal arrives when the process gets the processor
        yield process
        process.kill()


@LINUX
def test_linux_tells_who_holds_a_lock(place: Path, holder: subprocess.Popen[str]) -> None:
    told = os.stat(place / "g")
    found = holder_of(told.st_dev, told.st_ino)
    assert found.process == holder.pid
    assert found.program.startswith("python")
    assert found.stopped
    holder.send_signal(signal.SIGCONT)
    os.waitpid(holder.pid, os.WCONTINUED)
    assert not holder_of(told.st_dev, told.st_ino).stopped
    other = os.stat(place)
    assert holder_of(other.st_dev, other.st_ino) == LockHolder()


HOLD_BY_US = """
import sys, time
from zarrscope.stores.local import locks
locks.SYSTEM_TELLS = False
with locks.folder_lock(sys.argv[1]):
    print(flush=True)
    sys.stdin.readline()
print(flush=True)
sys.stdin.readline()
"""


def test_without_help_of_the_system_a_note_names_the_holder(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(locks, "SYSTEM_TELLS", False)
    folder = str(place / "g")

    def busy() -> str:
        with pytest.raises(Unreadable) as caught, locks.folder_lock(folder, timeout=0.0):
            pass
        return str(caught.value)

    command = [sys.executable, "-c", HOLD_BY_US, folder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        assert f"(process {process.pid}, -c)" in busy()
        print(file=process.stdin, flush=True)
        process.stdout.readline()
        assert [*(tmp_path / "zarrscope").glob("holder-*")] == [], "the note is removed with the lock"
        with locks.folder_lock(folder):
            (note,) = (tmp_path / "zarrscope").glob("holder-*")
            assert note.read_text().startswith(f"{os.getpid()}\n")
        process.kill()
    note.write_text(f"{process.pid}\nended\n")
    with subprocess.Popen([sys.executable, "-c", HOLD, folder], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert "Another program has locked" in busy(), "a program without notes, and the note of a process that ended"
        other.kill()


def test_a_save_to_a_database_names_its_lock_and_is_stopped(tmp_path: Path, mailbox: Mailbox) -> None:
    path = tmp_path / "v.sqlite"
    zarrscope.open(f"sqlite://{path}", "w-").create_group("/g", {"note": "old"})
    session = Session(f"sqlite://{path}", mailbox, path="/g", writable=True)
    edited(session, mailbox)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    session.edit.save()
    mailbox.run_until(lambda: "another program has locked v.sqlite" in session.edit.state.sentence, SECONDS)
    assert session.stop_waiting()
    mailbox.run_until(lambda: session.edit.state.status is EditStatus.FAILED, SECONDS)
    assert session.edit.state.sentence.startswith("Stopped after ")
    other.execute("ROLLBACK")
    session.edit.save()
    mailbox.run_until(lambda: session.edit.state.status is EditStatus.CLEAN, SECONDS)
    session.close()
    other.close()


def test_the_words() -> None:
    wait = PendingRequest("/data/v.zarr/g", "g/zarr.json", 0.0, LockHolder(4711, "python3", True))
    told = words.waiting_for(wait, "/data/v.zarr", 4.2)
    assert told == (
        "Waiting 4 s to write g/zarr.json: process 4711 (python3), which is stopped, has locked g · Esc stops"
    )
    unknown = words.waiting_for(wait._replace(holder=LockHolder(), key=""), "/data/v.zarr", 4.2, "Ctrl+C")
    assert unknown == "Waiting 4 s to write: another program has locked g · Ctrl+C stops"


def edited(session: Session, mailbox: Mailbox) -> None:
    mailbox.run_until(lambda: session.edit.state.status is EditStatus.CLEAN, SECONDS)
    session.edit.edit("/note", "new")
    mailbox.run_until(lambda: session.edit.state.status is EditStatus.DIRTY, SECONDS)


@LINUX
def test_a_save_names_the_lock_and_is_stopped(place: Path, holder: subprocess.Popen[str], mailbox: Mailbox) -> None:
    session = Session(str(place), mailbox, path="/g", writable=True)
    edited(session, mailbox)
    before = (place / "g/zarr.json").read_bytes()
    session.edit.save()
    mailbox.run_until(lambda: "has locked" in session.edit.state.sentence, SECONDS)
    assert session.edit.state.status is EditStatus.SAVING
    assert f"process {holder.pid} (python" in session.edit.state.sentence
    assert "g/zarr.json" in session.status_text
    assert session.stop_waiting()
    mailbox.run_until(lambda: session.edit.state.status is EditStatus.FAILED, SECONDS)
    assert session.edit.state.sentence.startswith("Stopped after ")
    assert (place / "g/zarr.json").read_bytes() == before
    session.edit.save()  # the same edits, once the lock is free
    mailbox.run_until(lambda: "has locked" in session.edit.state.sentence, SECONDS)
    holder.kill()
    mailbox.run_until(lambda: session.edit.state.status is EditStatus.CLEAN, SECONDS)
    assert zarrscope.open(place)["g"].attributes["note"] == "new"
    assert not session.waiting
    session.close()


def test_the_terminal_names_the_lock_and_esc_ends_the_wait(place: Path, holder: subprocess.Popen[str]) -> None:
    async def steps(screen: Screen) -> None:
        edit = screen.session.edit
        await screen.command("edit")
        await screen.until(lambda: edit.state.status is EditStatus.CLEAN, "the form is shown")
        edit.edit("/note", "new")
        edit.save()
        await screen.until(lambda: f"process {holder.pid}" in screen.painted(), "the holder is named")
        await screen.press("escape")
        await screen.until(lambda: edit.state.status is EditStatus.FAILED, "the save has ended")
        await screen.until(lambda: "Stopped after" in screen.painted(), "the reason is shown")
        edit.revert()

    explore(str(place / "g"), steps, (120, 30), writable=True)


def test_escape_in_a_field_of_the_window_ends_the_wait(place: Path, holder: subprocess.Popen[str], qtbot: Any) -> None:
    from qtpy.QtCore import Qt

    from qt_robot import QTest, window_on

    window, session = window_on(qtbot, str(place), writable=True)

    def until(happened: Callable[[], object]) -> None:
        qtbot.waitUntil(lambda: bool(happened()), timeout=int(SECONDS * 1000))

    until(lambda: session.state.status is SessionStatus.READY)
    session.select("/g")
    session.set_tab("attributes")
    until(lambda: session.edit.state.path == "/g" and session.edit.state.status is EditStatus.CLEAN)
    session.edit.edit("/note", "new")
    session.edit.save()
    until(lambda: f"process {holder.pid}" in session.edit.state.sentence)
    field = window.tree.filter
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_Escape)
    until(lambda: session.edit.state.status is EditStatus.FAILED)
    assert session.edit.state.sentence.startswith("Stopped after"), "it did not wait until the time of the lock ran out"
    session.edit.revert()
