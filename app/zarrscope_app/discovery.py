"""Decides for which paths napari offers zarrscope's reader.

npe2 offers a reader that accepts folders for every folder, and asks the user if there are two such readers; its
patterns match only the last part of a path. So a manifest cannot say "folders that are Zarr". `narrow` makes npe2's
public `iter_compatible_readers` leave out zarrscope's reader where `claims` is false, and return it where `claims` is
true; other readers are not affected. Without `narrow` the manifest applies: the reader is then offered too often, never
too rarely.

This module imports nothing of zarrscope, because it runs when napari looks for plug-ins.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from npe2 import PluginManager

PLUGIN = "zarrscope"
SUFFIXES = (".zarr", ".ozx", ".n5", ".zarr.zip", ".ome.zarr")
DOCUMENTS = ("zarr.json", ".zgroup", ".zarray", ".zmetadata", "attributes.json", "root.group.json", "root.array.json")
"""Files that identify the folder around them as a hierarchy, as zarrscope.dialects detects it."""
LISTED = 1000
"""The most names in an archive, or in a folder, that are examined."""


def claims(path: str, others: bool = False) -> bool:
    """Whether a path leads to Zarr, judged by names and one look into a folder or an archive. `others` says whether
    another reader accepts the path; if so, an address without any sign of Zarr is left to that reader."""
    parts = path.replace(os.sep, "/").rstrip("/").lower().split("/")
    if any(part.partition("::")[0].partition("|")[0].endswith(SUFFIXES) for part in parts):
        return True
    if path.startswith("zarrscope:"):  # a copied view, which contains its own address
        return True
    if "://" in path:
        return parts[-1] in DOCUMENTS or not others
    if parts[-1] in DOCUMENTS[:4]:
        return True
    if os.path.isdir(path):
        found = [os.path.isfile(os.path.join(path, name)) for name in (*DOCUMENTS, "meta", "attrs")]
        return any(found[:-2]) or all(found[-2:]) or _holds_hierarchies(path)  # Zarr v1 has both "meta" and "attrs"
    return parts[-1].endswith(".zip") and _holds_documents(path)


def _holds_hierarchies(folder: str) -> bool:
    """Whether half of the names in a folder, or more, are those of hierarchies. A folder of other images with one
    hierarchy among them is left to other readers."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name.lower() for entry, _ in zip(entries, range(LISTED), strict=False)]
    except OSError:  # no permission to list it
        return False
    names = [name for name in names if not name.startswith(".")]
    return bool(names) and 2 * sum(name.endswith(SUFFIXES) for name in names) >= len(names)


def _holds_documents(path: str) -> bool:
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(path) as archive:
            return any(name.rpartition("/")[2] in DOCUMENTS[:4] for name in archive.namelist()[:LISTED])
    except (OSError, BadZipFile, ValueError):
        return False


def narrow() -> None:
    """Makes npe2 offer zarrscope's reader only for suitable paths; once per process."""
    try:
        from npe2 import PluginManager
    except ImportError:
        return
    offered = PluginManager.iter_compatible_readers
    if hasattr(offered, "narrowed"):
        return

    @wraps(offered)
    def narrowed(self: PluginManager, path: str | Path | Sequence[str | Path]) -> Iterator[Any]:
        readers = list(offered(self, path))
        others = [reader for reader in readers if reader.plugin_name != PLUGIN]
        first = str(path[0] if isinstance(path, list | tuple) and path else path)
        try:
            wanted = claims(first, bool(others))
        except OSError:
            wanted = False
        yield from others
        if wanted:
            yield from _ours(self)

    narrowed.narrowed = True  # type: ignore[attr-defined]  # marks the function as replaced
    PluginManager.iter_compatible_readers = narrowed  # type: ignore[method-assign]  # npe2 has no hook for this


def _ours(manager: PluginManager) -> list[Any]:
    manifests = [each for each in manager.iter_manifests(disabled=False) if each.name == PLUGIN]
    return [reader for manifest in manifests for reader in manifest.contributions.readers or ()]
