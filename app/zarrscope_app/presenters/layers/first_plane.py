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
FITTED = 0.95
"""The part of the canvas that napari fills with a picture that it fits into the canvas."""
SLIDER = 30
"""The height in pixels, about, that a slider takes from the canvas once the first layer is there."""


@frozen
class ViewerCanvas:
    """The display of a viewer: the pixels of its canvas, its zoom, and its position along the axes before the last
    two."""

    height: int
    width: int
    zoom: float | None = None
    """Pixels of the canvas for each unit of the layers' world; None if the viewer will fit the picture into its canvas,
    as an empty one does."""
    at: tuple[float, ...] = ()
    """The position along each axis before the last two, as a fraction (0 to 1) of its length, the last such axis first.
    Axes without an entry use the middle."""


def read_ahead(
    levels: Sequence[LazyView],
    canvas: ViewerCanvas,
    cancelled: Callable[[], bool],
    steps: tuple[float, float] = (1.0, 1.0),
) -> None:
    """Reads the plane of the coarsest level and of the level that the viewer will show; of a picture of which the
    canvas shows only a part, that of the coarsest level alone. Failures are reported when the plane is shown.
    `steps`: the sizes of an element of the finest level along the last two axes, in units of the world."""
    shown = level_for_canvas(levels, canvas, steps)
    sides = zip(levels[0].shape[-2:], steps, (canvas.height, canvas.width), strict=True)
    if canvas.zoom is not None and any(n * step * canvas.zoom > 1.5 * size for n, step, size in sides):
        shown = len(levels) - 1
    for level in dict.fromkeys((len(levels) - 1, shown)):
        plane = levels[level][_place_at(levels, level, canvas.at)]
        if cancelled() or plane.nbytes > MOST_BYTES:
            continue
        try:
            np.asarray(plane)
        except (ZarrscopeError, MemoryError):
            continue


def level_for_canvas(levels: Sequence[LazyView], canvas: ViewerCanvas, steps: tuple[float, float] = (1.0, 1.0)) -> int:
    """The level that napari chooses: the coarsest one with more than an element for each pixel, along the axes of which
    the finest level has more than that; 0 if there are no such axes."""
    finest = [max(1, n) for n in levels[0].shape[-2:]]
    sizes, zoom = (max(1, canvas.height), max(1, canvas.width)), canvas.zoom
    if zoom is None:
        sizes = (max(1, canvas.height - SLIDER * sum(n > 1 for n in levels[0].shape[:-2])), sizes[1])
        zoom = FITTED * min(size / (n * step) for size, n, step in zip(sizes, finest, steps, strict=True))
    dense = [1 / (zoom * step) for step in steps]  # elements of the finest level for each pixel
    sides = [side for side in (0, 1) if dense[side] > 1 and levels[-1].shape[side - 2] < finest[side]]
    if not sides:
        return 0
    wanted = {side: finest[side] / dense[side] for side in sides}
    return max(k for k, v in enumerate(levels) if not k or all(v.shape[s - 2] > wanted[s] for s in sides))


def _place_at(levels: Sequence[LazyView], level: int, at: Sequence[float]) -> tuple[int, ...]:
    """The index of the displayed plane in a level: napari divides the index in the finest level by the ratio of the
    lengths and rounds the result. `at` is described in ViewerCanvas."""
    lengths, found = levels[0].shape[:-2], []
    parts = reversed((*at[: len(lengths)], *[None] * (len(lengths) - len(at))))
    for finest, here, part in zip(lengths, levels[level].shape[:-2], parts, strict=True):
        index = max(0, finest - 1) // 2 if part is None else round(part * (finest - 1))
        found.append(max(0, min(here - 1, round(index / (finest / here)))))
    return tuple(found)
