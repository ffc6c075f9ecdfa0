"""Images: multiscale groups (OME-Zarr, see ome/metadata.py) and plain arrays, as levels from which a viewer chooses.

`find_images(node)` reads attributes only. The arrays of the levels are opened when `levels`, `axes` or `channels` are
first used, so a group of a thousand images reads nothing until one is shown. These three may wait for a store: use them
in a background job. A level whose array is missing or broken is left out and named in `warnings`.

The order of axes follows names and types, never position (spec E.9).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import zarrscope.ome.metadata as ome
from zarrscope.dialects import dialect_named
from zarrscope.dialects.defects import as_far_as_read
from zarrscope.errors import NotFound, Unsupported, ZarrscopeError
from zarrscope.jsondoc.parse import parsed_once
from zarrscope.model.frozen import frozen
from zarrscope.ome.collection import Collection, CollectionMember, collection
from zarrscope.ome.metadata import Axis, Channel, Color, Multiscale
from zarrscope.view.image_levels import Level, OpenedLevels, open_levels, open_plain

if TYPE_CHECKING:
    import numpy as np

    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group
    from zarrscope.nodes.hierarchy_like import HierarchyLike

__all__ = [
    "Axis",
    "Channel",
    "Collection",
    "CollectionMember",
    "Image",
    "Level",
    "default_image",
    "default_window",
    "find_collection",
    "find_images",
    "index_above",
    "index_at",
    "level_for",
    "members",
]

WHITE: Color = (255, 255, 255)
PALETTE: tuple[Color, ...] = (
    (88, 130, 255),
    (90, 230, 90),
    (255, 70, 150),
    (255, 210, 60),
    (60, 220, 220),
    (200, 120, 255),
    (255, 140, 60),
)
"""Colours for an image's channels that state none, if it has several. Their sum is nearly white, and any two can be
distinguished."""
RGB: tuple[Color, ...] = ((255, 0, 0), (0, 255, 0), (0, 0, 255))
ALPHA = "opacity"
"""The label of the fourth channel of a photograph."""
MAX_CHANNELS = 256
"""A longer channel axis gets a slider like any other axis, because nobody blends more channels."""


@frozen
class Image:
    """An n-D image: levels from fine to coarse, axes, channels, labels. The module's docstring says which of these
    may wait for a store."""

    name: str
    path: str
    """The path of the image's node."""
    hierarchy: HierarchyLike | None = field(compare=False, repr=False)
    """None for an array that came from a pickle."""
    multiscale: Multiscale | None = None
    """The multiscale metadata; None for a plain array."""
    plain: Array | None = field(default=None, compare=False, repr=False)

    @property
    def version(self) -> str:
        """The OME-Zarr version, "" for a plain array."""
        return self.multiscale.version if self.multiscale else ""

    @property
    def is_label(self) -> bool:
        """Whether the metadata state that the values are labels: numbers of objects, not intensities."""
        return self.multiscale is not None and self.multiscale.is_label

    @property
    def label_colors(self) -> Mapping[int, tuple[int, int, int, int]]:
        """For a label image: label value → (r, g, b, a), as far as the file states them."""
        return (self.multiscale.colors if self.multiscale else None) or {}

    @property
    def label_properties(self) -> Mapping[int, Mapping[str, Any]]:
        """For a label image: label value → the properties that the file gives for this label."""
        return (self.multiscale.properties if self.multiscale else None) or {}

    @cached_property
    def _opened(self) -> OpenedLevels:
        if self.plain is not None:
            return open_plain(self.plain)
        assert self.multiscale is not None  # an image without a plain array has a multiscale
        assert self.hierarchy is not None
        with parsed_once():  # for each missing level, the groups above it would be parsed again
            return open_levels(self.hierarchy, self.multiscale, self.path)

    def node_at(self, path: str) -> Group | Array:
        """Another node of the image's hierarchy. Raises the errors of `Hierarchy.open_node`."""
        if self.hierarchy is None:
            raise NotFound(f"The array {self.path} was opened without its hierarchy", key=path)
        node: Group | Array = self.hierarchy[path]
        return node

    @property
    def levels(self) -> tuple[Level, ...]:
        """All levels that can be opened, finest first. If none can, raises the error of the first level."""
        return self._opened[0]

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes, one per dimension of the arrays, with the units that the metadata state."""
        return self._opened[1]

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for each fault in the file's metadata."""
        return (self.multiscale.warnings if self.multiscale else ()) + self._opened[2]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the finest level, in elements."""
        return self.levels[0].shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the finest level. Raises Unsupported if numpy cannot hold it."""
        return self.levels[0].array.dtype

    @property
    def value_kind(self) -> str:
        """NumPy's letter for the kind of the values; "?" if zarrscope cannot decode their data type."""
        try:
            return str(self.dtype.kind)
        except Unsupported:
            return "?"

    @cached_property
    def channel_axis(self) -> int | None:
        """The axis whose elements are blended into one picture, or None."""
        axis = self._axis_of_channels
        return axis if axis is not None and self.shape[axis] <= MAX_CHANNELS else None

    @cached_property
    def _axis_of_channels(self) -> int | None:
        """The axis of channels, outside of the usual plane."""
        of_channels = (i for i, axis in enumerate(self.axes) if axis.type == "channel" and i not in self.plane)
        return next(of_channels, None)

    def channel_name(self, axis: int, index: int) -> str:
        """The name that the metadata state for the channel `index` of an axis whose channels are not blended; "" for
        other axes.

        Parameters
        ----------
        axis
            The number of the axis.
        index
            The channel, counted from 0.
        """
        stated = self.multiscale.channels if self.multiscale is not None else ()
        named = self.channel_axis is None and axis == self._axis_of_channels and 0 <= index < len(stated)
        return stated[index].label if named else ""

    @cached_property
    def plane(self) -> tuple[int, int]:
        """(vertical, horizontal) axes of the usual picture: y and x by name, else the last two axes in space, else the
        last two that are not channels. An array of one axis gives (-1, 0): it has no vertical axis."""
        names = [axis.name.lower() for axis in self.axes]
        if "y" in names and "x" in names:
            return names.index("y"), names.index("x")
        space = [i for i, axis in enumerate(self.axes) if axis.type == "space"]
        other = [i for i, axis in enumerate(self.axes) if axis.type != "channel"]
        for candidates in (space, other, list(range(len(names)))):
            if len(candidates) >= 2:
                return candidates[-2], candidates[-1]
        return (-1, 0) if names else (-1, -1)

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """One channel per element of the channel axis, or a single channel without such an axis. Each has a colour; its
        window (contrast limits) may be None.

        If omero gives no window, the range in an array-statistics extension is the first window (ZEP 9).
        """
        axis = self.channel_axis
        count = 1 if axis is None else self.shape[axis]
        stated = self.multiscale.channels if self.multiscale else ()
        if axis is None and self._axis_of_channels is not None:  # too many: they are stepped through, in one display
            stated = ()
        if self.multiscale is None and axis is not None and self.axes[axis].unit == "rgb":
            whole = (0.0, 255.0)
            seen = [Channel(n, c, whole, whole) for n, c in zip(("red", "green", "blue"), RGB, strict=True)]
            # An opacity channel has no colour, so it is left out when channels are added up.
            opacity = [Channel(ALPHA, WHITE, whole, whole, active=False)] * (self.shape[axis] - len(seen))
            return (*seen, *opacity)
        defaults = (WHITE,) if count == 1 else PALETTE
        declared = self._declared_range
        found = []
        for i in range(count):
            # Of many channels without display settings only some are shown: all of them added up would be white.
            label = f"channel {i}" if count > 1 else self.name or "values"
            channel = stated[i] if i < len(stated) else Channel(label, active=i < len(PALETTE))
            color = channel.color or defaults[i % len(defaults)]
            found.append(replace(channel, color=color, window=channel.window or declared))
        return tuple(found)

    @property
    def _declared_range(self) -> tuple[float, float] | None:
        try:
            low, high = self.levels[0].array.metadata.declared_range or (0.0, 0.0)
        except ZarrscopeError:  # the error is raised when the levels are needed
            return None
        return (low, high) if math.isfinite(low) and math.isfinite(high) and low < high else None

    @cached_property
    def defaults(self) -> Mapping[str, int]:
        """Axis name → the index to show first. If the file names none: the middle for z, and 0 for other axes."""
        stated = dict((self.multiscale.defaults if self.multiscale else None) or {})
        start = {}
        for i, axis in enumerate(self.axes):
            if i in self.plane or i == self.channel_axis:
                continue
            length = self.shape[i]
            middle = length // 2 if axis.type == "space" else 0
            start[axis.name] = min(stated.get(axis.name.lower(), middle), max(0, length - 1))
        return start

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The paths of the label images that belong to this image (spec E.4). May wait for the store."""
        if self.multiscale is None or self.is_label:
            return ()
        place = self.path.rstrip("/") + "/labels"
        try:
            group = self.node_at(place)
        except ZarrscopeError:
            return ()
        return ome.label_paths(as_far_as_read(group.attributes), place) if group.kind == "group" else ()

    def physical(self, axis: int, index: float) -> float:
        """The physical position of an index of the finest level along an axis, in the axis' unit."""
        at = self.levels[0]
        return at.scale[axis] * index + at.translation[axis]


