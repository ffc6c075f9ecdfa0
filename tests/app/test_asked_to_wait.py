"""A server that asks to wait (429 or 503 with Retry-After) does not look like a stalled one: rows, pictures, status
lines and verbs say so, with the seconds that are left; the wait can be stopped.
"""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from contracts.hostile_http import hostile
from contracts.http_server import WebServer, planes_server
from contracts.service_answers import answered, bucket, well
from terminal_hand import Screen
from zarrscope.runtime import waits
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores.address import open_store
from zarrscope_app.presenters import Session, SessionStatus
from zarrscope_app.presenters.session import waiting_words as words
from zarrscope_app.presenters.tree.rows import ROOT, RowState

SECONDS = 60.0


@pytest.fixture
def server() -> Iterator[WebServer]:
    with planes_server() as found:
        yield found


def test_the_words() -> None:
    told = words.asked_to_wait("http://h:80/x", "zarr.json", 30, 26.6)
    assert told == "h:80 asks to wait 30 s, 27 s left: zarr.json · Esc stops"
    assert (
        words.asked_to_wait("s3://pub/x", "", 1, 0.2, "Ctrl+C") == "s3://pub asks to wait 1 s, 1 s left · Ctrl+C stops"
    )


def test_the_words_of_a_next_attempt() -> None:
    failed = waits.NextAttempt("The server answered 503", 3, 5, 2.0, False, 102.0)
    told = words.tried_again("http://h:80/x", failed, 100.2)
    assert told == "h:80 answered 503; trying again in 2 s (3 of 5) · Esc stops"
    told = words.tried_again("http://h:80/x", failed, 109.4, "Ctrl+C")
    assert told == "h:80 answered 503; trying again for 7 s (3 of 5) · Ctrl+C stops", "without an answer until now"
    told = words.tried_again("http://h:80/x", failed, 102.4)
    assert told == "h:80 answered 503; trying again (3 of 5) · Esc stops", "it was sent just now"
    cut = waits.NextAttempt("the answer broke off before its end", 2, 4, 0.3, False, 100.3)
    told = words.tried_again("http://h:80/x", cut, 100.0)
    assert told == "The answer broke off before its end; trying again in 1 s (2 of 4) · Esc stops"


