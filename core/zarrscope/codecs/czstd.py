"""libzstd's own functions in the library file that numcodecs brings, called without importing numcodecs or zstandard.

2026-11-21 (tests/bench/run.py "cold", "tiny", "shards"): importing zstandard takes 20 ms before the first chunk; and
one call decodes all frames that lie one after the other, those of many chunks. Where the file does not show the
functions (Windows), `functions()` is None and zstandard does the work.
"""

from __future__ import annotations

import ctypes
import threading
from functools import cache
from typing import Any

from zarrscope.codecs.kinds import Buffer, Octets
from zarrscope.codecs.libraries import numcodecs_file, pointer

_local = threading.local()


class ZstdFailure(ValueError):
    """What libzstd says of data that it cannot decode; `too_long` where they hold more than there is room for."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.too_long = message == "Destination buffer is too small"


class _Context:
    """Memory that the library works in, made once per thread: making it costs more than decoding a tiny chunk."""

    def __init__(self, functions: Any) -> None:
        self._free = functions.ZSTD_freeDCtx
        self.handle = functions.ZSTD_createDCtx()
        if not self.handle:
            raise MemoryError

    def __del__(self) -> None:
        self._free(self.handle)


def decompress(functions: Any, data: Buffer, out: Octets) -> int:
    """Decodes all frames of the data into `out`, one after the other: how many bytes came. Raises ZstdFailure."""
    context = getattr(_local, "context", None)
    if context is None:
        context = _local.context = _Context(functions)
    size: int = functions.ZSTD_decompressDCtx(context.handle, pointer(out), out.size, pointer(data), len(data))
    if size > out.size:
        raise ZstdFailure(functions.ZSTD_getErrorName(size).decode("ascii", "replace"))
    return size


@cache
def functions() -> Any:
    """The library file with the types of its functions set, or None where it does not show them."""
    found = numcodecs_file("zstd", "ZSTD_decompressDCtx")
    try:
        where, size = ctypes.c_void_p, ctypes.c_size_t
        for name, takes, gives in (
            ("ZSTD_createDCtx", (), where),
            ("ZSTD_freeDCtx", (where,), size),
            ("ZSTD_decompressDCtx", (where, where, size, where, size), size),
            ("ZSTD_getErrorName", (size,), ctypes.c_char_p),
        ):
            function = getattr(found, name)
            function.argtypes, function.restype = takes, gives
    except AttributeError:
        return None
    return found
