"""What a node is, in words: shape, type, chunks with their meaning, codecs, extensions, conventions, warnings."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from psygnal import Signal

from zarrscope.background import Outcome, Owner, Ticket
from zarrscope.dialects.extensions import Inherited
from zarrscope.metadata import ArrayMetadata, CodecSpec, ExtensionReport
from zarrscope.metadata import Outcome as Found
from zarrscope.pyramid import Collection, Image
from zarrscope_app.presenters import words
from zarrscope_app.presenters.turn import OncePerTurn


@dataclass(frozen=True)
class Item:
    """One line: label, text, and what it means for somebody who does not know the word."""

    label: str
    text: str
    hint: str = ""


@dataclass(frozen=True)
class Section:
    title: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Info:
    """Everything about one node. `documents`: (key in the store, text as stored), once they have been read."""

    path: str = "/"
    title: str = ""
    subtitle: str = ""
    """One line: "5-D uint16 · 2 × 3 × 64 × 1,024 × 1,024 · 768 MiB"."""
    sections: tuple[Section, ...] = ()
    warnings: tuple[str, ...] = ()
    problem: str = ""
    """Why the node cannot be decoded, "" when it can."""
    documents: tuple[tuple[str, str], ...] = ()
    loading: bool = False


MAX_DOCUMENT_CHARACTERS = 2_000_000


class MetadataPresenter:
    changed = Signal()

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._hierarchy: Any = None
        self._ticket: Ticket | None = None
        self._turn = OncePerTurn(owner.post, self.changed.emit)
        self._state = Info()

    @property
    def state(self) -> Info:
        return self._state

    def clear(self) -> None:
        self.show(None, Info())

    def show(self, hierarchy: Any, info: Info) -> None:
        """Another node of a hierarchy, one that cannot be opened too; `info` as `describe` made it."""
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None
        self._hierarchy = hierarchy
        self._set(info)

    def _set(self, info: Info) -> None:
        self._state = info
        self._turn.soon()

    def load_documents(self) -> None:
        """Reads the node's JSON documents in the background; `changed` when `state.documents` is there."""
        hierarchy, path = self._hierarchy, self._state.path
        if hierarchy is None or self._state.documents or self._ticket is not None:
            return

        def work() -> tuple[tuple[str, str], ...]:
            keys = hierarchy.keys_of(path)
            found = hierarchy.store.get_partial_values([(key, None) for key in keys])
            return tuple(
                (words.clean(key), words.document(bytes(data), MAX_DOCUMENT_CHARACTERS))
                for key, data in zip(keys, found, strict=True)
                if data is not None
            )

        def done(outcome: Outcome[tuple[tuple[str, str], ...]]) -> None:
            self._ticket = None
            if outcome.error is not None:
                problem = words.problem(outcome.error).headline
                self._set(replace(self._state, warnings=(*self._state.warnings, problem), loading=False))
            else:
                self._set(replace(self._state, documents=outcome.value or (), loading=False))

        self._set(replace(self._state, loading=True))
        self._ticket = self._owner.fetch(work, done)

    def text(self) -> str:
        """All of it as plain text, to copy."""
        return as_text(self._state)


def as_text(info: Info) -> str:
    lines = [info.title, info.subtitle]
    for section in info.sections:
        lines += ["", section.title]
        width = max((len(item.label) for item in section.items), default=0)
        lines += [f"  {item.label:<{width}}  {item.text}" for item in section.items]
    if info.problem:
        lines += ["", info.problem]
    for warning in info.warnings:
        lines += ["", warning]
    for key, text in info.documents:
        lines += ["", key, *(f"  {line}" for line in text.splitlines())]
    return "\n".join(lines).strip() + "\n"


