"""The canvas, alone or with the two other planes through its crosshair: XZ below it, YZ beside it, with
a common zoom."""

from __future__ import annotations

from functools import partial

from zarrscope_app.presenters import Post, SlicePresenter
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.image.three_views import ThreeViews

from .canvas import ImageCanvas
from .companion_views import CompanionViews


class CrossViews(CompanionViews[ThreeViews]):
    """The canvas `main`, with two further canvases: the planes across it through the same voxel."""

    def __init__(self, main: ImageCanvas, post: Post) -> None:
        super().__init__(main, main, post, ThreeViews)
        self.below, self.beside = self.new_canvas(), self.new_canvas()
        self.below.setAccessibleName(LABELS["view-below"])
        self.beside.setAccessibleName(LABELS["view-beside"])
        self.grid.addWidget(self.beside, 0, 1)
        self.grid.addWidget(self.below, 1, 0)

    def attach(self, presenter: SlicePresenter | None) -> None:
        super().attach(presenter)
        self.main.attach(presenter)

    def arrange(self) -> None:
        views = self.shown
        assert views is not None
        shown = bool(views.depth)
        for canvas, view in ((self.below, views.below), (self.beside, views.beside), (self.main, views.main)):
            if canvas is not self.main:
                canvas.attach(view if shown else None)
                canvas.setVisible(shown)
            canvas.picked = partial(views.pick, view) if shown else None
        for line, stretch in ((0, 2), (1, int(shown))):
            self.grid.setRowStretch(line, stretch)
            self.grid.setColumnStretch(line, stretch)
        self.move_along()

    def follow(self) -> None:
        self.move_along()

    def move_along(self) -> None:
        views = self.shown
        if views is None or not views.depth:
            return
        y, x = self.main.center
        depth = views.below.state.pin
        z = depth[0] if depth is not None else 0.5
        self.below.look((z, x), self.main.zoom)
        # Both other planes share an axis with the main picture, and therefore its scale along that axis.
        self.beside.look((y, z), self.main.zoom * self.main.aspect / max(self.beside.aspect, 1e-9))
