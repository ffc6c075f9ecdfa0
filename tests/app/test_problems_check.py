"""The Problems tab: it claims no more than was looked at, and a check can be stopped and goes on where it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.journeys import Shelf
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import Session, SessionStatus, Workspace
from zarrscope_app.presenters.problems import UNLOOKED
from zarrscope_app.presenters.session.actions import perform


@pytest.fixture
def shelf() -> Shelf:
    shelf = Shelf()
    h = zarrscope.open(shelf, "a")
    for name in ("a", "b"):
        array = h.create_array(f"/{name}", shape=(40, 40), dtype="u2", chunks=(10, 10))
        array[...] = np.arange(1600).reshape(40, 40)
    return shelf


def settled(session: Session) -> Callable[[], bool]:
    return lambda: session.state.status is SessionStatus.READY and not session.state.selecting


def opened(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> Session:
    session = workspace.open(shelf.address)
    mailbox.run_until(settled(session))
    return session


def test_nothing_is_claimed_before_anything_was_checked(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    problems = opened(shelf, workspace, mailbox).problems
    assert problems.sentence == UNLOOKED
    assert "No problems" not in problems.sentence
    problems.check()
    assert problems.checking
    assert problems.sentence.startswith("Checking /…")
    mailbox.run_until(lambda: not problems.checking)
    told = "No problems were found. Checked: / and all beneath, every document and 32 chunks, stored or not."
    assert problems.sentence.startswith(told)


def test_what_is_wrong_is_found_with_its_place(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    shelf.set("a/c/1/2", b"broken")
    session = opened(shelf, workspace, mailbox)
    perform(session, "check")
    mailbox.run_until(lambda: not session.problems.checking)
    assert session.state.tab == "problems"
    (found,) = session.problems.items
    assert (found.path, found.severity) == ("/a", "error")
    assert "a/c/1/2" in found.place
    assert session.problems.sentence.startswith("1 problem. Checked: ")
    session.select("/b")
    mailbox.run_until(settled(session))
    session.problems.check()
    mailbox.run_until(lambda: not session.problems.checking)
    assert "Checked: /b and all beneath" in session.problems.sentence, "only what was checked"


def test_a_check_is_stopped_and_goes_on(shelf: Shelf, workspace: Workspace, mailbox: Mailbox, monkeypatch: Any) -> None:
    session = opened(shelf, workspace, mailbox)
    problems = session.problems
    shelf.hold("b/c")
    problems.check()
    mailbox.run_until(lambda: "/b" in problems.sentence and "/a" in problems._steps.known)
    perform(session, "check")
    assert not problems.checking
    shelf.release()
    assert problems.can_resume
    assert "the rest was not checked" in problems.sentence
    assert "were found" not in problems.sentence
    mailbox.run()
    shelf.read.clear()
    perform(session, "check")
    mailbox.run_until(lambda: not problems.checking and not problems.can_resume)
    assert problems.sentence.startswith("No problems were found. Checked: ")
    assert not [key for key in shelf.read if key.startswith("a/c")], "what was checked before is not read again"
    problems.clear()
    assert problems.sentence == UNLOOKED
