"""A layout of a list of widgets, of which the height follows from the width."""

from __future__ import annotations

from abc import abstractmethod

from zarrscope_app.qt.toolkit.core import QRect, Qt
from zarrscope_app.qt.toolkit.widgets import QLayout, QLayoutItem, QWidget


class ListLayout(QLayout):
    """Keeps the items, and answers Qt by the one method that places them. The height at each width is kept until an
    item changes, as Qt's own layouts do: Qt asks for it many times while it builds a form."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._heights: dict[int, int] = {}

    @abstractmethod
    def _arrange(self, rect: QRect, place: bool) -> int:
        """Places the items within a rectangle, or only computes the height that they need at its width."""

    def addItem(self, item: QLayoutItem | None) -> None:
        if item is not None:
            self._items.append(item)
            self.invalidate()

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        self.invalidate()
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        if width not in self._heights:
            self._heights[width] = self._arrange(QRect(0, 0, width, 0), place=False)
        return self._heights[width]

    def invalidate(self) -> None:
        """Called by Qt when an item has changed: forgets the heights."""
        super().invalidate()
        self._heights.clear()

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, place=True)
