"""zarrscope, the engine: opens anything that ever called itself Zarr. It contains no GUI.

    import zarrscope
    hierarchy = zarrscope.open("https://example.org/image.zarr")
    plane = hierarchy["/0"][0, 0, 16]

Importing it is quick: packages other than numpy are imported when they are first needed. The import changes nothing in
the importing process.
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
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.hierarchy import Group, Hierarchy
    from zarrscope.nodes.opening import open, open_array, open_group
    from zarrscope.stores.zarr_python_adapter import as_zarr_store

__version__ = "0.1.0"

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
    "as_zarr_store",
    "open",
    "open_array",
    "open_group",
]

_LAZY = {
    "Array": "nodes.array",
    "Group": "nodes.group",
    "Hierarchy": "nodes.hierarchy",
    "as_zarr_store": "stores.zarr_python_adapter",
    "open": "nodes.opening",
    "open_array": "nodes.opening",
    "open_group": "nodes.opening",
}
_MODULES = {"moving": "nodes.move"}
"""Names of modules that differ from their places, for scripts."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        from importlib import import_module

        return import_module(f"zarrscope.{_MODULES[name]}")
    if name not in _LAZY:
        raise AttributeError(f"module 'zarrscope' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"zarrscope.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    special = {name for name in globals() if name.startswith("__")}
    return sorted({*special, *__all__, *_MODULES, "errors"})
