"""The chunk map: the stored chunks of an array, drawn in the hosts and listed by the command line."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.http_server import web_server
from contracts.journeys import Shelf
from zarrscope.check.inventory import UNKNOWN, inner_chunks, take_inventory
from zarrscope.chunkio.stored_chunks import number_of
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores.memory import MemoryStore
from zarrscope_app import cli
from zarrscope_app.presenters import Session, SessionStatus, Workspace, strings
from zarrscope_app.presenters.chunks.coloring import shades_of
from zarrscope_app.presenters.chunks.missing import next_missing, part_around, step_of
from zarrscope_app.presenters.chunks.presenter import ChunksPresenter
from zarrscope_app.presenters.chunks.view_models import (
    ABSENT,
    FAILED,
    LOADING,
    PARTLY,
    PRESENT,
    ChunkMap,
    bars_of,
    counts,
    map_text,
    missing_reason,
)
from zarrscope_app.presenters.node_description import Item
from zarrscope_app.presenters.session.actions import perform


def settled(session: Session) -> Callable[[], bool]:
    return lambda: session.state.status is SessionStatus.READY and not session.state.selecting


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def with_map(workspace: Workspace, shelf: Shelf, mailbox: Mailbox, path: str = "/a") -> ChunksPresenter:
    """Opens an array; returns the presenter of its chunks, with the map drawn."""
    session = workspace.open(shelf.address)
    session.select(path)
    mailbox.run_until(settled(session))
    chunks = session.chunks
    chunks.look()
    mailbox.run_until(lambda: chunks.state.cells is not None)
    return chunks


def sparse(store: Any, path: str = "/a", **how: Any) -> Any:
    """A 3 x 40 x 60 uint16 array in chunks of 1 x 10 x 10; only the chunks on the diagonal of plane 1 are stored."""
    hierarchy = zarrscope.open(store, "a")
    array = hierarchy.create_array(
        path, shape=(3, 40, 60), dtype="u2", chunks=(1, 10, 10), dimension_names=("z", "y", "x"), **how
    )
    for k in range(4):
        array[1, 10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = np.arange(100).reshape(10, 10) + k
    return array


def extent(chunks: ChunksPresenter) -> tuple[int, ...]:
    """The number of rows and columns of the map."""
    cells = chunks.state.cells
    return cells.shape if cells is not None else ()


def _opened(chunks: ChunksPresenter, step: tuple[int, int]) -> bool:
    return chunks.state.step < step and chunks.state.cells is not None


DIAGONAL = [(1, k, k) for k in range(4)]


def test_an_inventory_is_what_is_stored_and_reads_no_chunk(shelf: Shelf) -> None:
    array = sparse(shelf)
    shelf.read.clear()
    shelf.set("a/c/7/0/0", b"beyond")
    found = take_inventory(array)
    assert shelf.read == []
    assert (found.grid, found.total, found.present, found.absent, found.outside) == ((3, 4, 6), 72, 4, 68, 1)
    sizes = [len(shelf.get(f"a/c/1/{k}/{k}") or b"") for k in range(4)]
    assert found.nbytes == sum(sizes)
    assert found.spread() == (min(sizes), int(np.median(sizes)), max(sizes))
    assert found.size_of((1, 2, 2)) == sizes[2]
    assert found.size_of((1, 2, 3)) is None
    missing = list(found.absent_chunks())
    assert len(missing) == 68
    assert not set(missing) & set(DIAGONAL)
    items = counts(array, found)
    lines = map_text(ChunkMap(items=items)).splitlines()
    assert "Beyond the array" in [item.label for item in items]
    assert len({line.index(item.text) for line, item in zip(lines, items, strict=True)}) == 1, "one column of values"


def test_a_cut_counts_chunks_in_cells(shelf: Shelf) -> None:
    found = take_inventory(sparse(shelf))
    counts, sizes = found.cut(1, 2, (1, 0, 0))
    assert counts.tolist() == np.eye(4, 6, dtype=int).tolist()
    assert (sizes > 0).tolist() == (counts > 0).tolist()
    assert found.cut(1, 2, (0, 0, 0))[0].sum() == 0
    assert found.cut(1, 2, (1, 0, 0), (2, 4))[0].tolist() == [[2, 0], [2, 0]]
    assert found.cut(1, 2, (1, 0, 0), (1, 1), (2, 1), (2, 2))[0].tolist() == [[0, 1], [0, 0]]
    assert found.cut(-1, 2, (1, 3, 0))[0].tolist() == [[0, 0, 0, 1, 0, 0]]


def test_a_grid_of_more_than_two_to_the_63_chunks_costs_what_is_stored() -> None:
    store = MemoryStore()
    array = zarrscope.open(store, "a").create_array("/a", shape=(10**12, 10**12), dtype="u1", chunks=(10, 10))
    array[5:8, 10**12 - 5 :] = 1
    found = take_inventory(array)
    assert (found.total, found.present) == (10**22, 1)
    counts, _ = found.cut(0, 1, (0, 0), (10**10, 10**10))
    assert counts.shape == (10, 10)
    assert counts[0, 9] == counts.sum() == 1
    assert found.size_of((0, 10**11 - 1)) is not None


def test_inner_chunks_of_a_shard(shelf: Shelf) -> None:
    hierarchy = zarrscope.open(shelf, "a")
    array = hierarchy.create_array("/s", shape=(20, 30), dtype="u2", chunks=(5, 5), shards=(10, 10))
    array[:5, :5] = 7
    array[5:10, 5:10] = 8
    inner = inner_chunks(array, (0, 0))
    assert [(chunk.index, chunk.span is not None) for chunk in inner] == [
        ((0, 0), True), ((0, 1), False), ((1, 0), False), ((1, 1), True),
    ]  # fmt: skip
    assert all(chunk.span is None for chunk in inner_chunks(array, (1, 2)))


@pytest.fixture
def unlistable() -> Iterator[str]:
    store = MemoryStore()
    sparse(store)
    with web_server({key: store.get(key) or b"" for key in store.list()}) as server:
        yield server.url


def test_where_nothing_is_listed_each_chunk_of_a_small_grid_is_asked_for(
    unlistable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    array: Any = zarrscope.open(unlistable)["/a"]
    assert not array.store.listable
    found = take_inventory(array)
    assert (found.known, found.present, found.nbytes) == (True, 4, None)
    assert found.size_of((1, 1, 1)) == UNKNOWN
    monkeypatch.setattr("zarrscope.check.inventory.MOST_ASKED", 71)
    assert not take_inventory(array).known


def test_cancelled_on_the_way(shelf: Shelf) -> None:
    found = take_inventory(sparse(shelf), lambda: True)
    assert not found.complete


# ---------------------------------------------------------------------- the map
def test_the_map_follows_the_picture_and_lists_when_it_is_looked_at(
    shelf: Shelf, workspace: Workspace, mailbox: Mailbox
) -> None:
    sparse(shelf)
    session = workspace.open(shelf.address)
    session.select("/a")
    mailbox.run_until(settled(session))
    chunks = session.chunks
    assert chunks.state.cells is None, "nobody looked"
    chunks.look()
    mailbox.run_until(lambda: chunks.state.cells is not None)
    state = chunks.state
    assert (state.row_axis, state.column_axis, state.fixed) == ("y", "x", (("z", 1, 3),)), "z 1 is shown first"
    assert state.cells is not None
    assert (state.cells == PRESENT).tolist() == np.eye(4, 6, dtype=bool).tolist()
    assert [item.text for item in state.items][:3] == [
        "3 × 4 × 6, 72 chunks", "4 (6 %)", "68, which read as the fill value",
    ]  # fmt: skip
    session.slice.set_index("z", 2)
    mailbox.run_until(lambda: chunks.state.fixed == (("z", 2, 3),) and not np.any(chunks.state.cells == PRESENT))
    chunks.set_chunk("z", 1)
    chunks.show("z", "x")
    mailbox.run_until(lambda: chunks.state.row_axis == "z" and extent(chunks) == (3, 6))
    assert "█·····" in chunks.text()


@pytest.mark.parametrize(
    ("chunks", "axes"), [((2, 4, 6), ("y", "x")), ((1, 4, 6), ("dim_0", "x"))], ids=["one", "several"]
)
def test_the_map_has_the_axes_of_the_picture_unless_others_have_more_chunks(
    chunks: tuple[int, ...], axes: tuple[str, str], shelf: Shelf, workspace: Workspace, mailbox: Mailbox
) -> None:
    zarrscope.open(shelf.address, "a").create_array("/a", shape=(2, 4, 6), dtype="u1", chunks=chunks)
    session = workspace.open(shelf.address)
    session.select("/a")
    mailbox.run_until(settled(session))
    session.chunks.look()
    mailbox.run_until(lambda: session.chunks.state.cells is not None)
    assert (session.chunks.state.row_axis, session.chunks.state.column_axis) == axes


def test_a_chosen_chunk_tells_key_size_and_what_reading_it_gives(
    shelf: Shelf, workspace: Workspace, mailbox: Mailbox
) -> None:
    sparse(shelf)
    shelf.set("a/c/1/2/2", b"broken")
    chunks = with_map(workspace, shelf, mailbox)
    chunks.choose(2, 2)
    chosen = chunks.state.chosen
    assert chosen is not None
    assert (chosen.index, chosen.title) == ((1, 2, 2), "Chunk 1, 2, 2")
    told = {item.label: item.text for item in chosen.items}
    assert told["Key"] == "a/c/1/2/2"
    assert told["Size"].startswith("6 B for 200 B of values")
    assert told["Holds"] == "z 1, y 20–29, x 20–29"
    chunks.check()
    mailbox.run_until(lambda: chunks.state.chosen is not None and chunks.state.chosen.failed)
    assert chunks.state.cells is not None
    assert chunks.state.cells[2, 2] == FAILED
    shelf.set("a/c/1/2/2", shelf.get("a/c/1/1/1") or b"")
    chunks.check()
    mailbox.run_until(lambda: chunks.state.chosen is not None and "decoded in" in chunks.state.chosen.sentence)
    assert chunks.state.cells[2, 2] == PRESENT
    chunks.choose(0, 3)
    assert chunks.state.chosen is not None
    assert {i.label: i.text for i in chunks.state.chosen.items}["Stored"] == "no"


def test_loading_and_failing_show_on_the_map(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    sparse(shelf)
    shelf.set("a/c/1/1/1", b"broken")
    session = workspace.open(shelf.address)
    session.select("/a")
    mailbox.run_until(settled(session))
    session.chunks.look()
    mailbox.run_until(lambda: session.chunks.state.cells is not None)
    shelf.hold("chunks")
    session.slice.viewport((0, 0, 40, 60), (40, 60))
    mailbox.run_until(lambda: bool(np.any(session.chunks.state.cells == LOADING)))
    shelf.release()
    mailbox.run_until(lambda: session.slice.frame.loading == 0 and bool(np.any(session.chunks.state.cells == FAILED)))
    cells = session.chunks.state.cells
    assert cells is not None
    assert np.argwhere(cells == FAILED).tolist() == [[1, 1]]
    assert not (cells == LOADING).any()


def test_a_huge_plane_is_drawn_in_cells_that_open(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    array = zarrscope.open(shelf, "a").create_array("/a", shape=(10**7, 10**7), dtype="u1", chunks=(10, 10))
    array[15, 25] = 1
    chunks = with_map(workspace, shelf, mailbox)
    assert extent(chunks) == (128, 128)
    assert chunks.state.cells is not None
    assert chunks.state.cells[0, 0] == PARTLY
    assert (chunks.state.cells == ABSENT).sum() == 128 * 128 - 1
    for _ in range(4):
        if chunks.state.step == (1, 1):
            break
        step = chunks.state.step
        chunks.choose(0, 0)
        mailbox.run_until(partial(_opened, chunks, step))
    assert not chunks.state.whole
    chunks.choose(1, 2)
    assert chunks.state.chosen is not None
    assert chunks.state.chosen.index == (1, 2)
    chunks.show_whole()
    assert chunks.state.whole


def test_the_map_of_an_array_that_cannot_be_decoded(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    sparse(shelf)
    document = json.loads(shelf.get("a/zarr.json") or b"")
    document["codecs"].append({"name": "nobody.knows"})
    shelf.set("a/zarr.json", json.dumps(document).encode())
    session = workspace.open(shelf.address)
    session.select("/a")
    mailbox.run_until(settled(session))
    session.chunks.look()
    mailbox.run_until(lambda: session.chunks.state.cells is not None)
    assert session.chunks.state.items[1].text == "4 (6 %)"
    session.chunks.choose(0, 0)
    session.chunks.check()
    mailbox.run_until(lambda: session.chunks.state.chosen is not None and session.chunks.state.chosen.failed)
    assert "nobody.knows" in (session.chunks.state.chosen.sentence if session.chunks.state.chosen else "")


def parts_of(chunks: ChunksPresenter) -> dict[str, Any]:
    """The parts of the chosen chunk's details by their titles: a text, or lines as {label: text}."""
    chosen = chunks.state.chosen
    parts = chosen.parts if chosen is not None else ()
    return {part.title: part.text or {item.label: item.text for item in part.items} for part in parts}


