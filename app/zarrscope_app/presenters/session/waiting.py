"""The requests for which a session waits: after a second it tells which one, to which place and for how long; all can
be stopped at once, and a refresh in the meantime asks anew.

A stopped request counts as failed: its row, tile or table says so, and offers to read it again.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import TYPE_CHECKING

from zarrscope.runtime.threads import Ticket
from zarrscope.runtime.waits import PendingRequest
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.image_names import called_image, image_name
from zarrscope_app.presenters.session import waiting_words as words
from zarrscope_app.presenters.session.part import SessionPart
from zarrscope_app.presenters.session.view_models import SessionStatus

if TYPE_CHECKING:
    from zarrscope_app.presenters.form.presenter import EditPresenter
    from zarrscope_app.presenters.session.tabs import Tabs
    from zarrscope_app.presenters.tree.presenter import TreePresenter

EVERY_SECONDS = 1.0
"""The time between two looks at the requests that have not been answered."""
LONG_SECONDS = 0.9
"""A request that was not answered for this time is told; shorter waits are usual."""
UNNAMED_SECONDS = 3.0
"""The same for a job that named no request: it may also compute, or import modules."""


class WaitsForStores(SessionPart):
    """Part of a session: what it waits for."""

    edit: EditPresenter
    tabs: Tabs
    tree: TreePresenter
    _asked_anew = ""
    """The sentence about the requests that a refresh has cancelled, until the hierarchy is open again."""
    _next_look: Ticket | None = None
    _status: SessionStatus
    _path: str
    _ticket: Ticket | None

    def _watch_waits(self) -> None:
        """Begins to look for long waits whenever something is read. The tree's Esc stops all of them."""
        self.owner.began, self.tree.stop_others = self._look_later, self.stop_waiting

    def _look_later(self) -> None:
        if self._next_look is None:
            self._next_look = self.owner.later(EVERY_SECONDS, self._look_at_waits)

    def _look_at_waits(self) -> None:
        self._next_look = None
        if self.owner.busy:
            self._look_later()
        self.tree.tell_waits(self._sentence, self.waiting)
        self.slice.tell_wait(self._sentence, self._next_node())
        locked = next((wait for wait in self._long_waits() if wait.holder is not None), None)
        self.edit.tell_wait(self._sentence(locked))
        self._refresh()

    def _next_node(self) -> str:
        """The sentence over the picture of the former node while the chosen one does not come; "" for a short wait."""
        late = self.waiting if self._ticket is not None and self._status is SessionStatus.READY else ""
        return f"{strings.clean(self._path, 60)} is loading. {late}" if late else ""

    def _long_waits(self) -> list[PendingRequest]:
        """The requests that have not been answered for a while, the longest wait first."""
        hierarchy, now = self.hierarchy, time.monotonic()
        unnamed = hierarchy is None or hierarchy.store.remote
        return [
            each
            for each in self.owner.waits()
            if now - each.since > (LONG_SECONDS if each.place else UNNAMED_SECONDS) and (each.place or unnamed)
        ]

    def _sentence(self, wait: PendingRequest | None) -> str:
        """The sentence about a wait; "" for a short one."""
        if wait is None or wait not in self._long_waits():
            return ""
        return words.waiting_for(wait, self.url, time.monotonic() - wait.since)

    @property
    def waiting(self) -> str:
        """The sentence about the longest wait, "Waiting 3 s for zarr.json from host · Esc stops"; "" if all requests
        are answered soon."""
        waits = self._long_waits()
        return self._sentence(waits[0]) if waits else ""

    @property
    def status_text(self) -> str:
        """`state.status_text` alone, for hosts that write it whenever the picture is painted: a whole state takes ten
        times as long to make."""
        return self._status_text(strings.changes(self.edit.unsaved))

    def _status_text(self, unsaved: str) -> str:
        """The right part of the status bar: the path of the image in front if it lies beneath the chosen plate, well or
        series, its level and tiles, requests without an answer, changes."""
        shown, frame, picture = self.slice.state, self.slice.frame, self.tabs.front == "image"
        tiles = frame.sentence if frame.blocked or frame.tiles else strings.tiles_loading(frame.loading)
        opening = self._status is SessionStatus.OPENING
        return strings.joined(
            self._beneath() if picture else "",
            shown.level_text if len(shown.levels) > 1 and picture else "",
            tiles if picture else "",
            self._asked_anew if opening else "",
            self.waiting,
            f"✎ {unsaved}" if unsaved else "",
        )

    def _beneath(self) -> str:
        """The path of the displayed image, "B/03/0" or "image 0", if it is not the chosen node but lies beneath it."""
        image, chosen = self.slice.image, self._path.rstrip("/") + "/"
        if image is None or self._ticket is not None or image.path == self._path or not image.path.startswith(chosen):
            return ""
        beneath = strings.clean(image.path[len(chosen) :], 60)
        return beneath if "/" in beneath else called_image(image_name(image))

    def stop_waiting(self) -> bool:
        """Cancels everything that this session reads (`Owner.read`) and that is not done; each caller gets an error
        that says so. Returns False if there was nothing to stop. Jobs that write are stopped only while they wait for
        a lock."""
        stopped = self.owner.stop(self._stopped)
        if stopped:
            self._refresh()
        return stopped

    def _stopped(self, wait: PendingRequest | None) -> BaseException:
        if wait is not None and wait.holder is not None:
            return words.stopped_before_writing(wait, time.monotonic() - wait.since)
        place, key = (wait.place, wait.key) if wait is not None else ("", "")
        return words.stopped(place or self.url, key, time.monotonic() - wait.since if wait is not None else 0.0)

    def _ask_anew(self) -> None:
        """Cancels the requests that have not been answered, because everything is read again."""
        waits = self._long_waits()
        self._asked_anew = ""
        self._end_opening()
        if waits:
            self._asked_anew = words.asked_anew(time.monotonic() - waits[0].since)
            self.owner.stop(self._stopped)

    @abstractmethod
    def _end_opening(self) -> None:
        """Cancels the opening of the hierarchy or of the selected node."""
