"""Temporary files: names like `.zs-0123456789abcdef.partial`, which no listing shows.

A file of such a name is a value being written, until it is renamed; a folder of such a name holds what is being
removed, which was renamed into it so that it was gone at once. Whoever is killed leaves his behind. A file that its
writer has open is marked by a lock (locks.mark), which ends with the writer; so what nobody marks and is older than
GRACE seconds (the moment between making a file and marking it) is left over. Without such locks age alone tells.

A file that is removed on NFS while somebody on this machine has it open goes on as `.nfs` and 24 digits until it is
closed: that is no value either.

Left-over names are removed by whoever writes into the same folder next, once an hour and process (`sweep`), and
`zarrscope check` names them.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, islice

from zarrscope.runtime.interrupts import check
from zarrscope.runtime.memo import Memo
from zarrscope.runtime.tuning import FOLDERS_REMEMBERED, SWEPT_NAMES
from zarrscope.stores.local.locks import mark, unused

GRACE = 60.0
STALE = 3600.0
"""Seconds after which an unfinished file is taken for a killed writer's where locks do not tell; and between sweeps."""

_NAME = re.compile(r"\.zs-[0-9a-f]{16}\.partial|\.nfs[0-9a-f]{24}")
_swept: Memo[float] = Memo(FOLDERS_REMEMBERED)
_series = os.urandom(5).hex()
_counted = count()


def is_temporary(name: str) -> bool:
    """Whether a file or folder of this name is no key and no prefix."""
    return name.startswith((".zs-", ".nfs")) and _NAME.fullmatch(name) is not None


def new_name(folder: str) -> str:
    """An unused path in `folder`: a random part for the process, and a counter within it."""
    return f"{folder}{os.sep}.zs-{_series}{next(_counted) & 0xFFFFFF:06x}.partial"


def _draw() -> None:
    global _series
    _series = os.urandom(5).hex()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_draw)


def begin(folder: str) -> tuple[str, int]:
    """A new unfinished file in `folder` and its open descriptor, marked until that is closed. Raises OSError."""
    path = new_name(folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    handle = os.open(path, flags, 0o666)
    mark(handle)
    return path, handle


def is_stale_temporary(path: str) -> bool:
    """Whether the writer of the temporary file or folder `path` abandoned it."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    age = time.time() - found.st_mtime
    if stat.S_ISDIR(found.st_mode):
        return age > GRACE  # another process may still be removing it; that does no harm
    return age > GRACE and (age > STALE if (free := unused(path)) is None else free)


def stale_temporaries(folder: str) -> Iterator[str]:
    """The paths of what is left over in `folder` and in the folders beneath it, links not followed."""
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
    """Removes what is left over in `folder`, which need not be there, unless this process did so within the hour."""
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
    """If `folder` holds nothing but leftovers of killed writers, removes them; True when something was removed."""
    removed = False
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not is_temporary(entry.name) or not is_stale_temporary(entry.path):
                return False
            remove(entry.path)
            removed = True
    return removed


def remove(path: str) -> None:
    """Removes a file, or a folder with all in it, as far as that can be done."""
    try:
        os.unlink(path)
    except OSError:
        with suppress(OSError):
            remove_beneath(path)
            os.rmdir(path)


def remove_beneath(folder: str) -> None:
    """Removes all in `folder`, links themselves rather than what they lead to. Others may do so too. Raises OSError."""
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


def is_link(path: str) -> bool:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return False
    # A junction of Windows leads elsewhere just as a symbolic link does.
    return stat.S_ISLNK(found.st_mode) or getattr(found, "st_reparse_tag", 0) == 0xA0000003
