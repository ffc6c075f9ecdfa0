"""What Linux has besides for writing: files without a name, which LocalStore gives a name when they are whole.

2026-11-21 (tests/bench/run.py "write"): four calls of the system for a new chunk where a file with a name of its own,
renamed, takes eight; and making an inode does not keep other threads from the folder. Whoever is killed leaves nothing.
The calls follow no symbolic link and do not hold Python's lock.
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
_FOLLOW = 0x400
_HANDLES = "/proc/self/fd"
_SINCE = (5, 19)
"""Linux before that forgets the umask of such files on some file systems."""

Nameless = tuple[Callable[[bytes], int], Callable[[int, bytes], int]]


@cache
def nameless() -> Nameless | None:
    """Two functions; None where the system, or the container that this runs in, has no such calls.

    One makes a file in a folder, if there is no link on the way: a handle for writing, or the negative number of the
    error. The other gives the file of a handle a path, if nothing is there: 0, or the number of the error.
    """
    if sys.platform != "linux" or not hasattr(os, "O_TMPFILE") or not os.path.isdir(_HANDLES) or _version() < _SINCE:
        return None
    try:
        library = ctypes.CDLL(None, use_errno=True)
        call: Any = library.syscall
        link: Any = library.linkat
    except (OSError, AttributeError):
        return None
    call.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)
    call.restype = ctypes.c_long
    link.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int)
    how = struct.pack("=QQQ", os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, 0o666, _NO_SYMLINKS)

    def made(folder: bytes) -> int:
        handle: int = call(_OPENAT2, _BY_PATH, folder, how, len(how))
        return handle if handle >= 0 else -ctypes.get_errno()

    def given(handle: int, path: bytes) -> int:
        return (
            0
            if not link(_BY_PATH, b"%s/%d" % (_HANDLES.encode(), handle), _BY_PATH, path, _FOLLOW)
            else ctypes.get_errno()
        )

    return made, given


def _version() -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    except ValueError:
        return (0,)
