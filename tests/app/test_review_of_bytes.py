"""The review says how many bytes are written; editing a text keeps its line endings and all other characters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import EditStatus, Session
from zarrscope_app.presenters.form.line_ends import shown, with_own_ends

SECONDS = 30
NOTE = "first\r\nsecond\r\nthird"


@pytest.fixture
def place(tmp_path: Path) -> str:
    hierarchy = zarrscope.open(str(tmp_path / "x.zarr"), "w-")
    hierarchy.root.attrs.put({"note": NOTE, "n": 1})
    hierarchy.create_group("/a", {"n": 1})
    return str(tmp_path / "x.zarr")


def saved(session: Session, mailbox: Mailbox) -> None:
    session.edit.save_all(lambda path: None)
    mailbox.run_until(lambda: session.edit.state.status is EditStatus.CLEAN, SECONDS)


def test_the_review_says_how_many_bytes_are_written(session: Session, mailbox: Mailbox, place: str) -> None:
    session.edit.edit("/n", "1000")
    diff = session.edit.diff()
    assert (
        diff.unified.splitlines()[0]
        == f"# zarr.json: saving writes {diff.nbytes:,} bytes, 3 bytes more than are stored"
    )
    session.select("/a")
    mailbox.run_until(lambda: session.edit.state.path == "/a" and bool(session.edit.state.fields), SECONDS)
    session.edit.edit("/n", "2")
    every = session.edit.diff_of_all()
    assert every.unified.splitlines()[0] == f"# In all, saving writes {every.nbytes:,} bytes in 2 documents"
    assert every.nbytes == diff.nbytes + session.edit.diff().nbytes
    saved(session, mailbox)
    files = [Path(place) / "zarr.json", Path(place) / "a" / "zarr.json"]
    assert sum(file.stat().st_size for file in files) == every.nbytes


@pytest.mark.parametrize(
    ("before", "edited", "told"),
    [
        (NOTE, "first\nsecond!\nthird", "first\r\nsecond!\r\nthird"),
        (NOTE, "first\nsecond\nthird", NOTE),
        (NOTE, "first\nnew\nsecond\nthird", "first\r\nnew\r\nsecond\r\nthird"),
        (NOTE, "", ""),
        (NOTE, "third", "third"),
        ("a\nb\nc\r\nd", "a\nb\nx\nc\nd", "a\nb\nx\nc\r\nd"),
        ("a\rb\u2028c", "a\nbb\nc", "a\rbb\u2028c"),
        ("a\nb", "a\nb\nc", "a\nb\nc"),
        (NOTE, "a\r\nb", "a\r\nb"),
    ],
)
def test_line_ends_stay_where_nothing_was_edited(before: str, edited: str, told: str) -> None:
    assert with_own_ends(before, edited) == told
    assert with_own_ends(before, shown(before)) == before


def test_a_value_keeps_its_line_ends(session: Session, mailbox: Mailbox, place: str) -> None:
    session.edit.edit("/note", NOTE.replace("\r\n", "\n"))
    assert session.edit.state.changes == 0
    session.edit.edit("/note", "zeroth\n" + NOTE.replace("\r\n", "\n"))
    saved(session, mailbox)
    assert json.loads((Path(place) / "zarr.json").read_bytes())["attributes"]["note"] == "zeroth\r\n" + NOTE


@pytest.mark.needs("qt")
def test_a_long_text_comes_in_pieces_and_is_given_back_as_it_is(qtbot: Any) -> None:
    from qtpy.QtGui import QTextCursor

    from zarrscope_app.qt.long_text import PIECE, LongText, text_in

    editor = LongText()
    qtbot.addWidget(editor)
    text = "\n".join(f"line {i}\u00a0µ" for i in range(PIECE // 4))
    editor.show_text(text)
    assert editor.filling
    assert editor.isReadOnly()
    assert editor.content() is text, "what is still to come is known, and not put together for each piece"
    qtbot.waitUntil(lambda: not editor.filling, timeout=SECONDS * 1000)
    assert not editor.isReadOnly()
    assert text_in(editor) == editor.content() == text
    cursor = QTextCursor(editor.document())
    for at, removed, put in (
        (0, 0, "new\n"),
        (100, 7, ""),
        (50, 3, "a\u00a0b"),
        (len(text) - 9, 5, "\n\n"),
        (7, 0, "𝄞"),
    ):
        cursor.setPosition(at)
        cursor.setPosition(at + removed, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(put)
        assert editor.content() == text_in(editor)
    editor.undo()
    assert editor.content() == text_in(editor)
    for wanted in (text, text[:50] + "x" + text[60:], "", "short", text[::-1]):
        editor.show_text(wanted)
        qtbot.waitUntil(lambda: not editor.filling, timeout=SECONDS * 1000)
        assert text_in(editor) == editor.content() == wanted
        document = editor.document()
        assert document is not None
        assert not document.isModified()
