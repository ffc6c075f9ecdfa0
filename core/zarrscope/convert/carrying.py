"""Attributes on their way from one dialect to another: what moves to another place, and what JSON does not have.

Names of dimensions are a member of the array in v3, an attribute elsewhere; OME-Zarr: ome_versions.py. Pure functions;
what they are given is not changed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from zarrscope.convert.ome_versions import ShapeOf, downgraded, nothing_known, upgraded
from zarrscope.dialects import Dialect
from zarrscope.metadata import ArrayMetadata

Attributes = dict[str, Any]


def attributes(
    source: Mapping[str, Any],
    metadata: ArrayMetadata | None,
    path: str,
    before: Dialect,
    after: Dialect,
    shape_of: ShapeOf = nothing_known,
) -> tuple[Attributes, list[str]]:
    """(the attributes in dialect `after`, notes) of a node at `path` in `before`; `metadata` is the source array's.

    `shape_of` tells the shape of the array at a path of the source, None where there is none.
    """
    own: Attributes = dict(source)
    notes: list[str] = []
    if metadata is not None:
        _drop_names(own, metadata, before, after)
        hidden = before.filters_in
        if hidden and hidden != after.filters_in and _is_filters(own.get(hidden), metadata):
            del own[hidden]  # codecs, which the array's metadata has
        return own, notes
    if after.ome_zarr == "0.5" != before.ome_zarr and "ome" not in own:
        own, note = upgraded(own, path, shape_of)
    elif before.ome_zarr == "0.5" != after.ome_zarr and isinstance(own.get("ome"), Mapping):
        own, note = downgraded(own)
    else:
        return own, notes
    return own, [note] if note else []


def _drop_names(own: Attributes, metadata: ArrayMetadata, before: Dialect, after: Dialect) -> None:
    """Names of dimensions that came from attributes and go to another place."""
    if metadata.dimension_names is not None and before.names_in is not None and before.names_in != after.names_in:
        own.pop(before.names_in, None)


def _is_filters(value: Any, metadata: ArrayMetadata) -> bool:
    if not isinstance(value, list) or not value:
        return False
    spelled = {spec.spelled for spec in metadata.codecs}
    return all(isinstance(item, Mapping) and item.get("id") in spelled for item in value)


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
