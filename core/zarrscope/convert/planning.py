"""The plan of a conversion: every node's new documents, which chunks are copied as they are, and what is lost.

A plan reads documents and no chunks, and writes nothing. Whatever the new dialect says is written and parsed again
while planning, so that a loss is what the destination's own documents would tell differently. Specification:
dialects.md H.8 (what each dialect can express), E.1 (OME-Zarr), A.12 (fill values).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal

import numpy as np

from zarrscope.array import Array
from zarrscope.convert.carrying import attributes, axis_names, strict
from zarrscope.creating import as_spec, default_codecs, guess_chunks, sharding
from zarrscope.dialects import Dialect, dialect_named
from zarrscope.dialects.pipeline import bytes_codec, kind_of
from zarrscope.dtype import DataType, Fill
from zarrscope.errors import Refused, Unsupported, ZarrscopeError
from zarrscope.fill import zero
from zarrscope.hierarchy import Group, Hierarchy
from zarrscope.metadata import ArrayMetadata, CodecSpec, Configuration, GroupMetadata, RegularGrid
from zarrscope.naming import clean_path, join_path
from zarrscope.store import Store

JOURNAL = ".zarrscope-convert.json"
"""The key of the journal: beside the documents of the root, where no dialect looks for nodes."""
MAX_DEPTH = 64

How = Literal["group", "copied", "encoded"]
CodecLike = CodecSpec | Mapping[str, Any] | str


@dataclass(frozen=True)
class Loss:
    """What the destination cannot hold. `left_out`: the whole node and what is beneath it."""

    path: str
    what: str
    left_out: bool = False

    def __str__(self) -> str:
        return f"{self.path}: {self.what}" + (" It would be left out." if self.left_out else "")


@dataclass(frozen=True)
class NodePlan:
    """One node: `path` in the source, `target` in the destination, its documents there by key."""

    path: str
    target: str
    how: How
    documents: Mapping[str, bytes]
    attributes_key: str
    """Written first: the node appears with its attributes."""
    array: Array | None = None
    """The source, of an array."""
    metadata: ArrayMetadata | None = None
    """As the destination says."""
    fill_moves: bool = False
    """What is not stored would read otherwise in the destination, and is written out."""
    notes: tuple[str, ...] = ()

    @property
    def chunks(self) -> int:
        """How many chunks the destination's grid has; what is only the fill value is not stored."""
        return prod(self.metadata.grid.extent(self.metadata.shape)) if self.metadata is not None else 0

    @property
    def nbytes(self) -> int:
        """Decoded."""
        return self.array.nbytes if self.array is not None else 0


@dataclass(frozen=True)
class Plan:
    """What a conversion will do. Made by `plan`, carried out by `copying.run`."""

    source: Hierarchy
    destination: str
    store: Store | None
    """The destination where it was given as a store."""
    dialect: Dialect
    nodes: tuple[NodePlan, ...]
    losses: tuple[Loss, ...]

    @property
    def chunks(self) -> int:
        return sum(node.chunks for node in self.nodes)

    @property
    def nbytes(self) -> int:
        return sum(node.nbytes for node in self.nodes)

    @property
    def digest(self) -> str:
        """Equal when the same source would be written in the same way."""
        told = hashlib.sha256(self.source.url.encode())
        for node in self.nodes:
            told.update(f"\n{node.path} {node.target} {node.how}".encode("utf-8", "surrogatepass"))
            for key, value in sorted(node.documents.items()):
                told.update(key.encode("utf-8", "surrogatepass") + b"\0" + value)
        return told.hexdigest()

    def to_json(self) -> dict[str, Any]:
        """For scripts: the same plan gives the same JSON."""
        return {
            "source": self.source.url,
            "destination": self.destination,
            "from": self.source.dialect.name,
            "to": self.dialect.name,
            "chunks": self.chunks,
            "nbytes": self.nbytes,
            "nodes": [_node_json(node) for node in self.nodes],
            "losses": [{"path": loss.path, "what": loss.what, "left_out": loss.left_out} for loss in self.losses],
        }


