"""Makes a lazy view compute like a numpy array: operators, numpy's functions, methods such as `max`.

The results are dask arrays, which read block by block when their values are asked for. If dask is not installed (only
napari and the extra "dask" install it), or lacks a function of numpy or one of its arguments, the values are read and
numpy computes the result. The protocols are NEP 13 and 18: https://numpy.org/neps/nep-0018-array-function-protocol.html
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from inspect import signature
from itertools import pairwise
from math import isnan, prod
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.errors import ZarrscopeError
from zarrscope.runtime.tuning import LAZY_BLOCK_BYTES

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


class Computing(np.lib.mixins.NDArrayOperatorsMixin, ABC):
    """Gives an array class numpy's operators and functions, computed when needed.

    The class must have shape, dtype, `edges(axis)` and `__array__`.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    ndim: int
    size: int

    @abstractmethod
    def edges(self, axis: int) -> list[int]:
        """The positions at which chunks begin along an axis, then the length of the axis."""

    @abstractmethod
    def __getitem__(self, selection: object) -> Computing:
        """A part of the view, lazy if possible."""

    @abstractmethod
    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """Reads the values and returns them as a numpy array."""

    __hash__ = object.__hash__  # must be set: a class whose `==` compares elements would not be hashable otherwise

    def lazy(self) -> DaskArray | np.ndarray[Any, Any]:
        """The view as a dask array whose blocks are whole chunks. Without dask, reads all values into a numpy array."""
        return self._dask if self._dask is not None else np.asarray(self)

    @cached_property
    def _dask(self) -> DaskArray | None:
        return self._in_dask()

    def _in_dask(self) -> DaskArray | None:
        da = _dask_array()
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
        return _apply(getattr(ufunc, method), inputs, options, known=method == "__call__")

    @_OnType
    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Iterable[type],
        inputs: Iterable[Any],
        options: Mapping[str, Any],
    ) -> Any:
        return _apply(function, inputs, options, known=_dask_has(function))

    def __bool__(self) -> bool:
        if self.size > 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous")
        return bool(np.asarray(self))

    def __contains__(self, value: object) -> bool:
        return bool(np.any(np.asarray(self) == value))

    def item(self, *index: int) -> Any:
        """One element as a Python object; reads it. Without an index, the view must have one element."""
        return np.asarray(self[index] if index else self).item()

    def tolist(self) -> Any:
        """The values as nested lists of Python objects; reads all of them."""
        return np.asarray(self).tolist()

    def copy(self, order: str = "C") -> np.ndarray[Any, Any]:
        """The values as an array that can be changed."""
        values: np.ndarray[Any, Any] = np.array(self, order=order)  # type: ignore[call-overload]  # as numpy's own copy
        return values

    @property
    def flat(self) -> np.flatiter[np.ndarray[Any, Any]]:
        """Reads all values, and iterates over the copy in C order; assigning to it changes only the copy."""
        return np.asarray(self).flat

    @property
    def itemsize(self) -> int:
        """The size of one element in bytes."""
        return self.dtype.itemsize

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __getattr__(self, name: str) -> Any:
        """Provides the methods of an array that are listed in `METHODS`."""
        if name not in METHODS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        return getattr(self.lazy(), name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *METHODS]


class _Reading:
    """A view whose parts are read as arrays: otherwise dask would mistake the view itself for values and compute with
    it."""

    def __init__(self, view: Computing) -> None:
        self.view, self.shape, self.dtype, self.ndim = view, view.shape, view.dtype, view.ndim

    def __getitem__(self, selection: object) -> np.ndarray[Any, Any]:
        return np.asarray(self.view[selection])


METHODS = frozenset(
    "all any argmax argmin clip compute conj cumprod cumsum dot flatten imag max mean min nonzero persist prod"
    " ravel rechunk real repeat reshape round squeeze std sum swapaxes trace var view".split()
)
"""The methods that a view provides. Without dask they are numpy's, which read the values at once."""


def is_lazy(value: object) -> bool:
    """Whether this is a lazy view or a dask array."""
    return isinstance(value, Computing) or (
        type(value).__module__.startswith("dask.") and type(value).__name__ == "Array"
    )


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


def _apply(function: Callable[..., Any], inputs: Iterable[Any], options: Mapping[str, Any], known: bool) -> Any:
    def taken(value: Any) -> Any:
        if isinstance(value, Computing):
            return value.lazy() if known else np.asarray(value)
        if not known and is_lazy(value):
            return np.asarray(value)
        return type(value)(map(taken, value)) if type(value) in (list, tuple) else value

    inputs = tuple(inputs)
    known = known and options.get("out") is None  # dask writes into no array of numpy
    try:
        found = function(*map(taken, inputs), **{name: taken(value) for name, value in options.items()})
    except (NotImplementedError, TypeError, ValueError) as error:
        lacking = isinstance(error, NotImplementedError) or _dask_lacks_arguments(function, inputs, options)
        if not known or isinstance(error, ZarrscopeError) or not lacking:
            raise
        return _apply(function, inputs, options, known=False)
    return _with_known_size(found)


def _dask_lacks_arguments(function: Callable[..., Any], inputs: Iterable[Any], options: Mapping[str, Any]) -> bool:
    """Whether dask's own form of a function takes other arguments than numpy's. If it takes these, its error is the
    caller's mistake: numpy would raise it, too, but only after all values were read."""
    if function is np.histogram:  # dask demands a range, and does not say so in the signature
        return options.get("range") is None
    theirs = _dask_form(function)
    if theirs is None:
        return False
    try:
        signature(theirs).bind(*inputs, **options)
    except TypeError:
        return True
    return False


def _with_known_size(found: Any) -> Any:
    """The result of a function. If its size depends on the values (`np.unique`, `np.nonzero`), the values are read,
    because code that is written for numpy asks for the size."""
    parts = found if isinstance(found, tuple) else (found,)
    if any(is_lazy(part) and any(map(isnan, part.shape)) for part in parts):
        import dask

        read = dask.compute(*parts)  # type: ignore[attr-defined, no-untyped-call]  # dask has no types for it
        return type(found)(read) if type(found) is tuple else read[0] if len(read) == 1 else read
    return found


def _dask_array() -> ModuleType | None:
    """The module dask.array, or None if it is not installed."""
    try:
        import dask.array as da
    except ImportError:
        return None
    return da


def _dask_has(function: Callable[..., Any]) -> bool:
    """Whether dask computes a function of numpy itself; if not, it would warn."""
    return callable(_dask_form(function))


def _dask_form(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """The function of dask.array that stands for one of numpy; None for others, such as methods of a ufunc."""
    found: Any = _dask_array()
    for part in (getattr(function, "__module__", None) or "").split(".")[1:]:
        found = getattr(found, part, None)
    return getattr(found, function.__name__, None)
