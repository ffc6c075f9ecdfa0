"""Projections along an axis: values, estimated cost, ranges; and the choice of the two displayed axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from contracts.journeys import Shelf
from viewer import Viewer
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope_app.presenters.image import planning
from zarrscope_app.presenters.image.projection import Accumulator, Projection
from zarrscope_app.presenters.session.actions import perform

DATA = np.random.default_rng(3).integers(1, 250, (7, 20, 30)).astype("u1")


class PlaneViewer(Viewer):
    def plane(self) -> np.ndarray:
        """The drawn values of a grey picture with the limits 0 and 255."""
        height, width = self.slice.frame.shape
        self.slice.set_levels(0, 0, 255)
        self.slice.fit((height, width))
        self.mailbox.run()
        self.until(self.slice._is_whole)
        return self.slice.picture(height, width)[..., 0]


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def view(shelf: Shelf) -> Iterator[Callable[..., PlaneViewer]]:
    made: list[PlaneViewer] = []

    def make(data: Any = DATA, chunks: tuple[int, ...] = (3, 8, 16), **more: Any) -> PlaneViewer:
        array = open_hierarchy(shelf, "a").create_array(
            "/a", shape=data.shape, dtype=data.dtype, chunks=chunks, dimension_names=("z", "y", "x"), **more
        )
        array[...] = data
        made.append(PlaneViewer(shelf))
        return made[-1]

    yield make
    for viewer in made:
        viewer.close()


@pytest.mark.parametrize("chunks", [(3, 8, 16), (1, 20, 30), (7, 5, 30)])
@pytest.mark.parametrize(("method", "function"), [("max", np.max), ("min", np.min), ("mean", np.mean)])
def test_a_projection_is_numpys(view: Any, method: str, function: Any, chunks: tuple[int, ...]) -> None:
    viewer = view(chunks=chunks)
    viewer.slice.project(method)
    assert np.abs(viewer.plane().astype(float) - function(DATA, axis=0)).max() <= 1
    assert viewer.slice.type_range("2–5") == ""
    assert np.abs(viewer.plane().astype(float) - function(DATA[2:6], axis=0)).max() <= 1
    viewer.slice.show("z", "x")
    assert viewer.slice.state.projection.method == "", "another plane is shown as it is"
    viewer.slice.project(method)
    assert np.abs(viewer.plane().astype(float) - function(DATA, axis=1)).max() <= 1
    viewer.slice.project("")
    assert np.array_equal(viewer.plane(), DATA[:, viewer.slice.index[1], :])


def test_what_is_not_stored_counts_as_the_fill_value(view: Any, shelf: Shelf) -> None:
    viewer = view(fill_value=200)
    viewer.slice.project("min")
    shelf.erase("a/c/0/0/0")
    shelf.erase("a/c/1/0/0")
    expected = DATA.copy()
    expected[:6, :8, :16] = 200
    assert np.array_equal(viewer.plane(), expected.min(0))
    viewer.slice.project("mean")
    assert np.abs(viewer.plane().astype(float) - expected.mean(0)).max() <= 1


def test_the_cost_is_said_before_and_too_much_waits(view: Any, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    viewer = view()
    viewer.plane()
    assert viewer.slice.state.projection.cost == "7 planes: 18 chunks, 6.8 KiB to read"
    assert [id for id, _ in viewer.slice.state.projection.methods] == ["max", "mean", "min"]
    monkeypatch.setattr(planning, "MAX_CHUNKS", 10)
    shelf.read.clear()
    viewer.slice.project("max")
    viewer.until(lambda: bool(viewer.slice.frame.blocked))
    assert not shelf.read
    assert viewer.slice.frame.blocked.startswith("18 chunks")
    viewer.slice.project("")
    viewer.until(lambda: not viewer.slice.frame.blocked)


def test_a_projection_under_way_is_given_up(view: Any, shelf: Shelf) -> None:
    viewer = view()
    viewer.plane()
    shelf.hold("chunks")
    viewer.slice.project("max")
    viewer.mailbox.run()
    assert viewer.slice.frame.loading
    viewer.slice.project("")
    shelf.release()
    assert np.array_equal(viewer.plane(), DATA[viewer.slice.index[0]])


def test_the_projected_axis_has_no_slider_and_comes_back(view: Any) -> None:
    viewer = view()
    viewer.slice.project("max")
    assert {a.name: a.role for a in viewer.slice.state.axes} == {"z": "projected", "y": "y", "x": "x"}
    assert viewer.slice.state.projection.text == "maximum of z 0–6"
    assert viewer.slice.state.projection.remark == "values of z 3"
    viewer.slice.project("")
    assert viewer.slice.state.current_axis == "z"
    for method in ("max", "mean", "min", ""):
        perform(viewer.session, "project")
        assert viewer.slice.state.projection.method == method


@pytest.mark.parametrize("text", ["7", "2–9", "a–b", "-1–3"])
def test_a_range_is_refused(view: Any, text: str) -> None:
    viewer = view()
    assert viewer.slice.type_range(text)
    assert viewer.slice.state.refusal.field == "range"
    assert viewer.slice.state.projection.range_text == "0–6"
    assert viewer.slice.type_range("5-2") == ""
    assert viewer.slice.state.projection.range_text == "2–5"
    assert viewer.slice.type_range("") == ""
    assert viewer.slice.state.projection.range_text == "0–6"


def test_of_complex_values_there_is_no_highest(view: Any) -> None:
    viewer = view(DATA.astype("c8"))
    assert viewer.slice.state.projection.methods == ()
    viewer.slice.project("max")
    assert viewer.slice.state.projection.method == ""


def test_nan_counts_for_nothing_where_there_are_numbers() -> None:
    stack = np.array([[[1.0, np.nan]], [[3.0, np.nan]]])
    whole = slice(0, 1), slice(0, 2)
    for method, expected in (("max", 3), ("min", 1), ("mean", 2)):
        gathered = Accumulator(method, (1, 2), np.dtype("f8"))
        gathered.add(*whole, stack[:1])
        gathered.add(*whole, stack[1:])
        (found,) = gathered.result(0.0)
        assert found[0] == expected
        assert np.isnan(found[1])


def test_a_range_at_a_coarser_level_covers_the_same_planes() -> None:
    assert Projection(0, "max", 0, 7).at_level(2.0, 4) == (0, 4)
    assert Projection(0, "max", 3, 4).at_level(2.0, 4) == (1, 2)
    assert Projection(0, "max", 6, 7).at_level(4.0, 1) == (0, 1)


def test_rolling_shows_each_pair_of_axes(view: Any) -> None:
    viewer = view()
    seen = []
    for _ in range(3):
        roles = {a.role: a.name for a in viewer.slice.state.axes}
        seen.append(roles["y"] + roles["x"])
        perform(viewer.session, "roll")
    assert seen == ["yx", "zx", "zy"]
    roles = {a.role: a.name for a in viewer.slice.state.axes}
    assert roles["y"] + roles["x"] == "yx"
