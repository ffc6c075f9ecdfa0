"""Display settings: channels and label images, with everything that a person can change about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

from zarrscope.view.image import ALPHA, Image
from zarrscope.view.render import INTEGERS, ChannelDisplay, limit_step, suitable_limits
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.image import colormaps, words
from zarrscope_app.presenters.image.painting import DisplaySettings, LabelDisplay, Measure
from zarrscope_app.presenters.image.view_models import ChannelView, LabelView

MAX_BLENDED = 8
"""The most channels that are visible at first: more channels cannot be distinguished, and take longer to read."""


@dataclass
class ChannelStyle:
    """The display settings of one channel. The contrast limits `lo` and `hi` are None until the first data have
    arrived."""

    label: str
    color: tuple[int, int, int]
    visible: bool
    lo: float | None
    hi: float | None
    low: float
    high: float
    gamma: float = 1.0
    inverted: bool = False
    histogram: tuple[int, ...] = ()
    unmeasured: str = ""
    """The reason why there is no histogram of a hidden channel, in words; "" if it was not asked for yet."""
    colormap: str = ""
    """The title of a colour map of colormaps.py; "" for the plain colour `color`."""
    parts: tuple[str, ...] = ()
    """The parts of complex values that can be drawn; () for other values."""
    part: str = "magnitude"
    is_alpha: bool = False
    """Whether the channel is the opacity of the other channels."""
    integers: bool = False
    """Whether the values are integers or booleans."""
    measuring: int = field(default=0, compare=False)
    """The number of the measurement that will give the contrast limits; 0 if none is awaited, or if other limits were
    set since it began."""

    def limit(self, lo: float, hi: float, *, stated: bool) -> None:
        """Sets the contrast limits, given in any order and adjusted by `suitable_limits`. `stated`: a person or a
        file stated them, so they are not rounded, except fractions in a wide window of integers. Equal limits in a file
        stay."""
        self.measuring = 0
        lo, hi = min(lo, hi), max(lo, hi)
        if (lo, hi) != (self.lo, self.hi):
            keep = stated and not self.integers
            self.lo, self.hi = (lo, hi) if keep else suitable_limits(lo, hi, integers=self.integers)

    def adopt(self, measure: Measure, limits: bool) -> None:
        """Takes over the histogram of a measure, and with `limits` also its contrast limits."""
        if limits:
            self.lo, self.hi = measure.lo, measure.hi
        self.histogram, self.low, self.high = measure.counts, measure.low, measure.high

    def set_part(self, part: str) -> None:
        """Sets the part of complex values to draw. Limits and histogram of another part do not fit it."""
        self.part, self.lo, self.hi, self.histogram, self.unmeasured, self.measuring = part, None, None, (), "", 0

    def display(self) -> ChannelDisplay:
        """The settings as painting takes them; before the contrast limits are known, those of 0 and 1."""
        lo, hi = (0.0, 1.0) if self.lo is None or self.hi is None else (self.lo, self.hi)
        return ChannelDisplay(
            self.color, lo, hi, self.gamma, True, self.inverted, colormaps.ramp(self.colormap), self.part
        )

    def view(self) -> ChannelView:
        """The snapshot of the settings for hosts."""
        return ChannelView(
            strings.clean(self.label, 60),
            self.color,
            self.visible,
            self.lo,
            self.hi,
            self.gamma,
            self.inverted,
            self.low,
            self.high,
            self.histogram,
            strings.joined(
                words.PARTS[self.part] if self.parts else "",
                strings.span(self.lo, self.hi) if self.lo is not None and self.hi is not None else "",
            ),
            words.limit(self.lo) if self.lo is not None else "",
            words.limit(self.hi) if self.hi is not None else "",
            words.limit(self.gamma),
            self.colormap,
            colormaps.ramp(self.colormap),
            tuple((part, words.PARTS[part]) for part in self.parts),
            self.part if self.parts else "",
            self.is_alpha,
            limit_step(self.lo, self.hi, integers=self.integers)
            if self.lo is not None and self.hi is not None
            else 0.0,
            "" if self.histogram or self.visible else self.unmeasured,
        )


@dataclass
class LabelStyle:
    """The display settings of one label image. `image` is None if it could not be opened."""

    path: str
    image: Image | None
    visible: bool = False
    opacity: float = 0.5
    sentence: str = ""
    outline: bool = False
    chosen: int | None = None

    def view(self) -> LabelView:
        """The snapshot of the settings for hosts; its name is the last part of the path, at the root that of the
        image."""
        named = self.path.rsplit("/", 1)[-1] or (self.image.name if self.image is not None else "")
        name = strings.clean(named) or "labels"
        chosen = "" if self.chosen is None else str(self.chosen)
        return LabelView(name, self.path, self.visible, self.opacity, self.sentence, self.outline, chosen)


def channel_styles(image: Image) -> list[ChannelStyle]:
    """The initial styles of channels from the file; at least one is visible, and at most MAX_BLENDED unless the file
    says otherwise."""
    found: list[ChannelStyle] = []
    shown = 0
    parts = tuple(words.PARTS) if image.value_kind == "c" else ()
    photograph = image.multiscale is None and image.channel_axis is not None and len(image.channels) == 4
    rgb = photograph and image.axes[image.channel_axis or 0].unit == "rgb"
    for channel in image.channels:
        alpha = rgb and channel.label == ALPHA
        visible = (channel.active or alpha) and shown < MAX_BLENDED
        shown += visible
        lo, hi = channel.window or (None, None)
        low, high = channel.range or channel.window or (0.0, 1.0)
        color = channel.color or (255, 255, 255)
        style = ChannelStyle(channel.label, color, visible, lo, hi, low, high, 1.0, channel.inverted)
        style.parts, style.is_alpha, style.integers = parts, alpha, image.value_kind in INTEGERS
        found.append(style)
    if found and not shown:
        found[0].visible = True
    return found


def updated(now: Sequence[ChannelStyle], before: list[ChannelStyle], after: list[ChannelStyle]) -> list[ChannelStyle]:
    """The styles `now`, updated with the settings that differ between the file `before` and `after`. Settings that did
    not change in the file keep the person's values."""
    found: list[ChannelStyle] = []
    for style, old, new in zip(now, before, after, strict=True):
        told = {f.name: getattr(new, f.name) for f in fields(new) if getattr(new, f.name) != getattr(old, f.name)}
        if told.keys() & {"lo", "hi"}:
            told["measuring"] = 0
        found.append(replace(style, **told))
    return found


def display_settings(
    channels: Sequence[ChannelStyle], labels: Sequence[LabelStyle], dots: bool = True
) -> DisplaySettings:
    """The settings with which workers draw tiles; they contain visible channels and labels only."""
    return DisplaySettings(
        dots=dots,
        alpha=next((("channel", i) for i, c in enumerate(channels) if c.is_alpha and c.visible), None),
        channels=tuple(
            (("channel", i), None if channel.lo is None else channel.display(), channel.display())
            for i, channel in enumerate(channels)
            if channel.visible and not channel.is_alpha
        ),
        labels=tuple(
            (
                ("label", label.path),
                LabelDisplay(label.opacity, tuple(label.image.label_colors.items()), label.outline, label.chosen),
            )
            for label in labels
            if label.visible and label.image is not None
        ),
    )
