"""Attributes on their way from one dialect to another: what moves to another place, and OME-Zarr 0.4 ↔ 0.5.

OME-Zarr 0.4 keeps its members at the top of v2's attributes, each with a version of its own; 0.5 keeps them in v3's
attributes under "ome" with one version, and arrays must name their dimensions as the axes (dialects.md E.1). Other
versions are taken along as they are. Names of dimensions are a member of the array in v3, an attribute elsewhere.
Pure functions; what they are given is not changed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from zarrscope.dialects.v2 import DIMENSIONS
from zarrscope.metadata import ArrayMetadata
from zarrscope.ome import resolve

Attributes = dict[str, Any]

_OME_04 = ("multiscales", "omero", "labels", "image-label", "plate", "well", "bioformats2raw.layout", "series")
_VERSIONED = ("omero", "image-label", "plate", "well")
_ENDINGS = ("/labels", "/OME")


def attributes(
    source: Mapping[str, Any], metadata: ArrayMetadata | None, path: str, before: str, after: str
) -> tuple[Attributes, list[str]]:
    """(the attributes in dialect `after`, notes) of a node at `path` in `before`; `metadata` is the source array's."""
    own: Attributes = dict(source)
    notes: list[str] = []
    if metadata is not None:
        _drop_names(own, metadata, before, after)
        if before == "draft-2020" and before != after and _is_filters(own.get("filters"), metadata):
            del own["filters"]  # codecs, which the array's metadata has
        return own, notes
    if after == "v3" and before != "v3" and "ome" not in own:
        own, note = _upgraded(own, path)
    elif before == "v3" and after != "v3" and isinstance(own.get("ome"), Mapping):
        own, note = _downgraded(own)
    else:
        return own, notes
    return own, [note] if note else []


def _drop_names(own: Attributes, metadata: ArrayMetadata, before: str, after: str) -> None:
    """Names of dimensions that came from attributes and go to a place of their own."""
    if metadata.dimension_names is None or before == after:
        return
    if before == "n5":
        own.pop("axes", None)
    elif before != "v3" and after in ("v3", "n5"):
        own.pop(DIMENSIONS, None)


def _is_filters(value: Any, metadata: ArrayMetadata) -> bool:
    if not isinstance(value, list) or not value:
        return False
    spelled = {spec.spelled for spec in metadata.codecs}
    return all(isinstance(item, Mapping) and item.get("id") in spelled for item in value)


# ---------------------------------------------------------------------------------------------- OME-Zarr
def axis_names(attributes: Mapping[str, Any], group: str) -> dict[str, tuple[str, ...]]:
    """Path of each array that the group's multiscales name → the names of its axes."""
    ome = attributes.get("ome")
    entries = (ome if isinstance(ome, Mapping) else attributes).get("multiscales")
    named: dict[str, tuple[str, ...]] = {}
    for entry in entries if isinstance(entries, list) else ():
        axes, datasets = (entry.get("axes"), entry.get("datasets")) if isinstance(entry, Mapping) else (None, None)
        if not isinstance(axes, list) or not isinstance(datasets, list):
            continue
        names = tuple(axis.get("name") if isinstance(axis, Mapping) else axis for axis in axes)
        if not all(isinstance(name, str) for name in names):
            continue
        for dataset in datasets:
            place = dataset.get("path") if isinstance(dataset, Mapping) else None
            where = resolve(group, place) if isinstance(place, str) else None
            if where is not None:
                named[where] = names  # type: ignore[assignment]
    return named


def _upgraded(own: Attributes, path: str) -> tuple[Attributes, str]:
    """OME-Zarr 0.4 at the top as 0.5 under "ome"."""
    found = {name: own[name] for name in _OME_04 if name in own}
    if not {"multiscales", "plate", "well", "image-label", "bioformats2raw.layout"} & found.keys() and not (
        path.endswith(_ENDINGS) and {"labels", "series"} & found.keys()
    ):
        return own, ""
    version = _version(found)
    if version not in ("", "0.4") or not _has_axes(found.get("multiscales")):
        return (
            own,
            f"OME-Zarr metadata {version or 'of an early version'} is taken along as it is: only 0.4 becomes 0.5",
        )
    ome: Attributes = {"version": "0.5"}
    for name, value in found.items():
        if name == "multiscales":
            value = [_without_version(entry) for entry in value]
        elif name in _VERSIONED:
            value = _without_version(value)
        ome[name] = value
    rest = {name: value for name, value in own.items() if name not in found}
    return {"ome": ome, **rest}, "OME-Zarr 0.4 becomes 0.5"


def _downgraded(own: Attributes) -> tuple[Attributes, str]:
    """OME-Zarr 0.5 under "ome" as 0.4 at the top."""
    ome = own["ome"]
    version = ome.get("version")
    if version != "0.5" or any(name in own for name in ome if name != "version"):
        return own, f"OME-Zarr metadata {version} is taken along as it is: only 0.5 becomes 0.4"
    top: Attributes = {}
    for name, value in ome.items():
        if name == "version":
            continue
        if name == "multiscales" and isinstance(value, list):
            value = [{"version": "0.4", **entry} if isinstance(entry, Mapping) else entry for entry in value]
        elif name in _VERSIONED and isinstance(value, Mapping):
            value = {"version": "0.4", **value}
        top[name] = value
    return {**top, **{name: value for name, value in own.items() if name != "ome"}}, "OME-Zarr 0.5 becomes 0.4"


def _version(found: Mapping[str, Any]) -> str:
    entries = found.get("multiscales")
    candidates = [*(entries if isinstance(entries, list) else ()), *(found.get(name) for name in _VERSIONED)]
    for item in candidates:
        if isinstance(item, Mapping) and isinstance(item.get("version"), str):
            return str(item["version"])
    return ""


def _has_axes(entries: Any) -> bool:
    """Axes are objects, as from 0.4 on; also where there are no multiscales."""
    if entries is None:
        return True
    return isinstance(entries, list) and all(
        isinstance(entry, Mapping)
        and isinstance(entry.get("axes"), list)
        and all(isinstance(axis, Mapping) for axis in entry["axes"])
        for entry in entries
    )


def _without_version(value: Any) -> Any:
    return {name: item for name, item in value.items() if name != "version"} if isinstance(value, Mapping) else value


# ---------------------------------------------------------------------------------------------- strict JSON
def strict(value: Any, pointer: str = "") -> tuple[Any, list[str]]:
    """(`value` with NaN and infinities as text, the pointers to them): JSON has no such numbers."""
    if isinstance(value, Mapping):
        parts = {
            name: strict(item, f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}")
            for name, item in value.items()
        }
        return {name: part for name, (part, _) in parts.items()}, [p for _, found in parts.values() for p in found]
    if isinstance(value, list | tuple):
        items = [strict(item, f"{pointer}/{i}") for i, item in enumerate(value)]
        return [part for part, _ in items], [p for _, found in items for p in found]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity", [pointer]
    return value, []
