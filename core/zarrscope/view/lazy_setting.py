"""Sets elements of lazy arrays by members of numpy's arrays that change an array, or share its memory.

`sort`, `put`, `flat` and others change a lazy array as they change a numpy array. `ravel`, `reshape` and others give a
copy where numpy gives an array that shares memory. If elements of such a copy of an editable array could be set, the
change would be lost, so it is refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import cached_property
from math import isnan
from typing import Any, NoReturn

import numpy as np

from zarrscope.errors import Refused

SHARING = frozenset("T ravel real reshape squeeze swapaxes transpose view".split())
"""The members of a numpy array that share its memory, as a rule."""

SHARING_FUNCTIONS = frozenset(
    "array_split atleast_1d atleast_2d atleast_3d broadcast_to diagonal dsplit expand_dims flip fliplr flipud hsplit"
    " matrix_transpose moveaxis ravel real reshape rollaxis rot90 split squeeze swapaxes transpose unstack"
    " vsplit".split()
)
"""The functions of numpy whose results share the memory of their first argument, as a rule."""

SETTING_FUNCTIONS = ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask")
"""Functions that change their first argument, and return nothing."""

READ_ONLY = "assignment destination is read-only"
"""numpy's own words."""


def refuse() -> NoReturn:
    """Refuses to set elements of a copy that stands for an array sharing memory."""
    raise Refused(
        "This reshaped array is a copy of editable values, so a change of it would be lost",
        advice="Set elements of the array itself, for example by its .flat; np.array(…) gives a copy that can be set.",
    )


class Setting:
    """The members that set elements, for a lazy array with `shape`, `size`, `dtype`, `__array__`, `__getitem__` and, if
    it can be changed, `__setitem__` and `replace_values`."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    size: int

    @property
    def copies_refuse(self) -> bool:
        """Whether elements of a copy that stands for an array sharing memory with this one cannot be set."""
        return False

    def _change(self, change: Callable[[np.ndarray[Any, Any]], object]) -> None:
        """Sets the elements to those of a copy that `change` has changed."""
        if not hasattr(self, "replace_values"):
            raise TypeError(f"{self!r} is read-only: change a copy, np.array(view)")
        if self.copies_refuse and not self.flags.writeable:
            raise ValueError(READ_ONLY)
        values = np.array(self)
        change(values)
        self.replace_values(values)

    def sort(self, *order: Any, **options: Any) -> None:
        """Sorts the elements along an axis, in place, with the arguments of numpy's `sort`; reads all of them."""
        self._change(lambda values: values.sort(*order, **options))

    def partition(self, *order: Any, **options: Any) -> None:
        """Sorts the elements partly, in place, with the arguments of numpy's `partition`; reads all of them."""
        self._change(lambda values: values.partition(*order, **options))

    def put(self, indices: Any, values: Any, mode: Any = "raise") -> None:
        """Sets elements by their positions in C order."""
        self._change(lambda all: all.put(np.asarray(indices), np.asarray(values), mode))

    def fill(self, value: Any) -> None:
        """Sets all elements to one value."""
        self._change(lambda values: values.fill(value))

    def byteswap(self, inplace: bool = False) -> Any:
        """The elements with their bytes in reverse order; reads all of them."""
        if not inplace:
            return np.asarray(self).byteswap()
        self._change(lambda values: values.byteswap(inplace=True))
        return self

    def resize(self, *_: Any, **__: Any) -> None:
        """Raises ValueError: a stored array has the shape of its metadata."""
        raise ValueError("a lazy array cannot be resized in place: np.resize(array, shape) gives a copy")

    @property
    def data(self) -> memoryview:
        """The memory of a copy of all values, which cannot be changed through it."""
        return _unchangeable(self).data

    @property
    def flat(self) -> Any:
        """The elements in C order, each of which can be set if the array can be changed."""
        known = not isnan(self.size)  # the size of a dask array may depend on its values
        return Flat(self) if known and hasattr(self, "replace_values") else _unchangeable(self).flat

    @flat.setter
    def flat(self, values: Any) -> None:
        self._change(lambda all: setattr(all, "flat", values))

    @cached_property
    def _stand_in(self) -> np.ndarray[Any, Any]:
        """An array without memory of its own that keeps the flags. It lies in no order: code that asks copies then."""
        memory = bytearray(1) if self.copies_refuse else b" "
        shape = (*self.shape, 2)
        return np.ndarray(shape, np.uint8, memory, strides=(0,) * len(shape))

    @property
    def flags(self) -> Any:
        """Flags of an array that lies in no order. Only an editable one is writeable, until that is switched off."""
        return self._stand_in.flags

    def setflags(self, write: bool | None = None, align: bool | None = None, uic: bool | None = None) -> None:
        """Switches writing off, and on again, as numpy does."""
        self._stand_in.setflags(write=write, align=align, uic=uic)


