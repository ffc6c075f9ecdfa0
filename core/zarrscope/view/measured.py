"""The channels of an image as its first picture shows them: contrast that the file does not state is measured from the
coarsest level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from zarrscope.ome.metadata import Channel
from zarrscope.view.image import Image, Level, default_window
from zarrscope.view.render import as_numbers

MOST_VALUES = 1 << 24
"""The most values per channel that are read. Of a larger plane, a square in the middle is read."""


def measured_channels(image: Image) -> tuple[Channel, ...]:
    """The channels of an image, each with colour, window and range.

    A window that the file does not state is computed from the values of the coarsest level at the default index. A
    `range` that the file does not state is that of these values. Waits for the store. Raises ZarrscopeError if values
    cannot be read, and TypeError or ValueError if they are not numbers.
    """
    return tuple(_measured(image, number, channel) for number, channel in enumerate(image.channels))


def _measured(image: Image, number: int, channel: Channel) -> Channel:
    if channel.window is not None:
        return channel
    sample = _sample(image, image.levels[-1], number)
    low, high = default_window(channel, sample.dtype, sample)
    numbers = as_numbers(sample)
    finite = numbers[np.isfinite(numbers)]
    ends = (float(finite.min()), float(finite.max())) if finite.size else (low, high)
    return replace(channel, window=(low, high), range=channel.range or (min(low, ends[0]), max(high, ends[1])))


def _sample(image: Image, level: Level, channel: int) -> np.ndarray[Any, Any]:
    """The displayed plane of one channel at one level."""
    spans = _middle(level, image.plane)
    index: list[int | slice] = []
    for axis, length in enumerate(level.shape):
        if axis in spans:
            index.append(spans[axis])
        elif axis == image.channel_axis:
            index.append(min(channel, length - 1))
        else:
            index.append(min(int(image.defaults[image.axes[axis].name] / level.factors[axis]), length - 1))
    return np.asarray(level.array[tuple(index)])


def _middle(level: Level, plane: Sequence[int]) -> dict[int, slice]:
    """For each displayed axis the slice to read: the whole axis, or its middle if the plane is too large."""
    shown = [axis for axis in plane if axis >= 0]
    lengths = {axis: level.shape[axis] for axis in shown}
    for axis in sorted(shown, key=lambda each: -lengths[each]):
        others = math.prod(length for other, length in lengths.items() if other != axis)
        if lengths[axis] * others > MOST_VALUES:
            lengths[axis] = max(math.isqrt(MOST_VALUES), MOST_VALUES // max(1, others))
    starts = {axis: (level.shape[axis] - length) // 2 for axis, length in lengths.items()}
    return {axis: slice(starts[axis], starts[axis] + length) for axis, length in lengths.items()}
