"""One call a loop turn, however often it is asked for: what keeps a host from painting more than it must."""

from __future__ import annotations

from collections.abc import Callable

Post = Callable[[Callable[[], None]], None]
"""Runs a function later on the host's thread; callable from any thread; never runs it at once."""


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
