"""Paints the displayed part of a picture again in more pixels: a terminal shows a few thousand of them, a file can hold
all that the data have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from zarrscope_app.presenters.image import words
from zarrscope_app.presenters.image.presenter import SlicePresenter
from zarrscope_app.presenters.image.view_models import Rect

LONGEST = 1024
"""The most pixels along the longer side of a picture that is painted again."""


def pixels_of(rect: Rect, aspect: float, longest: int) -> tuple[int, int]:
    """(height, width) of a picture that shows a part of a plane; its longer side has `longest` pixels."""
    tall, wide = (rect[2] - rect[0]) * aspect, rect[3] - rect[1]
    scale = longest / max(tall, wide)
    return max(1, round(tall * scale)), max(1, round(wide * scale))


class FullerPicture:
    """The part of the plane that `main` displays, as one picture: painted in as many pixels as the data have there, at
    most LONGEST along its longer side. If the host displays no fewer, it is the picture on the screen.

    `start` calls `done(picture, note)` once all chunks have arrived or failed; with that of the screen, at once.
    `note` says why it is that, if more pixels would take too much; else "". All methods run on the host's thread.
    """

    def __init__(self, main: SlicePresenter, done: Callable[[npt.NDArray[np.uint8], str], None]) -> None:
        self._main, self._done = main, done
        self._picture: SlicePresenter | None = None
        self._pixels = main.painted_pixels
        self._seen = main.picture(*self._pixels)

    def start(self) -> None:
        """Captures the displayed view, and begins to paint it."""
        main = self._main
        rect, frame = main.visible_rect, main.frame
        inside = _within(rect, frame.shape)
        image, tall, wide = main.image, inside[2] - inside[0], inside[3] - inside[1]
        if image is None or min(tall, wide) <= 0 or min(main.painted_pixels) < 1:
            self._done(self._seen, "")
            return
        own = min(LONGEST, round(max(tall * max(1.0, frame.aspect), wide)))
        shown = max(self._pixels[0] * tall / (rect[2] - rect[0]), self._pixels[1] * wide / (rect[3] - rect[1]))
        if shown >= own:
            self._done(self._seen, "")
            return
        self._pixels = pixels_of(inside, frame.aspect, own)
        self._picture = again = main.companion()
        again.set_image(image, main.label_images)
        again.restore(main.view())
        again.draw_as(main)
        again.painted.connect(self._look)
        again.changed.connect(self._look)
        again.viewport(inside, self._pixels)

    def end(self) -> None:
        """Cancels the painting, if it goes on; `done` is not called any more."""
        again, self._picture = self._picture, None
        if again is not None:
            again.painted.disconnect(self._look)
            again.changed.disconnect(self._look)
            again.clear()

    def _look(self) -> None:
        again = self._picture
        if again is None:
            return
        frame = again.frame
        if frame.blocked:
            self.end()
            self._done(self._seen, words.pixels_of_screen(frame.blocked))
        elif not frame.loading and (frame.tiles or frame.failed):
            picture = again.picture(*self._pixels)
            self.end()
            self._done(picture, "")


def _within(rect: Rect, shape: tuple[int, int]) -> Rect:
    """The part of a rectangle that lies in the plane."""
    y0, x0, y1, x1 = rect
    return max(0.0, y0), max(0.0, x0), min(float(shape[0]), y1), min(float(shape[1]), x1)
