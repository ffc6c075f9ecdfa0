"""Contrast limits and histograms of channels, measured from the coarsest level or from the displayed tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Protocol

from zarrscope.runtime.threads import Priority
from zarrscope.view.loader import NEARBY, VISIBLE
from zarrscope_app.presenters.image import words
from zarrscope_app.presenters.image.coarse_sample import SampledChannel
from zarrscope_app.presenters.image.display_settings import ChannelStyle
from zarrscope_app.presenters.image.painting import LayerKey, Measure
from zarrscope_app.presenters.image.tile_manager import TileManager

_numbers = count(1)
"""Numbers the measurements of all pictures, because pictures take over each other's display settings."""


class MeasuresCoarsest(Protocol):
    """Measures channels at the coarsest level and calls `done`; returns False if that is too much to read."""

    def __call__(
        self,
        wanted: Sequence[SampledChannel],
        done: Callable[[dict[LayerKey, Measure]], None],
        priority: Priority = VISIBLE,
    ) -> bool: ...


class Contrast:
    """The contrast of the channels. Calls `restyle` when contrast limits have changed, `changed` when only histograms
    have."""

    def __init__(
        self,
        tiles: Callable[[], TileManager],
        coarsest: MeasuresCoarsest,
        channels: Callable[[], Sequence[ChannelStyle]],
        restyle: Callable[[], None],
        changed: Callable[[], None],
    ) -> None:
        self._coarsest = coarsest
        self._tiles, self._channels, self._restyle, self._changed = tiles, channels, restyle, changed
        self._counting: set[int] = set()
        self._asked: list[int] = []
        """The hidden channels whose histograms a person would see, and that have not been measured yet."""
        self._turn = 0
        """The number of images displayed so far, by which measurements of an earlier image are recognised and
        dropped."""

    def clear(self) -> None:
        """Forgets everything, before another image is shown."""
        self._counting = set()
        self._asked = []
        self._turn += 1

    def fit(self, channel: int | None) -> None:
        """Fits contrast limits to the displayed plane: at its coarsest level, or, if that is too much to read, to the
        displayed tiles. `channel` None: every visible channel. Limits that are set before the measurement has ended
        stay."""
        shown = self._channels()
        fitted = [i for i, c in enumerate(shown) if (c.visible if channel is None else i == channel)]
        number = next(_numbers)
        for i in fitted:
            shown[i].measuring = number

        def done(found: dict[LayerKey, Measure]) -> None:
            for i, at in enumerate(self._channels()):
                if at.measuring == number:
                    at.measuring = 0
                    if (measure := found.get(("channel", i))) is not None:
                        at.adopt(measure, limits=True)
            self._restyle()

        wanted = [SampledChannel(i, shown[i].part) for i in fitted]
        if not self._coarsest(wanted, done):
            self._tiles().measure(tuple(("channel", i) for i in fitted), done)

    def adopt(self, found: dict[LayerKey, Measure]) -> None:
        """Uses measures that were made while tiles were painted, for channels without limits or histogram."""
        for (_, i), measure in found.items():
            channel = self._channels()[i]
            if channel.lo is None or not channel.histogram:
                channel.adopt(measure, limits=channel.lo is None)
        self._restyle()

    def want(self, channel: int) -> bool:
        """Takes note that the place for a hidden channel's histogram is in view. Returns whether `complete` has to be
        called for it, when the picture is complete."""
        shown = self._channels()
        if not 0 <= channel < len(shown) or not _is_unmeasured(shown[channel]) or channel in self._asked:
            return False
        self._asked.append(channel)
        return True

    def complete(self) -> None:
        """Measures the histograms of channels whose limits came from the file, once for each; called when the picture
        is complete. A channel whose tiles are only planned has its turn at the next call."""
        self._measure_hidden()
        shown, tiles = self._channels(), self._tiles()
        keys = tuple(
            ("channel", i)
            for i, channel in enumerate(shown)
            if channel.visible and not channel.histogram and i not in self._counting and tiles.planes(("channel", i))
        )
        self._counting.update(i for _, i in keys)

        def done(found: dict[LayerKey, Measure]) -> None:
            self._give(found, limits=False)
            self._changed()

        if keys:
            stated = {("channel", i): (c.lo, c.hi) for i, c in enumerate(shown) if c.lo is not None}
            tiles.measure(keys, done, {key: (lo, hi) for key, (lo, hi) in stated.items() if hi is not None})

    def _measure_hidden(self) -> None:
        """Measures the hidden channels whose histograms are in view, at the coarsest level, after everything that is
        visible."""
        asked, self._asked = self._asked, []
        shown, turn = self._channels(), self._turn

        def measure(number: int, part: str) -> None:
            def done(found: dict[LayerKey, Measure]) -> None:
                channel = self._channels()[number] if turn == self._turn else None
                if channel is None or channel.part != part:
                    return
                channel.unmeasured = "" if found else words.HISTOGRAM_UNREAD
                if not channel.histogram:
                    self._give(found, limits=channel.lo is None)
                self._changed()

            shown[number].unmeasured = words.HISTOGRAM_LOADING
            if not self._coarsest([SampledChannel(number, part)], done, NEARBY):
                shown[number].unmeasured = words.HISTOGRAM_TOO_LARGE

        for number in asked:
            if number < len(shown) and _is_unmeasured(shown[number]):
                measure(number, shown[number].part)
        if asked:
            self._changed()

    def _give(self, found: dict[LayerKey, Measure], *, limits: bool) -> None:
        """Gives each channel its measure. Channels that do not exist are skipped: another image may be displayed
        meanwhile."""
        channels = self._channels()
        for (_, i), measure in found.items():
            if i < len(channels):
                channels[i].adopt(measure, limits=limits)


def _is_unmeasured(channel: ChannelStyle) -> bool:
    return not (channel.visible or channel.histogram or channel.unmeasured or channel.is_alpha)
