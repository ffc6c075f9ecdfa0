"""Processes, and Dask workers, that create, write and save in one hierarchy at the same time."""

from __future__ import annotations

import os
import signal
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
import zarrscope.chunkio.write
from kill.hands import Hands, count, create, fill, watch
from kill.writers import CONSOLIDATED, SHARDED, WRITTEN
from narrowing import as_array, as_group
from zarrscope.check.hierarchy import check
from zarrscope.chunkio.locator import Locator
from zarrscope.errors import Conflict, Refused
from zarrscope.stores.local import temporaries as unfinished
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.memory import MemoryStore

RAW = [{"name": "bytes", "configuration": {"endian": "little"}}]
ROUNDS = 8
"""The number of times that two processes act at the same moment."""


def made(path: Path, dialect: str, *, consolidated: bool = False) -> str:
    h = zarrscope.open(path, "w-", dialect=dialect)
    h.create_group("/first", {"shared": 0})
    if consolidated:
        h.consolidate()
    return str(path)


def errors(url: str) -> list[Any]:
    return [each for each in check(zarrscope.open(url)) if each.severity != "information"]


@pytest.mark.parametrize("dialect", WRITTEN)
def test_two_processes_create_siblings_at_once(dialect: str, tmp_path: Path) -> None:
    url = made(tmp_path / "x", dialect, consolidated=dialect in CONSOLIDATED)
    ours = [("array" if i % 2 else "group", f"/foo{i}/bar") for i in range(ROUNDS)]
    theirs = [("array", f"/foo{i}/baz") for i in range(ROUNDS)]
    told = Hands((create, (url, ours)), (create, (url, theirs))).finish()
    assert told == [["made"] * ROUNDS] * 2
    h = zarrscope.open(url)
    assert h.consolidated == (dialect in CONSOLIDATED)
    for i in range(ROUNDS):
        assert {(child.name, child.kind) for child in as_group(h[f"/foo{i}"]).children()} == {
            ("bar", ours[i][0]),
            ("baz", "array"),
        }
    assert errors(url) == []


@pytest.mark.parametrize("dialect", WRITTEN)
def test_of_two_who_create_the_same_node_one_wins(dialect: str, tmp_path: Path) -> None:
    url = made(tmp_path / "x", dialect)
    kinds = [("array", "array"), ("array", "group"), ("group", "group"), ("group", "array")] * 2
    ours = [(kind, f"/same{i}") for i, (kind, _) in enumerate(kinds)]
    theirs = [(kind, f"/same{i}") for i, (_, kind) in enumerate(kinds)]
    told = Hands((create, (url, ours)), (create, (url, theirs))).finish()
    h = zarrscope.open(url)
    for i, (one, other) in enumerate(zip(*told, strict=True)):
        assert sorted((one, other)) == ["Exists", "made"]
        node = h[f"/same{i}"]
        assert node.kind == kinds[i][one != "made"]
        assert node.attributes == {"kind": node.kind}
    assert errors(url) == []


@pytest.mark.parametrize("dialect", WRITTEN)
def test_nobody_creates_a_node_beneath_an_array_that_is_just_made(dialect: str, tmp_path: Path) -> None:
    url = made(tmp_path / "x", dialect)
    ours = [("array", f"/a{i}") for i in range(ROUNDS)]
    theirs = [("group", f"/a{i}/b") for i in range(ROUNDS)]
    told = Hands((create, (url, ours)), (create, (url, theirs))).finish()
    h = zarrscope.open(url)
    for i, (array, beneath) in enumerate(zip(*told, strict=True)):
        assert (array, beneath) in (("made", "Refused"), ("Exists", "made"))
        assert h[f"/a{i}"].kind == ("array" if array == "made" else "group")
    assert errors(url) == []


STORED = [(dialect, False) for dialect in WRITTEN] + [(dialect, True) for dialect in SHARDED]
NAMES = [f"{dialect}{' shards' if sharded else ''}" for dialect, sharded in STORED]


def array_of(url: str, sharded: bool, shape: tuple[int, int] = (8, 128), rows: int = 8) -> None:
    settings: dict[str, Any] = {"shards": (rows, 64), "chunks": (2, 16)} if sharded else {"chunks": (rows, 64)}
    zarrscope.open(url, "r+").create_array("/a", shape=shape, dtype="u4", **settings)


@pytest.mark.parametrize(("dialect", "sharded"), STORED, ids=NAMES)
def test_parts_of_one_chunk_written_by_many_are_all_there(dialect: str, sharded: bool, tmp_path: Path) -> None:
    """Each process writes its own rows into chunks that all processes share, while another one reads."""
    url = made(tmp_path / "x", dialect)
    array_of(url, sharded)
    times = 6
    rows = [[np.s_[n, :64], np.s_[n, 64:]] for n in range(3)]
    bases = [1000 * (n + 1) for n in range(3)]
    places = [place for each in rows for place in each]
    hands = Hands(
        *((fill, (url, "/a", rows[n], times, bases[n])) for n in range(3)),
        (watch, (url, "/a", places, times, [base for base in bases for _ in range(2)])),
    )
    assert hands.finish()[-1] > 1
    found = as_array(zarrscope.open(url)["/a"])[...]
    for n in range(3):
        assert (found[n] == bases[n] + times).all()
    assert not found[3:].any()
    assert errors(url) == []


