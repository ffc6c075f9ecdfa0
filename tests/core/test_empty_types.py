"""Arrays of data types with zero bytes an element can be listed, shown and read; one bad node never ends a listing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from narrowing import as_array, as_group
from zarrscope.check.hierarchy import check
from zarrscope.dialects import parse_cache
from zarrscope.dialects.v2 import V2
from zarrscope.dialects.v3 import V3
from zarrscope.errors import BadMetadata
from zarrscope.runtime.memo import Memo
from zarrscope.stores.memory import MemoryStore
from zarrscope_app.cli import run

V2_TYPES: dict[str, Any] = {
    "v": "|V0",
    "s": "|S0",
    "u": "<U0",
    "struct": [["a", "|V0"]],
    "mixed": [["a", "|S0"], ["b", "<i2"]],
    "none": [["a", "<i4", [0]]],
}


def sized(name: str) -> dict[str, Any]:
    return {"name": name, "configuration": {"length_bytes": 0}}


V3_TYPES = {
    "v": sized("raw_bytes"),
    "s": sized("null_terminated_bytes"),
    "u": sized("fixed_length_utf32"),
    "struct": {"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": sized("raw_bytes")}]}},
}


def v2_array(dtype: Any, fill: Any) -> bytes:
    members = {"zarr_format": 2, "shape": [3], "chunks": [2], "dtype": dtype, "fill_value": fill, "order": "C"}
    return json.dumps({**members, "compressor": None, "filters": None}).encode()


def v3_array(data_type: Any, fill: Any) -> bytes:
    return json.dumps(
        {
            "zarr_format": 3,
            "node_type": "array",
            "shape": [3],
            "data_type": data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
            "chunk_key_encoding": {"name": "default"},
            "codecs": [{"name": "bytes"}],
            "fill_value": fill,
        }
    ).encode()


def stored(place: Path, documents: dict[str, bytes]) -> None:
    for key, value in documents.items():
        (place / key).parent.mkdir(parents=True, exist_ok=True)
        (place / key).write_bytes(value)


def documents(dialect: str) -> dict[str, bytes]:
    if dialect == "v3":
        root = {"zarr.json": b'{"zarr_format": 3, "node_type": "group"}', "z/zarr.json": v3_array("int16", 0)}
        return {**root, **{f"{name}/zarr.json": v3_array(each, "") for name, each in V3_TYPES.items()}}
    made = {".zgroup": b'{"zarr_format": 2}', "z/.zarray": v2_array("<i2", 0)}
    for name, each in V2_TYPES.items():
        for i, fill in enumerate((None, 0) if name == "mixed" else (None, 0, "")):
            made[f"{name}{i}/.zarray"] = v2_array(each, fill)
    return made


@pytest.mark.parametrize("dialect", ["v2", "v3"])
def test_they_list_and_show(dialect: str, tmp_path: Path, capsys: Any) -> None:
    stored(tmp_path, documents(dialect))
    hierarchy = zarrscope.open(tmp_path)
    names = [child.name for child in as_group(hierarchy["/"]).children()]
    assert len(names) == len(documents(dialect)) - 1
    for name in names:
        array = as_array(hierarchy[name])
        assert (array.problem, array.shape, array[...].shape) == (None, (3,), (3,)), name
        assert run(["info", str(tmp_path), name]) == 0
        assert run(["read", str(tmp_path), name]) == 0
    assert [f for f in check(hierarchy) if f.severity == "error"] == []
    capsys.readouterr()
    for verb in ("ls", "tree", "check"):
        assert run([verb, str(tmp_path)]) == 0
        told = capsys.readouterr()
        assert "went wrong" not in told.out + told.err
        assert verb == "check" or told.out.count("\n") >= len(names)


@pytest.mark.parametrize("dialect", ["v2", "v3"])
def test_a_mistake_over_one_node_ends_no_listing(dialect: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    made: type[V2] | type[V3] = V2 if dialect == "v2" else V3
    honest = made.parse

    def mistaken(self: Any, path: str, given: Any) -> Any:
        if path == "/b":
            raise ZeroDivisionError("a mistake")
        return honest(self, path, given)

    store = MemoryStore()
    hierarchy = zarrscope.open(store, "a", dialect=dialect)
    for name in "abc":
        hierarchy.create_array(name, shape=(2,), dtype="i2")[...] = 1
    monkeypatch.setattr(made, "parse", mistaken)
    monkeypatch.setattr(parse_cache, "_found", Memo(1))
    hierarchy = zarrscope.open(store)
    broken = hierarchy["b"]
    assert "a mistake" in str(broken.problem)
    with pytest.raises(BadMetadata, match="a mistake"):
        len(broken.attributes)
    assert [child.name for child in as_group(hierarchy["/"]).children()] == ["a", "b", "c"]
    found = list(check(hierarchy))
    assert [f.path for f in found if f.severity == "error"] == ["/b"]
    for verb in ("ls", "tree", "check"):
        run([verb, store.url])
        told = capsys.readouterr()
        assert "went wrong inside" not in told.out + told.err
        assert verb == "check" or "c" in told.out
