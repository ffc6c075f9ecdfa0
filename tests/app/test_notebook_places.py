"""Several hierarchies in the notebook's widget: one tree with a root for each; one hierarchy is in front."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import MemorySettings, Session, SessionStatus

pytest.importorskip("anywidget")

from ipywidgets.widgets.widget import _instances

from zarrscope_app.jupyter import Explorer, explore
from zarrscope_app.jupyter import widget as widgets
from zarrscope_app.jupyter.gestures import ANYWHERE
from zarrscope_app.jupyter.pictures import TileStream

SECONDS = 120.0
SIDE = 64


@pytest.fixture
def places(tmp_path: Path) -> list[str]:
    """Two hierarchies that differ only in their values: 20 in "one", 180 in "two"."""
    for name, value in (("one", 20), ("two", 180)):
        with zarrscope.open(str(tmp_path / f"{name}.zarr"), mode="w-") as h:
            array = h.create_array("/volume", shape=(5, SIDE, SIDE), dtype="uint8", chunks=(1, 32, 32))
            array[...] = value
            array.attrs["note"] = name
            h.create_group("/group")
    return [str(tmp_path / f"{name}.zarr") for name in ("one", "two")]


class Seat:
    """A user at a widget with both hierarchies, of which the first is in front."""

    def __init__(self, places: list[str], **options: Any) -> None:
        self.mailbox = Mailbox()
        self.widget = Explorer(places[0], post=self.mailbox, settings=MemorySettings(), **options)
        self.messages: list[tuple[dict[str, Any], list[bytes]]] = []
        assert self.widget.model_id
        self.widget.comm.publish_msg = self._publish
        self.send("hello", ["png"])
        for place in places[1:]:
            self.widget.add(place)
        self.widget.bring(places[0])
        self.until(lambda: all(s.tree.count(0) == 2 and s.node is not None for s in self.widget._sessions))

    def _publish(self, _: str, data: Any = None, metadata: Any = None, buffers: Any = None, **about: Any) -> None:
        self.messages.append((data, [bytes(each) for each in buffers or ()]))

    def send(self, do: str, *args: Any, **more: Any) -> None:
        self.widget._receive(self.widget, {"do": do, "args": list(args), **more})

    def until(self, happened: Callable[[], object]) -> None:
        self.mailbox.run_until(lambda: bool(happened()), SECONDS)

    def rest(self) -> None:
        """Runs all posted calls, including those that they post."""
        while self.mailbox.run():
            pass

    def rows(self) -> list[str]:
        self.rest()
        return [row["name"] for row in self.widget.view["tree"]["rows"]]

    def id_of(self, path: str, *, place: int) -> int:
        """The id of a row of the first (0) or the second (1) hierarchy."""
        self.rest()
        return int([row["id"] for row in self.widget.view["tree"]["rows"] if row["path"] == path][place])

    def look(self) -> None:
        """The browser shows the whole plane; returns when its tiles have been sent."""
        self.until(lambda: self.widget.session.slice.state.kind == "image")
        self.messages.clear()
        self.send("viewport", [0, 0, SIDE, SIDE], [SIDE, SIDE])
        self.until(lambda: self.tiles() and not self.widget.session.slice.frame.loading)
        self.until(lambda: all(stream._ticket is None for stream in self.widget.streams.values()))
        self.rest()

    def pictures(self) -> list[dict[str, Any]]:
        return [data["content"] for data, _ in self.messages if data.get("content", {}).get("view") == "main"]

    def tiles(self) -> list[Any]:
        return [tile for message in self.pictures() for tile in message.get("tiles", ())]


@pytest.fixture
def seat(places: list[str]) -> Iterator[Seat]:
    seat = Seat(places, editable=True)
    yield seat
    seat.widget.close()


BOTH = ["one.zarr", "group", "volume", "two.zarr", "group", "volume"]


def test_a_place_that_is_added_is_filtered_at_once(seat: Seat, tmp_path: Path) -> None:
    """The filter applies to a new hierarchy at once, not only after the next typed letter."""
    seat.send("tree.filter", "vol")
    seat.until(lambda: seat.rows() == ["one.zarr", "volume", "two.zarr", "volume"])
    with zarrscope.open(str(tmp_path / "three.zarr"), mode="w-") as h:
        h.create_group("/group")
        h.create_group("/volumes")
    seat.send("add", str(tmp_path / "three.zarr"))
    seat.until(lambda: seat.rows()[4:] == ["three.zarr", "volumes"])


def test_two_places_stand_in_one_tree_and_a_click_brings_the_other_to_the_front(seat: Seat, places: list[str]) -> None:
    widget = seat.widget
    assert seat.rows() == BOTH
    assert widget.urls == tuple(places)
    assert [bool(row.get("elsewhere")) for row in widget.view["tree"]["rows"]] == 3 * [False] + 3 * [True]
    seat.send("go", seat.id_of("/volume", place=1))
    assert widget.url == places[1]
    seat.until(lambda: widget.view["place"]["path"] == "/volume" and widget.view["image"].get("kind") == "image")
    assert widget.view["place"]["crumbs"][0][0] == "two.zarr"
    assert widget.view["place"]["several"] is True
    assert [bool(row.get("elsewhere")) for row in widget.view["tree"]["rows"]] == 3 * [True] + 3 * [False]
    assert np.asarray(widget.data).max() == 180
    assert widget.path == "/volume"
    widget.bring(places[0])
    assert (widget.url, widget.session.state.path) == (places[0], "/"), "each keeps its own node"
    seat.send("tree.collapse", seat.id_of("/", place=1))
    assert seat.rows() == BOTH[:4]
    assert widget.url == places[0]


def test_tiles_of_the_former_place_are_dropped_and_the_part_on_show_comes_again(seat: Seat) -> None:
    for place in (0, 1):
        seat.send("go", seat.id_of("/volume", place=place))
        seat.until(lambda: seat.widget.session.node is not None and seat.widget.session.state.path == "/volume")
        seat.look()
    names = {tile[0] for tile in seat.tiles()}
    seat.send("viewport", [8, 16, 40, 48], [SIDE, SIDE])
    seat.rest()
    seat.messages.clear()
    seat.send("go", seat.id_of("/volume", place=0))
    seat.until(lambda: seat.tiles() and names <= {tile[0] for tile in seat.tiles()})
    first = seat.pictures()[0]
    assert first["fresh"] is True, "tiles of both places have the same names"
    assert first["rect"] == [0, 0, SIDE, SIDE]
    assert {*first["order"]} == names
    seat.messages.clear()
    seat.send("go", seat.id_of("/volume", place=1))
    seat.until(seat.tiles)
    assert seat.pictures()[0]["rect"] == [8, 16, 40, 48]
    assert sum("fresh" in message for message in seat.pictures()) == 1


def test_a_gesture_for_the_former_place_changes_nothing(seat: Seat, places: list[str]) -> None:
    """The kernel was busy: the user edits the hierarchy that the browser still shows, while another one has come to the
    front."""
    widget = seat.widget
    for place in (1, 0):
        seat.send("go", seat.id_of("/volume", place=place))
        seat.until(lambda: widget.session.edit.field("/note") is not None)
    turn = widget.turn
    seat.send("edit.edit", "/note", "of one", turn=turn)
    assert [*widget.session.edit.dirty_paths] == ["/volume"]
    seat.send("go", seat.id_of("/volume", place=1), turn=turn)
    assert widget.url == places[1]
    seat.send("edit.edit", "/note", "of one, too", turn=turn)
    seat.send("command", "save", turn=turn)
    assert not widget.session.edit.dirty_paths
    seat.send("tree.toggle", seat.id_of("/", place=0), turn=turn)
    assert len(seat.rows()) == 4, "a row has its own place"
    seat.until(lambda: widget.view["place"]["turn"] == widget.turn > turn)
    seat.send("edit.edit", "/note", "of two", turn=widget.turn)
    assert [*widget.session.edit.dirty_paths] == ["/volume"]


def test_places_are_added_and_closed_in_the_browser(places: list[str], tmp_path: Path) -> None:
    seat = Seat(places[:1])
    widget = seat.widget
    try:
        assert widget.view["place"]["several"] is False
        seat.send("close-place")
        assert widget.urls == (places[0],), "the last one stays"
        seat.send("add", f" {places[1]} ")
        seat.until(lambda: seat.rows() == BOTH)
        assert widget.url == places[1]
        seat.send("add", places[0])
        assert (widget.url, len(widget.urls)) == (places[0], 2)
        seat.send("add", str(tmp_path / "gone.zarr"))
        gone = widget.session
        seat.until(lambda: gone.state.status is SessionStatus.FAILED and widget.view["place"]["sentence"])
        seat.send("close-place")
        seat.until(lambda: seat.rows() == BOTH)
        assert widget.url == places[1]
        widget.close_place(places[0])
        seat.until(lambda: seat.rows() == BOTH[3:] and widget.view["place"]["several"] is False)
        assert widget.url == places[1]
        seat.send("add", "not the text of a view but zarrscope-view:!!!")
        with pytest.raises(KeyError):
            widget.bring(places[0])
    finally:
        widget.close()


def test_a_view_goes_to_its_place(seat: Seat, places: list[str]) -> None:
    widget = seat.widget
    seat.send("go", seat.id_of("/volume", place=1))
    seat.until(lambda: widget.index == {"dim_0": 2} or widget.index)
    axis = next(iter(widget.index))
    widget.index = {axis: 4}
    seat.until(lambda: widget.session.slice.state.axes[0].index == 4)
    seat.rest()
    copied = widget.state
    widget.index = {axis: 0}
    widget.bring(places[0])
    seat.rest()
    widget.state = copied
    assert widget.url == places[1]
    seat.until(lambda: widget.index == {axis: 4})
    widget.close_place(places[1])
    seat.until(lambda: widget.url == places[0])
    widget.add(copied)
    seat.until(lambda: widget.url == places[1] and widget.index == {axis: 4})


def test_the_part_of_the_plane_in_a_view_is_shown(places: list[str]) -> None:
    seat = Seat(places[:1])
    try:
        seat.send("go", seat.id_of("/volume", place=0))
        seat.look()
        seat.send("viewport", [8, 16, 40, 48], [SIDE, SIDE])
        seat.rest()
        copied = seat.widget.session.view_text()
        seat.send("viewport", [0, 0, SIDE, SIDE], [SIDE, SIDE])
        seat.rest()
        seat.messages.clear()
        seat.widget.state = copied
        seat.until(lambda: any(message.get("rect") == [8, 16, 40, 48] for message in seat.pictures()))
    finally:
        seat.widget.close()


def test_the_still_page_has_all_places(seat: Seat) -> None:
    seat.send("go", seat.id_of("/volume", place=1))
    page = seat.widget.page()
    assert page.count("volume") >= 2
    assert page.count("› ") == 1, "one row is selected"
    assert page.index("one.zarr") < page.index("two.zarr") < page.index("› ")


def opened(session: Session) -> bool:
    return session.node is not None


def test_all_are_released(places: list[str]) -> None:
    mailbox, before = Mailbox(), len(_instances)
    left: list[weakref.ref[Any]] = []
    for _ in range(5):
        widget = Explorer(places[0], post=mailbox, settings=MemorySettings())
        widget.add(places[1])
        left += [weakref.ref(each) for each in (widget, *widget._sessions)]
        for session in widget._sessions:
            mailbox.run_until(partial(opened, session), SECONDS)
        assert len(widget.node_tree.flat(0, 9)) > 1
        del widget, session
    for _ in range(10):
        mailbox.run()
        gc.collect()
    assert len(_instances) == before
    assert [each for each in left if each() is not None] == []


def test_explore_takes_several(places: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widgets, "KernelMailbox", Mailbox)
    with zarrscope.open(places[1]) as other:
        widget = explore(places[0], other["/volume"])
        try:
            assert widget.url == places[0]
            assert len(widget.urls) == 2
            assert widget._sessions[1].state.path == "/volume"
            with pytest.raises(TypeError):
                widget.add(5)
        finally:
            widget.close()


def test_gestures_of_every_place_are_known() -> None:
    from zarrscope_app.jupyter.gestures import OWN

    assert ANYWHERE - {"look"} <= {*OWN}


def test_a_stream_that_is_renewed_sends_nothing_of_before() -> None:
    from zarrscope.runtime.threads import shared

    mailbox, told = Mailbox(), list[Any]()
    owner = shared().owner(mailbox)
    stream = TileStream("main", owner, lambda content, buffers: told.append(content))
    cancelled = owner.decode(lambda: 1, lambda _: told.append("former"))
    stream._ticket = cancelled
    stream.renew()
    mailbox.run_until(lambda: not mailbox.run(), SECONDS)
    assert told == []
    assert cancelled.cancelled
    owner.close()
