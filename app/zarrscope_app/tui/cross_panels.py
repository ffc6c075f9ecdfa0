"""The picture of a terminal with the two other planes through its crosshair: width and depth below it, depth and height
beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len

from zarrscope.model.frozen import frozen
from zarrscope_app.presenters import strings
from zarrscope_app.tui.characters import GROUND

if TYPE_CHECKING:
    from zarrscope_app.presenters import Rect, SlicePresenter
    from zarrscope_app.presenters.image.three_views import ThreeViews
    from zarrscope_app.tui.characters import CellRendering, Grid, Rgb

GAP = 1
"""Pixels between two planes."""
GAP_COLOR, CROSS_COLOR = (96, 96, 96), np.array((255, 214, 0), np.uint16)
LEAST, MOST = 0.25, 0.5
"""The limits of the share of the width, and of the height, that the other planes get."""
LONGEST_NAME = 8
"""The most columns for the name of an axis."""


@frozen
class PlanePanel:
    """One of the planes: its place in the picture of the terminal, in pixels, and its part of the plane."""

    view: SlicePresenter
    top: int
    left: int
    height: int
    width: int
    rect: Rect

    def place(self, row: float, column: float) -> tuple[float, float] | None:
        """The position in the plane for a pixel of the picture; None outside this panel."""
        y, x = row - self.top, column - self.left
        if not 0 <= y < self.height or not 0 <= x < self.width:
            return None
        y0, x0, y1, x1 = self.rect
        return y0 + (y + 0.5) / self.height * (y1 - y0), x0 + (x + 0.5) / self.width * (x1 - x0)


class CrossPanels:
    """The other planes of the picture of `main`. `arranged` is called after they were opened or closed, `painted` after
    one of them was painted."""

    def __init__(self, arranged: Callable[[], None], painted: Callable[[], None]) -> None:
        self._arranged, self._painted = arranged, painted
        self._views: ThreeViews | None = None
        self.panels: Sequence[PlanePanel] = ()
        """The planes as they were laid out last, the main one first; empty while the picture is alone."""

    def attach(self) -> None:
        """Forgets the presenters, because another hierarchy is shown."""
        views, self._views, self.panels = self._views, None, ()
        if views is not None:
            views.changed.disconnect(self._arranged)
            for view in (views.below, views.beside):
                view.painted.disconnect(self._painted)
            views.end()

    @property
    def is_open(self) -> bool:
        """Whether the other planes are shown."""
        return self._views is not None and bool(self._views.depth)

    def toggle(self, main: SlicePresenter) -> bool:
        """Opens the other planes, or closes them. Returns False if the image has no third axis."""
        if self._views is None:
            from zarrscope_app.presenters.image.three_views import ThreeViews

            self._views = views = ThreeViews(main)
            views.changed.connect(self._arranged)
            for view in (views.below, views.beside):
                view.painted.connect(self._painted)
        was_open = self.is_open
        self._views.toggle()
        return was_open or self.is_open

    def room(self, pixels: tuple[int, int]) -> tuple[int, int]:
        """The size (height, width) of the main picture if that of the whole is `pixels`."""
        views = self._views
        if views is None or not views.depth:
            return pixels
        (height, width), frame, below = views.main.frame.shape, views.main.frame, views.below.frame
        depth = below.shape[0] * below.aspect
        return _main_part(pixels[0], height * frame.aspect, depth), _main_part(pixels[1], width, depth)

    def move_along(self, rect: Rect, pixels: tuple[int, int]) -> None:
        """Gives the other planes the zoom and the place of the main picture, which shows `rect`."""
        views = self._views
        if views is None or not views.depth:
            self.panels = ()
            return
        (y0, x0, y1, x1), (tall, wide) = rect, self.room(pixels)
        low, thin = pixels[0] - tall - GAP, pixels[1] - wide - GAP
        if tall <= 0 or wide <= 0 or low <= 0 or thin <= 0:
            self.panels = ()
            return
        z = views.below.state.pin[0] if views.below.state.pin is not None else 0.5
        deep = (x1 - x0) / wide / max(views.below.frame.aspect, 1e-9) * low
        across = (y1 - y0) / tall * views.beside.frame.aspect * thin
        depth = float(views.below.frame.shape[0])
        (z0, z1), (w0, w1) = _around(z, deep, depth), _around(z, across, depth)
        self.panels = (
            PlanePanel(views.main, 0, 0, tall, wide, rect),
            PlanePanel(views.below, tall + GAP, 0, low, wide, (z0, x0, z1, x1)),
            PlanePanel(views.beside, 0, wide + GAP, tall, thin, (y0, w0, y1, w1)),
        )
        for panel in self.panels[1:]:
            panel.view.viewport(panel.rect, (panel.height, panel.width))

    def picture(self, pixels: tuple[int, int]) -> Rgb:
        """The three planes with their crosshair, as an array (height, width, 3)."""
        whole: Rgb = np.full((*pixels, 3), GROUND, np.uint8)
        for panel in self.panels:
            part = panel.view.picture(panel.height, panel.width)
            _draw_cross(part, panel)
            whole[panel.top : panel.top + panel.height, panel.left : panel.left + panel.width] = part
        main = self.panels[0]
        whole[main.height : main.height + GAP] = GAP_COLOR
        whole[:, main.width : main.width + GAP] = GAP_COLOR
        return whole

    def name_axes(self, cells: Grid, rendering: CellRendering) -> None:
        """Writes the names of the axes across and down into the upper left corner of each plane."""
        for panel in self.panels:
            names = {axis.role: strings.clean(axis.name, LONGEST_NAME) for axis in panel.view.state.axes}
            text = (
                f"{names.get('x', '')}→ {names.get('y', '')}↓"
                if rendering.signs != "ascii"
                else " ".join(names.get(role, "") for role in "xy")
            )
            line, start = -(-panel.top // rendering.rows), -(-panel.left // rendering.columns)
            room = min(cells.shape[1], (panel.left + panel.width) // rendering.columns) - start
            if line < cells.shape[0] and len(text) <= room:
                signs = [ord(sign) if cell_len(sign) == 1 else ord("?") for sign in text]
                cells[line, start : start + len(text)] = [(sign << 48) | (0xFFFFFF << 24) for sign in signs]

    def pick(self, row: float, column: float) -> bool:
        """Moves the crosshair to a pixel of the picture; returns False beside the planes."""
        for panel in self.panels:
            place = panel.place(row, column)
            if place is not None and self._views is not None:
                self._views.pick(panel.view, *place)
                return True
        return False


def _main_part(pixels: int, length: float, depth: float) -> int:
    """The height (or width) in pixels of the main picture, if it and another plane share `pixels` in the ratio of
    `length` to `depth`, the extents of the two planes. The other plane gets between LEAST and MOST of them."""
    share = min(MOST, max(LEAST, depth / max(length + depth, 1e-9)))
    return max(0, pixels - GAP - max(1, round(pixels * share)))


def _around(center: float, extent: float, length: float) -> tuple[float, float]:
    """A range of the given extent: around the middle if the whole axis fits into it, else around `center`."""
    middle = length / 2 if extent >= length else min(max(center, extent / 2), length - extent / 2)
    return middle - extent / 2, middle + extent / 2


def _draw_cross(part: Rgb, panel: PlanePanel) -> None:
    pin = panel.view.state.pin
    if pin is None:
        return
    y0, x0, y1, x1 = panel.rect
    row = int((pin[0] - y0) / max(y1 - y0, 1e-9) * panel.height)
    column = int((pin[1] - x0) / max(x1 - x0, 1e-9) * panel.width)
    for line in (
        part[row : row + 1] if 0 <= row < panel.height else None,
        part[:, column : column + 1] if 0 <= column < panel.width else None,
    ):
        if line is not None:
            line[:] = ((line.astype(np.uint16) + CROSS_COLOR) // 2).astype(np.uint8)
