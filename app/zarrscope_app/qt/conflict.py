"""A conflict, field by field: both values side by side, and a choice of side for each field."""

from __future__ import annotations

from collections.abc import Sequence

from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.form.conflict_rows import (
    BEFORE,
    CHOOSE,
    FIELD,
    MINE,
    MOST_ROWS,
    THEIRS,
    ConflictRow,
    ConflictRows,
    can_merge,
    conflict_rows,
    conflict_summary,
)
from zarrscope_app.presenters.form.view_models import Disagreement, EditState, EditStatus
from zarrscope_app.qt.toolkit.core import QAbstractTableModel, QModelIndex, QSize, Qt, Signal
from zarrscope_app.qt.toolkit.gui import QFont, QKeyEvent, QResizeEvent
from zarrscope_app.qt.toolkit.widgets import (
    QAbstractItemView,
    QApplication,
    QHeaderView,
    QPushButton,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from . import kept_lock
from .text import Label, tip
from .theme import current_palette, mix, quiet
from .wrapping import WrappingRow

_HEADS = (FIELD, BEFORE, MINE, THEIRS)
_ANSWERED = frozenset(
    (
        Qt.ItemDataRole.DisplayRole,
        Qt.ItemDataRole.ToolTipRole,
        Qt.ItemDataRole.FontRole,
        Qt.ItemDataRole.BackgroundRole,
        Qt.ItemDataRole.ForegroundRole,
    )
)
_SIDES = {2: "mine", 3: "theirs"}
"""The side whose value a column shows."""
_MOST_SEEN = 8
"""The most rows that are visible at once; further ones are reached by scrolling."""
_LEAST_SEEN = 2
"""The rows that stay visible in a low window."""
_Listed = tuple[Sequence[Disagreement], Sequence[Disagreement]]
_NONE = ConflictRows((), ())


class ConflictView(QWidget):
    """The fields of a conflict as a table. `chosen(pointer, side, path)` is emitted when a person chooses the side of
    one field, `resolved("mine" | "theirs" | "chosen")` when a button ends the conflict."""

    resolved = Signal(str)
    chosen = Signal(str, str, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = _NONE
        self._listed: _Listed = ((), ())
        """The fields that both sides, and that one side changed, of which the rows were made."""
        self._told = Label()
        self._told.setWordWrap(True)
        self.table = _Table()
        self.table.picked.connect(self._pick)
        row = WrappingRow()
        row.setSpacing(8)
        self._buttons: dict[str, QPushButton] = {}
        for whose, text in (
            ("theirs", LABELS["take-theirs"]),
            ("mine", LABELS["keep-mine"]),
            ("chosen", LABELS["merge"]),
        ):
            button = QPushButton(text)
            button.clicked.connect(lambda _=False, whose=whose: self.resolved.emit(whose))
            self._buttons[whose] = button
        for whose in ("theirs", "mine", "chosen"):
            row.addWidget(self._buttons[whose])
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 0, 8, 4)
        column.addWidget(self.table)
        column.addWidget(self._told)
        column.addLayout(row)

    def show_state(self, state: EditState) -> None:
        """Shows the fields of a conflict; hidden if there is none."""
        shown = state.status is EditStatus.CONFLICT
        appears = shown and self.isHidden()
        self.setVisible(shown)
        listed = (state.conflicts, state.fitting) if shown else ((), ())
        if not _same(listed, self._listed):  # of a large document both are long, and mostly stay
            self._listed = listed
            self._rows = conflict_rows(state) if shown else _NONE
            self.table.show_rows(self._rows)
        self.table.setVisible(bool(self._rows))
        self._told.setText(conflict_summary(state) if shown else "")
        self._buttons["chosen"].setEnabled(can_merge(state))
        self._buttons["chosen"].setDefault(can_merge(state))
        self._fit()
        form, focused = self.parentWidget(), QApplication.focusWidget()
        if appears and form is not None and focused is not None and form.isAncestorOf(focused):
            (self.table if self._rows else self._buttons["chosen"]).setFocus()  # else Tab would cross the form

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Asks for the height of the buttons' lines, which depends on the width."""
        layout = self.layout()
        assert layout is not None
        self.setMinimumHeight(layout.minimumHeightForWidth(self.width()))

    def _pick(self, place: int, side: str) -> None:
        row = self._rows[place]
        if not row.fixed:
            self.chosen.emit(row.field.pointer, side, row.field.path)


class _Model(QAbstractTableModel):
    """The rows as Qt's model, which is asked for the visible ones only."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._view = parent
        self._rows = _NONE

    def show_rows(self, rows: ConflictRows) -> None:
        """Takes other rows; the same number of rows keeps its place on the screen."""
        if len(rows) == len(self._rows):
            self._rows = rows
            if rows:
                self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, len(_HEADS) - 1))
            return
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def rowCount(self, parent: QModelIndex = QModelIndex()) -> int:  # noqa: B008 -- as Qt declares it
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: QModelIndex = QModelIndex()) -> int:  # noqa: B008 -- as Qt declares it
        return len(_HEADS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        shown = role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal
        return _HEADS[section] if shown else None

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role not in _ANSWERED or not index.isValid():
            return None
        row, column = self._rows[index.row()], index.column()
        text = (row.label, row.before, row.mine, row.theirs)[column]
        side = _SIDES.get(column)
        taken = side is not None and row.choice == side
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{_sign(row, taken) if side is not None else ''}{text}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(row.note or text)
        if role == Qt.ItemDataRole.FontRole and taken and not row.fixed:
            font = QFont(self._view.font())
            font.setBold(True)
            return font
        palette = current_palette()
        if role == Qt.ItemDataRole.BackgroundRole and taken and not row.fixed:
            return mix(palette.base().color(), palette.highlight().color(), 0.25)
        pale = row.fixed or column == 1 or (side is not None and row.choice and not taken)
        return quiet(palette) if role == Qt.ItemDataRole.ForegroundRole and pale else None


def _sign(row: ConflictRow, taken: bool) -> str:
    """The sign before a value, which says whether its side is chosen, or can be."""
    if taken:
        return "✓ " if row.fixed else "● "
    return "" if row.fixed else "○ "


class _Table(kept_lock.TableView):
    """A row for each field and a column for each side. A click, Space or Enter on a value chooses its side."""

    picked = Signal(int, str)

    def __init__(self) -> None:
        super().__init__()
        self._needed = 0
        """The width that the paths need."""
        self._model = _Model(self)
        self.setModel(self._model)
        self.setAccessibleName(CHOOSE)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        side, top = self.verticalHeader(), self.horizontalHeader()
        if side is not None:
            side.hide()
        if top is not None:
            top.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
            top.setSectionResizeMode(0, QHeaderView.ResizeMode.Fixed)
            top.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
            top.setHighlightSections(False)
            top.setResizeContentsPrecision(_MOST_SEEN)  # Qt would measure every path
        self.setItemDelegateForColumn(0, _PathPainter(self))
        self.clicked.connect(self._pick)

    def show_rows(self, rows: ConflictRows) -> None:
        """Lists these rows; the cursor stays."""
        before = self.currentIndex()
        at = before.row(), before.column()
        self._model.show_rows(rows)
        self._needed = self.sizeHintForColumn(0)
        if rows:
            column = at[1] if at[1] in _SIDES else 2
            self.setCurrentIndex(self._model.index(min(max(at[0], 0), len(rows) - 1), column))
            line, head = self.rowHeight(0), self.horizontalHeader()
            rest = (head.height() if head is not None else 0) + 2 * self.frameWidth()
            self.setMinimumHeight(rest + line * min(len(rows), _LEAST_SEEN))
            self.setMaximumHeight(rest + line * min(len(rows), _MOST_SEEN))
        self._fit()

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self.maximumHeight())

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Gives the paths as much width as they need, from a quarter of the table to half of it."""
        viewport = self.viewport()
        width = viewport.width() if viewport is not None else 0
        self.setColumnWidth(0, max(width // 4, min(self._needed, width // 2)))

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        assert event is not None
        if event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._pick(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _pick(self, index: QModelIndex) -> None:
        if index.isValid() and index.column() in _SIDES:
            self.picked.emit(index.row(), _SIDES[index.column()])


class _PathPainter(QStyledItemDelegate):
    """Paints the end of a path that is too long: the beginning is the same in most rows."""

    def initStyleOption(self, option: QStyleOptionViewItem | None, index: QModelIndex) -> None:
        super().initStyleOption(option, index)
        if option is not None:
            option.textElideMode = Qt.TextElideMode.ElideLeft


def _same(one: _Listed, other: _Listed) -> bool:
    """Whether both are the same fields. Long tuples are compared by identity, because their contents take long."""
    pairs = zip(one, other, strict=True)
    return all(a is b or (len(a) == len(b) <= MOST_ROWS and a == b) for a, b in pairs)
