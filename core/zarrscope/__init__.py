"""zarrscope, the engine: opens anything that ever called itself Zarr. No GUI in here, ever.

    import zarrscope
    hierarchy = zarrscope.open("https://example.org/image.zarr")
    plane = hierarchy["/0"][0, 0, 16]

Importing it is quick: what it needs beyond numpy comes in when it is first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrscope.errors import (
    BadChunk,
    BadMetadata,
    Conflict,
    NotFound,
    ReadOnly,
    Refused,
    Unreadable,
    Unsupported,
    ZarrscopeError,
)

if TYPE_CHECKING:
    from zarrscope.array import Array
    from zarrscope.hierarchy import Group, Hierarchy
    from zarrscope.opening import open

__all__ = [
    "Array",
    "BadChunk",
    "BadMetadata",
    "Conflict",
    "Group",
    "Hierarchy",
    "NotFound",
    "ReadOnly",
    "Refused",
    "Unreadable",
    "Unsupported",
    "ZarrscopeError",
    "open",
]

_LAZY = {"Array": "array", "Group": "hierarchy", "Hierarchy": "hierarchy", "open": "opening"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'zarrscope' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"zarrscope.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
