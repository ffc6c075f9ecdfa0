"""napari's writer writes colour images, channel axes and labels of similar names, and tells of anything left out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from napari.layers import Image, Labels
from napari.plugins._npe2 import file_extensions_string_for_layers
from napari.utils.colormaps import AVAILABLE_COLORMAPS

import zarrscope
from narrowing import as_array
from zarrscope.errors import Refused
from zarrscope_app.napari.reader import read
from zarrscope_app.napari.writer import drawn, write
from zarrscope_app.presenters.layers.layer_writing import plan_image, write_image

RANDOM = np.random.default_rng(7)
PHOTO = RANDOM.integers(0, 256, (6, 40, 50, 4)).astype("u1")


def written(target: Path, version: str, *layers: Any) -> list[Any]:
    """Writes napari's layers and returns the layers that are read from the new image."""
    described = [drawn(*layer.as_layer_data_tuple()) for layer in layers]
    return read(write_image(plan_image(str(target), described, version)))


@pytest.mark.parametrize("version", ["0.5", "0.4"])
def test_a_colour_image_becomes_three_channels(version: str, tmp_path: Path) -> None:
    photo = Image(PHOTO[..., :3], rgb=True, name="photo", scale=(2, 0.5, 0.25), translate=(0, 3, 4))
    channels = written(tmp_path / "a.zarr", version, photo)
    assert [arguments["name"] for _, arguments, _ in channels] == ["photo: red", "photo: green", "photo: blue"]
    assert [arguments["colormap"] for _, arguments, _ in channels] == ["red", "green", "blue"]
    for number, (data, arguments, _) in enumerate(channels):
        np.testing.assert_array_equal(np.asarray(data), PHOTO[..., number])
        assert tuple(arguments["scale"]) == (2, 0.5, 0.25)
        assert tuple(arguments["translate"]) == (0, 3, 4)
        assert arguments["contrast_limits"] == (0, 255)


def test_other_readers_see_a_colour_image(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    (path,) = write(str(tmp_path / "a.zarr"), [Image(PHOTO[0, ..., :3], rgb=True).as_layer_data_tuple()])
    np.testing.assert_array_equal(zarr.open_array(f"{path}/0", mode="r")[...], np.moveaxis(PHOTO[0, ..., :3], -1, 0))
    models = pytest.importorskip("ome_zarr_models")
    models.open_ome_zarr(zarr.open_group(path, mode="r"))


@pytest.mark.parametrize("dtype", ["f4", "u2"])
def test_colour_images_keep_the_range_in_which_napari_shows_them(dtype: str, tmp_path: Path) -> None:
    photo = PHOTO[0, ..., :3].astype(dtype) / (255 if dtype == "f4" else 1)
    channels = written(tmp_path / "a.zarr", "0.5", Image(photo.astype(dtype), rgb=True))
    assert {arguments["contrast_limits"] for _, arguments, _ in channels} == {(0, 1 if dtype == "f4" else 65535)}


def test_transparency_of_a_colour_image_is_left_out_aloud(tmp_path: Path) -> None:
    clear = [Image(PHOTO, rgb=True, name="photo").as_layer_data_tuple()]
    with pytest.warns(UserWarning, match='"photo": its transparency is not written'):
        write(str(tmp_path / "a.zarr"), clear)
    assert len(read(str(tmp_path / "a.zarr"))) == 3


@pytest.mark.parametrize("version", ["0.5", "0.4"])
@pytest.mark.parametrize(
    ("shape", "names"),
    [
        ((3, 40, 50), ("c", "y", "x")),
        ((2, 3, 40, 50), ("c", "z", "y", "x")),
        ((2, 3, 4, 40, 50), ("t", "c", "z", "y", "x")),
        ((2, 3, 4, 40, 50), None),
        ((3, 2, 4, 40, 50), ("c", "t", "z", "y", "x")),
    ],
)
def test_an_axis_of_channels_stays_one(
    shape: tuple[int, ...], names: tuple[str, ...] | None, version: str, tmp_path: Path
) -> None:
    values = RANDOM.integers(0, 9, shape).astype("u2")
    scale = tuple(range(2, 2 + len(shape)))
    channels = written(tmp_path / "a.zarr", version, Image(values, name="cells", axis_labels=names, scale=scale))
    at = (names or ("t", "c")).index("c")
    assert len(channels) == shape[at]
    for number, (data, arguments, _) in enumerate(channels):
        finest = data[0] if isinstance(data, list) else data
        np.testing.assert_array_equal(np.asarray(finest), values.take(number, at))
        assert arguments["name"] == f"cells: {number}"
        assert tuple(arguments["scale"]) == (*scale[:at], *scale[at + 1 :])


def test_label_layers_of_similar_names_are_all_written(tmp_path: Path) -> None:
    values = [np.full((40, 50), number, "i4") for number in range(1, 7)]
    names = ["cells 1", "cells_1", "cells_1", "Cells/1", "b", "b"]
    layers = [Labels(one, name=name) for one, name in zip(values, names, strict=True)]
    write(str(tmp_path / "a.zarr"), [layer.as_layer_data_tuple() for layer in (Image(values[0]), *layers)])
    hierarchy = zarrscope.open(str(tmp_path / "a.zarr"))
    listed = hierarchy["/labels"].attributes["ome"]["labels"]
    assert [as_array(hierarchy[f"/labels/{name}/0"])[0, 0] for name in listed] == [1, 2, 3, 4, 5, 6]
    assert len({name.casefold() for name in listed}) == 6  # some file systems do not distinguish capitals


def test_an_inverted_colour_map_is_no_black_channel(tmp_path: Path) -> None:
    layers = [Image(PHOTO[0, ..., 0], name="a", colormap="gray_r"), Image(PHOTO[0, ..., 1], name="b", colormap="red")]
    write(str(tmp_path / "a.zarr"), [layer.as_layer_data_tuple() for layer in layers])
    channels = zarrscope.open(str(tmp_path / "a.zarr"))["/"].attributes["ome"]["omero"]["channels"]
    assert [(channel["color"], channel.get("inverted", False)) for channel in channels] == [
        ("FFFFFF", True),
        ("FF0000", False),
    ]
    again = read(str(tmp_path / "a.zarr"))
    np.testing.assert_allclose(again[0][1]["colormap"].map(np.array([0, 1])), [[1, 1, 1, 1], [0, 0, 0, 1]])
    write(str(tmp_path / "b.zarr"), again)
    channels = zarrscope.open(str(tmp_path / "b.zarr"))["/"].attributes["ome"]["omero"]["channels"]
    assert (channels[0]["color"], channels[0]["inverted"]) == ("FFFFFF", True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"rotate": 30}, "its rotation, shear or affine transformation is not written"),
        ({"colormap": "viridis"}, "of its colour map viridis only the last colour is written"),
        ({"gamma": 0.5}, "its gamma is not written"),
    ],
)
def test_a_script_is_warned_of_what_is_left_out(arguments: dict[str, Any], told: str, tmp_path: Path) -> None:
    layer = Image(PHOTO[0, ..., 0], name="a", **arguments)
    with pytest.warns(UserWarning, match=f'"a": {told}'):
        write(str(tmp_path / "a.zarr"), [layer.as_layer_data_tuple()])


