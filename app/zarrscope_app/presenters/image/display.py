"""How an image is drawn: what a person changes about its channels and label images. Nothing is read for it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from zarrscope_app.presenters.image import words
from zarrscope_app.presenters.image.contrast import Contrast
from zarrscope_app.presenters.image.display_settings import ChannelStyle, LabelStyle
from zarrscope_app.presenters.image.view_models import Refusal


class Display(ABC):
    """The half of a slice presenter that draws."""

    _channels: list[ChannelStyle]
    _labels: list[LabelStyle]
    _contrast: Contrast

    @abstractmethod
    def _restyle(self) -> None:
        """The same data are to be drawn anew."""

    @abstractmethod
    def _plan_soon(self) -> None:
        """More data, or less, are to be drawn."""

    @abstractmethod
    def _refuse(self, refusal: Refusal) -> None:
        """What a person typed is not taken, and why; an empty one: all is well."""

    by_person: bool
    """Somebody has chosen how a channel is shown."""

    def _at(self, channel: int) -> ChannelStyle | None:
        self.by_person = True
        return self._channels[channel] if 0 <= channel < len(self._channels) else None

    # ------------------------------------------------------------------ contrast
    def set_levels(self, channel: int, lo: float, hi: float) -> None:
        """Contrast limits, in any order."""
        if (at := self._at(channel)) and math.isfinite(lo) and math.isfinite(hi):
            at.lo, at.hi = min(lo, hi), max(lo, hi)
            self._refuse(Refusal())
            self._restyle()

    def type_limit(self, channel: int, end: str, text: str) -> str:
        """A contrast limit (`end` "lo" or "hi") as a person writes it; "120–3400" sets both.

        The sentence that says what is wrong with it; "" when it is set.
        """
        at = self._at(channel)
        if at is None:
            return ""
        shown = at.lo if end == "lo" else at.hi
        if shown is not None and text.strip() == words.limit(shown):  # it is shown shorter than it is
            self._refuse(Refusal())
            return ""
        found = words.typed_limits(text, end, at.lo, at.hi)
        if isinstance(found, str):
            self._refuse(Refusal(f"{end}:{channel}", text, found))
            return found
        self.set_levels(channel, *found)
        return ""

    def type_limits(self, text: str) -> str:
        """Both limits of the first channel on show, or "2: 120–3400" of the second one; as `type_limit`."""
        number, rest = words.typed_channel(text)
        if number < 0:
            number = next((i for i, channel in enumerate(self._channels) if channel.visible), 0)
        if self._at(number) is None:
            sentence = words.no_channel(number, len(self._channels))
            self._refuse(Refusal("limits", text, sentence))
            return sentence
        return self.type_limit(number, "hi", rest)

    def auto(self, channel: int | None = None) -> None:
        """Contrast limits from the data on show; None: of every visible channel."""
        self._contrast.fit(channel)

    # ------------------------------------------------------------------ channels
    def set_visible(self, channel: int, visible: bool) -> None:
        if at := self._at(channel):
            at.visible = visible
            self._restyle()
            self._plan_soon()

    def set_color(self, channel: int, color: tuple[int, int, int]) -> None:
        if at := self._at(channel):
            at.color = color
            self._restyle()

    def set_gamma(self, channel: int, gamma: float) -> None:
        if (at := self._at(channel)) and 0.01 <= gamma <= 100:
            at.gamma = gamma
            self._restyle()

    def set_inverted(self, channel: int, inverted: bool) -> None:
        if at := self._at(channel):
            at.inverted = inverted
            self._restyle()

    # ------------------------------------------------------------------ labels
    def set_label(self, path: str, visible: bool, opacity: float | None = None) -> None:
        """Shows or hides a label image over the picture."""
        for label in self._labels:
            if label.path == path and label.image is not None:
                label.visible = visible
                label.opacity = label.opacity if opacity is None else max(0.0, min(1.0, opacity))
                self._restyle()
                self._plan_soon()