def test_a_chosen_chunk_tells_its_bytes_and_the_size_after_each_codec(
    shelf: Shelf, workspace: Workspace, mailbox: Mailbox
) -> None:
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    codecs: list[Any] = [little, {"name": "gzip", "configuration": {"level": 1}}, "crc32c"]
    array = zarrscope.open(shelf, "a").create_array("/a", shape=(40, 40), dtype="u2", chunks=(20, 20), codecs=codecs)
    array[:20, :20] = 7
    array[20:, :20] = 8
    shelf.set("a/c/1/0", b"GIF89a, not gzip")
    chunks = with_map(workspace, shelf, mailbox)
    chunks.choose(0, 0)
    mailbox.run_until(lambda: bool(parts_of(chunks)))
    stored = shelf.get("a/c/0/0") or b""
    assert chunks.state.chosen is not None
    assert "decoded in" in chunks.state.chosen.sentence, "without a further click"
    assert ("Bytes", f"0–{len(stored) - 1}, the whole value") in [(i.label, i.text) for i in chunks.state.chosen.items]
    assert parts_of(chunks)["Size after each codec"] == {
        "stored": f"{len(stored)} B", "crc32c": f"{len(stored) - 4} B", "gzip": "800 B", "bytes": "800 B",
    }  # fmt: skip
    first = parts_of(chunks)["First bytes"].splitlines()
    assert first[0].startswith(f"00  {stored[:8].hex(' ')}  ")
    assert parts_of(chunks)["First bytes"] in chunks.text()
    chunks.choose(1, 0)
    mailbox.run_until(lambda: "First bytes" in parts_of(chunks))
    assert chunks.state.chosen is not None
    assert chunks.state.chosen.failed
    assert parts_of(chunks) == {
        "First bytes": "00  47 49 46 38 39 61 2c 20  GIF89a, \n08  6e 6f 74 20 67 7a 69 70  not gzip"
    }, "the bytes are shown although they cannot be decoded"
    shelf.read.clear()
    chunks.choose(1, 1)
    assert chunks.state.chosen is not None
    assert (chunks.state.chosen.parts, shelf.read) == ((), []), "nothing is stored"


