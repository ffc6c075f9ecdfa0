"""Several hierarchies in one tree: a row for each open hierarchy, and its own tree beneath it.

`RootsPresenter` has the interface of a `TreePresenter`, so that a host can paint either. Its root is an invisible row;
the rows beneath are the roots of the hierarchies. A row's id combines the number of its hierarchy with the id of the
row in the tree of that hierarchy. Methods with a path mean the hierarchy in front: before going to a row of another
hierarchy, call `enter`, which brings that hierarchy to the front.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from psygnal import Signal

from zarrscope_app.presenters.tree.presenter import TreePresenter
from zarrscope_app.presenters.tree.rows import ROOT, RowState, TreeRow

_SHIFT = 34
_OWN = (1 << _SHIFT) - 1


class RootsPresenter:
    """The trees of all open hierarchies as one tree. All methods run on the host's thread; none waits for the store."""

    changed = Signal(int)

    def __init__(self, bring: Callable[[TreePresenter], object]) -> None:
        """`bring`: a function that brings the hierarchy of a tree to the front."""
        self._bring = bring
        self._numbers: dict[int, TreePresenter] = {}
        """The trees by number, in the order in which they were opened."""
        self._heard: dict[int, Callable[[int], None]] = {}
        self._front: TreePresenter | None = None

    # ------------------------------------------------------------------ hierarchies
    def show(self, trees: Sequence[TreePresenter], front: TreePresenter) -> None:
        """Sets the open hierarchies, and the one in front."""
        self._front = front
        if list(self._numbers.values()) == list(trees):
            return
        kept = {number: tree for number, tree in self._numbers.items() if tree in trees}
        for number in self._numbers.keys() - kept.keys():
            self._numbers[number].changed.disconnect(self._heard.pop(number))
        for tree in trees:
            if tree not in kept.values():
                number = next(n for n in range(1, len(trees) + len(kept) + 2) if n not in kept)
                kept[number] = tree
                self._heard[number] = partial(self._changed, number)
                tree.changed.connect(self._heard[number])
        # A tree that was opened while a filter is set is filtered, too. One tree alone was filtered by itself.
        text = next((tree.filter_text for tree in trees if tree.filter_text), "")
        self._numbers = {number: tree for tree in trees for number in kept if kept[number] is tree}
        self.filter(text)
        self.changed.emit(ROOT)

    def close(self) -> None:
        """Disconnects from all trees."""
        for number, tree in self._numbers.items():
            tree.changed.disconnect(self._heard.pop(number))
        self._numbers = {}

    def in_front(self, id: int) -> bool:
        """Whether the row belongs to the hierarchy in front."""
        return id != ROOT and self._numbers.get(id >> _SHIFT) is self._front

    def enter(self, id: int) -> None:
        """Brings the hierarchy of a row to the front."""
        tree = self._numbers.get(id >> _SHIFT)
        if tree is not None and tree is not self._front:
            self._bring(tree)

    def _changed(self, number: int, id: int) -> None:
        self.changed.emit(_joined(number, id))
        if id == ROOT:
            self.changed.emit(ROOT)

    def _of(self, id: int) -> tuple[TreePresenter, int]:
        """The tree of a row, and the id of the row in that tree. Raises KeyError for an id that no longer exists."""
        return self._numbers[id >> _SHIFT], id & _OWN

    # ------------------------------------------------------------------ reading
    def row(self, id: int) -> TreeRow:
        """One row. Raises KeyError for an id that no longer exists."""
        if id == ROOT:
            return _HIDDEN
        tree, own = self._of(id)
        return self._row(id >> _SHIFT, tree.row(own))

    @staticmethod
    def _row(number: int, row: TreeRow) -> TreeRow:
        above = ROOT if row.parent < 0 else _joined(number, row.parent)
        return replace(row, id=_joined(number, row.id), parent=above)

    def expand_all(self, id: int) -> None:
        """See `TreePresenter.expand_all`."""
        tree = self._numbers.get(id >> _SHIFT)
        if tree is not None:
            tree.expand_all(id & _OWN)

    def want_icon(self, id: int) -> None:
        """See `TreePresenter.want_icon`."""
        tree = self._numbers.get(id >> _SHIFT)
        if tree is not None:
            tree.want_icon(id & _OWN)

    def count(self, id: int) -> int:
        """The number of children of a row that have arrived; for ROOT, of hierarchies."""
        if id == ROOT:
            return len(self._numbers)
        tree = self._numbers.get(id >> _SHIFT)
        return tree.count(id & _OWN) if tree is not None else 0

    def ids(self, id: int, start: int, stop: int) -> list[int]:
        """The ids of the children from `start` to `stop` - 1."""
        if id == ROOT:
            return [_joined(number, ROOT) for number in self._numbers][max(0, start) : stop]
        tree = self._numbers.get(id >> _SHIFT)
        return [_joined(id >> _SHIFT, own) for own in tree.ids(id & _OWN, start, stop)] if tree is not None else []

    def rows(self, id: int, start: int, stop: int) -> list[TreeRow]:
        """The children from `start` to `stop` - 1."""
        return [self.row(child) for child in self.ids(id, start, stop)]

    def position(self, id: int) -> int:
        """The position of a row among the children of its parent; -1 if the filter hides it."""
        if id == ROOT:
            return 0
        tree, own = self._of(id)
        return [*self._numbers].index(id >> _SHIFT) if own == ROOT else tree.position(own)

    def path(self, id: int) -> str:
        """The path of a row in its hierarchy, "" for an id that no longer exists."""
        tree = self._numbers.get(id >> _SHIFT)
        return tree.path(id & _OWN) if tree is not None else ""

    def label(self, id: int) -> str:
        """The name of a row."""
        tree = self._numbers.get(id >> _SHIFT)
        return tree.label(id & _OWN) if tree is not None else ""

    def expandable(self, id: int) -> bool:
        """Whether a row can have children; False while its kind is not known yet."""
        if id == ROOT:
            return True
        tree, own = self._of(id)
        return tree.expandable(own)

    def expanded_beneath(self, id: int) -> list[int]:
        """The ids of children that are expanded."""
        if id == ROOT:
            return [_joined(number, ROOT) for number, tree in self._numbers.items() if tree.row(ROOT).expanded]
        tree = self._numbers.get(id >> _SHIFT)
        return [_joined(id >> _SHIFT, own) for own in tree.expanded_beneath(id & _OWN)] if tree is not None else []

    # ------------------------------------------------------------------ as one list
    @property
    def flat_count(self) -> int:
        """The number of rows of `flat`: the roots and everything beneath expanded rows."""
        return sum(tree.flat_count for tree in self._numbers.values())

    def flat(self, start: int, stop: int) -> list[TreeRow]:
        """The trees as one list, depth first, with the children of expanded rows only."""
        found: list[TreeRow] = []
        at = 0
        for number, tree in self._numbers.items():
            count = tree.flat_count
            if at < stop and start < at + count:
                found += [self._row(number, row) for row in tree.flat(max(0, start - at), stop - at)]
            at += count
        return found

    def flat_place(self, id: int) -> int:
        """The position of a row in `flat`. Raises KeyError for an id that no longer exists."""
        tree, own = self._of(id)
        before = [*self._numbers.values()][: [*self._numbers].index(id >> _SHIFT)]
        return sum(each.flat_count for each in before) + tree.flat_place(own)

    def find(self, path: str) -> int | None:
        """The id of the row of a node of the hierarchy in front; None if the row has not arrived."""
        for number, tree in self._numbers.items():
            if tree is self._front:
                own = tree.find(path)
                return None if own is None else _joined(number, own)
        return None

    @property
    def finds(self) -> bool:
        """Whether any name in any hierarchy passes the filter, or a search for names still runs."""
        return any(tree.finds for tree in self._numbers.values())

    # ------------------------------------------------------------------ gestures
    def expand(self, id: int) -> None:
        """Shows the children of a row; ROOT is always expanded."""
        if id != ROOT:
            tree, own = self._of(id)
            tree.expand(own)

    def collapse(self, id: int) -> None:
        """Hides the children of a row; ROOT is never collapsed."""
        if id != ROOT:
            tree, own = self._of(id)
            tree.collapse(own)

    def retry(self, id: int) -> None:
        """Fetches the children of a row again, after FAILED or a cancel."""
        tree, own = self._of(id)
        tree.retry(own)

    def cancel(self, id: int) -> None:
        """Stops fetching the children of a row; children that have arrived stay."""
        tree, own = self._of(id)
        tree.cancel(own)

    def toggle(self, id: int) -> None:
        """Expands a row, or collapses it."""
        if id != ROOT:
            tree, own = self._of(id)
            tree.toggle(own)

    def cancel_around(self, id: int) -> bool:
        """Stops the loading of a row, or of the nearest loading group above it. Returns False if there is none."""
        tree = self._numbers.get(id >> _SHIFT)
        return tree is not None and tree.cancel_around(id & _OWN)

    @property
    def filter_text(self) -> str:
        """The text of the filter of all hierarchies; "" if none is set."""
        return next((tree.filter_text for tree in self._numbers.values()), "")

    def filter(self, text: str) -> None:
        """Shows only rows whose name contains `text`, in all hierarchies."""
        for tree in self._numbers.values():
            tree.filter(text)

    def reveal(self, path: str) -> None:
        """Expands the groups above a node of the hierarchy in front."""
        if self._front is not None:
            self._front.reveal(path)


def _joined(number: int, id: int) -> int:
    return number << _SHIFT | id


_HIDDEN = TreeRow(
    id=ROOT,
    parent=-1,
    path="",
    name="",
    kind="group",
    icon="group",
    detail="",
    title="",
    badge="",
    state=RowState.READY,
    expandable=True,
    expanded=True,
    depth=-1,
    sentence="",
    retry=False,
    offer="",
    dirty=False,
    origin="",
)
