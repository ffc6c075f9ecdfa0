"""Groups of thousands of children: names are listed first, and only the documents of visible rows are read."""

from __future__ import annotations

import json
import threading
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zarrscope.dialects import Child
from zarrscope.model.node_path import natural
from zarrscope.model.storage import Entry
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.runtime.threads import Mailbox, shared
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.memory import MemoryStore
from zarrscope_app.cli import listing, run
from zarrscope_app.presenters import ROOT, RowState, TreePresenter, strings
from zarrscope_app.presenters.tree import arriving, branch, presenter
from zarrscope_app.presenters.tree import names as tree_names
from zarrscope_app.presenters.tree.arriving import SMALL, ArrivedNames
from zarrscope_app.presenters.tree.names import NameBlock, Names, merged, picked

ARRAY = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4],
    "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
    "chunk_key_encoding": {"name": "default"},
    "fill_value": 0,
    "codecs": [{"name": "bytes"}],
}
GROUP = {"zarr_format": 3, "node_type": "group", "attributes": {}}


def children(count: int, **others: dict[str, Any]) -> dict[str, bytes]:
    """The documents of a group of `count` arrays."""
    documents = {"zarr.json": GROUP} | {f"n{i:05d}/zarr.json": ARRAY for i in range(count)} | others
    return {key: json.dumps(value).encode() for key, value in documents.items()}


class Documents(MemoryStore):
    """A remote store that records which documents of children are read."""

    def __init__(self, values: dict[str, bytes]) -> None:
        super().__init__(values)
        self.remote = True
        self.read: list[str] = []

    def _get(self, key: str, *rest: Any, **named: Any) -> bytes | None:
        if key.endswith("/zarr.json"):
            self.read.append(key)
        return super()._get(key, *rest, **named)


def ready(tree: TreePresenter) -> Any:
    return lambda: tree.row(ROOT).state is RowState.READY


# ---------------------------------------------------------------------- names
@given(st.lists(st.text(st.characters(exclude_characters="/", exclude_categories=["Cs"]), min_size=1), max_size=30))
def test_a_block_gives_its_names_back_and_finds_them(names: list[str]) -> None:
    found = Names()
    found.extend(NameBlock.of(names[:7]))
    found.extend(NameBlock.of(names[7:]))
    assert [found[i] for i in range(len(found))] == names
    order = array("I", range(len(names)))
    for needle in ("a", "ss", "1", "ß".casefold(), *(name[:2].casefold() for name in names[:3])):
        expected = [i for i, name in enumerate(names) if needle in name.casefold()]
        assert list(found.search(needle, order)(lambda: False)) == expected


@given(st.lists(st.integers(0, 9999), unique=True), st.integers(1, 50))
def test_batches_are_merged_into_natural_order(numbers: list[int], size: int) -> None:
    keys = [natural(f"n{number}") for number in numbers]
    order = array("I")
    for at in range(0, len(keys), size):
        order = merged(order, range(at, min(at + size, len(keys))), keys.__getitem__)
    assert list(order) == sorted(range(len(keys)), key=keys.__getitem__)


def test_a_large_batch_is_merged_in_steps() -> None:
    keys = [f"{(i * 7919) % 20_000:05d}" for i in range(20_000)]
    order = merged(merged(array("I"), range(15_000), keys.__getitem__), range(15_000, 20_000), keys.__getitem__)
    assert [keys[i] for i in order] == sorted(keys)
    assert list(picked(order, bytearray(i % 5 == 0 for i in range(20_000)))) == [i for i in order if i % 5 == 0]


def test_a_few_new_names_are_inserted_without_sorting_all() -> None:
    keys = [f"{2 * i:06d}" for i in range(20_000)] + ["000001", "020001", "020003", "999999"]
    asked: list[int] = []

    def key(position: int) -> str:
        asked.append(position)
        return keys[position]

    order = merged(array("I", range(20_000)), range(20_000, len(keys)), key)
    assert [keys[i] for i in order] == sorted(keys)
    assert len(asked) < 200, "at most 16 keys for each bisection; sorting would compute 20,000"


@given(st.lists(st.integers(0, 99_999), unique=True, min_size=1, max_size=9))
def test_names_are_inserted_anywhere_in_a_large_group(numbers: list[int]) -> None:
    keys = [natural(f"n{number}") for number in (*range(0, 100_000, 50), *(n for n in numbers if n % 50))]
    in_order = sorted(range(2000), key=keys.__getitem__)
    order = merged(array("I", in_order), range(2000, len(keys)), keys.__getitem__)
    assert list(order) == sorted(range(len(keys)), key=keys.__getitem__)