@pytest.mark.parametrize(("dialect", "sharded"), [STORED[0], STORED[2], *STORED[-2:]], ids=str)
def test_whole_chunks_and_parts_of_them_at_once(dialect: str, sharded: bool, tmp_path: Path) -> None:
    """Writers of whole chunks and of parts lock them in turn, so that no reader sees half of a write."""
    url = made(tmp_path / "x", dialect)
    array_of(url, sharded, shape=(8, 64))
    hands = Hands(
        (fill, (url, "/a", [np.s_[...]], 12, 1000)),
        (fill, (url, "/a", [np.s_[0], np.s_[1:3]], 12, 2000)),
    )
    hands.finish()
    found = as_array(zarrscope.open(url)["/a"])[...]
    assert (found[3:] == 1012).all()
    for rows in (found[0], found[1:3]):
        assert rows.min() == rows.max()
        assert rows.min() in (1012, 2012)


@pytest.mark.parametrize("dialect", WRITTEN)
def test_chunks_of_one_array_written_by_many(dialect: str, tmp_path: Path) -> None:
    url = made(tmp_path / "x", dialect)
    array_of(url, False, shape=(64, 128))
    blocks = [[np.s_[8 * n : 8 * n + 8, :64], np.s_[8 * n : 8 * n + 8, 64:]] for n in range(8)]
    places = [place for each in blocks for place in each]
    works = [(fill, (url, "/a", [*blocks[n], *blocks[n + 4]], 10, 100 * n)) for n in range(4)]
    bases = [100 * (n % 4) for n in range(8) for _ in range(2)]
    Hands(*works, (watch, (url, "/a", places, 10, bases))).finish()
    found = as_array(zarrscope.open(url)["/a"])[...]
    assert (found == np.repeat([100 * (n % 4) + 10 for n in range(8)], 8)[:, None]).all()


@pytest.mark.parametrize("dialect", WRITTEN)
def test_saves_of_many_are_all_there_and_copies_keep_step(dialect: str, tmp_path: Path) -> None:
    url = made(tmp_path / "x", dialect, consolidated=dialect in CONSOLIDATED)
    Hands(*((count, (url, "/first", f"w{n}", 8)) for n in range(3))).finish()
    for consolidated in (True, False):
        h = zarrscope.open(url, consolidated=consolidated)
        assert h["/first"].attributes == {"shared": 24, "w0": 8, "w1": 8, "w2": 8}
    assert errors(url) == [], "the consolidated copy says the same"


def test_threads_share_a_store_in_memory() -> None:
    store = MemoryStore()
    h = zarrscope.open(store, "a")
    array = h.create_array("/a", shape=(8, 64), chunks=(2, 16), shards=(8, 64), dtype="u4")
    told: list[str] = []
    start = threading.Barrier(4)

    def work(n: int) -> None:
        start.wait()
        for turn in range(20):
            array[n] = turn + 1
        start.wait()
        try:
            h.create_array("/b", shape=(n + 1,), dtype="u4")
            told.append("made")
        except Conflict as error:
            told.append(str(error.key))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (array[:4] == 20).all()
    assert sorted(told) == ["b/zarr.json"] * 3 + ["made"]


@pytest.mark.parametrize("dialect", WRITTEN)
def test_what_a_killed_creator_left_does_not_stop_the_next(dialect: str, tmp_path: Path) -> None:
    """Each document in turn is the last one that is written before the creator is killed."""
    url = made(tmp_path / "x", dialect)
    h = zarrscope.open(url, "r+")
    documents = h.dialect.write("/new", h.create_group("/other", {"a": 1}).metadata, {"a": 1})
    first = h.dialect.attributes_at("/new", "group")[0]
    if len(documents) > 1:
        h.store.set(first, documents[first])
        assert "/new" not in h
    h.create_group("/new", {"b": 2})
    assert h["/new"].attributes == {"b": 2}
    with pytest.raises(Conflict):
        h.create_group("/new")
    assert errors(url) == []


def test_nothing_is_made_beneath_an_array(tmp_path: Path) -> None:
    h = zarrscope.open(tmp_path / "x", "a")
    h.create_array("/a", shape=(2,), dtype="u1")
    with pytest.raises(Refused):
        h.create_group("/a/b")


