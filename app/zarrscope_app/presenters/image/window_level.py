"""Contrast by dragging over the picture, as radiologists' viewers do: sideways for the width of the window, upwards for
its level. All visible channels follow, each in proportion to the width of its own window. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zarrscope_app.presenters.image.view_models import ChannelView

_DOUBLES = 0.25
"""The part of the picture's width over which a drag doubles or halves the window."""


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
    """The limits after a drag; `right` and `up` are in widths and heights of the picture. To the right, the window gets
    wider and the contrast lower; upwards, its level falls and the picture gets brighter."""
    found = []
    for each in limits:
        width, level = each.hi - each.lo, (each.hi + each.lo) / 2
        half, level = width * 2 ** (right / _DOUBLES) / 2, level - up * width
        found.append(Limits(each.channel, level - half, level + half))
    return tuple(found)