def find_images(node: Group | Array) -> list[Image]:
    """The images that a group's own attributes describe, one per multiscale; for a plain array, one image with one
    level.

    Empty for any other group, and for an array that cannot be shown as a picture (for an array that cannot be decoded
    it gives an image with an unknown `dtype`; see `Image.levels`). Reads nothing.
    """
    if node.kind == "array":
        return [Image(node.name, node.path, node.hierarchy, None, node)] if node.ndim else []
    found = ome.multiscales(as_far_as_read(node.attributes), node.path, dialect_named(node.metadata.dialect).ome_zarr)
    return [Image(m.name, node.path, node.hierarchy, m) for m in found]


def find_collection(group: Group | Array) -> Collection | None:
    """The plate, well, series (bioformats2raw) or labels that a group's attributes describe. May read its OME group."""
    if group.kind != "group":
        return None
    attributes = as_far_as_read(group.attributes)
    found = collection(attributes, group.path)
    if found is None or found.kind != "series":
        return found
    try:
        series = group.hierarchy[group.path.rstrip("/") + "/OME"]
    except ZarrscopeError:
        return found
    return collection(attributes, group.path, as_far_as_read(series.attributes))


def members(group: Group, found: Collection) -> Iterator[CollectionMember]:
    """Yields the members of a collection in order. If no list is stored, the members are the groups "0", "1", …, looked
    up one by one until the first missing number (spec E.6)."""
    if found.members is not None:
        yield from found.members
        return
    for i in itertools.count():
        path = f"{found.path.rstrip('/')}/{i}"
        try:
            group.hierarchy[path]
        except NotFound:
            return
        yield CollectionMember(path, str(i))


