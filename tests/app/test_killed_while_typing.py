"""A window that is killed while somebody types: the next start offers the text, applied to the metadata or not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import zarrscope
from contracts.slides import image
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import EditStatus, Session
from zarrscope_app.presenters.form.json_text import WHOLE
from zarrscope_app.presenters.form.text_checks import LONGEST
from zarrscope_app.settings import FileSettings

SECONDS = 60.0
TYPING = """
import sys
from qtpy import QtTest
from qtpy.QtCore import Qt, QTimer
from qtpy.QtWidgets import QApplication
from zarrscope_app import qt
application = QApplication([])
def type_something():
    window = qt._windows[0]
    session, where = window.workspace.current, sys.argv[2]
    if session is None or not session.edit.state.fields:
        QTimer.singleShot(50, type_something)
        return
    session.set_tab("attributes")
    if where == "json":
        session.edit.show_way("json")
    window.tabs.show_views()
    editor = window.form.json.text if where == "json" else window.form.sections.editors.get("name")
    if editor is None or not editor.isVisible():
        QTimer.singleShot(50, type_something)
        return
    window.activateWindow()
    editor.setFocus()
    QtTest.QTest.keyClicks(editor, "typed")
    print("typed", flush=True)
QTimer.singleShot(50, type_something)
sys.exit(qt.main([sys.argv[1]], writable=True))
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    image(tmp_path / "a.zarr", ("DAPI",))
    return tmp_path / "a.zarr"


@pytest.fixture
def begin(place: Path, tmp_path: Path) -> Iterator[Callable[[], tuple[Session, Mailbox]]]:
    made: list[Session] = []

    def make() -> tuple[Session, Mailbox]:
        mailbox = Mailbox()
        made.append(Session(str(place), mailbox, writable=True))
        made[-1].keep_edits(FileSettings(tmp_path / "state"))
        mailbox.run_until(lambda: made[-1].edit.state.status is EditStatus.CLEAN, SECONDS)
        return made[-1], mailbox

    yield make
    for session in made:
        session.close()


def kept(tmp_path: Path) -> str:
    return "".join(file.read_text() for file in tmp_path.rglob("unsaved-*.json"))


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("where", ["field", "json"])
def test_the_text_in_the_editor_is_kept(where: str, place: Path, tmp_path: Path) -> None:
    pytest.importorskip("qtpy")
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "XDG_STATE_HOME": str(tmp_path / "state")}
    process = subprocess.Popen(
        [sys.executable, "-c", TYPING, str(place), where], env=environment, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"typed\n"
        end = time.monotonic() + SECONDS
        while "typed" not in kept(tmp_path) and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()
    assert "typed" in kept(tmp_path)


def test_it_is_put_back(begin: Callable[[], tuple[Session, Mailbox]], tmp_path: Path) -> None:
    session, mailbox = begin()
    session.edit.being_typed.note("size/2", "0.7")
    mailbox.run_until(lambda: "0.7" in kept(tmp_path), SECONDS)
    session.close()
    session, mailbox = begin()
    assert session.rescue is not None
    assert session.rescue.sentence.startswith("1 change of ")
    session.put_back()
    mailbox.run_until(lambda: session.edit.state.changes > 0, SECONDS)
    assert session.edit.diff().unified.count("0.7") >= 1


def test_it_is_kept_once_when_it_is_applied(begin: Callable[[], tuple[Session, Mailbox]], tmp_path: Path) -> None:
    session, mailbox = begin()
    session.edit.being_typed.note("name", "typed")
    session.edit.edit("name", "typed")
    session.edit.being_typed.end()
    mailbox.run_until(lambda: "typed" in kept(tmp_path), SECONDS)
    session.close()
    session, mailbox = begin()
    assert session.rescue is not None
    assert session.rescue.sentence.startswith("1 change of ")


def test_edits_that_were_saved_before_the_kill_are_not_offered(
    begin: Callable[[], tuple[Session, Mailbox]], tmp_path: Path
) -> None:
    """The file of a process that is killed between saving and removing it says that nothing was saved."""
    session, mailbox = begin()
    session.edit.edit("name", "typed")
    mailbox.run_until(lambda: "typed" in kept(tmp_path), SECONDS)
    (file,) = tmp_path.rglob("unsaved-*.json")
    left = file.read_text()
    session.edit.save()
    mailbox.run_until(lambda: session.edit.state.status is EditStatus.CLEAN and not kept(tmp_path), SECONDS)
    session.close()
    file.write_text(left)
    session, mailbox = begin()
    mailbox.run_until(lambda: not kept(tmp_path), SECONDS)
    assert session.rescue is not None
    assert not session.rescue.sentence
    assert not session.state.offers


def test_a_very_long_text_is_kept_when_it_is_applied_only(begin: Callable[[], tuple[Session, Mailbox]]) -> None:
    session, _ = begin()
    session.edit.being_typed.note(WHOLE, "x" * (LONGEST + 1))
    assert not session.edit.being_typed.asides


def test_nothing_is_kept_of_a_place_that_is_open_for_reading(place: Path, mailbox: Mailbox) -> None:
    """Such texts wait, and are kept as that."""
    session = Session(str(place), mailbox)
    mailbox.run_until(lambda: session.edit.state.status is EditStatus.READ_ONLY, SECONDS)
    session.edit.being_typed.note("name", "typed")
    assert not session.edit.being_typed.asides
    session.close()
    assert zarrscope.open(str(place)).root.attributes["ome"]["multiscales"][0]["name"] == "a"
