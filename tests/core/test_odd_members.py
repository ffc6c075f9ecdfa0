"""A malformed member of a document: an unambiguous value is accepted and reported, and errors point to its place."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from contracts.dialect import array_path
from contracts.odd_members import (
    GONE,
    WRITABLE,
    at,
    cases,
    documents,
    family,
    key_of,
    keys,
    pointers,
    with_odd,
)
from contracts.odd_members import ODD as ODD_VALUES
from narrowing import as_array, as_group
from zarrscope.check.hierarchy import check
from zarrscope.dialects import DIALECTS, Dialect
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope.stores.memory import MemoryStore
from zarrscope_app.cli import run

V3: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4],
    "data_type": "int32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    "chunk_key_encoding": {"name": "default"},
    "fill_value": 0,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    "attributes": {"x": 1},
}
V2: dict[str, Any] = {
    "zarr_format": 2,
    "shape": [4, 4],
    "chunks": [2, 2],
    "dtype": "<i4",
    "compressor": None,
    "fill_value": 0,
    "order": "C",
    "filters": None,
}
PLAIN_INDEX = {
    "name": "sharding_indexed",
    "configuration": {
        "chunk_shape": [1],
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "index_codecs": [{"name": "bytes"}, {"name": "crc32c"}],
    },
}
ODD: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "a fraction as fill value": (V3, {"fill_value": 0.0}, True),
    "no list of storage transformers": (V3, {"storage_transformers": None}, True),
    "an index without endian": (V3, {"codecs": [PLAIN_INDEX]}, False),
    "the format as text": (V3, {"zarr_format": "3"}, True),
    "the format as text, v2": (V2, {"zarr_format": "2"}, True),
    "a fraction as fill value, v2": (V2, {"fill_value": 0.0}, False),
}


def stored(root: Path, document: dict[str, Any]) -> str:
    """The key of the array's document in a hierarchy with only that array."""
    root.mkdir()
    (root / "a").mkdir()
    if "node_type" in document:
        (root / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
        (root / "a/zarr.json").write_text(json.dumps(document, indent=1))
        return "a/zarr.json"
    (root / ".zgroup").write_text('{"zarr_format": 2}')
    (root / "a/.zattrs").write_text('{"x": 1}')
    (root / "a/.zarray").write_text(json.dumps(document, indent=1))
    return "a/.zarray"


def faults_of(dialect: Dialect, pointer: str, odd: Any, store: MemoryStore) -> Iterator[str]:
    """The broken promises of an array whose document has one malformed member."""
    path, key = array_path(dialect), key_of(dialect)
    at_key, holder = dialect.attributes_at(path, "array")
    seen = pointer != holder or at_key != key  # its attributes are not the malformed member
    hierarchy = zarrscope.open(store, "r+")
    if path != "/":
        above = hierarchy[path.rpartition("/")[0]]
        assert isinstance(above, zarrscope.Group)
        listed = {child.name: child for child in above.children()}
        if "a" not in listed or listed["a"].kind != "array":
            yield f"is listed as {listed}"
    node = hierarchy[path]
    if not isinstance(node, zarrscope.Array):
        yield "is no array"
        return
    problem = node.problem
    if path != "/" and node.metadata.defects and listed["a"].metadata is not None and listed["a"].error is None:
        yield "is listed without what is wrong"
    if seen and dict(node.attributes) != {"x": 1}:
        yield f"has the attributes {dict(node.attributes)}"
    _ = repr(node), node._repr_html_(), node.shape, node.chunks, node.nbytes
    try:
        node[...]
        if problem is not None:
            yield "is read although it has a problem"
    except zarrscope.ZarrscopeError as error:
        if problem is None and not isinstance(error, zarrscope.Refused):
            yield f"has no problem, and is not read: {error}"
        elif problem is not None and (error.message, error.pointer) != (problem.message, problem.pointer):
            yield f"has the problem {problem}, and reading says {error}"
        elif problem is not None and (error.store != store.url or store.get(error.key or "") is None):
            yield f"has a problem in no document: {error.store} {error.key}"
        elif problem is not None and not has(json.loads(store.get(error.key or "") or b""), error.pointer or ""):
            yield f"has a problem at {error.pointer}, which is not there"
    findings = [each for each in check(zarrscope.open(store)) if each.severity == "error" or not node.metadata.defects]
    if problem is not None and (problem.key, problem.pointer or "") not in {
        (each.key, each.pointer or "") for each in findings
    }:
        yield f"has the problem {problem}, and check says {findings}"
    before = (store.get(at_key) or b"").decode()
    demands = [each for each in node.metadata.extensions if each.passable and each.required and not each.understood]
    try:
        node.attrs["x"] = 2
    except zarrscope.ReadOnly:
        if not demands:
            yield "is read-only"
    except zarrscope.ZarrscopeError as error:
        if seen:
            yield f"takes no attribute: {error}"
    else:
        after = (store.get(at_key) or b"").decode()
        if seen and (after != before.replace('"x": 1', '"x": 2') or after == before):
            yield f"is saved as {after}"
        if zarrscope.open(store)[path].attributes["x"] != 2:
            yield "does not show what was saved"


def has(value: Any, pointer: str) -> bool:
    try:
        at(value, pointer)
    except (KeyError, IndexError, ValueError, TypeError):
        return False
    return True


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_no_odd_member_closes_a_node_in_any_dialect(dialect: Dialect) -> None:
    tried, failed = 0, []
    for pointer, odd, store in cases(dialect):
        if odd is GONE and (dialect.name, pointer) in MAKES_IT_ONE:
            continue
        tried += 1
        try:
            failed += [f"{pointer} = {odd!r}: {fault}" for fault in faults_of(dialect, pointer, odd, store)]
        except Exception as error:
            failed.append(f"{pointer} = {odd!r}: {type(error).__name__}: {error}")
    assert tried > 150
    assert not failed, f"{len(failed)} of {tried}:\n" + "\n".join(failed[:40])


MAKES_IT_ONE = {("n5", f"/{name}") for name in ("dimensions", "blockSize", "dataType")} | {("v1", "/zarr_format")}
"""Members without which the document is not recognised as that of an array."""


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_what_is_odd_is_told_by_ls_tree_info_and_check(
    dialect: Dialect, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = array_path(dialect)
    above = path.rpartition("/")[0] or "/"
    for i, (pointer, odd, memory) in enumerate(cases(dialect)):
        if odd != [None] or pointer.count("/") > 1 or pointer.startswith(("/attributes", "/x")):
            continue
        root = tmp_path / str(i)
        for key in memory.list():
            (root / key).parent.mkdir(parents=True, exist_ok=True)
            (root / key).write_bytes(memory.get(key) or b"")
        opened = zarrscope.open(root)[path]
        problem = opened.problem
        if problem is None:
            continue
        listed = int("shape" in as_array(opened).metadata.unread)  # a listing that lacks a shape ends with 1
        place = f"at {problem.pointer} in {problem.key}"
        for verb, node in (("ls", above), ("tree", "/"), ("info", path)):
            assert run([verb, str(root), node]) == (listed if verb != "info" else 0)
            assert place in capsys.readouterr().out, (verb, pointer)
            assert run([verb, str(root), node, "--json"]) == (listed if verb != "info" else 0)
            assert f"at {problem.pointer}" in capsys.readouterr().out, (verb, pointer)
        assert run(["check", str(root)]) == 1
        assert str(problem.pointer) in capsys.readouterr().out
        assert run(["attrs", str(root), path]) == 0
        assert '"x": 1' in capsys.readouterr().out
        assert run(["attrs", "set", str(root), path, "x", "2"]) == 0
        assert zarrscope.open(root)[path].attributes["x"] == 2


@pytest.mark.parametrize("at_root", [False, True], ids=["beneath", "root"])
@pytest.mark.parametrize("case", ODD)
def test_an_odd_member_closes_no_node(case: str, at_root: bool, tmp_path: Path) -> None:
    document, odd, told = ODD[case]
    root = tmp_path / "x"
    key = stored(root, document | odd)
    before = (root / key).read_text()
    place = root / "a" if at_root else root
    path = "/" if at_root else "/a"
    hierarchy = zarrscope.open(place, "r+")
    node = hierarchy[path]
    assert isinstance(node, zarrscope.Array)
    assert dict(node.attributes) == {"x": 1}
    assert (node[...] == 0).all()
    assert bool(node.warnings) == told, node.warnings
    edited = hierarchy.document(path).set_text(attributes_pointer(hierarchy, path) + "/x", "2")
    hierarchy.save(path, edited)
    assert zarrscope.open(place)[path].attributes["x"] == 2
    after = json.loads((root / key).read_text())
    assert {name: value for name, value in after.items() if name != "attributes"} == {
        name: value for name, value in json.loads(before).items() if name != "attributes"
    }, "what is odd stays as it is until somebody mends it"
    findings = [each for each in check(zarrscope.open(place)) if each.code in ("metadata", "schema")]
    assert all((place / str(each.key)).exists() for each in findings)
    assert bool([each for each in findings if each.code == "metadata"]) == told


def test_a_fill_value_that_is_no_whole_number_stays_refused(tmp_path: Path) -> None:
    stored(tmp_path / "x", V3 | {"fill_value": 1.5})
    with pytest.raises(zarrscope.BadMetadata) as caught:
        as_array(zarrscope.open(tmp_path / "x")["a"])[...]
    assert caught.value.pointer == "/fill_value"
    assert caught.value.key == "a/zarr.json"


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown filter": ({"filters": [{"id": "delta", "dtype": "<i4"}, {"id": "nope"}]}, "/filters/1"),
    "an unknown compressor": ({"compressor": {"id": "nope"}}, "/compressor"),
    "a setting of the compressor": ({"compressor": {"id": "blosc", "clevel": "x"}}, "/compressor/clevel"),
    "a compressor after order F": ({"order": "F", "compressor": {"id": "blosc", "clevel": "x"}}, "/compressor/clevel"),
    "a setting of a filter": ({"filters": [{"id": "delta", "dtype": 5}]}, "/filters/0/dtype"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_faults_of_v2_point_into_its_own_document(case: str, tmp_path: Path) -> None:
    odd, pointer = FAULTS[case]
    key = stored(tmp_path / "x", V2 | odd)
    node = zarrscope.open(tmp_path / "x")["a"]
    assert isinstance(node, zarrscope.Array)
    assert node.problem is not None
    assert (node.problem.key, node.problem.pointer) == (key, pointer)
    document = zarrscope.open(tmp_path / "x").store.get(key)
    value = json.loads(document or b"")
    for token in pointer.split("/")[1:]:
        value = value[int(token)] if isinstance(value, list) else value[token]
    (finding,) = [
        each for each in check(zarrscope.open(tmp_path / "x")) if each.code in ("unsupported", "bad-metadata")
    ]
    assert (finding.key, finding.pointer) == (key, pointer)


ZLIB = "https://purl.org/zarr/spec/codec/zlib/1.0"
DEEP = {"codec": ZLIB, "configuration": {"level": 99}}
TRANSFORMER = {
    "extension": "https://purl.org/zarr/spec/storage_transformers/sharding/1.0",
    "type": "indexed",
    "configuration": {"chunks_per_shard": [2, 2]},
}
PLACES: list[tuple[str, dict[str, Any], str]] = [
    ("n5", {"compression": {"type": "nope"}}, "/compression"),
    ("n5", {"compression": {"type": "blosc", "cname": "nope", "clevel": 5, "shuffle": 1}}, "/compression/cname"),
    ("n5", {"compression": {"type": "blosc", "cname": "lz4", "clevel": "x", "shuffle": 1}}, "/compression/clevel"),
    ("n5", {"compression": None, "compressionType": "nope"}, "/compressionType"),
    ("v1", {"compression": "nope"}, "/compression"),
    ("v1", {"compression": "zlib", "compression_opts": 99}, "/compression_opts"),
    ("v1", {"compression": "blosc", "compression_opts": {"clevel": "x"}}, "/compression_opts/clevel"),
    ("v1", {"order": "F", "compression": "nope"}, "/compression"),
    ("draft-2019-05", {"chunk_codecs": [{"codec": ZLIB, "level": 99}]}, "/chunk_codecs/0/level"),
    ("draft-2019-05", {"chunk_codecs": [{"codec": ZLIB}, {"codec": "http://nope"}]}, "/chunk_codecs/1"),
    (
        "draft-2019-06",
        {"compressor": {"codec": ZLIB, "configuration": {"level": 99}}},
        "/compressor/configuration/level",
    ),
    ("draft-2020", {"compressor": DEEP}, "/compressor/configuration/level"),
    ("draft-2020", {"compressor": {"codec": "http://nope"}, "chunk_memory_layout": "F"}, "/compressor"),
    ("draft-2020", {"attributes": {"filters": [{"id": "delta", "dtype": 5}]}}, "/attributes/filters/0/dtype"),
    ("draft-2022-05", {"codecs": [{"type": ZLIB}, {"type": "http://nope"}]}, "/codecs/1"),
    (
        "draft-2022-05",
        {"codecs": [{"type": ZLIB, "configuration": {"level": 99}}], "storage_transformers": [TRANSFORMER]},
        "/codecs/0/configuration/level",
    ),
]


@pytest.mark.parametrize(("name", "changes", "pointer"), PLACES)
def test_faults_of_other_dialects_point_into_their_own_documents(
    name: str, changes: dict[str, Any], pointer: str
) -> None:
    dialect = next(each for each in DIALECTS if each.name == name)
    held = documents(dialect)
    held[key_of(dialect)] |= changes
    store = MemoryStore()
    for key, value in held.items():
        store.set(key, json.dumps(value).encode())
    node = zarrscope.open(store)[array_path(dialect)]
    assert isinstance(node, zarrscope.Array)
    assert node.problem is not None
    assert (node.problem.key, node.problem.pointer) == (key_of(dialect), pointer)
    assert has(held[key_of(dialect)], pointer)
    with pytest.raises(type(node.problem)) as caught:
        node[...]
    assert caught.value.pointer == pointer
    assert (key_of(dialect), pointer) in {(each.key, each.pointer) for each in check(zarrscope.open(store))}


def test_null_attributes_stay_null_until_a_field_is_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "x"
    key = stored(root, V3 | {"attributes": None})
    before = (root / key).read_bytes()
    hierarchy = zarrscope.open(root, "r+")
    assert dict(hierarchy["a"].attributes) == {}
    hierarchy.save("a", hierarchy.document("a"))
    assert (root / key).read_bytes() == before
    array = hierarchy["a"]
    assert isinstance(array, zarrscope.Array)
    array.resize((6,))
    assert json.loads((root / key).read_text())["attributes"] is None
    hierarchy.consolidate()
    assert json.loads((root / key).read_text())["attributes"] is None
    assert run(["attrs", "unset", str(root), "a", "x"]) == 3
    assert json.loads((root / key).read_text())["attributes"] is None
    assert run(["attrs", "set", str(root), "a", "x", "2"]) == 0
    assert json.loads((root / key).read_text())["attributes"] == {"x": 2}


# ---------------------------------------------------------------------------------------- groups, attributes, roots
@pytest.mark.parametrize("path", ["/g", "/g/a"])
@pytest.mark.parametrize("dialect", WRITABLE, ids=lambda dialect: dialect.name)
def test_attributes_that_are_no_object_close_no_node(dialect: Dialect, path: str) -> None:
    kind: Any = "array" if path == "/g/a" else "group"
    key, holder = dialect.attributes_at(path, kind)
    if not holder and key in dialect.documents(path, kind)[:1]:
        return  # the document itself holds the attributes beside the format's own members: N5
    odd: Any
    for odd in ([1], "x", 5, True, [{}]):
        store = family(dialect)
        text = json.loads(store.get(key) or b"")
        store.set(key, json.dumps({**text, holder[1:]: odd} if holder else odd).encode())
        h = zarrscope.open(store, "r+")
        node = h[path]
        assert node.kind == kind
        with pytest.raises(zarrscope.BadMetadata):
            dict(node.attributes)
        assert node.problem is not None
        assert (node.problem.key, node.problem.pointer or "") == (key, holder)
        assert [each.key for each in check(h) if each.severity == "error"] == [key]
        if kind == "group":
            assert [child.name for child in as_group(h["/"]).children()] == ["g"]
            assert [child.name for child in as_group(node).names()] == ["a"]
            assert as_array(h["/g/a"])[...].tolist() == [3] * 4
        before = keys(store)
        with pytest.raises(zarrscope.BadMetadata, match="not a JSON object") as caught:
            node.attrs["y"] = 2
        assert caught.value.key == key
        assert keys(store) == before
        h.save(path, h.document(path).set(attributes_pointer(h, path), {"y": 2}))
        assert {each for each, value in keys(store).items() if before.get(each) != value} == {key}
        mended = zarrscope.open(store)[path]
        assert (mended.problem, dict(mended.attributes)) == (None, {"y": 2})


@pytest.mark.parametrize("dialect", WRITABLE, ids=lambda dialect: dialect.name)
def test_one_odd_member_at_the_root_or_of_a_group_is_an_error_that_names_it(dialect: Dialect) -> None:
    whole = keys(family(dialect))
    tried = 0
    for key in sorted(each for each in whole if not each.startswith("data/") and b"{" in whole[each][:1]):
        document = json.loads(whole[key])
        own = "g/a" in key
        for pointer in [] if own else pointers(document):
            for odd in ODD_VALUES:
                changed = with_odd(document, pointer, odd)
                store = MemoryStore()
                for each, value in {**whole, key: json.dumps(changed).encode()}.items():
                    store.set(each, value)
                tried += 1
                with contextlib.suppress(zarrscope.ZarrscopeError):  # and no other error
                    h = zarrscope.open(store, "r+")
                    for path in ("/", "/g", "/g/a"):
                        with contextlib.suppress(zarrscope.NotFound):
                            node = h[path]
                            _ = repr(node), node._repr_html_(), dict(node.attributes)
                            if node.problem is not None and node.problem.pointer:
                                assert has(changed, node.problem.pointer) or node.problem.key != key
                    list(check(zarrscope.open(store)))
    assert tried >= 27


def test_an_error_counts_a_single_dimension_in_the_singular(tmp_path: Path) -> None:
    grid = {"name": "regular", "configuration": {"chunk_shape": [2, 2]}}
    stored(tmp_path / "odd.zarr", {**V3, "chunk_grid": grid})
    problem = str(zarrscope.open(tmp_path / "odd.zarr")["/a"].problem)
    assert "chunk_shape has 2 entries, the array has 1 dimension" in problem
    assert "1 dimensions" not in problem
