"""The form in the window: keys and gestures that only a desktop has."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import zarrscope
from zarrscope_app.presenters import Forgetful

if TYPE_CHECKING:
    from zarrscope_app.qt.window import Window

pytestmark = pytest.mark.needs("qt")

MILLISECONDS = 30_000
SPACE = [{"name": n, "type": "space", "unit": "micrometer"} for n in "yx"]
SCALE = [{"type": "scale", "scale": [0.5, 0.5]}]
DATASETS = [{"path": "0", "coordinateTransformations": SCALE}]
IMAGE = {"version": "0.5", "multiscales": [{"axes": SPACE, "datasets": DATASETS}]}


@pytest.fixture
def place(tmp_path: Path) -> str:
    h = zarrscope.open(str(tmp_path / "x.zarr"), "w-")
    h.root.attrs.put({"ome": IMAGE, "mine": {"note": "as it was", "list": list(range(200))}})
    h.create_array("/0", shape=(16, 16), dtype="uint8", chunks=(16, 16))
    return str(tmp_path / "x.zarr")


@pytest.fixture
def shown(qtbot: Any, place: str) -> Callable[[str], Window]:
    """shown(way): a window on the attributes, open for writing."""
    from zarrscope_app.qt.window import Window

    def shown(way: Any) -> Window:
        window = Window(Forgetful())
        qtbot.addWidget(window, before_close_func=lambda _: window.workspace.close_all())
        window.show()
        window.activateWindow()
        qtbot.waitActive(window, timeout=MILLISECONDS)
        window.open(place, True)
        session = window.workspace.current
        assert session is not None
        qtbot.waitUntil(lambda: bool(session.edit.state.sections), timeout=MILLISECONDS)
        session.set_tab("attributes")
        session.edit.show_way(way)
        qtbot.waitUntil(lambda: session.edit.state.way == way and window.form.isVisible(), timeout=MILLISECONDS)
        return window

    return shown


def attributes(place: str) -> Any:
    return json.loads((Path(place) / "zarr.json").read_text())["attributes"]


def size(place: str) -> Any:
    return attributes(place)["ome"]["multiscales"][0]["datasets"][0]["coordinateTransformations"][0]["scale"][0]


# ---------------------------------------------------------------------- typing
def test_a_text_that_is_being_typed_outlives_changes_of_its_row(
    qtbot: Any, shown: Callable[[str], Window], place: str
) -> None:
    """Findings arrive from the background while a person types, and change the rows that they are about."""
    from qtpy.QtCore import Qt
    from qtpy.QtWidgets import QLineEdit

    window = shown("fields")
    form, model = window.form, window.form.model
    qtbot.waitUntil(lambda: model.place_of("/mine/note") is not None, timeout=MILLISECONDS)
    place_of_note = model.place_of("/mine/note")
    assert place_of_note is not None
    index = model.at(place_of_note, 1)
    form.view.setCurrentIndex(index)
    form.view.edit(index)
    editor = form.view.viewport().findChild(QLineEdit)
    assert editor is not None
    editor.selectAll()
    qtbot.keyClicks(editor, '"mended"')
    model.dataChanged.emit(index.siblingAtColumn(0), index.siblingAtColumn(2))
    assert editor.text() == '"mended"'
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "mended" in index.data(), timeout=MILLISECONDS)


# ---------------------------------------------------------------------- undo in a field
@pytest.mark.parametrize("id", ["size/0", "unit/0"])
def test_undo_in_a_field_is_the_documents_once_the_text_was_taken_over(
    qtbot: Any, shown: Callable[[str], Window], place: str, id: str
) -> None:
    from qtpy.QtCore import Qt
    from qtpy.QtWidgets import QComboBox

    window = shown("image")
    session = window.workspace.current
    assert session is not None
    edit, control = session.edit, Qt.KeyboardModifier.ControlModifier
    found: Any = window.form.sections.editors[id]
    found.setFocus()
    line = found.lineEdit() if isinstance(found, QComboBox) else found
    qtbot.waitUntil(found.hasFocus, timeout=MILLISECONDS)
    before, typed = line.text(), {"size/0": "2", "unit/0": "meter"}[id]
    line.selectAll()
    qtbot.keyClicks(found, typed)
    qtbot.keyClick(found, Qt.Key.Key_Z, control)
    assert line.text() != typed, "while it is typed, its own undo acts"
    assert edit.state.changes == 0
    line.selectAll()
    qtbot.keyClicks(found, typed)
    qtbot.keyClick(found, Qt.Key.Key_S, control)
    qtbot.waitUntil(lambda: edit.state.changes == 0 and edit.state.can_undo, timeout=MILLISECONDS)
    undo, redo = (window.menus.actions[name] for name in ("undo", "redo"))
    qtbot.waitUntil(lambda: not edit.saving and undo.isEnabled(), timeout=MILLISECONDS)
    assert found.hasFocus()
    qtbot.keyClick(found, Qt.Key.Key_Z, control)
    qtbot.waitUntil(lambda: line.text() == before and edit.state.changes > 0, timeout=MILLISECONDS)
    qtbot.waitUntil(redo.isEnabled, timeout=MILLISECONDS)
    qtbot.keyClick(found, Qt.Key.Key_Z, control | Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitUntil(lambda: line.text() == typed and edit.state.changes == 0, timeout=MILLISECONDS)
    qtbot.waitUntil(undo.isEnabled, timeout=MILLISECONDS)
    qtbot.keyClick(found, Qt.Key.Key_Z, control)
    qtbot.waitUntil(lambda: line.text() == before, timeout=MILLISECONDS)
    qtbot.waitUntil(redo.isEnabled, timeout=MILLISECONDS)
    qtbot.keyClick(found, Qt.Key.Key_Y, control)
    qtbot.waitUntil(lambda: line.text() == typed, timeout=MILLISECONDS)


def test_undo_in_the_text_is_the_documents_once_it_was_taken_over(
    qtbot: Any, shown: Callable[[str], Window], place: str
) -> None:
    from qtpy.QtCore import Qt

    window = shown("json")
    session = window.workspace.current
    assert session is not None
    text: Any = window.form.json.text
    qtbot.waitUntil(lambda: "as it was" in text.toPlainText(), timeout=MILLISECONDS)
    before = text.toPlainText()
    text.setFocus()
    qtbot.waitUntil(text.hasFocus, timeout=MILLISECONDS)
    cursor = text.textCursor()
    cursor.setPosition(before.index("as it was"))
    text.setTextCursor(cursor)
    qtbot.keyClicks(text, "not ")
    qtbot.keyClick(text, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: attributes(place)["mine"]["note"] == "not as it was", timeout=MILLISECONDS)
    qtbot.waitUntil(lambda: not session.edit.saving and window.menus.actions["undo"].isEnabled(), timeout=MILLISECONDS)
    qtbot.keyClick(text, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: text.toPlainText() == before, timeout=MILLISECONDS)
    assert session.edit.state.changes == 1


def test_the_review_gives_the_changes_as_commands_that_show_the_same(
    qtbot: Any, shown: Callable[[str], Window], place: str
) -> None:
    import shlex

    from qtpy.QtWidgets import QApplication

    from zarrscope_app.cli import run

    window = shown("fields")
    session = window.workspace.current
    assert session is not None
    session.edit.edit("/mine/note", "it's -1")
    session.edit.add("", "n", "-1")
    session.edit.remove("/mine/list")
    window.run("review")
    qtbot.waitUntil(window.menus.actions["copy-commands"].isEnabled, timeout=MILLISECONDS)
    window.form.diff.asked.emit("copy-commands")
    clipboard = QApplication.clipboard()
    assert clipboard is not None
    lines = clipboard.text().splitlines()
    assert len(lines) == 3
    before = attributes(place)
    for line in lines:
        assert run(shlex.split(line)[1:]) == 0
    assert attributes(place) == before, "a dry run writes nothing"
    for line in lines:
        assert run(shlex.split(line.replace("--dry-run", ""))[1:]) == 0
    assert attributes(place)["mine"] == {"note": "it's -1"}
    assert attributes(place)["n"] == -1
