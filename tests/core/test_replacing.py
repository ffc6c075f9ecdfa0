"""A node that is replaced, by a copy or a new node, while the store fails at each of its writes in turn, once or for
good: then the old node or the new one reads whole, at its path or at the place that is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.operations import NAMES
from contracts.places import PLACES, SERVICES, WRITABLE, Place, Services
from narrowing import as_array, as_group
from zarrscope.errors import ZarrscopeError
from zarrscope.nodes import move, trash
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope.nodes.overwrite import COPIED_ASIDE, ERASED_FIRST, caution
from zarrscope.stores.address import open_store
from zarrscope.stores.mapping import MappingStore
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import FaultRule, Faults

WRITES = ("set", "erase", "erase_prefix", "rename", "move_prefix")
OLD, NEW = np.arange(4), np.arange(20, 23)
MOST_WRITES = 60

ACTS: dict[str, Callable[[Hierarchy], object]] = {
    "copied over": lambda h: move.copy(h, "/b", "/g/a", replace=True),
    "created again": lambda h: h.create_array("/g/a", data=NEW, chunks=2, attributes={"old": 0}, overwrite=True),
}


def filled(store: Store, dialect: str = "v3") -> None:
    made = zarrscope.open(store, "w-", dialect=dialect)
    trash.empty(made)
    made.create_group("/g")
    made.create_array("/g/a", data=OLD, chunks=2, attributes={"old": 1})
    made.create_array("/b", data=NEW, chunks=2, attributes={"old": 0})


def whole(h: Hierarchy, path: str) -> str:
    """Whether the node is whole, and which one it is."""
    try:
        array = as_array(h[path])
        values: list[Any] = [array.attributes.get("old"), *array[...]]
    except (ZarrscopeError, AssertionError):
        return ""
    return "old" if values == [1, *OLD] else "new" if values == [0, *NEW] else ""


def check(make: Callable[[], Store], act: Callable[[Hierarchy], object], *, lasting: bool, dialect: str) -> None:
    for n in range(MOST_WRITES):
        store = make()
        filled(store, dialect)
        rule = FaultRule(matches=lambda operation, _: operation in WRITES, skip=n, times=None if lasting else 1)
        faulty = Faults(store, rule)
        told = ""
        try:
            act(zarrscope.open(faulty, "r+"))
        except ZarrscopeError as error:
            told = str(error)
        h = zarrscope.open(store, "r+")
        now = whole(h, "/g/a")
        beside = {path: whole(h, f"/g/{path}") for path in as_group(h["/g"]) if path != "a"}
        if not told and not beside:
            assert now == "new"
            if faulty._seen.total() <= n:  # no write was left to fail
                return
            continue
        thrown = trash.entries(h) if trash.available(h) else ()
        for each in thrown:
            trash.restore(h, each.id, "/kept")
            beside[each.id] = whole(h, "/kept")
        if not lasting:
            assert now, f"write {n}: {told}"
        elif not now:
            (place,) = beside
            assert beside[place] == "old", f"write {n}: {told}"
            assert place in told, "the person is told where the old node is"
    raise AssertionError("it never ends")


@pytest.fixture(scope="module")
def place(
    request: pytest.FixtureRequest, services: Services, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    with PLACES[request.param](tmp_path_factory.mktemp("place"), services, {}) as found:
        yield found


CASES = [(name, act) for name in WRITABLE for act in ACTS if name not in SERVICES or act == "copied over"]
"""Both acts put the old node aside alike, and a service takes long for each write."""


@pytest.mark.parametrize(("place", "act"), CASES, indirect=["place"], scope="module")
@pytest.mark.parametrize("lasting", [False, True], ids=["fails once", "fails for good"])
def test_the_old_node_or_the_new_one_is_whole(place: Place, act: str, lasting: bool) -> None:
    store = place.opened("a")

    def emptied() -> Store:
        store.erase_prefix("")
        return store

    try:
        check(emptied, ACTS[act], lasting=lasting, dialect="v3")
    finally:
        store.erase_prefix("")
        store.close()


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize("act", list(ACTS))
@pytest.mark.parametrize("renames", [True, False], ids=["renamed", "copied"])
def test_in_every_format_too(dialect: str, act: str, renames: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not renames:
        monkeypatch.setattr(MemoryStore, "_rename_within", lambda *_: False)
    for lasting in (False, True):
        check(MemoryStore, ACTS[act], lasting=lasting, dialect=dialect)


def test_a_plan_says_what_replacing_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert caution(MemoryStore()) == ()
    assert caution(open_store(str(tmp_path / "x.zarr"), "w-")) == ()
    assert caution(MappingStore({})) == (COPIED_ASIDE,)
    monkeypatch.setattr(MappingStore, "listable", False)
    assert caution(MappingStore({})) == (ERASED_FIRST,)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_copy_brings_the_old_node_back(stop: type[BaseException], monkeypatch: Any) -> None:
    store = MemoryStore()
    filled(store)
    before = {key: store.get(key) for key in store.list()}
    put = MemoryStore._put

    def interrupted(self: MemoryStore, key: str, parts: Any) -> None:
        if key == "g/a/c/1":
            monkeypatch.setattr(MemoryStore, "_put", put)
            raise stop
        put(self, key, parts)

    monkeypatch.setattr(MemoryStore, "_put", interrupted)
    with pytest.raises(stop):
        move.copy(zarrscope.open(store, "r+"), "/b", "/g/a", replace=True)
    assert {key: store.get(key) for key in store.list()} == before


def test_consolidated_metadata_name_the_node_that_is_there() -> None:
    store = MemoryStore()
    filled(store)
    h = zarrscope.open(store, "r+")
    h.consolidate()
    move.copy(h, "/b", "/g/a", replace=True)
    assert zarrscope.open(store)["/g/a"].attributes == {"old": 0}
    faulty = Faults(store, FaultRule(matches=lambda _, key: key == "b/c/1", times=1))
    h.create_array("/b", data=OLD, chunks=2, attributes={"old": 1}, overwrite=True)
    with pytest.raises(ZarrscopeError):
        zarrscope.open(faulty, "r+").create_array("/b", data=NEW, chunks=2, attributes={"old": 0}, overwrite=True)
    assert zarrscope.open(store)["/b"].attributes == {"old": 1}
    assert sorted(as_group(zarrscope.open(store).root).keys()) == ["b", "g"]
