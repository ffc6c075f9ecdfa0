"""The interface of a widget for its views, parts and gestures; widget.py implements it."""

from __future__ import annotations

from typing import Any, Protocol

from zarrscope_app.jupyter.pictures import TileStream
from zarrscope_app.jupyter.thumbnails import ThumbnailStream
from zarrscope_app.presenters import RootsPresenter, Session, TreePresenter
from zarrscope_app.presenters.image.three_views import ThreeViews

VIEWS = ("main", "below", "beside")
"""The pictures of a widget: the plane, and the two other planes through one of its points."""


class Host(Protocol):
    """A widget: its presenters, their visible parts, and the messages to the browser."""

    session: Session
    """The session in front."""
    turn: int
    """Counts the changes of the session in front. A browser sends it back, so that a gesture that was meant for
    another session is recognised."""
    thumbnails: ThumbnailStream
    streams: dict[str, TileStream]
    editable: bool
    rows: tuple[int, int]
    """The first row of the tree that is sent, and the row after the last."""
    corner: tuple[int, int]
    """The first row and column of the table that are sent."""
    exporting: bool
    """Whether the export pane is open."""
    cleared: int
    log: Any  # traitlets' logger

    @property
    def three(self) -> ThreeViews: ...

    @property
    def node_tree(self) -> TreePresenter | RootsPresenter: ...

    @property
    def urls(self) -> tuple[str, ...]: ...

    def tell(self, *parts: str) -> None: ...

    def tell_probe(self) -> None: ...

    def draw(self, view: str) -> None: ...

    def copy(self, what: str) -> None: ...

    def add(self, target: object, path: str | None = None) -> None: ...

    def close_place(self) -> None: ...

    def greet(self, kinds: list[str]) -> None: ...

    def painted(self, view: str) -> None: ...