def _node_json(node: NodePlan) -> dict[str, Any]:
    told: dict[str, Any] = {"path": node.path, "target": node.target, "how": node.how, "notes": [*node.notes]}
    if node.metadata is not None:
        told |= {
            "shape": [*node.metadata.shape],
            "data_type": node.metadata.dtype.name,
            "chunk_shape": [*node.metadata.grid.chunk_shape],
            "codecs": [spec.name for spec in node.metadata.codecs],
            "chunks": node.chunks,
            "nbytes": node.nbytes,
        }
    return told


def plan(
    source: Hierarchy,
    destination: str | Store,
    dialect: str,
    *,
    chunks: Sequence[int] | None = None,
    shards: Sequence[int] | None = None,
    codecs: Sequence[CodecLike] | None = None,
    path: str = "/",
) -> Plan:
    """How the node at `path` and all beneath it become a hierarchy of `dialect` at `destination`, a new place.

    `chunks` and `shards` (elements per axis) hold for arrays of as many axes; `codecs` for all arrays: either the
    whole list, or bytes→bytes ones only, before which the plain ones of each data type are put; [] compresses nothing.
    Raises NotFound, Refused (the destination is the source, or inside it), Unsupported (nothing writes that dialect).
    """
    chosen = dialect_named(dialect)
    url = destination.url if isinstance(destination, Store) else _url(destination)
    if url == source.url or url.startswith(source.url.rstrip("/") + "/"):
        raise Refused("The destination is the source itself, or inside it", store=url, advice="Name a new place.")
    chosen.write("/", GroupMetadata(chosen.name), {})
    planner = _Planner(source, chosen, clean_path(path), chunks, shards, codecs)
    nodes = tuple(planner.nodes())
    store = destination if isinstance(destination, Store) else None
    return Plan(source, url, store, chosen, nodes, tuple(planner.losses))


def _url(destination: str) -> str:
    from zarrscope.stores.address import split_address

    address = split_address(destination)
    if address.node_path:
        raise Refused("A conversion writes a hierarchy of its own, not into another", advice="Name a new place.")
    return address.store_url


