"""The JSON examples of five specifications, written into stores, open or are refused as their text says.

- 000, the draft of May 2019: https://github.com/zarr-developers/zarr-specs/tree/c425be7
- 001, ZEP 9: https://zarr.dev/zeps/draft/ZEP0009.html
- 002, the draft of June 2019: https://github.com/zarr-developers/zarr-specs/tree/0b75f0c
- 003, the draft of 2022: https://github.com/zarr-developers/zarr-specs/tree/89f92f9
- 004, the slides of 2019: https://zarr-developers.github.io/slides/v3-update-20190619.html
"""

from __future__ import annotations

import json
import socket
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope import Array, Group, ZarrscopeError
from zarrscope.errors import BadMetadata, Unsupported
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store

CORE_2019 = "http://purl.org/zarr/spec/protocol/core/3.0"
CORE_2020 = "https://purl.org/zarr/spec/protocol/core/3.0"
CORE_2022 = "https://purl.org/zarr/spec/core/3.0"
ATTRIBUTES = {"foo": 42, "bar": "apples", "baz": [1, 2, 3, 4]}
GRID = {"type": "regular", "chunk_shape": [1000, 100]}
DATETIME = {
    "extension": "http://purl.org/zarr/spec/protocol/extensions/datetime-dtypes/1.0",
    "type": "<M8[ns]",
    "fallback": "<i8",
}
FOO = {
    "extension": "http://example.org/zarr/extension/foo",
    "must_understand": False,
    "configuration": {"foo": "bar"},
}
SPAM_WITH_COMMA = b'{"extensions": [], "attributes": {"spam": "ham", "eggs": 42,}}'


def stored(**documents: Any) -> MemoryStore:
    store = MemoryStore()
    for key, value in documents.items():
        store.set(key, value if isinstance(value, bytes) else json.dumps(value).encode())
    return store


def array_at(store: Store, path: str) -> Array:
    node = zarrscope.open(store)[path]
    assert isinstance(node, Array)
    return node


def check_example(array: Array) -> None:
    assert (array.shape, array.chunks, array.dtype) == ((10000, 1000), (1000, 100), np.dtype("<f8"))
    assert np.isnan(array.fill_value)
    assert array.attributes == ATTRIBUTES
    assert array.problem is None
    assert np.isnan(array[5, 7])


# ---------------------------------------------------------------------------------------------- 000
def test_000_array_and_group() -> None:
    document = {
        "zarr_format": CORE_2019,
        "shape": [10000, 1000],
        "data_type": "<f8",
        "chunk_grid": GRID,
        "chunk_memory_layout": "C",
        "chunk_codecs": [{"codec": "http://purl.org/zarr/spec/codec/gzip", "level": 1}],
        "fill_value": "NaN",
        "extensions": [],
        "attributes": ATTRIBUTES,
    }
    right = {"zarr_format": CORE_2019, "extensions": [], "attributes": {"spam": "ham", "eggs": 42}}
    store = stored(**{"meta/foo/baz.array.json": document, "meta/foo/bar.group.json": right})
    check_example(array_at(store, "/foo/baz"))
    group = zarrscope.open(store)["/foo/bar"]
    assert group.attributes == {"spam": "ham", "eggs": 42}


@pytest.mark.parametrize("key", ["meta/g.group.json"])
def test_000_the_group_example_has_a_comma_too_many(key: str) -> None:
    with_comma = b'{"zarr_format": "' + CORE_2019.encode() + b'", ' + SPAM_WITH_COMMA[1:]
    store = stored(**{key: with_comma, "root.group.json": {"zarr_format": CORE_2019, "extensions": []}})
    problem = zarrscope.open(store)["/g"].problem
    assert isinstance(problem, BadMetadata)
    assert "column" in str(problem)


