"""Access for the applications to the inner objects of a hierarchy or an array.

`Hierarchy` and `Array` have only public members. Presenters and commands also need keys, prefetching, and the place of
a chunk; these functions return the inner objects, so that no caller uses a private attribute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.context import NodeContext
    from zarrscope.nodes.hierarchy_like import HierarchyLike
    from zarrscope.nodes.stored_array import StoredArray


def node_context(hierarchy: HierarchyLike) -> NodeContext:
    """The NodeContext of a hierarchy: its store, its dialect and the documents that were fetched."""
    return hierarchy._nodes


def stored_array(array: Array) -> StoredArray:
    """The store, metadata and codecs of an array, as chunks are read and written (chunkio/source.py)."""
    return array._stored
