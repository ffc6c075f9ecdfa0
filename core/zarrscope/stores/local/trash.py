"""The trash of a folder: a hidden folder beside it, on the same disk, so that folders only need to be renamed into it.

`cells.zarr` has `.cells.zarr.trash` beside it. It is created when the first entry is put there, and removed with the
last one.
"""

from __future__ import annotations

import os
from contextlib import suppress

from zarrscope.stores.backend import Backend
from zarrscope.stores.local.paths import plain
from zarrscope.stores.local.store import LocalStore


def trash_folder(store: Backend) -> str | None:
    """The path of the store's trash, whether it exists or not; None if the store is not a folder, or is
    a whole disk."""
    root = store._folder_of("")
    if root is None:
        return None
    above, name = os.path.split(plain(root).rstrip(os.sep))
    return os.path.join(above, f".{name.lstrip('.')}.trash") if name else None


def writable_trash(store: Backend) -> bool:
    """Whether entries can be put into the store's trash, as far as can be found without trying."""
    folder = trash_folder(store)
    if folder is None:
        return False
    return os.access(folder if os.path.isdir(folder) else os.path.dirname(folder), os.W_OK | os.X_OK)


def trash_store(store: Backend) -> LocalStore | None:
    """The trash as a store."""
    folder = trash_folder(store)
    return LocalStore(folder) if folder is not None else None


def remove_empty_trash(store: Backend) -> None:
    """Removes the trash folder itself if it is empty."""
    folder = trash_folder(store)
    if folder is not None:
        with suppress(OSError):
            os.rmdir(folder)
