"""The picture in half blocks: two pixels a cell, the upper one as foreground. Zoom, pan and a cursor; nothing else.

Without true colour it is grey, dithered into the 24 greys that 256-colour terminals have.
"""

from __future__ import annotations

from functools import lru_cache
from textwrap import wrap

import numpy as np
import numpy.typing as npt
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from zarrscope_app.presenters import Rect, Session

_BAYER = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]) / 16
STEP = 4
"""Colours are rounded to this much: the eye does not see it in a cell, and styles can be kept instead of made."""


@lru_cache(maxsize=65536)
def _pair(upper: int, lower: int) -> Style:
    return Style(color=_color(upper), bgcolor=_color(lower))


@lru_cache(maxsize=65536)
def _color(packed: int) -> Color:
    return Color.from_rgb(packed >> 16, packed >> 8 & 255, packed & 255)


@lru_cache(maxsize=65536)
def _run(pair: int, length: int) -> Segment:
    """Kept, since most cells of a picture look like cells of the picture before."""
    return Segment("▀" * length, _pair(pair >> 24, pair & 0xFFFFFF))


def half_blocks(rgb: npt.NDArray[np.uint8], grey: bool = False) -> list[Strip]:
    """(2h, w, 3) pixels as h lines of w cells; equal neighbours become one segment."""
    picture = _greys(rgb) if grey else (np.minimum(rgb, 255 - STEP) + STEP // 2) // STEP * STEP
    wide = picture.astype(np.uint32)
    packed = (wide[..., 0] << 16) | (wide[..., 1] << 8) | wide[..., 2]
    pairs = (packed[0::2].astype(np.uint64) << 24) | packed[1::2]
    width = rgb.shape[1]
    strips = []
    for row in pairs:
        starts = np.concatenate(([0], np.flatnonzero(np.diff(row)) + 1))
        lengths = np.diff(np.append(starts, width)).tolist()
        strips.append(Strip([*map(_run, row[starts].tolist(), lengths)], width))
    return strips


def _greys(rgb: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Ordered dither of the brightness into 8, 18 … 238: the greys of the 256-colour palette."""
    light = rgb.max(axis=2).astype(np.float32) / 255 * 23
    h, w = light.shape
    threshold = np.tile(_BAYER, (h // 4 + 1, w // 4 + 1))[:h, :w]
    level = np.clip(np.floor(light + threshold), 0, 23).astype(np.uint8)
    grey = np.where(level == 0, 0, 8 + level * 10).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=2)


class Picture(Widget, can_focus=True):
    """Shows the viewport of a session's slice presenter. One pixel is half a cell: as wide as it is high, about."""

    DEFAULT_CSS = "Picture { height: 1fr; }"

    class Probed(Message):
        """There is something else under the cursor."""

    def __init__(self, session: Session, *, id: str, grey: bool = False) -> None:
        super().__init__(id=id)
        self.session = session
        self.grey = grey
        self.rect: Rect | None = None
        self.cursor: tuple[int, int] | None = None
        """(row, column) of the value cursor in pixels of the picture; None while it is off."""
        self._lines: list[Strip] | None = None
        """None: to be made before the next line is drawn, so that several changes between two screens cost one."""
        self._shape = (0, 0)
        self._path = ""

    @property
    def pixels(self) -> tuple[int, int]:
        return self.size.height * 2, self.size.width

    # ------------------------------------------------------------------ painting
    def show(self) -> None:
        """A new frame, or another size: paints it."""
        frame, (height, width) = self.session.slice.frame, self.pixels
        if not height or not width:
            return
        if (frame.shape, self.session.state.path) != (self._shape, self._path) and frame.shape[0]:
            self._shape, self._path = frame.shape, self.session.state.path
            self.fit()
            return
        self._lines = None
        self.refresh()

    def _strips(self) -> list[Strip]:
        if self._lines is None:
            height, width = self.pixels
            picture = self.session.slice.picture(height, width).copy()
            if self.cursor is not None:
                y, x = self.cursor
                picture[y % height, x % width] = 255 - picture[y % height, x % width] // 2
            self._lines = half_blocks(picture, self.grey)
        return self._lines

    def render_line(self, y: int) -> Strip:
        lines = self._strips() if self.session.slice.state.kind == "image" else []
        if y >= len(lines):
            folded = wrap(self.session.slice.state.sentence, max(10, self.size.width - 2))
            text = f" {folded[y]}" if y < len(folded) else ""
            return Strip([Segment(text, self.rich_style)]).adjust_cell_length(self.size.width, self.rich_style)
        return lines[y].adjust_cell_length(self.size.width)

    def on_resize(self, _: events.Resize) -> None:
        self.fit()

    # ------------------------------------------------------------------ where
    def fit(self) -> None:
        frame, (height, width) = self.session.slice.frame, self.pixels
        if not frame.shape[0] or not height:
            return
        tall, wide = frame.shape[0] * frame.aspect, float(frame.shape[1])
        scale = max(tall / height, wide / width)
        half_y, half_x = height * scale / frame.aspect / 2, width * scale / 2
        center_y, center_x = frame.shape[0] / 2, frame.shape[1] / 2
        self._look((center_y - half_y, center_x - half_x, center_y + half_y, center_x + half_x))

    def zoom(self, factor: float) -> None:
        if self.rect is not None:
            y0, x0, y1, x1 = self.rect
            y, x = (y0 + y1) / 2, (x0 + x1) / 2
            if self.cursor is not None:
                y, x = self._place(*self.cursor)
            self._look((y + (y0 - y) * factor, x + (x0 - x) * factor, y + (y1 - y) * factor, x + (x1 - x) * factor))

    def pan(self, rows: float, columns: float) -> None:
        """By parts of what is shown."""
        if self.rect is not None:
            y0, x0, y1, x1 = self.rect
            dy, dx = (y1 - y0) * rows, (x1 - x0) * columns
            self._look((y0 + dy, x0 + dx, y1 + dy, x1 + dx))

    def _look(self, rect: Rect) -> None:
        self.rect = rect
        self.session.slice.viewport(rect, self.pixels)
        self.show()

    # ------------------------------------------------------------------ the value cursor
    def toggle_cursor(self) -> None:
        height, width = self.pixels
        self.cursor = None if self.cursor is not None else (height // 2, width // 2)
        self._probe()

    def move_cursor(self, rows: int, columns: int) -> None:
        if self.cursor is None:
            return
        height, width = self.pixels
        y, x = self.cursor[0] + rows, self.cursor[1] + columns
        if not 0 <= y < height or not 0 <= x < width:
            self.pan(0.25 * ((y >= height) - (y < 0)), 0.25 * ((x >= width) - (x < 0)))
        self.cursor = (max(0, min(height - 1, y)), max(0, min(width - 1, x)))
        self._probe()

    def _place(self, row: float, column: float) -> tuple[float, float]:
        assert self.rect is not None
        (y0, x0, y1, x1), (height, width) = self.rect, self.pixels
        return y0 + (row + 0.5) / height * (y1 - y0), x0 + (column + 0.5) / width * (x1 - x0)

    def _probe(self) -> None:
        if self.cursor is None or self.rect is None:
            self.session.slice.leave()
        else:
            self.session.slice.hover(*self._place(*self.cursor))
        self.post_message(self.Probed())
        self.show()

    # ------------------------------------------------------------------ mouse
    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self.rect is not None and self.cursor is None:
            self.session.slice.hover(*self._place(event.y * 2, event.x))
            self.post_message(self.Probed())

    def on_leave(self, _: events.Leave) -> None:
        if self.cursor is None:
            self.session.slice.leave()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.zoom(1.25)
        event.stop()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.zoom(0.8)
        event.stop()

    def on_click(self, event: events.Click) -> None:
        if self.rect is None:
            return
        y, x = self._place(event.y * 2, event.x)
        for tile in self.session.slice.frame.tiles:
            if tile.state.value == "failed" and tile.rect[0] <= y < tile.rect[2] and tile.rect[1] <= x < tile.rect[3]:
                self.session.slice.retry(tile.key)
