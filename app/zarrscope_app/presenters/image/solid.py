"""The picture in three dimensions: the maximum along a line of sight that a person turns, at a level that is quick to
draw.

The presenter belongs to a `SlicePresenter`, and follows its channels, contrast and indices. The level is the finest one
with few enough voxels. For better rendering use napari.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from zarrscope.model.frozen import frozen
from zarrscope.runtime.threads import JobResult, Ticket
from zarrscope.view.image import Image, index_at
from zarrscope.view.render import NOT_A_NUMBER, as_numbers, auto_levels, render
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.image import words
from zarrscope_app.presenters.image.display_settings import ChannelStyle
from zarrscope_app.presenters.image.oblique import Volume, radius, shear, view_transform, warp
from zarrscope_app.presenters.image.painting import GREY
from zarrscope_app.presenters.image.presenter import SlicePresenter
from zarrscope_app.presenters.image.solid_and_blend import FARTHEST, NEAREST, solid_member
from zarrscope_app.presenters.signals import signal

MAX_VOXELS = 1 << 23
"""The most voxels of all channels together; turning this many takes a few hundredths of a second."""
MAX_READ = 512 << 20
"""The most bytes of a level that is read; if the coarsest level is larger, no volume is shown."""
KINDS = "buifc"
STEP = 10.0
"""Degrees per press of an arrow key."""
FRONT = (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class SolidView:
    """The picture in three dimensions. `open`: whether it is displayed in place of the plane. `rgb`: the picture (h, w,
    3); if it is None, `sentence` gives the reason."""

    open: bool = False
    rgb: npt.NDArray[np.uint8] | None = None
    azimuth: float = 0.0
    elevation: float = 0.0
    zoom: float = 1.0
    text: str = ""
    """A caption: "Maximum of z, y, x · level 2 · 64 × 256 × 256"."""
    sentence: str = ""


@frozen
class WantedVolume:
    """The volume to read: channels of a level along three `axes`, at `index` of the others. `step`: every step-th voxel
    is kept."""

    image: Image
    level: int
    axes: tuple[int, int, int]
    index: tuple[int, ...]
    channels: tuple[int, ...]
    parts: tuple[str, ...]
    step: int

    @property
    def text(self) -> str:
        """A caption: "Maximum of z, y, x · level 2 · 64 × 256 × 256"."""
        shape = [self.image.levels[self.level].shape[axis] for axis in self.axes]
        return words.solid([self.image.axes[axis].name for axis in self.axes], self.level, shape, self.step)

    @property
    def scale(self) -> tuple[float, float, float]:
        """The lengths of the three edges of a voxel: from the file if the units of the three axes are the same, else
        all equal."""
        level = self.image.levels[self.level]
        alike = len({self.image.axes[axis].unit for axis in self.axes}) == 1
        first, second, third = (abs(level.scale[axis]) * self.step if alike else 1.0 for axis in self.axes)
        return (first, second, third) if min(first, second, third) > 0 else (1.0, 1.0, 1.0)


class Solid:
    """The presenter of the picture in three dimensions: `toggle` switches between it and the plane of `main`; `turn`
    follows the person's drag."""

    changed = signal()

    def __init__(self, main: SlicePresenter) -> None:
        self.main = main
        self._state = SolidView()
        self._pixels = (0, 0)
        self._wanted: WantedVolume | None = None
        self._volumes: tuple[Volume, ...] = ()
        """The volume of each channel, as z, y, x."""
        self._arranged: dict[int, tuple[Volume, ...]] = {}
        """Axis → the same volumes with this axis first, as `shear` needs them."""
        self._reading: Ticket | None = None
        self._drawing: Ticket | None = None
        self._again = False
        main.changed.connect(self._follow)
        main.solid_and_blend.drawn.add("solid")
        main.solid_and_blend.asked.connect(self._asked)

    @property
    def state(self) -> SolidView:
        """A snapshot for hosts to paint."""
        return self._state

    @property
    def settled(self) -> bool:
        """Whether the picture shows the latest direction, or a sentence says why there is no picture."""
        busy = self._reading is not None or self._drawing is not None
        return not busy and (self._state.rgb is not None or bool(self._state.sentence))

    def _asked(self) -> None:
        """Opens the picture in three dimensions if a restored view asks for it."""
        if (asked := self.main.solid_and_blend.take("solid")) is not None:
            self._tell(open=True, rgb=None, **asked)
            self._follow()

    # ------------------------------------------------------------------ gestures
    def toggle(self) -> None:
        """Opens the picture in three dimensions, or returns to the plane."""
        if self._state.open:
            self.close()
        else:
            self._tell(open=True, rgb=None, azimuth=FRONT[0], elevation=FRONT[1], zoom=1.0)
            self._follow()

    def close(self) -> None:
        """Shows the plane again, and releases the memory of the volume."""
        if self._state.open:
            self._forget()
            self._tell(open=False, rgb=None, text="", sentence="")

    def end(self) -> None:
        """Closes the picture in three dimensions for good; it no longer follows `main`."""
        self.main.changed.disconnect(self._follow)
        self.main.solid_and_blend.asked.disconnect(self._asked)
        self.main.solid_and_blend.drawn.discard("solid")
        self.close()

    def turn(self, azimuth: float, elevation: float) -> None:
        """Turns the line of sight by angles in degrees. The elevation stops at the vertical."""
        upright = min(90.0, max(-90.0, self._state.elevation + elevation))
        self.look((self._state.azimuth + azimuth + 180.0) % 360.0 - 180.0, upright)

    def look(self, azimuth: float, elevation: float) -> None:
        """Sets the direction of view in degrees; (0, 0) looks at the plane as in the picture."""
        self._tell(azimuth=azimuth, elevation=elevation)
        self._draw()

    def zoom_by(self, factor: float) -> None:
        """Zooms in or out; at 1 the whole volume is visible in every direction."""
        self._tell(zoom=min(NEAREST, max(FARTHEST, self._state.zoom * factor)))
        self._draw()

    def fit(self) -> None:
        """Shows the whole volume from the front."""
        self._tell(zoom=1.0)
        self.look(*FRONT)

    def resize(self, pixels: tuple[int, int]) -> None:
        """Sets (height, width) of the displayed picture."""
        if pixels != self._pixels:
            self._pixels = pixels
            self._draw()

    # ------------------------------------------------------------------ reading
    def _forget(self) -> None:
        for ticket in (self._reading, self._drawing):
            if ticket is not None:
                ticket.cancel()
        self._reading = self._drawing = None
        self._wanted, self._volumes, self._arranged, self._again = None, (), {}, False

    def _tell(self, **told: Any) -> None:
        self._state = state = replace(self._state, **told)
        shown = solid_member(state.azimuth, state.elevation, state.zoom) if state.open else None
        self.main.solid_and_blend.tell("solid", shown)
        self.main.solid_and_blend.picture = state.rgb if state.open else None
        self.changed.emit()

    def _follow(self) -> None:
        """Reads and draws again if the indices, channels or contrast of the main picture have changed."""
        if not self._state.open:
            return
        wanted = wanted_of(self.main)
        if isinstance(wanted, str):
            if self._wanted is not None and self._wanted.image is not self.main.image:
                self.close()  # the volume belongs to an image that is no longer displayed
                return
            self._forget()
            self._tell(rgb=None, text="", sentence=wanted)
        elif wanted != self._wanted:
            self._read(wanted)
        else:
            self._draw()

    def _read(self, wanted: WantedVolume) -> None:
        same = self._wanted is not None and (self._wanted.image, self._wanted.level) == (wanted.image, wanted.level)
        self._forget()
        self._wanted = wanted
        self._tell(sentence=words.READING_SOLID, rgb=self._state.rgb if same else None, text=wanted.text)

        def done(outcome: JobResult[tuple[Volume, ...]]) -> None:
            self._reading = None
            if outcome.value is None:
                self._tell(rgb=None, sentence=strings.problem(outcome.error or RuntimeError()).headline)
                return
            self._volumes = outcome.value
            self._tell(sentence="")
            self._draw()

        owner, loader = self.main.background
        self._reading = owner.read(lambda: tuple(_read(loader.read, wanted)), done)

    # ------------------------------------------------------------------ drawing
    def _draw(self) -> None:
        """Draws the latest direction, as soon as the previous picture is done."""
        if not self._volumes or self._wanted is None or min(self._pixels) < 1:
            return
        if self._drawing is not None:
            self._again = True
            return
        self._again = False
        wanted, pixels, styles = self._wanted, self._pixels, self.main.styles
        volumes, arranged = self._volumes, self._arranged
        place = (self._state.azimuth, self._state.elevation, self._state.zoom)

        def done(outcome: JobResult[npt.NDArray[np.uint8]]) -> None:
            self._drawing = None
            if outcome.value is None:
                self._tell(rgb=None, sentence=strings.problem(outcome.error or RuntimeError()).headline)
                return
            self._tell(rgb=outcome.value)
            if self._again:
                self._draw()

        owner, _ = self.main.background
        self._drawing = owner.decode(lambda: draw(volumes, arranged, wanted, styles, place, pixels), done)


