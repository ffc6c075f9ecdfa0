"""Moving and copying beyond the contract: consolidated metadata, concurrent changes, caches, remote sources, links."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.operations import NAMES, VALUES, an_array, contents, example, is_whole
from narrowing import as_array
from zarrscope.nodes import move as moving
from zarrscope.nodes.array import Array
from zarrscope.nodes.consolidated import STALE
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import Counting, FaultRule, Faults, PrefixStore

COPYING = ("v3", "v2", "draft-2020")
"""Dialects that have consolidated metadata."""


class Far(Counting):
    """A store behind a plain web server: nothing can be listed."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.listable = False
        self.remote = True


def in_step(store: Store) -> bool:
    """Whether the consolidated metadata alone give the same nodes as the documents."""
    hierarchy = zarrscope.open(store)
    assert hierarchy.consolidated
    copies = zarrscope.open(Far(store))
    alone = hierarchy.dialect.consolidated_group  # a group that exists in the consolidated metadata only
    own = {path: child.kind for path, child in zarrscope.open(store, consolidated=False).walk() if path != alone}
    told = {path: child.kind for path, child in copies.walk()}
    if told != own:
        return False
    return all(
        copies[path].attributes == hierarchy[path].attributes and copies[path].metadata == hierarchy[path].metadata
        for path in own
    )


@pytest.mark.parametrize("name", COPYING)
@pytest.mark.parametrize("local", [False, True])
def test_the_consolidated_copy_follows_every_operation(name: str, local: bool, tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "x", sync=False) if local else MemoryStore()
    example(name, store)
    hierarchy = zarrscope.open(store, "r+")
    assert not hierarchy.consolidated
    assert hierarchy.consolidate()
    assert hierarchy.consolidated
    assert in_step(store)
    acts: list[Callable[[], object]] = [
        lambda: moving.move(hierarchy, "/g", "/h/g"),
        lambda: moving.copy(hierarchy, "/h/g", "/g"),
        lambda: moving.rename(hierarchy, "/other", "another"),
        lambda: hierarchy.erase("/g/in"),
        lambda: hierarchy.create_group("/g/new", {"a": [1, 2]}),
        lambda: an_array(hierarchy, "/g/new/array"),
        lambda: hierarchy["/another"].resize((2, 2)),
        lambda: moving.move(hierarchy, "/another", "/g/new", replace=True),
        lambda: hierarchy.save("/g", hierarchy.document("/g").set(attributes_pointer(hierarchy, "/g") + "/who", "me")),
    ]
    for act in acts:
        act()
        assert in_step(store)
    assert hierarchy.warnings == ()
    target = zarrscope.open(MemoryStore(), "w-", dialect=name)
    target.consolidate()
    target = zarrscope.open(target.store, "r+")
    moving.move(hierarchy, "/h", "/from/here", target)
    assert in_step(store)
    assert in_step(target.store)


@pytest.mark.parametrize("name", ["v3", "v2"])
def test_copies_in_groups_between_follow_too(name: str) -> None:
    """zarr-python can consolidate any group, such as a plate within a larger hierarchy."""
    store = example(name).store
    zarrscope.open(PrefixStore(store, "g/"), "r+").consolidate()
    inner = PrefixStore(store, "g/")
    assert in_step(inner)
    hierarchy = zarrscope.open(store, "r+")
    moving.move(hierarchy, "/g/a", "/g/in/a")
    assert in_step(inner)
    moving.copy(hierarchy, "/other", "/g/in/other")
    assert in_step(inner)
    hierarchy.erase("/g/in/b")
    assert in_step(inner)
    hierarchy.save("/g/in/a", hierarchy.document("/g/in/a").set(attributes_pointer(hierarchy, "/g/in/a") + "/who", "x"))
    assert in_step(inner)
    hierarchy.consolidate()
    assert in_step(store)
    moving.rename(hierarchy, "/g/in", "out")
    assert in_step(store)
    assert in_step(inner)
    moving.move(hierarchy, "/g", "/moved")
    assert in_step(store)
    assert in_step(PrefixStore(store, "moved/"))


