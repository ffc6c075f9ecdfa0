"""The texts of a row of the tree, shortened to its width so that they differ from those of the rows beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from zarrscope_app.presenters.elision import cut_to_fit, elided
from zarrscope_app.presenters.tree.rows import TreeRow


class RowsByPosition(Protocol):
    """The part of the tree's presenters that finds the neighbours of a row."""

    def position(self, id: int) -> int:
        """The position of a row among the children of its parent."""

    def ids(self, id: int, start: int, stop: int) -> list[int]:
        """The ids of the children from `start` to `stop` - 1."""

    def label(self, id: int) -> str:
        """The name of a row."""

    def row(self, id: int) -> TreeRow:
        """One row."""


def short_name(tree: RowsByPosition, row: TreeRow, text: str, fits: Callable[[str], bool]) -> str:
    """The name of a row, written as `text`, shortened until it fits, and distinct from the names before and after it
    if there is room."""
    return text if fits(text) else elided(text, map(tree.label, _beside(tree, row)), fits)


def short_detail(tree: RowsByPosition, row: TreeRow, text: str, fits: Callable[[str], bool]) -> str:
    """The second text of a row, shortened until it fits: at its end, or, if it begins with the title of the node,
    so that it differs from the neighbours if there is room."""
    if fits(text):
        return text
    if not row.title:
        return cut_to_fit(text, fits)
    return elided(text, (tree.row(id).detail for id in _beside(tree, row)), fits)


def _beside(tree: RowsByPosition, row: TreeRow) -> list[int]:
    """The ids of the rows before and after a row, beneath the same one."""
    at = tree.position(row.id)
    return [] if at < 0 or row.parent < 0 else [id for id in tree.ids(row.parent, at - 1, at + 2) if id != row.id]
