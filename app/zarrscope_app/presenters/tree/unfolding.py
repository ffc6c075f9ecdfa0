"""Expands groups without a click on each: a group that is the only child of the group above it, and all groups beneath
a row when the person asks for that."""

from __future__ import annotations

from collections.abc import Callable

from zarrscope_app.presenters.tree.branch import Branch

ALONE = 8
"""The most groups, each the only child of the group above, that are expanded after one click; each costs a listing."""
ALL = 500
"""The most groups that are expanded at once beneath a row; each costs one listing."""
ALL_FAR = 32
"""The same limit for a remote store."""


class Unfolding:
    """Decides which rows to expand next, as soon as the children of a row are listed. Use it on the host's thread.

    `open(id, unfolds)` must expand a row and set the `unfolds` of its branch: the most groups to expand beneath it, one
    in the other, as long as each is an only child.
    """

    def __init__(self, open: Callable[[int, int], None]) -> None:
        self._open = open
        self._wanted: set[int] = set()
        """The rows of which all groups will be expanded once they are listed."""
        self._left = 0

    def all_beneath(self, branch: Branch, most: int) -> None:
        """Expands a row and the groups beneath it, but at most `most` groups that were not expanded before. Calling it
        again expands the next ones."""
        self._wanted, self._left = {branch.id}, most
        self._open(branch.id, 0)
        self._go_on(branch)

    def stop(self) -> None:
        """Expands no more groups beneath a row."""
        self._wanted.clear()

    def listed(self, branch: Branch) -> None:
        """Called when the children of a row are listed."""
        left, branch.unfolds = branch.unfolds, 0
        alone = branch.state == "ready" and branch.expanded and not branch.unlisted and len(branch.order) == 1
        if left and alone and branch.kind(branch.order[0]) == "group":
            self._open(branch.child_id(branch.order[0]), left - 1)
        self._go_on(branch)

    def _go_on(self, branch: Branch) -> None:
        if branch.id not in self._wanted or branch.state != "ready":
            return
        self._wanted.discard(branch.id)
        for child in branch.order:
            if branch.kind(child) != "group":
                continue
            below = branch.below.get(child)
            if below is None or not below.expanded:
                if not self._left:
                    return
                self._left -= 1
            id = branch.child_id(child)
            self._wanted.add(id)
            self._open(id, 0)
            if (below := branch.below.get(child)) is not None:
                self._go_on(below)
