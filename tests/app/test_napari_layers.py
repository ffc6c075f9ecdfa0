"""For every kind of array, napari's dock adds a layer or shows a sentence with the reason why it cannot.

Errors in Qt's slots fail these tests (pytest-qt catches them), and so does a viewer that cannot be closed.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from napari.utils.notifications import notification_manager
from qtpy.QtWidgets import QApplication

from contracts.journeys import SECONDS, Shelf, miserly
from narrowing import not_none
from zarrscope.errors import TooLarge, Unreadable, ZarrscopeError
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope_app.napari.dock import Explorer
from zarrscope_app.napari.reader import read
from zarrscope_app.presenters import MemorySettings
from zarrscope_app.presenters.layers.presenter import AS_MAGNITUDES, NO_LABELS, Layer, plan
from zarrscope_app.presenters.layers.usable_levels import PLANE_LIMIT

RANDOM = np.random.default_rng(5)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def put(shelf: Shelf, name: str, values: np.ndarray[Any, Any], chunks: tuple[int, ...] | None = None) -> None:
    chunks = chunks or tuple(max(1, min(16, n)) for n in values.shape)
    hierarchy = open_hierarchy(shelf, "a")
    array = hierarchy.create_array(f"/{name}", shape=values.shape, dtype=values.dtype, chunks=chunks)
    if values.size:
        array[...] = values


def image(shelf: Shelf, ome: dict[str, Any], levels: dict[str, np.ndarray[Any, Any]], path: str = "image") -> None:
    open_hierarchy(shelf, "a").create_group(f"/{path}", {"ome": {"version": "0.6.dev3", **ome}})
    for name, values in levels.items():
        put(shelf, f"{path}/{name}", values, (1,) * (values.ndim - 2) + (16, 16))


def layers_of(shelf: Shelf, path: str) -> list[Layer]:
    return plan(open_hierarchy(shelf.address)[path])


class Dock:
    """The dock in a real viewer."""

    def __init__(self, qtbot: Any, viewer: Any, settings: MemorySettings) -> None:
        self.qtbot, self.viewer = qtbot, viewer
        self.widget = Explorer(viewer, settings=settings)
        viewer.window.add_dock_widget(self.widget, name="Zarr explorer")

    def wait(self, happened: Callable[[], object]) -> None:
        self.qtbot.waitUntil(lambda: bool(happened()), timeout=int(SECONDS * 1000))

    def open(self, shelf: Shelf) -> None:
        self.widget.open(shelf.address)
        self.wait(lambda: self.widget.session is not None and self.widget.session.hierarchy is not None)

    def add(self, path: str) -> str:
        """Adds the layers of a node; returns the message in the dock when this is done."""
        session = self.widget.session
        assert session is not None
        self.viewer.layers.clear()
        session.problems.clear()
        session.select(path)
        self.wait(lambda: session.node is not None)
        self.widget.add()
        self.wait(
            lambda: (
                (self.viewer.layers or session.problems.items or self.widget.layers.refusal)
                and not self.widget._waiting
            )
        )
        QApplication.processEvents()
        return str(self.widget.facts.text())


@pytest.fixture
def dock(qtbot: Any, make_napari_viewer: Any) -> Iterator[Dock]:
    viewer = make_napari_viewer(show=True)
    dock = Dock(qtbot, viewer, MemorySettings())
    yield dock
    dock.widget.stop()


def made(dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    numbers = np.asarray(RANDOM.integers(0, 100, shape))
    return numbers.astype(bool) if dtype == "?" else numbers.astype(dtype)


DRAWN = ("?", "i1", "u1", ">u2", "i8", "u8", "f2", ">f4", "c8", "c16", "M8[ns]", "m8[s]")
SHAPES: tuple[tuple[int, ...], ...] = ((40, 40), (40, 40, 4), (40, 40, 3), (5, 40, 40, 4), (1, 1))
LACKING: tuple[tuple[int, ...], ...] = ((), (50,), (0, 40), (4, 0, 40), (0, 40, 40), (0, 40, 40, 4))


def test_the_dock_takes_an_object(dock: Dock) -> None:
    import zarr

    array = zarr.create_group(zarr.storage.MemoryStore()).create_array(
        "g/a", shape=(40, 40), chunks=(20, 20), dtype="u1"
    )
    array[...] = made("u1", (40, 40))
    dock.widget.open(array)
    dock.wait(lambda: dock.widget.session is not None and dock.widget.session.node is not None)
    assert dock.widget.session is not None
    assert dock.widget.session.state.path == "/g/a"
    dock.add("/g/a")
    np.testing.assert_array_equal(np.asarray(dock.viewer.layers[0].data), np.asarray(array[...]))
    with pytest.raises(TypeError, match="cannot be opened by zarrscope"):
        dock.widget.open(3)


LACKS = [made("u1" if number % 2 else "c8", shape) for number, shape in enumerate(LACKING)]
LACKS += [made("U5", (9, 9)), np.zeros((9, 9), [("a", "u1")])]


# A few arrays in each test, because a busy machine needs seconds for each layer.
@pytest.mark.parametrize("first", range(0, len(DRAWN), 3))
def test_every_array_that_can_be_drawn_becomes_layers(dock: Dock, shelf: Shelf, first: int) -> None:
    numbers = range(first, min(first + 3, len(DRAWN)))
    for number in numbers:
        put(shelf, f"drawn{number}", made(DRAWN[number], SHAPES[number % len(SHAPES)]))
    dock.open(shelf)
    for number in numbers:
        said = dock.add(f"/drawn{number}")
        found = list(dock.viewer.layers)
        assert found, (number, said)
        assert "Something went wrong" not in said
        shape = SHAPES[number % len(SHAPES)]
        for layer in found:
            assert layer.rgb is False
            assert tuple(layer.data.shape) == (shape if len(found) == 1 else shape[:2])
        for axis in range(dock.viewer.dims.ndim - 2):
            dock.viewer.dims.set_current_step(axis, 1)
        if number in (0, 9, 11):
            dock.viewer.dims.ndisplay = 3
            dock.viewer.dims.ndisplay = 2
        QApplication.processEvents()


@pytest.mark.parametrize("first", range(0, len(LACKS), 4))
def test_every_array_that_cannot_be_drawn_gives_a_sentence(dock: Dock, shelf: Shelf, first: int) -> None:
    for number, values in enumerate(LACKS[first : first + 4], first):
        put(shelf, f"lacking{number}", values)
    dock.open(shelf)
    for number in range(first, min(first + 4, len(LACKS))):
        said = dock.add(f"/lacking{number}")
        assert not dock.viewer.layers, number
        assert "Something went wrong" not in said
        assert f"/lacking{number}" in said or "picture" in said, said


def test_what_is_shown_instead_is_said_and_exact(shelf: Shelf) -> None:
    values = np.array([[3 + 4j, 1], [np.nan, -2]], "c8")
    put(shelf, "complex", values)
    (layer,) = layers_of(shelf, "/complex")
    assert layer.warnings == (AS_MAGNITUDES,)
    assert layer.name == "complex (magnitude)"
    assert layer.data[0].dtype == np.float32
    np.testing.assert_array_equal(np.asarray(layer.data[0]), np.abs(values))
    np.testing.assert_array_equal(np.asarray(layer.data[0][0][:1]), [5])
    put(shelf, "time", np.array([["1970-01-11", "NaT"]], "M8[5D]"))
    (layer,) = layers_of(shelf, "/time")
    assert layer.warnings == ("Times are shown as numbers, in units of 5 D since 1970-01-01.",)
    np.testing.assert_array_equal(np.asarray(layer.data[0]), [[2.0, np.nan]])
    open_hierarchy(shelf, "a").create_array("/wide", shape=(1, PLANE_LIMIT // 8, 9), dtype="u1", chunks=(1, 512, 9))
    with pytest.raises(TooLarge, match="and it would be read whole"):
        layers_of(shelf, "/wide")


def test_labels_are_integers(dock: Dock, shelf: Shelf) -> None:
    axes = [{"name": name, "type": "space"} for name in "yx"]
    datasets = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]
    colors = [{"label-value": value, "rgba": [255, 0, 0, 255]} for value in (1, -7, 300, 2**70)]
    about = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}], "image-label": {"colors": colors}}
    kinds = {"bool": "labels", "u1": "labels", "i8": "labels", "f4": "image"}
    for dtype in kinds:
        image(shelf, about, {"0": made("?" if dtype == "bool" else dtype, (20, 20))}, dtype)
    dock.open(shelf)
    for dtype, kind in kinds.items():
        said = dock.add(f"/{dtype}")
        (layer,) = dock.viewer.layers
        assert type(layer).__name__.lower() == kind, dtype
        assert (NO_LABELS in said) == (kind == "image"), dtype


def test_layers_carry_ranges_names_and_properties(dock: Dock, shelf: Shelf) -> None:
    axes = [{"name": "c", "type": "channel"}, *({"name": name, "type": "space"} for name in "yx")]
    datasets = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1, 1]}]}]
    channels = [
        {"label": "red", "color": "FF0000", "window": {"start": 10, "end": 20, "min": 5, "max": 90}},
        {"label": "odd", "color": "12AB34", "window": {"start": 10, "end": 20}},
        {"label": "white", "color": "FFFFFF"},
    ]
    about = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}], "omero": {"channels": channels}}
    image(shelf, about, {"0": made("u2", (3, 20, 20))})
    dock.open(shelf)
    dock.add("/image")
    red, odd, white = dock.viewer.layers
    assert [layer.name for layer in (red, odd, white)] == ["image: red", "image: odd", "image: white"]
    assert (red.colormap.name, odd.colormap.name, white.colormap.name) == ("red", "#12ab34", "gray")
    assert (red.contrast_limits, red.contrast_limits_range) == ([10, 20], [5, 90])
    assert (odd.contrast_limits, odd.contrast_limits_range) == ([10, 20], [0, 65535])
    assert white.contrast_limits_range == [0, 65535]

    properties = [{"label-value": 1, "area": 7, "kind": "a"}, {"label-value": 4, "area": 9}]
    label = {
        "version": "0.5",
        "multiscales": [{"axes": axes[1:], "datasets": [{"path": "0", "coordinateTransformations": [
            {"type": "scale", "scale": [1, 1]}]}]}],
        "image-label": {"properties": properties},
    }  # fmt: skip
    image(shelf, label, {"0": made("u1", (20, 20))}, "labelled/cells")
    dock.add("/labelled/cells")
    (cells,) = dock.viewer.layers
    assert cells.name == "cells"
    assert cells.features["index"].tolist() == [1, 4]
    assert cells.features["area"].tolist() == [7, 9]
    assert cells.features["kind"].tolist()[0] == "a"


def test_layers_follow_the_store_as_it_is_opened_anew(dock: Dock, shelf: Shelf) -> None:
    """The option that treats denied values as missing also applies to layers that were added before."""
    levels(shelf)
    with miserly(shelf, {f"image/{k}/c/{z}/0/0" for k in range(3) for z in range(4)}) as url:
        dock.widget.open(f"{url}/image")
        dock.wait(lambda: dock.widget.session is not None and dock.widget.session.node is not None)
        dock.widget.add()
        dock.wait(lambda: dock.widget.offers["missing-is-fill"].isVisible())
        (layer,) = dock.viewer.layers
        assert is_empty(layer)
        dock.widget.offers["missing-is-fill"].click()
        dock.wait(lambda: not is_empty(layer) and not dock.widget.retry.isVisible())
        assert np.asarray(layer.data[2][0, :1, :1]).tolist() == [[0]]
        assert list(dock.viewer.layers) == [layer]


def test_the_menu_says_why_it_has_nothing_on_a_layer(make_napari_viewer: Any) -> None:
    from zarrscope_app.napari import menu_commands
    from zarrscope_app.napari.menu_commands import open_attributes

    viewer = make_napari_viewer()
    told: list[str] = []
    hear = lambda notice: told.append(str(notice.message))  # noqa: E731 - it is disconnected below
    notification_manager.notification_ready.connect(hear)
    try:
        assert open_attributes(viewer) is None
        viewer.add_image(np.zeros((4, 4)), name="photo")
        for act in (open_attributes, menu_commands.open_chunk_map, menu_commands.write_labels):
            assert act(viewer) is None
        assert menu_commands.save_local_copy(viewer) is None
        viewer.add_points(np.zeros((1, 2)), name="spots")
        assert open_attributes(viewer) is None
    finally:
        notification_manager.notification_ready.disconnect(hear)
    assert told == [
        "Select a layer first.",
        *['"photo" does not come from Zarr. Save layers as OME-Zarr, under Layers ▸ Data, writes it to a new image.']
        * 4,
        '"spots" does not come from Zarr, and OME-Zarr holds images and labels only.',
    ]


# ---------------------------------------------------------------------- unreadable chunks
def levels(shelf: Shelf) -> None:
    axes = [{"name": name, "type": "space"} for name in "zyx"]
    datasets = [
        {"path": str(k), "coordinateTransformations": [{"type": "scale", "scale": [1, 2**k, 2**k]}]} for k in range(3)
    ]
    about: dict[str, Any] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}
    channel = {"label": "a", "color": "FFFFFF", "window": {"start": 0, "end": 255, "min": 0, "max": 255}}
    about["omero"] = {"channels": [channel]}
    image(shelf, about, {str(k): made("u1", (4, 64 >> k, 64 >> k)) for k in range(3)})


def failing(shelf: Shelf, plane: int, count: int = 3) -> set[str]:
    """The keys of one plane, in the coarsest `count` levels."""
    return {f"image/{k}/c/{plane}/{y}/{x}" for k in range(3 - count, 3) for y in range(4) for x in range(4)}


VERSION = tuple(map(int, version("napari").split(".")[:2]))


def is_empty(layer: Any) -> bool:
    """Whether the layer draws nothing and has no value under the cursor. napari 0.5 keeps the size of an empty slice,
    one element, and forgets that it is empty."""
    holder = getattr(layer, "_slicing_state", layer)
    value = layer.get_value((0, 1, 1))
    if not (holder._slice.empty or holder._slice.image.raw.size == 1):
        return False
    assert (value[1] if isinstance(value, tuple) else value) is None
    return True


@pytest.fixture(params=["sync", "async"])
def slicing(request: pytest.FixtureRequest) -> Iterator[str]:
    from napari.settings import get_settings

    get_settings().experimental.async_ = request.param == "async"
    yield request.param
    get_settings().experimental.async_ = False


def test_a_plane_that_cannot_be_read_is_empty_and_said(slicing: str, dock: Dock, shelf: Shelf) -> None:
    levels(shelf)
    put(shelf, "other", made("u1", (4, 20, 20)))
    dock.open(shelf)
    dock.add("/other")
    dims, retry = dock.viewer.dims, dock.widget.retry
    dims.set_current_step(0, 0)
    shelf.failing |= failing(shelf, 0)
    session: Any = dock.widget.session
    session.select("/image")
    dock.wait(lambda: session.node is not None)
    dock.widget.add()
    dock.wait(lambda: "503" in dock.widget.facts.text())
    other, layer = dock.viewer.layers
    assert layer.visible
    assert is_empty(layer)
    assert '"a" is left empty at this place: The server answered 503.' in dock.widget.facts.text()
    assert retry.isVisible()
    with pytest.raises(Unreadable):
        np.asarray(layer.data[0][0])
    # Steps to a plane that can be read, and back.
    dims.set_current_step(0, 1)
    dock.wait(lambda: not is_empty(layer) and not retry.isVisible())
    assert "503" not in dock.widget.facts.text()
    assert not is_empty(other)
    shelf.failing |= failing(shelf, 3)
    dims.set_current_step(0, 3)
    dock.wait(lambda: is_empty(layer) and retry.isVisible())
    dock.wait(
        lambda: not is_empty(other),
    )
    retry.click()
    dock.qtbot.wait(50)
    assert is_empty(layer)
    assert retry.isVisible()
    shelf.failing.clear()
    retry.click()
    dock.wait(lambda: not is_empty(layer) and not retry.isVisible())
    # No message about a layer that is hidden or was removed.
    for act in (lambda: setattr(layer, "visible", False), lambda: dock.viewer.layers.remove(layer)):
        shelf.failing |= failing(shelf, 2)
        layer.visible = True
        dims.set_current_step(0, 2)
        dock.wait(retry.isVisible)
        act()
        dock.wait(lambda: not retry.isVisible())
        shelf.failing.clear()
        dims.set_current_step(0, 1)
    assert list(dock.viewer.layers) == [other]


def test_a_thumbnail_that_cannot_be_read_hides_no_plane(dock: Dock, shelf: Shelf) -> None:
    levels(shelf)
    dock.open(shelf)
    dock.add("/image")
    (layer,) = dock.viewer.layers
    layer.data_level = 0
    shelf.failing |= failing(shelf, 3, 1)
    dock.viewer.dims.set_current_step(0, 3)
    assert not is_empty(layer)
    assert not dock.widget.retry.isVisible()


@pytest.mark.parametrize("with_dock", [True, False])
def test_files_that_napari_opens_leave_no_half_layers(
    slicing: str, with_dock: bool, shelf: Shelf, qtbot: Any, make_napari_viewer: Any, tmp_path: Path
) -> None:
    levels(shelf)
    folder = tmp_path / "a.zarr"
    for key in shelf.list():
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).write_bytes(shelf.get(key) or b"")

    def spoil(*planes: int) -> None:
        for key in (key for plane in planes for key in failing(shelf, plane) if (folder / key).exists()):
            (folder / key).write_bytes(b"no chunk")

    def mend() -> None:
        for key in shelf.list():
            (folder / key).write_bytes(shelf.get(key) or b"")

    viewer = make_napari_viewer(show=True)
    dock = Dock(qtbot, viewer, MemorySettings()) if with_dock else None
    told: list[str] = []

    def hear(notice: Any) -> None:
        told.append(str(notice.message))

    notification_manager.notification_ready.connect(hear)
    spoil(0, 1, 2, 3)
    (layer,) = viewer.open(str(folder / "image"), plugin="zarrscope")
    assert layer.visible
    qtbot.waitUntil(lambda: is_empty(layer) and bool(told or dock), timeout=int(SECONDS * 1000))
    if dock is not None:
        dock.wait(lambda: "left empty" in dock.widget.facts.text())
    # napari 0.5 slices a new layer twice.
    most = 1 if VERSION >= (0, 6) else 2
    assert ["left empty" in text for text in told] in ([[]] if with_dock else [[True], [True] * most])
    mend()
    viewer.dims.set_current_step(0, 3)
    qtbot.waitUntil(lambda: not is_empty(layer), timeout=int(SECONDS * 1000))
    spoil(0)
    viewer.dims.set_current_step(0, 0)
    qtbot.waitUntil(lambda: is_empty(layer), timeout=int(SECONDS * 1000))
    viewer.layers.clear()
    (folder / "image/0/zarr.json").write_bytes(b"{")
    (folder / "image/1/zarr.json").write_bytes(b"{")
    (folder / "image/2/zarr.json").write_bytes(b"{")
    with pytest.raises(ZarrscopeError):
        viewer.open(str(folder / "image"), plugin="zarrscope")
    assert not viewer.layers
    notification_manager.notification_ready.disconnect(hear)
    if dock is not None:
        dock.widget.stop()


def test_a_level_that_cannot_be_decoded_is_left_out_and_said(dock: Dock, shelf: Shelf) -> None:
    levels(shelf)
    key = "image/1/zarr.json"
    document = json.loads(shelf.get(key) or b"")
    shelf.set(key, json.dumps(document | {"codecs": [{"name": "example_unknown"}]}).encode())
    dock.open(shelf)
    said = dock.add("/image")
    assert "/image/1 is left out" in said
    (layer,) = dock.viewer.layers
    assert [level.shape for level in layer.data] == [(4, 64, 64), (4, 16, 16)]


def test_what_napari_refuses_is_said(dock: Dock, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    put(shelf, "array", made("u1", (20, 20)))
    dock.open(shelf)

    def refuse(*_: object) -> None:
        raise ValueError("a rule of tomorrow")

    monkeypatch.setattr("zarrscope_app.napari.dock.insert", refuse)
    assert "cannot be added here (ValueError: a rule of tomorrow)" in dock.add("/array")
    assert not dock.viewer.layers


# ---------------------------------------------------------------------- computing by napari and plug-ins
def test_layers_are_projected_thresholded_and_duplicated(dock: Dock, shelf: Shelf) -> None:
    from napari.layers._layer_actions import _duplicate_layer, _project

    levels(shelf)
    dock.open(shelf)
    dock.add("/image")
    viewer = dock.viewer
    (layer,) = viewer.layers
    values = [np.asarray(level) for level in layer.data]
    # Before 0.9 (0.6.2 to 0.7.0 were tried) napari projects the list of levels as if it were one array.
    of_levels = VERSION >= (0, 9)
    for mode in ("max", "mean", "std") if of_levels else ():
        viewer.layers.selection.select_only(layer)
        _project(viewer.layers, axis=0, mode=mode)
        projected = viewer.layers[-1]
        for level, whole in zip(projected.data, values, strict=True):
            np.testing.assert_allclose(np.asarray(level), getattr(np, mode)(whole, axis=0), atol=1e-6)
    threshold = layer.data[0] > 50
    mask = viewer.add_labels(threshold)
    np.testing.assert_array_equal(np.asarray(mask.data), values[0] > 50)
    viewer.layers.selection.select_only(layer)
    _duplicate_layer(viewer.layers)
    assert [level.shape for level in viewer.layers["a copy"].data] == [level.shape for level in layer.data]
    dock.viewer.dims.set_current_step(0, 2)


def test_a_node_that_is_no_picture_is_no_problem_of_the_data(dock: Dock, shelf: Shelf) -> None:
    open_hierarchy(shelf, "a").create_group("/group")
    put(shelf, "line", made("u1", (50,)))
    dock.open(shelf)
    problems = not_none(dock.widget.session).problems
    for path in ("/", "/group", "/line"):
        said = dock.add(path)
        assert "Choose an array of two axes" in said or "a picture needs two" in said
        assert said.startswith((not_none(dock.widget.session).name, "/group", "/line")), said
        assert problems.title == "Problems"
    put(shelf, "picture", made("u1", (50, 60)))
    assert "needs two" not in dock.add("/picture")


# ---------------------------------------------------------------------- coordinate systems (RFC-5)
TURN = [[0.8, -0.6], [0.6, 0.8]]


def turned(shelf: Shelf, path: str = "image", **more: Any) -> None:
    """Levels of 0.5 and 1 in "physical", which a rotation and a shift lead to "world"."""

    def axes(name: str) -> dict[str, Any]:
        return {"name": name, "axes": [{"name": n, "type": "space", "unit": "micrometer"} for n in "yx"]}

    entry = {
        "coordinateSystems": [axes("physical"), axes("world")],
        "datasets": [
            {"path": str(k), "coordinateTransformations": [
                {"type": "scale", "scale": [2**k / 2] * 2, "input": {"path": str(k)}, "output": {"name": "physical"}}]}
            for k in range(2)
        ],
        "coordinateTransformations": [
            {"type": "sequence", "input": {"name": "physical"}, "output": {"name": "world"}, "transformations": [
                {"type": "rotation", "rotation": TURN}, {"type": "translation", "translation": [10, 20]}]}
        ],
    }  # fmt: skip
    entry.update(more)
    image(shelf, {"multiscales": [entry]}, {"0": made("u1", (40, 60)), "1": made("u1", (20, 30))}, path)


def test_a_rotation_is_applied(dock: Dock, shelf: Shelf) -> None:
    turned(shelf)
    dock.open(shelf)
    said = dock.add("/image")
    (layer,) = dock.viewer.layers
    assert "not applied" not in said
    np.testing.assert_allclose(layer.data_to_world((0, 0)), (10, 20))
    np.testing.assert_allclose(layer.data_to_world((2, 4)), (10 + 0.8 - 0.6 * 2, 20 + 0.6 + 0.8 * 2))
    assert tuple(layer.scale) == (0.5, 0.5)


def test_what_is_not_applied_is_said(shelf: Shelf) -> None:
    step = {"type": "displacements", "path": "field", "input": {"name": "physical"}, "output": {"name": "world"}}
    turned(shelf, "bent", coordinateTransformations=[step])
    (layer,) = layers_of(shelf, "/bent")
    assert layer.affine is None
    assert layer.scale == (0.5, 0.5)
    assert any("'world' is not applied" in warning and "displacements" in warning for warning in layer.warnings)
    rotation = {"type": "rotation", "rotation": TURN, "input": {"name": "physical"}}
    several = [{**rotation, "output": {"name": name}} for name in ("world", "atlas")]
    turned(shelf, "several", coordinateTransformations=several)
    (layer,) = layers_of(shelf, "/several")
    assert layer.affine is None
    assert [name for name in ("world", "atlas") if any(f"'{name}' is not applied" in w for w in layer.warnings)] == [
        "world",
        "atlas",
    ]


def test_a_transformation_of_the_levels_is_applied(shelf: Shelf) -> None:
    matrix = [[0, 2, 5], [-3, 0, 7]]
    dataset = {"path": "0", "coordinateTransformations": {
        "type": "affine", "affine": matrix, "input": "0", "output": "physical"}}  # fmt: skip
    turned(shelf, datasets=[dataset], coordinateTransformations=[])
    (layer,) = layers_of(shelf, "/image")
    assert layer.affine is not None
    point = layer.affine @ [*(np.array([1, 1]) * layer.scale + layer.translation), 1]
    np.testing.assert_allclose(point, [7, 4, 1])
    assert not layer.warnings


def moved(shelf: Shelf, path: str, matrix: list[list[float]]) -> np.ndarray[Any, Any]:
    """An image of three axes whose level a matrix leads to "physical"; returns its values."""
    names = [{"name": n, "type": "space", "unit": "micrometer"} for n in "zyx"]
    step = {"type": "affine", "affine": matrix, "input": "0", "output": "physical"}
    entry = {
        "coordinateSystems": [{"name": "physical", "axes": names}],
        "datasets": [{"path": "0", "coordinateTransformations": [step]}],
    }
    values = made("u1", (4, 20, 30))
    image(shelf, {"multiscales": [entry]}, {"0": values}, path)
    return values


@pytest.mark.parametrize(
    "matrix",
    [
        [[0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]],
        [[0, 0, -2, 5], [0, 3, 0, 6], [0.5, 0, 0, 7]],
        [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]],
    ],
)
def test_axes_that_a_transformation_exchanges_are_drawn(dock: Dock, shelf: Shelf, matrix: list[list[float]]) -> None:
    """napari inverts the matrix of the two drawn axes: it would fail at each drawing."""
    values = moved(shelf, "image", matrix)
    dock.open(shelf)
    said = dock.add("/image")
    assert "not applied" not in said, said
    (layer,) = dock.viewer.layers
    assert layer.axis_labels == ("z", "y", "x")
    for place in ((0, 0, 0), (3, 19, 29), (1, 2, 3)):
        index = layer.world_to_data(np.array(matrix) @ [*place, 1])
        assert np.asarray(layer.data[tuple(np.rint(index).astype(int))]) == values[place]
    dock.wait(lambda: layer.loaded and layer.visible)
    dock.viewer.screenshot(flash=False)
    dock.viewer.dims.ndisplay = 3
    dock.viewer.screenshot(flash=False)


def test_a_plane_that_is_turned_on_edge_is_said(dock: Dock, shelf: Shelf) -> None:
    moved(shelf, "image", [[0, 0, 1, 0], [1, 1, 0, 0], [1, -1, 0, 0]])
    dock.open(shelf)
    said = dock.add("/image")
    (layer,) = dock.viewer.layers
    assert "'physical' is not applied: it turns the plane" in said
    dock.viewer.screenshot(flash=False)
    assert layer.data.shape == (4, 20, 30)


def test_the_reader_tells_what_it_does_not_show(shelf: Shelf, make_napari_viewer: Any) -> None:
    put(shelf, "complex", made("c8", (20, 20, 4)))
    with pytest.warns(UserWarning, match="magnitudes"):
        ((data, arguments, kind),) = read(f"{shelf.address}/complex")
    assert (kind, arguments["rgb"]) == ("image", False)
    viewer = make_napari_viewer()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Calling the getitem method")  # napari before 0.6.2, of pint
        (layer,) = viewer._add_layer_from_data(data, arguments, kind)
    assert layer.ndim == 3


# ---------------------------------------------------------------------- edits that are not saved
@pytest.mark.parametrize("way", ["removed", "opened elsewhere"])
def test_edits_outlive_a_dock_that_napari_takes_away(
    qtbot: Any, make_napari_viewer: Any, shelf: Shelf, way: str
) -> None:
    open_hierarchy(shelf, "a").create_group("/g", {"note": "before"})
    settings, viewer = MemorySettings(), make_napari_viewer()
    first = Dock(qtbot, viewer, settings)
    first.open(shelf)
    session: Any = first.widget.session
    session.set_writable(True)
    first.wait(lambda: session.state.writable)
    session.select("/g")
    first.wait(lambda: session.edit.field("/note") is not None)
    session.edit.edit("/note", way)
    if way == "removed":
        viewer.window.remove_dock_widget(first.widget)
    else:
        first.widget.open(Shelf().address)
    assert first.widget.session is not session

    second = Dock(qtbot, viewer, settings)
    second.open(shelf)
    again: Any = second.widget.session
    second.wait(lambda: "was not saved" in second.widget.facts.text())
    assert json.loads(shelf.get("g/zarr.json") or b"")["attributes"] == {"note": "before"}
    second.widget.offers["put-back"].click()
    second.wait(lambda: again.edit.dirty_paths == {"/g"})
    again.select("/g")
    second.wait(lambda: again.edit.field("/note") is not None)
    assert again.edit.field("/note").text == way
    again.discard_edits()
    for dock in (first, second):
        dock.widget.close()
