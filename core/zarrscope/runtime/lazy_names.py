"""Makes a package import the names that it offers when they are first used.

    if TYPE_CHECKING:
        from zarrscope.convert.copying import run
    else:
        __getattr__ = lazy_names(__name__, {"copying": ("run",)})

It is for packages whose modules are seldom all needed. For example, the terminal front end offers conversion, but few
of its users convert.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from sys import modules
from typing import Any


def lazy_names(package: str, names: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """The `__getattr__` of a package. `names`: module → the names that it defines."""
    module_of = {name: module for module, every in names.items() for name in every}

    def __getattr__(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{module_of[name]}"), name)
        setattr(modules[package], name, value)
        return value

    return __getattr__
