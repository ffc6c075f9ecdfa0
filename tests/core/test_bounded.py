"""Reading and parsing are bounded: the work grows with the stored bytes, not with the sizes that a document states."""

from __future__ import annotations

import difflib
import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from narrowing import as_array, as_group
from zarrscope import convert
from zarrscope.check import hierarchy as verify
from zarrscope.check.diff import NodeDifference, diff
from zarrscope.codecs import limits
from zarrscope.dialects import writing
from zarrscope.errors import TooLarge
from zarrscope.jsondoc import document, nonstandard
from zarrscope.jsondoc import members as jsonmembers
from zarrscope.jsondoc import parse as jsontext
from zarrscope.jsondoc import spans as jsonplaces
from zarrscope.jsondoc.grammar import MAX_DEPTH
from zarrscope.jsondoc.parse import parse_json
from zarrscope.model.storage import ABSENT
from zarrscope.nodes import move as moving
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.wrappers import Counting, FaultRule, Faults, Wrapper
from zarrscope_app.cli import run
from zarrscope_app.presenters.form.line_diff import changed_lines

HUGE = 4 << 30


def peak(act: Callable[[], Any]) -> int:
    """The peak of memory while `act` runs."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def hollow(path: Path, size: int = HUGE) -> None:
    """A sparse file of that size, which takes no space on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        os.truncate(file.fileno(), size)


# ---------------------------------------------------------------------------------------------- documents
@pytest.mark.parametrize("name", ["zarr.json", ".zmetadata", ".zarray", ".zgroup", "attributes.json", "meta"])
def test_a_hollow_document_is_not_read(tmp_path: Path, name: str) -> None:
    hollow(tmp_path / name)

    def act() -> None:
        with pytest.raises(TooLarge, match="ZARRSCOPE_DOCUMENT_LIMIT") as caught:
            zarrscope.open(tmp_path)
        assert caught.value.size == HUGE
        assert caught.value.key == name

    assert peak(act) < 10 << 20


def test_a_hollow_document_does_not_hide_its_neighbours(tmp_path: Path) -> None:
    h = zarrscope.open(tmp_path, "w-")
    h.create_group("/good")
    h.create_group("/bad")
    hollow(tmp_path / "bad" / "zarr.json")

    def act() -> None:
        found = {child.name: child for child in as_group(h["/"]).children()}
        assert found["good"].kind == "group"
        assert isinstance(found["bad"].error, TooLarge)
        findings = verify.check(h)
        assert [each.code for each in findings if each.severity == "error"] == ["too-large"]

    assert peak(act) < 20 << 20


def test_how_much_of_a_document_is_read_can_be_said(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {"note": "x" * 1000}}).encode()
    values = {"zarr.json": text, "a/zarr.json": text}
    h = zarrscope.open(MemoryStore(values), document_limit=100)
    with pytest.raises(TooLarge, match="limit of 100 bytes"):
        h["/a"]
    assert zarrscope.open(MemoryStore(values), document_limit=len(text))["/a"].attributes["note"]
    monkeypatch.setenv("ZARRSCOPE_DOCUMENT_LIMIT", "100")
    with pytest.raises(TooLarge):
        zarrscope.open(MemoryStore(values))["/a"]


def test_a_larger_limit_lets_a_larger_document_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsontext, "_raised", 0)  # pytest also restores the value that opening sets
    text = json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {"note": "x" * (17 << 20)}}).encode()
    values = {"zarr.json": b'{"zarr_format": 3, "node_type": "group"}', "a/zarr.json": text}
    with pytest.raises(TooLarge):
        zarrscope.open(MemoryStore(values))["/a"]
    assert zarrscope.open(MemoryStore(values), document_limit=len(text))["/a"].attributes["note"]


@pytest.mark.parametrize("inside", ["[" * 600 + "]" * 600, '{"a":' * 513 + "0" + "}" * 513])
def test_depth_is_found_in_long_documents_as_in_short_ones(inside: str) -> None:
    for filler in ("", "[1],{}," * 50_000):
        with pytest.raises(zarrscope.BadMetadata, match=f"More than {MAX_DEPTH}"):
            parse_json(f"[{filler}{inside}]".encode())
    flat = "[" + ",".join(['"[[[[]"', "[[]]"] * 40_000) + "]"
    assert len(parse_json(flat.encode())) == 80_000


