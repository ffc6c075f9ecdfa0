"""The places of the members of a collection: of wells in the rows and columns of their plate, of others in a square."""

from __future__ import annotations

import math
from collections.abc import Sequence

from zarrscope.view.image import Collection, CollectionMember

MAX_CELLS = 6144
"""The most cells of a layout: four times the wells of the largest plates (1536)."""


def laid_out(collection: Collection, listed: Sequence[CollectionMember]) -> list[tuple[CollectionMember, int, int]]:
    """Members with their row and column: from the plate, else arranged in about a square; at most MAX_CELLS."""
    listed = listed[:MAX_CELLS]
    if collection.kind == "plate":
        return [(m, *m.place) for m in listed if m.place is not None]
    across = math.ceil(math.sqrt(len(listed))) if listed else 1
    return [(m, i // across, i % across) for i, m in enumerate(listed)]
