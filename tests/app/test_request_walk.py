"""The requests of a walk: open a store, expand its root, show an array, look at each tab, leave it and come back.

Every request that is sent is listed here with its reason (reference.md A.14); nothing is asked for twice.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any
from urllib.parse import unquote

import pytest

import servers
import zarrscope
from contracts.http_server import WebServer, web_server
from narrowing import as_array
from zarrscope.runtime.threads import Background, Mailbox
from zarrscope.stores.memory import MemoryStore
from zarrscope.view.loader import ChunkLoader
from zarrscope_app.presenters import EditStatus, Session, SessionStatus

SHAPE, CHUNKS = (4, 64, 64), (1, 16, 16)
FIRST_BYTE = " bytes=0-0"
PATIENCE = 60.0


def example(dialect: str) -> MemoryStore:
    """A group, an array with one plane of values, and an array of which no chunk is stored."""
    store = MemoryStore()
    made = zarrscope.open(store, "w-", dialect=dialect)
    made.create_group("/g")
    shards = (2, 32, 32) if dialect == "v3" else None
    array = made.create_array("/a", shape=SHAPE, dtype="u2", chunks=CHUNKS, attributes={"x": 1}, shards=shards)
    array[0] = 5
    made.create_array("/b", shape=(4,), dtype="u2")
    return store


class Walk:
    """A session whose requests are counted step by step; `asked` grows with each request."""

    def __init__(self, url: str, asked: Callable[[], list[str]], *, writable: bool) -> None:
        self.mailbox, self.background = Mailbox(), Background(4, 1)
        self.loader = ChunkLoader(self.background)
        self._asked, self._counted = asked, 0
        self.session = Session(url, self.mailbox, writable=writable, background=self.background, loader=self.loader)

    def requests(self) -> Counter[str]:
        """The requests since the last call, once nothing more is under way."""
        end = time.monotonic() + PATIENCE
        while self.mailbox.run() or self.session.owner.busy or self.loader._under_way:
            assert time.monotonic() < end, self._asked()[self._counted :]
            time.sleep(0.005)
        assert self.session.state.status is SessionStatus.READY
        told = self._asked()[self._counted :]
        self._counted += len(told)
        return Counter(told)

    def select(self, path: str) -> Counter[str]:
        self.session.select(path)
        return self.requests()

    def look_at(self, tab: str) -> Counter[str]:
        """Brings a tab to the front, and calls what every host calls for it."""
        session = self.session
        session.set_tab(tab)
        while self.mailbox.run():
            pass
        if tab == "image":
            session.slice.fit((64, 64))
        elif tab == "values":
            session.values.cells(0, 0, 8, 8)
        elif tab == "chunks":
            session.chunks.look()
        elif tab == "info":
            session.metadata.load_documents()
            session.metadata.measure()
        assert session.state.tab == tab
        return self.requests()


@contextmanager
def walking(url: str, asked: Callable[[], list[str]], *, writable: bool = False) -> Iterator[Walk]:
    walk = Walk(url, asked, writable=writable)
    try:
        yield walk
    finally:
        walk.session.close()


@contextmanager
def on_the_web(store: MemoryStore) -> Iterator[tuple[Walk, WebServer]]:
    with web_server({key: store.get(key) or b"" for key in store.list()}) as server:

        def asked() -> list[str]:
            with server.changed:
                return [key + (f" {part}" if part else "") for key, part in server.asked]

        with walking(server.url, asked) as walk:
            yield walk, server


OPENED = {
    # a format that is not stated: the first three tell v3 and consolidated v2; the others come in a second round
    "v3": ["zarr.json", ".zmetadata", ".zgroup"],
    "v2": ["zarr.json", ".zmetadata", ".zgroup", ".zarray", ".zattrs", "attributes.json"],
    "n5": ["zarr.json", ".zmetadata", ".zgroup", ".zarray", ".zattrs", "attributes.json"],
}
INDEX = ""
"""The server's page of the root, which may name the children; this one has none."""


