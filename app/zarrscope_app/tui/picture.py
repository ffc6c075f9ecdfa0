"""The picture in half blocks, or in the best form that the terminal supports (see characters.py), with zoom, pan and a
cursor."""

from __future__ import annotations

import math
import time
from textwrap import wrap

import numpy as np
from rich.segment import Segment
from textual import events
from textual.filter import ANSIToTruecolor
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from zarrscope_app.presenters import Rect, Session
from zarrscope_app.tui.cells import Cells
from zarrscope_app.tui.characters import REST_TOLERANCE, CellRendering, Grid, Rgb, cells_of, steadied, written_over
from zarrscope_app.tui.cross_panels import CrossPanels
from zarrscope_app.tui.entry import Painter
from zarrscope_app.tui.line_drawing import plotted

PERIOD = 1 / 30
"""The least number of seconds between two drawings, because a held key requests more drawings than a person can see.
"""
WHOLE_SECONDS = 0.25
"""Seconds for which an incomplete picture waits for its last chunks over a slow link; it would be sent twice."""
REST_SECONDS = 1.0
"""The seconds after a plane within which the next one makes both a series. Over a slow link the planes of a series are
sent with fewer changes, and the last one again after this time. Any other plane is sent once, closer to its true
colours."""
SHARE = 4
"""The pause after each drawing, as a multiple of the time that the drawing took: a large terminal draws less often."""


