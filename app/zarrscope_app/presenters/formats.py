"""The format of a node. In a folder of several hierarchies, each node has its own, and the folder itself has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrscope.nodes.internals import node_context

if TYPE_CHECKING:
    from zarrscope.dialects import Dialect
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group
    from zarrscope.nodes.hierarchy_like import HierarchyLike

FOLDER = "folder"
FOLDER_OF_HIERARCHIES = "A folder that contains hierarchies"
FOLDER_WORDS = "A folder that contains Zarr hierarchies. Choose one in the tree."


def dialect_of(node: Group | Array) -> Dialect | None:
    """The dialect of a node; None for a folder of hierarchies, and for an array without a hierarchy."""
    if node.hierarchy is None:
        return None
    context = node_context(node.hierarchy)
    if len(context.dialects) > 1 and getattr(node.metadata, "implicit", False):
        return None
    return context.dialect_of(node)


def name_of(hierarchy: HierarchyLike, node: Group | Array | None) -> str:
    """ "v3"; the format of the hierarchy while its node is being read."""
    if node is None:
        return FOLDER if len(node_context(hierarchy).dialects) > 1 else hierarchy.dialect.name
    dialect = dialect_of(node)
    return FOLDER if dialect is None else dialect.name


def words_of(node: Group | Array) -> str:
    """A sentence about a folder of hierarchies; "" for other nodes."""
    return FOLDER_WORDS if is_folder(node) else ""


def is_folder(node: Group | Array) -> bool:
    """Whether the node is a folder of hierarchies, which has no document and thus no attributes."""
    return node.hierarchy is not None and dialect_of(node) is None


def title_of(node: Group | Array) -> str:
    """ "Zarr v3"."""
    dialect = dialect_of(node)
    return FOLDER_OF_HIERARCHIES if dialect is None else dialect.title
