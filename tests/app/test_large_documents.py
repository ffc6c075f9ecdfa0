"""Documents of megabytes are edited in the background, and edits keep their order."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from qtpy.QtCore import Qt

import zarrscope
from narrowing import as_group
from zarrscope.jsondoc import document as documents
from zarrscope.jsondoc import parse, sharing
from zarrscope.jsondoc.differences import differences
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.parse import parse_json
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import EditStatus, Session
from zarrscope_app.presenters.form import background_edits, background_view, conflict, draft, json_text, rescue
from zarrscope_app.presenters.form.conflict import FittingFields
from zarrscope_app.presenters.form.conflict_rows import MOST_ROWS, conflict_rows
from zarrscope_app.presenters.form.view_models import Disagreement, Side
from zarrscope_app.settings import FileSettings

SECONDS = 60
ROWS = [{"label": i, "class": f"cell {i}", "area": 1.5 * i} for i in range(4000)]
STEP = {"type": "scale", "scale": [0.5, 0.5]}
AXES = [{"name": name, "type": "space", "unit": "micrometer"} for name in "yx"]
ENTRY = {"name": "x", "axes": AXES, "datasets": [{"path": "0", "coordinateTransformations": [STEP]}]}


@pytest.fixture
def session(tmp_path: Path, mailbox: Mailbox) -> Iterator[Session]:
    with zarrscope.open(str(tmp_path / "x.zarr"), "w-") as h:
        h.root.attrs.put({"ome": {"version": "0.5", "multiscales": [ENTRY]}, "table": ROWS})
        h.create_array("/0", shape=(8, 8), dtype="uint8", chunks=(8, 8))
    s = Session(str(tmp_path / "x.zarr"), mailbox, writable=True)
    mailbox.run_until(lambda: bool(s.edit.state.sections) and s.node is not None, SECONDS)
    yield s
    s.close()


def text(s: Session, pointer: str) -> str:
    return next((field.text for field in s.edit.state.fields if field.pointer == pointer), "")


def test_no_large_document_is_parsed_on_the_hosts_thread(
    session: Session, mailbox: Mailbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where: list[int] = []
    real = parse_json

    def parse(data: Any, *args: Any, **given: Any) -> Any:
        if len(data) > 100_000:
            where.append(threading.get_ident())
        return real(data, *args, **given)

    monkeypatch.setattr(documents, "parse_json", parse)
    edit = session.edit
    edit.edit("size/0", "0.25")
    assert text(session, "size/0") == "0.25", "what is being set is shown as it was typed"
    edit.edit("name", "other")
    edit.undo()
    edit.save()
    mailbox.run_until(lambda: edit.state.status is EditStatus.CLEAN and not edit.busy, SECONDS)
    assert where
    assert threading.get_ident() not in where
    entry = zarrscope.open(str(tmp_path / "x.zarr")).root.attributes["ome"]["multiscales"][0]
    assert entry["datasets"][0]["coordinateTransformations"][0]["scale"] == [0.25, 0.25]
    assert entry["name"] == "x", "the acts were done in their order"


def _watched(real: Any, seen: set[int]) -> Any:
    """Wraps a function so that the threads that call it are recorded."""

    def called(*args: Any) -> Any:
        seen.add(threading.get_ident())
        return real(*args)

    return called


def test_nothing_that_walks_a_large_document_runs_on_the_hosts_thread(
    session: Session, mailbox: Mailbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fields, text, differences, and a conflict from its start to its resolution."""
    seen: dict[str, set[int]] = {}
    for module, name in (
        (background_view, "fields"),
        (json_text, "text_of"),
        (json_text, "lines_of"),
        (draft, "diff_of"),
        (draft, "differences"),
        (draft, "sides_of"),
        (draft, "merge"),
    ):
        monkeypatch.setattr(module, name, _watched(getattr(module, name), seen.setdefault(name, set())))
    monkeypatch.setattr(background_edits, "diff_of", draft.diff_of)
    edit = session.edit

    def until(happened: Any) -> None:
        mailbox.run_until(lambda: bool(happened()) and not edit.busy, SECONDS)

    edit.show_way("fields")
    edit.fold("/table", False)
    edit.turn_page("/table", 1)
    until(lambda: any(field.pointer == "/table/200" for field in edit.state.fields))
    edit.edit("/table/200/class", "mine")
    until(lambda: edit.state.changes == 1)
    until(lambda: "mine" in edit.diff().unified)
    edit.undo()
    until(lambda: edit.state.changes == 0)
    edit.redo()
    until(lambda: edit.state.changes == 1)
    with zarrscope.open(str(tmp_path / "x.zarr"), "r+") as other:
        rows = other.root.attributes["table"]
        other.root.attrs["table"] = [{**row, "class": "theirs"} for row in rows]
    edit.save()
    until(lambda: edit.state.status is EditStatus.CONFLICT)
    assert [each.pointer for each in edit.state.conflicts] == ["/table/200/class"]
    assert len(edit.state.fitting) == len(ROWS) - 1
    edit.undo()
    until(lambda: not edit.state.conflicts and len(edit.state.fitting) == len(ROWS))
    edit.redo()
    until(lambda: edit.state.conflicts)
    edit.edit("/table/200/class", "another")
    until(lambda: edit.state.conflicts[0].mine == '"another"')
    edit.undo()
    until(lambda: edit.state.conflicts[0].mine == '"mine"')
    edit.choose("/table/200/class", "mine")
    edit.resolve("chosen")
    until(lambda: edit.state.changes == 1)
    edit.show_way("json")
    until(lambda: edit.state.text)
    assert all(seen.values()), "each of them was called"
    assert not any(threading.get_ident() in threads for threads in seen.values())
    edit.save()
    until(lambda: edit.state.status is EditStatus.CLEAN)
    table = zarrscope.open(str(tmp_path / "x.zarr")).root.attributes["table"]
    assert [row["class"] for row in table].count("theirs") == len(ROWS) - 1


