"""Reads the documents of several nodes that are edited in one form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from zarrscope.errors import ZarrscopeError
from zarrscope.jsondoc.document import Document
from zarrscope.model.frozen import frozen
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope.runtime.threads import Background
from zarrscope_app.presenters.form.sections.model import NodeFacts, node_facts, subject_of
from zarrscope_app.presenters.form.sections.table import sections_of

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy


@frozen
class ReadNode:
    """The data read from a node."""

    document: Document
    prefix: str
    facts: NodeFacts
    fits: bool
    """Whether there is a section of the form for the node's attributes."""


def read_nodes(
    hierarchy: Hierarchy, paths: Sequence[str], background: Background, cancelled: Callable[[], bool]
) -> dict[str, ReadNode | None]:
    """Path → data of the node; None for a node that cannot be read. Blocks until all are read; threads of `background`
    read in parallel. If it is cancelled, some paths are missing from the result."""
    found: dict[str, ReadNode | None] = {}

    def one(path: str) -> None:
        if not cancelled():
            found[path] = _read(hierarchy, path)

    background.share(paths, one)
    return found


def _read(hierarchy: Hierarchy, path: str) -> ReadNode | None:
    try:
        node = hierarchy[path]
        document, prefix = hierarchy.document(path), attributes_pointer(hierarchy, path)
    except ZarrscopeError:
        return None
    facts = node_facts(hierarchy, node)
    return ReadNode(document, prefix, facts, bool(sections_of(subject_of(document, prefix, facts))))
