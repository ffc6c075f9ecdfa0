"""Converts attributes from one dialect to another: moves those that belong elsewhere there, and replaces values that
JSON lacks.

Names of dimensions are a member of the array in v3 and an attribute in the other dialects. For OME-Zarr see
ome_versions.py. The functions are pure: they do not change their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from zarrscope.convert.ome_versions import JsonObject, downgraded, nothing_known, upgraded
from zarrscope.dialects import Dialect
from zarrscope.dialects.writing import is_standard_json
from zarrscope.jsondoc.pointers import pointer_of
from zarrscope.model.metadata import ArrayMetadata
from zarrscope.ome.pixel_size import ShapeOf


def attributes(
    source: Mapping[str, Any],
    metadata: ArrayMetadata | None,
    path: str,
    before: Dialect,
    after: Dialect,
    shape_of: ShapeOf = nothing_known,
) -> tuple[JsonObject, list[str]]:
    """Converts the attributes of a node at `path` from dialect `before` to `after`. Returns them, and notes on it.

    `shape_of` returns the shape of the array at a path of the source, None if there is no array.
    """
    own: JsonObject = dict(source)
    notes: list[str] = []
    if metadata is not None:
        _drop_names(own, metadata, before, after)
        hidden = before.filters_in
        if hidden and hidden != after.filters_in and _is_filters(own.get(hidden), metadata):
            del own[hidden]  # the attribute holds codecs, which are in the array's metadata
    if before.name != after.name:
        carried, note = after.carried(before.restored(own), "group" if metadata is None else "array")
        own = dict(carried)
        notes += [note] if note else []
    if metadata is not None:
        return own, notes
    if after.ome_zarr == "0.5" != before.ome_zarr and "ome" not in own:
        own, note = upgraded(own, path, shape_of)
    elif before.ome_zarr == "0.5" != after.ome_zarr and isinstance(own.get("ome"), Mapping):
        own, note = downgraded(own)
    else:
        return own, notes
    return own, [*notes, note] if note else notes


def _drop_names(own: JsonObject, metadata: ArrayMetadata, before: Dialect, after: Dialect) -> None:
    """Removes the names of dimensions from the attributes if the dialect `after` keeps them elsewhere."""
    if metadata.dimension_names is not None and before.names_in is not None and before.names_in != after.names_in:
        own.pop(before.names_in, None)


def _is_filters(value: object, metadata: ArrayMetadata) -> bool:
    if not isinstance(value, list) or not value:
        return False
    spelled = {spec.spelled for spec in metadata.codecs}
    return all(isinstance(item, Mapping) and item.get("id") in spelled for item in value)


# ---------------------------------------------------------------------------------------------- strict JSON
MOST_POINTERS = 100
"""The most pointers that `strict` returns for a node."""


def strict(value: object) -> tuple[Any, list[str]]:
    """Replaces NaN and infinities in `value` by text, as JSON has no such numbers. Returns the new
    value, and JSON pointers to the first replaced values.

    It works without recursion, because attributes may be nested to any depth, and copies only the parts that change.
    """
    if is_standard_json(value):
        return value, []
    whole: list[Any] = [value]
    pointers: list[str] = []
    pending: list[tuple[Any, _Place]] = [(whole, None)]
    while pending:
        holder, place = pending.pop()
        for name, item in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(item, Mapping):
                holder[name] = dict(item)
            elif isinstance(item, list | tuple):
                holder[name] = list(item)
            elif isinstance(item, float) and not math.isfinite(item):
                holder[name] = "NaN" if math.isnan(item) else "Infinity" if item > 0 else "-Infinity"
                if len(pointers) < MOST_POINTERS:
                    pointers.append(_pointer((place, name)))
                continue
            else:
                continue
            pending.append((holder[name], (place, name)))
    return whole[0], pointers


_Place = tuple["_Place", str | int] | None
"""A place in a JSON value: the place of its container, and the name or index in it; None for the whole value."""


def _pointer(place: _Place) -> str:
    tokens: list[str] = []
    while place is not None:
        place, name = place
        tokens.append(str(name))
    return pointer_of(tokens[-2::-1])
