"""OME-Zarr metadata of every version, as levels, axes and channels."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zarrscope
from narrowing import not_none
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope.ome import metadata as ome
from zarrscope.ome.collection import collection
from zarrscope.view.image import default_image, default_window, find_collection, find_images, level_for, members

MICRON = "micrometer"


def group(tmp_path: Any, attributes: Any, arrays: Any, dialect: Any = "v3", path: Any = "/") -> Any:
    """A hierarchy whose group at `path` has `attributes` and the arrays {name: shape} beneath it."""
    h = zarrscope.open(str(tmp_path / "x.zarr"), "a", dialect=dialect)
    if path == "/":
        document = h.document("/")
        h.save("/", document.set(attributes_pointer(h, "/"), attributes))
    else:
        h.create_group(path, attributes=attributes)
    for name, shape in arrays.items():
        h.create_array(f"{path.rstrip('/')}/{name}", shape=shape, dtype="uint16")
    return zarrscope.open(str(tmp_path / "x.zarr"))[path]


def axes(names: Any, unit: Any = MICRON) -> Any:
    kinds = {"t": "time", "c": "channel"}
    return [{"name": n, "type": kinds.get(n, "space")} | ({} if n in kinds else {"unit": unit}) for n in names]


def scaled(path: Any, *scale: Any, translation: Any = None) -> Any:
    steps = [{"type": "scale", "scale": list(scale)}]
    if translation is not None:
        steps.append({"type": "translation", "translation": translation})
    return {"path": path, "coordinateTransformations": steps}


def test_version_0_5(tmp_path: Any) -> None:
    channels = [{"color": "#F0A", "label": "a", "window": {"min": 0, "max": 9, "start": 1, "end": 5}, "active": False}]
    attributes = {
        "ome": {
            "version": "0.5",
            "multiscales": [
                {
                    "name": "cells",
                    "axes": axes("czyx"),
                    "datasets": [scaled("0", 1, 2, 0.5, 0.5), scaled("1", 1, 2, 1, 1, translation=[0, 0, 0.25, 0.25])],
                    "coordinateTransformations": [{"type": "scale", "scale": [1, 1, 2, 2]}],
                }
            ],
            "omero": {"channels": channels, "rdefs": {"defaultZ": 3}},
        }
    }
    image = find_images(group(tmp_path, attributes, {"0": (2, 5, 64, 64), "1": (2, 5, 32, 32)}))[0]
    assert (image.name, image.version) == ("cells", "0.5")
    assert [level.shape for level in image.levels] == [(2, 5, 64, 64), (2, 5, 32, 32)]
    assert image.levels[0].scale == (1, 2, 1, 1)
    assert image.levels[1].scale == (1, 2, 2, 2)
    assert image.levels[1].translation == (0, 0, 0.5, 0.5)
    assert image.levels[1].factors == (1, 1, 2, 2)
    assert image.channel_axis == 0
    assert image.plane == (2, 3)
    assert image.defaults == {"z": 3}
    assert len(image.channels) == 2  # one is stated, the array has two
    first, second = image.channels
    assert (first.color, first.window, first.range, first.active) == ((255, 0, 170), (1, 5), (0, 9), False)
    assert second.window is None
    assert second.color != first.color
    assert image.physical(1, 3) == 6.0
    assert image.warnings == ()


def test_version_0_4_in_v2(tmp_path: Any) -> None:
    attributes = {"multiscales": [{"version": "0.4", "axes": axes("yx"), "datasets": [scaled("a/0", 3, 4)]}]}
    image = find_images(group(tmp_path, attributes, {"a/0": (8, 8)}, "v2"))[0]
    assert image.version == "0.4"
    assert image.levels[0].path == "/a/0"
    assert image.levels[0].scale == (3, 4)
    assert [c.color for c in image.channels] == [(255, 255, 255)]


@pytest.mark.parametrize(("stated", "version"), [(["t", "c", "z", "y", "x"], "0.3"), (None, "0.1")])
def test_versions_before_axes_objects(tmp_path: Any, stated: Any, version: Any) -> None:
    entry = {"datasets": [{"path": "0"}, {"path": "1"}]} | ({"axes": stated} if stated else {})
    shapes = {"0": (1, 2, 3, 64, 65), "1": (1, 2, 3, 32, 33)}
    image = find_images(group(tmp_path, {"multiscales": [entry]}, shapes, "v2"))[0]
    assert image.version == version
    assert [(a.name, a.type) for a in image.axes] == [
        ("t", "time"), ("c", "channel"), ("z", "space"), ("y", "space"), ("x", "space"),
    ]  # fmt: skip
    assert image.levels[1].factors == pytest.approx((1, 1, 1, 2, 65 / 33))


def test_version_0_6_leniently(tmp_path: Any) -> None:
    entry = {
        "coordinateSystems": [{"name": "world", "axes": axes("yx", "mm")}, {"name": "intrinsic", "axes": axes("yx")}],
        "datasets": [
            {
                "path": "0",
                "coordinateTransformations": {
                    "type": "sequence",
                    "output": {"name": "intrinsic"},
                    "transformations": [
                        {"type": "scale", "scale": [2, 2]},
                        {"type": "translation", "translation": [1, 3]},
                    ],
                },
            }
        ],
        "coordinateTransformations": [{"type": "scale", "scale": [9, 9], "output": "world"}],
    }
    image = find_images(group(tmp_path, {"ome": {"version": "0.6", "multiscales": [entry]}}, {"0": (4, 4)}))[0]
    assert image.axes[0].unit == MICRON
    assert image.levels[0].scale == (2, 2)
    assert image.levels[0].translation == (1, 3)


def test_a_missing_level_costs_only_that_level(tmp_path: Any) -> None:
    entry = {"axes": axes("yx"), "datasets": [scaled("0", 1, 1), scaled("gone", 2, 2), scaled("2", 4, 4)]}
    image = find_images(
        group(tmp_path, {"ome": {"version": "0.5", "multiscales": [entry]}}, {"0": (64, 64), "2": (16, 16)})
    )[0]
    assert [level.path for level in image.levels] == ["/0", "/2"]
    assert any("/gone" in warning for warning in image.warnings)


def test_an_image_without_any_level_says_why(tmp_path: Any) -> None:
    entry = {"axes": axes("yx"), "datasets": [scaled("gone", 1, 1)]}
    image = find_images(group(tmp_path, {"ome": {"version": "0.5", "multiscales": [entry]}}, {}))[0]
    with pytest.raises(zarrscope.NotFound):
        _ = image.levels


@pytest.mark.parametrize(
    ("base", "path", "target"),
    [
        ("/a", "0", "/a/0"),
        ("/a/b", "../c", "/a/c"),
        ("/a", "../../../../c", "/c"),
        ("/", "./x//y/", "/x/y"),
        ("/a", "/etc/passwd", None),
        ("/a", "https://example.org/x", None),
        ("/a", "file:x", None),
        ("/a", "..\\c", None),
        ("/a", "a\0b", None),
    ],
)
def test_paths_stay_in_the_hierarchy(base: Any, path: Any, target: Any) -> None:
    assert ome.resolve(base, path) == target


@pytest.mark.parametrize(
    ("text", "rgb"),
    [("ff0000", (255, 0, 0)), ("#0F0", (0, 255, 0)), ("0000ff80", (0, 0, 255)), ("red", None), (255, None), ("", None)],
)
def test_colours(text: Any, rgb: Any) -> None:
    assert ome.color(text) == rgb


def test_labels(tmp_path: Any) -> None:
    entry = {"axes": axes("yx"), "datasets": [scaled("0", 1, 1)]}
    here = group(tmp_path, {"ome": {"version": "0.5", "multiscales": [entry]}}, {"0": (8, 8)}, path="/img")
    group(tmp_path, {"ome": {"version": "0.5", "labels": ["original/a", "/abs"]}}, {}, path="/img/labels")
    label = {"colors": [{"label-value": 4, "rgba": [1, 2, 300, 4]}, {"label-value": True, "rgba": [0, 0, 0, 0]}]}
    group(
        tmp_path,
        {"ome": {"version": "0.5", "multiscales": [entry], "image-label": label}},
        {"0": (8, 8)},
        path="/img/labels/original/a",
    )
    image = find_images(here)[0]
    assert image.labels == ("/img/labels/original/a",)
    found = find_images(here.hierarchy[image.labels[0]])[0]
    assert found.is_label
    assert found.label_colors == {4: (1, 2, 255, 4)}
    assert not_none(find_collection(here.hierarchy["/img/labels"])).kind == "labels"


def test_a_plate_names_its_wells_and_opens_none(tmp_path: Any) -> None:
    wells = [{"path": "A/1", "rowIndex": 0, "columnIndex": 0}, {"path": "B/2"}, {"path": "../../../etc"}]
    plate = {
        "name": "p",
        "rows": [{"name": "A"}, {"name": "B"}],
        "columns": [{"name": "1"}, {"name": "2"}],
        "wells": wells,
    }
    found = not_none(find_collection(group(tmp_path, {"ome": {"version": "0.5", "plate": plate}}, {})))
    assert found.kind == "plate"
    assert [(m.path, m.name, m.place) for m in not_none(found.members)][:2] == [
        ("/A/1", "A1", (0, 0)),
        ("/B/2", "B2", (1, 1)),
    ]


def test_a_series_without_a_list_runs_until_the_first_gap(tmp_path: Any) -> None:
    entry = {"axes": axes("yx"), "datasets": [scaled("0", 1, 1)]}
    for path in ("/0", "/1", "/3"):
        group(tmp_path, {"ome": {"version": "0.5", "multiscales": [entry]}}, {"0": (8, 8)}, path=path)
    root = group(tmp_path, {"ome": {"version": "0.5", "bioformats2raw.layout": 3}}, {})
    found = find_collection(root)
    assert not_none(found).kind == "series"
    assert found is not None
    assert [m.path for m in members(root, found)] == ["/0", "/1"]
    assert not_none(default_image(root)).path == "/0"


def test_plain_arrays(tmp_path: Any) -> None:
    h = zarrscope.open(str(tmp_path / "x.zarr"), "a")
    h.create_array("/named", shape=(4, 3, 20, 30), dtype="f4", dimension_names=["time", "c", "y", "x"])
    h.create_array("/photo", shape=(40, 50, 3), dtype="uint8")
    h.create_array("/bare", shape=(7, 40, 50), dtype="int16")
    h.create_array("/line", shape=(7,), dtype="int16")
    h.create_array("/value", shape=(), dtype="int16")
    named, photo, bare, line = (find_images(h[p])[0] for p in ("/named", "/photo", "/bare", "/line"))
    assert named.channel_axis == 1
    assert named.defaults == {"time": 0}
    assert photo.channel_axis == 2
    assert [c.color for c in photo.channels] == [(255, 0, 0), (0, 255, 0), (0, 0, 255)]
    assert bare.plane == (1, 2)
    assert bare.channel_axis is None
    assert line.plane == (-1, 0)
    assert find_images(h["/value"]) == []
    assert find_images(h.root) == []


def test_which_level_fits(tmp_path: Any) -> None:
    shapes = {"0": (64, 1024, 1024), "1": (64, 512, 512), "2": (32, 512, 512), "3": (16, 128, 128)}
    datasets = [scaled("0", 1, 1, 1), scaled("1", 1, 2, 2), scaled("2", 2, 2, 2), scaled("3", 4, 8, 8)]
    entry = {"axes": axes("zyx"), "datasets": datasets}
    image = find_images(group(tmp_path, {"ome": {"version": "0.5", "multiscales": [entry]}}, shapes))[0]
    assert [level_for(image, zoom) for zoom in (4, 1, 0.6, 0.5, 0.2, 0.125, 0.01)] == [0, 0, 0, 1, 1, 3, 3]
    # In the side view z counts: level 1 has all planes, level 2 half of them.
    assert level_for(image, 0.5, (0, 2)) == 2
    assert level_for(image, (1.0, 0.5), (0, 2)) == 1
    assert level_for(image, 0.0) == 3


def test_the_contrast_to_begin_with() -> None:
    stated = ome.Channel("a", window=(3.0, 9.0))
    sample = np.arange(1000, dtype=np.uint16)
    assert default_window(stated, sample.dtype, sample) == (3.0, 9.0)
    low, high = default_window(ome.Channel("a"), sample.dtype, sample)
    assert 0 < low < 20
    assert 980 < high < 1000
    assert default_window(None, np.dtype("uint8"), None) == (0.0, 255.0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
STEP = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["scale", "translation", "affine", "sequence"]) | JSON,
        "scale": JSON,
        "translation": JSON,
        "affine": JSON,
        "transformations": JSON,
    },
)
DATASET = st.fixed_dictionaries(
    {}, optional={"path": st.text(max_size=5) | JSON, "coordinateTransformations": st.lists(STEP) | JSON}
)
ENTRY = st.fixed_dictionaries(
    {},
    optional={
        "axes": st.lists(st.fixed_dictionaries({}, optional={"name": JSON, "type": JSON, "unit": JSON}) | JSON) | JSON,
        "datasets": st.lists(DATASET | JSON) | JSON,
        "coordinateTransformations": JSON,
        "coordinateSystems": st.lists(st.fixed_dictionaries({"name": JSON, "axes": JSON})) | JSON,
    },
)
BLOCK = st.fixed_dictionaries(
    {},
    optional={
        "version": JSON,
        "multiscales": st.lists(ENTRY | JSON) | JSON,
        "omero": st.fixed_dictionaries({}, optional={"channels": st.lists(JSON) | JSON, "rdefs": JSON}) | JSON,
        "image-label": st.fixed_dictionaries({}, optional={"colors": st.lists(JSON) | JSON, "source": JSON}) | JSON,
        "labels": JSON,
        "plate": st.fixed_dictionaries({}, optional={"rows": JSON, "columns": JSON, "wells": st.lists(JSON) | JSON})
        | JSON,
        "well": st.fixed_dictionaries({}, optional={"images": JSON}) | JSON,
    },
)


@given(BLOCK, st.booleans())
def test_no_metadata_makes_it_stumble(block: Any, nested: Any) -> None:
    attributes = {"ome": block} if nested else block
    for found in ome.multiscales(attributes, "/a/b"):
        assert found.datasets
        assert all(d.path.startswith("/") for d in found.datasets)
    collection(attributes, "/a/b", attributes)
    ome.label_paths(attributes, "/a/b")
