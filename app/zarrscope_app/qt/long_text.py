"""A text editor for texts of megabytes: inserts them a piece at a time, and keeps a copy of its own of the text.

Qt needs half a second to lay out 5 MB at once, and a sixteenth of a second to return them. It also returns a no-break
space as a space: `text_in` and `LongText.content` return the characters that were inserted.
"""

from __future__ import annotations

from zarrscope.jsondoc.parts import common_beginning, common_end
from zarrscope_app.qt.toolkit.core import QSignalBlocker, QTimer
from zarrscope_app.qt.toolkit.gui import QTextCursor
from zarrscope_app.qt.toolkit.widgets import QPlainTextEdit, QWidget

PIECE = 1 << 14
"""Characters of a long text that are inserted at once."""
_MOST_CHANGED = 1 << 15
"""The most characters that a change may replace in place; after a larger one the whole text is inserted again."""
_BREAK = "\u2029"


def text_in(editor: QPlainTextEdit) -> str:
    """The text of an editor, with its no-break spaces, which Qt's own method replaces by spaces."""
    document = editor.document()
    assert document is not None
    return document.toRawText().replace(_BREAK, "\n")


class LongText(QPlainTextEdit):
    """`show_text` replaces the text, and leaves the parts untouched that the old and the new text have in common."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._content: str | None = ""
        """The text, even while it is being inserted; None if only Qt knows it."""
        self._filled: int | None = None
        """The characters of a long text that were inserted so far; None if no text is being inserted."""
        self._lines = 0
        """The lines of the text that is being inserted."""
        self._locked = False
        self._wanted: tuple[int, int] | None = None
        """The part of the text to select once it is inserted."""
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._put_next)
        document = self.document()
        assert document is not None
        document.contentsChange.connect(self._follow)

    @property
    def filling(self) -> bool:
        """Whether a long text is still being inserted; it cannot be edited until it is complete."""
        return self._filled is not None

    def line_count(self) -> int:
        """The number of lines of the whole text, even while the text is being inserted. A margin for line numbers that
        is widened later would make Qt lay out the whole text again."""
        return self._lines if self.filling else self.blockCount()

    def content(self) -> str:
        """The text of the editor."""
        if self._content is None:
            self._content = text_in(self)
        return self._content

    def show_text(self, text: str) -> None:
        """Replaces the text, in pieces if it is long; does nothing if it is the same. Emits no signal."""
        if text == self.content():
            return
        blocker = QSignalBlocker(self)
        old = self._content or ""
        most = min(len(old), len(text))
        start = 0 if self.filling else common_beginning(old, text, 0, 0, most)
        end = 0 if self.filling else common_end(old, text, len(old), len(text), most - start)
        middle = text[start : len(text) - end]
        changed = max(len(middle), len(old) - start - end)
        if self.filling or changed > _MOST_CHANGED or not _plain(old):
            self._fill(text)
        else:
            self._replace(start, len(old) - end, middle)
        self._settle()
        blocker.unblock()
        if self.filling:
            self.blockCountChanged.emit(self.line_count())

    def lock(self, locked: bool) -> None:
        """Makes the text read-only, or editable again."""
        self._locked = locked
        self.setReadOnly(locked or self.filling)

    def select_span(self, start: int, stop: int) -> None:
        """Selects a part of the text, and scrolls to it; later, if this part is still being inserted."""
        content = self.content()
        if self.filling and stop > (self._filled or 0):
            self._wanted = start, stop
            return
        self._wanted = None
        units = [at if _plain(content) else len(content[:at].encode("utf-16-le")) // 2 for at in (start, stop)]
        cursor = self.textCursor()
        cursor.setPosition(units[0])
        cursor.setPosition(units[1], QTextCursor.MoveMode.KeepAnchor)
        self.setTextCursor(cursor)

    def _fill(self, text: str) -> None:
        self._filled = len(text[:PIECE])
        self._wanted = None
        self._content = text
        self._lines = text.count("\n") + 1
        self.setPlainText(text[:PIECE])
        if self._filled < len(text):
            self._timer.start()
        else:
            self._filled = None
            self._timer.stop()

    def _put_next(self) -> None:
        whole, at = self._content or "", self._filled or 0
        # Qt lays out a line again for each piece of it, so the pieces of a very long line double.
        piece = whole[at : at + max(PIECE, at - 1 - whole.rfind("\n", 0, at))]
        blocker = QSignalBlocker(self)
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(piece)
        self._filled = at + len(piece) if at + len(piece) < len(whole) else None
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
        cursor.insertText(text)

    def _settle(self) -> None:
        document = self.document()
        assert document is not None
        document.clearUndoRedoStacks()
        document.setModified(False)
        self.setReadOnly(self._locked or self.filling)

    def _follow(self, start: int, removed: int, added: int) -> None:
        """Repeats a change of Qt's text in `_content`. Qt counts UTF-16 units, so `_content` becomes None, to be read
        from Qt again, if the text has characters of two units."""
        if self.filling:
            return
        text, self._content = self._content, None
        document = self.document()
        if text is None or document is None or not _plain(text):
            return
        cursor = QTextCursor(document)
        cursor.setPosition(start)
        cursor.setPosition(min(start + added, document.characterCount() - 1), QTextCursor.MoveMode.KeepAnchor)
        new = cursor.selectedText().replace(_BREAK, "\n")
        made = text[:start] + new + text[min(start + removed, len(text)) :]
        if len(made) == document.characterCount() - 1:
            self._content = made


def _plain(text: str) -> bool:
    """Whether each character is one UTF-16 unit, as Qt counts positions."""
    return text.isascii() or max(text, default="") <= "\uffff"
