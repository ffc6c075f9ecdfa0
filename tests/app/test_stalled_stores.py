"""A store that does not answer: every host names the pending request, and Esc, Stop and F5 end the wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import zarrscope
from contracts.http_server import WebServer, planes_server
from terminal_hand import Screen
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import ROOT, MemorySettings, RowState, Session, SessionStatus
from zarrscope_app.presenters.request_names import host_of
from zarrscope_app.presenters.session import waiting_words as words

SECONDS = 60.0


@pytest.fixture
def server() -> Iterator[WebServer]:
    with planes_server() as found:
        yield found


@pytest.fixture
def place(server: WebServer) -> str:
    return f"{server.url}/"


@pytest.fixture
def session(place: str, mailbox: Mailbox, server: WebServer) -> Iterator[Session]:
    """A session that shows plane 0."""
    made = Session(place, mailbox, path="/a")
    made.slice.changed.connect(lambda: made.slice.fit((32, 32)))
    mailbox.run_until(lambda: bool(made.slice.frame.tiles) and not made.slice.frame.loading, SECONDS)
    yield made
    server.gate.set()
    made.close()


def test_the_words() -> None:
    assert words.waiting("http://ann@h:80/x", "zarr.json", 3.2) == "Waiting 3 s for zarr.json from h:80 · Esc stops"
    long = words.waiting("http://h/x", "plates/first/A/1/0/c/0/1/2/33/444", 3)
    assert long == "Waiting 3 s for …ates/first/A/1/0/c/0/1/2/33/444 from h · Esc stops"
    assert words.waiting("s3://pub/x.zarr?anon=1", "", 12) == "Waiting 12 s for s3://pub · Esc stops"
    assert host_of("ssh://ann@h/data") == "ssh://ann@h"
    assert host_of("zip://a::https://h/x.zip") == "h"
    assert host_of("file:///data/x.zarr/") == "x.zarr"
    assert host_of("/data/x.zarr") == "x.zarr"
    assert host_of("memory://a") == "memory://a"


def test_an_opening_that_stalls_is_named_stopped_and_asked_anew(
    place: str, server: WebServer, mailbox: Mailbox
) -> None:
    server.gate.clear()
    session = Session(place, mailbox)
    try:
        mailbox.run_until(lambda: "zarr.json from 127.0.0.1" in session.state.status_text, SECONDS)
        assert session.tree.row(ROOT).sentence == session.waiting
        before = server.closed_early
        session.reload()
        assert session.state.status_text.startswith("Cancelled after ")
        mailbox.run_until(lambda: session.state.status_text.count("Waiting") == 1, SECONDS)
        assert server.wait_closed(before + 1)
        assert session.tree.cancel_around(ROOT)
        mailbox.run_until(lambda: session.state.status is SessionStatus.FAILED, SECONDS)
        assert session.state.retry
        assert "Stopped after" in session.state.sentence
        assert session.tree.row(ROOT).state is RowState.FAILED
        assert not session.waiting
        server.gate.set()
        session.retry()
        mailbox.run_until(lambda: session.state.status is SessionStatus.READY, SECONDS)
        assert "ancelled" not in session.state.status_text
    finally:
        session.close()


def test_a_refresh_in_a_stall_cancels_and_asks_anew(session: Session, server: WebServer, mailbox: Mailbox) -> None:
    server.gate.clear()
    session.slice.move(0, 1)
    mailbox.run_until(lambda: "a/c/1/" in session.slice.frame.over, SECONDS)
    session.reload()
    assert server.wait_closed(4), "no request for the chunks goes on"
    assert "asking again" in session.state.status_text
    mailbox.run_until(lambda: "zarr.json" in session.state.status_text, SECONDS)
    server.gate.set()
    mailbox.run_until(lambda: session.slice.picture(4, 4).min() > 90 and not session.slice.frame.loading, SECONDS)
    assert session.state.status_text == ""


def test_moving_the_picture_in_a_stall_does_not_begin_the_wait_anew(
    place: str, server: WebServer, mailbox: Mailbox
) -> None:
    """Repeated requests for the same chunks do not restart the wait. In a notebook whose lines changed their height,
    requests were repeated every second, so that the wait was hardly reported and Esc found nothing to stop."""
    session = Session(place, mailbox, path="/a")
    shown = session.slice

    def look(pixels: int) -> None:
        shown.viewport((0.0, 0.0, float(pixels), 32.0), (pixels, 32))

    try:
        mailbox.run_until(lambda: shown.state.kind == "image", SECONDS)
        look(32)
        mailbox.run_until(lambda: bool(shown.frame.tiles) and not shown.frame.loading, SECONDS)
        server.gate.clear()
        shown.move(0, 1)
        mailbox.run_until(lambda: "Waiting" in shown.frame.over, SECONDS)
        for pixels in (30, 32, 20):
            look(pixels)
            mailbox.run()
            assert "Waiting" in session.waiting
        assert session.stop_waiting()
        mailbox.run_until(lambda: shown.frame.failed > 0 and not shown.frame.loading, SECONDS)
    finally:
        server.gate.set()
        session.close()


def test_one_click_reads_a_failed_tile_again_while_its_other_chunks_are_under_way(
    place: str, server: WebServer, mailbox: Mailbox
) -> None:
    """A tile fails with its first chunk. Those that fail after the click were requested before it."""

    def opener(url: str, mode: Any = "r", **options: Any) -> Any:
        return zarrscope.open(url, mode, **{**options, "storage_options": {"attempts": 1}})

    session = Session(place, mailbox, path="/a", opener=opener)
    shown = session.slice
    try:
        shown.changed.connect(lambda: shown.fit((32, 32)))
        until(mailbox, lambda: bool(shown.frame.tiles) and not shown.frame.loading and not session.owner.busy)
        server.gate.clear()
        held = server.held
        server.faults = {f"a/c/3/{y}/{x}": [503] for y in (0, 1) for x in (0, 1)}
        shown.set_index("dim_0", 3)
        until(mailbox, lambda: server.held == held + 4)
        server.let(1)
        mailbox.run_until(lambda: shown.frame.failed > 0, SECONDS)
        shown.retry()
        server.gate.set()
        mailbox.run_until(lambda: not shown.frame.loading, SECONDS)
        assert not shown.frame.failed
        assert (shown.picture(4, 4) == shown.picture(4, 4)[0, 0]).all()
    finally:
        server.gate.set()
        session.close()


def until(mailbox: Mailbox, happened: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < end
        mailbox.run()
        time.sleep(0.005)


def test_refreshing_again_and_again_takes_no_threads(session: Session, server: WebServer, mailbox: Mailbox) -> None:
    server.gate.clear()
    for _ in range(40):
        session.reload()
        mailbox.run()
    server.gate.set()
    mailbox.run_until(lambda: session.state.status is SessionStatus.READY and session.node is not None, SECONDS)


def test_a_row_that_stalls_is_named_and_stopped(place: str, server: WebServer, mailbox: Mailbox) -> None:
    session = Session(place, mailbox, path="/a")
    try:
        mailbox.run_until(lambda: session.tree.row(ROOT).state is RowState.READY, SECONDS)
        server.gate.clear()
        session.tree.refresh(ROOT)
        mailbox.run_until(lambda: session.tree.row(ROOT).sentence.startswith("Waiting"), SECONDS)
        session.stop_waiting()
        mailbox.run_until(lambda: session.tree.row(ROOT).state is RowState.FAILED, SECONDS)
        assert session.tree.row(ROOT).retry
        assert "Stopped after" in session.tree.row(ROOT).sentence
    finally:
        server.gate.set()
        session.close()


def test_the_terminal_says_it_and_escape_stops_it(place: str, server: WebServer) -> None:
    from zarrscope_app.tui.app import Explorer
    from zarrscope_app.tui.picture import PictureWidget

    async def run() -> None:
        app = Explorer(place)
        async with app.run_test(size=(100, 24)) as pilot:
            screen = Screen(app, pilot)
            await screen.ready()
            screen.session.select("/a")

            def frame() -> Any:
                return screen.session.slice.frame

            await screen.until(lambda: frame().tiles and not frame().loading, "the picture")
            screen.session.set_tab("image")
            app.keyboard.focus(app.pane)
            server.gate.clear()
            await screen.press("right")
            lines = app.part("picture", PictureWidget)

            def told() -> str:
                return " ".join("".join(s.text for s in line if s.text.isascii()).strip() for line in lines._lines)

            await screen.until(lambda: "Waiting" in told() and "127.0.0.1" in told(), "the chunk over the picture")
            await screen.until(lambda: "Waiting" in str(app._said["status"]), "the chunk in the status line")
            await screen.press("escape")
            await screen.until(lambda: "Stopped after" in told(), "the reason")
            server.gate.set()
            await screen.press("U")
            await screen.until(lambda: not frame().failed and not frame().loading, "the plane")

    asyncio.run(run())


def test_the_terminal_says_whole_what_an_opening_waits_for(place: str, server: WebServer) -> None:
    """At 80 columns, the note on the terminal's colours would cut off the host's name and the key that stops the
    wait."""
    from zarrscope_app.presenters.strings_terminal import colors_note
    from zarrscope_app.tui.app import Explorer
    from zarrscope_app.tui.terminal import Terminal

    async def run() -> None:
        server.gate.clear()
        app = Explorer(place, terminal=Terminal("256", note=colors_note("256")))
        async with app.run_test(size=(80, 24)) as pilot:
            screen = Screen(app, pilot)
            await screen.until(lambda: "Esc stops" in str(app._said["status"]), "the request in the status line")
            assert len(str(app._said["status"]).rstrip()) <= 80
            await screen.press("escape")
            await screen.until(lambda: "Stopped after" in str(app._said["error-bar"]), "the reason")
            server.gate.set()

    asyncio.run(run())


@pytest.mark.parametrize("focus", ["tree", "canvas"])
def test_the_window_says_it_and_escape_stops_it(qtbot: Any, place: str, server: WebServer, focus: str) -> None:
    from qtpy.QtCore import Qt

    from qt_robot import QTest, window_on

    window, session = window_on(qtbot, place)

    def until(happened: Callable[[], bool]) -> None:
        qtbot.waitUntil(happened, timeout=int(SECONDS * 1000))

    until(lambda: session.state.status is SessionStatus.READY)
    session.select("/a")
    session.set_tab("image")
    until(lambda: bool(session.slice.frame.tiles) and not session.slice.frame.loading)
    server.gate.clear()
    session.slice.move(0, 1)
    until(lambda: "a/c/1/" in session.slice.frame.over)
    bar = window.statusBar()
    assert bar is not None
    until(lambda: "Waiting" in session.state.status_text)
    widget = window.tree.view if focus == "tree" else window.image.canvas
    widget.setFocus()
    QTest.keyClick(widget, Qt.Key.Key_Escape)
    until(lambda: session.slice.frame.failed > 0 and not session.slice.frame.loading)
    assert "Stopped after" in session.slice.frame.over
    server.gate.set()
    session.slice.retry()
    until(lambda: not session.slice.frame.failed and not session.slice.frame.loading)


def test_the_notebook_says_it_and_a_button_stops_it(place: str, server: WebServer, mailbox: Mailbox) -> None:
    pytest.importorskip("anywidget")
    from zarrscope_app.jupyter import Explorer

    widget = Explorer(place, path="/a", post=mailbox, settings=MemorySettings())
    session = widget.session
    try:
        mailbox.run_until(lambda: session.slice.state.kind == "image", SECONDS)
        widget._receive(widget, {"do": "viewport", "args": [[0, 0, 32, 32], [32, 32]]})
        mailbox.run_until(lambda: bool(session.slice.frame.tiles) and not session.slice.frame.loading, SECONDS)
        assert not widget.view["place"]["waiting"]
        server.gate.clear()
        session.slice.move(0, 1)
        mailbox.run_until(lambda: widget.view["place"]["waiting"] and "Waiting" in widget.status, SECONDS)
        assert widget.texts["words"]["stop-waiting"] == "Stop"
        widget._receive(widget, {"do": "session.stop_waiting", "args": []})
        mailbox.run_until(lambda: not widget.view["place"]["waiting"] and session.slice.frame.failed > 0, SECONDS)
    finally:
        server.gate.set()
        widget.close()