def wanted_of(main: SlicePresenter) -> WantedVolume | str:
    """The part to read for the displayed picture; or a sentence that gives the reason if the image has fewer than three
    dimensions or is too large."""
    image, state = main.image, main.state
    depth = main.third_axis
    if image is None or state.kind != "image" or not depth:
        return words.NO_SOLID
    styles = main.styles
    if image.value_kind not in KINDS or not styles:
        return words.NO_SOLID_OF_KIND
    names = [axis.name for axis in image.axes]
    shown = {axis.role: axis.name for axis in state.axes}
    axes = names.index(depth), names.index(shown["y"]), names.index(shown["x"])
    chosen = tuple(i for i, style in enumerate(styles) if style.visible and not style.is_alpha) or (0,)
    parts = tuple(styles[i].part for i in chosen)
    sizes = [prod(level.shape[axis] for axis in axes) * len(chosen) for level in image.levels]
    level = next((k for k, size in enumerate(sizes) if size <= MAX_VOXELS), len(sizes) - 1)
    nbytes = sizes[level] * image.dtype.itemsize
    if nbytes > MAX_READ:
        return words.solid_too_large(nbytes)
    step = 1
    while sizes[level] > MAX_VOXELS * step**3:
        step += 1
    index = tuple(0 if axis in axes or axis == image.channel_axis else i for axis, i in enumerate(main.index))
    return WantedVolume(image, level, axes, index, chosen, parts, step)


