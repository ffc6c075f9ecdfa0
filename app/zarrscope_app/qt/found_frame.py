"""A frame that marks the field that a search has found, while the keyboard focus stays in the search field."""

from __future__ import annotations

from zarrscope_app.qt.toolkit.core import QEvent, QObject, Qt
from zarrscope_app.qt.toolkit.gui import QPainter, QPaintEvent, QPalette, QPen
from zarrscope_app.qt.toolkit.widgets import QWidget

_WIDE = 2
"""The width of the frame in pixels."""


class FoundFrame(QWidget):
    """A frame over the edges of `field`, of which it is a child, so that it moves with it. `close` removes it."""

    def __init__(self, field: QWidget) -> None:
        super().__init__(field)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        field.installEventFilter(self)
        self.setGeometry(field.rect())
        self.show()

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        """Follows the size of the field."""
        field = self.parentWidget()
        if field is not None and watched is field and event is not None and event.type() == QEvent.Type.Resize:
            self.setGeometry(field.rect())
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        painter.setPen(QPen(self.palette().color(QPalette.ColorRole.Highlight), _WIDE))
        painter.drawRect(self.rect().adjusted(1, 1, -1, -1))
        painter.end()
