"""Finds channels of an image by a part of their names."""

from __future__ import annotations

from collections.abc import Sequence

MANY_CHANNELS = 8
"""With more channels than this, a field to search for them is always displayed."""


def matching_channels(names: Sequence[str], text: str) -> tuple[int, ...]:
    """The numbers of the channels whose name contains `text`, whatever the case of its letters: first the name that
    equals it, then those that begin with it. "" matches all."""
    wanted = text.strip().casefold()

    def rank(name: str) -> int:
        return 0 if name == wanted else 1 if name.startswith(wanted) else 2

    lower = [name.casefold() for name in names]
    return tuple(sorted((i for i, name in enumerate(lower) if wanted in name), key=lambda i: rank(lower[i])))
