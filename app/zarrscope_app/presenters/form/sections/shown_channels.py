"""The channels as the picture shows them, for images whose metadata lack a channel: OME-Zarr requires that the metadata
state all channels or none, so an edit of one channel adds the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zarrscope.errors import ZarrscopeError
from zarrscope.model.frozen import frozen
from zarrscope.ome.edits import new_window
from zarrscope.ome.metadata import Channel, block
from zarrscope.view.image import Image
from zarrscope_app.presenters.form import words


@frozen
class ReadChannels:
    """The channels with the windows that were measured from the values of the level number `level`. If the values could
    not be read, the channels have no windows, and `problem` is the reason."""

    channels: tuple[Channel, ...] = ()
    level: int = 0
    problem: str = ""
    limits: tuple[float, float] | None = None


class ShownChannels:
    """The channels of an image, measured when they are first needed."""

    def __init__(self, image: Image, limits: tuple[float, float] | None) -> None:
        self._image, self._limits = image, limits
        self.known: ReadChannels | None = None
        """The channels as they were read; None before that."""

    def read(self) -> ReadChannels:
        """The channels. Waits for the store when it is first called. If the values could not be read, they are tried
        again when the node is shown again: an edit asks several times, and should not wait each time."""
        known = self.known
        if known is None:
            self.known = known = self._measure()
        return known

    def _measure(self) -> ReadChannels:
        from zarrscope.view.measured import measured_channels

        try:
            return ReadChannels(measured_channels(self._image), len(self._image.levels) - 1, "", self._limits)
        except (ZarrscopeError, TypeError, ValueError) as error:
            reason = error.message if isinstance(error, ZarrscopeError) else str(error)
        try:
            channels = self._image.channels  # their colours need no values
        except ZarrscopeError:
            channels = ()
        return ReadChannels(channels, 0, reason, self._limits)


def listed_channels(attributes: object) -> Sequence[Any]:
    """The channels that the attributes state; an item that is not an object states none."""
    if not isinstance(attributes, Mapping):
        return ()
    omero = block(attributes)[0].get("omero")
    stated = omero.get("channels") if isinstance(omero, Mapping) else None
    return stated if isinstance(stated, list) else ()


def added_windows(before: object, after: object, read: ReadChannels | None) -> str:
    """The sentence about the windows that an edit added to the attributes as they were read: "Window of 2 channels from
    the values of level 4."; "" if there are none."""
    if read is None:
        return ""
    had = listed_channels(before)
    added = [
        held
        for i, held in enumerate(listed_channels(after))
        if isinstance(held, Mapping)
        and not (i < len(had) and isinstance(had[i], Mapping) and had[i].get("window") is not None)
        and held.get("window") == new_window(read.channels[i] if i < len(read.channels) else Channel(""), read.limits)
    ]
    return words.windows_added(len(added), read.level, read.problem) if added else ""
