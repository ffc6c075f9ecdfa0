"""Malicious files in every dialect (reference.md F): a value or a named error, within bounded memory.

data/hazards.tsv lists all rules of the table with their tests; these are those that hold in every dialect alike.
"""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.dialect import TEMPLATES, array_path
from zarrscope.dialects import DIALECTS, Dialect
from zarrscope.errors import TooLarge
from zarrscope.stores.memory import MemoryStore

every = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
MEMBERS = {"v2": ("shape", "chunks"), "v1": ("shape", "chunks"), "n5": ("dimensions", "blockSize")}
CHUNKS = {"v3": ("chunk_grid", "configuration", "chunk_shape")}


def stored(dialect: Dialect, changed: bytes | None = None, **members: Any) -> MemoryStore:
    """The template of a dialect in which members of the array's document, or all of its bytes, are replaced."""
    store = MemoryStore()
    for key, value in TEMPLATES[dialect.name].items():
        store.set(key, value)
    key = document_key(dialect)
    store.set(key, changed if changed is not None else json.dumps(document(dialect) | members).encode())
    return store


def document_key(dialect: Dialect) -> str:
    return next(key for key in dialect.documents(array_path(dialect)) if key in TEMPLATES[dialect.name])


def document(dialect: Dialect) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(TEMPLATES[dialect.name][document_key(dialect)])
    return found


def chunked(dialect: Dialect, chunk_shape: list[Any]) -> dict[str, Any]:
    """The members that state the chunk shape."""
    if dialect.name in MEMBERS:
        return {MEMBERS[dialect.name][1]: chunk_shape}
    if dialect.name == "v3":
        return {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk_shape}}}
    return {"chunk_grid": document(dialect)["chunk_grid"] | {"chunk_shape": chunk_shape}}


def opened(dialect: Dialect, store: MemoryStore) -> Any:
    return zarrscope.open(store)[array_path(dialect)]


def whole(node: Any) -> Any:
    """Reads everything in a node: a broken one opens, but its values raise an error."""
    return node[...] if node.kind == "array" else [*node.children()]


@every
def test_a_huge_shape_opens_and_costs_nothing(dialect: Dialect) -> None:
    store = stored(dialect, None, **{MEMBERS.get(dialect.name, ("shape",))[0]: [2**62, 2**62]})
    array = opened(dialect, store)
    assert array.shape == (2**62, 2**62)
    assert array.size == 2**124
    tracemalloc.start()
    assert array[2**61, 2**61 + 5].shape == ()
    with pytest.raises((zarrscope.ZarrscopeError, MemoryError)) as caught:
        array[...]
    assert isinstance(caught.value, zarrscope.ZarrscopeError)
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()


@every
@pytest.mark.parametrize("bad", [2**63, -1, True, 1e3, 10.0, "10", None, [1]], ids=repr)
def test_lengths_are_whole_numbers_of_63_bits(dialect: Dialect, bad: Any) -> None:
    name = MEMBERS.get(dialect.name, ("shape",))[0]
    with pytest.raises(zarrscope.BadMetadata) as caught:
        opened(dialect, stored(dialect, None, **{name: [10, bad]}))[...]
    assert (caught.value.key, caught.value.pointer) == (document_key(dialect), f"/{name}/1")
    with pytest.raises(zarrscope.BadMetadata) as caught:
        opened(dialect, stored(dialect, None, **{name: [1] * 33}))[...]
    assert caught.value.pointer == f"/{name}"


@every
def test_chunks_that_overflow_open_and_are_not_tried(dialect: Dialect) -> None:
    length = 2**31 - 1 if dialect.name == "n5" else 2**40
    array = opened(dialect, stored(dialect, **chunked(dialect, [length, length])))
    assert array.chunks == (length, length)
    key = array.metadata.keys.key((0, 0))
    store = array.store
    store.set(key, b"\0\0\0\2" + bytes(60) if dialect.name == "n5" else bytes(64))
    tracemalloc.start()
    with pytest.raises(zarrscope.ZarrscopeError):
        array[0, 0]
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()


# ---------------------------------------------------------------------------------------------- JSON
def with_attribute(dialect: Dialect, text: str) -> bytes:
    """The array's document with another attribute, spelled exactly like this."""
    form = document(dialect)
    if dialect.name in ("n5",):
        return json.dumps(form)[:-1].encode() + f', "odd": {text}}}'.encode("utf-8", "surrogatepass")
    attributes = json.dumps(form | {"attributes": {"odd": "HERE"}}).replace('"HERE"', text)
    return attributes.encode("utf-8", "surrogatepass")


@every
@pytest.mark.parametrize(
    "text",
    ["NaN", "-Infinity", "1e400", "9" * 5000, '"\\ud800"', "[" * 400 + "]" * 400, '{"a": 1, "a": 2}'],
    ids=["nan", "infinity", "1e400", "digits", "surrogate", "deep", "twice"],
)
def test_odd_json_in_attributes_is_read_and_harms_nobody(dialect: Dialect, text: str) -> None:
    if dialect.name in ("v2", "v1"):
        key = "g/a/.zattrs" if dialect.name == "v2" else "attrs"
        store = stored(dialect)
        store.set(key, f'{{"odd": {text}}}'.encode("utf-8", "surrogatepass"))
    else:
        store = stored(dialect, with_attribute(dialect, text))
    array = opened(dialect, store)
    assert "odd" in array.attributes
    repr(array), array._repr_html_()


