"""Frozen data classes like those of `dataclasses.dataclass(frozen=True)`, without compiling six methods for each class.

    @frozen
    class Place:
        key: str
        span: tuple[int, int] | None = None

They have the same fields, defaults, equality, hash, repr, `dataclasses.replace` and `fields`, copying and pickling as a
dataclass, but no `__post_init__` and no slots. Use it for classes that reading an array imports. Elsewhere use a
dataclass, or a NamedTuple where thousands of instances are made.

Measured 2026-11-21 (tests/bench/run.py "cold"): compiling took 0.3 ms for each of about 30 classes, a tenth of the time
from the start of the process to the first plane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar, dataclass_transform

T = TypeVar("T")


class _Form(NamedTuple):
    """The fields of a class, as its methods need them."""

    names: tuple[str, ...]
    known: frozenset[str]
    """The names of the fields as a set."""
    defaults: dict[str, Any]
    factories: dict[str, Callable[[], Any]]
    compared: Callable[[Any], Any]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Makes a frozen data class; see the module. Methods that the class defines itself stay."""
    cls.__doc__ = cls.__doc__ or cls.__name__  # without a docstring, dataclass computes a signature, its slowest step
    made: Any = dataclass(init=False, repr=False, eq=False)(cls)
    every = fields(made)
    names = tuple(each.name for each in every)
    made._frozen_form = _Form(
        names,
        frozenset(names),
        {each.name: each.default for each in every if each.default is not MISSING},
        {each.name: each.default_factory for each in every if each.default_factory is not MISSING},
        attrgetter(*(each.name for each in every if each.compare)),
    )
    for method in (__init__, __repr__, __eq__, __hash__, __setattr__, __delattr__):
        if method.__name__ not in cls.__dict__ or (method is __hash__ and cls.__dict__["__hash__"] is None):
            setattr(cls, method.__name__, method)
    return cls


_set = object.__setattr__


def __init__(self: Any, /, *values: Any, **named: Any) -> None:
    names, known, defaults, factories, _ = self._frozen_form
    if values:
        positional = dict(zip(names, values))  # noqa: B905 - fields with defaults may be left out
        if len(values) > len(names) or not positional.keys().isdisjoint(named):
            raise TypeError(f"{type(self).__name__} takes {', '.join(names)}, each once")
        named = positional | named if named else positional
    if len(named) < len(names):
        named = defaults | {name: make() for name, make in factories.items() if name not in named} | named
    if named.keys() != known:
        raise TypeError(f"{type(self).__name__} takes {', '.join(names)}, not {', '.join(named) or 'nothing'}")
    for name, value in named.items():
        _set(self, name, value)


def __repr__(self: Any) -> str:
    return (
        f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._frozen_form.names)})"
    )


def __eq__(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    compared: Callable[[Any], Any] = self._frozen_form.compared
    return compared(self) == compared(other)


def __hash__(self: Any) -> int:
    return hash(self._frozen_form.compared(self))


def __setattr__(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def __delattr__(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")
