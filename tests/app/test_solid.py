"""The picture in three dimensions: every voxel along a ray counts, from every side; and which chunks are read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qtpy import QtTest
from qtpy.QtCore import QPoint, Qt

from contracts.journeys import Shelf
from qt_robot import QtRobot
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope_app.presenters.image import solid, words
from zarrscope_app.presenters.image.oblique import radius, shear, turn, view_transform, warp
from zarrscope_app.presenters.image.painting import GREY

QTest: Any = QtTest.QTest  # PyQt6 declares its static functions as methods
DATA = np.random.default_rng(8).integers(1, 250, (6, 20, 30)).astype("u1")
SCALE = (3.0, 1.0, 1.0)


def seen_from(volume: np.ndarray, scale: Any, azimuth: float, elevation: float, side: int = 400) -> np.ndarray:
    """The picture, with 0 outside the volume; a pixel has the size that it has on the sphere around the volume."""
    view = view_transform(volume.shape, scale, azimuth, elevation)
    sheared = shear(np.ascontiguousarray(volume.transpose(view.along, *view.across)), view)
    onto = warp(sheared, view, (side, side), 2 * radius(volume.shape, scale) / side)
    return np.where(onto.outside, 0, onto.picture(sheared))


@pytest.mark.parametrize(
    ("azimuth", "elevation", "expected"),
    [(0, 0, DATA.max(0)), (90, 0, DATA.max(2).T), (0, 90, DATA.max(1)[::-1]), (180, 0, DATA.max(0)[:, ::-1])],
)
def test_from_the_sides_it_is_the_maximum_along_an_axis(azimuth: int, elevation: int, expected: np.ndarray) -> None:
    found = seen_from(DATA, (1, 1, 1), azimuth, elevation)
    rows, columns = np.nonzero(found)
    inside = found[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    at_y = ((np.arange(expected.shape[0]) + 0.5) * inside.shape[0] / expected.shape[0]).astype(int)
    at_x = ((np.arange(expected.shape[1]) + 0.5) * inside.shape[1] / expected.shape[1]).astype(int)
    assert np.array_equal(inside[at_y[:, None], at_x[None, :]], expected)


@pytest.mark.parametrize(("azimuth", "elevation"), [(17, 23), (-71, 40), (130, -62), (45, 0), (88, 2)])
def test_no_voxel_is_passed_by_however_it_is_turned(azimuth: float, elevation: float) -> None:
    chance = np.random.default_rng(1)
    for _ in range(12):
        at = tuple(int(chance.integers(0, n)) for n in DATA.shape)
        volume = np.ones(DATA.shape, "u2")
        volume[at] = 999
        rows, columns = np.nonzero(seen_from(volume, SCALE, azimuth, elevation) == 999)
        assert len(rows), f"the voxel {at} is not seen"
        away = (np.array(at) - (np.array(DATA.shape) - 1) / 2) * SCALE
        right, down, _ = turn(azimuth, elevation) @ away
        per_pixel = 2 * radius(DATA.shape, SCALE) / 400
        # Half a voxel in each direction: the largest distance to the nearest voxel.
        assert abs((columns.mean() - 199.5) * per_pixel - right) <= sum(SCALE) / 2
        assert abs((rows.mean() - 199.5) * per_pixel - down) <= sum(SCALE) / 2


@pytest.fixture
def robot(qtbot: Any) -> Iterator[QtRobot]:
    made = QtRobot(qtbot)
    shelf = Shelf()
    hierarchy = open_hierarchy(shelf, "a")
    for name, data in (("a", DATA), ("flat", DATA[0]), ("b", DATA.astype("f4"))):
        axes = ("z", "y", "x")[-data.ndim :]
        array = hierarchy.create_array(
            f"/{name}", shape=data.shape, dtype=data.dtype, chunks=data.shape, dimension_names=axes
        )
        array[...] = data
    made.open(shelf.address)
    made.session.select("/a")
    made.wait(lambda: made.session.slice.state.kind == "image", "the picture")
    made.session.slice.set_levels(0, 0, 255)
    yield made
    made.close()


def test_the_window_turns_it_and_goes_back(robot: QtRobot) -> None:
    canvas = robot.window.image.solid
    robot.window.run("solid")
    found = canvas.solid
    assert found is not None
    robot.wait(lambda: found.state.rgb is not None, "the picture")
    assert canvas.isVisible()
    robot.wait(canvas.hasFocus, "the keys")
    assert found.state.text == "Maximum of z, y, x · level 0 · 6 × 20 × 30"
    front = found.state.rgb
    assert front is not None
    drawn = np.unique(front[..., 0])
    assert set(drawn) <= {GREY, *np.unique(DATA.max(0))}
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    robot.wait(lambda: found.state.rgb is not front and found.state.azimuth == solid.STEP, "the turn")
    QTest.mousePress(canvas, Qt.MouseButton.LeftButton, pos=QPoint(50, 50))
    QTest.mouseMove(canvas, QPoint(90, 70))
    QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=QPoint(90, 70))
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    assert not canvas.isVisible()
    assert robot.window.image.canvas.isVisible()


def test_contrast_and_image_are_followed_and_a_flat_one_closes_it(robot: QtRobot) -> None:
    robot.window.run("solid")
    found = robot.window.image.solid.solid
    assert found is not None
    robot.wait(lambda: found.state.rgb is not None, "the picture")
    robot.session.slice.set_levels(0, 255, 300)
    robot.wait(lambda: found.state.rgb is not None and found.state.rgb.max() == GREY, "all of it dark")
    robot.session.select("/b")
    robot.wait(lambda: found.state.rgb is not None and found.state.rgb.max() > GREY, "the other array")
    robot.session.select("/flat")
    robot.wait(lambda: not found.state.open, "the plane")


def test_what_is_too_large_is_thinned_or_refused(robot: QtRobot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solid, "MAX_VOXELS", DATA.size // 8)
    robot.window.run("solid")
    found = robot.window.image.solid.solid
    assert found is not None
    robot.wait(lambda: found.state.rgb is not None, "the picture")
    assert found.state.text.endswith("every 2nd voxel")
    robot.window.run("solid")
    monkeypatch.setattr(solid, "MAX_READ", 100)
    robot.window.run("solid")
    assert "napari" in found.state.sentence
    assert found.state.rgb is None


def test_the_export_of_the_view_is_the_volume_that_is_seen(robot: QtRobot, tmp_path: Path) -> None:
    tifffile = pytest.importorskip("tifffile")
    export = robot.session.export
    robot.window.run("solid")
    found = robot.window.image.solid.solid
    assert found is not None
    robot.wait(lambda: found.settled and found.state.rgb is not None, "the picture")
    target = str(tmp_path / "volume.tif")
    export.choose("view", "tiff", target)
    robot.wait(lambda: export.state.ready, "the export is prepared")
    assert list(export.state.notes) == [words.SOLID_WRITTEN]
    export.run()
    robot.wait(lambda: os.path.exists(target), "the file")
    seen: Any = found.state.rgb
    assert np.array_equal(tifffile.imread(target), seen)
    robot.window.run("solid")
    export.choose("view", "png", str(tmp_path / "plane.png"))
    robot.wait(lambda: export.state.ready, "the export of the plane")
    assert not export.state.notes
