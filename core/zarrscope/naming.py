"""Names that documents tell of: paths in OME-Zarr metadata, and the one that a mistyped name may have meant.

The paths are all there is where a store cannot list its keys: levels, labels, wells, fields (OME-Zarr 0.4 and 0.5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any


def declared_paths(attributes: Mapping[str, Any]) -> Iterator[str]:
    """Paths beneath a group that OME-Zarr attributes name: levels, labels, wells, images of a well."""

    def members(value: Any, name: str) -> Iterable[Any]:
        found = value.get(name) if isinstance(value, Mapping) else None
        return found if isinstance(found, list) else ()

    inner = attributes.get("ome")
    for ome in (attributes, inner if isinstance(inner, Mapping) else {}):
        paths: list[Any] = []
        for image in members(ome, "multiscales"):
            paths += [item.get("path") for item in members(image, "datasets") if isinstance(item, Mapping)]
            paths.append("labels")
        paths += members(ome, "labels")
        for whole, name in (("plate", "wells"), ("well", "images")):
            paths += [item.get("path") for item in members(ome.get(whole), name) if isinstance(item, Mapping)]
        yield from (path for path in paths if isinstance(path, str) and path)
        if "bioformats2raw.layout" in ome:
            yield from ("OME", "0")


def close_to(name: str, names: Sequence[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, names, 1)), None)
