"""The cost of a gesture in chunks read, chunks decoded and tiles drawn. They are counted; nothing is timed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

from contracts.journeys import Shelf
from viewer import Viewer
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.nodes.stored_array import StoredArray
from zarrscope_app.presenters import TileState
from zarrscope_app.presenters.image import tile_manager
from zarrscope_app.presenters.image.painting import DOT

SIDE, CHUNK = 1024, 64
DATA = (np.add.outer(np.arange(SIDE), 3 * np.arange(SIDE)) % 251).astype("u1")


class Window(Viewer):
    """A session on one array, with its own cache and threads, of which one decodes."""

    def turn(self) -> None:
        """Runs all posted calls, including those that they post."""
        while self.mailbox.run():
            pass

    def settle(self) -> None:
        """Waits until the picture is complete at its level, and prefetching has finished."""
        self.turn()
        self.until(lambda: self.slice.frame.loading == 0 and self.slice._tiles.settled)
        self.turn()
        for _ in range(3):  # a fetch posts a decode, which posts a call
            for pool in (self.background.file_pool, self.background.decode_pool):
                reached = threading.Event()
                pool.put(99, reached.set)
                assert reached.wait(20)
            self.turn()


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    made = Shelf()
    yield made
    made.release()


@pytest.fixture
def window(shelf: Shelf) -> Iterator[Callable[..., Window]]:
    opened: list[Window] = []

    def make(path: str = "/a") -> Window:
        opened.append(Window(shelf, path, fetching=4))
        return opened[-1]

    yield make
    shelf.release()
    for each in opened:
        each.session.close()


def store(shelf: Shelf, data: Any, chunks: tuple[int, ...], path: str = "/a", **more: Any) -> None:
    open_hierarchy(shelf, "a").create_array(path, shape=data.shape, dtype=data.dtype, chunks=chunks, **more)[...] = data


def pyramid(shelf: Shelf) -> None:
    axes = [{"name": n, "type": "space"} for n in "yx"]
    datasets = [
        {"path": str(k), "coordinateTransformations": [{"type": "scale", "scale": [2.0**k] * 2}]} for k in range(3)
    ]
    open_hierarchy(shelf, "a").create_group(
        "/p", {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}}
    )
    for k in range(3):
        store(shelf, DATA[:: 2**k, :: 2**k], (CHUNK, CHUNK), f"/p/{k}")


def chunks_of(y0: float, x0: float, y1: float, x1: float) -> set[str]:
    rows = range(int(max(0, y0)) // CHUNK, -(-int(min(SIDE, y1)) // CHUNK))
    columns = range(int(max(0, x0)) // CHUNK, -(-int(min(SIDE, x1)) // CHUNK))
    return {f"p/0/c/{row}/{column}" for row in rows for column in columns}


# ---------------------------------------------------------------------- panning
def test_panning_a_pyramid_reads_only_the_chunks_that_come_into_sight(shelf: Shelf, window: Any) -> None:
    pyramid(shelf)
    view = window("/p")
    seen: set[str] = set()
    y, x = 100.0, 70.0
    for step in range(60):
        rect = (y, x, y + 300.0, x + 400.0)
        shelf.read.clear()
        view.slice.viewport(rect, (300, 400))
        view.settle()
        read = [key for key in shelf.read if key.startswith("p/0/")]
        if step:
            assert {key for key in shelf.read if not key.startswith("p/0/")} == set(), "what lies beneath is there"
        assert set(read) == chunks_of(*rect) - seen
        assert len(read) == len(set(read))
        seen |= set(read)
        assert view.slice.frame.level == 0
        if step % 10 == 0:
            view.slice.set_levels(0, 0, 255)
            view.settle()
            picture = view.slice.picture(300, 400)
            assert np.array_equal(picture[..., 0], DATA[int(y) : int(y) + 300, int(x) : int(x) + 400])
        y, x = (y + 7, x + 25) if step < 20 else (y + 11, x - 30) if step < 35 else (max(0.0, y - 23), x + 13)


def test_what_is_in_sight_stays_in_sight_while_more_of_its_tile_comes(shelf: Shelf, window: Any) -> None:
    pyramid(shelf)
    view = window("/p")
    view.slice.set_levels(0, 0, 255)
    view.slice.viewport((0.0, 0.0, 256.0, 256.0), (256, 256))
    view.settle()
    shelf.hold("chunks")
    view.slice.viewport((0.0, 32.0, 256.0, 288.0), (256, 256))
    view.turn()
    assert view.slice.frame.loading
    assert np.array_equal(view.slice.picture(256, 256)[:, :224, 0], DATA[:256, 32:256])
    shelf.release()
    view.settle()
    assert np.array_equal(view.slice.picture(256, 256)[..., 0], DATA[:256, 32:288])


# ---------------------------------------------------------------------- stepping and scrubbing
DEEP = np.broadcast_to(np.arange(128, dtype="u1")[:, None, None], (128, 128, 128))


def test_stepping_through_deep_chunks_reads_each_once_and_ahead_of_time(shelf: Shelf, window: Any) -> None:
    store(shelf, DEEP, (64, 64, 64))
    view = window()
    view.slice.set_levels(0, 0, 255)
    view.slice.fit((128, 128))
    view.settle()
    for z in range(1, 128):
        if z == 64:
            assert len(shelf.read) == 8, "what comes next was fetched while the plane before was looked at"
        view.slice.set_index(view.slice.state.axes[0].name, z)
        view.settle()
        assert view.slice.picture(128, 128)[0, 0, 0] == z
    assert len(shelf.read) == len(set(shelf.read)) == 8


def test_scrubbing_decodes_in_vain_at_most_two_chunks(
    shelf: Shelf, window: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = np.broadcast_to(np.arange(40, dtype="u1")[:, None, None], (40, 128, 128))
    store(shelf, data, (1, 32, 32))
    view = window()
    view.slice.set_levels(0, 0, 255)
    view.slice.fit((128, 128))
    view.settle()
    decoded: list[tuple[int, ...]] = []
    begun, go_on = threading.Semaphore(0), threading.Event()
    decode = StoredArray.decode_chunk

    def held(array: StoredArray, unit: Any, payload: Any) -> Any:
        decoded.append(unit)
        begun.release()
        assert go_on.wait(20)
        return decode(array, unit, payload)

    monkeypatch.setattr(StoredArray, "decode_chunk", held)
    axis = view.slice.state.axes[0].name
    order = Random(5).sample(range(2, 39), 30)
    for step, z in enumerate(order):
        view.slice.set_index(axis, z)
        view.turn()
        if step == 0:
            assert begun.acquire(timeout=20)
        reached = threading.Event()
        view.background.file_pool.put(1, reached.set)
        assert reached.wait(20)  # the bytes of the plane have arrived: only the decoding is held back
    go_on.set()
    view.until(lambda: view.slice.frame.loading == 0)
    assert view.slice.picture(128, 128)[0, 0, 0] == order[-1]
    before = decoded[: decoded.index(next(unit for unit in decoded if unit[0] == order[-1]))]
    assert len(before) <= 2
    assert {unit[0] for unit in decoded[len(before) : len(before) + 16]} == {order[-1]}


# ---------------------------------------------------------------------- contrast
class Drawing:
    """Records which pictures the workers drew, as (coarse, pixels)."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.drawn: list[tuple[bool, int]] = []
        for coarse, name in ((False, "paint"), (True, "preview")):
            monkeypatch.setattr(tile_manager, name, self._counted(coarse, getattr(tile_manager, name)))

    def _counted(self, coarse: bool, draw: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            result = draw(*arguments)
            picture = result if coarse else result[0]
            self.drawn.append((coarse, picture.shape[0] * picture.shape[1]))
            return result

        return counted


def test_a_contrast_drag_draws_coarsely_first_and_sharply_once(
    shelf: Shelf, window: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(shelf, DATA, (256, 256))
    view = window()
    view.slice.set_levels(0, 0, 255)
    view.slice.fit((SIDE, SIDE))
    view.settle()
    shelf.read.clear()
    tiles = len(view.slice.frame.tiles)
    assert tiles == 4
    drawing = Drawing(monkeypatch)
    states: list[set[TileState]] = []
    view.slice.painted.connect(lambda: states.append({tile.state for tile in view.slice.frame.tiles}))
    begun, go_on = threading.Event(), threading.Event()

    def busy() -> None:
        begun.set()
        assert go_on.wait(20)

    view.background.decode_pool.put(0, busy)
    assert begun.wait(20)
    for hi in range(254, 100, -1):  # the worker is busy and draws none of these …
        view.slice.set_levels(0, 0, hi)
        view.turn()
    go_on.set()
    view.settle()
    assert [coarse for coarse, _ in drawing.drawn] == [True] * 2 * tiles + [False] * tiles
    assert sum(pixels for coarse, pixels in drawing.drawn if coarse) <= 2 * tile_manager.PREVIEW
    assert sum(pixels for coarse, pixels in drawing.drawn if not coarse) == SIDE * SIDE
    assert all(found == {TileState.PRESENT} for found in states), "nothing goes back to loading"
    assert shelf.read == []
    expected = np.minimum(DATA.astype(float) / 101 * 255, 255)
    assert np.abs(view.slice.picture(SIDE, SIDE)[..., 0] - expected).max() <= 1


def test_a_preview_is_the_picture_thinned(shelf: Shelf, window: Any) -> None:
    store(shelf, DATA, (256, 256))
    view = window()
    view.slice.set_levels(0, 0, 255)
    view.slice.fit((SIDE, SIDE))
    view.settle()
    previews: list[Any] = []
    view.slice.painted.connect(lambda: previews.append(view.slice.picture(SIDE, SIDE)[::2, ::2, 0]))
    view.slice.set_inverted(0, True)
    view.settle()
    final = view.slice.picture(SIDE, SIDE)
    assert np.array_equal(previews[0], final[::2, ::2, 0])
    assert np.array_equal(final[..., 0], 255 - DATA)


def test_signs_of_missing_chunks_stay_while_contrast_is_dragged(shelf: Shelf, window: Any) -> None:
    data = DATA.copy()
    data[:256, :256] = 0
    store(shelf, data, (256, 256))
    view = window()
    view.slice.set_levels(0, 0, 255)
    view.slice.fit((SIDE, SIDE))
    view.settle()
    dotted = view.slice.picture(SIDE, SIDE)[:256, :256]
    assert set(np.unique(dotted)) == {0, DOT}
    seen: list[set[int]] = []
    view.slice.painted.connect(lambda: seen.append(set(np.unique(view.slice.picture(SIDE, SIDE)[:256, :256]))))
    view.slice.set_levels(0, 0, 100)
    view.settle()
    assert seen
    assert all(values == {0, DOT} for values in seen)
