"""Editing a pixel size of a pyramid changes every level by its factor, and no other byte of the document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from itertools import accumulate
from operator import mul
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from zarrscope.errors import Refused
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.edits import apply
from zarrscope.ome.edits import ChannelEdit, set_axis, set_channel
from zarrscope.ome.metadata import multiscales
from zarrscope.ome.pixel_size import pixel_sizes, set_pixel_sizes
from zarrscope.ome.units import UNITS, unit_name
from zarrscope.ome.validate import check

AXES = [{"name": n, "type": "space", "unit": "micrometer"} for n in "zyx"]
SHAPES: dict[str, tuple[int, ...]] = {"0": (9, 64, 65), "1": (9, 32, 33), "2": (9, 16, 17)}
FACTORS: Any = ((1, 1, 1), (1, 2, 2), (1, 4, 4))
SIZE = (0.5, 0.1, 0.1)


def steps(level: int) -> list[dict[str, Any]]:
    scale = [s * f for s, f in zip(SIZE, FACTORS[level], strict=True)]
    moved = [7.0 + s * (f - 1) / 2 for s, f in zip(SIZE, FACTORS[level], strict=True)]
    return [{"type": "scale", "scale": scale}, {"type": "translation", "translation": moved}]


def entry(version: str) -> dict[str, Any]:
    datasets: list[dict[str, Any]] = [{"path": str(i), "coordinateTransformations": steps(i)} for i in range(3)]
    return {"version": version, "name": "cells", "type": "mean", "metadata": {}, "axes": AXES, "datasets": datasets}


def of_04() -> dict[str, Any]:
    return {"multiscales": [entry("0.4")], "mine": 1e-3}


def of_05() -> dict[str, Any]:
    found = entry("")
    del found["version"]
    return {"ome": {"version": "0.5", "multiscales": [found]}, "mine": 1e-3}


def of_06() -> dict[str, Any]:
    found = entry("")
    del found["version"], found["axes"]
    found["coordinateSystems"] = [{"name": "other", "axes": AXES}, {"name": "real", "axes": AXES}]
    for i, dataset in enumerate(found["datasets"]):
        dataset["coordinateTransformations"] = [
            {
                "type": "sequence",
                "input": {"path": str(i)},
                "output": {"name": "real"},
                "transformations": steps(i),
            }
        ]
    return {"ome": {"version": "0.6.dev3", "multiscales": [found]}, "mine": 1e-3}


def mended(
    attributes: Mapping[str, Any], sizes: Mapping[int, str], indent: int | None = 1
) -> tuple[Document, Document]:
    before = Document(json.dumps({"attributes": attributes, "zarr_format": 3}, indent=indent))
    after = apply(before, "/attributes", set_pixel_sizes(attributes, sizes, 0, SHAPES.get))
    return before, after


@pytest.mark.parametrize("make", [of_04, of_05, of_06])
def test_all_levels_follow_and_no_other_byte_changes(make: Any) -> None:
    before, after = mended(make(), {1: "0.108", 2: "0.1080"})
    (image,) = multiscales(after.get("/attributes"), "/")
    assert [level.scale for level in image.datasets] == [
        (0.5, 0.108, 0.108), (0.5, 0.216, 0.216), (0.5, 0.432, 0.432)
    ]  # fmt: skip
    # The finest level keeps its position; the others are shifted by half a pixel and by one and a half pixels, as
    # before.
    assert [level.translation for level in image.datasets] == [
        (7.0, 7.0, 7.0), (7.0, 7.054, 7.054), (7.0, 7.162, 7.162)
    ]  # fmt: skip
    assert "0.1080" in after.text, "the number is spelled as it was typed"
    old, new = before.text.splitlines(), after.text.splitlines()
    assert len(old) == len(new)
    changed = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    assert len(changed) == 3 * 2 + 2 * 2, "scales of three levels and translations of two, in y and x"
    assert all(float(b.strip(" ,")) != float(a.strip(" ,")) for a, b in changed)
    assert not [finding for finding in check(after.get("/attributes")) if finding.strength == "must"]


def test_factors_are_those_of_the_numbers_as_they_are_spelled() -> None:
    """As floats, 0.3 / 0.1 is 2.9999999999999996; the factor must be 3."""
    attributes = of_04()
    for dataset, size in zip(attributes["multiscales"][0]["datasets"], (0.1, 0.3, 0.9), strict=True):
        dataset["coordinateTransformations"] = [{"type": "scale", "scale": [1, size, size]}]
    told = pixel_sizes(attributes)
    assert [[*map(int, level)] for level in told.factors] == [[1, 1, 1], [1, 3, 3], [1, 9, 9]]
    after = apply(Document(json.dumps(attributes)), "", set_pixel_sizes(attributes, {0: "2", 1: "0.7"}))
    assert [d["coordinateTransformations"][0]["scale"] for d in after.value["multiscales"][0]["datasets"]] == [
        [2, 0.7, 0.1], [2, 2.1, 0.3], [2, 6.3, 0.9]
    ]  # fmt: skip
    assert "[2, 2.1, 0.3]" in after.text, "a whole number stays one"


def test_a_factor_that_the_shapes_contradict_is_mended_and_told() -> None:
    attributes = of_05()
    for dataset in attributes["ome"]["multiscales"][0]["datasets"]:
        dataset["coordinateTransformations"] = [{"type": "scale", "scale": [1.0, 1.0, 1.0]}]
    told = pixel_sizes(attributes, 0, SHAPES.get)
    assert told.factors == FACTORS
    assert [*told.doubtful] == [(level, axis, Fraction(1)) for level in (1, 2) for axis in (1, 2)]
    after = mended(attributes, {1: "0.2"})[1]
    (image,) = multiscales(after.get("/attributes"), "/")
    assert [level.scale for level in image.datasets] == [(1, 0.2, 1), (1, 0.4, 1), (1, 0.8, 1)]
    assert pixel_sizes(attributes).doubtful == (), "without shapes the metadata are believed"


def test_rounded_shapes_do_not_contradict() -> None:
    assert pixel_sizes(of_05(), 0, SHAPES.get).doubtful == ()


def test_a_size_that_all_levels_share_is_changed_once() -> None:
    """The scale stands in the multiscale itself; the levels state only their factors."""
    attributes = of_05()
    found = attributes["ome"]["multiscales"][0]
    for dataset, factors in zip(found["datasets"], FACTORS, strict=True):
        dataset["coordinateTransformations"] = [{"type": "scale", "scale": [float(f) for f in factors]}]
    found["coordinateTransformations"] = [{"type": "scale", "scale": [0.5, 0.1, 0.1]}]
    assert pixel_sizes(attributes).sizes == (Fraction(1, 2), Fraction(1, 10), Fraction(1, 10))
    (edit,) = set_pixel_sizes(attributes, {0: "0.30"})
    assert (edit.pointer, edit.text) == ("/ome/multiscales/0/coordinateTransformations/0/scale/0", "0.30")


def test_a_size_that_two_steps_state_is_reached() -> None:
    attributes = of_05()
    attributes["ome"]["multiscales"][0]["coordinateTransformations"] = [{"type": "scale", "scale": [1.0, 4.0, 1.0]}]
    after = mended(attributes, {1: "0.2"})[1]
    (image,) = multiscales(after.get("/attributes"), "/")
    assert [level.scale for level in image.datasets] == [(0.5, 0.2, 0.1), (0.5, 0.4, 0.2), (0.5, 0.8, 0.4)]


@pytest.mark.parametrize("version", ["0.1", "0.2", "0.3"])
def test_an_image_without_a_place_for_sizes_becomes_one_of_0_4(version: str) -> None:
    datasets: list[dict[str, Any]] = [{"path": name} for name in SHAPES]
    found: dict[str, Any] = {"version": version, "datasets": datasets, "name": "old"}
    if version == "0.3":
        found["axes"] = ["z", "y", "x"]
        shapes = SHAPES
    else:
        shapes = {path: (2, 3, *shape) for path, shape in SHAPES.items()}
    attributes = {"multiscales": [found], "omero": {"version": version, "channels": []}}
    assert pixel_sizes(attributes, 0, shapes.get).upgrades == version
    last = 2 if version == "0.3" else 4
    edits = set_pixel_sizes(attributes, {last: "0.25"}, 0, shapes.get)
    after = apply(Document(json.dumps(attributes, indent=4)), "", edits)
    (image,) = multiscales(after.value, "/")
    assert (image.version, image.axes and image.axes[-1].type) == ("0.4", "space")
    assert [level.scale and level.scale[-2:] for level in image.datasets] == [(1, 0.25), (2, 0.5), (4, 1)]
    assert after.get("/omero/version") == "0.4"
    del after.value["omero"]
    assert not [finding for finding in check(after.value) if finding.strength == "must"]


def test_levels_without_a_scale_get_one() -> None:
    attributes = of_06()
    first, second, third = attributes["ome"]["multiscales"][0]["datasets"]
    first["coordinateTransformations"] = [{"type": "identity", "input": {"path": "0"}, "output": {"name": "real"}}]
    for dataset, path, factor in ((second, "1", 2.0), (third, "2", 4.0)):
        dataset["coordinateTransformations"] = [
            {"type": "scale", "scale": [1.0, factor, factor], "input": {"path": path}, "output": {"name": "real"}}
        ]
    after = mended(attributes, {1: "0.2"})[1]
    (image,) = multiscales(after.get("/attributes"), "/")
    assert [level.scale for level in image.datasets] == [(1, 0.2, 1), (1, 0.4, 2), (1, 0.8, 4)]
    assert not [finding for finding in check(after.get("/attributes")) if finding.strength == "must"]


def test_a_matrix_that_only_scales_is_mended_in_its_place() -> None:
    attributes = of_06()
    for level, dataset in enumerate(attributes["ome"]["multiscales"][0]["datasets"]):
        rows = [[0.0] * 4 for _ in range(3)]
        for i in range(3):
            rows[i][i] = float(FACTORS[level][i])
            rows[i][3] = (FACTORS[level][i] - 1) / 2
        dataset["coordinateTransformations"] = [{"type": "affine", "affine": rows}]
    after = mended(attributes, {2: "10"})[1]
    (image,) = multiscales(after.get("/attributes"), "/")
    assert [level.scale for level in image.datasets] == [(1, 1, 10), (1, 2, 20), (1, 4, 40)]
    assert [level.translation for level in image.datasets] == [(0, 0, 0), (0, 0.5, 5), (0, 1.5, 15)]


@pytest.mark.parametrize(
    "step", [{"type": "rotation", "rotation": [[0, 1], [1, 0]]}, {"type": "scale", "path": "s"}, {"type": "scale"}]
)
def test_more_than_scales_and_translations_is_refused_with_its_place(step: dict[str, Any]) -> None:
    attributes = of_05()
    attributes["ome"]["multiscales"][0]["datasets"][1]["coordinateTransformations"] = [step]
    assert "/ome/multiscales/0/datasets/1/coordinateTransformations/0" in pixel_sizes(attributes).problem
    with pytest.raises(Refused, match="datasets/1"):
        set_pixel_sizes(attributes, {1: "0.2"})


@pytest.mark.parametrize("text", ["", "0", "-1", "abc", "NaN", "Infinity", "1e400", "0,5", "true", "[1]"])
def test_a_size_is_a_number_above_zero(text: str) -> None:
    with pytest.raises(Refused):
        set_pixel_sizes(of_05(), {1: text})


def test_junk_costs_no_more_than_a_refusal() -> None:
    several: tuple[dict[str, Any], ...] = ({}, {"multiscales": []}, {"multiscales": [3]}, {"ome": {"multiscales": {}}})
    for junk in several:
        with pytest.raises(Refused, match="multiscales"):
            pixel_sizes(junk)
    assert pixel_sizes({"multiscales": [{"datasets": 3}]}).problem


@given(
    some.decimals(min_value="0.0001", max_value="9999", places=4),
    some.lists(some.integers(1, 9), min_size=1, max_size=4),
    some.decimals(min_value="0.0001", max_value="9999", places=4),
)
def test_there_and_back_is_where_it_was(size: Any, halvings: list[int], other: Any) -> None:
    """A pyramid with integer factors has its old numbers again when the old size is typed."""
    datasets: list[dict[str, Any]] = []
    for i, factor in enumerate(accumulate([1, *halvings], mul)):
        datasets.append(
            {"path": str(i), "coordinateTransformations": [{"type": "scale", "scale": [float(size * factor)]}]}
        )
    attributes = {"multiscales": [{"version": "0.4", "axes": [{"name": "x", "type": "space"}], "datasets": datasets}]}
    document = Document(json.dumps(attributes))
    away = apply(document, "", set_pixel_sizes(attributes, {0: str(other)}))
    back = apply(away, "", set_pixel_sizes(away.value, {0: str(float(size))}))
    numbers = [d["coordinateTransformations"][0]["scale"][0] for d in back.value["multiscales"][0]["datasets"]]
    assert numbers == pytest.approx([float(size) * f for f in accumulate([1, *halvings], mul)], rel=1e-12)


# ---------------------------------------------------------------------- units, axes, channels
@pytest.mark.parametrize(
    ("typed", "type", "name"),
    [
        ("um", "space", "micrometer"), ("µm", "space", "micrometer"), ("μm", "", "micrometer"), ("nm", "", "nanometer"),
        ("m", "space", "meter"), ("m", "time", "minute"), ("min", "", "minute"), ("s", "", "second"),
        ("micrometers", "space", "micrometer"), ("Micrometre", "space", "micrometer"), ("Å", "space", "angstrom"),
        ("micron", "", "micrometer"), ("furlong", "space", "furlong"), ("micrometer", "space", "micrometer"),
    ],
)  # fmt: skip
def test_units_by_their_symbols(typed: str, type: str, name: str) -> None:
    assert unit_name(typed, type) == name


def test_every_unit_of_the_text_is_itself() -> None:
    for type, names in UNITS.items():
        assert [unit_name(name, type) for name in names] == names


def test_an_axis_is_renamed_but_not_to_a_name_that_is_taken() -> None:
    assert [(e.pointer, e.text) for e in set_axis(of_06(), 0, 2, name="w", unit="nm")] == [
        ("/ome/multiscales/0/coordinateSystems/1/axes/2/name", '"w"'),
        ("/ome/multiscales/0/coordinateSystems/1/axes/2/unit", '"nanometer"'),
    ]
    with pytest.raises(Refused, match="'y'"):
        set_axis(of_05(), 0, 2, name="y")
    with pytest.raises(Refused, match="not objects"):
        set_axis({"multiscales": [{"axes": ["y", "x"]}]}, 0, 0, unit="nm")


def test_a_channel_that_is_stated_changes_in_its_place() -> None:
    channel = {"label": "a", "color": "FF0000", "window": {"min": 0, "max": 255, "start": 0, "end": 255}, "mine": 7}
    attributes = {"omero": {"channels": [channel]}}
    edits = set_channel(attributes, 0, ChannelEdit("DAPI", "#00f", ("100", "4e3"), False), limits=(0, 65535))
    assert {e.pointer.removeprefix("/omero/channels/0/"): e.text for e in edits} == {
        "label": '"DAPI"', "color": '"0000FF"', "active": "false",
        "window/start": "100", "window/end": "4e3", "window/max": "4e3",
    }  # fmt: skip


def test_channels_that_are_not_stated_are_all_stated_validly() -> None:
    attributes = of_05()
    edits = set_channel(attributes, 1, ChannelEdit(label="actin", color="abcdef"), count=3, limits=(0.0, 255.0))
    after = apply(Document(json.dumps(attributes)), "", edits)
    assert [c["label"] for c in after.get("/ome/omero/channels")] == ["channel 0", "actin", "channel 2"]
    assert not [finding for finding in check(after.value) if finding.strength == "must"]


def test_a_colour_turns_a_greyscale_image_into_a_coloured_one() -> None:
    channel = {"label": "a", "color": "FFFFFF", "window": {"start": 0, "end": 1, "min": 0, "max": 1}}
    attributes = {"omero": {"channels": [channel], "rdefs": {"model": "greyscale"}}}
    pointers = ["/omero/channels/0/color", "/omero/rdefs/model"]
    assert [each.pointer for each in set_channel(attributes, 0, ChannelEdit(color="00FF00"))] == pointers
    assert [each.pointer for each in set_channel(attributes, 0, ChannelEdit(label="b"))] == ["/omero/channels/0/label"]
    attributes["omero"]["rdefs"] = {"model": "color"}
    assert [each.pointer for each in set_channel(attributes, 0, ChannelEdit(color="00FF00"))] == pointers[:1]


@pytest.mark.parametrize(
    "change",
    [
        ChannelEdit(color="red"),
        ChannelEdit(color="00FF00FF"),
        ChannelEdit(window=("5", "5")),
        ChannelEdit(window=("a", "5")),
    ],
)
def test_what_is_no_channel_is_refused(change: ChannelEdit) -> None:
    with pytest.raises(Refused):
        set_channel(of_05(), 0, change, count=1)
    with pytest.raises(Refused, match="no channel 1"):
        set_channel(of_05(), 1, ChannelEdit(label="x"), count=1)
