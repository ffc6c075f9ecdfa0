"""Rules and coordinate transformations of OME-Zarr that the conformance archive (test_conformance.py) does not
cover.
"""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np
import pytest

from fuzz.documents import Fuzzer
from zarrscope.errors import BadMetadata, NotFound, Unsupported, ZarrscopeError
from zarrscope.ome.transforms import check_parameters, systems, transform
from zarrscope.ome.validate import check, validate


def image(version: str = "0.5") -> dict[str, Any]:
    axes = [{"name": n, "type": "space", "unit": "micrometer"} for n in "yx"]
    step = {"type": "scale", "scale": [0.5, 0.5]}
    entry: dict[str, Any] = {"name": "a", "type": "mean", "metadata": {}}
    entry |= {"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": [step]}]}
    if version == "0.4":
        return {"multiscales": [{**entry, "version": "0.4"}]}
    return {"ome": {"version": version, "multiscales": [entry]}}


def scene(*steps: dict[str, Any]) -> dict[str, Any]:
    named = [{"name": n, "axes": [{"name": a, "type": "space"} for a in "yx"]} for n in ("in", "mid", "out")]
    ends: list[dict[str, Any]] = [{"input": {"name": "in"}, "output": {"name": "out"}}]
    if len(steps) == 2:
        ends = [
            {"input": {"name": "in"}, "output": {"name": "mid"}},
            {"input": "out", "output": "mid"},
        ]
    made = [{**end, **step} for end, step in zip(ends, steps, strict=True)]
    return {"ome": {"version": "0.6", "scene": {"coordinateSystems": named, "coordinateTransformations": made}}}


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_right_metadata_has_no_findings(version: str) -> None:
    assert check(image(version)) == []
    validate(image(version), strict=True)


def test_a_finding_says_where_and_how_strongly() -> None:
    broken = image()
    entry = broken["ome"]["multiscales"][0]
    entry["axes"][1]["name"] = "y"
    entry["axes"][0]["unit"] = "micron"
    found = {(f.pointer, f.strength) for f in check(broken)}
    assert found == {("/ome/multiscales/0/axes", "must"), ("/ome/multiscales/0/axes/0/unit", "should")}
    with pytest.raises(BadMetadata) as caught:
        validate(broken)
    assert caught.value.pointer == "/ome/multiscales/0/axes"
    entry["axes"][1]["name"] = "x"
    validate(broken)
    with pytest.raises(BadMetadata, match="UDUNITS"):
        validate(broken, strict=True)


def test_what_is_not_ome_zarr_is_a_finding() -> None:
    assert [f.pointer for f in check({"note": 1})] == [""]
    assert check({"ome": {"version": "0.9", "labels": ["a"]}})[0].pointer == "/ome/version"


@pytest.mark.parametrize("value", [1.5, float("inf"), float("nan"), "1", None, True])
def test_a_label_value_is_a_whole_number(value: Any) -> None:
    label = {"ome": {"version": "0.5", "image-label": {"colors": [{"label-value": value, "rgba": [0, 0, 0, 0]}]}}}
    assert [f.pointer for f in check(label)] == ["/ome/image-label/colors/0/label-value"]


def test_broken_attributes_never_raise_anything_else() -> None:
    fuzzer = Fuzzer(3)
    fuzzer.random = random.Random(3)
    starts = [image("0.4"), image(), scene({"type": "scale", "scale": [1, 2]})]
    starts.append({"ome": {"version": "0.5", "plate": {"rows": [{"name": "A"}], "columns": [{"name": "1"}]}}})
    colors = [{"label-value": 1, "rgba": [0, 0, 0, 0]}]
    starts.append({"ome": {"version": "0.5", "image-label": {"colors": colors, "source": {"image": "../../"}}}})
    judged = 0
    for _ in range(1500):
        value = copy.deepcopy(fuzzer.random.choice(starts))
        for _ in range(fuzzer.random.choice((1, 2, 3))):
            value = fuzzer.broken(value)
        if isinstance(value, dict):
            found = check(value)
            judged += bool(found)
            assert all(each.advice.endswith(".") for each in found), found
            for name in systems(value)[:2]:
                try:
                    transform(value, name, "out", [[1, 2]])
                except ZarrscopeError:
                    continue
    assert judged > 700


STEPS: list[tuple[dict[str, Any], list[float]]] = [
    ({"type": "scale", "scale": [10, 20]}, [10, 40]),
    ({"type": "translation", "translation": [10, 20]}, [11, 22]),
    ({"type": "mapAxis", "mapAxis": [1, 0]}, [2, 1]),
    ({"type": "affine", "affine": [[2, 0, 5], [1, 1, 0]]}, [7, 3]),
    ({"type": "rotation", "rotation": [[0, -1], [1, 0]]}, [-2, 1]),
    (
        {
            "type": "sequence",
            "transformations": [{"type": "scale", "scale": [2, 2]}, {"type": "translation", "translation": [1, 0]}],
        },
        [3, 4],
    ),
    (
        {
            "type": "byDimension",
            "transformations": [
                {"transformation": {"type": "scale", "scale": [3]}, "inputAxes": [1], "outputAxes": [0]},
                {"transformation": {"type": "identity"}, "inputAxes": [0], "outputAxes": [1]},
            ],
        },
        [6, 1],
    ),
    (
        {
            "type": "bijection",
            "forward": {"type": "translation", "translation": [1, 1]},
            "inverse": {"type": "translation", "translation": [-1, -1]},
        },
        [2, 3],
    ),
]


@pytest.mark.parametrize(("step", "expected"), STEPS, ids=[str(step["type"]) for step, _ in STEPS])
def test_a_transformation_leads_there_and_back(step: dict[str, Any], expected: list[float]) -> None:
    check_parameters(step, 2, 2)
    points = [[1, 2], [0, 0]]
    there = transform(scene(step), "in", "out", points)
    np.testing.assert_allclose(there[0], expected)
    np.testing.assert_allclose(transform(scene(step), "out", "in", there), points)


def test_a_way_leads_over_several_systems_some_backwards() -> None:
    attributes = scene({"type": "scale", "scale": [10, 10]}, {"type": "translation", "translation": [1, 2]})
    np.testing.assert_allclose(transform(attributes, "in", "out", [[1, 1]]), [[9, 8]])


def test_parameters_in_an_array_are_read() -> None:
    attributes = scene({"type": "affine", "path": "numbers"})
    with pytest.raises(Unsupported, match="array"):
        transform(attributes, "in", "out", [[1, 2]])
    found = transform(attributes, "in", "out", [[1, 2]], lambda path: np.array([[1, 0, len(path)], [0, 1, 0]]))
    assert found.tolist() == [[8, 2]]


def test_what_cannot_be_done_is_said() -> None:
    attributes = scene({"type": "scale", "scale": [0, 1]})
    with pytest.raises(NotFound, match="nowhere"):
        transform(attributes, "in", "nowhere", [[1, 2]])
    with pytest.raises(NotFound, match="leads"):
        transform(attributes, "in", "mid", [[1, 2]])
    with pytest.raises(Unsupported, match="inverted"):
        transform(attributes, "out", "in", [[1, 2]])
    with pytest.raises(Unsupported, match="displacements"):
        transform(scene({"type": "displacements", "path": "field"}), "in", "out", [[1, 2]])
    with pytest.raises(BadMetadata, match="axes"):
        transform(attributes, "in", "out", [[1, 2, 3]])
