"""napari's own commands on layers do on zarrscope's layers what they do on numpy arrays.

The commands are those of the context menu of the list of layers, run by their ids in a viewer. A command that a release
of napari lacks is skipped by its name.
"""

from __future__ import annotations

import ast
from importlib.metadata import version
from pathlib import Path
from typing import Any

import napari
import numpy as np
import pytest
import tifffile
from app_model.expressions import get_context

import zarrscope
from napari_hand import Hand
from zarrscope_app.napari.layers import views_of
from zarrscope_app.napari.reader import read

RANDOM = np.random.default_rng(3)
IMAGE = RANDOM.integers(0, 1000, (3, 5, 48, 40)).astype("u2")
CELLS = RANDOM.integers(0, 120, (5, 48, 40)).astype("u2")
OLD = tuple(map(int, version("napari").split(".")[:2])) < (0, 6)
COLORS = ("FF0000", "00FF00", "0000FF")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images of three channels, c z y x: /flat of one level, /levels of two; each with labels."""
    path = tmp_path_factory.mktemp("acts") / "acts.zarr"
    with zarrscope.open(str(path), "w-") as h:
        for name, count in (("flat", 1), ("levels", 2)):
            axes = [{"name": "c", "type": "channel"}, *({"name": n, "type": "space"} for n in "zyx")]
            channels = [
                {
                    "label": color,
                    "color": color,
                    "active": True,
                    "window": {"start": 0, "end": 999, "min": 0, "max": 999},
                }
                for color in COLORS
            ]
            h.create_group(f"/{name}", {"ome": _multiscale(axes, count) | {"omero": {"channels": channels}}})
            h.create_group(f"/{name}/labels", {"ome": {"version": "0.5", "labels": ["cells"]}})
            h.create_group(f"/{name}/labels/cells", {"ome": _multiscale(axes[1:], count) | {"image-label": {}}})
            for level in range(count):
                for under, values in (("", IMAGE), ("/labels/cells", CELLS)):
                    values = coarser(values, level)
                    chunks = (1,) * (values.ndim - 2) + (16, 16)
                    made = h.create_array(f"/{name}{under}/{level}", shape=values.shape, dtype="u2", chunks=chunks)
                    made[...] = values
    return path


def _multiscale(axes: list[dict[str, str]], levels: int) -> dict[str, Any]:
    datasets = [
        {
            "path": str(level),
            "coordinateTransformations": [
                {"type": "scale", "scale": ([1.0, 2.0] + [0.5 * 2**level] * 2)[4 - len(axes) :]}
            ],
        }
        for level in range(levels)
    ]
    return {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}


def coarser(values: np.ndarray[Any, Any], level: int) -> np.ndarray[Any, Any]:
    return values[..., :: 2**level, :: 2**level]


class Acts:
    """A viewer with zarrscope's layers, and the commands of napari's list of layers."""

    def __init__(self, hand: Hand, place: Path) -> None:
        self.hand, self.place, self.layers = hand, place, hand.viewer.layers

    def add(self, path: str) -> list[Any]:
        """Adds the layers of a node; returns them without the labels that belong to an image."""
        self.hand.add(str(self.place), path)
        labels = "labels" in path
        return [layer for layer in self.layers if isinstance(layer, napari.layers.Labels) == labels]

    def select(self, *layers: Any) -> None:
        self.layers.selection.active = layers[0]
        self.layers.selection.update(layers)

    def act(self, id: str, *layers: Any) -> list[Any]:
        """Runs a command on these layers, as the menu does; returns the layers that it made."""
        application = _application()
        action = application.registered_actions.get(f"napari.layer.{id}")
        if action is None:
            pytest.skip(f"napari {napari.__version__} has no command {id}")
        before = list(self.layers)
        self.hand.in_loop(lambda: self.select(*layers))
        assert self._enabled(action), f"{id} is greyed"
        errors: list[Exception] = []

        def run() -> None:
            try:
                application.commands.execute_command(action.id).result()
            except Exception as error:  # raised below: here it would only stop the event loop's turn
                errors.append(error)

        self.hand.in_loop(run)
        if errors:
            raise errors[0]
        self.hand.wait(lambda: all(layer.loaded for layer in self.layers))
        return [layer for layer in self.layers if layer not in before]

    def _enabled(self, action: Any) -> bool:
        """Whether napari's menu offers the command for the selected layers."""
        if action.enablement is None:
            return True
        context = get_context(self.layers)
        assert context is not None
        names = {node.id for node in ast.walk(action.enablement) if isinstance(node, ast.Name)}
        told = {name: context[name] for name in names}
        return bool(
            action.enablement.eval({name: value() if callable(value) else value for name, value in told.items()})
        )


