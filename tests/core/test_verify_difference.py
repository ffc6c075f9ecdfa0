"""Comparing hierarchies: by meaning, in which a conversion is no difference, strictly, and by value."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope.check.diff import ABSENT, NodeDifference, diff
from zarrscope.model.metadata import CodecSpec, Configuration
from zarrscope.stores.memory import MemoryStore

GZIP = [CodecSpec("bytes", Configuration({"endian": "big"})), CodecSpec("gzip", Configuration({"level": 1}))]
NUMBERS = np.arange(70, dtype="f4").reshape(7, 10)
NUMBERS[3, 3] = np.nan
DIALECTS = ["v2", "v3", "n5", "draft-2019-06", "draft-2020", "draft-2022-05"]


def made(dialect: str, **options: Any) -> zarrscope.Hierarchy:
    h = zarrscope.open(MemoryStore(), "w-", dialect=dialect)
    h.create_group("/g", {"note": "µ", "list": [1, {"a~/b": None}]})
    options = {"shape": (7, 10), "dtype": "f4", "chunks": (3, 4), "codecs": GZIP} | options
    h.create_array("/g/a", **options)[...] = NUMBERS
    return h


def found(left: Any, right: Any, **options: Any) -> list[NodeDifference]:
    return list(diff(left, right, **options))


@pytest.mark.parametrize("right", DIALECTS)
@pytest.mark.parametrize("left", ["v2", "v3"])
def test_the_same_in_another_dialect_is_no_difference(left: str, right: str) -> None:
    ours, theirs = made(left), made(right)
    assert found(ours, theirs, values=True) == []
    strict = {(d.path, d.what) for d in found(ours, theirs, strict=True)}
    if left == right:
        assert strict == set()
    else:
        assert {("/", "dialect"), ("/g", "dialect"), ("/g/a", "dialect")} <= strict


def test_names_of_dimensions_are_the_same_wherever_they_are_kept() -> None:
    names = {"dimension_names": ("y", "x")}
    assert found(made("v2", **names), made("v3", **names)) == []
    assert [(d.what, d.left, d.right) for d in found(made("v3", **names), made("v3"))] == [
        ("dimension names", ["y", "x"], None)
    ]


def test_nodes_metadata_and_attributes() -> None:
    ours = made("v3")
    theirs = zarrscope.open(MemoryStore(), "w-")
    theirs.create_group("/g", {"note": True, "list": [1, {"a~/b": 0}, 2]})
    theirs.create_array("/g/a", shape=(7, 11), dtype="f8", chunks=(3, 5), codecs=GZIP, fill_value=1)
    theirs.create_group("/g/new")
    ours.create_array("/old", shape=(1,), dtype="u1")
    told = [(d.path, d.what, d.pointer, d.left, d.right) for d in found(ours, theirs, values=True)]
    assert told == [
        ("/g", "attributes", "/list/1/a~0~1b", None, 0),
        ("/g", "attributes", "/list/2", ABSENT, 2),
        ("/g", "attributes", "/note", "µ", True),
        ("/g/a", "shape", None, [7, 10], [7, 11]),
        ("/g/a", "data type", None, "float32", "float64"),
        ("/g/a", "chunk grid", None, [3, 4], [3, 5]),
        ("/g/a", "fill value", None, 0, 1),
        ("/g/new", "node", None, ABSENT, "group"),
        ("/old", "node", None, "array", ABSENT),
    ]


def test_the_first_value_that_differs_and_how_many_do() -> None:
    ours, theirs = made("v2"), made("v3", shards=(6, 8), chunks=(3, 4))
    a = theirs["/g/a"]
    assert isinstance(a, zarrscope.Array)
    a[1, 9] = -1
    a[6, 0] = -2
    a[3, 3] = 5
    (value,) = [d for d in found(ours, theirs, values=True) if d.what == "values"]
    assert (value.path, value.index, value.count) == ("/g/a", (1, 9), 3)
    assert (value.left, value.right) == (19, -1)


def test_the_first_difference_is_first_in_the_array_not_in_the_order_of_blocks(monkeypatch: Any) -> None:
    monkeypatch.setattr("zarrscope.check.diff.BLOCK_BYTES", 4)
    ours, theirs = made("v3"), made("v3")
    a = theirs["/g/a"]
    assert isinstance(a, zarrscope.Array)
    a[2, 0] = -1  # an earlier block
    a[0, 9] = -1  # an earlier element
    (value,) = found(ours, theirs, values=True)
    assert (value.index, value.count) == ((0, 9), 2)


def test_a_broken_node_does_not_stop_the_rest() -> None:
    ours, theirs = made("v3"), made("v3")
    for h in (ours, theirs):
        h.create_array("/z", shape=(4,), dtype="u1", chunks=(2,))[...] = 1
    theirs.store.set("g/zarr.json", b"{")
    theirs.store.set("z/c/1", b"nonsense")
    told = found(ours, theirs, values=True)
    assert [(d.path, d.what, d.left) for d in told] == [("/g", "problem", ABSENT), ("/z", "problem", ABSENT)]
    assert found(theirs, theirs) == []


def test_documents_are_compared_strictly() -> None:
    ours, theirs = made("v3"), made("v3")
    document = json.loads(theirs.store.get("g/a/zarr.json") or b"")
    document["codecs"][-1]["configuration"]["level"] = 9
    theirs.store.set("g/a/zarr.json", json.dumps(document).encode())
    theirs = zarrscope.open(theirs.store)
    assert found(ours, theirs) == []
    assert [(d.what, d.pointer) for d in found(ours, theirs, strict=True)] == [
        ("codecs", None),
        ("document", "/codecs/1/configuration/level"),
    ]


def test_parts_of_hierarchies_and_paths_that_are_none() -> None:
    ours, theirs = made("v3"), made("v2")
    assert found(ours, theirs, left_path="/g/a", right_path="/g/a", values=True) == []
    assert [d.what for d in found(ours, theirs, left_path="/g", right_path="/g/a")] == ["kind"]
    with pytest.raises(zarrscope.NotFound):
        found(ours, theirs, left_path="/nowhere")


def test_an_array_beyond_counting_can_be_cancelled() -> None:
    sides = []
    for _ in range(2):
        h = zarrscope.open(MemoryStore(), "w-")
        h.create_array("/a", shape=(2**62, 2**62), dtype="u1", chunks=(256, 256))
        sides.append(h)
    seen: list[str] = []
    assert found(*sides, values=True, progress=seen.append, cancelled=lambda: len(seen) > 5) == []
    assert seen[-1] == "/a"
