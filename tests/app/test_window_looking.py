"""The picture in the window: play, smoothing, complex parts, export of a region and a node, bookmarks, copied nodes, an
address for Fiji.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qtpy.QtCore import Qt
from qtpy.QtGui import QImage

import zarrscope
from qt_robot import QTest, QtRobot
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.qt.export_dialog import ExportDialog

PLANES, SIDE = 6, 24
RAMP = np.arange(PLANES * SIDE * SIDE, dtype="u2").reshape(PLANES, SIDE, SIDE)


@pytest.fixture
def place(tmp_path: Path) -> str:
    place = str(tmp_path / "x.zarr")
    with zarrscope.open(place, "w-") as h:
        for name, values in (("ramp", RAMP), ("waves", np.exp(1j * RAMP[0] / 50).astype("c8"))):
            chunks = (1,) * (values.ndim - 2) + (SIDE, SIDE)
            names = ("z", "y", "x")[-values.ndim :]
            h.create_array(f"/{name}", shape=values.shape, dtype=values.dtype, chunks=chunks, dimension_names=names)[
                ...
            ] = values
    return place


@pytest.fixture
def robot(qtbot: Any, place: str) -> Iterator[QtRobot]:
    robot = QtRobot(qtbot)
    robot.open(place, writable=True)
    go(robot, "/ramp")
    yield robot
    robot.close()


def go(robot: QtRobot, path: str) -> None:
    robot.session.select(path)
    picture = robot.session.slice
    robot.wait(lambda: robot.session.state.path == path and bool(picture.frame.tiles) and picture._is_whole(), path)
    robot.window.image.canvas.setFocus()


def grabbed(robot: QtRobot) -> QImage:
    return robot.window.image.canvas.grab().toImage()


def test_the_contrast_of_the_key_a_is_remembered(robot: QtRobot) -> None:
    picture = robot.session.slice

    def limits() -> tuple[Any, Any]:
        channel = picture.state.channels[0]
        return channel.lo, channel.hi

    def shows(path: str) -> bool:
        return picture.image is not None and picture.image.path == path

    robot.wait(lambda: limits()[0] is not None, "contrast")
    before = limits()
    picture.set_index("z", PLANES - 1)
    QTest.keyClicks(robot.window.image.canvas, "a")
    robot.wait(lambda: limits() != before, "contrast of the last plane")
    chosen = limits()
    for path in ("/waves", "/ramp"):
        robot.session.select(path)
        robot.wait(partial(shows, path), path)
    robot.wait(lambda: limits() == chosen, "the contrast that was left")


def test_play_goes_through_the_planes_until_it_is_stopped(robot: QtRobot) -> None:
    picture = robot.session.slice
    QTest.keyClick(robot.window.image.canvas, Qt.Key.Key_Space)
    (axis,) = [axis for axis in picture.state.axes if axis.role == "slider"]
    assert axis.playing
    seen: set[int] = set()

    def went_through() -> bool:
        seen.add(picture.index[0])
        return len(seen) == PLANES

    robot.wait(went_through, "every plane")
    QTest.keyClick(robot.window.image.canvas, Qt.Key.Key_Space)
    stopped = picture.index[0]
    robot.qtbot.wait(250)
    assert picture.index[0] == stopped


def test_smooth_pixels_are_interpolated(robot: QtRobot) -> None:
    def shades() -> int:
        image = grabbed(robot)
        row = image.height() // 2
        return len({image.pixel(x, row) for x in range(image.width())})

    robot.session.slice.set_levels(0, 0, int(RAMP.max()))
    robot.window.run("fit")
    robot.wait(lambda: shades() > 4, "the picture")
    square = shades()
    QTest.keyClicks(robot.window.image.canvas, "i")
    assert robot.session.slice.state.smooth
    robot.wait(lambda: shades() > 2 * square, "shades between pixels")
    QTest.keyClicks(robot.window.image.canvas, "i")
    robot.wait(lambda: shades() == square, "the pixels")


def test_the_part_of_complex_values_is_chosen_in_the_panel(robot: QtRobot) -> None:
    go(robot, "/waves")
    part = robot.window.channels._part
    robot.wait(part.isVisible, "the choice")
    assert [part.itemData(i) for i in range(part.count())] == ["magnitude", "phase", "real", "imaginary"]
    part.setCurrentIndex(1)
    part.activated.emit(1)
    assert robot.session.slice.state.channels[0].part == "phase"
    QTest.keyClicks(robot.window.image.canvas, "d")
    parts = dict(robot.session.slice.state.channels[0].parts)
    assert robot.session.slice.state.channels[0].part == "real"
    robot.wait(lambda: part.currentText() == parts["real"], "the name of the part")


@pytest.mark.parametrize(("what", "expected"), [("region", RAMP[2]), ("node", RAMP)])
def test_a_region_and_a_node_are_exported_by_the_dialog(
    what: str, expected: np.ndarray, robot: QtRobot, tmp_path: Path
) -> None:
    robot.session.slice.set_index("z", 2)
    robot.wait(robot.session.slice._is_whole, "the plane")
    robot.window.run("export")
    dialog = next(w for w in robot.window.findChildren(ExportDialog) if w.isVisible())
    choose(dialog.what, what)
    told = robot.session.export
    robot.wait(lambda: told.state.what == what and dialog.format.findData("npy") >= 0, "the formats")
    choose(dialog.format, "npy")
    robot.wait(lambda: told.state.format == "npy", "the format")
    target = tmp_path / f"{what}.npy"
    dialog.target.setText(str(target))
    dialog.target.editingFinished.emit()
    robot.wait(lambda: told.state.target == str(target) and told.state.ready and dialog.go.isEnabled(), "the size")
    QTest.mouseClick(dialog.go, Qt.MouseButton.LeftButton)
    robot.wait(target.exists, "the file")
    np.testing.assert_array_equal(np.load(target).squeeze(), expected)


def choose(combo: Any, data: str) -> None:
    at = combo.findData(data)
    assert at >= 0, [combo.itemData(i) for i in range(combo.count())]
    combo.setCurrentIndex(at)
    combo.activated.emit(at)


def test_a_bookmark_is_chosen_from_its_menu(robot: QtRobot) -> None:
    picture = robot.session.slice
    picture.set_index("z", 4)
    robot.window.workspace.add_bookmark()
    picture.set_index("z", 1)
    menu = robot.window.menus.menus["bookmarks"]
    menu.aboutToShow.emit()
    (label,) = [bookmark.label for bookmark in robot.window.workspace.bookmarks]
    next(action for action in menu.actions() if action.text() == label).trigger()
    robot.wait(lambda: robot.session.slice.index[0] == 4, "the plane of the bookmark")


def test_no_bookmark_replaces_that_of_another_view(robot: QtRobot) -> None:
    """Two details of one plane have the same label; so have images of the same name in two folders."""
    window = robot.window
    said: list[str] = []
    bar = window.statusBar()
    assert bar is not None
    bar.messageChanged.connect(lambda text: said.append(text))
    menu = window.menus.menus["bookmarks"]
    for gamma in (1.0, 1.0, 2.0):
        robot.session.slice.set_gamma(0, gamma)
        menu.aboutToShow.emit()
        next(action for action in menu.actions() if action.text() == LABELS["bookmark-add"]).trigger()
    first, second = [bookmark.label for bookmark in window.workspace.bookmarks]
    assert second == f"{first} (2)"
    assert f"Bookmarked: {second}." in said
    window.workspace.remove_bookmark(first)
    assert [bookmark.label for bookmark in window.workspace.bookmarks] == [second]


def test_a_view_is_copied_and_pasted(robot: QtRobot) -> None:
    robot.session.slice.set_index("z", 3)
    robot.window.run("copy-view")
    robot.session.slice.set_index("z", 0)
    robot.window.run("paste-view")
    robot.wait(lambda: robot.session.slice.index[0] == 3, "the pasted view")


def test_the_panel_of_channels_is_wide_enough_for_long_numbers(robot: QtRobot) -> None:
    """Limits of int32 were cut at the right edge, like the buttons beneath: Qt lays a row out a turn of the event loop
    after its texts have changed, and the panel measured it before."""
    panel = robot.window.channels
    inside, viewport = panel.widget(), panel.viewport()
    assert inside is not None
    assert viewport is not None
    robot.wait(lambda: 0 < inside.width() <= viewport.width(), "the panel")
    for field in panel._rows[0].limits.values():
        field.show_text("-2147483648" * 2)
    robot.wait(lambda: inside.width() > 300, "wider rows")
    robot.wait(lambda: inside.width() <= viewport.width(), "a panel without cut numbers")
