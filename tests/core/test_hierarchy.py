"""Hierarchies: what can be opened, in how many requests, errors for missing nodes, and edits that lose nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from narrowing import as_array, as_group
from zarrscope.nodes.array import Array
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope.nodes.hierarchy import Group, Hierarchy
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import Counting, FaultRule, Faults

DIALECTS = ["v3", "v2"]


def example(dialect: str = "v3") -> MemoryStore:
    store = MemoryStore()
    hierarchy = zarrscope.open(store, "w-", dialect=dialect)
    hierarchy.create_group("/g", {"who": "g"})
    hierarchy.create_array("/g/a", shape=(4, 4), dtype="uint8", chunks=(2, 2), attributes={"who": "a"})[...] = 1
    hierarchy.create_array("/g/b", shape=(4,), dtype="uint8")
    hierarchy.create_group("/g/deep/er")
    return store


def consolidate(store: Store, dialect: str) -> None:
    documents = {
        key: json.loads(store.get(key) or b"")
        for key in store.list()
        if key.endswith(("json", ".zarray", ".zgroup", ".zattrs"))
    }
    if dialect == "v2":
        whole = {"zarr_consolidated_format": 1, "metadata": documents}
        store.set(".zmetadata", json.dumps(whole, indent=4).encode())
        return
    root = documents.pop("zarr.json")
    root["consolidated_metadata"] = {
        "kind": "inline",
        "must_understand": False,
        "metadata": {key.removesuffix("/zarr.json"): value for key, value in documents.items()},
    }
    store.set("zarr.json", json.dumps(root, indent=2).encode())


def kinds(group: Any) -> dict[str, Any]:
    return {child.name: child.kind for child in group.children()}


class Unlistable(Counting):
    """A store on a web server that cannot list."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.listable = False
        self.remote = True


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_created_is_found_again(dialect: str) -> None:
    hierarchy = zarrscope.open(example(dialect))
    assert hierarchy.dialect.name == dialect
    assert isinstance(hierarchy.root, Group)
    assert kinds(hierarchy.root) == {"g": "group"}
    assert kinds(hierarchy["/g"]) == {"a": "array", "b": "array", "deep": "group"}
    assert hierarchy["g/"].attributes == {"who": "g"}
    assert hierarchy["g"]["a"].attributes == {"who": "a"}
    assert hierarchy["/g/a"].name == "a"
    assert hierarchy["/"].name == ""
    assert kinds(hierarchy["/g/deep/er"]) == {}
    assert "/g/a" in hierarchy
    assert "/g/x" not in hierarchy


@pytest.mark.parametrize("dialect", DIALECTS)
def test_opening_costs_the_probes_and_a_node_one_round_trip(dialect: str) -> None:
    store = Counting(example(dialect))
    hierarchy = zarrscope.open(store)
    probes = store.requests["get"]
    assert probes == 6
    assert store.requests.total() == probes
    _ = hierarchy.root
    assert store.requests.total() == probes  # the root's documents were among the probes
    store.reset()
    _ = hierarchy["/g/a"]
    assert store.requests == {"get": len(hierarchy.dialect.documents("/g/a"))}
    store.reset()
    assert len(kinds(hierarchy["/g"])) == 3
    per_node = len(hierarchy.dialect.documents("/g"))
    assert store.requests == {"list_dir": 1, "get": per_node + 3 * len(hierarchy.dialect.outline("/g"))}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_consolidated_metadata_answers_without_further_requests(dialect: str) -> None:
    memory = example(dialect)
    consolidate(memory, dialect)
    store = Unlistable(memory)
    hierarchy = zarrscope.open(store)
    assert hierarchy.consolidated
    store.reset()
    assert kinds(hierarchy.root) == {"g": "group"}
    assert kinds(hierarchy["/g"]) == {"a": "array", "b": "array", "deep": "group"}
    assert hierarchy["/g/a"].attributes == {"who": "a"}
    assert store.requests.total() == 0
    assert not zarrscope.open(store, consolidated=False).consolidated


@pytest.mark.parametrize("dialect", DIALECTS)
def test_where_listing_is_free_a_stale_copy_does_not_hide_what_is_there(dialect: str) -> None:
    memory = example(dialect)
    consolidate(memory, dialect)
    zarrscope.open(memory, "r+", consolidated=False).create_group("/g/new", {"since": "then"})
    zarrscope.open(memory, "r+", consolidated=False).erase("/g/b")
    hierarchy = zarrscope.open(memory)
    assert kinds(hierarchy["/g"]) == {"a": "array", "deep": "group", "new": "group"}
    assert hierarchy["/g/new"].attributes == {"since": "then"}


