"""A list or tree of one column whose rows are as high as their texts need at its width, so that none is elided.

Qt's own delegate computes the height of a row for a text on one line, because it is not told the width.
"""

from __future__ import annotations

import re

from zarrscope_app.qt.toolkit.core import QModelIndex, QRect, QSize
from zarrscope_app.qt.toolkit.gui import QResizeEvent
from zarrscope_app.qt.toolkit.widgets import (
    QAbstractItemView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
)

_LONG = 20
"""Longer words, such as addresses, may be broken: after a sign that separates their parts, else anywhere."""
_ANY = 1 << 16
BREAK = "\N{ZERO WIDTH SPACE}"


def with_breaks(text: str) -> str:
    """The text with invisible places for the end of a line within its long words."""

    def broken(found: re.Match[str]) -> str:
        return re.sub(rf"([/\\_.:=&?,-]+(?=.)|[^/\\_.:=&?,-]{{{_LONG}}}(?=.))", rf"\1{BREAK}", found[0])

    return re.sub(rf"\S{{{_LONG + 1},}}", broken, text)


class WrappedTree(QTreeWidget):
    """A tree of one column, without a header, with rows of several lines."""

    def __init__(self) -> None:
        super().__init__()
        self.setHeaderHidden(True)
        self.setWordWrap(True)
        self.setUniformRowHeights(False)
        self.setItemDelegate(_WrappedRows(self))
        # A row may be higher than the list; row by row, its end could not be reached.
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self.scheduleDelayedItemsLayout()

    def width_of(self, index: QModelIndex) -> int:
        """The width for an item's icon and text, right of its indentation."""
        depth = 1
        while (index := index.parent()).isValid():
            depth += 1
        viewport = self.viewport()
        return max(1, (viewport.width() if viewport is not None else self.width()) - depth * self.indentation())


class _WrappedRows(QStyledItemDelegate):
    """Gives each row the height of its wrapped text."""

    def __init__(self, tree: WrappedTree) -> None:
        super().__init__(tree)
        self._tree = tree

    def initStyleOption(self, option: QStyleOptionViewItem | None, index: QModelIndex) -> None:
        super().initStyleOption(option, index)
        if option is not None:
            option.text = with_breaks(option.text or "")

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:
        asked = QStyleOptionViewItem(option)
        self.initStyleOption(asked, index)
        asked.rect = QRect(0, 0, self._tree.width_of(index), _ANY)  # Qt wraps only within a rectangle that has a height
        asked.features |= QStyleOptionViewItem.ViewItemFeature.WrapText
        style = self._tree.style()
        assert style is not None
        return style.sizeFromContents(QStyle.ContentsType.CT_ItemViewItem, asked, QSize(), self._tree)