def describe(
    node: Any,
    image: Image | None = None,
    collection: Collection | None = None,
    inherited: Sequence[Inherited] = (),
) -> Info:
    """The Info of a node. Reads nothing by itself; `image` must have been opened.

    `inherited`: what `hierarchy.extensions(path)` told, for the extensions of the groups above.
    """
    metadata = node.metadata
    problem = getattr(node, "problem", None)
    sections = []
    warnings = [words.clean(w) for w in node.warnings]
    if isinstance(metadata, ArrayMetadata):
        subtitle = words.joined(
            words.rank(metadata.shape, metadata.dtype.name), words.shape(metadata.shape), words.size(_nbytes(metadata))
        )
        sections += [_values(metadata), _storage(metadata, node)]
    else:
        subtitle = words.GROUP
    if image is not None:
        sections.append(_image(image))
        warnings += [words.clean(w) for w in image.warnings]
        if metadata.kind == "group":
            subtitle = words.joined(
                f"OME-Zarr {words.clean(image.version)}" if image.version else words.IMAGE, words.shape(image.shape)
            )
    if collection is not None:
        sections.append(_collection(collection))
    sections.append(_node(node))
    extensions = [_extension(report, inherited) for report in node.extensions]
    extensions += [_from_above(found) for found in inherited if found.form == "above"]
    if extensions:
        sections.append(Section("Extensions", tuple(extensions)))
    return Info(
        node.path,
        words.clean(node.name or "/"),
        subtitle,
        tuple(sections),
        tuple(dict.fromkeys(warnings)),
        words.problem(problem).headline if problem is not None else "",
    )


def _nbytes(metadata: ArrayMetadata) -> int:
    return math.prod(metadata.shape) * metadata.dtype.itemsize


def _values(metadata: ArrayMetadata) -> Section:
    items = [
        Item("Shape", words.shape(metadata.shape), "How many values along each axis."),
        Item("Data type", words.clean(metadata.dtype.name, 200), "What one value is."),
        Item(
            "Fill value",
            words.exact(metadata.fill.value) + ("" if metadata.fill.defined else " (not defined)"),
            "What is shown where nothing is stored.",
        ),
    ]
    if metadata.dimension_names is not None:
        names = ", ".join("–" if n is None else words.clean(n, 60) for n in metadata.dimension_names)
        items.insert(1, Item("Axes", names))
    if metadata.dtype.itemsize:
        items.append(Item("Size", words.size(_nbytes(metadata)), "Of all values, not compressed."))
    return Section("Values", tuple(items))


def _storage(metadata: ArrayMetadata, node: Any) -> Section:
    outer = metadata.grid.chunk_shape
    shards = None
    chunks = outer
    count = math.prod(metadata.grid.extent(metadata.shape))
    if getattr(node, "problem", None) is None and node.shards is not None:
        chunks, shards = node.chunks, count
        count = math.prod(node.chunk_grid_shape)
    items = [Item("Chunks", words.stored_in(count, chunks, shards), "A chunk is the smallest piece that can be read.")]
    if shards is not None:
        items.append(Item("Shards", words.shape(outer), "A shard is one file that holds many chunks."))
    items.append(
        Item(
            "Codecs",
            " → ".join(_codec(codec) for codec in metadata.codecs) or "none",
            "How a chunk is packed, in the order of writing.",
        )
    )
    items.append(Item("Keys", words.clean(metadata.keys.key((0,) * metadata.ndim)), "Where the first chunk is stored."))
    if metadata.transformers:
        items.append(Item("Storage transformers", " → ".join(_codec(t) for t in metadata.transformers)))
    return Section("Storage", tuple(items))


def _codec(codec: CodecSpec) -> str:
    settings = {k: v for k, v in codec.configuration.items() if not isinstance(v, dict | list)}
    name = words.clean(codec.name, 80)
    inside = codec.configuration.get("codecs")
    if isinstance(inside, list):
        names = [c.get("name", "?") if isinstance(c, dict) else str(c) for c in inside]
        return f"{name} [{' → '.join(words.clean(str(n), 60) for n in names)}]"
    if not settings:
        return name
    return f"{name} ({words.clean(', '.join(f'{k} {json.dumps(v)}' for k, v in settings.items()), 120)})"


