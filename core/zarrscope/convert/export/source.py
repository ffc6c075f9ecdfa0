"""The values to export: an array, or a level of an image, cut by a selection; with axes, pixel sizes and channels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zarrscope.chunkio.source import CountOfChunks
from zarrscope.errors import Refused
from zarrscope.errors.visible import counted
from zarrscope.model.selection import select
from zarrscope.nodes.internals import stored_array
from zarrscope.runtime.tuning import EXPORTED_BYTES
from zarrscope.view.image import Axis, Channel, Image, Level, default_image

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group


@dataclass(frozen=True)
class ExportedAxis:
    """The selection on one axis: `count` elements from `start` in steps of `step`. `kept`: the result has the axis."""

    start: int
    step: int
    count: int
    kept: bool = True

    def slice(self, low: int, high: int) -> slice:
        """The slice of the array that gives the selected elements number `low` to `high`."""
        return slice(self.start + low * self.step, self.start + (high - 1) * self.step + 1, self.step)


@dataclass(frozen=True)
class ExportSource:
    """Values to export. `axes`, `scale` and `translation` have one item per axis of the result, in the axes' units."""

    array: Array
    parts: tuple[ExportedAxis, ...]
    axes: tuple[Axis, ...]
    scale: tuple[float, ...]
    translation: tuple[float, ...]
    channels: tuple[Channel, ...]
    """The names of the selected channels; () if the image has no channel axis, or the file names none."""
    name: str
    path: str
    node: Group | Array
    whole: bool
    """Whether all elements are selected: of an array, or of the finest level of an image."""

    @classmethod
    def of(cls, node: Group | Array, level: int = 0, selection: Sequence[Any] = ()) -> ExportSource:
        """The values of a node. `selection` holds integers, slices and `...`, as in numpy, in elements of the finest
        level.

        Raises Refused for a group without an image and for a selection that does not fit or has negative steps, and the
        errors of opening.
        """
        image = default_image(node)
        if image is None:
            if node.kind == "group":
                raise Refused(f"{node.path} holds no values", key=node.path, advice="Name an image, or an array.")
            found = _of_array(node)
        else:
            if not 0 <= level < len(image.levels):
                raise Refused(f"There is no level {level}: the image has {len(image.levels)}, counted from 0")
            found = _of_level(node, image, image.levels[level])
        if found.array.problem is not None:
            raise found.array.problem
        return found._cut(_complete(selection, len(found.parts)), image.levels[level] if image is not None else None)

    def _cut(self, chosen: Sequence[Any], level: Level | None) -> ExportSource:
        parts = tuple(
            _part(item, length, factor, axis.name)
            for item, length, factor, axis in zip(
                chosen, self.array.shape, level.factors if level else [1.0] * self.array.ndim, self.axes, strict=True
            )
        )
        kept = [i for i, part in enumerate(parts) if part.kept]
        channels = self.channels
        at = next((i for i, axis in enumerate(self.axes) if axis.type == "channel"), None)
        if at is not None and channels:
            part = parts[at]
            channels = tuple(channels[part.start + n * part.step] for n in range(part.count))
        return replace(
            self,
            parts=parts,
            axes=tuple(self.axes[i] for i in kept),
            scale=tuple(self.scale[i] * (parts[i].step if i != at else 1) for i in kept),
            translation=tuple(self.translation[i] + (parts[i].start * self.scale[i] if i != at else 0.0) for i in kept),
            channels=channels,
            whole=all(part.count == n for part, n in zip(parts, self.array.shape, strict=True)) and self.whole,
        )

    # ------------------------------------------------------------------ values
    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the exported values; axes at which one index was chosen are left out."""
        return tuple(part.count for part in self.parts if part.kept)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values in the array."""
        return self.array.dtype

    @property
    def nbytes(self) -> int:
        """The decoded size of all values, in bytes."""
        return prod(self.shape) * self.dtype.itemsize

    def read(self, region: Sequence[tuple[int, int]], counted: CountOfChunks | None = None) -> NDArray[Any]:
        """Reads the elements `low` to `high` along each kept axis. `counted` is called with the number of chunks that
        are not stored, and of all chunks that were read."""
        spans = iter(region)
        index = tuple(part.slice(*next(spans)) if part.kept else part.start for part in self.parts)
        if counted is None:
            return np.asarray(self.array[index])
        selection = select(index, self.array.shape)
        return stored_array(self.array).read(selection, counted).reshape(selection.shape)

    def blocks(self) -> Iterator[tuple[tuple[int, int], ...]]:
        """The regions to read one after the other, in C order: at most about 32 MiB each, whole chunks if possible."""
        shape = self.shape
        if not all(shape):
            return
        sides = list(shape)
        chunks = [
            max(1, width // part.step)
            for part, width in zip(self.parts, self.array.metadata.grid.chunk_shape, strict=True)
            if part.kept
        ]
        itemsize = max(1, self.dtype.itemsize)
        for axis in range(len(shape)):  # cut the first axes first, so that blocks follow one another in the file
            if prod(sides) * itemsize <= EXPORTED_BYTES:
                break
            rest = prod(sides) // sides[axis] * itemsize
            fit = max(1, EXPORTED_BYTES // max(1, rest))
            sides[axis] = min(sides[axis], max(fit // chunks[axis] * chunks[axis], min(fit, chunks[axis]), 1))
        starts = (range(0, length, side) for length, side in zip(shape, sides, strict=True))
        for corner in product(*starts):
            yield tuple((low, min(low + side, length)) for low, side, length in zip(corner, sides, shape, strict=True))


def _of_array(array: Array) -> ExportSource:
    names = array.dimension_names or [None] * array.ndim
    axes = tuple(Axis(name or f"axis_{i}", "") for i, name in enumerate(names))
    whole = tuple(ExportedAxis(0, 1, n) for n in array.shape)
    ones = (1.0,) * array.ndim
    return ExportSource(
        array, whole, axes, ones, (0.0,) * array.ndim, (), array.name or "array", array.path, array, True
    )


def _of_level(node: Group | Array, image: Image, level: Level) -> ExportSource:
    stated = image.multiscale is not None and bool(image.multiscale.channels)
    return ExportSource(
        level.array,
        tuple(ExportedAxis(0, 1, n) for n in level.shape),
        tuple(image.axes),
        tuple(level.scale),
        tuple(level.translation),
        tuple(image.channels) if image.channel_axis is not None and stated else (),
        image.name.strip("/").rpartition("/")[2] or "image",
        level.path,
        node,
        level is image.levels[0],
    )


def _complete(selection: Sequence[Any], rank: int) -> list[Any]:
    """A selection with one item for each axis."""
    given = list(selection) or [Ellipsis]
    if len(given) - given.count(Ellipsis) > rank:
        raise Refused(f"The selection has {counted(len(given), 'part')}, the array {counted(rank, 'axis', 'axes')}")
    if Ellipsis in given:
        at = given.index(Ellipsis)
        given[at : at + 1] = [slice(None)] * (rank - len(given) + 1)
    return given + [slice(None)] * (rank - len(given))


def _part(item: object, length: int, factor: float, axis: str) -> ExportedAxis:
    """Converts an index or slice of the finest level to a level whose elements span `factor` of the finest elements."""
    if isinstance(item, int | np.integer):
        whole = max(1, round(length * factor))
        if not -whole <= item < whole:
            raise Refused(f"Index {item} is outside axis {axis}, which has {whole:,} elements")
        return ExportedAxis(min(int(item % whole / factor), length - 1), 1, 1, kept=False)
    if not isinstance(item, slice):
        raise Refused(f"Axis {axis} takes an index or a range")
    start, stop, step = item.indices(max(1, round(length * factor)) if length else 0)
    if step < 1:
        raise Refused(f"The range of axis {axis} runs backwards")
    low = min(int(start / factor), length)
    high = min(length, max(low + (stop > start), round(stop / factor)))
    return ExportedAxis(low, step, max(0, -(-(high - low) // step)))
