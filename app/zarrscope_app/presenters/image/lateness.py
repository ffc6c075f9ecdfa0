"""Tells when a picture has shown a former plane for a while, under an index that names another one.

A plane that arrives at once replaces the former one without a word; a mark for it would only flicker.
"""

from __future__ import annotations

from collections.abc import Callable

from zarrscope.runtime.threads import Owner, Ticket

SECONDS = 0.15
"""A plane that takes longer is said to be loading. A person hardly notices shorter waits."""


class Lateness:
    """`is_late` becomes true when `follow(True)` has held for SECONDS; then `changed` is called."""

    def __init__(self, owner: Owner, changed: Callable[[], None]) -> None:
        self._owner, self._changed = owner, changed
        self._ticket: Ticket | None = None
        self.is_late = False

    def follow(self, former: bool) -> None:
        """`former`: whether a former plane is on show. Steps to further planes do not start the time again."""
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
