"""Removes a folder in one step: it is renamed into a hidden folder, which is deleted after the lock is released."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from zarrscope.stores.local.replace import patiently, sync_folder
from zarrscope.stores.local.temporaries import new_name, remove, remove_beneath, sweep

_later = threading.local()
"""`paths`: the hidden folders that this thread deletes at the end of `removal_at_the_end`."""


@contextmanager
def removal_at_the_end() -> Iterator[None]:
    """A context for removing folders. The files of folders that this thread removes in it are deleted at its end,
    because that may take long."""
    outer: list[str] | None = getattr(_later, "paths", None)
    if outer is not None:
        yield
        return
    _later.paths = []
    try:
        yield
    finally:
        paths, _later.paths = _later.paths, None
        for path in paths:
            remove(path)


def remove_folder(folder: str, root: str, *, sync: bool) -> None:
    """Removes a folder beneath `root` so that all of it disappears at once: it is first renamed into a hidden folder.

    The hidden folder is in `root`, not beside the removed folder, because other programs take every folder beside a
    node for a node. With `sync`, waits until the change is on disk.
    """
    if not os.path.isdir(folder):
        return
    sweep(root)
    aside = new_name(root.rstrip(os.sep))
    try:
        os.mkdir(aside)
        patiently(lambda: os.rename(folder, os.path.join(aside, "removed")))
    except OSError as error:  # renaming is not allowed, or crosses file systems: remove file by file
        with suppress(OSError):
            os.rmdir(aside)
        if sys.platform == "win32" and isinstance(error, PermissionError):
            raise  # a program has a file in the folder open: without that file, the others must not be removed either
        remove_beneath(folder)
        with suppress(OSError):
            os.rmdir(folder)
        return
    if sync:
        sync_folder(os.path.dirname(folder))
    later: list[str] | None = getattr(_later, "paths", None)
    if later is None:
        remove(aside)
    else:
        later.append(aside)
