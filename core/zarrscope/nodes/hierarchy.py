"""Hierarchies: groups and arrays in a store, opened lazily, created, edited and erased.

A hierarchy knows its dialect (opening.py), and so which documents every node has. A node costs one round trip, none
when the hierarchy carries consolidated metadata; children stream while they are listed (request counts: reference.md
A.14). A node that cannot be decoded here still opens and shows its metadata.

Nothing is written but by create_group, create_array, save, resize, erase (edit.py), consolidate (consolidated.py),
moving and copying (move.py) and Array's own writing.
What lies beneath a group: listing.py. Specification: v3 core, v2, reference.md A.1, A.8, A.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Self

from zarrscope.dialects import Child, Dialect, Node, NodeKind
from zarrscope.errors.visible import visible
from zarrscope.model.metadata import ArrayMetadata
from zarrscope.model.node_path import clean_path
from zarrscope.model.storage import ByteRange, never
from zarrscope.nodes.array import Array
from zarrscope.nodes.changing import ChangingHierarchy
from zarrscope.nodes.context import NodeContext
from zarrscope.nodes.group import Group as Group
from zarrscope.nodes.listing import children, nothing_at
from zarrscope.nodes.opened import Opened
from zarrscope.stores.store import Store

# Methods import what only they need, so that opening and reading stay quick.
if TYPE_CHECKING:
    from zarrscope.dialects.extensions import Inherited
    from zarrscope.nodes.walk import Tree


class Hierarchy(ChangingHierarchy):
    """The groups and arrays of a store. Any thread may use it. `zarrscope.open` makes one.

    Parameters
    ----------
    nodes
        The store, its dialect, and what was fetched of it.

    Attributes
    ----------
    initial_path
        The path of the node that the address named, where it named one inside the store; else "/".

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
        self._owns_store = False
        self.initial_path = "/"

    # ------------------------------------------------------------------ what it is
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
        """The names of other dialects whose documents lie here too."""
        return self._nodes.other_dialects

    @property
    def writable(self) -> bool:
        """Whether nodes may be created, changed and erased."""
        return self._nodes.writable

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings from opening and using it."""
        return self._nodes.warnings

    @property
    def consolidated(self) -> bool:
        """Whether nodes are read from a copy of all documents at the root."""
        return self._nodes.consolidated

    @property
    def root(self) -> Group | Array:
        """The node at "/". Raises as `open_node`."""
        return self.open_node("/")

    def __getitem__(self, path: str) -> Group | Array:
        """The node at `path`. Raises as `open_node`."""
        return self.open_node(path)

    def __contains__(self, path: object) -> bool:
        """Whether a node is there, also one that cannot be understood. Fetches the documents of that node alone."""
        return isinstance(path, str) and path in self._nodes

    def close(self) -> None:
        """Gives back what the store holds open, where `zarrscope.open` opened the store; one handed in stays as it is.

        A hierarchy that was closed can still be used: its store opens again what it needs.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> with zarrscope.open(MemoryStore(), mode="w-") as h:  # closes at the end
        ...     group = h.create_group("/g")
        """
        if self._owns_store:
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
            "group" or "array" where that is known already: only its own documents are asked for then.

        Returns
        -------
        Group or Array
            The node. An array that cannot be decoded here has a `problem`.

        Raises
        ------
        NotFound
            Nothing is there; the error says what is there instead.
        BadMetadata, Unreadable, Unsupported
            Its document is broken; it cannot be read; it demands what zarrscope lacks.

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
        return self._made(node)

    def _made(self, node: Node) -> Group | Array:
        if isinstance(node.metadata, ArrayMetadata):
            opened = Opened(
                self._nodes.dialect_of(node), node.path, node.metadata, node.path in self._nodes._from_consolidated
            )
            return Array(
                self.store,
                node.path,
                node.metadata,
                node.attributes,
                warnings=node.warnings,
                hierarchy=self,
                opened=opened,
            )
        return Group(self, node.path, node.metadata, node.attributes, node.warnings)

    def extensions(self, path: str) -> list[Inherited]:
        """Finds the extensions of ZEP 9 at a node: its own and those of the groups above it, references resolved.

        For display: they change nothing in how arrays are read. A group above that cannot be opened tells nothing. All
        documents are fetched side by side.

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

    def demands_above(self, path: str) -> tuple[str, ...]:
        """Tells what groups above a node demand that zarrscope does not understand: it may change what is beneath.

        Show it with a node that is opened by its path; the groups themselves refuse to list what is beneath.

        Parameters
        ----------
        path
            The node.

        Returns
        -------
        tuple of str
            A sentence for each demand; documents of all groups above are fetched side by side.

        Raises
        ------
        Refused
            No node can have such a path.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> zarrscope.open(MemoryStore(), mode="w-").demands_above("/")
        ()
        """
        from zarrscope.nodes.extensions import demands_above

        return demands_above(self._nodes, clean_path(path))

    def children(self, path: str, cancelled: Callable[[], bool] = never) -> Iterator[Child]:
        """Lists one level: see `Group.children`, which looks at the group's own demands besides.

        Parameters
        ----------
        path
            The group.
        cancelled
            Asked between batches; once it is true the listing ends.

        Yields
        ------
        Child
            A name with its kind, or with the `error` why nothing more is known.

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
        """Gives all that lies beneath a group, listed in as few requests as the dialect allows.

        Parameters
        ----------
        path
            The group.
        cancelled
            Asked between batches; once it is true the listing ends.

        Returns
        -------
        Tree
            Its `children(path)` and `walk()` show what one listing found. The store is asked when they are.

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
            Asked between nodes; once it is true the walk ends.

        Yields
        ------
        str
            The path of a node.
        Child
            What is known of it; a group that cannot be listed and a node with broken documents have an `error`.

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

    def misplaced_chunks(self, array: Array) -> str | None:
        """Looks whether chunks lie where only lenient reading looks for them (v2, spec A.9). One round trip.

        Parameters
        ----------
        array
            An array of this hierarchy.

        Returns
        -------
        str or None
            A sentence that says so; None where they lie in place, or where there are none.

        Raises
        ------
        Unreadable
            The store did not answer.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> h = zarrscope.open(MemoryStore(), mode="w-")
        >>> h.misplaced_chunks(h.create_array("/a", shape=(4,), dtype="u1")) is None
        True
        """
        keys = [where.key((0,) * array.ndim) for where in (array.metadata.keys, *array.metadata.lenient_keys)]
        if len(keys) == 1:
            return None
        own, *others = self.store.get_partial_values([(key, ByteRange(0, 1)) for key in keys])
        found = [key for key, value in zip(keys[1:], others, strict=True) if value is not None]
        if own is not None or not found:
            return None
        return f"There is no chunk {keys[0]}, but {found[0]}, which is read only when opened leniently"