@pytest.mark.parametrize("name", COPYING)
def test_a_copy_that_cannot_follow_is_called_stale_and_can_be_made_anew(name: str) -> None:
    store = example(name).store
    zarrscope.open(store, "r+").consolidate()
    holder = {"v3": "zarr.json", "v2": ".zmetadata", "draft-2020": "meta/root/consolidated/.zmetadata"}[name]
    unlucky = zarrscope.open(Faults(store, FaultRule(matches=lambda act, key: act == "set" and key == holder)), "r+")
    moving.move(unlucky, "/g", "/h")
    assert is_whole(zarrscope.open(store), "/h")
    assert [warning for warning in unlucky.warnings if warning.startswith(STALE)]
    assert not in_step(store)
    hierarchy = zarrscope.open(store, "r+")
    before = contents(store)
    hierarchy.consolidate()
    assert in_step(store)
    assert {key for key in before if store.get(key) != before[key]} == {holder}


@pytest.mark.parametrize("name", COPYING)
def test_a_copy_spells_documents_as_they_are_spelled(name: str) -> None:
    hierarchy = example(name)
    document = hierarchy.document("/g")
    hierarchy.save("/g", document.set_text(attributes_pointer(hierarchy, "/g") + "/odd", '[1.500, 1e+3, "\\u00b5"]'))
    hierarchy.consolidate()
    holder = {"v3": "zarr.json", "v2": ".zmetadata", "draft-2020": "meta/root/consolidated/.zmetadata"}[name]
    assert b'[1.500, 1e+3, "\\u00b5"]' in (hierarchy.store.get(holder) or b"")


@pytest.mark.parametrize("name", ["n5", "draft-2022-05", "draft-2019-06", "draft-2019-05"])
def test_where_no_copy_can_be_that_is_said(name: str) -> None:
    hierarchy = example(name)
    before = contents(hierarchy.store)
    with pytest.raises(zarrscope.Unsupported, match="no consolidated metadata"):
        hierarchy.consolidate()
    assert contents(hierarchy.store) == before


