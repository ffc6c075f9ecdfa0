"""Several selected nodes of a session: their attributes are edited together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope_app.presenters.form.presenter import EditPresenter
from zarrscope_app.presenters.tree.matching import matching

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy


class SelectsSeveral(ABC):
    """The part of a session for selecting several nodes."""

    owner: Owner
    edit: EditPresenter
    _matching: Ticket | None = None

    @property
    @abstractmethod
    def hierarchy(self) -> Hierarchy | None:
        """The opened hierarchy; None before."""

    @abstractmethod
    def set_tab(self, tab: str) -> None:
        """Brings a tab to the front."""

    @abstractmethod
    def report(self, error: BaseException) -> None:
        """Shows an error in the error bar and among the problems."""

    def select_several(self, paths: Sequence[str]) -> None:
        """Sets the nodes that are selected in the tree: with more than one, the form shows all of them."""
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

        self._matching = self.owner.fetch(partial(_matching, hierarchy, pattern), done)


def _matching(hierarchy: Hierarchy, pattern: str) -> list[str]:
    return matching(hierarchy, pattern)
