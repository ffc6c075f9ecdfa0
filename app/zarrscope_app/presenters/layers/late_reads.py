"""Reads for layers that are not answered for a while: says which request is late, and stops all of them."""

from __future__ import annotations

import time
from collections.abc import Callable

from zarrscope.runtime.threads import Owner, Ticket
from zarrscope.runtime.waits import PendingRequest
from zarrscope_app.presenters.session import waiting_words as words
from zarrscope_app.presenters.session.waiting import EVERY_SECONDS, LONG_SECONDS
from zarrscope_app.presenters.signals import signal

TOLD_WITHOUT_DOCK_SECONDS = 3.0
"""A wait of this time is worth a notification where nothing else tells it."""


class LateReads:
    """The request for which the reads of an owner wait, as long as `wanted()`. `changed` is emitted about every second
    while a read is late, and once more when all have been answered."""

    changed = signal()

    def __init__(self, owner: Owner, wanted: Callable[[], bool] = lambda: True) -> None:
        self._owner, self._wanted = owner, wanted
        self._next_look: Ticket | None = None
        self.sentence = ""
        """ "Waiting 3 s for c/0/0 from host · Esc stops"; "" if all requests are answered soon."""
        self.notice = ""
        """The same without a key, once a wait has become long; it stays the same for one wait."""
        owner.began = self._look_later

    def stop(self) -> bool:
        """Ends all reads that are not done; each gets an error that says so. Returns False if there was none."""
        stopped = self._owner.stop(_stopped)
        if stopped:
            self._tell(None)
        return stopped

    def _look_later(self) -> None:
        if self._next_look is None:
            self._next_look = self._owner.later(EVERY_SECONDS, self._look)

    def _look(self) -> None:
        self._next_look = None
        if self._owner.busy:
            self._look_later()
        now = time.monotonic()
        waits = self._owner.waits() if self._wanted() else []
        late = [each for each in waits if each.place and now - each.since > LONG_SECONDS]
        self._tell(late[0] if late else None)

    def _tell(self, wait: PendingRequest | None) -> None:
        seconds = time.monotonic() - wait.since if wait is not None else 0.0
        told = words.waiting_for(wait, wait.place, seconds) if wait is not None else ""
        if wait is None:
            self.notice = ""
        elif not self.notice and seconds > TOLD_WITHOUT_DOCK_SECONDS:
            self.notice = words.waiting_for(wait, wait.place, seconds, ends="")
        if told != self.sentence:
            self.sentence = told
            self.changed.emit()


def _stopped(wait: PendingRequest | None) -> BaseException:
    place, key, seconds = (wait.place, wait.key, time.monotonic() - wait.since) if wait is not None else ("", "", 0.0)
    return words.stopped(place, key, seconds)
