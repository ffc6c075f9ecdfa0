"""The keys that hold documents, among all keys beneath a node, and the place of the attributes in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrscope.dialects import Dialect
from zarrscope.model.node_path import clean_path
from zarrscope.nodes.listing import nothing_at

if TYPE_CHECKING:
    from zarrscope.nodes.context import NodeContext
    from zarrscope.nodes.hierarchy_like import HierarchyLike


class DocumentKeys:
    """Distinguishes documents of nodes from other keys: by prefix where documents are stored apart from chunks, else by
    the name at the end of the key.
    """

    def __init__(self, dialect: Dialect, path: str) -> None:
        self._dialect = dialect
        self._listing = dialect.listing(path) if dialect.apart else None
        self._own = frozenset(dialect.documents(path))

    def is_document(self, key: str) -> bool:
        """Whether the key is that of a document."""
        if key in self._own:
            return True
        if self._listing is not None:
            return key.startswith(self._listing)
        return key in self._dialect.documents("/" + key.rpartition("/")[0])


def attributes_at(context: NodeContext, path: str) -> tuple[str, str]:
    """The key of the document with a node's attributes, and their JSON pointer within it."""
    node = context.node_at(path)
    if node is None:
        raise nothing_at(context, path)
    return context.dialect_of(node).attributes_at(path, node.metadata.kind)


def attributes_pointer(hierarchy: HierarchyLike, path: str) -> str:
    """The place of the attributes in `hierarchy.document(path)`: "/attributes", or "" if the whole document consists of
    attributes. Raises NotFound, BadMetadata, Unreadable.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> attributes_pointer(zarrscope.open(MemoryStore(), mode="w-"), "/")
    '/attributes'
    """
    return attributes_at(hierarchy._nodes, clean_path(path))[1]
