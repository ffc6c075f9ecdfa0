"""Names of dimensions of a Zarr v3 array, a member of zarr.json beside the attributes, as fields of the form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from json_tokens import masked
from narrowing import as_array
from one_form import OneForm
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.cli import run
from zarrscope_app.presenters import EditStatus, Session

SECONDS = 30
TEXT = """{
  "zarr_format": 3, "node_type": "array", "shape": [2, 3, 4], "data_type": "uint8",
  "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3, 4]}},
  "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}],
  "dimension_names": ["t",   null, "x"],
  "attributes": {"gain": 1.50, "note":"kept  as it is"}
}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / "zarr.json").write_text(TEXT)
    return tmp_path / "a.zarr"


@pytest.fixture
def form(place: Path, mailbox: Mailbox) -> Iterator[OneForm]:
    made = OneForm(place, mailbox)
    assert made.show("/", "image")
    yield made
    made.close()


def text_of(place: Path) -> str:
    return (place / "zarr.json").read_text()


def names_of(form: OneForm) -> list[str]:
    """The names that the form shows."""
    (section,) = [each for each in form.edit.state.sections if each.id == "dimension"]
    return [row.fields[0].text for row in section.rows]


def test_names_are_shown_and_edited_and_all_other_bytes_stay(form: OneForm, place: Path) -> None:
    edit = form.edit
    assert names_of(form) == ["t", "", "x"]
    edit.edit("dimension/1", "y")
    edit.edit("dimension/0", "")
    assert names_of(form) == ["", "y", "x"]
    assert (edit.state.status, edit.state.changes, edit.state.can_save) == (EditStatus.DIRTY, 2, True)
    assert '"y"' in edit.diff().unified
    assert text_of(place) == TEXT
    assert form.save()
    assert json.loads(text_of(place))["dimension_names"] == [None, "y", "x"]
    edited = {"/dimension_names/0", "/dimension_names/1"}
    assert masked(text_of(place), edited.__contains__) == masked(TEXT, edited.__contains__)
    assert as_array(zarrscope.open(place).root).metadata.dimension_names == (None, "y", "x")
    edit.undo()
    edit.undo()
    assert form.save()
    assert text_of(place) == TEXT


def test_names_and_attributes_are_one_document_with_one_save(form: OneForm, place: Path) -> None:
    form.edit.edit("dimension/1", "y")
    form.edit.edit("/gain", "2.50")
    assert form.edit.state.changes == 2
    assert form.save()
    assert text_of(place) == TEXT.replace("null", '"y"').replace("1.50", "2.50")


def test_an_array_without_names_gets_them(place: Path, mailbox: Mailbox) -> None:
    line = '  "dimension_names": ["t",   null, "x"],\n'
    (place / "zarr.json").write_text(TEXT.replace(line, ""))
    form = OneForm(place, mailbox)
    try:
        assert not form.show("/", "fields") or form.edit.state.ways[0] == "image"
        form.edit.show_way("image")
        assert names_of(form) == ["", "", ""]
        form.edit.edit("dimension/2", "")
        assert form.edit.state.changes == 0
        form.edit.edit("dimension/2", "x")
        assert names_of(form) == ["", "", "x"]
        assert form.edit.state.changes == 1
        assert form.save()
        stored = json.loads(text_of(place))
        assert stored.pop("dimension_names") == [None, None, "x"]
        assert stored == json.loads(TEXT.replace(line, ""))
        form.edit.undo()
        assert form.save()
        assert text_of(place) == TEXT.replace(line, "")
    finally:
        form.close()


def test_an_array_without_names_opens_with_its_attributes(place: Path, mailbox: Mailbox) -> None:
    (place / "zarr.json").write_text(TEXT.replace('  "dimension_names": ["t",   null, "x"],\n', ""))
    session = Session(str(place), mailbox)
    try:
        session.set_tab("attributes")
        mailbox.run_until(lambda: bool(session.edit.state.fields), SECONDS)
        assert (session.edit.state.way, session.edit.state.ways) == ("fields", ("image", "fields", "json"))
    finally:
        session.close()