def test_without_listing_ome_metadata_tells_of_children() -> None:
    memory = MemoryStore()
    hierarchy = zarrscope.open(memory, "w-")
    multiscales = [{"axes": [], "datasets": [{"path": "0"}, {"path": "1"}, {"path": "../../outside"}]}]
    hierarchy.create_group("/image", {"ome": {"version": "0.5", "multiscales": multiscales}})
    for level in "01":
        hierarchy.create_array(f"/image/{level}", shape=(4,), dtype="uint8")
    hierarchy.create_group("/image/labels", {"ome": {"labels": ["cells"]}})
    hierarchy.create_group("/image/labels/cells")
    plate = {"ome": {"plate": {"wells": [{"path": "A/1"}, {"path": "B/2"}]}}}
    hierarchy.create_group("/plate", plate)
    for well in ("A/1", "B/2"):
        hierarchy.create_group(f"/plate/{well}", {"ome": {"well": {"images": [{"path": "0"}]}}})
        hierarchy.create_group(f"/plate/{well}/0")
    found = zarrscope.open(Unlistable(memory))
    assert kinds(found["/image"]) == {"0": "array", "1": "array", "labels": "group"}
    assert kinds(found["/image/labels"]) == {"cells": "group"}
    assert kinds(found["/plate"]) == {"A": "group", "B": "group"}
    assert kinds(found["/plate/A"]) == {"1": "group"}
    assert kinds(found["/plate/B/2"]) == {"0": "group"}
    with pytest.raises(zarrscope.Unsupported, match="cannot list"):
        kinds(found.root)


def test_children_stream_while_they_are_listed() -> None:
    store = MemoryStore()
    hierarchy = zarrscope.open(store, "w-")
    for i in range(200):
        hierarchy.create_group(f"/g{i}")
    counting = Counting(store)
    root = zarrscope.open(counting).root
    assert isinstance(root, Group)
    counting.reset()
    children = root.children()
    next(children)
    assert counting.requests["get"] <= 64
    assert len(list(children)) == 199
    assert list(root.children(cancelled=lambda: True)) == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_broken_child_comes_with_its_error_and_the_others_without(dialect: str) -> None:
    store = example(dialect)
    key = "g/a/zarr.json" if dialect == "v3" else "g/a/.zarray"
    store.set(key, (store.get(key) or b"").replace(b'"shape"', b'"shapes"'))
    hierarchy = zarrscope.open(store)
    children = {child.name: child for child in as_group(hierarchy["/g"]).children()}
    assert children["a"].kind == "array"
    assert isinstance(children["a"].error, zarrscope.BadMetadata)
    assert children["b"].error is None
    with pytest.raises(zarrscope.BadMetadata) as caught:
        as_array(hierarchy["/g/a"])[...]
    assert caught.value.key == key
    assert caught.value.store == store.url
    broken = Faults(store, FaultRule(matches=lambda operation, key: key.startswith("g/b/")))
    failing = {child.name: child for child in as_group(zarrscope.open(broken)["/g"]).children()}
    assert isinstance(failing["b"].error, zarrscope.Unreadable)


# ---------------------------------------------------------------------- nothing there
def test_where_no_node_is_the_error_says_what_is_there() -> None:
    hierarchy = zarrscope.open(example())
    with pytest.raises(zarrscope.NotFound, match=r"/g holds a, b, deep.*") as caught:
        hierarchy["/g/A"]
    assert caught.value.key == "g/A/zarr.json"
    with pytest.raises(zarrscope.NotFound, match="is an array"):
        hierarchy["/g/a/0/1"]
    with pytest.raises(zarrscope.NotFound, match=r"Did you mean /g/deep"):
        hierarchy["/g/depe"]
    with pytest.raises(zarrscope.Refused):
        hierarchy["/g/../.."]


def test_what_is_no_hierarchy_says_which_keys_were_looked_for(tmp_path: Path) -> None:
    with pytest.raises(zarrscope.NotFound, match=r"zarr\.json.*\.zgroup.*empty"):
        zarrscope.open(MemoryStore())
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(zarrscope.NotFound, match=r"zarr\.json.*notes\.txt"):
        zarrscope.open(tmp_path)
    with pytest.raises(zarrscope.NotFound):
        zarrscope.open(tmp_path / "missing")
    with pytest.raises(zarrscope.Refused, match="mode"):
        zarrscope.open(MemoryStore(), "w")  # type: ignore[arg-type]  # refused when run, too


def test_a_place_inside_a_hierarchy_is_told_apart(tmp_path: Path) -> None:
    hierarchy = zarrscope.open(tmp_path / "x.zarr", "w-")
    hierarchy.create_array("/a", shape=(4,), dtype="uint8")[...] = 1
    assert isinstance(zarrscope.open(tmp_path / "x.zarr" / "a").root, Array)
    with pytest.raises(zarrscope.NotFound, match=r"inside .*x\.zarr/a"):
        zarrscope.open(tmp_path / "x.zarr" / "a" / "c")


