"""Renaming, moving, copying and erasing as a person meets them: a plan first, then a job, then the tree anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

import zarrscope
from contracts.operations import VALUES, contents, example, is_whole
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores.local.store import LocalStore
from zarrscope_app.presenters import JobState, Session, SessionStatus, Workspace, strings


@pytest.fixture
def place(tmp_path: Path) -> Path:
    example("v3", LocalStore(tmp_path / "x.zarr", sync=False))
    return tmp_path / "x.zarr"


def settled(session: Session) -> Callable[[], bool]:
    return lambda: session.state.status is SessionStatus.READY and not session.state.selecting


def opened(workspace: Workspace, mailbox: Mailbox, place: Path, path: str, *, writable: bool = True) -> Session:
    session = workspace.open(str(place), writable=writable)
    mailbox.run_until(settled(session))
    session.select(path)
    mailbox.run_until(settled(session))
    return session


def carried_out(session: Session, mailbox: Mailbox) -> None:
    mailbox.run_until(lambda: session.nodes.state.ready)
    session.nodes.carry_out()
    mailbox.run_until(lambda: bool(session.jobs.items) and not session.jobs.running)
    mailbox.run_until(settled(session))


def test_a_plan_is_shown_and_nothing_done_until_it_is_carried_out(
    place: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    session = opened(workspace, mailbox, place, "/g/a")
    before = contents(LocalStore(place))
    session.nodes.begin("move", "/g/a")
    mailbox.run_until(lambda: not session.nodes.state.planning)
    assert session.nodes.state.sentence == strings.NEW_PLACE
    assert not session.nodes.state.ready
    session.nodes.set_target("/deep/a")
    mailbox.run_until(lambda: session.nodes.state.ready)
    state = session.nodes.state
    assert state.title == "Move a"
    assert any(line.startswith("move") and "g/a/ → deep/a/" in line for line in state.lines)
    assert "moved" in state.sentence
    assert contents(LocalStore(place)) == before
    carried_out(session, mailbox)
    assert session.state.path == "/deep/a"
    assert is_whole(zarrscope.open(place), "/other", "/other")
    assert (zarrscope.open(place)["/deep/a"][...] == VALUES).all()
    assert [job.state for job in session.jobs.items] == [JobState.DONE]


def test_erasing_tells_what_goes_and_then_shows_the_group_above(
    place: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    session = opened(workspace, mailbox, place, "/g/in/b")
    session.nodes.begin("remove", "/g/in")
    mailbox.run_until(lambda: session.nodes.state.ready)
    assert "erased" in session.nodes.state.sentence
    carried_out(session, mailbox)
    assert session.state.path == "/g"
    assert "/g/in" not in zarrscope.open(place)


def test_a_copy_is_gone_to_and_a_rename_needs_no_plan(place: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    session = opened(workspace, mailbox, place, "/other")
    session.nodes.begin("copy", "/other")
    assert session.nodes.state.to == "/other-copy"
    carried_out(session, mailbox)
    assert session.state.path == "/other-copy"
    session.nodes.rename("/other-copy", "twin")
    mailbox.run_until(lambda: session.state.path == "/twin" and settled(session)())
    found = zarrscope.open(place)
    assert is_whole(found, "/twin", "/other")
    assert is_whole(found, "/other", "/other")
    assert "/other-copy" not in found


def test_what_may_not_be_is_said_in_a_sentence(place: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    session = opened(workspace, mailbox, place, "/g")
    for act, path, to, part in (
        ("move", "/g", "/g/in/g", "within the other"),
        ("copy", "/g", "/other", "already"),
        ("move", "/g", "/__x", "reserves"),
        ("remove", "/", "", strings.ROOT_STAYS),
        ("copy", "/g", "/g", strings.NEW_PLACE),
    ):
        session.nodes.begin(act, path)  # type: ignore[arg-type]  # one of the acts
        session.nodes.set_target(to)
        mailbox.run_until(lambda: not session.nodes.state.planning)
        assert part in session.nodes.state.sentence
        assert not session.nodes.state.ready
        session.nodes.carry_out()
    session.nodes.rename("/g", "other")
    mailbox.run_until(lambda: bool(session.jobs.items) and not session.jobs.running)
    assert session.jobs.items[-1].state is JobState.FAILED
    assert is_whole(zarrscope.open(place), "/g")


def test_unsaved_changes_and_read_only_places_come_first(place: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    session = opened(workspace, mailbox, place, "/g/a")
    mailbox.run_until(lambda: bool(session.edit.state.fields))
    session.edit.edit("/who", "me")
    session.nodes.begin("move", "/g")
    session.nodes.set_target("/h")
    mailbox.run_until(lambda: not session.nodes.state.planning)
    assert session.nodes.state.sentence == strings.SAVE_FIRST
    session.edit.revert()
    session.nodes.set_target("/h2")
    mailbox.run_until(lambda: session.nodes.state.ready)
    session.nodes.cancel()
    assert session.nodes.state.act is None
    reading = opened(workspace, mailbox, place, "/g/a", writable=False)
    if reading is session:
        session.set_writable(False)
        mailbox.run_until(settled(session))
    assert not reading.nodes.may_change("/g")
    reading.nodes.begin("remove", "/g")
    mailbox.run_until(lambda: not reading.nodes.state.planning)
    assert reading.nodes.state.sentence == strings.OPEN_FOR_WRITING


@pytest.mark.parametrize("dialect", ["v3", "n5", "draft-2020"])
@pytest.mark.parametrize("act", ["remove", "move"])
def test_a_group_that_goes_along_is_told_in_the_plan_and_at_the_end(
    dialect: str, act: Literal["remove", "move"], tmp_path: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    made = zarrscope.open(tmp_path / "y", "w-", dialect=dialect)
    made.create_array("/p/a", shape=(2,), dtype="u1")
    made.store.erase_values(made.dialect.documents("/p"))
    session = opened(workspace, mailbox, tmp_path / "y", "/p/a")
    session.nodes.begin(act, "/p/a")
    if act == "move":
        session.nodes.set_target("/b")
    mailbox.run_until(lambda: session.nodes.state.ready)
    assert "/p, a group without a document of its own, goes with it" in session.nodes.state.sentence
    carried_out(session, mailbox)
    assert "goes with it" in session.jobs.items[-1].sentence
    assert "/p" not in zarrscope.open(tmp_path / "y")
