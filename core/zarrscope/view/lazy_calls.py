"""Calls numpy's functions on lazy arrays: through dask if it has the function, else numpy computes with the values.

Results are `LazyResult`s: dask arrays that also have the members of numpy's arrays that dask lacks. Code that is
written for numpy arrays (plug-ins of napari, scikit-image) asks for them between two computations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from inspect import signature, unwrap
from math import isnan
from types import ModuleType
from typing import Any

import numpy as np

from zarrscope.errors import ZarrscopeError
from zarrscope.runtime.tuning import LAZY_BLOCK_BYTES
from zarrscope.view.lazy_members import ArrayMembers, MemoryOrder, PrintedAsDask
from zarrscope.view.lazy_setting import SETTING_FUNCTIONS, SHARING, SHARING_FUNCTIONS, refuse, refusing

METHODS = frozenset(
    "all any argmax argmin clip compute conj cumprod cumsum flatten imag max mean min nonzero persist prod"
    " ravel rechunk real repeat reshape round squeeze std sum swapaxes trace var view".split()
)
"""The members of an array that dask computes. Without dask they are numpy's, which read the values at once."""

VALUE_METHODS = frozenset(
    "argpartition argsort choose compress conjugate diagonal dot dumps searchsorted take tobytes tofile".split()
)
"""The members of a numpy array that dask lacks and that do not change the array. They read all values."""

_NEW_MEMORY = ("empty_like", "full_like", "ones_like", "zeros_like")
"""Functions that make an array to be filled by the caller, so the result must be a numpy array: compiled code would
fill a copy of a lazy one, and the caller would see none of it."""

_SUMMARIES = ("bincount", "histogram", "histogram2d", "histogramdd")
"""Functions whose small result needs every value. It is computed at once, block by block, and is a numpy array."""

_UNLIKE = ("dot", "einsum", "insert", "qr", "ravel_multi_index", "svd", "tensordot", "vdot")
"""Functions for which dask's result differs from numpy's: another type, or other signs, or a refusal."""

_UFUNC_CHOICES = ("casting", "dtype", "order", "signature", "subok")
"""The arguments that say how a ufunc computes. dask refuses them, or computes without them and converts the result."""

_BY_METHODS = ("flip", "moveaxis", "rollaxis", "squeeze", "swapaxes", "transpose")
"""Functions that numpy composes of an array's own members, which read nothing."""

_DEEPEST = 16
"""Steps after which results of up to LAZY_BLOCK_BYTES are computed at once: an iteration would repeat all of its former
steps in every further one."""


def is_lazy(value: object) -> bool:
    """Whether this is a lazy view or a dask array."""
    return hasattr(type(value), "lazy") or (
        type(value).__module__.startswith("dask.") and type(value).__name__ == "Array"
    )


def dask_array() -> ModuleType | None:
    """The module dask.array, or None if it is not installed."""
    try:
        import dask.array as da
    except ImportError:
        return None
    return da


# ---------------------------------------------------------------------- calls
def call_ufunc(ufunc: np.ufunc, method: str, inputs: Iterable[Any], options: Mapping[str, Any]) -> Any:
    """Calls a ufunc of numpy, or one of its methods, with inputs of which some are lazy (NEP 13)."""
    if method == "at":
        return _set_by(ufunc.at, tuple(inputs), options)
    chosen = {name: options[name] for name in _UFUNC_CHOICES if name in options}
    if not chosen:
        return _call(getattr(ufunc, method), inputs, options, known=method == "__call__")
    rest = {name: value for name, value in options.items() if name not in chosen}
    da = dask_array()
    function = partial(getattr(ufunc, method), **chosen)
    if da is None or rest or method != "__call__" or ufunc.nout > 1 or ufunc.signature:
        return _call(function, inputs, rest, known=False)
    return _call(partial(da.core.elemwise, function), inputs, rest, known=True)


