"""The tree of nodes: a Qt model over `TreePresenter`, and its view with the filter.

The model shows at most a window of each row's children and widens it as the view scrolls (Qt's fetchMore), so a group
of a million children costs what is looked at. A row's sentence ("Loading…", "This group has no children.", a failure)
is shown as a dim child of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qtpy.QtCore import QAbstractItemModel, QItemSelectionModel, QModelIndex, Qt, Signal
from qtpy.QtGui import QKeySequence
from qtpy.QtWidgets import QAbstractItemView, QHeaderView, QLineEdit, QTreeView, QVBoxLayout, QWidget

from zarrscope_app.presenters import ROOT, Row, RowState, TreePresenter
from zarrscope_app.presenters.commands import LABELS

from .text import tip
from .theme import current_palette, icon, quiet, warning

_WINDOW = 500
_NOTE = 1 << 44
"""Added to a row's id: the row beneath it that shows its sentence."""

Index = Any
"""QModelIndex; Qt's declarations and PyQt's disagree about what else."""


class TreeModel(QAbstractItemModel):
    """Two columns: the name, and what the node is. `expanded(id, bool)` asks the view to follow the presenter."""

    unfold = Signal(object, bool)
    named = Signal(str, str)
    """(path, the name that somebody typed for it)"""

    def __init__(self, presenter: TreePresenter, parent: Any = None) -> None:
        super().__init__(parent)
        self._presenter = presenter
        self._rows: dict[int, Row] = {ROOT: presenter.row(ROOT)}
        self._children: dict[int, list[int]] = {}
        self._parents: dict[int, int] = {}
        self._limits: dict[int, int] = {}
        self.editable: Callable[[str], bool] | None = None
        """Whether the node at a path may get another name."""
        self.removing = False
        """Rows are going: what becomes current instead, nobody chose."""
        presenter.changed.connect(self._changed)
        self._sync(ROOT)

    def close(self) -> None:
        """Stop listening to the presenter."""
        self._presenter.changed.disconnect(self._changed)

    # ---------------------------------------------------------------- rows
    def row_of(self, index: Index) -> Row | None:
        """The presenter's row of an index; None for a sentence and for no index."""
        return self._rows.get(index.internalId()) if index.isValid() else None

    def is_note(self, index: Index) -> bool:
        """Whether the index is a sentence about its parent's children."""
        return bool(index.isValid() and index.internalId() >= _NOTE)

    def index_of(self, id: int) -> QModelIndex:
        """The index of a row, invalid while it is outside what the model shows."""
        if id == ROOT:
            return self.createIndex(0, 0, ROOT)
        parent = self._parents.get(id)
        siblings = self._children.get(parent, []) if parent is not None else []
        return self.createIndex(siblings.index(id), 0, id) if id in siblings else QModelIndex()

    def include(self, id: int) -> QModelIndex:
        """The index of a row, after showing more rows of each group above it until the row is among them."""
        try:
            row = self._presenter.row(id)
        except KeyError:
            return QModelIndex()
        if row.parent >= 0:
            if not self.include(row.parent).isValid():
                return QModelIndex()
            place = self._presenter.position(id)
            if place >= self._limits.get(row.parent, _WINDOW):
                self._limits[row.parent] = place + _WINDOW
            self._sync(row.parent)
        return self.index_of(id)

    def _wanted(self, id: int) -> list[Row]:
        return self._presenter.rows(id, 0, min(self._presenter.count(id), self._limits.setdefault(id, _WINDOW)))

    def _changed(self, id: int) -> None:
        if id in self._rows:
            self._sync(id)

    def _sync(self, id: int) -> None:
        try:
            row = self._presenter.row(id)
        except KeyError:
            return
        fresh = self._wanted(id)
        wanted = [child.id for child in fresh]
        note = bool(row.sentence)
        if note:
            wanted.append(id | _NOTE)
        index = self.index_of(id)
        old = self._children.get(id, [])
        if old != wanted:
            self._reshape(index, id, old, wanted, {child.id: child for child in fresh})
        # Rows that stayed may still have new texts.
        for place, child in enumerate(fresh):
            if self._rows.get(child.id) != child:
                self._rows[child.id] = child
                at = self.createIndex(place, 0, child.id)
                self.dataChanged.emit(at, at.siblingAtColumn(1))
        self._rows[id] = row
        self.dataChanged.emit(index, index.siblingAtColumn(1))
        if note:
            at = self.createIndex(len(wanted) - 1, 0, id | _NOTE)
            self.dataChanged.emit(at, at)
        for child in (row, *fresh):
            if child.expandable:
                self.unfold.emit(child.id, child.expanded)

    def _reshape(self, index: QModelIndex, id: int, old: list[int], wanted: list[int], rows: dict[int, Row]) -> None:
        kept, stays = set(wanted), list(old)
        place = {child: number for number, child in enumerate(wanted)}
        order = [place[child] for child in old if child in kept]
        if order != sorted(order):
            # Another order: rare (a refresh), so everything beneath goes and comes again.
            kept = set()
        for first, last in reversed(_runs([child not in kept for child in stays])):
            self.removing = True
            self.beginRemoveRows(index, first, last)
            for child in stays[first : last + 1]:
                self._forget(child)
            del stays[first : last + 1]
            self._children[id] = stays
            self.endRemoveRows()
            self.removing = False
        present = set(stays)
        for first, last in _runs([child not in present for child in wanted]):
            self.beginInsertRows(index, first, last)
            stays[first:first] = wanted[first : last + 1]
            for child in wanted[first : last + 1]:
                self._parents[child] = id
                if child in rows:
                    self._rows[child] = rows[child]
            self._children[id] = stays
            self.endInsertRows()

    def _forget(self, id: int) -> None:
        for child in self._children.pop(id, []):
            self._forget(child)
        self._rows.pop(id, None)
        self._parents.pop(id, None)
        self._limits.pop(id, None)

    # ---------------------------------------------------------------- Qt's questions
    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 -- as Qt declares it
        return 2

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 -- as Qt declares it
        if not parent.isValid():
            return 1
        return len(self._children.get(parent.internalId(), ())) if parent.column() == 0 else 0

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008 -- as Qt declares it
        if not self.hasIndex(row, column, parent):
            return QModelIndex()
        id = self._children[parent.internalId()][row] if parent.isValid() else ROOT
        return self.createIndex(row, column, id)

    def parent(self, index: Index = QModelIndex()) -> Any:  # noqa: B008 -- as Qt declares it
        above = self._parents.get(index.internalId()) if index.isValid() else None
        return QModelIndex() if above is None else self.index_of(above)

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008 -- as Qt declares it
        if not parent.isValid():
            return True
        row = self.row_of(parent)
        return parent.column() == 0 and row is not None and (row.expandable or self.rowCount(parent) > 0)

    def canFetchMore(self, parent: Index) -> bool:
        id = parent.internalId() if parent.isValid() else -1
        return id in self._children and id < _NOTE and self._presenter.count(id) > self._limits.get(id, _WINDOW)

    def fetchMore(self, parent: Index) -> None:
        if self.canFetchMore(parent):
            id = parent.internalId()
            self._limits[id] = self._limits.get(id, _WINDOW) + _WINDOW
            self._sync(id)

    def flags(self, index: Index) -> Any:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        if self.is_note(index):
            return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemNeverHasChildren
        plain = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        row = self.row_of(index)
        named = row is not None and index.column() == 0 and self.editable is not None and self.editable(row.path)
        return plain | Qt.ItemFlag.ItemIsEditable if named else plain

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        row = self.row_of(index)
        if row is not None and role == Qt.ItemDataRole.EditRole:
            self.named.emit(row.path, str(value))
        return False  # the name is another one when the node has it

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if self.is_note(index):
            return self._note_data(index, role)
        row = self.row_of(index)
        if row is None:
            return None
        name = index.column() == 0
        if role == Qt.ItemDataRole.DisplayRole:
            return (f"• {row.name}" if row.dirty else row.name) if name else row.detail
        if role == Qt.ItemDataRole.EditRole and name:
            return row.path.rpartition("/")[2]
        if role == Qt.ItemDataRole.DecorationRole:
            return icon(row.icon) if name else icon("warning") if row.badge else None
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(row.badge or row.path)
        if role == Qt.ItemDataRole.ForegroundRole and (not name or row.kind is None):
            return quiet(current_palette())
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return " ".join(part for part in (row.name, row.detail, row.badge) if part) if name else row.detail
        return None

    def _note_data(self, index: Index, role: int) -> Any:
        about = self._rows.get(index.internalId() - _NOTE)
        if about is None or index.column():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return about.sentence
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(about.sentence)
        failed = about.state is RowState.FAILED
        if role == Qt.ItemDataRole.ForegroundRole:
            palette = current_palette()
            return warning(palette) if failed else quiet(palette)
        if role == Qt.ItemDataRole.DecorationRole:
            return icon("retry") if about.retry else icon("close") if about.state is RowState.LOADING else None
        return None