def test_a_folder_of_hierarchies_opens_and_says_so(tmp_path: Path) -> None:
    for name, dialect in (("three", "v3"), ("two", "v2")):
        made = zarrscope.open(tmp_path / "below" / f"{name}.zarr", "w-", dialect=dialect)
        made.create_array("/a", shape=(2,), dtype="uint8", attributes={"n": name})
    folder = zarrscope.open(tmp_path, "r+")
    assert folder.recognition is not None
    assert kinds(folder.root) == {"below": "group"}
    assert kinds(folder["/below"]) == {"three.zarr": "group", "two.zarr": "group"}
    assert folder["/below/two.zarr/a"].attributes == {"n": "two"}
    assert folder["/below/three.zarr/a"].attributes == {"n": "three"}
    for name in ("two", "three"):
        path = f"/below/{name}.zarr/a"
        document = folder.document(path)
        folder.save(path, document.set(attributes_pointer(folder, path) + "/n", "new"))
        assert folder[path].attributes == {"n": "new"}
    with pytest.raises(zarrscope.Refused):
        folder.create_group("/x")


def test_a_group_without_a_document_is_found_through_what_lies_beneath() -> None:
    store = example("v2")
    store.erase("g/.zgroup")
    store.erase("g/.zattrs")
    hierarchy = zarrscope.open(store)
    group = hierarchy["/g"]
    assert isinstance(group, Group)
    assert group.warnings
    assert group.metadata.implicit
    assert kinds(group) == {"a": "array", "b": "array", "deep": "group"}
    assert kinds(hierarchy.root) == {"g": "group"}


# ---------------------------------------------------------------------- creating
@pytest.mark.parametrize("dialect", DIALECTS)
def test_creating_over_something_is_a_conflict_and_beneath_an_array_refused(dialect: str) -> None:
    store = example(dialect)
    hierarchy = zarrscope.open(store, "r+")
    before = {key: store.get(key) for key in store.list()}
    with pytest.raises(zarrscope.Conflict, match="a group"):
        hierarchy.create_array("/g", shape=(1,), dtype="uint8")
    with pytest.raises(zarrscope.Conflict, match="an array"):
        hierarchy.create_group("/g/a")
    with pytest.raises(zarrscope.Refused, match="array"):
        hierarchy.create_group("/g/a/below")
    with pytest.raises(zarrscope.Refused):
        hierarchy.create_group("/g/...")
    with pytest.raises(zarrscope.Refused, match="multiple"):
        hierarchy.create_array("/s", shape=(8,), dtype="uint8", chunks=(3,), shards=(8,))
    with pytest.raises(zarrscope.Refused, match="fill value"):
        hierarchy.create_array("/s", shape=(8,), dtype="uint8", fill_value="many")
    with pytest.raises(zarrscope.Conflict):
        zarrscope.open(store, "w-")
    assert {key: store.get(key) for key in store.list()} == before
    assert zarrscope.open(store, "a")["/g"].attributes == {"who": "g"}


def test_reading_only_writes_nothing() -> None:
    store = example()
    before = {key: store.get(key) for key in store.list()}
    hierarchy = zarrscope.open(store)
    assert not hierarchy.writable
    document = hierarchy.document("/g")
    for act in (
        lambda: hierarchy.create_group("/x"),
        lambda: hierarchy.erase("/g"),
        lambda: hierarchy.save("/g", document.set("/attributes/who", "x")),
    ):
        with pytest.raises(zarrscope.ReadOnly, match=r"r\+"):
            act()
    assert {key: store.get(key) for key in store.list()} == before


