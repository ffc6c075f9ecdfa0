"""The rows of a section of the form fit each width: notes go beneath, editors shrink, and continue on further lines."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

pytestmark = pytest.mark.needs("qt")
Page = Callable[[int], dict[str, Any]]
"""Lays the section out at a width, and returns the places (QRect) of its widgets by their names."""
NARROW = (230, 260, 300, 340, 420, 640)


@pytest.fixture
def channels(qtbot: Any) -> Page:
    """A section of two rows with five fields, as those of channels."""
    from qtpy.QtWidgets import QApplication, QCheckBox, QLineEdit, QScrollArea, QWidget

    from zarrscope_app.qt.section_lines import SectionLines
    from zarrscope_app.qt.text import Label

    area, page, lines = QScrollArea(), QWidget(), SectionLines()
    qtbot.addWidget(area)
    made: dict[str, QWidget] = {}
    heads: list[QWidget | None] = [Label("colour"), Label("name"), Label("contrast from"), Label("contrast to"), None]
    lines.add_heads(heads)
    page.setLayout(lines)
    for row in (0, 1):
        fields: list[QWidget] = []
        for name, least, most in (("colour", 88, 96), ("name", 96, 0), ("from", 64, 88), ("to", 64, 88)):
            fields.append(QLineEdit())
            fields[-1].setMinimumWidth(least)
            if most:
                fields[-1].setMaximumWidth(most)
            made[f"{name}{row}"] = fields[-1]
        fields.append(QCheckBox("shown"))
        made[f"shown{row}"] = fields[-1]
        note = Label()
        note.setWordWrap(True)
        note.setText("the whole range" if row else "")
        made[f"label{row}"], made[f"note{row}"] = Label(str(row)), note
        lines.promise_row(len(fields), 0, 0)
        lines.fill_row(row, made[f"label{row}"], fields, note)
    area.setWidgetResizable(True)
    area.setWidget(page)

    def at(width: int) -> dict[str, Any]:
        area.resize(width, 400)
        area.show()
        for _ in range(3):
            QApplication.processEvents()
        bar = area.horizontalScrollBar()
        assert bar is not None
        assert bar.maximum() == 0, f"scrolled sideways at {width}"
        return {name: widget.geometry() for name, widget in made.items()}

    return at


def test_all_stand_beside_each_other_where_they_fit(channels: Page) -> None:
    places = channels(900)
    row = ["label1", "colour1", "name1", "from1", "to1", "shown1", "note1"]
    for one, other in pairwise(row):
        assert places[one].right() < places[other].left()
    assert places["colour1"].top() == places["name1"].top() == places["to1"].top()
    assert places["colour1"].left() == places["colour0"].left()


def test_a_note_stands_as_high_as_its_label(channels: Page) -> None:
    """Both texts are in the middle of their widgets, so these have one middle."""
    places = channels(900)
    assert abs(places["note1"].center().y() - places["label1"].center().y()) <= 1


def test_a_note_without_space_stands_beneath(channels: Page) -> None:
    places = channels(560)
    assert places["shown1"].left() > places["to1"].right()
    assert places["note1"].top() > places["colour1"].bottom()


@pytest.mark.parametrize("width", NARROW)
def test_nothing_overlaps_or_is_cut(channels: Page, width: int) -> None:
    places = channels(width)
    shown = [name for name, place in places.items() if place.width() > 0]
    for name in shown:
        assert 0 <= places[name].left() <= places[name].right() < width
    for number, one in enumerate(shown):
        for other in shown[number + 1 :]:
            assert not places[one].intersects(places[other]), (one, other)
    assert all(places[f"{name}1"].width() >= 64 for name in ("colour", "name", "from", "to"))


@pytest.mark.parametrize("width", [260, 300, 340])
def test_from_and_to_stay_together(channels: Page, width: int) -> None:
    """A break after the first number would fit at 340 pixels, and is less even."""
    places = channels(width)
    assert places["colour1"].top() == places["name1"].top()
    assert places["from1"].top() == places["to1"].top() > places["colour1"].bottom()
    assert places["from1"].left() == places["colour1"].left() > places["label1"].right()
    assert places["colour0"].left() == places["colour1"].left()
    assert places["note1"].top() > places["to1"].bottom()


def test_the_height_is_that_of_the_lines(channels: Page) -> None:
    wide, narrow = channels(900), channels(260)
    assert narrow["note1"].bottom() > wide["note1"].bottom()
    assert narrow["label0"].top() < narrow["from0"].top() < narrow["label1"].top()


def test_a_form_from_right_to_left_is_mirrored(channels: Page, qtbot: Any) -> None:
    from qtpy.QtCore import Qt
    from qtpy.QtWidgets import QApplication

    QApplication.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    try:
        places = channels(300)
        assert places["label1"].left() > places["colour1"].right() > places["name1"].right()
    finally:
        QApplication.setLayoutDirection(Qt.LayoutDirection.LeftToRight)


def test_a_name_that_has_its_row_to_itself_is_as_wide_as_a_sentence(qtbot: Any) -> None:
    from qtpy.QtWidgets import QLineEdit, QWidget

    from zarrscope_app.qt.section_lines import SectionLines
    from zarrscope_app.qt.text import Label

    page, lines = QWidget(), SectionLines()
    qtbot.addWidget(page)
    page.setLayout(lines)
    lines.promise_row(1, 0, 0)
    name, label = QLineEdit(), Label("description")
    lines.fill_row(0, label, [name], Label())
    for width, least, most in ((900, 400, 440), (300, 150, 300)):
        page.resize(width, 200)
        page.show()
        lines.activate()
        assert least <= name.width() <= most
        assert label.geometry().right() < name.geometry().left()
        assert name.geometry().right() < width
