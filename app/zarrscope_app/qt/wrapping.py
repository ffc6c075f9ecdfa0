"""A row of widgets that continues on further lines where the width does not suffice, so that no button is elided."""

from __future__ import annotations

from zarrscope_app.qt.toolkit.core import QPoint, QRect, QSize
from zarrscope_app.qt.toolkit.widgets import QLayoutItem, QWidget

from .list_layout import ListLayout


class WrappingRow(ListLayout):
    """Widgets at their preferred size, from left to right, then on the next line. While all fit on one line, the widget
    `at_right` and those after it stand at the right end."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.at_right: QWidget | None = None

    # ---------------------------------------------------------------- sizes
    def sizeHint(self) -> QSize:
        """The size on one line."""
        shown = self._shown()
        widths = [item.sizeHint().width() for item in shown]
        tall = max((item.sizeHint().height() for item in shown), default=0)
        return self._with_margins(QSize(sum(widths) + self._gap * max(0, len(widths) - 1), tall))

    def minimumSize(self) -> QSize:
        """The size of the widest widget, with each of the others on a line of its own."""
        size = QSize()
        for item in self._shown():
            size = size.expandedTo(item.sizeHint())
        return self._with_margins(size)

    # ---------------------------------------------------------------- lines
    @property
    def _gap(self) -> int:
        return max(0, self.spacing())

    def _shown(self) -> list[QLayoutItem]:
        return [item for item in self._items if not item.isEmpty()]

    def _with_margins(self, size: QSize) -> QSize:
        margins = self.contentsMargins()
        return size + QSize(margins.left() + margins.right(), margins.top() + margins.bottom())

    def _arrange(self, rect: QRect, place: bool) -> int:
        inside = rect.marginsRemoved(self.contentsMargins())
        lines: list[list[QLayoutItem]] = [[]]
        used = 0
        for item in self._shown():
            wide = item.sizeHint().width()
            if lines[-1] and used + wide > inside.width():
                lines.append([])
                used = 0
            lines[-1].append(item)
            used += wide + self._gap
        y = inside.y()
        for line in lines:
            tall = max((item.sizeHint().height() for item in line), default=0)
            if place:
                spare = inside.width() - used + self._gap if len(lines) == 1 else 0
                self._place(line, inside.x(), y, tall, spare)
            y += tall + self._gap
        return y - self._gap + rect.bottom() - inside.bottom() - rect.y()

    def _place(self, line: list[QLayoutItem], x: int, y: int, tall: int, spare: int) -> None:
        widgets = [item.widget() for item in self._items]
        last = widgets[widgets.index(self.at_right) :] if self.at_right in widgets else []
        for item in line:
            size = item.sizeHint()
            if spare > 0 and item.widget() in last:
                x, spare = x + spare, 0
            item.setGeometry(QRect(QPoint(x, y + (tall - size.height()) // 2), size))
            x += size.width() + self._gap
