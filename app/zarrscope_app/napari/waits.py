"""The requests without an answer that the dock tells, and Esc, which stops them."""

from __future__ import annotations

from collections.abc import Callable

from zarrscope_app.presenters import Session
from zarrscope_app.presenters.layers.late_reads import LateReads


class Waits:
    """The late reads of the displayed session, and those of layers (`late`)."""

    def __init__(self, session: Callable[[], Session | None], *late: LateReads) -> None:
        self._session, self._late = session, late

    @property
    def sentence(self) -> str:
        """The sentence about one of them; "" if nothing is late."""
        session = self._session()
        told = (session.waiting if session is not None else "", *(late.sentence for late in self._late))
        return next(filter(None, told), "")

    def stop(self) -> bool:
        """Stops all reads that are late. Returns False if nothing is late."""
        if not self.sentence:
            return False
        session = self._session()
        if session is not None:
            session.stop_waiting()
        for late in self._late:
            late.stop()
        return True
