"""The interface of a widget for its views, parts and gestures; widget.py implements it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from zarrscope_app.jupyter.pictures import TileStream
from zarrscope_app.jupyter.thumbnails import ThumbnailStream
from zarrscope_app.presenters import RootsPresenter, Session, TreePresenter
from zarrscope_app.presenters.image.three_views import ThreeViews

if TYPE_CHECKING:
    from logging import Logger

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
    channel_text: str
    """The text by which channels are searched; "" shows all of them."""
    log: Logger  # traitlets' logger

    @property
    def three(self) -> ThreeViews:
        """The planes of the session in front."""

    @property
    def node_tree(self) -> TreePresenter | RootsPresenter:
        """The tree of the only hierarchy, or of all that are open."""

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses of the open hierarchies."""

    def tell(self, *parts: str) -> None:
        """Marks parts as perhaps changed; the end of the event loop's pass sends those that have changed."""

    def tell_probe(self) -> None:
        """Marks the readout under the cursor as perhaps changed."""

    def draw(self, view: str) -> None:
        """Marks the picture of a view (one of VIEWS) as perhaps changed."""

    def copy(self, what: str) -> None:
        """Sends a text for the browser's clipboard: the address ("copy-path"), the view ("copy-view"), or the code."""

    def ask_whole_text(self) -> None:
        """Asks the browser for the whole text of the attributes that it sent an edit of."""

    def add(self, target: object, path: str | None = None) -> None:
        """Opens a further hierarchy in the same tree and brings it to the front."""

    def show_channel(self, text: str) -> None:
        """Shows the channel alone whose name is or contains `text`, and its controls among all others."""

    def close_place(self) -> None:
        """Closes the hierarchy in front; the last one stays open."""

    def greet(self, kinds: list[str]) -> None:
        """Called when a browser shows the widget; it can read these kinds of pictures and has none of them yet."""

    def seen(self, view: str, visible: bool) -> None:
        """Called when one of the browser's views of the widget becomes visible, or no longer is."""

    def painted(self, view: str) -> None:
        """Called when the browser has painted the picture of a view, so that the next one may be sent."""
