"""The dock reads planes in the background, although napari's asynchronous slicing is off; screenshots wait for them."""

from __future__ import annotations

import shutil
import threading
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.journeys import Shelf, brightness, labelled_image, small_image
from napari_hand import Hand
from zarrscope_app.napari.background_planes import MOST_READS
from zarrscope_app.napari.menu_commands import open_explorer
from zarrscope_app.napari.planes import watch
from zarrscope_app.napari.viewer_state import camera_of, canvas_of
from zarrscope_app.presenters.layers.first_plane import FITTED, SLIDER


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def value(layer: Any, z: int) -> Any:
    """The value under the cursor in the displayed plane z."""
    found = layer.get_value((z, 5, 5))
    return found[1] if isinstance(found, tuple) else found


def first_layer(hand: Hand, shelf: Shelf) -> Any:
    small_image(shelf)
    layer = hand.add(shelf.address, "/image")
    hand.wait(lambda: layer.loaded)
    hand.viewer.dims.set_current_step(0, 0)
    assert value(layer, 0) == brightness(0), "a script gets its plane at once"
    return layer


def test_a_step_returns_before_its_plane_is_read(hand: Hand, shelf: Shelf) -> None:
    layer = first_layer(hand, shelf)
    shelf.hold("chunks")
    # If the plane were read on this thread, the step would never return, because only this thread releases the chunks.
    hand.in_loop(lambda: hand.viewer.dims.set_current_step(0, 25))
    assert not layer.loaded
    assert hand.viewer.dims.current_step[0] == 25
    shelf.release()
    hand.wait(lambda: layer.loaded)
    assert value(layer, 25) == brightness(25)
    hand.in_loop(lambda: setattr(layer, "visible", False))
    shelf.hold("chunks")
    hand.in_loop(lambda: hand.viewer.dims.set_current_step(0, 21))
    hand.in_loop(lambda: setattr(layer, "visible", True))
    assert not layer.loaded
    shelf.release()
    hand.wait(lambda: layer.loaded and value(layer, 21) == brightness(21))


@pytest.mark.parametrize("dense", [1.4, 2.8, 5.6])
def test_only_the_level_that_napari_shows_is_read_ahead(hand: Hand, shelf: Shelf, dense: float) -> None:
    """`dense`: elements of the finest level for each pixel of the canvas, which levels of half the size cross at 2, 4
    and 8."""
    canvas = canvas_of(hand.viewer, hand.dock)
    side = int(dense * FITTED * min(canvas.height - SLIDER, canvas.width)) // 8 * 8
    axes = [{"name": name, "type": "space"} for name in "zyx"]
    levels = []
    with zarrscope.open(shelf, "a") as h:
        for k in range(4):
            n = side >> k
            h.create_array(f"/image/{k}", shape=(2, n, n), dtype="u1", chunks=(1, 256, 256))[...] = np.uint8(9)
            steps = [{"type": "scale", "scale": [1, 0.2 * 2**k, 0.2 * 2**k]}]
            levels.append({"path": str(k), "coordinateTransformations": steps})
        h["/image"].attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}
    shelf.read.clear()
    hand.in_loop(lambda: hand.dock.open(shelf.address, "/image"))
    hand.wait(lambda: hand.dock.session is not None and hand.dock.session.node is not None)
    hand.in_loop(hand.dock.add)
    hand.wait(lambda: hand.viewer.layers and not hand.dock._waiting)
    layer = hand.viewer.layers[0]
    hand.wait(lambda: layer.loaded and layer.data_level == int(dense / 1.4) // 2)
    assert {key.split("/")[1] for key in shelf.read if "/c/" in key} == {"3", str(layer.data_level)}


@pytest.mark.parametrize("planes", [20, 29, 64])
def test_the_plane_for_the_thumbnail_is_read_once(hand: Hand, shelf: Shelf, planes: int) -> None:
    """napari takes the thumbnail from the coarsest level, from the plane nearest to the displayed one."""
    axes = [{"name": name, "type": "space"} for name in "zyx"]
    levels = []
    with zarrscope.open(shelf, "a") as h:
        for k in range(3):
            shape = (planes >> k, 64 >> k, 64 >> k)
            h.create_array(f"/image/{k}", shape=shape, dtype="u1", chunks=(1, 64, 64))[...] = np.uint8(9)
            levels.append(
                {"path": str(k), "coordinateTransformations": [{"type": "scale", "scale": [2**k, 2**k, 2**k]}]}
            )
        h["/image"].attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}
    shelf.read.clear()
    hand.in_loop(lambda: hand.dock.open(shelf.address, "/image"))
    hand.wait(lambda: hand.dock.session is not None and hand.dock.session.node is not None)
    shelf.read.clear()  # the contrast was taken from other planes
    hand.in_loop(hand.dock.add)
    hand.wait(lambda: hand.viewer.layers and not hand.dock._waiting)
    hand.wait(lambda: hand.viewer.layers[0].loaded)
    assert len({key for key in shelf.read if key.startswith("image/2/c/")}) == 1


