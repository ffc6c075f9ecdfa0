"""Several nodes that are selected in the window's tree bring their common form to the front, at its first field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from qtpy import QtTest
from qtpy.QtCore import QPoint, Qt

from contracts.slides import image
from narrowing import not_none

pytestmark = pytest.mark.needs("qt", "display")
SECONDS = 20
QTest: Any = QtTest.QTest  # PyQt6 declares its static functions as methods
SHIFT, CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def shown(qtbot: Any, tmp_path: Path) -> tuple[Any, Any]:
    from qt_robot import window_on

    for name in "abc":
        image(tmp_path / "slides" / f"{name}.zarr", (f"channel {name}", "GFP"))
    window, session = window_on(qtbot, str(tmp_path / "slides"))
    qtbot.waitUntil(lambda: row(window, session, "/c.zarr") is not None, timeout=SECONDS * 1000)
    return window, session


def row(window: Any, session: Any, path: str) -> QPoint | None:
    id, model = session.tree.find(path), window.tree.model
    index = model.index_of(id) if id is not None and model is not None else None
    return window.tree.view.visualRect(index).center() if index is not None and index.isValid() else None


def click(window: Any, session: Any, path: str, modifiers: Any = Qt.KeyboardModifier.NoModifier) -> None:
    place = not_none(row(window, session, path))
    QTest.mouseClick(window.tree.view.viewport(), Qt.MouseButton.LeftButton, modifiers, place)


def has_first_field(window: Any, count: int) -> bool:
    editors = window.form.sections.editors
    title = window.tabs.tabText(window.tabs.currentIndex())
    return title == f"Attributes of {count}" and "size/1" in editors and bool(editors["size/1"].hasFocus())


def test_clicks_lead_to_the_form_and_back_to_the_picture(qtbot: Any, shown: tuple[Any, Any]) -> None:
    window, session = shown
    click(window, session, "/a.zarr")
    qtbot.waitUntil(lambda: session.node is not None and session.state.tab == "image", timeout=SECONDS * 1000)
    click(window, session, "/c.zarr", SHIFT)
    qtbot.waitUntil(lambda: has_first_field(window, 3), timeout=SECONDS * 1000)
    click(window, session, "/b.zarr", CTRL)
    qtbot.waitUntil(lambda: has_first_field(window, 2), timeout=SECONDS * 1000)
    click(window, session, "/b.zarr")
    qtbot.waitUntil(lambda: session.state.tab == "image" and session.node is not None, timeout=SECONDS * 1000)
    assert not session.edit.several


def test_a_tab_chosen_meanwhile_stays(qtbot: Any, shown: tuple[Any, Any]) -> None:
    window, session = shown
    click(window, session, "/a.zarr")
    click(window, session, "/b.zarr", SHIFT)
    qtbot.waitUntil(lambda: has_first_field(window, 2), timeout=SECONDS * 1000)
    session.set_tab("info")
    click(window, session, "/c.zarr", SHIFT)
    qtbot.waitUntil(lambda: session.edit.several == ("/a.zarr", "/b.zarr", "/c.zarr"), timeout=SECONDS * 1000)
    qtbot.waitUntil(lambda: session.node is not None, timeout=SECONDS * 1000)
    assert session.state.tab == "info"
    click(window, session, "/c.zarr")
    qtbot.waitUntil(lambda: not session.edit.several and session.node is not None, timeout=SECONDS * 1000)
    assert session.state.tab == "info"


def test_the_keys_stay_in_the_tree_while_rows_are_added(qtbot: Any, shown: tuple[Any, Any]) -> None:
    window, session = shown
    click(window, session, "/a.zarr")
    view = window.tree.view
    for count in (2, 3):
        qtbot.keyClick(view, Qt.Key.Key_Down, SHIFT)
        qtbot.waitUntil(lambda count=count: len(session.edit.several) == count, timeout=SECONDS * 1000)
    qtbot.waitUntil(lambda: bool(session.edit.state.sections), timeout=SECONDS * 1000)
    assert view.hasFocus()
    assert session.state.tab == "attributes"
    qtbot.keyClick(view, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: has_first_field(window, 3), timeout=SECONDS * 1000)


def test_the_tree_stays_readable_beside_the_form(qtbot: Any, tmp_path: Path) -> None:
    """The form took the width that a sentence about all images needs, and left the tree 78 pixels."""
    from qt_robot import window_on

    names = [f"{letter}-of-the-embryos-of-the-second-day.ome.zarr" for letter in "abc"]
    for name, channels in zip(names, (("DAPI",), ("DAPI", "GFP"), ("DAPI", "GFP")), strict=True):
        image(tmp_path / "slides" / name, channels)
    text = tmp_path / "slides" / names[1] / "zarr.json"
    text.write_text(text.read_text().replace("FFFFFF", "white"))
    window, session = window_on(qtbot, str(tmp_path / "slides"))
    window.resize(900, 600)
    qtbot.waitUntil(lambda: row(window, session, f"/{names[2]}") is not None, timeout=SECONDS * 1000)
    wide = window.panels.panels["tree"].width()
    session.select_several([f"/{name}" for name in names])
    qtbot.waitUntil(lambda: session.edit.state.summary.startswith("1 of 3 with errors: /b-of"), timeout=SECONDS * 1000)
    qtbot.wait(50)
    assert window.panels.panels["tree"].width() == wide


def test_the_root_selected_with_others_looks_selected(qtbot: Any, shown: tuple[Any, Any]) -> None:
    """It counted as selected, but its row was no longer marked once the form of the other node had come."""
    window, session = shown
    click(window, session, "/a.zarr")
    qtbot.waitUntil(lambda: session.node is not None and session.state.path == "/a.zarr", timeout=SECONDS * 1000)
    session.select_several(["/", "/a.zarr"])
    selection, model = window.tree.view.selectionModel(), window.tree.model
    for path in ("/", "/a.zarr"):
        row = model.index_of(session.tree.find(path))
        qtbot.waitUntil(lambda row=row: selection.isSelected(row), timeout=SECONDS * 1000)