def test_zarr_python_reads_the_copies(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    for name, version in (("v3", 3), ("v2", 2)):
        hierarchy = example(name, LocalStore(tmp_path / name, sync=False))
        hierarchy.consolidate()
        moving.move(zarrscope.open(tmp_path / name, "r+"), "/g", "/h")
        theirs = zarr.open_consolidated(str(tmp_path / name), zarr_format=version)
        assert np.array_equal(theirs["h/in/b"][...], VALUES + 1)
        assert dict(theirs["h/empty"].attrs) == {"n": 1}
        assert "g" not in theirs
        assert {key for key, _ in theirs.members(max_depth=None)} == {
            "h", "h/a", "h/in", "h/in/b", "h/empty", "other",
        }  # fmt: skip


# ---------------------------------------------------------------------------------------------- others at work
@pytest.mark.parametrize("name", ["v3", "v2", "draft-2020", "n5"])
def test_what_others_write_while_a_node_is_moved_goes_along(name: str) -> None:
    memory = example(name).store
    array = zarrscope.open(memory, "r+")["/other"]
    assert isinstance(array, Array)
    chunk = array.metadata.keys.key((0, 0))

    class Busy(Counting):
        """Another program stores a chunk when the first one has been copied, and creates another one."""

        met: bool

        def after(self, operation: str, key: str, size: int) -> None:
            super().after(operation, key, size)
            if operation == "get" and key == chunk and not self.met:
                self.met = True
                as_array(array)[0, 0] = 4711
                as_array(array)[6, 10] = 4712

    busy = Busy(memory)
    busy.met = False
    target = zarrscope.open(MemoryStore(), "w-", dialect=name)
    moving.move(zarrscope.open(busy, "r+"), "/other", "/new", target)
    values = as_array(target["/new"])[...]
    assert (values[0, 0], values[6, 10]) == (4711, 4712)
    assert "/other" not in zarrscope.open(memory)


def test_a_move_gives_up_where_others_never_stop() -> None:
    memory = example("v3").store

    class Restless(Counting):
        def after(self, operation: str, key: str, size: int) -> None:
            if operation == "get" and key == "other/c/0/0":
                memory.set(key, os.urandom(8))

    target = zarrscope.open(MemoryStore(), "w-")
    with pytest.raises(zarrscope.Conflict, match="keep changing"):
        moving.move(zarrscope.open(Restless(memory), "r+"), "/other", "/new", target)
    assert "/other" in zarrscope.open(memory)


def test_two_copies_to_one_place_never_mix() -> None:
    memory = example("v3").store

    class Overtaken(Counting):
        """Another copy to the same path begins during this one."""

        met: bool

        def before(self, operation: str, key: str) -> None:
            if operation == "set" and key.startswith("new/c/") and not self.met:
                self.met = True
                with pytest.raises(zarrscope.Conflict):
                    moving.copy(zarrscope.open(memory, "r+"), "/g/a", "/new")

    store = Overtaken(memory)
    store.met = False
    moving.copy(zarrscope.open(store, "r+"), "/other", "/new")
    assert store.met
    assert is_whole(zarrscope.open(memory), "/new", "/other")
    assert not [key for key in memory.list() if "zarrscope" in key]


# ---------------------------------------------------------------------------------------------- far, linked, remembered
@pytest.mark.parametrize("name", ["v3", "v2", "draft-2020"])
def test_a_source_that_cannot_list_gives_what_it_is_known_to_hold(name: str) -> None:
    memory = example(name).store
    zarrscope.open(memory, "r+").consolidate()
    target = zarrscope.open(MemoryStore(), "w-", dialect=name)
    source = zarrscope.open(Far(memory))
    moving.copy(source, "/g", "/g", target)
    moving.copy(source, "/other", "/o", target)
    assert is_whole(target, "/g")
    assert is_whole(target, "/o", "/other")


def test_a_folder_behind_a_link_is_copied_not_renamed(tmp_path: Path) -> None:
    example("v3", LocalStore(tmp_path / "x", sync=False))
    (tmp_path / "x" / "other").rename(tmp_path / "x" / "elsewhere")
    (tmp_path / "x" / "other").symlink_to("elsewhere")
    hierarchy = zarrscope.open(tmp_path / "x", "r+")
    assert not moving.move(hierarchy, "/other", "/deep/er/o").at_once
    assert is_whole(zarrscope.open(tmp_path / "x"), "/deep/er/o", "/other")


@pytest.mark.parametrize("name", NAMES)
def test_what_a_killed_writer_left_at_the_new_place_does_not_keep_a_node_from_it(name: str, tmp_path: Path) -> None:
    hierarchy = example(name, LocalStore(tmp_path, sync=False))
    moving.move(hierarchy, "/g", "/late")
    folders = [path for path in tmp_path.rglob("late") if path.is_dir()]
    assert folders
    moving.move(hierarchy, "/late", "/g")
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / ".zs-0123456789abcdef.partial").write_bytes(b"half a chu")
    moving.move(hierarchy, "/g", "/late")
    assert is_whole(zarrscope.open(tmp_path), "/late")


def test_folders_of_two_file_systems_are_copied(tmp_path: Path) -> None:
    shared_memory = Path("/dev/shm")
    if not shared_memory.is_dir() or shared_memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second file system here")
    import tempfile

    with tempfile.TemporaryDirectory(dir=shared_memory) as other:
        source = example("draft-2020", LocalStore(tmp_path / "x", sync=False))
        target = zarrscope.open(LocalStore(Path(other) / "y", sync=False), "w-", dialect="draft-2020")
        assert not moving.move(source, "/g", "/g", target).at_once
        assert is_whole(zarrscope.open(Path(other) / "y"), "/g")