def test_planes_that_a_slider_passes_are_left_out(hand: Hand, shelf: Shelf) -> None:
    layer = first_layer(hand, shelf)
    shelf.hold("chunks")
    for z in range(10, 20):
        hand.in_loop(partial(hand.viewer.dims.set_current_step, 0, z))
    shelf.release()
    hand.wait(lambda: layer.loaded)
    assert value(layer, 19) == brightness(19)
    passed = [z for z in range(10, 19) if any(key.startswith(f"image/0/c/{z}/") for key in shelf.read)]
    assert passed == [*range(10, 10 + MOST_READS)]


def test_a_playing_slider_waits_for_the_planes_of_all_layers(hand: Hand, shelf: Shelf) -> None:
    """Otherwise the layers of several channels would show planes of different steps in one picture."""
    layer = first_layer(hand, shelf)
    canvas = hand.viewer.window._qt_viewer.canvas
    shelf.hold("chunks")
    sliders = hand.viewer.window._qt_viewer.dims
    hand.in_loop(lambda: sliders.play(0, fps=100))
    try:
        hand.wait(lambda: hand.viewer.dims.current_step[0] == 1 and not layer.loaded)
        for _ in range(5):
            hand.in_loop(canvas._scene_canvas.update)
            hand.qtbot.wait(30)
        assert hand.viewer.dims.current_step[0] == 1, "drawn again, the canvas still shows the plane before"
        shelf.release()
        hand.wait(lambda: hand.viewer.dims.current_step[0] > 3)
    finally:
        hand.in_loop(sliders.stop)
    hand.wait(lambda: layer.loaded)


