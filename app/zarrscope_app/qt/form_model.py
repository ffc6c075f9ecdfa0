"""All fields of a document as a Qt model, and the delegate that edits its cells.

The presenter's flat list of fields (each with its depth) is the only source; the model mirrors it and forwards every
edit. An invalid field keeps its text, and its row shows the reason.
"""

from __future__ import annotations

from typing import Any

from zarrscope_app.presenters import EditPresenter, Field
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.form.view_models import KINDS
from zarrscope_app.qt.toolkit.core import QAbstractItemModel, QModelIndex, QSize, Qt
from zarrscope_app.qt.toolkit.gui import QColor, QPalette
from zarrscope_app.qt.toolkit.widgets import QComboBox, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from .editors import EDITORS, ChoiceBox, is_typed
from .text import tip
from .theme import current_palette, quiet, signal, warning
from .undo_keys import UndoKeys

NAME, VALUE, KIND = range(3)
COLUMNS = 3
CONTAINERS = ("list", "object")
_ARROW = 48
_PLAIN = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable  # combined once: Qt asks often
_EDITABLE = _PLAIN | Qt.ItemFlag.ItemIsEditable
_LEAF, _EDITABLE_LEAF = _PLAIN | Qt.ItemFlag.ItemNeverHasChildren, _EDITABLE | Qt.ItemFlag.ItemNeverHasChildren
_VALUELESS = (*CONTAINERS, "null")
_ANSWERED = frozenset(
    (
        Qt.ItemDataRole.DisplayRole,
        Qt.ItemDataRole.EditRole,
        Qt.ItemDataRole.ForegroundRole,
        Qt.ItemDataRole.DecorationRole,
        Qt.ItemDataRole.ToolTipRole,
    )
)
_LINE_SEPARATOR = "\u2028"
"""Displayed in place of a line break, as Qt's own delegate does."""
_HAS_TEXT = QStyleOptionViewItem.ViewItemFeature.HasDisplay


def kind_width(view: QWidget) -> int:
    """The width in pixels of the column of kinds (string, number, list …), with room for the arrow of the list in which
    a person chooses a kind."""
    texts = (*KINDS, LABELS["kind"])
    return max(view.fontMetrics().horizontalAdvance(text) for text in texts) + _ARROW


