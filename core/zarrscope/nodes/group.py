"""A group of a hierarchy: its attributes and its children (listing.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from zarrscope.dialects import Child
from zarrscope.dialects.defects import as_stored
from zarrscope.errors import NotFound, Refused, ZarrscopeError
from zarrscope.errors.visible import visible
from zarrscope.model.metadata import ExtensionReport, GroupMetadata
from zarrscope.model.node_path import clean_path, join_path
from zarrscope.model.storage import never
from zarrscope.nodes.changing_group import ChangingGroup, path_beneath
from zarrscope.nodes.listing import inspect, list_names
from zarrscope.runtime.tuning import CHILDREN_AT_ONCE

COMPLETED = 1000
"""The most names that are proposed when the name of a child is completed."""

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.attributes import Attributes
    from zarrscope.nodes.hierarchy_like import HierarchyLike
    from zarrscope.nodes.walk import Tree


class Group(ChangingGroup):
    """A group of a hierarchy: its attributes and its children. `Hierarchy` opens and creates groups.

    It can be used as a mapping from the names of its children to nodes; `del group[name]` erases a node. Nothing is
    cached between two calls: each iteration and each `len` lists the group once. A group is always true, even without
    children, so that `if group:` sends no request to the store.

    Two groups are equal if they have the same place, metadata and attributes; their children are not compared.

    Parameters
    ----------
    hierarchy
        The hierarchy in which it was opened.
    path
        Its path in the hierarchy.
    metadata
        The metadata from its document.
    attributes
        Its attributes, as they were read.
    warnings
        Warnings from opening it.

    Examples
    --------
    >>> import zarrscope
    >>> h = zarrscope.open({}, mode="w-")
    >>> _ = h.create_array("/images/0", shape=(8, 8), dtype="u1")
    >>> group = h["/images"]
    >>> list(group), "0" in group, group["0"].shape
    (['0'], True, (8, 8))
    """

    kind: Literal["group"] = "group"

    def __init__(
        self,
        hierarchy: HierarchyLike,
        path: str,
        metadata: GroupMetadata,
        attributes: Mapping[str, Any],
        warnings: tuple[str, ...] = (),
    ) -> None:
        self.hierarchy = hierarchy
        self.path = path
        self.metadata = metadata
        self.attributes = as_stored(attributes)
        self.warnings = warnings

    @property
    def name(self) -> str:
        """The last part of the path; "" for the root."""
        return self.path.rpartition("/")[2]

    @property
    def attrs(self) -> Attributes:
        """The attributes, for reading and changing: every change is saved at once. `attributes` has the
        values as read."""
        from zarrscope.nodes.attributes import Attributes

        return Attributes(self, lambda: self.hierarchy._nodes)

    @property
    def extensions(self) -> tuple[ExtensionReport, ...]:
        """The extensions of the group's document, and how each is handled."""
        return self.metadata.extensions

    @property
    def problem(self) -> ZarrscopeError | None:
        """The error for a broken document, or for an extension that this group demands and zarrscope does not know;
        else None."""
        found = self.metadata.problem
        return found.located(store=self.hierarchy.url) if found is not None else None

    def children(self, cancelled: Callable[[], bool] = never, *, tree: Tree | None = None) -> Iterator[Child]:
        """Lists every child once, with its kind. The first children are yielded before the last are listed.

        Parameters
        ----------
        cancelled
            Called between batches; when it returns true, the listing ends.
        tree
            A listing of everything beneath a group above, if there is one (`Hierarchy.tree`).

        Yields
        ------
        Child
            A name with its kind. A child whose documents are broken has an `error`; the listing continues with the
            others.

        Raises
        ------
        Unsupported
            The store cannot list, and no metadata name the children; or the group demands an extension that is not
            understood here.
        BadMetadata
            The document of the group is broken (`problem`). `names` lists its children all the same.
        Unreadable
            The store did not answer.

        Examples
        --------
        >>> import zarrscope
        >>> h = zarrscope.open({}, mode="w-")
        >>> _ = h.create_array("/a", shape=(4,), dtype="u1")
        >>> [(child.name, child.kind, child.error) for child in h.root.children()]
        [('a', 'array', None)]
        """
        _need(self, self.problem)
        return self.hierarchy.children(self.path, cancelled) if tree is None else tree.children(self.path)

    def names(self, cancelled: Callable[[], bool] = never, *, tree: Tree | None = None) -> Iterator[Child]:
        """Lists the children as `children` does, even if the metadata encoding is unknown: keys then show the
        kinds.

        Parameters
        ----------
        cancelled
            Called between batches; when it returns true, the listing ends.
        tree
            A listing of everything beneath a group above, if there is one (`Hierarchy.tree`).

        Yields
        ------
        Child
            A name with its kind.

        Raises
        ------
        Unsupported, Unreadable
            The store cannot list, and no metadata name the children; the store did not answer. An extension that the
            group demands is no obstacle here.

        Examples
        --------
        >>> import zarrscope
        >>> h = zarrscope.open({}, mode="w-")
        >>> _ = h.create_group("/g")
        >>> [child.name for child in h.root.names()]
        ['g']
        """
        _need(self, self.metadata.listing_problem)
        return self.hierarchy.children(self.path, cancelled) if tree is None else tree.children(self.path)

    def list_names(self, cancelled: Callable[[], bool] = never, *, tree: Tree | None = None) -> Iterator[Child]:
        """Lists the names that may be children, and their kinds if the name shows it. It reads no document.

        Use it for large groups that are shown in part; `inspect` then finds the kinds of the visible names. A name may
        turn out not to be a node.

        Parameters
        ----------
        cancelled
            Called between names; when it returns true, the listing ends.
        tree
            A listing of everything beneath a group above, if there is one (`Hierarchy.tree`).

        Yields
        ------
        Child
            A name; its `kind` is None if only its documents show it.

        Raises
        ------
        Unsupported, Unreadable
            The store cannot list, and no metadata name the children; the store did not answer.

        Examples
        --------
        >>> import zarrscope
        >>> h = zarrscope.open({}, mode="w-")
        >>> _ = h.create_group("/g")
        >>> [(child.name, child.kind) for child in h.root.list_names()]
        [('g', None)]
        """
        _need(self, self.metadata.listing_problem)
        context = self.hierarchy._nodes
        return list_names(context, self.path, cancelled) if tree is None else tree.list_names(self.path)

    def inspect(self, children: Iterable[Child], cancelled: Callable[[], bool] = never) -> Iterator[Child]:
        """Finds the kinds of listed names: fetches their documents in parallel.

        Parameters
        ----------
        children
            Names from `list_names`.
        cancelled
            Called between batches; when it returns true, no more are inspected.

        Yields
        ------
        Child
            The names that are nodes, with kind, metadata and error as from `children`, in any order.

        Raises
        ------
        Unreadable
            The store did not answer.

        Examples
        --------
        >>> import zarrscope
        >>> h = zarrscope.open({"notes/readme": b""}, mode="a")
        >>> _ = h.create_group("/g")
        >>> [(child.name, child.kind) for child in h.root.inspect(h.root.list_names())]
        [('g', 'group')]
        """
        return inspect(self.hierarchy._nodes, self.path, children, cancelled)

    def __getitem__(self, path: str) -> Group | Array:
        made: Group | Array = self.hierarchy.open_node(path_beneath(self, path))
        return made

    def get(self, path: str, default: object = None) -> Any:
        """Opens a node beneath this group, if there is one.

        Parameters
        ----------
        path
            The name of a child, or a path such as "a/b".
        default
            The result if there is no such node.

        Returns
        -------
        Group, Array or `default`
            The node.

        Raises
        ------
        BadMetadata, Unreadable, Unsupported
            There is a node, but it cannot be opened, as in `group[path]`.

        Examples
        --------
        >>> import zarrscope
        >>> h = zarrscope.open({}, mode="w-")
        >>> h.root.get("nothing") is None
        True
        """
        try:
            return self[path]
        except NotFound:
            return default

    def __contains__(self, path: object) -> bool:
        """Whether a node exists, even one that zarrscope cannot understand. Fetches only the documents of that node."""
        try:
            return isinstance(path, str) and clean_path(join_path(self.path, path)) in self.hierarchy._nodes
        except Refused:
            return False

    def __iter__(self) -> Iterator[str]:
        return (child.name for child in self.children())

    def __len__(self) -> int:
        return sum(1 for _ in self.children())

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Group):
            return NotImplemented
        from zarrscope.nodes.attributes import same_node

        return self is other or (self.hierarchy.url == other.hierarchy.url and same_node(self, other))

    def __hash__(self) -> int:
        return hash((self.hierarchy.url, self.path))

    def _ipython_key_completions_(self) -> list[str]:
        """The names that IPython proposes in `group["`: the first thousand, from one listing."""
        with suppress(ZarrscopeError):
            return [child.name for child in islice(self.list_names(), COMPLETED)]
        return []

    def keys(self) -> Iterator[str]:
        """Gives the names of the children, in the order of arrival, from one listing.

        Yields
        ------
        str
            A name.

        Raises
        ------
        Unsupported, Unreadable
            The store cannot list, or the group demands an unknown extension; the store did not answer.

        Examples
        --------
        >>> import zarrscope
        >>> h = zarrscope.open({}, mode="w-")
        >>> _ = h.create_group("/g")
        >>> list(h.root.keys())
        ['g']
        """
        return iter(self)

    def items(self) -> Iterator[tuple[str, Group | Array]]:
        """Opens the children, in the order of arrival, from one listing and the nodes' own documents.

        Yields
        ------
        str
            A name.
        Group or Array
            The node.

        Raises
        ------
        ZarrscopeError
            A child cannot be opened. (`children` continues after such a child and sets its `error`.)

        Examples
        --------
        >>> import zarrscope
        >>> h = zarrscope.open({}, mode="w-")
        >>> _ = h.create_group("/g")
        >>> {name: node.kind for name, node in h.root.items()}
        {'g': 'group'}
        """
        return _opened(self, self.children())

    def groups(self) -> Iterator[tuple[str, Group]]:
        """Opens the groups among the children. The documents of arrays are not opened.

        Yields
        ------
        str
            A name.
        Group
            The node.

        Raises
        ------
        ZarrscopeError
            A group cannot be opened. (`children` continues after such a child and sets its `error`.)

        Examples
        --------
        >>> import zarrscope
        >>> h = zarrscope.open({}, mode="w-")
        >>> _ = h.create_group("/g")
        >>> [name for name, group in h.root.groups()]
        ['g']
        """
        found = _opened(self, (child for child in self.children() if child.kind == "group"))
        return ((name, node) for name, node in found if isinstance(node, Group))

    def arrays(self) -> Iterator[tuple[str, Array]]:
        """Opens the arrays among the children. The documents of groups are not opened.

        Yields
        ------
        str
            A name.
        Array
            The node.

        Raises
        ------
        ZarrscopeError
            An array cannot be opened. (`children` continues after such a child and sets its `error`.)

        Examples
        --------
        >>> import zarrscope
        >>> h = zarrscope.open({}, mode="w-")
        >>> _ = h.create_array("/a", shape=(4,), dtype="u1")
        >>> [(name, array.shape) for name, array in h.root.arrays()]
        [('a', (4,))]
        """
        found = _opened(self, (child for child in self.children() if child.kind == "array"))
        return ((name, node) for name, node in found if not isinstance(node, Group))

    def __repr__(self) -> str:
        return visible(f"<Group {self.path} in {self.hierarchy.url}>")

    def _repr_html_(self) -> str:
        """An HTML summary of bounded size for notebooks; it requests nothing from the store."""
        from zarrscope.nodes import html

        return html.of_group(self)


def _need(group: Group, problem: ZarrscopeError | None) -> None:
    """Raises the problem of a group, if it has one."""
    if problem is not None:
        raise problem.located(store=group.hierarchy.url, key=group.hierarchy.dialect.documents(group.path)[0])


def _opened(group: Group, children: Iterator[Child]) -> Iterator[tuple[str, Group | Array]]:
    while batch := list(islice(children, CHILDREN_AT_ONCE)):
        group.hierarchy._nodes.prefetch([join_path(group.path, child.name) for child in batch])
        for child in batch:
            yield child.name, group.hierarchy.open_node(join_path(group.path, child.name), child.kind)
