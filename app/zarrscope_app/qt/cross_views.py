"""The canvas, alone or with the two other planes through its crosshair: XZ below it, YZ beside it, with
a common zoom."""

from __future__ import annotations

from functools import partial

from qtpy.QtWidgets import QGridLayout, QWidget

from zarrscope_app.presenters import Post, SlicePresenter
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.image.three_views import ThreeViews

from .canvas import ImageCanvas


class CrossViews(QWidget):
    """The canvas with the other planes. `attach` takes a slice presenter, or None; `toggle` opens and closes the other
    planes."""

    def __init__(self, main: ImageCanvas, post: Post) -> None:
        super().__init__()
        self.main, self.below, self.beside = main, ImageCanvas(post), ImageCanvas(post)
        self.below.setAccessibleName(LABELS["view-below"])
        self.beside.setAccessibleName(LABELS["view-beside"])
        self.views: ThreeViews | None = None
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(2)
        self._grid.addWidget(main, 0, 0)
        self._grid.addWidget(self.beside, 0, 1)
        self._grid.addWidget(self.below, 1, 0)
        main.moved.connect(self._move_along)
        for side in (self.below, self.beside):
            side.scale_bars = False
            side.setMinimumSize(64, 48)
            side.hide()

    def attach(self, presenter: SlicePresenter | None) -> None:
        """Shows another presenter's picture, alone."""
        if self.views is not None:
            self.views.changed.disconnect(self._changed)
            self.views.main.changed.disconnect(self._follow)
            self.views.end()
            self.views = None
            self._changed()
        self.main.attach(presenter)
        if presenter is not None:
            self.views = ThreeViews(presenter)
            self.views.changed.connect(self._changed)
            presenter.changed.connect(self._follow)

    def toggle(self) -> None:
        """Opens the other planes, or closes them."""
        if self.views is not None:
            self.views.toggle()

    def _changed(self) -> None:
        views = self.views
        shown = views is not None and bool(views.depth)
        for canvas, view in (
            (self.below, views.below if views is not None else None),
            (self.beside, views.beside if views is not None else None),
            (self.main, views.main if views is not None else None),
        ):
            if canvas is not self.main:
                canvas.attach(view if shown else None)
                canvas.setVisible(shown)
            canvas.picked = partial(views.pick, view) if views is not None and view is not None and shown else None
        for line, stretch in ((0, 2), (1, 1 if shown else 0)):
            self._grid.setRowStretch(line, stretch)
            self._grid.setColumnStretch(line, stretch)
        self._move_along()

    def _follow(self) -> None:
        self._move_along()

    def _move_along(self) -> None:
        """Gives the other planes the zoom and the place of the main picture."""
        views = self.views
        if views is None or not views.depth:
            return
        y, x = self.main.center
        depth = views.below.state.pin
        z = depth[0] if depth is not None else 0.5
        self.below.look((z, x), self.main.zoom)
        # Both other planes share an axis with the main picture, and therefore its scale along that axis.
        self.beside.look((y, z), self.main.zoom * self.main.aspect / max(self.beside.aspect, 1e-9))
