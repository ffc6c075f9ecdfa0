"""The contract of creating, moving, copying and erasing nodes, for every dialect that can be written.

Create, store, resize, erase, exist, move, copy: see zarrscope.nodes. What a dialect alone does
(implicit groups, names, codecs) is told apart by what the dialect says of itself, and by the tables here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from narrowing import as_array, not_none
from zarrscope.dialects import DIALECTS
from zarrscope.errors import Conflict, NotFound, Refused, ZarrscopeError
from zarrscope.model.storage import ABSENT
from zarrscope.nodes import move as moving
from zarrscope.nodes.array import Array
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope.nodes.hierarchy import Group, Hierarchy
from zarrscope.stores.dry_run import Operation
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import Counting

NAMES = [dialect.name for dialect in DIALECTS if dialect.name != "v1"]
every = pytest.mark.parametrize("name", NAMES)

IMPLICIT = ("n5", "draft-2022-05", "draft-2020", "draft-2019-06", "draft-2019-05")
"""Dialects in which a group can exist without a document."""
SHARDED = ("v3", "draft-2022-05", "draft-2020")
CASE_BLIND = ("draft-2019-06", "draft-2019-05")
BAD_NAMES = {
    "v3": ["__x", "zarr.json", "...", ".."],
    "v2": [".zarray", ".zgroup", "..."],
    "n5": ["attributes.json"],
    "draft-2022-05": ["ü", "a b", "x.array", "x.group.json", "..."],
    "draft-2020": ["ü", "a b", "x.array.json", "x.group"],
    "draft-2019-06": ["ü", "a+b", "x.array", "x.group", "a" * 256],
    "draft-2019-05": ["ü", "a%", "x.array.json", "x.group", "a" * 256],
}
CHANGING = ("set", "erase", "erase_prefix", "move_prefix")
VALUES = np.arange(1, 78, dtype="uint16").reshape(7, 11)


@pytest.fixture(params=["memory", "local"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Makes new, empty stores."""
    made: Iterator[int] = iter(range(100))
    if request.param == "memory":
        return MemoryStore
    return lambda: LocalStore(tmp_path / str(next(made)), sync=False)


def example(name: str, store: Store | None = None) -> Hierarchy:
    """/g/a and /g/in/b are arrays, /g/empty a group, /other an array."""
    hierarchy = zarrscope.open(store if store is not None else MemoryStore(), "w-", dialect=name)
    hierarchy.create_group("/g", {"who": "g", "µ": [1.50, None]})
    an_array(hierarchy, "/g/a")[...] = VALUES
    hierarchy.create_group("/g/in")
    an_array(hierarchy, "/g/in/b")[...] = VALUES + 1
    hierarchy.create_group("/g/empty", {"n": 1})
    an_array(hierarchy, "/other")[...] = VALUES + 2
    return hierarchy


def an_array(hierarchy: Hierarchy, path: str, **options: Any) -> Array:
    settings = {"shape": (7, 11), "dtype": "uint16", "chunks": (3, 4), "codecs": ["gzip"], "attributes": {"who": path}}
    return hierarchy.create_array(path, **{**settings, **options})


def contents(store: Store) -> dict[str, bytes | None]:
    return {key: store.get(key) for key in store.list()}


def tree(hierarchy: Hierarchy) -> dict[str, str | None]:
    return {path: child.kind for path, child in hierarchy.walk()}


WHOLE = {"/g": "group", "/g/a": "array", "/g/in": "group", "/g/in/b": "array", "/g/empty": "group", "/other": "array"}


def is_whole(hierarchy: Hierarchy, path: str, like: str = "/g") -> bool:
    """Whether the example's node `like` is at `path`, with all its values and attributes."""
    if like == "/g":
        inner = [("a", VALUES), ("in/b", VALUES + 1)]
        try:
            group = hierarchy[path]
            return (
                group.attributes == {"who": "g", "µ": [1.50, None]}
                and hierarchy[f"{path}/empty"].attributes == {"n": 1}
                and all(
                    np.array_equal(as_array(hierarchy[f"{path}/{name}"])[...], values)
                    and hierarchy[f"{path}/{name}"].attributes == {"who": f"/g/{name}"}
                    for name, values in inner
                )
            )
        except NotFound:
            return False
    try:
        array = hierarchy[path]
    except NotFound:
        return False
    return isinstance(array, Array) and np.array_equal(array[...], VALUES + 2) and array.attributes == {"who": "/other"}


