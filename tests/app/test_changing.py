"""A store that another program is writing: a refresh shows new nodes and values, and open nodes stay open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import zarrscope
from contracts.journeys import Shelf, tree_of_all_kinds
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores.memory import MemoryStore
from zarrscope_app.presenters import Session, SessionStatus


class Far(Shelf):
    """A remote store: its consolidated metadata are used."""

    def __init__(self) -> None:
        super().__init__()
        self.remote = True


@pytest.fixture(params=[Shelf, Far])
def shelf(request: pytest.FixtureRequest) -> Shelf:
    made: Shelf = request.param()
    return made


@pytest.fixture
def show(mailbox: Mailbox) -> Iterator[Callable[[Shelf, str], Session]]:
    sessions: list[Session] = []

    def open_(shelf: Shelf, path: str) -> Session:
        sessions.append(Session(shelf.address, mailbox, path=path))
        return sessions[-1]

    yield open_
    for session in sessions:
        session.close()


def settled(session: Session) -> Callable[[], bool]:
    return lambda: session.state.status is SessionStatus.READY and session.node is not None


def growing(shelf: Shelf) -> Any:
    made = zarrscope.open(shelf, "w-")
    made.create_group("/g/inner")
    array = made.create_array("/g/a", shape=(2, 4), dtype="u1", chunks=(1, 4))
    array[...] = 1
    return made


@pytest.mark.parametrize("copied", [False, True])
def test_a_refresh_shows_what_has_grown(
    show: Callable[[Shelf, str], Session], shelf: Shelf, mailbox: Mailbox, copied: bool
) -> None:
    made = growing(shelf)
    if copied:
        made.consolidate()
    session = show(shelf, "/g/a")
    mailbox.run_until(settled(session))
    assert "changing" not in session.state.facts
    other = zarrscope.open(shelf, "r+", consolidated=False)  # a writer that does not update the consolidated metadata
    array: Any = other["/g/a"]
    array.resize((5, 4))
    array[4] = 9
    session.reload()
    mailbox.run_until(lambda: session.node is not None and getattr(session.node, "shape", ()) == (5, 4))
    assert session.state.facts.startswith("changing: 2 × 4 → 5 × 4")
    node: Any = session.node
    assert node[4].tolist() == [9] * 4
    assert node[3].tolist() == [0] * 4, "a chunk that is not there yet is no error"
    session.reload()
    mailbox.run_until(lambda: settled(session)() and "changing" not in session.state.facts)


def test_a_node_that_is_gone_says_nothing_of_the_array_before_it(
    show: Callable[[Shelf, str], Session], mailbox: Mailbox
) -> None:
    shelf = Shelf()
    made = growing(shelf)
    session = show(shelf, "/g/a")
    mailbox.run_until(settled(session))
    made["/g/a"].resize((5, 4))
    session.poll_growth()
    mailbox.run_until(lambda: "changing: 2 × 4 → 5 × 4" in session.state.facts)
    made.erase("/g/inner")
    session.select("/g/inner")
    mailbox.run_until(lambda: session.error is not None)
    assert "changing" not in session.state.facts
    session.poll_growth()
    assert not session.owner.busy


def test_a_look_tells_that_the_array_on_show_has_grown(
    show: Callable[[Shelf, str], Session], shelf: Shelf, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = growing(shelf)
    session = show(shelf, "/g/a")
    mailbox.run_until(settled(session))
    made["/g/a"].resize((5, 4))
    asked: list[str] = []
    get = shelf._get

    def counted(key: str, *more: Any) -> bytes | None:
        asked.append(key)
        return get(key, *more)

    monkeypatch.setattr(shelf, "_get", counted)

    def is_quiet() -> bool:
        while mailbox.run():  # a call may begin more work
            pass
        return not session.owner.busy

    mailbox.run_until(is_quiet)
    asked.clear()
    session.poll_growth()
    if shelf.remote:
        assert is_quiet(), "elsewhere each look would be a request"
        assert not asked
        return
    mailbox.run_until(lambda: "changing: 2 × 4 → 5 × 4" in session.state.facts)
    assert getattr(session.node, "shape", ()) == (2, 4), "what is on show stays"
    assert len(asked) <= 2, asked
    session.reload()
    mailbox.run_until(lambda: session.node is not None and getattr(session.node, "shape", ()) == (5, 4))
    session.poll_growth()
    session.reload()
    mailbox.run_until(lambda: settled(session)() and "changing" not in session.state.facts)


def test_what_was_open_and_typed_is_there_after_a_refresh(
    show: Callable[[Shelf, str], Session], shelf: Shelf, mailbox: Mailbox
) -> None:
    tree_of_all_kinds(shelf)
    session = show(shelf, "/")
    tree = session.tree
    mailbox.run_until(lambda: tree.find("/many") is not None)
    many = tree.find("/many")
    assert many is not None
    tree.expand(many)
    mailbox.run_until(lambda: tree.find("/many/img2") is not None)
    for again in (session.reload, tree.refresh):
        again()
        mailbox.run_until(lambda: tree.find("/many/img2") is None)
        mailbox.run_until(lambda: tree.find("/many/img2") is not None)
    shelf.listable = False
    session.reload()
    mailbox.run_until(lambda: tree.row(0).sentence != "" and tree.find("/many") is None)
    tree.open_child(0, "many/img1")
    mailbox.run_until(lambda: tree.find("/many/img1") is not None)
    session.reload()
    mailbox.run_until(lambda: tree.find("/many/img1") is None)
    mailbox.run_until(lambda: tree.find("/many/img1") is not None)


def test_a_document_that_is_just_being_written_is_read_once_more(
    show: Callable[[Shelf, str], Session], shelf: Shelf, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    growing(shelf)
    session = show(shelf, "/g/a")
    mailbox.run_until(settled(session))
    whole = shelf.get("zarr.json") or b""
    shelf.set("zarr.json", whole[:20])
    paused: list[float] = []

    def pause(seconds: float) -> None:
        paused.append(seconds)
        shelf.set("zarr.json", whole)

    monkeypatch.setattr("zarrscope_app.presenters.session.changing.sleep", pause)
    session.reload()
    mailbox.run_until(lambda: bool(paused) and settled(session)())
    assert len(paused) == 1


def test_a_copy_that_is_ahead_of_its_document_is_read_all_the_same() -> None:
    store = MemoryStore()
    made = zarrscope.open(store, "w-")
    array = made.create_array("/a", shape=(2,), dtype="u1", chunks=(1,))
    array[...] = 1
    before = store.get("a/zarr.json") or b""
    array.resize((4,))
    made.consolidate()
    store.set("a/zarr.json", before)  # an eventually consistent service may still return the old document
    store.remote = True
    found: Any = zarrscope.open(store)["/a"]
    assert found.shape == (4,)
    assert found[2:].tolist() == [0, 0]
    assert found[...].tolist() == [1, 1, 0, 0]
