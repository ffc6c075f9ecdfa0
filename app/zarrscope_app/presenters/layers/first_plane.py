"""Reads in advance, on another thread, the planes that a viewer needs first for a layer: the viewer then finds them in
the cache, and its own thread does not wait for a store."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from zarrscope.errors import ZarrscopeError
from zarrscope.model.frozen import frozen
from zarrscope.view.lazy import LazyView

MOST_BYTES = 1 << 28
"""The most bytes of a plane that is read in advance."""


@frozen
class ViewerCanvas:
    """The display of a viewer: the pixels of its canvas, and its position along the axes before the last two."""

    height: int
    width: int
    at: tuple[float, ...] = ()
    """The position along each axis before the last two, as a fraction (0 to 1) of its length, the last such axis first.
    Axes without an entry use the middle."""


def read_ahead(levels: Sequence[LazyView], canvas: ViewerCanvas, cancelled: Callable[[], bool]) -> None:
    """Reads the plane of the coarsest level and of the level that fills the canvas. Failures are reported when the
    plane is shown."""
    for level in dict.fromkeys((len(levels) - 1, level_for_canvas(levels, canvas))):
        before = levels[level].shape[:-2]
        parts = (*canvas.at[: len(before)], *[None] * (len(before) - len(canvas.at)))
        plane = levels[level][tuple(_index(n, part) for n, part in zip(before, reversed(parts), strict=True))]
        if cancelled() or plane.nbytes > MOST_BYTES:
            continue
        try:
            np.asarray(plane)
        except (ZarrscopeError, MemoryError):
            continue


def level_for_canvas(levels: Sequence[LazyView], canvas: ViewerCanvas) -> int:
    """The coarsest level with an element for each pixel of the canvas, along the axes whose finest level is longer than
    the canvas; 0 if both axes fit."""
    sides = [k for k, n in ((-2, canvas.height), (-1, canvas.width)) if levels[0].shape[k] > n]
    sizes = {-2: canvas.height, -1: canvas.width}
    if not sides:
        return 0
    return max(k for k, level in enumerate(levels) if not k or all(level.shape[side] > sizes[side] for side in sides))


def _index(length: int, part: float | None) -> int:
    return max(0, length - 1) // 2 if part is None else max(0, min(length - 1, round(part * (length - 1))))
