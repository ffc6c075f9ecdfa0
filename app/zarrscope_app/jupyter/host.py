"""The interface of a widget for its views, parts and gestures; widget.py implements it."""

from __future__ import annotations

from typing import Any, Protocol

from zarrscope_app.jupyter.thumbnails import ThumbnailStream
from zarrscope_app.presenters import Session
from zarrscope_app.presenters.image.three_views import ThreeViews


class Host(Protocol):
    """A widget: its presenters, their visible parts, and the messages to the browser."""

    session: Session
    three: ThreeViews
    thumbnails: ThumbnailStream
    editable: bool
    rows: tuple[int, int]
    """The first row of the tree that is sent, and the row after the last."""
    corner: tuple[int, int]
    """The first row and column of the table that are sent."""
    exporting: bool
    """Whether the export pane is open."""
    cleared: int
    log: Any  # traitlets' logger

    def tell(self, *parts: str) -> None: ...

    def tell_probe(self) -> None: ...

    def draw(self, view: str) -> None: ...

    def copy(self, what: str) -> None: ...

    def greet(self, kinds: list[str]) -> None: ...

    def painted(self, view: str) -> None: ...