def test_a_picture_says_why_it_waits_and_when_it_is_tried_again(
    server: WebServer, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server without Retry-After was told as one that does not answer."""
    monkeypatch.setenv("ZARRSCOPE_PAUSE", "3")
    session = Session(f"{server.url}/", mailbox, path="/a")
    session.slice.changed.connect(lambda: session.slice.fit((32, 32)))
    try:
        mailbox.run_until(lambda: bool(session.slice.frame.tiles) and not session.slice.frame.loading, SECONDS)
        server.failing.add("a/c/")
        session.slice.move(0, 1)
        mailbox.run_until(lambda: "trying again" in session.slice.frame.over, SECONDS)
        host = server.url.partition("://")[2]
        assert re.search(
            rf"{host} answered 503; trying again ((in|for) \d+ s )?\([234] of 4\)", session.slice.frame.over
        )
        mailbox.run_until(lambda: "trying again" in session.state.status_text, SECONDS)
        assert session.state.status_text.endswith("Esc stops")
        server.failing.clear()
        mailbox.run_until(lambda: not session.slice.frame.loading and not session.waiting, SECONDS)
        assert not session.slice.frame.failed
    finally:
        session.close()


def test_an_opening_says_how_long_it_was_asked_to_wait_and_is_stopped(server: WebServer, mailbox: Mailbox) -> None:
    server.pauses[""] = 30
    session = Session(f"{server.url}/", mailbox)
    try:
        mailbox.run_until(lambda: "asks to wait 30 s" in session.state.status_text, SECONDS)
        assert "Esc stops" in session.state.status_text
        assert session.tree.row(ROOT).sentence == session.waiting
        left = session.waiting.partition("30 s, ")[2].partition(" s left")[0]
        assert 1 <= int(left) < 30, "it counts down"
        began = time.monotonic()
        assert session.stop_waiting()
        mailbox.run_until(lambda: session.state.status is SessionStatus.FAILED, SECONDS)
        assert time.monotonic() - began < 10, "long before the pause is over"
        assert not session.waiting
        server.pauses.clear()
        session.retry()
        mailbox.run_until(lambda: session.state.status is SessionStatus.READY, SECONDS)
        assert not session.waiting
    finally:
        session.close()


def test_a_picture_and_a_row_say_it(server: WebServer, mailbox: Mailbox) -> None:
    session = Session(f"{server.url}/", mailbox, path="/a")
    session.slice.changed.connect(lambda: session.slice.fit((32, 32)))
    try:
        mailbox.run_until(lambda: bool(session.slice.frame.tiles) and not session.slice.frame.loading, SECONDS)
        server.pauses["a/c/"] = 3
        session.slice.move(0, 1)
        mailbox.run_until(lambda: "asks to wait 3 s" in session.slice.frame.over, SECONDS)
        server.pauses.clear()
        mailbox.run_until(lambda: not session.slice.frame.loading and not session.waiting, SECONDS)
        assert session.slice.picture(4, 4).min() > 90, "it came after the pause, without a gesture"
        server.pauses["zarr.json"] = 30
        session.tree.refresh(ROOT)
        mailbox.run_until(lambda: "asks to wait 30 s" in session.waiting, SECONDS)
        session.stop_waiting()
        mailbox.run_until(lambda: session.tree.row(ROOT).state is not RowState.LOADING, SECONDS)
    finally:
        session.close()


def test_the_terminal_says_it_whole_at_80_columns(server: WebServer) -> None:
    from zarrscope_app.tui.app import Explorer

    async def run() -> None:
        server.pauses[""] = 30
        app = Explorer(f"{server.url}/")
        async with app.run_test(size=(80, 24)) as pilot:
            screen = Screen(app, pilot)
            await screen.until(lambda: "asks to wait 30 s" in screen.painted(), "the pause")
            await screen.until(lambda: "Esc stops" in screen.painted().split("\n")[-2], "the key that stops it")
            await screen.press("escape")
            await screen.until(lambda: "Stopped after" in str(app._said["error-bar"]), "it is stopped")
            server.pauses.clear()

    asyncio.run(run())


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
@pytest.mark.parametrize("asks", [True, False])
def test_a_verb_says_it_on_a_terminal(asks: bool, server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    import os
    import select

    if asks:
        server.pauses["a/c/"] = 40
    else:
        server.failing.add("a/c/")
        monkeypatch.setenv("ZARRSCOPE_PAUSE", "8")
    ours, theirs = os.openpty()
    verb = subprocess.Popen(
        [sys.executable, "-m", "zarrscope_app", "read", server.url, "a"],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    written, end = "", time.monotonic() + SECONDS
    try:
        while "Ctrl+C stops" not in written:
            assert time.monotonic() < end, written
            if select.select([ours], [], [], 0.05)[0]:
                written += os.read(ours, 65536).decode()
        assert ("asks to wait 40 s" if asks else "answered 503; trying again in ") in written
        verb.send_signal(signal.SIGINT)
        assert verb.wait(SECONDS) == 130
    finally:
        verb.kill()
        verb.wait()
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize("kind", ["s3", "gs"])
def test_a_bucket_that_asks_to_wait_is_named_while_it_is_waited_for(kind: str) -> None:
    with hostile(well, {"bucket/x/a/b": b"0123456789"}, lambda key: key.endswith("b")) as server:
        address, options = bucket(kind, server.url)
        store = open_store(f"{address}", "r", options)
        server.act = answered("503 Slow Down", b"", "Retry-After: 2", times=2)  # the store asks again for the header
        found: list[Any] = []
        background = waits.ReadJob()

        def read() -> None:
            with waits.running(background):
                found.append(store.get("a/b"))

        reading = threading.Thread(target=read)
        reading.start()
        end, told = time.monotonic() + SECONDS, None
        while told is None and reading.is_alive() and time.monotonic() < end:
            request = background.waiting
            told = waits.next_attempt(request.place) if request is not None else None
            time.sleep(0.01)
        reading.join(SECONDS)
        assert told is not None
        assert (told.seconds, told.asked, told.number, told.reason) == (2, True, 2, "The server answered 503")
        assert found == [b"0123456789"]
        assert waits.next_attempt(store.url) is None
