"""The contract of moving, copying and replacing nodes, of dry runs and of the trash, for every dialect that can be
written. It goes on where contracts/operations.py ends.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from contracts.operations import (
    CHANGING,
    WHOLE,
    an_array,
    contents,
    every,
    example,
    is_whole,
    tree,
)  # fmt: skip
from narrowing import as_array
from zarrscope.check.hierarchy import check
from zarrscope.errors import BadMetadata, Conflict, NotFound, ReadOnly, Refused, Unreadable, Unsupported
from zarrscope.nodes import move as moving
from zarrscope.nodes import trash
from zarrscope.nodes.array import Array
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope.nodes.trash_record import RECORD
from zarrscope.stores.dry_run import DryRunStore, Operation, ordered
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import Counting, FaultRule, Faults, ReadOnlyStore


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
    if act == "replace":  # it lies in the trash, or under another name, until the new node is complete
        done = {(operation, key) for operation, key in done if ".replaced-" not in key}
        erased = {(operation, key) for operation, key in told - done if operation in ("erase", "erase_prefix")}
        assert erased
        assert all(any(part.partition(".")[0] == "g" for part in key.split("/")) for _, key in erased)
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
