"""Indexing by lists and masks, and by whole chunks.

`array.oindex` takes positions along each axis, `array.vindex` takes single points; `array[...]` passes an index with
lists on to one of them (`by_lists`). `array.blocks` takes the numbers of chunks.

The positions are grouped by chunk (model/scattered.py). Reading goes group by group and reads the smallest box that
contains the group's positions. Writing changes each chunk once.
"""

from __future__ import annotations

from itertools import product
from types import EllipsisType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from zarrscope.model.scattered import CoordinateSelection, OrthogonalSelection, grouped
from zarrscope.model.selection import Edges, Selection, select

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zarrscope.model.dtype import Element
    from zarrscope.nodes.stored_array import StoredArray


class OrthogonalIndexer:
    """`oindex[[0, 5], :, mask]`: an integer, a slice, a list of integers or a mask for each axis.

    Values are broadcast as in numpy. An element that is named twice keeps the last value.

    Parameters
    ----------
    array
        The array to read and write.

    Raises
    ------
    IndexError
        The index does not fit the array.
    ValueError
        The values cannot be broadcast to the elements.
    ZarrscopeError
        The same errors as reading and writing by `array[...]`.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> a = zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=(3, 4), dtype="u1")
    >>> a.oindex[[0, 2], [1, 3]] = [[1, 2], [3, 4]]
    >>> a[...].tolist()
    [[0, 1, 0, 2], [0, 0, 0, 0], [0, 3, 0, 4]]
    >>> a.oindex[[2, 0], 1].tolist()
    [3, 1]
    """

    def __init__(self, array: StoredArray) -> None:
        self._array = array

    def __getitem__(self, index: object) -> NDArray[Any] | Element:
        array = self._array
        parts, axes = self._axes(index)
        out = np.empty([len(each) for each in axes], array.dtype)
        groups = [
            [_AxisPart(part, None, np.arange(len(each)))]
            if isinstance(part, slice)
            else _parts(each, array.edges(axis))
            for axis, (part, each) in enumerate(zip(parts, axes, strict=True))
        ]
        for chosen in product(*groups) if out.size else ():
            block = array.read(select(tuple(each.read for each in chosen), array.shape))
            for axis, each in enumerate(chosen):
                if each.within is not None:
                    block = np.take(block, each.within, axis=axis)
            out[np.ix_(*(each.members for each in chosen))] = block
        return out[tuple(0 if _is_integer(part) else slice(None) for part in parts)]

    def __setitem__(self, index: object, values: ArrayLike) -> None:
        parts, axes = self._axes(index)
        shape = tuple(len(each) for part, each in zip(parts, axes, strict=True) if not _is_integer(part))
        if not axes:
            self._array.write(select((), ()), values)
        else:
            self._array.write(OrthogonalSelection(axes, shape, all(map(_is_integer, parts))), values)

    def _axes(self, index: object) -> tuple[tuple[Any, ...], list[NDArray[np.intp]]]:
        """The part of the index for each axis, and the positions that it selects. Raises IndexError."""
        shape, parts = self._array.shape, index if isinstance(index, tuple) else (index,)
        parts = _without_ellipsis(parts, len(shape) - sum(part is not Ellipsis for part in parts))
        return parts, [_positions(part, axis, n) for axis, (part, n) in enumerate(zip(parts, shape, strict=True))]


