"""The view of the tree of nodes: how its rows are painted and share their columns, and its keys."""

from __future__ import annotations

from collections.abc import Iterator

from zarrscope_app.qt.toolkit.core import QModelIndex, QPoint, QRect, Qt, Signal
from zarrscope_app.qt.toolkit.gui import QFocusEvent, QKeyEvent, QKeySequence, QMouseEvent, QPainter
from zarrscope_app.qt.toolkit.widgets import (
    QAbstractItemView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from . import kept_lock
from .editors import is_typed
from .tree_model import TreeModel

_LEAST_TEXT = 40
"""In fewer pixels the text of the second column is left out: its first letters would say nothing."""
_ICON = 30
"""The width in pixels of the icon in front of a name, with the margins of both."""
_MARGINS = 16
"""More pixels than the margins of a text take in any style."""


class RowPainter(QStyledItemDelegate):
    """Paints sentences over both columns, cut at their ends; names and the texts of the second column are shortened so
    that neighbours differ, and names take both columns if the second one has no text."""

    _bare = False
    """Whether the cell that is painted has room for its icon only."""
    _paints = False
    """Whether a cell is painted, and not only measured."""

    def setEditorData(self, editor: QWidget | None, index: QModelIndex) -> None:
        if editor is not None and not is_typed(editor):
            super().setEditorData(editor, index)

    def paint(self, painter: QPainter | None, option: QStyleOptionViewItem, index: QModelIndex) -> None:
        """Paints a cell in the room that the row gives it."""
        view, model, second = self.parent(), index.model(), bool(index.column())
        assert isinstance(view, NodesView)
        assert isinstance(model, TreeModel)
        if second and model.is_wide(index):
            return
        if second or model.is_note(index):
            option.textElideMode = Qt.TextElideMode.ElideRight  # of names the middle, if shortening was not enough
        option.rect = view.room(model, index, option.rect)
        bare = second and not view.has_text(index, option.rect)
        if bare and index.data(Qt.ItemDataRole.DecorationRole) is None:
            return
        self._bare, self._paints = bare, True
        super().paint(painter, option, index)
        # else the column would be measured without its texts, and stay too narrow for them
        self._bare = self._paints = False
        if not second:
            model.note_painted(index)

    def initStyleOption(self, option: QStyleOptionViewItem | None, index: QModelIndex) -> None:
        super().initStyleOption(option, index)
        if option is None or not self._paints:
            return
        if self._bare:
            option.text = ""
        elif option.fontMetrics.horizontalAdvance(option.text) > option.rect.width() - _ICON - _MARGINS:
            option.text = self._shortened(option, index, option.text or "")

    def _shortened(self, option: QStyleOptionViewItem, index: QModelIndex, text: str) -> str:
        """The text of a cell, as far as its style has room for it."""
        view, model = self.parent(), index.model()
        assert isinstance(view, NodesView)
        assert isinstance(model, TreeModel)
        style = view.style()
        if style is None or model.is_note(index):
            return text
        rect = style.subElementRect(QStyle.SubElement.SE_ItemViewItemText, option, view)
        width = rect.width() - 2 * (style.pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin, option, view) + 1)
        advance = option.fontMetrics.horizontalAdvance
        return model.short_text(index, text, lambda shown: advance(shown) <= width)


