"""Connects a widget to one presenter at a time, and paints it at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from psygnal import SignalInstance


class Observable(Protocol):
    """A presenter with the signal `changed`, emitted when there is something new to paint."""

    @property
    def changed(self) -> SignalInstance:
        """Emitted on the host's thread, at most once per pass of the event loop."""


def follow(old: Observable | None, new: Observable | None, paint: Callable[[], object]) -> None:
    """Calls `paint` now, and whenever `new` changes; disconnects it from `old`."""
    if old is not None:
        old.changed.disconnect(paint)
    if new is not None:
        new.changed.connect(paint)
        paint()
