"""c-blosc's own function in the library file that numcodecs brings, called without importing numcodecs.

2026-11-21 (tests/bench/run.py "cold"): `import numcodecs` sets up every codec it has, 25 ms before the first chunk;
and its wrapper takes the global lock of c-blosc on the main thread where the stateless function needs none: 53 µs
instead of 68 for a chunk of 64³. Where the file does not show the function (Windows), numcodecs itself is called.

The function trusts the header of a buffer: `Blosc._check_header` comes before it (spec F.4).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from typing import Any

import numpy as np

from zarrscope.codecs.kinds import Buffer, Octets
from zarrscope.codecs.libraries import needed


def decompress(data: Buffer, out: Octets) -> None:
    """Fills `out` from one buffer whose header counts as many bytes. Raises ValueError, Unsupported."""
    call = function()
    if call is None:
        needed("numcodecs.blosc").decompress(data, out)
        return
    source: Any = data
    if not isinstance(data, bytes):
        held = np.frombuffer(data, np.uint8)
        source = held.__array_interface__["data"][0]
    size = call(source, out.__array_interface__["data"][0], out.size, 1)
    if size != out.size:
        raise ValueError(f"c-blosc gave {size} for a buffer of {len(data):,} bytes")


@cache
def function() -> Callable[..., int] | None:
    """blosc_decompress_ctx(source, destination, size of the destination, threads), or None where it is not to be had.

    It releases Python's lock while it runs.
    """
    try:
        package = find_spec("numcodecs")
        for folder in (package.submodule_search_locations if package is not None else None) or ():
            for suffix in EXTENSION_SUFFIXES:
                path = os.path.join(folder, "blosc" + suffix)
                if os.path.exists(path):
                    found = ctypes.CDLL(path).blosc_decompress_ctx
                    found.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
                    found.restype = ctypes.c_int
                    return found
    except Exception:  # a broken installation is as good as none
        pass
    return None
