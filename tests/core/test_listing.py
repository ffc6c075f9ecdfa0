"""Children of groups are the same whether the store lists one level or all keys, and documents are parsed only when
needed.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import zarrscope
from narrowing import as_group
from zarrscope.model.metadata import ArrayMetadata
from zarrscope.nodes.context import NodeContext
from zarrscope.nodes.hierarchy import Group
from zarrscope.stores import object_listings
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.obstore_store import ObstoreStore
from zarrscope.stores.store import Store

DIALECTS = ["v3", "v2", "n5", "draft-2022-05", "draft-2020"]
JSON = {"v3": "zarr.json", "v2": ".zarray", "n5": "attributes.json"}


def mess(store: Store, dialect: str) -> None:
    """Fills a store like a real folder, with broken documents, other files and odd names."""
    made = zarrscope.open(store, "w-", dialect=dialect)
    for name in ("a", "b", "broken", "number"):
        made.create_array(f"/{name}", shape=(4, 6), dtype="uint16", attributes={"who": name})
    made.create_group("/group", {"who": "group"})
    made.create_array("/group/inner", shape=(3,), dtype="float32")
    store.set("notes/readme.txt", b"nothing")
    store.set("readme.txt", b"nothing")
    if dialect in JSON:
        key = JSON[dialect]
        store.set(f"broken/{key}", b'{"node_type": "array", "zarr_format": 3')
        shaped = json.loads(store.get(f"number/{key}") or b"")
        name = "dimensions" if dialect == "n5" else "shape"
        store.set(f"number/{key}", json.dumps({**shaped, name: "many"}).encode())
        store.set(f"listed/{key}", b"[1, 2]")
        made.create_array("/implicit/inner", shape=(3,), dtype="float32")
        store.erase(f"implicit/{'.zgroup' if dialect == 'v2' else key}")
    if dialect == "v2":
        store.set("attributes/.zattrs", b"{}")
        store.set("a/.zattrs", b"[]")


def listed(store: Store) -> dict[str, Any]:
    root = zarrscope.open(store).root
    assert isinstance(root, Group)
    found = {}
    for child in root.children():
        shape = child.metadata.shape if isinstance(child.metadata, ArrayMetadata) else None
        found[child.name] = (child.kind, shape, type(child.error), child.error and child.error.key)
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_survey_finds_what_a_listing_finds(dialect: str, tmp_path: Path) -> None:
    memory, local = MemoryStore(), LocalStore(tmp_path / "x")
    for store in (memory, local):
        mess(store, dialect)
    expected = listed(memory)
    if dialect == "v2":  # a listing of keys does not read attributes; a child that is opened reads its own
        assert expected["a"] == ("array", (4, 6), type(None), None)
        expected["a"] = ("array", (4, 6), zarrscope.BadMetadata, "a/.zattrs")
    assert listed(local) == expected
    assert expected["b"][0] == "array"
    assert expected["group"][0] == "group"
    if dialect in JSON:
        assert expected["number"] == ("array", (), zarrscope.BadMetadata, f"number/{JSON[dialect]}")
        assert expected["broken"][2] is expected["listed"][2] is zarrscope.BadMetadata
        assert expected["implicit"][0] == "group"
        assert ("notes" in expected) == (dialect == "n5")


@pytest.mark.parametrize("dialect", ["v3", "v2", "n5"])
@pytest.mark.parametrize("local", [True, False])
def test_documents_are_parsed_when_somebody_asks(
    dialect: str, local: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store: Store = LocalStore(tmp_path / "x") if local else MemoryStore()
    made = zarrscope.open(store, "w-", dialect=dialect)
    for i in range(100):
        made.create_array(f"/a{i}", shape=(4, i + 1), dtype="uint16")
    root = zarrscope.open(store).root
    assert isinstance(root, Group)
    parsed: list[str] = []
    whole = NodeContext.parsed

    def counting(self: NodeContext, path: str, documents: Any) -> Any:
        parsed.append(path)
        return whole(self, path, documents)

    monkeypatch.setattr(NodeContext, "parsed", counting)
    children = list(root.children())
    assert {child.kind for child in children} == {"array"}
    assert parsed == []
    for _ in range(2):
        assert isinstance(children[7].metadata, ArrayMetadata)
        assert children[7].error is None
    assert parsed == [f"/{children[7].name}"]


def test_what_is_gone_when_it_is_looked_at_says_so(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "x")
    made = zarrscope.open(store, "w-", dialect="v2")
    made.create_array("/a", shape=(4,), dtype="uint16")
    (child,) = as_group(zarrscope.open(store).root).children()
    made.erase("/a")
    assert (child.name, child.kind) == ("a", "array")
    assert isinstance(child.error, zarrscope.NotFound)
    assert child.metadata is None


def test_names_alone_tell_the_kinds_of_v2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LocalStore(tmp_path / "x")
    made = zarrscope.open(store, "w-", dialect="v2")
    made.create_array("/a", shape=(4,), dtype="uint16")
    made.create_group("/g")
    root = zarrscope.open(store).root
    read: list[str] = []
    monkeypatch.setattr(LocalStore, "_get", lambda self, key, part: read.append(key))
    monkeypatch.setattr(LocalStore, "_read", lambda self, *place: read.append(str(place)))
    assert {child.name: child.kind for child in as_group(root).children()} == {"a": "array", "g": "group"}
    assert read == []


class SlowLevels:
    """obstore, whose listing of one level takes many pages and ends only when `gate` is set."""

    def __init__(self, gate: threading.Event) -> None:
        import obstore

        self._own, self.gate, self.cancelled = obstore, gate, threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    async def list_with_delimiter_async(self, *asked: Any) -> Any:
        try:
            while not self.gate.is_set():
                await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return await self._own.list_with_delimiter_async(*asked)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A store with 1,500 names in a bucket, and the gate in front of its listings."""
    obstore_store = pytest.importorskip("obstore.store")
    monkeypatch.setattr(object_listings, "LONG_LISTING_SECONDS", 0.01)
    store: Any = ObstoreStore(obstore_store.MemoryStore())
    for i in range(1500):
        store.set(f"g/n{i:04d}/zarr.json", b"{}")
    store._obstore = SlowLevels(threading.Event())
    return store


