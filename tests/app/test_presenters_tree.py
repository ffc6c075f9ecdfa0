"""The tree: natural order, filters, and groups of 100,000 children that never block the host."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import heartbeat
from contracts.journeys import Shelf, tree_of_all_kinds
from zarrscope.dialects import Child
from zarrscope.errors import Unsupported
from zarrscope.model.node_path import natural
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.runtime.threads import Mailbox, shared
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.wrappers import Counting
from zarrscope_app.presenters import ROOT, RowState, TreePresenter, strings
from zarrscope_app.presenters.tree.unfolding import ALL, ALL_FAR, ALONE


class Fake:
    """A hierarchy of groups, by path."""

    def __init__(self, groups: dict[str, list[Child]], error: Exception | None = None) -> None:
        self.groups, self.error = groups, error
        self.store, self.consolidated = SimpleNamespace(listable=True, remote=False), False
        self.inspected: list[str] = []

    def __getitem__(self, path: str) -> Any:
        def children(cancelled: Any = None) -> Iterator[Child]:
            if self.error is not None:
                raise self.error
            yield from self.groups[path]

        def inspect(asked: Iterable[Child], cancelled: Any = None) -> Iterator[Child]:
            for child in asked:
                self.inspected.append(child.name)
                yield child

        return SimpleNamespace(kind="group", path=path, attributes={}, list_names=children, inspect=inspect)


def ready(tree: TreePresenter, id: int = ROOT) -> Any:
    return lambda: tree.row(id).state is RowState.READY


def names(tree: TreePresenter) -> list[str]:
    return [row.name for row in tree.flat(0, tree.flat_count)]


def listed(tree: TreePresenter, mailbox: Mailbox, total: int) -> tuple[list[float], list[int]]:
    """Lists a group of `total` children in a host that paints 50 rows after each change: the computing seconds of each
    turn of the host, and the number of rows at each change."""
    children = [Child(f"scan{(i * 7919) % total}", "group") for i in range(total)]
    turns: list[float] = []
    heard: list[int] = []

    def paint(id: int) -> None:
        tree.rows(id, 0, 50)
        tree.count(id)
        tree.flat(0, 50)
        heard.append(tree.count(id))

    tree.changed.connect(paint)
    tree.attach(cast(Hierarchy, Fake({"/": children})), "big")
    while not ready(tree)():
        began = time.thread_time()
        mailbox.run()
        turns.append(time.thread_time() - began)
    mailbox.run()
    return turns, heard


def test_a_hundred_thousand_children_arrive_in_parts(tree: TreePresenter, mailbox: Mailbox) -> None:
    total = 100_000
    _, heard = listed(tree, mailbox, total)
    assert tree.count(ROOT) == total
    assert len(set(heard)) > 3, "rows come while the group is read"
    rows = tree.rows(ROOT, 99_990, 100_000)
    assert [row.name for row in rows] == [f"scan{i}" for i in range(99_990, 100_000)]
    assert all(tree.position(row.id) == 99_990 + i for i, row in enumerate(rows))
    assert tree.find("/scan500") == tree.rows(ROOT, 500, 501)[0].id


@pytest.mark.alone
def test_a_hundred_thousand_children_never_hold_the_host_up(tree: TreePresenter, mailbox: Mailbox) -> None:
    """Computing time in units of this machine's speed; other processes affect single runs, so one of three suffices."""
    longest = []
    for _ in range(3):
        slowness = heartbeat.slowness()
        turns, _ = listed(tree, mailbox, 100_000)
        longest.append(max(turns) / slowness)
        if longest[-1] < 0.016:
            break
    assert min(longest) < 0.016


def test_ids_stay_while_rows_arrive_and_go_with_a_refresh(tree: TreePresenter, mailbox: Mailbox) -> None:
    tree.attach(cast(Hierarchy, Fake({"/": [Child(f"n{i}", "group") for i in range(1000)]})), "x")
    mailbox.run_until(lambda: tree.count(ROOT) > 0)
    first = {row.path: row.id for row in tree.rows(ROOT, 0, 100)}
    mailbox.run_until(ready(tree))
    assert all(tree.find(path) == id and tree.row(id).path == path for path, id in first.items())
    tree.refresh()
    mailbox.run_until(ready(tree))
    with pytest.raises(KeyError):
        tree.row(next(iter(first.values())))