def _application() -> Any:
    """napari's register of commands."""
    from napari._app_model import get_app_model

    return get_app_model()


@pytest.fixture
def acts(hand: Hand, place: Path) -> Acts:
    return Acts(hand, place)


@pytest.fixture(params=[("/flat", 1), ("/levels", 2)], ids=["one level", "two levels"])
def image(request: pytest.FixtureRequest) -> tuple[str, int]:
    """A node, and the number of its levels."""
    path, count = request.param
    return str(path), int(count)


def same(layer: Any, expected: np.ndarray[Any, Any] | list[np.ndarray[Any, Any]]) -> None:
    """The values of every level of a layer are these, of the same type."""
    levels = list(layer.data) if layer.multiscale else [layer.data]
    wanted = expected if isinstance(expected, list) else [expected]
    assert len(levels) == len(wanted)
    for level, values in zip(levels, wanted, strict=True):
        assert level.dtype == values.dtype
        np.testing.assert_array_equal(np.asarray(level), values)


@pytest.mark.parametrize("mode", ["max", "min", "std", "sum", "mean", "median"])
def test_a_projection_is_numpys(acts: Acts, image: tuple[str, int], mode: str) -> None:
    path, count = image
    if mode == "sum" and tuple(map(int, np.__version__.split(".")[:2])) < (2, 1):
        # napari clips the contrast limits to the range of uint64, which numpy 2.0 does not convert.
        pytest.skip(f"napari {napari.__version__} makes no layer of uint64 with numpy {np.__version__}")
    first = acts.add(path)[0]
    (made,) = acts.act(f"project_{mode}", first)
    expected = [getattr(np, mode)(coarser(IMAGE[0], level), axis=0) for level in range(count)]
    if OLD and count > 1:
        pytest.skip(f"napari {napari.__version__} projects the level on show only")
    levels = list(made.data) if made.multiscale else [made.data]
    for level, values in zip(levels, expected, strict=True):
        assert level.dtype == values.dtype
        np.testing.assert_allclose(np.asarray(level), values, rtol=1e-12)
    assert tuple(made.scale) == (0.5, 0.5)
    assert made.get_value(made.data_to_world((5, 7)), world=True) is not None


def test_a_stack_is_split_into_planes(acts: Acts, image: tuple[str, int]) -> None:
    path, count = image
    first = acts.add(path)[0]
    planes = acts.act("split_stack", first)
    assert first not in acts.layers
    assert len(planes) == 5
    for z, plane in enumerate(planes):
        same(plane, [coarser(IMAGE[0], level)[z] for level in range(count)])


def test_channels_are_merged_to_a_stack(acts: Acts, image: tuple[str, int]) -> None:
    path, count = image
    if OLD and count > 1:
        pytest.skip(f"napari {napari.__version__} stacks no layers of several levels")
    channels = acts.add(path)
    (stack,) = acts.act("merge_stack", *channels)
    same(stack, [coarser(IMAGE, level) for level in range(count)])
    assert not any(channel in acts.layers for channel in channels)


def test_channels_become_a_colour_image_and_are_split_again(acts: Acts) -> None:
    channels = acts.add("/flat")
    for channel in channels:
        channel.contrast_limits = (0, 999)
    numpys = [
        napari.layers.Image(np.asarray(channel.data), contrast_limits=(0, 999), colormap=channel.colormap)
        for channel in channels
    ]
    (photo,) = acts.act("merge_rgb", *channels)
    assert photo.rgb
    from napari.layers.utils.stack_utils import merge_rgb

    same(photo, np.asarray(merge_rgb(numpys).data))
    values = np.asarray(photo.data)
    parts = acts.act("split_rgb", photo)
    assert len(parts) >= 3
    for channel in range(3):
        same(parts[channel], values[..., channel])


