"""Extensions (ZEP 9) that a node inherits from the groups above it, and those that these groups demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrscope.dialects import StoredDocument
from zarrscope.dialects.extensions import Inherited, inherited
from zarrscope.errors import ZarrscopeError
from zarrscope.model.metadata import ExtensionOutcome, ExtensionReport
from zarrscope.model.node_path import clean_path

if TYPE_CHECKING:
    from zarrscope.nodes.context import NodeContext
    from zarrscope.nodes.hierarchy_like import HierarchyLike


def extensions_at(hierarchy: NodeContext, path: str) -> list[Inherited]:
    """See Hierarchy.extensions; `path` is clean."""
    return inherited(path, _declared(hierarchy, path))


def demands_above(hierarchy: HierarchyLike, path: str) -> tuple[str, ...]:
    """A sentence for each extension that a group above a node demands and zarrscope does not understand.

    They may change the node, so they should be shown with a node that was opened by its path. The groups themselves
    refuse to list children. The documents of all groups above are fetched in parallel. Raises Refused for a path that
    no node can have.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> demands_above(zarrscope.open(MemoryStore(), mode="w-"), "/")
    ()
    """
    path = clean_path(path)
    if path == "/":
        return ()
    return tuple(
        f"{above}, above it, demands the {report.point} {report.name!r}, which is not understood here: "
        "the displayed data may be wrong"
        for above, reports in _declared(hierarchy._nodes, path.rpartition("/")[0] or "/").items()
        for report in reports
        if report.outcome is ExtensionOutcome.REFUSED and not report.key
    )


def _declared(hierarchy: NodeContext, path: str) -> dict[str, tuple[ExtensionReport, ...]]:
    """The extension reports of the node at `path` and of each group above it, by path, the root first."""
    parts = [part for part in path.split("/") if part]
    places = ["/" + "/".join(parts[:n]) for n in range(len(parts) + 1)]
    keys = [key for where in places for key in hierarchy.keys_of(where)]
    copies = hierarchy.consolidated_metadata.documents if hierarchy.consolidated_metadata is not None else {}
    documents: dict[str, StoredDocument] = {key: copies[key] for key in keys if key in copies}
    for key, answer in hierarchy.answers([key for key in keys if key not in documents]).items():
        if isinstance(answer, bytes):
            documents[key] = answer
    declared: dict[str, tuple[ExtensionReport, ...]] = {}
    for where in places:
        try:
            own = {key: documents[key] for key in hierarchy.keys_of(where) if key in documents}
            node = hierarchy.parsed(where, own)
        except ZarrscopeError:
            continue
        declared[where] = node.metadata.extensions if node is not None else hierarchy.dialect.extensions
    return declared
