"""The picture loads coarse levels first, reads only the chunks it needs, and marks missing, failed and skipped ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from contracts.journeys import PLANES, SIDE, Shelf, brightness, labelled_image, small_image
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.runtime.threads import Background, Mailbox
from zarrscope.view.loader import ChunkLoader
from zarrscope_app.presenters import Session, SessionStatus, SlicePresenter, TileState, strings
from zarrscope_app.presenters.image import late_plane
from zarrscope_app.presenters.image import planning as plans


class Bench:
    """A session on a store in memory, with its own cache."""

    def __init__(self, shelf: Shelf, path: str = "/", loader: ChunkLoader | None = None) -> None:
        self.mailbox = Mailbox()
        self.background = Background(4, 2)
        self.loader = loader or ChunkLoader(self.background)
        self.session = Session(shelf.address, self.mailbox, path=path, background=self.background, loader=self.loader)
        self.wait(lambda: self.session.state.status is SessionStatus.READY and not self.session.state.selecting)

    @property
    def slice(self) -> SlicePresenter:
        return self.session.slice

    def wait(self, happened: Callable[[], bool]) -> None:
        self.mailbox.run_until(happened, 20)

    def settle(self) -> None:
        """Waits until the visible picture is complete and all posted calls have run."""
        self.mailbox.run()
        self.wait(lambda: bool(self.slice.frame.tiles) and self.slice.frame.loading == 0)
        while self.mailbox.run():
            pass

    def fit(self, height: int, width: int) -> None:
        self.slice.fit((height, width))
        self.settle()


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def open_(shelf: Shelf) -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(path: str = "/", **more: Any) -> Bench:
        made.append(Bench(shelf, path, **more))
        return made[-1]

    yield make
    shelf.release()
    for bench in made:
        bench.session.close()


def plain(shelf: Shelf, data: np.ndarray, chunks: tuple[int, ...], **more: Any) -> None:
    hierarchy = open_hierarchy(shelf, "a")
    hierarchy.create_array("/a", shape=data.shape, dtype=data.dtype, chunks=chunks, **more)[...] = data


def pyramid(shelf: Shelf, side: int = 1024) -> np.ndarray:
    data = (np.add.outer(np.arange(side), np.arange(side)) % 251).astype("u1")
    hierarchy = open_hierarchy(shelf, "a")
    axes = [{"name": n, "type": "space", "unit": "micrometer"} for n in "yx"]
    datasets = [
        {"path": str(k), "coordinateTransformations": [{"type": "scale", "scale": [0.1 * 2**k] * 2}]} for k in range(3)
    ]
    hierarchy.create_group("/p", {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}})
    for k in range(3):
        level = data[:: 2**k, :: 2**k]
        hierarchy.create_array(f"/p/{k}", shape=level.shape, dtype="u1", chunks=(128, 128))[...] = level
    return data


def test_the_picture_is_the_data(shelf: Shelf, open_: Any) -> None:
    data = np.random.default_rng(1).integers(0, 256, (50, 70)).astype("u1")
    plain(shelf, data, (16, 16))
    bench = open_("/a")
    bench.slice.set_levels(0, 0, 255)
    bench.fit(50, 70)
    assert np.array_equal(bench.slice.picture(50, 70), np.repeat(data[:, :, None], 3, 2))
    bench.slice.transpose()
    bench.fit(70, 50)
    assert np.array_equal(bench.slice.picture(70, 50), np.repeat(data.T[:, :, None], 3, 2))


def test_any_two_axes_can_be_shown(shelf: Shelf, open_: Any) -> None:
    data = np.random.default_rng(1).integers(0, 256, (12, 20, 30)).astype("u1")
    plain(shelf, data, (5, 7, 8), dimension_names=("z", "y", "x"))
    bench = open_("/a")
    bench.slice.set_levels(0, 0, 255)
    bench.slice.show("x", "z")
    bench.slice.set_index("y", 11)
    bench.fit(30, 12)
    assert np.array_equal(bench.slice.picture(30, 12)[..., 0], data[:, 11, :].T)
    assert [(a.name, a.role) for a in bench.slice.state.axes] == [("z", "x"), ("y", "slider"), ("x", "y")]


def test_axes_that_return_to_their_sliders_have_their_index_again(shelf: Shelf, open_: Any) -> None:
    plain(shelf, np.zeros((12, 20, 30), "u1"), (5, 7, 8), dimension_names=("z", "y", "x"))
    shown = open_("/a").slice
    shown.set_index("z", 3)
    shown.show("z", "x")
    assert shown.index[1] == 10, "y had no index before: its middle"
    shown.set_index("y", 4)
    shown.show("y", "x")
    assert shown.index[0] == 3
    shown.roll()
    assert shown.index[1] == 4
    shown.roll()
    shown.roll()
    assert [(a.role, a.index) for a in shown.state.axes if a.role == "slider"] == [("slider", 3)]


def test_coarse_first_then_sharp(shelf: Shelf, open_: Any) -> None:
    pyramid(shelf)
    bench = open_("/p")
    seen: list[set[int]] = []
    bench.slice.painted.connect(
        lambda: seen.append({t.level for t in bench.slice.frame.tiles if t.state is TileState.PRESENT})
    )
    shelf.hold("p/0/")
    bench.slice.viewport((0.0, 0.0, 500.0, 500.0), (500, 500))
    bench.wait(lambda: bool(seen) and 2 in seen[-1])
    assert not any(0 in levels for levels in seen), "the coarsest level lies there while the finest is fetched"
    shelf.release()
    bench.settle()
    assert seen[-1] == {0}
    assert bench.slice.frame.level == 0
    fine = [key for key in shelf.read if key.startswith("p/0/")]
    assert len(fine) == 16, "only the chunks of the viewport"
    bench.fit(256, 256)
    assert bench.slice.frame.level == 2
    bench.slice.lock_level(1)
    bench.settle()
    assert bench.slice.frame.level == 1
    assert (bench.slice.state.level_text, bench.slice.state.automatic_level) == ("level: 1", "auto")


def test_contrast_is_drawn_anew_without_reading(shelf: Shelf, open_: Any) -> None:
    small_image(shelf)
    bench = open_("/image")
    bench.fit(64, 64)
    shelf.read.clear()
    for hi in range(200, 20, -1):
        bench.slice.set_levels(0, 0, hi)
        bench.mailbox.run()
    bench.wait(lambda: bench.slice.picture(8, 8)[4, 4, 0] == round(brightness(0) / 21 * 255))
    assert not shelf.read


def test_the_next_index_in_the_direction_of_travel_is_fetched_ahead(shelf: Shelf, open_: Any) -> None:
    small_image(shelf)
    bench = open_("/image")
    bench.fit(64, 64)
    bench.slice.set_index("z", 5)
    bench.settle()
    bench.wait(lambda: len([k for k in shelf.read if "/c/6/" in k]) == 16)
    bench.slice.step(-1)
    bench.settle()
    bench.wait(lambda: len([k for k in shelf.read if "/c/3/" in k]) == 16)


def test_too_much_is_not_read_before_somebody_says_so(
    shelf: Shelf, open_: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_image(shelf)
    monkeypatch.setattr(plans, "MAX_CHUNKS", 15)
    bench = open_("/image")
    bench.slice.fit((64, 64))
    bench.wait(lambda: bool(bench.slice.frame.blocked))
    assert bench.slice.frame.blocked == "16 chunks, 4.0 KiB: zoom in, or press Load."
    assert not shelf.read
    bench.slice.load_anyway()
    bench.wait(lambda: not bench.slice.frame.blocked)
    bench.settle()
    assert len(shelf.read) == 16


@pytest.mark.parametrize(
    ("remote", "side", "more", "asks"),
    [
        (False, 64, {}, False),
        (False, 128, {}, True),
        (True, 64, {}, True),
        (True, 32, {}, False),
        (True, 64, {"shards": (16, 16)}, False),
        (True, 80, {"shards": (2, 2)}, True),
    ],
)
def test_what_reading_costs_is_weighed(
    shelf: Shelf, open_: Any, remote: bool, side: int, more: dict[str, Any], asks: bool
) -> None:
    """Chunks of one element cost little on this computer; elsewhere each is a request, except within shards."""
    shelf.remote = remote
    open_hierarchy(shelf, "a").create_array("/a", shape=(side, side), dtype="u1", chunks=(1, 1), **more)
    bench = open_("/a")
    bench.slice.fit((side, side))
    bench.wait(lambda: bool(bench.slice.frame.blocked or bench.slice.frame.tiles))
    assert bool(bench.slice.frame.blocked) is asks


def test_what_is_not_stored_is_shown_as_the_fill_value_and_said(shelf: Shelf, open_: Any) -> None:
    hierarchy = open_hierarchy(shelf, "a")
    hierarchy.create_array("/a", shape=(32, 32), dtype="u2", chunks=(32, 32), fill_value=9)
    bench = open_("/a")
    bench.fit(32, 32)
    (tile,) = bench.slice.frame.tiles
    assert tile.state is TileState.FILL
    assert tile.sentence == "No chunk stored here: shown as the fill value 9. Key a/c/0/0."
    assert tile.rgb is not None
    assert bench.slice.frame.over == "No chunk of this picture is stored: every value is the fill value."
    bench.slice.hover(3, 4)
    assert bench.slice.probe.values[0][1] == "9"


def test_a_picture_of_which_a_part_is_stored_says_nothing_of_its_fill_value(shelf: Shelf, open_: Any) -> None:
    array = open_hierarchy(shelf, "a").create_array("/a", shape=(32, 64), dtype="u2", chunks=(32, 32), fill_value=9)
    array[:, :32] = 5
    bench = open_("/a")
    bench.fit(32, 64)
    assert bench.slice.frame.tiles
    assert bench.slice.frame.over == ""


def test_exact_values_of_large_integers(shelf: Shelf, open_: Any) -> None:
    data = np.array([[2**64 - 1, 2**53 + 1], [0, 1]], "u8")
    plain(shelf, data, (2, 2))
    bench = open_("/a")
    bench.slice.hover(0.5, 0.5)
    bench.wait(lambda: not bench.slice.probe.pending)
    assert bench.slice.probe.text.endswith("18446744073709551615")
    bench.slice.hover(0, 1)
    assert bench.slice.probe.text.endswith("9007199254740993")
    assert bench.slice.hover(5, 5).text.endswith("9007199254740993"), "off the image it stays"


def test_labels_lie_over_the_picture_when_asked(shelf: Shelf, open_: Any) -> None:
    labelled_image(shelf)
    bench = open_("/image")
    assert [(n.name, n.visible) for n in bench.slice.state.labels] == [("cells", False)]
    bench.fit(SIDE, SIDE)
    assert not any("labels" in key for key in shelf.read)
    bench.slice.set_label("/image/labels/cells", True, 1.0)
    bench.mailbox.run()
    bench.wait(lambda: tuple(bench.slice.picture(SIDE, SIDE)[5, 5]) == (255, 0, 0))
    assert tuple(bench.slice.picture(SIDE, SIDE)[40, 40]) == (brightness(0),) * 3


def test_a_line(shelf: Shelf, open_: Any) -> None:
    data = np.sin(np.linspace(0, 9, 5003))
    plain(shelf, data, (100,))
    bench = open_("/a")
    bench.wait(lambda: bench.slice.line is not None and not bench.slice.line.loading)
    line = bench.slice.line
    assert line is not None
    assert bench.slice.state.kind == "line"
    padded = np.concatenate([data, np.full(-len(data) % line.step, data[-1])]).reshape(-1, line.step)
    assert np.array_equal(line.low, padded.min(1))
    assert np.array_equal(line.high, padded.max(1))


def test_what_cannot_be_drawn_says_so(shelf: Shelf, open_: Any) -> None:
    hierarchy = open_hierarchy(shelf, "a")
    hierarchy.create_array("/s", shape=(3,), dtype="string", chunks=(2,), fill_value="")[...] = np.array(
        ["a", "β", ""], object
    )
    bench = open_("/s")
    assert bench.session.state.tab == "values"
    assert bench.slice.state.kind == "none"
    bench.session.values.cells(0, 0, 3, 1)
    bench.wait(lambda: bench.session.values.cells(0, 0, 3, 1) == [['"a"'], ['"β"'], ['""']])


def test_auto_contrast_takes_the_data_on_show(shelf: Shelf, open_: Any) -> None:
    data = np.zeros((2, 64, 64), "u2")
    data[0] = np.linspace(100, 300, 64 * 64).reshape(64, 64)
    data[1] = np.linspace(1000, 3000, 64 * 64).reshape(64, 64)
    plain(shelf, data, (1, 64, 64), dimension_names=("z", "y", "x"))
    bench = open_("/a")
    bench.slice.set_index("z", 0)
    bench.fit(64, 64)
    assert 100 <= (bench.slice.state.channels[0].lo or 0) < (bench.slice.state.channels[0].hi or 0) <= 300
    assert sum(bench.slice.state.channels[0].histogram) == 64 * 64
    bench.slice.set_index("z", 1)
    bench.settle()
    bench.slice.auto()
    bench.wait(lambda: (bench.slice.state.channels[0].lo or 0) >= 1000)


def test_a_channel_that_is_shown_later_gets_its_histogram(shelf: Shelf, open_: Any) -> None:
    """Even if the picture was painted between the choice and the plan of the channel's tiles."""
    window = {"start": 0, "end": 200, "min": 0, "max": 255}
    ome = {
        "version": "0.5",
        "multiscales": [{
            "axes": [{"name": "c", "type": "channel"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}],
            "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1, 1]}]}],
        }],
        "omero": {"channels": [{"color": "FFFFFF", "active": shown, "window": window} for shown in (True, False)]},
    }  # fmt: skip
    hierarchy = open_hierarchy(shelf, "a")
    hierarchy.create_group("/image", {"ome": ome})
    hierarchy.create_array("/image/0", shape=(2, 64, 64), dtype="u1", chunks=(1, 64, 64))[...] = 50
    bench = open_("/image")
    bench.fit(64, 64)
    bench.wait(lambda: bool(bench.slice.state.channels[0].histogram))
    bench.slice.show_alone(1)
    bench.slice._paint()
    bench.wait(lambda: bool(bench.slice.state.channels[1].histogram))


