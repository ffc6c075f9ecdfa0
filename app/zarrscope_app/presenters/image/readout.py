"""The values under the cursor: for which pixel, which channels and which labels they are read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from psygnal import Signal

from zarrscope_app.presenters.image.planning import RequestedView, label_sources
from zarrscope_app.presenters.image.saved_view import KeepsView

if TYPE_CHECKING:
    from zarrscope.view.image import Image
    from zarrscope_app.presenters.image.probing import Prober
    from zarrscope_app.presenters.image.tile_geometry import TileSource
    from zarrscope_app.presenters.values import Probe

READOUT_CHANNELS = 8
"""If an image has at most this many channels, the readout shows all of them, otherwise only the visible ones."""


class ReadsOut(KeepsView):
    """Part of a SlicePresenter: the pixel under the cursor, or the pinned one, and its values."""

    probed: Signal
    _prober: Prober

    @property
    def probe(self) -> Probe:
        """The values under the cursor, as far as they have been read."""
        return self._prober.probe

    def hover(self, y: float, x: float) -> Probe:
        """Reads the exact values at a place of the plane (level-0 coordinates): values of cached chunks at once; the
        others follow when `probed()` is emitted. Outside the image the readout stays at the previous pixel."""
        image = self._image
        if image is None or not self._is_inside(y, x):
            return self.probe
        self._cursor = (y, x)
        return self._prober.at(image, self._index, (self._y, self._x), (y, x), *self._read_out(image))

    @property
    def blank_readout(self) -> str:
        """The line of the readout for the middle pixel while its values are awaited; "" without a plane. A host can
        have its words before the cursor moves."""
        image = self._image
        if image is None or self._y < 0:
            return ""
        channels, labels = self._read_out(image)
        names = [*(name for name, _ in channels), *(name for name, _ in labels)]
        return self._prober.blank(image, self._index, (self._y, self._x), names, bare=not labels)

    def _read_out(self, image: Image) -> tuple[tuple[tuple[str, int], ...], tuple[tuple[str, TileSource], ...]]:
        """(name, position) of the channels, and (name, source) of the label images, whose values are read."""
        few = len(self._channels) <= READOUT_CHANNELS
        channels = tuple((c.label, i) for i, c in enumerate(self._channels) if few or c.visible)
        view = RequestedView(image, tuple(self._index), self._y, self._x, self._rect, self._pixels)
        return channels, label_sources(view, self._labels)

    def leave(self) -> None:
        """When the cursor leaves the picture, the readout returns to the pinned pixel, or stays at the last one."""
        if self._pin is not None:
            self.hover(*self._pin)
            self.probed.emit()

    def pin(self, y: float, x: float, *, read: bool = True) -> None:
        """Pins this pixel: the readout returns to it when the cursor leaves the picture, and follows each index. With
        `read` False it is only marked."""
        if self._is_inside(y, x):
            self._pin = (math.floor(y) + 0.5, math.floor(x) + 0.5)
            self._refresh()
            if read:
                self.hover(y, x)
                self.probed.emit()

    def unpin(self) -> None:
        """Unpins the pixel; no pixel is read out until the cursor moves."""
        self._unpin()
        self._refresh()

    def _unpin(self) -> None:
        self._pin = self._cursor = None
        self._prober.clear()