def test_pages_that_nobody_waits_for_any_more_are_not_shown(session: Session, mailbox: Mailbox) -> None:
    edit = session.edit
    edit.show_way("fields")
    edit.fold("/table", False)
    shown: list[set[str]] = []
    edit.changed.connect(lambda: shown.append({field.pointer for field in edit.state.fields}))
    for _ in range(5):
        edit.turn_page("/table", 1)
    mailbox.run_until(lambda: any(field.pointer == "/table/1000" for field in edit.state.fields), SECONDS)
    between = {f"/table/{first}" for first in (200, 400, 600, 800)}
    assert not any(between & pointers for pointers in shown)


def test_the_review_of_a_large_document_comes_later(session: Session, mailbox: Mailbox) -> None:
    edit = session.edit
    edit.show_way("fields")
    edit.fold("/table", False)
    edit.edit("/table/7/class", "other")
    mailbox.run_until(lambda: edit.state.changes == 1, SECONDS)
    edit.diff()
    mailbox.run_until(lambda: "other" in edit.diff().unified, SECONDS)
    (change,) = edit.diff().changes
    assert (change.pointer, change.before, change.after) == ("/table/7/class", '"cell 7"', '"other"')
    edit.edit("/table/7/area", "x")
    assert edit.state.status is EditStatus.INVALID
    edit.revert()
    mailbox.run_until(lambda: edit.state.changes == 0 and not edit.busy, SECONDS)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('{"a": 1, "b": [1, 2]}', '{"a":1,"b":[1,3]}', [("/b/1", "2", "3")]),
        ('{"a": 1}', '{"a": 1.0}', [("/a", "1", "1.0")]),
        ('{"a": "\\u0061"}', '{"a": "a"}', []),
        ('{"a": [1]}', '{"a": [1, 2]}', [("/a", "[1]", "[1, 2]")]),
        ('{"a": 1, "b": 2}', '{"b": 2, "c": null}', [("/a", "1", None), ("/c", None, "null")]),
        ('{"a": {}}', '{"a": []}', [("/a", "{}", "[]")]),
        ('{"a": 1, "a": 2}', '{"a": 2}', []),
        ('{"a": NaN}', '{"a": NaN }', []),
    ],
)
def test_differences_are_told_as_deep_as_they_lie(before: str, after: str, told: list[Any]) -> None:
    assert differences(Document(before), Document(after)) == told


def test_closing_waits_for_an_edit_that_is_being_made(session: Session, mailbox: Mailbox) -> None:
    edit, told = session.edit, list[frozenset[str]]()
    edit.edit("size/0", "0.25")
    assert edit.busy
    assert edit.when_edited(lambda: told.append(edit.dirty_paths))
    mailbox.run_until(lambda: bool(told), SECONDS)
    assert told == [frozenset({"/"})], "the person is asked only once the edit is there"
    assert not edit.when_edited(lambda: told.append(frozenset()))


