"""The extensions (ZEP 9) that a hierarchy reports for a node below a group that declares extensions."""

from __future__ import annotations

import json
from typing import Any

import pytest

import zarrscope
from narrowing import as_array
from zarrscope.stores.memory import MemoryStore

URI = "https://example.com/zarr/"


def group(*items: Any) -> bytes:
    form = {"zarr_format": 3, "node_type": "group", "attributes": {}}
    return json.dumps(form | ({"extensions": [*items]} if items else {})).encode()


def test_a_child_shows_what_the_groups_above_it_declare() -> None:
    store = MemoryStore()
    note = {"name": URI + "note", "configuration": {"a": 1}, "must_understand": False}
    ref = {"name": URI + "note-ref", "configuration": {"reference": "../.."}, "must_understand": False}
    store.set("zarr.json", group(note))
    store.set("g/zarr.json", group())
    store.set("g/h/zarr.json", group(ref))
    found = zarrscope.open(store).extensions("/g/h")
    assert [(each.report.name, each.origin, each.form) for each in found] == [
        (URI + "note-ref", "/g/h", "reference"),
        (URI + "note", "/", "above"),
    ]
    assert found[0].target == "/"
    assert [report.configuration["a"] for report in found[0].resolved] == [1]


def test_a_group_that_demands_what_is_unknown_opens_but_does_not_list() -> None:
    store = MemoryStore()
    store.set("zarr.json", group({"name": URI + "offset", "configuration": {"offset": [1]}}))
    store.set("g/zarr.json", group())
    root = zarrscope.open(store)["/"]
    assert isinstance(root, zarrscope.Group)
    assert root.problem is not None
    with pytest.raises(zarrscope.ZarrscopeError) as caught:
        next(iter(root.children()))
    assert (caught.value.key, caught.value.pointer) == ("zarr.json", "/extensions/0")
    lenient = zarrscope.open(store, "r+", lenient=True)
    assert not lenient.writable
    opened = lenient["/"]
    assert isinstance(opened, zarrscope.Group)
    assert [child.name for child in opened.children()] == ["g"]
    assert opened.warnings


def test_nothing_is_written_to_a_node_that_demands_the_unknown() -> None:
    store = MemoryStore()
    store.set("zarr.json", group())
    store.set("a/zarr.json", group({"name": URI + "offset"}))
    store.set("a/b/zarr.json", group())
    stored = {key: store.get(key) for key in store.list()}
    h = zarrscope.open(store, "r+")
    changed = h.document("/a").set("/attributes/new", 1)
    for change in (
        lambda: h.create_group("/a/c"),
        lambda: h.create_array("/a/c", shape=(2,), dtype="u1"),
        lambda: h.erase("/a"),
        lambda: h.save("/a", changed),
    ):
        with pytest.raises(zarrscope.ReadOnly) as caught:
            change()
        assert (caught.value.key, caught.value.pointer) == ("a/zarr.json", "/extensions/0")
    assert {key: store.get(key) for key in store.list()} == stored
    h.create_group("/beside")


def test_nothing_is_written_beneath_a_group_that_demands_the_unknown() -> None:
    store = MemoryStore()
    h = zarrscope.open(store, "w-")
    h.create_array("/a/b/c", shape=(4,), dtype="u1", chunks=(2,))[...] = 1
    h.create_array("/beside", shape=(4,), dtype="u1")
    before = h["/a/b/c"]
    assert isinstance(before, zarrscope.Array)
    store.set("a/zarr.json", group({"name": URI + "offset"}))
    stored = {key: store.get(key) for key in store.list()}
    h = zarrscope.open(store, "r+")
    array, beside = h["/a/b/c"], h["/beside"]
    assert isinstance(array, zarrscope.Array)
    assert isinstance(beside, zarrscope.Array)
    assert array[...].tolist() == [1, 1, 1, 1]
    acts: dict[str, Any] = {
        "values": lambda: array.__setitem__(slice(0, 1), 7),
        "resize": lambda: array.resize((2,)),
        "save": lambda: h.save("/a/b/c", h.document("/a/b/c").set("/attributes/new", 1)),
        "erase an array": lambda: h.erase("/a/b/c"),
        "erase a group": lambda: h.erase("/a/b"),
        "create": lambda: h.create_array("/a/b/d", shape=(2,), dtype="u1"),
    }
    for name, act in acts.items():
        with pytest.raises(zarrscope.ReadOnly, match="offset") as caught:
            act()
        assert (caught.value.key, caught.value.pointer) == ("a/zarr.json", "/extensions/0"), name
    assert {key: store.get(key) for key in store.list()} == stored
    beside[...] = 3
    h.erase("/beside")


