"""Makes room for a node where another is: one that is created (`overwrite=True`), moved or copied (`replace=True`).

A folder with a trash keeps the old node there, so that it can be restored; elsewhere it is erased. If the new node
fails, the old one comes back. If the process is killed in between, the old node is in the trash, and nothing or a part
of the new one is at the path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from zarrscope.dialects import Dialect, NodeKind
from zarrscope.errors import NotFound, Refused, Unsupported, ZarrscopeError
from zarrscope.model.metadata import ArrayMetadata, GroupMetadata
from zarrscope.nodes.context import NodeContext
from zarrscope.nodes.edit import erase_node, need_node, need_place
from zarrscope.nodes.trash import bring_back, erase_thrown, throw_away
from zarrscope.nodes.trash_record import Thrown
from zarrscope.stores.dry_run import DryRunStore
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
    return put_aside(nodes, path, dialect, kind)


def put_aside(nodes: NodeContext, path: str, dialect: Dialect, kind: NodeKind, *, stays: bool = True) -> Thrown | None:
    """Moves a node into the trash, and returns its entry. Erases it, and returns None, where there is no trash; also in
    a dry run if the entry is not to stay there (`stays`), because then the result is the same. The caller holds the
    store's lock."""
    if writable_trash(nodes.store) and (stays or not isinstance(nodes.store, DryRunStore)):
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


@contextmanager
def restored_on_failure(nodes: NodeContext) -> Iterator[list[Thrown]]:
    """Restores the entries of the trash that were added to the list if the block fails, unless something else is stored
    there now. Otherwise erases them for good. The caller does not hold the store's lock (see `take_back`)."""
    former: list[Thrown] = []
    try:
        yield former
    except BaseException:
        for thrown in former:
            with suppress(ZarrscopeError):  # the first error counts; the entry stays in the trash
                bring_back(nodes, thrown.id)
        remove_empty_trash(nodes.store)
        raise
    for thrown in former:
        with suppress(ZarrscopeError):  # the new node is complete
            erase_thrown(nodes, thrown.id)
