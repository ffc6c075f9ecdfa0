"""The documents of a hierarchy that are being edited, and which of them is displayed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Literal

from zarrscope_app.presenters.form.asked_save import AskedSave
from zarrscope_app.presenters.form.draft import Draft, diff_together
from zarrscope_app.presenters.form.view_models import Diff

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy


class Drafts:
    """Drafts by the path of their node. A draft with changes is kept while another node is displayed."""

    def __init__(self) -> None:
        self.hierarchy: Hierarchy | None = None
        self.writable = False
        self.by_path: dict[str, Draft] = {}
        self.path = "/"
        """The path of the selected node."""
        self.kind: Literal["group", "array"] = "group"
        self.wait = ""
        """The sentence about the lock for which a save waits; "" if none does."""
        self.asked_save = AskedSave()
        """The save that was asked for while the hierarchy is read-only."""
        self.together = False
        """Whether the form of several nodes is displayed instead of the form of the selected node."""

    @property
    def selected(self) -> Draft | None:
        """The draft of the selected node, displayed or not."""
        return self.by_path.get(self.path)

    @property
    def selected_by_path(self) -> dict[str, Draft]:
        """The draft of the selected node by its path; {} if there is none."""
        draft = self.selected
        return {self.path: draft} if draft is not None else {}

    @property
    def shown(self) -> Draft | None:
        """The draft whose form is displayed; None while its document is being read, and while the form of several nodes
        is displayed."""
        return None if self.together else self.selected

    @property
    def editable(self) -> Draft | None:
        """The displayed draft; None if it cannot be edited now. In a conflict it can."""
        draft = self.shown
        return None if draft is None or draft.saving or not self.writable else draft

    def unsaved(self) -> dict[str, Draft]:
        """The drafts with changes that are not saved."""
        return {path: draft for path, draft in self.by_path.items() if draft.dirty}

    def forget_unchanged(self, paths: Collection[str] | None = None) -> None:
        """Drops drafts without changes, of all nodes or of `paths`. If such a node is shown again, its document is read
        again."""
        for path in [*self.by_path]:
            draft = self.by_path[path]
            shown = draft.whole and draft.at > 0 and path == self.path  # undo and redo still lead to its other texts
            if not draft.dirty and ((paths is None and not shown) or (paths and path in paths and not draft.saving)):
                del self.by_path[path]

    def diff(self, diff_of: Callable[[Draft], Diff]) -> Diff:
        """The differences of all documents with changes, one after the other; `diff_of` returns those of one draft."""
        return diff_together([diff_of(draft) for draft in self.unsaved().values()])