def test_every_default_of_a_new_array_can_be_read_by_zarr_python(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    import numpy as np

    for dialect in DIALECTS:
        hierarchy = zarrscope.open(tmp_path / dialect, "w-", dialect=dialect)
        data = np.arange(300 * 400, dtype=">u2").reshape(300, 400)
        array = hierarchy.create_array("/g/a", shape=data.shape, dtype=data.dtype, attributes={"unit": "µm"})
        array[...] = data
        theirs = zarr.open(str(tmp_path / dialect), mode="r")["g/a"]
        assert np.array_equal(theirs[...], data)
        assert dict(theirs.attrs) == {"unit": "µm"}
    sharded = zarrscope.open(tmp_path / "v3", "r+")
    made = sharded.create_array("/s", shape=(64, 64), dtype="float32", chunks=(8, 8), shards=(32, 32), fill_value=-1)
    made[5:40, 7:] = 3
    assert np.array_equal(zarr.open(str(tmp_path / "v3"), mode="r")["s"][...], made[...])
    assert set(dict(zarr.open_group(str(tmp_path / "v3"), mode="r").members())) == {"g", "s"}


# ---------------------------------------------------------------------- editing
@pytest.mark.parametrize("dialect", DIALECTS)
def test_saving_changes_one_value_and_refuses_what_changed_meanwhile(dialect: str) -> None:
    store = example(dialect)
    hierarchy, other = zarrscope.open(store, "r+"), zarrscope.open(store, "r+")
    document, theirs = hierarchy.document("/g/a"), other.document("/g/a")
    pointer = attributes_pointer(hierarchy, "/g/a")
    changed = document.set(f"{pointer}/who", "me")
    saved = hierarchy.save("/g/a", changed)
    assert store.get(document.key) == document.bytes.replace(b'"a"', b'"me"')
    assert hierarchy["/g/a"].attributes == {"who": "me"}
    with pytest.raises(zarrscope.Conflict) as caught:
        other.save("/g/a", theirs.set(f"{pointer}/who", "them"))
    assert caught.value.theirs == changed.bytes
    hierarchy.save("/g/a", saved.set(f"{pointer}/again", True))  # the saved document can be saved again
    assert other["/g/a"].attributes == {"who": "me", "again": True}


def test_attributes_of_v2_appear_where_there_were_none() -> None:
    store = example("v2")
    hierarchy = zarrscope.open(store, "r+")
    document = hierarchy.document("/g/b")
    assert store.get("g/b/.zattrs") is None
    hierarchy.save("/g/b", document.set("/new", 1))
    assert hierarchy["/g/b"].attributes == {"new": 1}
    with pytest.raises(zarrscope.Conflict):
        hierarchy.save("/g/b", document.set("/new", 2))


def test_a_document_that_would_unmake_its_node_is_not_saved() -> None:
    store = example()
    hierarchy = zarrscope.open(store, "r+")
    document = hierarchy.document("/g/a")
    for broken in (document.set("/shape", "wide"), document.set("/node_type", "group"), document.remove("/data_type")):
        with pytest.raises(zarrscope.ZarrscopeError):
            hierarchy.save("/g/a", broken)
    assert store.get("g/a/zarr.json") == document.bytes


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_consolidated_copy_keeps_step_and_says_so_when_it_cannot(dialect: str) -> None:
    memory = example(dialect)
    consolidate(memory, dialect)
    copy = ".zmetadata" if dialect == "v2" else "zarr.json"

    def read_by_copy() -> Hierarchy:
        return zarrscope.open(Unlistable(memory))

    hierarchy = zarrscope.open(memory, "r+")
    hierarchy.save("/g/a", hierarchy.document("/g/a").set(attributes_pointer(hierarchy, "/g/a") + "/who", "me"))
    assert read_by_copy()["/g/a"].attributes == {"who": "me"}
    hierarchy.create_array("/g/new", shape=(2,), dtype="uint8", attributes={"n": 1})
    assert read_by_copy()["/g/new"].attributes == {"n": 1}
    hierarchy.erase("/g/a")
    assert kinds(read_by_copy()["/g"]) == {"b": "array", "deep": "group", "new": "array"}
    added = hierarchy["/g/new"]
    assert isinstance(added, Array)
    added.resize((5,))
    assert as_array(read_by_copy()["/g/new"]).shape == (5,)
    assert hierarchy.warnings == ()

    failing = Faults(memory, FaultRule(matches=lambda operation, key: operation == "set" and key == copy))
    unlucky = zarrscope.open(failing, "r+")
    pointer = attributes_pointer(unlucky, "/g/new")
    unlucky.save("/g/new", unlucky.document("/g/new").set(pointer + "/n", 2))
    assert unlucky["/g/new"].attributes == {"n": 2}
    assert any("stale" in warning for warning in unlucky.warnings)
    assert read_by_copy()["/g/new"].attributes == {"n": 1}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_erasing_takes_all_beneath_and_nothing_beside(dialect: str) -> None:
    store = example(dialect)
    hierarchy = zarrscope.open(store, "r+")
    hierarchy.create_group("/gg")
    hierarchy.erase("/g")
    assert kinds(hierarchy.root) == {"gg": "group"}
    assert not [key for key in store.list() if key.startswith("g/")]
    with pytest.raises(zarrscope.NotFound):
        hierarchy.erase("/g")


def test_when_two_create_the_same_node_one_of_them_is_told() -> None:
    memory = MemoryStore()
    zarrscope.open(memory, "w-")

    class Overtaken(Counting):
        """Another writer creates the node between the check for it and the write."""

        def before(self, operation: str, key: str) -> None:
            if operation == "set" and key == "x/zarr.json" and memory.get(key) is None:
                zarrscope.open(memory, "r+").create_group("/x", {"by": "them"})

    with pytest.raises(zarrscope.Conflict):
        zarrscope.open(Overtaken(memory), "r+").create_group("/x", {"by": "us"})
    assert zarrscope.open(memory)["/x"].attributes == {"by": "them"}