def test_the_first_names_of_a_bucket_come_before_the_last_page(bucket: Any) -> None:
    found = bucket.list_dir("g/")
    first = [next(found).name for _ in range(500)]
    bucket._obstore.gate.set()
    rest = [entry.name for entry in found]
    assert sorted([*first, *rest]) == [f"n{i:04d}" for i in range(1500)]


def test_a_listing_of_a_bucket_that_is_given_up_asks_no_more(bucket: Any) -> None:
    found = bucket.list_dir("g/")
    assert next(found).is_prefix
    found.close()
    assert bucket._obstore.cancelled.wait(20)


NODES = f"{os.sep}zarrscope{os.sep}nodes{os.sep}"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("local", [True, False], ids=["folder", "memory"])
def test_expanding_a_group_enters_listing_once(dialect: str, local: bool, tmp_path: Path) -> None:
    """On no call stack is listing.py entered a second time through another module of nodes."""
    store = LocalStore(str(tmp_path), writable=True) if local else MemoryStore()
    mess(store, dialect)
    root = zarrscope.open(store, dialect=dialect)["/"]
    assert isinstance(root, Group)
    entered: set[tuple[str, ...]] = set()

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not frame.f_code.co_filename.endswith(f"{NODES}listing.py"):
            return
        modules: list[str] = []
        at: FrameType | None = frame
        while at is not None:
            folder, _, name = at.f_code.co_filename.rpartition(os.sep)
            if f"{folder}{os.sep}".endswith(NODES) and (not modules or modules[-1] != name):
                modules.append(name)
            at = at.f_back
        entered.add(tuple(modules))

    sys.setprofile(watch)
    try:
        found = [(child.name, child.kind) for child in root.children()]
        names = [child.name for child in root.list_names()]
    finally:
        sys.setprofile(None)
    assert len(found) > 3
    assert len(names) > 3
    assert entered, "the profile saw the calls"
    assert all(modules.count("listing.py") == 1 for modules in entered), entered
