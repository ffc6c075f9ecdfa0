"""Walks a hierarchy: yields every node beneath a group once.

If documents lie apart from chunks (the drafts), one list_prefix gives all nodes and their kinds, and no other request
is sent. Otherwise groups are listed level by level, and the documents of one group's children are fetched in parallel
(listing.py); with a consolidated copy of a remote store, no request is sent at all. Request counts: reference.md A.6
"Whole tree", A.14.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from zarrscope.dialects import Child
from zarrscope.errors import Unreadable, ZarrscopeError
from zarrscope.model.node_path import clean_path, join_path, natural
from zarrscope.model.storage import never
from zarrscope.nodes.consolidated_metadata import MAX_DEPTH, KeyTree
from zarrscope.nodes.listing import children, list_names, with_reader

if TYPE_CHECKING:
    from zarrscope.nodes.context import NodeContext


class Tree:
    """The nodes at and beneath `path`. It lists the store on first use.

    It shows the result of one listing: for nodes that are created or erased later, make another Tree. Only one thread
    may use it.
    """

    def __init__(self, hierarchy: NodeContext, path: str = "/", cancelled: Callable[[], bool] = never) -> None:
        self.hierarchy = hierarchy
        self.path = clean_path(path)
        self.cancelled = cancelled
        self._keys: KeyTree | None = None
        self._by_level = not (
            hierarchy.dialect.apart
            and hierarchy.store.listable
            and (hierarchy.prefers_own or hierarchy.consolidated_metadata is None)
        )

    def children(self, path: str) -> Iterator[Child]:
        """The children of a group within the tree, from the listing of the store if there is one."""
        path = clean_path(path)
        keys = self._listed()
        if keys is None:
            return children(self.hierarchy, path, self.cancelled)
        dialect = self.hierarchy.dialect
        found = dialect.children(path, keys.list_dir(dialect.listing(path)))
        return self.hierarchy.shown(path, (with_reader(self.hierarchy, path, child) for child in found))

    def list_names(self, path: str) -> Iterator[Child]:
        """The names beneath a group of the tree, without documents, from the listing of the store if there is one."""
        if self._listed() is None:
            return list_names(self.hierarchy, path, self.cancelled)
        return self.children(path)

    def walk(self) -> Iterator[tuple[str, Child]]:
        """Yields (path, child) for every node beneath: parents first, the children of a group in natural order.

        A group whose children cannot be listed has an `error`, and so has a node with broken documents. Raises the
        errors of Hierarchy.children if the first listing fails. Ends early once cancelled; walks at most 64 levels.
        """
        return self._beneath(self.path, self._sorted(self.path))

    def _beneath(self, path: str, children: list[Child]) -> Iterator[tuple[str, Child]]:
        for child in children:
            where = join_path(path, child.name)
            below: list[Child] = []
            if child.kind == "group" and where.count("/") < MAX_DEPTH:
                try:
                    below = self._sorted(where)
                except ZarrscopeError as error:
                    child = child.failing(error)
            if self.cancelled():
                return
            yield where, child
            yield from self._beneath(where, below)

    def _sorted(self, path: str) -> list[Child]:
        return sorted(self.children(path), key=lambda child: natural(child.name))

    def _listed(self) -> KeyTree | None:
        """All keys of documents, from one listing; None if the store must be listed level by level."""
        if self._by_level:
            return None
        if self._keys is None:
            self._keys = KeyTree()
            try:
                for key in self.hierarchy.store.list_prefix(self.hierarchy.dialect.listing(self.path)):
                    if self.cancelled():
                        break
                    self._keys.add(key)
            except Unreadable:  # one unreadable folder must not hide the nodes of all others
                self._by_level, self._keys = True, None
        return self._keys
