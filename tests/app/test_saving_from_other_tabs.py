"""Attributes are saved while another tab is in front: what prevents it brings the form to the front."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from qtpy import QtTest
from qtpy.QtCore import Qt

import zarrscope
from contracts.slides import image
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import EditStatus, Session
from zarrscope_app.presenters.session.actions import perform

SECONDS = 30
NAME = "/ome/multiscales/0/name"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    image(tmp_path / "a.zarr", ("DAPI",))
    return tmp_path / "a.zarr"


@pytest.fixture
def session(place: Path, mailbox: Mailbox) -> Iterator[Session]:
    made = Session(str(place), mailbox, writable=True)
    mailbox.run_until(lambda: made.state.tab == "image" and made.edit.state.status is EditStatus.CLEAN, SECONDS)
    yield made
    made.close()


def saved_elsewhere(place: Path) -> None:
    with zarrscope.open(str(place), "r+") as other:
        told = json.loads(json.dumps(dict(other.root.attributes)))
        told["ome"]["multiscales"][0]["name"] = "theirs"
        other.root.attrs.put(told)


def test_a_save_that_succeeds_leaves_the_picture_in_front(session: Session, mailbox: Mailbox) -> None:
    session.edit.edit(NAME, "mine")
    perform(session, "save")
    mailbox.run_until(lambda: session.edit.state.status is EditStatus.CLEAN, SECONDS)
    assert session.state.tab == "image"


def test_a_conflict_is_shown(session: Session, place: Path, mailbox: Mailbox) -> None:
    session.edit.edit(NAME, "mine")
    saved_elsewhere(place)
    perform(session, "save")
    mailbox.run_until(lambda: session.edit.state.status is EditStatus.CONFLICT, SECONDS)
    mailbox.run_until(lambda: session.state.tab == "attributes", SECONDS)
    session.set_tab("image")
    mailbox.run_until(lambda: session.state.tab == "image", SECONDS)
    session.edit.changed.emit()
    assert session.state.tab == "image", "a person who leaves it is not brought back"
    perform(session, "save")
    assert session.state.tab == "attributes", "until the next attempt to save"


def test_a_failure_is_shown_and_the_next_image_opens_as_a_picture(
    session: Session, place: Path, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise zarrscope.errors.Unreadable("The file could not be written: No space left on device", key="zarr.json")

    monkeypatch.setattr("zarrscope_app.presenters.form.saving.save", full)
    session.edit.edit(NAME, "mine")
    perform(session, "save")
    mailbox.run_until(lambda: session.state.tab == "attributes", SECONDS)
    assert "No space left" in session.edit.state.sentence
    session.select("/0")
    mailbox.run_until(lambda: session.state.path == "/0" and not session.state.selecting, SECONDS)
    assert session.state.tab == "image"


def test_a_field_that_is_wrong_is_shown(session: Session, mailbox: Mailbox) -> None:
    session.edit.edit("size/1", "wide")
    mailbox.run_until(lambda: session.edit.state.status is EditStatus.INVALID, SECONDS)
    perform(session, "save")
    assert session.state.tab == "attributes"


def test_what_others_changed_before_the_place_was_open_for_writing_is_shown(place: Path, mailbox: Mailbox) -> None:
    session = Session(str(place), mailbox)
    mailbox.run_until(lambda: session.state.tab == "image" and session.edit.state.status is EditStatus.READ_ONLY)
    session.edit.edit(NAME, "mine")
    assert session.edit.state.waits
    saved_elsewhere(place)
    perform(session, "save")
    mailbox.run_until(lambda: session.state.tab == "attributes", SECONDS)
    assert "Look at the changes" in session.edit.state.sentence
    session.close()


@pytest.mark.needs("qt", "display")
def test_ctrl_s_on_the_picture_leads_to_the_conflict(qtbot: Any, place: Path) -> None:
    from qt_robot import window_on

    press: Any = QtTest.QTest.keyClick
    window, session = window_on(qtbot, str(place))
    wait = SECONDS * 1000
    session.set_writable(True)
    ready = (EditStatus.CLEAN,)
    qtbot.waitUntil(lambda: session.state.writable and session.edit.state.status in ready, timeout=wait)
    qtbot.waitUntil(window.image.canvas.isVisible, timeout=wait)
    session.edit.edit(NAME, "mine")
    saved_elsewhere(place)
    qtbot.waitUntil(window.menus.actions["save"].isEnabled, timeout=wait)
    window.image.canvas.setFocus()
    press(window.image.canvas, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: window.form.conflict.isVisible(), timeout=wait)
    assert window.menus.actions["save"].isEnabled(), "it leads there from the other tabs"
