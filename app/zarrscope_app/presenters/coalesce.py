"""One call a loop turn, however often it is asked for: what keeps a host from painting more than it must."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

from zarrscope.background import Post

__all__ = ["OncePerTurn", "Post", "take_turns_quickly"]


class OncePerTurn:
    """`soon()` posts `act` unless it is posted already. Use on the host's thread only."""

    def __init__(self, post: Post, act: Callable[[], None]) -> None:
        self._post = post
        self._act = act
        self._posted = False

    def soon(self) -> None:
        if not self._posted:
            self._posted = True
            self._post(self._run)

    def _run(self) -> None:
        self._posted = False
        self._act()


def take_turns_quickly() -> None:
    """For the main of a host that owns its process, once all is imported: threads that compute give Python back after
    1 ms instead of 5, so that a key or a mouse that moves is answered while they do; and what has been imported, which
    stays to the end, is no longer walked through for garbage, which took the terminal application 20 ms a time."""
    sys.setswitchinterval(0.001)
    gc.freeze()
