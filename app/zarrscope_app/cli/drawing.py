"""Draws an image and a selection as one picture: chooses the level, the planes and the contrast."""

from __future__ import annotations

from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from zarrscope.nodes.array import Array
from zarrscope.nodes.group import Group
from zarrscope.view.image import Image, Level, default_image, default_window, find_images, level_for
from zarrscope.view.render import NOT_A_NUMBER, ChannelDisplay, Picture, averaged, label_colors, overlay
from zarrscope.view.render import render as blend
from zarrscope_app.cli.console import Failed, say

RENDER_LIMIT = 1 << 28
"""The most values per channel that one picture reads: 16,384 x 16,384."""


def image_to_draw(node: Group | Array, url: str) -> Image:
    """The image to draw of a node; prints its warnings. Raises Failed if the node has no picture."""
    image = default_image(node)
    if image is None:
        raise Failed(f"{node.path} has no picture. Name an image or an array; zarrscope tree {url} shows them.")
    if image.levels[0].array.problem is not None:
        raise image.levels[0].array.problem
    for warning in image.warnings:
        say(f"Warning: {warning}")
    return image


class ImageDrawing:
    """Draws one picture of an image. `chosen` is the selection, in elements of the finest level; `size` is the longest
    side of the picture in pixels; if `level` is None, the level that fits `size` best is drawn."""

    def __init__(self, image: Image, chosen: tuple[Any, ...], size: int, level: int | None, labels: bool) -> None:
        self.image, self.size, self.labels = image, size, labels
        self.rows, self.columns = image.plane
        if self.rows < 0:
            raise Failed("This array has one axis only, which makes no picture. Use zarrscope read.")
        self.index = self._complete(chosen)
        self.spans = {axis: range(image.shape[axis])[self.index[axis]] for axis in image.plane}
        if not all(len(span) for span in self.spans.values()):
            raise click.UsageError("The selection leaves no pixel to draw.")
        if level is None:
            longest = max(len(span) for span in self.spans.values())
            level = level_for(image, size / longest)
        if level >= len(image.levels):
            raise click.UsageError(f"There is no level {level}; the image has {len(image.levels)}, counted from 0.")
        self.level = image.levels[level]

    def _complete(self, chosen: tuple[Any, ...]) -> list[Any]:
        """Completes the selection to one index or slice per axis: the whole of the shown axes and of the channel axis,
        the default index on the other axes."""
        image = self.image
        rank = len(image.axes)
        given = list(chosen)
        if len(given) - given.count(Ellipsis) > rank:
            raise click.UsageError(f"--select has {len(given)} parts, the image {rank} axes.")
        if Ellipsis in given:
            at = given.index(Ellipsis)
            given[at : at + 1] = [None] * (rank - len(given) + 1)
        given += [None] * (rank - len(given))
        index: list[Any] = []
        for axis, part in enumerate(given):
            name, length = image.axes[axis].name, image.shape[axis]
            if isinstance(part, int) and not -length <= part < length:
                raise click.UsageError(f"Index {part} is outside axis {name}, which has {length:,} elements.")
            if axis in image.plane:
                if isinstance(part, int):
                    raise click.UsageError(f"Axis {name} is shown: give it a range, not one index.")
                index.append(slice(None) if part is None else part)
            elif axis == image.channel_axis:
                index.append(slice(None) if part is None else part)
            elif isinstance(part, slice):
                if part != slice(None):
                    raise click.UsageError(f"Axis {name} is not shown: give it one index, not a range.")
                index.append(image.defaults[name])
            else:
                index.append(image.defaults[name] if part is None else part % length)
        return index

    def paint(self) -> Picture:
        """Reads the plane and draws it. Raises Failed if it has more pixels than RENDER_LIMIT."""
        box = [self._span(self.level, axis) for axis in self.image.plane]
        if (box[0].stop - box[0].start) * (box[1].stop - box[1].start) > RENDER_LIMIT:
            raise Failed("That plane is too large to draw at once. Crop it with --select, or take a coarser --level.")
        if self.image.is_label:
            plane = self._plane(self.level, 0)
            colors = label_colors(plane, self.image.label_colors)
            picture = overlay(np.zeros((*plane.shape, 3), np.uint8), colors, 1.0)
        else:
            picture = self._channels()
        if self.labels:
            picture = self._with_labels(picture)
        return self._fitted(picture)

    def _channels(self) -> Picture:
        axis = self.image.channel_axis
        numbers = [0]
        if axis is not None:
            part = self.index[axis]
            count = self.image.shape[axis]
            numbers = [part % count] if isinstance(part, int) else list(range(count)[part])
        if not numbers:
            raise click.UsageError("The selection leaves no channel to draw.")
        # A channel that the selection names is drawn even if the file switches it off.
        asked = axis is not None and self.index[axis] != slice(None)
        planes, displays = [], []
        for number in numbers:
            channel = self.image.channels[number]
            if not (asked or channel.active or len(numbers) == 1):
                continue
            plane = self._plane(self.level, number)
            coarsest = self.image.levels[-1]
            sample = None
            if channel.window is None:
                sample = plane if self.level is coarsest else self._plane(coarsest, number)
            low, high = default_window(channel, plane.dtype, sample)
            color = (255, 255, 255) if asked and len(numbers) == 1 else channel.color or (255, 255, 255)
            planes.append(plane)
            displays.append(ChannelDisplay(color, low, high, inverted=channel.inverted))
        if not planes:
            raise Failed("All channels are switched off in the file. Choose one with --select.")
        return blend(planes, displays, NOT_A_NUMBER)

    def _span(self, level: Level, axis: int) -> slice:
        """The slice along a shown axis of a level that covers the selection."""
        span = self.spans[axis]
        low, high = min(span[0], span[-1]), max(span[0], span[-1]) + 1
        factor = level.factors[axis]
        start = min(int(low / factor), level.shape[axis] - 1)
        return slice(start, max(start + 1, min(level.shape[axis], round(high / factor))))

    def _plane(self, level: Level, channel: int) -> NDArray[Any]:
        """The values of one channel at one level, as (rows, columns). A negative step in the selection reverses its
        axis."""
        index: list[Any] = []
        for axis, part in enumerate(self.index):
            if axis in self.image.plane:
                index.append(self._span(level, axis))
            elif axis == self.image.channel_axis:
                index.append(min(channel, level.shape[axis] - 1))
            else:
                index.append(min(int(part / level.factors[axis]), level.shape[axis] - 1))
        plane = np.asarray(level.array[tuple(index)])
        if self.columns < self.rows:
            plane = plane.T
        steps = tuple(-1 if self.spans[axis].step < 0 else 1 for axis in self.image.plane)
        return plane[:: steps[0], :: steps[1]]

    def _with_labels(self, picture: Picture) -> Picture:
        """Draws the first label image over the picture, from the level nearest in size."""
        if not self.image.labels:
            raise Failed("This image has no labels.")
        path = self.image.labels[0]
        images = find_images(self.image.node_at(path))
        if not images:
            raise Failed(f"{path} holds no label image.")
        found = images[0]
        level = min(found.levels, key=lambda v: abs(v.shape[self.rows] - self.level.shape[self.rows]))
        index: list[Any] = []
        for axis in range(len(self.index)):
            length, whole = level.shape[axis], self.image.shape[axis]
            if axis in self.image.plane:
                span = self._span(self.level, axis)
                ratio = length / self.level.shape[axis]
                index.append(slice(int(span.start * ratio), max(int(span.start * ratio) + 1, round(span.stop * ratio))))
            else:
                at = self.index[axis] if isinstance(self.index[axis], int) else 0
                index.append(min(at * length // max(1, whole), length - 1))
        plane = np.asarray(level.array[tuple(index)])
        rows = np.arange(picture.shape[0]) * plane.shape[0] // picture.shape[0]
        columns = np.arange(picture.shape[1]) * plane.shape[1] // picture.shape[1]
        return overlay(picture, label_colors(plane[rows][:, columns], found.label_colors, outline=True), 0.9)

    def _fitted(self, picture: Picture) -> Picture:
        """Shrinks the picture to at most `size` pixels per side by averaging blocks, if no level is small enough."""
        step = -(-max(picture.shape[:2]) // self.size)
        if step <= 1:
            return picture
        return averaged(picture, *(np.arange(0, length, step) for length in picture.shape[:2]))