@pytest.mark.slow
@pytest.mark.parametrize(("dialect", "sharded"), [("v3", True), ("v2", False)])
def test_dask_workers_write_one_array_though_one_is_killed(dialect: str, sharded: bool, tmp_path: Path) -> None:
    """Blocks share chunks and shards; a worker is killed during the work, and Dask gives its work to another."""
    distributed = pytest.importorskip("distributed")
    url = made(tmp_path / "x", dialect)
    array_of(url, sharded, shape=(240, 128), rows=24)
    blocks = list(pairwise([*range(0, 240, 5), 240]))

    def fill_block(start: int, stop: int) -> int:  # defined here so that the workers receive the whole function
        array = as_array(zarrscope.open(url, "r+")["/a"])
        array[start:stop] = start + 1
        return os.getpid()

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        written = [client.submit(fill_block, *block, pure=False) for block in blocks]
        first = next(iter(distributed.as_completed(written)))
        os.kill(first.result(), signal.SIGKILL)
        assert len(client.gather(written)) == len(blocks)
        pickled = zarrscope.open(url)["/a"]
        assert client.submit(lambda array: int(array[100, 0]), pickled).result() == 101
    found = as_array(zarrscope.open(url)["/a"])[...]
    for start, stop in blocks:
        assert (found[start:stop] == start + 1).all()
    assert errors(url) == []


@pytest.mark.parametrize("by", ["selection", "chunk", "many"])
@pytest.mark.parametrize("place", ["files", "memory"])
def test_a_shard_that_is_replaced_while_it_is_read(
    place: str, by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer replaces the shard after its index was read: the read returns the old shard, complete."""
    store = MemoryStore() if place == "memory" else LocalStore(tmp_path)
    h = zarrscope.open(store, "w-")
    array = h.create_array("/a", shape=(4096,), chunks=(16,), shards=(4096,), dtype="u4", codecs=RAW)
    old = np.zeros(4096, "u4")
    old[64:96] = 1
    old[4000:] = 2
    array[...] = old
    parsed = Locator.parsed

    def replaced(*args: Any) -> Any:
        index = parsed(*args)
        monkeypatch.undo()
        as_array(zarrscope.open(store, "r+")["/a"])[...] = np.arange(4096)[::-1]
        return index

    monkeypatch.setattr(Locator, "parsed", replaced)
    if by == "selection":
        assert (array[...] == old).all()
    elif by == "chunk":
        assert (array.read_chunk((255,)) == 2).all()
    else:
        units = [(n,) for n in range(256)]
        found = {
            unit: array._stored.decode_chunk(unit, data)  # type: ignore[arg-type]  # no fetch fails here
            for unit, data in array._stored.fetch(units)
            if data is not None
        }
        assert {unit: int(values[0]) for unit, values in found.items()} == {
            (4,): 1, (5,): 1, **{(n,): 2 for n in range(250, 256)}
        }  # fmt: skip
    assert array[0] == 4095, "the next read sees the new one"


@pytest.mark.parametrize("dialect", ["v3", "draft-2020", "n5"])
def test_check_names_what_killed_writers_left(dialect: str, tmp_path: Path) -> None:
    url = made(tmp_path / "x", dialect)
    array_of(url, False)
    h = zarrscope.open(url, "r+")
    as_array(h["/a"])[...] = 1
    chunk = next(key for key in h.store.list() if "/a/" in f"/{key}" and not key.endswith("json"))
    left, handle = unfinished.begin(str((tmp_path / "x" / chunk).parent))
    os.close(handle)
    os.utime(left, (1, 1))
    empty = Path(tmp_path / "x" / h.dialect.listing("/first")) / "stopped"
    empty.mkdir(parents=True)
    found = [each for each in check(zarrscope.open(url)) if each.code == "left-over"]
    assert {each.severity for each in found} == {"information"}
    assert os.path.relpath(left, tmp_path / "x") in {each.key for each in found}
    # Where every prefix that is listed is a group, an empty folder looks like one.
    assert {each.path for each in found} == ({"/", "/first/stopped"} if dialect == "n5" else {"/"})
    assert errors(url) == []


def test_an_array_that_shrinks_takes_nothing_that_was_written_after_it_grew_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = made(tmp_path / "x", "v3")
    zarrscope.open(url, "r+").create_array("/a", shape=(64,), chunks=(4,), dtype="u1")[...] = 1
    array = as_array(zarrscope.open(url, "r+")["/a"])
    others: list[threading.Thread] = []
    begun = threading.Event()

    def grow() -> None:
        begun.set()
        while True:
            again = as_array(zarrscope.open(url, "r+")["/a"])
            if again.shape == (4,):
                break
        again.resize((64,))
        again[32:] = 2

    erase = zarrscope.chunkio.write.erase_outside

    def erase_late(*arguments: Any) -> None:
        monkeypatch.undo()
        others.append(threading.Thread(target=grow))
        others[0].start()
        begun.wait(20)
        others[0].join(0.05)  # it comes no further until this is done
        erase(*arguments)

    monkeypatch.setattr(zarrscope.chunkio.write, "erase_outside", erase_late)
    array.resize((4,))
    others[0].join(20)
    found = as_array(zarrscope.open(url)["/a"])[...]
    assert found.tolist() == [1] * 4 + [0] * 28 + [2] * 32
