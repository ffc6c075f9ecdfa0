"""Hierarchies: groups and arrays in a store, opened lazily, created, edited and erased.

A hierarchy knows its dialect (opening.py), and so the documents of every node. Opening a node costs one round trip, or
none if the hierarchy has consolidated metadata; children are listed one by one as they arrive (request counts:
reference.md A.14). A node that zarrscope cannot decode can still be opened and shows its metadata.

Only these methods write: create_group, create_array, save, resize, erase (edit.py), consolidate (consolidated.py),
moving and copying (move.py), and Array's own writing. listing.py lists the nodes beneath a group. Specification: v3
core, v2, reference.md A.1, A.8, A.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Self

from zarrscope.dialects import Child, Dialect, Node, NodeKind
from zarrscope.errors import ZarrscopeError
from zarrscope.errors.visible import visible
from zarrscope.model.metadata import ArrayMetadata
from zarrscope.model.node_path import clean_path
from zarrscope.model.storage import never
from zarrscope.nodes.changing import ChangingHierarchy
from zarrscope.nodes.context import NodeContext
from zarrscope.nodes.group import Group as Group
from zarrscope.nodes.listing import children, nothing_at
from zarrscope.nodes.opened import Opened
from zarrscope.stores.store import Store

# Methods import modules that only they need, so that opening and reading stay quick.
if TYPE_CHECKING:
    from zarrscope.dialects.extensions import Inherited
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.walk import Tree
    from zarrscope.stores.recognition import Recognition


class Hierarchy(ChangingHierarchy):
    """The groups and arrays of a store. Any thread may use it. `zarrscope.open` makes one.

    Parameters
    ----------
    nodes
        The store, its dialect, and the documents fetched so far.

    Attributes
    ----------
    initial_path
        The path of the node that the address named inside the store; "/" if it named none.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> h = zarrscope.open(MemoryStore(), mode="w-")
    >>> array = h.create_array("/images/0", shape=(64, 64), dtype="uint8")
    >>> [path for path, child in h.walk()]
    ['/images', '/images/0']
    >>> h["/images/0"].shape
    (64, 64)
    """

    def __init__(self, nodes: NodeContext) -> None:
        self._nodes = nodes
        self.initial_path = "/"

    # ------------------------------------------------------------------ properties
    @property
    def url(self) -> str:
        """The address of the store, without passwords."""
        return self._nodes.url

    @property
    def store(self) -> Store:
        """The store of the documents and the chunks."""
        return self._nodes.store

    @property
    def dialect(self) -> Dialect:
        """The layout of documents and chunks; `dialect.name` is "v3", "v2", "n5" or a draft's."""
        return self._nodes.dialect

    @property
    def other_dialects(self) -> tuple[str, ...]:
        """The names of other dialects whose documents lie in the same store."""
        return self._nodes.other_dialects

    @property
    def writable(self) -> bool:
        """Whether nodes may be created, changed and erased."""
        return self._nodes.writable

    @property
    def recognition(self) -> Recognition | None:
        """The kind of the place, if `open` found it out by looking: a database, an Icechunk repository, a folder that
        only contains hierarchies; None if the address states it. `recognition.sentence` says it."""
        return self._nodes.recognition

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings from opening and using the hierarchy."""
        return self._nodes.warnings

    @property
    def consolidated(self) -> bool:
        """Whether nodes are read from a copy of all documents at the root."""
        return self._nodes.consolidated

    @property
    def root(self) -> Group | Array:
        """The node at "/". Raises the same errors as `open_node`."""
        return self.open_node("/")

    def __getitem__(self, path: str) -> Group | Array:
        """The node at `path`. Raises the same errors as `open_node`."""
        return self.open_node(path)

    def _ipython_key_completions_(self) -> list[str]:
        """The names beneath the root that IPython proposes in `h["`."""
        with suppress(ZarrscopeError):
            if isinstance(root := self.root, Group):
                return root._ipython_key_completions_()
        return []

    def __contains__(self, path: object) -> bool:
        """Whether a node exists, even one that zarrscope cannot understand. Fetches only the documents of that node."""
        return isinstance(path, str) and path in self._nodes

    def close(self) -> None:
        """Closes files and connections of the store if `zarrscope.open` opened it; a store that was passed in stays
        open.

        A closed hierarchy can still be used: its store opens again the files and connections that it needs.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> with zarrscope.open(MemoryStore(), mode="w-") as h:  # closes at the end
        ...     group = h.create_group("/g")
        """
        if self._nodes.owns_store:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return visible(f"<Hierarchy {self.dialect.title} {self.url}>")

    def _repr_html_(self) -> str:
        """An HTML summary of bounded size for notebooks; it requests nothing from the store."""
        from zarrscope.nodes import html

        return html.of_hierarchy(self)

    # ------------------------------------------------------------------ nodes
    def open_node(self, path: str, kind: NodeKind | None = None) -> Group | Array:
        """Opens the node at `path`.

        Parameters
        ----------
        path
            Such as "/a/b"; "/" is the root.
        kind
            "group" or "array" if that is already known: then only the documents of that kind are requested.

        Returns
        -------
        Group or Array
            The node. An array that cannot be decoded here has a `problem`.

        Raises
        ------
        NotFound
            There is no node; the error names anything else that is stored there.
        BadMetadata, Unreadable, Unsupported
            Its document is broken; it cannot be read; it demands a feature that zarrscope lacks.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> h = zarrscope.open(MemoryStore(), mode="w-")
        >>> h.open_node("/").kind
        'group'
        """
        path = clean_path(path)
        node = self._nodes.node_at(path, kind)
        if node is None:
            raise nothing_at(self._nodes, path)
        return _opened(self, node)

    def extensions(self, path: str) -> list[Inherited]:
        """Finds the extensions of ZEP 9 at a node: its own and those of the groups above it, references resolved.

        For display: they do not change how arrays are read. A group above that cannot be opened is skipped. All
        documents are fetched in parallel.

        Parameters
        ----------
        path
            The node.

        Returns
        -------
        list of Inherited
            Each with the group that declares it.

        Raises
        ------
        Refused
            No node can have such a path.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> zarrscope.open(MemoryStore(), mode="w-").extensions("/")
        []
        """
        from zarrscope.nodes.extensions import extensions_at

        return extensions_at(self._nodes, clean_path(path))

    def children(self, path: str, cancelled: Callable[[], bool] = never) -> Iterator[Child]:
        """Lists the children of a group. `Group.children` also checks which extensions the group demands.

        Parameters
        ----------
        path
            The group.
        cancelled
            Called between batches; when it returns true, the listing ends.

        Yields
        ------
        Child
            A name with its kind, or with an `error` that says why nothing more is known.

        Raises
        ------
        Unsupported, Unreadable
            The store cannot list; it did not answer.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> h = zarrscope.open(MemoryStore(), mode="w-")
        >>> _ = h.create_group("/g")
        >>> [(child.name, child.kind) for child in h.children("/")]
        [('g', 'group')]
        """
        return children(self._nodes, path, cancelled)

    def tree(self, path: str = "/", cancelled: Callable[[], bool] = never) -> Tree:
        """Lists everything beneath a group, in as few requests as the dialect allows.

        Parameters
        ----------
        path
            The group.
        cancelled
            Called between batches; when it returns true, the listing ends.

        Returns
        -------
        Tree
            Its `children(path)` and `walk()` read from one listing, which is requested when they are first called.

        Raises
        ------
        Refused
            No node can have such a path.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> h = zarrscope.open(MemoryStore(), mode="w-")
        >>> _ = h.create_group("/g/deep")
        >>> [child.name for child in h.tree().children("/g")]
        ['deep']
        """
        from zarrscope.nodes.walk import Tree

        return Tree(self._nodes, path, cancelled)

    def walk(self, path: str = "/", cancelled: Callable[[], bool] = never) -> Iterator[tuple[str, Child]]:
        """Goes through all nodes beneath a group, parents first, the children of one group in natural order.

        Parameters
        ----------
        path
            The group.
        cancelled
            Called between nodes; when it returns true, the walk ends.

        Yields
        ------
        str
            The path of a node.
        Child
            The node's kind and metadata as far as known; a group that cannot be listed and a node with broken documents
            have an `error`.

        Raises
        ------
        Unsupported, Unreadable
            The first listing fails. Later failures are in `error`.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> h = zarrscope.open(MemoryStore(), mode="w-")
        >>> _ = h.create_group("/g/deep")
        >>> [path for path, child in h.walk()]
        ['/g', '/g/deep']
        """
        return self.tree(path, cancelled).walk()


@cache  # an import in a function takes 1.3 µs, each time that an array is opened
def _array_class() -> type[Array]:
    from zarrscope.nodes.array import Array

    return Array


def _opened(hierarchy: Hierarchy, node: Node) -> Group | Array:
    nodes = hierarchy._nodes
    if isinstance(node.metadata, ArrayMetadata):
        opened = Opened(nodes.dialect_of(node), node.path, node.metadata, nodes.is_copied(node.path))
        return _array_class()(
            nodes.store,
            node.path,
            node.metadata,
            node.attributes,
            warnings=node.warnings,
            hierarchy=hierarchy,
            opened=opened,
        )
    return Group(hierarchy, node.path, node.metadata, node.attributes, node.warnings)
