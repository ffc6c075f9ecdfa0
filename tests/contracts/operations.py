"""The contract of creating, moving, copying and erasing nodes, for every dialect that can be written.

Create, store, resize, erase, exist, move, copy: see zarrscope.nodes. What a dialect alone does
(implicit groups, names, codecs) is told apart by what the dialect says of itself, and by the tables here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from narrowing import as_array, not_none
from zarrscope.check.hierarchy import check
from zarrscope.dialects import DIALECTS
from zarrscope.errors import BadMetadata, Conflict, NotFound, ReadOnly, Refused, Unreadable, Unsupported, ZarrscopeError
from zarrscope.model.storage import ABSENT
from zarrscope.nodes import move as moving
from zarrscope.nodes import trash
from zarrscope.nodes.array import Array
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope.nodes.hierarchy import Group, Hierarchy
from zarrscope.nodes.trash_record import RECORD
from zarrscope.stores.dry_run import DryRunStore, Operation, ordered
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.local.trash import writable_trash
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import Counting, FaultRule, Faults, ReadOnlyStore

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


# ---------------------------------------------------------------------------------------------- move, copy
@every
@pytest.mark.parametrize(("path", "to"), [("/g", "/h"), ("/g", "/deep/er/h"), ("/other", "/g/other"), ("/other", "/o")])
def test_moving_takes_everything_and_leaves_nothing(name: str, path: str, to: str, place: Callable[[], Store]) -> None:
    store = place()
    hierarchy = example(name, store)
    before = contents(store)
    told = moving.move(hierarchy, path, to)
    assert told.at_once is isinstance(store, LocalStore), "folders are renamed where there are folders"
    again = zarrscope.open(store)
    for each in (hierarchy, again):
        assert is_whole(each, to, path)
        assert path not in each
    assert is_whole(again, "/other" if path == "/g" else "/g", "/other" if path == "/g" else "/g")
    after = contents(store)
    renamed = _moved_keys(hierarchy, path, to, before)
    assert {key: after[key] for key in renamed.values()} == {new: before[old] for old, new in renamed.items()}
    assert not [key for key in renamed if key in after]
    made = {key for key in after if key not in before and key not in renamed.values()}
    assert made <= {key for above in ("/deep", "/deep/er") for key in hierarchy.dialect.documents(above)}


def _moved_keys(hierarchy: Hierarchy, path: str, to: str, keys: Any) -> dict[str, str]:
    """Maps each key of the node to its new key, according to the dialect's `erase`."""
    before, after = (hierarchy.dialect.erase(where, "group") for where in (path, to))
    found = {old: new for old, new in zip(before.keys, after.keys, strict=True) if old in keys}
    for old, new in zip(before.prefixes, after.prefixes, strict=True):
        found |= {key: new + key[len(old) :] for key in keys if key.startswith(old)}
    assert len(found) > 2
    return found


@every
@pytest.mark.parametrize("path", ["/g", "/other"])
def test_copying_changes_no_byte_and_nothing_of_the_source(name: str, path: str, place: Callable[[], Store]) -> None:
    store = place()
    hierarchy = example(name, store)
    before = contents(store)
    told = moving.copy(hierarchy, path, "/new/copy")
    after = contents(store)
    assert {key: after[key] for key in before} == before
    pairs = _moved_keys(hierarchy, path, "/new/copy", before)
    assert {key: after[key] for key in pairs.values()} == {new: before[old] for old, new in pairs.items()}
    assert told.keys == len(pairs)
    assert told.nbytes == sum(len(before[key] or b"") for key in pairs)
    assert is_whole(zarrscope.open(store), "/new/copy", path)
    assert is_whole(zarrscope.open(store), path, path)


@every
def test_nodes_go_between_hierarchies_and_back(name: str, tmp_path: Path) -> None:
    local = LocalStore(tmp_path / "a", sync=False)
    here, there = example(name, local), zarrscope.open(MemoryStore(), "w-", dialect=name)
    before = contents(local)
    moving.move(here, "/g", "/x/g", there)
    assert is_whole(there, "/x/g")
    assert "/g" not in zarrscope.open(local)
    moving.copy(there, "/x/g", "/g", here)
    assert contents(local) == before
    other = zarrscope.open(LocalStore(tmp_path / "b", sync=False), "w-", dialect=name)
    assert moving.move(here, "/g", "/g", other).at_once, "folders of one file system"
    assert is_whole(zarrscope.open(tmp_path / "b"), "/g")
    assert "/g" not in zarrscope.open(tmp_path / "a")


