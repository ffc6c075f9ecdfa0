"""A text editor for texts of megabytes: inserts them a piece at a time, and keeps a copy of its own of the text.

Qt needs half a second to lay out 5 MB at once, and a sixteenth of a second to return them. It also returns a no-break
space as a space: `text_in` and `LongText.content` return the characters that were inserted.

Qt lays out a line in one piece, which takes a second for a line of 4 MB. Longer lines are therefore broken for display:
a soft break is the invisible character U+206F, which Unicode advises against and nobody types, and a line break.
`content`, copied text and line numbers are those of the text without soft breaks, so an edit saves all other bytes as
they were. A text is shown unbroken if it has that character itself.

Qt counts positions in UTF-16 units, Python in characters. Displayed text is therefore kept as a string of units, in
which a character such as an emoji is two surrogates: positions in it are those of Qt.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from zarrscope.jsondoc.parts import common_beginning, common_end
from zarrscope_app.presenters.form.view_models import TextShape
from zarrscope_app.qt.toolkit.core import QMimeData, QSignalBlocker, Qt, QTimer
from zarrscope_app.qt.toolkit.gui import QKeyEvent, QTextBlock, QTextCursor
from zarrscope_app.qt.toolkit.widgets import QPlainTextEdit, QWidget

PIECE = 1 << 14
"""Characters of a long text that are inserted at once."""
_MOST_CHANGED = 1 << 15
"""The most characters that a change may replace in place; after a larger one the whole text is inserted again."""
_BREAK = "\u2029"
LINE = 1 << 12
"""The most characters of a line; a longer one gets soft breaks."""
_ENCODED = 1 << 16
"""Characters that are encoded at once: of a long text with one emoji, only the piece around it."""
_MARK = "\u206f"
_SOFT = f"{_MARK}\n"
_BROKEN = _MARK, _BREAK
"""The characters of a soft break in Qt's document."""


def text_in(editor: QPlainTextEdit) -> str:
    """The text of an editor, with its no-break spaces, which Qt's own method replaces by spaces."""
    document = editor.document()
    assert document is not None
    return document.toRawText().replace(_BREAK, "\n")


def has_longer_line(text: str, most: int) -> bool:
    """Whether a line of the text has more than `most` characters."""
    at = 0
    while len(text) - at > most:
        at = text.rfind("\n", at, at + most + 1) + 1
        if not at:
            return True
    return False


def _plain(text: str) -> bool:
    """Whether each character is one UTF-16 unit, as Qt counts positions."""
    # Encoding is many times as fast as looking for the largest character.
    return text.isascii() or len(text.encode("utf-16-le", "surrogatepass")) == 2 * len(text)


def _units(text: str) -> str:
    """Encodes a text as UTF-16. The result has one character for each 16-bit unit, so an emoji becomes two."""
    return text if text.isascii() else "".join(map(_encoded, _cut(text, _ENCODED)))


def _cut(text: str, most: int) -> Iterator[str]:
    """The text in pieces of at most this length, none of which ends between two surrogates."""
    at = 0
    while at < len(text):
        end = _whole(text, min(len(text), at + most))
        yield text[at:end]
        at = end


def _encoded(text: str) -> str:
    if _plain(text):
        return text
    # numpy turns an array of numbers into a string in one step, surrogates too; Python's decoders would join a pair of
    # surrogates to one character. numpy drops zeros at the end of a string, so a letter is appended and cut off again.
    units = np.frombuffer(f"{text}x".encode("utf-16-le", "surrogatepass"), "<u2").astype(np.uint32)
    return str(units.view(f"U{len(units)}")[0])[:-1]


def _joined(units: str) -> str:
    """The reverse of `_units`: joins each pair of surrogates to the character that they encode."""
    return units if units.isascii() else "".join(map(_decoded, _cut(units, _ENCODED)))


def _decoded(units: str) -> str:
    try:
        units.encode("utf-16-le")
        return units
    except UnicodeEncodeError:  # there are surrogates
        pass
    numbers = np.array([f"{units}x"]).view(np.uint32)
    return numbers.astype("<u2").tobytes().decode("utf-16-le", "surrogatepass")[:-1]


def _units_before(text: str, at: int) -> int:
    """The number of UTF-16 units in the first `at` characters of a text."""
    return at if text.isascii() else len(text[:at].encode("utf-16-le", "surrogatepass")) // 2


def _whole(units: str, at: int) -> int:
    """The position `at`, or the one before it if a cut at `at` would separate the two surrogates of a character."""
    return at - (at < len(units) and "\ud800" <= units[at - 1 : at] <= "\udbff")


