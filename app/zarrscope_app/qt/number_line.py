"""A line of text in which a double-click selects a whole number.

Qt ends a word at the point, the comma and the sign of a number: after a double-click on 0.432 it would select "432",
and typing 0.65 would give "0.0.65".
"""

from __future__ import annotations

import re

from zarrscope_app.qt.toolkit.gui import QMouseEvent
from zarrscope_app.qt.toolkit.widgets import QLineEdit

_NUMBER = re.compile(r"(?<![\w.,])[+-]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][+-]?\d+)?(?!\w)")


class NumberLine(QLineEdit):
    """An editor in which a double-click on a number selects all of it; elsewhere it selects a word."""

    def mouseDoubleClickEvent(self, event: QMouseEvent | None) -> None:
        super().mouseDoubleClickEvent(event)
        start, end = self.selectionStart(), self.selectionEnd()
        for number in _NUMBER.finditer(self.text()) if start >= 0 else ():
            if number.start() <= start and end <= number.end():
                self.setSelection(number.start(), number.end() - number.start())
