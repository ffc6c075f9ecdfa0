"""Selects several nodes of a session, whose attributes are then edited in one form."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from zarrscope.runtime.threads import JobResult, Ticket
from zarrscope_app.presenters.session.part import SessionPart
from zarrscope_app.presenters.tree.matching import matching


class SelectsSeveral(SessionPart):
    """The part of a session that selects several nodes."""

    _matching: Ticket | None = None

    def select_several(self, paths: Sequence[str]) -> None:
        """Sets the nodes that are selected in the tree. If there are several, the form edits all of them."""
        self.edit.show_several(paths)

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
            self.edit.show_several(outcome.value)
            self.set_tab("attributes")

        self._matching = self.owner.read(partial(matching, hierarchy, pattern), done)