def test_playing_waits_for_the_picture(shelf: Shelf, open_: Any) -> None:
    small_image(shelf)
    bench = open_("/image")
    bench.fit(64, 64)
    bench.slice.play("z")
    shelf.hold("chunks")
    for _ in range(5):
        bench.slice.tick()
        bench.mailbox.run()
    assert bench.slice.state.axes[0].index == 1
    shelf.release()
    bench.settle()
    bench.slice.tick()
    assert bench.slice.state.axes[0].index == 2


def test_two_sessions_share_one_cache(shelf: Shelf, open_: Any) -> None:
    small_image(shelf)
    first = open_("/image")
    first.fit(64, 64)
    shelf.read.clear()
    second = open_("/image", loader=first.loader)
    second.fit(64, 64)
    assert not shelf.read
    second.session.close()
    first.slice.set_index("z", 7)
    first.settle()
    assert first.slice.picture(4, 4)[2, 2, 0] == brightness(7)


def test_after_close_nothing_is_called(shelf: Shelf, open_: Any) -> None:
    small_image(shelf)
    bench = open_("/image")
    shelf.hold("chunks")
    bench.slice.fit((64, 64))
    bench.mailbox.run()
    heard: list[str] = []
    for signal in (bench.slice.painted, bench.slice.changed, bench.session.changed):
        signal.connect(lambda: heard.append("called"))
    bench.session.close()
    shelf.release()
    bench.mailbox.run()
    assert not heard


