"""Words of the tree: about children that were not listed, and labels of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrscope.nodes.internals import node_context
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.commands import command
from zarrscope_app.presenters.tree.arriving import SMALL
from zarrscope_app.presenters.tree.rows import TreeRow

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy

FILTERING = "Filtering…"
DENIED = (401, 403, 407)
"""The HTTP statuses that deny access."""


def unlisted(hierarchy: Hierarchy, path: str, has_names: bool) -> str:
    """The sentence about children of a group that the server did not list. `has_names`: whether attributes name
    children, so that a server that denies all lists is no problem."""
    refused = node_context(hierarchy).refused.get(path)
    if refused is None or (has_names and refused in DENIED):
        return strings.UNLISTABLE
    if refused in DENIED:
        return f"The server denied the list of children ({refused}). Retry, or type a name to open."
    if not refused:
        return "The server sent no list of children. Retry, or type a name to open."
    return f"The server failed to list the children ({refused}). Retry, or type a name to open."


def size(known: int, loading: bool) -> str:
    """The number of children of a large group that have arrived, as text; "" for a small group."""
    return f"{strings.count(known)}{' …' if loading else ''}" if known > SMALL else ""


def more_above(n: int) -> str:
    """The text of the row that stands for `n` children of a large group above those that are displayed."""
    return f"{strings.count(n)} more above"


def note(row: TreeRow) -> str:
    """The line beneath a row about its children. If the row offers a command, the line begins with the label of the
    command, which a click starts."""
    return f"{command(row.offer).label} {row.sentence}" if row.offer else row.sentence


def label(name: str, dirty: bool) -> str:
    """The name of a row, marked if it has unsaved changes."""
    return f"• {name}" if dirty else name
