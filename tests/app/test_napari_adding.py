"""Ways to add layers in napari: another layer type, several nodes, dragging, keys, and cancelling."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any
from weakref import ref

import numpy as np
import pytest
from qtpy.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt
from qtpy.QtGui import QDragEnterEvent, QDropEvent
from qtpy.QtWidgets import QApplication, QMainWindow, QWidget

from contracts.journeys import SECONDS, Shelf, labelled_image
from narrowing import not_none
from zarrscope.errors import Unsupported
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope_app.napari.dock import Explorer
from zarrscope_app.napari.menu_button import ARROW
from zarrscope_app.presenters import MemorySettings, strings
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.image.words import PARTS
from zarrscope_app.presenters.layers.layer_kinds import KINDS, PART_KINDS
from zarrscope_app.presenters.layers.presenter import AS_PARTS
from zarrscope_app.qt.tree_model import NODE

POINTS = np.array([[1.5, 2.0, 3.0], [4.0, 5.0, 6.5]])

WAVES = np.exp(1j * np.linspace(0, 6, 1600)).reshape(40, 40).astype("c8") * 3


class Hand:
    def __init__(self, qtbot: Any, viewer: Any, shelf: Shelf) -> None:
        self.qtbot, self.viewer = qtbot, viewer
        self.dock = Explorer(viewer, settings=MemorySettings())
        viewer.window.add_dock_widget(self.dock, name="Zarr explorer")
        self.dock.open(shelf.address)
        self.wait(lambda: self.dock.session is not None and self.dock.session.hierarchy is not None)

    def wait(self, happened: Callable[[], object]) -> None:
        self.qtbot.waitUntil(lambda: bool(happened()), timeout=int(SECONDS * 1000))

    def select(self, path: str) -> None:
        session = self.dock.session
        assert session is not None
        session.problems.clear()
        session.select(path)
        self.wait(lambda: session.node is not None and session.state.path == path)

    def add_as(self, kind: str) -> None:
        self.viewer.layers.clear()
        session = self.dock.session
        assert session is not None
        self.dock.add_as.chosen.emit(kind)
        self.wait(lambda: (self.viewer.layers or session.problems.items) and not self.dock.adding)


@pytest.fixture
def shelf() -> Shelf:
    shelf = Shelf()
    hierarchy = open_hierarchy(shelf, "a")
    for name, values in (
        ("cells", np.arange(1600, dtype="u2").reshape(40, 40)),
        ("heights", np.linspace(0, 1, 1600, dtype="f4").reshape(40, 40)),
        ("spots", POINTS),
        ("waves", WAVES),
    ):
        hierarchy.create_array(f"/{name}", shape=values.shape, dtype=values.dtype, chunks=values.shape)[...] = values
    return shelf


@pytest.fixture
def hand(qtbot: Any, make_napari_viewer: Any, shelf: Shelf) -> Iterator[Hand]:
    hand = Hand(qtbot, make_napari_viewer(show=True), shelf)
    yield hand
    hand.dock.stop()


def kinds(hand: Hand) -> list[str]:
    return [type(layer).__name__ for layer in hand.viewer.layers]


def test_a_node_is_added_as_the_kind_that_was_asked_for(hand: Hand) -> None:
    hand.select("/cells")
    hand.add_as("")
    assert kinds(hand) == ["Image"]
    hand.add_as("labels")
    assert kinds(hand) == ["Labels"]
    assert int(np.asarray(hand.viewer.layers[0].data)[3, 7]) == 127
    hand.select("/spots")
    hand.add_as("points")
    assert kinds(hand) == ["Points"]
    np.testing.assert_array_equal(hand.viewer.layers[0].data, POINTS)
    assert hand.viewer.layers[0].metadata["zarrscope"]["path"] == "/spots"
    hand.select("/heights")
    hand.add_as("points")
    assert not hand.viewer.layers
    assert "a row for each point" in hand.dock.facts.text()
    hand.select("/heights")
    hand.add_as("labels")  # labels cannot have fractions
    assert kinds(hand) == ["Image"]
    assert "Labels must be integers" in hand.dock.facts.text()


def test_parts_of_complex_values_are_added(hand: Hand) -> None:
    menu = hand.dock.add_as.menu()
    assert menu is not None

    def offered() -> list[str]:
        menu.aboutToShow.emit()
        return [action.text() for action in menu.actions() if action.isVisible()]

    hand.select("/cells")
    assert offered() == [*KINDS.values()]
    hand.select("/waves")
    hand.wait(lambda: offered() == [*KINDS.values(), *PART_KINDS.values()])
    for kind, drawn in (("phase", np.angle), ("real", np.real), ("imaginary", np.imag)):
        hand.add_as(kind)
        (layer,) = hand.viewer.layers
        np.testing.assert_allclose(np.asarray(layer.data), drawn(WAVES), rtol=1e-6)
        assert layer.name == f"waves ({PARTS[kind]})"
    hand.add_as("")
    np.testing.assert_allclose(np.asarray(hand.viewer.layers[0].data), np.abs(WAVES), rtol=1e-6)


def test_a_note_about_a_part_goes_with_the_part(hand: Hand) -> None:
    hand.select("/waves")
    session = not_none(hand.dock.session)
    hand.add_as("")
    (magnitudes,) = session.problems.items
    hand.dock.add_as.chosen.emit("phase")
    hand.wait(lambda: session.problems.items not in ((), (magnitudes,)))
    assert [each.headline for each in session.problems.items] == [AS_PARTS["phase"]]


def test_menus_of_a_narrow_dock_have_room_for_their_arrows(hand: Hand) -> None:
    hand.dock.resize(hand.dock.minimumWidth(), 640)
    for button in (hand.dock.add_as, hand.dock.layer_menu, hand.dock.browse):
        text = button.fontMetrics().horizontalAdvance(button.text())
        assert button.minimumSizeHint().width() >= text + ARROW
        assert button.width() >= button.minimumSizeHint().width(), button.text()


def test_a_label_image_is_added_as_an_image(qtbot: Any, make_napari_viewer: Any) -> None:
    shelf = Shelf()
    labelled_image(shelf)
    hand = Hand(qtbot, make_napari_viewer(show=True), shelf)
    hand.select("/image/labels/cells")
    hand.add_as("image")
    assert kinds(hand) == ["Image"]
    hand.dock.stop()


def test_several_nodes_are_added_at_once(hand: Hand) -> None:
    hand.wait(lambda: hand.dock.tree.model is not None and hand.dock.tree.model.rowCount() > 0)
    hand.dock.tree.selected.emit(["/cells", "/heights", "/spots"])
    assert hand.dock.button.text() == LABELS["add-several"].format(count=3)
    hand.add_as("")
    hand.wait(lambda: len(hand.viewer.layers) == 3)
    assert [layer.name for layer in hand.viewer.layers] == ["cells", "heights", "spots"]
    hand.dock.tree.selected.emit(["/cells"])
    assert hand.dock.button.text() == LABELS["add-to-viewer"]


def test_a_node_is_dragged_onto_the_canvas(hand: Hand) -> None:
    window = hand.dock.window()
    assert isinstance(window, QMainWindow)
    middle = window.centralWidget()
    assert middle is not None
    target = next(w for w in (middle, *middle.findChildren(QWidget)) if w.acceptDrops())
    data = QMimeData()
    data.setData(NODE, b"/cells")
    place, left, none = QPoint(5, 5), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    comes = QDragEnterEvent(place, Qt.DropAction.CopyAction, data, left, none)
    QApplication.sendEvent(target, comes)
    assert comes.isAccepted()
    QApplication.sendEvent(target, QDropEvent(QPointF(place), Qt.DropAction.CopyAction, data, left, none))
    hand.wait(lambda: len(hand.viewer.layers) == 1)
    assert hand.viewer.layers[0].name == "cells"


def test_the_keys_stand_in_naparis_keymap_and_shadow_none(hand: Hand) -> None:
    from napari.utils.shortcuts import default_shortcuts

    bound = {str(key): act for key, act in hand.viewer.keymap.items()}
    assert bound["Alt+A"].__doc__ == "Add the nodes selected in the Zarr explorer"
    taken = {str(key) for keys in default_shortcuts.values() for key in keys}
    assert not taken & {"Alt+A", "Alt+Z"}
    hand.select("/cells")
    bound["Alt+A"](hand.viewer)
    hand.wait(lambda: len(hand.viewer.layers) == 1)
    bound["Alt+Z"](hand.viewer)
    hand.wait(hand.dock.tree.view.hasFocus)
    hand.dock.stop()
    assert not {str(key) for key in hand.viewer.keymap} & {"Alt+A", "Alt+Z"}


def test_the_tree_marks_the_node_whose_attributes_are_shown(hand: Hand, shelf: Shelf) -> None:
    def marked() -> list[str]:
        selection = hand.dock.tree.view.selectionModel()
        assert selection is not None
        assert hand.dock.tree.model is not None
        rows = [hand.dock.tree.model.row_of(index) for index in selection.selectedRows()]
        return [row.path for row in rows if row is not None]

    hand.wait(lambda: marked() == ["/"])
    hand.dock.open(shelf.address, "/cells")
    hand.wait(lambda: marked() == ["/cells"])
    hand.select("/")
    hand.wait(lambda: marked() == ["/"])


def test_a_removed_dock_frees_its_keys_and_is_released(make_napari_viewer: Any, qtbot: Any) -> None:
    viewer = make_napari_viewer(show=True)

    def keys() -> set[str]:
        return {str(key) for key in viewer.keymap} & {"Alt+A", "Alt+Z"}

    docks = [Explorer(viewer, settings=MemorySettings()) for _ in range(2)]
    viewer.window.add_dock_widget(docks[0])
    qtbot.waitUntil(lambda: keys() == {"Alt+A", "Alt+Z"}, timeout=int(SECONDS * 1000))
    viewer.window.remove_dock_widget(docks[0])
    assert not keys()
    viewer.window.add_dock_widget(docks[1])
    qtbot.waitUntil(lambda: keys() == {"Alt+A", "Alt+Z"}, timeout=int(SECONDS * 1000))
    released = [ref(dock) for dock in docks]
    viewer.window.remove_dock_widget(docks[1])
    docks.clear()

    def gone() -> bool:
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        gc.collect()
        return all(dock() is None for dock in released)

    qtbot.waitUntil(gone, timeout=int(SECONDS * 1000))
    assert not keys()


def test_cancel_ends_the_making_of_layers(hand: Hand, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, begun = Event(), Event()

    def slow(*_: Any) -> Any:
        begun.set()
        go_on.wait(SECONDS)
        return []

    hand.select("/cells")
    monkeypatch.setattr("zarrscope_app.napari.dock.planner", lambda kind: slow)
    hand.qtbot.mouseClick(hand.dock.button, Qt.MouseButton.LeftButton)
    hand.wait(begun.is_set)
    assert hand.dock.button.text() == strings.CANCEL
    hand.qtbot.mouseClick(hand.dock.button, Qt.MouseButton.LeftButton)
    assert hand.dock.facts.text() == strings.STOPPED
    assert hand.dock.button.text() == LABELS["add-to-viewer"]
    go_on.set()
    QApplication.processEvents()
    assert not hand.viewer.layers


RUN = """
import json, sys
import napari, napari.__main__ as command
from qtpy.QtWidgets import QApplication, QDockWidget