@every
def test_an_archive_gives_its_nodes(name: str, tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for key, value in contents(example(name).store).items():
            archive.writestr(key, value or b"")
    source = zarrscope.open(tmp_path / "x.zip")
    target = zarrscope.open(MemoryStore(), "w-", dialect=name)
    moving.copy(source, "/g", "/from/zip", target)
    moving.copy(source, "/", "/all", target)
    assert is_whole(target, "/from/zip")
    assert is_whole(target, "/all/g")
    assert is_whole(target, "/all/other", "/other")
    with pytest.raises(ReadOnly):
        moving.move(source, "/g", "/moved", target)


@every
def test_what_would_lose_or_tangle_something_is_refused(name: str, place: Callable[[], Store]) -> None:
    store = place()
    hierarchy = example(name, store)
    before = contents(store)
    refused: list[tuple[Any, Any]] = [
        (("/g", "/g"), (Refused, Conflict)),
        (("/g", "/g/in/g"), Refused),
        (("/g/in", "/g"), (Refused, Conflict)),
        (("/", "/x"), Refused),
        (("/g", "/"), Refused),
        (("/g", "/other"), Conflict),
        (("/other", "/g/in"), Conflict),
        (("/g", "/other/x"), Refused),
        (("/none", "/x"), NotFound),
        (("/g", "/../x"), Refused),
    ]
    for arguments, error in refused:
        for act in (moving.move, moving.copy):
            with pytest.raises(error):
                act(hierarchy, *arguments)
    for arguments in (("/g", "/g/in"), ("/g/in", "/g"), ("/g", "/g")):
        with pytest.raises(Refused):
            moving.move(hierarchy, *arguments, replace=True)
    readonly = zarrscope.open(ReadOnlyStore(store))
    with pytest.raises(ReadOnly):
        moving.move(readonly, "/g", "/x")
    with pytest.raises(ReadOnly):
        moving.move(readonly, "/g", "/x", zarrscope.open(MemoryStore(), "w-", dialect=name))
    assert contents(store) == before


@every
def test_replacing_takes_the_old_node_away_first(name: str, place: Callable[[], Store]) -> None:
    store = place()
    hierarchy = example(name, store)
    moving.move(hierarchy, "/other", "/g/in", replace=True)
    again = zarrscope.open(store)
    assert is_whole(again, "/g/in", "/other")
    assert "/other" not in again
    assert not [key for key in store.list() if "in/b" in key]


@every
def test_another_dialect_is_told_to_be_converted(name: str) -> None:
    other = zarrscope.open(MemoryStore(), "w-", dialect="v2" if name != "v2" else "v3")
    before = contents(other.store)
    for act in (moving.copy, moving.move):
        with pytest.raises(Refused, match="convert"):
            act(example(name), "/g", "/x", other)
    assert contents(other.store) == before


@every
@pytest.mark.parametrize("path", ["/g", "/other"])
@pytest.mark.parametrize("way", ["within", "between"])
def test_whatever_stops_a_move_the_node_is_whole_at_one_place(
    name: str, path: str, way: str, place: Callable[[], Store]
) -> None:
    """From the nth changing request on, every one fails, as if the process had been killed there."""
    stopped = 0
    for k in range(200):
        store = place()
        example(name, store)
        other = store if way == "within" else place()
        if other is not store:
            zarrscope.open(other, "w-", dialect=name)
        seen: list[str] = []

        def hits(operation: str, key: str, seen: list[str] = seen, k: int = k) -> bool:
            if operation in CHANGING:
                seen.append(operation)
            return len(seen) > k

        fault = FaultRule(matches=hits)
        source = zarrscope.open(Faults(store, fault), "r+")
        target = source if way == "within" else zarrscope.open(Faults(other, fault), "r+")
        try:
            moving.move(source, path, "/new/place", target)
            done = True
        except Unreadable:
            done = False
            stopped += 1
        left, right = zarrscope.open(store), zarrscope.open(other)
        at_old, at_new = is_whole(left, path, path), is_whole(right, "/new/place", path)
        assert at_old or at_new, f"lost at operation {k}"
        assert is_whole(left, "/other" if path == "/g" else "/g", "/other" if path == "/g" else "/g")
        if done:
            assert at_new
            assert path not in left
            break
        if at_old and path in left and "/new/place" not in right:
            # it can be tried again, whatever the first attempt left in the store
            moving.move(zarrscope.open(store, "r+"), path, "/new/place", zarrscope.open(other, "r+"), replace=True)
            assert is_whole(zarrscope.open(other), "/new/place", path)
    else:
        pytest.fail("it never came to an end")
    assert stopped >= 2


@every
def test_a_cancelled_copy_leaves_nothing(name: str, place: Callable[[], Store]) -> None:
    store = place()
    hierarchy = example(name, store)
    before = contents(store)
    done: list[moving.MoveProgress] = []
    told = moving.copy(hierarchy, "/g", "/copy", progress=done.append, cancelled=lambda: len(done) > 2)
    assert told.cancelled
    assert contents(store) == before
    assert {each.doing for each in done} == {"copying"}
    target = zarrscope.open(MemoryStore(), "w-", dialect=name)
    empty = contents(target.store)
    assert moving.move(hierarchy, "/g", "/m", target, cancelled=lambda: True).cancelled
    assert contents(store) == before
    assert contents(target.store) == empty
    compared: list[moving.MoveProgress] = []

    def while_comparing() -> bool:
        return any(each.doing == "comparing" for each in compared)

    told = moving.move(hierarchy, "/g", "/m", target, progress=compared.append, cancelled=while_comparing)
    assert told.cancelled
    assert contents(store) == before
    assert contents(target.store) == empty


@every
def test_a_chunk_is_never_decoded_on_its_way(name: str) -> None:
    """Chunks that no codec can read are moved unchanged."""
    hierarchy = example(name)
    array = hierarchy["/other"]
    assert isinstance(array, Array)
    key = array.metadata.keys.key((0, 0))
    hierarchy.store.set(key, b"no gzip")
    moving.copy(hierarchy, "/other", "/copy")
    moving.move(hierarchy, "/other", "/moved")
    for path in ("/copy", "/moved"):
        found = hierarchy[path]
        assert isinstance(found, Array)
        assert hierarchy.store.get(found.metadata.keys.key((0, 0))) == b"no gzip"


# ---------------------------------------------------------------------------------------------- dry runs
ACTS: dict[str, Callable[[Hierarchy], object]] = {
    "create a group": lambda h: h.create_group("/new/group", {"a": 1}),
    "create an array": lambda h: an_array(h, "/new/array"),
    "store": lambda h: as_array(h["/other"]).__setitem__((slice(0, 2), 3), 9),
    "resize": lambda h: as_array(h["/other"]).resize((3, 4)),
    "grow": lambda h: as_array(h["/other"]).resize((30, 40)),
    "erase an array": lambda h: h.erase("/other"),
    "erase a group": lambda h: h.erase("/g"),
    "move": lambda h: moving.move(h, "/g", "/new/place"),
    "copy": lambda h: moving.copy(h, "/g", "/new/place"),
    "replace": lambda h: moving.copy(h, "/other", "/g", replace=True),
    "rename": lambda h: moving.rename(h, "/other", "another"),
}


@every
@pytest.mark.parametrize("act", list(ACTS))
def test_a_dry_run_lists_the_operations_and_writes_nothing(name: str, act: str, place: Callable[[], Store]) -> None:
    store = place()
    example(name, store)
    before = contents(store)
    log: list[Operation] = []
    tried = zarrscope.open(store, "r+").dry_run(log)
    ACTS[act](tried)
    expected = contents(tried.store)
    assert contents(store) == before
    counting = Counting(store)
    recorded = DryRunStore(counting)
    ACTS[act](zarrscope.open(recorded, "r+"))
    ACTS[act](zarrscope.open(counting, "r+"))
    assert contents(store) == expected
    done = {(operation, key) for operation, key in counting.keys if operation not in ("get", "list_dir", "list_prefix")}
    told = {("set" if each.act == "copy" else each.act, each.key) for each in log}
    if act == "replace" and writable_trash(store):  # it lies in the trash until the new node is complete
        erased = {(operation, key) for operation, key in told - done if operation in ("erase", "erase_prefix")}
        assert erased
        assert all("g" in key.split("/") for _, key in erased)
        done |= erased
    assert told == done
    assert [each.act for each in ordered(log)] == [each.act for each in recorded.operations]
    for each in log:
        if each.act in ("set", "copy"):
            assert each.size is not None


# ---------------------------------------------------------------------------------------------- trash
@every
def test_what_went_to_the_trash_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "x.zarr", sync=False)
    hierarchy = example(name, store)
    before = contents(store)
    log: list[Operation] = []
    trash.put(hierarchy.dry_run(log), "/g")
    assert contents(store) == before, "a dry run changes nothing"
    assert any(each.act == "move_prefix" for each in log)
    thrown = trash.put(hierarchy, "/g")
    assert "/g" not in zarrscope.open(store)
    assert not [key for key in store.list() if "g/" in key]
    assert is_whole(zarrscope.open(store), "/other", "/other")
    assert [(each.id, each.path, each.kind) for each in trash.entries(hierarchy)] == [(thrown.id, "/g", "group")]
    assert trash.restore(hierarchy, thrown.id).path == "/g"
    assert contents(store) == before
    assert not trash.entries(hierarchy)
    assert [each.name for each in tmp_path.iterdir()] == ["x.zarr"], "an empty trash is no folder"