# ---------------------------------------------------------------------------------------------- create, store, exist
@every
def test_what_is_created_and_stored_is_there_for_another(name: str, place: Callable[[], Store]) -> None:
    store = place()
    example(name, store)
    again = zarrscope.open(store)
    assert again.dialect.name == name
    assert tree(again) == WHOLE
    assert is_whole(again, "/g")
    assert is_whole(again, "/other", "/other")


@every
def test_existence_is_asked_in_the_order_of_the_dialect(name: str) -> None:
    hierarchy = example(name)
    for path, kind in WHOLE.items():
        assert path in hierarchy
        assert hierarchy[path].kind == kind
    for path in ("/nothing", "/g/nothing", "/G"):
        assert path not in hierarchy
        with pytest.raises(NotFound):
            hierarchy[path]
    documents = hierarchy.dialect.documents("/g", "array"), hierarchy.dialect.documents("/g", "group")
    if set(documents[0]) & set(documents[1]) and name != "v2":
        return  # both would need the same document
    theirs, beside = (next(iter(hierarchy.dialect.documents(path, "array"))) for path in ("/g/a", "/g"))
    hierarchy.store.set(beside, hierarchy.store.get(theirs) or b"", expect=ABSENT)
    assert zarrscope.open(hierarchy.store)["/g"].kind == "array", "an array's document comes first"


@every
def test_a_group_without_a_document_is_there_where_the_dialect_has_such(name: str) -> None:
    hierarchy = example(name)
    hierarchy.store.erase_values(hierarchy.dialect.documents("/g/in"))
    again = zarrscope.open(hierarchy.store)
    found = again["/g/in"]
    assert isinstance(found, Group)
    assert found.metadata.implicit
    assert bool(found.warnings) is (name not in IMPLICIT), "v2 and v3 have no such groups: it is shown with a warning"
    assert tree(again) == WHOLE
    again = zarrscope.open(hierarchy.store, "r+")
    again.erase("/g/in")
    assert "/g/in" not in again
    assert not [key for key in hierarchy.store.list() if "in/b" in key]
    assert set(tree(again)) == {path for path in WHOLE if not path.startswith("/g/in")}


@every
def test_names_that_the_dialect_cannot_have_are_refused_on_writing(name: str) -> None:
    hierarchy = example(name)
    before = contents(hierarchy.store)
    for bad in BAD_NAMES[name]:
        if bad in ("..", "."):
            continue
        acts: list[Callable[[], object]] = [
            lambda bad=bad: hierarchy.create_group(f"/{bad}"),  # type: ignore[misc]  # mypy does not type the default of a lambda
            lambda bad=bad: an_array(hierarchy, f"/g/{bad}"),  # type: ignore[misc]  # mypy does not type the default of a lambda
            lambda bad=bad: an_array(hierarchy, f"/{bad}/x"),  # type: ignore[misc]  # mypy does not type the default of a lambda
            lambda bad=bad: moving.move(hierarchy, "/g", f"/{bad}"),  # type: ignore[misc]  # mypy does not type the default of a lambda
            lambda bad=bad: moving.copy(hierarchy, "/other", f"/{bad}/x"),  # type: ignore[misc]  # mypy does not type the default of a lambda
        ]
        for act in acts:
            with pytest.raises(Refused):
                act()
    assert contents(hierarchy.store) == before


