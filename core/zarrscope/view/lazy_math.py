"""Makes a lazy view compute like a numpy array: operators, numpy's functions, methods such as `max`.

The results are dask arrays, which read block by block when their values are asked for; lazy_calls computes them. If
dask is not installed (only napari and the extra "dask" install it), or lacks a function of numpy or one of its
arguments, the values are read and numpy computes the result.
The protocols are NEP 13 and 18: https://numpy.org/neps/nep-0018-array-function-protocol.html
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.runtime.tuning import LAZY_BLOCK_BYTES
from zarrscope.view.lazy_calls import (
    METHODS,
    VALUE_METHODS,
    call_function,
    call_ufunc,
    dask_array,
    member,
)
from zarrscope.view.lazy_members import ArrayMembers, PrintedAsDask

if TYPE_CHECKING:
    import numpy.typing as npt
    from dask.array import Array as DaskArray


class _OnType:
    """A special method that numpy finds, because it looks on the type, and that `hasattr(view, …)` does not find.

    `dask.array.from_array` turns its blocks into numpy arrays only if they have neither `__array_function__` nor
    `__array_ufunc__`. Otherwise it would take a part of the view for values, which compute to dask arrays again:
    `compute()` would give no numbers.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __get__(self, instance: object, owner: type) -> Callable[..., Any]:
        if instance is not None:
            raise AttributeError(self._function.__name__)
        return self._function


class Computing(ArrayMembers, metaclass=PrintedAsDask):
    """Gives an array class numpy's operators and functions, computed when needed.

    The class must have shape, dtype, `edges(axis)` and `__array__`.
    """

    @abstractmethod
    def edges(self, axis: int) -> list[int]:
        """The positions at which chunks begin along an axis, then the length of the axis."""

    @abstractmethod
    def __getitem__(self, selection: object) -> Computing:
        """A part of the view, lazy if possible."""

    @abstractmethod
    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """Reads the values and returns them as a numpy array."""

    def lazy(self) -> DaskArray | np.ndarray[Any, Any]:
        """The view as a dask array whose blocks are whole chunks. Without dask, reads all values into a numpy array."""
        return self._dask if self._dask is not None else np.asarray(self)

    @cached_property
    def _dask(self) -> DaskArray | None:
        return self._in_dask()

    def _in_dask(self) -> DaskArray | None:
        da = dask_array()
        if da is None:
            return None
        lazy: DaskArray = da.from_array(
            _Reading(self),
            chunks=_blocks([self.edges(axis) for axis in range(self.ndim)], self.dtype.itemsize),
            name=False,  # else dask pickles the view to compute a name
            fancy=False,
            meta=np.empty((0,) * self.ndim, self.dtype),
        )
        return lazy

    def to_dask_array(self) -> DaskArray | np.ndarray[Any, Any]:
        """The method that `dask.array.asarray` calls on this object."""
        return self.lazy()

    @_OnType
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return call_ufunc(ufunc, method, inputs, options)

    @_OnType
    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Iterable[type],
        inputs: Iterable[Any],
        options: Mapping[str, Any],
    ) -> Any:
        return call_function(function, inputs, options)

    def __getattr__(self, name: str) -> Any:
        """Provides the methods of an array that are listed in lazy_calls."""
        if name not in METHODS and name not in VALUE_METHODS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        return member(self, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *METHODS, *VALUE_METHODS]


class _Reading:
    """A view whose parts are read as arrays: otherwise dask would mistake the view itself for values and compute with
    it."""

    def __init__(self, view: Computing) -> None:
        self.view, self.shape, self.dtype, self.ndim = view, view.shape, view.dtype, view.ndim

    def __getitem__(self, selection: object) -> np.ndarray[Any, Any]:
        return np.asarray(self.view[selection])


def _blocks(edges: list[list[int]], itemsize: int) -> tuple[tuple[int, ...], ...]:
    """Sizes of blocks along each axis: whole chunks, as many as fit into LAZY_BLOCK_BYTES, the last axis first."""
    sizes = [[b - a for a, b in pairwise(each)] for each in edges]
    block = prod((max(each, default=0) for each in sizes), start=itemsize)
    for axis in reversed(range(len(sizes))):
        largest = max(sizes[axis], default=0)
        merged = min(len(sizes[axis]), LAZY_BLOCK_BYTES // max(1, block))
        if merged > 1:
            sizes[axis] = [sum(sizes[axis][at : at + merged]) for at in range(0, len(sizes[axis]), merged)]
            block = block // max(1, largest) * max(sizes[axis])
    return tuple(map(tuple, sizes))
