"""Exports a region as a new Zarr v3 hierarchy. If the source is an image, it becomes an OME-Zarr image of one level,
with its position in space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from zarrscope.convert.export.formats import ExportPlan
from zarrscope.convert.export.source import ExportSource
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.view.image import Channel

OME_VERSION = "0.5"


def write_zarr(plan: ExportPlan, path: str, read: Callable[..., Iterator[Any]]) -> None:
    """Writes the values of a plan as the new hierarchy `path`."""
    source = plan.source
    with open_hierarchy(path, "w-") as hierarchy:
        image = _is_image(source)
        attributes = {"ome": _ome(source)} if image else dict(source.node.attributes)
        if image:
            hierarchy["/"].attrs.update(attributes)
        array = hierarchy.create_array(
            "/0" if image else "/data",
            shape=source.shape,
            dtype=source.dtype,
            chunks=_chunks(source),
            fill_value=source.array.metadata.fill.value,
            dimension_names=[axis.name for axis in source.axes],
            attributes=None if image else attributes,
        )
        for region, values in read():
            array[tuple(slice(*span) for span in region) or ...] = values


def _is_image(source: ExportSource) -> bool:
    """Whether to write an OME-Zarr image: the source is an image with two or more axes of space, and its values are
    numbers."""
    spaces = [axis for axis in source.axes if axis.type == "space"]
    return len(spaces) >= 2 and source.node.kind == "group" and source.dtype.kind in "buif"


def _chunks(source: ExportSource) -> tuple[int, ...] | None:
    """The chunk shape of the source, at most as large as the region."""
    sides = [
        max(1, min(width, part.count))
        for width, part in zip(source.array.chunks, source.parts, strict=True)
        if part.kept
    ]
    return tuple(sides) if sides else None


def _ome(source: ExportSource) -> dict[str, Any]:
    axes: list[dict[str, Any]] = []
    for axis in source.axes:
        told: dict[str, Any] = {"name": axis.name}
        if axis.type:
            told["type"] = axis.type
        if axis.unit and axis.type in ("space", "time"):
            told["unit"] = axis.unit
        axes.append(told)
    place = [
        {"type": "scale", "scale": list(source.scale)},
        {"type": "translation", "translation": list(source.translation)},
    ]
    multiscale = {"name": source.name, "axes": axes, "datasets": [{"path": "0", "coordinateTransformations": place}]}
    told = {"version": OME_VERSION, "multiscales": [multiscale]}
    if source.channels and any(axis.type == "channel" for axis in source.axes):
        told["omero"] = {"channels": [_channel(channel) for channel in source.channels]}
    return told


def _channel(channel: Channel) -> dict[str, Any]:
    told: dict[str, Any] = {"label": channel.label, "active": channel.active}
    if channel.color is not None:
        told["color"] = "{:02X}{:02X}{:02X}".format(*channel.color)
    if channel.window is not None:
        low, high = channel.window
        least, most = channel.range or channel.window
        told["window"] = {"start": low, "end": high, "min": least, "max": most}
    return told