@every
def test_names_that_differ_in_case_only_lie_side_by_side_where_the_text_lets_them(name: str) -> None:
    hierarchy = example(name)
    acts: list[tuple[str, Callable[[], object]]] = [
        ("/G", lambda: hierarchy.create_group("/G")),
        ("/OTHER", lambda: an_array(hierarchy, "/OTHER")),
        ("/g/A", lambda: moving.copy(hierarchy, "/other", "/g/A")),
    ]
    for path, act in acts:
        if name in CASE_BLIND:
            with pytest.raises(Refused, match="for the same name"):
                act()
        else:
            act()
            assert path in hierarchy
    fresh = example(name)
    assert moving.move(fresh, "/other", "/Other").to == "/Other", "a name is not beside itself"
    assert is_whole(fresh, "/Other", "/other")


@every
def test_no_array_is_made_over_what_others_left(name: str) -> None:
    """Chunks that were left without an array would become values of the next array there."""
    hierarchy = example(name)
    keys = [key for key in hierarchy.dialect.documents("/other") if hierarchy.store.get(key)]
    hierarchy.store.erase_values(keys)
    with pytest.raises(Conflict, match="lies beneath"):
        an_array(hierarchy, "/other")
    with pytest.raises(Conflict):
        moving.copy(hierarchy, "/g/a", "/other")
    hierarchy.erase("/other")
    assert (an_array(hierarchy, "/other")[...] == 0).all()
    assert "/other" in hierarchy


@every
def test_shards_are_written_where_the_dialect_has_them(name: str) -> None:
    hierarchy = example(name)
    options = {"shape": (8, 8), "chunks": (2, 2), "shards": (4, 4), "codecs": ["gzip"]}
    if name not in SHARDED:
        with pytest.raises(ZarrscopeError):
            an_array(hierarchy, "/s", **options)
        assert "/s" not in hierarchy
        return
    array = an_array(hierarchy, "/s", **options)
    values = np.arange(64, dtype="uint16").reshape(8, 8)
    array[...] = values
    array[1, 1] = 500
    values[1, 1] = 500
    again = zarrscope.open(hierarchy.store, "r+")["/s"]
    assert isinstance(again, Array)
    assert (again.chunks, again.shards) == ((2, 2), (4, 4))
    assert np.array_equal(again[...], values)
    key = hierarchy.dialect.documents("/s", "array")[0]
    told = json.loads(hierarchy.store.get(key) or b"")
    assert ("storage_transformers" in told) is (name != "v3"), "the drafts shard by a storage transformer"
    again.resize((8, 4))
    moving.move(hierarchy, "/s", "/g/s")
    assert np.array_equal(as_array(zarrscope.open(hierarchy.store)["/g/s"])[...], values[:, :4])


# ---------------------------------------------------------------------------------------------- attributes, resize
@every
def test_attributes_change_and_every_other_byte_stays(name: str) -> None:
    hierarchy = example(name)
    for path in ("/g/a", "/g"):
        document = hierarchy.document(path)
        pointer = f"{attributes_pointer(hierarchy, path)}/who"
        hierarchy.save(path, document.set(pointer, "new"))
        stored = hierarchy.store.get(document.key) or b""
        assert stored == document.bytes.replace(
            b'"who": ' + json.dumps(document.get(pointer)).encode(), b'"who": "new"'
        )
        assert zarrscope.open(hierarchy.store)[path].attributes["who"] == "new"


@every
def test_growing_writes_one_document_and_touches_no_chunk(name: str) -> None:
    counting = Counting(example(name).store)
    array = zarrscope.open(counting, "r+")["/other"]
    assert isinstance(array, Array)
    counting.reset()
    array.resize((70, 110))
    assert counting.requests["set"] == 1
    assert counting.requests["erase"] == counting.requests["erase_prefix"] == 0
    chunk = array.metadata.keys.key((0, 0))
    assert not [key for _, key in counting.keys if key == chunk or key.startswith(array.metadata.keys.prefix + "c")]
    again = zarrscope.open(counting.store)["/other"]
    assert isinstance(again, Array)
    assert again.shape == (70, 110)
    assert np.array_equal(again[:7, :11], VALUES + 2)
    assert not again[7:].any()
    assert not again[:, 11:].any() or name != "n5", "what lies beyond the old edge in a stored chunk is as written"


