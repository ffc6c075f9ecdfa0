"""A lazy view of an array: indexing gives another view, only `__array__` reads, through the shared chunk loader.

For viewers that slice in two steps (napari: `data[:, y0:y1, x0:x1]` over all of z, then one plane): the first costs
nothing, the second reads one plane's chunks. DisplaySettings like an array: shape, dtype, ndim, size, chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.errors.visible import visible

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array

Axis = int | range
"""An index, or the indices that remain of an axis."""
Shown = tuple[np.dtype[Any], Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]]
"""The data type and the function that values are converted with after reading."""


class LazyView:
    """`array` as far as `axes` say; None: all of it. Reads through the loader that all viewers of a process share."""

    def __init__(self, array: Array, axes: tuple[Axis, ...] | None = None, shown: Shown | None = None) -> None:
        self._array = array
        self._axes: tuple[Axis, ...] = tuple(range(n) for n in array.shape) if axes is None else axes
        self._kept = tuple(i for i, axis in enumerate(self._axes) if isinstance(axis, range))
        self.shape = tuple(len(axis) for axis in self._axes if isinstance(axis, range))
        self._shown = shown
        self.dtype: np.dtype[Any] = array.dtype if shown is None else shown[0]
        self.ndim = len(self.shape)
        self.size = prod(self.shape)

    @property
    def chunks(self) -> tuple[int, ...]:
        """Elements per chunk along each remaining axis: viewers align their tiles to it."""
        return tuple(self._array.chunks[i] for i in self._kept)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a view without axes")
        return self.shape[0]

    def __getitem__(self, selection: Any) -> LazyView:
        """Integers and slices (negative, stepped), `...`; reads nothing. Raises IndexError as numpy does."""
        items = list(selection) if isinstance(selection, tuple) else [selection]
        if any(item is Ellipsis for item in items):
            at = next(i for i, item in enumerate(items) if item is Ellipsis)
            items[at : at + 1] = [slice(None)] * (self.ndim - len(items) + 1)
        if len(items) > self.ndim:
            raise IndexError(f"too many indices: the view has {self.ndim} axes, {len(items)} were indexed")
        axes = list(self._axes)
        for place, item in zip(self._kept, items, strict=False):
            kept = axes[place]
            assert isinstance(kept, range)
            axes[place] = kept[item if isinstance(item, slice) else int(item)]
        return LazyView(self._array, tuple(axes), self._shown)

    def mapped(self, dtype: Any, function: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> LazyView:
        """The same view with `function` of what is read: elementwise, and of values of `dtype`."""
        return LazyView(self._array, self._axes, (np.dtype(dtype), function))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        from zarrscope.view.loader import shared

        values = np.asarray(shared().read(self._array, tuple(_index(axis) for axis in self._axes)))
        if self._shown is not None:
            values = self._shown[1](values)
        return values if dtype is None else values.astype(dtype, copy=False)

    def astype(self, dtype: Any, copy: bool = True) -> np.ndarray[Any, Any]:
        return np.asarray(self).astype(dtype, copy=copy)

    def transpose(self, order: Any = None) -> np.ndarray[Any, Any]:
        return np.asarray(self).transpose(order)

    def __repr__(self) -> str:
        return visible(f"<LazyView of {self._array.path} {self.shape} {self.dtype}>")


def _index(axis: Axis) -> int | slice:
    if isinstance(axis, int):
        return axis
    if not len(axis):
        return slice(0, 0)
    stop = axis.stop if axis.stop >= 0 else None
    return slice(axis.start, stop, axis.step)