def test_of_a_large_chunk_only_the_first_bytes_are_read_unasked(
    shelf: Shelf, workspace: Workspace, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zarrscope_app.presenters.chunks.chosen.MOST_UNASKED", 100)
    sparse(shelf)
    chunks = with_map(workspace, shelf, mailbox)
    chunks.choose(2, 2)
    mailbox.run_until(lambda: bool(parts_of(chunks)))
    assert parts_of(chunks).keys() == {"First bytes"}
    assert chunks.state.chosen is not None
    assert not chunks.state.chosen.sentence
    chunks.check()
    mailbox.run_until(lambda: "Size after each codec" in parts_of(chunks))


def test_a_chosen_shard_tells_where_its_index_is(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    hierarchy = zarrscope.open(shelf, "a")
    hierarchy.create_array("/s", shape=(20, 20), dtype="u2", chunks=(5, 5), shards=(10, 10))[:5, :5] = 7
    chunks = with_map(workspace, shelf, mailbox, "/s")
    chunks.choose(0, 0)
    mailbox.run_until(lambda: "First bytes" in parts_of(chunks))
    assert chunks.state.chosen is not None
    size = len(shelf.get("s/c/0/0") or b"")
    told = {item.label: item.text for item in chunks.state.chosen.items}
    assert told["Index"] == f"{size - 68}–{size - 1} of the shard", "four entries of 16 bytes, and a checksum"
    assert told["Inside"].startswith("1 of 4 chunks")


def sharded(store: Any) -> Any:
    """A 4 x 20 x 20 array in shards of 2 x 10 x 10, with chunks of 1 x 5 x 5: of shard 1, 0, 1 only one is stored."""
    array = zarrscope.open(store, "a").create_array(
        "/s", shape=(4, 20, 20), dtype="u2", chunks=(1, 5, 5), shards=(2, 10, 10), dimension_names=("z", "y", "x")
    )
    array[3, 5:10, 10:15] = 7
    return array


def test_a_chunk_in_a_shard_is_chosen(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    array = sharded(shelf)
    session = workspace.open(shelf.address)
    session.select("/s")
    mailbox.run_until(settled(session))
    session.slice.set_index("z", 3)
    chunks = session.chunks
    chunks.look()
    mailbox.run_until(lambda: chunks.state.cells is not None and chunks.state.fixed == (("z", 1, 2),))
    chunks.choose(0, 1)
    mailbox.run_until(lambda: chunks.state.inner is not None)
    inner = chunks.state.inner
    assert inner is not None
    assert inner.cells.tolist() == [[ABSENT, ABSENT], [PRESENT, ABSENT]]
    assert (inner.fixed, inner.chosen_cell) == ((("z", 3, 2, 3),), None), "the plane of the picture"
    assert "Chunks in shard 1, 0, 1 · z 3\n··\n█·" in chunks.text()
    chunks.choose_inner(1, 0)
    mailbox.run_until(lambda: "Size after each codec" in parts_of(chunks))
    state = chunks.state
    assert state.chosen is not None
    assert state.inner is not None
    assert (state.chosen.title, state.inner.chosen_cell) == ("Chunk 3, 1, 2 in shard 1, 0, 1", (1, 0))
    told = {item.label: item.text for item in state.chosen.items}
    found = next(each for each in inner_chunks(array, (1, 0, 1)) if each.span is not None)
    assert found.span is not None
    assert (told["Key"], told["Holds"]) == ("s/c/1/0/1", "z 3, y 5–9, x 10–14")
    assert told["Bytes"] == f"{found.span[0]}–{found.span[1] - 1} of the shard"
    assert parts_of(chunks)["Size after each codec"]["bytes"] == "50 B"
    stored = (shelf.get("s/c/1/0/1") or b"")[found.span[0] : found.span[1]]
    assert stored[:8].hex(" ") in parts_of(chunks)["First bytes"]
    chunks.show_in_image()
    assert session.slice.index[0] == 3
    assert session.slice.take_rect() == (3.75, 8.75, 11.25, 16.25), "the chunk, not the shard"
    chunks.choose_inner(0, 0)
    assert chunks.state.chosen is not None
    assert "leave out a chunk" in chunks.state.chosen.sentence
    chunks.set_inner("z", 2)
    assert chunks.state.inner is not None
    assert (chunks.state.inner.cells == ABSENT).all()
    assert chunks.state.inner.chosen_cell is None, "the chosen one is on another plane"
    chunks.set_inner("z", 3)
    chunks.choose_inner(0, 0)
    mailbox.run_until(lambda: chunks.state.inner is not None and chunks.state.inner.chosen_cell is None)
    assert chunks.state.chosen is not None
    assert chunks.state.chosen.title == "Shard 1, 0, 1", "the same cell again chooses the shard"


def test_a_damaged_chunk_in_a_shard_is_told_from_the_others(
    shelf: Shelf, workspace: Workspace, mailbox: Mailbox
) -> None:
    array = sharded(shelf)
    array[3, :5, 10:15] = 9
    good, bad = (each for each in inner_chunks(array, (1, 0, 1)) if each.span is not None)
    value = bytearray(shelf.get("s/c/1/0/1") or b"")
    assert bad.span is not None
    value[slice(*bad.span)] = b"x" * (bad.span[1] - bad.span[0])
    shelf.set("s/c/1/0/1", bytes(value))
    session = workspace.open(shelf.address)
    session.select("/s")
    mailbox.run_until(settled(session))
    chunks = session.chunks
    chunks.look()
    chunks.set_chunk("z", 1)
    mailbox.run_until(lambda: chunks.state.cells is not None and chunks.state.fixed == (("z", 1, 2),))
    chunks.choose(0, 1)
    mailbox.run_until(lambda: chunks.state.inner is not None)
    chunks.set_inner("z", 3)
    chunks.choose_inner(1, 0)
    mailbox.run_until(lambda: chunks.state.chosen is not None and chunks.state.chosen.failed)
    assert parts_of(chunks)["First bytes"].startswith("00  78 78 78")
    chunks.choose_inner(0, 0)
    mailbox.run_until(lambda: "Size after each codec" in parts_of(chunks))
    assert chunks.state.chosen is not None
    assert not chunks.state.chosen.failed
    assert good.index == (3, 0, 2)


# ---------------------------------------------------------------------- its place in the image
def test_a_chosen_chunk_is_shown_in_the_image(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    sparse(shelf)
    session = workspace.open(shelf.address)
    session.select("/a")
    mailbox.run_until(settled(session))
    perform(session, "chunk-in-image")
    assert session.state.tab == "chunks", "nothing is chosen yet"
    session.chunks.look()
    mailbox.run_until(lambda: session.chunks.state.cells is not None)
    session.chunks.set_chunk("z", 2)
    mailbox.run_until(lambda: session.chunks.state.fixed == (("z", 2, 3),))
    session.chunks.choose(1, 4)
    assert session.chunks.state.pictured
    perform(session, "chunk-in-image")
    assert session.state.tab == "image"
    assert session.slice.index[0] == 2
    assert session.slice.take_rect() == (7.5, 37.5, 22.5, 52.5), "y 10-19, x 40-49, and a margin"
    perform(session, "missing")
    mailbox.run_until(lambda: session.chunks.state.chosen is not None)


def test_a_chunk_of_a_coarse_level_is_shown_at_that_level(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    hierarchy = zarrscope.open(shelf, "a")
    axes = [{"name": name, "type": kind} for name, kind in (("c", "channel"), ("y", "space"), ("x", "space"))]
    datasets = [
        {"path": str(n), "coordinateTransformations": [{"type": "scale", "scale": [1, 2**n, 2**n]}]} for n in range(2)
    ]
    for n in range(2):
        side = 64 >> n
        hierarchy.create_array(f"/{n}", shape=(2, side, side), dtype="u1", chunks=(1, 16, 16))[...] = 5
    hierarchy["/"].attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}
    session = workspace.open(shelf.address)
    mailbox.run_until(lambda: settled(session)() and session.slice.image is not None)
    chunks = session.chunks
    chunks.look()
    chunks.set_level(1)
    session.slice.set_visible(0, True)
    session.slice.set_visible(1, False)
    chunks.set_chunk("c", 1)
    mailbox.run_until(lambda: chunks.state.cells is not None and chunks.state.fixed == (("c", 1, 2),))
    chunks.choose(0, 1)
    chunks.show_in_image()
    assert session.slice.view()["level"] == 1
    assert session.slice.state.channels[1].visible, "the chunk belongs to this channel"
    assert session.slice.take_rect() == (-8.0, 24.0, 40.0, 72.0), "twice as large in the finest level"


def test_what_has_no_picture_is_not_shown_in_one(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    zarrscope.open(shelf, "a").create_array("/line", shape=(8,), dtype="u1", chunks=(4,))[...] = 1
    session = workspace.open(shelf.address)
    session.select("/line")
    mailbox.run_until(settled(session))
    session.set_tab("chunks")
    session.chunks.look()
    mailbox.run_until(lambda: session.chunks.state.cells is not None)
    session.chunks.choose(0, 0)
    perform(session, "chunk-in-image")
    assert not session.chunks.state.pictured
    assert session.state.tab == "chunks"


def test_cells_are_coloured_by_size_or_by_ratio(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    array = zarrscope.open(shelf, "a").create_array(
        "/a",
        shape=(30, 25),
        dtype="u2",
        chunks=(10, 10),
        codecs=[{"name": "bytes", "configuration": {"endian": "big"}}],
    )
    array[:10] = 1
    chunks = with_map(workspace, shelf, mailbox)
    assert (chunks.state.colored_by, chunks.state.scale) == ("size", ()), "whole chunks are stored, also at the edge"
    chunks.color_by("ratio")
    state = chunks.state
    assert state.shades is not None
    assert state.scale == ((0, "1 to 2"), (0.5, "1 to 1.41"), (1, "1 to 1")), "half of the last chunk is beyond"
    assert state.shades[0].tolist() == [1, 1, 0]
    chunks.color_by("beauty")
    assert chunks.state.colored_by == "ratio"


@pytest.mark.parametrize(("shape", "told"), [((50,), "5 chunks"), ((20, 30), "2 × 3, 6 chunks")])
def test_the_count_along_one_axis_is_said_once(
    shelf: Shelf, workspace: Workspace, mailbox: Mailbox, shape: tuple[int, ...], told: str
) -> None:
    zarrscope.open(shelf, "a").create_array("/a", shape=shape, dtype="u1", chunks=(10,) * len(shape))
    chunks = with_map(workspace, shelf, mailbox)
    assert {item.label: item.text for item in chunks.state.items}["Grid"] == told


def test_the_legend_names_no_value_twice() -> None:
    sizes = np.array([[14_840, 14_900], [14_950, 15_000]])
    shades, scale = shades_of(np.ones((2, 2), np.int64), sizes)
    assert scale == ((0, "14.5 KiB"), (1, "14.6 KiB")), "the middle has the words of an end"
    assert (float(shades.min()), float(shades.max())) == (0, 1)


def test_sizes_are_drawn_as_bars() -> None:
    assert bars_of((1, 0, 50, 100)) == "▂▁▅█"
    assert bars_of(()) == ""
    sizes = ChunkMap(items=(Item("Sizes", bars_of((1, 0, 50, 100))), Item("Name", "█ stored")))
    assert map_text(sizes, ascii_bars=True) == "Sizes  ._=#\nName   █ stored\n"


# ---------------------------------------------------------------------- hosts
def _shows_the_diagonal(shown: ChunkMap) -> bool:
    """Whether the map shows plane 1 of `sparse`, and no chunk that is still being loaded."""
    return shown.cells is not None and bool((shown.cells == np.where(np.eye(4, 6), PRESENT, ABSENT)).all())


@pytest.mark.needs("qt", "display")
def test_the_window_draws_the_map(shelf: Shelf, qtbot: Any) -> None:
    from qtpy.QtCore import QPoint, Qt

    from qt_robot import window_on

    sparse(shelf)
    window, session = window_on(qtbot, shelf.address)
    session.select("/a")
    qtbot.waitUntil(settled(session), timeout=20_000)
    pane = window.tabs.pages["chunks"]
    session.set_tab("chunks")
    qtbot.waitUntil(lambda: _shows_the_diagonal(pane.map._map), timeout=20_000)
    picture = pane.map.grab().toImage()
    high, wide = pane.map._cell()
    colours = {picture.pixelColor(int(wide * (k + 0.5)), int(high * (k + 0.5))).name() for k in range(4)}
    assert picture.pixelColor(int(wide * 5.5), int(high * 0.3)).name() not in colours, "absent looks different"
    qtbot.mouseClick(pane.map, Qt.MouseButton.LeftButton, pos=QPoint(int(wide * 1.5), int(high * 1.5)))
    qtbot.waitUntil(lambda: pane.title.text() == "Chunk 1, 1, 1", timeout=20_000)
    qtbot.mouseClick(pane.check, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "decoded in" in pane.about_chosen.text(), timeout=20_000)
    qtbot.mouseClick(pane.in_image, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: session.state.tab == "image", timeout=20_000)
    canvas = window.image.canvas
    qtbot.waitUntil(lambda: canvas.center == (15.0, 15.0) and canvas.zoom > 1, timeout=20_000)


@pytest.mark.needs("qt", "display")
def test_a_small_map_has_the_shape_of_its_plane_and_its_text_beside_it(shelf: Shelf, qtbot: Any) -> None:
    from qt_robot import window_on

    hierarchy = zarrscope.open(shelf, "a")
    hierarchy.create_array("/one", shape=(200, 300), dtype="u1", chunks=(200, 300))[...] = np.ones((200, 300), "u1")
    hierarchy.create_array("/thin", shape=(2, 300), dtype="u1", chunks=(1, 300))[...] = np.ones((2, 300), "u1")
    window, session = window_on(qtbot, shelf.address)
    session.select("/one")
    qtbot.waitUntil(settled(session), timeout=20_000)
    session.set_tab("chunks")
    pane = window.tabs.pages["chunks"]
    qtbot.waitUntil(lambda: pane.map._map.cells is not None and pane.map.width() < 300, timeout=20_000)
    high, wide = pane.map._cell()
    assert high / wide == pytest.approx(200 / 300)
    assert wide > 200, "one chunk is no speck"
    map_right = pane.map.mapTo(pane, pane.map.rect().topRight()).x()
    assert pane._side.mapTo(pane, pane._side.rect().topLeft()).x() - map_right < 20
    session.select("/thin")
    qtbot.waitUntil(lambda: session.chunks.state.proportion < 0.5, timeout=20_000)
    assert session.chunks.state.proportion == pytest.approx(1 / 3), "wide enough to be clicked"


@pytest.mark.needs("qt", "display")
def test_the_legend_shows_the_colours_of_sizes_where_they_differ(shelf: Shelf, qtbot: Any) -> None:
    from qt_robot import window_on

    hierarchy = zarrscope.open(shelf, "a")
    values = np.zeros((8, 8), "u1")
    like = hierarchy.create_array("/like", shape=(8, 8), dtype="u1", chunks=(4, 4), fill_value=7, codecs=["bytes"])
    like[...] = values
    values[:4, :4] = np.random.default_rng(1).integers(0, 99, (4, 4))
    hierarchy.create_array("/unlike", shape=(8, 8), dtype="u1", chunks=(4, 4), fill_value=7)[...] = values
    window, session = window_on(qtbot, shelf.address)
    session.set_tab("chunks")
    pane = window.tabs.pages["chunks"]
    for path, differ in (("/like", False), ("/unlike", True)):
        session.select(path)
        qtbot.waitUntil(lambda path=path: session.state.path == path and settled(session)(), timeout=20_000)
        session.set_tab("chunks")
        qtbot.waitUntil(
            lambda: session.chunks.state.cells is not None and "stored" in pane.legend.text(), timeout=20_000
        )
        assert (" B" in pane.legend.text()) == differ, path
        assert bool(session.chunks.state.scale) == differ, path


@pytest.mark.needs("qt", "display")
def test_an_array_without_a_grid_gives_the_reason_and_offers_no_cell(shelf: Shelf, qtbot: Any) -> None:
    from qt_robot import window_on

    sparse(shelf)
    shelf.set("a/zarr.json", b'{"zarr_format": 3, "node_type": "array", "data_type": "uint8"}')
    window, session = window_on(qtbot, shelf.address)
    session.select("/a")
    qtbot.waitUntil(lambda: session.state.path == "/a" and settled(session)(), timeout=20_000)
    session.set_tab("chunks")
    pane = window.tabs.pages["chunks"]
    qtbot.waitUntil(lambda: "shape" in pane.sentence.text(), timeout=20_000)
    assert pane.title.text() == "", "there is no cell to click"


# ---------------------------------------------------------------------- the command line
def printed(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert cli.run(list(words)) == 0
    return json.loads(capsys.readouterr().out)


def test_chunks_and_stats_say_the_same_as_the_map(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], workspace: Workspace, mailbox: Mailbox
) -> None:
    place = str(tmp_path / "a.zarr")
    sparse(place)
    zarrscope.open(place, "r+").create_array("/g/s", shape=(20, 20), dtype="u1", chunks=(5, 5), shards=(10, 10))[:] = 3
    told = printed(capsys, "chunks", place, "a", "--json")
    assert (told["grid"], told["total"], told["present"], told["absent"]) == ([3, 4, 6], 72, 4, 68)
    files = [file for file in (tmp_path / "a.zarr" / "a" / "c").rglob("*") if file.is_file()]
    assert told["stored_nbytes"] == sum(file.stat().st_size for file in files)
    every = printed(capsys, "stats", place, "--json")
    assert [array["path"] for array in every["arrays"]] == ["/a", "/g/s"]
    assert {**every["arrays"][0], "chunks": []} == told
    assert every["arrays"][1]["kind"] == "shard"
    assert every["sum"]["present"] == 8
    listed = printed(capsys, "chunks", place, "a", "--list", "stored", "--json")["chunks"]
    assert [tuple(chunk["index"]) for chunk in listed] == DIAGONAL
    assert all((tmp_path / "a.zarr" / chunk["key"]).stat().st_size == chunk["nbytes"] for chunk in listed)
    missing = printed(capsys, "chunks", place, "a", "--list", "missing", "--most", "2", "--json")["chunks"]
    assert [chunk["key"] for chunk in missing] == ["a/c/0/0/0", "a/c/0/0/1"]
    session = workspace.open(place)
    session.select("/a")
    mailbox.run_until(settled(session))
    session.chunks.look()
    mailbox.run_until(lambda: bool(session.chunks.state.items))
    assert cli.run(["chunks", place, "a"]) == 0
    out = capsys.readouterr().out
    assert all(item.text in out for item in session.chunks.state.items)
    assert cli.run(["stats", place]) == 0
    assert "together" in capsys.readouterr().out
    assert cli.run(["chunks", place]) == 1
    assert "zarrscope stats" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["a.zarr", "a.zarr.zip", "a.n5"])
def test_info_and_chunks_state_the_same_stored_bytes(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever else lies beside the chunks: those beyond a smaller shape, and files of other programs."""
    path = str(tmp_path / place)
    with zarrscope.open(path, "w-", dialect="n5" if place.endswith(".n5") else "v3") as h:
        h.create_array("/a", shape=(20, 20), dtype="u1", chunks=(5, 5))[:] = 3
    if os.path.isdir(path):
        with open(f"{path}/a/notes.txt", "w", encoding="utf-8") as file:
            file.write("of another program")
        document = "attributes.json" if place.endswith(".n5") else "zarr.json"
        text = Path(path, "a", document).read_text("utf-8")
        Path(path, "a", document).write_text(re.sub(r"\[\s*20,\s*20\s*\]", "[20, 10]", text), "utf-8")
    told = printed(capsys, "chunks", path, "a", "--json")
    assert told["present"] == (8 if os.path.isdir(path) else 16)
    assert printed(capsys, "info", path, "a", "--json")["stored_nbytes"] == told["stored_nbytes"] > 0


def test_the_next_missing_chunk_is_the_first_gap_of_the_listing(shelf: Shelf) -> None:
    """Compared with every gap, one by one."""
    inventory = take_inventory(sparse(shelf))
    gaps = list(inventory.absent_chunks())
    for number in range(inventory.total):
        after = [gap for gap in gaps if number_of(gap, inventory.grid) >= number]
        assert inventory.next_absent(number) == (after or gaps)[0]
    assert next_missing(inventory, gaps[-1], (0, 0, 0), (1, 2)) == gaps[0]
    assert next_missing(inventory, None, (1, 3, 3), (1, 2)) == (1, 0, 1), "from the displayed plane on"


def test_a_fill_value_is_not_named_if_the_array_states_none() -> None:
    hierarchy = zarrscope.open(MemoryStore(), "w-", dialect="v2")
    made = hierarchy.create_array("/a", shape=(4,), dtype="f4", chunks=(2,), fill_value=None)
    told = missing_reason(made.metadata.fill, "Chunk"), strings.missing_chunk(made.metadata.fill, "a/0")
    assert all("states no fill value" in sentence and "the fill value 0" not in sentence for sentence in told), told


@pytest.mark.parametrize("index", [(0, 0), (299, 4999), (150, 2600), (17, 128)])
def test_a_missing_chunk_of_a_large_plane_gets_a_cell_of_its_own(index: tuple[int, int]) -> None:
    part = part_around(index, (0, 1), (0, 0, 300, 5000), 128)
    assert part is not None
    row, column, rows, columns = part
    assert row <= index[0] < row + rows <= 300
    assert column <= index[1] < column + columns <= 5000
    assert step_of(part, 128) == (1, 1)
    assert part_around((1, 1), (0, 1), (0, 0, 100, 128), 128) is None, "the whole plane"


def test_strings_have_no_size_before_they_are_decoded(tmp_path: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    h = zarrscope.open(str(tmp_path / "s.zarr"), "w-")
    h.create_array("/s", shape=(4, 4), dtype="string", chunks=(2, 2))[...] = np.full((4, 4), "é", dtype=object)
    session = workspace.open(str(tmp_path / "s.zarr"))
    session.select("/s")
    mailbox.run_until(settled(session))
    session.chunks.look()
    mailbox.run_until(lambda: session.chunks.state.cells is not None)
    told = {item.label: item.text for item in session.chunks.state.items}
    assert "values" not in told["Size"]
    assert "Ratio" not in told
    session.chunks.choose(0, 0)
    chosen = session.chunks.state.chosen
    assert chosen is not None
    assert "values" not in next(item.text for item in chosen.items if item.label == "Size")
