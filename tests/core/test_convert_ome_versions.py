"""Conversion between versions of OME-Zarr, and of consolidated metadata: real stores, read by other programs."""

from __future__ import annotations

import json
import os
import subprocess
import warnings
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zarrscope
from narrowing import as_array, as_group
from zarrscope import convert
from zarrscope.check.hierarchy import check
from zarrscope.convert.ome_versions import downgraded, upgraded
from zarrscope.stores.memory import MemoryStore
from zarrscope.view.image import find_collection, find_images, members

EARLY = {
    "generated/ome-zarr-py-0.10/img_0.1.ome.zarr": "t, c, z, y, x",
    "generated/ome-zarr-py-0.10/img_0.3.ome.zarr": "t, c, z, y, x",
    "generated/ome-zarr-py-0.10/plate_0.2.ome.zarr": "t, c, z, y, x",
    "real/ome-zarr-py/data/v1": "t, c, z, y, x",
    "real/ome-zarr-py/data/v2": "t, c, z, y, x",
}


def converted(source: zarrscope.Hierarchy, dialect: str, **options: Any) -> zarrscope.Hierarchy:
    store = MemoryStore()
    assert convert.run(convert.plan(source, store, dialect, **options)).verified
    return zarrscope.open(store)


# ------------------------------------------------------------------------------------------------- early versions
@pytest.mark.needs("cases")
@pytest.mark.parametrize("name", EARLY)
def test_early_versions_become_0_5_with_words(name: str, unpacked: Path, tmp_path: Path) -> None:
    import zarr

    models = pytest.importorskip("ome_zarr_models")
    source = zarrscope.open(unpacked / name)
    plan = convert.plan(source, str(tmp_path / "new"), "v3")
    notes = [note for node in plan.nodes for note in node.notes]
    assert any(f"its axes are {EARLY[name]}" in note and "no pixel sizes" in note for note in notes)
    convert.run(plan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = models.open_ome_zarr(zarr.open_group(tmp_path / "new", mode="r"))
    assert model.attributes.ome.version == "0.5"
    made = zarrscope.open(tmp_path / "new")
    assert not [f for f in check(made) if f.severity == "error"]
    images = [(node.path, node.target) for node in plan.nodes if find_images(source[node.path]) and node.how == "group"]
    assert images
    for before, after in images:
        (old,), (new,) = find_images(source[before]), find_images(made[after])
        assert [level.shape for level in old.levels] == [level.shape for level in new.levels]
        assert [level.factors for level in old.levels] == [level.factors for level in new.levels]
        assert [axis.name for axis in new.axes] == [axis.name for axis in old.axes]
        for a, b in zip(old.levels, new.levels, strict=True):
            assert np.array_equal(a.array[...], b.array[...])
            assert b.array.dimension_names == tuple(axis.name for axis in new.axes)


@pytest.mark.needs("cases")
def test_wells_of_early_plates_get_their_places(unpacked: Path) -> None:
    source = zarrscope.open(unpacked / "generated/ome-zarr-py-0.10/plate_0.2.ome.zarr")
    made = converted(source, "v3")
    for well in made.root.attributes["ome"]["plate"]["wells"]:
        row, _, column = well["path"].partition("/")
        plate = made.root.attributes["ome"]["plate"]
        assert plate["rows"][well["rowIndex"]]["name"] == row
        assert plate["columns"][well["columnIndex"]]["name"] == column
    assert made.root.attributes["ome"]["plate"]["version"] == "0.5"


def test_what_early_versions_leave_open_is_taken_along_as_it_is() -> None:
    older = {"multiscales": [{"version": "0.2", "datasets": [{"path": "0"}]}]}
    for shapes in ({}, {"/0": (5, 5)}):  # no such array; one that t, c, z, y, x do not fit
        kept, told = upgraded(older, "/", shapes.get)
        assert kept == older
        assert "unchanged" in told
    made, told = upgraded(older, "/", {"/0": (1, 2, 3, 4, 5)}.get)
    (entry,) = made["ome"]["multiscales"]
    assert [axis["name"] for axis in entry["axes"]] == [*"tczyx"]
    assert entry["datasets"][0]["coordinateTransformations"] == [{"type": "scale", "scale": [1.0] * 5}]
    assert "0.2 becomes 0.5" in told
    future = {"multiscales": [{"version": "0.9", "axes": [{"name": "x"}], "datasets": [{"path": "0"}]}]}
    assert upgraded(future, "/")[0] == future
    assert downgraded({"ome": {"version": "0.9", "multiscales": []}})[0]["ome"]["version"] == "0.9"


_texts = st.sampled_from(["0", "1", "A/1", "B", "x", "y", "0.1", "0.2", "0.3", "0.4", "0.5", "space", ""])
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats(allow_nan=False) | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=8,
)
_members = st.sampled_from(
    ["version", "axes", "datasets", "path", "name", "type", "wells", "rows", "columns", "images", "colors", "metadata"]
)
_objects = st.dictionaries(
    _members, _json | st.lists(st.dictionaries(_members, _json, max_size=3), max_size=3), max_size=4
)
_attributes = st.dictionaries(
    st.sampled_from(["multiscales", "omero", "labels", "image-label", "plate", "well", "series", "ome"]),
    _json | _objects | st.lists(_objects, max_size=2),
    max_size=4,
)