def call_function(function: Callable[..., Any], inputs: Iterable[Any], options: Mapping[str, Any]) -> Any:
    """Calls a function of numpy with inputs of which some are lazy (NEP 18)."""
    inputs = tuple(inputs)
    name = function.__name__
    if function is np.linalg.norm and inputs and is_lazy(inputs[0]) and inputs[0].dtype.kind in "biu":
        inputs = (inputs[0].astype(float), *inputs[1:])  # dask squares integers in their own type, which overflows
    if name in SETTING_FUNCTIONS:
        return _set_by(function, inputs, options)
    if name in _BY_METHODS and inputs and hasattr(type(inputs[0]), "transposed"):
        return unwrap(function)(*inputs, **options)
    if function is np.expand_dims and inputs and hasattr(type(inputs[0]), "transposed"):
        return _with_new_axes(*inputs, **options)
    known = callable(_dask_form(function)) and name not in (*_NEW_MEMORY, *_UNLIKE)
    if function is np.pad:  # dask reflects no more than one length of an axis, and says nothing beyond it
        known = known and (*inputs[2:3], options.get("mode", "constant"))[0] in ("constant", "edge")
    if function is np.diff and is_lazy(inputs[0]):  # dask subtracts booleans, which numpy forbids
        known = known and inputs[0].dtype.kind != "b"
    if name in _NEW_MEMORY:
        first, *rest = inputs
        inputs = (np.broadcast_to(np.zeros((), first.dtype), first.shape) if is_lazy(first) else first, *rest)
    found = _call(function, inputs, options, known)
    if name in SHARING_FUNCTIONS and getattr(inputs[0] if inputs else None, "copies_refuse", False):
        return refusing(found)
    return _values(found) if name in _SUMMARIES else found


def _with_new_axes(array: Any, axis: int | tuple[int, ...]) -> Any:
    """An array with further axes of length one at the places that `axis` names."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    places = range(array.ndim + len(axes))
    new = {places[at] for at in axes}
    if len(new) < len(axes):
        raise ValueError("repeated axis")
    return array[tuple(None if at in new else slice(None) for at in places)]


def _set_by(function: Callable[..., Any], inputs: tuple[Any, ...], options: Mapping[str, Any]) -> None:
    """Calls a function that changes its first argument, which is set to the changed values if it is lazy. Raises
    TypeError if it is read-only."""
    target, *rest = (np.asarray(each) if is_lazy(each) and n else each for n, each in enumerate(inputs))
    options = {name: np.asarray(each) if is_lazy(each) else each for name, each in options.items()}
    if not is_lazy(target):
        function(target, *rest, **options)
        return
    values = np.array(target)
    function(values, *rest, **options)
    target[...] = values


def _values(found: Any) -> Any:
    """The lazy arrays in the result of a function, computed."""
    return tuple(map(_values, found)) if isinstance(found, tuple) else np.asarray(found) if is_lazy(found) else found


def member(array: Any, name: str) -> Any:
    """A member in METHODS or VALUE_METHODS of a lazy array: a value, or a method that computes as this module says.

    A flat form of all values is a numpy array, because compiled code is the usual reader of one.
    """
    if name in VALUE_METHODS:
        return getattr(np.asarray(array), name)
    found = getattr(plain(array), name)
    share = refusing if name in SHARING and array.copies_refuse else _unchanged
    if not callable(found):
        return share(as_result(found, array))

    def method(*inputs: Any, **options: Any) -> Any:
        flat = name in ("flatten", "ravel") or (name == "reshape" and inputs in ((-1,), ((-1,),)))
        if not flat and _accepts(found, inputs, options):
            return share(as_result(found(*map(plain, inputs), **options), array, *inputs))
        return share(getattr(np.asarray(array), name)(*inputs, **options))

    return method


def _unchanged(found: Any) -> Any:
    return found


def plain(value: Any) -> Any:
    """A lazy array as a dask array, or as numpy's without dask; other values as they are."""
    return value.lazy() if hasattr(type(value), "lazy") else value


def _call(function: Callable[..., Any], inputs: Iterable[Any], options: Mapping[str, Any], known: bool) -> Any:
    def taken(value: Any) -> Any:
        if type(value) in (list, tuple):
            return type(value)(map(taken, value))
        return plain(value) if known else np.asarray(value) if is_lazy(value) else value

    inputs, out = tuple(inputs), options.get("out")
    lazy_out = [each for each in (out if isinstance(out, tuple) else (out,)) if is_lazy(each)]
    if lazy_out:
        return _into(
            lazy_out, function, inputs, {name: value for name, value in options.items() if name != "out"}, known
        )
    known = known and out is None  # dask writes into no array of numpy
    try:
        found = function(*map(taken, inputs), **{name: taken(value) for name, value in options.items()})
    except (AttributeError, NotImplementedError, TypeError, ValueError) as error:
        # dask raises any of the four for what it lacks; the last two may also be the caller's mistake.
        lacking = isinstance(error, AttributeError | NotImplementedError) or _dask_lacks(function, inputs, options)
        if not known or isinstance(error, ZarrscopeError) or not lacking:
            raise
        return _call(function, inputs, options, known=False)
    return as_result(_with_known_size(found), *inputs)


