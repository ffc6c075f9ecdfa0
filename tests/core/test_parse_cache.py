"""Parsed documents are cached by their bytes: callers never share changes or see an outdated document."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import zarrscope
from zarrscope.dialects import dialect_named, parse_cache
from zarrscope.dialects.parse_cache import parsed
from zarrscope.model.metadata import ArrayMetadata
from zarrscope.runtime.memo import Memo
from zarrscope.runtime.tuning import PARSED_BYTES, PARSED_DOCUMENTS
from zarrscope.stores.memory import MemoryStore

V3: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4],
    "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    "chunk_key_encoding": {"name": "default"},
    "fill_value": 7,
    "codecs": [{"name": "bytes"}],
    "attributes": {"list": [{"name": 1}]},
}


@pytest.fixture(autouse=True)
def _nothing_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse_cache, "_found", Memo(PARSED_DOCUMENTS))


def held(**changes: Any) -> MemoryStore:
    store = MemoryStore()
    store.set("zarr.json", json.dumps(V3 | changes).encode())
    return store


def test_the_same_bytes_are_parsed_once_and_metadata_shared() -> None:
    one, two = zarrscope.open(held())["/"], zarrscope.open(held())["/"]
    assert one.metadata is two.metadata
    assert zarrscope.open(held(shape=[5]))["/"].metadata != one.metadata


def test_attributes_are_everybodys_own() -> None:
    store = held()
    for _ in range(3):
        attributes: Any = zarrscope.open(store)["/"].attributes
        assert attributes == V3["attributes"]
        attributes["list"][0]["name"] = 2
        attributes["list"].append(3)
        with pytest.raises(TypeError, match="reading only"):
            attributes["more"] = 4


def test_what_was_changed_is_read() -> None:
    store = held()
    assert zarrscope.open(store)["/"].attributes == V3["attributes"]
    store.set("zarr.json", json.dumps(V3 | {"attributes": {}, "shape": [9]}).encode())
    array = zarrscope.open(store)["/"]
    assert isinstance(array, zarrscope.Array)
    assert (array.shape, array.attributes) == ((9,), {})


def test_the_same_bytes_elsewhere_are_another_node() -> None:
    document = json.dumps(V3).encode()
    dialect = dialect_named("v3")
    for path in ("/a", "/b", "/a"):
        node = parsed(dialect, path, {f"{path[1:]}/zarr.json": document})
        assert node is not None
        assert node.path == path
        assert isinstance(node.metadata, ArrayMetadata)
        assert node.metadata.keys.key((0,)) == f"{path[1:]}/c/0"


def test_how_it_was_opened_counts() -> None:
    unknown = held(novelty={"must_understand": True})
    assert zarrscope.open(unknown)["/"].metadata.problem is not None
    assert zarrscope.open(unknown, lenient=True)["/"].metadata.problem is None
    assert zarrscope.open(unknown)["/"].metadata.problem is not None


def test_extensions_faults_and_large_documents_are_not_remembered() -> None:
    zarrscope.open(held(novelty={"must_understand": False}))["/"]
    zarrscope.open(held(attributes={"text": "x" * PARSED_BYTES}))["/"]
    assert zarrscope.open(held(shape=[-1]))["/"].problem is not None
    with pytest.raises(zarrscope.BadMetadata):
        zarrscope.open(MemoryStore({"zarr.json": b"{"}))
    assert not [key for key in parse_cache._found._values if len(key) == 3]  # type: ignore[arg-type]  # keys are tuples there


def test_no_more_is_kept_than_is_said() -> None:
    for length in range(PARSED_DOCUMENTS):
        zarrscope.open(held(shape=[length]))["/"]
    assert len(parse_cache._found) == PARSED_DOCUMENTS


def test_attributes_as_deep_as_may_be() -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    for _ in range(2):
        found: Any = zarrscope.open(held(attributes={"deep": deep}))["/"].attributes["deep"]
        assert str(found) == "[" * 500 + "1" + "]" * 500


def test_opening_a_folder_again_takes_few_calls(tmp_path: Path) -> None:
    """Counted, because time depends on what else the machine does. The whole act takes some 60 µs."""
    (tmp_path / "zarr.json").write_text(json.dumps(V3))
    place, calls = str(tmp_path), 0

    def counted(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    zarrscope.open(place)["/"]
    sys.setprofile(counted)
    try:
        zarrscope.open(place)["/"]
    finally:
        sys.setprofile(None)
    assert calls <= 130
