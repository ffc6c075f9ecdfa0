"""Simulates another system (table.py): replaces members of os, sys, fcntl, ctypes and others as zarrscope imports them.

`install(name)` comes before zarrscope is imported. From then on modules of zarrscope, and only these, are given
stand-ins for those modules: tests, pytest and other libraries keep this machine's. The file system is this machine's as
well, but answers as the other one would: a rename over an open file on Windows is a PermissionError with winerror 5.

Which processes have a file open is known in every process, even after a kill: each handle holds a lock of its own (OFD)
on a byte far beyond the file's end, which no other code examines.
"""

from __future__ import annotations

import builtins
import ctypes
import errno
import fcntl
import hashlib  # noqa: F401 - a test that gives up its rights could not load it any more
import importlib
import importlib.abc
import importlib.machinery
import mmap
import ntpath
import os
import pathlib
import posixpath
import random
import re
import signal
import stat
import struct
import sys
import tempfile
import threading
import types
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path, PureWindowsPath
from typing import Any

from systems.table import System, named

PRODUCT = ("zarrscope", "zarrscope_app", "zarrscope_resources")
installed: System | None = None
"""The simulated system of this process."""
_for_tests: dict[str, Any] = {}

_FAR = 1 << 40
_ONE_PATH = tuple(
    """
    stat lstat open unlink remove mkdir makedirs rmdir listdir scandir readlink access chmod utime chown truncate
    removedirs chdir walk listxattr getxattr setxattr statvfs
    """.split()
)
_TWO_PATHS = ("rename", "replace", "link", "renames", "symlink")
_LOOKS = ("exists", "lexists", "isdir", "isfile", "islink", "getsize", "getmtime", "realpath", "samefile", "ismount")
_WINERRORS = {
    2: errno.ENOENT, 3: errno.ENOENT, 206: errno.ENOENT, 5: errno.EACCES, 32: errno.EACCES, 33: errno.EACCES,
    183: errno.EEXIST, 145: errno.ENOTEMPTY, 267: errno.ENOTDIR, 123: errno.EINVAL, 17: errno.EXDEV, 1314: errno.EINVAL,
    112: errno.ENOSPC,
}  # fmt: skip
_WORDS = {
    2: "The system cannot find the file specified", 3: "The system cannot find the path specified",
    206: "The filename or extension is too long", 5: "Access is denied",
    32: "The process cannot access the file because it is being used by another process",
    33: "The process cannot access the file because another process has locked a portion of the file",
    183: "Cannot create a file when that file already exists", 145: "The directory is not empty",
    267: "The directory name is invalid", 123: "The filename, directory name, or volume label syntax is incorrect",
    17: "The system cannot move the file to a different disk drive",
    1314: "A required privilege is not held by the client", 112: "There is not enough space on the disk",
}  # fmt: skip
_NO_NAME = re.compile(r'[<>:"|?*\x00-\x1f]')
_DEVICE = re.compile(r"(?i)(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])(\..*)?")
_GET_PATH, _FULL_FLUSH = 50, 51


def _windows_error(number: int, path: object = None) -> OSError:
    error = OSError(_WINERRORS[number], _WORDS[number], path)
    error.winerror = number  # type: ignore[attr-defined,unused-ignore]  # typed on Windows alone
    return error


class _Module(types.ModuleType):
    """A stand-in for a module: it passes names on to the real module, except those that the system lacks. `copied`: it
    has copies of all names, so that tests can delete some."""

    def __init__(self, real: Any, lacks: tuple[str, ...] = (), *, copied: bool = False) -> None:
        super().__init__(real.__name__)
        self.__dict__.update(_real=real, _lacks=frozenset(lacks), _copied=copied)
        if copied:
            given = {name: value for name, value in vars(real).items() if not name.startswith("__")}
            self.__dict__.update({name: value for name, value in given.items() if name not in lacks})

    def __getattr__(self, name: str) -> Any:
        if self.__dict__["_copied"] or name in self.__dict__["_lacks"]:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        return getattr(self.__dict__["_real"], name)

    def __dir__(self) -> list[str]:
        return [name for name in dir(self._real) if name not in self._lacks]


