"""Expands groups that nobody has expanded one by one: those that are the only child of the group above, and everything
beneath a row when the person asks for it."""

from __future__ import annotations

from collections.abc import Callable

from zarrscope_app.presenters.tree.branch import Branch

ALONE = 8
"""The most groups, each the only child of the one above, that are expanded together with the group above them, because
each costs one listing."""
ALL = 500
"""The most groups that are expanded at once beneath a row; each costs one listing."""
ALL_FAR = 32
"""The same limit for a remote store."""


class Unfolding:
    """`open(id, unfolds)` expands a row, and up to `unfolds` groups beneath it that are an only child. Use it on the
    host's thread."""

    def __init__(self, open: Callable[[int, int], None]) -> None:
        self._open = open
        self._wanted: set[int] = set()
        """The rows of which all groups will be expanded once they are listed."""
        self._left = 0

    def all_beneath(self, branch: Branch, most: int) -> None:
        """Expands a row and all groups beneath it, except that at most `most` groups are expanded anew. Asking again
        goes on from there."""
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
