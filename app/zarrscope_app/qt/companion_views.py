"""The main canvas with further canvases beside it, which show the same image in another way and move with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from zarrscope_app.presenters import Post, SlicePresenter
from zarrscope_app.qt.toolkit.widgets import QGridLayout, QWidget

from .canvas import ImageCanvas

if TYPE_CHECKING:
    pass


class Companions(Protocol):
    """The presenter of the further pictures; `main` is the presenter of the main canvas."""

    main: SlicePresenter

    @property
    def changed(self) -> Any:
        """Emitted when the pictures were opened or closed."""

    def toggle(self) -> None:
        """Opens the further pictures, or closes them."""

    def close(self) -> None:
        """Closes the further pictures; `toggle` opens them again."""

    def end(self) -> None:
        """Ends the presenter for good, because the main canvas shows another one."""


C = TypeVar("C", bound=Companions)


class CompanionViews(QWidget, Generic[C]):
    """`first`, the widget that contains the canvas `main`, is in the upper left cell of `grid`. `attach` takes a slice
    presenter, or None, and makes for it `shown`, the presenter of the further pictures; `toggle` opens and closes
    them."""

    def __init__(self, first: QWidget, main: ImageCanvas, post: Post, make: Callable[[SlicePresenter], C]) -> None:
        super().__init__()
        self.main, self._post, self._make = main, post, make
        self.shown: C | None = None
        self.grid = QGridLayout(self)
        self.grid.setContentsMargins(0, 0, 0, 0)
        self.grid.setSpacing(2)
        self.grid.addWidget(first, 0, 0)
        main.moved.connect(self.move_along)

    def attach(self, presenter: SlicePresenter | None) -> None:
        """Shows another presenter's picture, alone."""
        if self.shown is not None:
            self.shown.end()
            self.shown.changed.disconnect(self.arrange)
            self.shown.main.changed.disconnect(self.follow)
            self.shown = None
        if presenter is not None:
            self.shown = self._make(presenter)
            self.shown.changed.connect(self.arrange)
            presenter.changed.connect(self.follow)

    def toggle(self) -> None:
        """Opens the further pictures, or closes them."""
        if self.shown is not None:
            self.shown.toggle()

    def close_views(self) -> None:
        """Shows the main picture alone."""
        if self.shown is not None:
            self.shown.close()

    def new_canvas(self) -> ImageCanvas:
        """Makes a further canvas, hidden."""
        canvas = ImageCanvas(self._post)
        canvas.scale_bars = False
        canvas.setMinimumSize(64, 48)
        canvas.hovered.connect(self.main.hovered)
        canvas.hide()
        return canvas

    def arrange(self) -> None:
        """Shows as many canvases as `shown` has pictures."""
        raise NotImplementedError(type(self).__name__)

    def follow(self) -> None:
        """Called when the main picture has changed."""
        raise NotImplementedError(type(self).__name__)

    def move_along(self) -> None:
        """Gives the further pictures the zoom and the place of the main picture."""
        raise NotImplementedError(type(self).__name__)