def plane(dialect: str, z: int) -> list[str]:
    if dialect == "v3":  # a shard has two planes, and a quarter of each
        return [f"a/c/{z // 2}/{y}/{x}" for y, x in product(range(2), repeat=2)]
    if dialect == "n5":
        return [f"a/{x}/{y}/{z}" for y, x in product(range(4), repeat=2)]
    return [f"a/{z}.{y}.{x}" for y, x in product(range(4), repeat=2)]


DOCUMENTS = {
    "v3": lambda path: [f"{path}/zarr.json"],
    "v2": lambda path: [f"{path}/.zarray", f"{path}/.zgroup", f"{path}/.zattrs"],  # of a node of unknown kind
    "n5": lambda path: [f"{path}/attributes.json"],
}
MISPLACED = {
    # v2 does not say how a foreign writer separates numbers in keys: would there be a chunk under the other key?
    "v2": [f"a/0.0.0{FIRST_BYTE}", f"a/0/0/0{FIRST_BYTE}"]
}
STILL_THERE = {"v3": ["b/zarr.json"], "v2": ["b/.zarray"], "n5": ["b/attributes.json"]}
"""An array without any chunk may have been erased since it was opened: its document is read again."""


@pytest.mark.parametrize("dialect", ["v2", "v3", "n5"])
def test_a_walk_on_a_web_server_asks_for_nothing_twice(dialect: str) -> None:
    with on_the_web(example(dialect)) as (walk, _):
        assert walk.requests() == Counter([*OPENED[dialect], INDEX])
        walk.session.tree.expand(0)
        assert walk.requests() == Counter()
        assert walk.select("/a") == Counter(DOCUMENTS[dialect]("a") + MISPLACED.get(dialect, []))
        assert walk.look_at("image") == Counter(plane(dialect, 0))
        for tab in ("values", "attributes", "info", "problems"):
            assert walk.look_at(tab) == Counter(), tab
        others = {key for z in range(SHAPE[0]) for key in plane(dialect, z)} - {*plane(dialect, 0)}
        assert walk.look_at("chunks") == Counter(key + FIRST_BYTE for key in others)
        stored = len(plane(dialect, 0))
        inventory = walk.session.chunks._inventory
        assert inventory is not None
        assert (inventory.present, inventory.total) == (stored, stored + len(others))
        for tab in ("image", "chunks"):
            assert walk.look_at(tab) == Counter(), tab

        first = {"v3": "b/c/0", "v2": "b/0", "n5": "b/0"}[dialect]
        assert walk.select("/b") == Counter([*DOCUMENTS[dialect]("b"), first, *STILL_THERE[dialect]])
        assert walk.select("/a") == Counter()
        for tab in ("image", "values", "attributes", "chunks", "info", "problems"):
            assert walk.look_at(tab) == Counter(), tab


def test_the_map_of_chunks_asks_again_when_a_person_says_so() -> None:
    with on_the_web(example("v3")) as (walk, server):
        walk.requests()
        walk.select("/a")
        walk.look_at("image")
        assert sum(walk.look_at("chunks").values()) == 4
        store = MemoryStore({**server.values})
        as_array(zarrscope.open(store, "r+")["/a"])[3] = 7
        server.values = {key: store.get(key) or b"" for key in store.list()}
        walk.session.chunks.refresh()
        assert sum(walk.requests().values()) == 8
        inventory = walk.session.chunks._inventory
        assert inventory is not None
        assert (inventory.present, inventory.total) == (8, 8)


def test_the_map_of_chunks_stops_asking_when_its_tab_is_left_and_goes_on_when_it_is_back() -> None:
    store = MemoryStore()
    zarrscope.open(store, "w-").create_array("/a", shape=(50, 40), dtype="u1", chunks=(1, 1))[:30] = 1
    with on_the_web(store) as (walk, server):
        walk.requests()
        walk.select("/a")
        walk.look_at("attributes")
        held = server.held
        server.gate.clear()
        walk.session.set_tab("chunks")
        while walk.mailbox.run():
            pass
        walk.session.chunks.look()
        server.let(300)
        assert server.wait_held(held + 301)
        walk.session.set_tab("attributes")
        while walk.mailbox.run():
            pass
        server.gate.set()
        begun = walk.requests()
        assert sum(begun.values()) < 1900, "all were asked for although nobody looks at the map"
        rest = walk.look_at("chunks")
        assert begun.keys() | rest.keys() >= {f"a/c/{y}/{x}{FIRST_BYTE}" for y in range(50) for x in range(40)}
        # requests that were under way when the tab was left are sent again
        assert sum((begun + rest).values()) <= 2000 + 300
        inventory = walk.session.chunks._inventory
        assert inventory is not None
        assert (inventory.present, inventory.absent, inventory.complete) == (1200, 800, True)


