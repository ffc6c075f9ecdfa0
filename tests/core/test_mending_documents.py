"""A document that is not a JSON object can be corrected in every dialect: its text is read as stored, and the corrected
text is saved.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from contracts.odd_members import WRITABLE, documents_that_are_no_object, family, keys
from zarrscope.check.hierarchy import check
from zarrscope.dialects import Dialect
from zarrscope.errors.visible import visible_lines
from zarrscope.jsondoc.unparsed import UnparsedDocument, document_or_text
from zarrscope.nodes.mending import consequence, whole_document
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.cli import run
from zarrscope_app.presenters import EditStatus, Session


@pytest.mark.parametrize("dialect", WRITABLE, ids=lambda dialect: dialect.name)
def test_every_document_is_mended(dialect: Dialect) -> None:
    whole = keys(family(dialect))
    tried = 0
    for path, kind, key, odd, store in documents_that_are_no_object(dialect):
        tried += 1
        before = keys(store)
        h = zarrscope.open(store, "r+")
        broken = whole_document(h, path)
        assert (broken.key, broken.bytes) == (key, odd)
        if not isinstance(broken, UnparsedDocument):
            assert json.loads(odd) == broken.value
        else:
            with pytest.raises(zarrscope.BadMetadata):
                h.save(path, broken)
        assert keys(store) == before
        made = document_or_text(whole[key].decode(), key, broken.version)
        assert consequence(h, path, made) == ""
        h.save(path, made)
        assert keys(store) == whole, f"{key} = {odd!r}"
        again = zarrscope.open(store)
        assert (again[path].kind, again[path].problem) == (kind, None)
        assert [each for each in check(again) if each.severity == "error"] == []
        with pytest.raises(zarrscope.Conflict):  # it was read before
            h.save(path, document_or_text(f"{made.text} ", key, broken.version))
    assert tried >= 27


@pytest.mark.parametrize("dialect", [each for each in WRITABLE if each.apart], ids=lambda dialect: dialect.name)
def test_the_document_that_states_the_rules_is_mended_alone(dialect: Dialect) -> None:
    store = family(dialect)
    sound = store.get("zarr.json")
    if sound is None:
        return
    store.set("zarr.json", sound[:-3])
    h = zarrscope.open(store, "r+")
    broken = whole_document(h, "/", "zarr.json")
    with pytest.raises(zarrscope.ReadOnly):
        h.create_group("/new")
    assert consequence(h, "/", document_or_text("{}", "zarr.json", broken.version))
    assert consequence(h, "/", document_or_text(sound.decode(), "zarr.json")) == ""
    h.save("/", document_or_text(sound.decode(), "zarr.json", broken.version))
    assert zarrscope.open(store, "r+").writable
    assert store.get("zarr.json") == sound


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": "\xb5m"}',
        b'{"a": "\\\xb5"}',
        b'{"a": "\\\\\xb5"}',
        b"\x1f\x8b\x08\xff",
        b"\xff\xfe{\x00}\x00",
        b"\0\1\2",
    ],
)
def test_bytes_that_are_no_text_are_shown_and_never_taken_for_correct(data: bytes) -> None:
    document = document_or_text(data, "zarr.json")
    assert isinstance(document, UnparsedDocument)
    assert isinstance(document_or_text(document.text), UnparsedDocument)


def test_no_member_of_it_is_read_or_set() -> None:
    document = document_or_text(b'{"a": 1,,}', "zarr.json")
    assert not document.has("/a")
    assert document.get("/a", None) is None
    for act in (lambda: document.text_at("/a"), lambda: document.set("/a", 1), lambda: document.remove("/a")):
        with pytest.raises(zarrscope.ZarrscopeError):
            act()
    assert document.set_text("", '{"a": 2}').value == {"a": 2}


# ---------------------------------------------------------------------- the command line
@pytest.fixture
def place(tmp_path: Path) -> Path:
    root = tmp_path / "x"
    for each, value in keys(family(next(each for each in WRITABLE if each.name == "v2"))).items():
        (root / each).parent.mkdir(parents=True, exist_ok=True)
        (root / each).write_bytes(value)
    return root


def test_the_command_line_shows_and_mends(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = place / "g/a/.zarray"
    sound = document.read_bytes()
    document.write_bytes(sound.replace(b":", b": \x1b]0;", 1))
    before = document.read_bytes()
    assert run(["attrs", "get", str(place), "g/a", "--raw", "--document", "g/a/.zarray"]) == 0
    told = capsys.readouterr()
    assert visible_lines(told.out) == told.out
    assert "is not JSON. Line 2, column" in told.err or "is not JSON. Line 1, column" in told.err
    text = tmp_path / "text.json"
    edit = ["attrs", "edit", str(place), "g/a", "--document", "g/a/.zarray", "--from", str(text)]
    text.write_text("{,}")
    assert run(edit) == 1
    assert "Line 1, column 2" in capsys.readouterr().err
    text.write_bytes(sound)
    assert run([*edit, "--dry-run"]) == 0
    assert document.read_bytes() == before
    text.write_text('{"zarr_format": 2}')
    assert run([*edit, "--dry-run"]) == 0
    assert "Warning: g/a/.zarray would still be faulty" in capsys.readouterr().err
    text.write_bytes(sound)
    assert run(edit) == 0
    assert document.read_bytes() == sound
    assert run(["check", str(place)]) == 0
    assert run([*edit[:4], "--document", "nowhere", "--from", str(text)]) == 3
    assert "Its documents: g/a/.z" in capsys.readouterr().err


def test_the_command_line_edits_attributes_as_text(place: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.json"
    text.write_text('{"x": 1, "y": 2}')
    assert run(["attrs", "edit", str(place), "g", "--from", str(text)]) == 0
    assert json.loads((place / "g/.zattrs").read_bytes()) == {"x": 1, "y": 2}
    (place / "g/.zattrs").write_bytes(b"{")
    assert run(["attrs", "edit", str(place), "g", "--from", str(text)]) == 0
    assert (place / "g/.zattrs").read_bytes() == text.read_bytes()


def test_without_a_terminal_the_command_line_says_how(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "g/.zattrs").write_bytes(b"{")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert run(["attrs", "edit", str(place), "g"]) == 2
    assert "--from" in capsys.readouterr().err


# ---------------------------------------------------------------------- the form
def form(place: Any, path: str) -> tuple[Session, Mailbox]:
    mailbox = Mailbox()
    session = Session(str(place), mailbox, writable=True)
    session.select(path)
    session.set_tab("attributes")
    mailbox.run_until(lambda: session.node is not None and session.edit.state.status is not EditStatus.EMPTY)
    return session, mailbox


def test_another_document_of_the_node_is_shown_beside_its_attributes(place: Path) -> None:
    document = place / "g/a/.zarray"
    sound = document.read_bytes()
    document.write_bytes(sound[:-4])
    session, mailbox = form(place, "/g/a")
    edit = session.edit
    assert edit.state.ways == ("fields", "json", "document")
    told = "The fault of this node is in g/a/.zarray, not in its attributes."
    assert edit.state.sentence == told
    assert edit.state.shows_document == "Show .zarray"
    assert edit.field("/x") is not None
    edit.show_way("document")
    mailbox.run_until(lambda: edit.state.way == "document" and edit.state.text != "")
    assert not edit.state.shows_document
    assert (edit.state.key, edit.state.text) == ("g/a/.zarray", sound[:-4].decode())
    edit.edit_text(sound[:-3].decode())
    edit.show_way("fields")
    assert "first" in edit.state.sentence or edit.state.way == "document"
    edit.revert()
    edit.show_way("fields")
    mailbox.run_until(lambda: edit.field("/x") is not None)
    edit.show_way("document")
    mailbox.run_until(lambda: edit.state.way == "document")
    edit.edit_text(sound.decode())
    edit.save()
    mailbox.run_until(lambda: document.read_bytes() == sound)
    mailbox.run_until(lambda: session.node is not None and session.node.problem is None)
    edit.show_way("json")
    mailbox.run_until(lambda: edit.state.ways == ("fields", "json"))
    assert told not in edit.state.sentence, "the fault is gone"
    session.close()


@pytest.mark.parametrize("theirs", [b'{"zarr_format": 2}', b"{"])
def test_somebody_else_mends_it_meanwhile(place: Path, theirs: bytes) -> None:
    document = place / "g/.zattrs"
    document.write_bytes(b'{"x": 1,}')
    session, mailbox = form(place, "/g")
    edit = session.edit
    edit.edit_text('{"x": 2}')
    document.write_bytes(theirs)
    edit.save()
    mailbox.run_until(lambda: edit.state.status is EditStatus.CONFLICT)
    assert document.read_bytes() == theirs
    edit.resolve("mine")
    assert edit.state.text == '{"x": 2}'
    edit.save()
    mailbox.run_until(lambda: document.read_bytes() == b'{"x": 2}')
    session.close()


def test_line_ends_stay(place: Path) -> None:
    document = place / "g/.zattrs"
    document.write_bytes(b'{\r\n "x": 1,,\r\n "y": 2\r\n}\r\n')
    session, mailbox = form(place, "/g")
    session.edit.edit("line/1", ' "x": 1,')
    session.edit.save()
    mailbox.run_until(lambda: document.read_bytes() == b'{\r\n "x": 1,\r\n "y": 2\r\n}\r\n')
    session.close()