def run(**_):
    viewer = napari.current_viewer()
    for _ in range(20):
        QApplication.processEvents()
    docks = getattr(viewer.window, "dock_widgets", None) or viewer.window._dock_widgets  # napari before 0.6
    found = next(iter(docks.values()))
    found = found.widget() if isinstance(found, QDockWidget) else found
    print(json.dumps([[*docks], type(getattr(found, "_magic_widget", found)).__name__]))
    viewer.close()

napari.run = run
sys.argv = ["napari", "-w", "zarrscope", "Zarr explorer"]
command._run()
"""


def test_an_image_that_cannot_be_added_twice_leaves_the_button_as_it_was(
    hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The problem of the second attempt is in the list already, which therefore does not change."""
    hand.select("/cells")
    session = hand.dock.session
    assert session is not None
    monkeypatch.setattr("zarrscope_app.napari.dock.planner", lambda kind: refuse)
    for _ in range(2):
        hand.dock.add()
        assert hand.dock.button.text() == strings.CANCEL
        hand.wait(lambda: session.problems.items and not hand.dock.adding)
        hand.wait(lambda: hand.dock.button.text() == LABELS["add-to-viewer"])
        assert hand.dock.add_as.isEnabled()
        assert hand.dock.facts.text() != strings.LOADING


def refuse(*_: Any) -> Any:
    raise Unsupported("The codec is not known")


def test_napari_starts_with_the_dock(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "NAPARI_CONFIG": str(tmp_path / "napari.yaml")}
    done = subprocess.run(
        [sys.executable, "-c", RUN], capture_output=True, text=True, timeout=180, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    names, kind = json.loads(done.stdout.splitlines()[-1])
    assert kind == "Explorer"
    assert any("Zarr explorer" in name for name in names)
