"""Texts typed into read-only forms become unsaved edits of all their nodes when the hierarchy is opened for writing,
also after a restart."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from contracts.journeys import Shelf
from narrowing import not_none
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import Session
from zarrscope_app.presenters.form import rescue
from zarrscope_app.presenters.form.view_models import EditStatus
from zarrscope_app.presenters.tree.rows import ROOT
from zarrscope_app.settings import FileSettings

SECONDS = 60.0


@pytest.fixture
def shelf() -> Shelf:
    shelf = Shelf()
    h = open_hierarchy(shelf, "a")
    for name in "ghi":
        h.create_group(f"/{name}", {"note": "before", "n": 1})
    h.create_group("/large", {"note": "before", "long": ["x" * 50] * 2000})
    return shelf


@pytest.fixture
def settings(tmp_path: Path) -> FileSettings:
    return FileSettings(tmp_path / "state")


Begin = Callable[[], tuple[Session, Mailbox]]


@pytest.fixture
def begin(shelf: Shelf, settings: FileSettings) -> Iterator[Begin]:
    sessions: list[Session] = []

    def make() -> tuple[Session, Mailbox]:
        mailbox = Mailbox()
        session = Session(shelf.address, mailbox, path="/g", writable=False)
        sessions.append(session)
        session.keep_edits(settings)
        mailbox.run_until(lambda: session.edit.field("/note") is not None, SECONDS)
        return session, mailbox

    yield make
    for session in sessions:
        session.close()


def go(session: Session, mailbox: Mailbox, path: str) -> None:
    session.select(path)
    edit = session.edit
    mailbox.run_until(lambda: edit.brief.path == path and edit.state.way == "fields" and bool(edit.state.fields))


def typed_at(session: Session, mailbox: Mailbox, *paths: str) -> None:
    """Types a text into the forms of several nodes, one after the other, and ends at "/"."""
    for path in paths:
        go(session, mailbox, path)
        session.edit.edit("/note", f"typed at {path}")
    go(session, mailbox, "/")


def text_at(session: Session, pointer: str) -> str:
    return not_none(session.edit.field(pointer)).text


def notes(shelf: Shelf) -> dict[str, str]:
    return {name: json.loads(shelf.get(f"{name}/zarr.json") or b"")["attributes"]["note"] for name in "ghi"}


def test_texts_of_all_nodes_become_unsaved_edits(begin: Begin, shelf: Shelf) -> None:
    session, mailbox = begin()
    typed_at(session, mailbox, "/g", "/h", "/large")
    assert not session.edit.dirty_paths
    session.set_writable(True)
    mailbox.run_until(lambda: session.edit.dirty_paths == {"/g", "/h", "/large"}, SECONDS)
    assert not session.edit.waiting_texts
    assert session.edit.brief.path == "/", "the chosen node stays"

    def marked() -> list[str]:
        return [row.name for row in session.tree.rows(ROOT, 0, 9) if row.dirty]

    mailbox.run_until(lambda: marked() == ["g", "h", "large"], SECONDS)
    mailbox.run_until(lambda: session.edit.diff_of_all().unified.count('"note": "typed at /') == 3, SECONDS)
    assert set(notes(shelf).values()) == {"before"}, "nothing is written before it is saved"
    go(session, mailbox, "/h")
    session.edit.undo()
    mailbox.run_until(lambda: session.edit.dirty_paths == {"/g", "/large"}, SECONDS)
    session.edit.redo()
    outcomes: list[str | None] = []
    session.edit.save_all(outcomes.append)
    mailbox.run_until(lambda: bool(outcomes), SECONDS)
    assert outcomes == [None]
    assert notes(shelf) == {"g": "typed at /g", "h": "typed at /h", "i": "before"}


def test_an_invalid_text_is_kept_in_its_field(begin: Begin) -> None:
    session, mailbox = begin()
    go(session, mailbox, "/h")
    session.edit.edit("/n", "no number")
    go(session, mailbox, "/")
    session.set_writable(True)
    mailbox.run_until(lambda: session.edit.dirty_paths == {"/h"}, SECONDS)
    go(session, mailbox, "/h")
    assert session.edit.state.status is EditStatus.INVALID
    assert text_at(session, "/n") == "no number"


def test_a_document_that_changed_meanwhile_is_told_and_keeps_its_texts(begin: Begin, shelf: Shelf) -> None:
    session, mailbox = begin()
    typed_at(session, mailbox, "/g", "/h")
    stored = json.loads(shelf.get("h/zarr.json") or b"")
    stored["attributes"]["n"] = 2
    shelf.set("h/zarr.json", json.dumps(stored).encode())
    session.set_writable(True)
    mailbox.run_until(lambda: session.edit.dirty_paths == {"/g"} and session.problems.count == 1, SECONDS)
    (told,) = session.problems.items
    assert told.path == "/h"
    assert told.headline.startswith("/h · Somebody else changed this meanwhile. ")
    assert told.mend == "edit", "its command selects the node and shows its form"
    assert session.edit.waiting_texts == [("/h", "typed at /h")]
    go(session, mailbox, "/h")
    mailbox.run_until(lambda: session.edit.dirty_paths == {"/g", "/h"}, SECONDS)
    assert (text_at(session, "/note"), text_at(session, "/n")) == ("typed at /h", "2")
    assert not session.problems.count


def test_a_node_that_is_selected_meanwhile_gets_its_texts_once(begin: Begin) -> None:
    session, mailbox = begin()
    typed_at(session, mailbox, "/g", "/h")
    session.set_writable(True)
    session.select("/h")
    mailbox.run_until(lambda: session.edit.dirty_paths == {"/g", "/h"}, SECONDS)
    go(session, mailbox, "/h")
    session.edit.undo()
    mailbox.run_until(lambda: session.edit.dirty_paths == {"/g"}, SECONDS)


def test_texts_are_applied_after_a_restart(
    begin: Begin, shelf: Shelf, settings: FileSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, mailbox = begin()
    typed_at(first, mailbox, "/g", "/h", "/i")
    first.close()
    stored = json.loads(shelf.get("i/zarr.json") or b"")
    stored["attributes"]["n"] = 2
    shelf.set("i/zarr.json", json.dumps(stored).encode())
    monkeypatch.setattr(rescue, "_runs", lambda *_: False)
    second, mailbox = begin()
    assert second.state.sentence.startswith("3 changes of ")
    second.put_back()
    edit = second.edit
    mailbox.run_until(lambda: edit.dirty_paths == {"/g", "/h"} and second.problems.count == 1, SECONDS)
    assert second.problems.items[0].path == "/i"
    assert edit.waiting_texts == [("/i", "typed at /i")]
    mailbox.run_until(lambda: text_at(second, "/note") == "typed at /g", SECONDS)
    assert set(notes(shelf).values()) == {"before"}


def shows_form(session: Session, path: str) -> bool:
    edit = session.edit.state
    return session.state.path == edit.path == path and not session.state.selecting and bool(edit.fields)


@pytest.mark.needs("qt")
def test_the_window_marks_all_nodes_after_open_for_writing(qtbot: Any, shelf: Shelf) -> None:
    from qt_robot import QtRobot

    robot = QtRobot(qtbot)
    robot.open(shelf.address)
    session = robot.session
    robot.wait(lambda: session.node is not None, "the root")
    robot.wait(lambda: {"g", "h"} <= set(robot.rows()), "the rows")
    for path in ("/g", "/h"):
        robot.select(path)
        robot.wait(partial(shows_form, session, path), path)
        session.set_tab("attributes")
        robot.edit("/note", f"typed at {path}")
        robot.wait(lambda: session.edit.brief.waits, "the text to wait")
    robot.select("/i")
    robot.wait(lambda: session.state.path == "/i" and not session.state.selecting, "another node")
    robot.window.run("writable")
    robot.wait(lambda: session.edit.dirty_paths == {"/g", "/h"}, "the edits of both nodes")
    robot.wait(lambda: robot.sees("2 changes"), "their number in the window")
    texts = session.edit.diff_of_all().unified
    assert all(f'"note": "typed at {path}"' in texts for path in ("/g", "/h"))
    robot.close()
