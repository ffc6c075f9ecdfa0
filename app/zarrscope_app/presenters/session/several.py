"""Selects several nodes of a session, whose attributes are then edited in one form."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from zarrscope.runtime.threads import JobResult, Ticket
from zarrscope_app.presenters.session.part import SessionPart
from zarrscope_app.presenters.tree.matching import matching
from zarrscope_app.presenters.tree.presenter import TreePresenter
from zarrscope_app.presenters.tree.roots import RootsPresenter


class SelectsSeveral(SessionPart):
    """The part of a session that selects several nodes."""

    _matching: Ticket | None = None

    def select_several(self, paths: Sequence[str]) -> None:
        """Sets the nodes that are selected in the tree. If there are several, the form edits all of them, and comes to
        the front."""
        before = bool(self.edit.several)
        self.edit.show_several(paths)
        if bool(self.edit.several) != before:
            self.tabs.edit_together(not before)
            self._refresh()

    def toggle_selected(self, path: str) -> None:
        """Adds a node to those that are selected together, or takes it away. The last one stays selected."""
        chosen = [*(self.edit.several or (self.state.path,))]
        if path not in chosen:
            chosen.append(path)
        elif len(chosen) > 1:
            chosen.remove(path)
        if len(chosen) > 1:
            self.select_several(chosen)
        else:
            self.select(chosen[0])

    def select_through(self, id: int, tree: TreePresenter | RootsPresenter) -> None:
        """Selects the rows of `tree` from that of the displayed node to the row `id`, together."""
        start, end = tree.find(self.state.path), tree.flat_place(id)
        first, last = sorted((end if start is None else tree.flat_place(start), end))
        self.select_several([row.path for row in tree.flat(first, last + 1) if tree.in_front(row.id)])

    def select_listed(self, tree: TreePresenter | RootsPresenter) -> None:
        """Selects the nodes that `tree` lists of this hierarchy, together, except the root. Selects none if there is
        only the root."""
        rows = tree.flat(0, tree.flat_count)
        if paths := [row.path for row in rows if row.depth and tree.in_front(row.id)]:
            self.select_several(paths)

    def select_matching(self, pattern: str) -> None:
        """Opens the form of all nodes that match a pattern, such as "*.zarr" or "A/*/0"."""
        hierarchy = self.hierarchy
        if hierarchy is None:
            return
        if self._matching is not None:
            self._matching.cancel()

        def done(outcome: JobResult[list[str]]) -> None:
            self._matching = None
            if outcome.value is None:
                self.report(outcome.error or RuntimeError())
                return
            self.select_several(outcome.value)
            self.set_tab("attributes")

        self._matching = self.owner.read(partial(matching, hierarchy, pattern), done)
