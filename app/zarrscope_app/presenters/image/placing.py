"""The places of the members of a collection: of wells in the rows and columns of their plate, of others in a rectangle
somewhat wider than high, as panes are."""

from __future__ import annotations

import math
from collections.abc import Sequence

from zarrscope.view.image import Collection, CollectionMember

MAX_CELLS = 6144
"""The most cells of a layout: four times the wells of the largest plates (1536)."""
MOST_ACROSS = 20
"""The most images side by side without a plate: as many of the smallest thumbnails fit a window of 900 pixels, which is
then scrolled downwards only."""
_ONE_ROW = 3
"""The most images that stand in one row."""
_WIDTH = 1.4
"""Columns for each row of more images."""


def laid_out(collection: Collection, listed: Sequence[CollectionMember]) -> list[tuple[CollectionMember, int, int]]:
    """Members with their row and column: from the plate, else row by row; at most MAX_CELLS."""
    listed = listed[:MAX_CELLS]
    if collection.kind == "plate":
        return [(m, *m.place) for m in listed if m.place is not None]
    across = len(listed) if len(listed) <= _ONE_ROW else min(MOST_ACROSS, round(math.sqrt(len(listed) * _WIDTH)))
    return [(m, i // across, i % across) for i, m in enumerate(listed)]
