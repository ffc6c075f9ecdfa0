"""The attributes as JSON text with line numbers; a faulty line is marked while it is typed."""

from __future__ import annotations

from zarrscope_app.presenters import EditPresenter, EditStatus
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.form.json_text import WHOLE, shape_of
from zarrscope_app.presenters.form.view_models import EditState, TextShape
from zarrscope_app.qt.toolkit.core import QRect, QSize, Qt, QTimer, Signal
from zarrscope_app.qt.toolkit.gui import QFocusEvent, QPainter, QPaintEvent, QResizeEvent, QTextCursor, QTextFormat
from zarrscope_app.qt.toolkit.widgets import QTextEdit, QVBoxLayout, QWidget

from .long_text import LINE, LongText, has_longer_line
from .text import Label
from .theme import current_palette, fixed_font, mix, quiet, warning
from .undo_keys import UndoKeys

_PAUSE = 250
"""Milliseconds after the last key until the text is checked."""
_COLUMNS = 60
"""In an editor of fewer characters a line, lines are wrapped, because most of them would be scrolled sideways."""
_LONG_LINE = 400
"""Lines are wrapped, too, if one has more characters than this, as in a document without line breaks, but not if it has
more than `LINE` and cannot get soft breaks: Qt lays out a wrapped line anew at every key."""
_SHORT_TEXT = 1 << 16
"""In a text of at most this many characters, lines are wrapped as soon as one is wider than the editor. Qt lays out all
lines anew when wrapping begins or ends, so in longer texts this does not depend on the width."""


class _Numbers(QWidget):
    """The line numbers at the left of the text."""

    def __init__(self, text: _Text) -> None:
        super().__init__(text)
        self._text = text

    def sizeHint(self) -> QSize:
        return QSize(self._text.margin(), 0)

    def paintEvent(self, event: QPaintEvent | None) -> None:
        self._text.paint_numbers(self)


class _Text(LongText):
    left = Signal()
    """Emitted when the keyboard focus has left the editor."""
    _long = _longer = False
    """Whether the text that was shown last has a line of more than _LONG_LINE characters, of more than LINE."""
    _short = ""
    """The text that was shown last, if it has at most _SHORT_TEXT characters; otherwise ""."""

    def __init__(self) -> None:
        super().__init__()
        self.setFont(fixed_font())
        self.setLineWrapMode(LongText.LineWrapMode.NoWrap)
        self.setTabChangesFocus(True)
        self.setAccessibleName(LABELS["attributes"])
        self.wrong = 0
        """The number of the marked line; 0: none."""
        self._numbers = _Numbers(self)
        self.blockCountChanged.connect(self._widen)
        self.updateRequest.connect(lambda rect, by: self._numbers.scroll(0, by) if by else self._numbers.update())
        self._widen()

    def margin(self) -> int:
        return 20 + self.fontMetrics().horizontalAdvance("9" * max(2, len(str(self.line_count()))))

    def _widen(self) -> None:
        self.setViewportMargins(self.margin(), 0, 0, 0)

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        area = self.contentsRect()
        self._numbers.setGeometry(QRect(area.left(), area.top(), self.margin(), area.height()))
        self._wrap()

    def show_text(self, text: str, shape: TextShape | None = None) -> None:
        if shape is None:
            if self.shows(text):  # as it was typed here
                return
            shape = shape_of(text)
        self._long, self._longer = shape.longest > _LONG_LINE, shape.longest > LINE
        self._short = text if len(text) <= _SHORT_TEXT else ""
        super().show_text(text, shape)
        self._wrap()

    def _wrap(self) -> None:
        """Wraps the lines if they would have to be scrolled sideways otherwise."""
        width = self.contentsRect().width() - self.margin()
        columns = width // max(1, self.fontMetrics().horizontalAdvance("0"))
        long = self._long or has_longer_line(self._short, max(1, columns))
        modes, wrapped = LongText.LineWrapMode, columns < _COLUMNS or (long and (self.soft or not self._longer))
        if (mode := modes.WidgetWidth if wrapped else modes.NoWrap) != self.lineWrapMode():
            self.setLineWrapMode(mode)

    def focusOutEvent(self, event: QFocusEvent | None) -> None:
        super().focusOutEvent(event)
        self.left.emit()

    def paint_numbers(self, where: QWidget) -> None:
        painter = QPainter(where)
        painter.setFont(self.font())
        block = self.firstVisibleBlock()
        number = self.number_at(block.position())
        palette = current_palette()
        colour, wrong = quiet(palette, 0.5), warning(palette)
        right, high, bottom = where.width() - 8, self.fontMetrics().height(), where.height()
        offset, align = self.contentOffset().y(), Qt.AlignmentFlag.AlignRight
        first = True
        while block.isValid():
            top = self.blockBoundingGeometry(block).top() + offset
            if top > bottom:
                break
            continues = self.continues(block)
            number += not first and not continues
            first = False
            if not continues:
                painter.setPen(wrong if number == self.wrong else colour)
                painter.drawText(QRect(0, round(top), right, high), align, str(number))
            block = block.next()
        painter.end()

    def mark(self, line: int) -> None:
        """Marks the line with this number, from 1, as faulty; 0 marks no line."""
        if line == self.wrong == 0:
            return
        self.wrong = line
        marked = []
        if 0 < line <= self.blockCount():
            selection = QTextEdit.ExtraSelection()
            palette = current_palette()
            selection.format.setBackground(mix(palette.base().color(), warning(palette), 0.25))
            selection.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
            document = self.document()
            assert document is not None
            selection.cursor = QTextCursor(document.findBlock(self.start_of(line)))
            marked.append(selection)
        self.setExtraSelections(marked)
        self._numbers.update()


