"""Finds the metadata documents in each subfolder of a folder with few system calls.

If a subfolder or a document is a link, or the document is not a plain file, it is left to `LocalStore.get`, which
checks where links lead.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from zarrscope.errors import ZarrscopeError
from zarrscope.model.storage import ByteRange, ScannedChild
from zarrscope.stores.keys import folder_in_place

if TYPE_CHECKING:
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
    """Looks in each folder of `entries` for the first of the files `names` that exists. With `read` it also reads the
    file.

    `folder` is the path of the folder that contains the entries, and `prefix` its prefix in the store.
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
    """Does the work of `look_into` for one entry. `at`: a descriptor of the folder that contains it, or None. `link`:
    whether to leave the entry to `get`, because it is a link, or because this system cannot refuse links."""
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
                if os.path.isdir(f"{entry.path}{os.sep}{name}"):
                    value = folder_in_place(store.url, key)
                continue
        return ScannedChild(entry.name, name, answer if read and isinstance(answer, bytes) else None)
    return ScannedChild(entry.name, None, value)


def _glimpse(store: Folder, path: str, at: int | None, read: bool, limit: int | None) -> bytes | bool | None:
    """The content of a plain file, or True if it should not be read; False if nothing exists at `path`; None if it has
    to be left to `get`."""
    try:
        if not read:
            found = os.stat(path, dir_fd=at, follow_symlinks=False)
            return True if stat.S_ISREG(found.st_mode) else None
        handle = os.open(path, OPEN | NO_FOLLOW, dir_fd=at)
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or (limit is not None and found.st_size > limit):
                return None
            if store._positional and len(value := os.pread(handle, found.st_size, 0)) == found.st_size:
                return value
            return store._read(handle, 0, found.st_size)
        finally:
            os.close(handle)
    except FileNotFoundError:
        return False
    except (OSError, MemoryError, OverflowError):
        return None
