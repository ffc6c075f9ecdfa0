"""The channels of a picture side by side: each alone, beside the picture with all of them."""

from __future__ import annotations

import math

from zarrscope.view.image import Image
from zarrscope_app.presenters.image.presenter import SlicePresenter
from zarrscope_app.presenters.signals import signal

MOST = 8
"""The most channels that have a picture of their own: more would be too small to see."""


class ChannelGrid:
    """`main` shows all channels; `views[i]` shows the channel `channels[i]` alone, at the same plane.

    The visible channels of `main` have a view each. Everything else is set in `main` only.
    """

    changed = signal()
    """Emitted when the number of views has changed."""

    def __init__(self, main: SlicePresenter) -> None:
        self.main = main
        self.is_open = False
        self.channels: tuple[int, ...] = ()
        self._made: list[SlicePresenter] = []
        self._image: Image | None = None
        main.changed.connect(self._follow)

    @property
    def views(self) -> tuple[SlicePresenter, ...]:
        """One presenter for each of `channels`."""
        return tuple(self._made[: len(self.channels)])

    @property
    def columns(self) -> int:
        """The number of pictures in a row of the grid, which also contains the picture with all channels."""
        return math.ceil(math.sqrt(len(self.channels) + 1))

    def caption(self, view: SlicePresenter) -> str:
        """The name of the channel in a view; "" for the picture with all channels."""
        if view not in self._made or (at := self._made.index(view)) >= len(self.channels):
            return ""
        return self.main.state.channels[self.channels[at]].label

    def toggle(self) -> None:
        """Shows the channels side by side, or together again."""
        if self.is_open:
            self.close()
        elif self._visible():
            self.is_open = True
            self._follow()

    def close(self) -> None:
        """Shows the channels together only."""
        self.is_open = False
        self._show((), None)

    def end(self) -> None:
        """Closes the grid, and stops following the picture."""
        self.main.changed.disconnect(self._follow)
        self.close()

    def _visible(self) -> tuple[int, ...]:
        shown = tuple(i for i, c in enumerate(self.main.state.channels) if c.visible and not c.is_alpha)
        return shown[:MOST] if len(self.main.state.channels) > 1 else ()

    def _show(self, channels: tuple[int, ...], image: Image | None) -> None:
        if (channels, image) == (self.channels, self._image):
            return
        while len(self._made) < len(channels):
            self._made.append(self.main.companion())
        for place, view in enumerate(self._made):
            if place >= len(channels):
                view.clear()
            elif image is not None and view.image is not image:
                view.set_image(image, self.main.label_images)
        self.channels, self._image = channels, image
        self.changed.emit()

    def _follow(self) -> None:
        """Shows in each view what the main picture shows, with one channel."""
        if not self.is_open:
            return
        self._show(self._visible(), self.main.image)
        for channel, view in zip(self.channels, self.views, strict=True):
            view.stand_as(self.main)
            if view.locked_level != self.main.locked_level:
                view.lock_level(self.main.locked_level)
            if view.frame.blocked and not self.main.frame.blocked:
                view.load_anyway()
            view.draw_as(self.main, only=channel)
