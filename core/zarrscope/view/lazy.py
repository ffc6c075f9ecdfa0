"""A lazy view of an array: indexing gives another view, only `__array__` reads, through the shared chunk loader.

It is for viewers that slice in two steps (napari: `data[:, y0:y1, x0:x1]` over all of z, then one plane): the first
step reads nothing, the second reads the chunks of one plane. Computing with it (`view + 1`, `view.max(axis=0)`,
`np.where(view > 5, view, 0)`) gives a dask array, which is lazy as well: see lazy_math.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.errors.visible import visible
from zarrscope.view.lazy_calls import as_result, is_lazy, member, plain
from zarrscope.view.lazy_math import Computing
from zarrscope.view.lazy_members import MemoryOrder

if TYPE_CHECKING:
    import numpy.typing as npt
    from numpy.typing import NDArray

    from zarrscope.model.selection import Edges
    from zarrscope.nodes.array import Array

AxisIndex = int | range | np.ndarray[Any, Any]
"""The elements that a view takes from one axis: one index, a range, or a list of indices in any order."""
ShownAs = tuple[np.dtype[Any], Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]]
"""(data type of converted values, function that converts values after reading)."""


class LazyView(Computing):
    """A part of an array that is read only when its values are asked for.

    It shows the part of `array` that `axes` select (None: all of it), and reads through the loader that all viewers of
    a process share.

    `layout`: for each axis of the view, the axis of the array that it shows, or None for a new axis of length one.
    Without `layout`, the view has the axes of the array in their order.
    """

    def __init__(
        self,
        array: Array,
        axes: tuple[AxisIndex, ...] | None = None,
        shown: ShownAs | None = None,
        layout: tuple[int | None, ...] | None = None,
    ) -> None:
        # Hides the name "zarrscope…": napari treats any object from a module named "zarr…" as an array of zarr-python.
        self.__module__ = "lazy view"
        self._array = array
        self._axes: tuple[AxisIndex, ...] = tuple(range(n) for n in array.shape) if axes is None else axes
        kept = tuple(i for i, axis in enumerate(self._axes) if not isinstance(axis, int))
        self._layout: tuple[int | None, ...] = kept if layout is None else layout
        self.shape = tuple(1 if i is None else len(self._indices(i)) for i in self._layout)
        self._shown = shown
        self.dtype: np.dtype[Any] = array.dtype if shown is None else shown[0]
        self.ndim = len(self.shape)
        self.size = prod(self.shape)
        self._in_c_order = False

    def _indices(self, axis: int) -> range | np.ndarray[Any, Any]:
        found = self._axes[axis]
        assert not isinstance(found, int)
        return found

    @property
    def array(self) -> Array:
        """The array that the view reads."""
        return self._array

    @property
    def chunks(self) -> tuple[int, ...]:
        """Elements per chunk along each axis of the view. Viewers align their tiles to chunks."""
        return tuple(1 if i is None else self._array.chunks[i] for i in self._layout)

    @property
    def nbytes(self) -> int:
        """The size in bytes that the values would take in memory; nothing is read."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a view without axes")
        return self.shape[0]

    # ------------------------------------------------------------------ parts of it
    def __getitem__(self, selection: object) -> Any:
        """Integers and slices (negative, stepped), `...`, `None`, and one list or mask of an axis give a view; nothing
        is read. A mask over all axes gives a lazy dask array; several lists at once, a list of lists, and a mask over
        some of several axes, are read immediately.

        Raises IndexError as numpy does.
        """
        items: list[Any] = list(selection) if isinstance(selection, tuple) else [selection]
        items = [np.asarray(item) if is_lazy(item) and item.dtype.kind in "iu" else item for item in items]
        if any(isinstance(item, bool | np.bool_) for item in items):
            return self[None] if items == [True] else np.asarray(self)[tuple(items)]
        items = self._without_masks(items)
        if any(_is_mask(item) for item in items):
            return as_result(self.lazy()[tuple(map(plain, items))])
        items = self._filled(items)
        lists = [n for n, item in enumerate(items) if _is_list(item)]
        if len(lists) > 1 or any(np.ndim(items[n]) > 1 for n in lists):
            return self._points(items, lists)
        axes, layout = list(self._axes), list[int | None]()
        remaining = iter(enumerate(self._layout))
        for item in items:
            if item is None:
                layout.append(None)
                continue
            place, axis = next(remaining)
            chosen = _chosen(item, place, range(1) if axis is None else self._indices(axis))
            if axis is None:
                # an empty list, or one that repeats the only element of a new axis
                if not isinstance(chosen, int) and len(chosen) != 1:
                    return as_result(self.lazy()[tuple(items)])
                layout += [] if isinstance(chosen, int) else [None]
            else:
                axes[axis] = chosen
                layout += [] if isinstance(chosen, int) else [axis]
                if _is_list(item) and _apart(items):  # by numpy's rule, the axis of the list then comes first
                    layout = [layout.pop(), *layout]
        return self._like(tuple(axes), self._shown, tuple(layout))

    def _like(self, axes: tuple[AxisIndex, ...], shown: ShownAs | None, layout: tuple[int | None, ...]) -> LazyView:
        """Another view of the same array."""
        return LazyView(self._array, axes, shown, layout)

    def _filled(self, items: list[Any]) -> list[Any]:
        """The items of an index, with one for each axis: an ellipsis becomes full slices. None, a new axis, stays."""
        count = sum(item is not None and item is not Ellipsis for item in items)
        if count > self.ndim:
            raise IndexError(f"too many indices: the view has {self.ndim} axes, {count} were indexed")
        dots = [n for n, item in enumerate(items) if item is Ellipsis]
        if len(dots) > 1:
            raise IndexError("an index can only have a single ellipsis ('...')")
        at = dots[0] if dots else len(items)
        return [*items[:at], *[slice(None)] * (self.ndim - count), *items[at + 1 :]]

    def _without_masks(self, items: list[Any]) -> list[Any]:
        """The items of an index, in which a mask over several axes becomes the positions that it names, a list for each
        of these axes. A mask over all axes stays: it gives a lazy result."""
        widths = [int(np.ndim(item)) if _is_wide(item) else item is not None and item is not ... for item in items]
        if max(widths, default=0) < 2 or (len(items) == 1 and widths[0] == self.ndim):
            return items
        found: list[Any] = []
        axis = 0
        for item, width in zip(items, widths, strict=True):
            if width < 2:
                found.append(item)
                axis += self.ndim - sum(widths) if item is ... else width
                continue
            mask, covered = np.asarray(item), self.shape[axis : axis + width]
            if mask.shape != covered:
                raise IndexError(f"a mask of {mask.shape} does not fit the axes of {covered} that it covers")
            found += mask.nonzero()
            axis += width
        return found

    def _points(self, items: list[Any], lists: list[int]) -> NDArray[Any]:
        """Indexes with several lists: reads every position that an item names along its axis, then selects the points
        with numpy, beside which integers count as lists."""
        outer: Any = self
        picked = list(items)
        place = 0
        for n, item in enumerate(items):
            if item is None:
                continue
            before = (slice(None),) * place
            if n in lists:
                found, inverse = np.unique(_positions(item, self.shape[place]), return_inverse=True)
                outer = outer[(*before, found)]
                picked[n] = inverse.reshape(np.shape(item) if np.asarray(item).dtype.kind != "b" else -1)
            elif isinstance(item, slice):
                outer, picked[n] = outer[(*before, item)], slice(None)
            else:
                at = range(self.shape[place])[item]
                outer, picked[n] = outer[(*before, slice(at, at + 1))], 0
            place += 1
        values: NDArray[Any] = np.asarray(outer)[tuple(picked)]
        return values

    def transpose(self, *order: Any) -> LazyView:
        """A view with its axes in another order; reads nothing."""
        if len(order) == 1 and (order[0] is None or isinstance(order[0], Sequence | np.ndarray)):
            (order,) = order
        wanted = tuple(reversed(range(self.ndim))) if not order else tuple(int(i) % self.ndim for i in order)
        if sorted(wanted) != list(range(self.ndim)):
            raise ValueError(f"axes {order} do not match a view of {self.ndim} axes")
        return self._like(self._axes, self._shown, tuple(self._layout[i] for i in wanted))

    transposed = transpose  # marks a class whose own members move axes

    def swapaxes(self, one: int, other: int) -> LazyView:
        """A view with two axes exchanged; reads nothing."""
        order = list(range(self.ndim))
        order[one], order[other] = order[other], order[one]
        return self.transpose(order)

    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> Any:
        """A view without its axes of length one, or without those that `axis` names; reads nothing. Raises ValueError
        for a longer one."""
        named = range(self.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        chosen = {range(self.ndim)[at] for at in named if axis is not None or self.shape[at] == 1}
        if any(self.shape[at] != 1 for at in chosen):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
        return self[tuple(0 if at in chosen else slice(None) for at in range(self.ndim))]

    def view(self, *types: Any) -> Any:
        """Reinterprets the bytes of the values as another type, like the method of numpy's arrays.

        Booleans as uint8, the case that napari needs, give a LazyView.
        """
        if self.dtype == bool and types and np.dtype(types[0]) == np.uint8:
            return self.mapped(np.uint8, partial(_converted, self._shown, np.dtype(np.uint8)))
        return member(self, "view")(*types)

    @property
    def T(self) -> LazyView:
        """The view with its axes in reverse order; nothing is read."""
        return self.transpose()

    def on(self, array: Array) -> LazyView:
        """The same view of an array that was opened again. Raises ValueError if its shape differs."""
        if array.shape != self._array.shape:
            raise ValueError(f"{array.path} now has another shape: {array.shape}")
        shown = self._shown if array.dtype == self._array.dtype else None
        return LazyView(array, self._axes, shown, self._layout)

    def mapped(
        self, dtype: npt.DTypeLike, function: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]
    ) -> LazyView:
        """The same view with `function` applied to the values that are read; it is elementwise and returns values of
        `dtype`."""
        return self._like(self._axes, (np.dtype(dtype), function), self._layout)

    def astype(self, dtype: npt.DTypeLike, order: MemoryOrder = "K", **_: object) -> Any:
        """A view whose values are converted after reading. An order in memory, "C" or "F", gives a numpy array."""
        wanted = np.dtype(dtype)
        if order in ("C", "F"):
            return np.array(self, wanted, order=order)
        return self if wanted == self.dtype else self.mapped(wanted, partial(_converted, self._shown, wanted))

    # ------------------------------------------------------------------ reading
    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("a stored array cannot become a numpy array without a copy")
        values = self._read()
        if self._shown is not None:
            values = self._shown[1](values)
        kept = [i for i in self._layout if i is not None]
        values = values.transpose(np.argsort(np.argsort(kept)))
        values = (
            values[tuple(None if i is None else slice(None) for i in self._layout)] if None in self._layout else values
        )
        values = values if dtype is None else values.astype(dtype, copy=False)
        return np.ascontiguousarray(values).reshape(self.shape) if self._in_c_order else values

    def _read(self) -> np.ndarray[Any, Any]:
        """The values, with the axes in the array's order."""
        from zarrscope.view.loader import shared

        if any(isinstance(axis, np.ndarray) for axis in self._axes):
            index = tuple(axis if isinstance(axis, np.ndarray) else _index(axis) for axis in self._axes)
            return np.asarray(self._array.oindex[index])
        return np.asarray(shared().read(self._array, tuple(map(_index, self._axes))))

    def edges(self, axis: int) -> list[int]:
        """The positions at which chunks begin along an axis of the view, then the axis' length: bounds for reading
        piece by piece."""
        source = self._layout[axis]
        indices = range(1) if source is None else self._indices(source)
        if source is None or not len(indices):
            return [0, len(indices)]
        if isinstance(indices, np.ndarray):
            return [*range(0, len(indices), max(1, self._array.chunks[source])), len(indices)]
        return _edges(self._array.edges(source), indices)

    def __setitem__(self, selection: object, values: npt.ArrayLike) -> None:
        raise TypeError(f"{self!r} is read-only: change a copy, np.asarray(view)")

    def __deepcopy__(self, _: object) -> LazyView:
        """Returns the view itself, because it is immutable."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return LazyView, (self._array, self._axes, self._shown, self._layout)

    def __repr__(self) -> str:
        return visible(f"<LazyView of {self._array.path} {self.shape} {self.dtype}>")


def _index(axis: AxisIndex) -> int | slice:
    if isinstance(axis, int):
        return axis
    if not len(axis):
        return slice(0, 0)
    assert isinstance(axis, range)
    stop = axis.stop if axis.stop >= 0 else None
    return slice(axis.start, stop, axis.step)


def _edges(edges: Edges, indices: range) -> list[int]:
    """The positions, within ascending or descending indices, at which chunks begin."""
    found, at, length = [0], 0, len(indices)
    while True:
        begin, end = edges.span(edges.chunk_of(indices[at]))
        left = end - 1 - indices[at] if indices.step > 0 else indices[at] - begin
        at += left // abs(indices.step) + 1
        found.append(min(at, length))
        if at >= length:
            return found


def _converted(shown: ShownAs | None, dtype: np.dtype[Any], values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return (values if shown is None else shown[1](values)).astype(dtype)


# ---------------------------------------------------------------------- indices
def _is_wide(item: Any) -> bool:
    """Whether an item of an index is a mask over several axes."""
    return (is_lazy(item) or isinstance(item, np.ndarray)) and item.dtype.kind == "b" and item.ndim > 1


def _is_mask(item: object) -> bool:
    """Whether an item of an index is a mask that does not have exactly one axis, or a lazy array."""
    if is_lazy(item):
        return True
    return isinstance(item, np.ndarray) and item.dtype.kind == "b" and item.ndim != 1


def _is_list(item: object) -> bool:
    return isinstance(item, list | range) or (isinstance(item, np.ndarray) and item.ndim > 0)


def _apart(items: list[Any]) -> bool:
    """Whether a slice stands between two integers or lists of an index, as in a[0, :, [1, 2]]: numpy then puts the axes
    of the lists first."""
    given = [n for n, item in enumerate(items) if item is not None and not isinstance(item, slice)]
    return given[-1] - given[0] >= len(given)


def _positions(item: npt.ArrayLike, length: int) -> np.ndarray[Any, Any]:
    """The positions that a list or a mask selects, counted from the front."""
    given = np.asarray(item)
    if given.dtype.kind == "b":
        if given.shape != (length,):
            raise IndexError(f"a mask of {given.shape} does not fit an axis of {length}")
        return np.flatnonzero(given)
    if not given.size:
        return np.zeros(given.shape, np.intp)
    if given.dtype.kind not in "iu":
        raise IndexError("a list of positions holds integers or booleans")
    if given.min() < -length or given.max() >= length:
        raise IndexError(f"a list names a position that an axis of {length} does not have")
    return np.where(given < 0, given + length, given).astype(np.intp)


def _chosen(item: Any, place: int, indices: range | np.ndarray[Any, Any]) -> AxisIndex:
    """Applies one item of an index to the `indices` that the view has along the axis number `place`."""
    if isinstance(item, slice):
        return indices[item]
    if _is_list(item):
        positions = _positions(item, len(indices))
        return np.asarray(indices)[positions] if len(indices) else positions
    try:
        return int(indices[item.__index__()])
    except AttributeError:
        raise IndexError(f"axis {place} takes integers, slices, lists and masks, not {type(item).__name__}") from None
    except IndexError:
        raise IndexError(f"index {item} is out of bounds for axis {place} with size {len(indices)}") from None