# ---------------------------------------------------------------------------------------------- 002 and 004
@pytest.mark.parametrize("core", [CORE_2020, CORE_2019], ids=["002", "004"])
@pytest.mark.parametrize("extensions", [[], [FOO]], ids=["plain", "foo"])
def test_002_004_entry_point_array_and_datetime(core: str, extensions: list[Any]) -> None:
    plain = {
        "shape": [10000, 1000],
        "data_type": "<f8",
        "chunk_grid": GRID,
        "chunk_memory_layout": "C",
        "compressor": {"codec": "http://purl.org/zarr/spec/codec/gzip", "configuration": {"level": 1}},
        "fill_value": "NaN",
        "extensions": [],
        "attributes": ATTRIBUTES,
    }
    store = stored(
        **{
            "zarr.json": {"zarr_format": core, "metadata_encoding": "application/json", "extensions": extensions},
            "meta/root/foo/baz.array": plain,
            "meta/root/foo/when.array": {**plain, "data_type": DATETIME, "fill_value": None, "attributes": {}},
            "meta/root/foo/bar.group": {"extensions": [], "attributes": {"spam": "ham", "eggs": 42}},
            "meta/root/foo/comma.group": SPAM_WITH_COMMA,
        }
    )
    h = zarrscope.open(store)
    assert h.dialect.name == "draft-2019-06"
    check_example(array_at(store, "/foo/baz"))
    when = array_at(store, "/foo/when")
    assert when.dtype == np.dtype("M8[ns]")
    assert not when.metadata.fill.defined
    assert h["/foo/bar"].attributes == {"spam": "ham", "eggs": 42}
    problem = h["/foo/comma"].problem
    assert isinstance(problem, BadMetadata)
    assert problem.key == "meta/root/foo/comma.group"
    group = h["/foo"]
    assert isinstance(group, Group)
    assert {child.name: child.kind for child in group.children()} == {
        "baz": "array",
        "when": "array",
        "bar": "group",
        "comma": "group",
    }
    assert [report.name for report in group.extensions] == [FOO["extension"]] * len(extensions)


def test_004_linked_data_in_attributes_is_kept_as_it_stands() -> None:
    own = {"@id": "arc:arc0", "@type": ["ome:Arc", "ome:ManufacturerSpec"], "ome:arcType": {"@id": "arcType:Xe"}}
    entry = {"zarr_format": CORE_2019, "metadata_encoding": "application/json", "extensions": []}
    store = stored(**{"zarr.json": entry, "meta/root/g.group": {"extensions": [], "attributes": own}})
    assert zarrscope.open(store)["/g"].attributes == own


# ---------------------------------------------------------------------------------------------- 003
@pytest.mark.parametrize("extensions", [[], [FOO]], ids=["plain", "foo"])
def test_003_entry_point_array_and_datetime(extensions: list[Any]) -> None:
    plain = {
        "shape": [10000, 1000],
        "data_type": "<f8",
        "chunk_grid": {**GRID, "separator": "/"},
        "chunk_memory_layout": "C",
        "codecs": [{"type": "https://purl.org/zarr/spec/codecs/gzip/1.0", "configuration": {"level": 1}}],
        "fill_value": "NaN",
        "extensions": [],
        "attributes": ATTRIBUTES,
    }
    when = {**DATETIME, "extension": "https://purl.org/zarr/spec/extensions/data-types/datetime/1.0"}
    store = stored(
        **{
            "zarr.json": {
                "zarr_format": CORE_2022,
                "metadata_encoding": {"type": "json", "metadata_key_suffix": ".json"},
                "extensions": extensions,
            },
            "meta/foo/baz.array.json": plain,
            "meta/foo/when.array.json": {**plain, "data_type": when, "fill_value": None, "attributes": {}},
            "meta/foo/comma.group.json": b'{"attributes": {"spam": "ham", "eggs": 42,}}',
        }
    )
    check_example(array_at(store, "/foo/baz"))
    assert array_at(store, "/foo/when").dtype == np.dtype("M8[ns]")
    assert isinstance(zarrscope.open(store)["/foo/comma"].problem, BadMetadata)


# ---------------------------------------------------------------------------------------------- 001
PHASE_1: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "data_type": "https://example.com/zarr/string",
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
    "codecs": [{"name": "https://numcodecs.dev/vlen-utf8"}, {"name": "zstd", "configuration": {"level": 1}}],
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [32]}},
    "shape": [128],
    "dimension_names": ["x"],
    "attributes": {},
    "fill_value": "",
    "storage_transformers": [],
}
READABLE: dict[str, Any] = PHASE_1 | {
    "data_type": "uint8",
    "fill_value": 0,
    "codecs": ["bytes", {"name": "zstd", "configuration": {"level": 1}}],
}
OFFSET: dict[str, Any] = {"name": "https://example.com/zarr/offset", "configuration": {"offset": [12]}}
STATISTICS = {
    "name": "https://example.com/zarr/array-statistics",
    "configuration": {"min": 5, "max": 12},
    "must_understand": False,
}
COPIES: dict[str, Any] = {
    "name": "https://example.com/zarr/consolidated-metadata",
    "configuration": {},
    "must_understand": False,
}