@every
def test_the_trash_gives_back_to_another_path_and_over_nothing(name: str, tmp_path: Path) -> None:
    hierarchy = example(name, LocalStore(tmp_path / "x.zarr", sync=False))
    thrown = trash.put(hierarchy, "/g")
    hierarchy.create_group("/g", {"new": True})
    with pytest.raises(Conflict):
        trash.restore(hierarchy, thrown.id)
    assert hierarchy["/g"].attributes == {"new": True}
    assert trash.restore(hierarchy, thrown.id, "/back/g").path == "/back/g"
    assert is_whole(zarrscope.open(hierarchy.url), "/back/g")
    with pytest.raises(NotFound):
        trash.restore(hierarchy, thrown.id)
    with pytest.raises(Refused):
        trash.put(hierarchy, "/")


@every
def test_emptying_the_trash_takes_what_is_old_enough(name: str, tmp_path: Path) -> None:
    hierarchy = example(name, LocalStore(tmp_path / "x.zarr", sync=False))
    thrown = [trash.put(hierarchy, path) for path in ("/g/a", "/other")]
    assert not trash.empty(hierarchy, older_than=timedelta(days=1))
    assert [each.id for each in trash.empty(hierarchy, [thrown[0].id])] == [thrown[0].id]
    assert [each.path for each in trash.entries(hierarchy)] == ["/other"]
    with pytest.raises(ReadOnly):
        trash.empty(zarrscope.open(hierarchy.url))
    assert [each.id for each in trash.empty(hierarchy)] == [thrown[1].id]
    assert [each.name for each in tmp_path.iterdir()] == ["x.zarr"]