def test_the_key_of_a_new_name_is_computed_twice_at_most() -> None:
    """Once to sort the batch, once to merge it with the names before it; once for each of those."""
    keys = [f"{(i * 7919) % 50_000:05d}" for i in range(50_000)]
    asked = [0]

    def key(position: int) -> str:
        asked[0] += 1
        return keys[position]

    before = array("I", sorted(range(30_000), key=keys.__getitem__))
    order = merged(before, range(30_000, 50_000), key)
    assert [keys[i] for i in order] == sorted(keys)
    assert asked[0] < 30_000 + 2 * 20_000 + 40 * 17, "and 17 for each bisection between two steps; not 5 for each name"


def test_a_batch_of_more_keys_than_are_kept_is_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_names, "KEYS_AT_ONCE", 700)
    keys = [f"{(i * 7919) % 5000:04d}" for i in range(5000)]
    order = merged(array("I", sorted(range(1000), key=keys.__getitem__)), range(1000, 5000), keys.__getitem__)
    assert [keys[i] for i in order] == sorted(keys)
    assert merged(order, (), keys.__getitem__) == order


def test_batches_double_so_that_few_are_sorted_and_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands still, because a slow machine sends by time as well."""

    class Listed:
        def list_names(self, cancelled: object) -> Iterator[Child]:
            return (Child(f"n{i * 7919 % 30_000:05d}", "array") for i in range(30_000))

        def inspect(self, children: Iterable[Child], cancelled: object) -> Iterator[Child]:
            return iter(children)

    batches: list[ArrivedNames] = []
    asked = [0]
    name_at = Names.__getitem__

    def counted(names: Names, place: int) -> str:
        asked[0] += 1
        return name_at(names, place)

    monkeypatch.setattr(Names, "__getitem__", counted)
    monkeypatch.setattr(f"{arriving.__name__}.time.monotonic", lambda: 0.0)
    arriving.Arrivals(Listed(), batches.append, lambda: False, patient=False).run()  # type: ignore[arg-type]  # sends only names here
    assert sum(len(batch.kinds) for batch in batches) == 30_000
    assert list(batches[-1].order) == sorted(range(30_000), key=lambda i: i * 7919 % 30_000)
    assert len(batches) <= 10, "14 if each batch were half as long as the names before it"
    assert asked[0] < 4 * 30_000, "two for each new name, and one for each that is sorted again"


def test_the_children_of_a_long_listing_are_not_kept_until_they_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a very large group may be one batch, whose children took 100 MB as objects."""
    alive = [0]
    most = 0

    class Counted(Child):
        def __init__(self, name: str) -> None:
            super().__init__(name, "array")
            alive[0] += 1

        def __del__(self) -> None:
            alive[0] -= 1

    class Listed:
        def list_names(self, cancelled: object) -> Iterator[Child]:
            nonlocal most
            for i in range(20_000):
                most = max(most, alive[0])
                yield Counted(f"n{i:05d}")

        def inspect(self, children: Iterable[Child], cancelled: object) -> Iterator[Child]:
            return iter(children)

    batches: list[ArrivedNames] = []
    monkeypatch.setattr(f"{arriving.__name__}.time.monotonic", lambda: 0.0)
    arriving.Arrivals(Listed(), batches.append, lambda: False, patient=False).run()  # type: ignore[arg-type]  # sends only names here
    assert max(len(batch.kinds) for batch in batches) > 5_000
    assert SMALL < most <= 2 * SMALL


def test_a_filter_never_runs_across_two_names() -> None:
    names = Names()
    names.extend(NameBlock.of(["ab", "cd"]))
    assert not names.search("b/c", array("I", [0, 1]))(lambda: False)


# ---------------------------------------------------------------------- the tree
def test_documents_are_read_for_the_rows_in_sight_only(tree: TreePresenter, mailbox: Mailbox) -> None:
    store = Documents(children(5000))
    tree.attach(open_hierarchy(store), "x")
    mailbox.run_until(ready(tree))
    assert tree.count(ROOT) == 5000
    assert store.read == []
    assert len(tree.ids(ROOT, 0, 5000)) == 5000
    assert tree.row(ROOT).detail == "5,000"
    mailbox.run()
    assert store.read == [], "a host that lays rows out reads nothing"
    assert {row.kind for row in tree.rows(ROOT, 3000, 3030)} == {None}
    mailbox.run_until(lambda: all(row.kind == "array" for row in tree.rows(ROOT, 3000, 3030)))
    assert [row.detail for row in tree.rows(ROOT, 3000, 3030)] == ["1-D uint8"] * 30
    assert sorted(store.read) == [f"n{i:05d}/zarr.json" for i in range(3000, 3030)]


