"""Calls libzstd's functions in the library file that numcodecs ships, without importing numcodecs or zstandard.

Measured 2026-11-21 (tests/bench/run.py "cold", "tiny", "shards"): importing zstandard takes 20 ms before the first
chunk is read; and one call of libzstd decodes all frames that lie one after the other, such as those of many chunks.
Where the file does not export the functions (Windows), `functions()` is None and zstandard does the work.
"""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING

import numpy as np

from zarrscope.codecs.codec import Buffer, Octets
from zarrscope.codecs.native import numcodecs_file, pointer
from zarrscope.runtime.shortcuts import need, shortcut

if TYPE_CHECKING:
    from ctypes import CDLL

_local = threading.local()


class ZstdFailure(ValueError):
    """An error of libzstd for data that it cannot decode; `too_long` if the decoded data do not fit into the output."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.too_long = message == "Destination buffer is too small"


class _Context:
    """A decompression context of libzstd. Each thread makes one and keeps it, because making it takes longer than
    decoding a tiny chunk."""

    def __init__(self, functions: CDLL) -> None:
        self._free = functions.ZSTD_freeDCtx
        self.handle = functions.ZSTD_createDCtx()
        if not self.handle:
            raise MemoryError

    def __del__(self) -> None:
        self._free(self.handle)


def decompress(functions: CDLL, data: Buffer, out: Octets) -> int:
    """Decodes all frames of the data into `out`, one after the other, and returns the number of bytes. Raises
    ZstdFailure."""
    context = getattr(_local, "context", None)
    if context is None:
        context = _local.context = _Context(functions)
    return _decompress(functions, context, data, out)


def _decompress(functions: CDLL, context: _Context, data: Buffer, out: Octets) -> int:
    size: int = functions.ZSTD_decompressDCtx(context.handle, pointer(out), out.size, pointer(data), len(data))
    if size > out.size:
        raise ZstdFailure(functions.ZSTD_getErrorName(size).decode("ascii", "replace"))
    return size


@shortcut("libzstd", tried_with="numcodecs 0.16.4, 0.16.6 and 0.17.1")
def functions() -> CDLL:
    """The loaded library file, with the types of its functions set."""
    found = numcodecs_file("zstd", "ZSTD_decompressDCtx")
    where, size = ctypes.c_void_p, ctypes.c_size_t
    for name, takes, gives in (
        ("ZSTD_createDCtx", (), where),
        ("ZSTD_freeDCtx", (where,), size),
        ("ZSTD_decompressDCtx", (where, where, size, where, size), size),
        ("ZSTD_getErrorName", (size,), ctypes.c_char_p),
    ):
        function = getattr(found, name, None)
        need(function is not None, "numcodecs does not export the functions")
        assert function is not None
        function.argtypes, function.restype = takes, gives
    _test(found)
    return found


_FRAME = bytes.fromhex("28b52ffd 2409 490000 7a61727273636f7065 d7d02105")
"""The data of the self-test: a frame of nine letters, with a checksum."""


def _test(found: CDLL) -> None:
    """Raises NotUsable unless the library decodes two frames in a row, and refuses a damaged frame and a too small
    output.
    """
    context, out = _Context(found), np.empty(24, np.uint8)
    decoded = _decompress(found, context, 2 * _FRAME, out)
    need(decoded == 18 and out[:18].tobytes() == b"zarrscopezarrscope", "it decoded a known frame wrongly")
    for data, room, too_long in ((_FRAME[:-1] + b"?", out, False), (2 * _FRAME, out[:17], True)):
        try:
            _decompress(found, context, data, room)
        except ZstdFailure as error:
            need(error.too_long is too_long, f"it reported a failure wrongly: {error}")
        else:
            need(False, "it did not report a damaged frame, or a frame that is too large for the output")