@pytest.mark.parametrize("dialect", ["draft-2019-06", "draft-2020", "draft-2022-05"])
def test_nothing_is_written_where_the_whole_hierarchy_demands_the_unknown(dialect: str) -> None:
    store = MemoryStore()
    h = zarrscope.open(store, "w-", dialect=dialect)
    h.create_array("/g/a", shape=(4,), dtype="u1", chunks=(2,))[...] = 1
    for path in ("/", "/g"):
        store.erase(h.dialect.documents(path, "group")[0])
    bootstrap = json.loads(store.get("zarr.json") or b"")
    bootstrap["extensions"] = [{"extension": URI + "x", "must_understand": True}]
    store.set("zarr.json", json.dumps(bootstrap).encode())
    stored = {key: store.get(key) for key in store.list()}
    h = zarrscope.open(store, "r+")
    for act in (
        lambda: h.create_group("/new"),
        lambda: h.create_group("/g/new"),
        lambda: h.erase("/g"),
        lambda: h.erase("/g/a"),
        lambda: as_array(h["/g/a"]).resize((2,)),
    ):
        with pytest.raises((zarrscope.ReadOnly, zarrscope.Unsupported)) as caught:
            act()
        assert (caught.value.key, caught.value.pointer) == ("zarr.json", "/extensions/0")
    with pytest.raises(zarrscope.Unsupported) as unsupported:
        as_array(h["/g/a"])[...]
    assert (unsupported.value.key, unsupported.value.pointer) == ("zarr.json", "/extensions/0")
    assert {key: store.get(key) for key in store.list()} == stored


@pytest.mark.parametrize("dialect", ["draft-2019-05", "draft-2019-06", "draft-2020", "draft-2022-05"])
def test_names_that_differ_in_case_only_are_refused_where_the_draft_says_so(dialect: str) -> None:
    store = MemoryStore()
    h = zarrscope.open(store, "w-", dialect=dialect)
    h.create_group("/g/Cells")
    if "2019" not in dialect:
        h.create_group("/g/cells")
        return
    with pytest.raises(zarrscope.Refused, match="Cells"):
        h.create_array("/g/cells", shape=(2,), dtype="u1")
    h.create_group("/cells")
    assert "/g/cells" not in h


def test_the_consolidated_copy_of_2020_is_kept_in_step() -> None:
    store = MemoryStore()
    h = zarrscope.open(store, "w-", dialect="draft-2020")
    h.create_group("/g", {"a": 1})
    documents = {key: json.loads(store.get(key) or b"") for key in store.list() if key.startswith("meta/")}
    whole = {"zarr_consolidated_format": 1, "metadata": documents}
    store.set("meta/root/consolidated/.zmetadata", json.dumps(whole).encode())
    h = zarrscope.open(store, "r+")
    assert h.consolidated
    h.save("/g", h.document("/g").set("/attributes/a", 2))
    h.create_group("/h")
    h.erase("/h")
    copies = json.loads(store.get("meta/root/consolidated/.zmetadata") or b"")["metadata"]
    assert copies["meta/root/g.group.json"]["attributes"] == {"a": 2}
    assert copies.keys() == documents.keys()


def test_the_nameless_root_of_xtensor_is_read() -> None:
    store = MemoryStore()
    zarrscope.open(store, "w-", dialect="draft-2020").create_array("/x", shape=(4,), dtype="u1", chunks=(4,))[...] = 7
    moved = store.get("meta/root/x.array.json") or b""
    for key in ("meta/root/x.array.json", "meta/root.group.json"):
        store.erase(key)
    store.set("meta/root/.array.json", moved)
    store.set("data/root/c0", store.get("data/root/x/c0") or b"")
    store.erase("data/root/x/c0")
    array = zarrscope.open(store, "r+")["/"]
    assert isinstance(array, zarrscope.Array)
    assert array[...].tolist() == [7, 7, 7, 7]
    assert "xtensor" in " ".join(array.warnings)
    with pytest.raises(zarrscope.ZarrscopeError):
        zarrscope.open(store, "r+").save("/", zarrscope.open(store, "r+").document("/").set("/attributes", {}))
    assert "meta/root.array.json" not in set(store.list())


