"""Contrast by dragging over the picture, as radiologists' viewers do: sideways for the width of the window, upwards for
its level. All visible channels change, each in proportion to the width of its own window. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zarrscope_app.presenters.image.view_models import ChannelView

_DOUBLES = 0.25
"""The length of a drag that doubles or halves the window, as a fraction of the picture's width."""


@dataclass(frozen=True)
class Limits:
    """The contrast limits of one channel, for `slice.set_levels`."""

    channel: int
    lo: float
    hi: float


def limits_of(channels: Sequence[ChannelView]) -> tuple[Limits, ...]:
    """The limits of the visible channels when a drag begins; channels whose data have not arrived are left out."""
    return tuple(
        Limits(i, each.lo, each.hi)
        for i, each in enumerate(channels)
        if each.visible and each.lo is not None and each.hi is not None
    )


def dragged(limits: Sequence[Limits], right: float, up: float) -> tuple[Limits, ...]:
    """The limits after a drag; `right` and `up`: the drag as fractions of the picture's width and height. A drag to the
    right widens the window and lowers the contrast; a drag upwards lowers the level and makes the picture brighter."""
    found = []
    for each in limits:
        width, level = each.hi - each.lo, (each.hi + each.lo) / 2
        half, level = width * 2 ** (right / _DOUBLES) / 2, level - up * width
        found.append(Limits(each.channel, level - half, level + half))
    return tuple(found)
