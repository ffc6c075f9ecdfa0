"""The libraries that do the work, each imported when first needed; tests put another answer here to force fallbacks."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from zarrscope.errors import Unsupported


@cache
def library(name: str) -> Any:
    """The module, or None when it is missing or cannot be imported (a broken installation is as good as none)."""
    try:
        return import_module(name)
    except Exception:
        return None


def needed(name: str, package: str | None = None) -> Any:
    """The module. Raises Unsupported, saying what to install."""
    module = library(name)
    if module is None:
        package = package or name.partition(".")[0]
        raise Unsupported(
            f"The package {package!r} is not installed, or cannot be imported",
            feature=f"package {package}",
            advice=f"Run: pip install {package}",
        )
    return module