def _image(image: Image) -> Section:
    items = []
    if image.version:
        items.append(Item("Convention", f"OME-Zarr {words.clean(image.version)}"))
    axes = ", ".join(
        words.clean(axis.name, 20) + (f" ({words.unit(axis.unit)})" if axis.unit and axis.unit != "rgb" else "")
        for axis in image.axes
    )
    items.append(Item("Axes", axes))
    finest = image.levels[0]
    sized = [
        f"{words.clean(axis.name, 20)} {words.length(scale, axis.unit)}"
        for axis, scale in zip(image.axes, finest.scale, strict=True)
        if axis.unit and axis.unit != "rgb"
    ]
    if sized:
        items.append(Item("Pixel size", ", ".join(sized)))
    if len(image.levels) > 1:
        text = "; ".join(f"{k}: {words.shape(level.shape)}" for k, level in enumerate(image.levels))
        items.append(Item("Levels", text, "The same picture at lower resolutions, for looking from afar."))
    if image.channel_axis is not None:
        items.append(Item("Channels", ", ".join(words.clean(c.label, 60) for c in image.channels[:40])))
    return Section("Image", tuple(items))


def _collection(collection: Collection) -> Section:
    items = [Item("Kind", words.clean(collection.kind))]
    if collection.rows or collection.columns:
        items.append(Item("Wells", words.shape((len(collection.rows), len(collection.columns)))))
    if collection.members is not None:
        items.append(Item("Images", words.count(len(collection.members))))
    return Section("Collection", tuple(items))


def _node(node: Any) -> Section:
    hierarchy = node.hierarchy
    items = [
        Item("Path", words.clean(node.path)),
        Item("Format", words.clean(hierarchy.dialect.title)),
        Item("Store", words.clean(hierarchy.url)),
    ]
    if hierarchy.also:
        items.append(
            Item("Beside it", words.joined(*hierarchy.also), "Formats whose documents lie here too, not shown.")
        )
    if hierarchy.consolidated:
        items.append(Item("Consolidated", "yes", "The metadata of all nodes is kept in one document too."))
    return Section("Node", tuple(items))


def _extension(report: ExtensionReport, inherited: Sequence[Inherited] = ()) -> Item:
    text = f"{words.clean(report.name, 120)}: {_done(report)}. {words.clean(report.advice)}".strip()
    for found in inherited:
        if found.report == report and found.form != "above":
            text = f"{text} {_meant(found)}".strip()
    return Item(words.clean(report.point), text, _POINTS.get(report.point, ""))


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
    """What an entry that points elsewhere, or repeats another, stands for."""
    if found.form == "copy":
        return "It repeats what a group above says."
    if found.form == "own":
        return ""
    if found.target is None:
        return "It points out of the hierarchy, and is left alone."
    names = ", ".join(words.clean(report.name, 120) for report in found.resolved)
    return f"It stands for what {words.clean(found.target)} declares: {names or 'nothing of that name'}."


def _from_above(found: Inherited) -> Item:
    report = found.report
    text = f"{words.clean(report.name, 120)}: declared by the group {words.clean(found.origin)}; {_done(report)}."
    return Item("from above", f"{text} {words.clean(report.advice)}".strip(), _POINTS["from above"])


_POINTS = {
    "codec": "One step of how a chunk is packed.",
    "data type": "What one value is.",
    "chunk grid": "How the array is cut into chunks.",
    "chunk key encoding": "Where each chunk is stored.",
    "storage transformer": "What lies between the array and the store.",
    "metadata encoding": "How the documents themselves are written.",
    "member": "A member of the document that the format does not have.",
    "extension": "An addition to the format that the node's document names.",
    "from above": "An addition to the format that a group above names. Whether it holds here, its own text says.",
}
"""What an extension point is, for somebody who does not know the word."""
