"""Erases a node so that another can be created in its place (`overwrite=True`).

Everything that may prevent the new node is checked first. A folder with a trash keeps the old node there, so that it
can be restored; elsewhere it is erased. The caller holds the store's lock and then creates the node. If its process is
killed in between, nothing is at the path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zarrscope.errors import NotFound, Refused, Unsupported
from zarrscope.model.metadata import ArrayMetadata, GroupMetadata
from zarrscope.nodes.context import NodeContext
from zarrscope.nodes.edit import erase_node, need_node, need_place
from zarrscope.nodes.trash import throw_away
from zarrscope.stores.local.trash import writable_trash


def make_room(
    nodes: NodeContext, path: str, metadata: ArrayMetadata | GroupMetadata, attributes: Mapping[str, Any]
) -> None:
    """Erases the node at `path`, if there is one, for the new node that `metadata` and `attributes` describe."""
    if path == "/":
        raise Refused(
            "The root is the hierarchy itself, which is not overwritten",
            store=nodes.url,
            advice="Erase the nodes in it, or create the hierarchy in another place.",
        )
    need_place(nodes, path)
    nodes.dialect.write(path, metadata, attributes)  # raises what a dialect cannot express
    try:
        dialect, kind = need_node(nodes, path, remains=True)
    except NotFound:
        return
    if writable_trash(nodes.store):
        try:
            throw_away(nodes, path)
            return
        except Unsupported:  # a part of the node lies on another disk
            pass
    erase_node(nodes, dialect, path, kind)
