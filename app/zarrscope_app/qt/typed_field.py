"""A field that shows a number and lets a person type another: Enter applies the typed number, Esc restores the present
one."""

from __future__ import annotations

from zarrscope_app.qt.toolkit.core import QSize, Qt, Signal
from zarrscope_app.qt.toolkit.gui import QFocusEvent, QKeyEvent, QPalette
from zarrscope_app.qt.toolkit.widgets import QSizePolicy, QWidget

from .number_line import NumberLine
from .text import tip
from .theme import warning


class TypedField(NumberLine):
    """A field for a number. `typed(text)` is emitted when a person pressed Enter or left the field, `stepped(±1)` on Up
    or Down."""

    typed = Signal(str)
    stepped = Signal(int)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown, self._widest, self._refused = "", "", ""
        self.setAccessibleName(name)
        self.setFrame(False)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def show_text(self, text: str, refused: str = "") -> None:
        """Shows the present value; `refused` is the reason why the typed text is invalid. A text that is being typed
        stays."""
        if refused != self._refused:
            self._refused = refused
            self.setToolTip(tip(refused))
            self._mark()
        if text == self._shown and (refused or self.hasFocus() or self.text() == text):
            return
        wider = len(text) != len(self._shown)
        self._shown = text
        if wider:
            self.updateGeometry()
        if not refused and not (self.hasFocus() and self.isModified()):
            self.setText(text)

    def set_widest(self, text: str) -> None:
        """Sets the widest text to reserve space for, so that nothing moves while numbers change."""
        if text != self._widest:
            self._widest = text
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance(self._widest or self._shown or "0000") + 16, metrics.height() + 6)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def _mark(self) -> None:
        palette = QPalette() if not self._refused else QPalette(self.palette())
        if self._refused:
            palette.setColor(QPalette.ColorRole.Text, warning(self.palette()))
        self.setPalette(palette)
        font = self.font()
        font.setUnderline(bool(self._refused))
        self.setFont(font)

    def _take(self) -> None:
        if self.isModified():
            self.setModified(False)
            text = self.text()
            self.setText(self._shown)
            self.typed.emit(text)
            if self._refused:
                self.setText(text)

    # ---------------------------------------------------------------- gestures
    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        assert event is not None
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._take()
            self.selectAll()
        elif key == Qt.Key.Key_Escape:
            self.setText(self._shown)
            self.setModified(False)
            self.typed.emit(self._shown)
            self.clearFocus()
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.setModified(False)
            self.stepped.emit(1 if key == Qt.Key.Key_Up else -1)
            self.setText(self._shown)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent | None) -> None:
        assert event is not None
        super().focusInEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self.selectAll()

    def focusOutEvent(self, event: QFocusEvent | None) -> None:
        self._take()
        super().focusOutEvent(event)
        self.deselect()
