"""zarrscope, the engine: opens anything that ever called itself Zarr. No GUI in here, ever.

    import zarrscope
    hierarchy = zarrscope.open("https://example.org/image.zarr")
    plane = hierarchy["/0"][0, 0, 16]

Importing it is quick: what it needs beyond numpy comes in when it is first needed.
"""

from __future__ import annotations

import os
import sys
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

_SPINNING = "OPENBLAS_THREAD_TIMEOUT"
_LAZY = {"Array": "array", "Group": "hierarchy", "Hierarchy": "hierarchy", "open": "opening"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'zarrscope' has no attribute {name!r}")
    from importlib import import_module

    _import_numpy()
    value = getattr(import_module(f"zarrscope.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def _import_numpy() -> None:
    """Imports numpy, where nobody has, so that the threads of its OpenBLAS sleep while they have nothing to do.

    They would spin for a tenth of a second from their start, on the cores that the first plane is decoded on: 8 ms of
    80 (2026-11-21, tests/bench/run.py "cold"). OpenBLAS reads the variable once; what somebody set is left as it is.
    """
    if "numpy" in sys.modules or _SPINNING in os.environ:
        return
    os.environ[_SPINNING] = "20"  # 2**20 cycles: 0.4 ms
    try:
        import numpy  # noqa: F401 - for what it does when it is imported
    finally:
        del os.environ[_SPINNING]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