class _Planner:
    """Walks the source and collects losses."""

    def __init__(
        self,
        source: Hierarchy,
        dialect: Dialect,
        root: str,
        chunks: Sequence[int] | None,
        shards: Sequence[int] | None,
        codecs: Sequence[CodecLike] | None,
    ) -> None:
        self.source, self.dialect, self.root = source, dialect, root
        self.chunks = tuple(chunks) if chunks is not None else None
        self.shards = tuple(shards) if shards is not None else None
        self.codecs = codecs
        for name, lengths in (("chunks", self.chunks), ("shards", self.shards)):
            if lengths is not None and any(n < 1 for n in lengths):
                raise Refused(f"{name} {lengths} cannot be: each length is at least 1")
        self.losses: list[Loss] = []
        self.axes: dict[str, tuple[str, ...]] = {}

    def nodes(self) -> Iterator[NodePlan]:
        yield from self._node(self.root, "/", 0)

    def _lose(self, path: str, what: str, *, left_out: bool = False) -> None:
        self.losses.append(Loss(path, what, left_out))

    def _node(self, path: str, target: str, depth: int) -> Iterator[NodePlan]:
        try:
            if target != "/":
                self.dialect.check_name(target.rpartition("/")[2])
            if depth > MAX_DEPTH:
                raise Refused(f"It nests deeper than {MAX_DEPTH} levels")
            node = self.source.open_node(path)
            if node.problem is not None:
                raise node.problem
            made = self._array(node, target) if isinstance(node, Array) else self._group(node, target)
        except ZarrscopeError as error:
            if path == self.root:
                raise
            self._lose(path, str(error), left_out=True)
            return
        yield made
        if isinstance(node, Group):
            names = sorted((child.name for child in node.children()), key=_natural)
            for name in names:
                yield from self._node(join_path(path, name), join_path(target, name), depth + 1)

    # ------------------------------------------------------------------ groups
    def _group(self, group: Group, target: str) -> NodePlan:
        self.axes |= axis_names(group.attributes, group.path)
        notes = ["There was no document for this group; it gets one"] if group.metadata.implicit else []
        if self.source.consolidated and group.path == self.root:
            notes.append("The consolidated copy of the metadata is not taken along: readers find each node's own")
        own = self._attributes(group, None, notes)
        documents = self.dialect.write(target, GroupMetadata(self.dialect.name), own)
        self._tell_extensions(group.path, group.metadata)
        key = self.dialect.attributes_at(target, "group")[0]
        return NodePlan(group.path, target, "group", documents, key, notes=tuple(notes))

    def _attributes(self, node: Group | Array, metadata: ArrayMetadata | None, notes: list[str]) -> dict[str, Any]:
        own, told = attributes(node.attributes, metadata, node.path, self.source.dialect.name, self.dialect.name)
        notes += told
        own, pointers = strict(own)
        if pointers:
            few = ", ".join(pointers[:5]) + (" …" if len(pointers) > 5 else "")
            self._lose(node.path, f"NaN and infinities in attributes become text, for JSON has none ({few}).")
        result: dict[str, Any] = own
        return result

    def _tell_extensions(self, path: str, metadata: ArrayMetadata | GroupMetadata) -> None:
        for report in metadata.extensions:
            if report.point in ("extension", "member") and self.source.dialect.extensions.count(report) == 0:
                self._lose(path, f"The {report.point} {report.name!r} is not taken along.")

    # ------------------------------------------------------------------ arrays
    def _array(self, array: Array, target: str) -> NodePlan:
        notes: list[str] = []
        before = array.metadata
        fill, fill_moves = self._fill(before, notes)
        names = before.dimension_names or self.axes.get(array.path)
        names = names if names is not None and len(names) == before.ndim else None
        own = self._attributes(array, before, notes)
        draft = replace(
            before,
            fill=fill,
            dialect=self.dialect.name,
            keys=self.dialect.chunk_keys(target, before.ndim, self._separator(before)),
            dimension_names=names,
            transformers=(),
            extensions=(),
            alternative_keys=(),
        )
        after, documents = self._expressed(draft, target, own, notes)
        if names is not None and None in names and after.dimension_names != names:
            notes.append("Dimensions without a name are called dim_0, dim_1 …")
        self._tell_extensions(array.path, before)
        self._compare(array.path, draft, after)
        same = not fill_moves and before.grid == after.grid and _meaning(before) == _meaning(after)
        if same:
            notes += [f"{n} is no codec of the core: not every reader has it" for n in _rare(after)]
        key = self.dialect.attributes_at(target, "array")[0]
        how: How = "copied" if same else "encoded"
        return NodePlan(array.path, target, how, documents, key, array, after, fill_moves, tuple(notes))

    def _separator(self, before: ArrayMetadata) -> str | None:
        """v2 without a separator of its own in the source gets "/", as OME-Zarr 0.4 and file systems like it."""
        if self.dialect.name != "v2":
            return None
        return before.keys.separator if before.dialect == "v2" else "/"

    def _fill(self, before: ArrayMetadata, notes: list[str]) -> tuple[Fill, bool]:
        fill = before.fill
        if not fill.defined and self.dialect.name in ("v3", "draft-2022-05"):
            notes.append(f"The fill value was left open; it becomes {fill.value!r}, as it is read already")
            return replace(fill, defined=True), False
        if self.dialect.name == "n5" and fill.defined and before.dtype.numpy is not None:
            none = Fill(zero(before.dtype))
            if fill != none:
                notes.append("N5 has no fill value but 0: chunks of nothing but the fill value are stored")
                return none, True
        return fill, False

    def _expressed(
        self, draft: ArrayMetadata, target: str, own: Mapping[str, Any], notes: list[str]
    ) -> tuple[ArrayMetadata, Mapping[str, bytes]]:
        """(the metadata as the destination says it, its documents): the first layout that the dialect can express."""
        failure: ZarrscopeError | None = None
        for metadata, told in self._layouts(draft, notes):
            try:
                adapted = self.dialect.adapt(metadata)
                documents = self.dialect.write(target, adapted, own)
                node = self.dialect.parse(target, documents)
                if node is None or not isinstance(node.metadata, ArrayMetadata):
                    raise Unsupported(f"{self.dialect.title} does not read its own document", feature="array")
                problem = Array(self.source.store, target, node.metadata).problem
                if problem is not None:
                    raise problem
            except ZarrscopeError as error:
                failure = error
                continue
            notes += told
            return node.metadata, documents
        assert failure is not None
        raise failure

    def _layouts(self, draft: ArrayMetadata, notes: list[str]) -> Iterator[tuple[ArrayMetadata, list[str]]]:
        """Candidates and what to tell when one is taken, the closest to the source first."""
        dtype = draft.dtype
        outer, inner, codecs = _unfolded(draft)
        had_shards = outer != inner
        told: list[str] = []
        if self.chunks is not None and len(self.chunks) == draft.ndim:
            inner = self.chunks
            outer = inner if not had_shards else tuple(-(-o // i) * i for o, i in zip(outer, inner, strict=True))
            draft = replace(draft, grid=RegularGrid(inner))
        elif self.chunks is not None:
            notes.append(f"The chunks {self.chunks} do not fit {draft.ndim} axes: its own are kept")
        if self.shards is not None and len(self.shards) == draft.ndim:
            outer = self.shards
            if any(o % i for o, i in zip(outer, inner, strict=True)):
                raise Refused(f"Chunks {inner} do not divide shards {outer}: each length must be a multiple")
        elif self.shards is not None:
            notes.append(f"The shards {self.shards} do not fit {draft.ndim} axes: none are made")
        wants_shards = self.shards is not None and len(self.shards) == draft.ndim
        if self.codecs is None and self.chunks is None and not wants_shards:
            yield _laid(draft), []  # exactly as it was
        if not isinstance(draft.grid, RegularGrid):
            told.append(f"The chunks of different sizes become chunks of {inner}")
        first = codecs if self.codecs is None else _completed(self.codecs, dtype)
        choices: list[tuple[tuple[CodecSpec, ...], list[str]]] = [(first, [])]
        if self.codecs is None:
            known = [s for s in codecs if s.name in ("gzip", "zstd", "blosc")][:1]
            gzip = CodecSpec("gzip", Configuration({"level": 5}))
            plain = _serializer(dtype)
            for specs in ((*plain, *known), default_codecs(dtype), (*plain, gzip), plain):
                choices.append((tuple(specs), [f"Its codecs become {', '.join(s.name for s in specs)}"]))
        for specs, why in choices:
            if outer != inner or wants_shards:
                shard = (sharding(inner, specs),)
                yield replace(draft, grid=RegularGrid(outer), codecs=shard), [*told, *why]
        if wants_shards:
            return  # asked for, so nothing else will do
        for specs, why in choices:
            dissolved = [f"Shards are dissolved into chunks of {inner}"] if had_shards else []
            yield replace(draft, grid=RegularGrid(inner), codecs=specs), [*told, *dissolved, *why]

    def _compare(self, path: str, wanted: ArrayMetadata, got: ArrayMetadata) -> None:
        """What the destination's documents would tell otherwise than the source's."""
        if wanted.dtype.numpy != got.dtype.numpy:
            self._lose(path, f"The data type {wanted.dtype} becomes {got.dtype}.")
        if wanted.fill != got.fill and self.dialect.name != "n5":
            bits = "The bits of its NaN are" if _is_nan(wanted.fill) and _is_nan(got.fill) else "It is"
            self._lose(path, f"The fill value {wanted.fill.value!r} becomes {got.fill.value!r}. {bits} not the same.")
        if got.dimension_names is None and wanted.dimension_names is not None:
            self._lose(path, "The names of its dimensions are lost.")


def _is_nan(fill: Fill) -> bool:
    return isinstance(fill.value, np.floating) and bool(np.isnan(fill.value))


def _natural(name: str) -> tuple[int, int, str]:
    return (0, int(name), name) if name.isdecimal() and len(name) < 18 else (1, 0, name)


def _laid(draft: ArrayMetadata) -> ArrayMetadata:
    """N5's blocks written anywhere else are plain values with N5's compression."""
    if draft.dialect == "n5" or not _is_block(draft.codecs):
        return draft
    return replace(draft, codecs=_unblocked(draft))


def _is_block(codecs: Sequence[CodecSpec]) -> bool:
    return any(spec.name in ("n5_default", "n5_block") for spec in codecs)


def _unblocked(draft: ArrayMetadata) -> tuple[CodecSpec, ...]:
    block = next(spec for spec in draft.codecs if spec.name in ("n5_default", "n5_block"))
    inner = [as_spec(item) for item in block.configuration.get("codecs", [])]
    return (
        bytes_codec(draft.dtype, "little"),
        *(s for s in inner if kind_of(s.name) == "bytes→bytes" and not s.name.startswith("n5.")),
    )


def _unfolded(draft: ArrayMetadata) -> tuple[tuple[int, ...], tuple[int, ...], tuple[CodecSpec, ...]]:
    """(shape of a shard, shape of a chunk, codecs of a chunk), the two shapes equal where there are no shards."""
    grid = draft.grid.chunk_shape
    if not isinstance(draft.grid, RegularGrid):
        grid = guess_chunks(grid, draft.dtype.itemsize or 16)
    if draft.codecs and draft.codecs[0].name == "sharding_indexed":
        settings = draft.codecs[0].configuration
        return grid, tuple(settings["chunk_shape"]), tuple(as_spec(item) for item in settings["codecs"])
    if _is_block(draft.codecs):
        return grid, grid, _unblocked(draft)
    return grid, grid, draft.codecs


def _serializer(dtype: DataType) -> tuple[CodecSpec, ...]:
    """What makes bytes of elements, alone."""
    if dtype.variable:
        return default_codecs(dtype)[:1]
    return (bytes_codec(dtype, "little"),)


def _completed(codecs: Sequence[CodecLike], dtype: DataType) -> tuple[CodecSpec, ...]:
    """The codecs as asked for, the plain ones of the data type put before a list of compressors."""
    specs = tuple(_with_defaults(as_spec(codec), dtype) for codec in codecs)
    if any(kind_of(spec.name) in ("array→bytes", "array→array") for spec in specs):
        return specs
    return (*_serializer(dtype), *specs)


def _with_defaults(spec: CodecSpec, dtype: DataType) -> CodecSpec:
    """A compressor by its bare name, with the settings that documents must spell out."""
    itemsize = max(1, dtype.itemsize)
    known: dict[str, dict[str, Any]] = {
        "gzip": {"level": 5},
        "zstd": {"level": 3, "checksum": False},
        "blosc": {
            "cname": "zstd",
            "clevel": 5,
            "shuffle": "shuffle" if itemsize > 1 else "bitshuffle",
            "typesize": itemsize,
            "blocksize": 0,
        },
    }
    settings = known.get(spec.name)
    return CodecSpec(spec.name, Configuration({**settings, **spec.configuration})) if settings else spec


# ---------------------------------------------------------------------------------------------- equal bytes
def _meaning(metadata: ArrayMetadata) -> tuple[Any, ...]:
    """Equal for two arrays of one grid when the same bytes mean the same elements."""
    undefined = None if metadata.dtype.numpy is None else metadata.dtype.numpy.descr
    return (metadata.dtype.name, str(undefined), _decoding(metadata.codecs, metadata.dtype, metadata.ndim))


def _decoding(codecs: Sequence[CodecSpec], dtype: DataType | None, ndim: int) -> tuple[str, ...]:
    """What decoding needs of a list of codecs: how hard a compressor tried is nothing to it."""
    told: list[str] = []
    plain = True
    for spec in codecs:
        settings: dict[str, Any] = dict(spec.configuration)
        if spec.name in ("gzip", "zstd", "blosc", "crc32c"):
            settings = {}
        elif spec.name == "transpose" and settings.get("order") == [*range(ndim)]:
            continue
        elif spec.name == "bytes":
            wide = dtype is None or not plain or dtype.itemsize > 1
            settings = {"endian": settings.get("endian", "little")} if wide else {}
            if dtype is not None and plain and not bytes_codec(dtype, "little").configuration:
                settings = {}
        elif spec.name == "sharding_indexed":
            inner = _decoding([as_spec(item) for item in settings["codecs"]], dtype, ndim)
            index = _decoding([as_spec(item) for item in settings["index_codecs"]], None, ndim + 1)
            end = settings.get("index_location", "end")
            settings = {"chunk_shape": settings["chunk_shape"], "codecs": inner, "index": index, "at": end}
        plain = plain and spec.name == "transpose"
        told.append(f"{spec.name} {json.dumps(settings, sort_keys=True, default=str)}")
    return tuple(told)


def _rare(metadata: ArrayMetadata) -> list[str]:
    if metadata.dialect != "v3":
        return []
    return [spec.name for spec in metadata.codecs if spec.name.startswith(("numcodecs.", "imagecodecs_"))]
