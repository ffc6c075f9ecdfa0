"""Changes in a folder of several hierarchies: the context of the hierarchy that a path lies in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrscope.errors import Refused, ZarrscopeError
from zarrscope.model.node_path import paths_above

if TYPE_CHECKING:
    from zarrscope.dialects import Dialect
    from zarrscope.nodes.context import NodeContext


def within(context: NodeContext, path: str, dialect: Dialect | None = None) -> NodeContext:
    """The context for changing nodes at `path`. In a folder of several hierarchies it has the dialect of the hierarchy
    around `path`, or the given one where there is none; then a node at `path` is a hierarchy of its own.

    Raises Refused if there is no hierarchy around `path` and no dialect was given.
    """
    if len(context.dialects) == 1:
        return context
    outside, found = [], None
    for above in paths_above(path):
        try:
            node = context.own_node(above)
        except ZarrscopeError:  # the check of the place will raise it
            break
        if node is not None:
            found = context.dialect_of(node)
        elif found is None:
            outside.append(above)
    used = found or dialect
    if used is None:
        raise Refused(
            "New nodes need a hierarchy, and this is a folder of several hierarchies",
            store=context.url,
            advice="Create the node within one of them, or open one.",
        )
    return context.with_dialect(used, outside)
