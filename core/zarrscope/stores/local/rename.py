"""Moves a folder in one step by renaming it, so that readers find it complete under the old path or under the new one.

A folder cannot be moved to another file system in this way. A symbolic link is not moved, because its target may be
relative to its folder.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import Any

from zarrscope.errors import Conflict, NotFound, ReadOnly, Unreadable, Unsupported
from zarrscope.stores.local.failures import DENIED, FULL, FULL_DISK, to_be_allowed
from zarrscope.stores.local.paths import plain
from zarrscope.stores.local.replace import make_folders, patiently, remove_made, sync_folder

_TAKEN = {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EISDIR}
_APART = {errno.EXDEV, errno.EMLINK, errno.EOPNOTSUPP, errno.EINVAL}


def movable(folder: str, to: str) -> bool:
    """Whether renaming `folder` to `to` will probably succeed; nothing is renamed to find out."""
    try:
        if os.path.islink(folder) or not os.path.isdir(folder):
            return False
        above = os.path.dirname(to)
        while not os.path.lexists(above) and os.path.dirname(above) != above:
            above = os.path.dirname(above)
        return os.path.isdir(above) and os.stat(folder).st_dev == os.stat(above).st_dev
    except OSError:
        return False


def move_folder(folder: str, to: str, *, store: str, prefix: str, sync: bool = True) -> None:
    """Renames `folder` to `to`, which must not exist or be an empty folder. With `sync`, waits until the change is on
    disk. `store` and `prefix` name the target in errors.

    Raises Conflict (`to` is not empty), NotFound (`folder` does not exist), Unsupported (`to` is on another file
    system), ReadOnly, Unreadable.
    """
    above, made = os.path.dirname(to), list[str]()
    try:
        made = make_folders(above)
        if sys.platform == "win32":
            with suppress(OSError):
                os.rmdir(to)  # removes an empty folder, over which only POSIX renames
        patiently(lambda: os.rename(folder, to), lambda: not os.path.lexists(to))
    except OSError as error:
        remove_made(made)
        place: dict[str, Any] = {"store": store, "key": prefix}
        if error.errno in _TAKEN:
            raise Conflict("Something is stored there already", advice="Choose another name.", **place) from error
        if error.errno == errno.ENOENT:
            raise NotFound(f"There is no folder {plain(folder)}", **place) from error
        if error.errno in _APART:
            raise Unsupported(
                "The folder cannot be moved there in one step", feature="moving a folder", **place
            ) from error
        reason = error.strerror or str(error)
        if error.errno in FULL:
            advice = f"Nothing was changed. {FULL_DISK}"
            raise Unreadable(f"The folder could not be moved: {reason}", advice=advice, **place) from error
        advice = f"Nothing was changed. {to_be_allowed(error, 'a file in it')}, or choose another place."
        if error.errno in DENIED:
            raise ReadOnly(f"The folder could not be moved: {reason}", advice=advice, **place) from error
        raise Unreadable(f"The folder could not be moved: {reason}", advice=advice, **place) from error
    if sync:
        for each in {above, os.path.dirname(folder)}:
            sync_folder(each)
