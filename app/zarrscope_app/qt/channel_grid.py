"""The picture, alone or with a canvas for each channel beside it; all are zoomed and moved as one."""

from __future__ import annotations

from functools import partial

from zarrscope_app.presenters import Post
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.image.channel_grid import ChannelGrid
from zarrscope_app.qt.toolkit.widgets import QWidget

from .canvas import ImageCanvas
from .companion_views import CompanionViews


class ChannelGridView(CompanionViews[ChannelGrid]):
    """The channels of the canvas `main`, each in a canvas of its own."""

    def __init__(self, inside: QWidget, main: ImageCanvas, post: Post) -> None:
        super().__init__(inside, main, post, ChannelGrid)
        self.canvases: list[ImageCanvas] = []

    def arrange(self) -> None:
        channels = self.shown
        assert channels is not None
        while len(self.canvases) < len(channels.views):
            canvas = self.new_canvas()
            canvas.moved.connect(partial(self._moved, canvas))
            self.canvases.append(canvas)
        columns = channels.columns
        for place, canvas in enumerate(self.canvases):
            shown = place < len(channels.views)
            view = channels.views[place] if shown else None
            canvas.attach(view)
            canvas.acts_on = channels.main if shown else None
            if shown:
                self.grid.addWidget(canvas, (place + 1) // columns, (place + 1) % columns)
            canvas.setVisible(shown)
        for place in range(max(self.grid.rowCount(), self.grid.columnCount())):
            self.grid.setRowStretch(place, int(place * columns <= len(channels.views)))
            self.grid.setColumnStretch(place, int(place < columns))
        self.main.caption = LABELS["all-channels"] if channels.views else ""
        self.follow()
        self.move_along()

    def follow(self) -> None:
        """Sets the captions of the channels' canvases and paints the canvases again, with the pinned pixel of the main
        picture."""
        channels = self.shown
        if channels is None or not channels.views:
            return
        for canvas, view in zip(self.canvases, channels.views, strict=False):
            canvas.caption = channels.caption(view)
            canvas.setAccessibleName(canvas.caption)
            canvas.update()

    def move_along(self) -> None:
        if self.shown is not None:
            for canvas, _ in zip(self.canvases, self.shown.views, strict=False):
                canvas.look(self.main.center, self.main.zoom)

    def _moved(self, canvas: ImageCanvas) -> None:
        """Moves the main picture, and with it all others, to where a person moved a channel."""
        if canvas.isVisible() and not canvas.is_fitted:
            self.main.look(canvas.center, canvas.zoom)