def test_usual_layers_are_written_without_a_warning(tmp_path: Path) -> None:
    names = [name for name in ("gray", "gray_r", "green", "bop blue", "cyan") if name in AVAILABLE_COLORMAPS]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layers = [Image(PHOTO[0, ..., 0], name=name, colormap=name) for name in names]
        write(str(tmp_path / "a.zarr"), [layer.as_layer_data_tuple() for layer in layers])


@pytest.mark.parametrize("rgb", [False, True])
def test_a_negative_scale_is_written_as_a_positive_one_at_the_same_place(rgb: bool, tmp_path: Path) -> None:
    values = PHOTO[..., :3] if rgb else PHOTO[..., 0]
    layer = Image(values, rgb=rgb, name="a", scale=(2, -0.5, 0.25), translate=(0, 3, 4), axis_labels=("z", "y", "x"))
    with pytest.warns(UserWarning, match='"a": written in reverse order along y, with a positive pixel size'):
        write(str(tmp_path / "a.zarr"), [layer.as_layer_data_tuple()])
    ((data, arguments, _), *_) = read(str(tmp_path / "a.zarr"))
    assert tuple(arguments["scale"]) == (2, 0.5, 0.25)
    again = Image(data, scale=arguments["scale"], translate=arguments["translate"])
    for at in ((0, 0, 0), (1, 7, 3), (5, 39, 49)):
        place = layer.data_to_world(at)
        found = tuple(np.round(again.world_to_data(place)).astype(int))
        assert np.asarray(data)[found] == (values[(*at, 0)] if rgb else values[at])


def test_points_beside_an_image_do_not_hide_the_writer_and_are_named(make_napari_viewer: Any, tmp_path: Path) -> None:
    viewer = make_napari_viewer()
    viewer.add_image(PHOTO[0, ..., 0], name="a")
    viewer.add_points(np.zeros((1, 2)), name="p")
    viewer.add_shapes(np.array([[1, 1], [5, 9]]), name="s")
    _, writers = file_extensions_string_for_layers(list(viewer.layers))
    assert "zarrscope.write" in {writer.command for writer in writers}
    with pytest.warns(UserWarning, match='Not written, because OME-Zarr holds images and labels only: "p", "s"'):
        viewer.layers.save(str(tmp_path / "a.zarr"), plugin="zarrscope")
    ((data, _, kind),) = read(str(tmp_path / "a.zarr"))
    assert kind == "image"
    np.testing.assert_array_equal(np.asarray(data), PHOTO[0, ..., 0])
    with pytest.raises(Refused, match="no image and no label layer"):
        write(str(tmp_path / "b.zarr"), [viewer.layers["p"].as_layer_data_tuple()])


def test_channels_that_no_type_holds_exactly_are_refused(tmp_path: Path) -> None:
    layers = [Image(PHOTO[0, ..., 0].astype(dtype), name=dtype).as_layer_data_tuple() for dtype in ("u8", "i8")]
    with pytest.raises(Refused, match="No data type holds all values of uint64 and int64"):
        write(str(tmp_path / "a.zarr"), layers)
    assert not list(tmp_path.iterdir())
