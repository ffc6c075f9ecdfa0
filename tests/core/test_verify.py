"""Checking a hierarchy finds exactly its faults, in every dialect, whatever else is broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope.check.finding import Finding, in_documents
from zarrscope.check.hierarchy import CheckProgress, check, check_documents
from zarrscope.model.metadata import CodecSpec, Configuration
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.wrappers import FaultRule, Faults, Wrapper

GZIP = [CodecSpec("bytes", Configuration({"endian": "big"})), CodecSpec("gzip", Configuration({"level": 1}))]
PLAIN = GZIP[:1]
NUMBERS = np.arange(1, 8 * 10 + 1, dtype="u2").reshape(8, 10)

LAYOUTS = ["v2", "v3", "v3 sharded", "n5", "draft-2019-05", "draft-2020", "draft-2022-05", "draft-2022-05 sharded"]


def made(layout: str, codecs: Any = GZIP, store: Any = None) -> tuple[Any, zarrscope.Array]:
    """A hierarchy with one array /g/a of 4 x 5 chunks (shards), all of them stored."""
    store = MemoryStore() if store is None else store
    dialect, _, sharded = layout.partition(" ")
    h = zarrscope.open(store, "w-", dialect=dialect)
    size = (1, 1) if sharded else (2, 2)
    options: dict[str, Any] = {"shards": (2, 2)} if sharded else {}
    a = h.create_array("/g/a", shape=(8, 10), dtype="u2", chunks=size, codecs=codecs, **options)
    a[...] = NUMBERS
    return store, a


def found(store: Any, path: str = "/", **options: Any) -> list[Finding]:
    return list(check(zarrscope.open(store), path, **options))


def checked_alone(store: Any, findings: list[Finding]) -> None:
    """Asserts that each node's documents, checked alone, give what the whole check found in them."""
    h = zarrscope.open(store)
    for path in {each.path for each in findings} | {"/g", "/g/a"}:
        told = [each for each in findings if each.path == path and in_documents(each, h)]
        assert [each for each in check_documents(h, path) if each.severity != "information"] == told


def codes(findings: list[Finding]) -> set[tuple[str, str, str | None]]:
    return {(f.severity, f.code, f.key) for f in findings}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nothing_is_found_in_what_is_whole(layout: str) -> None:
    store, _ = made(layout)
    assert found(store) == []


