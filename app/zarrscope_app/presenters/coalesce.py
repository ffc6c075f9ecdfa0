"""Coalesced calls: a function that is requested several times in one pass of the event loop runs once, so that a host
paints once."""

from __future__ import annotations

from collections.abc import Callable

from zarrscope.runtime.threads import Post

__all__ = ["CoalescedCall", "Post"]


class CoalescedCall:
    """A call that is made once in each pass of the event loop: `soon()` posts `act` unless a call of it is already
    posted. Use on the host's thread only."""

    def __init__(self, post: Post, act: Callable[[], None]) -> None:
        self._post = post
        self._act = act
        self._posted = False

    def soon(self) -> None:
        """Posts the call, unless it is posted already and was not made yet."""
        if not self._posted:
            self._posted = True
            self._post(self._run)

    def _run(self) -> None:
        self._posted = False
        self._act()