def _into(
    out: list[Any], function: Callable[..., Any], inputs: tuple[Any, ...], options: Mapping[str, Any], known: bool
) -> Any:
    """Calls a function whose result shall replace the values of a lazy array, as `out=` does."""
    if len(out) != 1 or not hasattr(out[0], "replace_values"):
        raise TypeError("a lazy view is read-only: give a numpy array as out")
    found = _call(function, inputs, options, known)
    out[0].replace_values(found)
    return out[0]


def _dask_lacks(function: Callable[..., Any], inputs: tuple[Any, ...], options: Mapping[str, Any]) -> bool:
    """Whether dask cannot do with these arguments what numpy can. If it can, its error is the caller's mistake: numpy
    would raise it, too, but only after all values were read."""
    if any(is_lazy(value) and any(map(isnan, plain(value).shape)) for value in inputs):
        return True  # the size depends on the values
    if function is np.histogram:  # dask demands a range, and does not say so in the signature
        return options.get("range") is None
    theirs = _dask_form(function)
    return theirs is not None and not _accepts(theirs, inputs, options)


def _accepts(function: Callable[..., Any], inputs: Iterable[Any], options: Mapping[str, Any]) -> bool:
    """Whether the signature of a function takes these arguments, or there is none: methods of numpy's arrays have one
    since numpy 2.4."""
    try:
        signature(function).bind(*inputs, **options)
    except TypeError:
        return False
    except ValueError:
        pass
    return True


