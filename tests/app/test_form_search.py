"""The search among all fields also finds text in folded branches and long lists, of which one page is displayed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import EditStatus, Session
from zarrscope_app.presenters.form.pages import PAGE

SECONDS = 30
LONG = 2500
ATTRIBUTES = {
    "many": [{"label": f"cell {i}", "size": i} for i in range(LONG)],
    "deep": {"a": {"b": {"Needle": 1}}},
    "note": "first line\nsecond line with a needle",
    "by": {f"k{i}": i for i in range(LONG)},
}


@pytest.fixture
def place(tmp_path: Path) -> str:
    zarrscope.open(str(tmp_path / "x.zarr"), "w-").root.attrs.put(ATTRIBUTES)
    return str(tmp_path / "x.zarr")


def find(session: Session, mailbox: Mailbox, text: str, sentence: str) -> str | None:
    session.edit.search.look_for(text)
    mailbox.run_until(lambda: session.edit.search.found.sentence == sentence, SECONDS)
    return session.edit.search.found.pointer


def on_show(session: Session, mailbox: Mailbox, pointer: str) -> list[str]:
    """The displayed fields, when the field that was searched for is among them."""
    mailbox.run_until(lambda: any(field.pointer == pointer for field in session.edit.state.fields), SECONDS)
    return [field.pointer for field in session.edit.state.fields]


def test_names_and_values_are_found_in_folded_branches_and_walked_in_a_ring(session: Session, mailbox: Mailbox) -> None:
    for pointer in ("/deep", "/deep/a"):
        session.edit.fold(pointer, True)
    assert find(session, mailbox, "needle", "1 of 2") == "/deep/a/b/Needle"
    on_show(session, mailbox, "/deep/a/b/Needle")
    session.edit.search.step(1)
    assert session.edit.search.found.pointer == "/note"
    session.edit.search.step(1)
    assert session.edit.search.found.sentence == "1 of 2", "after the last comes the first"
    session.edit.search.step(-1)
    assert session.edit.search.found.pointer == "/note"
    assert find(session, mailbox, "no such thing", "nothing found") is None
    session.edit.search.look_for("")
    assert session.edit.search.found.sentence == ""


def test_an_item_far_down_a_long_list_is_brought_on_show_and_edited(
    session: Session, place: str, mailbox: Mailbox
) -> None:
    assert find(session, mailbox, "cell 1777", "1 of 1") == "/many/1777/label"
    shown = on_show(session, mailbox, "/many/1777/label")
    assert sum(pointer.count("/") == 2 and pointer.startswith("/many/") for pointer in shown) == PAGE
    many = session.edit.field("/many")
    assert many is not None
    assert "1,601–1,800 of 2,500" in many.summary
    session.edit.edit("/many/1777/label", "other")
    session.edit.edit("/many/1777/size", "-1")
    mailbox.run_until(lambda: session.edit.state.changes == 2, SECONDS)
    session.edit.save()
    mailbox.run_until(lambda: session.edit.state.status is EditStatus.CLEAN, SECONDS)
    stored = json.loads((Path(place) / "zarr.json").read_text())["attributes"]
    assert stored["many"][1777] == {"label": "other", "size": -1}
    assert find(session, mailbox, "k2499", "1 of 1") == "/by/k2499"
    on_show(session, mailbox, "/by/k2499")


def test_pages_of_a_long_list_are_turned(session: Session, mailbox: Mailbox) -> None:
    session.edit.turn_page("/many", 1)
    shown = on_show(session, mailbox, f"/many/{PAGE}")
    assert "/many/0" not in shown
    session.edit.turn_page("/many", -1)
    session.edit.turn_page("/many", -1)
    on_show(session, mailbox, "/many/0")  # there is no page before the first
    assert session.edit.add("/many", "", "5") == f"/many/{LONG}"
    on_show(session, mailbox, f"/many/{LONG}")  # the added field is visible


def test_what_is_edited_meanwhile_is_looked_through_again(session: Session, mailbox: Mailbox) -> None:
    assert find(session, mailbox, "needle", "1 of 2")
    session.edit.remove("/deep")
    mailbox.run_until(lambda: session.edit.state.changes == 1, SECONDS)
    session.edit.search.step(1)
    mailbox.run_until(lambda: session.edit.search.found.sentence == "1 of 1", SECONDS)
    assert session.edit.search.found.pointer == "/note"


@pytest.mark.needs("qt")
def test_in_the_window(qtbot: Any, place: str) -> None:
    """Ctrl+F in the form finds a field, Enter goes to the next one, and a long text has its own pane."""
    from qtpy.QtCore import Qt

    from zarrscope_app.presenters import MemorySettings
    from zarrscope_app.qt.window import Window

    window = Window(MemorySettings())
    qtbot.addWidget(window, before_close_func=lambda _: window.workspace.close_all())
    window.show()
    window.activateWindow()
    qtbot.waitActive(window, timeout=SECONDS * 1000)
    window.open(place, True)
    session = window.workspace.current
    assert session is not None
    qtbot.waitUntil(lambda: bool(session.edit.state.fields), timeout=SECONDS * 1000)
    session.set_tab("attributes")
    form = window.form
    qtbot.waitUntil(form.view.isVisible, timeout=SECONDS * 1000)
    form.view.setFocus()
    qtbot.waitUntil(form.view.hasFocus, timeout=SECONDS * 1000)
    qtbot.keyClick(form.view, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(form.find_bar.line.hasFocus, timeout=SECONDS * 1000)
    qtbot.keyClicks(form.find_bar.line, "needle")
    qtbot.waitUntil(lambda: form.find_bar.count.text() == "1 of 2", timeout=SECONDS * 1000)
    qtbot.keyClick(form.find_bar.line, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: form.find_bar.count.text() == "2 of 2", timeout=SECONDS * 1000)

    def at() -> str:
        field = form.model.field(form.view.currentIndex())
        return field.pointer if field is not None else ""

    qtbot.waitUntil(lambda: at() == "/note", timeout=SECONDS * 1000)
    pane = form.value
    qtbot.waitUntil(pane.isVisible, timeout=SECONDS * 1000)
    assert pane.text.toPlainText() == ATTRIBUTES["note"]
    pane.text.setFocus()
    qtbot.waitUntil(pane.text.hasFocus, timeout=SECONDS * 1000)
    qtbot.keyClicks(pane.text, "0: ")
    qtbot.keyClick(pane.text, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: session.edit.state.changes == 1, timeout=SECONDS * 1000)
    edited = session.edit.field("/note")
    assert edited is not None
    assert edited.text == f"0: {ATTRIBUTES['note']}"
    session.edit.revert()