def _unchangeable(array: Any) -> np.ndarray[Any, Any]:
    """All values of a lazy array, in an array that cannot be changed, because nobody would see the change."""
    values = np.array(array)
    values.setflags(write=False)
    return values


class Flat:
    """The elements of a lazy array in C order, as `flat` of a numpy array; setting them sets the array."""

    def __init__(self, array: Any) -> None:
        self.base = array

    def __len__(self) -> int:
        return int(self.base.size)

    def __iter__(self) -> Iterator[Any]:
        return iter(np.asarray(self.base).flat)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.base, dtype=dtype).reshape(-1)

    def copy(self) -> np.ndarray[Any, Any]:
        """The values with one axis."""
        return np.array(self.base).reshape(-1)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int | np.integer):
            return np.asarray(self.base[self._place(range(len(self))[index])])[()]
        return np.asarray(self.base).flat[index]

    def __setitem__(self, index: Any, values: Any) -> None:
        values = np.asarray(values)
        if isinstance(index, int | np.integer):
            self.base[self._place(range(len(self))[index])] = values.reshape(-1)[0]
        elif index is Ellipsis or isinstance(index, slice) or not len(self):
            self.base._change(lambda all: all.flat.__setitem__(index, values))
        else:
            chosen = np.arange(len(self))[np.asarray(index)].reshape(-1)
            if chosen.size:
                self.base[np.unravel_index(chosen, self.base.shape)] = np.resize(values, chosen.shape)

    def _place(self, position: int) -> tuple[int, ...]:
        return tuple(map(int, np.unravel_index(position, self.base.shape)))

    __hash__ = object.__hash__  # must be set: a class whose `==` compares elements would not be hashable otherwise


def _comparing(name: str) -> Callable[[Flat, Any], Any]:
    def compare(self: Flat, other: Any) -> Any:
        return getattr(operator, name)(np.asarray(self), np.asarray(other))

    return compare


for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(Flat, _name, _comparing(_name))


class CopyOfEditable(np.ndarray[Any, Any]):
    """Values of an editable array, in place of a numpy array that would share its memory: they cannot be set.

    The memory is not marked as read-only, because compiled code often refuses such memory although it only reads.
    Copies of it can be set: they have memory of their own.
    """

    refuses: bool

    def __array_finalize__(self, source: object) -> None:
        self.refuses = self.base is not None and getattr(source, "refuses", True)

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        if isinstance(found, CopyOfEditable) and not np.may_share_memory(found, self):
            found.refuses = False  # numpy takes this copy from another array, which it calls its base
        return found

    def __setitem__(self, index: Any, values: Any) -> None:
        self._may_change()
        super().__setitem__(index, values)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        out: tuple[Any, ...] = options.get("out") or ()
        for changed in (*out, *inputs[: int(method == "at")]):
            if isinstance(changed, CopyOfEditable):
                changed._may_change()
        if out:
            options["out"] = tuple(map(_plain, out))
        found = getattr(ufunc, method)(
            *map(_plain, inputs), **{name: _plain(option) for name, option in options.items()}
        )
        return out[0] if len(out) == 1 else found

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        changed = (*inputs[: int(function.__name__ in SETTING_FUNCTIONS)], options.get("out"))
        for each in changed:
            if isinstance(each, CopyOfEditable):
                each._may_change()
        return super().__array_function__(function, types, inputs, options)

    def _may_change(self) -> None:
        if self.refuses:
            refuse()

    @property
    def flat(self) -> Any:
        """The elements in C order; they cannot be set either."""
        if not self.refuses:
            return _plain(self).flat
        values = _plain(self)[...]
        values.setflags(write=False)
        return values.flat

    @flat.setter
    def flat(self, values: Any) -> None:
        self._may_change()
        _plain(self).flat = values


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, CopyOfEditable) else value


def _refusing(name: str) -> Callable[..., Any]:
    def method(self: CopyOfEditable, *inputs: Any, **options: Any) -> Any:
        if name != "byteswap" or inputs or options.get("inplace"):
            self._may_change()
        return getattr(np.ndarray, name)(self, *inputs, **options)

    return method


for _name in ("byteswap", "fill", "partition", "put", "resize", "setfield", "sort"):
    setattr(CopyOfEditable, _name, _refusing(_name))


def refusing(found: Any) -> Any:
    """The result of a member or function that shares memory in numpy, in a form that cannot be set."""
    if type(found) in (list, tuple):
        return type(found)(map(refusing, found))
    if type(found) is np.ndarray:
        return found.view(CopyOfEditable)
    if hasattr(type(found), "guarded"):
        found.guarded = True
    return found
