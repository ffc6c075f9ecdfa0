"""The trash of a folder: a hidden folder beside it, on the same disk, so that whatever goes there is only renamed.

`cells.zarr` has `.cells.zarr.trash` beside it. Nobody makes it before something goes there, and it goes away when the
last thing has left it.
"""

from __future__ import annotations

import os
from contextlib import suppress

from zarrscope.stores.backend import Backend
from zarrscope.stores.local.paths import plain
from zarrscope.stores.local.store import LocalStore


def trash_folder(store: Backend) -> str | None:
    """The folder that is the store's trash, there or not; None where the store is no folder, or a whole disk."""
    root = store._folder_of("")
    if root is None:
        return None
    above, name = os.path.split(plain(root).rstrip(os.sep))
    return os.path.join(above, f".{name.lstrip('.')}.trash") if name else None


def writable_trash(store: Backend) -> bool:
    """Whether things can be put there, as far as looking tells."""
    folder = trash_folder(store)
    if folder is None:
        return False
    return os.access(folder if os.path.isdir(folder) else os.path.dirname(folder), os.W_OK | os.X_OK)


def trash_store(store: Backend) -> LocalStore | None:
    """The trash as a store."""
    folder = trash_folder(store)
    return LocalStore(folder) if folder is not None else None


def remove_empty_trash(store: Backend) -> None:
    """Removes the folder itself once nothing is in it."""
    folder = trash_folder(store)
    if folder is not None:
        with suppress(OSError):
            os.rmdir(folder)
