"""The form in the window: its keys and mouse gestures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import zarrscope
from narrowing import not_none
from zarrscope_app.presenters import MemorySettings

if TYPE_CHECKING:
    from zarrscope_app.qt.window import Window

pytestmark = pytest.mark.needs("qt")

MILLISECONDS = 30_000
SPACE = [{"name": n, "type": "space", "unit": "micrometer"} for n in "yx"]
SCALE = [{"type": "scale", "scale": [0.5, 0.5]}]
DATASETS = [{"path": "0", "coordinateTransformations": SCALE}]
IMAGE = {"version": "0.5", "multiscales": [{"axes": SPACE, "datasets": DATASETS}]}


@pytest.fixture
def place(tmp_path: Path) -> str:
    h = zarrscope.open(str(tmp_path / "x.zarr"), "w-")
    h.root.attrs.put({"ome": IMAGE, "mine": {"note": "as it was", "list": list(range(200))}})
    h.create_array("/0", shape=(16, 16), dtype="uint8", chunks=(16, 16))
    return str(tmp_path / "x.zarr")


@pytest.fixture
def shown(qtbot: Any, place: str) -> Callable[[str], Window]:
    """Returns shown(way), which shows a window with the attributes, open for writing."""
    from zarrscope_app.qt.window import Window

    def shown(way: Any) -> Window:
        window = Window(MemorySettings())
        qtbot.addWidget(window, before_close_func=lambda _: window.workspace.close_all())
        window.show()
        window.activateWindow()
        qtbot.waitActive(window, timeout=MILLISECONDS)
        window.open(place, True)
        session = window.workspace.current
        assert session is not None
        qtbot.waitUntil(lambda: bool(session.edit.state.sections), timeout=MILLISECONDS)
        session.set_tab("attributes")
        session.edit.show_way(way)
        qtbot.waitUntil(lambda: session.edit.state.way == way and window.form.isVisible(), timeout=MILLISECONDS)
        return window

    return shown


def attributes(place: str) -> Any:
    return json.loads((Path(place) / "zarr.json").read_text())["attributes"]


def size(place: str) -> Any:
    return attributes(place)["ome"]["multiscales"][0]["datasets"][0]["coordinateTransformations"][0]["scale"][0]


# ---------------------------------------------------------------------- typing
def test_a_text_that_is_being_typed_outlives_changes_of_its_row(
    qtbot: Any, shown: Callable[[str], Window], place: str
) -> None:
    """Findings arrive from the background while the user types, and change the row that contains the text."""
    from qtpy.QtCore import Qt
    from qtpy.QtWidgets import QLineEdit

    window = shown("fields")
    form, model = window.form, window.form.model
    qtbot.waitUntil(lambda: model.place_of("/mine/note") is not None, timeout=MILLISECONDS)
    place_of_note = model.place_of("/mine/note")
    assert place_of_note is not None
    index = model.at(place_of_note, 1)
    form.view.setCurrentIndex(index)
    form.view.edit(index)
    editor = not_none(form.view.viewport()).findChild(QLineEdit)
    assert editor is not None
    editor.selectAll()
    qtbot.keyClicks(editor, '"mended"')
    model.dataChanged.emit(index.siblingAtColumn(0), index.siblingAtColumn(2))
    assert editor.text() == '"mended"'
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "mended" in index.data(), timeout=MILLISECONDS)


# ---------------------------------------------------------------------- undo in a field
@pytest.mark.parametrize("id", ["size/0", "unit/0"])
def test_undo_in_a_field_is_the_documents_once_the_text_was_taken_over(
    qtbot: Any, shown: Callable[[str], Window], place: str, id: str
) -> None:
    from qtpy.QtCore import Qt
    from qtpy.QtWidgets import QComboBox

    window = shown("image")
    session = window.workspace.current
    assert session is not None
    edit, control = session.edit, Qt.KeyboardModifier.ControlModifier
    found: Any = window.form.sections.editors[id]
    found.setFocus()
    line = found.lineEdit() if isinstance(found, QComboBox) else found
    qtbot.waitUntil(found.hasFocus, timeout=MILLISECONDS)
    before, typed = not_none(line).text(), {"size/0": "2", "unit/0": "meter"}[id]
    not_none(line).selectAll()
    qtbot.keyClicks(found, typed)
    qtbot.keyClick(found, Qt.Key.Key_Z, control)
    assert not_none(line).text() != typed, "while it is typed, its own undo acts"
    assert edit.state.changes == 0
    not_none(line).selectAll()
    qtbot.keyClicks(found, typed)
    qtbot.keyClick(found, Qt.Key.Key_S, control)
    qtbot.waitUntil(lambda: edit.state.changes == 0 and edit.state.can_undo, timeout=MILLISECONDS)
    undo, redo = (window.menus.actions[name] for name in ("undo", "redo"))
    qtbot.waitUntil(lambda: not edit.saving and undo.isEnabled(), timeout=MILLISECONDS)
    assert found.hasFocus()
    qtbot.keyClick(found, Qt.Key.Key_Z, control)
    qtbot.waitUntil(lambda: not_none(line).text() == before and edit.state.changes > 0, timeout=MILLISECONDS)
    qtbot.waitUntil(redo.isEnabled, timeout=MILLISECONDS)
    qtbot.keyClick(found, Qt.Key.Key_Z, control | Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitUntil(lambda: not_none(line).text() == typed and edit.state.changes == 0, timeout=MILLISECONDS)
    qtbot.waitUntil(undo.isEnabled, timeout=MILLISECONDS)
    qtbot.keyClick(found, Qt.Key.Key_Z, control)
    qtbot.waitUntil(lambda: not_none(line).text() == before, timeout=MILLISECONDS)
    qtbot.waitUntil(redo.isEnabled, timeout=MILLISECONDS)
    qtbot.keyClick(found, Qt.Key.Key_Y, control)
    qtbot.waitUntil(lambda: not_none(line).text() == typed, timeout=MILLISECONDS)


def test_undo_in_the_text_is_the_documents_once_it_was_taken_over(
    qtbot: Any, shown: Callable[[str], Window], place: str
) -> None:
    from qtpy.QtCore import Qt

    window = shown("json")
    session = window.workspace.current
    assert session is not None
    text: Any = window.form.json.text
    qtbot.waitUntil(lambda: "as it was" in text.toPlainText(), timeout=MILLISECONDS)
    before = text.toPlainText()
    text.setFocus()
    qtbot.waitUntil(text.hasFocus, timeout=MILLISECONDS)
    cursor = text.textCursor()
    cursor.setPosition(before.index("as it was"))
    text.setTextCursor(cursor)
    qtbot.keyClicks(text, "not ")
    qtbot.keyClick(text, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: attributes(place)["mine"]["note"] == "not as it was", timeout=MILLISECONDS)
    qtbot.waitUntil(lambda: not session.edit.saving and window.menus.actions["undo"].isEnabled(), timeout=MILLISECONDS)
    qtbot.keyClick(text, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: text.toPlainText() == before, timeout=MILLISECONDS)
    assert session.edit.state.changes == 1


def test_the_review_gives_the_changes_as_commands_that_show_the_same(
    qtbot: Any, shown: Callable[[str], Window], place: str
) -> None:
    import shlex

    from qtpy.QtWidgets import QApplication

    from zarrscope_app.cli import run

    window = shown("fields")
    session = window.workspace.current
    assert session is not None
    session.edit.edit("/mine/note", "it's -1")
    session.edit.add("", "n", "-1")
    session.edit.remove("/mine/list")
    window.run("review")
    qtbot.waitUntil(window.menus.actions["copy-commands"].isEnabled, timeout=MILLISECONDS)
    window.form.diff.asked.emit("copy-commands")
    clipboard = QApplication.clipboard()
    assert clipboard is not None
    lines = clipboard.text().splitlines()
    assert len(lines) == 3
    before = attributes(place)
    for line in lines:
        assert run(shlex.split(line)[1:]) == 0
    assert attributes(place) == before, "a dry run writes nothing"
    for line in lines:
        assert run(shlex.split(line.replace("--dry-run", ""))[1:]) == 0
    assert attributes(place)["mine"] == {"note": "it's -1"}
    assert attributes(place)["n"] == -1


def test_the_review_has_room_for_its_lines_and_esc_closes_it(qtbot: Any, shown: Callable[[str], Window]) -> None:
    """In a window of 900 x 600 the removed value was visible, and the one in its place was not."""
    from qtpy.QtCore import Qt
    from qtpy.QtGui import QTextCursor

    window = shown("image")
    window.resize(900, 600)
    session = window.workspace.current
    assert session is not None
    session.edit.edit("/ome/multiscales/0/datasets/0/coordinateTransformations/0/scale/0", "0.25")
    qtbot.waitUntil(lambda: session.edit.state.changes == 1, timeout=MILLISECONDS)
    window.run("review")
    text = window.form.diff.text
    qtbot.waitUntil(text.hasFocus, timeout=MILLISECONDS)
    added = text.document()
    assert added is not None
    found = added.find("0.25")
    assert not found.isNull()

    def seen(cursor: QTextCursor) -> bool:
        return bool(not_none(text.viewport()).rect().contains(text.cursorRect(cursor)))

    qtbot.waitUntil(lambda: seen(found), timeout=MILLISECONDS)
    qtbot.keyClick(text, Qt.Key.Key_Escape)
    assert window.form.diff.isHidden()
    assert window.form.has_keyboard


def press_find(qtbot: Any, window: Window, text: str) -> None:
    """Presses Ctrl+F in the form, and types a text to search for."""
    from qtpy.QtCore import Qt
    from qtpy.QtWidgets import QApplication

    window.form.focus_form()
    qtbot.waitUntil(lambda: window.form.has_keyboard, timeout=MILLISECONDS)
    focused = QApplication.focusWidget()
    qtbot.keyClick(focused, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    line = window.form.find_bar.line
    qtbot.waitUntil(line.hasFocus, timeout=MILLISECONDS)
    qtbot.keyClicks(line, text)


def test_ctrl_f_in_the_image_view_finds_its_fields_and_keeps_the_view(qtbot: Any, shown: Callable[[str], Any]) -> None:
    from qtpy.QtCore import Qt

    from zarrscope_app.qt.found_frame import FoundFrame

    window = shown("image")
    session, form = window.workspace.current, window.form
    press_find(qtbot, window, "space")
    told = form.find_bar.count
    qtbot.waitUntil(lambda: told.text() == "1 of 2", timeout=MILLISECONDS)
    fields = [f for section in session.edit.state.sections for row in section.rows for f in row.fields]
    types = [f.pointer for f in fields if f.text == "space"]
    assert session.edit.search.found.field == types[0]
    qtbot.keyClick(form.find_bar.line, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: told.text() == "2 of 2", timeout=MILLISECONDS)
    assert session.edit.state.way == "image"
    assert form.sections.isVisible()
    assert form.find_bar.line.hasFocus(), "a further key goes to the search"

    def framed() -> list[Any]:
        return [frame.parentWidget() for frame in form.sections.findChildren(FoundFrame) if frame.isVisible()]

    editor = form.sections.editors[types[1]]
    assert framed() == [editor]
    qtbot.keyClick(form.find_bar.line, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: editor.hasFocus() or editor.lineEdit().hasFocus(), timeout=MILLISECONDS)
    assert framed() == []


def test_a_text_that_only_further_members_have_is_announced(qtbot: Any, shown: Callable[[str], Any]) -> None:
    window = shown("image")
    session, form = window.workspace.current, window.form
    press_find(qtbot, window, "as it was")
    qtbot.waitUntil(lambda: form.find_bar.count.text() == "not here; 1 in All fields", timeout=MILLISECONDS)
    assert session.edit.state.way == "image"
    session.edit.show_way("fields")
    form.find_bar.step(1)
    qtbot.waitUntil(lambda: session.edit.search.found.pointer == "/mine/note", timeout=MILLISECONDS)
    form.find_bar.line.clear()
    form.find_bar.line.setText("no such thing")
    session.edit.show_way("image")
    session.edit.search.look_for("no such thing")
    qtbot.waitUntil(lambda: form.find_bar.count.text() == "nothing found", timeout=MILLISECONDS)


def test_ctrl_f_in_the_json_view_finds_in_the_text(qtbot: Any, shown: Callable[[str], Any]) -> None:
    from qtpy.QtCore import Qt

    window = shown("json")
    session, form = window.workspace.current, window.form
    press_find(qtbot, window, "MICROMETER")
    told, text = form.find_bar.count, form.json.text
    qtbot.waitUntil(lambda: told.text() == "1 of 2", timeout=MILLISECONDS)
    qtbot.waitUntil(lambda: text.textCursor().selectedText() == "micrometer", timeout=MILLISECONDS)
    first = text.textCursor().position()
    qtbot.keyClick(form.find_bar.line, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: told.text() == "2 of 2", timeout=MILLISECONDS)
    assert text.textCursor().selectedText() == "micrometer"
    assert text.textCursor().position() > first
    assert session.edit.state.way == "json"
    assert form.json.isVisible()
    qtbot.keyClick(form.find_bar.line, Qt.Key.Key_Escape)
    qtbot.waitUntil(text.hasFocus, timeout=MILLISECONDS)
    assert text.textCursor().selectedText() == "micrometer"


def test_a_match_beyond_the_first_plane_of_unicode_or_in_a_piece_that_is_still_missing_is_selected(qtbot: Any) -> None:
    """Qt counts UTF-16 units, and a long text is inserted in pieces."""
    from zarrscope_app.qt.long_text import PIECE, LongText

    editor = LongText()
    qtbot.addWidget(editor)
    many = 3 * PIECE
    text = "\U0001d7d8" * many + " needle"
    editor.show_text(text)
    assert editor.filling
    editor.select_span(many + 1, many + 7)
    qtbot.waitUntil(lambda: not editor.filling, timeout=MILLISECONDS)
    assert editor.textCursor().selectedText() == "needle"


@pytest.mark.parametrize("lines", [1, 1000])
def test_a_very_long_line_is_inserted_in_pieces_that_double(qtbot: Any, lines: int) -> None:
    """Qt lays out a line again for each piece of it: 5 MB on one line took minutes in pieces of one size."""
    from zarrscope_app.qt.long_text import PIECE, LongText

    editor = LongText()
    editor.setLineWrapMode(LongText.LineWrapMode.NoWrap)  # as in the form
    qtbot.addWidget(editor)
    joiner = "\u206f"  # a line that has the mark of soft breaks gets none
    text = "\n".join([f"{joiner}b, " * (10 * PIECE // lines)] * lines)
    pieces = [PIECE]
    editor.show_text(text)
    while editor.filling:
        before = editor._filled
        assert before is not None
        editor._put_next()
        pieces.append((editor._filled or len(text)) - before)
    assert editor.toPlainText() == text == editor.content()
    assert sum(pieces) == len(text)
    assert pieces[:4] == ([PIECE, PIECE, 2 * PIECE, 4 * PIECE] if lines == 1 else [PIECE] * 4)
    assert lines > 1 or len(pieces) == 7


WIDE = "\U0001d7d8"
"""A character of two UTF-16 units, in which Qt counts."""


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize("sign", ["", WIDE, f"é{WIDE}"])
def test_a_very_long_line_is_broken_for_display_and_given_back_unbroken(qtbot: Any, sign: str) -> None:
    """Qt lays out a line in one piece: a second for 4 MB."""
    from zarrscope_app.qt.long_text import LINE, LongText

    editor = LongText()
    qtbot.addWidget(editor)
    long = f"x{sign}" * (3 * LINE)
    text = f'{{"a{sign}": 1,\n"points": [' + f"12345{sign}, " * (LINE // 2) + f"needle, {long}]\n}}"
    editor.show_text(text)
    qtbot.waitUntil(lambda: not editor.filling, timeout=MILLISECONDS)
    shown = editor.toPlainText().split("\n")
    assert max(map(units, shown)) <= LINE + 1
    assert len(shown) > 6
    assert editor.content() == text
    document = editor.document()
    assert document is not None
    numbers = [
        0 if editor.continues(block) else editor.number_at(block.position())
        for block in map(document.findBlockByNumber, range(document.blockCount()))
    ]
    assert [number for number in numbers if number] == [1, 2, 3]
    assert [document.findBlock(editor.start_of(line)).text()[:1] for line in (1, 2, 3)] == ["{", '"', "}"]
    at = text.index("needle")
    editor.select_span(at, at + 6)
    cursor = editor.textCursor()
    assert cursor.selectedText() == "needle"
    cursor.insertText("thread")
    assert editor.content() == text.replace("needle", "thread")
    changed = text.replace("needle", "yarn").replace("12345", "0", 1)
    editor.show_text(changed)
    assert editor.content() == changed
    editor.selectAll()
    data = editor.createMimeDataFromSelection()
    assert data is not None
    assert data.text() == changed
    beyond = "\U0001d7d9"  # its first unit is that of the other
    for other in (changed.replace(WIDE, beyond, 1), changed.replace(WIDE, "", 1), changed):
        editor.show_text(other)
        assert editor.content() == other
    second = document.findBlockByNumber(2)
    assert editor.continues(second)
    cursor = editor.textCursor()
    cursor.setPosition(second.position())
    cursor.deletePreviousChar()
    assert editor.content() == changed, "the line break is for display only"


@pytest.mark.parametrize("sign", ["", WIDE])
def test_typing_at_a_soft_break_changes_only_what_is_typed(qtbot: Any, sign: str) -> None:
    from qtpy.QtCore import Qt

    from zarrscope_app.qt.long_text import LINE, LongText

    editor = LongText()
    qtbot.addWidget(editor)
    editor.setLineWrapMode(LongText.LineWrapMode.NoWrap)  # so that End goes to the break
    text = f"[{sign}" + f"123{sign}, " * LINE + f"4{sign}]"
    editor.show_text(text)
    qtbot.waitUntil(lambda: not editor.filling, timeout=MILLISECONDS)
    editor.show()
    keys: Any = Qt.Key
    break_ = len(editor.toPlainText().split("\n")[0]) - 1  # the position of the first soft break in the text

    assert units(editor.toPlainText().split("\n")[0]) > LINE // 2

    def press(*pressed: Any, at: int = units(text[:3])) -> str:
        """The text after these keys, pressed from a position in it; all are undone then."""
        cursor = editor.textCursor()
        cursor.setPosition(at)
        editor.setTextCursor(cursor)
        for key in pressed:
            key, modifiers = key if isinstance(key, tuple) else (key, Qt.KeyboardModifier.NoModifier)
            qtbot.keyClick(editor, key, modifiers)
        found = editor.content()
        while not_none(editor.document()).isUndoAvailable():
            editor.undo()
        assert editor.content() == text, "undone"
        return found

    end, shift = keys.Key_End, Qt.KeyboardModifier.ShiftModifier
    assert press(end, keys.Key_7) == f"{text[:break_]}7{text[break_:]}"
    assert press(end, keys.Key_Return) == f"{text[:break_]}\n{text[break_:]}"
    assert press(end, keys.Key_Backspace) == text[: break_ - 1] + text[break_:]
    assert press(end, keys.Key_Delete) == text[:break_] + text[break_ + 1 :]
    assert press(end, keys.Key_Right, keys.Key_7) == f"{text[:break_]}7{text[break_:]}"
    assert press(end, keys.Key_Right, keys.Key_Backspace) == text[: break_ - 1] + text[break_:]
    assert press(end, keys.Key_Right, keys.Key_Left, keys.Key_7) == f"{text[:break_]}7{text[break_:]}"
    assert press((end, shift), keys.Key_Delete) == text[:3] + text[break_:]
    assert press(end, (keys.Key_Right, shift), (keys.Key_Right, shift), keys.Key_Delete) == (
        text[:break_] + text[break_ + 1 :]
    )


@pytest.mark.parametrize("near", ["before", "after"])
def test_a_sign_of_two_units_at_a_soft_break_is_removed_whole(qtbot: Any, near: str) -> None:
    from qtpy.QtCore import Qt

    from zarrscope_app.qt.long_text import LINE, LongText

    editor = LongText()
    qtbot.addWidget(editor)
    editor.setLineWrapMode(LongText.LineWrapMode.NoWrap)
    text = WIDE * (3 * LINE)  # without commas, so that a break is beside a sign
    editor.show_text(text)
    qtbot.waitUntil(lambda: not editor.filling, timeout=MILLISECONDS)
    editor.show()
    first = editor.toPlainText().split("\n")[0]
    assert units(first) == LINE + 1, "no sign is cut in two"
    cursor = editor.textCursor()
    cursor.setPosition(LINE if near == "before" else LINE + 2)
    editor.setTextCursor(cursor)
    qtbot.keyClick(editor, Qt.Key.Key_Delete)
    assert editor.content() == text[:-1]
    qtbot.keyClick(editor, Qt.Key.Key_Backspace)
    assert editor.content() == text[:-2]
    qtbot.keyClick(editor, Qt.Key.Key_7)
    assert sorted(editor.content()) == sorted(f"{text[:-2]}7")
    assert editor.content().index("7") == LINE // 2 - 1
    while not_none(editor.document()).isUndoAvailable():
        editor.undo()
    assert editor.content() == text


def test_a_document_of_one_line_with_a_sign_of_two_units_keeps_all_other_bytes(
    qtbot: Any, place: str, shown: Callable[[str], Any]
) -> None:
    from qtpy.QtCore import Qt

    path = Path(place) / "zarr.json"
    document = json.loads(path.read_text())
    document["attributes"]["mine"] = {"note": f"as {WIDE} was", "points": [*range(100_000)], "last": f"{WIDE} end"}
    before = json.dumps(document, ensure_ascii=False).encode()
    path.write_bytes(before)
    window = shown("json")
    session, text = window.workspace.current, window.form.json.text
    qtbot.waitUntil(lambda: len(text.content()) > 500_000 and not text.filling, timeout=MILLISECONDS)
    assert text.soft
    at = text.content().index(" end")
    text.select_span(at, at)
    text.setFocus()
    qtbot.keyClick(text, Qt.Key.Key_7)
    window.form.json.commit()
    qtbot.waitUntil(lambda: session.edit.brief.changes == 1, timeout=MILLISECONDS)
    session.edit.save()
    qtbot.waitUntil(lambda: not session.edit.saving and not session.edit.brief.changes, timeout=MILLISECONDS)
    assert path.read_bytes() == before.replace(f"{WIDE} end".encode(), f"{WIDE}7 end".encode())


def test_a_long_text_shows_its_beginning(qtbot: Any, place: str, shown: Callable[[str], Any]) -> None:
    path = Path(place) / "zarr.json"
    document = json.loads(path.read_text())
    document["attributes"]["ome"]["multiscales"][0]["name"] = "the mitochondria of the second sample, " * 3
    path.write_text(json.dumps(document))
    window = shown("image")
    fields = [f for s in window.workspace.current.edit.state.sections for row in s.rows for f in row.fields]
    (name,) = [field for field in fields if field.text.startswith("the mitochondria")]
    editor = window.form.sections.editors[name.pointer]
    assert editor.cursorPosition() == 0


def test_a_line_wider_than_the_editor_is_wrapped_unless_the_text_is_long(qtbot: Any) -> None:
    from zarrscope_app.qt.json_form import _SHORT_TEXT, _Text

    editor = _Text()
    qtbot.addWidget(editor)
    sign = editor.fontMetrics().horizontalAdvance("0")
    editor.resize(100 * sign, 300)
    editor.show()
    modes = editor.LineWrapMode
    editor.show_text("[" + "1, " * 20 + "1]")
    assert editor.lineWrapMode() == modes.NoWrap
    line = "[" + "1, " * 50 + "1]"
    editor.show_text(line)
    qtbot.waitUntil(lambda: editor.lineWrapMode() == modes.WidgetWidth, timeout=MILLISECONDS)
    editor.resize(200 * sign, 300)
    qtbot.waitUntil(lambda: editor.lineWrapMode() == modes.NoWrap, timeout=MILLISECONDS)
    editor.resize(100 * sign, 300)
    editor.show_text("\n".join([line] * (_SHORT_TEXT // len(line) + 1)))
    qtbot.waitUntil(lambda: not editor.filling, timeout=MILLISECONDS)
    assert editor.lineWrapMode() == modes.NoWrap
    assert editor.toPlainText() == editor.content()
