"""Three orthogonal planes through one point: a click in one moves all three, and they share the display settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from qtpy import QtTest
from qtpy.QtCore import Qt

from contracts.journeys import Shelf
from qt_robot import QtRobot, wait_for_picture
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope_app.presenters.image.three_views import ThreeViews

QTest: Any = QtTest.QTest  # PyQt6 declares its static functions as methods
DATA = np.random.default_rng(5).integers(0, 250, (2, 9, 20, 30)).astype("u1")


@pytest.fixture
def views(robot: QtRobot) -> ThreeViews:
    shelf = Shelf()
    hierarchy = open_hierarchy(shelf, "a")
    array = hierarchy.create_array(
        "/a", shape=DATA.shape, dtype="u1", chunks=(1, 4, 10, 10), dimension_names=("t", "z", "y", "x")
    )
    array[...] = DATA
    hierarchy.create_array("/flat", shape=(20, 30), dtype="u1", chunks=(20, 30))[...] = DATA[0, 0]
    robot.open(shelf.address)
    robot.session.select("/a")
    robot.wait(lambda: robot.session.slice.state.kind == "image", "the picture")
    robot.session.slice.set_levels(0, 0, 255)
    found = robot.window.image.cross.shown
    assert found is not None
    return found


def test_each_shows_its_plane_through_the_crosshair(robot: QtRobot, views: ThreeViews) -> None:
    robot.window.run("three-views")
    assert views.depth == "z"
    views.main.set_index("z", 4)
    views.main.pin(7.5, 11.5)
    wait_for_picture(robot, views.main, DATA[0, 4])
    wait_for_picture(robot, views.below, DATA[0, :, 7, :])
    wait_for_picture(robot, views.beside, DATA[0, :, :, 11].T)
    views.main.set_index("t", 1)
    wait_for_picture(robot, views.below, DATA[1, :, 7, :])


@pytest.mark.parametrize("first", ["projection", "views"])
def test_a_projection_and_the_three_views_stand_together(robot: QtRobot, views: ThreeViews, first: str) -> None:
    """Opening the views of a projected picture opened them again without end."""
    steps = [lambda: robot.window.run("three-views"), lambda: views.main.project("max")]
    views.main.choose_axis("z")
    for step in steps if first == "views" else reversed(steps):
        step()
    assert views.depth == "z"
    wait_for_picture(robot, views.main, DATA[0].max(axis=0))
    views.main.pin(7.5, 11.5)
    wait_for_picture(robot, views.below, DATA[0, :, 7, :])
    robot.window.run("three-views")
    assert not views.depth


def test_a_click_in_one_moves_all(robot: QtRobot, views: ThreeViews) -> None:
    robot.window.run("three-views")
    views.main.pin(7.5, 11.5)
    views.pick(views.below, 2.2, 20.9)
    assert views.main.index[1] == 2
    assert views.crosshair == (7.5, 20.5)
    robot.wait(lambda: views.beside.index[3] == 20, "the third view")
    views.pick(views.beside, 3.0, 6.0)
    assert views.main.index[1] == 6
    assert views.crosshair == (3.5, 20.5)
    robot.wait(lambda: views.below.index[2] == 3 and views.below.state.pin == (6.5, 20.5), "the crosshair below")
    canvas = robot.window.image.cross.below
    robot.wait(lambda: canvas.isVisible() and canvas.width() > 50 and views.below._is_whole(), "the canvas")
    at = canvas.to_widget((1.5, 8.5, 1.5, 8.5)).topLeft().toPoint()
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=at)
    assert views.main.index[1] == 1
    assert views.crosshair[1] == 8.5


def test_they_are_drawn_alike_and_zoomed_as_one(robot: QtRobot, views: ThreeViews) -> None:
    robot.window.run("three-views")
    views.main.set_color(0, (0, 255, 0))
    views.main.set_levels(0, 3, 77)
    robot.wait(lambda: views.below.state.channels == views.main.state.channels, "the same contrast")
    cross = robot.window.image.cross
    cross.main.zoom_by(2.0)
    assert cross.below.zoom == pytest.approx(cross.main.zoom)
    assert cross.beside.zoom * cross.beside.aspect == pytest.approx(cross.main.zoom * cross.main.aspect)
    assert cross.below.center[1] == pytest.approx(cross.main.center[1])


def test_they_close_and_where_there_is_no_third_axis_they_stay_closed(robot: QtRobot, views: ThreeViews) -> None:
    robot.window.run("three-views")
    cross = robot.window.image.cross
    assert not cross.below.isHidden()
    robot.window.run("three-views")
    assert cross.below.isHidden()
    assert cross.main.picked is None
    robot.window.run("three-views")
    robot.session.select("/flat")
    robot.wait(lambda: robot.session.slice.frame.shape == (20, 30) and not views.depth, "the flat picture")
    robot.window.run("three-views")
    assert not views.depth
    assert cross.beside.isHidden()


def test_only_the_main_picture_reads_the_values_of_its_pixel(
    robot: QtRobot, views: ThreeViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot.window.run("three-views")
    read: list[object] = []
    for side in (views.below, views.beside):
        monkeypatch.setattr(side._prober, "at", lambda *a, **k: read.append(a))
    views.main.pin(7.5, 11.5)
    views.main.set_index("z", 4)
    wait_for_picture(robot, views.below, DATA[0, :, 7, :])
    wait_for_picture(robot, views.beside, DATA[0, :, :, 11].T)
    assert (views.below.pinned, views.beside.pinned) == ((4.5, 11.5), (7.5, 4.5))
    assert not read
    assert "z 4" in views.main.probe.text