def test_a_screenshot_waits_for_its_plane(hand: Hand, shelf: Shelf) -> None:
    layer = first_layer(hand, shelf)
    shelf.hold("chunks")
    hand.in_loop(lambda: hand.viewer.dims.set_current_step(0, 30))
    assert not layer.loaded
    timer = threading.Timer(0.2, shelf.release)
    timer.start()
    picture = hand.viewer.screenshot(flash=False)
    timer.join()
    assert layer.loaded
    assert value(layer, 30) == brightness(30)
    middle = picture[picture.shape[0] // 2, picture.shape[1] // 2]
    assert abs(int(middle[0]) - brightness(30)) <= 2


@pytest.mark.parametrize("slicing", ["sync", "async"])
def test_a_plane_read_in_the_background_does_not_replace_a_newer_one(hand: Hand, shelf: Shelf, slicing: str) -> None:
    """A script, or napari's own slicer, steps on while the plane of an earlier step is still read."""
    from napari.settings import get_settings

    layer = first_layer(hand, shelf)
    background = watch(hand.viewer).background
    shelf.hold("image/0/c/25/")
    hand.in_loop(lambda: hand.viewer.dims.set_current_step(0, 25))
    assert background.busy
    get_settings().experimental.async_ = slicing == "async"
    try:
        hand.viewer.dims.set_current_step(0, 8)
        assert not background.busy
        hand.wait(lambda: layer.loaded and value(layer, 8) == brightness(8))
        shelf.release()
        hand.wait(lambda: not background._reads[layer].tickets)  # the earlier plane has arrived, or is not read further
        assert value(layer, 8) == brightness(8)
        assert layer.loaded
    finally:
        get_settings().experimental.async_ = False
    hand.in_loop(lambda: hand.viewer.dims.set_current_step(0, 12))
    hand.wait(lambda: layer.loaded and value(layer, 12) == brightness(12))


def test_a_plane_that_fails_is_empty_and_said(hand: Hand, shelf: Shelf) -> None:
    layer = first_layer(hand, shelf)
    shelf.failing |= {f"image/0/c/7/{y}/{x}" for y in range(4) for x in range(4)}
    hand.in_loop(lambda: hand.viewer.dims.set_current_step(0, 7))
    hand.wait(lambda: "503" in hand.dock.facts.text())
    hand.wait(lambda: layer.loaded)
    assert value(layer, 7) is None
    hand.in_loop(lambda: hand.viewer.dims.set_current_step(0, 8))
    hand.wait(lambda: value(layer, 8) == brightness(8) and "503" not in hand.dock.facts.text())


def test_a_layer_of_an_array_that_was_replaced_reads_the_new_one_after_a_refresh(hand: Hand, tmp_path: Path) -> None:
    """The advice was to refresh, but the only button read the former array again."""

    def volume(value: int, kind: str) -> None:
        shutil.rmtree(tmp_path / "x.zarr", ignore_errors=True)
        with zarrscope.open(str(tmp_path / "x.zarr"), "w-") as h:
            h.create_array("/a", shape=(9, 32, 32), dtype=kind, chunks=(1, 32, 32))[...] = value

    volume(10, "u1")
    layer = hand.add(str(tmp_path / "x.zarr"), "/a")
    hand.wait(lambda: layer.loaded)
    volume(20, "u2")
    hand.in_loop(lambda: hand.viewer.dims.set_current_step(0, 3))
    hand.wait(lambda: "Something else is at /a" in hand.dock.facts.text())
    assert hand.dock.facts.text().endswith(f"{hand.dock.retry.text()}."), "as the button is called"
    assert hand.dock.retry.isVisible()
    hand.in_loop(hand.dock.retry.click)
    hand.wait(lambda: layer.loaded and value(layer, 3) == 20 and not hand.dock.retry.isVisible())
    shutil.rmtree(tmp_path / "x.zarr")
    hand.in_loop(lambda: hand.viewer.dims.set_current_step(0, 5))
    hand.wait(lambda: "was erased" in hand.dock.facts.text())
    assert hand.dock.facts.text().endswith(f"{hand.dock.retry.text()}.")


@pytest.mark.skipif(
    tuple(map(int, version("napari").split(".")[:2])) < (0, 6),
    reason="napari 0.5 itself keeps the displayed part of the picture when the canvas is resized",
)
def test_the_first_picture_is_fitted_again_when_the_panels_take_their_room(hand: Hand, shelf: Shelf) -> None:
    """napari fits it before its layer controls are laid out. A camera that a person has moved stays."""
    first_layer(hand, shelf)
    camera, canvas = camera_of(hand.viewer), hand.viewer.window._qt_viewer.canvas.native
    hand.wait(lambda: not watch(hand.viewer).first_fit.active)
    moved = camera.zoom
    canvas.resize(canvas.width() // 2, canvas.height() // 2)
    assert camera.zoom == moved, "long after the layer was added"
    hand.viewer.layers.clear()
    for by_person in (False, True):
        hand.in_loop(hand.dock.add)
        hand.wait(lambda: hand.viewer.layers and not hand.dock._waiting)
        before = camera.zoom = 2 * camera.zoom if by_person else camera.zoom
        canvas.resize(canvas.width() * 2 // 3, canvas.height() * 2 // 3)
        assert (camera.zoom == before) == by_person
        hand.viewer.layers.clear()


def test_what_is_painted_while_a_plane_is_read_is_shown(hand: Hand, shelf: Shelf) -> None:
    labelled_image(shelf)
    layer = hand.add(shelf.address, "/image/labels/cells")
    hand.wait(lambda: layer.loaded)
    shelf.hold("chunks")
    hand.in_loop(lambda: hand.viewer.dims.set_current_step(0, 3))
    assert not layer.loaded
    region = (slice(3, 4), slice(0, 64), slice(0, 64))
    layer.data.edits.set_region(region, np.full((1, 64, 64), 9, "uint16"))
    shelf.release()
    hand.wait(lambda: layer.loaded and value(layer, 3) == 9)


def test_a_dock_from_the_plugins_menu_reads_planes_in_the_background(
    qtbot: Any, make_napari_viewer: Any, shelf: Shelf
) -> None:
    """napari passes a proxy of the viewer to a dock that is opened from its menu *Plugins*."""
    small_image(shelf)
    viewer = make_napari_viewer(show=True)
    hand = Hand.__new__(Hand)
    hand.qtbot, hand.viewer, hand.dock = qtbot, viewer, open_explorer(viewer)
    layer = hand.add(shelf.address, "/image")
    hand.wait(lambda: layer.loaded)
    shelf.hold("chunks")
    hand.in_loop(lambda: viewer.dims.set_current_step(0, 25))
    assert not layer.loaded
    shelf.release()
    hand.wait(lambda: layer.loaded and value(layer, 25) == brightness(25))
    hand.dock.stop()
