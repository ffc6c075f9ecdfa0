"""Converts OME-Zarr metadata between versions: 0.1 to 0.4 become 0.5 in v3, and 0.5 becomes 0.4 in v2.

0.4 keeps its members at the top of v2's attributes, each with a version of its own; 0.5 keeps them in v3's attributes
under "ome" with one version, and arrays must name their dimensions as the axes. 0.1 and 0.2 imply the axes t, c, z, y,
x; 0.3 names them. None of these three states scales, and a well states its position only by its path. Other versions
are copied unchanged. The functions are pure: they do not change their arguments. Specification: reference.md E.1, E.2,
E.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zarrscope.ome.metadata import HISTORICAL_AXES, TYPE_OF_NAME, resolve
from zarrscope.ome.pixel_size import ShapeOf

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

JsonObject = dict[str, Any]

_OME_04 = ("multiscales", "omero", "labels", "image-label", "plate", "well", "bioformats2raw.layout", "series")
_VERSIONED = ("omero", "image-label", "plate", "well")
_EARLY = ("0.1", "0.2", "0.3")
_ENDINGS = ("/labels", "/OME")


def nothing_known(path: str) -> None:
    """A ShapeOf for callers that know no array: None for every path."""


def axis_names(attributes: Mapping[str, Any], group: str) -> dict[str, tuple[str, ...]]:
    """Maps the path of each array in the group's multiscales to the names of its axes."""
    ome = attributes.get("ome")
    entries = (ome if isinstance(ome, Mapping) else attributes).get("multiscales")
    named: dict[str, tuple[str, ...]] = {}
    for entry in entries if isinstance(entries, list) else ():
        axes, datasets = (entry.get("axes"), entry.get("datasets")) if isinstance(entry, Mapping) else (None, None)
        if not isinstance(axes, list) or not isinstance(datasets, list):
            continue
        listed = [axis.get("name") if isinstance(axis, Mapping) else axis for axis in axes]
        names = tuple(name for name in listed if isinstance(name, str))
        if len(names) < len(axes):
            continue
        for dataset in datasets:
            place = dataset.get("path") if isinstance(dataset, Mapping) else None
            where = resolve(group, place) if isinstance(place, str) else None
            if where is not None:
                named[where] = names
    return named


def upgraded(own: JsonObject, path: str, shape_of: ShapeOf = nothing_known) -> tuple[JsonObject, str]:
    """Moves OME-Zarr 0.1 to 0.4 at the top of the attributes to 0.5 under "ome". Returns the attributes and a note, or
    ""."""
    found = {name: own[name] for name in _OME_04 if name in own}
    if not {"multiscales", "plate", "well", "image-label", "bioformats2raw.layout"} & found.keys() and not (
        path.endswith(_ENDINGS) and {"labels", "series"} & found.keys()
    ):
        return own, ""
    if "multiscales" in found and not isinstance(found["multiscales"], list):
        return own, "OME-Zarr metadata is copied unchanged: its multiscales are not a list"
    version = _version(found)
    told = f"OME-Zarr {version or '0.4'} becomes 0.5"
    if version in _EARLY or not _has_axes(found.get("multiscales")):
        entries = _with_axes(found.get("multiscales"), path, shape_of) if version in ("", *_EARLY) else None
        if entries is None:
            what = version or "of an early version"
            return own, f"OME-Zarr metadata {what} is copied unchanged: its axes and levels cannot be determined"
        if "multiscales" in found:
            axes = ", ".join(axis["name"] for axis in entries[0]["axes"]) if entries else ""
            told = (
                f"OME-Zarr {version or 'of an early version'} becomes 0.5: its axes are {axes}; "
                "it states no pixel sizes, so the scale of a level is its factor"
            )
            found["multiscales"] = entries
        if isinstance(found.get("plate"), Mapping):
            found["plate"] = _with_places(found["plate"])
    elif version not in ("", "0.4"):
        return own, f"OME-Zarr metadata {version} is copied unchanged: only 0.1 to 0.4 become 0.5"
    ome: JsonObject = {"version": "0.5"}
    for name, value in found.items():
        if name == "multiscales":
            value = [_without_version(entry) for entry in value]
        elif name == "plate" and isinstance(value, Mapping):
            value = {**value, "version": "0.5"}  # the specification demands it, although its example lacks it
        elif name in _VERSIONED:
            value = _without_version(value)
        ome[name] = value
    rest = {name: value for name, value in own.items() if name not in found}
    return {"ome": ome, **rest}, told


