"""Conversions to N5 whose names or attributes N5 and its readers might take for their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import contracts.zarr2
import zarrscope
from zarrscope import convert
from zarrscope.check.diff import diff
from zarrscope.check.hierarchy import check
from zarrscope.stores.memory import MemoryStore

VALUES = np.arange(24, dtype="uint16").reshape(4, 6)
ODD: dict[str, Any] = {
    "axes": {"y": "rows"},
    "units": "K",
    "resolution": None,
    "dimensions": [1, 2, 3],
    "blockSize": "own",
    "compression": "good",
    "dataType": 5,
    "n5": "no version",
    "zarr_attributes": {"units": "own"},
    "title": "mine",
}
"""Attributes of an array; each but the last has a meaning in N5, in tensorstore, or in zarrscope's conversion."""


def source(attributes: dict[str, Any], dialect: str = "v3") -> zarrscope.Hierarchy:
    """An image whose levels are called 0 and 1, in a group that is called 0 as well."""
    h = zarrscope.open(MemoryStore(), "w-", dialect=dialect)
    h.create_group("/0", {"dimensions": "own", "units": "of no array"})
    for name in "01":
        names = ("y", "x") if dialect == "v3" else None
        h.create_array(
            f"/0/{name}", shape=(4, 6), dtype="uint16", chunks=(2, 3), attributes=attributes, dimension_names=names
        )[...] = VALUES
    return h


def converted(before: zarrscope.Hierarchy, place: Path | MemoryStore, dialect: str) -> convert.ConversionPlan:
    plan = convert.plan(before, place if isinstance(place, MemoryStore) else str(place), dialect)
    assert not plan.losses
    assert convert.run(plan).verified
    return plan


@pytest.mark.parametrize("name", [*ODD])
@pytest.mark.parametrize("dialect", ["v3", "v2", "draft-2019-05"])
def test_each_attribute_comes_back_and_closes_no_array_to_tensorstore(dialect: str, name: str, tmp_path: Path) -> None:
    tensorstore = pytest.importorskip("tensorstore")
    before = source({name: ODD[name]}, dialect)
    converted(before, tmp_path / "n5", "n5")
    place = {"driver": "file", "path": f"{tmp_path / 'n5' / '0' / '1'}/"}
    found = tensorstore.open({"driver": "n5", "kvstore": place}).result()
    assert np.array_equal(found.read().result().T, VALUES)
    if dialect == "v3":
        assert found.domain.labels == ("x", "y")
    between = zarrscope.open(tmp_path / "n5")
    assert not list(diff(before, between))
    back = MemoryStore()
    converted(between, back, dialect)
    after = zarrscope.open(back)
    assert dict(after["/0/1"].attributes) == dict(before["/0/1"].attributes)
    assert dict(after["/0"].attributes) == dict(before["/0"].attributes)


@pytest.mark.needs("zarr2")
def test_zarr_2_18_reads_all_of_them(zarr2: Path, tmp_path: Path) -> None:
    converted(source(ODD), tmp_path / "n5", "n5")
    found = contracts.zarr2.read(zarr2, tmp_path / "n5", "n5")
    assert found["0"] == (None, {"units": "of no array", "zarr_attributes": {"dimensions": "own"}})
    for name in ("0/0", "0/1"):
        values, attributes = found[name]
        assert values == VALUES.tolist()
        held = {key: value for key, value in ODD.items() if key != "title"}
        assert attributes == {"title": "mine", "axes": ["x", "y"], "zarr_attributes": held}


def test_the_plan_names_them() -> None:
    plan = convert.plan(source({"units": "K", "axes": "own", "title": "t"}), MemoryStore(), "n5")
    (note,) = plan.nodes[2].notes
    assert note == "N5 reads the attributes 'units', 'axes' in its own way: they are kept within 'zarr_attributes'"
    (note,) = plan.nodes[1].notes
    assert note == "N5 reads the attribute 'dimensions' in its own way: it is kept within 'zarr_attributes'"
    assert not convert.plan(source({"title": "t"}), MemoryStore(), "n5").nodes[2].notes


def test_a_value_that_was_given_since_is_kept() -> None:
    store = MemoryStore()
    plan = converted(source({"units": "K"}), store, "n5")
    assert plan.nodes[2].target == "/0/0"
    between = zarrscope.open(store, "r+")
    between["/0/0"].attrs["units"] = ["um", "um"]
    back = MemoryStore()
    converted(between, back, "v3")
    assert dict(zarrscope.open(back)["/0/0"].attributes) == {"units": ["um", "um"], "zarr_attributes": {"units": "K"}}


def test_n5_stays_as_it_is() -> None:
    before = zarrscope.open(MemoryStore(), "w-", dialect="n5")
    before.create_array("/a", shape=(4, 6), dtype="uint16", attributes={"units": ["nm", "um"]})
    store = MemoryStore()
    assert not converted(before, store, "n5").nodes[1].notes
    assert dict(zarrscope.open(store)["/a"].attributes) == {"units": ["nm", "um"]}


def test_arrays_named_by_digits_are_no_lost_chunks(tmp_path: Path) -> None:
    """The group has no document, and its array more chunks than are examined."""
    h = zarrscope.open(tmp_path / "n5", "w-", dialect="n5")
    h.create_array("/g/0", shape=(40, 40), dtype="uint8", chunks=(4, 4))[...] = 1
    (tmp_path / "n5" / "g" / "attributes.json").unlink(missing_ok=True)
    assert not [each for each in check(zarrscope.open(tmp_path / "n5")) if each.code == "array-lost"]
    (tmp_path / "n5" / "g" / "0" / "attributes.json").unlink()
    assert [each.path for each in check(zarrscope.open(tmp_path / "n5")) if each.code == "array-lost"] == ["/g"]