@settings(max_examples=400)
@given(_attributes, st.sampled_from(["/", "/labels", "/a/OME"]))
def test_whatever_attributes_hold_they_are_carried_or_a_note_is_made(attributes: Any, path: str) -> None:
    def shape_of(place: str) -> tuple[int, ...] | None:
        return (1, 2, 3, 4, 5) if place.endswith("0") else (4, 5) if place.endswith("1") else None

    before = json.dumps(attributes)
    newer, _ = upgraded(attributes, path, shape_of)
    assert json.dumps(attributes) == before
    json.dumps(newer)
    if isinstance(attributes.get("ome"), dict):
        json.dumps(downgraded(attributes)[0])
    store = MemoryStore({".zgroup": b'{"zarr_format": 2}', ".zattrs": before.encode()})
    for dialect, pyramid in (("v3", None), ("v2", convert.Pyramid(2)), ("v3", convert.Pyramid(2))):
        try:
            convert.plan(zarrscope.open(store), MemoryStore(), dialect, pyramid=pyramid)
        except zarrscope.ZarrscopeError:
            assert pyramid is not None


def test_odd_lengths_have_whole_scales() -> None:
    older = {"multiscales": [{"version": "0.3", "axes": ["y", "x"], "datasets": [{"path": str(k)} for k in range(3)]}]}
    made, _ = upgraded(older, "/", {"/0": (37, 40), "/1": (19, 20), "/2": (9, 11)}.get)
    scales = [d["coordinateTransformations"][0]["scale"] for d in made["ome"]["multiscales"][0]["datasets"]]
    assert scales == [[1.0, 1.0], [2.0, 2.0], [4.0, 40 / 11]]


@pytest.mark.needs("cases")
@pytest.mark.parametrize("name", [*EARLY, "generated/ome-zarr-py/plate_0.1.ome.zarr"])
def test_within_v2_nothing_is_changed(name: str, unpacked: Path) -> None:
    source = zarrscope.open(unpacked / name)
    plan = convert.plan(source, MemoryStore(), "v2")
    for node in plan.nodes:
        written = json.loads(node.documents.get(f"{node.target.strip('/')}/.zattrs".lstrip("/"), b"{}"))
        assert written == source[node.path].attributes


# ------------------------------------------------------------------------------------------------- both ways
@pytest.mark.needs("cases")
@pytest.mark.parametrize(
    "name",
    [
        "generated/ome-zarr-py/plate_0.4.ome.zarr",
        "real/mobie/single-plane-hcs.zarr",
        "generated/ome-zarr-py-0.10/img_0.4.ome.zarr",
        "generated/ngff-zarr/img_0.4.ome.zarr",
    ],
)
def test_plates_series_and_labels_go_to_0_5_and_back(name: str, unpacked: Path) -> None:
    source = zarrscope.open(unpacked / name)
    newer = converted(source, "v3")
    again = converted(newer, "v2")
    assert [m.path for m in listed(newer)] == [m.path for m in listed(source)] == [m.path for m in listed(again)]
    assert not [f for f in check(newer) if f.severity == "error"]
    same_nodes(source, again)
    for path in ["/", *(path for path, _ in source.walk())]:
        if find_images(source[path]) and source[path].kind == "group":
            assert newer[path].attributes["ome"]["version"] == "0.5"


@pytest.mark.needs("cases")
def test_a_series_of_0_5_goes_to_0_4_and_back_with_its_xml(unpacked: Path, tmp_path: Path) -> None:
    place = unpacked / "real/ome-zarr-fiji/td/bioformats2raw_testing/bf2raw_dataset_v5.ome.zarr"
    source = zarrscope.open(place)
    assert [member.path for member in listed(source)] == ["/0", "/1"]
    older = converted(source, "v2")
    assert older.root.attributes["bioformats2raw.layout"] == 3
    assert [member.path for member in listed(older)] == ["/0", "/1"]
    convert.run(convert.plan(older, str(tmp_path / "again"), "v3"))
    again = zarrscope.open(tmp_path / "again")
    same_nodes(source, again)
    assert [member.path for member in listed(again)] == ["/0", "/1"]
    xml = (place / "OME" / "METADATA.ome.xml").read_bytes()
    assert (tmp_path / "again" / "OME" / "METADATA.ome.xml").read_bytes() == xml
    assert [
        str(loss) for loss in convert.plan(source, MemoryStore(), "draft-2020").losses if "XML" in str(loss).upper()
    ]


