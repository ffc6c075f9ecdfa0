"""Paths of nodes: their canonical form, the paths in OME-Zarr metadata, and suggestions for mistyped paths.

In a store that cannot list its keys, nodes are only found by the paths that attributes name: levels, labels, wells,
fields (OME-Zarr 0.4 and 0.5).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from zarrscope.errors import Refused


def clean_path(path: str) -> str:
    """ "/a/b" for "a/b", "/a//b/". Raises Refused for "." and "..": they could leave the hierarchy.

    Names are used as they are stored: only the slash separates them, and no character is changed.
    """
    if not isinstance(path, str):
        raise TypeError(f"the path of a node is text, not {path!r}")
    if path == "/":
        return path
    parts = [part for part in path.split("/") if part]
    if any(part in (".", "..") for part in parts):
        raise Refused(f"The path {path!r} has '.' or '..' in it", advice="Name the node by its path from the root.")
    return "/" + "/".join(parts)


def join_path(path: str, name: str) -> str:
    """The path of the child `name` of a node; `path` may be the root."""
    return f"{path.rstrip('/')}/{name}"


def paths_above(path: str) -> Iterator[str]:
    """The paths of the groups above: "/", "/a", "/a/b" for "/a/b/c"; none for the root."""
    above = "/"
    for name in path.split("/")[1:]:
        if name:
            yield above
            above = join_path(above, name)


def natural(name: str) -> str:
    """A sort key for the order that people expect ("img2" before "img10", ignoring case); it differs for different
    names.
    """
    return f"{re.sub('[0-9]+', _sortable, name.casefold())}\0{name}"


def _sortable(match: re.Match[str]) -> str:
    """A number as a text that sorts like the number: its length first."""
    digits = match.group().lstrip("0")
    return f"0{chr(33 + len(digits))}{digits}"


def declared_paths(attributes: Mapping[str, Any]) -> Iterator[str]:
    """Paths beneath a group that OME-Zarr attributes name: levels, labels, wells, images of a well."""

    def members(value: object, name: str) -> Iterable[Any]:
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
    """The one of `names` that is most similar to a mistyped name; None if none is similar."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, names, 1)), None)