def test_a_filter_keeps_what_lies_above(tree: TreePresenter, mailbox: Mailbox) -> None:
    groups = {
        "/": [Child("alpha", "group"), Child("beta", "group"), Child("gamma", "array")],
        "/beta": [Child("ALPHA2", "array")],
    }
    tree.attach(cast(Hierarchy, Fake(groups)), "x")
    mailbox.run_until(ready(tree))
    beta = tree.find("/beta")
    assert beta is not None
    tree.expand(beta)
    mailbox.run_until(ready(tree, beta))
    tree.filter("alpha")
    assert names(tree) == ["x", "alpha", "beta", "ALPHA2"]
    tree.filter("zzz")
    assert names(tree) == ["x"]
    assert tree.row(ROOT).sentence == strings.NOTHING_FOUND
    tree.filter("beta")
    assert tree.row(beta).sentence == "", "the group itself is the match"
    tree.filter("")
    assert tree.flat_count == 5


def chain(*names: str) -> dict[str, list[Child]]:
    """Nested groups of one child each, with an array in the last."""
    paths = ["/", *(f"/{'/'.join(names[: i + 1])}" for i in range(len(names)))]
    return {path: [Child(name, "group")] for path, name in zip(paths, names, strict=False)} | {
        paths[-1]: [Child("x", "array")]
    }


def test_a_group_that_is_the_only_child_unfolds_with_its_parent(tree: TreePresenter, mailbox: Mailbox) -> None:
    tree.attach(cast(Hierarchy, Fake(chain("A", "1", "0"))), "r")
    mailbox.run_until(lambda: tree.find("/A/1/0/x") is not None)
    assert names(tree) == ["r", "A", "1", "0", "x"]
    one = tree.find("/A/1")
    assert one is not None
    tree.collapse(one)
    tree.refresh()  # rows that the user has closed stay closed
    mailbox.run_until(lambda: ready(tree)() and tree.find("/A/1") is not None)
    for _ in range(5):
        time.sleep(0.01)
        mailbox.run()
    assert names(tree) == ["r", "A", "1"]


def test_only_a_few_groups_unfold_at_once_and_none_beside_others(tree: TreePresenter, mailbox: Mailbox) -> None:
    deep = chain(*(f"g{i}" for i in range(30)))
    deep["/"].append(Child("beside", "array"))
    hierarchy = Fake(deep)
    tree.attach(cast(Hierarchy, hierarchy), "r")
    mailbox.run_until(ready(tree))
    assert names(tree) == ["r", "beside", "g0"]
    first = tree.find("/g0")
    assert first is not None
    tree.expand(first)
    last = "/".join(f"g{i}" for i in range(ALONE + 2))
    mailbox.run_until(lambda: tree.find(f"/{last}") is not None)
    for _ in range(5):
        time.sleep(0.01)
        mailbox.run()
    assert tree.find(f"/{last}/g{ALONE + 2}") is None


def wide(outer: int, inner: int) -> dict[str, list[Child]]:
    """Groups that contain groups."""
    groups = {"/": [Child(f"g{i}", "group") for i in range(outer)]}
    for i in range(outer):
        groups[f"/g{i}"] = [Child(f"h{k}", "group") for k in range(inner)]
        groups.update({f"/g{i}/h{k}": [Child("a", "array")] for k in range(inner)})
    return groups


def expanded(tree: TreePresenter) -> int:
    """The expanded groups beneath the root."""
    return sum(row.expanded for row in tree.flat(1, tree.flat_count))


def test_everything_beneath_a_row_unfolds_on_request(tree: TreePresenter, mailbox: Mailbox) -> None:
    tree.attach(cast(Hierarchy, Fake(wide(3, 4))), "r")
    mailbox.run_until(ready(tree))
    first = tree.find("/g0")
    assert first is not None
    tree.expand_all(first)
    mailbox.run_until(lambda: expanded(tree) == 5)
    mailbox.run_until(lambda: tree.find("/g0/h3/a") is not None)
    assert tree.find("/g1/h0") is None, "not beneath that row"
    tree.expand_all(ROOT)
    mailbox.run_until(lambda: expanded(tree) == 3 + 3 * 4)


@pytest.mark.parametrize(("remote", "most"), [(False, ALL), (True, ALL_FAR)])
def test_not_too_many_groups_unfold_at_once(tree: TreePresenter, mailbox: Mailbox, remote: bool, most: int) -> None:
    hierarchy = Fake(wide(ALL + 10, 1))
    hierarchy.store.remote = remote
    tree.attach(cast(Hierarchy, hierarchy), "r")
    mailbox.run_until(lambda: tree.row(ROOT).state is RowState.READY)
    tree.expand_all(ROOT)
    mailbox.run_until(lambda: expanded(tree) == most)
    for _ in range(5):
        time.sleep(0.01)
        mailbox.run()
    assert expanded(tree) == most
    tree.expand_all(ROOT)
    mailbox.run_until(lambda: expanded(tree) > most)


