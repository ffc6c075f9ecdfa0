"""One hierarchy written and read in every dialect has the same nodes, values and attributes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope.dialects import DIALECTS
from zarrscope.model.metadata import CodecSpec, Configuration
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.wrappers import Counting

WRITTEN = [dialect.name for dialect in DIALECTS if dialect.name != "v1"]
GZIP = [CodecSpec("bytes", Configuration({"endian": "big"})), CodecSpec("gzip", Configuration({"level": 1}))]
NUMBERS = np.arange(7 * 10, dtype="u2").reshape(7, 10) * 321


def golden(store: Any, dialect: str) -> zarrscope.Hierarchy:
    h = zarrscope.open(store, "w-", dialect=dialect)
    h.create_group("/g", {"note": "µ"})
    plain = h.create_array("/g/plain", shape=(7, 10), dtype="u2", chunks=(3, 4), codecs=GZIP, attributes={"n": 1})
    plain[...] = NUMBERS
    part = h.create_array("/g/deep/part", shape=(7, 10), dtype="f4", chunks=(2, 10), codecs=GZIP[:1])
    part[2:4] = 1.5
    h.create_array("/empty", shape=(0, 4), dtype="i8", chunks=(1, 4), codecs=GZIP)
    return h


def walked(h: zarrscope.Hierarchy, path: str = "/") -> dict[str, str]:
    node = h[path]
    found: dict[str, str] = {path: node.kind}
    if isinstance(node, zarrscope.Group):
        for child in node.children():
            assert child.error is None
            found |= walked(h, f"{path.rstrip('/')}/{child.name}")
    return found


@pytest.mark.parametrize("dialect", WRITTEN)
def test_the_same_hierarchy_in_every_dialect(dialect: str, tmp_path: Path) -> None:
    for place in (MemoryStore(), str(tmp_path / "h")):
        golden(place, dialect)
        h = zarrscope.open(place)
        assert h.dialect.name == dialect
        assert h.warnings == ()
        assert walked(h) == {
            "/": "group",
            "/g": "group",
            "/g/plain": "array",
            "/g/deep": "group",
            "/g/deep/part": "array",
            "/empty": "array",
        }
        plain = h["/g/plain"]
        assert isinstance(plain, zarrscope.Array)
        np.testing.assert_array_equal(plain[...], NUMBERS)
        np.testing.assert_array_equal(plain[5:1:-2, 3], NUMBERS[5:1:-2, 3])
        assert plain.dtype == np.dtype("u2")
        assert plain.attributes == {"n": 1}
        assert h["/g"].attributes == {"note": "µ"}
        part = h["/g/deep/part"]
        assert isinstance(part, zarrscope.Array)
        expected = np.zeros((7, 10), "f4")
        expected[2:4] = 1.5
        np.testing.assert_array_equal(part[...], expected)
        empty = h["/empty"]
        assert isinstance(empty, zarrscope.Array)
        assert empty[...].shape == (0, 4)


@pytest.mark.parametrize("dialect", WRITTEN)
def test_writing_a_part_resizing_and_erasing(dialect: str) -> None:
    store = MemoryStore()
    golden(store, dialect)
    h = zarrscope.open(store, "r+")
    plain = h["/g/plain"]
    assert isinstance(plain, zarrscope.Array)
    plain[2:5, 1:9:3] = 7
    expected = NUMBERS.copy()
    expected[2:5, 1:9:3] = 7
    again = zarrscope.open(store)["/g/plain"]
    assert isinstance(again, zarrscope.Array)
    np.testing.assert_array_equal(again[...], expected)
    plain.resize((4, 12))
    larger = zarrscope.open(store)["/g/plain"]
    assert isinstance(larger, zarrscope.Array)
    np.testing.assert_array_equal(larger[...], np.pad(expected[:4], ((0, 0), (0, 2))))
    h.erase("/g")
    assert not [key for key in store.list() if "/g/" in f"/{key}" or "/g." in f"/{key}"]
    assert walked(zarrscope.open(store)) == {"/": "group", "/empty": "array"}


@pytest.mark.parametrize("dialect", ["draft-2020", "draft-2022-05", "v3"])
def test_shards_in_the_dialects_that_have_them(dialect: str) -> None:
    store = MemoryStore()
    h = zarrscope.open(store, "w-", dialect=dialect)
    made = h.create_array("/s", shape=(7, 10), dtype="i4", chunks=(2, 2), shards=(4, 6), codecs=GZIP)
    made[1:6, 3:] = NUMBERS[1:6, 3:]
    expected = np.zeros((7, 10), "i4")
    expected[1:6, 3:] = NUMBERS[1:6, 3:]
    again = zarrscope.open(store)["/s"]
    assert isinstance(again, zarrscope.Array)
    assert (again.chunks, again.shards) == ((2, 2), (4, 6))
    np.testing.assert_array_equal(again[...], expected)


@pytest.mark.parametrize("dialect", [name for name in WRITTEN if name != "n5"])
def test_scalars_and_fill_values(dialect: str) -> None:
    store = MemoryStore()
    h = zarrscope.open(store, "w-", dialect=dialect)
    scalar = h.create_array("/zero", shape=(), dtype="f8", chunks=(), codecs=GZIP, fill_value=float("nan"))
    assert np.isnan(scalar[()])
    scalar[()] = 2.5
    again = zarrscope.open(store)["/zero"]
    assert isinstance(again, zarrscope.Array)
    assert again[()] == 2.5
    assert np.isnan(again.fill_value)


def test_tensorstore_reads_what_is_written_as_n5(tmp_path: Path) -> None:
    tensorstore = pytest.importorskip("tensorstore")
    golden(str(tmp_path / "h"), "n5")
    spec = {"driver": "n5", "kvstore": {"driver": "file", "path": str(tmp_path / "h" / "g" / "plain")}}
    read = tensorstore.open(spec, open=True).result()
    np.testing.assert_array_equal(read.read().result().T, NUMBERS)


# ---------------------------------------------------------------------------------------------- requests (spec A.14)
DRAFTS = [name for name in WRITTEN if name.startswith("draft")]


@pytest.mark.parametrize("dialect", DRAFTS)
def test_drafts_learn_kinds_from_one_listing(dialect: str) -> None:
    inner = MemoryStore()
    golden(inner, dialect)
    store = Counting(inner)
    h = zarrscope.open(store, consolidated=False)
    assert store.requests["list_dir"] == 0
    store.reset()
    assert h["/g/plain"].kind == "array"
    assert store.requests == {"get": 2}
    root = h["/"]
    assert isinstance(root, zarrscope.Group)
    store.reset()
    assert {child.name: child.kind for child in root.children()} == {"g": "group", "empty": "array"}
    assert store.requests == {"list_dir": 1}


@pytest.mark.parametrize("dialect", WRITTEN)
def test_a_chunk_costs_one_request(dialect: str) -> None:
    inner = MemoryStore()
    golden(inner, dialect)
    store = Counting(inner)
    plain = zarrscope.open(store)["/g/plain"]
    assert isinstance(plain, zarrscope.Array)
    store.reset()
    np.testing.assert_array_equal(plain[0:3, 0:4], NUMBERS[0:3, 0:4])
    assert store.requests.total() == 1
