"""A Qt model over `TreePresenter`.

It contains only a range of each row's children (the row's window) and extends it as the view scrolls (Qt's fetchMore),
so that only visible parts of a group of a million children cost time. The model holds the ids of rows, and asks the
presenter for a row when Qt paints that row. A row's sentence ("Loading…", "This group has no children.", a failure) is
shown as a dimmed child.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from zarrscope_app.presenters import ROOT, RootsPresenter, RowState, TreePresenter, TreeRow
from zarrscope_app.presenters.tree import tree_text
from zarrscope_app.presenters.tree.short_texts import short_detail, short_name
from zarrscope_app.qt.toolkit.core import QAbstractItemModel, QMimeData, QModelIndex, QObject, Qt, Signal
from zarrscope_app.qt.toolkit.gui import QColor, QIcon

from .text import tip
from .theme import current_palette, icon, quiet, warning

if TYPE_CHECKING:
    from collections.abc import Iterable


_WINDOW = 200
_MOST_PAINTED = 128
"""The most painted rows that are remembered until their group changes: more than are visible, fewer than a fast scroll
passes."""
_NOTE = 1 << 44
"""The id of a row plus this number is the id of the child row that shows the row's sentence."""
_ABOVE = 1 << 45
"""The id of a row plus this number is the id of the child row that represents the children above the window."""

_PLAIN = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsDragEnabled
_NAMED = _PLAIN | Qt.ItemFlag.ItemIsEditable
_SENTENCE = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemNeverHasChildren

_Role = Qt.ItemDataRole
_DISPLAY, _EDIT, _DECORATION = int(_Role.DisplayRole), int(_Role.EditRole), int(_Role.DecorationRole)
_TOOLTIP, _FOREGROUND, _ACCESSIBLE = int(_Role.ToolTipRole), int(_Role.ForegroundRole), int(_Role.AccessibleTextRole)
_ROLES = frozenset((_DISPLAY, _EDIT, _DECORATION, _TOOLTIP, _FOREGROUND, _ACCESSIBLE))
"""The roles that have data. Qt asks for four others for each cell that it paints."""

NODE = "application/x-zarrscope-node"
"""The MIME type of a dragged node; the content is its path."""

Index = QModelIndex
"""The type of an index in signatures. Qt also accepts QPersistentModelIndex, which PyQt's stubs do not declare."""


