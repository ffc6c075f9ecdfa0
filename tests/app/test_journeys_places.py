"""One journey over every kind of store: open, expand, look at planes, fail, try again, edit, save.

Where a network lies between, its wire is cut; else the store itself fails. The journey is spoken to presenters: what
hosts add is tried by contracts.journeys.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from contracts.looking import Looking, fill
from contracts.places import PLACES, SERVICES, Services
from zarrscope.errors import Unreadable
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.registry import STORES
from zarrscope.stores.ssh.client import SSHStore
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import Wrapper
from zarrscope_app.presenters import ROOT, EditStatus, RowState, Session

SETTINGS = {"attempts": 1, "pause": 0, "timeout": 30}
"""For remote stores: a refused connection fails at once."""


@pytest.fixture(scope="module")
def values() -> dict[str, bytes]:
    store = MemoryStore()
    fill(store)
    return {key: store.get(key) or b"" for key in store.list()}


class Broken(Wrapper):
    """A store that can stop answering."""

    fails = False

    def before(self, operation: str, key: str) -> None:
        if self.fails:
            raise Unreadable("The device does not answer", store=self.url, key=key, advice="Try again.")


def test_every_kind_of_store_is_travelled() -> None:
    assert {*PLACES} == {*STORES}


@pytest.mark.parametrize("kind", PLACES)
def test_the_journey(kind: str, services: Services, values: dict[str, bytes], tmp_path: Path, mailbox: Mailbox) -> None:
    writable = "write" in STORES[kind].abilities
    with PLACES[kind](tmp_path, services, values) as place:
        opened: list[Broken] = []

        def open_again(url: str, mode: Any = "r", **options: Any) -> Any:
            store: Store = place.opened(mode, **(SETTINGS if place.wire is not None else {}))
            opened.append(Broken(store))
            return zarrscope.open(opened[-1] if place.wire is None else store, mode, **options)

        def fail(fails: bool = True) -> None:
            if place.wire is None:
                opened[-1].fails = fails
                return
            place.wire.refuse(fails)
            place.wire.cut()

        session = Session(place.address or f"{kind}://x", mailbox, writable=writable, opener=open_again)
        try:
            travel(Looking(session, mailbox), fail, writable)
        finally:
            session.close()
            for each in opened:
                each.close()


def travel(journey: Looking, fail: Callable[..., None], writable: bool) -> None:
    session, tree = journey.session, journey.session.tree
    journey.look()
    assert session.hierarchy is not None
    journey.go(2)
    journey.shows(2)

    # A tile and a row that fail say why, and are there once it is tried again.
    if tree.find("/more") is None:  # a web server without an index
        tree.open_child(ROOT, "more")
        journey.until(lambda: tree.find("/more") is not None)
    more = journey.row("/more")
    fail()
    journey.go(7)
    journey.until(journey.failed)
    assert journey.picture.why(3, 3).endswith("Click to read it again.")
    tree.expand(more)
    journey.until(lambda: tree.row(more).state in (RowState.FAILED, RowState.READY))
    if tree.row(more).state is RowState.FAILED:
        assert tree.row(more).sentence
    fail(False)
    journey.picture.retry()
    journey.shows(7)
    if tree.row(more).state is RowState.FAILED:
        tree.retry(more)
        journey.until(lambda: tree.row(more).state is RowState.READY)
    assert tree.find("/more/inside") is not None or not session.hierarchy.store.listable

    assert session.state.writable is writable
    if not writable:
        return
    session.select("/more/inside")
    journey.until(lambda: session.edit.state.path == "/more/inside" and session.edit.state.status is EditStatus.CLEAN)
    session.edit.add("", "stain", '"DAPI"')
    journey.until(lambda: session.edit.state.status is EditStatus.DIRTY)
    fail()
    session.edit.save()
    journey.until(lambda: session.edit.state.status is EditStatus.FAILED)
    fail(False)
    session.edit.save()
    journey.until(lambda: session.edit.state.status is EditStatus.CLEAN)
    assert session.hierarchy["/more/inside"].attributes == {"stain": "DAPI"}


def silence(place: Any, store: Store) -> tuple[Callable[[], object], Callable[[], object]]:
    """Returns two functions: the first makes the remote side of a store stop answering, the second lets it answer
    again."""
    if place.wire is not None:
        return place.wire.hold, lambda: (place.wire.cut(), place.wire.release())  # held requests get no answer
    assert isinstance(store, SSHStore), "only ssh is tried without a network"
    far = store._connection()._process
    return lambda: far.send_signal(signal.SIGSTOP), lambda: far.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("kind", SERVICES)
def test_a_silent_store_is_named_and_need_not_be_waited_for(
    kind: str, services: Services, values: dict[str, bytes], tmp_path: Path, mailbox: Mailbox
) -> None:
    with PLACES[kind](tmp_path, services, values) as place:
        if place.wire is None and kind != "ssh":
            pytest.skip(f"no server for {kind}: packaging/check --servers --system installs it")
        session = Session(
            place.address, mailbox, opener=lambda url, mode="r", **o: zarrscope.open(place.opened(mode), mode, **o)
        )
        journey = Looking(session, mailbox)
        try:
            journey.look()
            assert session.hierarchy is not None
            hold, speak = silence(place, session.hierarchy.store)
            hold()
            try:
                journey.go(2)
                journey.until(lambda: "a/c/2/" in session.slice.frame.over)
                assert session.waiting.startswith("Waiting ")
                assert session.waiting in session.state.status_text
                assert session.stop_waiting()
                journey.until(journey.failed)
                assert not session.waiting
                assert "Stopped after" in session.slice.frame.over
            finally:
                speak()
            journey.picture.retry()
            journey.shows(2)
        finally:
            session.close()
