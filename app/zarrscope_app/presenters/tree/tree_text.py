"""Words of the tree: sentences about how nodes were found."""

from __future__ import annotations

from zarrscope_app.presenters import strings
from zarrscope_app.presenters.commands import command
from zarrscope_app.presenters.tree.arriving import SMALL
from zarrscope_app.presenters.tree.rows import Row

FILTERING = "Filtering…"
ORIGINS = {
    "": "Listed by the store.",
    "consolidated": "Named in the consolidated metadata.",
    "declared": "Named in the metadata of an image or a plate; this server cannot list.",
    "index": "Named in the index of the web server.",
    "typed": "Opened by its name.",
}
"""How a node was found, by `Child.origin`."""


def size(known: int, loading: bool) -> str:
    """The known number of children of a large group; "" for a small one."""
    return f"{strings.count(known)}{' …' if loading else ''}" if known > SMALL else ""


def more_above(n: int) -> str:
    """The row that stands for the hidden children above the shown ones."""
    return f"{strings.count(n)} more above"


def note(row: Row) -> str:
    """The line beneath a row about its children. If a click on it opens a question, it begins with the name of that
    command."""
    return f"{command(row.offer).label} {row.sentence}" if row.offer else row.sentence


def label(name: str, dirty: bool) -> str:
    """The name of a row, marked if it has unsaved changes."""
    return f"• {name}" if dirty else name