@every
def test_shrinking_erases_the_chunks_outside_and_no_other(name: str, place: Callable[[], Store]) -> None:
    store = place()
    array = example(name, store)["/other"]
    assert isinstance(array, Array)
    keys = {index: array.metadata.keys.key(index) for index in np.ndindex(*array.chunk_grid_shape)}
    before = contents(store)
    array.resize((4, 5))
    document = next(key for key in not_none(array.hierarchy).dialect.documents("/other", "array"))
    changed = {key for key in before if store.get(key) != before[key]}
    assert changed == {document} | {keys[i, j] for i, j in keys if i > 1 or j > 1}
    again = zarrscope.open(store)["/other"]
    assert isinstance(again, Array)
    assert again.shape == (4, 5)
    assert np.array_equal(again[...], (VALUES + 2)[:4, :5])
    array.resize((7, 11))
    assert np.array_equal(array[:4, :5], (VALUES + 2)[:4, :5])
    assert not array[6:].any()
    assert not array[:, 8:].any()


@every
def test_two_who_resize_at_once_do_not_undo_each_other(name: str) -> None:
    store = example(name).store
    mine, theirs = (zarrscope.open(store, "r+")["/other"] for _ in range(2))
    assert isinstance(mine, Array)
    assert isinstance(theirs, Array)
    theirs.resize((8, 11))
    with pytest.raises(Conflict):
        mine.resize((3, 3))
    assert np.array_equal(as_array(zarrscope.open(store)["/other"])[:7], VALUES + 2)


STRANGE: dict[str, dict[str, Any]] = {
    "v3": {"codecs": [{"name": "mystery.codec", "configuration": {"a": 1}}]},
    "v2": {"compressor": {"id": "mystery", "a": 1}},
    "n5": {"compression": {"type": "mystery", "a": 1}},
    "draft-2022-05": {"codecs": [{"type": "http://example.org/mystery", "configuration": {"a": 1}}]},
    "draft-2020": {"compressor": {"codec": "http://example.org/mystery", "configuration": {"a": 1}}},
    "draft-2019-06": {"compressor": {"codec": "http://example.org/mystery", "configuration": {"a": 1}}},
    "draft-2019-05": {"chunk_codecs": [{"codec": "http://example.org/mystery", "a": 1}]},
}
"""A codec that is not installed, as each dialect names it."""


@every
def test_what_cannot_be_decoded_is_resized_and_moved_all_the_same(name: str) -> None:
    hierarchy = example(name)
    key = hierarchy.dialect.documents("/other", "array")[0]
    document = json.loads(hierarchy.store.get(key) or b"") | STRANGE[name]
    hierarchy.store.set(key, json.dumps(document).encode())
    array = zarrscope.open(hierarchy.store, "r+")["/other"]
    assert isinstance(array, Array)
    assert array.problem is not None
    array.resize((4, 20))
    array.resize((4, 5))
    again = zarrscope.open(hierarchy.store, "r+")
    moving.move(again, "/other", "/moved")
    moved = again["/moved"]
    assert isinstance(moved, Array)
    assert moved.shape == (4, 5)
    kept = json.loads(hierarchy.store.get(hierarchy.dialect.documents("/moved", "array")[0]) or b"")
    shapes = ("dimensions",) if name == "n5" else ("shape",)
    assert {k: v for k, v in kept.items() if k not in shapes} == {k: v for k, v in document.items() if k not in shapes}


# ---------------------------------------------------------------------------------------------- erase
@every
def test_erasing_takes_the_node_and_all_beneath_and_nothing_beside(name: str, place: Callable[[], Store]) -> None:
    store = place()
    hierarchy = example(name, store)
    hierarchy.create_group("/gg")
    hierarchy.erase("/g/a")
    assert tree(zarrscope.open(store)) == {**{k: v for k, v in WHOLE.items() if k != "/g/a"}, "/gg": "group"}
    hierarchy.erase("/g")
    assert tree(zarrscope.open(store)) == {"/other": "array", "/gg": "group"}
    assert is_whole(zarrscope.open(store), "/other", "/other")
    left = [key for key in store.list() if "/g/" in f"/{key}" or "/g." in f"/{key}"]
    assert left == []
    for path in ("/g", "/g/a", "/never"):
        with pytest.raises(NotFound):
            hierarchy.erase(path)


