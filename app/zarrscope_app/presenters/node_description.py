"""Describes a node in words: shape, type, chunks with their meaning, codecs, extensions, conventions, warnings."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from zarrscope.dialects.extensions import Inherited
from zarrscope.model.dtype import DataType
from zarrscope.model.frozen import frozen
from zarrscope.model.metadata import ArrayMetadata, CodecSpec, ExtensionReport
from zarrscope.model.metadata import ExtensionOutcome as Found
from zarrscope.view.image import Collection, Image, Level
from zarrscope_app.presenters import formats, origins, strings
from zarrscope_app.presenters.image_names import called_image, image_name
from zarrscope_app.presenters.node_words import PICTURED, in_words
from zarrscope_app.presenters.snippets import Snippet
from zarrscope_app.presenters.snippets import as_text as as_code

if TYPE_CHECKING:
    from zarrscope.errors import ZarrscopeError
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group
    from zarrscope.stores.recognition import RepositoryVersion


@frozen
class Item:
    """One line of the description: a label, its text, and an explanation for a person who does not know the label."""

    label: str
    text: str
    hint: str = ""


@frozen
class DescriptionSection:
    """Lines of the description of a node, under a common title.

    `rows`: the same as a table under the titles `columns`, if the lines can be compared column by column; a front end
    paints it where it is not wider than the screen, and else the items. `hint`: an explanation of all lines.
    """

    title: str
    items: tuple[Item, ...]
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    hint: str = ""


@frozen
class Info:
    """Everything about one node. `documents`: (key in the store, text as stored), once they have been read."""

    path: str = "/"
    title: str = ""
    subtitle: str = ""
    """One line: "5-D uint16 · 2 × 3 × 64 × 1,024 × 1,024 · 768 MiB"."""
    sections: tuple[DescriptionSection, ...] = ()
    warnings: tuple[str, ...] = ()
    problem: str = ""
    """The reason why the node cannot be decoded; "" if it can."""
    documents: tuple[tuple[str, str], ...] = ()
    undocumented: str = ""
    """The sentence that no document describes the node, once that is known."""
    loading: bool = False
    words: str = ""
    """A description for a person who does not know the format."""
    snippets: tuple[Snippet, ...] = ()
    """The code of *Open in code* for each library, which `read_details` adds after it has opened the node."""


def as_text(info: Info, columns: int = 0) -> str:
    """The description as plain text, for terminals and the clipboard. Tables that need more than `columns` characters
    in a line are written as items, and code is folded so that it still runs; 0 means that there is no limit."""
    lines = [info.title, info.subtitle, *([info.words] if info.words else [])]
    for section in info.sections:
        lines += ["", section.title]
        table = _aligned((section.columns, *section.rows)) if section.rows else []
        if table and not 0 < columns < max(map(len, table)):
            lines += table
            continue
        width = max((len(item.label) for item in section.items), default=0)
        lines += [f"  {item.label:<{width}}  {item.text}" for item in section.items]
    if info.problem:
        lines += ["", info.problem]
    for warning in info.warnings:
        lines += ["", warning]
    if info.snippets:
        lines += ["", "Open in code", "", as_code(info.snippets, columns)]
    if info.undocumented:
        lines += ["", info.undocumented]
    for key, text in info.documents:
        lines += ["", key, *(f"  {line}" for line in text.splitlines())]
    return "\n".join(lines).strip() + "\n"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows of a table as lines, with each column as wide as its longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


MOST_VERSIONS = 50
"""The most branches and tags of a repository that are listed."""
MOST_LEVELS = 64
"""The most levels of a pyramid that are described; each level of a sound one has at most half the pixels of the last,
but a document may list any number."""
MOST_FIELDS = 12
"""The most fields of a structured type that are listed; a type may have thousands."""


def describe(
    node: Group | Array,
    image: Image | None = None,
    collection: Collection | None = None,
    inherited: Sequence[Inherited] = (),
    found: str = "",
) -> Info:
    """The Info of a node. Reads nothing by itself; `image` must have been opened.

    `inherited`: the result of `hierarchy.extensions(path)`, for the extensions of the groups above. `found`: the
    sentence of origins.py about how the node was found, "" for the root.
    """
    metadata = node.metadata
    problem = getattr(node, "problem", None)
    sections = []
    warnings = [strings.clean(w) for w in node.warnings]
    if isinstance(metadata, ArrayMetadata):
        subtitle = strings.joined(
            strings.rank_of(metadata),
            strings.shape_of(metadata),
            "" if metadata.unread or not metadata.dtype.itemsize else strings.size(_nbytes(metadata)),
        )
        sections += [_values(metadata), _storage(metadata, node)]
    else:
        subtitle = formats.FOLDER if formats.is_folder(node) else strings.GROUP
    if image is not None:
        series = collection is not None and collection.kind == "series"
        sections.append(_image(image, image_name(image) if series else image.path.removeprefix(node.path).lstrip("/")))
        if len(image.levels) > 1:
            sections.append(_levels(image))
        warnings += [strings.clean(w) for w in image.warnings]
        if metadata.kind == "group":
            subtitle = strings.joined(
                f"OME-Zarr {strings.clean(image.version)}" if image.version else strings.IMAGE,
                strings.shape(image.shape),
            )
    if collection is not None:
        sections.append(_collection(collection))
    sections.append(_node(node, found))
    extensions = [_extension(report, inherited) for report in node.extensions]
    extensions += [_from_above(found) for found in inherited if found.form == "above"]
    if extensions:
        sections.append(DescriptionSection("Extensions", tuple(extensions)))
    return Info(
        node.path,
        strings.clean(node.name) or _of_store(node),
        subtitle,
        tuple(sections),
        tuple(dict.fromkeys(warnings)),
        _problem(problem, placed=bool(metadata.defects)),
        words=in_words(node, image, collection),
    )


def _of_store(node: Group | Array) -> str:
    """The name of a root node: the last part of the address of its hierarchy."""
    url = node.hierarchy.url.partition("?")[0] if node.hierarchy is not None else ""
    return strings.clean(unquote(url.rstrip("/").rpartition("/")[2]), 80) or "/"


def _place(url: str) -> str:
    """The address of a store, or the path of a folder on this computer, as other programs take it."""
    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == "file" and not parts.netloc and "%" in url else url


def _nbytes(metadata: ArrayMetadata) -> int:
    return math.prod(metadata.shape) * metadata.dtype.itemsize


def _values(metadata: ArrayMetadata) -> DescriptionSection:
    items = [
        Item(
            "Shape",
            strings.UNKNOWN if "shape" in metadata.unread else strings.shape(metadata.shape),
            "How many values along each axis.",
        ),
        Item(
            "Data type",
            _type(metadata.dtype),
            "The type of one value.",
        ),
        Item(
            "Fill value",
            strings.exact(metadata.fill.value) + ("" if metadata.fill.defined else " (not defined)"),
            "The value of elements whose chunk is not stored.",
        ),
    ]
    if metadata.dimension_names is not None:
        names = ", ".join("–" if n is None else strings.clean(n, 60) for n in metadata.dimension_names)
        items.insert(1, Item("Axes", names))
    if metadata.dtype.itemsize and "shape" not in metadata.unread:
        items.append(Item("Size", strings.size(_nbytes(metadata)), "Of all values, not compressed."))
    return DescriptionSection("Values", tuple(items))


def _type(dtype: DataType) -> str:
    """ "uint16"; "struct: a int32, b float64" with the first fields of a structured type."""
    if dtype.name == "unknown":
        return strings.UNKNOWN
    told = strings.clean(dtype.name, 200)
    fields = dtype.numpy.fields if dtype.kind == "V" and dtype.numpy is not None else None
    if not fields:
        return told
    named = []
    for name in list(fields)[:MOST_FIELDS]:
        each, *_ = fields[name]
        lengths = "".join(f"[{n}]" for n in each.shape)
        named.append(f"{strings.clean(name, 40)} {each.base.name if each.base.names is None else 'struct'}{lengths}")
    more = f" and {strings.counted(len(fields) - MOST_FIELDS, 'more field')}" if len(fields) > MOST_FIELDS else ""
    return f"{told}: {', '.join(named)}{more}"


def _storage(metadata: ArrayMetadata, node: Group | Array) -> DescriptionSection:
    outer = metadata.grid.chunk_shape
    shards = None
    chunks = outer
    count = math.prod(metadata.grid.grid_shape(metadata.shape))
    if node.kind == "array" and node.problem is None and node.shards is not None:
        chunks, shards = node.chunks, count
        count = math.prod(node.chunk_grid_shape)
    told = strings.UNKNOWN if "grid" in metadata.unread else strings.stored_in(count, chunks, shards)
    items = [Item("Chunks", told, "A chunk is the smallest piece that can be read.")]
    if shards is not None:
        items.append(Item("Shards", strings.shape(outer), "A shard is one file that holds many chunks."))
    items.append(
        Item(
            "Codecs",
            strings.UNKNOWN
            if "codecs" in metadata.unread
            else " → ".join(_codec(codec) for codec in metadata.codecs) or "none",
            "How a chunk is packed, in the order of writing.",
        )
    )
    if "grid" not in metadata.unread:
        first = metadata.keys.key((0,) * metadata.ndim)
        items.append(Item("Keys", strings.clean(first), "Where the first chunk is stored."))
    if metadata.transformers:
        items.append(Item("Storage transformers", " → ".join(_codec(t) for t in metadata.transformers)))
    return DescriptionSection("Storage", tuple(items))


def _codec(codec: CodecSpec) -> str:
    settings = {k: v for k, v in codec.configuration.items() if not isinstance(v, dict | list)}
    name = strings.clean(codec.name, 80)
    inside = codec.configuration.get("codecs")
    if isinstance(inside, list):
        names = [c.get("name", "?") if isinstance(c, dict) else str(c) for c in inside]
        return f"{name} [{' → '.join(strings.clean(str(n), 60) for n in names)}]"
    if not settings:
        return name
    return f"{name} ({strings.clean(', '.join(f'{k} {json.dumps(v)}' for k, v in settings.items()), 120)})"


def _image(image: Image, name: str) -> DescriptionSection:
    """The image at the node. `name`: its name if it is one of several beneath, as the first of a plate; else ""."""
    items = []
    if image.version:
        items.append(Item("Convention", f"OME-Zarr {strings.clean(image.version)}"))
    axes = ", ".join(
        strings.clean(axis.name, 20) + (f" ({strings.unit(axis.unit)})" if axis.unit and axis.unit != "rgb" else "")
        for axis in image.axes
    )
    items.append(Item("Axes", axes))
    if sized := _pixel_size(image):
        items.append(Item("Pixel size", sized))
    if image.channel_axis is not None:
        items.append(Item("Channels", ", ".join(strings.clean(c.label, 60) for c in image.channels[:40])))
    title = "Image" if image.value_kind in PICTURED else "Array"
    named = strings.clean(name, 60)
    if title == "Image" and named:
        called = called_image(named)
        return DescriptionSection(called[:1].upper() + called[1:], tuple(items))
    return DescriptionSection(f"{title} {named}".rstrip(), tuple(items))


def _pixel_size(image: Image) -> str:
    """The size of a pixel along each axis that has one; "" for an image whose metadata state none."""
    stated = image.multiscale is not None and image.version not in ("0.1", "0.2", "0.3")  # these state no sizes
    sized, unitless = [], []
    for axis, scale in zip(image.axes, image.levels[0].scale, strict=True):
        told = f"{strings.clean(axis.name, 20)} {strings.length(scale, axis.unit)}"
        if axis.unit and axis.unit != "rgb":
            sized.append(told)
        elif stated and not axis.unit and axis.type in ("space", "time"):
            unitless.append(told)
    if unitless:
        sized.append(f"{', '.join(unitless)} (the file states no unit)")
    return ", ".join(sized)


def _levels(image: Image) -> DescriptionSection:
    """The levels of a pyramid, from fine to coarse. The column of shards is left out if no level has any."""
    told = [_level(number, level, image.path) for number, level in enumerate(image.levels[:MOST_LEVELS])]
    sharded = any(shards for _, _, _, shards, _ in told)
    rows = tuple(
        (name, extent, chunks, *((shards or "none",) if sharded else ()), size)
        for name, extent, chunks, shards, size in told
    )
    items = tuple(
        Item(
            f"Level {name}",
            strings.joined(extent, f"chunks {chunks}", f"shards {shards}" if shards else "", size),
        )
        for name, extent, chunks, shards, size in told
    )
    left_out = len(image.levels) - len(told)
    more = f" {strings.counted(left_out, 'more level')} not listed." if left_out else ""
    return DescriptionSection(
        "Levels",
        items,
        ("Level", "Shape", "Chunks", *(("Shards",) if sharded else ()), "Size"),
        rows,
        f"The same picture at lower resolutions, for looking from afar. Sizes are of all values, not compressed.{more}",
    )


def _level(number: int, level: Level, image: str) -> tuple[str, str, str, str, str]:
    """The number of a level (and its path below the node `image`, if that differs), its shape, the shapes of its chunks
    and shards ("" if it has none), and the size of its values."""
    array, metadata = level.array, level.array.metadata
    outer = strings.UNKNOWN if "grid" in metadata.unread else strings.shape(metadata.grid.chunk_shape)
    chunks, shards = outer, ""
    if array.problem is None and array.shards is not None:
        chunks, shards = strings.shape(array.chunks), outer
    sized = metadata.dtype.itemsize and "shape" not in metadata.unread
    path = strings.clean(level.path.removeprefix(image).lstrip("/"), 40)
    return (
        str(number) if path == str(number) else f"{number} ({path})",
        strings.shape(level.shape),
        chunks,
        shards,
        strings.size(_nbytes(metadata)) if sized else strings.UNKNOWN,
    )


def _collection(collection: Collection) -> DescriptionSection:
    items = [Item("Kind", strings.clean(collection.kind))]
    if collection.rows or collection.columns:
        items.append(Item("Wells", strings.shape((len(collection.rows), len(collection.columns)))))
    if collection.members is not None:
        items.append(Item("Images", strings.count(len(collection.members))))
    return DescriptionSection("Collection", tuple(items))


def _node(node: Group | Array, found: str) -> DescriptionSection:
    hierarchy = node.hierarchy
    items = [Item("Path", strings.clean(node.path))]
    if hierarchy is None:  # an array that was made from its document alone has no store
        return DescriptionSection("Node", tuple(items))
    if not formats.is_folder(node):  # the sentence about it says so, and it has no format
        items.append(Item("Format", strings.clean(formats.title_of(node))))
    items.append(Item("Store", strings.clean(_place(hierarchy.url))))
    kind = hierarchy.recognition
    if kind is not None and kind.kind != "folder":
        items.append(Item("Kind", strings.clean(kind.sentence), "Found out from the files at this place."))
        if kind.versions and node.path == "/":
            items += [_version(each) for each in kind.versions[:MOST_VERSIONS]]
            if len(kind.versions) > MOST_VERSIONS:
                items.append(Item("Versions", strings.and_more(len(kind.versions) - MOST_VERSIONS)))
    if found:
        items.append(Item("Found", found, origins.MEANING))
    if hierarchy.other_dialects:
        items.append(
            Item(
                "Beside it",
                strings.joined(*hierarchy.other_dialects),
                "Other formats whose documents are in the same folder; they are not shown.",
            )
        )
    if hierarchy.consolidated:
        items.append(Item("Consolidated", "yes", "The metadata of all nodes is kept in one document too."))
    return DescriptionSection("Node", tuple(items))


def _version(version: RepositoryVersion) -> Item:
    shown = " (shown)" if version.shown else ""
    hint = f"The command Other versions opens it, and the address {version.address}"
    ending = version.address.rpartition("|")[2]
    return Item(f"{version.kind.capitalize()}{shown}", strings.clean(f"{version.name} · …|{ending}"), hint)


def _problem(error: ZarrscopeError | None, *, placed: bool) -> str:
    """The sentence about a node's problem, with its place if that is a member of a document, or `placed`; "" if it has
    none."""
    if error is None:
        return ""
    return strings.defect(error) if error.pointer or placed else strings.problem(error).headline


def _extension(report: ExtensionReport, inherited: Sequence[Inherited] = ()) -> Item:
    text = f"{strings.clean(report.name, 120)}: {_done(report)}. {strings.clean(report.advice)}".strip()
    for found in inherited:
        if found.report == report and found.form != "above":
            text = f"{text} {_meant(found)}".strip()
    return Item(strings.clean(report.point), text, _POINTS.get(report.point, ""))


def _done(report: ExtensionReport) -> str:
    if report.understood and report.outcome is Found.IGNORED:
        return "understood; it changes nothing here"
    return {
        Found.USED: "understood and used",
        Found.IGNORED: "not understood; may be ignored, and was",
        Found.FELL_BACK: "not understood; its fallback was used",
        Found.REFUSED: "not understood, and needed to read the data",
    }[report.outcome]


def _meant(found: Inherited) -> str:
    """An explanation of how the node repeats or refers to an extension declared by a group above; "" if the node
    declares the extension itself."""
    if found.form == "copy":
        return "It repeats the declaration of a group above."
    if found.form == "own":
        return ""
    if found.target is None:
        return "It points out of the hierarchy, and is ignored."
    names = ", ".join(strings.clean(report.name, 120) for report in found.resolved)
    return f"It refers to the declarations of {strings.clean(found.target)}: {names or 'nothing of that name'}."


def _from_above(found: Inherited) -> Item:
    report = found.report
    text = f"{strings.clean(report.name, 120)}: declared by the group {strings.clean(found.origin)}; {_done(report)}."
    return Item("from above", f"{text} {strings.clean(report.advice)}".strip(), _POINTS["from above"])


_POINTS = {
    "codec": "One step of how a chunk is packed.",
    "data type": "The type of one value.",
    "chunk grid": "How the array is cut into chunks.",
    "chunk key encoding": "Where each chunk is stored.",
    "storage transformer": "A layer between the array and the store that changes keys or bytes.",
    "metadata encoding": "How the documents themselves are written.",
    "member": "A member of the document that the format does not have.",
    "extension": "An addition to the format that the node's document names.",
    "from above": "An extension that a group above names. Its own specification says whether it applies here.",
}
"""Explanations of the extension points of Zarr, for a person who does not know these terms."""


def ratio(nbytes: int, stored: int) -> str:
    """ "1.76 to 1": the ratio of the decoded to the stored size; "1 to 1.2" where more is stored than decoded."""
    one, other = max(nbytes, stored), max(1, min(nbytes, stored))
    many = one / other
    told = strings.count(round(many)) if many >= 1000 else strings.short(float(f"{many:.3g}"))
    return f"{told} to 1" if nbytes >= stored else f"1 to {told}"
