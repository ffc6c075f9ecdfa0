"""Hosts say at once that a hierarchy opened read-only although writing was requested, or that a node is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import zarrscope
from contracts.http_server import WebServer, web_server
from terminal_hand import Screen
from zarrscope.errors import Denied, Unreadable
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores.memory import MemoryStore
from zarrscope_app.presenters import Session, SessionStatus, strings
from zarrscope_app.presenters.image import words
from zarrscope_app.tui.app import Explorer
from zarrscope_app.tui.error_line import LINES, error_text

SECONDS = 60.0
REMARK = "zarrscope is not installed on far: files are read by SFTP. Run on far: python3 -m pip install --user ./"


def by_sftp(url: str, *_: object, **how: object) -> Hierarchy:
    """Makes `ssh://` addresses open as they do if zarrscope is not installed on the remote machine."""
    store = MemoryStore()
    with zarrscope.open(store, "w-") as h:
        h.create_group("/g")
    store.url, store.remark = "sftp" + url[url.index("://") :], REMARK
    return zarrscope.open(store)


def test_a_session_says_that_files_are_only_read(mailbox: Mailbox) -> None:
    session = Session("ssh://far/x.zarr", mailbox, opener=by_sftp)
    mailbox.run_until(lambda: session.state.status is SessionStatus.READY, SECONDS)
    assert session.state.sentence == REMARK
    assert not session.state.retry
    session.select("/g")
    mailbox.run_until(lambda: session.node is not None, SECONDS)
    assert session.state.sentence == REMARK, "it stays until it was read"
    session.dismiss()
    assert session.state.sentence == ""
    session.close()


def test_the_terminal_takes_the_remark_away_with_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    from zarrscope_app.presenters.session import session as sessions

    monkeypatch.setattr(sessions, "open_place", by_sftp)

    async def run() -> None:
        app = Explorer("ssh://far/x.zarr")
        async with app.run_test(size=(80, 24)) as pilot:
            screen = Screen(app, pilot)
            await screen.ready()
            await screen.until(lambda: "[Esc]" in str(app._said["error-bar"]), "the remark")
            assert REMARK in str(app._said["error-bar"])
            await screen.press("escape")
            await screen.until(lambda: not app._shown["error-bar"].display, "nothing")

    asyncio.run(run())


# ---------------------------------------------------------------------- a node that does not come
@pytest.fixture
def server() -> Iterator[WebServer]:
    values: dict[str, bytes] = {}
    with zarrscope.open(values, "w-") as h:
        for name in "ab":
            h.create_array(f"/{name}", shape=(32, 32), dtype="u1", chunks=(16, 16))[...] = 100
    with web_server(values) as found:
        yield found
        found.gate.set()


def test_the_picture_of_the_former_node_is_marked(server: WebServer, mailbox: Mailbox) -> None:
    session = Session(f"{server.url}/", mailbox, path="/a")
    session.slice.changed.connect(lambda: session.slice.fit((32, 32)))

    def shown() -> bool:
        return bool(session.slice.frame.tiles) and not session.slice.frame.loading

    try:
        mailbox.run_until(shown, SECONDS)
        server.gate.clear()
        session.select("/b")
        mailbox.run_until(lambda: bool(session.slice.frame.over), SECONDS)
        assert session.slice.frame.over.startswith("/b is loading. Waiting ")
        assert "b/zarr.json from 127.0.0.1" in session.slice.frame.over
        server.gate.set()
        mailbox.run_until(lambda: session.node is not None and shown(), SECONDS)
        assert session.slice.frame.over == ""
    finally:
        server.gate.set()
        session.close()


# ---------------------------------------------------------------------- words
def test_a_failed_chunk_is_named_with_its_server() -> None:
    error = Unreadable("The server answered 503", store="https://h:80/x.zarr", key="a/c/0", advice="Try again.")
    assert words.failed_chunk(error) == "a/c/0 from h:80: The server answered 503. Try again."
    stopped = Unreadable("Stopped after 3 s without an answer from h:80", store="https://h:80/x.zarr", key="a/c/0")
    step = "Check that the store can be reached and read, then try again."
    assert words.failed_chunk(stopped) == f"a/c/0: Stopped after 3 s without an answer from h:80. {step}"
    assert words.failed_chunk(Unreadable("No", store="file:///x", key="a/c/0")) == f"No. {step} Key a/c/0."


def test_applications_do_not_name_options_of_the_command_line() -> None:
    found = strings.problem(Denied("403", store="https://h/x", key="k", advice=Denied.UNTOLD_ADVICE, untold=True))
    assert found.offer == "missing-is-fill"
    assert "--" not in found.headline
    assert "storage_options" not in found.headline
    assert found.headline.endswith("take it as missing.")


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_the_keys_of_the_error_bar_stay_in_sight(width: int) -> None:
    from textwrap import wrap

    acts = "  [r] Retry"
    lines = wrap(error_text("error", "word " * 99 + "end.", acts, width), width)
    assert len(lines) <= LINES
    assert lines[-1].endswith("Retry")
    assert ("…" in lines[-1]) == (width < 200)
    for severity, sign in {"error": "×", "warning": "!", "information": "i"}.items():
        assert error_text(severity, "Short.", acts, width) == f"{sign} Short.  [r] Retry", "as among Problems"


def test_the_error_bar_shortens_addresses_before_it_leaves_out_how_to_go_on() -> None:
    place = "/a/path/that/is/as/long/as/many/are/on/a/cluster/with/projects/hierarchy.zr3"
    sentence = f"There is no folder {place}/foo. It lies inside file://{place}, a hierarchy of Zarr v3: open that one."
    shown = error_text("error", sentence, "  [r] Retry", 80)
    assert shown.endswith("projects/hierarchy.zr3, a hierarchy of Zarr v3: open that one.  [r] Retry")
    assert place in error_text("error", sentence, "  [r] Retry", 200), "where there is room, nothing is shortened"