def default_image(node: Group | Array, depth: int = 3) -> Image | None:
    """The image to show for a node: its own, or the first one of its collection (plate → well → field)."""
    if images := find_images(node):
        return images[0]
    if node.kind != "group" or not depth or (found := find_collection(node)) is None:
        return None
    for member in itertools.islice(members(node, found), 8):
        try:
            image = default_image(node.hierarchy[member.path], depth - 1)
        except ZarrscopeError:
            continue
        if image is not None:
            return image
    return None


def level_for(image: Image, pixels_per_index: float | Sequence[float], axes: Sequence[int] | None = None) -> int:
    """The coarsest level that still has an element for every screen pixel, along every shown axis.

    `pixels_per_index`: screen pixels per index of the finest level, one number or one per shown axis. `axes` are the
    shown ones (default: image.plane). Of levels that differ only along other axes the finest is chosen, because moving
    along z should not skip planes when x and y are zoomed out.
    """
    shown = [axis for axis in (image.plane if axes is None else axes) if axis >= 0]
    zooms = [pixels_per_index] * len(shown) if isinstance(pixels_per_index, int | float) else list(pixels_per_index)
    allowed = [1.1 / zoom if zoom > 0 else float("inf") for zoom in zooms]
    best, coarseness = 0, 1.0
    for i, level in enumerate(image.levels):
        factors = [level.factors[axis] for axis in shown]
        if any(f > max(limit, 1.0) for f, limit in zip(factors, allowed, strict=True)):
            continue
        product = math.prod(factors)
        if product > coarseness * 1.01:
            best, coarseness = i, product
    return best


def index_at(image: Image, level: int, index: tuple[int, ...]) -> tuple[int, ...]:
    """Indices of the finest level, converted to the indices of `level` that contain the same position."""
    at = image.levels[level]
    return tuple(
        min(max(0, int((i + 0.5) / f)), max(0, n - 1)) if f != 1.0 else min(i, max(0, n - 1))
        for i, f, n in zip(index, at.factors, at.shape, strict=True)
    )


def index_above(image: Image, level: int, index: tuple[int, ...]) -> tuple[int, ...]:
    """Indices of `level`, converted to the indices of the finest level in the middle of the same element."""
    return tuple(
        min(max(0, int((i + 0.5) * f - 1e-6)), max(0, n - 1)) if f != 1.0 else min(i, max(0, n - 1))
        for i, f, n in zip(index, image.levels[level].factors, image.shape, strict=True)
    )


def default_window(
    channel: Channel | None, dtype: np.dtype[Any], sample: np.ndarray[Any, Any] | None
) -> tuple[float, float]:
    """The first contrast limits (low, high) of a channel: from the file, else from `sample` (a plane of the coarsest
    level), else the whole range of 8-bit and boolean types, else (0, 1)."""
    if channel is not None and channel.window is not None:
        return channel.window
    if dtype.kind == "b":
        return 0.0, 1.0
    if sample is not None and sample.size:
        from zarrscope.view.render import auto_levels

        return auto_levels(sample)
    if dtype.kind in "iu" and dtype.itemsize == 1:
        return (0.0, 255.0) if dtype.kind == "u" else (-128.0, 127.0)
    return 0.0, 1.0
