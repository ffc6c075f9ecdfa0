"""A saved view: indices, axes and display settings as JSON, and restoring those that fit an image.

    {"index": {"t": 0, "z": 31}, "show": ["y", "x"], "level": 2, "rect": [0, 0, 512, 512], "crosshair": [100.5, 80.5],
     "channels": [{"visible": true, "lo": 110, "hi": 1900, "color": [0, 0, 255], "gamma": 1, "inverted": false}],
     "labels": [{"path": "/labels/cells", "visible": true, "opacity": 0.5}]}

A channel may have a "colormap" (a title of colormaps.py) and, for complex values, the "part" that is drawn. A view of a
projection has "projection": {"axis": "z", "method": "max", "range": [0, 63]}, with the first and the last index. Every
member may be left out, and then stays as it is; null resets "level", "crosshair" and "projection". solid_and_blend.py
describes two more members. "level" is the level that a person chose; "rect" is the displayed part of the plane if it is
not the whole plane; "crosshair" is the position (y, x) of the readout. "rect" and "crosshair" are in indices of the
finest level.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from zarrscope.view.image import Image
from zarrscope_app.presenters.image.display_settings import ChannelStyle, LabelStyle
from zarrscope_app.presenters.image.projection import Projection
from zarrscope_app.presenters.image.solid_and_blend import SolidAndBlend
from zarrscope_app.presenters.image.view_models import Rect
from zarrscope_app.presenters.strings import clean, count, counted

MOST_NAMED = 3
"""The most settings that do not fit and are named in one sentence."""


class Stylable(Protocol):
    """The interface through which a saved view sets colours, contrast and visibility."""

    def set_visible(self, channel: int, visible: bool) -> None:
        """Shows or hides a channel."""

    def state_levels(self, channel: int, lo: float, hi: float) -> None:
        """Sets contrast limits that a person or a file has stated; they are not rounded."""

    def set_color(self, channel: int, color: tuple[int, int, int]) -> None:
        """Sets the colour of a channel: red, green, blue, 0 to 255."""

    def set_colormap(self, channel: int, title: str) -> None:
        """Sets a colour map by its title, in place of the channel's colour; "" restores the colour."""

    def set_part(self, part: str) -> None:
        """Sets the part of complex values to draw: "magnitude", "phase", "real" or "imaginary"."""

    def set_gamma(self, channel: int, gamma: float) -> None:
        """Sets the gamma of a channel, 0.01 to 100."""

    def set_inverted(self, channel: int, inverted: bool) -> None:
        """Sets whether a channel is drawn from bright to dark."""

    def set_label(self, path: str, visible: bool, opacity: float | None = None) -> None:
        """Shows or hides a label image by its path; `opacity`, 0 to 1, None to keep it."""

    def set_outline(self, path: str, outline: bool) -> None:
        """Sets whether only the edges of labels are drawn."""

    def choose_label(self, path: str, chosen: int | None) -> None:
        """Draws only the label `chosen`; None: all labels."""


class Settable(Stylable, Protocol):
    """The interface through which a saved view is restored (presenter.py implements it)."""

    solid_and_blend: SolidAndBlend

    @property
    def image(self) -> Image | None:
        """The displayed image; None if there is none."""

    def show(self, y_axis: str, x_axis: str) -> None:
        """Displays two axes, by name, as height and width."""

    def set_index(self, axis: str, index: int) -> None:
        """Sets the index of an axis, by name; it is clipped to the axis."""

    def project(self, method: str) -> None:
        """Shows a projection along the current axis; "" shows a plane."""

    def project_along(self, axis: str, method: str, ends: tuple[int, int] | None) -> bool:
        """Shows a projection along an axis, by name; returns False if there is none."""

    def lock_level(self, level: int | None) -> None:
        """Sets the level to show; None shows the level that fits the zoom."""

    def look_at(self, rect: Rect) -> None:
        """Shows a rectangle of the plane, in indices of level 0."""

    def pin(self, y: float, x: float) -> object:
        """Pins the readout to a position of the plane, in indices of level 0."""

    def unpin(self) -> None:
        """Unpins the readout."""