@pytest.mark.filterwarnings("ignore:projection mode:UserWarning")  # napari's own, for every image
def test_images_become_labels_and_labels_images(acts: Acts, image: tuple[str, int]) -> None:
    path, count = image
    first = acts.add(path)[0]
    (labels,) = acts.act("convert_to_labels", first)
    assert isinstance(labels, napari.layers.Labels)
    same(labels, [coarser(IMAGE[0], level) for level in range(count)])
    (again,) = acts.act("convert_to_image", labels)
    assert isinstance(again, napari.layers.Image)
    same(again, [coarser(IMAGE[0], level) for level in range(count)])


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint32", "uint64"])
def test_labels_get_another_type(acts: Acts, dtype: str) -> None:
    (cells,) = acts.add("/flat/labels/cells")
    acts.act(f"convert_to_{dtype}", cells)
    same(cells, CELLS.astype(dtype))
    acts.hand.viewer.dims.set_current_step(0, 2)
    assert cells.get_value((2, 5, 7)) == CELLS[2, 5, 7]


def test_a_duplicate_has_the_same_values_and_place(acts: Acts, image: tuple[str, int]) -> None:
    path, count = image
    first = acts.add(path)[0]
    (copy,) = acts.act("duplicate", first)
    same(copy, [coarser(IMAGE[0], level) for level in range(count)])
    assert tuple(copy.scale) == tuple(first.scale)
    assert copy.colormap.name == first.colormap.name
    assert copy.contrast_limits == first.contrast_limits
    assert views_of(copy), "a duplicate reads chunks, too"


def test_a_level_becomes_a_layer(acts: Acts) -> None:
    first = acts.add("/levels")[0]
    if not hasattr(first, "locked_data_level"):
        pytest.skip(f"napari {napari.__version__} does not lock levels")
    acts.hand.in_loop(lambda: setattr(first, "locked_data_level", 1))
    (level,) = acts.act("extract_multiscale_level", first)
    same(level, coarser(IMAGE[0], 1))
    assert tuple(level.scale) == (2, 1, 1)


def test_linked_layers_change_together(acts: Acts) -> None:
    red, green, blue = acts.add("/flat")
    acts.act("link_selected_layers", red, green)
    red.gamma = 0.5
    assert (green.gamma, blue.gamma) == (0.5, 1)
    acts.act("select_linked_layers", red)
    assert acts.layers.selection == {red, green}
    acts.act("unlink_selected_layers", red, green)
    red.gamma = 0.7
    assert green.gamma == 0.5


def test_layers_are_hidden_and_shown(acts: Acts) -> None:
    red, green, blue = layers = acts.add("/flat")
    for id, shown in (
        ("hide_unselected", (True, False, False)),
        ("show_unselected", (True, True, True)),
        ("hide_selected", (False, True, True)),
        ("show_selected", (True, True, True)),
        ("toggle_visibility", (False, True, True)),
    ):
        acts.act(id, red)
        assert tuple(layer.visible for layer in layers) == shown, id
    assert (green.name, blue.name) == ("flat: 00FF00", "flat: 0000FF")


@pytest.mark.parametrize("id", ["bounding_box", "colorbar", "name_overlay"])
def test_overlays_are_drawn(acts: Acts, id: str) -> None:
    first = acts.add("/levels")[0]
    acts.act(id, first)
    assert getattr(first, id).visible
    acts.hand.viewer.screenshot(flash=False)


def test_layers_are_saved_as_files(acts: Acts, tmp_path: Path) -> None:
    first = acts.add("/flat")[0]
    (deepest,) = acts.act("project_max", first)
    for layer, values in ((first, IMAGE[0]), (deepest, IMAGE[0].max(axis=0))):
        (saved,) = layer.save(str(tmp_path / f"{values.ndim}.tif"))
        np.testing.assert_array_equal(tifffile.imread(saved), values)
        (saved,) = layer.save(str(tmp_path / f"{values.ndim}.zarr"), plugin="zarrscope")
        ((data, _, _),) = read(saved)
        np.testing.assert_array_equal(np.asarray(data), values)
        np.save(tmp_path / "a.npy", layer.data)
        np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), values)


def test_a_threshold_of_skimage_makes_labels(acts: Acts) -> None:
    filters = pytest.importorskip("skimage.filters")
    measure = pytest.importorskip("skimage.measure")
    first = acts.add("/flat")[0]
    limit = filters.threshold_otsu(first.data)
    assert limit == filters.threshold_otsu(IMAGE[0])
    made = acts.hand.viewer.add_labels(measure.label(first.data > limit))
    np.testing.assert_array_equal(made.data, measure.label(IMAGE[0] > limit))
