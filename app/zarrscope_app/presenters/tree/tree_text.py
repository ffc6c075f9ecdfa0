"""Words of the tree: how nodes were found."""

from __future__ import annotations

from typing import Any

from zarrscope_app.presenters import strings

FILTERING = "Filtering…"
TYPED = "Opened by its name."
CONSOLIDATED = "Named in the consolidated metadata."
LISTED = "Listed by the store."
DECLARED = "Named in the metadata of the image, as this server cannot list."


def origin(hierarchy: Any) -> str:
    """How the children of a group of this hierarchy are found."""
    store = hierarchy.store
    if hierarchy.consolidated and not (store.listable and not store.remote):
        return CONSOLIDATED
    return LISTED if store.listable else DECLARED


def more_above(n: int) -> str:
    """The row that stands for the children above those that are shown."""
    return f"{strings.count(n)} more above"


def label(name: str, dirty: bool) -> str:
    """The name of a row, marked where changes are not saved."""
    return f"• {name}" if dirty else name
