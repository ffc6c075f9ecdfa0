"""Connects the selection of several rows of the tree with the form that edits their nodes together."""

from __future__ import annotations

from collections.abc import Callable

from zarrscope_app.presenters import Session

from .tree import TreePane


class SelectedTogether:
    """Tells the session which nodes are selected in the tree. `show` marks in the tree those that are edited together.

    `session()` returns the session in front, or None."""

    def __init__(self, tree: TreePane, session: Callable[[], Session | None]) -> None:
        self._tree, self._session = tree, session
        self._chosen = 0
        """Selections of several nodes that the session has not got yet."""
        tree.selected.connect(self._select)

    def _select(self, paths: list[str]) -> None:
        session = self._session()
        if session is None:
            return

        def select() -> None:
            self._chosen = max(0, self._chosen - 1)
            session.select_several(paths)

        self._chosen += 1
        session.owner.post(select)  # posted: the tree reports the current node first

    def show(self) -> None:
        """Marks in the tree the nodes that are edited together; not while the person's choice of others is on its way,
        which would be undone."""
        session = self._session()
        if session is not None and not self._chosen:
            self._tree.show_several(session.edit.several)
