"""A view to come back to: indices, axes and display settings as JSON, and what fits of them for an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from zarrscope.view.image import Image
from zarrscope_app.presenters.image.display_settings import ChannelStyle


class Settable(Protocol):
    """What a view is restored on (presenter.py)."""

    def show(self, y_axis: str, x_axis: str) -> None: ...

    def set_index(self, axis: str, index: int) -> None: ...

    def set_visible(self, channel: int, visible: bool) -> None: ...

    def set_levels(self, channel: int, lo: float, hi: float) -> None: ...


def saved_view(
    image: Image, index: Sequence[int], plane: tuple[int, int], channels: Sequence[ChannelStyle]
) -> dict[str, Any]:
    """`plane`: the axes shown as height and width."""
    names = [axis.name for axis in image.axes]
    return {
        "index": {name: index[i] for i, name in enumerate(names) if i not in plane},
        "show": [names[axis] for axis in plane],
        "channels": [{"visible": c.visible, "lo": c.lo, "hi": c.hi, "color": c.color} for c in channels],
    }


def restore_view(picture: Settable, view: Any) -> None:
    """What fits of a view; a text from elsewhere may hold anything."""
    if not isinstance(view, dict):
        return
    axes = view.get("show")
    if isinstance(axes, list) and len(axes) == 2 and all(isinstance(a, str) for a in axes):
        picture.show(*axes)
    indices = view.get("index")
    for name, index in indices.items() if isinstance(indices, dict) else ():
        if isinstance(name, str) and isinstance(index, int):
            picture.set_index(name, index)
    channels = view.get("channels")
    for i, channel in enumerate(channels if isinstance(channels, list) else ()):
        if isinstance(channel, dict):
            if isinstance(channel.get("visible"), bool):
                picture.set_visible(i, channel["visible"])
            lo, hi = channel.get("lo"), channel.get("hi")
            if isinstance(lo, int | float) and isinstance(hi, int | float):
                picture.set_levels(i, lo, hi)


def shows_the_same(one: Image, other: Image) -> bool:
    """Whether two images show the same values along the same axes."""

    def told(image: Image) -> tuple[object, ...]:
        levels = tuple((level.path, level.shape, level.factors) for level in image.levels)
        return image.path, image.is_label, image.plane, image.channel_axis, [a.name for a in image.axes], levels

    return told(one) == told(other)