def same_nodes(source: zarrscope.Hierarchy, again: zarrscope.Hierarchy) -> None:
    """Whether values and attributes are the same everywhere, apart from stated versions."""
    for path in ["/", *(path for path, _ in source.walk())]:
        old, back = source[path], again[path]
        if old.kind == "array":
            assert np.array_equal(old[...], as_array(back)[...])
        names = {"_ARRAY_DIMENSIONS"} - old.attributes.keys()  # in v2, what v3 had to have
        kept = {name: value for name, value in back.attributes.items() if name not in names}
        assert without_versions(kept) == without_versions(dict(old.attributes))


def listed(hierarchy: zarrscope.Hierarchy) -> list[Any]:
    root = as_group(hierarchy.root)
    found = find_collection(root)
    return list(members(root, found)) if found is not None else []


def without_versions(value: Any) -> Any:
    """The attributes without versions: 0.4 can state them in five places, and conversion does not keep the writer's
    choice."""
    if isinstance(value, dict):
        return {name: without_versions(item) for name, item in value.items() if name != "version"}
    return [without_versions(item) for item in value] if isinstance(value, list) else value


# ------------------------------------------------------------------------------------------------- consolidated
def consolidated_by_zarr(place: Path, zarr_format: Literal[2, 3]) -> zarrscope.Hierarchy:
    import zarr

    group = zarr.open_group(place, mode="w", zarr_format=zarr_format)
    group.attrs["note"] = "grüße"
    inner = group.create_group("g")
    for where in (group, inner):
        where.create_array("a", shape=(5, 7), chunks=(2, 3), dtype="i4")[...] = np.arange(35).reshape(5, 7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.consolidate_metadata(place)
    found = zarrscope.open(place)
    assert found.consolidated
    return found


@pytest.mark.parametrize("after", [2, 3])
@pytest.mark.parametrize("before", [2, 3])
def test_a_consolidated_copy_is_written_anew(before: Literal[2, 3], after: int, tmp_path: Path) -> None:
    import zarr

    source = consolidated_by_zarr(tmp_path / "old", before)
    plan = convert.plan(source, str(tmp_path / "new"), f"v{after}")
    assert any("consolidated copy of the metadata is written again" in note for note in plan.nodes[0].notes)
    convert.run(plan)
    made = zarrscope.open(tmp_path / "new")
    assert made.consolidated
    assert not list(check(made))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        group = zarr.open_consolidated(tmp_path / "new")
        assert dict(group.attrs) == {"note": "grüße"}
        assert sorted(name for name, _ in group.members(max_depth=None)) == ["a", "g", "g/a"]
        array = group["g/a"]
        assert isinstance(array, zarr.Array)
        assert np.array_equal(array[...], np.arange(35).reshape(5, 7))
    (tmp_path / "new" / "g" / "a" / ("zarr.json" if after == 3 else ".zarray")).write_text("{}")
    stale = {f.code for f in check(zarrscope.open(tmp_path / "new"))}
    assert stale & {"copy-stale", "bad-metadata"}


_READ = """
import json, sys, zarr
from zarr._storage.v3 import DirectoryStoreV3
group = zarr.open_consolidated(DirectoryStoreV3(sys.argv[1]), mode="r", zarr_version=3)
print(json.dumps([sorted(group.array_keys()), group["g/a"][...].tolist()]))
"""


@pytest.mark.needs("zarr2")
def test_the_draft_of_2020_has_a_consolidated_copy(zarr2: Path, tmp_path: Path) -> None:
    source = consolidated_by_zarr(tmp_path / "old", 2)
    convert.run(convert.plan(source, str(tmp_path / "new"), "draft-2020"))
    made = zarrscope.open(tmp_path / "new")
    assert made.consolidated
    done = subprocess.run(
        [str(zarr2), "-W", "ignore", "-c", _READ, str(tmp_path / "new")],
        capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "ZARR_V3_EXPERIMENTAL_API": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [["a"], np.arange(35).reshape(5, 7).tolist()]
    back = converted(made, "v2")
    assert back.consolidated
    assert {path for path, _ in back.walk()} == {"/a", "/g", "/g/a"}


def test_where_a_dialect_has_no_copy_that_is_told(tmp_path: Path) -> None:
    source = consolidated_by_zarr(tmp_path / "old", 3)
    for dialect in ("n5", "draft-2022-05", "draft-2019-06"):
        plan = convert.plan(source, MemoryStore(), dialect)
        assert any("has no consolidated copy" in note for note in plan.nodes[0].notes)
        convert.run(plan)


def test_what_was_not_consolidated_does_not_become_it() -> None:
    source = zarrscope.open(MemoryStore(), "w-")
    source.create_group("/g")
    assert not converted(source, "v2").consolidated
