"""Texts typed into any view of the attributes of a read-only hierarchy wait until it is open for writing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import EditStatus, Field, Session
from zarrscope_app.presenters.session import actions

SECONDS = 20
ATTRIBUTES = {"name": "old", "size": 1.50, "on": True, "note": "x" * 200, "more": {"deep": [1, 2]}}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A group whose attributes have no sections, so that only two views exist."""
    with zarrscope.open(str(tmp_path / "x.zarr"), "w-") as h:
        h.root.attrs.put(ATTRIBUTES)
    return tmp_path / "x.zarr"


@pytest.fixture
def read_only(place: Path, mailbox: Mailbox) -> Any:
    s = Session(str(place), mailbox)
    s.set_tab("attributes")
    mailbox.run_until(lambda: s.node is not None and bool(s.edit.state.fields), SECONDS)
    yield s
    s.edit.revert()
    s.close()


def stored(place: Path) -> Any:
    return json.loads((place / "zarr.json").read_text())["attributes"]


def shown(s: Session, pointer: str) -> Field:
    return next(field for field in s.edit.state.fields if field.pointer == pointer)


def opened(s: Session, mailbox: Mailbox) -> None:
    s.set_writable(True)
    mailbox.run_until(lambda: s.edit.state.status in (EditStatus.DIRTY, EditStatus.INVALID), SECONDS)


def saved(s: Session, mailbox: Mailbox) -> None:
    s.edit.save()
    mailbox.run_until(lambda: s.edit.state.status is EditStatus.CLEAN, SECONDS)


def test_a_member_waits(read_only: Session, place: Path, mailbox: Mailbox) -> None:
    s = read_only
    assert s.edit.state.ways == ("fields", "json")
    s.edit.edit("/name", "new")
    s.edit.edit("/size", "2,5")
    state = s.edit.state
    assert (state.status, state.waits) == (EditStatus.READ_ONLY, True)
    assert "Save opens it for writing" in state.sentence
    assert (shown(s, "/name").text, shown(s, "/name").changed) == ("new", True)
    assert shown(s, "/size").text == "2.5"
    s.edit.show_way("json")
    assert '"name": "new"' in s.edit.state.text, "the text has what was typed in the other view"
    assert stored(place)["name"] == "old"
    opened(s, mailbox)
    assert s.edit.state.changes == 2
    saved(s, mailbox)
    assert (stored(place)["name"], stored(place)["size"]) == ("new", 2.5)


@pytest.mark.parametrize("how", ["open", "save"])
def test_what_was_changed_meanwhile_is_looked_at_first(
    how: str, read_only: Session, place: Path, mailbox: Mailbox
) -> None:
    """The typed text replaced the value of somebody else, which its author had never seen."""
    s = read_only
    s.edit.edit("/name", "mine")
    with zarrscope.open(str(place), "r+") as other:
        other.root.attrs["name"] = "theirs"
    s.set_writable(True) if how == "open" else actions.save(s)
    mailbox.run_until(lambda: "Look at the changes" in s.edit.state.sentence, SECONDS)
    assert stored(place)["name"] == "theirs"
    saved(s, mailbox)
    assert stored(place)["name"] == "mine"


def test_the_text_waits_with_what_was_typed_before(read_only: Session, place: Path, mailbox: Mailbox) -> None:
    s = read_only
    s.edit.edit("/name", "new")
    s.edit.show_way("json")
    typed = s.edit.state.text.replace("1.5", "2.50").replace("true", "false")
    s.edit.edit_text(typed)
    assert s.edit.state.waits
    assert s.edit.state.text == typed
    s.edit.show_way("fields")
    assert (shown(s, "/size").text, shown(s, "/on").text) == ("2.50", "false")
    s.edit.edit("/on", "true")
    s.edit.show_way("json")
    assert '"on": true' in s.edit.state.text
    opened(s, mailbox)
    saved(s, mailbox)
    assert stored(place) == ATTRIBUTES | {"name": "new", "size": 2.5}
    assert '"size": 2.50' in (place / "zarr.json").read_text()


def test_a_line_waits(read_only: Session, place: Path, mailbox: Mailbox) -> None:
    """Hosts of lines edit the text line by line."""
    s = read_only
    s.edit.show_way("json")
    for name, text in (("name", '"name": "a",'), ("size", '"size": 3,')):
        line = next(field for field in s.edit.state.fields if f'"{name}"' in field.text)
        s.edit.edit(line.pointer, text)
    opened(s, mailbox)
    saved(s, mailbox)
    assert (stored(place)["name"], stored(place)["size"]) == ("a", 3)