class JsonForm(QWidget):
    """The JSON editor. `attach` takes an edit presenter, or None; `show_state` paints its state. `typed` is emitted
    when typing begins."""

    typed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: EditPresenter | None = None
        self._read_only = False
        self.text = _Text()
        self.text.textChanged.connect(self._changed)
        self.text.left.connect(self.commit)
        self._undo_keys = UndoKeys(self)
        self._undo_keys.watch(self.text)
        self.fault = Label()
        self.fault.setWordWrap(True)
        self.fault.setContentsMargins(8, 0, 8, 0)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE)
        self._pause.timeout.connect(self._try)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.text, 1)
        column.addWidget(self.fault)
        self.fault.hide()
        self.setFocusProxy(self.text)

    def attach(self, presenter: EditPresenter | None) -> None:
        """Shows another presenter's attributes."""
        self._presenter = presenter

    @property
    def pending(self) -> bool:
        """Whether the editor has a text that is not yet applied."""
        document = self.text.document()
        return self.isVisible() and document is not None and document.isModified() and not self.text.filling

    def show_state(self, state: EditState) -> None:
        """Paints the text; a text that is being typed stays."""
        self._read_only = state.status is EditStatus.READ_ONLY
        document = self.text.document()
        assert document is not None
        if document.isModified() and self.text.hasFocus():
            return
        self.text.show_text(state.text, state.text_shape)
        document.setModified(False)
        self._tell(state.text_line, state.text_error)

    def commit(self) -> None:
        """Applies the present text."""
        document = self.text.document()
        if self._presenter is not None and self.pending and document is not None:
            self._pause.stop()
            document.setModified(False)
            self._presenter.edit_text(self.text.content())
            self._presenter.being_typed.end()

    def _changed(self) -> None:
        self._pause.start()
        self.typed.emit()

    def _try(self) -> None:
        """Checks a text while it is typed. If the hierarchy is read-only, passes it to the presenter, which keeps it
        until editing is allowed."""
        if self._presenter is None:
            return
        if self._read_only and self.pending:
            self._presenter.edit_text(self.text.content())
        elif self.pending:
            self._presenter.being_typed.note(WHOLE, self.text.content())
        self._presenter.try_json(self.text.content(), self._tell)

    def _tell(self, line: int, sentence: str) -> None:
        self.text.mark(line)
        self.fault.set_ink(warning)
        self.fault.setText(sentence)
        self.fault.setVisible(bool(sentence))
