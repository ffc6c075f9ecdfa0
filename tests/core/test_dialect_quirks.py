"""Documents as writers of the drafts stored them, byte for byte where that is known (reference.md A.4, A.5, A.7, D)."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope.stores.memory import MemoryStore

URI = "https://purl.org/zarr/spec/protocol/core/3.0"
JUNE = {"zarr_format": URI, "metadata_encoding": "application/json", "extensions": []}
YEAR_2020 = {"extensions": [], "metadata_encoding": URI, "metadata_key_suffix": ".json", "zarr_format": URI}
LATER = {
    "zarr_format": "https://purl.org/zarr/spec/core/3.0",
    "metadata_encoding": {"type": "json", "metadata_key_suffix": ".json"},
    "extensions": [],
}


def stored(**values: Any) -> MemoryStore:
    """Keys and values; a value that is not bytes is written as JSON."""
    store = MemoryStore()
    for key, value in values.items():
        store.set(key, value if isinstance(value, bytes) else json.dumps(value).encode())
    return store


def array(store: MemoryStore, path: str, **how: Any) -> zarrscope.Array:
    found = zarrscope.open(store, **how)[path]
    assert isinstance(found, zarrscope.Array)
    return found


# ---------------------------------------------------------------------------------------------- -------- zarrita
ZARRITA = {
    "shape": [4],
    "data_type": "<i4",
    "chunk_grid": {"type": "regular", "chunk_shape": [2]},
    "chunk_memory_layout": "C",
    "compressor": None,
    "fill_value": None,
    "extensions": [],
    "attributes": None,
}


def test_zarrita_of_2020() -> None:
    store = stored(
        **{
            "zarr.json": JUNE,
            "meta/root/g.group": {"extensions": [], "attributes": None},
            "meta/root/g/b.array": ZARRITA,
            "data/g/b/0": struct.pack("<2i", 1, -2),
            "data/g/b/1": struct.pack("<2i", 3, 4),
            "meta/root/g/x.array": ZARRITA | {"shape": [], "chunk_grid": {"type": "regular", "chunk_shape": []}},
            # the identifier of a single chunk is empty; a file system drops the slash
            "data/g/x": struct.pack("<i", 42),
        }
    )
    h = zarrscope.open(store)
    assert h.dialect.name == "draft-2019-06"
    assert [(path, child.kind) for path, child in h.walk()] == [
        ("/g", "group"),
        ("/g/b", "array"),
        ("/g/x", "array"),
    ]
    b = array(store, "/g/b")
    assert b[...].tolist() == [1, -2, 3, 4]
    assert (b.attributes, b.metadata.fill.defined, h["/g"].attributes) == ({}, False, {})
    x = array(store, "/g/x")
    assert x[()] == 42
    assert any("data/g/x" in warning for warning in x.warnings)


def test_zarrita_of_2021() -> None:
    scalar = ZARRITA | {"shape": [], "chunk_grid": {"type": "regular", "chunk_shape": [], "separator": "/"}}
    line = ZARRITA | {"chunk_grid": {"type": "regular", "chunk_shape": [2], "separator": "/"}, "attributes": {}}
    store = stored(
        **{
            "zarr.json": YEAR_2020,
            "meta/root/g.group.json": {"extensions": [], "attributes": None},
            "meta/root/g/b.array.json": line,
            "data/root/g/b/c1": struct.pack("<2i", 3, 4),
            "meta/root/x.array.json": scalar,
            "data/root/x/c": struct.pack("<i", 42),  # zarr-python has c0 here
        }
    )
    assert zarrscope.open(store).dialect.name == "draft-2020"
    assert array(store, "/g/b")[...].tolist() == [0, 0, 3, 4]
    assert array(store, "/x")[()] == 42
    root = stored(**{"zarr.json": YEAR_2020, "meta/root.array.json": line, "data/root/c0": struct.pack("<2i", 1, 2)})
    assert array(root, "/")[...].tolist() == [1, 2, 0, 0]


def test_the_draft_between_of_september_2020() -> None:
    """No suffix; some chunks still lie where those of June 2019 did (D.2.4)."""
    line = ZARRITA | {"chunk_grid": {"type": "regular", "chunk_shape": [2], "separator": "/"}}
    bootstrap = {name: value for name, value in YEAR_2020.items() if name != "metadata_key_suffix"}
    for prefix, warned in (("data/root/a/", False), ("data/a/", True)):
        store = stored(**{"zarr.json": bootstrap, "meta/root/a.array": line, f"{prefix}c0": struct.pack("<2i", 1, 2)})
        found = array(store, "/a")
        assert found.metadata.dialect == "draft-2020"
        assert found[...].tolist() == [1, 2, 0, 0]
        assert bool(found.warnings) == warned


# ---------------------------------------------------------------------------------------------- zarr-python 2.18
def of_2020(**changes: Any) -> dict[str, Any]:
    form = {
        "attributes": {},
        "chunk_grid": {"chunk_shape": [2, 3], "separator": "/", "type": "regular"},
        "chunk_memory_layout": "C",
        "data_type": "|u1",
        "extensions": [],
        "fill_value": 0,
        "shape": [4, 6],
    }
    return form | changes


def test_a_scalar_of_zarr_python_lies_at_c0() -> None:
    grid = {"chunk_shape": [], "separator": "/", "type": "regular"}
    form = of_2020(shape=[], chunk_grid=grid, data_type="<f8")
    store = stored(
        **{"zarr.json": YEAR_2020, "meta/root/zd.array.json": form, "data/root/zd/c0": struct.pack("<d", 2.5)}
    )
    assert array(store, "/zd")[()] == 2.5


def test_the_separator_beside_the_grid_wins() -> None:
    form = of_2020(dimension_separator=".")
    store = stored(**{"zarr.json": YEAR_2020, "meta/root/a.array.json": form, "data/root/a/c0.1": bytes(range(1, 7))})
    assert array(store, "/a")[0:2, 3:6].tolist() == [[1, 2, 3], [4, 5, 6]]


def test_shards_of_zarr_python_2() -> None:
    """Of the four shards, one has all its chunks, one has a single chunk, and two are missing."""
    uri = "https://purl.org/zarr/spec/storage_transformers/sharding/1.0"
    form = of_2020(
        shape=[8, 8],
        chunk_grid={"chunk_shape": [2, 2], "separator": "/", "type": "regular"},
        storage_transformers=[{"extension": uri, "type": "indexed", "configuration": {"chunks_per_shard": [2, 2]}}],
    )
    full = bytes.fromhex("0b0c0f1003040708090a0d0e01020506") + struct.pack("<8Q", 12, 4, 4, 4, 8, 4, 0, 4)
    missing = 2**64 - 1
    single = bytes([7, 7, 7, 7]) + struct.pack("<8Q", *([missing] * 6), 0, 4)
    assert (len(full), len(single)) == (80, 68)
    store = stored(
        **{
            "zarr.json": YEAR_2020,
            "meta/root/a.array.json": form,
            "data/root/a/c0/0": full,
            "data/root/a/c1/1": single,
        }
    )
    expected = np.zeros((8, 8), "u1")
    expected[:4, :4] = np.arange(1, 17).reshape(4, 4)
    expected[6:, 6:] = 7
    np.testing.assert_array_equal(array(store, "/a")[...], expected)


# ---------------------------------------------------------------------------------------------- C and F (spec D.4)
COLUMNS = bytes.fromhex("000000060001000700020008")
"""The chunk at (0, 0) of arange(24).reshape(4, 6): two bytes for each element, big-endian, in column order."""
GRID = {"type": "regular", "chunk_shape": [2, 3]}
V3 = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4, 6],
    "data_type": "uint16",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
    "chunk_key_encoding": {"name": "default"},
    "fill_value": 0,
    "codecs": [
        {"name": "transpose", "configuration": {"order": [1, 0]}},
        {"name": "bytes", "configuration": {"endian": "big"}},
    ],
}
F_ORDER: dict[str, dict[str, Any]] = {
    "draft-2020": {
        "zarr.json": YEAR_2020,
        "meta/root/a.array.json": of_2020(data_type=">u2", chunk_memory_layout="F"),
        "data/root/a/c0/0": COLUMNS,
    },
    "draft-2019-06": {
        "zarr.json": JUNE,
        "meta/root/a.array": of_2020(data_type=">u2", chunk_memory_layout="F", chunk_grid=GRID),
        "data/a/0.0": COLUMNS,
    },
    "draft-2019-05": {
        "meta/a.array.json": of_2020(
            data_type=">u2", chunk_memory_layout="F", chunk_grid=GRID, chunk_codecs=[], zarr_format=URI
        ),
        "data/a/0.0": COLUMNS,
    },
    "draft-2022-05": {
        "zarr.json": LATER,
        "meta/a.array.json": of_2020(
            data_type="uint16",
            chunk_memory_layout="F",
            codecs=[
                {"type": "https://purl.org/zarr/spec/codecs/endian/1.0", "configuration": {"endian": "big"}},
            ],
        ),
        "data/a/c0/0": COLUMNS,
    },
    "v2": {
        ".zgroup": {"zarr_format": 2},
        "a/.zarray": {
            "zarr_format": 2,
            "shape": [4, 6],
            "chunks": [2, 3],
            "dtype": ">u2",
            "order": "F",
            "compressor": None,
            "fill_value": 0,
            "filters": None,
        },
        "a/0.0": COLUMNS,
    },
    "v3": {"zarr.json": {"zarr_format": 3, "node_type": "group"}, "a/zarr.json": V3, "a/c/0/0": COLUMNS},
}


@pytest.mark.parametrize("dialect", F_ORDER)
def test_f_order_and_the_full_transpose_are_the_same_bytes(dialect: str) -> None:
    found = array(stored(**F_ORDER[dialect]), "/a")
    assert found.metadata.dialect == dialect
    expected = np.zeros((4, 6), "u2")
    expected[:2, :3] = [[0, 1, 2], [6, 7, 8]]
    np.testing.assert_array_equal(found[...], expected)


def test_a_transpose_that_is_no_full_reversal_is_not_order_f() -> None:
    values = np.arange(2 * 3 * 4, dtype="u1").reshape(2, 3, 4)
    form: dict[str, Any] = V3 | {
        "shape": [2, 3, 4],
        "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3, 4]}},
        "codecs": [{"name": "transpose", "configuration": {"order": [1, 0, 2]}}, {"name": "bytes"}],
    }
    store = stored(**{"zarr.json": form, "c/0/0/0": values.transpose(1, 0, 2).tobytes()})
    np.testing.assert_array_equal(array(store, "/")[...], values)
    store = MemoryStore()
    h = zarrscope.open(store, "w-", dialect="v2")
    with pytest.raises(zarrscope.Unsupported, match="full reversal"):
        h.create_array("/a", shape=(2, 3, 4), dtype="u1", codecs=form["codecs"])


# ---------------------------------------------------------------------------------------------- side by side
@pytest.mark.parametrize("bootstrap", [JUNE, YEAR_2020, LATER], ids=["2019-06", "2020", "2022"])
def test_a_draft_beside_v2_and_n5_is_preferred_and_says_so(bootstrap: dict[str, Any]) -> None:
    h = zarrscope.open(stored(**{"zarr.json": bootstrap, ".zgroup": {"zarr_format": 2}, "attributes.json": {}}))
    assert h.dialect.name.startswith("draft")
    assert h.other_dialects == ("v2", "n5")
    assert [warning for warning in h.warnings if "Zarr v2" in warning]
    for name in ("v2", "n5"):
        assert zarrscope.open(h.store, dialect=name).dialect.name == name


def test_the_draft_without_an_entry_point_beside_v2_is_told() -> None:
    group = {"zarr_format": URI, "extensions": [], "attributes": {}}
    h = zarrscope.open(stored(**{".zgroup": {"zarr_format": 2}, "root.group.json": group}))
    assert h.dialect.name == "v2"
    assert zarrscope.open(h.store, dialect="draft-2019-05").dialect.name == "draft-2019-05"