class PointIndexer:
    """`vindex[[0, 5], [1, 2]]`: a list of integers for each axis, broadcast together. A mask stands for the positions
    where it is true; it takes as many axes as it has.

    Values are broadcast as in numpy. An element that is named twice keeps the last value.

    Parameters
    ----------
    array
        The array to read and write.

    Raises
    ------
    IndexError
        The index does not fit the array.
    ValueError
        The values cannot be broadcast to the points.
    ZarrscopeError
        The same errors as reading and writing by `array[...]`.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> a = zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=(3, 4), dtype="u1")
    >>> a.vindex[[0, 2], [1, 3]] = [5, 6]
    >>> a[...].tolist()
    [[0, 5, 0, 0], [0, 0, 0, 0], [0, 0, 0, 6]]
    >>> a.vindex[a[...] > 0].tolist()
    [5, 6]
    """

    def __init__(self, array: StoredArray) -> None:
        self._array = array

    def __getitem__(self, index: object) -> NDArray[Any] | Element:
        array = self._array
        points, shape = self._points(index)
        if not points:
            return array.read(select((), ())).reshape(shape)[()]
        out = np.empty(len(points[0]), array.dtype)
        for piece in CoordinateSelection(points, shape).chunk_selections(
            [array.edges(axis) for axis in range(len(points))]
        ):
            members = piece.target[0]
            own = [each[members] for each in points]
            box = tuple(slice(int(np.min(each)), int(np.max(each)) + 1) for each in own)
            out[members] = array.read(select(box, array.shape))[tuple(each - np.min(each) for each in own)]
        return out.reshape(shape)[()]

    def __setitem__(self, index: object, values: ArrayLike) -> None:
        points, shape = self._points(index)
        if not points:
            self._array.write(select((), ()), values)
        else:
            self._array.write(CoordinateSelection(points, shape, not shape), values)

    def _points(self, index: object) -> tuple[list[NDArray[np.intp]], tuple[int, ...]]:
        """The flat positions along each axis, and the shape of the broadcast lists. Raises IndexError."""
        array, given = self._array, index if isinstance(index, tuple) else (index,)
        parts: list[Any] = []
        for part in given:
            mask = np.asarray(part)
            if mask.dtype != bool:
                parts.append(part)
                continue
            axes = array.shape[len(parts) : len(parts) + mask.ndim]
            if not mask.ndim or mask.shape != axes:
                raise IndexError(f"the mask has the shape {mask.shape}, and the axes it stands for {axes}")
            parts += np.nonzero(mask)
        if len(parts) != len(array.shape) or any(isinstance(p, slice | EllipsisType) or p is None for p in parts):
            raise IndexError("vindex takes one list of integers for each axis, or a mask; oindex takes slices too")
        try:
            lists = np.broadcast_arrays(*(np.asarray(part) for part in parts))
        except ValueError as error:
            raise IndexError(str(error)) from None
        shape = lists[0].shape if lists else ()
        return [_positions(each.ravel(), axis, array.shape[axis]) for axis, each in enumerate(lists)], shape


class BlockIndexer:
    """`blocks[1, 0:2]`: the elements of whole chunks, by a number or a slice of numbers along each axis.

    In a sharded array a block is a shard, as in zarr-python: the part that is written as a whole.

    Parameters
    ----------
    array
        The array to read and write.

    Raises
    ------
    IndexError
        The grid has no such chunk, or a slice has a step.
    ValueError
        The values cannot be broadcast to the elements.
    ZarrscopeError
        The same errors as reading and writing by `array[...]`.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> a = zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=(3, 4), chunks=(2, 2), dtype="u1")
    >>> a.blocks[0, 1] = 7
    >>> a[...].tolist()
    [[0, 0, 7, 7], [0, 0, 7, 7], [0, 0, 0, 0]]
    >>> a.blocks[1].shape
    (1, 4)
    """

    def __init__(self, array: StoredArray) -> None:
        self._array = array

    def __getitem__(self, index: object) -> NDArray[Any] | Element:
        return self._array.read(self._elements(index))

    def __setitem__(self, index: object, values: ArrayLike) -> None:
        self._array.write(self._elements(index), values)

    def _elements(self, index: object) -> Selection:
        """The elements of the chunks that an index selects from the grid. Raises IndexError."""
        grid, shape = self._array.metadata.grid, self._array.shape
        chosen = select(index, grid.grid_shape(shape))
        if len(chosen.shape) > len(shape) or any(part.step != 1 for part in chosen.positions):
            raise IndexError("blocks takes whole numbers and slices without a step")
        parts = []
        for axis, chunks in enumerate(chosen.positions):
            edges = grid.edges(axis, shape[axis])
            parts.append(slice(edges.span(chunks[0])[0], edges.span(chunks[-1])[1]) if chunks else slice(0, 0))
        return select(tuple(parts) or ..., shape)