@pytest.mark.parametrize(("theirs", "asked"), [('"z"', True), ("null", False)])
def test_names_that_somebody_else_changed_are_in_conflict(
    form: OneForm, place: Path, mailbox: Mailbox, theirs: str, asked: bool
) -> None:
    """A name that both changed is asked about; one that only the other program changed is merged."""
    (place / "zarr.json").write_text(TEXT.replace("null", theirs).replace('"t"', "null"))
    form.edit.edit("dimension/1", "y")
    saved = form.save()
    if asked:
        assert not saved
        (disputed,) = form.edit.state.conflicts
        told = (disputed.name, disputed.base, disputed.mine, disputed.theirs)
        assert told == ("name of dimension 1", "null", '"y"', '"z"')
        form.edit.choose(disputed.pointer, "mine")
        form.edit.resolve("chosen")
    elif not saved:
        form.edit.resolve("mine")
    mailbox.run_until(lambda: form.edit.state.status in (EditStatus.DIRTY, EditStatus.CLEAN), SECONDS)
    form.save()
    assert json.loads(text_of(place))["dimension_names"] == [None, "y", "x"]


def test_several_arrays_are_named_at_once(tmp_path: Path, mailbox: Mailbox) -> None:
    with zarrscope.open(str(tmp_path / "x.zarr"), "w-") as h:
        for name, names in (("a", ("y", "x")), ("b", ("z", "x"))):
            h.create_array(f"/{name}", shape=(2, 2), dtype="u1", dimension_names=names)
    session = Session(str(tmp_path / "x.zarr"), mailbox, writable=True)
    try:
        mailbox.run_until(lambda: session.node is not None, SECONDS)
        session.edit.show_several(["/a", "/b"])
        mailbox.run_until(lambda: bool(session.edit.state.sections), SECONDS)
        first, second = [row.fields[0] for row in session.edit.state.sections[0].rows]
        assert (first.differs, second.text) == ("2 values", "x")
        session.edit.edit(first.pointer, "q")
        mailbox.run_until(lambda: session.edit.state.can_save, SECONDS)
        session.edit.save()
        mailbox.run_until(lambda: session.edit.state.status is EditStatus.CLEAN, SECONDS)
    finally:
        session.close()
    for name in "ab":
        assert json.loads((tmp_path / "x.zarr" / name / "zarr.json").read_text())["dimension_names"] == ["q", "x"]


@pytest.mark.parametrize("dialect", ["v2", "n5", "draft-2022-05", "draft-2020", "draft-2019-06"])
def test_names_are_not_offered_where_no_such_member_exists(dialect: str, tmp_path: Path, mailbox: Mailbox) -> None:
    with zarrscope.open(str(tmp_path / "x.zarr"), "w-", dialect=dialect) as h:
        h.create_array("/a", shape=(2, 2), dtype="u1", attributes={"n": 1})
    form = OneForm(tmp_path / "x.zarr", mailbox)
    try:
        assert form.show("/a", "fields")
        assert form.edit.state.ways == ("fields", "json")
    finally:
        form.close()


def test_the_command_line_shows_names_and_still_refuses_arrays_without(place: Path, capsys: Any) -> None:
    assert run(["image", str(place)]) == 0
    assert "Dimension names" in capsys.readouterr().out
    (place / "zarr.json").write_text(TEXT.replace('  "dimension_names": ["t",   null, "x"],\n', ""))
    assert run(["image", str(place)]) != 0
    assert "is no image" in capsys.readouterr().err


def test_unsaved_names_are_kept_for_the_next_start(form: OneForm, place: Path, mailbox: Mailbox) -> None:
    form.edit.edit("dimension/1", "y")
    (draft,) = form.edit.unsaved_drafts().values()
    changes = [(each.pointer, each.after) for each in draft.find_changes()]
    form.edit.reload()
    mailbox.run_until(lambda: form.edit.state.status is EditStatus.CLEAN, SECONDS)
    assert names_of(form) == ["t", "", "x"]
    again = OneForm(place, mailbox)
    try:
        assert again.show("/", "image")
        again.edit._drafts.by_path["/"].make_again(changes)  # as rescue.py does
        assert again.edit.dirty_paths == {"/"}
        assert again.save()
    finally:
        again.close()
    assert json.loads(text_of(place))["dimension_names"] == ["t", "y", "x"]
