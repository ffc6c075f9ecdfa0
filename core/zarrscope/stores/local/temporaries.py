"""Temporary files: names like `.zs-0123456789abcdef.partial`, which no listing shows.

A file with such a name is a value that is being written, and will be renamed. A folder with such a name holds folders
that are being removed; they were renamed into it so that they disappear at once. A killed process leaves such files and
folders behind. A writer marks its open file by a file lock (locks.mark), which ends with the process. So a file without
a lock is left over if it is older than GRACE seconds, which are ample for locking a file after it was created. On
systems without such locks only the age counts.

If a file on NFS is removed while a process of this machine has it open, NFS keeps it, renamed to `.nfs` and 24 digits,
until it is closed. Such a file is not a value either.

Each process that writes into a folder removes leftovers there, at most once an hour (`sweep`). `zarrscope check` names
them.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, islice

from zarrscope.runtime.interrupts import check
from zarrscope.runtime.memo import Memo
from zarrscope.runtime.tuning import FOLDERS_REMEMBERED, SWEPT_NAMES
from zarrscope.stores.local.locks import mark, unused
from zarrscope.stores.local.names import is_link, is_temporary

GRACE = 60.0
STALE = 3600.0
"""Seconds after which a temporary file counts as left over on systems without locks; also the seconds between two
sweeps."""

_swept: Memo[float] = Memo(FOLDERS_REMEMBERED)
_series = os.urandom(5).hex()
_counted = count()


def new_name(folder: str) -> str:
    """An unused path in `folder`. The name consists of a random part, which is new in each process, and a counter."""
    return f"{folder}{os.sep}.zs-{_series}{next(_counted) & 0xFFFFFF:06x}.partial"


def _draw() -> None:
    global _series
    _series = os.urandom(5).hex()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_draw)


def begin(folder: str) -> tuple[str, int]:
    """Creates a temporary file in `folder`. Returns its path and its open descriptor, which has the file locked until
    it is closed. Raises OSError."""
    path = new_name(folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    handle = os.open(path, flags, 0o666)
    mark(handle)
    return path, handle


def is_stale_temporary(path: str) -> bool:
    """Whether the temporary file or folder `path` is left over from a killed process."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    age = time.time() - found.st_mtime
    if stat.S_ISDIR(found.st_mode):
        return age > GRACE  # another process may still be removing it; two may do so without harm
    return age > GRACE and (age > STALE if (free := unused(path)) is None else free)


def stale_temporaries(folder: str) -> Iterator[str]:
    """The paths of leftovers in `folder` and in the folders beneath it, without following links."""
    pending = [folder]
    while pending:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if is_temporary(entry.name):
                    if is_stale_temporary(entry.path):
                        yield entry.path
                elif entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)


def sweep(folder: str, *, now: bool = False) -> None:
    """Removes leftovers in `folder`, which need not exist, unless this process did so within the last hour."""
    moment = time.monotonic()
    last = _swept.get(folder)
    if last is not None and moment - last < STALE and not now:
        return
    _swept.put(folder, moment)
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in list(islice(entries, SWEPT_NAMES)):
            if is_temporary(entry.name) and is_stale_temporary(entry.path):
                remove(entry.path)


def only_temporaries(folder: str) -> bool:
    """Removes leftovers of killed writers from a folder that contains nothing else. Returns whether one was removed."""
    removed = False
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not is_temporary(entry.name) or not is_stale_temporary(entry.path):
                return False
            remove(entry.path)
            removed = True
    return removed


def remove(path: str) -> None:
    """Removes a file, or a folder with its contents, as far as possible."""
    try:
        os.unlink(path)
    except OSError:
        with suppress(OSError):
            remove_beneath(path)
            os.rmdir(path)


def remove_beneath(folder: str) -> None:
    """Removes everything in `folder`. Links are removed, not their targets. Other processes may remove the same files
    meanwhile. Raises OSError."""
    folders = [folder]
    for each in folders:
        with os.scandir(each) as entries:
            for entry in entries:
                check()
                if entry.is_dir(follow_symlinks=False) and not is_link(entry.path):
                    folders.append(entry.path)
                else:
                    with suppress(FileNotFoundError):
                        os.unlink(entry.path)
    for each in reversed(folders[1:]):
        with suppress(FileNotFoundError):
            os.rmdir(each)
