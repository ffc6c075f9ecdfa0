"""Holds back keys that are pressed while the first screen shows rows, until the application has listed them itself."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual import events
from textual.timer import Timer

from zarrscope_app.presenters import Session, SessionStatus, TreeRow

SECONDS = 2.0
"""The most seconds that keys wait; a slow disk may take longer."""
POLL_SECONDS = 0.1
AT_ONCE = frozenset({"escape", "q", "ctrl+c", "ctrl+q"})
"""Keys that never wait, because they leave the application."""


class EarlyKeys:
    """Passes keys to `press`: at once, or after `hold` was called, when the rows of the tree are there."""

    def __init__(self, press: Callable[[events.Key], object]) -> None:
        self._press = press
        self._kept: list[events.Key] = []
        self._end = 0.0
        self._timer: Timer | None = None

    def hold(self) -> None:
        """Holds back keys from now on, until the rows are there."""
        self._end = time.monotonic() + SECONDS

    def key(self, event: events.Key) -> None:
        """Passes on a key, now or when the rows are there."""
        if self._end and event.key not in AT_ONCE:
            self._kept.append(event)
        else:
            self._press(event)

    def poll(
        self,
        set_interval: Callable[[float, Callable[[], None]], Timer],
        rows: Callable[[], tuple[Session, TreeRow | None]],
    ) -> None:
        """Begins to check regularly whether the rows are there, if keys wait for them. `rows` returns the session in
        front and the row of its root."""
        if self._end:
            self._timer = set_interval(POLL_SECONDS, lambda: self._look(*rows()))

    def _look(self, session: Session, root: TreeRow | None) -> None:
        """Passes on the waiting keys in their order, if the root's row shows that its children were listed."""
        state = session.state
        listed = root is not None and root.state.value != "loading" and (root.expanded or not root.expandable)
        listed = listed and state.status is SessionStatus.READY and not state.selecting
        if listed or time.monotonic() > self._end:
            self._end, kept, self._kept = 0.0, self._kept, []
            if self._timer is not None:
                self._timer.stop()
            for event in kept:
                self._press(event)
