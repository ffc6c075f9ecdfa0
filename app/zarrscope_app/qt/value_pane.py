"""Shows and edits the complete text of a long value beneath the fields, whose rows show only its beginning."""

from __future__ import annotations

from zarrscope_app.presenters import Field
from zarrscope_app.presenters.form.line_ends import shown
from zarrscope_app.presenters.form.words import long_value
from zarrscope_app.qt.toolkit.core import QSignalBlocker, Qt, Signal
from zarrscope_app.qt.toolkit.gui import QFocusEvent, QKeyEvent
from zarrscope_app.qt.toolkit.widgets import QPlainTextEdit, QVBoxLayout, QWidget

from .long_text import text_in
from .text import Label
from .undo_keys import UndoKeys


class _Text(QPlainTextEdit):
    left = Signal()

    def focusOutEvent(self, event: QFocusEvent | None) -> None:
        super().focusOutEvent(event)
        self.left.emit()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        assert event is not None
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and (
            event.modifiers() & Qt.KeyboardModifier.ControlModifier
        ):
            self.left.emit()
        else:
            super().keyPressEvent(event)


class ValuePane(QWidget):
    """Emits `edited(pointer, text)` when a text is applied: by Ctrl+Enter, or when the keyboard focus leaves."""

    edited = Signal(str, str)
    typed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pointer = ""
        self._title = Label()
        self.text = _Text()
        self.text.setTabChangesFocus(True)
        self.text.left.connect(self.commit)
        self.text.textChanged.connect(self.typed)
        self._undo_keys = UndoKeys(self)
        self._undo_keys.watch(self.text)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(2)
        self._title.setContentsMargins(8, 0, 8, 0)
        column.addWidget(self._title)
        column.addWidget(self.text)
        self.hide()

    @property
    def pending(self) -> bool:
        """Whether the editor contains a text that is not yet applied."""
        document = self.text.document()
        return self.isVisible() and document is not None and document.isModified()

    @property
    def typed_text(self) -> tuple[str, str]:
        """The pointer of the field, and its present text."""
        return self._pointer, text_in(self.text)

    def commit(self) -> None:
        """Applies the present text."""
        document = self.text.document()
        if self.pending and document is not None:
            document.setModified(False)
            self.edited.emit(self._pointer, text_in(self.text))

    def show_field(self, field: Field | None, editable: bool) -> None:
        """Shows the value of a field if it is long; otherwise hides the pane."""
        title = long_value(field) if field is not None else ""
        if self.pending and field is not None and field.pointer == self._pointer:
            return
        self.commit()
        self.setVisible(bool(title))
        if field is None or not title:
            return
        self._pointer = field.pointer
        self._title.setText(title)
        self.text.setAccessibleName(title)
        self.text.setReadOnly(not editable)
        if text_in(self.text) != shown(field.text):
            blocker = QSignalBlocker(self.text)
            self.text.setPlainText(field.text)
            blocker.unblock()
        document = self.text.document()
        assert document is not None
        document.setModified(False)