def _with_axes(listed: object, path: str, shape_of: ShapeOf) -> list[JsonObject] | None:
    """Gives multiscales of 0.1 to 0.3 axes as objects, and scales for all levels. Returns None if these are unknown."""
    if listed is None:
        return []
    entries: list[JsonObject] = []
    found: list[Any] = listed if isinstance(listed, list) else [None]
    for entry in found:
        names, datasets = (entry.get("axes"), entry.get("datasets")) if isinstance(entry, Mapping) else (None, None)
        if not isinstance(datasets, list) or not datasets:
            return None
        paths = [d.get("path") if isinstance(d, Mapping) else None for d in datasets]
        places = [resolve(path, p) if isinstance(p, str) else None for p in paths]
        shapes = [shape_of(place) if place is not None else None for place in places]
        finest = shapes[0]
        names = names if names is not None else [*HISTORICAL_AXES]
        if finest is None or not isinstance(names, list) or len(names) != len(finest):
            return None
        if not all(isinstance(name, str) for name in names):
            return None
        axes = [{"name": name} | ({"type": kind} if (kind := TYPE_OF_NAME.get(name)) else {}) for name in names]
        scaled: list[JsonObject] = []
        for dataset, shape in zip(datasets, shapes, strict=True):
            if shape is None or len(shape) != len(finest):
                return None
            scale = [_times(n, m) for n, m in zip(finest, shape, strict=True)]
            scaled.append({**dataset, "coordinateTransformations": [{"type": "scale", "scale": scale}]})
        entries.append({**entry, "axes": axes, "datasets": scaled})
    return entries


def _times(fine: int, coarse: int) -> float:
    """The factor by which a coarse length is shorter than a fine one: a whole number if dividing by it, rounded up or
    down, gives the coarse length; else the exact quotient.
    """
    near = max(1, round(fine / coarse)) if coarse else 1
    return float(near) if not coarse or coarse in (fine // near, -(-fine // near)) else fine / coarse


def _with_places(plate: Mapping[str, Any]) -> JsonObject:
    """A plate of 0.1 to 0.3 whose wells get their row and column indices from their paths."""
    order: dict[str, list[Any]] = {}
    for name in ("rows", "columns"):
        listed = plate.get(name)
        order[name] = (
            [item.get("name") for item in listed if isinstance(item, Mapping)] if isinstance(listed, list) else []
        )
    wells = []
    for well in plate["wells"] if isinstance(plate.get("wells"), list) else ():
        path = well.get("path") if isinstance(well, Mapping) else None
        row, _, column = path.partition("/") if isinstance(path, str) else ("", "", "")
        if row in order["rows"] and column in order["columns"]:
            well = {"rowIndex": order["rows"].index(row), "columnIndex": order["columns"].index(column), **well}
        wells.append(well)
    return {**plate, "wells": wells} if wells else dict(plate)


def downgraded(own: JsonObject) -> tuple[JsonObject, str]:
    """Moves OME-Zarr 0.5 under "ome" to 0.4 at the top of the attributes. Returns the attributes and a note."""
    ome = own["ome"]
    version = ome.get("version")
    if version != "0.5" or any(name in own for name in ome if name != "version"):
        return own, f"OME-Zarr metadata {version} is copied unchanged: only 0.5 becomes 0.4"
    top: JsonObject = {}
    for name, value in ome.items():
        if name == "version":
            continue
        if name == "multiscales" and isinstance(value, list):
            value = [{"version": "0.4", **entry} if isinstance(entry, Mapping) else entry for entry in value]
        elif name in _VERSIONED and isinstance(value, Mapping):
            value = {"version": "0.4", **_without_version(value)}
        top[name] = value
    return {**top, **{name: value for name, value in own.items() if name != "ome"}}, "OME-Zarr 0.5 becomes 0.4"


def _version(found: Mapping[str, Any]) -> str:
    entries = found.get("multiscales")
    candidates = [*(entries if isinstance(entries, list) else ()), *(found.get(name) for name in _VERSIONED)]
    for item in candidates:
        if isinstance(item, Mapping) and isinstance(item.get("version"), str):
            return str(item["version"])
    return ""


def _has_axes(entries: object) -> bool:
    """Whether the axes are objects, as in 0.4 and later; also true if there are no multiscales."""
    if entries is None:
        return True
    return isinstance(entries, list) and all(
        isinstance(entry, Mapping)
        and isinstance(entry.get("axes"), list)
        and all(isinstance(axis, Mapping) for axis in entry["axes"])
        for entry in entries
    )


def _without_version(value: object) -> JSON:
    return {name: item for name, item in value.items() if name != "version"} if isinstance(value, Mapping) else value
