"""Finds the next chunk that is not stored, and the part of the map on which it is a cell of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrscope.check.inventory import Inventory
from zarrscope.chunkio.stored_chunks import number_of

if TYPE_CHECKING:
    from zarrscope.model.selection import ChunkIndex

PlanePart = tuple[int, int, int, int]
"""(first row, first column, rows, columns) of a part of a plane, in chunks."""


def next_missing(
    inventory: Inventory, chosen: ChunkIndex | None, plane: ChunkIndex, shown: tuple[int, int]
) -> ChunkIndex | None:
    """The next chunk in C order after the chosen one that is not stored; without a chosen one, from the displayed plane
    on. `plane`: the index of the plane along the axes that are not among the `shown` ones. None: nothing was found."""
    if chosen is not None:
        return inventory.next_absent(number_of(chosen, inventory.grid) + 1)
    first = tuple(0 if axis in shown else at for axis, at in enumerate(plane))
    return inventory.next_absent(number_of(first, inventory.grid) if first else 0)


def all_stored(inventory: Inventory | None) -> bool:
    """Whether it is known that every chunk is stored."""
    return inventory is not None and inventory.known and inventory.complete and not inventory.absent


def step_of(window: PlanePart, most: int) -> tuple[int, int]:
    """The number of chunks per cell along each side, if a side has at most `most` cells."""
    return max(1, -(-window[2] // most)), max(1, -(-window[3] // most))


def part_around(index: ChunkIndex, shown: tuple[int, int], whole: PlanePart, most: int) -> PlanePart | None:
    """The part of the plane in which each cell is one chunk and in which the chunk `index` lies; None for the whole
    plane."""
    at, window = [index[axis] if axis >= 0 else 0 for axis in shown], whole
    while (step := step_of(window, most)) != (1, 1):
        first = [window[i] + (at[i] - window[i]) // step[i] * step[i] for i in (0, 1)]
        end = [min(first[i] + step[i], window[i] + window[i + 2]) for i in (0, 1)]
        window = (first[0], first[1], end[0] - first[0], end[1] - first[1])
    return window if window != whole else None