class TreePane(QWidget):
    """Filter and tree. `chosen(path)` when the person goes to a node, `opened(path)` on Enter or a double-click,
    `renamed(path, name)` when a name was typed over another."""

    chosen = Signal(str)
    opened = Signal(str)
    renamed = Signal(str, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: TreePresenter | None = None
        self.model: TreeModel | None = None
        self.filter = QLineEdit()
        self.filter.setClearButtonEnabled(True)
        self.filter.setPlaceholderText(LABELS["filter"])
        self.filter.setAccessibleName(LABELS["filter"])
        self.filter.addAction(icon("search"), QLineEdit.ActionPosition.LeadingPosition)
        self.filter.textChanged.connect(self._filter)
        self.view = _View()
        self.view.setAccessibleName(LABELS["tree"])
        self.view.activated.connect(self._activated)
        self.view.clicked.connect(self._clicked)
        self.view.expanded.connect(lambda index: self._fold(index, True))
        self.view.collapsed.connect(lambda index: self._fold(index, False))
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 4, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.filter)
        column.addWidget(self.view)
        self._editable: Callable[[str], bool] | None = None
        self._following = False
        self._awaited: str | None = None
        self._path: str | None = None

    def attach(self, presenter: TreePresenter | None) -> None:
        """Show another tree."""
        old, self.model, self._presenter = self.model, None, presenter
        if old is not None:
            old.close()
        self.filter.blockSignals(True)
        self.filter.clear()
        self.filter.blockSignals(False)
        if presenter is not None:
            self.model = TreeModel(presenter, self)
            self.model.unfold.connect(self._unfold)
            self.model.named.connect(self.renamed)
            self.model.editable = self._editable
        self.view.setModel(self.model)
        if old is not None:
            old.deleteLater()
        if self.model is not None and presenter is not None:
            header = self.view.header()
            assert header is not None
            header.setStretchLastSection(False)
            header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
            header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
            selection = self.view.selectionModel()
            assert selection is not None
            selection.currentChanged.connect(self._current)
            self.model.rowsInserted.connect(self._arrived)
            self.model.rowsRemoved.connect(self._gone)
            self._unfold(ROOT, presenter.row(ROOT).expanded)

    @property
    def editable(self) -> Callable[[str], bool] | None:
        """Whether the node at a path may get another name; None: none may."""
        return self._editable

    @editable.setter
    def editable(self, asks: Callable[[str], bool] | None) -> None:
        self._editable = asks
        if self.model is not None:
            self.model.editable = asks

    def edit_name(self, path: str) -> None:
        """Lets the person type another name over that of the current node."""
        row = self.current_row()
        if row is not None and row.path == path and self._editable is not None and self._editable(path):
            self.view.setFocus()
            self.view.edit(self.view.currentIndex().siblingAtColumn(0))

    def show_path(self, path: str) -> None:
        """Make the node current without telling anybody; as soon as its row is there."""
        self._path = path
        current = self.current_row()
        if current is not None and current.path == path:
            self._awaited = None
            return
        self._awaited = path
        if self._presenter is not None:
            self._presenter.reveal(path)
            self._arrived()

    def current_row(self) -> Row | None:
        """The row under the keyboard."""
        return self.model.row_of(self.view.currentIndex()) if self.model is not None else None

    def _arrived(self) -> None:
        if self._awaited is None or self._presenter is None or self.model is None or self._following:
            return
        id = self._presenter.find(self._awaited)
        if id is None:
            return
        self._following = True
        try:
            index = self.model.include(id)
            if index.isValid():
                self._awaited = None
                selection = self.view.selectionModel()
                assert selection is not None
                selection.setCurrentIndex(
                    index, QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
                )
                self.view.scrollTo(index)
        finally:
            self._following = False

    def cancel_current(self) -> bool:
        """Stop what the current row is loading. False when it loads nothing."""
        row = self.current_row()
        if row is None or self._presenter is None or row.state is not RowState.LOADING:
            return False
        self._presenter.cancel(row.id)
        return True

    def _filter(self, text: str) -> None:
        if self._presenter is not None:
            self._presenter.filter(text)

    def _current(self, index: QModelIndex) -> None:
        row = self.model.row_of(index) if self.model is not None else None
        if self.model is None or row is None or self._following or self.view.taking_focus or self.model.removing:
            return
        self._path, self._awaited = row.path, None
        self.chosen.emit(row.path)

    def _gone(self) -> None:
        """Rows were removed: where the node went on being read, its row comes back."""
        current = self.current_row()
        if current is None or current.path != self._path:
            self._awaited = self._path

    def _clicked(self, index: QModelIndex) -> None:
        if self.model is not None and self.model.is_note(index):
            self._activated(index)

    def _activated(self, index: QModelIndex) -> None:
        if self.model is None or self._presenter is None:
            return
        if self.model.is_note(index):
            about = self.model.row_of(index.parent())
            if about is not None and about.retry:
                self._presenter.retry(about.id)
            elif about is not None and about.state is RowState.LOADING:
                self._presenter.cancel(about.id)
            return
        row = self.model.row_of(index)
        if row is not None:
            self.opened.emit(row.path)

    def _fold(self, index: QModelIndex, open: bool) -> None:
        row = self.model.row_of(index) if self.model is not None else None
        if row is not None and self._presenter is not None and self._presenter.row(row.id).expanded != open:
            self._presenter.expand(row.id) if open else self._presenter.collapse(row.id)

    def _unfold(self, id: int, open: bool) -> None:
        if self.model is not None:
            index = self.model.index_of(id)
            if index.isValid() and self.view.isExpanded(index) != open:
                self.view.setExpanded(index, open)


class _View(QTreeView):
    def __init__(self) -> None:
        super().__init__()
        self.setHeaderHidden(True)
        self.setUniformRowHeights(True)
        self.setAllColumnsShowFocus(True)
        self.setExpandsOnDoubleClick(True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setIndentation(14)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.taking_focus = False

    def focusInEvent(self, event: Any) -> None:
        # While the tree is read anew, no row is current, and Qt makes the first one it: nobody chose that.
        self.taking_focus = True
        super().focusInEvent(event)
        self.taking_focus = False

    def keyPressEvent(self, event: Any) -> None:
        # These two belong to the window even here; other letters look for a name, as in every tree. Copying is the
        # window's too: the view would copy what is written, not the path.
        if event.text() in ("/", "?") or event.matches(QKeySequence.StandardKey.Copy):
            event.ignore()
            return
        super().keyPressEvent(event)


def _runs(marks: list[bool]) -> list[tuple[int, int]]:
    """(first, last) of each stretch of True."""
    found: list[tuple[int, int]] = []
    for place, mark in enumerate(marks):
        if mark and found and found[-1][1] == place - 1:
            found[-1] = (found[-1][0], place)
        elif mark:
            found.append((place, place))
    return found