def test_an_array_tells_of_its_codecs_too() -> None:
    store = MemoryStore()
    form = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [4],
        "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 0,
        "codecs": [
            {"name": "numcodecs.delta", "configuration": {"dtype": "<u2"}},
            {"name": "bytes", "configuration": {"endian": "little"}},
            {"name": URI + "squeeze", "must_understand": False},
            {"name": URI + "mystery"},
        ],
    }
    store.set("zarr.json", json.dumps(form).encode())
    array = zarrscope.open(store)["/"]
    assert isinstance(array, zarrscope.Array)
    assert [(r.name, r.outcome.value, r.required) for r in array.extensions if r.point == "codec"] == [
        (URI + "squeeze", "ignored", False),
        ("numcodecs.delta", "used", True),
        (URI + "mystery", "refused", True),
    ]
    assert "mystery" in str(array.problem)


@pytest.mark.parametrize("remote", [False, True])
def test_the_group_that_zarr_python_2_makes_for_its_copies_is_not_shown(remote: bool) -> None:
    store = MemoryStore()
    h = zarrscope.open(store, "w-", dialect="draft-2020")
    h.create_group("/g/consolidated")
    h.create_group("/consolidated")
    documents = {key: json.loads(store.get(key) or b"") for key in store.list() if key.startswith("meta/")}
    store.set("meta/root/consolidated/.zmetadata", json.dumps({"metadata": documents}).encode())
    store.remote = remote
    h = zarrscope.open(store, "r+")
    assert h.consolidated
    root = h["/"]
    assert isinstance(root, zarrscope.Group)
    assert [child.name for child in root.children()] == ["g"]
    assert [path for path, _ in h.walk()] == ["/g", "/g/consolidated"]
    assert h["/consolidated"].kind == "group"
    h.create_array("/consolidated/mine", shape=(2,), dtype="u1")
    assert sorted(child.name for child in root.children()) == ["consolidated", "g"]
    assert "/consolidated/mine" in [path for path, _ in h.walk()]


@pytest.mark.parametrize("lenient", [False, True])
def test_documents_in_an_unknown_encoding_are_told_by_their_keys_and_nothing_is_written(lenient: bool) -> None:
    store = MemoryStore()
    encoding = {"extension": URI + "cbor", "type": "cbor", "metadata_key_suffix": ".cbor"}
    bootstrap = {"zarr_format": "https://purl.org/zarr/spec/core/3.0", "metadata_encoding": encoding, "extensions": []}
    store.set("zarr.json", json.dumps(bootstrap).encode())
    store.set("meta/g.group.cbor", b"\xa0")
    store.set("meta/g/a.array.cbor", b"\xa0")
    store.set("meta/x/y/b.array.cbor", b"\xa0")
    stored = {key: store.get(key) for key in store.list()}
    h = zarrscope.open(store, "r+", lenient=lenient)
    found = [(path, child.kind) for path, child in h.walk()]
    assert found == [("/g", "group"), ("/g/a", "array"), ("/x", "group"), ("/x/y", "group"), ("/x/y/b", "array")]
    root = h["/"]
    assert isinstance(root, zarrscope.Group)
    assert {child.name: child.kind for child in root.names()} == {"g": "group", "x": "group"}
    if lenient:
        assert {child.name for child in root.children()} == {"g", "x"}
    else:
        with pytest.raises(zarrscope.Unsupported, match="cbor"):
            next(root.children())
    with pytest.raises(zarrscope.Unsupported, match="cbor") as caught:
        h["/g/a"]
    assert caught.value.key == "meta/g/a.array.cbor"
    for act in (lambda: h.create_group("/new"), lambda: h.erase("/g")):
        with pytest.raises(zarrscope.ReadOnly):
            act()
    assert {key: store.get(key) for key in store.list()} == stored
