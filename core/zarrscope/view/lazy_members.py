"""The operators and members of numpy's arrays that a lazy array has without dask."""

from __future__ import annotations

import operator
from abc import ABCMeta
from collections.abc import Callable, Iterator
from math import isnan
from typing import Any, Literal, TypeAlias

import numpy as np

from zarrscope.view.lazy_setting import Setting

MemoryOrder: TypeAlias = Literal["K", "A", "C", "F"]
"""The order of elements in memory, as numpy names it."""


class PrintedAsDask(ABCMeta):
    """The type of the classes of lazy arrays: `str` of such a class is that of dask's arrays, `repr` its own.

    Plug-ins of napari around clEsperanto, SimpleITK and time series decide by `str(type(data))` whether `data` is an
    array that has to be read by `np.asarray`; any other object is passed on, and compiled code refuses it.
    """

    def __str__(cls) -> str:
        return "<class 'dask.array.core.Array'>"


class ArrayMembers(Setting, np.lib.mixins.NDArrayOperatorsMixin):
    """The operators and members of a numpy array that need no dask, for a lazy array with `shape`, `dtype`, `ndim`,
    `size`, `__getitem__`, `__array__` and the two protocols of numpy."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    ndim: int
    size: int

    __hash__ = object.__hash__  # must be set: a class whose `==` compares elements would not be hashable otherwise

    def __bool__(self) -> bool:
        if self.size > 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous")
        return bool(np.asarray(self))

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over an array without axes")
        return (self[at] for at in range(len(self)))  # type: ignore[index, arg-type]  # of the class that inherits

    def __contains__(self, value: object) -> bool:
        return bool(np.any(np.asarray(self) == value))

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def _number(self) -> Any:
        if self.size != 1 and not isnan(self.size):  # said before all values are read
            raise TypeError("only an array of one element is a number: np.asarray(…) gives the values of this one")
        return self.item()

    def __index__(self) -> int:
        return np.asarray(self).__index__()

    def __format__(self, spec: str) -> str:
        return format(np.asarray(self)[()], spec) if spec and not self.ndim else format(str(self), spec)

    def item(self, *index: Any) -> Any:
        """One element as a Python object; reads it. The index is its position in C order, or that along each axis;
        without one, the array must have one element."""
        place = index[0] if len(index) == 1 and isinstance(index[0], tuple) else index
        if len(place) == 1:
            place = np.unravel_index(range(self.size)[place[0]], self.shape)
        return np.asarray(self[place] if place else self).item()  # type: ignore[index]  # of the class that inherits

    def tolist(self) -> Any:
        """The values as nested lists of Python objects; reads all of them."""
        return np.asarray(self).tolist()

    def copy(self, order: MemoryOrder = "C") -> np.ndarray[Any, Any]:
        """The values as an array that can be changed."""
        return np.array(self, order=order)

    @property
    def mT(self) -> Any:
        """The array with its last two axes exchanged."""
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return np.swapaxes(self, -1, -2)  # type: ignore[call-overload]  # of the class that inherits

    @property
    def itemsize(self) -> int:
        """The size of one element in bytes."""
        return self.dtype.itemsize

    @property
    def base(self) -> None:
        """None: a lazy array is no part of an array in memory."""
        return None

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides of the values, which `np.asarray` gives in C order from now on."""
        self._in_c_order = True
        found = [self.dtype.itemsize]
        for length in reversed(self.shape[1:]):
            found.insert(0, found[0] * length)
        return tuple(found) if self.shape else ()


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: Any) -> Any:
        found = getattr(operator, name)(self, other)
        if hasattr(self, "replace_values"):  # numpy says whether the type takes the result
            if not np.can_cast(found.dtype, self.dtype, "same_kind"):
                raise TypeError(f"{self.dtype} does not hold the results, {found.dtype}, of this operation in place")
            self.replace_values(found)
            return self
        return found

    return operate


IN_PLACE = "add sub mul matmul truediv floordiv mod pow lshift rshift and or xor".split()
"""The operators that have a form that assigns, such as `+=`."""

for _name in IN_PLACE:
    # numpy's mixin would compute into a copy; `a += 1` shall name a new lazy array of a read-only view instead.
    setattr(ArrayMembers, f"__i{_name}__", _in_place(f"__{_name}__"))
