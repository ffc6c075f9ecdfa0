"""Linux system calls for files: opening a path only if it contains no symbolic link; finding the real path in one call;
files that get a name only when they are complete; exchanging two files in one step; and checking whether a file is open
for writing.

With a file that gets its name when it is complete, storing a new chunk takes four system calls, and with a named file
that is renamed eight (measured 2026-11-21, tests/bench/run.py "write"). Creating it does not lock the folder against
other threads, and a killed process leaves no file behind. The calls release Python's global lock.

When a shortcut is first used, it is tested on /proc, which every Linux has and where nothing can be written:
/proc/self is a link, and creating a file there fails.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Callable

from zarrscope.runtime.shortcuts import NotUsable, need, shortcut

_OPENAT2 = 437
"""The number of the system call, which is the same on all Linux architectures except Alpha."""
_NO_SYMLINKS = 4
_BY_PATH = -100
_FOLLOW = 0x400
_HANDLES = "/proc/self/fd"
_LINK = b"/proc/self"
_EXCHANGE = 2
_SINCE = (5, 19)
"""The first version of Linux on which files without a name are used: on older ones some file systems ignore the umask
for them."""

Open = Callable[[bytes], int]
"""A function that opens a path if it contains no symbolic link. It returns a handle, or the negative error number."""


def _function(name: str) -> ctypes._NamedFuncPointer:
    """A function of the C library. Raises NotUsable."""
    need(sys.platform == "linux", "not Linux")
    found: ctypes._NamedFuncPointer | None = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if found is None:
        raise NotUsable(f"the C library has no {name}()")
    return found


def _opening(flags: int, mode: int = 0) -> Open:
    """The binding of openat2. Raises NotUsable."""
    call = _function("syscall")
    call.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)
    call.restype = ctypes.c_long
    how = struct.pack("=QQQ", flags | os.O_CLOEXEC, mode, _NO_SYMLINKS)

    def opened(path: bytes) -> int:
        handle: int = call(_OPENAT2, _BY_PATH, path, how, len(how))
        return handle if handle >= 0 else -ctypes.get_errno()

    error = _error_of(opened, _LINK)
    need(error not in (errno.ENOSYS, errno.EPERM), "Linux before 5.6, or a container that forbids the call")
    need(os.path.islink(_LINK), "there is no /proc to test it on")
    need(error == errno.ELOOP, "it followed a symbolic link")
    return opened


def _error_of(opened: Open, path: bytes) -> int:
    """Opens and closes `path`. Returns the error number; 0 if there was no error."""
    handle = opened(path)
    if handle < 0:
        return -handle
    os.close(handle)
    return 0


@shortcut("openat2", tried_with="Linux 6.18")
def open_without_links() -> Open:
    """The function that opens a path for reading if it contains no symbolic link."""
    opened = _opening(os.O_RDONLY | os.O_NONBLOCK)
    need(_error_of(opened, b"/") == 0, "it did not open the root folder")
    return opened


@shortcut("O_TMPFILE", tried_with="Linux 6.18")
def nameless() -> tuple[Open, Callable[[int, bytes], int]]:
    """Two functions. The first creates a file without a name in a folder, and opens it for writing. The second gives
    the file of a handle a path, unless that path exists, and returns 0 or the error number."""
    need(sys.platform == "linux" and hasattr(os, "O_TMPFILE"), "not Linux")
    need(_version() >= _SINCE, f"Linux before {'.'.join(map(str, _SINCE))}")
    need(os.path.isdir(_HANDLES), "there is no /proc")
    made = _opening(os.O_WRONLY | os.O_TMPFILE, 0o666)
    need(_error_of(made, b"/proc") != 0, "it made a file in /proc, where none can be made")
    link = _function("linkat")
    link.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int)

    def given(handle: int, path: bytes) -> int:
        source = b"%s/%d" % (_HANDLES.encode(), handle)
        return 0 if not link(_BY_PATH, source, _BY_PATH, path, _FOLLOW) else ctypes.get_errno()

    return made, given


@shortcut("renameat2", tried_with="Linux 6.18")
def exchange() -> Callable[[bytes, bytes], int]:
    """The function that exchanges two files in one step; it returns 0 or the error number.

    The self-test only checks that the system has the call; exchange.py checks the result of each exchange.
    """
    call = _function("renameat2")
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)

    def exchanged(one: bytes, other: bytes) -> int:
        return 0 if not call(_BY_PATH, one, _BY_PATH, other, _EXCHANGE) else ctypes.get_errno()

    absent = b"/.zs-neither-is-there"
    unknown = (0, errno.ENOSYS, errno.EINVAL, errno.EPERM)
    need(exchanged(absent, absent) not in unknown, "the system cannot exchange two files")
    return exchanged


@shortcut("O_PATH", tried_with="Linux 6.18")
def real_path() -> Callable[[str], str | None]:
    """The function that resolves all symbolic links of a path in one call, not folder by folder. It returns None if
    that failed, for example because nothing exists at the path."""
    need(sys.platform == "linux" and os.path.isdir(_HANDLES), "not Linux, or there is no /proc")

    def found(path: str) -> str | None:
        try:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                real = os.readlink(f"{_HANDLES}/{handle}")
            finally:
                os.close(handle)
        except OSError:
            return None
        return real if real.startswith("/") and not real.endswith(" (deleted)") else None

    link = os.fsdecode(_LINK)
    need(found(link) == os.path.realpath(link), "it named another path")
    return found


def open_for_writing(handle: int) -> bool | None:
    """Whether a process has the file of `handle` open for writing; `handle` itself is open for reading only. None if
    the system does not tell, because the file belongs to another user or is on a network drive.

    It is found out by a read lease, which the system refuses while a process has the file open for writing. The lease
    is released at once; a process that opens the file for writing meanwhile waits until then. The signal by which the
    system reports such a process is ignored.
    """
    if sys.platform != "linux":
        return None
    import fcntl
    import signal

    try:
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return True if error.errno == errno.EAGAIN else None
    except AttributeError:
        return None
    return False


def _version() -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    except ValueError:
        return (0,)
