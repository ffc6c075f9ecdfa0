"""Erases a node so that another can be created in its place (`overwrite=True`).

Everything that may prevent the new node is checked first. A folder with a trash keeps the old node there, so that it
can be restored; elsewhere it is erased. The caller holds the store's lock and then creates the node; if that fails, it
restores the old one. If its process is killed in between, nothing is at the path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zarrscope.errors import NotFound, Refused, Unsupported
from zarrscope.model.metadata import ArrayMetadata, GroupMetadata
from zarrscope.nodes.context import NodeContext
from zarrscope.nodes.edit import erase_node, need_node, need_place
from zarrscope.nodes.trash import bring_back, throw_away
from zarrscope.nodes.trash_record import Thrown
from zarrscope.stores.local.trash import remove_empty_trash, writable_trash


def make_room(
    nodes: NodeContext, path: str, metadata: ArrayMetadata | GroupMetadata, attributes: Mapping[str, Any]
) -> Thrown | None:
    """Erases the node at `path`, if there is one, for the new node that `metadata` and `attributes` describe. Returns
    the entry of the trash that it got; None if none is needed or there is no trash."""
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
        return None
    if writable_trash(nodes.store):
        try:
            return throw_away(nodes, path)
        except Unsupported:  # a part of the node lies on another disk
            pass
    erase_node(nodes, dialect, path, kind)
    return None


def take_back(nodes: NodeContext, thrown: Thrown | None) -> None:
    """Restores the former node after the new one could not be created. The caller does not hold the store's lock: under
    it, erased folders are only put aside, so that the trash would not be empty."""
    if thrown is not None:
        bring_back(nodes, thrown.id)
    else:
        remove_empty_trash(nodes.store)
