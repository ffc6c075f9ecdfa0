"""Makes room for a node where another is: one that is created (`overwrite=True`), moved or copied (`replace=True`).

A folder with a trash keeps the old node there, so that it can be restored; another store keeps it aside, under another
name (set_aside.py), until the new node is complete. If the new node fails, the old one comes back. If the process is
killed in between, or the store fails for good, the old node is in the trash or aside, and nothing or a part of the new
one is at the path. A store that cannot list its keys erases the old node first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from zarrscope.dialects import Dialect, NodeKind
from zarrscope.errors import NotFound, Refused, Unsupported, ZarrscopeError
from zarrscope.model.metadata import ArrayMetadata, GroupMetadata
from zarrscope.nodes.context import NodeContext
from zarrscope.nodes.edit import erase_node, need_node, need_place
from zarrscope.nodes.set_aside import SetAside, tell_place
from zarrscope.nodes.trash import bring_back, erase_thrown, throw_away
from zarrscope.stores.dry_run import DryRunStore
from zarrscope.stores.local.trash import remove_empty_trash, writable_trash
from zarrscope.stores.store import Store

COPIED_ASIDE = (
    "The node that is replaced is first copied to another name, which takes as much room once more, and is erased when "
    "the new one is complete"
)
ERASED_FIRST = (
    "The node that is replaced is erased first, because this store cannot list its keys: if something fails after "
    "that, neither is left"
)


class FormerNode(Protocol):
    """A node that made room for another one."""

    @property
    def place(self) -> str:
        """The place where it is now, and how a person puts it back: the second half of a sentence."""

    def restore(self) -> None:
        """Puts it back to its path. Raises Conflict if anything is stored there."""

    def erase(self) -> None:
        """Erases it for good."""


@dataclass(frozen=True)
class InTrash:
    """A former node in the trash."""

    nodes: NodeContext
    id: str
    place: str

    def restore(self) -> None:
        """Moves it back."""
        bring_back(self.nodes, self.id)

    def erase(self) -> None:
        """Erases it for good."""
        erase_thrown(self.nodes, self.id)


def make_room(
    nodes: NodeContext, path: str, metadata: ArrayMetadata | GroupMetadata, attributes: Mapping[str, Any]
) -> FormerNode | None:
    """Puts the node at `path` aside, if there is one, for the new node that `metadata` and `attributes` describe.
    Returns the former node; None if there was none, or it had to be erased."""
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


def put_aside(
    nodes: NodeContext, path: str, dialect: Dialect, kind: NodeKind, *, stays: bool = True
) -> FormerNode | None:
    """Moves a node into the trash, or aside where there is none. Erases it, and returns None, where the store cannot
    list its keys; also in a dry run if the node is not to stay in the trash (`stays`), because then the result is the
    same. The caller holds the store's lock."""
    tried = isinstance(nodes.store, DryRunStore)
    if writable_trash(nodes.store) and (stays or not tried):
        try:
            thrown = throw_away(nodes, path)
            return InTrash(nodes, thrown.id, f"in the trash, at {thrown.place}: restore it from there")
        except Unsupported:  # a part of the node lies on another disk
            pass
    if nodes.store.listable and not tried:
        aside = SetAside(nodes, path, dialect, kind)
        aside.put()
        return aside
    erase_node(nodes, dialect, path, kind)
    return None


def caution(store: Store) -> tuple[str, ...]:
    """A sentence for the plan of an act that replaces a node, where this takes room or is not safe; () elsewhere."""
    if writable_trash(store) or store._folder_of("") is not None or store._renames_within:
        return ()
    return (COPIED_ASIDE if store.listable else ERASED_FIRST,)


def take_back(nodes: NodeContext, former: FormerNode | None, error: BaseException) -> None:
    """Restores the former node after the new one failed with `error`, whose advice names its place if that fails, too.
    The caller does not hold the store's lock: under it, erased folders are only put aside, so that the trash would not
    be empty."""
    if former is not None:
        try:
            former.restore()
        except ZarrscopeError:  # the first error counts
            tell_place(error, former.place)
    remove_empty_trash(nodes.store)


def erase_former(nodes: NodeContext, former: FormerNode) -> None:
    """Erases the former node after the new one is complete."""
    try:
        former.erase()
    except ZarrscopeError as error:
        said = error.message.rstrip(".")
        nodes.warnings += (f"The node that was replaced could not be erased: {said}. It is {former.place}",)


@contextmanager
def restored_on_failure(nodes: NodeContext) -> Iterator[list[FormerNode]]:
    """Restores the nodes that were added to the list if the block fails, unless something else is stored there now.
    Otherwise erases them for good. The caller does not hold the store's lock (see `take_back`)."""
    former: list[FormerNode] = []
    try:
        yield former
    except BaseException as error:
        for each in former:
            take_back(nodes, each, error)
        remove_empty_trash(nodes.store)
        raise
    for each in former:
        erase_former(nodes, each)
