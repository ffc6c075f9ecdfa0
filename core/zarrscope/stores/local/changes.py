"""Erases values and prefixes of a folder, and locks it while nodes are added, moved and removed (see store.py)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from zarrscope.errors import ZarrscopeError
from zarrscope.stores.local.failures import NOTHING_THERE
from zarrscope.stores.local.folder import Folder
from zarrscope.stores.local.locks import folder_lock
from zarrscope.stores.local.names import is_link, is_temporary
from zarrscope.stores.local.removal import removal_at_the_end, remove_folder
from zarrscope.stores.local.replace import make_folders, patiently, remove_made
from zarrscope.stores.local.spelling import ONE_NAME, check_spelling
from zarrscope.stores.local.temporaries import is_stale_temporary, only_temporaries, remove


@contextmanager
def changing(store: Folder) -> Iterator[None]:
    """Holds the lock for adding, moving and removing nodes. Folders that are removed meanwhile disappear at once, but
    their files are deleted when the lock has been released, because that may take long."""
    with removal_at_the_end(), ExitStack() as held:
        made = _enter(store, held)
        try:
            yield
        finally:
            remove_made(made)  # succeeds if nothing was stored


def _enter(store: Folder, held: ExitStack) -> list[str]:
    """Acquires the lock of the root folder, which is made if it is missing. Returns the result of make_folders."""
    for attempt in range(20):
        try:
            made = make_folders(store._base)
            held.enter_context(folder_lock(store._base, on_folder=store._lock_on_folder))
            return made
        except ZarrscopeError:
            raise
        except OSError as error:
            # Another process, which held the lock before, has removed the folder.
            if not isinstance(error, FileNotFoundError) or attempt == 19:
                raise store._failure(error, "", "written") from error
    raise AssertionError("unreachable")


def erase(store: Folder, key: str) -> None:
    """See Store.erase."""
    path = store._path(key)
    if is_temporary(os.path.basename(path)):
        return
    if ONE_NAME:
        check_spelling(path, key.count("/") + 1, store=store.url, key=key)
    folder = os.path.dirname(path)
    try:
        with folder_lock(folder, on_folder=store._lock_on_folder, shared=True, key=key):
            if os.path.isdir(path) and not is_link(path):
                return
            patiently(lambda: os.unlink(path), lambda: os.access(path, os.W_OK))
    except ZarrscopeError:
        raise
    except OSError as error:
        if error.errno in NOTHING_THERE:
            return
        raise store._failure(error, key, "removed") from error
    prune(store, folder)


def erase_prefix(store: Folder, prefix: str) -> None:
    """See Store.erase_prefix."""
    folder = store._folder(prefix)
    if ONE_NAME and prefix:
        check_spelling(folder, prefix.count("/"), store=store.url, key=prefix)
    try:
        if prefix and is_link(folder):
            os.unlink(folder)
        elif prefix:
            remove_folder(folder, store._base, sync=store.sync)
        else:
            with os.scandir(folder) as entries:
                for entry in list(entries):
                    if entry.is_dir(follow_symlinks=False) and not is_temporary(entry.name):
                        remove_folder(entry.path, store._base, sync=store.sync)
                    elif not is_temporary(entry.name) or is_stale_temporary(entry.path):
                        remove(entry.path)
    except OSError as error:
        if error.errno not in NOTHING_THERE:
            raise store._failure(error, prefix, "removed") from error
    prune(store, os.path.dirname(folder) if prefix else folder)


def prune(store: Folder, folder: str) -> None:
    """Removes `folder` if it is empty, then the folders above it that became empty, but never the root."""
    while folder != store._base and folder.startswith(store._base.rstrip(os.sep) + os.sep):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            pass
        except OSError:
            if not only_temporaries(folder):
                return
            continue
        folder = os.path.dirname(folder)