def by_lists(array: StoredArray, parts: tuple[Any, ...]) -> tuple[OrthogonalIndexer | PointIndexer, tuple[Any, ...]]:
    """The indexer for an index that contains lists, and the index to pass to it. The result is that of numpy.

    Lists without slices select points; one list among slices selects positions along its axis. Any other index raises
    IndexError, because `oindex` and numpy disagree about its result.
    """
    try:
        lists = [
            np.asarray(part)
            for part in parts
            if not isinstance(part, slice | EllipsisType) and part is not None and np.ndim(part)
        ]
    except ValueError as error:  # lists of different lengths within a list
        raise IndexError(str(error)) from None
    if any(part is None for part in parts):
        raise IndexError("newaxis does not go with lists and masks: read without it, then index the result")
    several = sum(each.ndim - 1 for each in lists if each.dtype == bool)
    rest = len(array.shape) - several - sum(part is not Ellipsis for part in parts)
    parts = _without_ellipsis(parts, rest)
    chosen = [i for i, part in enumerate(parts) if not isinstance(part, slice)]
    if len(chosen) == len(parts):
        return PointIndexer(array), parts
    adjacent = chosen[-1] - chosen[0] < len(chosen)
    if len(lists) <= 1 and adjacent:
        return OrthogonalIndexer(array), parts
    raise IndexError(
        "lists and slices are mixed in a way that has several meanings: oindex[...] selects every combination, "
        "vindex[...] single points"
    )


def _without_ellipsis(parts: tuple[Any, ...], rest: int) -> tuple[Any, ...]:
    """The parts of an index with `rest` slices of whole axes in place of the ellipsis, or at the end. Raises
    IndexError."""
    if rest < 0 or sum(part is Ellipsis for part in parts) > 1:
        raise IndexError(f"the index is too long for the array, or has two ellipses: {len(parts)} parts")
    at = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    return (*parts[:at], *[slice(None)] * rest, *parts[at + 1 :])


def _is_integer(part: object) -> bool:
    return not isinstance(part, slice) and np.asarray(part).ndim == 0


def _positions(part: object, axis: int, length: int) -> NDArray[np.intp]:
    """The positions that one part of an index selects. Raises IndexError."""
    if isinstance(part, slice):
        try:
            return np.arange(*part.indices(length))
        except (ValueError, TypeError) as error:
            raise IndexError(f"axis {axis}: {error}") from None
    given = np.atleast_1d(np.asarray(part))
    if given.size == 0 and given.dtype != bool:
        given = given.astype(np.intp)
    if given.ndim != 1 or given.dtype.kind not in "iub" or (isinstance(part, bool | np.bool_)):
        raise IndexError(f"axis {axis} takes an integer, a slice, a list of integers or a mask, not {part!r}")
    if given.dtype == bool:
        if len(given) != length:
            raise IndexError(f"the mask of axis {axis} is {len(given)} long, and the axis {length}")
        return np.flatnonzero(given)
    for bad in given[(given < -length) | (given >= length)][:1]:
        raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {length}")
    found = given.astype(np.intp)
    return np.where(found < 0, found + length, found)


class _AxisPart(NamedTuple):
    """The selected positions of one axis that are read together."""

    read: slice
    """The slice of the axis that is read."""
    within: NDArray[np.intp] | None
    """The selected positions in that slice; None if they are all of it."""
    members: NDArray[np.intp]
    """The indices of these positions in the result."""


def _parts(positions: NDArray[np.intp], edges: Edges) -> list[_AxisPart]:
    """One part for each chunk that is touched."""
    found = []
    for group in grouped(positions, edges):
        own = positions[group.members]
        low = int(np.min(own))
        found.append(_AxisPart(slice(low, int(np.max(own)) + 1), own - low, group.members))
    return found