def test_ending_compares_nothing_and_keeps_all(
    tmp_path: Path, session: Session, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = FileSettings(tmp_path / "state")
    session.keep_edits(settings)
    edit = session.edit
    edit.show_way("fields")
    edit.fold("/table", False)
    edit.turn_page("/table", 1)
    mailbox.run_until(lambda: any(field.pointer == "/table/200" for field in edit.state.fields), SECONDS)
    edit.edit("/table/200/class", "mine")
    mailbox.run_until(lambda: edit.state.changes == 1 and not edit.busy, SECONDS)
    edit.edit("/table/3/class", "more")
    mailbox.run_until(lambda: edit.state.changes == 2 and not edit.busy, SECONDS)
    seen: set[int] = set()
    edit.undo()  # the version before is compared anew
    monkeypatch.setattr(draft, "differences", _watched(draft.differences, seen))
    session.close()
    assert threading.get_ident() not in seen
    monkeypatch.setattr(rescue, "_runs", lambda *_: False)
    second = Session(str(tmp_path / "x.zarr"), mailbox, writable=True)
    second.keep_edits(settings)
    mailbox.run_until(lambda: "put-back" in second.state.offers and second.hierarchy is not None, SECONDS)
    second.put_back()
    mailbox.run_until(lambda: second.edit.unsaved == 1, SECONDS)
    assert [c.after for c in second.edit.unsaved_drafts()["/"].changes] == ['"mine"']
    second.discard_edits()
    second.close()


@pytest.mark.needs("qt", "display")
def test_a_member_added_to_a_large_document_is_named_at_once(qtbot: Any, tmp_path: Path) -> None:
    from qtpy.QtWidgets import QLineEdit

    from qt_robot import window_on

    with zarrscope.open(str(tmp_path / "y.zarr"), "w-") as h:
        h.root.attrs.put({"table": ROWS, "note": "x"})
    window, opened = window_on(qtbot, str(tmp_path / "y.zarr"), writable=True)
    qtbot.waitUntil(lambda: bool(opened.edit.state.fields), timeout=SECONDS * 1000)
    opened.set_tab("attributes")
    form = window.form
    qtbot.waitUntil(lambda: form.model.place_of("/note") is not None, timeout=SECONDS * 1000)
    form.add()
    qtbot.waitUntil(lambda: bool(form.view.findChildren(QLineEdit)), timeout=SECONDS * 1000)
    (editor,) = form.view.findChildren(QLineEdit)
    editor.setText("unit")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: form.model.place_of("/unit") is not None and not opened.edit.busy, timeout=SECONDS * 1000)
    opened.discard_edits()


def test_of_a_large_conflict_only_the_listed_fields_are_made(
    session: Session, mailbox: Mailbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def making(pointer: str, *given: Any, **more: Any) -> Disagreement:
        made.append(pointer)
        return Disagreement(pointer, *given, **more)

    monkeypatch.setattr(conflict, "Disagreement", making)
    edit = session.edit
    edit.edit("name", "mine")
    with zarrscope.open(str(tmp_path / "x.zarr"), "r+") as other:
        other.root.attrs["table"] = [{**row, "class": "theirs"} for row in other.root.attributes["table"]]
    edit.save()
    mailbox.run_until(lambda: edit.state.status is EditStatus.CONFLICT and not edit.busy, SECONDS)
    state = edit.state
    assert len(state.fitting) == len(ROWS) + 1
    assert not made
    rows = conflict_rows(state)
    assert (rows[0].label, rows[0].theirs) == ("/table/0/class", '"theirs"')
    assert len(made) == MOST_ROWS
    assert (state.fitting[-1].pointer, state.fitting[-1].choice) == ("/ome/multiscales/0/name", "mine")


def test_in_a_conflict_of_several_nodes_the_fields_of_the_others_come_first() -> None:
    def field(side: Side, pointer: str) -> Disagreement:
        return Disagreement(pointer, None, "1", "2", side)

    def sides(*pointers: str) -> FittingFields:
        return FittingFields(([*pointers[:1]], partial(field, "theirs")), ([*pointers[1:]], partial(field, "mine")))

    found = FittingFields.of_nodes({"/a": sides("/x", "/y"), "/b": sides("/x", "/z")})
    assert [(each.path, each.pointer, each.choice) for each in found] == [
        ("/a", "/x", "theirs"),
        ("/b", "/x", "theirs"),
        ("/a", "/y", "mine"),
        ("/b", "/z", "mine"),
    ]
    assert found == FittingFields.of_nodes({"/a": sides("/x", "/y"), "/b": sides("/x", "/z")})
    assert found != FittingFields.of_nodes({"/a": sides("/x", "/y"), "/b": sides("/x", "/q")})


def test_a_saved_document_is_not_parsed_again_for_its_node(
    session: Session, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Info, the tree and the problems read the node again after each save."""
    edit = session.edit
    edit.edit("name", "first")
    mailbox.run_until(lambda: edit.state.changes == 1 and not edit.busy, SECONDS)
    session.problems.check()
    mailbox.run_until(lambda: not session.problems.checking, SECONDS)
    lengths: list[int] = []
    real = parse.parse_text

    def parsing(text: str, notes: list[str]) -> Any:
        lengths.append(len(text))
        return real(text, notes)

    for module in (parse, sharing):
        monkeypatch.setattr(module, "parse_text", parsing)
    before = session.node
    edit.save()
    mailbox.run_until(lambda: edit.state.status is EditStatus.CLEAN and session.node is not before, SECONDS)
    mailbox.run_until(lambda: not session.owner.waits() and not edit.busy, SECONDS)
    assert as_group(session.node).attributes["ome"]["multiscales"][0]["name"] == "first"
    assert sum(length > 100_000 for length in lengths) == 0, lengths