def test_what_is_invalid_stays_as_typed_and_says_why(read_only: Session, mailbox: Mailbox) -> None:
    s = read_only
    s.edit.edit("/size", "much")
    assert shown(s, "/size").text == "much"
    assert "number" in shown(s, "/size").error
    s.edit.show_way("json")
    broken = s.edit.state.text.replace("true", "tru")
    s.edit.edit_text(broken)
    state = s.edit.state
    assert state.text == broken
    assert (state.text_line > 0, bool(state.text_error)) == (True, True)
    s.edit.show_way("fields")
    opened(s, mailbox)
    assert s.edit.state.status is EditStatus.INVALID
    s.edit.show_way("json")
    assert s.edit.state.text == broken


def test_a_large_document_shows_what_was_typed(tmp_path: Path, mailbox: Mailbox) -> None:
    with zarrscope.open(str(tmp_path / "y.zarr"), "w-") as h:
        h.root.attrs.put({"name": "old", "long": ["x" * 1000] * 100})
    s = Session(str(tmp_path / "y.zarr"), mailbox)
    try:
        s.set_tab("attributes")
        mailbox.run_until(lambda: s.node is not None and bool(s.edit.state.fields), SECONDS)
        s.edit.edit("/name", "new")
        assert s.edit.state.waits
        mailbox.run_until(lambda: shown(s, "/name").text == "new", SECONDS)
        s.edit.show_way("json")
        mailbox.run_until(lambda: '"old"' in s.edit.state.text, SECONDS)
        typed = s.edit.state.text.replace('"old"', '"newer"')
        s.edit.edit_text(typed)
        assert s.edit.state.text == typed
        s.set_writable(True)
        mailbox.run_until(lambda: s.edit.state.can_save and not s.edit.busy, SECONDS)
        saved(s, mailbox)
        assert stored(tmp_path / "y.zarr")["name"] == "newer"
    finally:
        s.edit.revert()
        s.close()


# ---------------------------------------------------------------------- the window
@pytest.mark.needs("qt")
def test_in_the_window_a_member_is_typed_over(qtbot: Any, place: Path) -> None:
    from qtpy.QtCore import Qt
    from qtpy.QtWidgets import QLineEdit

    from qt_robot import window_on
    from zarrscope_app.qt.form_model import NAME, VALUE

    window, session = window_on(qtbot, str(place))
    session.set_tab("attributes")
    model, view, wait = window.form.model, window.form.view, SECONDS * 1000
    qtbot.waitUntil(lambda: view.isVisible() and model.place_of("/name") is not None, timeout=wait)
    at = model.place_of("/name")
    assert at is not None
    view.setFocus()
    view.setCurrentIndex(model.at(at, VALUE))
    qtbot.keyClick(view, Qt.Key.Key_F2)
    editor = view.indexWidget(model.at(at, VALUE))
    assert isinstance(editor, QLineEdit)
    qtbot.keyClicks(editor, "new")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: session.edit.state.waits, timeout=wait)
    assert not model.flags(model.at(at, NAME)) & Qt.ItemFlag.ItemIsEditable, "names wait for no writing"
    qtbot.waitUntil(lambda: model.data(model.at(at, VALUE)) == "new", timeout=wait)
    qtbot.waitUntil(window.form._buttons["save"].isVisible, timeout=SECONDS * 1000)
    _writes(qtbot, window, session)
    assert stored(place)["name"] == "new"


@pytest.mark.needs("qt")
def test_in_the_window_the_text_is_typed_into(qtbot: Any, place: Path) -> None:
    from qtpy.QtGui import QTextCursor

    from qt_robot import window_on

    window, session = window_on(qtbot, str(place))
    session.set_tab("attributes")
    wait = SECONDS * 1000
    qtbot.waitUntil(lambda: session.node is not None and bool(session.edit.state.fields), timeout=wait)
    session.edit.show_way("json")
    text = window.form.json.text
    qtbot.waitUntil(lambda: text.isVisible() and '"old"' in text.content(), timeout=wait)
    text.setFocus()
    cursor = text.textCursor()
    cursor.setPosition(text.content().index("old"))
    cursor.movePosition(QTextCursor.MoveOperation.Right, QTextCursor.MoveMode.KeepAnchor, 3)
    text.setTextCursor(cursor)
    qtbot.keyClicks(text, "new")
    assert '"new"' in text.content(), "no key is lost"
    qtbot.waitUntil(lambda: session.edit.state.waits, timeout=wait)
    qtbot.waitUntil(lambda: '"new"' in session.edit.state.text, timeout=wait)
    _writes(qtbot, window, session)
    qtbot.waitUntil(text.hasFocus, timeout=wait)
    qtbot.keyClicks(text, "er")
    _writes(qtbot, window, session)
    assert stored(place) == ATTRIBUTES | {"name": "newer"}


def _writes(qtbot: Any, window: Any, session: Session) -> None:
    window.run("save")
    qtbot.waitUntil(
        lambda: session.state.writable and session.edit.state.status is EditStatus.CLEAN, timeout=SECONDS * 1000
    )
