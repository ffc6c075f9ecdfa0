"""Snapshots of the map of chunks, and sentences with its counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zarrscope.check.inventory import Inventory
from zarrscope.model.dtype import Fill
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


BARS = "▁▂▃▄▅▆▇█"
"""The characters of a small diagram, the lowest for none."""
_ASCII_BARS = str.maketrans(BARS, "_.:-=+*#")


@frozen
class ChosenPart:
    """A part of the details of a chunk under a title of its own: lines with labels, or text in a fixed font."""

    title: str
    items: tuple[Item, ...] = ()
    text: str = ""


@frozen
class Chosen:
    """The chunk (or shard) that was chosen on the map."""

    index: ChunkIndex
    title: str
    items: tuple[Item, ...]
    sentence: str = ""
    """The result of checking the chunk, or the reason why it could not be read."""
    failed: bool = False
    parts: tuple[ChosenPart, ...] = ()
    """The size after each codec, and the first bytes, once they have been read."""


@dataclass(frozen=True, eq=False)
class InnerMap:
    """The chunks in the chosen shard, along the axes of the map: `cells` and `shades` as in ChunkMap."""

    title: str
    cells: NDArray[np.uint8]
    shades: NDArray[np.float32]
    fixed: tuple[tuple[str, int, int, int], ...]
    """(axis, chunk, first and last chunk of the shard along it) for each axis that is not shown."""
    chosen_cell: tuple[int, int] | None = None
    step: tuple[int, int] = (1, 1)
    """One chunk per cell."""
    proportion: float = 1.0
    """A cell is square."""


@dataclass(frozen=True, eq=False)
class ChunkMap:
    """The map for a host to paint. `cells`: an array (rows, columns) of states; `shades`: the strength of each
    cell's colour, from 0 to 1."""

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
    all_stored: bool = False
    """Whether it is known that every chunk is stored: then `show_missing` has nothing to show."""
    inner: InnerMap | None = None
    """The chunks in the chosen shard, once its index has been read."""
    pictured: bool = False
    """Whether the node has a picture, so that `show_in_image` shows the chosen chunk there."""
    colored_by: str = "size"
    """The value by which the cells are coloured, an id of COLORINGS."""
    scale: tuple[tuple[float, str], ...] = ()
    """(shade, that value in words) for the least shade, a middle one if its words differ, and the greatest; empty if
    all cells have one value."""
    proportion: float = 1.0
    """The height of a cell, as a multiple of its width: that of a chunk, unless the cells would be too narrow."""


SLIMMEST = 3.0
"""The most times that a cell of the map is as long as it is wide."""


def proportion(array: Array, axes: tuple[int, int], step: tuple[int, int]) -> float:
    """The height of a cell of `step` chunks along `axes` (-1: none), as a multiple of its width. The map of a whole
    plane then has the plane's own shape."""
    if min(axes) < 0:
        return 1.0
    grid, shape = array.metadata.grid, array.shape
    spans = [grid.edges(axis, shape[axis]).span(0) for axis in axes if shape[axis]]
    if len(spans) < 2:
        return 1.0
    high, wide = ((stop - start) * by for (start, stop), by in zip(spans, step, strict=True))
    return min(max(high / max(wide, 1), 1 / SLIMMEST), SLIMMEST)


NONE_MISSING = "Every chunk of this array is stored."
NOT_PICTURED = "This node has no picture of a plane."


def missing_reason(fill: Fill, kind: str) -> str:
    """Why a chunk is not in the store, as far as the store tells."""
    value, lost = strings.exact(fill.value), "lost, as in a copy that was stopped"
    if not fill.defined:
        return f"The array states no fill value: {value} is shown. This {kind.lower()} was never written, or is {lost}."
    usual = f"Programs leave out a {kind.lower()} in which every value is the fill value {value}."
    return f"{usual} One that is {lost}, looks the same: compare with the original."


