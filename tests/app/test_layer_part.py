"""A part of an image that was chosen before its layers are made lies at its place in the whole image."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope.convert.downsampling import downsample
from zarrscope.errors import Refused
from zarrscope.view.lazy import LazyView
from zarrscope_app.napari.reader import read
from zarrscope_app.presenters.layers.first_plane import ViewerCanvas, level_for_canvas, read_ahead
from zarrscope_app.presenters.layers.layer_part import LayerPart, cut, part_of
from zarrscope_app.presenters.layers.presenter import plan

VALUES = np.arange(2 * 6 * 40 * 64, dtype="u2").reshape(2, 6, 40, 64)


@pytest.fixture
def place(tmp_path: Path) -> str:
    """A c z y x image of three levels, of which the coarser ones are shifted to the centres of their blocks."""
    path = tmp_path / "a.zarr"
    axes = [{"name": "c", "type": "channel"}, *({"name": name, "type": "space"} for name in "zyx")]
    values, datasets = VALUES, []
    with zarrscope.open(str(path), "w-") as h:
        for k in range(3):
            f = 2**k
            steps = [
                {"type": "scale", "scale": [1, 2, 0.5 * f, 0.5 * f]},
                {"type": "translation", "translation": [0, 10, 0.25 * (f - 1), 0.25 * (f - 1)]},
            ]
            datasets.append({"path": str(k), "coordinateTransformations": steps})
            h.create_array(f"/{k}", shape=values.shape, dtype="u2", chunks=(1, 1, 16, 16))[...] = values
            values = downsample(values, (1, 1, 2, 2), "nearest")
        h["/"].attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}
    return str(path)


def test_what_is_typed_is_read() -> None:
    assert part_of({"channels": " all ", "levels": "", "ranges": ""}) == LayerPart()
    found = part_of({"channels": "0, 2", "levels": "1–", "ranges": "t 3, y 10-20, x :5"})
    assert found == LayerPart((0, 2), (1, None), {"t": (3, 3), "y": (10, 20), "x": (0, 5)})
    assert part_of({"channels": "0 2,Ki 67 , red"}).channels == (0, 2, "Ki 67", "red")
    assert part_of({"levels": "1"}).levels == (1, 1)
    for field, text in (
        ("levels", "x"), ("levels", "–"), ("ranges", "t"), ("ranges", "t 5–3"), ("ranges", "t -"),
    ):  # fmt: skip
        with pytest.raises(Refused):
            part_of({field: text})


def test_channels_are_chosen_by_name(place: str) -> None:
    """By a whole name, alone; else by a part of names; the case of letters does not matter."""
    names = ["CD45", "CD45RO", "Ki 67", "488"]
    (first, _) = plan(zarrscope.open(place)["/"])
    layers = [replace(first, channel=number, channel_name=name) for number, name in enumerate(names)]

    def chosen(*channels: int | str) -> list[str]:
        return [layer.channel_name for layer in cut(layers, LayerPart(channels))]

    assert chosen("cd45") == ["CD45"]
    assert chosen("cd4") == ["CD45", "CD45RO"]
    assert chosen("ki 67", 0) == ["CD45", "Ki 67"]
    assert chosen(488) == ["488"], "a wavelength"
    assert chosen(3) == ["488"]
    with pytest.raises(Refused, match="There is no channel Lamin") as refused:
        chosen("Lamin")
    assert "CD45, CD45RO, Ki 67, 488" in str(refused.value.advice)


def test_a_channel_of_the_file_has_its_name(place: str) -> None:
    with zarrscope.open(place, "r+") as h:
        ome = dict(h.root.attrs["ome"])
        h.root.attrs["ome"] = {**ome, "omero": {"channels": [{"label": "DAPI"}, {"label": "GFP"}]}}
    ((_, arguments, _),) = read(place, channels=["gfp"])
    assert arguments["name"].endswith("GFP")


def test_a_part_lies_where_it_lay(place: str) -> None:
    with pytest.warns(UserWarning, match="y 4–23 is shown"):
        ((data, arguments, _),) = read(place, channels=[1], ranges={"z": (2, 3), "y": (5, 20), "x": (16, None)})
    assert [level.shape for level in data] == [(2, 20, 48), (2, 10, 24), (2, 5, 12)]
    np.testing.assert_array_equal(np.asarray(data[0]), VALUES[1, 2:4, 4:24, 16:])
    np.testing.assert_array_equal(np.asarray(data[2]), VALUES[1, 2:4, 4:24:4, 16::4])
    assert tuple(arguments["scale"]) == (2, 0.5, 0.5)
    assert tuple(arguments["translate"]) == (10 + 2 * 2, 4 * 0.5, 16 * 0.5)
    ((data, arguments, _),) = read(place, channels=[0], levels=(2, 2), ranges={"y": (0, 15)})
    assert data.shape == (6, 4, 16)
    assert tuple(arguments["scale"]) == (2, 2, 2)
    assert tuple(arguments["translate"]) == (10, 0.75, 0.75)
    np.testing.assert_array_equal(np.asarray(data), VALUES[0, :, :16:4, ::4])


def test_a_range_counts_in_the_finest_level_also_if_it_is_not_wanted(place: str) -> None:
    """So that a range that was read off the whole image leads to the same place in each level."""
    with pytest.warns(UserWarning, match="y 4–23 is shown"):
        ((data, arguments, _),) = read(place, channels=[0], levels=(1, None), ranges={"y": (5, 20), "x": (32, 47)})
    assert [level.shape for level in data] == [(6, 10, 8), (6, 5, 4)]
    np.testing.assert_array_equal(np.asarray(data[0]), VALUES[0, :, 4:24:2, 32:48:2])
    np.testing.assert_array_equal(np.asarray(data[1]), VALUES[0, :, 4:24:4, 32:48:4])
    assert tuple(arguments["translate"]) == (10, 0.25 + 2 * 1, 0.25 + 16 * 1)
    with pytest.raises(Refused, match="beyond the end"):
        read(place, channels=[0], levels=(2, 2), ranges={"x": (64, 70)})
    ((data, _, _),) = read(place, channels=[0], levels=(2, 2), ranges={"x": (60, 63)})
    assert data.shape == (6, 10, 1)


def test_the_edges_that_are_shown_are_said_and_what_is_not_there_is_refused(place: str) -> None:
    layers = plan(zarrscope.open(place)["/"])
    assert cut(layers, LayerPart()) == layers
    (layer, _) = cut(layers, LayerPart(ranges={"y": (5, 20)}))
    assert "y 4–23 is shown: all added levels have an edge there." in layer.warnings
    (layer, _) = cut(layers, LayerPart(ranges={"y": (4, 23)}))
    assert not layer.warnings
    beyond = LayerPart(ranges={"z": (6, 7)})
    for part in (LayerPart((2,)), LayerPart(levels=(3, None)), LayerPart(ranges={"t": (0, 1)}), beyond):
        with pytest.raises(Refused):
            cut(layers, part)


def test_the_plane_that_a_viewer_reads_first_is_read_before(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (first, _) = plan(zarrscope.open(place)["/"])
    read_there: list[tuple[int, ...]] = []
    reads = LazyView._read

    def counted(self: LazyView) -> Any:
        read_there.append(self.shape)
        return reads(self)

    monkeypatch.setattr(LazyView, "_read", counted)
    read_ahead(first.data, ViewerCanvas(55, 30), lambda: False)
    assert read_there == [(10, 16), (20, 32)]
    read_there.clear()
    read_ahead(first.data, ViewerCanvas(1000, 1000, 9.0, (1.0,)), lambda: True)
    assert not read_there
    read_ahead(first.data, ViewerCanvas(20, 30, 1.0), lambda: False)
    assert read_there == [(10, 16)], "a part of the picture is visible, and the viewer knows which"
    assert level_for_canvas(first.data, ViewerCanvas(1000, 1000)) == 0
    assert level_for_canvas(first.data, ViewerCanvas(9, 9)) == 2
    assert level_for_canvas(first.data, ViewerCanvas(45, 99, 0.4)) == 1, "2.5 elements for each pixel"
    assert level_for_canvas(first.data, ViewerCanvas(45, 99, 0.4), (3.0, 0.5)) == 2, (
        "along the axis that has more than one"
    )
