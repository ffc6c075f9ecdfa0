"""A viewer of one image without a host: a session with its own queue, cache and threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contracts.journeys import SECONDS, Shelf
from zarrscope.runtime.threads import Background, Mailbox
from zarrscope.view.loader import ChunkLoader
from zarrscope_app.presenters import Session, SessionStatus, SlicePresenter
from zarrscope_app.presenters.session.state_text import decode_view


class Viewer:
    """A session at one node of `shelf`; complete when the constructor returns."""

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


def without_frame(text: str) -> dict[str, Any]:
    """A view without the visible region of the plane, whose aspect ratio differs between hosts."""
    view = decode_view(text)
    view["slice"].pop("rect", None)
    return view