class _Entry:
    """An entry of a folder, with the members that Windows gives."""

    def __init__(self, entry: os.DirEntry[str], folder: str) -> None:
        self._entry = entry
        self.name = entry.name
        self.path = ntpath.join(folder, entry.name)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._entry.is_dir(follow_symlinks=follow_symlinks)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self._entry.is_file(follow_symlinks=follow_symlinks)

    def is_symlink(self) -> bool:
        return self._entry.is_symlink()

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return _one_bit(self._entry.stat(follow_symlinks=follow_symlinks), st_ino=0, st_dev=0, st_nlink=0)

    def inode(self) -> int:
        return self._entry.inode()

    def __fspath__(self) -> str:
        return self.path


class _Scan:
    def __init__(self, entries: Any, folder: str) -> None:
        self._entries, self._folder = entries, folder

    def __iter__(self) -> Iterator[_Entry]:
        return self

    def __next__(self) -> _Entry:
        return _Entry(next(self._entries), self._folder)

    def __enter__(self) -> _Scan:
        return self

    def __exit__(self, *_: object) -> None:
        self._entries.close()

    def close(self) -> None:
        self._entries.close()


def _one_bit(found: os.stat_result, **other: int) -> os.stat_result:
    """A stat as on Windows: the mode states only the type and whether the file may be written."""
    told = {name: getattr(found, name) for name in dir(found) if name.startswith("st_")}
    writable = 0o222 if found.st_mode & stat.S_IWUSR else 0
    usual = 0o555 if stat.S_ISDIR(found.st_mode) else 0o444
    told |= {"st_mode": stat.S_IFMT(found.st_mode) | usual | writable, "st_uid": 0, "st_gid": 0, **other}
    ten = ("mode", "ino", "dev", "nlink", "uid", "gid", "size", "atime", "mtime", "ctime")
    beyond = {
        name: value for name, value in told.items() if name[3:] not in ten[:7]
    }  # times: as integers and as floats
    return os.stat_result([int(told[f"st_{name}"]) for name in ten], beyond)


