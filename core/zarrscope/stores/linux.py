"""Calls of the system that Linux has and Python has no name for: each spares LocalStore several looks at a path.

`opener`: openat2 (Linux 5.6) opens a path only if there is no symbolic link on it, whatever becomes of it meanwhile.
`rename_new`: renameat2 (Linux 3.15, glibc 2.28) gives a file a name only if nothing has that name. Both are None where
the system, the C library, or the container that this runs in, does not have or allow them. Neither holds Python's lock.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

_OPENAT2 = 437
"""The number of the system call, the same on all machines that Linux runs on but Alpha."""
_NO_SYMLINKS = 4
_BY_PATH = -100
_NOREPLACE = 1


@cache
def opener(flags: int, mode: int = 0) -> Callable[[bytes], int] | None:
    """A function that opens a path on which there is no link: a handle, or the negative number of the error."""
    if sys.platform != "linux":
        return None
    try:
        call: Any = ctypes.CDLL(None, use_errno=True).syscall
        call.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)
        call.restype = ctypes.c_long
    except (OSError, AttributeError):
        return None
    how = struct.pack("=QQQ", flags | os.O_CLOEXEC, mode, _NO_SYMLINKS)

    def opened(path: bytes, how: bytes = how) -> int:
        handle: int = call(_OPENAT2, _BY_PATH, path, how, len(how))
        return handle if handle >= 0 else -ctypes.get_errno()

    handle = opened(b"/", struct.pack("=QQQ", os.O_RDONLY | os.O_CLOEXEC, 0, _NO_SYMLINKS))
    if handle < 0:
        return None
    os.close(handle)
    return opened


@cache
def rename_new() -> Callable[[bytes, bytes], int] | None:
    """A function that renames the first path to the second if nothing is there: 0, or the number of the error."""
    if sys.platform != "linux":
        return None
    try:
        call: Any = ctypes.CDLL(None, use_errno=True).renameat2
        call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    except (OSError, AttributeError):
        return None

    def renamed(path: bytes, to: bytes) -> int:
        return 0 if not call(_BY_PATH, path, _BY_PATH, to, _NOREPLACE) else ctypes.get_errno()

    return renamed
