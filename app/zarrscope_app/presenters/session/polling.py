"""Looks every few seconds whether the displayed array has grown, as long as the host shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from zarrscope_app.presenters.session.changing import POLL_SECONDS

if TYPE_CHECKING:
    from zarrscope_app.presenters.session.session import Session


class GrowthPolling:
    """Calls `Session.poll_growth` every POLL_SECONDS between `show` and `hide`. Use it on the host's thread.

    Parameters
    ----------
    front
        Returns the session that the host displays; None if there is none, or nobody can see it.
    start
        Starts a timer of the host: `start(seconds, call)` calls `call` on the host's thread again and again, until the
        function that it returns is called. It must not wait.
    """

    def __init__(
        self,
        front: Callable[[], Session | None],
        start: Callable[[float, Callable[[], None]], Callable[[], object]],
    ) -> None:
        self._front, self._start = front, start
        self._stop: Callable[[], object] | None = None
        self._polled: Session | None = None
        """The session that was polled last."""

    @property
    def running(self) -> bool:
        """Whether it polls."""
        return self._stop is not None

    def show(self) -> None:
        """Begins; call it when the host becomes visible."""
        if self._stop is None:
            self._stop = self._start(POLL_SECONDS, self._poll)

    def hide(self) -> None:
        """Ends, and cancels a poll that is under way; call it when the host is hidden or closed."""
        if self._stop is not None:
            self._stop()
            self._stop = None
        self._leave()

    def _poll(self) -> None:
        session = self._front()
        if session is not self._polled:
            self._leave()
        if session is not None:
            self._polled = session
            session.poll_growth()  # does nothing while the former poll is under way

    def _leave(self) -> None:
        if self._polled is not None:
            self._polled.stop_polling()
            self._polled = None
