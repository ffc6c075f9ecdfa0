"""The picture, alone or with a canvas for each channel beside it; all are zoomed and moved as one."""

from __future__ import annotations

from functools import partial

from qtpy.QtWidgets import QGridLayout, QWidget

from zarrscope_app.presenters import Post, SlicePresenter
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.image.channel_grid import ChannelGrid

from .canvas import ImageCanvas


class ChannelGridView(QWidget):
    """`inside` holds the canvas `main`; `toggle` opens and closes the canvases of the channels beside it."""

    def __init__(self, inside: QWidget, main: ImageCanvas, post: Post) -> None:
        super().__init__()
        self._inside, self._main, self._post = inside, main, post
        self.canvases: list[ImageCanvas] = []
        self.channels: ChannelGrid | None = None
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(2)
        self._grid.addWidget(inside, 0, 0)
        main.moved.connect(self._move_along)

    def attach(self, presenter: SlicePresenter | None) -> None:
        """Shows another presenter's picture, alone."""
        if self.channels is not None:
            self.channels.end()
            self.channels.changed.disconnect(self._changed)
            self.channels.main.changed.disconnect(self._follow)
            self.channels = None
        if presenter is not None:
            self.channels = ChannelGrid(presenter)
            self.channels.changed.connect(self._changed)
            presenter.changed.connect(self._follow)

    def toggle(self) -> None:
        """Shows the channels side by side, or together again."""
        if self.channels is not None:
            self.channels.toggle()

    def close_channels(self) -> None:
        """Shows the picture alone."""
        if self.channels is not None:
            self.channels.close()

    def _changed(self) -> None:
        channels = self.channels
        assert channels is not None
        while len(self.canvases) < len(channels.views):
            canvas = ImageCanvas(self._post)
            canvas.scale_bars = False
            canvas.setMinimumSize(64, 48)
            canvas.moved.connect(partial(self._moved, canvas))
            canvas.hovered.connect(self._main.hovered)
            self.canvases.append(canvas)
        columns = channels.columns
        for place, canvas in enumerate(self.canvases):
            shown = place < len(channels.views)
            view = channels.views[place] if shown else None
            canvas.attach(view)
            canvas.acts_on = channels.main if shown else None
            if shown:
                self._grid.addWidget(canvas, (place + 1) // columns, (place + 1) % columns)
            canvas.setVisible(shown)
        for place in range(max(self._grid.rowCount(), self._grid.columnCount())):
            self._grid.setRowStretch(place, int(place * columns <= len(channels.views)))
            self._grid.setColumnStretch(place, int(place < columns))
        self._main.caption = LABELS["all-channels"] if channels.views else ""
        self._follow()
        self._move_along()

    def _follow(self) -> None:
        """Names and draws the canvases again: the pinned pixel is that of the main picture."""
        channels = self.channels
        if channels is None or not channels.views:
            return
        for canvas, view in zip(self.canvases, channels.views, strict=False):
            canvas.caption = channels.caption(view)
            canvas.setAccessibleName(canvas.caption)
            canvas.update()

    def _move_along(self) -> None:
        """Gives the channels the zoom and the place of the main picture."""
        if self.channels is not None:
            for canvas, _ in zip(self.canvases, self.channels.views, strict=False):
                canvas.look(self._main.center, self._main.zoom)

    def _moved(self, canvas: ImageCanvas) -> None:
        """Moves the main picture, and with it all others, to where a person moved a channel."""
        if canvas.isVisible() and not canvas.is_fitted:
            self._main.look(canvas.center, canvas.zoom)