def test_where_nothing_can_be_renamed_there_is_no_trash(tmp_path: Path) -> None:
    hierarchy = example("v3")
    before = contents(hierarchy.store)
    assert not trash.available(hierarchy)
    with pytest.raises(Unsupported):
        trash.put(hierarchy, "/g")
    assert contents(hierarchy.store) == before

    class Apart(LocalStore):
        def _folder_of(self, prefix: str) -> str | None:
            return str(tmp_path / "elsewhere") if prefix else super()._folder_of(prefix)

    hierarchy = example("v3", Apart(tmp_path / "x.zarr", sync=False))
    with pytest.raises(Unsupported, match="another disk"):
        trash.put(hierarchy, "/g")
    assert is_whole(hierarchy, "/g")
    assert [each.name for each in tmp_path.iterdir()] == ["x.zarr"]


def test_a_record_that_was_tampered_with_moves_nothing(tmp_path: Path) -> None:
    hierarchy = example("v3", LocalStore(tmp_path / "x.zarr", sync=False))
    thrown = trash.put(hierarchy, "/g")
    record = tmp_path / ".x.zarr.trash" / thrown.id / RECORD
    told = json.loads(record.read_text())
    for change in ({"prefixes": ["other/"]}, {"path": "/../g"}, {"dialect": "v9"}, {"when": "today"}, {"keys": 1}):
        record.write_text(json.dumps(told | change))
        with pytest.raises(BadMetadata):
            trash.restore(hierarchy, thrown.id)
        assert trash.entries(hierarchy) == ()
    record.write_text(json.dumps(told))
    trash.restore(hierarchy, thrown.id)
    assert is_whole(hierarchy, "/g")


@pytest.mark.parametrize("name", ["v3", "v2", "draft-2020"])
def test_the_consolidated_copy_follows_into_the_trash_and_back(name: str, tmp_path: Path) -> None:
    hierarchy = example(name, LocalStore(tmp_path / "x.zarr", sync=False))
    hierarchy.consolidate()
    thrown = trash.put(hierarchy, "/g")
    assert set(tree(zarrscope.open(hierarchy.url))) == {"/other"}
    trash.restore(hierarchy, thrown.id)
    again = zarrscope.open(hierarchy.url)
    assert again.consolidated
    assert tree(again) == WHOLE
    assert not [each for each in check(again) if each.severity == "error"]
