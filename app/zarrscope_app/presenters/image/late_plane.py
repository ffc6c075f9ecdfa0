"""Finds out when a picture has shown the previous plane for a while, although the index already names another plane.

A plane that arrives at once replaces the previous one without a message, which would only flicker.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

from zarrscope.runtime.threads import Owner, Ticket

SECONDS = 0.15
"""If a plane takes longer, a message says that it is loading. A person hardly notices shorter waits."""


class FormerPlane(NamedTuple):
    """The plane of which a tile still has the picture."""

    key: Hashable
    blank: bool
    """Whether all its chunks in the tile failed, so that the picture shows nothing of it."""


class LatePlane:
    """`is_late` becomes True, and `changed` is called, SECONDS after `follow(True)`, unless `follow(False)` is called
    before."""

    def __init__(self, owner: Owner, changed: Callable[[], None]) -> None:
        self._owner, self._changed = owner, changed
        self._ticket: Ticket | None = None
        self.is_late = False

    def follow(self, former: bool) -> None:
        """Call this whenever the displayed tiles change. `former`: whether the picture still shows a previous plane.
        Further calls with True do not start the time again."""
        if not former:
            self.is_late = False
            if self._ticket is not None:
                self._ticket.cancel()
                self._ticket = None
        elif self._ticket is None and not self.is_late:
            self._ticket = self._owner.later(SECONDS, self._over)

    def _over(self) -> None:
        self._ticket, self.is_late = None, True
        self._changed()
