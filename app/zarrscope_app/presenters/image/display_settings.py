"""How an image is drawn: channels and label images with what a person can change about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zarrscope.pyramid import Image
from zarrscope.render import ChannelLook
from zarrscope_app.presenters import words
from zarrscope_app.presenters.painting import LabelLook, Looks, Measure
from zarrscope_app.presenters.scene import ChannelView, LabelView

MAX_BLENDED = 8
"""Channels shown at first: more make mud, and cost as much to read."""


@dataclass
class ChannelStyle:
    """`lo`, `hi` None: not known before the first data have come."""

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

    def adopt(self, measure: Measure, limits: bool) -> None:
        """Takes the histogram over, and the limits when asked to."""
        if limits:
            self.lo, self.hi = measure.lo, measure.hi
        self.histogram, self.low, self.high = measure.counts, measure.low, measure.high

    def look(self) -> ChannelLook:
        lo, hi = (0.0, 1.0) if self.lo is None or self.hi is None else (self.lo, self.hi)
        return ChannelLook(self.color, lo, hi, self.gamma, True, self.inverted)

    def view(self) -> ChannelView:
        return ChannelView(
            words.clean(self.label, 60),
            self.color,
            self.visible,
            self.lo,
            self.hi,
            self.gamma,
            self.inverted,
            self.low,
            self.high,
            self.histogram,
            words.span(self.lo, self.hi) if self.lo is not None and self.hi is not None else "",
        )


@dataclass
class LabelStyle:
    """`image` None: it could not be opened."""

    path: str
    image: Image | None
    visible: bool = False
    opacity: float = 0.5
    sentence: str = ""

    def view(self) -> LabelView:
        name = words.clean(self.path.rsplit("/", 1)[-1])
        return LabelView(name, self.path, self.visible, self.opacity, self.sentence)


def channel_styles(image: Image) -> list[ChannelStyle]:
    """As the file wants its channels shown; at least one is visible, not more than MAX_BLENDED unless it says so."""
    found: list[ChannelStyle] = []
    shown = 0
    for channel in image.channels:
        visible = channel.active and shown < MAX_BLENDED
        shown += visible
        lo, hi = channel.window or (None, None)
        low, high = channel.range or channel.window or (0.0, 1.0)
        color = channel.color or (255, 255, 255)
        found.append(ChannelStyle(channel.label, color, visible, lo, hi, low, high, 1.0, channel.inverted))
    if found and not shown:
        found[0].visible = True
    return found


def looks(channels: Sequence[ChannelStyle], labels: Sequence[LabelStyle]) -> Looks:
    """What workers are told: of what is visible only."""
    return Looks(
        tuple(
            (("channel", i), None if channel.lo is None else channel.look(), channel.look())
            for i, channel in enumerate(channels)
            if channel.visible
        ),
        tuple(
            (("label", label.path), LabelLook(label.opacity, tuple(label.image.label_colors.items())))
            for label in labels
            if label.visible and label.image is not None
        ),
    )
