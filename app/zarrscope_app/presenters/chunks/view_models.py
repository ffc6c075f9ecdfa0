"""Snapshots of the map of chunks, and sentences with its counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zarrscope.check.inventory import Inventory
from zarrscope.model.frozen import frozen
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.node_description import Item, ratio

if TYPE_CHECKING:
    from zarrscope.model.selection import ChunkIndex
    from zarrscope.nodes.array import Array

ABSENT, PRESENT, PARTLY, LOADING, FAILED, UNTOLD = range(6)
"""States of a cell: not stored, stored, some of its chunks stored, being read, could not be read, not known."""
LEGEND = ("not stored", "stored", "partly stored", "loading", "failed", "not known")
SIGNS = "·█▒…!?"
"""The characters for the states of a cell, in the order of their numbers, for a map as text."""


@frozen
class Chosen:
    """The chunk (or shard) that was chosen on the map."""

    index: ChunkIndex
    title: str
    items: tuple[Item, ...]
    sentence: str = ""
    """The result of checking the chunk, or the reason why it could not be read."""
    failed: bool = False


@dataclass(frozen=True, eq=False)
class ChunkMap:
    """The map for a host to paint. `cells`: an array (rows, columns) of states; `shades`: the stored size of each
    cell's chunks, from 0 to 1."""

    levels: tuple[str, ...] = ()
    level: int = 0
    axes: tuple[str, ...] = ()
    """The names of all axes that can be shown."""
    row_axis: str = ""
    column_axis: str = ""
    fixed: tuple[tuple[str, int, int], ...] = ()
    """(axis, chunk, number of chunks along it) for each axis that is not shown."""
    cells: NDArray[np.uint8] | None = None
    shades: NDArray[np.float32] | None = None
    first: tuple[int, int] = (0, 0)
    """(row, column) of the chunk in the upper left corner."""
    step: tuple[int, int] = (1, 1)
    """The number of chunks per cell along each side."""
    whole: bool = True
    """Whether the map shows the whole plane. If not, `show_whole` returns to it."""
    items: tuple[Item, ...] = ()
    """Counts and sizes for the whole array."""
    scanning: bool = False
    sentence: str = ""
    chosen: Chosen | None = None
    chosen_cell: tuple[int, int] | None = None


def counts(array: Array, inventory: Inventory) -> tuple[Item, ...]:
    """The number and size of an array's stored chunks, in words."""
    kind = "shard" if array.shards is not None else "chunk"
    items = [Item("Grid", f"{strings.shape(inventory.grid)}, {strings.counted(inventory.total, kind)}")]
    if not inventory.known:
        return tuple(items)
    share = strings.percent(inventory.present / inventory.total) if inventory.total else "nothing to store"
    items.append(Item("Stored", f"{strings.count(inventory.present)} ({share})"))
    if inventory.absent:
        items.append(Item("Not stored", f"{strings.count(inventory.absent)}, which read as the fill value"))
    if inventory.nbytes is not None:
        items.append(Item("Size", f"{strings.size(inventory.nbytes)} for {strings.size(array.nbytes)} of values"))
        if inventory.nbytes:
            items.append(Item("Ratio", ratio(array.nbytes, inventory.nbytes)))
    spread = inventory.spread()
    if spread is not None:
        smallest, median, largest = map(strings.size, spread)
        alike = spread[0] == spread[-1]
        items.append(Item(f"Each {kind}", smallest if alike else f"{smallest} to {largest}, half below {median}"))
    if inventory.outside:
        items.append(Item("Beyond the array", f"{strings.counted(inventory.outside, kind)}, which are never read"))
    return tuple(items)