def _dask_form(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """The function of dask.array that stands for one of numpy; None for others, such as methods of a ufunc. For a
    function that dask lacks it would warn."""
    found: Any = dask_array()
    for part in (getattr(function, "__module__", None) or "").split(".")[1:]:
        found = getattr(found, part, None)
    return getattr(found, getattr(function, "__name__", ""), None)


# ---------------------------------------------------------------------- results
def as_result(found: Any, *sources: Any) -> Any:
    """dask arrays in the result of a function as LazyResults; everything else as it is.

    Values are computed at once if the result is a number, which code for numpy uses as one, or if it is the last of
    many steps from the `sources`.
    """
    if type(found) in (list, tuple):
        return type(found)(as_result(each, *sources) for each in found)
    da = dask_array()
    if da is None or type(found) is not da.Array:
        return found
    if not found.ndim:
        value = found.compute()  # of some types, numpy gives no array without axes but the element itself
        return value[()] if isinstance(value, np.ndarray) else value
    steps = 1 + max(map(_steps, sources), default=0)
    if steps > _DEEPEST and found.nbytes <= LAZY_BLOCK_BYTES:
        return found.compute()
    return result_class().of(found, steps)


def _steps(source: Any) -> int:
    """The number of steps by which a lazy array was computed."""
    if type(source) in (list, tuple):
        return max(map(_steps, source), default=0)
    return getattr(source, "steps", 0) if hasattr(type(source), "lazy") else 0


def _with_known_size(found: Any) -> Any:
    """The result of a function. If its size depends on the values (`np.unique`, `np.nonzero`), the values are read,
    because code that is written for numpy asks for the size."""
    parts = found if isinstance(found, tuple) else (found,)
    if any(is_lazy(part) and any(map(isnan, part.shape)) for part in parts):
        import dask

        read = dask.compute(*parts)  # type: ignore[attr-defined, no-untyped-call]  # dask has no types for it
        return type(found)(read) if type(found) is tuple else read[0] if len(read) == 1 else read
    return found


@cache
def result_class() -> Any:  # Any: the class exists only with dask
    """The class LazyResult. It is made with the first result, because dask is imported when something is computed."""
    da: Any = dask_array()

    class LazyResult(ArrayMembers, da.Array, metaclass=PrintedAsDask):  # type: ignore[misc]  # dask's functions have no types
        """A dask array that code written for numpy's can use: numpy computes what dask lacks."""

        _values: np.ndarray[Any, Any] | None = None
        steps = 0
        guarded = False
        """Whether it stands for an array that shares memory with an editable one, so that it cannot be set."""
        _whole: tuple[Any, Any] | None = None
        """(array, index) if this is a part of another result, which is set with it."""

        @classmethod
        def of(cls, array: Any, steps: int) -> LazyResult:
            made: LazyResult = cls(array.dask, array.name, array.chunks, meta=array._meta)
            made.steps = steps
            # Hides the name "zarrscope…", as LazyView does: napari opens any object from a module named "zarr…" again.
            made.__module__ = "lazy result"
            return made

        def lazy(self) -> Any:
            """The same array as one of dask's own class."""
            return da.Array(self.dask, self.name, self.chunks, meta=self._meta)

        def __array__(self, dtype: Any = None, copy: bool | None = None, **_: Any) -> np.ndarray[Any, Any]:
            """Computes the values. Up to LAZY_BLOCK_BYTES are kept: code for numpy asks for them again and again."""
            if copy is False:
                raise ValueError("a lazy array cannot become a numpy array without a copy")
            values = self._values
            if values is None:
                values = np.asarray(self.lazy().compute())
                if values.nbytes <= LAZY_BLOCK_BYTES:
                    self._values = values
            return np.array(values, dtype=dtype, order="C")

        def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
            return call_ufunc(ufunc, method, inputs, options)

        def __array_function__(
            self, function: Callable[..., Any], types: Any, inputs: Iterable[Any], options: Mapping[str, Any]
        ) -> Any:
            return call_function(function, inputs, options)

        def __len__(self) -> int:
            return len(self.lazy() if not self.ndim or not isnan(self.shape[0]) else np.asarray(self))

        def __getitem__(self, index: Any) -> Any:
            items = tuple(map(plain, index)) if isinstance(index, tuple) else plain(index)
            try:
                found = self.lazy()[items]
            except (NotImplementedError, ValueError):
                return np.asarray(self)[index]
            if not _is_basic(index) or not found.ndim:
                return as_result(found, self)
            part = LazyResult.of(found, self.steps)
            part.guarded, part._whole = self.guarded, (self, index)
            return part

        def __setitem__(self, index: Any, values: Any) -> None:
            items = index if isinstance(index, tuple) else (index,)
            if self.guarded:
                refuse()
            if _is_basic(index) and not any(map(isnan, self.shape)):
                changed = self.lazy()
                changed[index] = plain(values)
            else:  # dask knows only some lists and masks
                held = np.asarray(self)
                held[tuple(np.asarray(item) if is_lazy(item) else item for item in items)] = values
                changed = da.from_array(held, chunks="auto" if any(map(isnan, self.shape)) else self.chunks)
            self._become(changed)

        def replace_values(self, found: Any) -> None:
            """Makes this array have the values of another one of its shape, with its own type."""
            self[...] = found

        def _become(self, array: Any) -> None:
            steps, whole = self.steps, self._whole
            self.dask, self._name, self._chunks, self._meta = array.dask, array.name, array.chunks, array._meta
            self._reset_cache()  # drops all that is kept of the former values, and all attributes of this class, too
            self._values, self.steps, self._whole = None, steps, whole
            if whole is not None:
                whole[0][whole[1]] = self

        @property
        def copies_refuse(self) -> bool:
            return self.guarded

        def astype(self, dtype: Any, order: MemoryOrder = "K", **options: Any) -> Any:
            """The values as another type: lazy, unless an order in memory is asked for."""
            if order in ("C", "F"):
                return np.asarray(self).astype(dtype, order=order, **options)
            return as_result(self.lazy().astype(dtype, **{n: v for n, v in options.items() if n != "subok"}), self)

        def __getattr__(self, name: str) -> Any:
            if name not in VALUE_METHODS:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
            return member(self, name)

    for name in (*METHODS, "T", "transpose"):
        setattr(LazyResult, name, property(partial(_member_of, name)))
    return LazyResult


def _is_basic(index: Any) -> bool:
    """Whether an index has only integers, slices and `...`."""
    items = index if isinstance(index, tuple) else (index,)
    return all(item is Ellipsis or (isinstance(item, int | slice) and not isinstance(item, bool)) for item in items)


def _member_of(name: str, array: Any) -> Any:
    return member(array, name)