def test_values_remembered_of_a_node_that_went_are_forgotten() -> None:
    from zarrscope.view.loader import ChunkLoader

    hierarchy = example("v3")
    loader = ChunkLoader(limit=1 << 20)
    one, two = hierarchy["/g/a"], hierarchy["/other"]
    assert isinstance(one, Array)
    assert isinstance(two, Array)
    assert np.array_equal(loader.read(one, ...), VALUES)
    assert np.array_equal(loader.read(two, ...), VALUES + 2)
    moving.move(hierarchy, "/other", "/g/a", replace=True)
    again = hierarchy["/g/a"]
    assert isinstance(again, Array)
    assert np.array_equal(loader.read(again, ...), VALUES + 2)
    hierarchy.erase("/g")
    an_array(hierarchy, "/g/a")
    fresh = hierarchy["/g/a"]
    assert isinstance(fresh, Array)
    assert not np.asarray(loader.read(fresh, ...)).any()


def test_names_in_ome_metadata_that_lead_nowhere_afterwards_are_told() -> None:
    hierarchy = zarrscope.open(MemoryStore(), "w-")
    datasets: list[dict[str, Any]] = [{"path": "0"}, {"path": "1"}]
    hierarchy.create_group("/image", {"ome": {"version": "0.5", "multiscales": [{"axes": [], "datasets": datasets}]}})
    an_array(hierarchy, "/image/0")
    told = moving.rename(hierarchy, "/image/0", "full")
    assert len(told.notes) == 1
    assert "/image" in told.notes[0]
    assert moving.rename(hierarchy, "/image", "picture").notes == ()


def test_hierarchies_that_share_files_do_not_swallow_one_another(tmp_path: Path) -> None:
    outer = example("v3", LocalStore(tmp_path / "x", sync=False))
    inner = zarrscope.open(LocalStore(tmp_path / "x" / "g", sync=False), "r+")
    for act in (moving.copy, moving.move):
        with pytest.raises(zarrscope.Refused, match="within"):
            act(outer, "/g", "/in/g", inner)
    assert moving.copy(outer, "/other", "/other", inner).keys
    assert is_whole(zarrscope.open(tmp_path / "x"), "/g/other", "/other")


def test_documents_go_byte_for_byte_whatever_they_hold() -> None:
    hierarchy = example("v3")
    text = b'{ "zarr_format" : 3,\n\t"node_type":"group", "attributes":{"a":1.50,"\xc3\xb5":NaN} }\n\n'
    hierarchy.store.set("g/empty/zarr.json", text)
    moving.move(hierarchy, "/g/empty", "/e")
    assert hierarchy.store.get("e/zarr.json") == text
    assert json.loads(hierarchy.store.get("g/zarr.json") or b"")["attributes"]["who"] == "g"


def test_chunks_of_an_unknown_grid_are_never_erased_by_resizing() -> None:
    store = example("v3").store
    document = json.loads(store.get("other/zarr.json") or b"")
    store.set("other/zarr.json", json.dumps({**document, "chunk_grid": {"name": "strange"}}).encode())
    before = contents(store)
    array = zarrscope.open(store, "r+")["/other"]
    assert isinstance(array, Array)
    with pytest.raises(zarrscope.ZarrscopeError):
        array.resize((0, 0))
    assert contents(store) == before


def test_of_zarr_v1_nothing_is_made_or_moved() -> None:
    from contracts.dialect import TEMPLATES

    hierarchy = zarrscope.open(MemoryStore(TEMPLATES["v1"]), "r+")
    before = contents(hierarchy.store)
    target = zarrscope.open(MemoryStore(), "w-", dialect="v2")
    acts: list[Callable[[], object]] = [
        lambda: hierarchy.create_group("/x"),
        lambda: hierarchy.create_array("/x", shape=(2,), dtype="u1"),
        lambda: moving.copy(hierarchy, "/", "/x", target),
        lambda: moving.move(hierarchy, "/", "/x", target),
        lambda: moving.copy(target, "/", "/x", hierarchy),
        lambda: moving.rename(hierarchy, "/", "x"),
        lambda: hierarchy.consolidate(),
    ]
    for act in acts:
        with pytest.raises(zarrscope.ZarrscopeError):
            act()
    assert contents(hierarchy.store) == before
