"""Frozen data classes like those of `dataclasses.dataclass(frozen=True)`, without compiling six methods for each class.

    @frozen
    class Place:
        key: str
        span: tuple[int, int] | None = None

They have the same fields, defaults, equality, hash, repr, `dataclasses.replace` and `fields`, copying and pickling as a
dataclass, but no `__post_init__` and no slots. Use it for classes that reading an array imports. Elsewhere use a
dataclass, or a NamedTuple where thousands of instances are made.

Measured 2026-11-21 (tests/bench/run.py "cold"): compiling took 0.3 ms for each of about 30 classes, a tenth of the time
from the start of the process to the first plane. The objects that describe the fields took another 0.05 ms each
(2026-11-26); they are made when `fields` or `replace` first needs them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field
from inspect import get_annotations
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Makes a frozen data class; see the module. Methods that the class defines itself stay."""
    cls.__doc__ = cls.__doc__ or cls.__name__  # without a docstring, dataclass computes a signature, its slowest step
    made: Any = cls
    names = _names(cls)
    given = {name: value for name in names if (value := getattr(cls, name, MISSING)) is not MISSING}
    special = {name: value for name, value in given.items() if isinstance(value, Field)}
    defaults = {name: value for name, value in given.items() if name not in special}
    factories: dict[str, Callable[[], Any]] = {}
    for name, each in special.items():
        if each.default_factory is not MISSING:
            factories[name] = each.default_factory
        elif each.default is not MISSING:
            defaults[name] = each.default
    made._frozen_names = names
    made._frozen_form = names, defaults, factories
    made._frozen_compared = attrgetter(*(name for name in names if name not in special or special[name].compare))
    setattr(cls, "__match_args__", names)  # noqa: B010 - mypy refuses the assignment
    made.__dataclass_fields__ = _Fields(cls)
    for method in (__init__, __repr__, __eq__, __hash__, __setattr__, __delattr__):
        if method.__name__ not in cls.__dict__ or (method is __hash__ and cls.__dict__["__hash__"] is None):
            setattr(cls, method.__name__, method)
    return cls


def _names(cls: type) -> tuple[str, ...]:
    """The names of the fields: those of a frozen base class first."""
    fields = (name for name, kind in get_annotations(cls).items() if "ClassVar" not in str(kind).partition("[")[0])
    return tuple(dict.fromkeys((*getattr(cls, "_frozen_names", ()), *fields)))


_making = threading.RLock()
"""Reentrant: making the fields of a class asks its bases for theirs."""


class _Fields:
    """The `__dataclass_fields__` of a frozen class, which `dataclass` makes when `fields` or `replace` needs them."""

    def __init__(self, cls: type) -> None:
        self._cls = cls

    def __get__(self, thing: object, cls: type | None = None) -> Any:
        with _making:
            if self._cls.__dict__["__dataclass_fields__"] is self:  # no other thread has replaced it meanwhile
                dataclass(init=False, repr=False, eq=False)(self._cls)
        return self._cls.__dict__["__dataclass_fields__"]


_set = object.__setattr__


def __init__(self: Any, /, *values: Any, **named: Any) -> None:
    names, defaults, factories = self._frozen_form
    if not named and len(values) == len(names):  # each field by its place, as hot code gives them
        for name, value in zip(names, values, strict=True):
            _set(self, name, value)
        return
    for name, value in zip(names, values, strict=False):
        _set(self, name, value)
    for name in names[len(values) :]:
        if name in named:
            _set(self, name, named.pop(name))
        elif name in defaults:
            _set(self, name, defaults[name])
        elif name in factories:
            _set(self, name, factories[name]())
        else:
            raise TypeError(f"{type(self).__name__} takes {', '.join(names)}; {name} is missing")
    if named or len(values) > len(names):
        raise TypeError(f"{type(self).__name__} takes {', '.join(names)}, each once")


def __repr__(self: Any) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._frozen_names)})"


def __eq__(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    compared: Callable[[Any], Any] = self._frozen_compared
    return compared(self) == compared(other)


def __hash__(self: Any) -> int:
    return hash(self._frozen_compared(self))


def __setattr__(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def __delattr__(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")
