"""A line of text in which the first click, and a double-click, select a whole number.

A click puts Qt's cursor into the number: typing 0.108 into a field that shows 1 would give "10.108". After a
double-click on 0.432 Qt would select "432", because it ends a word at the point, the comma and the sign of a number.
"""

from __future__ import annotations

import re

from zarrscope_app.qt.toolkit.core import QSize, Qt
from zarrscope_app.qt.toolkit.gui import QFocusEvent, QFont, QFontMetrics, QMouseEvent
from zarrscope_app.qt.toolkit.widgets import QLineEdit

_NUMBER = re.compile(r"(?<![\w.,])[+-]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][+-]?\d+)?(?!\w)")


_HINT = 17
"""The number of letters "x" that Qt's preferred width of a line holds."""


class NumberLine(QLineEdit):
    """An editor in which the click that gives it the keyboard focus selects the number that it begins with, to be
    replaced by typing; the next click puts the cursor into it. A double-click on a number selects all of it, elsewhere
    a word. A text without a number is edited as in any line."""

    _entered = False
    """Whether the mouse button is held that gave the line the keyboard focus."""

    def sizeHint(self) -> QSize:
        """The preferred size, which is the same in bold: else the columns of a form would move with its first edit."""
        hint, plain = super().sizeHint(), QFont(self.font())
        plain.setBold(False)
        wider = self.fontMetrics().horizontalAdvance("x") - QFontMetrics(plain).horizontalAdvance("x")
        return QSize(hint.width() - _HINT * wider, hint.height())

    def focusInEvent(self, event: QFocusEvent | None) -> None:
        assert event is not None
        super().focusInEvent(event)
        self._entered = event.reason() == Qt.FocusReason.MouseFocusReason

    def mouseReleaseEvent(self, event: QMouseEvent | None) -> None:
        super().mouseReleaseEvent(event)
        entered, self._entered = self._entered, False
        number = _NUMBER.match(self.text())
        if entered and number is not None and not self.hasSelectedText():
            self.setSelection(0, number.end())

    def mouseDoubleClickEvent(self, event: QMouseEvent | None) -> None:
        super().mouseDoubleClickEvent(event)
        start, end = self.selectionStart(), self.selectionEnd()
        for number in _NUMBER.finditer(self.text()) if start >= 0 else ():
            if number.start() <= start and end <= number.end():
                self.setSelection(number.start(), number.end() - number.start())
