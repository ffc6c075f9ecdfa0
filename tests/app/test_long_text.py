"""The editor of the JSON text does little for a text of megabytes that is on show."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from narrowing import not_none
from zarrscope_app.presenters.form import json_text
from zarrscope_app.presenters.form.view_models import EditState, EditStatus, TextShape

MILLISECONDS = 60_000
LINES = 20_000
TEXT = "{\n" + "".join(f'  "n{i}": {i},\n' for i in range(LINES)) + '  "last": 0\n}'


@pytest.mark.parametrize(
    ("text", "lines", "longest"),
    [("", 1, 0), ("abc", 1, 3), ("a\nbcd\ne", 3, 3), ("abc\n", 2, 3), ("\n\n", 3, 0), ("a\nbc\ndefg", 3, 4)],
)
def test_the_shape_of_a_text_is_its_lines_and_the_longest_of_them(text: str, lines: int, longest: int) -> None:
    assert json_text.shape_of(text) == TextShape(lines, longest)


def test_the_shape_of_a_long_text_is_counted_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = TextShape(TEXT.count("\n") + 1, max(map(len, TEXT.split("\n"))))
    monkeypatch.setattr(json_text, "JSON_PIECE", 1000)
    assert json_text.shape_of(TEXT) == expected


@pytest.mark.needs("qt")
def test_only_the_pieces_with_signs_of_two_units_are_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Encoding 4 MB for one emoji took 56 ms of computing."""
    from zarrscope_app.qt import long_text

    monkeypatch.setattr(long_text, "_ENCODED", 100)
    arrays = Mock(wraps=np.frombuffer)
    monkeypatch.setattr(np, "frombuffer", arrays)
    text = "a" * 99 + "\U0001d7d8\U0001d7d9" + "b\u00e9" * 500 + "\ud83d" + "c" * 300
    units = long_text._units(text)
    assert arrays.call_count == 2, "the pieces of the two emoji"
    assert len(units) == len(text) + 2
    assert units == "".join(long_text._encoded(text))
    assert long_text._joined(units) == text


@pytest.mark.needs("qt", "display")
def test_a_state_with_the_text_on_show_measures_and_compares_nothing(
    qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zarrscope_app.qt import json_form, long_text

    form = json_form.JsonForm()
    qtbot.addWidget(form)
    shape = json_text.shape_of(TEXT)
    form.show_state(EditState(text=TEXT, text_shape=shape))
    qtbot.waitUntil(lambda: not form.text.filling, timeout=MILLISECONDS)
    measured = Mock(wraps=long_text.has_longer_line)
    counted = Mock(wraps=json_text.shape_of)
    monkeypatch.setattr(json_form, "has_longer_line", measured)
    monkeypatch.setattr(json_form, "shape_of", counted)
    form.show_state(EditState(EditStatus.CLEAN, text=TEXT, text_shape=shape))
    form.show_state(EditState(EditStatus.CLEAN, text=TEXT))
    assert sum(len(call.args[0]) for call in measured.call_args_list) == 0
    assert not counted.called
    assert form.text.content() is TEXT


@pytest.mark.needs("qt", "display")
def test_typing_copies_a_long_text_once_for_all_keys(qtbot: Any) -> None:
    """Each copy of 5 MB takes milliseconds."""
    from zarrscope_app.qt.long_text import LongText

    editor = LongText()
    qtbot.addWidget(editor)
    editor.show_text(TEXT)
    qtbot.waitUntil(lambda: not editor.filling, timeout=MILLISECONDS)
    cursor = editor.textCursor()
    at = TEXT.index('"n70"') + 5
    cursor.setPosition(at)
    for key in "word":
        cursor.insertText(key)
    cursor.deletePreviousChar()
    assert len(editor._typed) == 1, "one change of the text"
    assert editor.number_at(at) == TEXT.count("\n", 0, at) + 1, "and painting the line numbers does not make it"
    assert len(editor._typed) == 1
    cursor.setPosition(2)
    cursor.insertText("more\n")
    typed = f"{TEXT[:at]}wor{TEXT[at:]}"
    assert editor.content() == f"{typed[:2]}more\n{typed[2:]}"
    assert not editor._typed
    not_none(editor.document()).undo()
    assert editor.content() == typed


@pytest.mark.needs("qt", "display")
@pytest.mark.parametrize("start", ["", "{\n\n"])
def test_of_a_very_long_line_only_what_fills_the_view_is_laid_out_at_first(qtbot: Any, start: str) -> None:
    from zarrscope_app.qt.long_text import LINE, LongText

    editor = LongText()
    qtbot.addWidget(editor)
    text = f"{start}[" + "123, " * (4 * LINE) + "4]\n\n"
    editor.show_text(text, json_text.shape_of(text))
    assert editor.filling
    assert len(editor.toPlainText()) <= LINE
    lines = editor.line_count()
    qtbot.waitUntil(lambda: not editor.filling, timeout=MILLISECONDS)
    assert editor.blockCount() == lines, "the margin of the numbers has had its width from the beginning"
    assert editor.content() == text


@pytest.mark.needs("qt", "display")
def test_keys_in_a_line_with_soft_breaks_copy_nothing(qtbot: Any) -> None:
    from qtpy.QtCore import Qt

    from zarrscope_app.qt.long_text import LINE, LongText

    editor = LongText()
    qtbot.addWidget(editor)
    text = "[" + "123, " * (4 * LINE) + "4]\n\n"
    editor.show_text(text)
    qtbot.waitUntil(lambda: not editor.filling, timeout=MILLISECONDS)
    editor.show()
    document = not_none(editor.document())
    last = document.findBlockByNumber(document.blockCount() - 3)
    cursor = editor.textCursor()
    cursor.setPosition(last.position() + 7)
    editor.setTextCursor(cursor)
    for _ in range(3):
        qtbot.keyClick(editor, Qt.Key.Key_7)
    first = editor.firstVisibleBlock()
    assert editor.number_at(last.position()) == editor.number_at(first.position()) == 1
    assert [editor.number_at(document.findBlockByNumber(document.blockCount() - n).position()) for n in (2, 1)] == [
        2,
        3,
    ]
    assert editor.number_at(document.findBlockByNumber(1).position()) == 1
    assert editor.continues(last)
    assert not editor.continues(document.firstBlock())
    qtbot.keyClick(editor, Qt.Key.Key_7)
    assert len(editor._typed) == 1, "no key made the text anew"
    assert sum(1 for sign in editor.content() if sign == "7") == 4
    assert editor.content().replace("7", "") == text
