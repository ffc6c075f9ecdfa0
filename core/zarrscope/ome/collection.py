"""Groups of OME-Zarr that hold images: plates, wells, series and label images (spec E.4 to E.6). Pure.

Specification: https://ngff.openmicroscopy.org.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zarrscope.ome.metadata import block, has_multiscales, label_paths, listed, resolve, text_of

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON


@dataclass(frozen=True, slots=True)
class CollectionMember:
    """One image, or group of images, in a collection. `place` is (row, column) in a plate."""

    path: str
    name: str
    place: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Collection:
    """A group that contains images but is not one itself: kind "plate", "well", "series" or "labels".

    A series without a list in its document has `members` None: its images are /0, /1, … up to the first missing one.
    """

    kind: str
    path: str
    name: str = ""
    members: tuple[CollectionMember, ...] | None = ()
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def collection(attributes: Mapping[str, Any], path: str, series: Mapping[str, Any] | None = None) -> Collection | None:
    """The collection (plate, well, series) that the group at `path` describes, or None. `series`: attributes of its OME
    group."""
    ome, _, _ = block(attributes)
    name = path.rsplit("/", 1)[-1]
    plate, well = ome.get("plate"), ome.get("well")
    if isinstance(plate, Mapping):
        return _plate(plate, path, name)
    if isinstance(well, Mapping):
        members = _members(well.get("images"), path, lambda i, p: f"field {i + 1} ({p})")
        return Collection("well", path, name, members)
    if _is_series(attributes):
        listed = block(series or {})[0].get("series")
        paths = [{"path": p} for p in listed] if isinstance(listed, list) else None
        return Collection("series", path, name, None if not paths else _members(paths, path, lambda i, p: p))
    if isinstance(ome.get("labels"), list) and not has_multiscales(attributes):
        found = label_paths(attributes, path)
        return Collection("labels", path, name, tuple(CollectionMember(p, p.rsplit("/", 1)[-1]) for p in found))
    return None


def role(attributes: Mapping[str, Any]) -> str:
    """The role of a group according to its own attributes: "image", "labels" (a label image, or a group of them),
    "plate", "well", "series" or ""."""
    ome, _, _ = block(attributes)
    if has_multiscales(attributes):
        return "labels" if isinstance(ome.get("image-label"), Mapping) else "image"
    if isinstance(ome.get("plate"), Mapping):
        return "plate"
    if isinstance(ome.get("well"), Mapping):
        return "well"
    if _is_series(attributes):
        return "series"
    return "labels" if isinstance(ome.get("labels"), list) else ""


def _is_series(attributes: Mapping[str, Any]) -> bool:
    return "bioformats2raw.layout" in attributes or block(attributes)[0].get("bioformats2raw.layout") is not None


def _members(value: object, path: str, title: JSON) -> tuple[CollectionMember, ...]:
    members = []
    for i, item in enumerate(value if isinstance(value, list) else ()):
        name = item.get("path") if isinstance(item, Mapping) else None
        target = resolve(path, name) if isinstance(name, str) else None
        if target is not None and target != path:
            members.append(CollectionMember(target, title(i, name)))
    return tuple(members)


def _plate(plate: Mapping[str, Any], path: str, name: str) -> Collection:
    """Wells with their place, row by row: the order of the document is that of the microscope, and those who look for a
    well know only its row and column. 0.1 to 0.3 state no indices, so these follow from the path "row/column"."""
    rows, columns = (
        tuple(text_of(item.get("name")) for item in listed(plate.get(key)) if isinstance(item, Mapping))
        for key in ("rows", "columns")
    )
    members, warnings = [], []
    wells = plate.get("wells")
    for item in wells if isinstance(wells, list) else ():
        if not isinstance(item, Mapping) or not isinstance(item.get("path"), str):
            continue
        target = resolve(path, item["path"])
        if target is None or target == path:
            warnings.append(f"The well {item['path'][:60]!r} lies outside this plate and is left out.")
            continue
        row, _, column = item["path"].strip("/").partition("/")
        place = (
            _index(item.get("rowIndex"), rows, row),
            _index(item.get("columnIndex"), columns, column),
        )
        members.append(CollectionMember(target, f"{row}{column}", (place[0], place[1]) if min(place) >= 0 else None))
    members.sort(key=lambda member: (member.place is None, member.place or (0, 0)))
    return Collection("plate", path, text_of(plate.get("name")) or name, tuple(members), rows, columns, tuple(warnings))


def _index(stated: object, names: tuple[str, ...], name: str) -> int:
    if isinstance(stated, int) and not isinstance(stated, bool) and stated >= 0:
        return stated
    return names.index(name) if name in names else -1
