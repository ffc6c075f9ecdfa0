"""The tree of a hierarchy: its rows arrive while it is displayed.

Row ids are ints that stay the same during the session; the root's is 0. A host calls `count(id)` and `rows(id, start,
stop)`, which never block, and repaints when the signal `changed(id)` reports that the children of row `id`, their order
or their state have changed; row `id` itself may have, too. Hosts without a tree widget paint `flat(start, stop)`.

Rows that a host requests with `rows` or `flat` count as visible: in a large group only the documents of visible rows
are read. A host that only computes a layout calls `ids` and `expandable`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from psygnal import Signal

from zarrscope.dialects import Child
from zarrscope.model.node_path import natural
from zarrscope.runtime.threads import JobResult, Owner
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.coalesce import CoalescedCall
from zarrscope_app.presenters.tree import tree_text
from zarrscope_app.presenters.tree.arriving import ArrivedNames, Inspected, Seen, list_children
from zarrscope_app.presenters.tree.awaited_rows import AwaitedRows, parts_of
from zarrscope_app.presenters.tree.branch import Branch, changed_waits
from zarrscope_app.presenters.tree.inspection import Inspection, Search
from zarrscope_app.presenters.tree.names import NameBlock, merged
from zarrscope_app.presenters.tree.painted import PaintedRows, is_expandable
from zarrscope_app.presenters.tree.rows import ROOT, TreeRow
from zarrscope_app.presenters.tree.unfolding import ALL, ALL_FAR, ALONE, Unfolding

if TYPE_CHECKING:
    from zarrscope.nodes.group import Group
    from zarrscope.nodes.hierarchy import Hierarchy
    from zarrscope.runtime.waits import PendingRequest


class TreePresenter:
    """The rows of one hierarchy. All methods run on the host's thread; none waits for the store."""

    changed = Signal(int)
    """Emitted when the children of this row, or their state, changed; once per row and pass of the event loop."""
    attempted = Signal(object, str, str)
    """Emits (error or None, path, "") after listing a group, and (error or None, path, name) for a typed name."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._hierarchy: Hierarchy | None = None
        self._awaited = AwaitedRows(self._open, self.open_child)
        self._stale: dict[int, None] = {}
        self._notify = CoalescedCall(owner.post, self._emit)
        self._inspection = Inspection(owner, self._touch, self.entitle)
        self._search = Search(owner, self._touch)
        self._painted = PaintedRows(self._inspection, self._search)
        self.titles = self._painted.titles
        self.stop_others: Callable[[], bool] = lambda: False
        self.filter_text = ""
        """The text of the filter as it was typed; "" if none is set."""
        self._unfolding = Unfolding(self._open)
        self._clear()

    def _clear(self) -> None:
        self._root = Branch(ROOT, "/", 0)
        self._root.state, self._root.sentence = "loading", strings.OPENING
        self._branches: dict[int, Branch] = {ROOT: self._root}
        self._next = 1
        self._starts: list[int] = []
        self._blocks: list[tuple[Branch, int]] = []

    # ------------------------------------------------------------------ for the session
    def attach(
        self, hierarchy: Hierarchy, name: str, kind: Literal["group", "array"] = "group", icon: str = ""
    ) -> None:
        """Shows a hierarchy, with the former groups expanded. `icon`: the icon of the root; "" for that of `kind`."""
        again = self._root.expanded
        self._awaited.keep(self._branches.values())
        for branch in self._branches.values():
            branch.stop()
        self._clear()
        self._hierarchy, self._painted.open = hierarchy, True
        self._painted.name, self._painted.kind = name, kind
        self.titles.clear()
        if icon:
            self._painted.marks["/"] = icon
        self._root.state = "unknown"
        self._root.sentence = ""
        self._open(ROOT, 0 if again else ALONE)

    def fail(self, sentence: str) -> None:
        """Shows the sentence in place of the rows, because the hierarchy could not be opened."""
        self._settle(self._root, "failed", sentence, retry=False)

    def tell_waits(self, sentence: Callable[[PendingRequest | None], str], opening: str) -> None:
        """Says for which requests rows wait (`sentence`), and for which the opening waits; "" for short waits."""
        for branch in changed_waits(self._branches.values(), sentence, opening):
            self._touch(branch.id)

    def set_name(self, name: str) -> None:
        """Sets the text of the root's row."""
        self._painted.name = name
        self._touch(ROOT)

    def ask_by(self, asks: Callable[[], bool]) -> None:
        """Sets the function that returns whether the session can ask for other credentials, which denied rows offer."""
        self._painted.asks = asks

    def mark(self, path: str, icon: str) -> None:
        """Gives a node a more specific icon than that of a group."""
        if self._painted.marks.get(path) != icon:
            self._painted.marks[path] = icon
            self._touch_row(path)

    def entitle(self, titles: Mapping[str, str]) -> None:
        """Names wells, fields and images of a series in the second column; called when the names were read."""
        for branch in self._painted.entitle(titles, self._branches.values()):
            self._touch(branch.id)

    def set_dirty(self, paths: frozenset[str]) -> None:
        """Sets which nodes are marked as having unsaved changes."""
        for path in self._painted.dirty ^ paths:
            self._touch_row(path)
        self._painted.dirty = paths

    # ------------------------------------------------------------------ reading
    def row(self, id: int) -> TreeRow:
        """One row. Raises KeyError for an id that no longer exists (after a refresh)."""
        if id == ROOT:
            return self._painted.root(self._root)
        branch, child = self._whose(id)
        return self._painted.row(branch, child)

    def want_icon(self, id: int) -> None:
        """Reads the attributes of a group that its icon depends on. Hosts that draw icons call it for painted rows."""
        try:
            branch, child = self._whose(id)
        except KeyError:  # the root, or a row that no longer exists
            return
        self._inspection.want_icon(branch, child)

    def count(self, id: int) -> int:
        """The number of children that have arrived and pass the filter."""
        branch = self._branches.get(id)
        return len(branch.shown(self._search.needle)) if branch else 0

    def rows(self, id: int, start: int, stop: int) -> list[TreeRow]:
        """The children from `start` to `stop` - 1 in natural order ("img2" before "img10")."""
        shown = branch.shown(self._search.needle)[max(0, start) : stop] if (branch := self._branches.get(id)) else ()
        return [self._painted.row(branch, k) for k in shown] if branch else []

    def position(self, id: int) -> int:
        """The position of a row among the children of its parent; -1 if the filter hides it."""
        if id == ROOT:
            return 0
        branch, child = self._whose(id)
        return branch.place(child, self._search.needle)

    def ids(self, id: int, start: int, stop: int) -> list[int]:
        """The ids of the children from `start` to `stop` - 1, for a layout, without reading their documents."""
        branch = self._branches.get(id)
        return [branch.child_id(k) for k in branch.shown(self._search.needle)[max(0, start) : stop]] if branch else []

    def path(self, id: int) -> str:
        """The path of a row, "" for an id that no longer exists. Nothing is read."""
        if id == ROOT:
            return "/"
        try:
            branch, child = self._whose(id)
        except KeyError:
            return ""
        return branch.child_path(child)

    def origin(self, path: str) -> str | None:
        """The origin of a node, as `Child.origin`; None for the root, and if its row has not arrived."""
        found = self._whose(at) if (at := self.find(path)) else None
        return None if found is None else found[0].origins.get(found[1], "")

    def label(self, id: int) -> str:
        """The name of a row, with a mark for unsaved changes. Nothing is read."""
        path = self.path(id)
        name = path.rpartition("/")[2] if id != ROOT else self._painted.name or "/"
        return tree_text.label(strings.clean(name), path in self._painted.dirty)

    def expandable(self, id: int) -> bool:
        """Whether a row can have children; False while its kind is not known yet. Nothing is read."""
        if id == ROOT:
            return True
        branch, child = self._whose(id)
        return is_expandable(branch, child)

    def expanded_beneath(self, id: int) -> list[int]:
        """The ids of children that are expanded."""
        branch = self._branches.get(id)
        return [below.id for below in branch.below.values() if below.expanded] if branch else []

    @property
    def flat_count(self) -> int:
        """The number of rows of `flat`: the root and everything beneath expanded rows."""
        return 1 + self._root.size(self._search.needle)

    def flat(self, start: int, stop: int) -> list[TreeRow]:
        """The tree as one list, depth first, with the children of expanded rows only."""
        found: list[tuple[Branch, int]] = []
        self._root.flatten(self._search.needle, 1, max(0, start), stop, found)
        return [
            *([self._painted.root(self._root)] if start <= 0 < stop else ()),
            *(self._painted.row(*each) for each in found),
        ]

    def flat_place(self, id: int) -> int:
        """The position of a row in `flat`. Raises KeyError for an id that no longer exists."""
        if id == ROOT:
            return 0
        branch, child = self._whose(id)
        return self.flat_place(branch.id) + 1 + branch.rows_before(child, self._search.needle)

    def cancel_around(self, id: int) -> bool:
        """Stops the loading of a row, or of the nearest loading group above it, and all else for which the session
        waits. Returns False if there is nothing."""
        while id >= ROOT:
            branch = self._branches.get(id)
            if branch is not None and branch.ticket is not None:
                self.cancel(id)
                self.stop_others()
                return True
            id = self._whose(id)[0].id if id != ROOT else ROOT - 1
        return self.stop_others()

    def in_front(self, id: int) -> bool:
        """Always True, because the only hierarchy of this tree is in front. (RootsPresenter has several.)"""
        return True

    def enter(self, id: int) -> None:
        """Does nothing, because the only hierarchy is in front. (RootsPresenter brings one of several there.)"""

    def find(self, path: str) -> int | None:
        """The id of the row of a node; None if the row has not arrived."""
        id: int | None = ROOT
        for part in parts_of(path):
            branch = self._branches.get(id) if id is not None else None
            child = branch.child_named(part) if branch else None
            id = branch.child_id(child) if branch and child is not None else None
        return id

    # ------------------------------------------------------------------ gestures
    def expand(self, id: int) -> None:
        """Shows the children of a row; fetches them the first time. An only child that is a group is expanded too."""
        self._open(id, ALONE)

    def _open(self, id: int, unfolds: int = 0) -> None:
        branch = self._branch(id)
        if branch is None:
            return
        branch.expanded = True
        if branch.state == "unknown":
            branch.unfolds = unfolds
            self._fetch(branch)
        self._touch(id)

    def expand_all(self, id: int) -> None:
        """Expands a row and all groups beneath it, as far as `Unfolding` allows."""
        if (branch := self._branch(id)) is not None and self._hierarchy is not None:
            self._unfolding.all_beneath(branch, ALL_FAR if self._hierarchy.store.remote else ALL)

    def collapse(self, id: int) -> None:
        """Hides the children of a row; they are kept, and are not read again."""
        branch = self._branches.get(id)
        if branch is not None and branch.expanded:
            branch.expanded = False
            self._unfolding.stop()
            self._touch(id)

    def toggle(self, id: int) -> None:
        """Expands a collapsed row, or collapses an expanded one."""
        branch = self._branches.get(id)
        if branch is not None and branch.expanded:
            self.collapse(id)
        else:
            self.expand(id)

    def refresh(self, id: int = ROOT) -> None:
        """Reads the children of a row again. All rows beneath get new ids."""
        old = self._branches.get(id)
        if old is None or self._hierarchy is None:
            return
        if (nodes := getattr(self._hierarchy, "_nodes", None)) is not None:
            nodes.forget()
        self._awaited.keep(each for each in self._branches.values() if each.path.startswith(old.path.rstrip("/") + "/"))
        self._drop(old)
        fresh = Branch(old.id, old.path, old.depth, expanded=old.expanded)
        self._branches[id] = fresh
        if id == ROOT:
            self._root = fresh
        else:
            parent, child = self._whose(id)
            parent.below[child] = fresh
        if fresh.expanded:
            self._fetch(fresh)
        self._touch(id)

    def cancel(self, id: int) -> None:
        """Stops fetching the children of a row; children that have arrived stay."""
        branch = self._branches.get(id)
        if branch is not None and branch.ticket is not None:
            self._settle(branch, "failed", strings.CANCELLED, retry=True)

    def retry(self, id: int) -> None:
        """Fetches the children of a row again, after FAILED or a cancel."""
        if (branch := self._branches.get(id)) is not None and branch.retry:
            branch.expanded = True
            self.refresh(id)

    def read_denied_again(self) -> None:
        """Reads denied rows again, after other credentials were given. All other rows stay as they are."""
        for branch in [*self._branches.values()]:
            branch.see_again()
            if branch.state == "ready":  # clears a sentence about a typed name to which access was denied
                branch.sentence = branch.unlisted or ("" if branch.order else strings.EMPTY_GROUP)
            if branch.denied:
                self.retry(branch.id)
            self._touch(branch.id)

    def filter(self, text: str) -> None:
        """Shows only rows whose name contains `text` (ignoring case), and the rows above them. "" shows all."""
        self.filter_text = text
        needle = text.strip().casefold()
        if needle != self._search.needle:
            self._search.needle = needle
            for branch in self._branches.values():
                self._search.anew(branch)
                self._touch(branch.id)

    def reveal(self, path: str, *, given: bool = False) -> None:
        """Expands the groups above a node as needed, and fetches them. `given`: adds rows that no listing names."""
        self._awaited.reveal(path, given)
        self._awaited.advance(self._root, self._branches)

    def open_child(self, id: int, name: str) -> None:
        """Adds a child, "a", or a node beneath a child, "a/b", by a name that the person typed, if the store cannot
        list. If the node does not exist, the row shows a sentence."""
        branch = self._branch(id)
        parts = parts_of(name)
        if branch is None or not parts or self._hierarchy is None:
            return
        hierarchy, path = self._hierarchy, branch.path
        branch.expanded = True
        self._awaited.typed(path, "/".join(parts))
        if branch.state == "unknown":
            self._fetch(branch)
        if branch.ticket is not None:  # the name is added once the listing is complete
            self._touch(id)
            return

        def work() -> Child:
            node = hierarchy[f"{path.rstrip('/')}/{parts[0]}"]
            return Child(parts[0], node.kind, node.metadata, getattr(node, "problem", None))

        def done(outcome: JobResult[Child]) -> None:
            if branch.dead:
                return
            self.attempted.emit(outcome.error, path, parts[0])
            if outcome.error is not None:
                self._awaited.forget(path, "/".join(parts))
                branch.sentence = strings.problem(outcome.error, path).headline
            elif outcome.value is not None:
                if branch.child_named(parts[0]) is None:
                    self._add(branch, outcome.value)
                branch.sentence = branch.unlisted
                if parts[1:]:
                    child = branch.child_named(parts[0])
                    if child is not None:
                        self.open_child(branch.child_id(child), "/".join(parts[1:]))
                self._awaited.advance(self._root, self._branches)
            self._touch(branch.id)

        self._owner.read(work, done)

    @property
    def finds(self) -> bool:
        """Whether any name passes the filter, or a search for names still runs."""
        return self._root.searching is not None or bool(self._root.shown(self._search.needle))

    # ------------------------------------------------------------------ fetching
    def _fetch(self, branch: Branch) -> None:
        if self._hierarchy is None:
            return
        hierarchy, path = self._hierarchy, branch.path
        branch.state, branch.sentence, branch.retry = "loading", strings.LOADING, False

        def send(came: ArrivedNames | Inspected) -> None:
            self._owner.post(lambda: self._arrived(branch, came))

        def opened(group: Group, titles: Mapping[str, str]) -> None:
            self._owner.post(lambda: setattr(branch, "node", group))
            self._owner.post(lambda: self.entitle(titles))

        def work(cancelled: Callable[[], bool]) -> bool | None:
            return list_children(hierarchy, path, opened, send, cancelled)

        def done(outcome: JobResult[bool | None]) -> None:
            if outcome.error is not None:
                problem = strings.problem(outcome.error, path)
                self._settle(branch, "failed", problem.headline, problem.retry)
                branch.denied = bool(problem.tried)
            elif outcome.value is None:
                self._settle(branch, "ready", "", retry=False)  # the root is an array, so there are no children to list
            else:
                branch.unlisted = "" if outcome.value else tree_text.unlisted(hierarchy, path, bool(branch.order))
                sentence = branch.unlisted or ("" if branch.order else strings.EMPTY_GROUP)
                self._settle(branch, "ready", sentence, retry=branch.unlisted not in ("", strings.UNLISTABLE))
            self.attempted.emit(outcome.error, path, "")

        branch.ticket = self._owner.read(work, done)

    def _arrived(self, branch: Branch, came: ArrivedNames | Inspected) -> None:
        if branch.dead or branch.ticket is None:
            return
        if isinstance(came, ArrivedNames):
            self._take(branch, came)
            self._search.begin(branch)
        else:
            branch.tell(came)
        self._awaited.arrived(branch, all_there=False)
        self._touch(branch.id)
        self._awaited.advance(self._root, self._branches)

    def _add(self, branch: Branch, child: Child) -> None:
        """Adds a child whose name the person typed."""
        first = len(branch.names)
        keys = {first: natural(child.name)}
        order = merged(branch.order, [first], lambda k: keys[k] if k == first else natural(branch.names[k]))
        self._take(branch, ArrivedNames([NameBlock.of([child.name])], bytes(1), order, {first: Seen.of(child)}))
        branch.origins[first] = "typed"

    def _take(self, branch: Branch, batch: ArrivedNames) -> None:
        self._starts.append(self._next)
        self._blocks.append((branch, len(branch.names)))
        branch.take(batch, self._next)
        self._next += len(batch.kinds)

    def _settle(self, branch: Branch, state: str, sentence: str, retry: bool) -> None:
        branch.stop_listing()
        branch.state, branch.sentence, branch.retry = state, sentence, retry
        self._awaited.arrived(branch, all_there=True)
        self._unfolding.listed(branch)
        self._touch(branch.id)
        self._awaited.advance(self._root, self._branches)

    def _drop(self, branch: Branch) -> None:
        branch.stop()
        branch.dead = True
        for below in branch.below.values():
            self._drop(below)
            self._branches.pop(below.id, None)

    # ------------------------------------------------------------------ rows
    def _whose(self, id: int) -> tuple[Branch, int]:
        at = bisect_left(self._starts, id + 1) - 1
        if at < 0:
            raise KeyError(id)
        branch, first = self._blocks[at]
        child = first + id - self._starts[at]
        if branch.dead or child >= len(branch.names):
            raise KeyError(id)
        return branch, child

    def _branch(self, id: int) -> Branch | None:
        """The branch of a row, which is made if it is missing; None for an array, and for an id that is gone."""
        if id in self._branches:
            return self._branches[id]
        try:
            parent, child = self._whose(id)
        except KeyError:
            return None
        if parent.kind(child) == "array":
            return None
        branch = Branch(id, parent.child_path(child), parent.depth + 1)
        parent.below[child] = self._branches[id] = branch
        return branch

    # ------------------------------------------------------------------ signals
    def _touch_row(self, path: str) -> None:
        if (id := self.find(path)) is not None:
            self._touch(ROOT if id == ROOT else self._whose(id)[0].id)

    def _touch(self, id: int) -> None:
        self._stale[id] = None
        self._notify.soon()

    def _emit(self) -> None:
        stale, self._stale = self._stale, {}
        try:
            while stale:
                id = next(iter(stale))
                del stale[id]
                self.changed.emit(id)
        finally:
            for id in stale:  # if a listener raises an error, the remaining rows are reported in the next pass
                self._touch(id)