class KeepsView(ABC):
    """Part of a slice presenter: returns the displayed view, and restores one."""

    _image: Image | None
    _index: list[int]
    _y: int
    _x: int
    _channels: list[ChannelStyle]
    _labels: list[LabelStyle]
    _lock: int | None
    _rect: Rect
    _pixels: tuple[int, int]
    _cursor: tuple[float, float] | None
    _pin: tuple[float, float] | None
    _sentence: str
    _projection: Projection | None
    _asked_rect: Rect | None = None
    solid_and_blend: SolidAndBlend

    @abstractmethod
    def _refresh(self) -> None:
        """Publishes a new state."""

    def view(self) -> dict[str, Any]:
        """Indices, axes, level and display settings, in the form described at the top of saved_view.py."""
        if self._image is None or self._y < 0:
            return {}
        plane, rect = (self._y, self._x), self._rect if self._pixels[0] else None
        cursor = self._pin or self._cursor
        saved = saved_view(self._image, self._index, plane, self._channels, self._labels, self._lock, rect, cursor)
        if self._projection is not None:
            saved["projection"] = projection_view(self._image, self._projection)
        return {**saved, **self.solid_and_blend.members}

    def asked_view(self) -> dict[str, Any]:
        """The view, with the part of the plane that `take_rect` returns, for a host that shows the plane by itself."""
        rect = self.take_rect()
        return {**self.view(), "rect": list(rect)} if rect is not None else self.view()

    def restore(self: Settable, view: object) -> tuple[str, ...]:
        """Restores the parts of a `view` that fit the image. A view may come from pasted text, so its values may be of
        any type. Returns sentences about the parts that do not fit."""
        return restore_view(self, view)

    @property
    def pinned(self) -> tuple[float, float] | None:
        """The middle of the pinned pixel, (y, x); None if no pixel is pinned."""
        return self._pin

    def _is_inside(self, y: float, x: float) -> bool:
        """Whether a position lies in the displayed plane."""
        image, shown = self._image, self._y >= 0 and not self._sentence
        return image is not None and shown and 0 <= y < image.shape[self._y] and 0 <= x < image.shape[self._x]

    @property
    def visible_rect(self) -> Rect:
        """The displayed part of the plane."""
        return self._rect

    @property
    def painted_pixels(self) -> tuple[int, int]:
        """(height, width) of the displayed picture."""
        return self._pixels

    def look_at(self, rect: Rect) -> None:
        """Asks the host to show this part of the plane."""
        self._asked_rect = rect
        self._refresh()

    def take_rect(self) -> Rect | None:
        """The part of the plane that the host is asked to show; None if there is no request. Each request is returned
        once."""
        rect, self._asked_rect = self._asked_rect, None
        return rect


def whole_view(view: object) -> object:
    """A view that resets what it does not have, if it is one that a host told: pasted over another view of the same
    image, it shows the same as in a new window. A shorter view, as scripts write it, is returned unchanged."""
    if isinstance(view, dict) and {"index", "show", "channels"} <= view.keys():
        return {"level": None, "crosshair": None, "projection": None, **view}
    return view