@every
@pytest.mark.parametrize(
    "change",
    [
        lambda value: b"[" * 200_000,
        lambda value: value + b"}",
        lambda value: value[:-1] + b",}",
        lambda value: value[:-1] + b" " * (17 << 20) + b"}",
        lambda value: value.replace(b"{", b'{"x": ' + b"[" * 600 + b"]" * 600 + b",", 1),
        lambda value: b"\xff" + value,
        lambda value: b"null",
    ],
    ids=["brackets", "trailing", "comma", "size", "depth", "encoding", "null"],
)
def test_documents_that_are_no_json_are_named(dialect: Dialect, change: Any) -> None:
    key = document_key(dialect)
    with pytest.raises(zarrscope.ZarrscopeError) as caught:
        whole(opened(dialect, stored(dialect, change(TEMPLATES[dialect.name][key]))))
    if array_path(dialect) != "/":  # v1 is recognised by this document
        assert isinstance(caught.value, zarrscope.BadMetadata | TooLarge)
        assert caught.value.key == key
        assert caught.value.store


@every
def test_a_byte_order_mark_is_read(dialect: Dialect) -> None:
    array = opened(dialect, stored(dialect, b"\xef\xbb\xbf" + TEMPLATES[dialect.name][document_key(dialect)]))
    assert array.shape == (10000, 1000)


# ---------------------------------------------------------------------------------------------- hostile texts
CODECS: dict[str, tuple[str, list[Any]]] = {
    "v3": ("codecs", [{"name": "bytes", "configuration": {"endian": "little"}}, *[{"name": "crc32c"}] * 64]),
    "v2": ("filters", [{"id": "shuffle", "elementsize": 8}] * 65),
    "draft-2019-05": ("chunk_codecs", [{"codec": "http://purl.org/zarr/spec/codec/gzip", "level": 1}] * 65),
    "draft-2019-06": ("codecs", [{"codec": "http://purl.org/zarr/spec/codec/gzip"}] * 65),
    "draft-2020": ("codecs", [{"codec": "https://purl.org/zarr/spec/codec/gzip/1.0"}] * 65),
    "draft-2022-05": ("codecs", [{"type": "https://purl.org/zarr/spec/codecs/gzip/1.0"}] * 65),
}


@pytest.mark.parametrize("dialect", [d for d in DIALECTS if d.name in CODECS], ids=lambda dialect: dialect.name)
def test_more_than_64_codecs_are_refused(dialect: Dialect) -> None:
    name, codecs = CODECS[dialect.name]
    with pytest.raises(zarrscope.BadMetadata) as caught:
        opened(dialect, stored(dialect, None, **{name: codecs}))[...]
    assert caught.value.pointer == f"/{name}"


@pytest.mark.parametrize("dialect", ["v3", "v2", "draft-2020"])
def test_consolidated_names_that_leave_the_hierarchy_are_nobodys_nodes(dialect: str) -> None:
    store = MemoryStore()
    h = zarrscope.open(store, "w-", dialect=dialect)
    h.create_array("/a", shape=(2,), dtype="u1")
    keys = [key for key in store.list() if key.startswith(("a", "meta/"))]
    inside: dict[str, Any] = {key: json.loads(store.get(key) or b"") for key in keys if "/c" not in key}
    evil = {
        key.replace("a/", f"{way}/a/") if "meta" not in key else key.replace("root/", f"root/{way}/"): value
        for way in ("..", "../../etc", "/", ".")
        for key, value in inside.items()
    }
    if dialect == "v3":
        root = json.loads(store.get("zarr.json") or b"")
        metadata = {key.removesuffix("/zarr.json"): value for key, value in (inside | evil).items()}
        root["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": metadata}
        store.set("zarr.json", json.dumps(root).encode())
    else:
        where = ".zmetadata" if dialect == "v2" else "meta/root/consolidated/.zmetadata"
        store.set(where, json.dumps({"zarr_consolidated_format": 1, "metadata": inside | evil}).encode())
    store.remote = True
    h = zarrscope.open(store)
    assert h.consolidated
    assert [path for path, _ in h.walk()] == ["/a"]


def test_a_walk_goes_no_deeper_than_64_levels() -> None:
    for dialect in ("v3", "draft-2020"):
        store = MemoryStore()
        h = zarrscope.open(store, "w-", dialect=dialect)
        h.create_group("/" + "/".join("d" * 1 for _ in range(80)))
        depths = [path.count("/") for path, _ in h.walk()]
        assert max(depths) == 64, dialect


def test_elements_of_numbers_are_exact_whatever_their_spelling() -> None:
    """A fill value of another width or type is an error in every dialect, and never becomes another number."""
    for dialect in DIALECTS:
        if dialect.name == "n5":
            continue  # it has none
        for bad in ("0x7fc00000", "ten", [1, 2, 3], {"a": 1}, True):
            with pytest.raises(zarrscope.BadMetadata) as caught:
                opened(dialect, stored(dialect, fill_value=bad))[...]
            assert caught.value.pointer == "/fill_value", (dialect.name, bad)
    assert np.isnan(opened(DIALECTS[0], stored(DIALECTS[0], fill_value="NaN")).fill_value)
