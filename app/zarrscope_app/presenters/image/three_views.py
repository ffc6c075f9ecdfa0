"""A picture and the two other planes through one of its points: xy, xz and yz planes with a common crosshair."""

from __future__ import annotations

import math

from zarrscope_app.presenters.image.presenter import SlicePresenter
from zarrscope_app.presenters.signals import signal


class ThreeViews:
    """`main` shows two axes of an image; `below` shows its width against the depth, `beside` its height against the
    depth.

    The crosshair is the pinned pixel of `main` and the index along the depth; hosts pass clicks to `pick`. The display
    settings of channels and labels are set in `main` only.
    """

    changed = signal()
    """Emitted when the other planes were opened or closed."""

    def __init__(self, main: SlicePresenter) -> None:
        self.main = main
        self.below, self.beside = main.companion(), main.companion()
        self.depth = ""
        """The name of the axis displayed as depth; "" while the other planes are closed."""
        self._shown: tuple[object, ...] = ()
        main.changed.connect(self._follow)

    def toggle(self) -> None:
        """Opens the two other planes if the picture has a third axis, or closes them."""
        if self.depth:
            self.close()
        else:
            self._open()

    def close(self) -> None:
        """Shows the main picture alone."""
        if self.depth:
            self.depth, self._shown = "", ()
            self.below.clear()
            self.beside.clear()
            self.changed.emit()

    def end(self) -> None:
        """Closes the other planes, and stops following the main picture."""
        self.main.changed.disconnect(self._follow)
        self.close()

    def _open(self) -> None:
        image, third = self.main.image, self.main.third_axis
        names = {axis.role: axis.name for axis in self.main.state.axes}
        if image is None or not third:
            return
        self.depth = third
        self._shown = (image, names["y"], names["x"])
        for side, y, x in ((self.below, third, names["x"]), (self.beside, names["y"], third)):
            side.set_image(image, self.main.label_images)
            side.show(y, x)
        if self.main.state.pin is None:
            self.main.pin(*self.crosshair)
        self._follow()
        self.changed.emit()

    def _follow(self) -> None:
        """Sets the indices of the other planes to those of the crosshair in the main picture."""
        if not self.depth:
            return
        names = {axis.role: axis.name for axis in self.main.state.axes}
        shown = (self.main.image, names.get("y", ""), names.get("x", ""))
        able = {axis.name for axis in self.main.state.axes if axis.role in ("slider", "projected")}
        if shown != self._shown or self.depth not in able:
            self.close()
            self._open()
            return
        y, x = self.crosshair
        numbers = {axis.name: number for number, axis in enumerate(self.main.state.axes)}
        z = self.main.index[numbers[self.depth]] + 0.5
        for side, across, at, pin in (
            (self.below, names["y"], y, (z, x)),
            (self.beside, names["x"], x, (y, z)),
        ):
            side.draw_as(self.main)
            for axis, index in enumerate(self.main.index):
                side.move(axis, math.floor(at) if axis == numbers[across] else index)
            if side.pinned != pin:
                side.pin(*pin, read=False)  # the values are those of the pixel in the main picture

    @property
    def crosshair(self) -> tuple[float, float]:
        """The position (y, x) in the main picture: the pinned pixel, or the middle of the plane if no pixel is
        pinned."""
        height, width = self.main.frame.shape
        return self.main.state.pin or (height // 2 + 0.5, width // 2 + 0.5)

    def pick(self, view: SlicePresenter, y: float, x: float) -> None:
        """Moves the crosshair to the position (y, x) in one of the three views."""
        at_y, at_x = self.crosshair
        if view is self.below:
            self.main.set_index(self.depth, math.floor(y))
            self.main.pin(at_y, x)
        elif view is self.beside:
            self.main.set_index(self.depth, math.floor(x))
            self.main.pin(y, at_x)
        else:
            self.main.pin(y, x)
