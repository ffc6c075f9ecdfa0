"""Several windows and hosts in one process share one Background and one cache; each is called on its own thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from contracts.journeys import SECONDS, Shelf, brightness, small_image
from zarrscope.runtime import threads as background
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores import memory
from zarrscope.view import loader as chunks
from zarrscope_app.presenters import Session, SessionStatus

PIXELS = (64, 64)


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    shelf = Shelf()
    small_image(shelf)
    yield shelf
    shelf.release()
    memory._named.pop(shelf.address.removeprefix("memory://"), None)


def show(shelf: Shelf, mailbox: Mailbox) -> Session:
    """A window that shows all of plane 5; its callbacks must come on the thread that runs the mailbox."""
    me = threading.get_ident()
    session = Session(shelf.address, mailbox, path="/image")

    def looked() -> None:
        assert threading.get_ident() == me, "called on another host's thread"
        session.slice.fit(PIXELS)

    session.slice.changed.connect(looked)
    session.slice.painted.connect(looked, check_nargs=False)
    mailbox.run_until(lambda: session.state.status is SessionStatus.READY and bool(session.slice.state.axes), SECONDS)
    session.slice.set_index("z", 5)
    middle = (PIXELS[0] // 2, PIXELS[1] // 2)
    mailbox.run_until(
        lambda: (
            session.slice.frame.loading == 0 and bool((session.slice.picture(*PIXELS)[middle] == brightness(5)).all())
        ),
        SECONDS,
    )
    return session


def test_the_second_window_reads_nothing_again(shelf: Shelf) -> None:
    first_mail, second_mail = Mailbox(), Mailbox()
    first = show(shelf, first_mail)
    shelf.read.clear()
    second = show(shelf, second_mail)
    assert [key for key in shelf.read if "/c/5/" in key] == []
    assert chunks.shared().background is background.shared()
    first.close()
    second.slice.set_index("z", 6)
    second_mail.run_until(lambda: bool((second.slice.picture(*PIXELS)[32, 32] == brightness(6)).all()), SECONDS)
    second.close()


def test_two_hosts_on_two_threads(shelf: Shelf) -> None:
    pictures: dict[str, np.ndarray] = {}
    faults: list[BaseException] = []
    both = threading.Barrier(2, timeout=2 * SECONDS)

    def host(name: str) -> None:
        try:
            session = show(shelf, Mailbox())
            pictures[name] = session.slice.picture(*PIXELS)
            both.wait()  # closing the last one frees the chunks too
            session.close()
        except BaseException as fault:
            both.abort()
            faults.append(fault)

    hosts = [threading.Thread(target=host, args=(name,), name=f"host {name}") for name in ("a", "b")]
    for thread in hosts:
        thread.start()
    for thread in hosts:
        thread.join(2 * SECONDS)
    assert not faults
    assert np.array_equal(pictures["a"], pictures["b"])
    assert len([key for key in shelf.read if "/c/5/" in key]) == 16, "each chunk is read once for both"
