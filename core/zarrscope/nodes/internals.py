"""What the applications need of a hierarchy or an array beyond their public members.

`Hierarchy` and `Array` show only what users may use. Presenters and commands also need keys, prefetching, and the place
of a chunk; they ask for the two objects behind the public ones here, and reach for no underscore.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.context import NodeContext
    from zarrscope.nodes.hierarchy import Hierarchy
    from zarrscope.nodes.stored_array import StoredArray


def node_context(hierarchy: Hierarchy) -> NodeContext:
    """The store of a hierarchy with its dialect and the documents that were fetched."""
    return hierarchy._nodes


def stored_array(array: Array) -> StoredArray:
    """The store, metadata and codecs of an array, as chunks are read and written (chunkio/source.py)."""
    return array._stored
