"""The tree of nodes with its filter. `tree_model.TreeModel` provides its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zarrscope_app.presenters import ROOT, RootsPresenter, RowState, TreePresenter, TreeRow
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.qt.toolkit.core import QItemSelectionModel, QModelIndex, Qt, Signal
from zarrscope_app.qt.toolkit.gui import QKeyEvent
from zarrscope_app.qt.toolkit.widgets import (
    QHeaderView,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from .theme import icon
from .tree_model import TreeModel
from .tree_view import NodesView

_SELECT = QItemSelectionModel.SelectionFlag.Select


class TreePane(QWidget):
    """Filter and tree. `chosen(path)` is emitted when the person goes to a node, `opened(path)` on Enter or a
    double-click, `renamed(path, name)` when a new name was typed."""

    chosen = Signal(str)
    opened = Signal(str)
    together_opened = Signal()
    """Emitted after `opened` if several nodes are selected."""
    together_chosen = Signal()
    """Emitted when several nodes were selected by a click with Shift or Ctrl, or by Ctrl+A. With Shift and an arrow key
    more may follow."""
    renamed = Signal(str, str)
    selected = Signal(list)
    """Emits the paths of the nodes that are selected together, in the order of the tree."""
    asked = Signal(str)
    """Emits the command that a failed row offers."""
    entered = Signal(str)
    """Emits the text of the filter when Enter was pressed."""

    def __init__(self, parent: QWidget | None = None, margin: int = 8) -> None:
        """`margin`: the pixels at the left."""
        super().__init__(parent)
        self._presenter: TreePresenter | RootsPresenter | None = None
        self.model: TreeModel | None = None
        self.filter = QLineEdit()
        self.filter.setClearButtonEnabled(True)
        self.filter.setPlaceholderText(LABELS["filter"])
        self.filter.setAccessibleName(LABELS["filter"])
        self.filter.addAction(icon("search"), QLineEdit.ActionPosition.LeadingPosition)
        self.filter.textChanged.connect(self._filter)
        self.filter.returnPressed.connect(lambda: self.entered.emit(self.filter.text()))
        self.view = NodesView()
        self.view.setAccessibleName(LABELS["tree"])
        self.view.activated.connect(self._activated)
        self.view.end_wanted.connect(self._go_to_end)
        self.view.all_wanted.connect(self._expand_all)
        self.view.chosen_together.connect(self._chosen_together)
        self.view.clicked.connect(self._clicked)
        self.view.expanded.connect(lambda index: self._fold(index, True))
        self.view.collapsed.connect(lambda index: self._fold(index, False))
        column = QVBoxLayout(self)
        column.setContentsMargins(margin, 4, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.filter)
        column.addWidget(self.view)
        self.editable: Callable[[str], bool] | None = None
        """A function that returns whether the node at a path may be renamed; None if no node may be renamed."""
        self.saving: Callable[[], bool] = lambda: False
        """A function that tells whether edits are being saved; if so, Esc in the filter ends the wait for a lock."""
        self._following = False
        self._together: tuple[str, ...] = ()
        """The selected nodes, if there are several."""
        self._awaited: str | None = None
        self._path: str | None = None

    def attach(self, presenter: TreePresenter | RootsPresenter | None) -> None:
        """Shows the tree of another presenter; a `RootsPresenter` has several hierarchies, each with its own root."""
        if presenter is self._presenter:
            return
        old, self.model, self._presenter = self.model, None, presenter
        if old is not None:
            old.close()
        self.filter.blockSignals(True)
        self.filter.setText(presenter.filter_text if presenter is not None else "")
        self.filter.blockSignals(False)
        if presenter is not None:
            self.model = TreeModel(presenter, self)
            self.model.unfold.connect(self._unfold)
            self.model.named.connect(self.renamed)
            self.model.at_end = self.view.at_end
            self.model.rekinded.connect(self.view.lay_out_again)
            self.model.repaint.connect(self.view.paint_again)
        self.view.setModel(self.model)
        if old is not None:
            old.deleteLater()
        if self.model is not None and presenter is not None:
            header = self.view.header()
            assert header is not None
            header.setStretchLastSection(False)
            header.setMinimumSectionSize(0)  # a column without texts has no width
            header.setResizeContentsPrecision(0)  # Qt then measures visible rows only
            header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
            header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
            selection = self.view.selectionModel()
            assert selection is not None
            selection.currentChanged.connect(self._current)
            selection.selectionChanged.connect(self._selection)
            self.model.rowsInserted.connect(self._arrived)
            self.model.rowsRemoved.connect(self._gone)
            self._unfold(ROOT, presenter.row(ROOT).expanded)
            if isinstance(presenter, RootsPresenter):
                self.view.setRootIndex(self.model.index_of(ROOT))
                for id in presenter.expanded_beneath(ROOT):
                    self._unfold(id, True)

    def _shows(self, row: TreeRow | None, path: str | None) -> bool:
        """Whether the row is the node at `path` of the displayed hierarchy."""
        presenter = self._presenter
        return row is not None and row.path == path and presenter is not None and presenter.in_front(row.id)

    def edit_name(self, path: str) -> None:
        """Lets the person type a new name over that of the current node."""
        row = self.current_row()
        asks = self.editable
        if row is not None and self.model is not None and row.path == path and asks is not None and asks(path):
            self.view.setFocus()
            self.model.naming = row.id
            self.view.edit(self.view.currentIndex().siblingAtColumn(0))
            self.model.naming = -1

    def show_path(self, path: str) -> None:
        """Makes the node current without a signal, as soon as its row exists."""
        self._path = path
        if self._shows(self.current_row(), path):
            self._awaited = None
            self._select_current()
            return
        self._awaited = path
        if self._presenter is not None:
            self._presenter.reveal(path)
            self._arrived()

    def _select_current(self) -> None:
        """Selects the current row if no row is selected: a tree that gets the focus makes its first row current, but
        does not select it, so that nothing shows which node is displayed."""
        selection = self.view.selectionModel()
        if selection is not None and not selection.hasSelection() and not self._together:
            self._following = True
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            selection.select(self.view.currentIndex(), flags)
            self._following = False

    def show_several(self, paths: Sequence[str]) -> None:
        """Selects the rows of the nodes that are edited together, as far as they exist, without a signal."""
        was, self._together = self._together, tuple(paths)
        selection = self.view.selectionModel()
        if paths and was != self._together:
            if selection is not None:
                self._following = True
                selection.clearSelection()
                self._following = False
            self._arrived()
        elif len(was) > 1 and not paths and selection is not None:
            self._following = True
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            selection.select(self.view.currentIndex(), flags)
            self._following = False

    @property
    def together(self) -> tuple[str, ...]:
        """The paths of the selected nodes, if there are several."""
        return self._together

    def current_row(self) -> TreeRow | None:
        """The row with the keyboard focus."""
        return self.model.row_of(self.view.currentIndex()) if self.model is not None else None

    def _arrived(self) -> None:
        if self._presenter is None or self.model is None or self._following:
            return
        if len(self._together) > 1:
            self._select_together(self._presenter, self.model)
        if self._awaited is None:
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
                replaced = _SELECT if len(self._together) > 1 else QItemSelectionModel.SelectionFlag.ClearAndSelect
                selection.setCurrentIndex(index, replaced | QItemSelectionModel.SelectionFlag.Rows)
                self.view.scrollTo(index)
        finally:
            self._following = False

    def _select_together(self, presenter: TreePresenter | RootsPresenter, model: TreeModel) -> None:
        self._following = True
        try:
            selection = self.view.selectionModel()
            assert selection is not None
            for path in self._together:
                id = presenter.find(path)
                index = model.include(id) if id is not None else QModelIndex()  # the root's id is 0
                if index.isValid() and not selection.isSelected(index):
                    selection.select(index, _SELECT | QItemSelectionModel.SelectionFlag.Rows)
        finally:
            self._following = False

    def _selection(self) -> None:
        """Called when the selection changed: emits `selected` if the person changed it, not if rows were added or
        removed."""
        if self.model is None or self._following or self.view.taking_focus or self.model.removing:
            return
        selection = self.view.selectionModel()
        assert selection is not None
        rows = [self.model.row_of(index) for index in selection.selectedRows()]
        self._together = tuple(row.path for row in rows if row is not None and self._shows(row, row.path))
        self.selected.emit([*self._together])

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        assert event is not None
        escape = event.key() == Qt.Key.Key_Escape and not event.modifiers()
        if escape and self.filter.hasFocus() and not self.saving():
            self.filter.clear()
            self.view.setFocus()
        elif not (escape and (self.cancel_current() or self.clear_filter())):
            super().keyPressEvent(event)

    def cancel_current(self) -> bool:
        """Stops the loading of the current row, or of the group that contains it. Returns False if
        nothing is loading."""
        row = self.current_row()
        return self._presenter is not None and self._presenter.cancel_around(row.id if row is not None else ROOT)

    def leave_filter(self, opened: bool) -> None:
        """Moves the keyboard from the filter to the rows; `opened`: the typed text was a path."""
        if opened:
            self.filter.clear()
        self.view.setFocus()

    def clear_filter(self) -> bool:
        """Shows all names again. Returns False if none were hidden."""
        filtered = bool(self.filter.text())
        self.filter.clear()
        return filtered

    def _go_to_end(self) -> None:
        """Goes to the last row of the tree, which may be far below the rows that the model has."""
        presenter, model = self._presenter, self.model
        if presenter is not None and model is not None and presenter.count(ROOT):
            last = ROOT
            while last == ROOT or presenter.row(last).expanded:
                count = presenter.count(last)
                if not count:
                    break
                (last,) = presenter.ids(last, count - 1, count)
            index = model.include(last)
            self.view.setCurrentIndex(index)
            self.view.scrollTo(index)

    def _filter(self, text: str) -> None:
        if self._presenter is not None:
            self._presenter.filter(text)

    def _current(self, index: QModelIndex) -> None:
        row = self.model.row_of(index) if self.model is not None else None
        if self.model is None or row is None or self._following or self.view.taking_focus or self.model.removing:
            return
        if self._presenter is not None:
            self._following = True  # `enter` may make another row current: ignore that
            try:
                self._presenter.enter(row.id)
            finally:
                self._following = False
        self._path, self._awaited = row.path, None
        self.chosen.emit(row.path)

    def _gone(self) -> None:
        """Called when rows were removed. If the current node has lost its row, the node becomes current again when the
        row comes back."""
        if not self._shows(self.current_row(), self._path):
            self._awaited = self._path

    def _clicked(self, index: QModelIndex) -> None:
        if self.model is not None and self.model.is_note(index):
            self._activated(index)

    def _activated(self, index: QModelIndex) -> None:
        if self.model is None or self._presenter is None:
            return
        if self.model.is_note(index):
            if self.model.widen(index):
                return
            about = self.model.row_of(index.parent())
            if about is not None and about.offer:
                self._presenter.enter(about.id)
                self.asked.emit(about.offer)
            elif about is not None and about.retry:
                self._presenter.retry(about.id)
            elif about is not None and about.state is RowState.LOADING:
                self._presenter.cancel(about.id)
            return
        row = self.model.row_of(index)
        if row is not None:
            self.opened.emit(row.path)
            if len(self.together) > 1:
                self.together_opened.emit()

    def _chosen_together(self) -> None:
        if len(self.together) > 1:
            self.together_chosen.emit()

    def _fold(self, index: QModelIndex, open: bool) -> None:
        row = self.model.row_of(index) if self.model is not None else None
        if row is not None and self._presenter is not None and self._presenter.row(row.id).expanded != open:
            self._presenter.expand(row.id) if open else self._presenter.collapse(row.id)

    def _expand_all(self) -> None:
        row = self.current_row()
        if row is not None and self._presenter is not None:
            self._presenter.expand_all(row.id)

    def _unfold(self, id: int, open: bool) -> None:
        if self.model is not None:
            index = self.model.index_of(id)
            if index.isValid() and self.view.isExpanded(index) != open:
                self.view.setExpanded(index, open)
