"""A problem of data that could not be read leaves the list, the counter and the error bar once another attempt reads
them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from contracts.journeys import Shelf
from viewer import Viewer
from zarrscope.errors import Denied, Unreadable
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.view.cache import ChunkResult, ChunkState
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.layers.presenter import UnreadPlanes

DENIED = Denied("The request was denied", tried=("the environment",))


shelves: dict[Viewer, Shelf] = {}


@pytest.fixture
def viewer() -> Iterator[Viewer]:
    shelf = Shelf()
    hierarchy = open_hierarchy(shelf, "a")
    hierarchy.create_array("/a", shape=(40, 40), dtype="u1", chunks=(10, 10))[...] = 7
    hierarchy.create_array("/s", shape=(40, 40), dtype="u1", chunks=(10, 10), shards=(20, 20))[...] = 7
    hierarchy.create_group("/g/h/i")
    made = Viewer(shelf, "/g")
    shelves[made] = shelf
    yield made
    made.close()
    shelves.clear()


def show(viewer: Viewer, path: str) -> None:
    viewer.session.select(path)
    viewer.until(lambda: viewer.session.node is not None and viewer.session.node.path == path)
    viewer.slice.fit((40, 40))
    settle(viewer)


def settle(viewer: Viewer) -> None:
    viewer.mailbox.run()
    viewer.until(lambda: bool(viewer.slice.frame.tiles) and viewer.slice.frame.loading == 0)
    while viewer.mailbox.run():
        pass


def counter(viewer: Viewer) -> str:
    """The title that every host shows on the tab."""
    return next(tab.title for tab in viewer.session.state.tabs if tab.id == "problems")


def shelf_of(viewer: Viewer) -> Any:
    return shelves[viewer]


def test_a_tile_that_is_read_at_last_is_no_problem_any_more(viewer: Viewer) -> None:
    shelf, session = shelf_of(viewer), viewer.session
    shelf.failing = {"a/c/0/1", "a/c/2/2"}
    show(viewer, "/a")
    assert counter(viewer) == "Problems 1", "two chunks, for one reason"
    session.set_tab("chunks")
    shelf.failing = {"a/c/2/2"}
    viewer.slice.retry()
    settle(viewer)
    assert counter(viewer) == "Problems 1"
    shelf.failing = set()
    viewer.slice.retry()
    settle(viewer)
    assert counter(viewer) == "Problems"
    assert not session.problems.items
    assert not session.chunks._failed, "the map of chunks marks none either"
    assert np.all(viewer.slice.picture(40, 40) == viewer.slice.picture(40, 40)[0, 0])


def test_another_reason_takes_the_place_of_the_first(viewer: Viewer) -> None:
    shelf = shelf_of(viewer)
    shelf.failing = {"a/c/0/1"}
    show(viewer, "/a")
    (first,) = viewer.session.problems.items
    shelf.failing = set()
    whole = shelf.get("a/c/0/1")
    shelf.set("a/c/0/1", b"damaged")
    viewer.slice.retry()
    settle(viewer)
    (second,) = viewer.session.problems.items
    assert second.headline != first.headline
    shelf.set("a/c/0/1", whole)
    viewer.slice.retry()
    settle(viewer)
    assert counter(viewer) == "Problems"


def test_going_away_and_back_is_another_attempt(viewer: Viewer) -> None:
    shelf = shelf_of(viewer)
    shelf.failing = {"a/c/0/1"}
    show(viewer, "/a")
    shelf.failing = set()
    viewer.session.select("/g")
    viewer.until(lambda: viewer.session.node is not None)
    assert counter(viewer) == "Problems 1", "nothing was tried again yet"
    show(viewer, "/a")
    assert counter(viewer) == "Problems"


def test_a_check_of_a_shard_reads_the_chunks_that_failed_within(viewer: Viewer) -> None:
    session = viewer.session
    show(viewer, "/s")
    session.set_tab("chunks")
    session.chunks.look()
    for index in ((0, 0), (1, 1), (2, 2)):
        error = Unreadable("The server answered 503")
        session.slice.heard("/s", ChunkResult(index, ChunkState.FAILED, error=error))
        session.chunks._failed_within.setdefault((index[0] // 2, index[1] // 2), set()).add(index)
    viewer.until(lambda: session.chunks.state.cells is not None)
    for place, title in (((0, 0), "Problems 1"), ((1, 1), "Problems")):
        session.chunks.choose(*place)
        session.chunks.check()
        viewer.until(lambda: "Read and decoded" in str(session.chunks.state.chosen))
        assert counter(viewer) == title


def test_a_node_that_is_read_at_last_is_no_problem_any_more(viewer: Viewer) -> None:
    session, shelf = viewer.session, shelf_of(viewer)
    shelf.failing = {"g/h/i/zarr.json"}
    session.select("/g/h/i")
    viewer.until(lambda: counter(viewer) == "Problems 1")
    shelf.failing = set()
    session.select("/g")
    viewer.until(lambda: session.node is not None)
    session.select("/g/h/i")
    viewer.until(lambda: session.node is not None)
    assert counter(viewer) == "Problems"
    assert session.state.sentence == ""


def told(viewer: Viewer, error: BaseException | None, path: str, name: str = "") -> None:
    viewer.session.tree.attempted.emit(error, path, name)


def test_a_listing_and_a_typed_name_are_attempts_of_their_own(viewer: Viewer) -> None:
    session = viewer.session
    told(viewer, DENIED, "/g")
    told(viewer, DENIED, "/g", "typed")
    assert session.state.sentence, "the error bar says it"
    told(viewer, None, "/g")
    assert counter(viewer) == "Problems 1"
    told(viewer, None, "/g", "typed")
    assert counter(viewer) == "Problems"
    assert session.state.sentence == ""


def test_a_group_that_is_listed_at_last(viewer: Viewer) -> None:
    """By the tree itself: a row that was denied, and tried again."""
    session, shelf = viewer.session, shelf_of(viewer)
    list_dir = type(shelf)._list_dir

    def denied(prefix: str) -> Any:
        if prefix == "g/":
            raise DENIED
        return list_dir(shelf, prefix)

    shelf._list_dir = denied
    viewer.until(lambda: session.tree.find("/g") is not None)
    row = session.tree.find("/g")
    assert row is not None
    session.tree.expand(row)
    viewer.until(lambda: counter(viewer) == "Problems 1")
    del shelf._list_dir
    session.tree.retry(row)
    viewer.until(lambda: counter(viewer) == "Problems")


def test_a_save_that_was_denied(viewer: Viewer) -> None:
    session = viewer.session
    session.edit.failed.emit(DENIED, "/g")
    assert counter(viewer) == "Problems 1"
    session.edit.saved.emit("/g")
    assert counter(viewer) == "Problems"


def test_a_problem_that_a_check_found_too_stays(viewer: Viewer) -> None:
    problems, index = viewer.session.problems, (0, 0)
    error = Unreadable("The server answered 503")
    problems.add(error, "/a", cause=("chunk", "/a", index))
    problems.add(error, "/a")
    assert problems.solved(("chunk", "/a", index)) is None
    assert problems.count == 1
    problems.clear("/a")
    problems.add(error, "/a", cause=("chunk", "/a", index))
    assert problems.solved(("chunk", "/a", index)) is not None
    assert problems.solved(("chunk", "/a", index)) is None
    assert problems.count == 0


def test_planes_of_napari_that_are_read_at_last(viewer: Viewer) -> None:
    class Layer:
        name = "image"

    session, unread, layer = viewer.session, UnreadPlanes(), Layer()
    url = str(getattr(session.hierarchy, "url", ""))
    denied = Denied("denied", untold=True)
    assert strings.problem(denied).offer
    unread.tell(layer, denied, "/a")
    unread.tell_session(session, lambda each: "another place")
    assert counter(viewer) == "Problems"
    unread.tell_session(session, lambda each: url)
    assert counter(viewer) == "Problems 1"
    unread.tell(layer, None)
    unread.tell_session(session, lambda each: url)
    assert counter(viewer) == "Problems"
