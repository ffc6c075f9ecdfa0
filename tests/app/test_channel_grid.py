"""Channels side by side: each view shows one channel of the same plane, and a gesture in one view acts on all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from qtpy import QtTest
from qtpy.QtCore import QPoint, Qt

from contracts.journeys import Shelf
from qt_robot import QtRobot, wait_for_picture
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope_app.presenters.image.channel_grid import MOST, ChannelGrid

QTest: Any = QtTest.QTest  # PyQt6 declares its static functions as methods
DATA = np.random.default_rng(5).integers(0, 250, (3, 5, 20, 30)).astype("u1")
RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


@pytest.fixture
def grid(robot: QtRobot) -> ChannelGrid:
    shelf = Shelf()
    hierarchy = open_hierarchy(shelf, "a")
    for path, data in (("/a", DATA), ("/many", np.repeat(DATA, 4, axis=0)), ("/one", DATA[:1])):
        array = hierarchy.create_array(
            path, shape=data.shape, dtype="u1", chunks=(1, 4, 10, 10), dimension_names=("c", "z", "y", "x")
        )
        array[...] = data
    robot.open(shelf.address)
    robot.session.select("/a")
    picture = robot.session.slice
    robot.wait(lambda: len(picture.state.channels) == 3, "the picture")
    for channel, color in enumerate((RED, GREEN, BLUE)):
        picture.set_color(channel, color)
        picture.set_levels(channel, 0, 255)
    found = robot.window.image.grid.shown
    assert found is not None
    return found


def alone(channel: int, z: int) -> np.ndarray:
    expected = np.zeros((20, 30, 3))
    expected[..., channel] = DATA[channel, z]
    return expected


def test_each_channel_has_a_view_of_the_same_plane(robot: QtRobot, grid: ChannelGrid) -> None:
    QTest.keyClick(robot.window, Qt.Key.Key_G, Qt.KeyboardModifier.ControlModifier)
    assert grid.channels == (0, 1, 2)
    assert grid.columns == 2
    for z in (0, 3):
        grid.main.set_index("z", z)
        for channel, view in enumerate(grid.views):
            wait_for_picture(robot, view, alone(channel, z))
    assert [grid.caption(view) for view in grid.views] == [c.label for c in grid.main.state.channels]
    grid.main.set_visible(1, False)
    robot.wait(lambda: grid.channels == (0, 2), "two channels")
    wait_for_picture(robot, grid.views[1], alone(2, 3))
    canvases = robot.window.image.grid.canvases
    assert [canvas.isVisible() for canvas in canvases] == [True, True, False]
    grid.main.transpose()
    wait_for_picture(robot, grid.views[0], alone(0, 3).transpose(1, 0, 2))
    robot.window.run("grid")
    assert not any(canvas.isVisible() for canvas in canvases)
    assert robot.window.image.canvas.caption == ""


def test_gestures_in_one_act_on_all(robot: QtRobot, grid: ChannelGrid) -> None:
    robot.window.run("grid")
    main, canvases = robot.window.image.canvas, robot.window.image.grid.canvases
    robot.wait(lambda: len(canvases) == 3 and all(each.isVisible() for each in (main, *canvases)), "the canvases")
    robot.wait(lambda: all(canvas.zoom == main.zoom for canvas in canvases), "one zoom")
    canvases[2].zoom_by(2.0)
    for canvas in (main, *canvases):
        assert (canvas.zoom, canvas.center) == (canvases[2].zoom, canvases[2].center)
    at = canvases[1].to_widget((8.5, 12.5, 8.5, 12.5)).topLeft().toPoint()
    QTest.mouseClick(canvases[1], Qt.MouseButton.LeftButton, pos=at)
    assert grid.main.state.pin == (8.5, 12.5)
    QTest.mousePress(canvases[1], Qt.MouseButton.RightButton, pos=QPoint(20, 20))
    QTest.mouseMove(canvases[1], QPoint(60, 20))
    QTest.mouseRelease(canvases[1], Qt.MouseButton.RightButton, pos=QPoint(60, 20))
    shown = grid.main.state.channels
    robot.wait(lambda: grid.main.state.channels[1].hi != 255, "other limits of the channel")
    assert (shown[0].hi, shown[2].hi) == (255, 255)


def test_many_channels_and_a_single_one(robot: QtRobot, grid: ChannelGrid) -> None:
    robot.window.run("grid")
    robot.session.select("/many")
    robot.wait(lambda: len(grid.main.state.channels) == 12, "twelve channels")
    for channel in range(12):
        grid.main.set_visible(channel, True)
    robot.wait(lambda: len(grid.channels) == MOST, "the most views")
    robot.session.select("/one")
    robot.wait(lambda: grid.main.image is not None and grid.main.image.shape[0] == 1, "one channel")
    robot.wait(lambda: not grid.views, "no views")
    robot.window.run("three-views")
    assert not grid.is_open


def test_a_projection_and_a_locked_level_are_those_of_the_picture(robot: QtRobot, grid: ChannelGrid) -> None:
    robot.window.run("grid")
    grid.main.project("max")
    expected = np.zeros((20, 30, 3))
    expected[..., 2] = DATA[2].max(axis=0)
    wait_for_picture(robot, grid.views[2], expected)
    grid.main.lock_level(0)
    robot.wait(lambda: grid.views[0].locked_level == 0, "the level")
