"""Says in a sentence what a node is, for a person who does not know the format: an image, a plate, a list of
numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrscope.model.dtype import DataType
from zarrscope.model.metadata import ArrayMetadata
from zarrscope.view.image import Collection, Image
from zarrscope_app.presenters import formats, strings

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group

GROUP_WORDS = "A group: a folder for arrays and other groups."
PICTURED = "biufcmM"
"""NumPy's kinds of values that are drawn as a picture."""
_NOUNS = {
    "b": "boolean",
    "i": "integer",
    "u": "integer",
    "f": "number",
    "c": "complex number",
    "m": "duration",
    "M": "time",
    "S": "text",
    "U": "text",
    "T": "text",
    "O": "text",
}
"""The noun for one value, by NumPy's kind."""
_FIELDS = 4
"""The most fields of a record whose names are said; Info lists more with their types."""


def in_words(node: Group | Array, image: Image | None, collection: Collection | None) -> str:
    """Describes a node in a sentence; "" only for an array of unknown shape."""
    metadata = node.metadata
    if isinstance(metadata, ArrayMetadata):
        if getattr(node, "problem", None) is not None:
            return _unreadable(metadata)
        return _image(image, None) or _array(metadata)
    return _collection(collection) or _image(image, collection) or formats.words_of(node) or GROUP_WORDS


def _unreadable(metadata: ArrayMetadata) -> str:
    if "shape" in metadata.unread:
        return ""
    return f"An array of {strings.shape(metadata.shape)} values, which cannot be read here."


def _collection(collection: Collection | None) -> str:
    """Describes a plate or a series of images; "" for anything else."""
    if collection is not None and collection.rows and collection.columns:
        rows, columns = len(collection.rows), len(collection.columns)
        told = f"A plate of {strings.count(rows)} × {strings.count(columns)} wells"
        listed = len(collection.members) if collection.members is not None else rows * columns
        return f"{told} with images." if listed == rows * columns else f"{told}, {strings.count(listed)} with images."
    if collection is not None and collection.kind == "series" and collection.members:
        return f"A series of {strings.counted(len(collection.members), 'image')}."
    return ""


def _image(image: Image | None, collection: Collection | None) -> str:
    """Describes an image; "" if there is none, or its values are not drawn as a picture."""
    if image is None or not image.levels or min(image.plane) < 0 or image.value_kind not in PICTURED:
        return ""
    parts = []
    for i, (axis, length) in enumerate(zip(image.axes, image.shape, strict=True)):
        if i in image.plane or length == 1:
            continue
        counted = "channel" if i == image.channel_axis else {"time": "time point", "space": "plane"}.get(axis.type, "")
        along = f"{strings.count(length)} along {strings.clean(axis.name, 20)}"
        parts.append(strings.counted(length, counted) if counted else along)
    height, width = (image.shape[axis] for axis in image.plane)
    several = collection is not None and collection.kind == "series"
    noun = "A series of images, the first" if several else "Labels" if image.is_label else "An image"
    told = f"{noun} of {strings.count(width)} × {strings.count(height)} pixels"
    told += f", with {' × '.join(parts)}" if parts else ""
    told += ", its values complex numbers" if image.value_kind == "c" else ""
    resolutions = f", at {strings.counted(len(image.levels), 'resolution')}" if len(image.levels) > 1 else ""
    return f"{told}{resolutions}."


def _array(metadata: ArrayMetadata) -> str:
    """Describes an array that is no picture: "A list of 60 times along t."; "" if its shape is not known."""
    if "shape" in metadata.unread:
        return ""
    shape, (noun, more) = metadata.shape, _value(metadata.dtype)
    if not shape:
        return f"A single {noun}{more}."
    called = {1: "A list", 2: "A table"}.get(len(shape), "An array")
    if 0 in shape:
        return f"{called} for {noun}s{more}, without any yet."
    names = metadata.dimension_names or ()
    if len(shape) == 1:
        along = f" along {strings.clean(names[0], 20)}" if names and names[0] else ""
        return f"A list of {strings.counted(shape[0], noun)}{more}{along}."
    unpicturable = "" if metadata.dtype.kind in PICTURED else ", which cannot be drawn as a picture"
    return f"{called} of {strings.shape(shape)} {noun}s{more}{unpicturable}."


def _value(dtype: DataType) -> tuple[str, str]:
    """The noun for one value, and the words that follow it or its plural: ("record", " of 2 fields (x, y)")."""
    fields = [*(dtype.numpy.fields or ())] if dtype.kind == "V" and dtype.numpy is not None else []
    if fields:
        named = ", ".join(strings.clean(name, 20) for name in fields[:_FIELDS])
        listed = f"{named}{', …' if len(fields) > _FIELDS else ''}"
        return "record", f" of {strings.counted(len(fields), 'field')} ({listed})"
    if dtype.name == "bytes":
        return "sequence", " of bytes"
    if dtype.kind == "V" and dtype.itemsize:
        return "value", f" of {strings.counted(dtype.itemsize, 'byte')} each"
    return _NOUNS.get(dtype.kind, "value"), ""
