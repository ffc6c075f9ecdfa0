"""Looks every few seconds whether the displayed array has grown, as long as the host shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from zarrscope_app.presenters.session.changing import LOOK_SECONDS

if TYPE_CHECKING:
    from zarrscope_app.presenters.session.session import Session


class RepeatedLooks:
    """Calls `Session.look_again` every LOOK_SECONDS between `show` and `hide`. Use it on the host's thread.

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
        self._looked: Session | None = None
        """The session that was looked at last."""

    @property
    def running(self) -> bool:
        """Whether looks are made."""
        return self._stop is not None

    def show(self) -> None:
        """Begins; call it when the host becomes visible."""
        if self._stop is None:
            self._stop = self._start(LOOK_SECONDS, self._look)

    def hide(self) -> None:
        """Ends, and cancels a look that is being made; call it when the host is hidden or closed."""
        if self._stop is not None:
            self._stop()
            self._stop = None
        self._leave()

    def _look(self) -> None:
        session = self._front()
        if session is not self._looked:
            self._leave()
        if session is not None:
            self._looked = session
            session.look_again()  # does nothing while the former look is being made

    def _leave(self) -> None:
        if self._looked is not None:
            self._looked.stop_looking()
            self._looked = None
