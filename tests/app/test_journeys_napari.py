"""The journeys (contracts/journeys.py) in napari's dock; also layers, lazy data and the manifest.

Slicing, contrast and failed planes are napari's own there, hence those three journeys are told in its terms: which
chunks one plane reads, which value stands under the cursor, where a failure is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QAbstractButton

from contracts.act_journeys import ActJourneys
from contracts.journeys import PLANES, Robot, Shelf, brightness, labelled_image, small_image
from narrowing import as_array, not_none
from qt_robot import QtRobot
from zarrscope.view.loader import shared
from zarrscope_app.napari.dock import Explorer
from zarrscope_app.presenters import EditStatus
from zarrscope_app.presenters.commands import command
from zarrscope_app.presenters.session.state_text import decode_view


class NapariRobot(QtRobot):
    def __init__(self, qtbot: Any, viewer: Any) -> None:
        self.qtbot = qtbot
        self.viewer = viewer
        self.window: Any = Explorer(viewer)  # the robot asks only for tree, form and children
        viewer.window.add_dock_widget(self.window, name="Zarr explorer")

    def open(self, url: str, *, writable: bool = False) -> None:
        dock: Any = self.window
        dock.address.setText(url)
        self.qtbot.keyClick(dock.address, Qt.Key.Key_Return)
        self.session = dock.session
        self.wait(lambda: dock.tree.model is not None, "the tree")
        if writable:
            self.wait(lambda: self.session.state.status.value != "opening", "the session")
            self._press("writable")
            self.wait(lambda: self.session.state.writable, "the session to be writable")

    def close(self) -> None:
        self.window.stop()

    def _button(self, id: str) -> QAbstractButton:
        label = command(id).label
        buttons: list[QAbstractButton] = self.window.findChildren(QAbstractButton)
        return next(b for b in buttons if label in (b.text(), b.toolTip()))

    def _press(self, id: str) -> None:
        button = self._button(id)
        self.wait(lambda: button.isEnabled(), f"{id} to be enabled")
        button.click()

    def add(self) -> None:
        dock: Any = self.window
        # A click on a disabled button has no effect, for the robot as for a user.
        self.wait(dock.button.isEnabled, "the button to be ready")
        self.wait(dock.button.isEnabled, "the button to be enabled")
        self.qtbot.mouseClick(dock.button, Qt.MouseButton.LeftButton)

    def save(self) -> None:
        if self.session.edit.state.status is EditStatus.INVALID:
            self.wait(lambda: not self._button("save").isEnabled(), "save to be disabled")
        else:
            self._press("save")

    def undo(self) -> None:
        self._press("undo")

    def review(self) -> str:
        self._press("review")
        return str(self.window.form.diff.text.toPlainText())

    def act(self, command: str, **fields: str) -> None:
        pytest.skip("napari's dock has no actions on nodes: the window and the terminal have them")

    def export(self, target: Path) -> None:
        pytest.skip("napari's dock exports layers: test_napari_gestures.py::test_a_crop_is_exported")

    def check(self) -> None:
        self._show_tab("problems")
        button = self.window.tabs.pages["problems"].check
        self.wait(lambda: button.isVisible() and button.isEnabled(), "the button")
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


class TestNapari(ActJourneys):
    @pytest.fixture
    def robot(self, qtbot: Any, make_napari_viewer: Any) -> Iterator[NapariRobot]:
        robot = NapariRobot(qtbot, make_napari_viewer(show=True))
        yield robot
        robot.close()

    def added(self, robot: NapariRobot, shelf: Shelf, layers: int) -> Any:
        robot.open(shelf.address)
        self.ready(robot)
        self.go(robot, "/image")
        robot.add()
        robot.wait(lambda: len(robot.viewer.layers) == layers, "the layers in the viewer")
        return robot.viewer.layers[0]

    def test_forty_quick_moves_read_one_plane(self, robot: Robot, shelf: Shelf) -> None:
        assert isinstance(robot, NapariRobot)
        small_image(shelf)
        layer = self.added(robot, shelf, 1)
        robot.viewer.dims.set_current_step(0, 0)
        shared().invalidate(as_array(not_none(robot.session.hierarchy)["/image/0"]))
        shelf.read.clear()
        robot.viewer.dims.set_current_step(0, PLANES - 1)
        robot.wait(lambda: int(np.asarray(layer.data[PLANES - 1])[0, 0]) == brightness(PLANES - 1), "the last plane")
        assert len(shelf.read) == 16, "one plane reads one plane's chunks"
        assert all(f"/c/{PLANES - 1}/" in key for key in shelf.read)

    def test_hover_tells_the_exact_value(self, robot: Robot, shelf: Shelf) -> None:
        assert isinstance(robot, NapariRobot)
        small_image(shelf)
        layer = self.added(robot, shelf, 1)
        robot.viewer.dims.set_current_step(0, 3)
        scale = layer.scale
        assert layer.get_value((3 * scale[0], 20 * scale[1], 30 * scale[2]), world=True) == brightness(3)

    def test_a_chunk_that_fails_says_so_and_can_be_retried(self, robot: Robot, shelf: Shelf) -> None:
        assert isinstance(robot, NapariRobot)
        small_image(shelf)
        shelf.failing |= {f"image/0/c/{z}/0/0" for z in range(PLANES)}
        robot.open(shelf.address)
        self.ready(robot)
        self.go(robot, "/image")
        robot.add()
        robot.wait(lambda: robot.sees("503"), "why the layer could not be read")
        (layer,) = robot.viewer.layers
        assert layer.get_value((0, 20, 30)) is None
        shelf.failing.clear()
        robot.qtbot.mouseClick(robot.window.retry, Qt.MouseButton.LeftButton)
        robot.wait(lambda: not robot.sees("503"), "nothing to complain of")
        assert layer.get_value((0, 20, 30)) is not None

    def test_a_plate_is_walked_from_a_well_to_its_fields(self, robot: Robot, tmp_path: Path) -> None:
        pytest.skip("napari's dock lists the wells in a chooser: test_napari_gestures.py::test_a_plate_is_walked")

    def look(self, robot: Robot) -> None:
        assert isinstance(robot, NapariRobot)
        robot.viewer.layers.clear()
        robot.add()
        robot.wait(lambda: bool(robot.viewer.layers or robot.session.state.offers), "a layer, or why there is none")

    def test_layers_carry_what_the_file_says(self, robot: Robot, shelf: Shelf) -> None:
        assert isinstance(robot, NapariRobot)
        labelled_image(shelf)
        image = self.added(robot, shelf, 2)
        labels = robot.viewer.layers[1]
        assert tuple(image.scale) == (0.5, 0.1, 0.1)
        assert [str(unit) for unit in image.units] == ["micrometer"] * 3
        assert tuple(image.axis_labels) == ("z", "y", "x")
        assert list(image.contrast_limits) == [0, 255]
        assert image.visible
        assert type(labels).__name__ == "Labels"
        assert not labels.visible
        source = dict(image.metadata["zarrscope"])
        assert decode_view(source.pop("state"))["path"] == "/image"
        assert source == {
            "url": shelf.address,
            "path": "/image",
            "contrast_range": (0, 255),
            "channel": 0,
            "axes": ["z", "y", "x"],
        }


def test_the_manifest_is_valid_and_its_commands_exist() -> None:
    from importlib.resources import files

    from npe2 import PluginManifest

    manifest = PluginManifest.from_file(str(files("zarrscope_app.napari") / "napari.yaml"))
    assert manifest.name == "zarrscope"
    manifest.validate_imports()
    ids = {c.id for c in manifest.contributions.commands or ()}
    used = [item.command for items in (manifest.contributions.menus or {}).values() for item in items]
    used += [r.command for r in manifest.contributions.readers or ()]
    used += [w.command for w in manifest.contributions.widgets or ()]
    used += [w.command for w in manifest.contributions.writers or ()]
    assert ids == set(used) | {"zarrscope.demo"}


def test_the_reader_claims_only_what_is_its_own() -> None:
    from zarrscope_app.napari.reader import get_reader

    assert get_reader("x.tif") is None
    assert get_reader(["a/zarr.json"]) is not None
    assert get_reader("a.ozx") is not None


def test_napari_finds_the_plugin_and_its_sample(make_napari_viewer: Any, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    viewer = make_napari_viewer(show=True)
    layers = viewer.open_sample("zarrscope", "cells")
    assert [type(layer).__name__ for layer in layers] == ["Image", "Image", "Image", "Labels"]
    assert [layer.visible for layer in layers] == [True, True, True, False]
    assert all(layer.multiscale for layer in layers)
    assert len({tuple(layer.colormap.colors[-1]) for layer in layers[:3]}) == 3