_DRAFT_KEYS = {
    "draft-2022-05": ("meta", "data", ".json"),
    "draft-2020": ("meta/root", "data/root", ".json"),
    "draft-2019-06": ("meta/root", "data", ""),
    "draft-2019-05": ("meta", "data", ".json"),
}


def erasures(name: str, path: str, kind: str) -> list[tuple[str, str]]:
    """The requests that erase an array, a group, or an implicit group from a store (reference.md A.2-A.10)."""
    if name in _DRAFT_KEYS:
        meta, data, suffix = _DRAFT_KEYS[name]
        own = [] if kind == "implicit" else [("erase", f"{meta}/{path}.{kind}{suffix}")]
        return [*own, ("erase_prefix", f"{meta}/{path}/"), ("erase_prefix", f"{data}/{path}/")]
    documents = {"v3": ["zarr.json"], "v2": [f".z{kind}", ".zattrs"], "n5": ["attributes.json"]}[name]
    own = [] if kind == "implicit" else [("erase", f"{path}/{document}") for document in documents]
    return [*own, ("erase_prefix", f"{path}/")]


@every
@pytest.mark.parametrize(("path", "kind"), [("g/a", "array"), ("g", "group"), ("g/in", "implicit")])
def test_erasing_asks_of_the_store_what_the_text_says(name: str, path: str, kind: str) -> None:
    hierarchy = example(name)
    if kind == "implicit":
        hierarchy.store.erase_values(hierarchy.dialect.documents(f"/{path}"))
    log: list[Operation] = []
    zarrscope.open(hierarchy.store, "r+").dry_run(log).erase(f"/{path}")
    told = sorted((each.act, each.key) for each in log if each.act == "erase")
    assert told == sorted(each for each in erasures(name, path, kind) if each[0] == "erase")
    assert [(each.act, each.key) for each in log][len(told) :] == erasures(name, path, kind)[len(told) :]


@every
def test_parents_without_a_document_vanish_with_the_last_beneath_them(name: str, place: Callable[[], Store]) -> None:
    store = place()
    hierarchy = zarrscope.open(store, "w-", dialect=name)
    an_array(hierarchy, "/p/q/a")[...] = 1
    hierarchy.erase("/p/q/a")
    assert tree(zarrscope.open(store)) == {"/p": "group", "/p/q": "group"}, "created parents have documents and stay"
    an_array(hierarchy, "/p/q/a")[...] = 1
    for path in ("/p", "/p/q"):
        store.erase_values(hierarchy.dialect.documents(path))
    hierarchy.erase("/p/q/a")
    assert tree(zarrscope.open(store)) == {}


@every
def test_chunks_are_no_nodes_to_erase_or_to_move(name: str) -> None:
    hierarchy = example(name)
    before = contents(hierarchy.store)
    for path in ("/other/c", "/other/0", "/other/c0", "/other/0.0"):
        for act in (
            lambda path=path: hierarchy.erase(path),
            lambda path=path: moving.move(hierarchy, path, "/x"),
            lambda path=path: moving.copy(hierarchy, path, "/x"),
            lambda path=path: moving.copy(hierarchy, "/g", path),
        ):
            with pytest.raises(ZarrscopeError):
                act()
    assert contents(hierarchy.store) == before


@every
def test_a_node_with_a_broken_document_can_be_taken_away(name: str) -> None:
    hierarchy = example(name)
    key = hierarchy.dialect.documents("/other", "array")[0]
    hierarchy.store.set(key, b"{ broken")
    moving.move(hierarchy, "/other", "/broken")
    assert b"{ broken" in contents(hierarchy.store).values()
    hierarchy.erase("/broken")
    assert b"{ broken" not in contents(hierarchy.store).values()
    assert is_whole(hierarchy, "/g")