def test_a_scale_bar_is_round(shelf: Shelf, open_: Any) -> None:
    small_image(shelf)
    bench = open_("/image")
    bar = bench.slice.scale_bar(64)
    assert bar is not None
    assert (bar.text, round(bar.length)) == ("5 µm", 50)


def test_a_former_plane_is_named_when_the_next_one_is_late(
    shelf: Shelf, open_: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_plane, "SECONDS", 60.0)  # a busy machine brings planes late
    small_image(shelf)
    bench = open_("/image")
    bench.fit(64, 64)
    told: list[str] = []
    bench.slice.painted.connect(lambda: told.append(bench.slice.frame.over))
    for z in range(1, 6):
        bench.slice.set_index("z", z)
        bench.settle()
    assert set(told) == {""}, "nothing is said of planes that come at once"
    shelf.hold("chunks")
    monkeypatch.setattr(late_plane, "SECONDS", 0.5)  # sooner than the sentence about a slow store
    began = time.monotonic()
    bench.slice.set_index("z", 6)
    bench.mailbox.run()
    assert bench.slice.frame.over == ""
    bench.wait(lambda: bool(bench.slice.frame.over))
    assert time.monotonic() - began >= late_plane.SECONDS
    assert bench.slice.frame.over == "z 5 is shown; z 6 is loading"
    assert bench.session.state.status_text == "z 5 is shown; z 6 is loading"
    bench.slice.set_index("z", 9)
    assert bench.slice.frame.over == "z 5 is shown; z 9 is loading", "a further step does not start the time again"
    shelf.release()
    bench.settle()
    assert bench.slice.frame.over == ""
    assert bench.slice.picture(4, 4).max() == brightness(9)


