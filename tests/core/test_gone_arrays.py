"""An Array object whose stored array was erased, moved, created again or shrunk: reading and writing detect it."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.http_server import web_server
from contracts.operations import NAMES, an_array, every
from narrowing import as_array, not_none
from zarrscope.errors import BadChunk, Conflict, NotFound, ZarrscopeError
from zarrscope.nodes import move as moving
from zarrscope.nodes.array import Array
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope.runtime.threads import Background
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import Counting
from zarrscope.view import loader as chunks
from zarrscope.view.lazy import LazyView
from zarrscope.view.loader import FAILED, FILL, ChunkLoader


@pytest.fixture(params=["memory", "local"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else LocalStore(tmp_path / "x", sync=False)


def remade(h: Hierarchy, **options: Any) -> None:
    h.erase("/a")
    an_array(h, "/a", **options)


GONE: dict[str, Callable[[Hierarchy], object]] = {
    "erased": lambda h: h.erase("/a"),
    "moved": lambda h: moving.move(h, "/a", "/b"),
    "a group": lambda h: (h.erase("/a"), h.create_group("/a")),  # type: ignore[func-returns-value]  # called for what they do
    "another type": lambda h: remade(h, dtype="int32"),
    "other chunks": lambda h: remade(h, chunks=(7, 11)),
    "other codecs": lambda h: remade(h, codecs=["gzip", "gzip"] if h.dialect.name == "v3" else []),
    "smaller": lambda h: remade(h, shape=(2, 2)),
    "shrunk": lambda h: as_array(h["/a"]).resize((2, 2)),
}


def states(store: Store) -> dict[str, bytes | None]:
    return {key: store.get(key) for key in store.list()}


def copied(array: Array) -> Array:
    found = pickle.loads(pickle.dumps(array))
    assert isinstance(found, Array)
    return found


@every
@pytest.mark.parametrize("how", GONE)
def test_an_array_that_is_no_more_is_neither_written_nor_read_as_empty(name: str, how: str, store: Store) -> None:
    hierarchy = zarrscope.open(store, "w-", dialect=name)
    an_array(hierarchy, "/a")
    other = zarrscope.open(store, "r+", dialect=name)
    old = other["/a"]
    assert isinstance(old, Array)
    kept = [old, copied(old)]
    for each in kept:
        assert not each[...].any(), "nothing is stored yet, and nothing is wrong with that"
    GONE[how](hierarchy)
    before = states(store)
    for each in kept:
        for act in (
            lambda each=each: each[...],
            lambda each=each: each[5, 3],
            lambda each=each: each.read_chunk((0, 0)),
            lambda each=each: each.__setitem__((slice(0, 2), slice(0, 2)), 7),
            lambda each=each: each.__setitem__(..., 7),
        ):
            with pytest.raises((NotFound, Conflict), match="since"):
                act()
    assert states(store) == before


@pytest.mark.parametrize("codecs", [[], ["gzip"]])
def test_a_chunk_of_another_array_is_not_taken_for_a_damaged_one(codecs: list[str], store: Store) -> None:
    """The advice was to restore the chunk from a copy."""
    hierarchy = zarrscope.open(store, "w-")
    made: dict[str, Any] = {"shape": (8, 8), "chunks": (4, 4), "dtype": "u2"}
    hierarchy.create_array("/a", codecs=codecs, **made)[...] = 1
    old = as_array(zarrscope.open(store)["/a"])
    assert old[0, 0] == 1
    hierarchy.erase("/a")
    hierarchy.create_array("/a", codecs=["zstd"], **made)[...] = 2
    loader = ChunkLoader(Background())
    for act in (lambda: old[...], lambda: old[1, 1], lambda: old.read_chunk((0, 1))):
        with pytest.raises(Conflict, match="Something else is at /a since"):
            act()
    told = loader._gather(old, [(0, 0), (1, 1)])
    assert all(isinstance(each.error, Conflict) for each in told)
    store.set("a/c/0/0", b"damaged")
    with pytest.raises(BadChunk, match="Chunk"):
        as_array(zarrscope.open(store)["/a"])[...]


@every
def test_attributes_and_growth_leave_it_the_array_it_was(name: str, store: Store) -> None:
    hierarchy = zarrscope.open(store, "w-", dialect=name)
    old = an_array(hierarchy, "/a")
    again = copied(old)
    document = hierarchy.document("/a")
    hierarchy.save("/a", document.set(f"{attributes_pointer(hierarchy, '/a')}/note", [1, 2]))
    found = zarrscope.open(store, "r+", dialect=name)["/a"]
    assert isinstance(found, Array)
    found.resize((20, 20))
    for i, each in enumerate((old, again)):
        assert (each[...] == i).all()
        each[...] = i + 1
    assert (as_array(zarrscope.open(store)["/a"])[:7, :11] == 2).all()


@pytest.mark.parametrize("shards", [None, (6, 8)])
def test_viewers_are_told(shards: tuple[int, ...] | None, store: Store) -> None:
    hierarchy = zarrscope.open(store, "w-")
    an_array(hierarchy, "/a", shards=shards, shape=(12, 16))
    array = zarrscope.open(store)["/a"]
    assert isinstance(array, Array)
    loader = ChunkLoader(Background())
    units = [(0, 0), (1, 1), (3, 3)]
    assert {each.state for each in loader._gather(array, units)} == {FILL}
    loader.invalidate(array)
    store.erase_prefix("a/")
    told = loader._gather(array, units)
    assert {each.state for each in told} == {FAILED}
    assert all(isinstance(each.error, NotFound) for each in told)
    chunks.shared().invalidate(array)
    with pytest.raises(NotFound):
        np.asarray(LazyView(array)[0])


def test_one_chunk_that_is_there_is_enough(store: Store) -> None:
    """If a read finds a chunk, no further request is made to check that the array exists."""
    hierarchy = zarrscope.open(store, "w-")
    an_array(hierarchy, "/a")[0:1, 0:1] = 5
    counting = Counting(store)
    array = zarrscope.open(counting)["/a"]
    assert isinstance(array, Array)
    counting.reset()
    assert array[...].sum() == 5
    assert not [key for _, key in counting.keys if key.endswith("zarr.json")]
    assert not array[4:].any()
    assert [key for _, key in counting.keys if key.endswith("zarr.json")] == ["a/zarr.json"], "once per read"


def test_a_write_looks_at_the_document_once() -> None:
    counting = Counting(MemoryStore())
    array = an_array(zarrscope.open(counting, "w-"), "/a")
    array[...] = 1
    counting.reset()
    array[...] = 2
    assert [key for _, key in counting.keys].count("a/zarr.json") == 1


def test_the_first_write_far_away_needs_no_look_at_a_new_array(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zarrscope.nodes.opened.PAUSE", 1e6)
    counting = Counting(MemoryStore())
    counting.remote = True
    hierarchy = zarrscope.open(counting, "w-")
    array = an_array(hierarchy, "/a")
    opened = array._stored.opened
    assert opened is not None
    opened.note_creation(1e6)  # as if it had taken long to read the document, so that no time passes here

    def looks(act: Callable[[], object]) -> int:
        counting.reset()
        act()
        return [key for _, key in counting.keys].count("a/zarr.json")

    assert looks(lambda: array.__setitem__(..., 1)) == 0
    assert (as_array(zarrscope.open(counting.store)["/a"])[...] == 1).all()
    elsewhere = copied(array)._stored.opened
    assert elsewhere is not None
    assert elsewhere._created is None, "another process knows nothing of the creation"
    opened.note_creation(0.0)
    assert looks(lambda: array.__setitem__(..., 3)) == 1, "the creation is too long ago"
    opened.note_creation(1e6)
    hierarchy.create_group("/other")
    assert looks(lambda: array.__setitem__(..., 4)) == 1, "something has changed since"


@pytest.mark.parametrize("how", GONE)
def test_a_new_array_that_was_replaced_at_once_is_not_written(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zarrscope.nodes.opened.PAUSE", 1e6)
    counting = Counting(MemoryStore())
    counting.remote = True
    hierarchy = zarrscope.open(counting, "w-")
    array = an_array(hierarchy, "/a")
    assert array._stored.opened is not None
    array._stored.opened.note_creation(1e6)
    GONE[how](hierarchy)
    before = states(counting)
    with pytest.raises((NotFound, Conflict), match="since"):
        array[...] = 7
    assert states(counting) == before


def test_another_process_that_holds_the_array_notices(tmp_path: Path) -> None:
    hierarchy = zarrscope.open(tmp_path / "x", "w-")
    array = an_array(hierarchy, "/a")
    array[...] = 3
    (tmp_path / "pickled").write_bytes(pickle.dumps(array))
    code = """
        import pickle, sys
        array = pickle.load(open(sys.argv[1], "rb"))
        print(int(array[...].sum()), flush=True)
        sys.stdin.readline()
        for act in (lambda: array[...], lambda: array.__setitem__(..., 9)):
            try:
                act()
            except Exception as error:
                print(type(error).__name__, error.message, flush=True)
        """
    import textwrap

    arguments = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "pickled")]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == f"{3 * 77}\n"
        shutil.rmtree(tmp_path / "x/a")
        out, _ = other.communicate("go\n")
    assert out.splitlines() == ["NotFound The array /a was erased since it was opened"] * 2
    assert not (tmp_path / "x/a").exists()


def test_far_away_too_and_no_more_often_than_needed() -> None:
    made = zarrscope.open(MemoryStore(), "w-")
    an_array(made, "/a")
    values = {key: made.store.get(key) or b"" for key in made.store.list()}
    with web_server(values) as server:
        array = zarrscope.open(server.url)["/a"]
        assert isinstance(array, Array)
        for _ in range(3):
            assert not array[...].any()
        assert [key for key, _ in server.asked].count("a/zarr.json") == 2, "opened, and looked at once"
        del values["a/zarr.json"]
        not_none(array._stored.opened)._until = 0.0
        with pytest.raises(NotFound, match="erased"):
            array[...]


def test_an_array_that_only_a_copy_tells_of_reads_as_it_did() -> None:
    made = zarrscope.open(MemoryStore(), "w-", dialect="v2")
    an_array(made, "/a")
    made.consolidate()
    made.store.erase_values(["a/.zarray", "a/.zattrs"])
    for opened in (zarrscope.open(made.store), zarrscope.open(made.store, "r+")):
        array = as_array(opened["/a"])
        assert isinstance(array, Array)
        assert not array[...].any()
        assert not copied(array)[...].any()
    with pytest.raises(ZarrscopeError):
        array[...] = 1


def test_every_dialect_is_here() -> None:
    assert len(NAMES) == 7


@pytest.mark.parametrize("dialect", ["v2", "v3", "n5"])
def test_a_group_that_others_erased_is_not_an_empty_one(store: Store, dialect: str) -> None:
    hierarchy = zarrscope.open(store, "w-", dialect=dialect)
    hierarchy.create_group("/kept")
    group, empty = hierarchy.create_group("/g"), hierarchy.create_group("/empty")
    zarrscope.open(store, "a").erase("/g")
    assert [*empty.children()] == [*empty.list_names()] == []
    for listing in (group.children, group.list_names):
        with pytest.raises(NotFound, match="There is no node /g") as found:
            [*listing()]
        assert "/ holds empty, kept" in str(found.value)
    assert [*group.children(lambda: True)] == [], "a cancelled listing tells nothing"