class Files:
    """The file system of `system`: the functions of os, os.path and io.open that take a path or a handle."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.text: set[int] = set()
        self.flags: dict[int, int] = {}
        self._lock = threading.Lock()

    # ------------------------------------------------------------------ names
    def real(self, path: Any, *, last: bool = True) -> Any:
        """The path on this machine. With `last` False, the last name need not exist in this spelling."""
        if isinstance(path, int) or path is None:
            if isinstance(path, int) and self.system.does("folders have no handle"):
                raise TypeError(f"path should be string, bytes or os.PathLike, not {type(path).__name__}")
            return path
        text = os.fsdecode(path)
        if self.system.does("backslashes"):
            text = self._from_windows(text)
        if self.system.platform != "linux" and (text == "/proc" or text.startswith(("/proc/", "/sys/"))):
            text = "/no such file system"
        if self.system.does("any case") and text and not os.path.lexists(text):
            text = self._known(text)
        return os.fsencode(text) if isinstance(path, bytes) else text

    def _from_windows(self, text: str) -> str:
        given = text
        if text.startswith("\\\\?\\"):
            text = text[4:]
            if "/" in text or "\\\\" in text:
                raise _windows_error(123, given)
        else:
            absolute = text if re.match("[A-Za-z]:", text) else "C:" + text
            if len(absolute.encode("utf-16-le", "surrogatepass")) // 2 > 259 and self.system.does("short paths"):
                raise _windows_error(206, given)
            names = re.split(r"[\\/]", text)
            text = "/".join(name if name in (".", "..") else name.rstrip(" .") for name in names)
        text = re.sub("^[A-Za-z]:", "", text).replace("\\", "/")
        for name in text.split("/"):
            if _NO_NAME.search(name) or len(name.encode("utf-16-le", "surrogatepass")) > 510:
                raise _windows_error(123, given)
            if _DEVICE.fullmatch(name):
                raise AssertionError(f"{given!r} is a device of Windows, not a file")
        return text

    def _known(self, text: str) -> str:
        """The path with each name spelled as the existing one."""
        found = "/" if text.startswith("/") else "."
        names = [name for name in text.split("/") if name]
        for i, name in enumerate(names):
            below = os.path.join(found, name)
            if not os.path.lexists(below):
                alike = None
                with suppress(OSError):
                    alike = next((each for each in os.listdir(found) if self._fold(each) == self._fold(name)), None)
                if alike is None:
                    return os.path.join(found, *names[i:])
                below = os.path.join(found, alike)
            found = below
        return found

    def _fold(self, name: str) -> str:
        if self.system.does("any form"):
            name = unicodedata.normalize("NFD", name)
        return name.casefold()

    def to_windows(self, path: str) -> str:
        return "C:" + path.replace("/", "\\") if path.startswith("/") else path.replace("/", "\\")

    # ------------------------------------------------------------------ open handles
    @property
    def _watches(self) -> bool:
        return self.system.does("open files stay") or self.system.does("silly rename")

    def watch(self, handle: int, flags: int) -> int:
        """Marks a handle just opened as one on an open file, until it is closed."""
        self.flags[handle] = flags
        if self._watches:
            writes = flags & (os.O_WRONLY | os.O_RDWR)
            kind = fcntl.F_WRLCK if flags & os.O_WRONLY and writes else fcntl.F_RDLCK
            at = _FAR + (1 + random.randrange(1 << 40) if kind == fcntl.F_WRLCK else 0)
            with suppress(OSError):
                fcntl.fcntl(handle, fcntl.F_OFD_SETLK, struct.pack("hhqqi", kind, 0, at, 1, 0))
        return handle

    def is_open(self, path: str) -> bool:
        try:
            if not stat.S_ISREG(os.lstat(path).st_mode):
                return False
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            asked = struct.pack("hhqqi", fcntl.F_WRLCK, 0, _FAR, 0, 0)
            told = struct.unpack("hhqqi", fcntl.fcntl(handle, fcntl.F_OFD_GETLK, asked))
            return bool(told[0] != fcntl.F_UNLCK)
        finally:
            os.close(handle)

    def _busy(self, path: str) -> bool:
        """Whether a file, or any beneath a folder, is open."""
        if os.path.isdir(path) and not os.path.islink(path):
            return any(self.is_open(os.path.join(at, name)) for at, _, names in os.walk(path) for name in names)
        return self.is_open(path)

    # ------------------------------------------------------------------ handles
    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        windows = self.system.does("folders have no handle")
        if windows and dir_fd is not None:
            raise NotImplementedError("dir_fd unavailable on this platform")
        binary = flags & _O_BINARY if windows else 0
        there = path if dir_fd is not None else self.real(path)
        plain = flags & ~(_O_BINARY | _O_NOINHERIT) if windows else flags
        if windows:
            try:
                found = os.stat(there)
            except NotADirectoryError:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from None
            except OSError:
                pass
            else:
                refused = stat.S_ISDIR(found.st_mode) or (
                    flags & (os.O_WRONLY | os.O_RDWR) and not found.st_mode & stat.S_IWUSR
                )
                if refused and not (flags & os.O_CREAT and flags & os.O_EXCL):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        new = flags & os.O_CREAT and self.system.does("modes are one bit") and not os.path.lexists(there)
        handle = os.open(there, plain, mode, dir_fd=dir_fd)
        if new:
            os.fchmod(handle, 0o666 if mode & stat.S_IWUSR else 0o444)
        self.text.discard(handle)
        if windows and not binary:
            self.text.add(handle)
        return self.watch(handle, plain)

    def read(self, handle: int, length: int) -> bytes:
        data = os.read(handle, length)
        if handle in self.text and self.system.does("text mode"):
            data = data.partition(b"\x1a")[0].replace(b"\r\n", b"\n")
        return data

    def write(self, handle: int, data: Any) -> int:
        if handle in self.text and self.system.does("text mode"):
            os.write(handle, bytes(data).replace(b"\n", b"\r\n"))
            return len(data)
        return os.write(handle, data)

    def close(self, handle: int) -> None:
        self.text.discard(handle)
        self.flags.pop(handle, None)
        os.close(handle)

    def dup(self, handle: int) -> int:
        copy = os.dup(handle)
        self.flags[copy] = self.flags.get(handle, os.O_RDONLY)
        self.text.discard(copy)
        if handle in self.text:
            self.text.add(copy)
        return copy

    def fsync(self, handle: int) -> None:
        if self.system.does("mandatory locks") and not self.flags.get(handle, os.O_RDWR) & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        os.fsync(handle)

    def fstat(self, handle: int) -> os.stat_result:
        found = os.fstat(handle)
        return _one_bit(found) if self.system.does("modes are one bit") else found

    def file(self, path: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        """Acts as `open`, not as os.open; the file beneath is always binary."""
        if isinstance(path, int):
            return open(path, mode, *args, **kwargs)
        there = self.real(path)
        if self.system.does("folders have no handle") and os.path.isdir(there):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        opened = open(there, mode, *args, **kwargs)  # noqa: SIM115 - the caller closes it
        self.watch(opened.fileno(), os.O_RDONLY if mode.rstrip("bt") == "r" else os.O_RDWR)
        return opened

    # ------------------------------------------------------------------ names given, changed and taken away
    def rename(self, source: Any, to: Any) -> None:
        self._rename(source, to, replaces=not self.system.does("rename refuses"))

    def replace(self, source: Any, to: Any) -> None:
        self._rename(source, to, replaces=True)

    def _rename(self, source: Any, to: Any, replaces: bool) -> None:
        here, there = self.real(source), self.real(to)
        if self.system.does("any case") and here == there:  # another spelling of the same name
            there = os.path.join(os.path.dirname(there), re.split(r"[\\/]", os.fsdecode(to))[-1])
        elif self.system.does("rename refuses") and os.path.lexists(there) and os.path.lexists(here):
            if not replaces:
                raise _windows_error(183, to)
            if os.path.isdir(there) or not os.lstat(there).st_mode & stat.S_IWUSR:
                raise _windows_error(5, to)
        if self.system.does("open files stay"):
            if self._busy(here):
                raise _windows_error(5 if os.path.isdir(here) else 32, source)
            if self.is_open(there):
                raise _windows_error(5, to)
        if self.system.does("silly rename") and os.path.lexists(here):
            self._silly(there)
        self._told(lambda: os.replace(here, there), source)

    def _silly(self, path: str) -> None:
        """Renames an open file that is removed, until it is closed, as NFS does."""
        if self.is_open(path) and not os.path.basename(path).startswith(".nfs"):
            name = f".nfs{random.getrandbits(96):024x}"
            with suppress(OSError):
                os.link(path, os.path.join(os.path.dirname(path), name))

    def _told(self, act: Callable[[], Any], path: Any) -> Any:
        """Runs the operation, and raises its error as Windows does."""
        if not self.system.does("backslashes"):
            return act()
        try:
            return act()
        except OSError as error:
            told = {
                errno.ENOENT: 2, errno.ENOTDIR: 3, errno.EEXIST: 183, errno.ENOTEMPTY: 145, errno.EACCES: 5,
                errno.EPERM: 5, errno.EISDIR: 5, errno.EXDEV: 17, errno.ENAMETOOLONG: 206, errno.EINVAL: 123,
            }.get(error.errno or 0)  # fmt: skip
            if told is None:
                raise
            raise _windows_error(told, path) from error

    def unlink(self, path: Any) -> None:
        there = self.real(path)
        if self.system.does("rename refuses") and os.path.lexists(there) and not os.path.islink(there):
            found = os.lstat(there)
            if stat.S_ISDIR(found.st_mode) or not found.st_mode & stat.S_IWUSR:
                raise _windows_error(5, path)
        if self.system.does("open files stay") and self.is_open(there):
            raise _windows_error(32, path)
        if self.system.does("silly rename"):
            if os.path.basename(there).startswith(".nfs"):
                if self.is_open(there):
                    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), path)
            else:
                self._silly(there)
        self._told(lambda: os.unlink(there), path)

    def rmdir(self, path: Any) -> None:
        there = self.real(path)
        if self.system.does("silly rename"):  # files that were closed meanwhile are gone
            with suppress(OSError):
                for name in os.listdir(there):
                    if name.startswith(".nfs") and not self.is_open(os.path.join(there, name)):
                        os.unlink(os.path.join(there, name))
        if self.system.does("backslashes") and os.path.isfile(there):
            raise _windows_error(267, path)
        self._told(lambda: os.rmdir(there), path)

    def listed(self, path: Any) -> None:
        """Before a folder is listed, removes the renamed files that are closed by now."""
        if self.system.does("silly rename") and not isinstance(path, int):
            with suppress(OSError):
                for name in os.listdir(path):
                    if name.startswith(".nfs") and not self.is_open(os.path.join(path, name)):
                        os.unlink(os.path.join(path, name))

    def scandir(self, path: Any = ".") -> Any:
        there = self.real(path)
        self.listed(there)
        if not self.system.does("backslashes"):
            return os.scandir(there)
        if os.path.lexists(there) and not os.path.isdir(there):
            raise _windows_error(267, path)
        return _Scan(self._told(lambda: os.scandir(there), path), os.fspath(path))

    def link(self, source: Any, to: Any, **_: Any) -> None:
        here, there = self.real(source), self.real(to)
        if self.system.does("no links"):
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), source)
        self._told(lambda: os.link(here, there), source)

    def symlink(self, source: Any, to: Any, *_: Any, **__: Any) -> None:
        if self.system.does("backslashes"):
            raise _windows_error(1314, to)
        os.symlink(source, self.real(to))

    def chmod(self, path: Any, mode: int, **other: Any) -> None:
        there = self.real(path)
        if self.system.does("no modes"):
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), path)
        if self.system.does("modes are one bit"):
            mode = 0o666 if mode & stat.S_IWUSR else 0o444
        self._told(lambda: os.chmod(there, mode, **other), path)

    def access(self, path: Any, mode: int, **other: Any) -> bool:
        try:
            there = self.real(path)
        except OSError:
            return False
        if self.system.does("modes are one bit") and mode & os.W_OK:
            try:
                found = os.stat(there)
            except OSError:
                return False
            return stat.S_ISDIR(found.st_mode) or bool(found.st_mode & stat.S_IWUSR)
        return os.access(there, mode, **other)

    def stat(self, path: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        if self.system.does("folders have no handle") and dir_fd is not None:
            raise NotImplementedError("dir_fd unavailable on this platform")
        if isinstance(path, int):
            return self.fstat(path)
        there = path if dir_fd is not None else self.real(path)
        found: os.stat_result = self._told(lambda: os.stat(there, dir_fd=dir_fd, follow_symlinks=follow_symlinks), path)
        return _one_bit(found) if self.system.does("modes are one bit") else found

    def lstat(self, path: Any, *, dir_fd: int | None = None) -> os.stat_result:
        return self.stat(path, dir_fd=dir_fd, follow_symlinks=False)

    def makedirs(self, name: Any, mode: int = 0o777, exist_ok: bool = False) -> None:
        there = self.real(name)
        self._told(lambda: os.makedirs(there, mode, exist_ok), name)

    def no_attribute(self, *_: Any, **__: Any) -> Any:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    def no_right(self, *_: Any, **__: Any) -> Any:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    # ------------------------------------------------------------------ locks
    def flock(self, handle: int, operation: int) -> None:
        path = os.readlink(f"/proc/self/fd/{handle}") if not operation & fcntl.LOCK_UN else "/zarrscope"
        elsewhere = "/zarrscope" in path  # lock files of this user lie on a disk of this machine
        if not elsewhere:
            if self.system.does("nothing is locked"):
                raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
            if self.system.does("folders are not locked"):
                access = fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE
                needed = (os.O_RDONLY, os.O_RDWR) if operation & fcntl.LOCK_SH else (os.O_WRONLY, os.O_RDWR)
                if access not in needed:
                    raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        fcntl.flock(handle, operation)

    def fcntl(self, handle: int, command: int, argument: Any = 0) -> Any:
        if command == _FULL_FLUSH and self.system.does("full flush"):
            os.fsync(handle)
            return 0
        if command == _GET_PATH and self.system.platform == "darwin":
            return os.fsencode(os.readlink(f"/proc/self/fd/{handle}")).ljust(len(argument), b"\0")
        return fcntl.fcntl(handle, command, argument)

    def locking(self, handle: int, mode: int, length: int) -> None:
        """msvcrt.locking from the handle's position: two handles of one process lock each other out."""
        kind = fcntl.F_UNLCK if mode == _LK_UNLCK else fcntl.F_WRLCK
        at = os.lseek(handle, 0, os.SEEK_CUR)
        try:
            fcntl.fcntl(handle, fcntl.F_OFD_SETLK, struct.pack("hhqqi", kind, 0, at, length, 0))
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None
            raise


