"""Holds back keys that are pressed while the first screen shows rows, until the application has listed them itself."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.timer import Timer

from zarrscope_app.presenters import Session, SessionStatus, TreeRow
from zarrscope_app.tui.first_screen import Modes

LOOKS = 20
"""The most times that the application looks for the rows while keys wait; a slow disk may take longer. It looks only as
often as it gets to run, so a busy machine, which delays the rows too, loses no keys."""
POLL_SECONDS = 0.1
AT_ONCE = frozenset({"escape", "q", "ctrl+c", "ctrl+q"})
"""Keys that never wait, because they leave the application."""


class EarlyKeys:
    """Passes keys to `press`: at once, or after `hold` was called, when the rows of the tree are there."""

    def __init__(self, press: Callable[[events.Key], object]) -> None:
        self._press = press
        self.modes: Callable[[], Modes | None] = lambda: None
        """Returns, once, the modes that the terminal had before it echoed no keys. The driver restores them."""
        self._kept: list[events.Key] = []
        self._looks = 0
        """The times that it still looks before keys go on in any case; 0 if none are held back."""
        self._timer: Timer | None = None

    def hold(self) -> None:
        """Holds back keys from now on, until the rows are there."""
        self._looks = LOOKS

    def key(self, event: events.Key) -> None:
        """Passes on a key, now or when the rows are there."""
        if self._looks and event.key not in AT_ONCE:
            self._kept.append(event)
        else:
            self._press(event)

    def poll(
        self,
        set_interval: Callable[[float, Callable[[], None]], Timer],
        rows: Callable[[], tuple[Session, TreeRow | None]],
    ) -> None:
        """Starts a timer that checks whether the tree has rows, if keys are held back until then. `rows` returns the
        session in front and the row of its root."""
        if self._looks:
            self._timer = set_interval(POLL_SECONDS, lambda: self._look(*rows()))

    def _look(self, session: Session, root: TreeRow | None) -> None:
        """Passes on the waiting keys in their order, if the root's row shows that its children were listed."""
        if not self._looks:  # the last look of a timer that was stopped meanwhile
            return
        state = session.state
        listed = root is not None and root.state.value != "loading" and (root.expanded or not root.expandable)
        listed = listed and state.status is SessionStatus.READY and not state.selecting
        self._looks -= 1
        if listed or not self._looks:
            self._looks, kept, self._kept = 0, self._kept, []
            if self._timer is not None:
                self._timer.stop()
            for event in kept:
                self._press(event)
