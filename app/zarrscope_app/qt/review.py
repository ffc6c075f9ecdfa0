"""Shows changes: the diff of a document, and the question on closing."""

from __future__ import annotations

from typing import Literal

from zarrscope_app.presenters import strings
from zarrscope_app.presenters.commands import LABELS, command
from zarrscope_app.presenters.form.view_models import Closing
from zarrscope_app.qt.toolkit.core import Qt, Signal
from zarrscope_app.qt.toolkit.gui import QKeyEvent, QSyntaxHighlighter, QTextCharFormat
from zarrscope_app.qt.toolkit.widgets import (
    QDialog,
    QDialogButtonBox,
    QPlainTextEdit,
    QSplitter,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from .text import Label
from .text_button import TextButton
from .theme import added, current_palette, fixed_font, icon, quiet, warning
from .wrapping import WrappingRow


class _Colours(QSyntaxHighlighter):
    """Colours the lines of a unified diff by their first character ("+", "-", "@"). The character stays visible, for
    people who cannot distinguish the colours."""

    def highlightBlock(self, text: str | None) -> None:
        palette = current_palette()
        line = text or ""
        style = QTextCharFormat()
        if line.startswith(("---", "+++", "@@", "# ")):
            style.setForeground(quiet(palette))
        elif line.startswith("+"):
            style.setForeground(added(palette))
        elif line.startswith("-"):
            style.setForeground(warning(palette))
        else:
            return
        self.setFormat(0, len(line), style)


class _DiffText(QPlainTextEdit):
    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setFont(fixed_font())
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setAccessibleName(command("review").label)
        self._colours = _Colours(self.document())


class DiffView(QWidget):
    """A unified diff with a button to close it."""

    closed = Signal()
    asked = Signal(str)
    """Emits a command about the changes."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = _DiffText()
        copy = TextButton()
        copy.setIcon(icon("copy"))
        copy.setText(command("copy-commands").label)
        copy.clicked.connect(lambda: self.asked.emit("copy-commands"))
        close = QToolButton()
        close.setIcon(icon("close"))
        close.setAutoRaise(True)
        close.setToolTip(LABELS["dismiss"])
        close.setAccessibleName(LABELS["dismiss"])
        close.clicked.connect(self.closed)
        row = WrappingRow()
        row.setContentsMargins(8, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(Label(command("review").label))
        row.addWidget(copy)
        row.addWidget(close)
        row.at_right = copy
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addLayout(row)
        column.addWidget(self.text)

    def enter(self) -> None:
        """Takes the height of all lines, but at most two thirds of the splitter, and the focus, so that the arrows
        scroll and Esc closes."""
        beside = self.parentWidget()
        if isinstance(beside, QSplitter):
            rest = self.minimumSizeHint().height() - self.text.minimumSizeHint().height()
            lines = self.text.blockCount() * self.text.fontMetrics().lineSpacing()
            high = sum(beside.sizes())
            wanted = min(lines + rest + 4 * self.text.frameWidth() + 8, high * 2 // 3)
            beside.setSizes([high - wanted, 0, wanted])
        self.text.setFocus()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        if event is not None and event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        else:
            super().keyPressEvent(event)

    def show_diff(self, unified: str) -> None:
        """Shows `unified`, or that there are no changes."""
        text = unified or strings.NOTHING_TO_SAVE
        if text != self.text.toPlainText():
            self.text.setPlainText(text)


class CloseQuestion(QDialog):
    """The question, asked once, when a window with unsaved changes closes: shows them, and asks what to do."""

    def __init__(self, asked: Closing, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.answer: Literal["save", "discard", "cancel"] = "cancel"
        self.setWindowTitle(asked.title)
        sentence = Label(asked.sentence)
        sentence.setWordWrap(True)
        text = _DiffText()
        text.setPlainText(asked.text)
        buttons = QDialogButtonBox()
        save = buttons.addButton(asked.answer, QDialogButtonBox.ButtonRole.AcceptRole)
        discard = buttons.addButton(LABELS["discard"], QDialogButtonBox.ButtonRole.DestructiveRole)
        cancel = buttons.addButton(strings.CANCEL, QDialogButtonBox.ButtonRole.RejectRole)
        assert save is not None
        assert discard is not None
        assert cancel is not None
        save.setEnabled(asked.can_answer)
        save.clicked.connect(lambda: self._take("save"))
        discard.clicked.connect(lambda: self._take("discard"))
        cancel.clicked.connect(self.reject)
        column = QVBoxLayout(self)
        column.addWidget(sentence)
        column.addWidget(text, 1)
        column.addWidget(buttons)
        save.setDefault(asked.can_answer)  # in the dialog, else Qt forgets it when another button had the focus
        self.resize(640, 360)
        self.setWindowModality(Qt.WindowModality.WindowModal)

    def _take(self, answer: Literal["save", "discard"]) -> None:
        self.answer = answer
        self.accept()
