"""Every host looks again at a store that is being written: with pauses, one look at a time, and only while visible."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import MemorySettings, Session
from zarrscope_app.presenters.session import polling
from zarrscope_app.presenters.session.changing import POLL_SECONDS
from zarrscope_app.presenters.session.polling import GrowthPolling

GREW = "changing: 2 × 4 → 5 × 4"
MS = 60_000


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with zarrscope.open(tmp_path / "x.zarr", "w-") as h:
        h.create_array("/a", shape=(2, 4), dtype="u1", chunks=(1, 4))[...] = 1
    return tmp_path / "x.zarr"


def grow(place: Path) -> None:
    with zarrscope.open(place, "r+") as h:
        array: Any = h["/a"]
        array.resize((5, 4))


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks come every tenth of a second."""
    monkeypatch.setattr(polling, "POLL_SECONDS", 0.1)


class Clock:
    """A host's timer, which a test moves."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], None]] = []
        self.seconds = 0.0

    def start(self, seconds: float, call: Callable[[], None]) -> Callable[[], object]:
        self.seconds = seconds
        self.calls.append(call)
        return lambda: self.calls.remove(call)

    def tick(self) -> None:
        for call in [*self.calls]:
            call()


@pytest.fixture
def session(place: Path, mailbox: Mailbox) -> Iterator[Session]:
    session = Session(str(place), mailbox, path="/a")
    mailbox.run_until(lambda: session.node is not None)
    yield session
    session.close()


def test_looks_are_made_only_while_the_host_is_visible(session: Session, place: Path, mailbox: Mailbox) -> None:
    clock = Clock()
    repeated = GrowthPolling(lambda: session, clock.start)
    assert not clock.calls
    for _ in range(2):
        repeated.show()
    assert len(clock.calls) == 1, "one timer"
    assert clock.seconds == POLL_SECONDS == 5
    grow(place)
    clock.tick()
    mailbox.run_until(lambda: GREW in session.state.facts)
    repeated.hide()
    repeated.hide()
    assert not clock.calls
    assert not repeated.running


def test_there_is_never_more_than_one_look_at_a_time(
    session: Session, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, may, begun = Clock(), threading.Event(), list[int]()

    def slow(*_: object) -> None:
        begun.append(threading.get_ident())
        may.wait(60)

    monkeypatch.setattr("zarrscope.nodes.context.NodeContext.own_node", slow)
    repeated = GrowthPolling(lambda: session, clock.start)
    repeated.show()
    clock.tick()
    mailbox.run_until(lambda: bool(begun))
    for _ in range(5):
        clock.tick()  # returns at once: the interface is not held up
    assert len(begun) == 1
    assert threading.get_ident() not in begun
    repeated.hide()
    may.set()


def test_a_session_that_leaves_the_front_is_looked_at_no_more(session: Session) -> None:
    clock, front = Clock(), list[Session | None]([session])
    stopped: list[Session] = []
    session.stop_polling = lambda: stopped.append(session)  # type: ignore[method-assign]  # counts the calls
    repeated = GrowthPolling(lambda: front[0], clock.start)
    repeated.show()
    clock.tick()
    front[0] = None
    clock.tick()
    clock.tick()
    assert stopped == [session]


def test_the_window_looks_while_it_is_visible(qtbot: Any, place: Path, soon: None) -> None:
    from qt_robot import QtRobot

    robot = QtRobot(qtbot)
    try:
        robot.open(str(place))
        robot.select("/a")
        robot.wait(lambda: robot.session.state.path == "/a" and robot.session.node is not None, "the array")
        repeated = robot.window.tabs.polling.polling
        robot.wait(lambda: repeated.running, "looks")
        grow(place)
        robot.wait(lambda: GREW in robot.window.address.facts.text(), "the growth on the screen")
        robot.window.hide()
        robot.wait(lambda: not repeated.running, "no look of a hidden window")
        robot.window.show()
        robot.wait(lambda: repeated.running, "looks again")
    finally:
        robot.close()
    assert not repeated.running


def test_the_dock_of_napari_looks_while_it_is_visible(
    make_napari_viewer: Any, qtbot: Any, place: Path, soon: None
) -> None:
    from zarrscope_app.napari.dock import Explorer

    viewer = make_napari_viewer(show=True)
    dock = Explorer(viewer, settings=MemorySettings())
    frame = viewer.window.add_dock_widget(dock, name="Zarr explorer")
    repeated = dock.tabs.polling.polling
    dock.open(str(place), "/a")
    qtbot.waitUntil(lambda: dock.session is not None and dock.session.node is not None and repeated.running, timeout=MS)
    grow(place)
    qtbot.waitUntil(lambda: GREW in dock.facts.text(), timeout=MS)
    frame.hide()
    qtbot.waitUntil(lambda: not repeated.running, timeout=MS)
    frame.show()
    qtbot.waitUntil(lambda: repeated.running, timeout=MS)
    viewer.window.remove_dock_widget(dock)
    qtbot.waitUntil(lambda: not repeated.running, timeout=MS)


def test_the_notebook_looks_while_a_browser_shows_it(place: Path, soon: None) -> None:
    pytest.importorskip("anywidget")
    from zarrscope_app.jupyter.gestures import perform_gesture
    from zarrscope_app.jupyter.kernel import KernelMailbox
    from zarrscope_app.jupyter.widget import Explorer

    async def until(happened: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not happened():
            assert time.monotonic() < end
            await asyncio.sleep(0.02)

    async def work() -> None:
        widget = Explorer(str(place), path="/a", settings=MemorySettings(), post=KernelMailbox())
        await until(lambda: widget.session.node is not None)
        assert not widget.polling.running, "no browser shows it"
        for view in ("first", "second"):
            perform_gesture(widget, {"do": "seen", "args": [view, True]})
        grow(place)
        await until(lambda: GREW in widget.session.state.facts)
        perform_gesture(widget, {"do": "seen", "args": ["first", False]})
        assert widget.polling.running
        perform_gesture(widget, {"do": "seen", "args": ["second", False]})
        assert not widget.polling.running
        perform_gesture(widget, {"do": "seen", "args": ["second", True]})
        assert widget.polling.running
        widget.close()
        assert not widget.polling.running

    asyncio.run(work())


def test_the_terminal_looks(place: Path, soon: None) -> None:
    from terminal_hand import Screen, explore

    async def steps(screen: Screen) -> None:
        screen.session.select("/a")
        await screen.until(lambda: screen.session.state.path == "/a" and screen.session.node is not None, "the array")
        grow(place)
        await screen.until(lambda: GREW in str(screen.app.query_one("#head").render()), "the growth on the screen")

    explore(str(place), steps, size=(120, 24))
