"""Sets how an image is drawn: the settings of channels and label images that a person can change. Reads nothing."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from zarrscope_app.presenters.image import colormaps, words
from zarrscope_app.presenters.image.channel_search import matching_channels
from zarrscope_app.presenters.image.colormaps import CYCLIC
from zarrscope_app.presenters.image.contrast import Contrast
from zarrscope_app.presenters.image.display_settings import ChannelStyle, LabelStyle
from zarrscope_app.presenters.image.view_models import Refusal
from zarrscope_app.presenters.signals import signal


class Display(ABC):
    """The part of SlicePresenter that changes display settings."""

    switched = signal()
    """Emitted when a person has switched smoothing or the dots on or off, which holds for all images."""

    _channels: list[ChannelStyle]
    _labels: list[LabelStyle]
    _contrast: Contrast
    _before_alone: tuple[int, ...] = ()
    """The channels that were displayed before one of them was shown alone."""
    _smooth: bool = False
    _dots: bool = True

    @abstractmethod
    def _restyle(self) -> None:
        """Draws the same data again with other settings."""

    @abstractmethod
    def _plan_soon(self) -> None:
        """Plans the chunks to load again, because more or fewer channels are drawn."""

    @abstractmethod
    def _refuse(self, refusal: Refusal) -> None:
        """Shows why a typed text is refused; an empty sentence clears it."""

    by_person: bool
    """Whether the person has changed a display setting."""

    def _at(self, channel: int) -> ChannelStyle | None:
        self.by_person = True
        return self._channels[channel] if 0 <= channel < len(self._channels) else None

    # ------------------------------------------------------------------ contrast
    def set_levels(self, channel: int, lo: float, hi: float) -> None:
        """Sets contrast limits that come from a gesture, in any order, and rounds them to significant digits."""
        self._limit(channel, lo, hi, stated=False)

    def state_levels(self, channel: int, lo: float, hi: float) -> None:
        """Sets contrast limits that a person or a file has stated: they are not rounded, except fractions in a wide
        window of integers."""
        self._limit(channel, lo, hi, stated=True)

    def _limit(self, channel: int, lo: float, hi: float, *, stated: bool) -> None:
        if (at := self._at(channel)) and math.isfinite(lo) and math.isfinite(hi):
            at.limit(lo, hi, stated=stated)
            self._refuse(Refusal())
            self._restyle()

    def type_limit(self, channel: int, end: str, text: str) -> str:
        """Sets a contrast limit (`end` "lo" or "hi") from typed text; "120–3400" sets both.

        Returns the sentence that says why the text is invalid; "" if the limit is set.
        """
        at = self._at(channel)
        if at is None:
            return ""
        shown = at.lo if end == "lo" else at.hi
        # the displayed text is rounded: if it is typed unchanged, the exact limit stays
        if shown is not None and text.strip() == words.limit(shown):
            self._refuse(Refusal())
            return ""
        found = words.typed_limits(text, end, at.lo, at.hi)
        if isinstance(found, str):
            self._refuse(Refusal(f"{end}:{channel}", text, found))
            return found
        self.state_levels(channel, *found)
        return ""

    def type_limits(self, text: str) -> str:
        """Sets both limits of the first displayed channel from typed text, "120–3400", or with "2: 120–3400" those of
        the second channel. Returns a sentence like `type_limit`."""
        number, rest = words.typed_channel(text)
        if number < 0:
            number = next((i for i, channel in enumerate(self._channels) if channel.visible), 0)
        if self._at(number) is None:
            sentence = words.no_channel(number, len(self._channels))
            self._refuse(Refusal("limits", text, sentence))
            return sentence
        return self.type_limit(number, "hi", rest)

    def auto(self, channel: int | None = None) -> None:
        """Fits the contrast limits of a channel (None: of every visible channel) to the displayed plane at its coarsest
        level."""
        self.by_person = True
        self._contrast.fit(channel)

    # ------------------------------------------------------------------ channels
    def set_visible(self, channel: int, visible: bool) -> None:
        """Shows or hides a channel; loads its chunks when it is shown."""
        if at := self._at(channel):
            at.visible = visible
            self._before_alone = ()
            self._restyle()
            self._plan_soon()

    def set_color(self, channel: int, color: tuple[int, int, int]) -> None:
        """Sets the colour of a channel (red, green, blue, 0 to 255) in place of its colour map."""
        if at := self._at(channel):
            at.color, at.colormap = color, ""
            self._restyle()

    @property
    def colormaps(self) -> tuple[str, ...]:
        """The titles of the available colour maps."""
        return colormaps.titles()

    def ramp(self, title: str) -> bytes:
        """The colours of a colour map, three bytes each."""
        return colormaps.ramp(title)

    def set_colormap(self, channel: int, title: str) -> None:
        """Sets a colour map in place of the channel's colour; "" restores the colour."""
        if (at := self._at(channel)) and (not title or title in colormaps.titles()):
            at.colormap = title
            self._restyle()

    def set_gamma(self, channel: int, gamma: float) -> None:
        """Sets the gamma of a channel; values outside 0.01 … 100 are ignored."""
        if (at := self._at(channel)) and 0.01 <= gamma <= 100:
            at.gamma = gamma
            self._refuse(Refusal())
            self._restyle()

    def type_gamma(self, channel: int, text: str) -> str:
        """Sets gamma from typed text; returns a sentence like `type_limit`."""
        found = words.typed_gamma(text)
        if isinstance(found, str):
            self._refuse(Refusal(f"gamma:{channel}", text, found))
            return found
        self.set_gamma(channel, found)
        return ""

    def set_part(self, part: str) -> None:
        """Sets the part of complex values to draw, for all channels: "magnitude", "phase", "real" or "imaginary"."""
        self.by_person = True
        for at in self._channels:
            if part in at.parts and part != at.part:
                if CYCLIC in colormaps.titles() and "phase" in (part, at.part):
                    at.colormap = CYCLIC if part == "phase" else ""
                at.set_part(part)
        self._restyle()
        self._plan_soon()

    def show_alone(self, channel: int | None) -> None:
        """Shows one channel and hides the others. Called again, or with None: shows the channels that were visible
        before."""
        self.by_person = True
        shown = [i for i, at in enumerate(self._channels) if at.visible and not at.is_alpha]
        if channel is None or (shown == [channel] and self._before_alone):
            visible, self._before_alone = self._before_alone or tuple(shown), ()
        else:
            self._before_alone, visible = self._before_alone or tuple(shown), (channel,)
        for i, at in enumerate(self._channels):
            at.visible = i in visible or (at.is_alpha and at.visible)
        self._restyle()
        self._plan_soon()

    def show_next_alone(self) -> None:
        """Shows the first channel alone, then the next …, then those that were visible before."""
        count = sum(not at.is_alpha for at in self._channels)
        shown = [i for i, at in enumerate(self._channels) if at.visible and not at.is_alpha]
        following = shown[0] + 1 if self._before_alone and len(shown) == 1 else 0
        self.show_alone(following if following < count else None)

    def show_named(self, text: str) -> int | None:
        """Shows the channel alone whose name is or contains `text`, and returns its number; None if there is none."""
        found = matching_channels([channel.label for channel in self._channels], text)
        if not text.strip() or not found:
            return None
        if [i for i, at in enumerate(self._channels) if at.visible and not at.is_alpha] != [found[0]]:
            self.show_alone(found[0])
        return found[0]

    @property
    def styles(self) -> list[ChannelStyle]:
        """Copies of the display settings of each channel."""
        return [replace(channel) for channel in self._channels]

    def draw_as(self, other: Display, only: int | None = None) -> None:
        """Takes over the display settings of another presenter of the same image. `only`: the one channel to draw; None
        draws the channels that `other` draws."""
        channels, labels = [replace(c, measuring=0) for c in other._channels], [replace(v) for v in other._labels]
        for i, channel in enumerate(channels):
            channel.visible = channel.visible and (only in (None, i) or channel.is_alpha)
        theirs, mine = (channels, labels, other._smooth, other._dots), (self._channels, self._labels)
        if theirs == (*mine, self._smooth, self._dots) or len(channels) != len(self._channels):
            return
        self._channels, self._labels, self._smooth, self._dots = theirs
        self._restyle()
        self._plan_soon()

    def take_styles(self, styles: Sequence[ChannelStyle], by_person: bool) -> None:
        """Takes over names and display settings of the same channels in another resolution. `by_person`: whether a
        person has changed them."""
        if len(styles) == len(self._channels):
            self._channels = [replace(style, measuring=0) for style in styles]
            self.by_person = by_person
            self._restyle()
            self._plan_soon()

    @property
    def switches(self) -> tuple[bool, bool]:
        """(whether enlarged pixels are smoothed, whether missing chunks have dots), also without an image."""
        return self._smooth, self._dots

    def set_dots(self, dots: bool) -> None:
        """Sets whether chunks that are not stored are marked with dots."""
        self._dots = dots
        self._restyle()
        self.switched.emit()

    def set_smooth(self, smooth: bool) -> None:
        """Sets whether enlarged pixels are interpolated."""
        self._smooth = smooth
        self._restyle()
        self.switched.emit()

    def set_inverted(self, channel: int, inverted: bool) -> None:
        """Sets whether a channel is drawn from bright to dark."""
        if at := self._at(channel):
            at.inverted = inverted
            self._restyle()

    # ------------------------------------------------------------------ labels
    def set_label(self, path: str, visible: bool, opacity: float | None = None) -> None:
        """Shows or hides a label image over the picture."""
        for label in self._labels:
            if label.path == path and label.image is not None:
                self.by_person = True
                label.visible = visible
                label.opacity = label.opacity if opacity is None else max(0.0, min(1.0, opacity))
                self._restyle()
                self._plan_soon()

    def set_outline(self, path: str, outline: bool) -> None:
        """Sets whether only the edges of labels are drawn, instead of their whole area."""
        for label in self._labels:
            if label.path == path:
                self.by_person = True
                label.outline = outline
                self._restyle()

    def choose_label(self, path: str, chosen: int | None) -> None:
        """Draws only the label `chosen`; None: all labels."""
        for label in self._labels:
            if label.path == path:
                self.by_person = True
                label.chosen = chosen
                self._refuse(Refusal())
                self._restyle()

    def type_label(self, path: str, text: str) -> str:
        """Sets the only label to draw from typed text; an empty text draws all labels. Returns a sentence like
        `type_limit`."""
        found = words.typed_label(text)
        if isinstance(found, str):
            self._refuse(Refusal(f"label:{path}", text, found))
            return found
        self.choose_label(path, found)
        return ""
