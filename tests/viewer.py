"""One image looked at without a front end: a session with a queue, a cache and threads of its own."""

from __future__ import annotations

from collections.abc import Callable

from contracts.journeys import SECONDS, Shelf
from zarrscope.runtime.threads import Background, Mailbox
from zarrscope.view.loader import ChunkLoader
from zarrscope_app.presenters import Session, SessionStatus, SlicePresenter


class Viewer:
    """A session at one node of `shelf`, ready once it is made."""

    def __init__(self, shelf: Shelf, path: str = "/a", fetching: int = 2) -> None:
        self.mailbox, self.background = Mailbox(), Background(fetching, 1)
        self.session = Session(
            shelf.address, self.mailbox, path=path, background=self.background, loader=ChunkLoader(self.background)
        )
        self.until(lambda: self.session.state.status is SessionStatus.READY and not self.session.state.selecting)

    @property
    def slice(self) -> SlicePresenter:
        return self.session.slice

    def until(self, happened: Callable[[], bool]) -> None:
        self.mailbox.run_until(happened, SECONDS)

    def close(self) -> None:
        self.session.close()