def test_flat_agrees_with_rows(tree: TreePresenter, mailbox: Mailbox) -> None:
    groups = {
        "/": [Child(f"g{i}", "group") for i in range(30)],
        "/g3": [Child(f"a{i}", "array") for i in range(20)],
        "/g4": [],
    }
    groups["/g4"] = [Child("deep", "group")]
    groups["/g4/deep"] = [Child("x", "array")]
    tree.attach(cast(Hierarchy, Fake(groups)), "r")
    mailbox.run_until(ready(tree))
    tree.reveal("/g4/deep/x")
    mailbox.run_until(lambda: tree.find("/g4/deep/x") is not None)
    three = tree.find("/g3")
    assert three is not None
    tree.expand(three)
    mailbox.run_until(ready(tree, three))
    everything = tree.flat(0, tree.flat_count)
    assert tree.flat_count == len(everything) == 1 + 30 + 20 + 1 + 1
    for start in range(len(everything)):
        assert tree.flat(start, start + 7) == everything[start : start + 7]
    assert [tree.flat_place(row.id) for row in everything] == list(range(len(everything)))
    assert [row.depth for row in everything if row.name in ("r", "g4", "deep", "x")] == [0, 1, 2, 3]


def test_a_store_that_cannot_list_says_so_and_takes_a_name(tree: TreePresenter, mailbox: Mailbox, shelf: Shelf) -> None:
    tree_of_all_kinds(shelf)
    hierarchy = open_hierarchy(shelf)
    shelf.listable = False
    tree.attach(hierarchy, "x")
    mailbox.run_until(lambda: tree.row(ROOT).sentence == strings.UNLISTABLE)
    tree.open_child(ROOT, "many/img2")
    mailbox.run_until(lambda: tree.find("/many/img2") is not None)
    tree.open_child(ROOT, "nowhere")
    mailbox.run_until(lambda: "nowhere" in tree.row(ROOT).sentence)


def test_an_array_of_an_unknown_type_has_a_badge(tree: TreePresenter, mailbox: Mailbox) -> None:
    shelf = MemoryStore()
    made = open_hierarchy(shelf, "w-")
    made.create_array("/known", shape=(4,), dtype="uint8")
    made.create_array("/odd", shape=(4,), dtype="uint8")
    text = shelf.get("odd/zarr.json")
    assert text is not None
    shelf.set("odd/zarr.json", text.replace(b'"uint8"', b'"acme.money"'))
    tree.attach(open_hierarchy(shelf), "x")

    def badge(path: str) -> str | None:
        found = tree.find(path)
        return None if found is None or not tree.row(found).detail else tree.row(found).badge

    mailbox.run_until(lambda: badge("/odd") is not None and badge("/known") is not None)
    assert "acme.money" in (badge("/odd") or "")
    assert badge("/known") == ""


def test_a_failure_is_a_sentence_on_the_row(tree: TreePresenter, mailbox: Mailbox) -> None:
    tree.attach(cast(Hierarchy, Fake({}, Unsupported("Needs x", feature="x"))), "x")
    mailbox.run_until(lambda: tree.row(ROOT).state is RowState.FAILED)
    assert tree.row(ROOT).sentence == "Needs x."
    assert tree.row(ROOT).retry


@given(st.text(), st.text())
def test_natural_keys_tell_names_apart(a: str, b: str) -> None:
    assert (natural(a) == natural(b)) == (a == b)


def test_natural_order() -> None:
    shuffled = ["b", "img10", "A", "img2", "img02", "img1b", "10", "9", "a1x10", "a1x9"]
    assert sorted(shuffled, key=natural) == ["9", "10", "A", "a1x9", "a1x10", "b", "img1b", "img02", "img2", "img10"]


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def described(memory: MemoryStore, dialect: str) -> None:
    """A hierarchy with a group of each role that OME-Zarr defines, and a plain group."""
    made = open_hierarchy(memory, "w-", dialect=dialect)
    entry = {"axes": [{"name": n, "type": "space"} for n in "yx"], "datasets": [{"path": "0"}]}
    held: dict[str, Any] = {
        "image": {"multiscales": [entry]},
        "mask": {"multiscales": [entry], "image-label": {}},
        "plate": {"plate": {"rows": [], "columns": [], "wells": []}},
        "plain": {"note": "nothing"},
        "series": {"bioformats2raw.layout": 3},
        "well": {"well": {"images": []}},
    }
    for name, attributes in held.items():
        made.create_group(f"/{name}", {"ome": {"version": "0.5", **attributes}} if dialect == "v3" else attributes)