_O_BINARY, _O_NOINHERIT = 1 << 28, 1 << 29
_LK_UNLCK, _LK_LOCK, _LK_NBLCK = 0, 1, 2


class _Function:
    """A C function that the system lacks: every call fails like an unknown system call."""

    argtypes: Any = None
    restype: Any = None

    def __init__(self, name: str, forbidden: bool) -> None:
        self._name, self._forbidden = name, forbidden

    def __call__(self, *_: Any) -> int:
        if self._forbidden:
            raise AssertionError(f"{self._name} called on a system where its numbers mean something else")
        ctypes.set_errno(errno.ENOSYS)
        return -1


class _Library:
    """A loaded library without some of its functions."""

    def __init__(self, library: Any, system: System, main: bool) -> None:
        self.__dict__.update(_library=library, _system=system, _main=main, _made={})

    def __getattr__(self, name: str) -> Any:
        system = self._system
        if not self._main and system.does("libraries show nothing"):
            raise AttributeError(f"function {name!r} not found")
        if self._main:
            if name in ("renameat2", "openat2", "malloc_trim", "statx") and system.does("no system calls"):
                raise AttributeError(f"symbol not found: {name}")
            if name in ("renameat2", "openat2", "statx") and system.does("no new calls"):
                raise AttributeError(f"undefined symbol: {name}")
            if name == "syscall" and (system.does("no system calls") or system.does("no new calls")):
                return self._made.setdefault(name, _Function(name, system.does("no system calls")))
        return getattr(self._library, name)


