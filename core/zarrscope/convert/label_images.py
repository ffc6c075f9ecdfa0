"""Adds an empty label image to an image: a group `labels/NAME`, and its name in the list of label images.

A label image has the axes of the image without channels, and each of its levels has the shape, position and chunks of
the image's level. Only documents are stored: labels that nobody has drawn are the fill value 0. The name is added to
the list in the group `labels` last, so an incomplete label image is never listed. Specification: reference.md E.4;
OME-Zarr 0.4 and 0.5 "labels".
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from zarrscope.dialects import Dialect
from zarrscope.errors import Conflict, Refused, ZarrscopeError
from zarrscope.model.metadata import RegularGrid
from zarrscope.model.node_path import clean_path, join_path
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope.nodes.hierarchy import Group, Hierarchy
from zarrscope.ome.metadata import block
from zarrscope.view.image import Image, find_images

DTYPES = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
"""The data types that the specification allows for labels."""


def add_label_image(hierarchy: Hierarchy, path: str, name: str, *, dtype: str = "uint32") -> Group:
    """Adds the label image `name` to the image at `path`.

    Raises Refused (there is no image, the format cannot hold OME-Zarr, or labels cannot have this data type), Conflict
    (a label image of this name exists), ReadOnly.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> h = zarrscope.open(MemoryStore(), "w-")
    >>> datasets = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [0.5, 0.5]}]}]
    >>> axes = [{"name": name, "type": "space"} for name in "yx"]
    >>> _ = h.create_group("/i", {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}})
    >>> _ = h.create_array("/i/0", shape=(8, 8), dtype="uint8")
    >>> add_label_image(h, "/i", "cells")["0"].dtype
    dtype('uint32')
    """
    group, image, dialect = _image(hierarchy, path)
    if dtype not in DTYPES:
        raise Refused(f"Labels are whole numbers, not {dtype}", advice=f"Choose one of {', '.join(DTYPES)}.")
    dialect.check_name(name)
    above = join_path(group.path, "labels")
    target = join_path(above, name)
    if target in hierarchy:
        raise Conflict(f"Something is already stored at {target}", store=hierarchy.url, advice="Choose another name.")
    hierarchy._nodes.need_writing(dialect.documents(target)[0])
    boxed = isinstance(group.attributes.get("ome"), Mapping) or dialect.ome_zarr == "0.5"
    if above not in hierarchy:
        hierarchy.create_group(above, _boxed({"labels": []}, boxed))
    try:
        made = hierarchy.create_group(target, _attributes(image, name, boxed))
        _arrays(hierarchy, dialect, image, target, dtype)
        _list(hierarchy, above, name, boxed)
    except ZarrscopeError:
        with suppress(ZarrscopeError):
            hierarchy.erase(target)
        raise
    return made


def unlist(hierarchy: Hierarchy, path: str) -> None:
    """Removes the label image at `path` from the list of its group `labels`, if it is listed."""
    above, _, name = clean_path(path).rpartition("/")
    document, pointer = hierarchy.document(above), _pointer(hierarchy, above)
    if document.has(pointer) and name in document.get(pointer):
        listed = [each for each in document.get(pointer) if each != name]
        hierarchy.save(above, document.set(pointer, listed))


def _image(hierarchy: Hierarchy, path: str) -> tuple[Group, Image, Dialect]:
    """The image that gets labels, and its dialect: in a folder of several hierarchies, each has its own."""
    node = hierarchy.open_node(clean_path(path))
    dialect = hierarchy._nodes.dialect_of(node)
    if not dialect.ome_zarr:
        raise Refused(
            f"OME-Zarr's labels can be made in Zarr v2 and v3 only, not in {dialect.title}",
            store=hierarchy.url,
            advice="Convert it first.",
        )
    images = find_images(node) if isinstance(node, Group) else []
    if not isinstance(node, Group) or not images:
        raise Refused(f"{node.path} is not an image that can have labels", store=hierarchy.url, advice="Name an image.")
    return node, images[0], dialect


def label_levels(image: Image) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    """The (shape, chunk lengths) of each level of a label image for `image`."""
    return tuple((shape, chunks) for shape, chunks, _ in _levels(image))


def _kept(image: Image) -> list[int]:
    return [i for i, axis in enumerate(image.axes) if axis.type != "channel"]


def _levels(image: Image) -> list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...] | None]]:
    kept = _kept(image)
    found = []
    for level in image.levels:
        lengths = [
            None if given is None or not isinstance(level.array.metadata.grid, RegularGrid) else given
            for given in (level.array.chunks, level.array.shards)
        ]
        chunks, shards = (None if each is None else tuple(each[i] for i in kept) for each in lengths)
        shape = tuple(level.shape[i] for i in kept)
        found.append((shape, chunks or shape, shards))
    return found


def _attributes(image: Image, name: str, boxed: bool) -> dict[str, Any]:
    kept = _kept(image)
    axes = []
    for i in kept:
        own = {name: getattr(image.axes[i], name) for name in ("name", "type", "unit")}
        axes.append({name: value for name, value in own.items() if value})
    datasets = []
    for number, level in enumerate(image.levels):
        place: list[dict[str, Any]] = [{"type": "scale", "scale": [level.scale[i] for i in kept]}]
        if any(level.translation[i] for i in kept):
            place.append({"type": "translation", "translation": [level.translation[i] for i in kept]})
        datasets.append({"path": str(number), "coordinateTransformations": place})
    version = {} if boxed else {"version": "0.4"}
    return _boxed(
        {
            "multiscales": [{**version, "name": name, "axes": axes, "datasets": datasets}],
            "image-label": {**version, "source": {"image": "../../"}},
        },
        boxed,
    )


def _boxed(members: dict[str, Any], boxed: bool) -> dict[str, Any]:
    return {"ome": {"version": "0.5", **members}} if boxed else members


def _arrays(hierarchy: Hierarchy, dialect: Dialect, image: Image, target: str, dtype: str) -> None:
    names = [axis.name for axis in image.axes if axis.type != "channel"]
    for number, (shape, chunks, shards) in enumerate(_levels(image)):
        hierarchy.create_array(
            join_path(target, str(number)),
            shape=shape,
            dtype=dtype,
            chunks=[max(1, n) for n in chunks],
            shards=shards,
            dimension_names=names if dialect.names_in is None else None,
            separator=dialect.wanted_separator,
        )


def _list(hierarchy: Hierarchy, above: str, name: str, boxed: bool) -> None:
    document, pointer = hierarchy.document(above), _pointer(hierarchy, above)
    if document.has(pointer):
        listed = document.get(pointer)
        changed = document.set(pointer, [*listed, name] if isinstance(listed, list) else [name])
    else:
        node = hierarchy.open_node(above)
        own = dict(node.attributes)
        members = {**block(own)[0], "labels": [name]}
        changed = document.set(attributes_pointer(hierarchy, above), {**own, "ome": members} if boxed else members)
    hierarchy.save(above, changed)


def _pointer(hierarchy: Hierarchy, above: str) -> str:
    """The JSON pointer to the list of label images in the document of the group `labels`."""
    pointer = attributes_pointer(hierarchy, above)
    boxed = isinstance(hierarchy.open_node(above).attributes.get("ome"), Mapping)
    return f"{pointer}/ome/labels" if boxed else f"{pointer}/labels"
