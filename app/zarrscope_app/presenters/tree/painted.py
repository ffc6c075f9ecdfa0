"""The rows of the tree as hosts paint them, made from the branches when a host asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from zarrscope_app.presenters import origins, strings
from zarrscope_app.presenters.tree import tree_text
from zarrscope_app.presenters.tree.arriving import Seen
from zarrscope_app.presenters.tree.branch import Branch
from zarrscope_app.presenters.tree.inspection import Inspection, Search
from zarrscope_app.presenters.tree.rows import ROOT, RowState, TreeRow


class PaintedRows:
    """Makes the rows that hosts paint. Data of a row that were not read yet are requested, because a requested row is
    visible."""

    def __init__(self, inspection: Inspection, search: Search) -> None:
        self._inspection, self._search = inspection, search
        self.name = ""
        """The name of the hierarchy."""
        self.kind: Literal["group", "array"] = "group"
        """The kind of the hierarchy's root."""
        self.open = False
        self.marks: dict[str, str] = {}
        """Path → an icon that is more specific than that of a group."""
        self.titles: dict[str, str] = {}
        """Path → "well A/1", "field 1" or the name of an image, of the plates, wells and series that were read."""
        self.dirty: frozenset[str] = frozenset()
        """The paths of the nodes with unsaved changes."""
        self.asks: Callable[[], bool] = lambda: False
        """A function: whether the session can ask the person for other credentials."""

    def entitle(self, titles: Mapping[str, str], branches: Iterable[Branch]) -> list[Branch]:
        """Adds titles of nodes. Returns the branches with rows that change."""
        if titles.items() <= self.titles.items():
            return []
        self.titles |= titles
        above = {path.rpartition("/")[0] or "/" for path in titles}
        return [branch for branch in branches if branch.path in above]

    def row(self, branch: Branch, child: int) -> TreeRow:
        """The row of a child."""
        path = branch.child_path(child)
        below = branch.below.get(child)
        kind = branch.kind(child)
        seen = branch.seen.get(child)
        if seen is None:
            self._inspection.want(branch, child)
            seen = Seen(kind, "", kind or "unknown", "")
        title = self.titles.get(path, "")
        return TreeRow(
            id=branch.child_id(child),
            parent=branch.id,
            path=path,
            name=strings.clean(branch.names[child]),
            kind=kind,
            icon=self.marks.get(path, seen.icon),
            detail=strings.joined(title, seen.detail or _size(below)),
            title=title,
            badge=seen.badge,
            state=RowState(below.state) if below else RowState.READY if kind == "array" else RowState.UNKNOWN,
            expandable=is_expandable(branch, child),
            expanded=bool(below and below.expanded),
            depth=branch.depth + 1,
            sentence=self._sentence(below),
            retry=bool(below and below.retry),
            offer=self._offer(below),
            dirty=path in self.dirty,
            origin=origins.sentence(branch.origins.get(child, "")),
        )

    def root(self, root: Branch) -> TreeRow:
        """The row of the root."""
        return TreeRow(
            id=ROOT,
            parent=-1,
            path="/",
            name=strings.clean(self.name) or "/",
            kind=self.kind if self.open else None,
            icon=self.marks.get("/", self.kind),
            detail=_size(root),
            title="",
            badge="",
            state=RowState(root.state),
            expandable=True,
            expanded=root.expanded,
            depth=0,
            sentence=self._sentence(root),
            retry=root.retry,
            offer=self._offer(root),
            dirty="/" in self.dirty,
            origin="",
        )

    def _offer(self, branch: Branch | None) -> str:
        return "credentials" if branch is not None and branch.denied and self.asks() else ""

    def _sentence(self, branch: Branch | None) -> str:
        if branch is None:
            return ""
        if branch.sentence or not self._search.needle or not branch.names:
            return branch.sentence
        if branch.searching is not None:
            return tree_text.FILTERING
        if branch.path != "/" or branch.shown(self._search.needle):
            return ""  # a group that passes the filter itself need not contain a match
        return strings.NOTHING_FOUND


def is_expandable(branch: Branch, child: int) -> bool:
    """Whether a child can have children: a group, or a broken node whose kind could not be read."""
    seen = branch.seen.get(child)
    return branch.kind(child) == "group" or (seen is not None and seen.kind is None)


def _size(branch: Branch | None) -> str:
    return tree_text.size(len(branch.order), branch.ticket is not None) if branch is not None else ""
