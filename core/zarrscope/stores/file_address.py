"""Opens the store at a file:// address: a folder, a .zip or .ozx archive, or a database of zarr-python 2."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from zarrscope.errors import NotEmpty, NotFound, Refused, Unsupported
from zarrscope.stores.local.failures import no_file
from zarrscope.stores.local.paths import path_of
from zarrscope.stores.registry import Mode, StoreOptions
from zarrscope.stores.store import Store

if TYPE_CHECKING:
    from zarrscope.stores.local.store import LocalStore

ARCHIVES = (".zip", ".ozx")


def open_path(url: str, mode: Mode, options: StoreOptions) -> Store:
    """The store for the folder or archive at a file:// address. `mode`: see `StoreKind.opener`."""
    path = path_of(url)
    folder = os.path.isdir(path)
    if not folder and os.path.isfile(path):
        if looks_zipped(path):
            return open_archive(path, url, mode)
        if (database := open_database(path, mode, options)) is not None:
            return database
        raise Unsupported(
            f"{path} is a file, but neither a .zip archive, a database of Zarr nor a metadata file of Zarr",
            feature="file",
            store=url,
            advice="Open the folder that holds zarr.json, .zgroup or .zarray.",
        )
    if not folder and os.path.exists(path):
        raise no_file(url, None)
    missing = not folder and not os.path.lexists(path)
    if missing and mode != "w-" and (database := open_database(path, mode, options)) is not None:
        return database
    if missing and mode in ("r", "r+"):
        raise NotFound(f"There is no file or folder {path}", store=url, advice=nearest(path))
    if not folder and path.lower().endswith(ARCHIVES):
        return open_archive(path, url, mode)
    if mode == "w-" and folder and not _is_empty(path):
        raise NotEmpty(f"{path} exists and is not empty", store=url, advice="Choose another place.")
    return _local_store()(path, writable=mode != "r")


@cache  # an import in a function takes 1.3 µs, each time that a folder is opened
def _local_store() -> type[LocalStore]:
    from zarrscope.stores.local.store import LocalStore

    return LocalStore


def open_database(path: str, mode: Mode, options: StoreOptions) -> Store | None:
    """The store for the SQLite, LMDB or dbm database at a path; None if there is none (local/databases.py)."""
    from zarrscope.stores.local.databases import open_found

    return open_found(path, mode, options)


def _is_empty(folder: str) -> bool:
    with os.scandir(folder) as entries:
        return next(entries, None) is None


def open_archive(path: str, url: str, mode: Mode = "r") -> Store:
    """The store for the .zip or .ozx file at a path. `mode`: see `StoreKind.opener`."""
    from zarrscope.stores.zip.store import ZipStore

    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise no_file(url, None)
    if os.path.isdir(path):
        raise Refused(f"{path} is a folder, not a zip archive", store=url, advice="Open it without zip://.")
    if not os.path.isfile(path) and (mode in ("r", "r+") or os.path.lexists(path)):
        raise NotFound(f"There is no archive {path}", store=url, advice=nearest(path))
    store = ZipStore(path, writable=mode != "r")
    if mode == "w-" and next(iter(store.list()), None) is not None:
        raise NotEmpty(f"{path} exists and is not empty", store=url, advice="Choose another place.")
    return store


def looks_zipped(path: str) -> bool:
    """Whether a file is an archive, by its name or its first bytes."""
    if path.lower().endswith(ARCHIVES):
        return True
    try:
        with open(path, "rb") as file:
            return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
    except OSError:
        return False


NAMES_COMPARED = 1000
"""The most names of a folder that are compared with a name that does not exist there."""


_FILES = (".zarr", ".n5", *ARCHIVES, ".json", ".parq", ".parquet")


def nearest(path: str) -> str:
    """Advice for a path that does not exist: proposes a name that is like it or an address that it may be, or names the
    nearest folder above it that exists."""
    missing, place = path, os.path.dirname(path)
    while place and not os.path.isdir(place) and os.path.dirname(place) != place:
        missing, place = place, os.path.dirname(place)
    if not place:
        return "Check the path."
    if sys.platform != "win32" and re.match("/[A-Za-z]:/", missing + "/"):
        from zarrscope.stores.address_text import OF_WINDOWS

        return f"{missing[1:]} is a drive of Windows. {OF_WINDOWS}"
    if like := _like(os.path.basename(missing), place):
        return f"Did you mean {os.path.join(place, like)}?"
    name = os.path.relpath(path, place).replace(os.sep, "/")
    if re.match(r"10\.\d{4,}/", name):
        return "A DOI names a page about data: open it in a browser, and copy the link of the file or folder there."
    web = re.match(r"[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}(:\d+)?/", name, re.IGNORECASE) and not name.partition("/")[
        0
    ].lower().endswith(_FILES)
    other = f" For an address on the web, write https://{name}" if web else ""
    return f"The folder {place} exists: look for the right name in it.{other}"


def _like(name: str, folder: str) -> str:
    """The entry of a folder whose name is most like `name`; "" if none is."""
    import difflib

    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, NAMES_COMPARED)]
    except OSError:
        return ""
    lower = {each.lower(): each for each in names}
    found = difflib.get_close_matches(name.lower(), lower, 1, 0.75)
    return lower[found[0]] if found else ""