def _os(system: System, files: Files) -> _Module:
    module = _Module(os, system.lacks.get("os", ()), copied=True)

    def one(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(path: Any, *args: Any, **kwargs: Any) -> Any:
            there = path if kwargs.get("dir_fd") is not None else files.real(path)
            return files._told(lambda: real(there, *args, **kwargs), path)

        call.__name__ = name
        return call

    def two(name: str) -> Callable[..., Any]:
        real = getattr(os, name)
        return lambda source, to, **kwargs: real(files.real(source), files.real(to), **kwargs)

    own: dict[str, Any] = {name: one(name) for name in _ONE_PATH if hasattr(os, name)}
    own |= {name: two(name) for name in _TWO_PATHS}
    for name in (
        "open", "read", "write", "close", "dup", "fsync", "fstat", "rename", "replace", "unlink", "rmdir", "scandir",
        "link", "symlink", "chmod", "access", "stat", "lstat", "makedirs",
    ):  # fmt: skip
        own[name] = getattr(files, name)
    own["remove"] = files.unlink
    if system.does("no attributes"):
        own |= {"chown": files.no_right, "listxattr": files.no_attribute, "getxattr": files.no_attribute}
        own |= {"setxattr": files.no_attribute}
    if system.release:
        own["uname"] = lambda: os.uname_result((*os.uname()[:2], system.release, *os.uname()[3:]))
    for name in system.lacks.get("os", ()):
        own.pop(name, None)
    for name in ("supports_dir_fd", "supports_fd", "supports_follow_symlinks", "supports_effective_ids"):
        none = system.does("folders have no handle") and name != "supports_follow_symlinks"
        real = {each.__name__ for each in getattr(os, name)}
        own[name] = set() if none else {own.get(each) or getattr(module, each, None) for each in real} - {None}
    path: Any = posixpath
    if system.does("backslashes"):
        own |= {"sep": "\\", "altsep": "/", "name": "nt", "pathsep": ";", "linesep": "\r\n", "O_BINARY": _O_BINARY}
        own |= {"O_NOINHERIT": _O_NOINHERIT}
        path = ntpath
    own["path"] = _path(path, files)
    module.__dict__.update(own)
    return module


def _path(flavour: Any, files: Files) -> _Module:
    module = _Module(flavour)

    def looked(name: str) -> Callable[..., Any]:
        real = getattr(os.path, name)

        def call(path: Any, *others: Any, **kwargs: Any) -> Any:
            try:
                there = files.real(path)
            except OSError:
                if name in ("exists", "lexists", "isdir", "isfile", "islink", "ismount"):
                    return False
                raise
            return real(there, *map(files.real, others), **kwargs)

        return call

    own = {name: looked(name) for name in _LOOKS}
    if files.system.does("backslashes"):

        def absolute(path: Any) -> str:
            text: str = ntpath.normpath(os.fspath(path))
            if re.fullmatch("[A-Za-z]:", text):  # a drive alone is the current folder there
                text = "."
            if not re.match(r"[A-Za-z]:|\\\\", text):
                text = "C:" + text if text.startswith("\\") else ntpath.normpath(
                    files.to_windows(os.getcwd()) + "\\" + text
                )  # fmt: skip
            return text

        def real(path: Any, **_: Any) -> str:
            try:
                return files.to_windows(os.path.realpath(files.real(path)))
            except OSError:
                return absolute(path)

        own |= {"abspath": absolute, "realpath": real, "expanduser": lambda path: os.path.expanduser(os.fspath(path))}
        own["relpath"] = lambda path, start: ntpath.relpath(absolute(path), absolute(start))
    module.__dict__.update(own)
    return module


def _ctypes(system: System) -> _Module:
    module = _Module(ctypes)

    def load(name: Any, *args: Any, **kwargs: Any) -> Any:
        if system.does("no libraries"):
            raise OSError(f"{name}: cannot open shared object file")
        if name is None and system.platform == "win32":
            raise TypeError("argument of type 'NoneType' is not iterable")
        return _Library(ctypes.CDLL(name, *args, **kwargs), system, name is None)

    module.__dict__["CDLL"] = load
    return module


def _mmap(system: System) -> _Module:
    module = _Module(mmap, system.lacks.get("mmap", ()))
    if system.does("no advice"):

        class OldMemory(mmap.mmap):
            def madvise(self, option: int, *rest: int) -> None:
                if option == getattr(mmap, "MADV_FREE", None):
                    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
                super().madvise(option, *rest)

        module.__dict__["mmap"] = OldMemory
    return module


def _pathlib(files: Files) -> _Module:
    """Paths of Windows, whose methods act on the file system as it looks there."""

    class WindowsPath(PureWindowsPath):
        def __getattr__(self, name: str) -> Any:
            act = getattr(Path, name) if not name.startswith("_") else None
            if act is None:
                raise AttributeError(name)

            def call(*args: Any, **kwargs: Any) -> Any:
                there = Path(files.real(str(self)))
                found = files._told(
                    lambda: act(there, *(files.real(a) if a is self else a for a in args), **kwargs), self
                )
                return type(self)(files.to_windows(str(found))) if isinstance(found, Path) else found

            return call

        def __fspath__(self) -> str:
            """Other libraries, which run on this machine, are given its path."""
            found: str = files.real(str(self))
            return found

        def is_absolute(self) -> bool:
            """From Python 3.13 on, pathlib looks at `__fspath__` for it."""
            return bool(self.drive and self.root)

        def resolve(self, strict: bool = False) -> Any:
            return type(self)(files.to_windows(str(Path(files.real(str(self))).resolve(strict))))

        absolute = resolve

        def iterdir(self) -> Iterator[Any]:
            return (self / each.name for each in Path(files.real(str(self))).iterdir())

        def replace(self, target: Any) -> Any:
            files.replace(str(self), str(target))
            return type(self)(target)

        def rename(self, target: Any) -> Any:
            files.rename(str(self), str(target))
            return type(self)(target)

        @classmethod
        def home(cls) -> Any:
            return cls(files.to_windows(str(Path.home())))

        @classmethod
        def cwd(cls) -> Any:
            return cls(files.to_windows(os.getcwd()))

    module = _Module(pathlib)
    module.__dict__.update(Path=WindowsPath, PurePath=PureWindowsPath, WindowsPath=WindowsPath)
    return module


def _tempfile(files: Files) -> _Module:
    """Temporary files under names of Windows."""
    module = _Module(tempfile)

    def placed(folder: Any) -> Any:
        return None if folder is None else files.real(os.fspath(folder))

    def file(suffix: Any = None, prefix: Any = None, dir: Any = None, text: bool = False) -> tuple[int, str]:
        handle, path = files._told(lambda: tempfile.mkstemp(suffix, prefix, placed(dir), text), dir)
        return handle, files.to_windows(path)

    def folder(suffix: Any = None, prefix: Any = None, dir: Any = None) -> str:
        return files.to_windows(files._told(lambda: tempfile.mkdtemp(suffix, prefix, placed(dir)), dir))

    module.__dict__.update(mkstemp=file, mkdtemp=folder, gettempdir=lambda: files.to_windows(tempfile.gettempdir()))
    return module


def stand_ins(system: System) -> tuple[dict[str, types.ModuleType], Files]:
    """The modules that zarrscope imports in place of this machine's os, sys and others."""
    files = Files(system)
    made: dict[str, types.ModuleType] = {"os": _os(system, files), "ctypes": _ctypes(system), "mmap": _mmap(system)}
    if system.does("backslashes"):
        made |= {"pathlib": _pathlib(files), "tempfile": _tempfile(files)}
    made["sys"] = _Module(sys)
    made["sys"].__dict__["platform"] = system.platform
    made["signal"] = _Module(signal, system.lacks.get("signal", ()))
    if "fcntl" not in system.lacks:
        made["fcntl"] = _Module(fcntl)
        made["fcntl"].__dict__.update(flock=files.flock, fcntl=files.fcntl)
        if system.does("full flush"):
            made["fcntl"].__dict__["F_FULLFSYNC"] = _FULL_FLUSH
        if system.platform == "darwin":
            made["fcntl"].__dict__["F_GETPATH"] = _GET_PATH
    if system.does("mandatory locks"):
        made["msvcrt"] = types.ModuleType("msvcrt")
        made["msvcrt"].__dict__.update(
            locking=files.locking, LK_UNLCK=_LK_UNLCK, LK_LOCK=_LK_LOCK, LK_NBLCK=_LK_NBLCK, LK_RLCK=3, LK_NBRLCK=4
        )
    return made, files


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module of zarrscope with other builtins: `import` and `open` act as on the simulated system."""

    builtins: dict[str, Any]

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__["__builtins__"] = self.builtins
        super().exec_module(module)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, loader: type[_Loader]) -> None:
        self._loader = loader

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name.partition(".")[0] not in PRODUCT:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = self._loader(spec.loader.name, spec.loader.path)
        return spec


def builtins_of_tests() -> dict[str, Any]:
    """The builtins of a test module: it gets os and sys as zarrscope does, and this machine's other modules."""
    return _for_tests


def install(name: str) -> None:
    """Lets zarrscope, which must not be imported yet, run on the system `name`."""
    global installed
    assert installed is None, "one system in a process"
    assert not set(PRODUCT) & sys.modules.keys(), "zarrscope is imported already"
    system = installed = named(name)
    made, files = stand_ins(system)
    absent = {module for module, names in system.lacks.items() if not names}
    real_import = builtins.__import__

    def importing(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        top = name.partition(".")[0]
        if level == 0 and top in absent:
            raise ModuleNotFoundError(f"No module named {top!r}", name=top)
        if level == 0 and top in made:
            return made["os"].path if name == "os.path" and fromlist else made[top]
        if level == 0 and system.does("backslashes") and name == "urllib.request" and fromlist:
            import nturl2path

            return nturl2path
        return real_import(name, globals, locals, fromlist, level)

    def of_tests(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if level == 0 and name in ("os", "sys"):
            return made[name]
        return real_import(name, globals, locals, fromlist, level)

    _for_tests.update(vars(builtins), __import__=of_tests)
    own = dict(vars(builtins), __import__=importing, open=files.file)
    loader = type("Loader", (_Loader,), {"builtins": own})
    sys.meta_path.insert(0, _Finder(loader))