def saved_view(
    image: Image,
    index: Sequence[int],
    plane: tuple[int, int],
    channels: Sequence[ChannelStyle],
    labels: Sequence[LabelStyle] = (),
    level: int | None = None,
    rect: Rect | None = None,
    cursor: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """The view of a picture, as JSON. `plane`: the axes shown as height and width. `level`: the level that the person
    chose."""
    names = [axis.name for axis in image.axes]
    view: dict[str, Any] = {
        "index": {name: index[i] for i, name in enumerate(names) if i not in plane},
        "show": [names[axis] for axis in plane],
        "channels": [channel_view(channel) for channel in channels],
    }
    if labels:
        view["labels"] = [label_view(label) for label in labels if label.image is not None]
    if level is not None:
        view["level"] = level
    height, width = (image.shape[axis] for axis in plane)
    if rect is not None and (seen := part_of_plane(rect, height, width)) is not None:
        view["rect"] = list(seen)
    if cursor is not None and 0 <= cursor[0] < height and 0 <= cursor[1] < width:
        view["crosshair"] = [round(place, 3) for place in cursor]
    return view


def part_of_plane(rect: Rect, height: int, width: int) -> Rect | None:
    """The part of a plane that lies in a rectangle, in indices; None if that is the whole plane, or nothing."""
    top, left, bottom, right = (
        max(0.0, rect[0]),
        max(0.0, rect[1]),
        min(float(height), rect[2]),
        min(float(width), rect[3]),
    )
    if (top, left, bottom, right) == (0.0, 0.0, height, width) or top >= bottom or left >= right:
        return None
    return round(top, 3), round(left, 3), round(bottom, 3), round(right, 3)


def asked_part(view: Mapping[str, Any]) -> Rect | None:
    """The part of the plane that a view shows; None if it names none. A view may come from pasted text."""
    rect = _numbers(view.get("rect"), 4)
    return (
        (rect[0], rect[1], rect[2], rect[3]) if rect is not None and rect[0] < rect[2] and rect[1] < rect[3] else None
    )


def projection_view(image: Image, projection: Projection) -> dict[str, Any]:
    """A projection: its axis, its method, and the first and the last index."""
    ends = [projection.start, projection.stop - 1]
    return {"axis": image.axes[projection.axis].name, "method": projection.method, "range": ends}


def channel_view(channel: ChannelStyle) -> dict[str, Any]:
    """The display settings of a channel. Limits that are not known yet are None."""
    view: dict[str, Any] = {
        "visible": channel.visible,
        "lo": channel.lo,
        "hi": channel.hi,
        "color": list(channel.color),
        "gamma": channel.gamma,
        "inverted": channel.inverted,
    }
    if channel.colormap or (channel.parts and channel.part == "phase"):
        view["colormap"] = channel.colormap  # a phase without a stated map gets a cyclic one
    if channel.parts:
        view["part"] = channel.part
    return view


def label_view(label: LabelStyle) -> dict[str, Any]:
    """The display settings of a label image."""
    view: dict[str, Any] = {"path": label.path, "visible": label.visible, "opacity": label.opacity}
    if label.outline:
        view["outline"] = True
    if label.chosen is not None:
        view["chosen"] = label.chosen
    return view


def restore_view(picture: Settable, view: object) -> tuple[str, ...]:
    """Restores the parts of a view that fit the image. A view may come from pasted text, so its values may be of any
    type. Returns sentences about the parts that do not fit."""
    image = picture.image
    if not isinstance(view, dict) or image is None:
        return ()
    misfits = [*_restore_place(picture, image, view), *_restore_projection(picture, image, view)]
    misfits += _restore_level(picture, image, view.get("level", False))
    misfits += restore_channels(picture, len(image.channels), view.get("channels"))
    restore_labels(picture, view.get("labels"))
    misfits += picture.solid_and_blend.restore(view)
    part, crosshair = asked_part(view), _numbers(view.get("crosshair"), 2)
    if part is not None:
        picture.look_at(part)
    if crosshair is not None:
        picture.pin(crosshair[0], crosshair[1])
    elif view.get("crosshair", False) is None:
        picture.unpin()
    more = len(misfits) - MOST_NAMED
    return (*misfits[:MOST_NAMED], *([f"… and {counted(more, 'more part')} of the view."] if more > 0 else []))


def _restore_place(picture: Settable, image: Image, view: Mapping[str, Any]) -> Iterator[str]:
    lengths = {axis.name: image.shape[i] for i, axis in enumerate(image.axes)}
    axes = view.get("show")
    if isinstance(axes, list) and len(axes) == 2 and all(isinstance(a, str) for a in axes):
        missing = next((name for name in axes if name not in lengths), None)
        if any(name == image.axes[at].name for name in axes if (at := image.channel_axis) is not None):
            yield channels_are_blended(image)
        elif missing is None:
            picture.show(*axes)
        else:
            yield f"The view shows the axis {clean(missing, 40)}, which this image does not have."
    indices = view.get("index")
    for name, index in indices.items() if isinstance(indices, dict) else ():
        if not isinstance(index, int) or isinstance(index, bool):
            continue
        if name not in lengths:
            yield f"The view has an index of the axis {clean(name, 40)}, which this image does not have."
            continue
        if not 0 <= index < lengths[name]:
            asked = count(index) if abs(index) < 10**12 else "a number beyond all arrays"
            yield f"The view asks for {clean(name, 40)} {asked}; the last one here is {count(lengths[name] - 1)}."
        picture.set_index(name, index)


def channels_are_blended(image: Image) -> str:
    """The reason why the axis of channels cannot be height or width."""
    assert image.channel_axis is not None
    name = clean(image.axes[image.channel_axis].name, 40)
    return f"The axis {name} holds channels, which are blended; it cannot be the height or width of a picture."


def _restore_projection(picture: Settable, image: Image, view: Mapping[str, Any]) -> Iterator[str]:
    told = view.get("projection", False)
    if told is None:
        picture.project("")
    if not isinstance(told, Mapping):
        return
    axis, method = told.get("axis"), told.get("method")
    lengths = {one.name: image.shape[i] for i, one in enumerate(image.axes)}
    known = isinstance(axis, str) and axis in lengths and isinstance(method, str)
    if not known or not picture.project_along(str(axis), str(method), _ends(told.get("range"), lengths[str(axis)])):
        yield f"The view shows a projection along {clean(str(axis), 40)}, which cannot be made of this image."


def _ends(told: object, length: int) -> tuple[int, int] | None:
    """The range of a projection (start, stop), from its first and last index; None for the whole axis."""
    if not isinstance(told, list) or len(told) != 2 or not all(type(end) is int for end in told):
        return None
    start, stop = max(0, told[0]), min(told[1] + 1, length)
    return (start, stop) if start < stop else None


def _restore_level(picture: Settable, image: Image, level: object) -> Iterator[str]:
    if isinstance(level, int) and not isinstance(level, bool):
        if not 0 <= level < len(image.levels):
            yield f"The view asks for a level that is not here: the image has {counted(len(image.levels), 'level')}."
        else:
            picture.lock_level(level)
    elif level is None:
        picture.lock_level(None)


def restore_channels(picture: Stylable, there: int, channels: object) -> list[str]:
    """Sets colours, contrast and visibility of channels. `there`: the number of channels of the image. Returns
    sentences about the settings that do not fit."""
    if not isinstance(channels, list):
        return []
    misfits = []
    if len(channels) > there:
        misfits.append(f"The view has {counted(len(channels), 'channel')}; the image has {count(there)}.")
    for i, channel in enumerate(channels[:there]):
        if not isinstance(channel, dict):
            continue
        if isinstance(channel.get("visible"), bool):
            picture.set_visible(i, channel["visible"])
        if isinstance(channel.get("part"), str):
            picture.set_part(channel["part"])  # set first, because each part has its own limits
        limits, gamma = _numbers([channel.get("lo"), channel.get("hi")], 2), _numbers([channel.get("gamma")], 1)
        if limits is not None:
            picture.state_levels(i, *limits)
        if gamma is not None:
            picture.set_gamma(i, *gamma)
        color = channel.get("color")
        if isinstance(color, list) and len(color) == 3 and all(type(c) is int and 0 <= c <= 255 for c in color):
            picture.set_color(i, (color[0], color[1], color[2]))
        if isinstance(channel.get("colormap"), str):
            picture.set_colormap(i, channel["colormap"])
        if isinstance(channel.get("inverted"), bool):
            picture.set_inverted(i, channel["inverted"])
    return misfits


def restore_labels(picture: Stylable, labels: object) -> None:
    """Restores the label images over the picture, as far as they have been read."""
    for label in labels if isinstance(labels, list) else ():
        if isinstance(label, dict) and isinstance(label.get("path"), str) and isinstance(label.get("visible"), bool):
            opacity = _numbers([label.get("opacity")], 1)
            picture.set_label(label["path"], label["visible"], opacity[0] if opacity is not None else None)
            if isinstance(label.get("outline"), bool):
                picture.set_outline(label["path"], label["outline"])
            if type(chosen := label.get("chosen")) is int and abs(chosen) < 1 << 63:
                picture.choose_label(label["path"], chosen)


class Styles:
    """Display settings of channels and labels without a picture, for viewers that draw by themselves."""

    def __init__(self, channels: list[ChannelStyle], labels: Sequence[LabelStyle] = ()) -> None:
        self.channels = channels
        self.chosen: dict[str, LabelStyle] = {}
        self._labels = labels

    def set_visible(self, channel: int, visible: bool) -> None:
        """Sets whether a channel is drawn. Raises IndexError for a channel that the image lacks."""
        self.channels[channel].visible = visible

    def state_levels(self, channel: int, lo: float, hi: float) -> None:
        """Sets contrast limits that a person or a file has stated; they are not rounded."""
        self.channels[channel].limit(lo, hi, stated=True)

    def set_color(self, channel: int, color: tuple[int, int, int]) -> None:
        """Sets the colour of a channel: red, green, blue, 0 to 255."""
        self.channels[channel].color = color

    def set_colormap(self, channel: int, title: str) -> None:
        """Sets the title of a colour map; whether it exists is not checked."""
        self.channels[channel].colormap = title

    def set_part(self, part: str) -> None:
        """Sets the part of complex values to draw, for the channels that have it."""
        for style in self.channels:
            style.part = part if part in style.parts else style.part

    def set_gamma(self, channel: int, gamma: float) -> None:
        """Sets the gamma of a channel, clipped to 0.01 … 100."""
        self.channels[channel].gamma = max(0.01, min(100.0, gamma))

    def set_inverted(self, channel: int, inverted: bool) -> None:
        """Sets whether a channel is drawn from bright to dark."""
        self.channels[channel].inverted = inverted

    def set_label(self, path: str, visible: bool, opacity: float | None = None) -> None:
        """Sets whether a label image is drawn, and its opacity, clipped to 0 … 1; None keeps it."""
        for label in self._labels:
            if label.path == path:
                label.visible = visible
                label.opacity = label.opacity if opacity is None else max(0.0, min(1.0, opacity))
                self.chosen[path] = label

    def set_outline(self, path: str, outline: bool) -> None:
        """Does nothing: viewers that draw by themselves have a setting of their own for outlines."""

    def choose_label(self, path: str, chosen: int | None) -> None:
        """Does nothing, for the same reason as `set_outline`."""


def _numbers(values: object, many: int) -> list[float] | None:
    """A list of exactly `many` finite numbers; None for anything else."""
    if not isinstance(values, list) or len(values) != many:
        return None
    try:
        found = [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    except OverflowError:
        return None
    return found if len(found) == many and all(map(math.isfinite, found)) else None


def shows_the_same(one: Image, other: Image) -> bool:
    """Whether two images show the same values along the same axes."""

    def compared(image: Image) -> tuple[object, ...]:
        levels = tuple((level.path, level.shape, level.factors) for level in image.levels)
        return image.path, image.is_label, image.plane, image.channel_axis, [a.name for a in image.axes], levels

    return compared(one) == compared(other)