def test_a_former_plane_that_could_not_be_read_is_not_said_to_be_shown(
    shelf: Shelf, open_: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_image(shelf)
    bench = open_("/image")
    bench.fit(64, 64)
    monkeypatch.setattr(late_plane, "SECONDS", 0.05)
    shelf.failing = {f"image/0/c/5/{y}/{x}" for y in range(4) for x in range(4)}
    bench.slice.set_index("z", 5)
    bench.settle()
    assert "503" in bench.slice.frame.over
    shelf.failing = set()
    shelf.hold("chunks")
    for z in (6, 7):
        bench.slice.set_index("z", z)
        told = f"z 5 could not be read; z {z} is loading"
        bench.wait(lambda told=told: bench.slice.frame.over == told)
        assert bench.session.state.status_text == told
    shelf.release()
    bench.settle()
    assert bench.slice.frame.over == ""
    bench.slice.set_index("z", 8)
    shelf.hold("chunks")
    bench.slice.set_index("z", 9)
    bench.wait(lambda: bench.slice.frame.over.startswith("z "))
    assert "is shown; z 9 is loading" in bench.slice.frame.over, "a later plane came"
    shelf.release()
    bench.settle()


def test_a_former_plane_gives_way_to_the_coarse_picture_of_a_late_one(shelf: Shelf, open_: Any) -> None:
    hierarchy = open_hierarchy(shelf, "a")
    axes = [{"name": n, "type": "space"} for n in "zyx"]
    scales = [[{"type": "scale", "scale": [1, 4**k, 4**k]}] for k in range(2)]
    datasets = [{"path": str(k), "coordinateTransformations": scale} for k, scale in enumerate(scales)]
    hierarchy.create_group("/p", {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}})
    for k in range(2):
        array = hierarchy.create_array(f"/p/{k}", shape=(2, 256 >> 2 * k, 256 >> 2 * k), dtype="u1", chunks=(1, 64, 64))
        array[0], array[1] = brightness(0), brightness(1)
    bench = open_("/p")
    bench.slice.set_levels(0, 0, 255)
    bench.fit(256, 256)
    assert {tile.level for tile in bench.slice.frame.tiles} == {0}
    assert bench.slice.index[0] == 1
    shelf.hold("p/0/")
    bench.slice.set_index("z", 0)
    bench.wait(lambda: any(tile.level == 1 and tile.state is TileState.PRESENT for tile in bench.slice.frame.tiles))
    bench.wait(lambda: bench.slice.picture(8, 8).max() == brightness(0))
    assert bench.slice.frame.loading
    assert bench.slice.frame.over == "", "the plane on show is that of the index"
    shelf.release()
    bench.settle()
    assert {tile.level for tile in bench.slice.frame.tiles} == {0}


def test_the_last_index_stays_the_last(shelf: Shelf, open_: Any) -> None:
    small_image(shelf)
    bench = open_("/image")
    bench.slice.set_index("z", 10_000)
    assert bench.slice.state.axes[0].text == f"{PLANES - 1} / {PLANES - 1}"
    bench.slice.step(-10_000)
    assert bench.slice.state.axes[0].index == 0
    bench.slice.set_index("nothing", 3)


def test_an_empty_array_has_no_picture(shelf: Shelf, open_: Any) -> None:
    open_hierarchy(shelf, "a").create_array("/a", shape=(0, 5), dtype="u1", chunks=(1, 1))
    bench = open_("/a")
    assert bench.slice.state.sentence == strings.NO_IMAGE
    assert bench.session.values.state.rows == 0


def test_a_chunk_that_fails_is_a_problem_of_the_session_once(shelf: Shelf, open_: Any) -> None:
    small_image(shelf)
    for i in range(4):
        shelf.failing.add(f"image/0/c/0/0/{i}")
    bench = open_("/image")
    bench.fit(64, 64)
    (problem,) = bench.session.problems.items
    assert "503" in problem.headline
    assert problem.path == "/image/0"
    assert bench.session.problems.title == "Problems 1"