@pytest.fixture(autouse=True)
def _network_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """No name in a document is ever looked up: any attempt to reach the network fails the test."""

    def refuse(*arguments: Any, **options: Any) -> Any:
        raise AssertionError(f"the network was asked for {arguments}")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_001_phase_1_names_by_web_address_are_named_and_never_opened() -> None:
    array = array_at(stored(**{"zarr.json": PHASE_1}), "/")
    assert array.shape == (128,)
    assert array.dimension_names == ("x",)
    assert array.metadata.keys.key((3,)) == "c.3"
    refused = {report.name for report in array.extensions if report.outcome.value == "refused"}
    assert {"https://example.com/zarr/string", "https://numcodecs.dev/vlen-utf8"} <= refused
    with pytest.raises(Unsupported, match=r"example\.com/zarr/string"):
        array[...]


def test_001_phase_2_extensions() -> None:
    whole = stored(**{"zarr.json": READABLE | {"extensions": [OFFSET, STATISTICS, COPIES]}})
    array = array_at(whole, "/")
    assert [(r.name.rpartition("/")[2], r.outcome.value) for r in array.extensions] == [
        ("offset", "refused"),
        ("array-statistics", "used"),
        ("consolidated-metadata", "ignored"),
    ]
    with pytest.raises(ZarrscopeError) as caught:
        array[...]
    assert caught.value.pointer == "/extensions/0"
    harmless = array_at(stored(**{"zarr.json": READABLE | {"extensions": [STATISTICS, COPIES]}}), "/")
    assert harmless[0] == 0
    assert harmless.metadata.declared_range == (5, 12)
    anyway = zarrscope.open(whole, "r+", lenient=True)
    opened = anyway["/"]
    assert isinstance(opened, Array)
    assert opened[0] == 0
    assert not anyway.writable


@pytest.mark.parametrize("wrap", [False, True], ids=["top-level", "object"])
def test_001_phase_2_forms_that_were_not_adopted(wrap: bool) -> None:
    members = {
        OFFSET["name"]: OFFSET["configuration"],
        STATISTICS["name"]: STATISTICS["configuration"],
        COPIES["name"]: {"must_understand": False},
    }
    array = array_at(stored(**{"zarr.json": READABLE | ({"extensions": members} if wrap else members)}), "/")
    found = {report.name: report.outcome.value for report in array.extensions}
    assert found[OFFSET["name"]] == "refused"
    assert found[COPIES["name"]] == "ignored"
    with pytest.raises(ZarrscopeError, match="extensions" if wrap else "offset"):
        array[...]


def test_001_phase_3_is_explained_and_refused() -> None:
    document = {
        "https://zarr.dev/v3/array/data_type": "https://example.com/zarr/string",
        "https://zarr.dev/v3/array/chunk_key_encoding": {"name": "https://zarr.dev/v3/chunk_key_encodings/default"},
        "https://zarr.dev/v3/array/codecs": [
            {"name": "https://numcodecs.dev/vlen-utf8"},
            {"name": "https://zarr.dev/v3/codecs/zstd"},
        ],
        "https://zarr.dev/v3/array/chunk_grid": {"name": "https://zarr.dev/v3/chunk_grid/regular"},
        "https://zarr.dev/v3/array/dimension_names": ["x"],
        "https://zarr.dev/v3/attributes": {},
    }
    for extra in ({}, {"zarr_format": 3}):
        with pytest.raises(Unsupported, match="phase 3") as caught:
            zarrscope.open(stored(**{"zarr.json": document | extra}))["/"]
        assert caught.value.key == "zarr.json"
    for context in ("https://zarr.dev/context/v3.1", {"example": "https://example.com/some-prefix/"}):
        array = array_at(stored(**{"zarr.json": READABLE | {"@context": context}}), "/")
        assert "phase 3" in str(array.problem)
    prefixed = array_at(stored(**{"zarr.json": READABLE | {"data_type": "example:utf-16-string"}}), "/")
    assert "phase 3" in str(prefixed.problem)
