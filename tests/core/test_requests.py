"""The number of requests that each action sends to the store, in every dialect (reference.md A.14). Concurrent requests
count as one round.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope.dialects import DIALECTS, PROBES
from zarrscope.model.metadata import CodecSpec, Configuration
from zarrscope.model.storage import Entry
from zarrscope.nodes.consolidated_metadata import KeyTree
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import Counting, FaultRule, Faults

DRAFTS = [dialect.name for dialect in DIALECTS if dialect.name.startswith("draft")]
WRITTEN = [*DRAFTS, "v3", "v2", "n5"]
BYTES = [CodecSpec("bytes", Configuration({"endian": "big"}))]
NODES = {
    "/empty": "array",
    "/g": "group",
    "/g/deep": "group",
    "/g/deep/er": "group",
    "/g/deep/er/b2": "array",
    "/g/deep/er/b10": "array",
    "/g/plain": "array",
}


class Rounds(Counting):
    """Also counts round trips; concurrent requests are one round trip."""

    rounds = 0

    def _get_many(
        self, requests: Sequence[Any], cancelled: Callable[[], bool], limit: int | None = None
    ) -> Iterator[Any]:
        self.rounds += bool(requests)
        return super()._get_many(requests, cancelled, limit)

    def asked(self, act: Callable[[], Any]) -> tuple[dict[str, int], int, Any]:
        """The requests by operation, the rounds of gets, and the result of `act`."""
        self.reset()
        self.rounds = 0
        value = act()
        return dict(self.requests), self.rounds, value


def example(dialect: str) -> Rounds:
    """A store with `NODES`. The drafts have no document for /g/deep and /g/deep/er, which are implied by keys beneath
    them."""
    memory = MemoryStore()
    h = zarrscope.open(memory, "w-", dialect=dialect)
    h.create_group("/g")
    for name in ("/g/plain", "/empty", "/g/deep/er/b10", "/g/deep/er/b2"):
        h.create_array(name, shape=(4, 6), dtype="u1", chunks=(2, 3), codecs=BYTES)[...] = 7
    if dialect in DRAFTS:
        for path in ("/g/deep", "/g/deep/er"):
            (key,) = h.dialect.documents(path, "group")
            memory.erase(key)
    return Rounds(memory)


@pytest.mark.parametrize("dialect", WRITTEN)
def test_a_hierarchy_opens_with_the_probes_in_one_round(dialect: str) -> None:
    store = example(dialect)
    requests, rounds, h = store.asked(lambda: zarrscope.open(store))
    assert h.dialect.name == dialect
    later = {  # documents of the root that detection does not read take another round
        "draft-2022-05": [2],
        "draft-2020": [4],
        "draft-2019-06": [2],
        "draft-2019-05": [3],  # which tell the dialect
    }.get(dialect, [])
    assert requests == {"get": len(PROBES) + sum(later)}
    assert rounds == 1 + len(later)
    assert store.asked(lambda: h.root)[0] == {}


@pytest.mark.parametrize(
    ("dialect", "gets", "rounds"),
    [("v3", 3, 1), ("v2 consolidated", 3, 1), ("v2", 6, 2), ("n5", 6, 2), ("draft-2022-05", 3 + 2, 2)],
)
def test_far_away_the_first_answers_tell_whether_others_are_worth_asking(dialect: str, gets: int, rounds: int) -> None:
    store = example(dialect.partition(" ")[0])
    if dialect.endswith("consolidated"):
        zarrscope.open(store, "r+").consolidate()
    store.remote = True
    requests, asked, h = store.asked(lambda: zarrscope.open(store))
    assert (requests, asked) == ({"get": gets}, rounds)
    assert store.asked(lambda: h.root)[0] == {}
    assert h.dialect.name == dialect.partition(" ")[0]


def test_an_address_that_ends_in_n5_is_asked_for_n5_first() -> None:
    store = example("n5")
    store.remote = True
    store.url = "https://somewhere/x.n5"
    requests, rounds, h = store.asked(lambda: zarrscope.open(store))
    assert (requests, rounds, h.dialect.name) == ({"get": 3}, 1, "n5")


def test_a_web_page_in_place_of_a_document_does_not_end_the_search() -> None:
    store = example("v2")
    store.set("zarr.json", b"<!DOCTYPE html>")
    store.remote = True
    assert zarrscope.open(store).dialect.name == "v2"
    assert zarrscope.open(store, consolidated=False).root.attributes == {}


@pytest.mark.parametrize("copied", [False, True])
def test_kinds_of_a_group_of_two_hundred_far_away(copied: bool) -> None:
    """Opening takes one listing and then concurrent requests for documents; with consolidated metadata only the
    opening."""
    memory = MemoryStore()
    made = zarrscope.open(memory, "w-")
    for i in range(200):
        made.create_array(f"/a{i}", shape=(4,), dtype="u1")
    if copied:
        made.consolidate()
    store = Rounds(memory)
    store.remote = True
    requests, rounds, h = store.asked(lambda: zarrscope.open(store))
    assert (requests, rounds) == ({"get": 3}, 1)
    requests, rounds, names = store.asked(lambda: [*h.root.list_names()])
    assert (len(names), rounds, requests) == (200, 0, {} if copied else {"list_dir": 1})
    requests, rounds, kinds = store.asked(lambda: [child.kind for child in h.root.inspect(names)])
    assert kinds == ["array"] * 200
    assert (requests, rounds) == (({}, 0) if copied else ({"get": 200}, 4))


@pytest.mark.parametrize("dialect", WRITTEN)
def test_a_node_costs_one_round_and_a_known_array_its_own_documents(dialect: str) -> None:
    store = example(dialect)
    h = zarrscope.open(store)
    gets = {"v3": 1, "n5": 1, "v2": 3}.get(dialect, 2)
    requests, rounds, node = store.asked(lambda: h["/g/plain"])
    assert (requests, rounds, node.kind) == ({"get": gets}, 1, "array")
    requests, rounds, node = store.asked(lambda: h.open_node("/g/plain", "array"))
    assert (requests, rounds, node.kind) == ({"get": 2 if dialect == "v2" else 1}, 1, "array")


@pytest.mark.parametrize("dialect", DRAFTS)
def test_existence_is_asked_in_the_order_of_the_drafts(dialect: str) -> None:
    """Array and group documents are requested concurrently; if both are missing, one listing follows."""
    store = example(dialect)
    h = zarrscope.open(store)
    requests, rounds, node = store.asked(lambda: h["/g/deep"])
    assert (requests, rounds, node.kind, node.metadata.implicit) == ({"get": 2, "list_dir": 1}, 1, "group", True)
    assert store.asked(lambda: "/nowhere" in h)[::2] == ({"get": 2, "list_dir": 1}, False)


@pytest.mark.parametrize("dialect", WRITTEN)
def test_children_with_kinds_cost_one_listing_and_at_most_their_documents(dialect: str) -> None:
    store = example(dialect)
    g = zarrscope.open(store)["/g"]
    assert isinstance(g, zarrscope.Group)
    requests, rounds, children = store.asked(lambda: {child.name: child.kind for child in g.children()})
    assert children == {"plain": "array", "deep": "group"}
    gets = {"v3": 2, "n5": 2, "v2": 2 * 2}.get(dialect, 0)
    assert requests == {"list_dir": 1, **({"get": gets} if gets else {})}
    assert rounds == (1 if gets else 0)


@pytest.mark.parametrize("dialect", WRITTEN)
def test_the_whole_tree(dialect: str) -> None:
    """In the drafts one list_prefix gives all kinds without documents; in other dialects each group is listed once."""
    store = example(dialect)
    h = zarrscope.open(store)
    requests, rounds, found = store.asked(lambda: [*h.walk()])
    assert [(path, child.kind) for path, child in found] == [*NODES.items()]
    assert all(child.error is None and path.endswith("/" + child.name) for path, child in found)
    groups = 1 + list(NODES.values()).count("group")
    if dialect in DRAFTS:
        assert requests == {"list_prefix": 1}
    else:
        assert requests == {"list_dir": groups, "get": len(NODES) * (2 if dialect == "v2" else 1)}
        assert rounds == groups
    beneath = {path: kind for path, kind in NODES.items() if path.startswith("/g/deep/")}
    requests, _, found = store.asked(lambda: [*h.walk("/g/deep")])
    assert {path: child.kind for path, child in found} == beneath
    assert requests.get("list_prefix", 0) == (dialect in DRAFTS)


@pytest.mark.parametrize("dialect", DRAFTS)
def test_the_tree_is_that_of_the_levels(dialect: str) -> None:
    """An array and a group of one name, names that end like documents, and the root's own documents."""
    memory = MemoryStore()
    h = zarrscope.open(memory, "w-", dialect=dialect)
    h.create_array("/both", shape=(2,), dtype="u1")
    h.create_array("/x/y", shape=(2,), dtype="u1")
    array, group = (
        memory.get(h.dialect.documents("/both", "array")[0]),
        memory.get(h.dialect.documents("/x", "group")[0]),
    )
    for path, kind, value in (
        ("/both", "group", group),
        ("/both/beneath", "array", array),
        ("/x.array/y", "array", array),
        ("/x.group", "group", group),
    ):
        memory.set(h.dialect.documents(path, kind)[0], value or b"")  # type: ignore[arg-type]  # a kind of node

    def levels(path: str) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for child in h.children(path):
            where = f"{path.rstrip('/')}/{child.name}"
            found[where] = child.kind
            if child.kind == "group":
                found |= levels(where)
        return found

    walked = {path: child.kind for path, child in h.walk()}
    assert walked == levels("/")
    assert walked["/both"] == "array"
    assert walked["/x.array/y"] == "array"


