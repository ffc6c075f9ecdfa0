"""napari's writer saves layers as an OME-Zarr image that other readers open; a failure leaves nothing behind."""

from __future__ import annotations

import inspect
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from napari.layers import Image, Labels
from napari.utils import progress
from qtpy.QtCore import QTimer
from qtpy.QtWidgets import QApplication, QFileDialog

import zarrscope
from contracts.full_disk import full_from
from contracts.journeys import SECONDS
from napari_hand import Hand
from narrowing import as_array
from zarrscope.errors import Refused, Unsupported, ZarrscopeError
from zarrscope.view.image import default_image
from zarrscope_app.napari.reader import read
from zarrscope_app.napari.writer import SaveDialog, drawn, write
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.layers import layer_writing
from zarrscope_app.presenters.layers.layer_writing import plan_image, write_image

RANDOM = np.random.default_rng(4)
VALUES = RANDOM.integers(0, 4000, (2, 20, 300, 280)).astype("uint16")
PLACE: dict[str, Any] = {
    "scale": (1, 2, 0.5, 0.25),
    "translate": (0, 0, 10, 20),
    "axis_labels": ("t", "z", "y", "x"),
    "units": ("second", "micrometer", "micrometer", "micrometer"),
}


def layers() -> list[Any]:
    found = [
        Image(VALUES, name="cells: red", colormap="red", contrast_limits=(10, 90), **PLACE),
        Image(VALUES // 2, name="cells: green", colormap="green", contrast_limits=(5, 60), visible=False, **PLACE),
        Labels((VALUES > 2000).astype("int32") * 7, name="nuclei/1", **PLACE),
    ]
    return [layer.as_layer_data_tuple() for layer in found]


@pytest.mark.parametrize("version", ["0.5", "0.4"])
def test_what_is_written_is_read_again_with_all_that_was_shown(version: str, tmp_path: Path) -> None:
    target = str(tmp_path / "new.ome.zarr")
    parts: list[float] = []
    plan = plan_image(target, [drawn(*layer) for layer in layers()], version)
    assert write_image(plan, parts.append) == target
    assert parts == sorted(parts)
    assert parts[-1] == 1
    red, green, labels = read(target)
    for (data, arguments, _), values, name, limits in (
        (red, VALUES, "cells: red", (10, 90)),
        (green, VALUES // 2, "cells: green", (5, 60)),
    ):
        np.testing.assert_array_equal(np.asarray(data[0]), values)
        assert data[0].chunks == (1, 16, 256, 256)
        assert data[1].shape[-2:] == (150, 140)
        assert (arguments["name"], arguments["contrast_limits"]) == (name, limits)
        assert tuple(arguments["scale"]) == PLACE["scale"]
        assert tuple(arguments["translate"]) == PLACE["translate"]
        assert arguments["units"] == PLACE["units"]
    assert (red[1]["colormap"], green[1]["colormap"], green[1]["visible"]) == ("red", "green", False)
    np.testing.assert_array_equal(np.asarray(labels[0][0]), (VALUES > 2000) * 7)
    assert labels[2] == "labels"
    hierarchy = zarrscope.open(target)
    assert hierarchy.dialect.name == {"0.5": "v3", "0.4": "v2"}[version]
    image = default_image(hierarchy["/"])
    assert image is not None
    assert image.version == version
    assert not [finding for finding in _findings(hierarchy) if finding.severity == "error"]


def _findings(hierarchy: Any) -> list[Any]:
    from zarrscope.check.hierarchy import check

    return list(check(hierarchy))


def test_zarr_python_reads_what_is_written(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    (path,) = write(str(tmp_path / "new.zarr"), layers())
    np.testing.assert_array_equal(zarr.open_array(f"{path}/0", mode="r")[:, 1], VALUES // 2)


@pytest.mark.parametrize("version", ["0.5", "0.4"])
def test_napari_ome_zarr_shows_what_is_written(version: str, tmp_path: Path) -> None:
    """napari-ome-zarr shows the same values, positions, limits and colours."""
    others = pytest.importorskip("napari_ome_zarr._reader")
    target = str(tmp_path / "new.ome.zarr")
    write_image(plan_image(target, [drawn(*layer) for layer in layers()], version), lambda _: None)
    *images, (marked, labels, kind) = others.napari_get_reader(target)(target)
    np.testing.assert_array_equal(np.asarray(marked[0]), (VALUES > 2000) * 7)
    assert kind == "labels"
    if len(images) == 1:  # up to 0.10 the plug-in leaves it to napari to split the channels
        ((data, image, _),) = images
        channels = [np.asarray(data[0])[:, c] for c in (0, 1)]
        limits, colormaps, visible = image["contrast_limits"], image["colormap"], image["visible"]
    else:
        channels = [np.asarray(data[0]) for data, _, _ in images]
        limits, colormaps, visible = (
            [image[key] for _, image, _ in images] for key in ("contrast_limits", "colormap", "visible")
        )
    np.testing.assert_array_equal(channels, [VALUES, VALUES // 2])
    assert {len(data) for data, _, _ in images} == {2}
    assert limits == [[10, 90], [5, 60]]
    # napari's colour maps are arrays of colours; before 0.10 the plug-in gives those of vispy, which have no name
    brightest = [np.asarray(getattr(each.colors, "rgba", each.colors))[-1][:3].tolist() for each in colormaps]
    assert brightest == [[1, 0, 0], [0, 1, 0]]
    assert visible == [True, False]
    for shown in (*(image for _, image, _ in images), labels):
        assert tuple(shown["scale"]) == PLACE["scale"]
        if "units" in inspect.getsource(others):  # the oldest releases of the plug-in know no units
            assert shown["units"] == PLACE["units"]


def test_napari_saves_layers_by_their_extension(make_napari_viewer: Any, tmp_path: Path) -> None:
    viewer = make_napari_viewer()
    viewer.add_image(VALUES[0, 0], name="photo")
    viewer.add_labels((VALUES[0, 0] > 9).astype(int), name="mask")
    (path,) = viewer.layers.save(str(tmp_path / "a.zarr"), plugin="zarrscope")
    ((image, _, _), (mask, _, kind)) = read(path)
    np.testing.assert_array_equal(np.asarray(image[0]), VALUES[0, 0])
    assert kind == "labels"
    np.testing.assert_array_equal(np.asarray(mask[0]), VALUES[0, 0] > 9)


@pytest.mark.parametrize("version", ["0.5", "0.4"])
def test_labels_alone_are_an_image_of_their_own(version: str, tmp_path: Path) -> None:
    """One label image is the root; several are listed, and each has a path."""
    mask = Labels(VALUES[0, 0] // 100, name="mask").as_layer_data_tuple()
    halves = Labels(VALUES[0, 0] // 200, name="halves").as_layer_data_tuple()
    one, two = (str(tmp_path / name) for name in ("one.zarr", "two.zarr"))
    write_image(plan_image(one, [drawn(*mask)], version))
    write_image(plan_image(two, [drawn(*mask), drawn(*halves)], version))
    for place, path, divisor in ((one, None, 100), (two, "/labels/mask", 100), (two, "/labels/halves", 200)):
        ((data, _, kind),) = read(place, path)
        assert kind == "labels"
        np.testing.assert_array_equal(np.asarray(data[0]), VALUES[0, 0] // divisor)
    if version == "0.5":
        assert zarrscope.open(two)["/labels"].attributes["ome"]["labels"] == ["mask", "halves"]
    models = pytest.importorskip("ome_zarr_models")
    zarr = pytest.importorskip("zarr")
    for place in (one, f"{two}/labels", f"{two}/labels/mask"):
        models.open_ome_zarr(zarr.open_group(place, mode="r"))


@pytest.mark.parametrize("version", ["0.5", "0.4"])
def test_the_features_of_labels_are_kept(version: str, tmp_path: Path) -> None:
    features = {"index": [3, 7], "area": [1.5, np.nan], "phase": ["G1", "S"], "round": [True, False]}
    target = str(tmp_path / "f.zarr")
    cells = Labels(VALUES[0, 0] // 1000, name="cells", features=features).as_layer_data_tuple()
    write_image(plan_image(target, [drawn(*cells)], version))
    ((_, arguments, _),) = read(target)
    assert arguments["features"] == {**features, "area": [1.5, None]}


@pytest.mark.parametrize(
    ("dtype", "ends"), [("u1", (0, 255)), ("i2", (-32768, 32767)), ("f4", (10, 90)), ("u4", (10, 90))]
)
def test_contrast_can_leave_its_start_after_reading(dtype: str, ends: tuple[int, int], tmp_path: Path) -> None:
    image = Image(VALUES[0, 0].astype(dtype), name="a", contrast_limits=(10, 90)).as_layer_data_tuple()
    ((_, arguments, _),) = read(write(str(tmp_path / "a.zarr"), [image])[0])
    assert arguments["contrast_limits"] == (10, 90)
    assert arguments["metadata"]["zarrscope"]["contrast_range"] == ends


def test_what_is_there_is_never_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "kept.zarr"
    write(str(target), layers()[:1])
    before = {path: path.read_bytes() for path in target.rglob("*") if path.is_file()}
    with pytest.raises(ZarrscopeError):
        write(str(target), layers()[1:])
    assert {path: path.read_bytes() for path in target.rglob("*") if path.is_file()} == before


def test_what_fails_or_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "new.zarr"
    plan = plan_image(str(target), [drawn(*layer) for layer in layers()])
    done: list[float] = []
    with pytest.raises(Refused):
        write_image(plan, done.append, lambda: len(done) > 2)
    assert not target.exists()

    class Broken:
        shape, dtype, ndim = (20, 30), np.dtype("u1"), 2

        def __getitem__(self, _: Any) -> Any:
            raise OSError("no such disk")

    broken = (Broken(), {**layers()[0][1], "scale": (1, 1), "translate": (0, 0)}, "image")
    with pytest.raises(OSError, match="no such disk"):
        write(str(tmp_path / "other.zarr"), [broken])
    assert not list(tmp_path.iterdir())


CHILD = """
import os, signal, sys
import numpy as np
from zarrscope_app.napari.writer import drawn
from zarrscope_app.presenters.layers.layer_writing import plan_image, write_image

class Ends:
    shape, dtype, ndim = (4, 300, 300), np.dtype("u1"), 3
    def __getitem__(self, block):
        os.kill(os.getpid(), getattr(signal, sys.argv[2]))

whole = np.ones(Ends.shape, "u1")
told = {"scale": (1, 1, 1), "translate": (0, 0, 0)}
planes = [(whole, {**told, "name": "a"}, "image"), (Ends(), {**told, "name": "b"}, "labels")]
write_image(plan_image(sys.argv[1], [drawn(*layer) for layer in planes]), lambda _: None)
"""
"""Writes an image whose second layer ends the program by a signal when it is read."""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_a_program_that_is_ended_leaves_no_half_image(name: str, tmp_path: Path) -> None:
    target = tmp_path / "a.zarr"
    ended = subprocess.run([sys.executable, "-c", CHILD, str(target), name], capture_output=True, text=True)
    assert ended.returncode in (-getattr(signal, name), 1), ended.stderr
    assert not target.exists()
    left = [path.name for path in tmp_path.iterdir()]
    if name == "SIGINT":
        assert not left, "Ctrl-C removes what was written"
    else:
        assert len(left) == 1
        assert left[0].startswith("a.zarr.")
        assert left[0].endswith(".part")
    write(str(target), layers()[:1])
    assert as_array(zarrscope.open(str(target))["/0"]).shape == VALUES.shape


@pytest.mark.parametrize("removable", [True, False])
def test_a_full_disk_says_that_nothing_was_there_before(
    removable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full_from(monkeypatch, "0/")
    if not removable:
        monkeypatch.setattr("zarrscope_app.presenters.layers.layer_writing.rmtree", lambda *_, **__: None)
    target = tmp_path / "new.zarr"
    with pytest.raises(ZarrscopeError) as caught:
        write(str(target), layers()[:1])
    assert "The old value" not in str(caught.value)
    left = [str(path) for path in tmp_path.iterdir()]
    if removable:
        assert not left
        assert str(caught.value.advice) == (
            "Make room, then write the image again. Nothing is left of it, and nothing was there before."
        )
    else:
        assert (
            str(caught.value.advice)
            == f"Make room, delete the incomplete folder {left[0]}, then write the image again."
        )


def test_labels_keep_a_position_of_their_own(tmp_path: Path) -> None:
    target = str(tmp_path / "new.zarr")
    cells = Image(VALUES[0, 0], name="cells", translate=(2, 3)).as_layer_data_tuple()
    nuclei = Labels((VALUES[0, 0] > 2000).astype("u1"), name="nuclei", translate=(2, 9)).as_layer_data_tuple()
    write(target, [cells, nuclei])
    assert [tuple(arguments["translate"]) for _, arguments, _ in read(target)] == [(2, 3), (2, 9)]


def test_layers_that_make_no_image_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    target = str(tmp_path / "new.zarr")
    small = Image(VALUES[0, 0, :9], name="small").as_layer_data_tuple()
    large = Image(VALUES[0, 0], name="large").as_layer_data_tuple()
    with pytest.raises(Refused, match='"large" has another shape'):
        write(target, [small, large])
    moved = Image(VALUES[0, 0], name="moved", translate=(0, 5)).as_layer_data_tuple()
    with pytest.raises(Refused, match='"moved" lies at another position than "large"'):
        write(target, [large, moved])
    with pytest.raises(Refused, match="no image"):
        plan_image(target, [])
    with pytest.raises(Unsupported):
        plan_image(target, [drawn(*small)], "0.1")
    turned = Image(VALUES[0, 0], name="turned", rotate=30).as_layer_data_tuple()
    assert any("rotation" in line for line in plan_image(target, [drawn(*turned)]).lines)
    assert not Path(target).exists()


def person_saves(viewer: Any, qtbot: Any, target: str, answer: Any) -> list[str]:
    """Saves all layers as a user does, while the event loop runs; `answer` gets the dialog. Returns the reasons why
    nothing was saved."""
    told: list[str] = []
    ended: list[bool] = []
    timer = QTimer()

    def look() -> None:
        dialog = QApplication.activeModalWidget()
        if isinstance(dialog, SaveDialog) and dialog.isVisible():
            timer.stop()
            answer(dialog)

    def save() -> None:
        try:
            viewer.layers.save(target, plugin="zarrscope")
        except Refused as error:
            told.append(error.message)
        finally:
            ended.append(True)

    timer.timeout.connect(look)
    timer.start(10)
    QTimer.singleShot(0, save)
    qtbot.waitUntil(lambda: bool(ended), timeout=int(3 * SECONDS * 1000))
    return told


def test_a_person_sees_what_will_be_written_and_chooses_the_version(
    make_napari_viewer: Any, qtbot: Any, tmp_path: Path
) -> None:
    viewer = make_napari_viewer(show=True)
    viewer.add_image(VALUES[0, 0], name="photo")
    viewer.add_labels((VALUES[0, 0] > 9).astype(int), name="mask")
    seen: list[str] = []

    def refuse(dialog: SaveDialog) -> None:
        seen.extend([dialog.sentence.text(), dialog.plan.toPlainText()])
        dialog.reject()

    def agree(dialog: SaveDialog) -> None:
        dialog.version.setCurrentText("0.4")
        seen.append(dialog.plan.toPlainText())
        dialog.accept()

    target = tmp_path / "a.zarr"
    assert person_saves(viewer, qtbot, str(target), refuse) == [strings.STOPPED]
    assert not target.exists()
    assert "2 layers" in seen[0]
    assert f"{target}: OME-Zarr 0.5, 300 × 280 (y, x), uint16" in seen[1]
    assert 'labels "mask"' in seen[1]
    assert person_saves(viewer, qtbot, str(target), agree) == []
    assert "OME-Zarr 0.4" in seen[2]
    assert zarrscope.open(str(target)).dialect.name == "v2"
    np.testing.assert_array_equal(np.asarray(read(str(target))[0][0][0]), VALUES[0, 0])


def test_the_dock_saves_the_selected_images_and_labels(
    hand: Hand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name without its end gets it, other kinds of layers are named, and nothing is overwritten."""
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (str(tmp_path / "a"), ""))
    told = hand.dock.facts.text
    hand.menu("save-layers")
    assert told() == layer_writing.NONE_SELECTED
    photo = hand.viewer.add_image(VALUES[0, 0], name="photo")
    spots = hand.viewer.add_points(np.zeros((2, 2)), name="spots")
    hand.viewer.layers.selection = {photo, spots}

    def save() -> None:
        hand.dock.said.tell("")
        timer = QTimer()

        def agree() -> None:
            dialog = QApplication.activeModalWidget()
            if isinstance(dialog, SaveDialog) and dialog.isVisible():
                timer.stop()
                dialog.accept()

        timer.timeout.connect(agree)
        timer.start(10)
        hand.in_loop(lambda: hand.menu("save-layers"))
        hand.wait(told)
        timer.stop()

    save()
    assert told().startswith(f"Saved as {tmp_path / 'a.zarr'}.")
    assert told().endswith('only: "spots".')
    np.testing.assert_array_equal(np.asarray(read(str(tmp_path / "a.zarr"))[0][0][0]), VALUES[0, 0])
    save()
    assert "a.zarr" in told()
    assert "Saved" not in told()


def test_the_window_goes_on_while_an_image_is_written(make_napari_viewer: Any, qtbot: Any, tmp_path: Path) -> None:
    make_napari_viewer(show=True)
    turned = threading.Event()

    class Slow:
        """Values that can be read only while the event loop runs."""

        shape, dtype, ndim = (64, 64), np.dtype("u1"), 2

        def __getitem__(self, key: Any) -> Any:
            assert turned.wait(SECONDS)
            return np.zeros(self.shape, self.dtype)[key]

    layer = (Slow(), {**layers()[0][1], "scale": (1, 1), "translate": (0, 0), "axis_labels": ("y", "x")}, "image")
    written: list[Any] = []

    def look() -> None:
        dialog = QApplication.activeModalWidget()
        if isinstance(dialog, SaveDialog):
            dialog.accept()
        elif progress._all_instances:
            turned.set()

    timer = QTimer()
    timer.timeout.connect(look)
    timer.start(10)
    QTimer.singleShot(0, lambda: written.extend(write(str(tmp_path / "b.zarr"), [layer])))
    qtbot.waitUntil(lambda: bool(written), timeout=int(3 * SECONDS * 1000))
    timer.stop()
    assert written == [str(tmp_path / "b.zarr")]
    assert not progress._all_instances