class _Recorder(servers.S3Gate):
    def __init__(self) -> None:
        self.asked: list[str] = []

    def refusal(self, environ: Any) -> None:
        key, query = unquote(environ["PATH_INFO"]), environ.get("QUERY_STRING", "")
        listed = [part.partition("=")[2] for part in query.split("&") if part.startswith("prefix=")]
        self.asked.append(f"list {unquote(listed[0])}" if listed else f"{environ['REQUEST_METHOD']} {key}")


@contextmanager
def in_a_bucket(monkeypatch: pytest.MonkeyPatch, *, writable: bool = False) -> Iterator[tuple[Walk, str]]:
    gate, bucket = _Recorder(), f"walked-{os.urandom(6).hex()}"
    with servers.s3(gate) as url:
        servers.create_bucket(url, bucket)
        for name, value in {
            "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": url
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        place, store = f"s3://{bucket}/x.zarr", example("v3")
        with zarrscope.open(place, "w-") as made:
            for key in store.list():
                made.store.set(key, store.get(key) or b"")
        gate.asked.clear()

        def told() -> list[str]:
            return [each.removeprefix(f"GET /{bucket}/x.zarr/") for each in gate.asked]

        with walking(place, told, writable=writable) as walk:
            yield walk, place


def test_a_walk_in_a_bucket_asks_for_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    with in_a_bucket(monkeypatch) as (walk, _):
        # The tree shows a small group's children with their kinds: one listing, and a document each.
        children = [f"{name}/zarr.json" for name in "abg"]
        assert walk.requests() == Counter([*OPENED["v3"], "list x.zarr/", *children])
        walk.session.tree.expand(0)
        assert walk.requests() == Counter()
        assert walk.select("/a") == Counter(), "its document came with its version"
        assert walk.look_at("image") == Counter(plane("v3", 0))
        for tab in ("values", "attributes", "info", "problems"):
            assert walk.look_at(tab) == Counter(), tab
        assert walk.look_at("chunks") == Counter(["list x.zarr/a/"])
        for tab in ("image", "chunks"):
            assert walk.look_at(tab) == Counter(), tab
        assert walk.select("/b") == Counter(["b/c/0", *STILL_THERE["v3"]])
        assert walk.select("/a") == Counter()
        for tab in ("image", "values", "attributes", "info", "problems"):
            assert walk.look_at(tab) == Counter(), tab
        assert walk.look_at("chunks") == Counter(["list x.zarr/a/"]), "what is stored by now"


def test_the_document_that_came_with_the_node_is_not_saved_over_a_newer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The form is made of the bytes that opened the node, and its version is that of these bytes."""
    with in_a_bucket(monkeypatch, writable=True) as (walk, place):
        session = walk.session
        walk.requests()
        asked = walk.select("/a")
        # Nothing is cached of what may be written: the extensions that documents above and the node's own demand are
        # read after the node. The form is made of the node's document, and asks for nothing.
        assert asked == Counter({"a/zarr.json": 2, "zarr.json": 2})
        with zarrscope.open(place, "r+") as other:
            other["/a"].attrs["x"] = 2
        session.edit.edit("/x", "3")
        session.edit.save()
        walk.mailbox.run_until(lambda: session.edit.state.status is not EditStatus.SAVING, PATIENCE)
        assert session.edit.state.status is EditStatus.CONFLICT
        session.edit.resolve("mine")
        session.edit.save()
        walk.mailbox.run_until(lambda: session.edit.state.status is EditStatus.CLEAN, PATIENCE)
        with zarrscope.open(place) as stored:
            assert stored["/a"].attributes == {"x": 3}