class NodesView(kept_lock.TreeView):
    """The rows in two columns: the name, and the kind of node or its title."""

    end_wanted = Signal()
    all_wanted = Signal()
    chosen_together = Signal()
    """Emitted after a gesture that selects several rows at once."""

    def __init__(self) -> None:
        super().__init__()
        self.setHeaderHidden(True)
        self.setUniformRowHeights(True)
        self.setAllColumnsShowFocus(True)
        self.setExpandsOnDoubleClick(True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setIndentation(14)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setDragEnabled(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
        self.setItemDelegate(RowPainter(self))
        self.taking_focus = False
        self._hint: tuple[tuple[object, ...], int] | None = None
        """The state in which the second column was last measured, and its width: Qt asks several times a change."""

    def room(self, model: TreeModel, index: QModelIndex, cell: QRect) -> QRect:
        """The part of a row in which a cell is painted. A name that is too long for its column is continued in the
        second one, of which only an icon keeps its place; without a text there the name has the whole row."""
        viewport, header, room = self.viewport(), self.header(), QRect(cell)
        if viewport is None or header is None or self.isRightToLeft():
            return room
        if model.is_wide(index):
            room.setRight(viewport.width() - 1)
            return room
        row = model.row_of(index)
        name = self.fontMetrics().horizontalAdvance(row.name) if row is not None else 0
        end = self.visualRect(index.siblingAtColumn(0)).left() + _ICON + name
        beside = index.siblingAtColumn(1).data(Qt.ItemDataRole.DecorationRole)
        most = viewport.width() - (_ICON if beside is not None else 0)
        split = max(header.sectionViewportPosition(1), min(end, most))
        room.setLeft(split) if index.column() else room.setRight(split - 1)
        return room

    def has_text(self, index: QModelIndex, room: QRect) -> bool:
        """Whether the text of a cell of the second column is painted: not where only its first letters would be."""
        beside = _ICON if index.data(Qt.ItemDataRole.DecorationRole) is not None else 0
        return room.width() - beside >= _LEAST_TEXT

    def sizeHintForColumn(self, column: int) -> int:
        """The second column is as wide as its texts: see `room` for names that are too long beside them."""
        viewport, model = self.viewport(), self.model()
        if column != 1 or viewport is None or not isinstance(model, TreeModel):
            return super().sizeHintForColumn(column)
        first, last = self.indexAt(QPoint(0, 0)), self.indexAt(QPoint(0, viewport.height() - 1))
        seen = first.internalId() if first.isValid() else -1, last.internalId() if last.isValid() else -1
        measured = model, model.revision, seen, viewport.size(), self.font().key()
        if self._hint is None or self._hint[0] != measured:
            self._hint = measured, self._measure(model, viewport.width())
        return self._hint[1]

    def _measure(self, model: TreeModel, width: int) -> int:
        """The width of the second column in a view of this width."""
        widest = model.widest_texts(self._visible(), self.fontMetrics().horizontalAdvance)
        return min(max((self.sizeHintForIndex(index).width() for index in widest), default=0), width * 3 // 4)

    def _visible(self) -> Iterator[QModelIndex]:
        """The indices of the visible rows, from above."""
        viewport = self.viewport()
        index = self.indexAt(QPoint(0, 0))
        end, high = viewport.height() if viewport is not None else 0, self.rowHeight(index)
        top = self.visualRect(index).top()
        while index.isValid() and top < end and high:  # all rows are equally high
            yield index
            index, top = self.indexBelow(index), top + high

    def focusInEvent(self, event: QFocusEvent | None) -> None:
        # While the tree is reloaded, Qt makes the first row current, which is not a choice of the person.
        self.taking_focus = True
        super().focusInEvent(event)
        self.taking_focus = False

    def mouseReleaseEvent(self, event: QMouseEvent | None) -> None:
        assert event is not None
        super().mouseReleaseEvent(event)
        extends = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier
        if event.button() == Qt.MouseButton.LeftButton and event.modifiers() & extends:
            self.chosen_together.emit()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        # The window handles "/", "?", "," and the keys for copying, which copy the path of a node, not the text of its
        # row. Other letters search for a name, as in every Qt tree.
        assert event is not None
        if event.text() in ("/", "?", ",") or event.matches(QKeySequence.StandardKey.Copy):
            event.ignore()
            return
        if event.key() == Qt.Key.Key_End and not event.modifiers():
            self.end_wanted.emit()
            return
        if event.text() == "*":  # Qt would expand every row that has arrived, and request as many listings
            self.all_wanted.emit()
            return
        super().keyPressEvent(event)
        if event.matches(QKeySequence.StandardKey.SelectAll):
            self.chosen_together.emit()

    def at_end(self) -> bool:
        """Whether the tree is scrolled down to its end."""
        bar = self.verticalScrollBar()
        return bar is not None and 0 < bar.maximum() == bar.value()

    def lay_out_again(self) -> None:
        """Updates the layout after some rows have become expandable, or are no longer."""
        self.scheduleDelayedItemsLayout()

    def paint_again(self) -> None:
        """Paints every visible row again."""
        viewport = self.viewport()
        if viewport is not None:
            viewport.update()