def _read(read: Callable[[Any, Any], Any], wanted: WantedVolume) -> list[Volume]:
    level = wanted.image.levels[wanted.level]
    at = index_at(wanted.image, wanted.level, wanted.index)
    found = []
    for channel, part in zip(wanted.channels, wanted.parts, strict=True):
        pick: list[Any] = list(at)
        if wanted.image.channel_axis is not None:
            pick[wanted.image.channel_axis] = channel
        for axis in wanted.axes:
            pick[axis] = slice(None)
        stack = read(level.array, tuple(pick))
        left = sorted(wanted.axes)
        volume = as_numbers(stack.transpose([left.index(axis) for axis in wanted.axes]), part)
        volume = volume[:: wanted.step, :: wanted.step, :: wanted.step]
        if volume.dtype.kind == "f":  # NaN hides nothing
            volume = np.where(np.isnan(volume), volume.dtype.type(-np.inf), volume)
        found.append(np.ascontiguousarray(volume))
    return found


def draw(
    volumes: tuple[Volume, ...],
    arranged: dict[int, tuple[Volume, ...]],
    wanted: WantedVolume,
    styles: list[ChannelStyle],
    place: tuple[float, float, float],
    pixels: tuple[int, int],
) -> npt.NDArray[np.uint8]:
    """The picture of volumes from the direction and zoom in `place`. `arranged` caches volumes with another order of
    axes."""
    azimuth, elevation, zoom = place
    first, second, third = volumes[0].shape
    seen = view_transform((first, second, third), wanted.scale, azimuth, elevation)
    if seen.along not in arranged:
        order = (seen.along, *seen.across)
        arranged[seen.along] = tuple(np.ascontiguousarray(volume.transpose(order)) for volume in volumes)
    per_pixel = 2 * radius(seen.shape, wanted.scale) / max(1, min(pixels)) / zoom
    planes, displays, onto = [], [], None
    limits = _limits(volumes, wanted, styles)
    for number, volume in enumerate(arranged[seen.along]):
        sheared = shear(volume, seen)
        onto = warp(sheared, seen, pixels, per_pixel) if onto is None else onto
        planes.append(onto.picture(sheared))
        display = styles[wanted.channels[number]].display()
        displays.append(replace(display, lo=limits[number][0], hi=limits[number][1]))
    assert onto is not None
    rgb = render(planes, displays, NOT_A_NUMBER)
    rgb[onto.outside] = GREY
    return rgb


def _limits(volumes: tuple[Volume, ...], wanted: WantedVolume, styles: list[ChannelStyle]) -> list[tuple[float, float]]:
    found = []
    for volume, channel in zip(volumes, wanted.channels, strict=True):
        style = styles[channel]
        if style.lo is None or style.hi is None:
            found.append(auto_levels(volume[:: max(1, volume.shape[0] // 32)]))
        else:
            found.append((style.lo, style.hi))
    return found