def _softly_broken(text: str) -> tuple[str, int]:
    """The text with soft breaks in lines of more than LINE units, after commas where there are some; and their
    number."""
    parts, begin, at = [], 0, 0
    while len(text) - at > LINE:
        if end := text.rfind("\n", at, at + LINE + 1) + 1:  # short lines are passed over together
            at = end
            continue
        comma = text.rfind(",", at + LINE // 2, at + LINE)
        at = comma + 1 if comma >= 0 else _whole(text, at + LINE)
        parts.append(text[begin:at])
        begin = at
    return (_SOFT.join([*parts, text[begin:]]), len(parts)) if parts else (text, 0)


def _as_it_is(text: str) -> tuple[str, int]:
    """As `_softly_broken`, for a text without soft breaks."""
    return text, 0


@dataclass
class _Change:
    """A change of Qt's text: the units `removed` from `start` on are replaced by `put`."""

    start: int
    removed: int
    put: str

    def join(self, start: int, removed: int, put: str) -> bool:
        """Includes a later change, if that lies within this one, as while a word is typed."""
        at = start - self.start
        if not 0 <= at <= at + removed <= len(self.put):
            return False
        self.put = self.put[:at] + put + self.put[at + removed :]
        return True


class LongText(QPlainTextEdit):
    """`show_text` replaces the text, and leaves the parts untouched that the old and the new text have in common."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._content: str | None = ""
        """The units of the text with soft breaks, even while it is being inserted; None if only Qt knows them."""
        self._unbroken: str | None = ""
        """The text without soft breaks; None if it has to be made from `_content`."""
        self._typed: list[_Change] = []
        """The changes of Qt's text that are missing in `_content`: each costs a copy of megabytes, and typing comes in
        runs of which only the result is asked for."""
        self.soft = False
        """Whether there are soft breaks."""
        self._filled: int | None = None
        """The units of a long text that were inserted so far; None if no text is being inserted."""
        self._lines = 0
        """The lines of the text that is being inserted."""
        self._counted = "", 0, 0
        """A displayed text, a position in it, and the number of soft breaks before that."""
        self._wanted: tuple[int, int] | None = None
        """The part of the text to select once it is inserted."""
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._put_next)
        document = self.document()
        assert document is not None
        document.contentsChange.connect(self._follow)
        self._was_at = 0
        """The position of the cursor before it moved."""
        self.cursorPositionChanged.connect(self._step_over_break)

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        """Backspace and Delete beside a soft break remove the character beyond it."""
        cursor = self.textCursor()
        if self.soft and event is not None and not cursor.hasSelection():
            at = cursor.position()
            if event.key() == Qt.Key.Key_Backspace and self._is_soft(at - len(_SOFT)):
                cursor.setPosition(at - len(_SOFT))
            elif event.key() == Qt.Key.Key_Delete and self._is_soft(at):
                cursor.setPosition(at + len(_SOFT))
            self.setTextCursor(cursor)
        super().keyPressEvent(event)

    def _step_over_break(self) -> None:
        """Keeps the cursor out of soft breaks: what is typed or removed within one would change the text."""
        cursor = self.textCursor()
        at, was = cursor.position(), self._was_at
        if self.soft and self._is_soft(at - 1):
            anchor = cursor.anchor()
            self._was_at = at + 1 if was == at - 1 else at - 1
            cursor.setPosition(self._was_at if anchor == at else anchor)
            cursor.setPosition(self._was_at, QTextCursor.MoveMode.KeepAnchor)
            self.setTextCursor(cursor)
            return
        self._was_at = at

    def _is_soft(self, at: int) -> bool:
        """Whether a soft break is at a position. Qt is asked, because `_displayed` copies the text after a key."""
        document = self.document()
        return document is not None and at >= 0 and (document.characterAt(at), document.characterAt(at + 1)) == _BROKEN

    @property
    def filling(self) -> bool:
        """Whether a long text is still being inserted; it cannot be edited until it is complete."""
        return self._filled is not None

    def line_count(self) -> int:
        """The number of displayed lines of the whole text, even while the text is being inserted. A margin for line
        numbers that is widened later would make Qt lay out the whole text again."""
        return self._lines if self.filling else self.blockCount()

    def content(self) -> str:
        """The text of the editor, without soft breaks."""
        if self._unbroken is None:
            text = self._displayed()
            # A mark of which a person deleted the line break is none of the text either.
            self._unbroken = _joined(text.replace(_SOFT, "").replace(_MARK, "") if self.soft else text)
        return self._unbroken

    def _displayed(self) -> str:
        text, document = self._content, self.document()
        if self._typed and text is not None and document is not None:
            for each in self._typed:
                text = "".join((text[: each.start], each.put, text[min(each.start + each.removed, len(text)) :]))
            self._content = text if len(text) == document.characterCount() - 1 else None
        self._typed.clear()
        if self._content is None:
            self._content = _units(text_in(self))
        return self._content

    def _position(self, at: int) -> int:
        """The position in the displayed text of a position in `content`."""
        at = _units_before(self.content(), at)
        if not self.soft:
            return at
        passed = 0
        for part in self._displayed().split(_SOFT):
            if at <= passed + len(part):
                break
            passed += len(part)
            at += len(_SOFT)
            passed += len(_SOFT)
        return at

    def number_at(self, position: int) -> int:
        """The number, from 1, of the line of the text at a position of the displayed text."""
        document = self.document()
        assert document is not None
        displayed = document.findBlock(position).blockNumber()
        return displayed - (self._soft_before(position) if self.soft else 0) + 1

    def _soft_before(self, start: int) -> int:
        """The number of soft breaks before a displayed line, counted on from the last one that was asked for."""
        text = self._content
        if text is None or any(each.start < start for each in self._typed):
            text = self._displayed()
        known, at, number = self._counted
        if known is not text:
            at = number = 0
        number += text.count(_SOFT, at, start) if start >= at else -text.count(_SOFT, start, at)
        self._counted = text, start, number
        return number

    def continues(self, block: QTextBlock) -> bool:
        """Whether a soft break precedes a displayed line."""
        return self.soft and self._is_soft(block.position() - len(_SOFT))

    def start_of(self, line: int) -> int:
        """The position in the displayed text where a line of the text begins, counted from 1."""
        document = self.document()
        if not self.soft and document is not None:
            return document.findBlockByNumber(line - 1).position()
        parts = self.content().split("\n", line - 1)
        return self._position(sum(map(len, parts[: line - 1])) + line - 1)

    def createMimeDataFromSelection(self) -> QMimeData | None:
        data = super().createMimeDataFromSelection()
        if self.soft and data is not None and data.hasText():
            text = self.textCursor().selectedText().replace(_BREAK, "\n")
            data = QMimeData()
            data.setText(text.replace(_SOFT, "").replace(_MARK, ""))
        return data

    def shows(self, text: str) -> bool:
        """Whether this is the present text."""
        return text is self._unbroken or text == self.content()

    def show_text(self, text: str, shape: TextShape | None = None) -> None:
        """Replaces the text, in pieces if it is long; does nothing if it is the same. Emits no signal. `shape`: that of
        the text, if it is known."""
        if self.shows(text):
            self._unbroken = text  # the next comparison is of one object with itself
            return
        blocker = QSignalBlocker(self)
        old, was_soft = self.content(), self.soft
        most = min(len(old), len(text))
        start = 0 if self.filling else common_beginning(old, text, 0, 0, most)
        end = 0 if self.filling else common_end(old, text, len(old), len(text), most - start)
        middle = text[start : len(text) - end]
        changed = max(len(middle), len(old) - start - end)
        breaks = _MARK not in text
        put = _softly_broken if breaks else _as_it_is
        if self.filling or changed > _MOST_CHANGED or (was_soft and not breaks):
            made, number = put(_units(text))
            self.soft = number > 0
            self._fill(made, number + (shape.lines if shape is not None else text.count("\n") + 1))
        else:
            made, number = put(_units(middle))
            first, last = self._position(start), self._position(len(old) - end)
            self.soft = was_soft or number > 0
            self._replace(first, last, made)
        self._unbroken = text
        self._settle()
        blocker.unblock()
        if self.filling:
            self.blockCountChanged.emit(self.line_count())

    def select_span(self, start: int, stop: int) -> None:
        """Selects a part of the text, and scrolls to it; later, if this part is still being inserted."""
        if self.filling and self._position(stop) > (self._filled or 0):
            self._wanted = start, stop
            return
        self._wanted = None
        cursor = self.textCursor()
        cursor.setPosition(self._position(start))
        cursor.setPosition(self._position(stop), QTextCursor.MoveMode.KeepAnchor)
        self.setTextCursor(cursor)

    def _fill(self, text: str, lines: int) -> None:
        self._filled = _whole(text, len(text[: LINE if self.soft else PIECE]))  # a softly broken line fills the view
        self._wanted = None
        self._content = text
        self._typed.clear()
        self._lines = lines
        self.setPlainText(_joined(text[: self._filled]))
        if self._filled < len(text):
            self._timer.start()
        else:
            self._filled = None
            self._timer.stop()

    def _put_next(self) -> None:
        whole, at = self._content or "", self._filled or 0
        # Qt lays out a line again for each piece of it, so the pieces of a very long line double.
        end = _whole(whole, min(len(whole), at + max(PIECE, at - 1 - whole.rfind("\n", 0, at))))
        blocker = QSignalBlocker(self)
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(_joined(whole[at:end]))
        self._filled = end if end < len(whole) else None
        self._settle()
        blocker.unblock()
        if self._filled is None:
            self._timer.stop()
            self.blockCountChanged.emit(self.blockCount())
        if self._wanted is not None:
            self.select_span(*self._wanted)

    def _replace(self, start: int, stop: int, text: str) -> None:
        cursor = QTextCursor(self.document())
        cursor.setPosition(start)
        cursor.setPosition(stop, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(_joined(text))

    def _settle(self) -> None:
        document = self.document()
        assert document is not None
        document.clearUndoRedoStacks()
        document.setModified(False)
        self.setReadOnly(self.filling)

    def _follow(self, start: int, removed: int, added: int) -> None:
        """Keeps a change of Qt's text for `_content`."""
        document = self.document()
        if self.filling or document is None:
            return
        self._unbroken = None
        cursor = QTextCursor(document)
        cursor.setPosition(start)
        cursor.setPosition(min(start + added, document.characterCount() - 1), QTextCursor.MoveMode.KeepAnchor)
        put = _units(cursor.selectedText().replace(_BREAK, "\n"))
        if not (self._typed and self._typed[-1].join(start, removed, put)):
            self._typed.append(_Change(start, removed, put))
