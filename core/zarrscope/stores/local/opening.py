"""Opens the store at a file:// address: a folder, or a .zip or .ozx archive."""

from __future__ import annotations

import os

from zarrscope.errors import NotFound, Refused, Unsupported
from zarrscope.stores.local.paths import path_of
from zarrscope.stores.registry import Mode, StoreOptions
from zarrscope.stores.store import Store

ARCHIVES = (".zip", ".ozx")


def open_path(url: str, mode: Mode, options: StoreOptions) -> Store:
    """The store for the folder or archive at a file:// address. `mode`: see `StoreKind.opener`."""
    path = path_of(url)
    folder = os.path.isdir(path)
    if not folder and os.path.isfile(path):
        if looks_zipped(path):
            return open_archive(path, url, mode)
        raise Unsupported(
            f"{path} is a file, but neither a .zip archive nor a metadata file of Zarr",
            feature="file",
            store=url,
            advice="Open the folder that holds zarr.json, .zgroup or .zarray.",
        )
    if mode in ("r", "r+") and not folder and not os.path.lexists(path):
        raise NotFound(f"There is no file or folder {path}", store=url, advice=nearest(path))
    if not folder and path.lower().endswith(ARCHIVES):
        return open_archive(path, url, mode)
    if mode == "w-" and folder and not _is_empty(path):
        raise Refused(f"{path} exists and is not empty", store=url, advice="Choose another place.")
    from zarrscope.stores.local.store import LocalStore

    return LocalStore(path, writable=mode != "r")


def _is_empty(folder: str) -> bool:
    with os.scandir(folder) as entries:
        return next(entries, None) is None


def open_archive(path: str, url: str, mode: Mode = "r") -> Store:
    """The store for the .zip or .ozx file at a path. `mode`: see `StoreKind.opener`."""
    from zarrscope.stores.zip.store import ZipStore

    if not os.path.isfile(path) and (mode in ("r", "r+") or os.path.lexists(path)):
        raise NotFound(f"There is no archive {path}", store=url, advice=nearest(path))
    store = ZipStore(path, writable=mode != "r")
    if mode == "w-" and next(iter(store.list()), None) is not None:
        raise Refused(f"{path} exists and is not empty", store=url, advice="Choose another place.")
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


def nearest(path: str) -> str:
    """Advice for a path that does not exist: names the nearest folder above it that exists."""
    place = os.path.dirname(path)
    while place and not os.path.isdir(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    return f"The folder {place} exists: look for the right name in it." if place else "Check the path."
