"""c-blosc's own functions in the library file that numcodecs brings, called without importing numcodecs.

2026-11-21 (tests/bench/run.py "full"): the wrapper of numcodecs takes the global lock of c-blosc on the main thread
where the stateless function needs none: 53 µs instead of 68 for a chunk of 64³. Where the file does not show the
function (Windows), numcodecs itself is called.

2026-11-21 (tests/bench/run.py "write"): compressing, the wrapper starts threads of its own beside ours, makes new
memory for each chunk, and copies what it made.

Decompressing trusts the header of a buffer: `Blosc._check_header` comes before it (spec F.4).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache

from zarrscope.codecs.kinds import Buffer, Octets
from zarrscope.codecs.libraries import needed, numcodecs_file, pointer

HEADER = 16
LARGEST = (1 << 31) - 1 - HEADER
"""Bytes that one buffer can hold."""


def decompress(data: Buffer, out: Octets) -> None:
    """Fills `out` from one buffer whose header counts as many bytes. Raises ValueError, Unsupported."""
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
    """Makes one buffer of each row of `chunks` that is asked for, one after the other in `out`: how long they are.

    `out` has room for a row and HEADER bytes for each. `shuffle`: 0 none, 1 bytes, 2 bits. Empty where the function is
    not to be had, or does not know the compressor `name`.
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


@cache
def compressing() -> Callable[..., int] | None:
    """blosc_compress_ctx, or None where it is not to be had. It releases Python's lock while it runs."""
    found = getattr(numcodecs_file("blosc", "blosc_decompress_ctx"), "blosc_compress_ctx", None)
    if found is not None:
        number, size, where = ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p
        found.argtypes = (number, number, size, size, where, where, size, ctypes.c_char_p, size, number)
        found.restype = number
    return found


@cache
def function() -> Callable[..., int] | None:
    """blosc_decompress_ctx(source, destination, size of the destination, threads), or None where it is not to be had.

    It releases Python's lock while it runs.
    """
    found = getattr(numcodecs_file("blosc", "blosc_decompress_ctx"), "blosc_decompress_ctx", None)
    if found is not None:
        found.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        found.restype = ctypes.c_int
    return found
