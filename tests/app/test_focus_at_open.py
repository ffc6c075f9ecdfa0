"""Where the keyboard's input goes in a window that has just opened a hierarchy."""

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
