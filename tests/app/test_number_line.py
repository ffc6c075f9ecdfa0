"""A double-click on a number in a field of the form selects the whole number, wherever it hits."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.needs("qt")


def selected(qtbot: Any, line: Any, text: str, at: int) -> str:
    """The selected text after a double-click on the character `at` of a text."""
    from qtpy.QtCore import QPoint, Qt

    line.setText(text)
    line.setCursorPosition(at)
    left = line.cursorRect().center().x()
    line.setCursorPosition(at + 1)
    middle = (left + line.cursorRect().center().x()) // 2
    line.deselect()
    qtbot.mouseDClick(line, Qt.MouseButton.LeftButton, pos=QPoint(middle, line.height() // 2))
    return str(line.selectedText())


@pytest.mark.parametrize("number", ["0.432", "-0.5", "1e-3", "+2.5E+10", "0,5", ".25", "1000"])
def test_a_double_click_selects_the_whole_number(qtbot: Any, number: str) -> None:
    from zarrscope_app.qt.number_line import NumberLine

    line = NumberLine()
    qtbot.addWidget(line)
    line.resize(240, 30)
    line.show()
    for at in range(len(number)):
        assert selected(qtbot, line, number, at) == number
    with_unit = f"{number} nm"
    assert selected(qtbot, line, with_unit, 0) == number
    assert selected(qtbot, line, with_unit, len(number) + 2) == "nm"


@pytest.mark.parametrize(("text", "typed"), [("1", "0.108"), ("0.432", "0.108"), ("500 nm", "0.108 nm"), ("", "0.108")])
def test_the_first_click_selects_the_number_that_typing_replaces(qtbot: Any, text: str, typed: str) -> None:
    """A click between the digits and a typed number would give another number: 1 and 0.108 give 10.108."""
    from qtpy.QtCore import Qt

    _window, line = field(qtbot, text)
    qtbot.mouseClick(line, Qt.MouseButton.LeftButton)
    qtbot.keyClicks(line, "0.108")
    assert line.text() == typed
    qtbot.mouseClick(line, Qt.MouseButton.LeftButton)
    assert not line.selectedText(), "a second click puts the cursor into the number"


def test_the_first_click_into_a_name_puts_the_cursor_there(qtbot: Any) -> None:
    from qtpy.QtCore import QPoint, Qt

    _window, line = field(qtbot, "CD45")
    qtbot.mouseClick(line, Qt.MouseButton.LeftButton, pos=QPoint(line.width() - 4, line.height() // 2))
    qtbot.keyClicks(line, "RO")
    assert line.text() == "CD45RO"


def test_a_part_that_is_marked_with_the_mouse_stays_marked(qtbot: Any) -> None:
    from qtpy.QtCore import QPoint, Qt

    _window, line = field(qtbot, "123456")
    line.setCursorPosition(3)
    middle = QPoint(line.cursorRect().center().x(), line.height() // 2)
    qtbot.mousePress(line, Qt.MouseButton.LeftButton, pos=QPoint(4, line.height() // 2))
    qtbot.mouseMove(line, middle)
    qtbot.mouseRelease(line, Qt.MouseButton.LeftButton, pos=middle)
    assert line.selectedText() == "123"


def field(qtbot: Any, text: str) -> tuple[Any, Any]:
    """A window, and a field with a text in it, below another one that has the keyboard focus."""
    from qtpy.QtWidgets import QLineEdit, QVBoxLayout, QWidget

    from zarrscope_app.qt.number_line import NumberLine

    window = QWidget()
    column = QVBoxLayout(window)
    above, line = QLineEdit(), NumberLine()
    for each in (above, line):
        column.addWidget(each)
    line.setText(text)
    qtbot.addWidget(window)
    window.show()
    window.activateWindow()
    above.setFocus()
    qtbot.waitUntil(above.hasFocus)
    return window, line


def test_names_are_selected_by_words(qtbot: Any) -> None:
    from zarrscope_app.qt.number_line import NumberLine

    line = NumberLine()
    qtbot.addWidget(line)
    line.resize(240, 30)
    line.show()
    assert selected(qtbot, line, "DAPI stain", 6) == "stain"
    assert selected(qtbot, line, "v2.5", 3) == "5", "no number, but a part of a name"
    assert selected(qtbot, line, "", 0) == ""


def test_the_editors_of_numbers_are_such_lines(qtbot: Any, tmp_path: Any) -> None:
    """The fields of the form, the rows of all fields, and the typed limits beside the picture."""
    import zarrscope
    from qt_robot import window_on
    from zarrscope_app.qt.form_model import VALUE
    from zarrscope_app.qt.number_line import NumberLine
    from zarrscope_app.qt.typed_field import TypedField

    levels = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [0.432, 0.2]}]}]
    axes = [{"name": name, "type": "space"} for name in "yx"]
    with zarrscope.open(str(tmp_path / "x.zarr"), "w-") as h:
        h.root.attrs.put({"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}})
        h.create_array("/0", shape=(8, 8), dtype="uint8")
    window, session = window_on(qtbot, str(tmp_path / "x.zarr"), writable=True)
    session.set_tab("attributes")
    sections = window.form.sections
    qtbot.waitUntil(lambda: "size/0" in sections.editors and sections.isVisible(), timeout=20_000)
    size: Any = sections.editors["size/0"]
    assert isinstance(size, NumberLine)
    assert selected(qtbot, size, "0.432", 3) == "0.432"
    qtbot.keyClicks(size, "0.65")
    assert size.text() == "0.65"
    session.edit.show_way("fields")
    pointer = "/ome/multiscales/0/datasets/0/coordinateTransformations/0/scale/0"
    model, view = window.form.model, window.form.view
    qtbot.waitUntil(lambda: view.isVisible() and model.place_of(pointer) is not None, timeout=20_000)
    place = model.place_of(pointer)
    assert place is not None
    index = model.at(place, VALUE)
    view.setCurrentIndex(index)
    view.edit(index)
    assert isinstance(view.indexWidget(index), NumberLine)
    assert issubclass(TypedField, NumberLine)
    session.edit.revert()
