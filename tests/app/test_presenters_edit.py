"""The form: every act on every kind of field, undone and redone, and merges that keep both sides' work."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from contracts.journeys import Shelf
from zarrscope.background import Mailbox
from zarrscope.document import Document
from zarrscope.opening import open as open_hierarchy
from zarrscope_app.presenters import EditPresenter, EditStatus, Session
from zarrscope_app.presenters.draft import Draft, differences

ATTRIBUTES = {"scale": 0.5, "name": "cells", "list": [1, 2, 3], "deep": {"a": {"b": True}}, "none": None}


@pytest.fixture
def shelf() -> Shelf:
    shelf = Shelf()
    open_hierarchy(shelf, "a").create_group("/g", ATTRIBUTES)
    return shelf


@pytest.fixture
def make(shelf: Shelf) -> Iterator[Callable[..., tuple[EditPresenter, Mailbox, Session]]]:
    sessions: list[Session] = []

    def open_(writable: bool = True) -> tuple[EditPresenter, Mailbox, Session]:
        mailbox = Mailbox()
        session = Session(shelf.address, mailbox, path="/g", writable=writable)
        sessions.append(session)
        mailbox.run_until(lambda: bool(session.edit.state.fields))
        return session.edit, mailbox, session

    yield open_
    for session in sessions:
        session.close()


def stored(shelf: Shelf) -> Any:
    return json.loads(shelf.get("g/zarr.json") or b"")["attributes"]


def test_every_act_and_back(make: Any, shelf: Shelf) -> None:
    edit, mailbox, session = make()
    before = shelf.get("g/zarr.json")
    edit.edit("/scale", "1e-3")
    edit.edit("/name", 'with "quotes" and \\')
    edit.edit("/deep/a/b", "false")
    edit.edit("/list/1", "20")
    new = edit.add("/list", "", "4")
    assert new == "/list/3"
    assert edit.add("", "a/b~c", '"x"') == "/a~1b~0c"
    edit.rename("/deep/a", "A")
    edit.remove("/none")
    edit.move("/list/0", 2)
    edit.retype("/list/0", "text")
    assert edit.state.status is EditStatus.DIRTY
    assert session.state.unsaved
    assert session.state.title.startswith("•")
    edit.save()
    mailbox.run_until(lambda: edit.state.status is EditStatus.CLEAN)
    assert stored(shelf) == {
        "scale": 1e-3,
        "name": 'with "quotes" and \\',
        "list": ["20", 3, 1, 4],
        "deep": {"A": {"b": False}},
        "a/b~c": "x",
    }
    assert b"1e-3" in (shelf.get("g/zarr.json") or b""), "numbers keep the spelling that was typed"
    while edit.state.can_undo:
        edit.undo()
    edit.save()
    mailbox.run_until(lambda: edit.state.status is EditStatus.CLEAN)
    assert shelf.get("g/zarr.json") == before
    edit.redo()
    assert edit.state.changes == 1


@pytest.mark.parametrize(
    ("pointer", "text"),
    [("/scale", "0,5"), ("/scale", "1 000"), ("/scale", ""), ("/deep/a/b", "maybe"), ("/list", "[1,")],
)
def test_what_is_wrong_stays_with_its_field(make: Any, pointer: str, text: str) -> None:
    edit, _, _ = make()
    edit.edit(pointer, text)
    field = edit.field(pointer)
    assert field.error
    assert edit.state.status is EditStatus.INVALID
    assert not edit.state.can_save
    edit.undo()
    edit.edit(pointer, json.dumps(stored_value(pointer)))
    assert edit.field(pointer).error == ""


def stored_value(pointer: str) -> Any:
    return {"/scale": 0.25, "/deep/a/b": False, "/list": [9]}[pointer]


def test_a_taken_name_is_refused(make: Any) -> None:
    edit, _, _ = make()
    assert edit.add("", "scale") == ""
    assert "taken" in edit.field("").error
    edit.rename("/scale", "name")
    assert edit.state.status is EditStatus.INVALID


def test_read_only_edits_nothing(make: Any) -> None:
    edit, _, _ = make(writable=False)
    edit.edit("/scale", "3")
    edit.remove("/name")
    assert edit.state.status is EditStatus.READ_ONLY
    assert edit.state.changes == 0


def test_changes_stay_while_one_looks_elsewhere(make: Any) -> None:
    edit, mailbox, session = make()
    edit.edit("/scale", "3")
    session.select("/")
    mailbox.run_until(lambda: edit.state.path == "/" and edit.state.status is EditStatus.CLEAN)
    assert session.state.unsaved == "1 change"
    mailbox.run_until(lambda: session.tree.find("/g") is not None)
    assert session.tree.row(session.tree.find("/g")).dirty
    session.select("/g")
    mailbox.run_until(lambda: edit.state.path == "/g")
    assert edit.field("/scale").text == "3"


def test_a_change_of_another_part_of_the_document_is_no_conflict(make: Any, shelf: Shelf) -> None:
    edit, mailbox, _ = make()
    document = open_hierarchy(shelf, "r+").document("/g")
    shelf.set("g/zarr.json", document.set("/zz", {"must_understand": False}).bytes)
    edit.edit("/scale", "3")
    edit.save()
    mailbox.run_until(lambda: edit.state.status is EditStatus.CLEAN)
    saved = json.loads(shelf.get("g/zarr.json") or b"")
    assert saved["attributes"]["scale"] == 3
    assert saved["zz"] == {"must_understand": False}


@pytest.mark.parametrize(("whose", "scale"), [("mine", 3), ("theirs", 7)])
def test_both_sides_of_a_conflict_keep_what_the_other_did_not_touch(
    make: Any, shelf: Shelf, whose: Any, scale: int
) -> None:
    edit, mailbox, _ = make()
    other = open_hierarchy(shelf, "r+")
    other.save("/g", other.document("/g").set("/attributes/scale", 7).set("/attributes/list", [5]))
    edit.edit("/scale", "3")
    edit.edit("/name", "mine")
    edit.save()
    mailbox.run_until(lambda: edit.state.status is EditStatus.CONFLICT)
    (field,) = edit.state.conflicts
    assert (field.pointer, field.base, field.mine, field.theirs) == ("/scale", "0.5", "3", "7")
    edit.resolve(whose)
    assert edit.state.status is EditStatus.DIRTY
    edit.save()
    mailbox.run_until(lambda: edit.state.status is EditStatus.CLEAN)
    assert stored(shelf)["scale"] == scale
    assert stored(shelf)["name"] == "mine"
    assert stored(shelf)["list"] == [5]


def test_a_store_that_fails_keeps_the_changes(make: Any, shelf: Shelf) -> None:
    edit, mailbox, _ = make()
    edit.edit("/scale", "3")
    shelf.failing.add("g/zarr.json")
    edit.save()
    mailbox.run_until(lambda: edit.state.status is EditStatus.FAILED)
    assert "503" in edit.state.sentence
    shelf.failing.clear()
    edit.save()
    mailbox.run_until(lambda: edit.state.status is EditStatus.CLEAN)
    assert stored(shelf)["scale"] == 3


def test_differences_go_as_deep_as_they_can() -> None:
    before = Document('{"a": {"b": [1, 2], "c": 1.0}, "d": 1}')
    after = Document('{"a": {"b": [1, 3], "c": 1.00}, "e": 1}')
    found = [(c.pointer, c.before, c.after) for c in differences(before, after, "")]
    assert found == [("/a/b/1", "2", "3"), ("/a/c", "1.0", "1.00"), ("/d", "1", None), ("/e", None, "1")]


def test_long_lists_are_folded() -> None:
    from zarrscope_app.presenters.draft import fields

    draft = Draft(Document(json.dumps({"long": list(range(100)), "short": [1]})), "")
    assert [f.pointer for f in fields(draft, 60)] == ["", "/long", "/short", "/short/0"]
    draft.folded["/long"] = False
    assert len(fields(draft, 60)) == 104
