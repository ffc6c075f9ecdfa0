"""The work that the form in the window does for a painting, a page and a change: counts, no times."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from qtpy.QtWidgets import QApplication

import zarrscope
from narrowing import not_none
from qt_robot import QtRobot
from zarrscope_app.presenters import EditStatus
from zarrscope_app.presenters.form import conflict_rows
from zarrscope_app.presenters.form.view_models import Disagreement, EditState
from zarrscope_app.qt import conflict, form_model
from zarrscope_app.qt.toolkit.core import Qt

pytestmark = pytest.mark.needs("qt", "display")
NUMBERS = 500


@pytest.fixture
def robot(qtbot: Any, tmp_path: Path) -> Iterator[QtRobot]:
    """A form that shows a page of a list of numbers as fields."""
    place = str(tmp_path / "x.zarr")
    with zarrscope.open(place, "w-") as h:
        h.root.attrs.put({"numbers": list(range(NUMBERS)), "note": "x"})
    robot = QtRobot(qtbot)
    robot.open(place, writable=True)
    session = robot.session
    session.set_tab("attributes")
    session.edit.show_way("fields")
    model = robot.window.form.model
    robot.wait(lambda: model.place_of("/numbers") is not None, "the fields")
    session.edit.fold("/numbers", False)
    robot.wait(lambda: model.place_of("/numbers/0") is not None, "the numbers")
    robot.wait(lambda: not session.edit.busy, "the end of the reading")
    for _ in range(20):
        QApplication.processEvents()
    yield robot
    robot.close()


def calls_in(module: Any, act: Any) -> Counter[str]:
    """How often each function of a module is called during `act`."""
    counted = Counter[str]()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename == module.__file__:
            counted[frame.f_code.co_name] += 1

    sys.setprofile(count)
    try:
        act()
    finally:
        sys.setprofile(None)
    return counted


def test_painting_a_field_asks_the_model_for_little(robot: QtRobot) -> None:
    view = robot.window.form.view
    viewport = not_none(view.viewport())
    rows = viewport.height() // view.rowHeight(robot.window.form.model.index(0, 0))
    assert rows > 10
    counted = calls_in(form_model, viewport.repaint)
    assert counted["initStyleOption"] >= 3 * rows, "it was painted"
    assert counted["data"] == 0, "a cell is described in one call, not in one for each of seven roles"
    assert counted.total() <= 14 * 3 * (rows + 2)


def test_painting_asks_the_presenter_for_no_state(robot: QtRobot, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    usual: Any = type(robot.session.edit).__dict__["brief"]

    def brief(edit: Any) -> Any:
        asked.append(edit)
        return usual.fget(edit)

    monkeypatch.setattr(type(robot.session.edit), "brief", property(brief))
    not_none(robot.window.form.view.viewport()).repaint()
    assert not asked, "whether names can be changed is known since the fields came"
    model = robot.window.form.model

    def can_change() -> bool:
        place = model.place_of("/note")
        return place is None or bool(model.flags(model.at(place, form_model.NAME)) & Qt.ItemFlag.ItemIsEditable)

    assert can_change()
    robot.session.set_writable(False)
    robot.wait(lambda: robot.session.edit.state.status is EditStatus.READ_ONLY, "read-only")
    robot.wait(lambda: not can_change(), "names that stay")


def test_a_conflict_of_a_large_document_is_listed_once(qtbot: Any) -> None:
    fitting = tuple(Disagreement(f"/n/{i}", "1", "2", "1", choice="mine") for i in range(25_000))
    disputed = (Disagreement("/x", "1", "2", "3"),)
    view = conflict.ConflictView()
    qtbot.addWidget(view)
    state = EditState(EditStatus.CONFLICT, "", conflicts=disputed, fitting=fitting)
    counted = calls_in(conflict_rows, lambda: view.show_state(state))
    assert not_none(view.table.model()).rowCount() == conflict_rows.MOST_ROWS
    assert counted["_row"] <= 20, "texts of the rows that are seen, not of all that are listed"
    assert counted.total() < 2 * conflict_rows.MOST_ROWS, "not each of the fields that are not listed"
    again = EditState(EditStatus.CONFLICT, "another sentence", conflicts=disputed, fitting=fitting)
    assert calls_in(conflict, lambda: view.show_state(again))["show_rows"] == 0
    assert calls_in(conflict_rows, lambda: view.show_state(again))["_row"] == 0


def test_laying_out_a_page_asks_for_each_row_little(robot: QtRobot) -> None:
    form = robot.window.form
    view: Any = form.view  # PyQt6's stubs lack this method
    counted = calls_in(form_model, view.doItemsLayout)
    assert counted["index"] >= form.model.size - 1
    assert counted.total() <= 5 * form.model.size


def test_tabs_are_closed_without_showing_the_page_of_each(qtbot: Any, tmp_path: Path) -> None:
    """Qt brings the next open tab to the front when that in front is closed: each page would be laid out once."""
    zarrscope.open(tmp_path / "x.zarr", "w-").close()
    robot = QtRobot(qtbot)
    robot.open(str(tmp_path / "x.zarr"))
    tabs = robot.window.tabs
    robot.wait(lambda: sum(map(tabs.isTabEnabled, range(tabs.count()))) >= 3, "the tabs of a group")
    brought: list[int] = []
    tabs.currentChanged.connect(brought.append)
    tabs._close([place for place in range(tabs.count()) if tabs.isTabEnabled(place)])
    assert brought == []
    robot.close()