@pytest.mark.parametrize("place", ["memory", "folder"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_three_missing_chunks_and_a_truncated_one_are_named_exactly(layout: str, place: str, tmp_path: Path) -> None:
    store, a = made(layout, store=None if place == "memory" else str(tmp_path / "h"))
    inner = a.store
    key = a.metadata.keys.key
    missing = [key((0, 1)), key((2, 0)), key((3, 4))]
    for each in missing:
        assert inner.get(each) is not None
        inner.erase(each)
    cut = key((1, 3))
    whole = inner.get(cut)
    assert whole is not None
    inner.set(cut, whole[:-3])
    findings = found(store)
    assert [f.key for f in findings if f.code == "chunk-missing"] == missing
    broken = [f for f in findings if f.severity == "error"]
    assert [f.key for f in broken] == [cut]
    assert broken[0].code in ("chunk-undecodable", "shard-index", "chunk-checksum")
    assert len(findings) == 4
    assert {f.path for f in findings} == {"/g/a"}
    strict = found(store, expect_all=True)
    assert {f.key for f in strict if f.severity == "error"} == {*missing, cut}


@pytest.mark.parametrize("layout", ["v2", "v3", "draft-2020"])
def test_sizes_of_uncompressed_chunks(layout: str) -> None:
    store, a = made(layout, PLAIN)
    key = a.metadata.keys.key
    store.set(key((0, 0)), store.get(key((0, 0)))[:-1])
    store.set(key((0, 1)), store.get(key((0, 1))) + b"?")
    store.set(key((0, 2)), b"")
    assert codes(found(store)) == {
        ("error", "chunk-truncated", key((0, 0))),
        ("error", "chunk-size", key((0, 1))),
        ("error", "chunk-truncated", key((0, 2))),
    }


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_chunk_whose_bytes_were_changed_is_named(layout: str) -> None:
    store, a = made(layout)
    key = a.metadata.keys.key((2, 1))
    value = bytearray(store.get(key))
    value[-6] ^= 0x55  # of gzip's own checksum, or of a shard's index
    store.set(key, bytes(value))
    findings = found(store)
    assert {(f.severity, f.key) for f in findings} == {("error", key)}
    assert {f.code for f in findings} <= {"chunk-undecodable", "shard-index", "chunk-checksum"}


@pytest.mark.parametrize("layout", ["draft-2019-05", "draft-2019-06", "draft-2020", "draft-2022-05"])
def test_arrays_and_groups_of_one_name_in_the_drafts(layout: str) -> None:
    store, a = made(layout)
    h = zarrscope.open(store, "r+")
    documents = h.dialect.write("/g/a", h["/g"].metadata, {"note": 1})
    for key, value in documents.items():
        store.set(key, value)
    assert [(f.severity, f.code, f.path) for f in found(store)] == [("error", "array-and-group", "/g/a")]
    assert np.array_equal(a[...], NUMBERS)


@pytest.mark.parametrize("layout", ["v2", "v3", "n5", "draft-2019-05", "draft-2019-06", "draft-2020", "draft-2022-05"])
def test_names_that_differ_by_case_only_in_every_dialect(layout: str) -> None:
    store, _ = made(layout)
    h = zarrscope.open(store, "r+")
    for key, value in h.dialect.write("/g/A", h["/g"].metadata, {"note": 1}).items():
        store.set(key, value)
    assert [(f.severity, f.code, f.path) for f in found(store)] == [("warning", "case-collision", "/g/a")]


def test_checksums() -> None:
    store, a = made("v3", [*PLAIN, CodecSpec("crc32c")])
    key = a.metadata.keys.key((2, 2))
    value = bytearray(store.get(key))
    value[0] ^= 1
    store.set(key, bytes(value))
    assert codes(found(store)) == {("error", "chunk-checksum", key)}


def test_inner_chunks_of_shards() -> None:
    store, a = made("v3 sharded", PLAIN)
    a[2, 2] = 0
    a[3, 3] = 0
    key = a.metadata.keys.key((1, 1))
    assert [(f.severity, f.code, f.key) for f in found(store)] == [("information", "chunk-missing", key)] * 2
    other = a.metadata.keys.key((0, 0))
    value = store.get(other)
    # a byte of an inner chunk without checksum: the change cannot be detected
    store.set(other, value[:5] + b"?" + value[6:])
    assert len(found(store)) == 2
    store.set(other, value[:-8] + bytes(8))  # the index and its checksum
    broken = [f for f in found(store) if f.severity == "error"]
    assert [(f.key, f.path) for f in broken] == [(other, "/g/a")], "once, not once for every inner chunk"


@pytest.mark.parametrize("layout", ["v2", "v3", "n5", "draft-2020"])
def test_keys_that_are_no_chunks(layout: str) -> None:
    store, a = made(layout)
    outside = a.metadata.keys.key((4, 0))
    store.set(outside, b"x")
    stray = a.metadata.keys.prefix + "0.0.tmp123"
    store.set(stray, b"x")
    assert codes(found(store)) == {("warning", "chunk-outside", outside), ("warning", "stray-key", stray)}


def test_an_array_and_a_group_at_one_path() -> None:
    store, _ = made("v2")
    store.set("g/a/.zgroup", b'{"zarr_format": 2}')
    assert codes(found(store)) == {("error", "array-and-group", "g/a/.zgroup")}
    store, _ = made("draft-2020")
    store.set("meta/root/g/a.group.json", b'{"extensions": [], "attributes": {}}')
    assert codes(found(store)) == {("error", "array-and-group", "meta/root/g/a.group.json")}


@pytest.mark.parametrize("chunks", [True, False])
@pytest.mark.parametrize("layout", ["v2", "v3", "draft-2022-05"])
def test_nodes_beneath_an_array(layout: str, chunks: bool) -> None:
    store, _ = made(layout)
    h = zarrscope.open(store, "r+")
    documents = h.dialect.write("/g/a/x", h["/g"].metadata, {"note": 1})
    for key, value in documents.items():
        store.set(key, value)
    (finding,) = found(store, chunks=chunks)
    assert (finding.severity, finding.code, finding.path) == ("error", "array-with-descendants", "/g/a")
    assert finding.key in documents


def test_names_that_differ_by_case_only() -> None:
    store, _ = made("v3")
    h = zarrscope.open(store, "r+")
    h.create_group("/g/A")
    h.create_group("/g/é")
    h.create_group("/g/e\u0301")
    assert [(f.code, f.path) for f in found(store)] == [("case-collision", "/g/a"), ("case-collision", "/g/é")]


def consolidated(dialect: str) -> MemoryStore:
    store, _ = made(dialect)
    if dialect == "v2":
        copies = {k: json.loads(store.get(k)) for k in store.list() if k.rpartition("/")[2].startswith(".z")}
        store.set(".zmetadata", json.dumps({"zarr_consolidated_format": 1, "metadata": copies}).encode())
    else:
        root = json.loads(store.get("zarr.json"))
        copies = {k: json.loads(store.get(f"{k}/zarr.json")) for k in ("g", "g/a")}
        root["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": copies}
        store.set("zarr.json", json.dumps(root).encode())
    assert isinstance(store, MemoryStore)
    return store


@pytest.mark.parametrize("dialect", ["v2", "v3"])
def test_a_stale_consolidated_copy(dialect: str) -> None:
    store = consolidated(dialect)
    assert found(store) == []
    key = "g/a/.zarray" if dialect == "v2" else "g/a/zarr.json"
    document = json.loads(store.get(key) or b"")
    document["shape"] = [8, 9]
    store.set(key, json.dumps(document).encode())
    holder, pointer = (
        (".zmetadata", "/metadata/g~1a~1.zarray")
        if dialect == "v2"
        else ("zarr.json", "/consolidated_metadata/metadata/g~1a")
    )
    assert [(f.severity, f.code, f.path, f.key, f.pointer) for f in found(store)] == [
        ("error", "copy-stale", "/g/a", holder, pointer)
    ]
    checked_alone(store, found(store))
    zarrscope.open(store, "r+", consolidated=False).create_group("/late")
    assert [(f.code, f.path) for f in found(store)][1:] == [("copy-lacks-node", "/late")]
    store.erase_prefix("g/a/")
    assert (found(store)[0].code, found(store)[0].path) == ("copy-without-node", "/g/a")


def test_a_broken_node_does_not_stop_the_rest() -> None:
    store, a = made("v3")
    h = zarrscope.open(store, "r+")
    for name in ("b", "c", "d", "e"):
        h.create_array(f"/g/{name}", shape=(4,), dtype="u2", chunks=(2,), codecs=PLAIN)[...] = 1
    store.set("g/b/zarr.json", b'{"zarr_format": 3, "node_type": "array", "shape": [-4]}')
    store.set("g/c/zarr.json", b"[" * 100_000)
    store.set("g/d/zarr.json", store.get("g/d/zarr.json").replace(b'"uint16"', b'"of-tomorrow"'))
    store.set("g/e/c/1", b"")
    h.create_group("/broken/below")
    store.set("broken/zarr.json", b'{"zarr_format": 3, "node_type": "group", "attributes": 7}')
    store.set("broken/below/zarr.json", b"\xff")
    store.erase(a.metadata.keys.key((0, 0)))
    findings = found(store)
    lacking = ["/shape/0", None, None]
    assert [f.pointer for f in findings if f.path == "/g/b"] == lacking, "a fault in one member hides none in another"
    assert [*dict.fromkeys((f.severity, f.code, f.path, f.key) for f in findings)] == [
        ("error", "bad-metadata", "/broken", "broken/zarr.json"),
        ("error", "bad-metadata", "/broken/below", "broken/below/zarr.json"),
        ("information", "chunk-missing", "/g/a", "g/a/c/0/0"),
        ("error", "bad-metadata", "/g/b", "g/b/zarr.json"),
        ("error", "bad-metadata", "/g/c", "g/c/zarr.json"),
        ("warning", "unsupported", "/g/d", "g/d/zarr.json"),
        ("error", "chunk-truncated", "/g/e", "g/e/c/1"),
    ]
    assert findings[0].pointer == "/attributes"
    checked_alone(store, findings)


def test_what_the_store_cannot_give_is_told_for_that_key_only() -> None:
    store, a = made("v3")
    bad = a.metadata.keys.key((1, 1))
    faulty = Faults(store, FaultRule(matches=lambda operation, key: key == bad))
    assert codes(found(faulty)) == {("error", "unreadable", bad)}


def test_a_grid_beyond_counting_costs_what_is_stored() -> None:
    store, _ = made("v3", PLAIN)
    document = json.loads(store.get("g/a/zarr.json"))
    document["shape"] = [2**62, 2**62]
    store.set("g/a/zarr.json", json.dumps(document).encode())
    findings = found(store)
    assert {f.severity for f in findings} == {"information"}
    assert findings[0].key == "g/a/c/0/5"
    assert len(findings) == 1001
    assert "more chunks are not stored" in findings[-1].message


def test_progress_and_cancelling() -> None:
    store = MemoryStore()
    h = zarrscope.open(store, "w-")
    h.create_array("/a", shape=(1000,), dtype="u1", chunks=(1,), codecs=[CodecSpec("bytes")])[...] = 1
    h.create_array("/b", shape=(2,), dtype="u1", chunks=(1,), codecs=[CodecSpec("bytes")])[...] = 1
    store.set("b/c/0", b"")
    seen: list[CheckProgress] = []
    assert len(found(store, progress=seen.append)) == 1
    assert [(p.path, p.done, p.total) for p in seen] == [
        ("/", 0, 0),
        ("/a", 0, 0),
        *[("/a", n, 1000) for n in (256, 512, 768, 1000)],
        ("/b", 0, 0),
        ("/b", 2, 2),
    ]
    few: list[CheckProgress] = []
    assert found(store, progress=few.append, cancelled=lambda: any(p.done >= 512 for p in few)) == []
    assert max(p.done for p in few) == 512
    assert {p.path for p in few} == {"/", "/a"}


class Notebook:
    """A journal in memory."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, int, list[Finding]]] = []

    def reached(self, path: str) -> int | None:
        return max((n for where, n, _ in self.steps if where == path), default=None)

    def reach(self, path: str, chunks: int, findings: list[Finding]) -> None:
        self.steps.append((path, chunks, findings))


def test_a_check_goes_on_where_it_was_killed() -> None:
    store = MemoryStore()
    h = zarrscope.open(store, "w-")
    for name in "ab":
        h.create_array(f"/{name}", shape=(700,), dtype="u1", chunks=(1,), codecs=[CodecSpec("bytes")])[...] = 1
    for key in ("a/c/3", "a/c/300", "a/c/699", "b/c/0"):
        store.set(key, b"")
    store.erase("a/c/5")
    whole = found(store)
    assert len(whole) == 5
    book = Notebook()
    list(check(zarrscope.open(store), resume=book))
    for stopped in range(len(book.steps) + 1):
        again = Notebook()
        again.steps = book.steps[:stopped]
        told = [f for _, _, findings in again.steps for f in findings]
        rest = list(check(zarrscope.open(store), resume=again))
        assert told + rest == whole, stopped


def test_a_path_that_is_no_node() -> None:
    store, _ = made("v3")
    with pytest.raises(zarrscope.NotFound):
        found(store, "/nowhere")
    assert found(store, "/g/a") == []


def test_the_rules_of_ome_zarr_are_checked_where_a_group_says_it_is_such() -> None:
    store, _ = made("v3")
    h = zarrscope.open(store, "r+")
    h.create_group("/anybody", {"labels": "of bottles"})
    assert found(store) == []
    h.create_group("/image", {"ome": {"version": "0.5", "multiscales": [{"axes": [], "datasets": [{"path": "9"}]}]}})
    findings = found(store)
    assert {(f.code, f.path) for f in findings} == {("ome-zarr", "/image")}
    assert "error" in {f.severity for f in findings}
    assert "/attributes/ome/multiscales/0/axes" in {f.pointer for f in findings}
    checked_alone(store, findings)


def test_a_copy_that_spells_out_the_defaults_is_not_stale() -> None:
    store = consolidated("v3")
    root = json.loads(store.get("zarr.json") or b"")
    copy = root["consolidated_metadata"]["metadata"]["g/a"]
    copy |= {"storage_transformers": [], "attributes": {}}
    copy["chunk_key_encoding"] = {"name": "default", "configuration": {"separator": "/"}}
    store.set("zarr.json", json.dumps(root).encode())
    assert found(store) == []
    copy["attributes"] = {"new": 1}
    store.set("zarr.json", json.dumps(root).encode())
    assert [(f.code, f.path) for f in found(store)] == [("copy-stale", "/g/a")]


class Unlistable(Wrapper):
    """As a plain web server."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.listable = False
        self.remote = True


@pytest.mark.parametrize("layout", ["v2", "v3 sharded", "n5"])
def test_a_store_that_cannot_list_is_asked_for_every_chunk(layout: str) -> None:
    store, a = made(layout)
    key = a.metadata.keys.key
    store.erase(key((2, 2)))
    store.erase(key((3, 0)))
    store.set(key((1, 1)), b"")
    assert [(f.severity, f.code, f.key) for f in found(Unlistable(store), "/g/a")] == [
        ("error", "shard-index" if "sharded" in layout else "chunk-truncated", key((1, 1))),
        ("information", "chunk-missing", key((2, 2))),
        ("information", "chunk-missing", key((3, 0))),
    ]


HOSTILE = [
    b"",
    b"\xff\xfe",
    b"[" * 100_000,
    b"null",
    b'{"zarr_format": 1e400, "node_type": {}, "shape": {"a": 1}}',
    b'{"attributes": {"ome": {"multiscales": 7, "plate": [null]}, "multiscales": [[]]}, "zarr_format": 2}',
    b'{"ome": [1], "multiscales": {"a": "\\ud800"}, "dimensions": [-1], "n5": 4}',
]


@pytest.mark.parametrize("layout", ["v2", "v3", "n5", "draft-2020", "draft-2022-05"])
def test_whatever_one_document_holds_the_other_nodes_are_checked(layout: str) -> None:
    store, _ = made(layout)
    h = zarrscope.open(store, "r+")
    other = h.create_array("/z", shape=(4,), dtype="u2", chunks=(2,), codecs=GZIP, attributes={"n": 1})
    other[...] = 1
    key = other.metadata.keys.key((1,))
    store.set(key, b"?")
    beneath = [k for k in store.list() if k.endswith(("json", ".zarray", ".zgroup", ".zattrs")) and "g" in k.split("/")]
    beneath += [k for k in store.list() if k.endswith((".array.json", ".group.json")) and "/g" in k]
    assert beneath
    for document in beneath:
        whole = store.get(document)
        for value in HOSTILE:
            store.set(document, value)
            findings = found(store)
            assert [f.key for f in findings if f.path == "/z"] == [key], (document, value[:40])
            checked_alone(store, findings)
        store.set(document, whole)
    assert [f.path for f in found(store)] == ["/z"]