def bars_of(many: Sequence[int]) -> str:
    """Numbers as bars of characters: the lowest for 0, a higher one for every other number."""
    most = max(many, default=0)
    return "".join(BARS[-(-each * (len(BARS) - 1) // most)] for each in many) if most else ""


def size_text(array: Array, stored: int, nbytes: int, packed: str = "") -> str:
    """ "1.4 MiB for 4 MiB of values". The values of a type of varying length have no size before they are decoded."""
    told = f" for {strings.size(nbytes)} of values{packed}" if array.metadata.dtype.itemsize else ""
    return f"{strings.size(stored)}{told}"


def share_text(part: int, whole: int) -> str:
    """ "6 %"; neither "0 %" of some nor "100 %" of nearly all: one chunk that is missing among many is told."""
    if 0 < part < whole and not 0.005 <= part / whole < 0.995:
        return "under 1 %" if part < whole / 2 else "over 99 %"
    return strings.percent(part / whole)


def counts(array: Array, inventory: Inventory) -> tuple[Item, ...]:
    """The number and size of an array's stored chunks, in words."""
    kind = "shard" if array.shards is not None else "chunk"
    counted = strings.counted(inventory.total, kind)  # along one axis the grid is this count
    grid = f"{strings.shape(inventory.grid)}, {counted}" if len(inventory.grid) > 1 else counted
    items = [Item("Grid", grid)]
    if not inventory.known:
        return tuple(items)
    share = share_text(inventory.present, inventory.total) if inventory.total else "nothing to store"
    items.append(Item("Stored", f"{strings.count(inventory.present)} ({share})"))
    if inventory.absent:
        items.append(Item("Not stored", f"{strings.count(inventory.absent)}, which read as the fill value"))
    if inventory.nbytes is not None:
        items.append(Item("Size", size_text(array, inventory.nbytes, array.nbytes)))
        if inventory.nbytes and array.metadata.dtype.itemsize:
            items.append(Item("Ratio", ratio(array.nbytes, inventory.nbytes)))
    spread = inventory.spread()
    if spread is not None:
        smallest, median, largest = map(strings.size, spread)
        alike = smallest == largest
        half = f", half below {median}" if median not in (smallest, largest) else ""
        items.append(Item(f"Each {kind}", smallest if alike else f"{smallest} to {largest}{half}"))
        if not alike and (bars := bars_of(inventory.histogram())):
            items.append(Item("Sizes", bars, f"How many are how large, from {smallest} to {largest}"))
    if inventory.outside:
        items.append(Item("Beyond the array", f"{strings.counted(inventory.outside, kind)}, which are never read"))
    return tuple(items)


def map_text(state: ChunkMap, *, ascii_bars: bool = False) -> str:
    """The map as lines of text: the counts, then the chosen chunk, which a large map would push out of sight, then a
    character of SIGNS for each cell. `ascii_bars`: draws bars of ASCII, for a terminal that lacks the others."""
    shown = [state.items]
    if state.chosen is not None:
        shown += [state.chosen.items, *(part.items for part in state.chosen.parts)]
    width = max((len(item.label) for items in shown for item in items), default=0)

    def rows(items: Iterable[Item]) -> list[str]:
        return [f"{item.label:<{width}}  {drawn(item.text)}" for item in items]

    def drawn(text: str) -> str:
        return text.translate(_ASCII_BARS) if ascii_bars and set(text) <= set(BARS) else text

    lines = rows(state.items)
    if state.sentence:
        lines.append(state.sentence)
    chosen = state.chosen
    if chosen is not None:
        lines += ["", chosen.title, *rows(chosen.items), chosen.sentence]
        for part in chosen.parts:
            lines += ["", part.title, *rows(part.items), *part.text.splitlines()]
    if state.inner is not None:
        where = ", ".join(f"{name} {chunk}" for name, chunk, _, _ in state.inner.fixed)
        lines += ["", strings.joined(state.inner.title, where)]
        lines += ["".join(SIGNS[cell] for cell in line) for line in state.inner.cells]
    if state.cells is not None and state.cells.size:
        where = ", ".join(f"{name} {chunk}" for name, chunk, _ in state.fixed)
        axes = [f"{state.row_axis} down"] if state.row_axis else []
        axes += [f"{state.column_axis} across"] if state.column_axis else []
        lines += ["", strings.joined(", ".join(axes), where)]
        lines += ["".join(SIGNS[cell] for cell in line) for line in state.cells]
        used = [f"{SIGNS[code]} {LEGEND[code]}" for code in range(len(LEGEND)) if (state.cells == code).any()]
        lines += ["", "   ".join(used)]
    return "\n".join(lines).strip() + "\n"