def seconds(act: Callable[[], Any]) -> float:
    """The smallest processor time of a few runs."""
    found = []
    for _ in range(3):
        start = time.process_time()
        act()
        found.append(time.process_time() - start)
    return min(found)


@pytest.mark.parametrize("small", ["[]", "NaN", '"ab"', '{"a":1,"a":2}'])
def test_an_edit_beside_a_long_value_parses_it_a_few_times(
    tmp_path: Path, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    h = zarrscope.open(tmp_path, "w-")
    h.create_array("/a", shape=(4,), dtype="u1", attributes={"x": "PLACE"})
    path = tmp_path / "a" / "zarr.json"
    path.write_text(path.read_text().replace('"PLACE"', f"[{','.join([small] * 40_000)}]"))
    parsed: list[int] = []
    parse = jsontext.parse_text

    def counted(text: str, notes: list[str]) -> Any:
        parsed.append(len(text))
        return parse(text, notes)

    monkeypatch.setattr(jsontext, "parse_text", counted)
    made = 0
    span = jsonplaces.JsonSpan.__init__

    def making(self: Any, *given: Any, **more: Any) -> None:
        nonlocal made
        made += 1
        span(self, *given, **more)

    monkeypatch.setattr(jsonplaces.JsonSpan, "__init__", making)
    for more in (["--dry-run"], []):
        parsed.clear()
        assert run(["attrs", "set", str(tmp_path), "/a", "/y", "1", *more]) == 0
        assert 1 <= sum(size > 80_000 for size in parsed) <= 3
    parsed.clear()
    assert run(["attrs", "unset", str(tmp_path), "/a", "/y"]) == 0
    assert 1 <= sum(size > 80_000 for size in parsed) <= 3
    assert made < 5_000 or small in ("NaN", '{"a":1,"a":2}'), "places are found where the pointer leads"
    assert len(zarrscope.open(tmp_path)["/a"].warnings) < 200


@pytest.mark.parametrize("text", ['"a":1,', '"b%d":NaN,', '"b%d":1e400,'])
def test_what_is_not_standard_is_counted_in_linear_time(text: str) -> None:
    def documents(count: int) -> list[document.Document]:
        inside = "".join(text % n if "%" in text else text for n in range(count))
        return [document.Document(f'{{{inside}"z":{end}}}'.encode()) for end in (0, 1)]

    few, many = documents(2_000), documents(20_000)

    def act(pair: list[document.Document]) -> None:
        for each in pair:
            each.__dict__.pop("oddities", None)
        assert nonstandard.brought_in(*pair) == ()

    assert seconds(lambda: act(many)) < 40 * seconds(lambda: act(few)) + 0.05


def test_the_lines_of_an_edit_are_compared_where_they_differ() -> None:
    before = "\n".join(f"line {n % 7}" for n in range(200_000))
    after = before.replace("line 3\nline 4", "line 3\nnew\nline 4", 20_000).replace("new\n", "", 10_000)
    assert sum(1 for _ in changed_lines(before, after, "a", "b")) > 100_000
    assert [*changed_lines(before, before, "a", "b")] == []
    changed = before[:500_000] + "x" + before[500_000:]
    lines = [*changed_lines(before, changed, "a", "b")]
    assert len(lines) == 2 + 1 + 8
    assert lines[2].startswith("@@ -71426,7 +71426,7 @@")
    one, other = "a\nb\nc\nd\ne\nf\ng", "a\nb\nc\nd\nX\nf\ng\nh"
    expected = difflib.unified_diff(one.splitlines(), other.splitlines(), "a", "b", lineterm="")
    assert [*changed_lines(one, other, "a", "b")] == [*expected]


# ---------------------------------------------------------------------------------------------- chunks
CODECS: dict[str, list[Any]] = {
    "raw": ["bytes"],
    "gzip": ["bytes", {"name": "gzip", "configuration": {"level": 1}}],
    "zstd": ["bytes", {"name": "zstd", "configuration": {"level": 0, "checksum": False}}, "crc32c"],
}


class Distant(Wrapper):
    """A store in this process that counts as remote."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.remote = True


@pytest.mark.parametrize("distant", [False, True], ids=["near", "far"])
@pytest.mark.parametrize("codecs", CODECS)
def test_a_hollow_chunk_is_not_read(tmp_path: Path, codecs: str, distant: bool) -> None:
    h = zarrscope.open(tmp_path, "w-")
    made = h.create_array("/a", shape=(40, 40), dtype="u1", chunks=(20, 20), codecs=CODECS[codecs])
    made[...] = 7
    hollow(tmp_path / "a" / "c" / "1" / "1")
    h = zarrscope.open(Distant(h.store)) if distant else h
    array = h["/a"]

    def act() -> None:
        assert (as_array(array)[:20] == 7).all()
        with pytest.raises(zarrscope.ZarrscopeError):
            as_array(array)[20:]
        with pytest.raises(zarrscope.ZarrscopeError):
            as_array(array).read_chunk((1, 1))
        errors = [each for each in verify.check(h) if each.severity == "error"]
        assert [(each.code, each.key) for each in errors] == [("chunk-size", "a/c/1/1")]
        if not distant:
            with pytest.raises(zarrscope.ZarrscopeError):
                as_array(array)[39, 39] = 1

    assert peak(act) < 20 << 20


@pytest.mark.parametrize("distant", [False, True], ids=["near", "far"])
def test_a_shard_that_claims_a_huge_chunk_is_not_read(tmp_path: Path, distant: bool) -> None:
    h = zarrscope.open(tmp_path, "w-")
    made = h.create_array("/a", shape=(8, 8), dtype="u1", chunks=(4, 4), shards=(8, 8), codecs=CODECS["gzip"])
    made[...] = 7
    path = tmp_path / "a" / "c" / "0" / "0"
    index = path.read_bytes()[-(4 * 16 + 4) :]
    entries = bytearray(index[:-4])
    entries[8:16] = (3 << 30).to_bytes(8, "little")
    from zarrscope.codecs.compress import crc32c

    with open(path, "r+b") as file:
        file.truncate(HUGE)
        file.seek(0, os.SEEK_END)
        file.write(bytes(entries) + crc32c(entries).to_bytes(4, "little"))
    h = zarrscope.open(Distant(h.store)) if distant else h
    array = h["/a"]

    def act() -> None:
        assert (as_array(array)[4:, 4:] == 7).all()
        with pytest.raises(zarrscope.BadChunk, match="encodes to"):
            as_array(array)[:4, :4]
        errors = [each for each in verify.check(h) if each.severity == "error"]
        assert errors
        assert {each.key for each in errors} == {"a/c/0/0"}

    assert peak(act) < 20 << 20


def test_the_limit_of_a_chunk_costs_no_request(tmp_path: Path) -> None:
    h = zarrscope.open(tmp_path, "w-")
    h.create_array("/a", shape=(40, 40), dtype="u1", chunks=(20, 20))[...] = 7
    counting = Counting(h.store)
    array = as_array(zarrscope.open(Distant(counting))["/a"])
    counting.reset()
    assert (array[...] == 7).all()
    assert counting.requests == {"get": 4}


def objects(codec: str, count: int, value: bytes) -> zarrscope.Array:
    """An array whose only chunk holds objects."""
    form: dict[str, Any] = {
        "zarr_format": 2, "shape": [count], "chunks": [count], "dtype": "|O", "fill_value": None, "order": "C",
        "compressor": None, "filters": [{"id": codec, **({"dtype": "<f8"} if codec == "vlen-array" else {})}],
    }  # fmt: skip
    array = zarrscope.open(MemoryStore({".zarray": json.dumps(form).encode(), "0": value}))["/"]
    assert isinstance(array, zarrscope.Array)
    return array


def lengths(items: list[bytes]) -> bytes:
    head = len(items).to_bytes(4, "little")
    return head + b"".join(len(item).to_bytes(4, "little") + item for item in items)


MANY_OBJECTS: dict[str, tuple[str, int, bytes]] = {
    "empty texts": ("vlen-utf8", 300_000, lengths([b""] * 300_000)),
    "short texts": ("vlen-utf8", 60_000, lengths([b"ab"] * 60_000)),
    "short bytes": ("vlen-bytes", 60_000, lengths([b"ab"] * 60_000)),
    "wide text": ("vlen-utf8", 2, lengths([b"a" * 500_000 + "🙂".encode()] * 2)),
    "empty arrays": ("vlen-array", 40_000, lengths([b""] * 40_000)),
    "lists of JSON": ("json2", 2, b"[[1],[" + b"[]," * 60_000 + b'[]],"|O",[2]]'),
    "objects of JSON": ("json2", 2, b"[[1],[" + b'{"a":{}},' * 20_000 + b'[]],"|O",[2]]'),
    "lists of msgpack": ("msgpack2", 2, b"\x94\x01\xdd\x00\x02\x00\x00" + b"\x91\x90" * 131072 + b"\xa2|O\x91\x02"),
    "maps of msgpack": ("msgpack2", 2, b"\x94\x01\xdd\x00\x00\x80\x00" + b"\x81\xa0\x80" * 32768 + b"\xa2|O\x91\x02"),
}


@pytest.mark.parametrize("name", MANY_OBJECTS)
def test_objects_that_take_too_much_are_not_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    codec, count, value = MANY_OBJECTS[name]
    whole = objects(codec, count, value)[...]
    assert len(whole) == count, "with the usual limit"
    monkeypatch.setattr(limits, "MAX_CHUNK_BYTES", 3 << 20)
    array = objects(codec, count, value)

    def act() -> None:
        with pytest.raises(zarrscope.BadChunk, match="the objects in this chunk would take more than") as caught:
            array[...]
        assert caught.value.codec
        assert "ZARRSCOPE_CHUNK_LIMIT=" in str(caught.value)

    act()
    assert peak(act) < 8 << 20


def test_the_advice_for_a_large_chunk_can_be_followed(tmp_path: Path) -> None:
    """Chunks beyond the limit are refused with the variable to set; with it, a new process reads them."""
    zarrscope.open(tmp_path, "w-").create_array("/a", shape=(9,), dtype="u1", chunks=(9,))[...] = 7
    code = f"import zarrscope; print(zarrscope.open({str(tmp_path)!r})['/a'][...].sum())"

    def act(limit: int) -> str:
        environ = {**os.environ, limits.VARIABLE: str(limit)}
        ended = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False)
        return ended.stdout + ended.stderr

    told = act(8)
    assert "ZARRSCOPE_CHUNK_LIMIT=9" in told, told
    assert "key 'a/zarr.json'" in told, told
    assert act(9) == "63\n"


@pytest.mark.parametrize("codec", ["vlen-utf8", "vlen-bytes", "vlen-array", "json2", "msgpack2"])
def test_objects_that_fit_are_read_below_the_limit(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"json2": b'["a",["b"],"|O",[2]]', "msgpack2": b"\x94\xa1a\x91\xa1b\xa2|O\x91\x02"}.get(
        codec, lengths([b"a" * 8, b""])
    )
    monkeypatch.setattr(limits, "MAX_CHUNK_BYTES", 1000)
    assert len(objects(codec, 2, value)[...]) == 2


# ---------------------------------------------------------------------------------------------- consolidated copies
def consolidated(dialect: str, nodes: int) -> MemoryStore:
    """A hierarchy of `nodes` arrays with consolidated metadata."""
    store = MemoryStore()
    h = zarrscope.open(store, "w-", dialect=dialect)
    h.create_array("/a0", shape=(10, 10), dtype="u1", attributes={"x": 1, "note": "é"})
    documents = {key: store.get(key) for key in h.dialect.documents("/a0")}
    for i in range(1, nodes):
        for key, value in documents.items():
            if value is not None:
                store.set(key.replace("a0", f"a{i}"), value)
    h.consolidate()
    return store


class Parsed:
    """Counts the characters that JSON parsers examine."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.characters = 0
        self._watch(monkeypatch, jsontext, "parse_text")
        self._watch(monkeypatch, jsonplaces, "_read_at")
        self._watch(monkeypatch, jsonplaces, "scan")
        self._watch(monkeypatch, jsonmembers, "_skip")

    def _watch(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        parse = getattr(module, name)

        def counted(text: str, at: Any = 0) -> Any:
            found = parse(text, at) if name != "scan" else parse(text)
            self.characters += found[1] - at if name in ("_read_at", "_skip") else len(text)
            return found

        monkeypatch.setattr(module, name, counted)


@pytest.mark.parametrize("dialect", ["v2", "v3", "draft-2020"])
def test_a_consolidated_copy_is_gone_over_twice_for_one_edit(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = consolidated(dialect, 300)
    size = max(len(store.get(key) or b"") for key in store.list())
    parsed = Parsed(monkeypatch)
    h = zarrscope.open(store, "r+")
    assert h["/a7"].attributes["x"] == 1
    assert parsed.characters < 1.2 * size, "opening"
    document = h.document("/a7").set(attributes_pointer(h, "/a7") + "/x", 2)
    h.save("/a7", document)
    assert parsed.characters < 2.4 * size, "opening and saving"
    for n in range(5):
        before = parsed.characters
        document = h.document("/a8").set(attributes_pointer(h, "/a8") + "/x", n)
        h.save("/a8", document)
        assert parsed.characters - before < 2.4 * size, "saving again"
    again = zarrscope.open(store)
    assert not again.warnings
    assert [each.code for each in verify.check(again) if each.severity != "information"] == []
    assert again._nodes.consolidated_metadata is not None
    found = {
        path: again._nodes.parsed(path, again._nodes.consolidated_metadata.documents) for path in ("/a7", "/a8", "/a9")
    }
    assert [node and node.attributes["x"] for node in found.values()] == [2, 4, 1]


@pytest.mark.parametrize("dialect", ["v2", "v3", "draft-2020"])
@pytest.mark.parametrize("act", ["create", "erase", "erase the last", "move", "resize", "erase all"])
def test_what_changes_nodes_leaves_all_else_of_a_copy_as_it_is(dialect: str, act: str) -> None:
    store = consolidated(dialect, 12)
    h = zarrscope.open(store, "r+")
    holder = max(store.list(), key=lambda key: len(store.get(key) or b""))
    before = (store.get(holder) or b"").decode().splitlines()
    if act == "create":
        h.create_array("/new", shape=(3,), dtype="u1", attributes={"y": [1, 2]})
    elif act == "erase":
        h.erase("/a5")
    elif act == "erase the last":
        h.erase("/a9")
    elif act == "move":
        moving.move(h, "/a3", "/b3")
    elif act == "resize":
        array = h["/a2"]
        assert isinstance(array, zarrscope.Array)
        array.resize((5, 5))
    else:
        for i in range(12):
            h.erase(f"/a{i}")
    assert [each for each in verify.check(zarrscope.open(store)) if each.severity != "information"] == []
    after = (store.get(holder) or b"").decode().splitlines()
    added = [line for line in difflib.ndiff(before, after) if line[0] in "+-"]
    assert added
    assert len(added) < (600 if act == "erase all" else 110 if act == "move" else 60)
    if act == "create":  # as the members beside it are
        assert {line[2:].lstrip(" ")[:1] for line in added} <= {'"', "{", "}", "[", "]", "1", "2", "3", "0", "n", "f"}


# ---------------------------------------------------------------------------------------------- sparse arrays
SIDE = 10_000_000


def sparse(store: Any, **more: Any) -> zarrscope.Hierarchy:
    """An array of 10¹² chunks, of which three are stored."""
    h = zarrscope.open(store, "w-")
    array = h.create_array("/a", shape=(SIDE, SIDE), dtype="u2", chunks=(10, 10), **more)
    for i, place in enumerate([(55, 55), (SIDE // 2, 3), (SIDE - 1, SIDE - 1)]):
        array[place] = i + 1
    return h


class Listed(Counting):
    """Counts keys, and fails if more are requested than the few stored ones."""

    def before(self, operation: str, key: str) -> None:
        super().before(operation, key)
        assert sum(self.requests.values()) < 2000, "work grows with what could be stored"


@pytest.mark.parametrize("lists", [True, False], ids=["lists", "cannot list"])
def test_a_sparse_array_shrinks(lists: bool) -> None:
    store = MemoryStore()
    sparse(store)
    before = store.get("a/zarr.json")
    listed = Listed(store)
    listed.listable = lists
    array = zarrscope.open(listed, "r+")["/a"]
    assert isinstance(array, zarrscope.Array)
    if not lists:
        with pytest.raises(zarrscope.Refused, match="cannot list"):
            array.resize((100, SIDE))
        assert store.get("a/zarr.json") == before
        return
    log: list[Any] = []
    tried = zarrscope.open(listed, "r+").dry_run(log)["/a"]
    assert isinstance(tried, zarrscope.Array)
    tried.resize((100, SIDE))
    assert sum(each.act == "erase" for each in log) == 2
    array.resize((100, SIDE))
    assert sorted(store.list()) == ["a/c/5/5", "a/zarr.json", "zarr.json"]
    array.resize((SIDE, SIDE))
    assert array[55, 55] == 1
    assert array[SIDE // 2, 3] == 0


def test_an_array_with_chunks_of_length_0_does_not_grow() -> None:
    store = MemoryStore()
    zarrscope.open(store, "w-").create_array("/a", shape=(0, 4), chunks=(1, 2), dtype="u1")
    form = json.loads(store.get("a/zarr.json") or b"")
    form["chunk_grid"]["configuration"]["chunk_shape"] = [0, 2]
    store.set("a/zarr.json", json.dumps(form).encode())
    before = store.get("a/zarr.json")
    array = zarrscope.open_array(store, "/a", "r+")
    with pytest.raises(zarrscope.Refused, match="length 0"):
        array.resize((4, 4))
    assert store.get("a/zarr.json") == before
    array.resize((0, 2))
    assert array.shape == (0, 2)


def test_a_resize_that_can_erase_nothing_changes_nothing() -> None:
    store = MemoryStore()
    h = zarrscope.open(store, "w-")
    h.create_array("/a", shape=(40,), dtype="u1", chunks=(10,))[...] = 1
    values = {key: store.get(key) for key in store.list()}
    fault = FaultRule(matches=lambda operation, key: operation == "erase")
    array = zarrscope.open(Faults(store, fault), "r+")["/a"]
    assert isinstance(array, zarrscope.Array)
    with pytest.raises(zarrscope.Unreadable):
        array.resize((10,))
    assert {key: store.get(key) for key in store.list()} == values
    assert array.shape == (40,)
    assert array[39] == 1


@pytest.mark.parametrize("how", ["copied", "encoded", "sharded", "pyramid"])
def test_a_sparse_array_is_converted(how: str) -> None:
    source, target = MemoryStore(), MemoryStore()
    sparse(source)
    options: dict[str, Any] = {"encoded": {"chunks": (20, 5)}, "sharded": {"chunks": (10, 10), "shards": (40, 40)}}
    h = zarrscope.open(Listed(source))
    if how == "pyramid":
        pyramid = convert.Pyramid(levels=3, axes=("y", "x"), method="nearest")
        plan = convert.plan(h, Listed(target), "v3", path="/a", pyramid=pyramid)
    else:
        plan = convert.plan(h, Listed(target), "v2" if how == "copied" else "v3", **options.get(how, {}))
    result = convert.run(plan)
    assert result.verified
    found = zarrscope.open(Listed(target))
    array = found["/0" if how == "pyramid" else "/a"]
    assert isinstance(array, zarrscope.Array)
    assert [int(array[at]) for at in ((55, 55), (SIDE // 2, 3), (SIDE - 1, SIDE - 1), (0, 0))] == [1, 2, 3, 0]
    assert result.copied + result.encoded + result.blank == plan.chunks
    if how == "pyramid":
        assert as_array(found["/2"])[SIDE // 8, 0] == 0
        assert as_array(found["/1"]).shape == (SIDE // 2, SIDE // 2)
    else:
        assert list(diff(zarrscope.open(Listed(source)), found, values=True)) in ([], [chunked(array)])


def chunked(array: zarrscope.Array) -> NodeDifference:
    return NodeDifference("/a", "chunk grid", [10, 10], list(array.metadata.grid.chunk_shape))


def test_sparse_arrays_are_compared() -> None:
    left, right = MemoryStore(), MemoryStore()
    sparse(left)
    h = sparse(right)
    assert list(diff(zarrscope.open(Listed(left)), zarrscope.open(Listed(right)), values=True)) == []
    as_array(h["/a"])[777, 777:779] = 5
    (found,) = diff(zarrscope.open(Listed(left)), zarrscope.open(Listed(right)), values=True)
    assert (found.what, found.index, found.count) == ("values", (777, 777), 2)


def test_sparse_arrays_of_other_fill_values_differ_everywhere_else() -> None:
    left, right = MemoryStore(), MemoryStore()
    sparse(left)
    sparse(right, fill_value=7)
    found = {each.what: each for each in diff(zarrscope.open(Listed(left)), zarrscope.open(Listed(right)), values=True)}
    values = found["values"]
    assert (values.index, values.left, values.right) == ((0, 0), 0, 7)
    assert values.count == SIDE * SIDE - 3


def test_a_sparse_array_is_checked() -> None:
    store = MemoryStore()
    sparse(store)
    store.set("a/c/7/7", b"broken")
    findings = list(verify.check(zarrscope.open(Listed(store))))
    assert [each.key for each in findings if each.severity == "error"] == ["a/c/7/7"]
    assert len(findings) < 1100


# ---------------------------------------------------------------------------------------------- shards
def test_a_shard_of_very_many_inner_chunks_is_checked_by_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is read a few times, not once for every thousand chunks."""
    from zarrscope.check import chunks as stored

    monkeypatch.setattr(stored, "MANY", 1000)
    store = MemoryStore()
    h = zarrscope.open(store, "w-")
    array = h.create_array("/a", shape=(190, 200), dtype="u1", chunks=(2, 2), shards=(200, 200), codecs=CODECS["gzip"])
    array[:50] = 1
    counting = Counting(store)
    findings = list(verify.check(zarrscope.open(counting)))
    assert [(each.code, each.severity) for each in findings] == [("chunks-missing", "information")]
    assert findings[0].message.startswith(f"{95 * 100 - 25 * 100:,} inner chunks")
    assert counting.keys["get", "a/c/0/0"] < 50
    value = bytearray(store.get("a/c/0/0") or b"")
    value[0:2000] = b"\0" * 2000
    store.set("a/c/0/0", bytes(value))
    errors = [each for each in verify.check(zarrscope.open(store)) if each.severity == "error"]
    assert 10 < len(errors) < 1002
    value[-4:] = b"abcd"
    store.set("a/c/0/0", bytes(value))
    errors = [each for each in verify.check(zarrscope.open(store)) if each.severity == "error"]
    assert [each.code for each in errors] == ["shard-index"]


# ---------------------------------------------------------------------------------------------- images
def described(kind: str, count: int) -> dict[str, Any]:
    """OME-Zarr metadata with `count` items of this kind."""
    scale = [{"type": "scale", "scale": [1, 1]}]
    axes = [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    datasets = [{"path": f"n{n}", "coordinateTransformations": scale} for n in range(count)]
    if kind == "datasets":
        return {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}
    if kind == "multiscales":
        return {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets[:1]}] * count}
    side = int(count**0.5)
    names = [{"name": f"r{n}"} for n in range(side)]
    wells = [{"path": f"r{n}/r{m}", "rowIndex": n, "columnIndex": m} for n in range(side) for m in range(side)]
    return {"version": "0.5", "plate": {"version": "0.5", "name": "p", "rows": names, "columns": names, "wells": wells}}


def imaged(place: Path, kind: str, count: int) -> None:
    place.mkdir(exist_ok=True)
    whole = {"zarr_format": 3, "node_type": "group", "attributes": {"ome": described(kind, count)}}
    (place / "zarr.json").write_text(json.dumps(whole))


class Looked:
    """Counts calls of Python functions, which measure work better than the clock of a busy machine."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.calls = 0
        sys.setprofile(self._count)
        try:
            act()
        finally:
            sys.setprofile(None)

    def _count(self, frame: Any, event: str, given: Any) -> None:
        self.calls += 1


@pytest.mark.parametrize("kind", ["wells", "datasets", "multiscales"])
@pytest.mark.parametrize("verb", ["info", "tree", "check"])
def test_work_on_images_and_plates_is_linear(kind: str, verb: str, tmp_path: Path) -> None:
    def act(count: int) -> Callable[[], Any]:
        place = tmp_path / str(count)
        imaged(place, kind, count)
        return lambda: run([verb, str(place)])

    few, many = act(250), act(2_500)
    few()  # imports the modules, which must not be counted
    assert Looked(many).calls < 15 * Looked(few).calls + 1_000


def test_names_are_compared_in_linear_time() -> None:
    import zarrscope.ome.validate as ome_check

    few, many = ({"ome": described("wells", count)} for count in (2_500, 25_000))
    assert ome_check.check(many) == ome_check.check(few)
    assert seconds(lambda: ome_check.check(many)) < 25 * seconds(lambda: ome_check.check(few)) + 0.05
    twice = described("wells", 100)
    twice["plate"]["wells"] += [{"path": ["a"]}, {"path": ["a"]}]
    assert any("once only" in each.message for each in ome_check.check({"ome": twice}))


def test_the_document_of_an_image_is_parsed_once_for_all_levels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imaged(tmp_path, "datasets", 1_000)
    parsed = Parsed(monkeypatch)
    assert run(["info", str(tmp_path)]) == 0
    assert parsed.characters < 4 * (tmp_path / "zarr.json").stat().st_size


# ---------------------------------------------------------------------------------------------- conversions
@pytest.mark.parametrize("small", ["[]", "1e400", '{"a":NaN}', "1.5"])
def test_a_long_attribute_is_planned_in_few_passes(small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each document of the source is parsed once, and the number of written characters is the length of the
    attribute."""
    text = f'{{"x": [{",".join([small] * 20_000)}]}}'
    form = '{"zarr_format": 1, "shape": [4], "chunks": [4], "dtype": "|u1", "compression": null, "fill_value": 0}'
    (tmp_path / "meta").write_text(form)
    (tmp_path / "attrs").write_text(text)
    h = zarrscope.open(tmp_path)
    parsed = Parsed(monkeypatch)
    monkeypatch.setattr(writing, "INDENTED", 1000)
    plan = convert.plan(h, MemoryStore(), "v3")
    (node,) = plan.nodes
    written = node.documents["zarr.json"]
    assert parsed.characters < 1.5 * len(text) + 1.5 * len(written)
    assert len(written) < len(text) + 1000 or small != "1.5"
    lost = [loss.what for loss in plan.losses]
    assert len(lost) == (small in ("1e400", '{"a":NaN}'))
    assert all("(/x/" in each and each.count("/x/") == 5 for each in lost)
    value = json.loads(written)["attributes"]["x"]
    assert len(value) == 20_000
    assert value[7] == {"1e400": "Infinity", '{"a":NaN}': {"a": "NaN"}}.get(small, json.loads(small))


@pytest.mark.parametrize("inside", ["[" * 499 + "0" + "]" * 499, '{"a":' * 505 + "NaN" + "}" * 505])
def test_what_is_nested_deeply_is_planned_or_refused(inside: str, tmp_path: Path) -> None:
    (tmp_path / "zarr.json").write_text(f'{{"zarr_format": 3, "node_type": "group", "attributes": {{"x": {inside}}}}}')
    h = zarrscope.open(tmp_path)
    if "NaN" in inside:
        with pytest.raises(zarrscope.BadMetadata, match="deeper"):
            convert.plan(h, MemoryStore(), "v2")
    else:
        assert not convert.plan(h, MemoryStore(), "v2").losses


def test_what_cannot_be_printed_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    h = zarrscope.open(tmp_path, "w-")
    h.create_array("/a", shape=(1 << 40,) * 2, dtype="u1", chunks=(1, 1))
    looked = Looked(lambda: run(["read", str(tmp_path), "/a", "--select", "0:65536,0:65536"]))
    assert "4,294,967,296 values" in capsys.readouterr().err
    assert looked.calls < 100_000


# ---------------------------------------------------------------------------------------------- comparing
def test_a_file_that_somebody_made_huge_is_compared_by_its_size(tmp_path: Path) -> None:
    store = LocalStore(tmp_path, sync=False)
    version = store.set("a", b"first")
    hollow(tmp_path / "a", 1 << 40)  # reading it would take longer than a test may

    def act() -> None:
        with pytest.raises(zarrscope.Conflict):
            store.set("a", b"ours", expect=version)
        with pytest.raises(zarrscope.Conflict):
            store.set("a", b"ours", expect=ABSENT)

    assert peak(act) < 300 << 20
    assert (tmp_path / "a").stat().st_size == 1 << 40


def test_a_long_value_is_compared_piece_by_piece(tmp_path: Path) -> None:
    store = LocalStore(tmp_path, sync=False)
    size = 40 << 20
    version = store.set("a", bytes(size))

    def act() -> None:
        with pytest.raises(zarrscope.Conflict):
            store.set("b", b"ours", expect=version)
        store.set("a", b"ours", expect=version)

    assert peak(act) < 10 << 20
    assert store.get("a") == b"ours"
    with pytest.raises(zarrscope.Conflict):
        store.set("a", b"later", expect=version)
