"""Erases the documents of new nodes again if the change that stores them fails, for example because the disk is full.

with erased_on_failure(nodes) as new:
    create_groups(nodes, ["/a", "/a/b"], new)
    ...  # if this raises, neither group is left
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias

from zarrscope.errors import Unreadable, ZarrscopeError
from zarrscope.nodes.consolidated import follow
from zarrscope.stores.local.failures import FULL_DISK

if TYPE_CHECKING:
    from zarrscope.nodes.context import NodeContext

NewDocuments: TypeAlias = dict[str, dict[str, bytes]]
"""The documents that a change has stored, by the path of their node, outer nodes first: key → value."""


@contextmanager
def erased_on_failure(nodes: NodeContext) -> Iterator[NewDocuments]:
    """Erases the documents that were added to the dict if the block fails."""
    new: NewDocuments = {}
    try:
        yield new
    except BaseException as error:
        erase_new(nodes, new)
        if isinstance(error, Unreadable) and str(error.advice).startswith(FULL_DISK):
            error.advice = f"{FULL_DISK} Nothing new is left."
        raise


def erase_new(nodes: NodeContext, new: NewDocuments) -> None:
    """Erases documents of a change that failed, the innermost first, as far as the store permits. A node stays if
    others have changed its documents, or stored anything beneath it."""
    if not new:
        return
    erased: list[str] = []
    with suppress(ZarrscopeError), nodes.store.lock():
        for path, documents in reversed(new.items()):
            prefixes = nodes.dialect.erase(path, "group").prefixes
            beneath = (prefix + entry.name for prefix in prefixes for entry in nodes.store.list_dir(prefix))
            if any(key not in documents for key in beneath):
                continue
            for key, value in reversed(documents.items()):  # the document that makes the node is the last one
                if nodes.store.get(key) == value:
                    nodes.store.erase(key)
                    erased.append(key)
    nodes.forget()
    if erased:
        follow(nodes, {}, gone=(erased, ()))