class PictureWidget(Painter, Widget, can_focus=True):
    """Shows the viewport of a session's slice presenter. One pixel is half a cell, which is about square."""

    DEFAULT_CSS = "PictureWidget { height: 1fr; }"

    class Probed(Message):
        """Message: the value under the cursor has changed."""

    def __init__(self, session: Session, *, id: str, rendering: CellRendering | None = None) -> None:
        super().__init__(id=id)
        self.session = session
        self.rendering = rendering or CellRendering()
        self.rect: Rect | None = None
        self.cursor: tuple[int, int] | None = None
        """(row, column) of the value cursor in pixels of the picture; None while it is switched off."""
        self.cross = CrossPanels(self._arranged, self.show)
        """The two other planes through the crosshair."""
        self._grid: Grid | None = None
        self._steady: Rgb | None = None
        """The pixels that were displayed last, to send fewer bytes where pixels are equal."""
        self._lines: list[Cells] = []
        """The lines that were drawn last."""
        self._plot: list[str] = []
        """A 1-D array as text."""
        self._stale = False
        self._free = 0.0
        """The earliest time for the next drawing."""
        self._timer: Timer | None = None
        self._due = 0.0
        """The time at which the timer draws."""
        self._incomplete = 0.0
        """The time since which the picture has lacked chunks, or since the last drawing of such a picture; 0 if it is
        complete."""
        self._rest: Timer | None = None
        """Runs until the picture is sent more exactly."""
        self._changed = -math.inf
        """The time of the last drawing that changed the picture."""
        self._shape = (0, 0)
        self._path = ""

    def follow(self, session: Session) -> None:
        """Shows the picture of another session, at the part that it showed last."""
        super().follow(session)
        self.cross.attach()
        self.cursor, self._grid, self._steady = None, None, None
        frame, rect = session.slice.frame, session.slice.visible_rect
        if frame.shape[0] and rect[2] > rect[0] and rect[3] > rect[1] and self.pixels[0]:
            self._shape, self._path = frame.shape, session.state.path
            self.look_at(rect)
        else:
            self._shape = (0, 0)
            self.show()

    @property
    def _whole_pixels(self) -> tuple[int, int]:
        """The size of the widget (height, width) in the pixels that its cells show."""
        return self.size.height * self.rendering.rows, self.size.width * self.rendering.columns

    @property
    def pixels(self) -> tuple[int, int]:
        """The size (height, width) of the picture; the other planes take a part of the widget."""
        return self.cross.room(self._whole_pixels)

    def toggle_cross(self) -> bool:
        """Opens the two other planes through the crosshair, or closes them. Returns False if there is no third axis."""
        return self.session.slice.state.kind == "image" and self.cross.toggle(self.session.slice)

    def _arranged(self) -> None:
        """Gives the picture the room that the other planes leave, after they were opened or closed."""
        self.cursor = None
        (height, width), (y0, x0, y1, x1) = self.session.slice.frame.shape, self.session.slice.visible_rect
        seen = max(0.0, y0), max(0.0, x0), min(float(height), y1), min(float(width), x1)
        if height and self.pixels[0] and seen[0] < seen[2] and seen[1] < seen[3]:
            self.look_at(seen)
        self.show()

    # ------------------------------------------------------------------ painting
    def show(self) -> None:
        """Paints a new frame, or the same frame at another size."""
        frame, (height, width) = self.session.slice.frame, self.pixels
        if not height or not width:
            return
        if (frame.shape, self.session.state.path) != (self._shape, self._path) and frame.shape[0]:
            self._shape, self._path = frame.shape, self.session.state.path
            self.fit()
            return
        if frame.shape[0] and (asked := self.session.slice.take_rect()) is not None:
            self.look_at(asked)
            return
        if self.rect is not None:
            self.cross.move_along(self.rect, self._whole_pixels)
        self._stale = True
        now = time.monotonic()
        due = max(now, self._free, self._whole(now))
        if self._timer is not None and due < self._due:
            self._timer.stop()
            self._timer = None
        if self._timer is None:
            self._due = due
            if due > now:
                self._timer = self.set_timer(due - now, self._draw)
            else:
                self._draw()

    def _whole(self, now: float) -> float:
        """The time before which the picture is not drawn, because more of its chunks may arrive."""
        if not self.session.slice.frame.loading or not self.rendering.slow or self.cursor is not None:
            self._incomplete = 0.0
            return now
        self._incomplete = self._incomplete or now
        return self._incomplete + WHOLE_SECONDS

    def _draw(self, rest: bool = False) -> None:
        """Makes the lines again, and repaints those that differ. `rest`: no plane has come for a while."""
        self._timer, self._stale = None, False
        began = time.monotonic()
        self._incomplete = began if self._incomplete else 0.0
        height, width = self._whole_pixels
        self._plot = []
        if self.session.slice.state.kind != "image" or not height or not width:
            self._grid, self._lines = None, []
            line = self.session.slice.line
            if self.session.slice.state.kind == "line" and line is not None:
                signs = "ascii" if self.rendering.signs == "ascii" else "braille"
                self._plot = plotted(line.low, line.high, *self.size[::-1], signs)
            self.refresh()
            return
        crossed = bool(self.cross.panels)
        picture = self.cross.picture((height, width)) if crossed else self.session.slice.picture(height, width)
        if self.rendering.tolerance:
            alone = rest or began - self._changed >= REST_SECONDS
            picture = steadied(picture, self._steady, REST_TOLERANCE if alone else self.rendering.tolerance)
            self._steady = picture.copy()
            self._refine_later(not alone)
        if self.cursor is not None:
            y, x = (min(at, most - 1) for at, most in zip(self.cursor, self.pixels, strict=True))
            picture[y, x] = 255 - picture[y, x] // 2
        before, after = self._grid, cells_of(picture, self.rendering, steady=bool(self.rendering.tolerance))
        if crossed:
            self.cross.name_axes(after, self.rendering)
        frame = self.session.slice.frame
        if frame.failed or self.session.waiting:  # the status line is too short for the reason
            written_over(after, frame.over)
        self._grid = after
        if before is None or before.shape != after.shape:
            self._lines = [Cells(row, self.rendering.colors) for row in after]
            self._changed = began
            self.refresh()
        else:
            changed = np.flatnonzero((before != after).any(axis=1)).tolist()
            for y in changed:
                self._lines[y] = Cells(after[y], self.rendering.colors)
            if changed:
                self._changed = began
                self.refresh(*(Region(0, y, self.size.width, 1) for y in changed))
        now = time.monotonic()
        self._free = now + max(PERIOD, SHARE * (now - began))

    def _refine_later(self, inexact: bool) -> None:
        """Sends the picture once more, closer to its true colours, when it has not been drawn again for a while."""
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(REST_SECONDS, lambda: self._draw(rest=True)) if inexact else None

    def render_lines(self, crop: Region) -> list[Strip]:
        """Returns the lines without Textual's cache of styled lines: they have neither border nor background, and are
        cached here."""
        if self._grid is None or self._grid.shape != self.size[::-1]:
            return super().render_lines(crop)
        lines: list[Strip] = [*self._lines[crop.y : crop.bottom]]
        for found in self.get_line_filters():
            if not isinstance(found, ANSIToTruecolor):
                lines = [line.apply_filter(found, self.background_colors[1]) for line in lines]
        return lines if crop.column_span == (0, self.size.width) else [line.crop(*crop.column_span) for line in lines]

    def render_line(self, y: int) -> Strip:
        if self._stale:
            self._draw()
        if y < len(self._lines):
            return self._lines[y].adjust_cell_length(self.size.width)
        if y < len(self._plot):
            return Strip([Segment(self._plot[y], self.rich_style)]).adjust_cell_length(self.size.width, self.rich_style)
        folded = wrap(self.session.slice.state.sentence, max(10, self.size.width - 2))
        text = f" {folded[y]}" if y < len(folded) else ""
        return Strip([Segment(text, self.rich_style)]).adjust_cell_length(self.size.width, self.rich_style)

    def on_resize(self, _: events.Resize) -> None:
        self.fit()
        if not self.session.slice.frame.shape[0]:  # a line plot or a message is shown, not a plane
            self.show()

    # ------------------------------------------------------------------ displayed part
    def fit(self) -> None:
        """Shows the whole plane."""
        frame = self.session.slice.frame
        if not frame.shape[0] or not self.pixels[0]:
            return
        self.look_at((0.0, 0.0, float(frame.shape[0]), float(frame.shape[1])))

    def look_at(self, rect: Rect) -> None:
        """Shows the part `rect` of the plane as large as possible."""
        (y0, x0, y1, x1), (height, width), aspect = rect, self.pixels, self.session.slice.frame.aspect
        scale = max((y1 - y0) * aspect / height, (x1 - x0) / width)
        half_y, half_x = height * scale / aspect / 2, width * scale / 2
        center_y, center_x = (y0 + y1) / 2, (x0 + x1) / 2
        self._look((center_y - half_y, center_x - half_x, center_y + half_y, center_x + half_x))

    def zoom(self, factor: float) -> None:
        """Zooms about the cursor, or the middle; `factor` above 1 shows more of the plane."""
        if self.rect is not None:
            y0, x0, y1, x1 = self.rect
            y, x = (y0 + y1) / 2, (x0 + x1) / 2
            if self.cursor is not None:
                y, x = self._place(*self.cursor)
            self._look((y + (y0 - y) * factor, x + (x0 - x) * factor, y + (y1 - y) * factor, x + (x1 - x) * factor))

    def pan(self, rows: float, columns: float) -> None:
        """Moves the picture by fractions of the height and width of the displayed part."""
        if self.rect is not None:
            y0, x0, y1, x1 = self.rect
            dy, dx = (y1 - y0) * rows, (x1 - x0) * columns
            self._look((y0 + dy, x0 + dx, y1 + dy, x1 + dx))

    def _look(self, rect: Rect) -> None:
        self.rect = rect
        self.session.slice.viewport(rect, self.pixels)
        self.show()

    # ------------------------------------------------------------------ the value cursor
    def toggle_cursor(self) -> bool:
        """Switches the value cursor on or off; returns False if there is no picture."""
        height, width = self.pixels
        if not height or not width or self.session.slice.state.kind != "image":
            self.cursor = None
            return False
        self.cursor = None if self.cursor is not None else (height // 2, width // 2)
        self._probe()
        return True

    def move_cursor(self, rows: int, columns: int) -> None:
        """Moves the cursor by pixels; at an edge, the picture moves instead."""
        if self.cursor is None:
            return
        height, width = self.pixels
        if not height or not width:
            return
        y, x = self.cursor[0] + rows, self.cursor[1] + columns
        if not 0 <= y < height or not 0 <= x < width:
            self.pan(0.25 * ((y >= height) - (y < 0)), 0.25 * ((x >= width) - (x < 0)))
        self.cursor = (max(0, min(height - 1, y)), max(0, min(width - 1, x)))
        self._probe()

    def _place(self, row: float, column: float) -> tuple[float, float]:
        assert self.rect is not None
        (y0, x0, y1, x1), (height, width) = self.rect, self.pixels
        # The size is zero while another pane is displayed, hence max().
        return y0 + (row + 0.5) / max(1, height) * (y1 - y0), x0 + (column + 0.5) / max(1, width) * (x1 - x0)

    def _probe(self) -> None:
        if self.cross.is_open:
            if self.cursor is not None:
                self.cross.pick(*self.cursor)
        elif self.cursor is None or self.rect is None:
            self.session.slice.unpin()
        else:
            self.session.slice.hover(*self._place(*self.cursor))
        self.post_message(self.Probed())
        self.show()

    # ------------------------------------------------------------------ mouse
    def on_mouse_move(self, event: events.MouseMove) -> None:
        row, column = event.y * self.rendering.rows, event.x * self.rendering.columns
        height, width = self.pixels
        if self.rect is not None and self.cursor is None and row < height and column < width:
            self.session.slice.hover(*self._place(row, column))
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
        row, column = event.y * self.rendering.rows, event.x * self.rendering.columns
        if self.cross.pick(row, column):
            return
        y, x = self._place(row, column)
        for tile in self.session.slice.frame.tiles:
            if tile.state.value == "failed" and tile.rect[0] <= y < tile.rect[2] and tile.rect[1] <= x < tile.rect[3]:
                self.session.slice.retry(tile.key)
