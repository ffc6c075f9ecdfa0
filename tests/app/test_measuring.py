"""Measurements in a picture: values along a line, statistics of a region, in the background."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from qtpy import QtTest
from qtpy.QtCore import QPoint, QPointF, Qt
from qtpy.QtGui import QMouseEvent
from qtpy.QtWidgets import QApplication

from contracts.journeys import Shelf
from narrowing import not_none
from qt_robot import QtRobot
from viewer import Viewer
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope_app.presenters import Measurement
from zarrscope_app.presenters.image import measuring
from zarrscope_app.presenters.image.measuring import Statistics
from zarrscope_app.presenters.session.actions import perform

QTest: Any = QtTest.QTest  # PyQt6 declares its static functions as methods
DATA = np.random.default_rng(7).integers(0, 60_000, (2, 40, 50)).astype("u2")


class MeasuringViewer(Viewer):
    def measured(self) -> Measurement:
        self.until(lambda: self.slice.state.measurement.kind != "" and self.slice.state.measurement.progress is None)
        return self.slice.state.measurement


@pytest.fixture
def shelf() -> Shelf:
    made = Shelf()
    hierarchy = open_hierarchy(made, "a")
    array = hierarchy.create_array(
        "/a", shape=DATA.shape, dtype="u2", chunks=(1, 16, 16), dimension_names=("c", "y", "x")
    )
    array[...] = DATA
    values = np.linspace(-1, 1, 400).reshape(20, 20)
    values[3, :] = np.nan
    hierarchy.create_array("/f", shape=(20, 20), dtype="f8", chunks=(7, 7))[...] = values
    return made


@pytest.fixture
def view(shelf: Shelf) -> Iterator[Callable[[str], MeasuringViewer]]:
    made: list[MeasuringViewer] = []

    def make(path: str = "/a") -> MeasuringViewer:
        made.append(MeasuringViewer(shelf, path))
        return made[-1]

    yield make
    shelf.release()
    for viewer in made:
        viewer.close()


def test_a_region_is_numpys(view: Any) -> None:
    viewer = view()
    viewer.slice.measure_region(30.0, 41.0, 5.2, 10.4)
    found = viewer.measured()
    block = DATA[:, 5:30, 10:41].astype("f8")
    assert found.title == "Region of 25 × 31 from y 5 x 10"
    assert [row.label for row in found.rows] == ["channel 0", "channel 1"]
    for row, values in zip(found.rows, block, strict=True):
        assert f"min {int(values.min())} · max {int(values.max())} · 775 values" in row.text
        assert row.text.startswith(f"mean {values.mean():.0f}")


def test_what_is_not_stored_is_counted(shelf: Shelf, view: Any) -> None:
    shelf.erase("a/c/1/0/0")
    viewer = view()
    viewer.slice.measure_region(0.0, 0.0, 16.0, 32.0)
    texts = [row.text for row in viewer.measured().rows]
    assert "not stored" not in texts[0]
    assert texts[1].endswith("1 of 2 chunks not stored")
    viewer.slice.measure_line(1.0, 2.0, 1.0, 9.0)
    assert [row.text.endswith("1 of 1 chunk not stored") for row in viewer.measured().rows] == [False, True]


def test_a_line_tells_the_pixels_under_it(view: Any) -> None:
    viewer = view()
    viewer.slice.set_visible(1, False)
    viewer.slice.measure_line(2.5, 3.5, 33.5, 44.5)
    found = viewer.measured()
    (row,) = found.rows
    assert row.profile is not None
    ys, xs = (np.floor(np.linspace(a, b, 42)).astype(int) for a, b in ((2.5, 33.5), (3.5, 44.5)))
    assert np.array_equal(row.profile, DATA[0, ys, xs])
    assert found.length == "51.4 px"
    assert (found.low_text, found.high_text) != ("", "")
    text = viewer.slice.measurement_text().splitlines()
    assert text[0] == found.title
    assert text[3:6] == [f"{v:.1f}" for v in row.profile[:3]]


def test_a_line_that_leaves_the_image_keeps_to_its_edge(view: Any) -> None:
    viewer = view()
    viewer.slice.measure_line(-10.0, 5.5, 60.0, 5.5)
    (row, _) = viewer.measured().rows
    assert row.profile is not None
    assert row.profile[0] == DATA[0, 0, 5]
    assert row.profile[-1] == DATA[0, 39, 5]


def test_nan_is_counted_apart(view: Any) -> None:
    viewer = view("/f")
    viewer.slice.measure_region(0.0, 0.0, 20.0, 20.0)
    (row,) = viewer.measured().rows
    assert row.text.endswith("380 values · 20 NaN")
    viewer.slice.measure_region(3.0, 0.0, 4.0, 20.0)
    viewer.until(lambda: viewer.slice.state.measurement.title.startswith("Region of 1 ×"))
    assert viewer.measured().rows[0].text == "no numbers · 20 NaN"


def test_what_is_on_show_is_measured_by_a_key(view: Any) -> None:
    viewer = view()
    viewer.slice.viewport((-5.0, -5.0, 10.0, 12.0), (100, 100))
    assert perform(viewer.session, "measure-view")
    assert viewer.measured().title == "Region of 10 × 12 from y 0 x 0"
    perform(viewer.session, "measure-view")
    assert viewer.slice.state.measurement.kind == ""


def test_a_large_region_is_measured_at_a_coarser_level(
    shelf: Shelf, view: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    axes = [{"name": n, "type": "space", "unit": "micrometer"} for n in "yx"]
    datasets = [
        {"path": str(k), "coordinateTransformations": [{"type": "scale", "scale": [0.5 * 2**k] * 2}]} for k in (0, 1)
    ]
    hierarchy = open_hierarchy(shelf, "a")
    hierarchy.create_group("/p", {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}})
    for k, value in ((0, 10), (1, 20)):
        side = 64 >> k
        hierarchy.create_array(f"/p/{k}", shape=(side, side), dtype="u1", chunks=(16, 16))[...] = value
    monkeypatch.setattr(measuring, "MAX_PIXELS", 1500)
    viewer = view("/p")
    viewer.slice.measure_region(0.0, 0.0, 64.0, 64.0)
    found = viewer.measured()
    assert found.title == "Region of 32 × 32 from y 0 x 0, at level 1"
    assert found.rows[0].text.startswith("mean 20")
    viewer.slice.measure_region(0.0, 0.0, 20.0, 20.0)
    viewer.until(lambda: viewer.slice.state.measurement.title.startswith("Region of 20"))
    assert viewer.measured().rows[0].text.startswith("mean 10")
    viewer.slice.measure_line(0.5, 0.5, 0.5, 20.5)
    viewer.until(lambda: viewer.slice.state.measurement.kind == "line")
    assert viewer.measured().length == "10 µm"


def test_a_measurement_can_be_stopped_and_another_node_ends_it(shelf: Shelf, view: Any) -> None:
    viewer = view()
    shelf.hold("chunks")
    viewer.slice.measure_region(0.0, 0.0, 40.0, 50.0)
    assert viewer.slice.state.measurement.progress == 0.0
    viewer.slice.forget_measurement()
    assert viewer.slice.state.measurement.kind == ""
    viewer.slice.measure_region(0.0, 0.0, 40.0, 50.0)
    viewer.session.select("/f")
    shelf.release()
    viewer.until(lambda: viewer.session.state.path == "/f" and not viewer.session.state.selecting)
    viewer.mailbox.run()
    assert viewer.slice.state.measurement.kind == ""


def test_what_cannot_be_read_is_said(shelf: Shelf, view: Any) -> None:
    viewer = view()
    shelf.failing = {"a/c/0/0/0"}
    viewer.slice.measure_region(0.0, 0.0, 40.0, 50.0)
    assert "503" in viewer.measured().sentence


def test_statistics_in_pieces_are_those_of_the_whole() -> None:
    values = np.random.default_rng(1).normal(1e9, 2.0, 10_000)
    found = Statistics()
    for piece in np.array_split(values, 7):
        found.add(piece)
    assert found.count == 10_000
    assert found.mean == pytest.approx(values.mean(), rel=1e-14)
    assert found.deviation == pytest.approx(values.std(), rel=1e-6)
    exact = Statistics()
    exact.add(np.array([2**63 - 1, 5], "i8"))
    assert int(exact.high) == 2**63 - 1


# ---------------------------------------------------------------------- in the window
def drag(canvas: Any, start: QPoint, end: QPoint, held: Qt.KeyboardModifier) -> None:
    left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton

    def send(kind: QMouseEvent.Type, at: QPoint, button: Qt.MouseButton, buttons: Qt.MouseButton) -> None:
        event = QMouseEvent(kind, QPointF(at), QPointF(canvas.mapToGlobal(at)), button, buttons, held)
        QApplication.sendEvent(canvas, event)

    send(QMouseEvent.Type.MouseButtonPress, start, left, left)
    for at in ((start + end) / 2, end):
        send(QMouseEvent.Type.MouseMove, at, none, left)
    send(QMouseEvent.Type.MouseButtonRelease, end, left, none)


def test_drawing_in_the_window(shelf: Shelf, robot: QtRobot) -> None:
    robot.open(shelf.address)
    robot.session.select("/a")
    picture, canvas, panel = robot.session.slice, robot.window.image.canvas, robot.window.image.measured
    robot.wait(lambda: picture._is_whole() and canvas.width() > 100, "the picture")
    before = canvas.center
    drag(canvas, robot._at(5, 5), robot._at(30, 40), Qt.KeyboardModifier.ControlModifier)
    robot.wait(lambda: panel._copy.isEnabled() and not panel.isHidden(), "the statistics")
    assert canvas.center == before, "nothing was panned"
    assert picture.state.measurement.kind == "region"
    assert robot.sees("values")
    panel._copy.click()
    assert not_none(QApplication.clipboard()).text().startswith("Region of")
    drag(canvas, robot._at(5, 5), robot._at(30, 40), Qt.KeyboardModifier.ShiftModifier)
    robot.wait(lambda: picture.state.measurement.kind == "line" and not panel.curves.isHidden(), "the curves")
    panel._close.click()
    robot.wait(panel.isHidden, "the panel to close")
