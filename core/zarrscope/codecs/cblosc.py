"""Calls c-blosc's functions in the library file that numcodecs ships, without importing numcodecs.

Measured 2026-11-21 (tests/bench/run.py "full"): on the main thread the wrapper of numcodecs takes c-blosc's global
lock, which the stateless function does not need: 53 µs instead of 68 for a chunk of 64³. Where the file does not export
the function (Windows), numcodecs itself is called.

Measured 2026-11-21 (tests/bench/run.py "write"): when it compresses, the wrapper starts threads of its own beside ours,
allocates memory for each chunk, and copies the result.

c-blosc trusts the header of a buffer, so `Blosc._check_header` must be called before `decompress` (spec F.4).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import numpy as np

from zarrscope.codecs.codec import Buffer, Octets
from zarrscope.codecs.native import needed, numcodecs_file, pointer
from zarrscope.runtime.shortcuts import need, shortcut

HEADER = 16
LARGEST = (1 << 31) - 1 - HEADER
"""The most bytes that can be encoded into one buffer."""


def decompress(data: Buffer, out: Octets) -> None:
    """Decodes one buffer into `out`, whose size the buffer's header must state. Raises ValueError, Unsupported."""
    call = function()
    if call is None:
        needed("numcodecs.blosc").decompress(data, out)
        return
    size = call(pointer(data), pointer(out), out.size, 1)
    if size != out.size:
        raise ValueError(f"c-blosc gave {size} for a buffer of {len(data):,} bytes")


def compress(
    chunks: Octets, which: Sequence[int], out: Buffer, name: bytes, level: int, shuffle: int, typesize: int, block: int
) -> list[int]:
    """Compresses the chosen rows of `chunks` into `out`, one after the other, and returns their lengths.

    `out` has room for a row and HEADER bytes for each. `shuffle`: 0 none, 1 bytes, 2 bits. Returns an empty list if
    c-blosc's function is not available, or the library lacks the compressor `name`.
    """
    call, size = compressing(), chunks.shape[1]
    if call is None or size > LARGEST:
        return []
    source, at, sizes = pointer(chunks), pointer(out), []
    for i in which:
        found = call(level, shuffle, typesize, size, source + i * size, at, size + HEADER, name, block, 1)
        if found <= 0:
            return []
        at += found
        sizes.append(found)
    return sizes


_ELEMENTS = bytes((1, 2)) * 128
_KNOWN = bytes.fromhex(
    "02012102 00010000 00010000 32000000 14000000 0b000000 1f01010067500101010101 0b000000 1f02010067500202020202"
)
"""The data of the self-test: `_ELEMENTS`, byte-shuffled and compressed by lz4."""


@shortcut("c-blosc reading", tried_with="numcodecs 0.16.4, 0.16.6 and 0.17.1")
def function() -> Callable[..., int]:
    """Returns blosc_decompress_ctx(source, destination, size of the destination, threads), which releases the GIL."""
    found = getattr(numcodecs_file("blosc", "blosc_decompress_ctx"), "blosc_decompress_ctx", None)
    need(found is not None, "numcodecs does not export the function")
    assert found is not None
    found.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    found.restype = ctypes.c_int
    out = np.zeros(len(_ELEMENTS), np.uint8)
    size = found(pointer(_KNOWN), pointer(out), out.size, 1)
    need(size == out.size and out.tobytes() == _ELEMENTS, "it decoded a known buffer wrongly")
    need(found(pointer(_KNOWN), pointer(out), out.size - 1, 1) <= 0, "it decoded beyond the end of the output")
    loaded: Callable[..., int] = found
    return loaded


@shortcut("c-blosc writing", tried_with="numcodecs 0.16.4, 0.16.6 and 0.17.1")
def compressing() -> Callable[..., int]:
    """Returns blosc_compress_ctx, which releases the GIL."""
    found = getattr(numcodecs_file("blosc", "blosc_decompress_ctx"), "blosc_compress_ctx", None)
    need(found is not None, "numcodecs does not export the function")
    assert found is not None
    number, size, where = ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p
    found.argtypes = (number, number, size, size, where, where, size, ctypes.c_char_p, size, number)
    found.restype = number
    made, out = np.empty(len(_ELEMENTS) + HEADER, np.uint8), np.zeros(len(_ELEMENTS), np.uint8)
    length = found(5, 1, 2, out.size, pointer(_ELEMENTS), pointer(made), made.size, b"lz4", 0, 1)
    need(0 < length < out.size, "it did not compress a known buffer")
    read = function()
    need(read is not None, "its output cannot be read back")
    assert read is not None
    size_of = read(pointer(made), pointer(out), out.size, 1)
    need(size_of == out.size and out.tobytes() == _ELEMENTS, "its output reads back as other data")
    loaded: Callable[..., int] = found
    return loaded