class FormModel(QAbstractItemModel):
    """A Qt model of the presenter's fields. A Qt index holds the position of its field in the presenter's list."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.presenter: EditPresenter | None = None
        self._read_only = False
        """Whether fields cannot be renamed or converted; kept here, because Qt asks for the flags of each cell."""
        self._fields: tuple[Field, ...] = ()
        self._parents: list[int] = []
        self._children: dict[int, list[int]] = {}
        self._row: list[int] = []

    def show_fields(self, fields: tuple[Field, ...], *, read_only: bool = False) -> bool:
        """Mirrors `fields`. Returns True if rows were added or removed, so that a view has to expand its branches
        again."""
        self._read_only = read_only
        if fields is self._fields:
            return False
        before = [(field.pointer, field.depth) for field in self._fields]
        if before == [(field.pointer, field.depth) for field in fields]:
            old, self._fields = self._fields, fields
            for place, (one, other) in enumerate(zip(old, fields, strict=True)):
                if one is not other and one != other:
                    self.dataChanged.emit(self.at(place), self.at(place, KIND))
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
        """The number of displayed fields."""
        return len(self._row)

    def at(self, place: int, column: int = 0) -> QModelIndex:
        """The index of the field at `place` of the list."""
        return self.createIndex(self._row[place], column, place)

    def field(self, index: QModelIndex) -> Field | None:
        """The field of an index."""
        return self._fields[index.internalId()] if index.isValid() else None

    def place_of(self, pointer: str) -> int | None:
        """The position of a field in the list."""
        return next((place for place, field in enumerate(self._fields) if field.pointer == pointer), None)

    def columnCount(self, parent: QModelIndex = QModelIndex()) -> int:  # noqa: B008 -- as Qt declares it
        return COLUMNS

    def rowCount(self, parent: QModelIndex = QModelIndex()) -> int:  # noqa: B008 -- as Qt declares it
        if parent.isValid() and parent.column():
            return 0
        return len(self._children.get(parent.internalId() if parent.isValid() else -1, ()))

    def index(self, row: int, column: int, parent: QModelIndex = QModelIndex()) -> QModelIndex:  # noqa: B008 -- as Qt declares it
        # `hasIndex` would ask for the numbers of rows and columns, two more calls for each cell that is painted.
        siblings = self._children.get(parent.internalId() if parent.isValid() else -1, ())
        if not (0 <= row < len(siblings) and 0 <= column < COLUMNS):
            return QModelIndex()
        return self.createIndex(row, column, siblings[row])

    def parent(self, index: QModelIndex = QModelIndex()) -> Any:  # noqa: B008 -- as Qt declares it
        above = self._parents[index.internalId()] if index.isValid() else -1
        return QModelIndex() if above < 0 else self.createIndex(self._row[above], 0, above)

    def hasChildren(self, parent: QModelIndex = QModelIndex()) -> bool:  # noqa: B008 -- as Qt declares it
        field = self.field(parent)
        if field is None:
            return bool(self._fields)
        return parent.column() == 0 and field.kind in CONTAINERS and field.members > 0

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return LABELS[("name", "value", "kind")[section]]
        return None

    def flags(self, index: QModelIndex) -> Qt.ItemFlag:
        if not index.isValid() or self.presenter is None:
            return _PLAIN
        field, column = self._fields[index.internalId()], index.column()
        if column == VALUE:  # a text typed while it is read-only waits until it is open for writing
            return _PLAIN if field.kind in _VALUELESS else _EDITABLE
        can_change = field.can_rename if column == NAME else len(field.kinds) > 1
        editable = can_change and not self._read_only
        if column == NAME and field.kind not in CONTAINERS:
            return _EDITABLE_LEAF if editable else _LEAF
        return _EDITABLE if editable else _PLAIN

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        field = self.field(index) if role in _ANSWERED else None
        if field is None:
            return None
        column = index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return _text(field, column)
        if role == Qt.ItemDataRole.EditRole:
            return (field.label, field.text, field.kind)[column]
        if role == Qt.ItemDataRole.ForegroundRole:
            return _color(field, column)
        if role == Qt.ItemDataRole.DecorationRole and column == VALUE and field.error:
            return signal("error")
        if role == Qt.ItemDataRole.ToolTipRole:
            place = " · ".join(filter(None, (field.pointer, field.kind)))  # a narrow form has no column of kinds
            return tip(field.error or (field.summary if column == VALUE else field.title if column == KIND else place))
        return None

    def setData(self, index: QModelIndex, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        field = self.field(index)
        if field is None or self.presenter is None or role != Qt.ItemDataRole.EditRole:
            return False
        text = str(value)
        if index.column() == NAME and text != field.label:
            self.presenter.rename(field.pointer, text)
        elif index.column() == VALUE and (text != field.text or field.error):
            self.presenter.edit(field.pointer, text)
        elif index.column() == KIND and text != field.kind:
            kind = next((kind for kind in field.kinds if kind == text), None)
            if kind is not None:
                self.presenter.retype(field.pointer, kind)
        return True


def _text(field: Field, column: int) -> str:
    """The text of a cell."""
    if column == NAME:
        return f"• {field.label}" if field.changed else field.label
    if column == KIND:
        return field.kind
    return f"{field.summary}   {field.error}" if field.error else field.summary


def _color(field: Field, column: int) -> QColor | None:
    """The colour of the text of a cell; None for the ordinary one."""
    if field.error and column == VALUE:
        return warning(current_palette())
    return quiet(current_palette()) if column == KIND or (column == VALUE and field.kind in _VALUELESS) else None


class FormDelegate(QStyledItemDelegate):
    """Edits cells: a kind by a list to choose from, a value by the editor of its field in EDITORS (editors.py)."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._undo_keys = UndoKeys(self)

    def initStyleOption(self, option: QStyleOptionViewItem | None, index: QModelIndex) -> None:
        """Describes a cell in one call; Qt would call the model for each of seven roles."""
        model = index.model()
        field = model.field(index) if isinstance(model, FormModel) else None
        if option is None or field is None or field.error:  # a cell with an error has an icon, too
            super().initStyleOption(option, index)
            return
        column = index.column()
        option.index = index
        option.features |= _HAS_TEXT
        option.text = _text(field, column).replace("\n", _LINE_SEPARATOR)
        if (color := _color(field, column)) is not None:
            option.palette.setColor(QPalette.ColorRole.Text, color)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:
        size = super().sizeHint(option, index)
        # Qt fits the line editor into the row, so the row needs a few pixels more than its text.
        return size.expandedTo(QSize(0, option.fontMetrics.height() + 8))

    def createEditor(self, parent: QWidget | None, option: QStyleOptionViewItem, index: QModelIndex) -> QWidget | None:
        model = index.model()
        assert isinstance(model, FormModel)
        assert parent is not None
        field = model.field(index)
        if field is None:
            return None
        make = EDITORS[field.editor] if index.column() == VALUE else None
        if index.column() == KIND:
            editor: QWidget | None = ChoiceBox(parent, field.kinds)
        else:
            editor = make(parent, field) if make is not None else None
            editor = editor or super().createEditor(parent, option, index)
        assert editor is not None
        self._undo_keys.watch(editor)
        if isinstance(editor, ChoiceBox):
            editor.activated.connect(lambda _: self._chosen(editor))
        return editor

    def _chosen(self, editor: QWidget) -> None:
        self.commitData.emit(editor)
        self.closeEditor.emit(editor)

    def setEditorData(self, editor: QWidget | None, index: QModelIndex) -> None:
        if editor is None or is_typed(editor):
            return
        if isinstance(editor, QComboBox):
            editor.setCurrentText(index.data(Qt.ItemDataRole.EditRole))
        else:
            super().setEditorData(editor, index)

    def setModelData(self, editor: QWidget | None, model: QAbstractItemModel | None, index: QModelIndex) -> None:
        if isinstance(editor, QComboBox) and model is not None:
            model.setData(index, editor.currentText())
        else:
            super().setModelData(editor, model, index)