def test_a_consolidated_copy_far_away_is_walked_without_a_request() -> None:
    memory = MemoryStore()
    h = zarrscope.open(memory, "w-", dialect="draft-2020")
    h.create_array("/g/a", shape=(2,), dtype="u1")
    documents = {key: json.loads(memory.get(key) or b"") for key in memory.list_prefix("meta/")}
    memory.set("meta/root/consolidated/.zmetadata", json.dumps({"metadata": documents}).encode())
    store = Rounds(memory)
    store.remote = True
    h = zarrscope.open(store)
    assert h.consolidated
    requests, _, found = store.asked(lambda: {path: child.kind for path, child in h.walk()})
    assert (requests, found) == ({}, {"/g": "group", "/g/a": "array"})


@pytest.mark.parametrize("dialect", WRITTEN)
def test_one_chunk_is_one_request(dialect: str) -> None:
    store = example(dialect)
    plain = zarrscope.open(store)["/g/plain"]
    assert isinstance(plain, zarrscope.Array)
    requests, _, values = store.asked(lambda: plain[0:2, 0:3])
    assert requests == {"get": 1}
    np.testing.assert_array_equal(values, np.full((2, 3), 7))


@pytest.mark.parametrize("dialect", ["v3", "draft-2020", "draft-2022-05"])
def test_one_inner_chunk_of_a_shard_is_two_ranges(dialect: str) -> None:
    memory = MemoryStore()
    h = zarrscope.open(memory, "w-", dialect=dialect)
    values = np.arange(64 * 64, dtype="u1").reshape(64, 64)
    h.create_array("/s", shape=(64, 64), dtype="u1", chunks=(8, 8), shards=(64, 64), codecs=BYTES)[...] = values
    store = Rounds(memory)
    array = zarrscope.open(store)["/s"]
    assert isinstance(array, zarrscope.Array)
    requests, _, found = store.asked(lambda: array[8:16, 8:16])
    assert requests == {"get": 2}
    assert store.read < values.nbytes
    np.testing.assert_array_equal(found, values[8:16, 8:16])


