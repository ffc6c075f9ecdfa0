"""Finds the documents in each subfolder of a folder with few system calls.

A link in the path, or anything but a plain file at the end, is left to `get`, which has the rules for links.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress

from zarrscope.errors import ZarrscopeError
from zarrscope.model.storage import ByteRange, ScannedChild
from zarrscope.stores.local.folder import Folder

OPEN = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


def look_into(
    store: Folder,
    folder: str,
    entries: Sequence[os.DirEntry[str]],
    prefix: str,
    names: Sequence[str],
    read: bool,
    limit: int | None,
) -> list[ScannedChild]:
    """Looks in each folder of `entries` for the first of the files `names` that exists, and reads it if `read`.

    `folder` is the path that contains the entries, and `prefix` its prefix in the store.
    """
    plain, at = bool(NO_FOLLOW) and not store._windows, None
    if plain and store._by_handle:
        with suppress(OSError):
            at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return [
            _look_into(store, entry, at, not plain or entry.is_symlink(), prefix, names, read, limit)
            for entry in entries
        ]
    finally:
        if at is not None:
            os.close(at)


def _look_into(
    store: Folder,
    entry: os.DirEntry[str],
    at: int | None,
    link: bool,
    prefix: str,
    names: Sequence[str],
    read: bool,
    limit: int | None,
) -> ScannedChild:
    """Looks into one folder. `at`: a descriptor of its parent."""
    path = entry.path if at is None else entry.name
    value: ZarrscopeError | None = None
    for name in names:
        answer = None if link else _glimpse(store, f"{path}/{name}", at, read, limit)
        if answer is False:
            continue
        if answer is None:
            key = f"{prefix}{entry.name}/{name}"
            try:
                answer = store.get(key, None if read else ByteRange(0, 1), limit)
            except ZarrscopeError as error:
                value = error.located(store=store.url, key=key)
                continue
            if answer is None:
                continue
        return ScannedChild(entry.name, name, answer if read and isinstance(answer, bytes) else None)
    return ScannedChild(entry.name, None, value)


def _glimpse(store: Folder, path: str, at: int | None, read: bool, limit: int | None) -> bytes | bool | None:
    """The value of a plain file (True if it should not be read); False if there is none; None if `get` has to
    decide."""
    try:
        if not read:
            found = os.stat(path, dir_fd=at, follow_symlinks=False)
            return True if stat.S_ISREG(found.st_mode) else None
        handle = os.open(path, OPEN | NO_FOLLOW, dir_fd=at)
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or (limit is not None and found.st_size > limit):
                return None
            return store._read(handle, 0, found.st_size)
        finally:
            os.close(handle)
    except FileNotFoundError:
        return False
    except (OSError, MemoryError, OverflowError):
        return None
