"""The form: every edit of every kind of field, with undo and redo, and merges that keep both users' edits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from contracts.journeys import Shelf
from zarrscope.jsondoc.document import Document
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import EditPresenter, EditStatus, Session
from zarrscope_app.presenters.form.draft import Draft, differences

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
    mailbox.run_until(lambda: edit.state.status is EditStatus.CLEAN)  # type: ignore[comparison-overlap]  # it has changed since it was last compared
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
    mailbox.run_until(lambda: edit.state.status is EditStatus.CLEAN)  # type: ignore[comparison-overlap]  # it has changed since it was last compared
    assert shelf.get("g/zarr.json") == before
    edit.redo()
    assert edit.state.changes == 1


@pytest.mark.parametrize(
    ("pointer", "text"),
    [("/scale", "1,250"), ("/scale", "1 000"), ("/scale", ""), ("/deep/a/b", "maybe"), ("/list", "[1,")],
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
    assert "taken" in edit.state.sentence
    edit.rename("/scale", "new")
    edit.rename("/new", "name")
    assert "taken" in edit.state.sentence
    assert edit.state.status is EditStatus.DIRTY, "an act that was refused is no reason not to save"
    assert edit.field("/new") is not None


@pytest.mark.parametrize("dialect", ["v3", "v2", "n5", "draft-2022-05", "draft-2020", "draft-2019-06", "draft-2019-05"])
def test_the_attributes_as_a_whole_stay_what_they_are(dialect: str) -> None:
    shelf = Shelf()
    open_hierarchy(shelf, "a", dialect=dialect).create_group("/g", {"ome": {"a": 1, "b": 2, "c": 3}})
    before = {key: shelf.get(key) for key in shelf.list()}
    mailbox = Mailbox()
    session = Session(shelf.address, mailbox, path="/g", writable=True)
    edit = session.edit
    mailbox.run_until(lambda: bool(edit.state.fields))
    top = edit.state.fields[0]
    assert (top.kinds, top.can_rename, top.can_remove, top.can_move) == (("object",), False, False, False)
    for act in (
        lambda: edit.rename("", "renamed"),
        lambda: edit.remove(""),
        lambda: edit.retype("", "text"),
        lambda: edit.retype("", "list"),
        lambda: edit.move("", 1),
        lambda: edit.edit("", "5"),
        lambda: edit.edit_json("", "[]"),
        lambda: edit.retype("/ome", "text"),
        lambda: edit.retype("/ome", "list"),
    ):
        act()
        assert edit.state.changes == 0
        edit.save()
        mailbox.run_until(lambda: not edit.saving)
    assert {key: shelf.get(key) for key in shelf.list()} == before
    edit.edit_json("", '{"mine": 1}')
    assert [field.pointer for field in edit.state.fields] == ["", "/mine"], "other members are no other kind"
    session.close()


VALUES: tuple[Any, ...] = (
    "", "5", "0", "1", "true", "False", "a b", " 7 ", "NaN", "[1]", 0, 1, 5, -2, 0.5, 1e300, True, False, None,
    [], {}, [1], ["a"], [None], [[]], [1, 2], {"a": 1}, {"a": None},
)  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=json.dumps)
def test_no_kind_is_offered_that_drops_content(value: Any) -> None:
    """Every type that is offered keeps the content of a value, as text; `spelled` gives None for the others."""
    from zarrscope_app.presenters.form.field_tree import kind_of, kinds_of, spelled
    from zarrscope_app.presenters.form.view_models import KINDS

    text = value if isinstance(value, str) else "" if isinstance(value, dict | list) else json.dumps(value)
    offered = kinds_of(value, text, "/x")
    assert kind_of(value) in offered
    for kind in KINDS:
        new = spelled(value, text, kind)
        if kind == kind_of(value):
            continue
        assert (new is not None) == (kind in offered)
        if new is not None:
            made = json.loads(new)
            assert kind_of(made) == kind
            assert held(value) <= held(made), f"{value!r} became {made!r}"


def held(value: Any) -> set[str]:
    """Every scalar in a value, as text; booleans as 1 and 0; null and "" contain nothing."""
    if isinstance(value, dict):
        return {x for k, v in value.items() for x in (f"{k}:", *held(v))}
    if isinstance(value, list):
        return {x for v in value for x in held(v)}
    if value is None or value == "":
        return set()
    bare = str(value).strip().lower()
    return {{"true": "1", "false": "0"}.get(bare, bare)}


def test_a_wrong_text_can_become_a_text(make: Any) -> None:
    edit, _, _ = make()
    edit.edit("/scale", "0.1.8")
    assert edit.state.status is EditStatus.INVALID
    assert edit.field("/scale").kinds == ("text", "number", "list")
    edit.retype("/scale", "text")
    assert edit.state.status is EditStatus.DIRTY  # type: ignore[comparison-overlap]  # it has changed since it was last compared
    assert edit.field("/scale").text == "0.1.8"


@pytest.mark.parametrize(
    ("typed", "value"),
    [("0.5", 0.5), ("true", True), ("null", None), ("[1, 2]", [1, 2]), ('{"a": 1}', {"a": 1}), ('"5"', "5"),
     ("five", "five"), ("", ""), (" two words ", " two words ")],
)  # fmt: skip
def test_what_is_added_is_read_as_json_where_it_is_json(make: Any, shelf: Shelf, typed: str, value: Any) -> None:
    edit, mailbox, _ = make()
    assert edit.add_typed("", "new", typed) == "/new"
    edit.save()
    mailbox.run_until(lambda: edit.state.status is EditStatus.CLEAN)
    assert stored(shelf)["new"] == value


def test_broken_json_is_not_taken_for_a_text(make: Any) -> None:
    edit, _, _ = make()
    assert edit.add_typed("", "new", "[1, 2") == ""
    assert edit.state.sentence
    assert edit.state.changes == 0


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


def test_edits_that_were_put_back_are_saved_before_their_node_is_open(make: Any, shelf: Shelf) -> None:
    _, mailbox, session = make()
    hierarchy = session.hierarchy
    draft = Draft(hierarchy.document("/g"), attributes_pointer(hierarchy, "/g"))
    draft.make_again([("/name", '"mine"')])
    edit = EditPresenter(session.owner)
    edit.attach(hierarchy, True)
    edit.expect("/g")
    edit.put_back({"/g": draft})
    edit.save()
    mailbox.run_until(lambda: edit.state.status is EditStatus.CLEAN)
    assert stored(shelf)["name"] == "mine"


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
    mailbox.run_until(lambda: edit.state.status is EditStatus.CLEAN)  # type: ignore[comparison-overlap]  # it has changed since it was last compared
    assert stored(shelf)["scale"] == scale
    assert stored(shelf)["name"] == "mine"
    assert stored(shelf)["list"] == [5]


def test_who_leaves_waits_for_the_save_under_way(make: Any) -> None:
    edit, mailbox, _ = make()
    told: list[str | None] = []
    assert not edit.when_saved(told.append), "nothing is being saved"
    edit.edit("/name", "other")
    edit.save()
    assert edit.when_saved(told.append)
    assert not edit.when_saved(told.append), "whoever asks again does not wait"
    assert not told
    mailbox.run_until(lambda: bool(told))
    assert told == [None]
    assert not edit.dirty_paths


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
    from zarrscope_app.presenters.form.field_tree import fields

    draft = Draft(Document(json.dumps({"long": list(range(100)), "short": [1]})), "")
    assert [f.pointer for f in fields(draft, 60)] == ["", "/long", "/short", "/short/0"]
    draft.folded["/long"] = False
    assert len(fields(draft, 60)) == 104


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e400"])
def test_what_json_forbids_is_warned_of_in_the_review_and_saved_when_that_is_confirmed(
    value: str, make: Any, shelf: Shelf
) -> None:
    edit, mailbox, _ = make()
    before = shelf.get("g/zarr.json")
    edit.edit_json("/scale", value)
    assert edit.diff().unified.splitlines()[0].startswith("! ")
    assert "/scale" in edit.diff().unified.splitlines()[0]
    edit.save()
    mailbox.run_until(lambda: edit.state.status is not EditStatus.SAVING)
    assert (edit.state.status, edit.state.can_save) == (EditStatus.FAILED, True)
    assert "Save again to write it nevertheless" in edit.state.sentence
    assert shelf.get("g/zarr.json") == before
    edit.edit("/name", "other")  # the edit differs from the one that was confirmed: the question is asked again
    edit.save()
    mailbox.run_until(lambda: edit.state.status is not EditStatus.SAVING)
    assert shelf.get("g/zarr.json") == before
    edit.save()
    mailbox.run_until(lambda: edit.state.status is EditStatus.CLEAN)
    assert f'"scale": {value}'.encode() in (shelf.get("g/zarr.json") or b"")
    edit.edit("/name", "third")  # a fault that is stored already needs no confirmation
    assert not edit.diff().unified.startswith("!")
    edit.save()
    mailbox.run_until(lambda: edit.state.status is EditStatus.CLEAN)