# ---------------------------------------------------------------------------------------------- walking goes on
@pytest.mark.parametrize("dialect", ["draft-2020", "v3"])
def test_a_folder_that_cannot_be_read_hides_only_itself(dialect: str) -> None:
    inner = example(dialect)
    prefix = zarrscope.open(inner).dialect.listing("/g/deep/er")
    broken = FaultRule(
        matches=lambda operation, key: operation == "list_prefix" or (operation, key) == ("list_dir", prefix)
    )
    h = zarrscope.open(Faults(inner, broken))
    found = dict(h.walk())
    assert {path: child.kind for path, child in found.items()} == {
        path: kind for path, kind in NODES.items() if not path.startswith("/g/deep/er/")
    }
    assert [path for path, child in found.items() if child.error is not None] == ["/g/deep/er"]
    assert isinstance(found["/g/deep/er"].error, zarrscope.Unreadable)


@pytest.mark.parametrize("dialect", WRITTEN)
def test_a_walk_ends_when_it_is_cancelled(dialect: str) -> None:
    store = example(dialect)
    h = zarrscope.open(store)
    seen: list[str] = []
    for path, _ in h.walk(cancelled=lambda: len(seen) == 2):
        seen.append(path)
    assert len(seen) == 2
    assert store.asked(lambda: [*h.walk(cancelled=lambda: True)])[2] == []


def test_keys_list_as_a_store_does() -> None:
    keys = ["a", "b/c", "b/d/e", "b/d/f/g", "h.i", "h.i/j"]
    store: Store = MemoryStore()
    for key in keys:
        store.set(key, b"")
    at_hand = KeyTree(keys)
    for prefix in ("", "b/", "b/d/", "b/d/f/", "h.i/", "none/"):
        assert {*at_hand.list_dir(prefix)} == {Entry(e.name, e.is_prefix) for e in store.list_dir(prefix)}


@pytest.mark.parametrize("dialect", DRAFTS)
def test_who_goes_through_a_whole_hierarchy_lists_it_once(dialect: str) -> None:
    from zarrscope.check.diff import diff
    from zarrscope.check.hierarchy import check
    from zarrscope.convert import plan

    store = example(dialect)
    h = zarrscope.open(store)
    acts: tuple[Callable[[], Any], ...] = (
        lambda: [*check(h, chunks=False)],
        lambda: [*diff(h, zarrscope.open(example(dialect)))],
        lambda: plan(h, MemoryStore(), "v3"),
    )
    for act in acts:
        store.asked(act)
        # check also looks for chunks whose array lost its document, which is another listing
        assert store.keys["list_prefix", h.dialect.listing("/")] == 1
        assert not [key for path in ("/", "/g") if store.keys[key := ("list_dir", h.dialect.listing(path))]]
