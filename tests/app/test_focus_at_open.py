"""The widget that has the keyboard focus after a hierarchy was opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zarrscope
from qt_robot import QtRobot

pytestmark = pytest.mark.needs("qt", "display")


@pytest.fixture
def place(tmp_path: Path) -> str:
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        h.create_array("/picture", shape=(20, 30), dtype="u1", chunks=(20, 30))[...] = 7
        h.create_group("/group")
    return str(tmp_path / "a.zarr")


def test_an_image_gets_the_keys_once_it_is_shown(qtbot: Any, place: str) -> None:
    robot = QtRobot(qtbot)
    robot.open(f"{place}/picture")
    robot.wait(robot.window.image.canvas.hasFocus, "the focus on the picture")
    robot.close()


def test_a_picture_that_is_not_shown_yet_gets_no_keys(qtbot: Any, place: str) -> None:
    """Qt takes the focus of a hidden widget away when the window becomes active: the filter of the tree then had it."""
    robot = QtRobot(qtbot)
    robot.open(f"{place}/picture")
    window, pane = robot.window, robot.window.image
    robot.wait(pane.canvas.hasFocus, "the focus on the picture")
    pane.show_sentence("Loading")
    window.tabs.focus_picture(meanwhile=window.tree.view)
    window.tabs.show_views()
    assert window.focusWidget() is window.tree.view
    robot.session.slice.changed.emit()
    assert window.focusWidget() is pane.canvas
    robot.close()


def test_the_tree_gets_the_keys_of_a_group_and_keeps_them(qtbot: Any, place: str) -> None:
    robot = QtRobot(qtbot)
    robot.open(place)
    view = robot.window.tree.view
    robot.wait(view.hasFocus, "the focus on the tree")
    robot.window.tree.chosen.emit("/picture")
    robot.wait(lambda: robot.session.slice.state.kind == "image", "the picture")
    robot.wait(robot.window.image.canvas.isVisible, "the tab of the picture")
    assert view.hasFocus()
    robot.close()


@pytest.mark.parametrize("beneath", ["", "/picture"])
def test_the_row_of_the_displayed_node_is_selected(qtbot: Any, place: str, beneath: str) -> None:
    """Qt makes the first row current when the tree gets the focus, but selects nothing: no row was then highlighted."""
    robot = QtRobot(qtbot)
    robot.open(f"{place}{beneath}")
    view = robot.window.tree.view
    selection = view.selectionModel()
    assert selection is not None
    robot.wait(selection.hasSelection, "a selected row")
    (row,) = selection.selectedRows()
    assert row == view.currentIndex()
    shown = robot.window.tree.current_row()
    assert shown is not None
    assert shown.path == robot.session.state.path
    robot.close()
