"""Another program changed the edited document: every host shows both versions, and the user chooses one for each
field.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from narrowing import not_none
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.unparsed import document_or_text
from zarrscope.model.storage import Version
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import EditStatus, Session
from zarrscope_app.presenters.form.conflict_rows import can_merge, conflict_rows, conflict_summary
from zarrscope_app.presenters.form.draft import Draft

SECONDS = 30
BEFORE = {"scale": 0.5, "name": "cells", "list": [1, 2], "deep": {"a": 1, "b": 2}, "gone": 1}
MINE = {"/scale": "3", "/name": "mine", "/deep/a": "10"}
THEIRS = {**BEFORE, "scale": 7, "name": "theirs", "list": [1, 2, 3]}
WHOSE = {"/scale": "theirs", "/name": "mine"}
MERGED = {**BEFORE, "scale": 7, "name": "mine", "list": [1, 2, 3], "deep": {"a": 10, "b": 2}}


@pytest.fixture
def place(tmp_path: Path) -> str:
    zarrscope.open(str(tmp_path / "x.zarr"), "w-").root.attrs.put(BEFORE)
    return str(tmp_path / "x.zarr")


def stored(place: str) -> Any:
    return json.loads((Path(place) / "zarr.json").read_text())["attributes"]


def disagree(place: str, session: Session, mine: dict[str, str] = MINE, theirs: Any = THEIRS) -> None:
    """Edits the form while another writer changes the document, then saves."""
    for pointer, text in mine.items():
        session.edit.edit(pointer, text)
    zarrscope.open(place, "r+").root.attrs.put(theirs)
    session.edit.save()


def until(mailbox: Mailbox, session: Session, status: EditStatus) -> None:
    mailbox.run_until(lambda: session.edit.state.status is status, SECONDS)


def select(session: Session, mailbox: Mailbox, path: str) -> None:
    session.select(path)
    mailbox.run_until(lambda: session.edit.state.path == path and bool(session.edit.state.fields), SECONDS)


def test_each_field_has_the_side_that_was_chosen_for_it(session: Session, place: str, mailbox: Mailbox) -> None:
    disagree(place, session)
    until(mailbox, session, EditStatus.CONFLICT)
    state = session.edit.state
    assert [(d.pointer, d.base, d.mine, d.theirs) for d in state.conflicts] == [
        ("/scale", "0.5", "3", "7"),
        ("/name", '"cells"', '"mine"', '"theirs"'),
    ]
    assert [(d.pointer, d.choice) for d in state.fitting] == [("/list", "theirs"), ("/deep/a", "mine")]
    assert "2 fields" in conflict_summary(state)
    session.edit.resolve("chosen")
    assert session.edit.state.status is EditStatus.CONFLICT, "nothing was chosen yet"
    for pointer, side in WHOSE.items():
        assert not can_merge(session.edit.state)
        session.edit.choose(pointer, "mine" if side == "mine" else "theirs")
    assert [d.choice for d in session.edit.state.conflicts] == ["theirs", "mine"]
    session.edit.resolve("chosen")
    until(mailbox, session, EditStatus.DIRTY)
    assert stored(place) == THEIRS, "nothing is written before the person saves"
    session.edit.save()
    until(mailbox, session, EditStatus.CLEAN)
    assert stored(place) == MERGED


def test_a_choice_is_dropped_when_the_value_that_was_chosen_is_edited(
    session: Session, place: str, mailbox: Mailbox
) -> None:
    disagree(place, session)
    until(mailbox, session, EditStatus.CONFLICT)
    for pointer, side in WHOSE.items():
        session.edit.choose(pointer, "mine" if side == "mine" else "theirs")
    session.edit.edit("/scale", "9")
    assert [(each.mine, each.choice) for each in session.edit.state.conflicts] == [("9", ""), ('"mine"', "mine")]
    session.edit.save()
    assert session.edit.state.status is EditStatus.CONFLICT, "nothing is saved before the sides are merged"
    session.edit.choose("/scale", "mine")
    session.edit.resolve("chosen")
    session.edit.save()
    until(mailbox, session, EditStatus.CLEAN)
    assert stored(place) == {**MERGED, "scale": 9}


def test_a_whole_text_that_is_not_json_yet_is_kept_as_mine() -> None:
    draft = Draft(document_or_text('{"a": ', "zarr.json", Version("1")), "", whole=True)
    draft.push(draft.with_text('{"a": 1}'))
    assert not draft.meet(Document(b'{"a": 2}', "zarr.json", Version("2")))
    draft.push(draft.with_text('{"a": 1, '))
    draft.resolve("mine")
    assert draft.now.text == '{"a": 1, '
    assert draft.unfinished


def test_fields_that_only_they_changed_come_before_those_that_only_i_changed(
    session: Session, place: str, mailbox: Mailbox
) -> None:
    disagree(place, session, {**MINE, "/deep/b": "20"})
    until(mailbox, session, EditStatus.CONFLICT)
    rows = conflict_rows(session.edit.state)
    assert [row.label for row in rows] == ["/scale", "/name", "/list", "/deep/a", "/deep/b"]
    assert [row.fixed for row in rows] == [False, False, True, True, True]
    assert rows[2].note == "only they changed it"


def test_what_holds_a_field_is_one_choice_and_what_was_removed_is_said(
    session: Session, place: str, mailbox: Mailbox
) -> None:
    without = {name: value for name, value in BEFORE.items() if name not in ("deep", "gone")}
    disagree(place, session, {"/deep/a": "10", "/deep/b": "20", "/gone": "2"}, without)
    until(mailbox, session, EditStatus.CONFLICT)
    deep, gone = conflict_rows(session.edit.state)
    assert (deep.label, deep.theirs, deep.fixed) == ("/deep", "(not there)", False)
    assert '"a": 10' in deep.mine
    assert '"b": 20' in deep.mine
    session.edit.choose("/deep", "mine")
    session.edit.choose("/gone", "theirs")
    session.edit.resolve("chosen")
    session.edit.save()
    until(mailbox, session, EditStatus.CLEAN)
    assert stored(place) == {**without, "deep": {"a": 10, "b": 20}}
    assert gone.before == "1"


def test_all_documents_are_saved_or_none_while_one_is_in_conflict(
    session: Session, place: str, mailbox: Mailbox
) -> None:
    def values() -> list[Any]:
        return [dict(zarrscope.open(place)[path].attributes)["n"] for path in ("/a", "/b")]

    with zarrscope.open(place, "r+") as h:
        for name in "ab":
            h.create_group(f"/{name}", attributes={"n": 1})
    session.reload()
    for name in "ab":
        select(session, mailbox, f"/{name}")
        session.edit.edit("/n", "2")
    zarrscope.open(place, "r+")["/b"].attrs.put({"n": 3})
    told: list[str | None] = []
    session.edit.save_all(told.append)
    mailbox.run_until(lambda: len(told) == 1, SECONDS)
    assert told == ["/b"]
    assert values() == [1, 3]
    assert session.edit.state.status is EditStatus.CONFLICT
    session.edit.resolve("mine")
    session.edit.save_all(told.append)
    mailbox.run_until(lambda: len(told) == 2, SECONDS)
    assert told[1] is None
    assert values() == [2, 2]


@pytest.mark.needs("qt")
def test_in_the_window_a_side_is_clicked_or_chosen_by_keys(qtbot: Any, place: str) -> None:
    from qtpy.QtCore import Qt
    from qtpy.QtWidgets import QPushButton, QStyledItemDelegate, QStyleOptionViewItem

    from zarrscope_app.presenters import MemorySettings
    from zarrscope_app.qt.window import Window

    window = Window(MemorySettings())
    qtbot.addWidget(window, before_close_func=lambda _: window.workspace.close_all())
    window.show()
    window.open(place, True)
    session = window.workspace.current
    assert session is not None
    qtbot.waitUntil(lambda: bool(session.edit.state.fields), timeout=SECONDS * 1000)
    session.set_tab("attributes")
    window.activateWindow()
    window.form.focus_form()
    qtbot.waitUntil(lambda: window.form.has_keyboard, timeout=SECONDS * 1000)
    disagree(place, session)
    view = window.form.conflict
    rows = not_none(view.table.model())
    qtbot.waitUntil(lambda: view.isVisible() and rows.rowCount() == 4, timeout=SECONDS * 1000)
    assert view.table.hasFocus(), "a side is chosen without going through the form"
    merge = next(b for b in view.findChildren(QPushButton) if b.text() == "Merge as chosen")
    assert not merge.isEnabled()
    option = QStyleOptionViewItem()
    delegate = view.table.itemDelegateForColumn(0)
    assert isinstance(delegate, QStyledItemDelegate)
    delegate.initStyleOption(option, rows.index(0, 0))
    assert option.textElideMode == Qt.TextElideMode.ElideLeft, "the end of a long path is seen"
    viewport = view.table.viewport()
    assert viewport is not None
    qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=view.table.visualRect(rows.index(0, 3)).center())
    qtbot.waitUntil(lambda: session.edit.state.conflicts[0].choice == "theirs", timeout=SECONDS * 1000)
    view.table.setCurrentIndex(rows.index(1, 2))
    qtbot.keyClick(view.table, Qt.Key.Key_Space)
    qtbot.waitUntil(merge.isEnabled, timeout=SECONDS * 1000)
    qtbot.mouseClick(merge, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not view.isVisible(), timeout=SECONDS * 1000)
    session.edit.save()
    qtbot.waitUntil(lambda: stored(place) == MERGED, timeout=SECONDS * 1000)
    qtbot.waitUntil(lambda: not session.edit.saving, timeout=SECONDS * 1000)


def test_in_the_terminal_each_field_is_chosen_by_keys(place: str) -> None:
    from textual.widgets import Static

    from zarrscope_app.tui.app import Explorer

    app = Explorer(place, writable=True)

    async def until(pilot: Any, happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not happened():
                await pilot.pause(0.01)

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            edit = app.session.edit
            await until(pilot, lambda: app.session.node is not None and bool(edit.state.fields))
            await pilot.press("e")
            await until(pilot, lambda: app._panes.current == "attributes")
            disagree(place, app.session)
            await until(pilot, lambda: edit.state.status is EditStatus.CONFLICT)
            await until(pilot, lambda: bool(app.screen.query("#following")))
            await pilot.press("d")  # a user who knows the key presses it directly: the dialog stays open
            shown = app.screen.query_one("#following", Static)
            assert "[ ] Theirs  7" in str(shown.render())
            await pilot.press("enter")
            assert edit.state.status is EditStatus.CONFLICT, "Enter waits until each field has a side"
            await pilot.press("t", "down", "m")
            await until(pilot, lambda: [d.choice for d in edit.state.conflicts] == ["theirs", "mine"])
            assert "[x] Theirs  7" in str(shown.render())
            await pilot.press("enter")
            await until(pilot, lambda: edit.state.status is EditStatus.DIRTY)
            edit.save()
            await until(pilot, lambda: edit.state.status is EditStatus.CLEAN)

    asyncio.run(run())
    assert stored(place) == MERGED