class TreeModel(QAbstractItemModel):
    """Two columns: the name, and the kind of node. `unfold(id, bool)` is emitted when the presenter has expanded or
    collapsed a row, so that the view follows."""

    unfold = Signal(object, bool)
    named = Signal(str, str)
    """Emits (path, the typed name)."""
    rekinded = Signal()
    """Emitted when a row has become expandable, or is no longer."""
    repaint = Signal()
    """Emitted when any visible row may look different."""

    def __init__(self, presenter: TreePresenter | RootsPresenter, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._presenter = presenter
        self._rows: dict[int, TreeRow] = {}
        """The rows that were painted since the last change."""
        self._painted: dict[int, TreeRow] = {}
        """The rows as they are on the screen, to find those that look different after a change."""
        self._forgotten = False
        """Whether rows may be on the screen that are not in `_painted`."""
        self._children: dict[int, list[int]] = {}
        self._places: dict[int, dict[int, int]] = {}
        """Row → the positions of its children in the model, as far as they were requested."""
        self._parents: dict[int, int] = {}
        self._windows: dict[int, tuple[int, int]] = {}
        """Row → the range of its children that the model contains."""
        self._above = -1, QModelIndex()
        """The group whose index Qt asked for last, and that index; it is found again after each change of the rows."""
        self._unfolded: set[int] = set()
        self._expandable: dict[int, bool] = {}
        """Row → whether it can have children, as far as the view was told."""
        self._icons: dict[str, QIcon] = {}
        self.revision = 0
        """A number that grows with each change of the rows."""
        self._color: tuple[int, QColor] | None = None
        self.naming = -1
        """The row whose name the person begins to type; Qt opens an editor on no other row."""
        self.at_end: Callable[[], bool] = lambda: True
        """Whether the view is scrolled to its end; Qt also requests more rows before it has computed a layout."""
        self.removing = False
        """Whether rows are being removed: a row that becomes current meanwhile was not chosen by the person."""
        presenter.changed.connect(self._changed)
        self._sync(ROOT)

    def close(self) -> None:
        """Disconnects from the presenter."""
        self._presenter.changed.disconnect(self._changed)

    # ---------------------------------------------------------------- rows
    def row_of(self, index: Index) -> TreeRow | None:
        """The presenter's row of an index; None for a sentence and for an invalid index."""
        return self._row(index.internalId()) if index.isValid() else None

    def _row(self, id: int) -> TreeRow | None:
        """The presenter's row with this id; None if it no longer exists."""
        if id not in self._rows:
            try:
                self._rows[id] = self._presenter.row(id)
            except KeyError:
                return None
        return self._rows[id]

    def note_painted(self, index: Index) -> None:
        """Remembers how a row looks on the screen. The view calls this when it paints the row."""
        id = index.internalId()
        row = self._rows.get(id)
        if row is None or id in self._painted:
            return
        if len(self._painted) >= _MOST_PAINTED:
            self._painted.clear()
            self._forgotten = True
        self._painted[id] = row

    def _changed_cells(self, id: int) -> None:
        """Emits `dataChanged` for each row of a group that looks different now, and for the group's own row. For a
        range of cells Qt would paint every visible row."""
        if self._forgotten:
            self._forgotten = False
            self._painted.clear()
            self.repaint.emit()
        cells = [self.index_of(id)]
        for place, child in enumerate(self._children.get(id, ())):
            before = self._painted.get(child)
            if child >= _NOTE or (before is not None and before != self._row(child)):
                self._painted.pop(child, None)
                cells.append(self.createIndex(place, 0, child))
        for cell in cells:
            for column in range(2):
                beside = cell.siblingAtColumn(column)
                self.dataChanged.emit(beside, beside)

    def widest_texts(self, indices: Iterable[QModelIndex], width: Callable[[str], int]) -> list[QModelIndex]:
        """The cells of the second column with the widest text, one with an icon and one without. Qt would lay out the
        text of every visible row, after each change of any."""
        widest: dict[bool, tuple[int, QModelIndex]] = {}
        for index in indices:
            row = self.row_of(index)
            if row is not None and (row.detail or row.badge):
                wide, badge = width(row.detail), bool(row.badge)
                if badge not in widest or wide > widest[badge][0]:
                    widest[badge] = wide, index
        return [index.siblingAtColumn(1) for _, index in widest.values()]

    def is_wide(self, index: Index) -> bool:
        """Whether the first column of a row is painted over the second one, which has no text."""
        row = None if self.is_note(index) else self.row_of(index)
        return row is None or not row.detail

    def is_note(self, index: Index) -> bool:
        """Whether the index is a sentence about its parent's children."""
        return bool(index.isValid() and index.internalId() >= _NOTE)

    def index_of(self, id: int) -> QModelIndex:
        """The index of a row, invalid if it is outside the rows that the model has."""
        if id == ROOT:
            return self.createIndex(0, 0, ROOT)
        parent = self._parents.get(id)
        if parent is None:
            return QModelIndex()
        places = self._places.get(parent)
        if places is None:
            places = {child: place for place, child in enumerate(self._children.get(parent, ()))}
            self._places[parent] = places
        return self.createIndex(places[id], 0, id) if id in places else QModelIndex()

    def include(self, id: int) -> QModelIndex:
        """The index of a row, after extending the rows of each group above it until the row is among them."""
        try:
            row = self._presenter.row(id)
        except KeyError:
            return QModelIndex()
        if row.parent >= 0:
            known = self.index_of(id)
            if known.isValid():  # its group is brought up to date when the presenter reports a change
                return known
            if not self.include(row.parent).isValid():
                return QModelIndex()
            place = self._presenter.position(id)
            first, stop = self._windows.get(row.parent, (0, _WINDOW))
            if not first <= place < stop:
                near = first <= place < stop + _WINDOW
                self._windows[row.parent] = (
                    (first, stop + _WINDOW) if near else (max(0, place - _WINDOW // 2), place + _WINDOW // 2)
                )
            self._sync(row.parent)
        return self.index_of(id)

    def widen(self, note: Index) -> bool:
        """Extends the rows of a group upwards; `note` is the index of the row that represents the rows above the
        window. Returns False if there are none."""
        id = note.internalId() - _ABOVE
        first, stop = self._windows.get(id, (0, 0))
        if id < 0 or not first:
            return False
        self._windows[id] = (max(0, first - _WINDOW), stop)
        self._sync(id)
        return True

    def _changed(self, id: int) -> None:
        if id == ROOT or id in self._parents:
            self._sync(id)

    def _sync(self, id: int) -> None:
        presenter = self._presenter
        self._rows.clear()
        self.revision += 1
        row = self._row(id)
        if row is None:
            return
        first, stop = self._windows.setdefault(id, (0, _WINDOW))
        wanted = presenter.ids(id, first, stop)
        can = {child: presenter.expandable(child) for child in wanted}
        notes = [id | _NOTE] if row.sentence else []
        if first and wanted:
            wanted.insert(0, id | _ABOVE)
        wanted += notes
        index = self.index_of(id)
        old = self._children.get(id, [])
        known = self._expandable
        rekinded = old == wanted and any(known.get(child) != now for child, now in can.items())
        known.update(can)  # before the rows are inserted, when Qt asks for it
        if old != wanted:
            self._reshape(index, id, old, wanted)
            known.update(can)  # a row that moved was removed first
        if rekinded:
            self.rekinded.emit()
        # A slot of rowsInserted may have called `include`, which changes the children in the model.
        self._changed_cells(id)
        self._follow(id, row.expanded)
        expanded = set(presenter.expanded_beneath(id))
        for child in [child for child in wanted if child in self._unfolded and child not in expanded]:
            self._follow(child, False)
        for child in expanded:
            if child in self._parents and child not in self._children:
                self._sync(child)  # the child's own children arrived before its row was inserted
            self._follow(child, True)

    def _follow(self, id: int, expanded: bool) -> None:
        (self._unfolded.add if expanded else self._unfolded.discard)(id)
        self.unfold.emit(id, expanded)

    def _reshape(self, index: QModelIndex, id: int, old: list[int], wanted: list[int]) -> None:
        kept, stays = set(wanted), list(old)
        place = {child: number for number, child in enumerate(wanted)}
        order = [place[child] for child in old if child in kept]
        if order != sorted(order):
            # A changed order is rare (after a refresh), so all rows are removed and inserted again.
            kept = set()
        for first, last in reversed(_runs([child not in kept for child in stays])):
            self.removing = True
            self.beginRemoveRows(index, first, last)
            for child in stays[first : last + 1]:
                self._forget(child)
            del stays[first : last + 1]
            self._put(id, stays)
            self.endRemoveRows()
            self.removing = False
        present = set(stays)
        for first, last in _runs([child not in present for child in wanted]):
            self.beginInsertRows(index, first, last)
            stays[first:first] = wanted[first : last + 1]
            for child in wanted[first : last + 1]:
                self._parents[child] = id
            self._put(id, stays)
            self.endInsertRows()

    def _put(self, id: int, children: list[int]) -> None:
        self._children[id] = children
        self._places.pop(id, None)
        self._above = -1, QModelIndex()

    def _forget(self, id: int) -> None:
        self._above = -1, QModelIndex()
        for child in self._children.pop(id, []):
            self._forget(child)
        self._unfolded.discard(id)
        for held in (self._rows, self._painted, self._parents, self._windows, self._places, self._expandable):
            held.pop(id, None)

    # ---------------------------------------------------------------- Qt's interface
    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 -- as Qt declares it
        return 2

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 -- as Qt declares it
        if not parent.isValid():
            return 1
        return len(self._children.get(parent.internalId(), ())) if parent.column() == 0 else 0

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008 -- as Qt declares it
        if not parent.isValid():
            return self.createIndex(row, column, ROOT) if row == 0 and 0 <= column < 2 else QModelIndex()
        children = self._children.get(parent.internalId(), ()) if parent.column() == 0 else ()
        if not (0 <= row < len(children) and 0 <= column < 2):
            return QModelIndex()
        return self.createIndex(row, column, children[row])

    def parent(self, index: Index = QModelIndex()) -> Any:  # noqa: B008 -- as Qt declares it
        above = self._parents.get(index.internalId()) if index.isValid() else None
        if above is None:
            return QModelIndex()
        if self._above[0] != above:  # Qt asks nine times for each row that it paints; most rows are of one group
            self._above = above, self.index_of(above)
        return self._above[1]

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008 -- as Qt declares it
        if not parent.isValid():
            return True
        id = parent.internalId()
        if parent.column() or id >= _NOTE:
            return False
        return bool(self._children.get(id)) or self._expandable.get(id, False)

    def canFetchMore(self, parent: Index) -> bool:
        id = parent.internalId() if parent.isValid() else -1
        more = id in self._children and id < _NOTE and self._presenter.count(id) > self._windows[id][1]
        return more and self.at_end()

    def fetchMore(self, parent: Index) -> None:
        if self.canFetchMore(parent):
            id = parent.internalId()
            first, stop = self._windows[id]
            self._windows[id] = (first, stop + _WINDOW)
            self._sync(id)

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        id = index.internalId()  # Qt asks for the flags of each cell three times while it paints
        return _SENTENCE if id >= _NOTE else _NAMED if id == self.naming and not index.column() else _PLAIN

    def mimeTypes(self) -> list[str]:
        return [NODE]

    def mimeData(self, indexes: Iterable[QModelIndex]) -> QMimeData | None:
        """The path of the dragged node."""
        index = next(iter(indexes), None)
        row = self.row_of(index) if index is not None else None
        if row is None:
            return None
        data = QMimeData()
        data.setData(NODE, row.path.encode())
        return data

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        row = self.row_of(index)
        if row is not None and role == Qt.ItemDataRole.EditRole:
            self.named.emit(row.path, str(value))
        return False  # the old name stays until the node is renamed

    def data(self, index: Index, role: int = _DISPLAY) -> object:
        if role not in _ROLES:
            return None
        if self.is_note(index):
            return self._note_data(index, role)
        name = index.column() == 0
        if role == _DISPLAY and name:  # for hidden rows too: Qt searches all rows for a typed name
            return self._presenter.label(index.internalId())
        row = self.row_of(index)
        if row is None:
            return None
        if role == _DISPLAY:
            return row.detail
        if role == _EDIT and name:
            return row.path.rpartition("/")[2]
        if role == _DECORATION:
            if name:
                self._presenter.want_icon(row.id)
            return self._icon(row.icon) if name else self._icon("warning") if row.badge else None
        if role == _TOOLTIP:
            return tip(row.badge or "\n".join(filter(None, (row.path, row.title, row.origin))))
        if role == _FOREGROUND and (not name or row.kind is None):
            return self._quiet_color()
        if role == _ACCESSIBLE:
            return " ".join(part for part in (row.name, row.detail, row.badge) if part) if name else row.detail
        return None

    def short_text(self, index: Index, text: str, fits: Callable[[str], bool]) -> str:
        """The text of a cell, shortened until it fits."""
        row = self.row_of(index)
        if row is None:
            return text
        return (short_detail if index.column() else short_name)(self._presenter, row, text, fits)

    def _icon(self, name: str) -> QIcon:
        """An icon, made once, because every painted row needs one."""
        if name not in self._icons:
            self._icons[name] = icon(name)
        return self._icons[name]

    def _note_data(self, index: Index, role: int) -> object:
        if index.column():
            return None
        if index.internalId() >= _ABOVE:
            if role == _DISPLAY:
                return tree_text.more_above(self._windows[index.internalId() - _ABOVE][0])
            return icon("back") if role == _DECORATION else self._quiet(role)
        about = self._row(index.internalId() - _NOTE)
        if about is None:
            return None
        if role == _DISPLAY:
            return tree_text.note(about)
        if role == _TOOLTIP:
            return tip(about.sentence)
        failed = about.state is RowState.FAILED
        if role == _FOREGROUND:
            palette = current_palette()
            return warning(palette) if failed else quiet(palette)
        if role == _DECORATION:
            stops = about.state is RowState.LOADING
            return icon("edit") if about.offer else icon("retry") if about.retry else icon("close") if stops else None
        return None

    def _quiet(self, role: int) -> object:
        return self._quiet_color() if role == _FOREGROUND else None

    def _quiet_color(self) -> QColor:
        """The dimmed text colour of the second column, mixed once per palette, because every painted row needs it."""
        palette = current_palette()
        if self._color is None or self._color[0] != palette.cacheKey():
            self._color = palette.cacheKey(), quiet(palette)
        return self._color[1]


def _runs(marks: list[bool]) -> list[tuple[int, int]]:
    """The indices (first, last) of each run of True in `marks`."""
    found: list[tuple[int, int]] = []
    for place, mark in enumerate(marks):
        if mark and found and found[-1][1] == place - 1:
            found[-1] = (found[-1][0], place)
        elif mark:
            found.append((place, place))
    return found