def test_the_hosts_thread_sorts_no_names(
    tree: TreePresenter, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither while a large group is listed, nor for a name that the person types."""
    here, computed = threading.get_ident(), [0]

    def counted(name: str) -> str:
        computed[0] += threading.get_ident() == here
        return natural(name)

    for module in (arriving, branch, presenter):
        monkeypatch.setattr(module, "natural", counted)
    store = Documents(children(20_000))
    tree.attach(open_hierarchy(store), "x")
    mailbox.run_until(ready(tree))
    assert computed[0] == 0
    assert tree.count(ROOT) == 20_000
    store.set("n10000b/zarr.json", json.dumps(ARRAY).encode())
    tree.open_child(ROOT, "n10000b")
    mailbox.run_until(lambda: tree.count(ROOT) == 20_001)
    assert [row.name for row in tree.rows(ROOT, 9999, 10_003)] == ["n09999", "n10000", "n10000b", "n10001"]
    assert computed[0] < 200, "bisections compute the keys of some names"


def test_a_small_group_comes_with_its_kinds(tree: TreePresenter, mailbox: Mailbox) -> None:
    store = Documents(children(SMALL))
    tree.attach(open_hierarchy(store), "x")
    mailbox.run_until(ready(tree))
    assert {row.kind for row in tree.rows(ROOT, 0, SMALL)} == {"array"}
    assert len(store.read) == SMALL, "each document is read once"


def test_names_that_are_no_nodes_go_when_they_are_seen(tree: TreePresenter, mailbox: Mailbox) -> None:
    store = Documents(children(600) | {"a-folder/readme": b"", "notes/readme": b""})
    tree.attach(open_hierarchy(store), "x")
    mailbox.run_until(ready(tree))
    assert tree.count(ROOT) == 602
    assert tree.rows(ROOT, 0, 1)[0].name == "a-folder"
    mailbox.run_until(lambda: tree.count(ROOT) == 601)
    assert tree.find("/a-folder") is None
    assert tree.find("/n00599") is not None
    tree.rows(ROOT, 599, 601)
    mailbox.run_until(lambda: tree.count(ROOT) == 600)
    assert [row.name for row in tree.rows(ROOT, 0, 600)] == [f"n{i:05d}" for i in range(600)]


def test_what_was_scrolled_past_is_not_read(tree: TreePresenter, mailbox: Mailbox) -> None:
    store = Documents(children(5000))
    tree.attach(open_hierarchy(store), "x")
    mailbox.run_until(ready(tree))
    for at in range(0, 5000, 50):
        tree.rows(ROOT, at, at + 50)
    mailbox.run_until(lambda: tree.rows(ROOT, 4950, 5000)[0].kind == "array")
    assert len(store.read) < 600


def test_a_filter_while_a_group_is_listed(tree: TreePresenter, mailbox: Mailbox) -> None:
    tree.attach(open_hierarchy(Documents(children(30_000))), "x")
    tree.filter("77")
    mailbox.run_until(ready(tree))
    expected = [f"n{i:05d}" for i in range(30_000) if "77" in f"n{i:05d}"]
    mailbox.run_until(lambda: tree.count(ROOT) == len(expected))
    assert tree.row(ROOT).sentence == ""
    assert [tree.label(id) for id in tree.ids(ROOT, 0, 30_000)] == expected
    tree.filter("nothing like it")
    mailbox.run_until(lambda: tree.row(ROOT).sentence == strings.NOTHING_FOUND)
    tree.filter("")
    assert tree.count(ROOT) == 30_000


def test_a_listing_is_cancelled_at_any_time(tree: TreePresenter, mailbox: Mailbox) -> None:
    class Endless(MemoryStore):
        asked = 0

        def _list_dir(self, prefix: str) -> Iterator[Any]:
            yield from super()._list_dir(prefix)
            while not prefix:
                self.asked += 1
                yield Entry(f"m{self.asked}", True)

    store = Endless(children(3))
    tree.attach(open_hierarchy(store), "x")
    mailbox.run_until(lambda: tree.count(ROOT) > 1000)
    branch = tree._root
    ticket = branch.ticket
    assert ticket is not None
    assert tree.cancel_around(tree.ids(ROOT, 7, 8)[0])
    assert not tree.cancel_around(ROOT)
    assert ticket.cancelled
    kept = tree.count(ROOT)
    mailbox.run()
    assert (tree.count(ROOT), tree.row(ROOT).sentence) == (kept, strings.CANCELLED)


def test_a_row_says_how_it_was_found(tree: TreePresenter, mailbox: Mailbox) -> None:
    hierarchy = open_hierarchy(Documents(children(2)))
    tree.attach(hierarchy, "x")
    mailbox.run_until(ready(tree))
    assert {row.origin for row in tree.rows(ROOT, 0, 2)} == {"Listed by the store."}


# ---------------------------------------------------------------------- verbs
@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for key, value in children(40).items():
        (tmp_path / "x.zarr" / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "x.zarr" / key).write_bytes(value)
    (tmp_path / "x.zarr" / "notes").mkdir()
    return tmp_path / "x.zarr"


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(arguments) == 0
    return capsys.readouterr().out


def test_ls_of_a_large_group_reads_no_more_than_the_kinds(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = said(capsys, "ls", str(folder)).splitlines()
    assert small[0].split() == ["n00000", "array", "1-D", "uint8", "4"]
    assert len(small) == 40
    monkeypatch.setattr(listing, "SORTED", 10)
    parsed: list[str] = []

    def summary(*told: object) -> str:
        parsed.append("")
        return "told"

    monkeypatch.setattr(listing, "summary", summary)
    large = said(capsys, "ls", str(folder)).splitlines()
    assert sorted(line.split()[0] for line in large) == [line.split()[0] for line in small]
    assert {tuple(line.split()[1:]) for line in large} == {("array",)}
    assert parsed == []
    assert [line.split()[0] for line in said(capsys, "ls", str(folder), "--sort").splitlines()] == [
        line.split()[0] for line in small
    ]
    assert said(capsys, "ls", str(folder), "--long").splitlines()[0].endswith("told")
    told = json.loads(said(capsys, "ls", str(folder), "--json"))
    assert sorted(entry["name"] for entry in told) == [f"n{i:05d}" for i in range(40)]
    assert all(entry["shape"] == [4] for entry in told)


def test_tree_reads_what_it_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    read: list[str] = []
    get = LocalStore._get

    def counting(self: LocalStore, key: str, *rest: Any, **named: Any) -> Any:
        read.append(key)
        return get(self, key, *rest, **named)

    folder = tmp_path / "x.zarr"
    for key, value in children(1000).items():
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).write_bytes(value)
    monkeypatch.setattr(LocalStore, "_get", counting)
    shown = said(capsys, "tree", str(folder), "--most", "5").splitlines()
    assert shown[1].startswith("├── n00000")
    assert shown[-1] == "└── … 995 more children"
    assert len({key for key in read if key.startswith("n")}) <= 5 + listing.LINES_AT_ONCE


# ---------------------------------------------------------------------- the window
def test_the_window_asks_for_what_it_paints(qtbot: Any) -> None:
    from qtpy.QtCore import Qt

    from zarrscope_app.qt.bridge import Bridge
    from zarrscope_app.qt.tree import TreePane

    bridge = Bridge()
    owner = shared().owner(bridge.post)
    tree, store = TreePresenter(owner), Documents(children(5000))
    pane = TreePane()
    qtbot.addWidget(pane)
    pane.attach(tree)
    pane.resize(300, 400)
    pane.show()
    tree.attach(open_hierarchy(store), "x")
    model = pane.model
    assert model is not None
    root = model.index(0, 0)

    def kinds() -> set[str | None]:
        rows = (model.row_of(pane.view.indexAt(pane.view.rect().topLeft())), pane.current_row())
        return {row.kind for row in rows if row is not None and row.depth}

    try:
        qtbot.waitUntil(lambda: tree.count(ROOT) == 5000 and bool(store.read), timeout=20_000)
        qtbot.waitUntil(lambda: tree.row(ROOT).state is RowState.READY, timeout=20_000)
        assert model.rowCount(root) <= 400
        pane.view.setFocus()
        qtbot.keyClick(pane.view, Qt.Key.Key_End)
        qtbot.waitUntil(lambda: kinds() == {"array"}, timeout=20_000)
        row = pane.current_row()
        assert row is not None
        assert row.name == "n04999"
        assert model.rowCount(root) <= 400
        above = model.index(0, 0, root)
        assert model.is_note(above)
        assert above.data() == "4,899 more above"
        qtbot.keyClick(pane.view, Qt.Key.Key_Home)
        pane.view.clicked.emit(above)
        qtbot.waitUntil(lambda: model.index(0, 0, root).data() == "4,699 more above", timeout=20_000)
        assert len(store.read) < 400, "documents of the rows that were in sight"
        qtbot.keyClicks(pane.filter, "n0123")
        qtbot.waitUntil(lambda: tree.count(ROOT) == 10, timeout=20_000)
        qtbot.keyClick(pane.filter, Qt.Key.Key_Escape)
        qtbot.waitUntil(lambda: tree.count(ROOT) == 5000, timeout=20_000)
        assert pane.filter.text() == ""
    finally:
        pane.attach(None)
        owner.close()
