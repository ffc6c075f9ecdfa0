"""Labels painted in napari are written into all levels after the user confirmed it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import zarrscope
from contracts.hostile_http import Ask, hostile
from contracts.journeys import Shelf, labelled_image
from napari_hand import Hand
from narrowing import as_array, not_none
from zarrscope.convert.downsampling import downsample
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.layers import label_edits, unwritten_labels

VALUES = np.zeros((3, 96, 128), "u2")
VALUES[:, 10:40, 10:50] = 3


def labelled(path: Path) -> Path:
    """A label image of two levels."""
    with zarrscope.open(str(path), "w-") as h:
        datasets = [
            {"path": str(k), "coordinateTransformations": [{"type": "scale", "scale": [1, 2**k, 2**k]}]} for k in (0, 1)
        ]
        axes = [{"name": name, "type": "space"} for name in "zyx"]
        about = {"multiscales": [{"axes": axes, "datasets": datasets, "name": "cells"}], "image-label": {}}
        h["/"].attrs["ome"] = {"version": "0.5", **about}
        for k, values in enumerate((VALUES, downsample(VALUES, (1, 2, 2), "nearest"))):
            h.create_array(f"/{k}", shape=values.shape, dtype="u2", chunks=(1, 32, 32))[...] = values
    return path


def test_labels_of_several_levels_are_painted_seen_and_written(hand: Hand, tmp_path: Path) -> None:
    path = labelled(tmp_path / "cells.zarr")
    files = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    layer = hand.add(str(path))
    assert layer.multiscale
    assert not layer.editable
    hand.viewer.layers.selection.active = layer
    hand.menu("paint-labels")
    (painted,) = hand.viewer.layers
    assert (painted.name, painted.editable, painted.mode) == (layer.name, True, "paint")
    assert tuple(painted.scale) == tuple(layer.scale)
    painted.brush_size = 9
    painted.paint((1, 60, 70), 7)
    box = np.mgrid[1:2, 10:40, 10:50].reshape(3, -1)
    painted.data_setitem(tuple(box), 5)
    painted.undo()
    painted.redo()
    expected = VALUES.copy()
    expected[1, 10:40, 10:50] = 5
    disc = np.asarray(painted.data)[1] == 7
    assert disc.sum() > 50
    expected[1][disc] = 7
    np.testing.assert_array_equal(np.asarray(painted.data), expected)
    hand.viewer.dims.set_current_step(0, 0)
    hand.viewer.dims.set_current_step(0, 1)
    hand.wait(lambda: painted.get_value((1, 60, 70)) == 7)
    assert {file: file.read_bytes() for file in files} == files, "nothing is written before somebody says so"

    dialog = hand.preview()
    assert strings.count(1200 + int(disc.sum())) in dialog.sentence.text()
    assert f"change in {path}; " in dialog.sentence.text()
    told = dialog.plan.toPlainText()
    assert f"label 5: {strings.count(1200)} elements" in told
    assert "/1: " in told
    dialog.reject()
    assert {file: file.read_bytes() for file in files} == files
    hand.preview().act.click()
    hand.wait(lambda: "Written" in hand.dock.facts.text())
    assert hand.dock.said.passes
    hand.wait(lambda: not hand.dock.layer_menu.painting.edits.jobs.running)
    hand.qtbot.wait(50)  # the bar is painted later than the job ends
    assert not hand.dock.jobs_bar.isVisibleTo(hand.dock), "it is told once"
    with zarrscope.open(str(path)) as h:
        np.testing.assert_array_equal(np.asarray(h["/0"]), expected)
        np.testing.assert_array_equal(np.asarray(h["/1"]), downsample(expected, (1, 2, 2), "nearest"))
    np.testing.assert_array_equal(np.asarray(painted.data), expected)
    assert not hand.dock.layer_menu.painting.unsaved
    hand.menu("write-labels")
    assert hand.dock.facts.text() == label_edits.NO_EDITS
    assert not hand.dock.said.passes


def test_what_somebody_else_wrote_is_a_conflict(hand: Hand, tmp_path: Path) -> None:
    path = labelled(tmp_path / "cells.zarr")
    hand.viewer.layers.selection.active = hand.add(str(path))
    hand.menu("paint-labels")
    (painted,) = hand.viewer.layers
    painted.paint((1, 60, 70), 7)
    dialog = hand.preview()
    with zarrscope.open(str(path), "r+") as h:
        as_array(h["/0"])[1, 60, 70] = 99
    dialog.act.click()
    failure = hand.dock.jobs_bar.failure
    hand.wait(lambda: "changed the edited elements" in failure.sentence)
    assert "changed the edited elements" not in hand.dock.facts.text(), "it is told once"
    assert hand.dock.layer_menu.painting.unsaved == [painted]
    with zarrscope.open(str(path)) as h:
        assert np.asarray(h["/0"])[1, 60, 70] == 99


def test_labels_of_one_level_are_painted_as_they_are(hand: Hand) -> None:
    shelf = Shelf()
    labelled_image(shelf)
    layer = hand.add(shelf.address, "/image")
    layer.visible = True
    hand.wait(lambda: layer.loaded)
    layer.paint((0, 60, 60), 9)
    layer.data_setitem((np.array([1]), np.array([2]), np.array([3])), 4)
    assert int(layer.data[1, 2, 3]) == 4
    hand.viewer.layers.selection.active = layer
    hand.preview().act.click()
    hand.wait(lambda: "Written" in hand.dock.facts.text())
    stored = np.asarray(zarrscope.open(shelf.address)["/image/labels/cells/0"])
    assert (stored[0, 60, 60], stored[1, 2, 3]) == (9, 4)
    hand.viewer.layers.selection.active = hand.viewer.layers[0]
    for id in ("paint-labels", "write-labels"):
        hand.menu(id)
        assert hand.dock.facts.text() == label_edits.NOT_LABELS


# ---------------------------------------------------------------------- nothing painted is lost in silence
def painted_layer(hand: Hand, shelf: Shelf) -> Any:
    labelled_image(shelf)
    layer = hand.add(shelf.address, "/image")
    layer.visible = True
    hand.wait(lambda: layer.loaded)
    layer.data_setitem((np.array([1]), np.array([2]), np.array([3])), 4)
    hand.viewer.layers.selection = {layer}
    return layer


def test_removing_painted_labels_is_asked_for(hand: Hand) -> None:
    layer, layers = painted_layer(hand, Shelf()), hand.viewer.layers
    asked = hand.answer(layers.remove_selected, strings.CANCEL)
    assert asked == unwritten_labels.question([layer.name])
    assert layer in layers
    hand.answer(layers.remove_selected, unwritten_labels.WRITE)
    hand.wait(lambda: hand.dock.layer_menu.painting.dialog is not None)
    assert "label 4" in not_none(hand.dock.layer_menu.painting.dialog).plan.toPlainText()
    not_none(hand.dock.layer_menu.painting.dialog).reject()
    assert layer in layers
    window = hand.viewer.window._qt_window
    assert hand.answer(window.close, strings.CANCEL) == asked
    assert window.isVisible()
    hand.answer(layers.remove_selected, unwritten_labels.REMOVE)
    assert layer not in layers
    assert not hand.dock.bring_back.isVisible(), "the person has said that it may go"
    layers.selection = {layers[0]}
    assert hand.answer(layers.remove_selected, strings.CANCEL) == ""
    assert not layers


def test_painted_labels_that_a_script_removes_are_kept(hand: Hand) -> None:
    layer, layers = painted_layer(hand, Shelf()), hand.viewer.layers
    layers.remove(layer)
    hand.wait(hand.dock.bring_back.isVisible)
    assert hand.dock.facts.text() == unwritten_labels.removed([layer.name])
    hand.dock.bring_back.click()
    assert layer in layers
    assert int(layer.data[1, 2, 3]) == 4
    assert not hand.dock.bring_back.isVisible()
    layer.data.edits.clear(layer.data.edits.version)


def test_labels_of_a_store_that_cannot_be_written_are_saved_to_a_copy(hand: Hand, tmp_path: Path) -> None:
    shelf = Shelf()
    labelled_image(shelf)
    with hostile(Ask.honest, {key: shelf.get(key) or b"" for key in shelf.list()}) as server:
        layer = hand.add(server.url, "/image")
        layer.visible = True
        hand.wait(lambda: layer.loaded)
        layer.data_setitem((np.array([1]), np.array([2]), np.array([3])), 4)
        expected = np.asarray(layer.data)
        hand.viewer.layers.selection.active = layer
        hand.menu("write-labels")
        copy = hand.dock.layer_menu.painting.copy
        hand.wait(lambda: copy.dialog is not None)
        dialog: Any = copy.dialog
        assert "This place is read-only" in dialog.sentence.text()
        dialog.target.setText(str(tmp_path / "copy.zarr"))
        assert "copy.zarr: OME-Zarr 0.5" in dialog.plan.toPlainText()
        dialog.act.click()
        hand.wait(lambda: "Saved as" in hand.dock.facts.text())
        assert not hand.dock.layer_menu.painting.unsaved
    stored = zarrscope.open(str(tmp_path / "copy.zarr"))["/0"]
    np.testing.assert_array_equal(np.asarray(stored), expected)
    assert tuple(layer.scale) == (0.5, 0.1, 0.1)
    # The layer now shows the copy, which can be written.
    layer.data_setitem((np.array([2]), np.array([2]), np.array([3])), 6)
    hand.preview().act.click()
    hand.wait(lambda: "Written" in hand.dock.facts.text())
    assert int(np.asarray(stored)[2, 2, 3]) == 6


# ---------------------------------------------------------------------- layers that napari makes from ours
def test_a_duplicate_is_painted_apart(hand: Hand) -> None:
    from napari.layers._layer_actions import _duplicate_layer

    shelf = Shelf()
    labelled_image(shelf)
    layer = hand.add(shelf.address, "/image")
    layer.visible = True  # napari 0.5.6 reads no plane of a hidden layer, and cannot paint without one
    hand.wait(lambda: layer.loaded)
    layer.paint((0, 60, 60), 9)
    layers = hand.viewer.layers
    layers.selection.select_only(layer)
    _duplicate_layer(layers)
    copy = layers[f"{layer.name} copy"]
    hand.wait(lambda: copy.loaded)
    copy.paint((0, 10, 10), 5)
    assert [int(np.asarray(one.data)[0, 60, 60]) for one in (layer, copy)] == [9, 9], "what was painted is duplicated"
    assert [int(np.asarray(one.data)[0, 10, 10]) for one in (layer, copy)] == [1, 5]
    copy.undo()
    assert int(np.asarray(copy.data)[0, 10, 10]) == 1


def test_labels_that_napari_made_of_a_layer_are_painted(hand: Hand, tmp_path: Path) -> None:
    from napari.layers import _layer_actions

    with zarrscope.open(str(tmp_path / "image.zarr"), "w-") as h:
        for name, dtype in (("counts", "u2"), ("floats", "f4")):
            h.create_array(f"/{name}", shape=VALUES.shape, dtype=dtype, chunks=(1, 32, 32))[...] = VALUES
    layers = hand.viewer.layers
    for name in ("counts", "floats"):
        layers.clear()
        image = hand.add(str(tmp_path / "image.zarr"), f"/{name}")
        image.projection_mode = "none"  # napari warns, because labels have only this mode
        layers.selection.select_only(image)
        _layer_actions._convert_to_labels(layers)
        made = layers[-1]
        assert type(made).__name__ == "Labels"
        made.paint((1, 60, 70), 7)
        made.fill((1, 20, 20), 8)
        assert [int(np.asarray(made.data)[1, y, x]) for y, x in ((60, 70), (20, 20), (0, 0))] == [7, 8, 0]
        layers.selection.select_only(made)
    hand.menu("write-labels")
    hand.wait(lambda: "made from values of the type float32" in hand.dock.jobs_bar.failure.sentence)
    assert "float32" not in hand.dock.facts.text(), "it is told once"
    if hasattr(_layer_actions, "_extract_multiscale_level_from_selection"):  # napari 0.9
        layers.clear()
        layers.selection.select_only(hand.add(str(labelled(tmp_path / "cells.zarr"))))
        _layer_actions._extract_multiscale_level_from_selection(layers, 0)
        layers[-1].paint((1, 60, 70), 7)
        assert int(np.asarray(layers[-1].data)[1, 60, 70]) == 7