@pytest.mark.parametrize("dialect", ["v2", "v3"])
def test_groups_that_are_images_look_so_before_they_are_visited(mailbox: Mailbox, dialect: str) -> None:
    memory = MemoryStore()
    described(memory, dialect)
    tree = TreePresenter(shared().owner(mailbox))
    tree.attach(open_hierarchy(memory), "x")
    mailbox.run_until(ready(tree))
    assert {row.name: row.icon for row in tree.rows(ROOT, 0, 9)} == {
        "image": "image", "mask": "labels", "plain": "group", "plate": "plate", "series": "plate", "well": "plate",
    }  # fmt: skip


def distant(dialect: str) -> Counting:
    """A remote store with the groups of `described`."""
    memory = MemoryStore()
    described(memory, dialect)
    store = Counting(memory)
    store.remote = True
    return store


@pytest.mark.parametrize(("dialect", "icon"), [("v2", "group"), ("v3", "image")])
def test_no_document_of_a_distant_store_is_requested_for_icons_that_nobody_draws(
    mailbox: Mailbox, dialect: str, icon: str
) -> None:
    """A listing does not need the attributes of v2, which have a document of their own; without icons that document is
    not read."""
    store = distant(dialect)
    hierarchy = open_hierarchy(store)
    tree = TreePresenter(shared().owner(mailbox))
    store.reset()
    tree.attach(hierarchy, "x")
    mailbox.run_until(
        lambda: bool(tree.rows(ROOT, 0, 9)) and all(row.icon != "unknown" for row in tree.rows(ROOT, 0, 9))
    )
    assert tree.rows(ROOT, 0, 1)[0].icon == icon
    outline = [key for _, key in store.keys if key.startswith("image/") and not key.endswith("/")]
    assert sorted(outline) == (["image/zarr.json"] if dialect == "v3" else ["image/.zarray", "image/.zgroup"])


@pytest.mark.parametrize("writable", [False, True])
@pytest.mark.parametrize("dialect", ["v2", "v3", "draft-2020"])
def test_groups_of_a_distant_store_that_are_on_the_screen_get_their_icons(
    mailbox: Mailbox, dialect: str, writable: bool
) -> None:
    hierarchy = open_hierarchy(distant(dialect), "r+" if writable else "r")
    tree = TreePresenter(shared().owner(mailbox))
    tree.attach(hierarchy, "x")
    mailbox.run_until(ready(tree))

    def icons() -> dict[str, str]:
        rows = tree.rows(ROOT, 0, 9)
        for row in rows:
            tree.want_icon(row.id)
        return {row.name: row.icon for row in rows}

    mailbox.run_until(lambda: icons().get("image") == "image")
    assert icons() == {
        "image": "image", "mask": "labels", "plain": "group", "plate": "plate", "series": "plate", "well": "plate",
    }  # fmt: skip


def test_icons_of_a_distant_store_cost_one_request_for_each_group_on_the_screen(mailbox: Mailbox) -> None:
    store = distant("v2")
    hierarchy = open_hierarchy(store)
    tree = TreePresenter(shared().owner(mailbox))
    tree.attach(hierarchy, "x")
    mailbox.run_until(
        lambda: bool(tree.rows(ROOT, 0, 9)) and not any(r.icon == "unknown" for r in tree.rows(ROOT, 0, 9))
    )
    store.reset()
    image, mask, *_ = tree.rows(ROOT, 0, 9)
    for _ in range(3):  # every repaint asks again
        tree.want_icon(image.id)
        mailbox.run_until(lambda: tree.row(image.id).icon == "image")
    assert [key for _, key in store.keys] == ["image/.zattrs"]
    assert tree.row(mask.id).icon == "group", "nobody has painted it"


def test_a_refresh_reads_what_a_distant_store_holds_now(mailbox: Mailbox) -> None:
    memory = MemoryStore()
    made = open_hierarchy(memory, "w-")
    made.create_group("/a")
    distant = Counting(memory)
    distant.remote = True
    tree = TreePresenter(shared().owner(mailbox))
    tree.attach(open_hierarchy(distant), "x")
    mailbox.run_until(ready(tree))
    assert [row.kind for row in tree.rows(ROOT, 0, 9)] == ["group"]
    made.erase("/a")
    made.create_array("/a", shape=(2,), dtype="uint8")
    tree.refresh(ROOT)
    mailbox.run_until(ready(tree))
    assert [row.kind for row in tree.rows(ROOT, 0, 9)] == ["array"]
