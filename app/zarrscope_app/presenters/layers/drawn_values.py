"""The values of a layer as numbers that a viewer can draw, and the contrast with which they are first drawn."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.errors import BadChunk
from zarrscope.ome.metadata import Channel
from zarrscope.view.image import default_window
from zarrscope.view.lazy import LazyView
from zarrscope.view.render import as_numbers
from zarrscope_app.presenters.image.tile_geometry import overview_of

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array

SAMPLED = (0.5, 0.25, 0.75, 0.0)
"""The parts of the way along each axis where a plane is tried for a contrast, until one can be read."""
SAMPLE_LIMIT = 4_000_000
"""The most elements of the coarsest level that may be read to find a contrast."""


def drawn_values(array: Array, selection: tuple[int | slice, ...], kind: str) -> LazyView:
    """The values as numbers that a viewer can draw: Boolean labels as bytes, complex values as magnitudes, times as
    counts."""
    dtype = array.dtype
    view: LazyView = LazyView(array)[selection]
    if kind == "labels":
        return view.mapped(np.uint8, _as_bytes) if dtype.kind == "b" else view
    drawn = as_numbers(np.empty(0, dtype)).dtype
    return view if drawn == dtype else view.mapped(drawn, as_numbers)


def part_of_values(view: LazyView, part: str) -> LazyView:
    """A view of complex values that shows a part of them: "phase", "real", "imaginary" or "magnitude"."""
    drawn = as_numbers(np.empty(0, view.array.dtype), part).dtype
    return view.mapped(drawn, partial(as_numbers, part=part))


def _as_bytes(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return values.view(np.uint8)


def contrast_of(channel: Channel, data: tuple[LazyView, ...]) -> tuple[tuple[float, float], tuple[float, float]]:
    """(the initial contrast limits, the range in which a person can change them)."""
    sample, dtype = _sample(data, channel), data[0].dtype
    low, high = map(float, default_window(channel, dtype, sample))
    high = high if high > low else low + 1
    ends = [low, high, *(channel.range or ())]
    if channel.range is None and dtype.kind in "iu":
        ends += [float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)]
    elif channel.range is None and sample is not None:
        finite = sample[np.isfinite(sample)]
        ends += [float(finite.min()), float(finite.max())] if finite.size else []
    return (low, high), (min(ends), max(ends))


def _sample(data: tuple[LazyView, ...], channel: Channel) -> np.ndarray[Any, Any] | None:
    """The plane from which the contrast is computed; None if the file states the contrast, if the plane is empty or too
    large, or if chunks of all planes that are tried are damaged: their layer is shown with its other planes."""
    if channel.window is not None:
        return None
    coarsest = data[overview_of([view.shape[-2:] for view in data], SAMPLE_LIMIT)]
    for part in SAMPLED if coarsest.ndim > 2 else SAMPLED[:1]:
        plane = coarsest
        while plane.ndim > 2:
            plane = plane[int(plane.shape[0] * part)]
        if not 0 < plane.size <= SAMPLE_LIMIT:
            return None
        try:
            return np.asarray(plane)
        except BadChunk:
            continue
    return None
