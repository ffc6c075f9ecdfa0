"""The Attributes tab: the fields of a document as a tree with an editor per kind, and what became of the changes.

The presenter's flat list of fields (each with its depth) is the only truth; the model mirrors it and forwards every
edit. A field that is wrong keeps its text and says why in its own row.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from qtpy.QtCore import QAbstractItemModel, QModelIndex, QSignalBlocker, QSize, Qt, Signal
from qtpy.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QMenu,
    QSplitter,
    QStackedWidget,
    QStyledItemDelegate,
    QToolButton,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from zarrscope_app.presenters import EditPresenter, EditStatus, Field
from zarrscope_app.presenters.commands import LABELS, command
from zarrscope_app.presenters.form.view_models import EditState, Way

from .editors import EDITORS, Choice
from .json_form import JsonForm
from .review import ConflictView, DiffView
from .section_form import SectionForm
from .text import Label, tip
from .theme import current_palette, icon, quiet, warning
from .ways import WayButtons

_NAME, _VALUE, _KIND = range(3)
_CONTAINERS = ("list", "object")


class FormModel(QAbstractItemModel):
    """Fields by their place in the presenter's list: an index carries that place."""

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self.presenter: EditPresenter | None = None
        self._fields: tuple[Field, ...] = ()
        self._parents: list[int] = []
        self._children: dict[int, list[int]] = {}
        self._row: list[int] = []

    def show_fields(self, fields: tuple[Field, ...]) -> bool:
        """Mirror `fields`. True when rows came or went, so that a view has to open its branches again."""
        before = [(field.pointer, field.depth) for field in self._fields]
        if before == [(field.pointer, field.depth) for field in fields]:
            old, self._fields = self._fields, fields
            for place, (one, other) in enumerate(zip(old, fields, strict=True)):
                if one != other:
                    self.dataChanged.emit(self.at(place), self.at(place, _KIND))
            return False
        self.beginResetModel()
        self._fields = fields
        self._parents, self._children, self._row = [], {}, []
        above: list[int] = []
        for place, field in enumerate(fields):
            while above and fields[above[-1]].depth >= field.depth:
                above.pop()
            parent = above[-1] if above else -1
            self._parents.append(parent)
            siblings = self._children.setdefault(parent, [])
            self._row.append(len(siblings))
            siblings.append(place)
            above.append(place)
        self.endResetModel()
        return True

    @property
    def size(self) -> int:
        """The number of fields on show."""
        return len(self._row)

    def at(self, place: int, column: int = 0) -> QModelIndex:
        """The index of the field at `place` of the list."""
        return self.createIndex(self._row[place], column, place)

    def field(self, index: Any) -> Field | None:
        """The field of an index."""
        return self._fields[index.internalId()] if index.isValid() else None

    def place_of(self, pointer: str) -> int | None:
        """The position of a field in the list."""
        return next((place for place, field in enumerate(self._fields) if field.pointer == pointer), None)

    def columnCount(self, parent: Any = QModelIndex()) -> int:  # noqa: B008 -- as Qt declares it
        return 3

    def rowCount(self, parent: Any = QModelIndex()) -> int:  # noqa: B008 -- as Qt declares it
        if parent.isValid() and parent.column():
            return 0
        return len(self._children.get(parent.internalId() if parent.isValid() else -1, ()))

    def index(self, row: int, column: int, parent: Any = QModelIndex()) -> QModelIndex:  # noqa: B008 -- as Qt declares it
        if not self.hasIndex(row, column, parent):
            return QModelIndex()
        return self.createIndex(row, column, self._children[parent.internalId() if parent.isValid() else -1][row])

    def parent(self, index: Any = QModelIndex()) -> Any:  # noqa: B008 -- as Qt declares it
        above = self._parents[index.internalId()] if index.isValid() else -1
        return QModelIndex() if above < 0 else self.at(above)

    def hasChildren(self, parent: Any = QModelIndex()) -> bool:  # noqa: B008 -- as Qt declares it
        field = self.field(parent)
        if field is None:
            return bool(self._fields)
        return parent.column() == 0 and field.kind in _CONTAINERS and field.members > 0

    def headerData(self, section: int, orientation: Any, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return LABELS[("name", "value", "kind")[section]]
        return None

    def flags(self, index: Any) -> Any:
        field = self.field(index)
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        if field is None or self.presenter is None or self.presenter.state.status is EditStatus.READ_ONLY:
            return flags
        if index.column() == _VALUE and field.kind not in (*_CONTAINERS, "null"):
            flags |= Qt.ItemFlag.ItemIsEditable
        if index.column() == _KIND and len(field.kinds) > 1:
            flags |= Qt.ItemFlag.ItemIsEditable
        if index.column() == _NAME and field.can_rename:
            flags |= Qt.ItemFlag.ItemIsEditable
        return flags

    def data(self, index: Any, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        field = self.field(index)
        if field is None:
            return None
        column = index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            value = f"{field.summary}   {field.error}" if field.error else field.summary
            return (f"• {field.label}" if field.changed else field.label, value, field.kind)[column]
        if role == Qt.ItemDataRole.EditRole:
            return (field.label, field.text, field.kind)[column]
        if role == Qt.ItemDataRole.ForegroundRole:
            palette = current_palette()
            if field.error and column == _VALUE:
                return warning(palette)
            if column == _KIND or (column == _VALUE and field.kind in (*_CONTAINERS, "null")):
                return quiet(palette)
        if role == Qt.ItemDataRole.DecorationRole and column == _VALUE and field.error:
            return icon("warning")
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(
                field.error
                or (field.summary if column == _VALUE else field.title if column == _KIND else field.pointer)
            )
        return None

    def setData(self, index: Any, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        field = self.field(index)
        if field is None or self.presenter is None or role != Qt.ItemDataRole.EditRole:
            return False
        text = str(value)
        if index.column() == _NAME and text != field.label:
            self.presenter.rename(field.pointer, text)
        elif index.column() == _VALUE and (text != field.text or field.error):
            self.presenter.edit(field.pointer, text)
        elif index.column() == _KIND and text != field.kind:
            self.presenter.retype(field.pointer, text)  # type: ignore[arg-type]  # one of field.kinds
        return True


class _Delegate(QStyledItemDelegate):
    """A list to choose from for kinds; for values the editor of the table."""

    def sizeHint(self, option: Any, index: Any) -> Any:
        size = super().sizeHint(option, index)
        # Room for the line editor, which Qt squeezes into the row.
        return size.expandedTo(QSize(0, option.fontMetrics.height() + 8))

    def createEditor(self, parent: Any, option: Any, index: Any) -> Any:
        field = index.model().field(index)
        make = EDITORS[field.editor] if index.column() == _VALUE else None
        if index.column() == _KIND:
            editor: QWidget = Choice(parent, field.kinds)
        elif make is not None:
            editor = make(parent, field)
        else:
            return super().createEditor(parent, option, index)
        if isinstance(editor, Choice):
            editor.activated.connect(lambda _: self._chosen(editor))
        return editor

    def _chosen(self, editor: QWidget) -> None:
        self.commitData.emit(editor)
        self.closeEditor.emit(editor)

    def setEditorData(self, editor: Any, index: Any) -> None:
        if isinstance(editor, QComboBox):
            editor.setCurrentText(index.data(Qt.ItemDataRole.EditRole))
        else:
            super().setEditorData(editor, index)

    def setModelData(self, editor: Any, model: Any, index: Any) -> None:
        if isinstance(editor, QComboBox):
            model.setData(index, editor.currentText())
        else:
            super().setModelData(editor, model, index)


class AttributesPane(QWidget):
    """`attach` an edit presenter, or None. `asked(command)` for what the window does: save, undo, review …"""

    asked = Signal(str)
    typed = Signal()
    """A text was begun in an editor: it can be saved before it is taken over."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: EditPresenter | None = None
        self.model = FormModel(self)
        self.view = QTreeView()
        self.view.setModel(self.model)
        self.view.setItemDelegate(_Delegate(self.view))
        self.view.setUniformRowHeights(True)
        self.view.setAlternatingRowColors(True)
        self.view.setAccessibleName(LABELS["attributes"])
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.customContextMenuRequested.connect(self._menu)
        self.view.setEditTriggers(
            QAbstractItemView.EditTrigger.DoubleClicked
            | QAbstractItemView.EditTrigger.EditKeyPressed
            | QAbstractItemView.EditTrigger.SelectedClicked
        )
        self.view.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.view.expanded.connect(lambda index: self._fold(index, False))
        self.view.collapsed.connect(lambda index: self._fold(index, True))
        selection = self.view.selectionModel()
        assert selection is not None
        selection.currentChanged.connect(lambda *_: self._enable_remove())
        header = self.view.header()
        assert header is not None
        header.setStretchLastSection(False)
        header.setSectionResizeMode(_NAME, QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(_VALUE, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(_KIND, QHeaderView.ResizeMode.ResizeToContents)
        header.resizeSection(_NAME, 320)
        self._sentence = Label()
        self._sentence.setWordWrap(True)
        self._buttons: dict[str, QToolButton] = {}
        self._ways = WayButtons()
        self._ways.asked.connect(self._show_way)
        self.diff = DiffView()
        self.diff.closed.connect(lambda: self.show_diff(False))
        self.conflict = ConflictView()
        self.conflict.resolved.connect(self._resolve)
        self.sections = SectionForm()
        self.json = JsonForm()
        self._stack = QStackedWidget()
        self._stack.addWidget(self.view)
        for page in (self.sections, self.json):
            page.typed.connect(self._typing)
            self._stack.addWidget(page)
        self._verdict = Label()
        self._verdict.setWordWrap(True)
        self._verdict.setContentsMargins(16, 0, 8, 4)
        split = QSplitter(Qt.Orientation.Vertical)
        split.addWidget(self._stack)
        split.addWidget(self.diff)
        split.setSizes([300, 200])
        split.setChildrenCollapsible(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(self._bar())
        column.addWidget(self._sentence)
        column.addWidget(self.conflict)
        column.addWidget(split, 1)
        column.addWidget(self._verdict)
        self.diff.hide()
        self.conflict.hide()

    def attach(self, presenter: EditPresenter | None) -> None:
        """Show another document."""
        if self._presenter is not None:
            self._presenter.changed.disconnect(self._changed)
        self._presenter = self.model.presenter = presenter
        self.sections.attach(presenter)
        self.json.attach(presenter)
        if presenter is None:
            self.model.show_fields(())
        else:
            presenter.changed.connect(self._changed)
            self._changed()

    def show_diff(self, shown: bool = True) -> None:
        """Open or close the list of changes beneath the form."""
        self.diff.setVisible(shown)
        if shown and self._presenter is not None:
            self.diff.show_diff(self._presenter.diff().unified)

    def commit(self) -> None:
        """Take over what stands in an open editor: whoever closes or saves means that too."""
        self.sections.commit()
        self.json.commit()
        editor = self.view.indexWidget(self.view.currentIndex())
        if editor is not None:
            self.view.commitData(editor)
            self.view.closeEditor(editor, QStyledItemDelegate.EndEditHint.NoHint)

    def focus_form(self) -> None:
        """Put the keyboard on the first field."""
        if self._stack.currentWidget() is self.sections:
            self.sections.focus_form()
            return
        if self._stack.currentWidget() is self.json:
            self.json.setFocus()
            return
        self.view.setFocus()
        if not self.view.currentIndex().isValid() and self.model.rowCount():
            self.view.setCurrentIndex(self.model.index(0, _VALUE))

    # ---------------------------------------------------------------- parts
    def _bar(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setContentsMargins(8, 4, 8, 0)
        row.setSpacing(4)
        row.addWidget(self._ways)
        for name, text, act in (
            ("add", LABELS["add"], self.add),
            ("remove", LABELS["remove"], self.remove),
            ("undo", command("undo").label, partial(self.asked.emit, "undo")),
            ("redo", command("redo").label, partial(self.asked.emit, "redo")),
            ("review", command("review").label, partial(self.asked.emit, "review")),
            ("writable", command("writable").label, partial(self.asked.emit, "writable")),
            ("save", command("save").label, partial(self.asked.emit, "save")),
        ):
            button = QToolButton()
            button.setIcon(icon(command(name).icon if name not in ("add", "remove") else name))
            button.setText(text)
            button.setToolTip(tip(text))
            button.setAccessibleName(text)
            long = name in ("review", "save", "add", "writable")
            button.setToolButtonStyle(
                Qt.ToolButtonStyle.ToolButtonTextBesideIcon if long else Qt.ToolButtonStyle.ToolButtonIconOnly
            )
            button.clicked.connect(lambda _=False, act=act: act())
            self._buttons[name] = button
            if name == "review":
                row.addStretch(1)
            row.addWidget(button)
        return row

    def _changed(self) -> None:
        assert self._presenter is not None
        state = self._presenter.state
        pages: dict[Way, SectionForm | JsonForm] = {"image": self.sections, "json": self.json}
        page = pages.get(state.way)
        self._stack.setCurrentWidget(page or self.view)
        if page is not None:
            page.show_state(state)
        else:
            self._show_tree(state)
        self._ways.show_state(state)
        self._verdict.setText(state.verdict)
        self._verdict.setVisible(bool(state.verdict))
        self._sentence.setText(state.sentence)
        self._sentence.setVisible(bool(state.sentence))
        self._sentence.setContentsMargins(8, 0, 8, 0)
        editable = state.status not in (EditStatus.READ_ONLY, EditStatus.EMPTY)
        for name, enabled in (
            ("add", editable),
            ("undo", state.can_undo),
            ("redo", state.can_redo),
            ("review", state.changes > 0),
            ("save", self.can_save),
        ):
            self._buttons[name].setEnabled(enabled)
            self._buttons[name].setVisible(editable)
        for name in ("add", "remove"):
            self._buttons[name].setVisible(editable and page is None)
        self._enable_remove()
        self._buttons["writable"].setVisible(state.status is EditStatus.READ_ONLY)
        if not self.diff.isHidden():
            self.diff.show_diff(self._presenter.diff().unified)
        self.conflict.show_conflicts(state.status is EditStatus.CONFLICT, state.conflicts)

    def _show_tree(self, state: EditState) -> None:
        current = self.model.field(self.view.currentIndex())
        column = self.view.currentIndex().column()
        top = self.view.verticalScrollBar()
        scrolled = top.value() if top is not None else 0
        if self.model.show_fields(state.fields):
            blocker = QSignalBlocker(self.view)
            for place, field in enumerate(state.fields):
                if field.kind in _CONTAINERS and not field.folded:
                    self.view.setExpanded(self.model.at(place), True)
            blocker.unblock()
            place_now = self.model.place_of(current.pointer) if current is not None else None
            if place_now is not None:
                self.view.setCurrentIndex(self.model.at(place_now, max(column, 0)))
            if top is not None:
                top.setValue(scrolled)

    @property
    def can_save(self) -> bool:
        """Whether there is something to save, also in an editor that is still open."""
        state = self._presenter.state if self._presenter is not None else EditState()
        return state.can_save or (
            state.status in (EditStatus.CLEAN, EditStatus.DIRTY) and (self.sections.pending or self.json.pending)
        )

    def _typing(self) -> None:
        self._buttons["save"].setEnabled(self.can_save)
        self.typed.emit()

    def _show_way(self, way: Way) -> None:
        if self._presenter is not None:
            self.commit()
            self._presenter.show_way(way)

    def _enable_remove(self) -> None:
        field = self.model.field(self.view.currentIndex())
        self._buttons["remove"].setEnabled(field is not None and field.can_remove)

    def _fold(self, index: QModelIndex, folded: bool) -> None:
        field = self.model.field(index)
        if field is not None and self._presenter is not None and field.folded != folded:
            self._presenter.fold(field.pointer, folded)

    def _resolve(self, whose: str) -> None:
        if self._presenter is not None:
            self._presenter.resolve("mine" if whose == "mine" else "theirs")

    # ---------------------------------------------------------------- edits
    def add(self) -> None:
        """A new member: of the list or object under the cursor, else beside the field under it."""
        if self._presenter is None:
            return
        index = self.view.currentIndex()
        field = self.model.field(index)
        if field is not None and field.kind not in _CONTAINERS:
            field = self.model.field(index.parent())
        pointer = field.pointer if field is not None else ""
        if field is not None and field.folded:
            self._presenter.fold(pointer, False)
        added = self._presenter.add(pointer, LABELS["new-name"])
        place = self.model.place_of(added)
        if place is not None:
            named = field is None or field.kind == "object"
            at = self.model.at(place, _NAME if named else _VALUE)
            self.view.setCurrentIndex(at)
            self.view.scrollTo(at)
            self.view.edit(at)

    def remove(self) -> None:
        """The field under the cursor; undo brings it back."""
        field = self.model.field(self.view.currentIndex())
        if field is not None and self._presenter is not None:
            self._presenter.remove(field.pointer)

    def rename(self) -> None:
        """Edit the name of the field under the cursor."""
        self.view.edit(self.view.currentIndex().siblingAtColumn(_NAME))

    def _move(self, by: int) -> None:
        field = self.model.field(self.view.currentIndex())
        if field is not None and self._presenter is not None:
            self._presenter.move(field.pointer, by)

    def _menu(self, at: Any) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        editable = self._buttons["add"].isVisibleTo(self)
        field = self.model.field(self.view.currentIndex())
        movable = field is not None and field.can_move
        for text, name, can, act in (
            (LABELS["add"], "add", True, self.add),
            (LABELS["rename"], "edit", field is not None and field.can_rename, self.rename),
            (LABELS["remove"], "remove", field is not None and field.can_remove, self.remove),
            (LABELS["move-up"], "", movable, partial(self._move, -1)),
            (LABELS["move-down"], "", movable, partial(self._move, 1)),
        ):
            action = menu.addAction(text)
            assert action is not None
            if name:
                action.setIcon(icon(name))
            action.setEnabled(editable and can)
            action.triggered.connect(lambda _=False, act=act: act())
        viewport = self.view.viewport()
        assert viewport is not None
        menu.popup(viewport.mapToGlobal(at))
