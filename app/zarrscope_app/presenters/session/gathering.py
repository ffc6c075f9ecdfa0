"""Finds the images beneath a group that was shown without waiting for them: of a remote store, or of many children."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from zarrscope.dialects import Child
from zarrscope.runtime.threads import JobResult, Ticket
from zarrscope_app.presenters.folder_images import MOST, FolderImages, images_beneath
from zarrscope_app.presenters.node_details import NodeDetails
from zarrscope_app.presenters.session.part import SessionPart
from zarrscope_app.presenters.tree.presenter import TreePresenter
from zarrscope_app.presenters.tree.rows import RowState

if TYPE_CHECKING:
    from zarrscope.nodes.group import Group


class GathersImages(SessionPart):
    """The part of a session that shows the images beneath a group as soon as they are found. In a remote store it waits
    until the tree has listed the group, so that nothing is requested twice."""

    tree: TreePresenter
    _gathering: Ticket | None = None
    _unlisted: NodeDetails | None = None
    """The data of the group that is shown, while the tree has not listed it."""

    def _gather(self, shown: NodeDetails) -> None:
        """Looks for images beneath the group that is shown now, and ends the search of before."""
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        self._unlisted = None
        group = shown.node
        if group is None or group.kind != "group" or not shown.has_more:
            return
        listed = self._children(group.path) if shown.hierarchy.store.remote else None
        if listed is None and shown.hierarchy.store.remote:
            self._unlisted = shown
        else:
            self._look_beneath(shown, group, listed)

    def _children(self, path: str) -> list[Child] | None:
        """The children of a group that the tree has listed; None before."""
        row = self.tree.find(path)
        if row is None or self.tree.row(row).state is not RowState.READY:
            return None
        beneath = self.tree.ids(row, 0, MOST + 1)
        return [Child(self.tree.path(id).rpartition("/")[2], None) for id in beneath]

    def _listed(self, error: object, path: str, name: str) -> None:
        """Called when the tree has tried to list a group."""
        shown = self._unlisted
        if shown is not None and not error and not name and path == self.state.path:
            self._gather(shown)

    def _look_beneath(self, shown: NodeDetails, group: Group, listed: Sequence[Child] | None) -> None:
        def work(cancelled: Callable[[], bool]) -> FolderImages:
            return images_beneath(group, MOST, cancelled, listed=listed)

        def done(outcome: JobResult[FolderImages]) -> None:
            self._gathering = None
            found = outcome.value.collection if outcome.value is not None else None
            if found is not None and self.state.path == group.path:
                self.tabs.show_also("overview", replace(shown, collection=found))
                self._refresh()

        self._gathering = self.owner.read(work, done)
