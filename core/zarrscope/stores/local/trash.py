"""The trash of a store that is a folder: a hidden folder beside it, on the same disk, so that moving a node to the
trash only renames its folder.

The trash of `cells.zarr` is `.cells.zarr.trash` beside it. It is created when the first node is moved to it, and
removed with the last one.
"""

from __future__ import annotations

import os
from contextlib import suppress

from zarrscope.stores.backend import Backend
from zarrscope.stores.local.paths import plain
from zarrscope.stores.local.store import LocalStore


def trash_folder(store: Backend) -> str | None:
    """The path of the store's trash, which need not exist; None if the store is not a folder, or is the root of a
    disk."""
    root = store._folder_of("")
    if root is None:
        return None
    above, name = os.path.split(plain(root).rstrip(os.sep))
    return os.path.join(above, f".{name.lstrip('.')}.trash") if name else None


def writable_trash(store: Backend) -> bool:
    """Whether nodes can probably be moved to the store's trash; nothing is moved to find out."""
    folder = trash_folder(store)
    if folder is None:
        return False
    return os.access(folder if os.path.isdir(folder) else os.path.dirname(folder), os.W_OK | os.X_OK)


def trash_store(store: Backend) -> LocalStore | None:
    """The store for the trash; None if the store has none (`trash_folder`)."""
    folder = trash_folder(store)
    return LocalStore(folder) if folder is not None else None


def remove_empty_trash(store: Backend) -> None:
    """Removes the trash folder itself if it is empty."""
    folder = trash_folder(store)
    if folder is not None:
        with suppress(OSError):
            os.rmdir(folder)
