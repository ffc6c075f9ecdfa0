"""Imports compression libraries when they are first needed. Tests replace `library` to force the fallbacks."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.errors import Unsupported
from zarrscope.runtime.memo import memoized
from zarrscope.runtime.shortcuts import NotUsable

if TYPE_CHECKING:
    from ctypes import CDLL
    from types import ModuleType


@memoized(64)
def library(name: str) -> ModuleType | None:
    """Returns the module, or None if it is missing or cannot be imported: a broken installation counts as none."""
    try:
        return import_module(name)
    except Exception:
        return None


def needed(name: str) -> ModuleType:
    """The module of this name. Raises Unsupported with the name of the package to install."""
    module = library(name)
    if module is None:
        package = name.partition(".")[0]
        from zarrscope.errors.installing import how_to_install_packages

        raise Unsupported(
            f"The package {package!r} is not installed, or cannot be imported",
            feature=f"package {package}",
            advice=how_to_install_packages(package),
        )
    return module


@memoized(8)
def numcodecs_file(name: str, shows: str) -> CDLL:
    """Loads the library file of a module of numcodecs by ctypes, without importing numcodecs. Raises NotUsable.

    Measured 2026-11-21 (tests/bench/run.py "cold"): `import numcodecs` sets up all of its codecs, which takes 25 ms
    before the first chunk is read.

    `shows`: a function that the file must export. Another library in the process may export functions of the same names
    (a graphics driver brings its own libzstd), and the file would then call those, whose structures have another
    layout. So the file is loaded in such a way that it finds its own symbols first. If it was already loaded in another
    way beside such a library, it is not used.
    """
    import ctypes

    package = find_spec("numcodecs")
    for folder in (package.submodule_search_locations if package is not None else None) or ():
        for suffix in EXTENSION_SUFFIXES:
            path = os.path.join(folder, name + suffix)
            if os.path.exists(path):
                prefer = 0 if _is_loaded(path) else getattr(os, "RTLD_DEEPBIND", 0)
                if prefer or os.name != "posix" or not hasattr(ctypes.CDLL(None), shows):
                    return ctypes.CDLL(path, mode=ctypes.DEFAULT_MODE | prefer)
                raise NotUsable("another library of the process has functions of the same names")
    raise NotUsable(f"numcodecs has no library file {name!r}")


def _is_loaded(path: str) -> bool:
    import ctypes

    if not hasattr(os, "RTLD_NOLOAD"):
        return True
    try:
        ctypes.CDLL(path, mode=os.RTLD_NOLOAD)
    except OSError:
        return False
    return True


def pointer(data: Any) -> Any:
    """The address of bytes-like data for a C function that takes a `c_void_p`. The caller keeps the data alive."""
    if isinstance(data, bytes):
        return data
    if not isinstance(data, np.ndarray):
        data = np.frombuffer(data, np.uint8)
    return data.__array_interface__["data"][0]
