"""A text editor that takes texts of megabytes a piece at a time, and knows its text without asking Qt for all of it.

Qt needs half a second to lay out 5 MB at once, and a sixteenth to give them back. It also gives a no-break space back
as a space: `text_in` and `LongText.content` give the characters that were put in.
"""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import QSignalBlocker, QTimer
from qtpy.QtGui import QTextCursor
from qtpy.QtWidgets import QPlainTextEdit, QWidget

from zarrscope.jsondoc.parts import common_beginning, common_end

PIECE = 1 << 15
"""Characters that are inserted at once."""
_BREAK = "\u2029"


def text_in(editor: QPlainTextEdit) -> str:
    """The text of an editor, no-break spaces kept."""
    document = editor.document()
    assert document is not None
    return document.toRawText().replace(_BREAK, "\n")


class LongText(QPlainTextEdit):
    """`show_text` puts a text in place of the former one, of which the parts that stay are not touched."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._content: str | None = ""
        """The text, as far as it was put in; None if it is only known to Qt."""
        self._rest = ""
        """What has still to be put in."""
        self._locked = False
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._put_next)
        document = self.document()
        assert document is not None
        document.contentsChange.connect(self._follow)

    @property
    def filling(self) -> bool:
        """Whether a long text is still being put in; it cannot be edited until then."""
        return bool(self._rest)

    def content(self) -> str:
        """The text of the editor."""
        if self._content is None:
            self._content = text_in(self)
        return self._content + self._rest

    def show_text(self, text: str) -> None:
        """Puts a text in, in pieces if it is long; nothing happens if it is there already. Emits no signal."""
        if text == self.content():
            return
        blocker = QSignalBlocker(self)
        old = self._content or ""
        most = min(len(old), len(text))
        start = 0 if self._rest else common_beginning(old, text, 0, 0, most)
        end = 0 if self._rest else common_end(old, text, len(old), len(text), most - start)
        middle = text[start : len(text) - end]
        if self._rest or len(middle) > PIECE or len(old) - start - end > PIECE or not _plain(old):
            self._fill(text)
        else:
            self._replace(start, len(old) - end, middle)
        self._settle()
        blocker.unblock()

    def lock(self, locked: bool) -> None:
        """Whether the text can only be read."""
        self._locked = locked
        self.setReadOnly(locked or self.filling)

    def _fill(self, text: str) -> None:
        self.setPlainText(text[:PIECE])
        self._content, self._rest = text[:PIECE], text[PIECE:]
        if self._rest:
            self._timer.start()

    def _put_next(self) -> None:
        piece, self._rest = self._rest[:PIECE], self._rest[PIECE:]
        blocker = QSignalBlocker(self)
        whole = (self._content or "") + piece
        self._content = None
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(piece)
        self._content = whole
        self._settle()
        blocker.unblock()
        if not self._rest:
            self._timer.stop()
            self.blockCountChanged.emit(self.blockCount())

    def _replace(self, start: int, stop: int, text: str) -> None:
        cursor = QTextCursor(self.document())
        cursor.setPosition(start)
        cursor.setPosition(stop, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(text)

    def _settle(self) -> None:
        document = self.document()
        assert document is not None
        document.clearUndoRedoStacks()
        document.setModified(False)
        self.setReadOnly(self._locked or self.filling)

    def _follow(self, start: int, removed: int, added: int) -> None:
        """Makes the change that Qt made to its text. Qt counts in UTF-16, so texts beyond that are asked for again."""
        text, self._content = self._content, None
        document: Any = self.document()
        if text is None or not _plain(text):
            return
        cursor = QTextCursor(document)
        cursor.setPosition(start)
        cursor.setPosition(min(start + added, document.characterCount() - 1), QTextCursor.MoveMode.KeepAnchor)
        new = cursor.selectedText().replace(_BREAK, "\n")
        made = text[:start] + new + text[min(start + removed, len(text)) :]
        if len(made) == document.characterCount() - 1:
            self._content = made


def _plain(text: str) -> bool:
    """Whether each character takes one place in Qt's text."""
    return text.isascii() or max(text, default="") <= "\uffff"
