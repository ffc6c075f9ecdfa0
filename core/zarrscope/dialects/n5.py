"""N5: every directory is a group, or a dataset if its attributes.json says so; axes are listed fastest first.

    attributes.json    {"n5": "4.0.0"}
    a/attributes.json  {"dimensions": [6, 4], "blockSize": [3, 2], "dataType": "uint16",
                        "compression": {"type": "raw"}}
    a/1/0              the block in column 1, row 0: a header with its size, then big-endian values

Canonical arrays are in C order, so shapes and chunk indices are the reverse of those in N5: this array has shape (4,
6). Its codecs are a transpose into N5's order of axes and the registered codec n5_default, which reads the header. User
attributes share the document with the dataset's own members. A missing block is zero.

Specification: https://github.com/saalfeldlab/n5 (README, 4.0.0); spec A.10.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

from zarrscope.dialects.defects import Defects, need_sound
from zarrscope.dialects.demands import missing
from zarrscope.dialects.pipeline import from_numcodecs, reversal, with_origin
from zarrscope.dialects.protocol import Child, Detected, Dialect, Erasure, Node, NodeKind, StoredDocument
from zarrscope.dialects.reading import Members, glance, load, prefix_of, text_of
from zarrscope.dialects.writing import check_plain_name, document
from zarrscope.errors import BadMetadata, Refused, Unsupported
from zarrscope.jsondoc.parse import parse_json
from zarrscope.model.codec_table import codec_id, codec_name, completed, is_codec_name, kind_of, written_names
from zarrscope.model.dtype import DataType, Fill, data_type, spell, unknown
from zarrscope.model.fill_value import undefined, zero
from zarrscope.model.metadata import (
    ArrayMetadata,
    ChunkKeys,
    CodecSpec,
    Configuration,
    ExtensionReport,
    GroupMetadata,
    Origin,
    RegularGrid,
)
from zarrscope.model.storage import Entry

DOCUMENT = "attributes.json"
VERSION = "4.0.0"
_TYPES = (
    *("uint8", "uint16", "uint32", "uint64"),
    *("int8", "int16", "int32", "int64"),
    *("float32", "float64"),
)
_OWN = ("n5", "dimensions", "blockSize", "dataType", "compression", "compressionType")
"""Members of a dataset that are not user attributes. A group has only `n5`."""
_DATASET = ("dimensions", "blockSize", "dataType")
"""A document with all of these members describes a dataset."""

_READ = ("axes", "units", "resolution")
"""Attributes of a dataset that tensorstore reads. It does not open the dataset if they are not lists of its rank."""
CARRIED = "zarr_attributes"
"""The attribute that holds converted attributes whose names have another meaning in N5."""


@dataclass(frozen=True)
class N5(Dialect):
    """The dialect of N5: a node is a folder with an attributes.json; the key of a block consists of its indices."""

    lenient: bool = False

    name: ClassVar[str] = "n5"
    title: ClassVar[str] = "N5"
    implicit: ClassVar[Literal["prefix", "descendant"]] = "prefix"
    names_in: ClassVar[str | None] = "axes"
    zero_fill: ClassVar[bool] = True
    blocks: ClassVar[bool] = True
    nodes_beneath_arrays: ClassVar[bool] = True

    # ------------------------------------------------------------------ keys
    def documents(self, path: str, kind: NodeKind | None = None) -> tuple[str, ...]:
        return (prefix_of(path) + DOCUMENT,)

    def listing(self, path: str) -> str:
        return prefix_of(path)

    def children(self, path: str, entries: Iterable[Entry]) -> Iterator[Child]:
        for entry in entries:
            if entry.is_prefix:
                yield Child(entry.name)

    def adapt(self, metadata: ArrayMetadata) -> ArrayMetadata:
        """Replaces the codecs of a new array by n5_default with the same compression, unless they are n5_default."""
        if any(spec.name == "n5_default" for spec in metadata.codecs):
            return metadata
        inner = [spec for spec in metadata.codecs if spec.name not in ("transpose", "bytes")]
        block = _block(len(metadata.shape), metadata.dtype, inner)
        return replace(metadata, codecs=(*reversal(len(metadata.shape)), block))

    def chunk_keys(self, path: str, ndim: int, separator: str | None = None) -> ChunkKeys:
        if separator not in (None, "/"):
            raise Unsupported("N5 separates the indices of a block by a slash", feature=f"separator {separator!r}")
        return ChunkKeys(prefix_of(path), "", "/", "0", reverse=True)

    def attributes_at(self, path: str, kind: NodeKind) -> tuple[str, str]:
        return prefix_of(path) + DOCUMENT, ""

    def erase(self, path: str, kind: NodeKind) -> Erasure:
        return Erasure(prefixes=(prefix_of(path),))

    def check_name(self, name: str) -> None:
        check_plain_name(name, self.title)
        if name == DOCUMENT:
            raise Refused(f"{name!r} would be taken for a document", advice="Choose another name.")

    def carried(self, attributes: Mapping[str, Any], kind: NodeKind) -> tuple[Mapping[str, Any], str]:
        """Puts attributes that N5 or tensorstore would read as their own into the attribute CARRIED."""
        # zarr-python 2 takes a group that has `dimensions` for a dataset
        taken = (*_OWN, *_READ, CARRIED) if kind == "array" else ("n5", "dimensions", CARRIED)
        moved = {name: attributes[name] for name in attributes if name in taken}
        if not moved:
            return attributes, ""
        rest = {name: value for name, value in attributes.items() if name not in moved}
        named = "the attribute" if len(moved) == 1 else "the attributes"
        kept = "it is" if len(moved) == 1 else "they are"
        told = f"N5 reads {named} {', '.join(map(repr, moved))} in its own way: {kept} kept within {CARRIED!r}"
        return {**rest, CARRIED: moved}, told

    def restored(self, attributes: Mapping[str, Any]) -> Mapping[str, Any]:
        """Takes attributes out of the attribute CARRIED, except those that were given a value beside it since."""
        held = attributes.get(CARRIED)
        if not isinstance(held, Mapping):
            return attributes
        rest = {name: value for name, value in attributes.items() if name != CARRIED}
        left = {name: value for name, value in held.items() if name in rest}
        back = {name: value for name, value in held.items() if name not in rest}
        return {**rest, **back, **({CARRIED: left} if left else {})}

    # ------------------------------------------------------------------ reading
    def recognize(self, documents: Mapping[str, bytes]) -> Detected | None:
        try:
            found = parse_json(documents[DOCUMENT], key=DOCUMENT)
        except BadMetadata:
            return None
        return Detected(self) if isinstance(found, Mapping) else None

    def parse(self, path: str, documents: Mapping[str, StoredDocument]) -> Node | None:
        key = prefix_of(path) + DOCUMENT
        notes: list[str] = []
        members = load(documents, key, notes)
        if members is None:
            return None
        own: tuple[str, ...] = ("n5",)
        defects = Defects(key)
        defects.attempt(_check_version, members)
        metadata: ArrayMetadata | GroupMetadata
        if all(name in members for name in _DATASET):
            metadata, own = self._dataset(path, members, defects), _OWN
        else:
            metadata = GroupMetadata(self.name, defects=defects.found)
        attributes = {name: value for name, value in members.value.items() if name not in own}
        return Node(path, metadata, attributes, tuple(notes))

    def stated_kind(self, path: str, documents: Mapping[str, StoredDocument]) -> NodeKind | None:
        members = glance(documents, prefix_of(path) + DOCUMENT)
        if not members:  # the document is absent, empty, or too broken to be read
            return None
        return "array" if all(name in members for name in _DATASET) else "group"

    def is_proof(self, path: str, documents: Mapping[str, StoredDocument]) -> bool:
        """Whether the document is of a dataset, or states the version of N5: other programs use its name, too."""
        members = glance(documents, prefix_of(path) + DOCUMENT)
        return bool(members) and ("n5" in members or all(name in members for name in _DATASET))

    def guessed_kind(self, path: str, documents: Mapping[str, StoredDocument], beneath: Collection[str]) -> NodeKind:
        text = text_of(documents, prefix_of(path) + DOCUMENT)
        if sum(f'"{name}"'.encode() in text for name in _DATASET) > 1:
            return "array"
        if any(key.endswith("/" + DOCUMENT) for key in beneath):
            return "group"
        return "array" if any(key.rstrip("/").isdecimal() for key in beneath) else "group"

    def recognize_broken(self, documents: Mapping[str, bytes], beneath: Collection[str]) -> Detected | None:
        text = documents.get(DOCUMENT)
        if text is None:
            return None
        told = b'"n5"' in text or self.guessed_kind("/", documents, beneath) == "array"
        return Detected(self) if told or any(key.endswith("/" + DOCUMENT) for key in beneath) else None

    def _dataset(self, path: str, members: Members, defects: Defects) -> ArrayMetadata:
        attempt = defects.attempt
        reports: list[ExtensionReport] = []
        shape = attempt(_shape, members)
        blocks = attempt(_block_size, members, len(shape)) if shape is not None else None
        name = attempt(members.need, "dataType", str)
        for member in ("codecs", "shardSize"):
            if member in members:
                advice = "N5 5 brings shards and codec lists, which a newer zarrscope may read."
                reports.append(missing("member", member, f"/{member}", advice))
        dtype: DataType | None = None
        if name in _TYPES:
            dtype = data_type(name)
        elif name is not None:
            dtype = unknown(name)
            advice = "N5 has no such type: correct it, or restore the document from a copy."
            if name in ("string", "object"):
                java = "N5 keeps Java's strings and objects in blocks of their own kinds, which zarrscope does not read"
                advice = f"{java}: a package for N5 in Java does."
            reports.append(missing("data type", name, "/dataType", advice))
        ndim = len(shape or ())
        compression = attempt(_compression, members, dtype.itemsize if dtype is not None else 1)
        codecs: tuple[CodecSpec, ...] | None = None
        if shape is not None and dtype is not None and compression is not None:
            codecs = (*with_origin("/dimensions", *reversal(ndim)), _block(ndim, dtype, compression))
        return defects.array(
            shape=shape,
            dtype=dtype,
            grid=RegularGrid(blocks) if blocks is not None else None,
            keys=self.chunk_keys(path, ndim),
            codecs=codecs,
            fill=None
            if dtype is None
            else Fill.deferred(partial(zero, dtype))
            if dtype.code is not None
            else undefined(dtype),
            dialect=self.name,
            dimension_names=_axes(members.any("axes"), ndim),
            extensions=tuple(reports),
        )

    # ------------------------------------------------------------------ writing
    def write(
        self, path: str, metadata: ArrayMetadata | GroupMetadata, attributes: Mapping[str, Any]
    ) -> dict[str, bytes]:
        need_sound(metadata)
        form: dict[str, Any] = {} if path.strip("/") else {"n5": VERSION}
        if isinstance(metadata, ArrayMetadata):
            form |= _dataset_form(metadata)
        clash = [name for name in attributes if name in (_OWN if isinstance(metadata, ArrayMetadata) else ("n5",))]
        if clash:
            raise Refused(f"N5 uses the attribute {clash[0]!r} itself", advice="Rename it.")
        own = dict(attributes)
        if isinstance(metadata, ArrayMetadata) and metadata.dimension_names is not None and "axes" not in own:
            names = metadata.dimension_names[::-1]
            own["axes"] = [name if name is not None else f"dim_{i}" for i, name in enumerate(names)]
        return {prefix_of(path) + DOCUMENT: document({**form, **own})}


def _check_version(members: Members) -> None:
    version = members.any("n5")
    if version is None:
        return
    major = str(version).partition(".")[0]
    if not isinstance(version, str) or not major.isdigit():
        raise BadMetadata(f"n5 must be a version such as {VERSION!r}, not {spell(version)}", pointer="/n5")
    if len(major) > 3 or int(major) > 4:
        raise Unsupported(f"N5 {version} is newer than 4", feature=f"N5 {version}", pointer="/n5")


def _shape(members: Members) -> tuple[int, ...]:
    shape = members.ints("dimensions")[::-1]
    if not shape:
        raise BadMetadata("A dataset has at least one dimension", pointer="/dimensions")
    return shape


def _block_size(members: Members, ndim: int) -> tuple[int, ...]:
    return members.ints("blockSize", minimum=1, maximum=2**31 - 1, length=ndim)[::-1]


def _axes(value: object, ndim: int) -> tuple[str | None, ...] | None:
    """The names of the axes in the order of `shape`; `value` is the member `axes`, in N5's reverse order. None if it is
    not a list of `ndim` names."""
    if isinstance(value, list) and len(value) == ndim and all(isinstance(name, str) for name in value):
        return tuple(value[::-1])
    return None


def _block(ndim: int, dtype: DataType, compression: Iterable[CodecSpec]) -> CodecSpec:
    """The codec n5_default. Its input has N5's order of axes; it encodes the block's header, then the values in the C
    order of the canonical array, big-endian and compressed."""
    values = CodecSpec("bytes", Configuration({"endian": "big"} if dtype.itemsize > 1 else {}))
    turn = CodecSpec("transpose", Configuration({"order": [*range(ndim)][::-1]}))  # present even if there is one axis
    inner = (*with_origin("/dimensions", turn), *with_origin("/dataType", values), *compression)
    origin = Origin("", "", inner=tuple(spec.origin for spec in inner))
    settings = Configuration({"codecs": [_form(spec) for spec in inner]})
    return CodecSpec("n5_default", settings, spelled="N5 block", origin=origin)


def _form(spec: CodecSpec) -> dict[str, Any]:
    return {"name": spec.name, **({"configuration": dict(spec.configuration)} if spec.configuration else {})}


# ---------------------------------------------------------------------------------------------- compression
def _compression(members: Members, itemsize: int) -> tuple[CodecSpec, ...]:
    """The codec that the member `compression`, {type, …}, describes, or in version 0 of N5 the member compressionType;
    empty for "raw"."""
    value = members.get("compression", dict, type(None))
    if value is None:
        origin = Origin("/compressionType", "/compressionType")
        value = {"type": members.get("compressionType", str, default="raw")}
    else:
        origin = Origin("/compression", "/compression", (("level", "/compression/blockSize"),))
    settings = Members(value, "/compression", "compression")
    found = _codec(settings, settings.need("type", str), itemsize)
    renamed = origin.members if found and found[0].name == "numcodecs.bz2" else ()
    return tuple(replace(spec, origin=replace(origin, members=renamed)) for spec in found)


def _codec(settings: Members, kind: str, itemsize: int) -> tuple[CodecSpec, ...]:
    level = settings.any("level", -1)
    if kind == "raw":
        return ()
    name = codec_name("n5", kind) if is_codec_name("n5", kind) else f"n5.{kind}"
    match name:
        case "gzip" if settings.any("useZlib") is True:
            return (CodecSpec("numcodecs.zlib", Configuration({"level": _within(level, 0, 9, 6)})),)
        case "gzip":
            return (CodecSpec(name, Configuration({"level": _within(level, 0, 9, 6)})),)
        case "numcodecs.bz2":
            return (CodecSpec(name, Configuration({"level": _within(settings.any("blockSize"), 1, 9, 9)})),)
        case "numcodecs.lzma":
            preset = _within(settings.any("preset"), 0, 9, 6)
            options = {"format": 1, "check": -1, "preset": preset, "filters": None}
            return (CodecSpec(name, Configuration(options)),)
        case "blosc":
            names = ("cname", "clevel", "shuffle", "blocksize")
            options = {name: settings.value[name] for name in names if name in settings}
            return (from_numcodecs(kind, options, itemsize, family="n5"),)
        case "zstd":
            return (CodecSpec(name, Configuration({"level": _within(level, -131072, 22, 3)})),)
    rest = {member: settings.value[member] for member in settings.value if member != "type"}
    return (CodecSpec(name, Configuration(rest), spelled=kind),)


def _within(value: object, low: int, high: int, default: int) -> int:
    return value if type(value) is int and low <= value <= high else default


def _compression_form(specs: list[CodecSpec]) -> dict[str, Any]:
    if not specs:
        return {"type": "raw"}
    spec, settings = specs[0], specs[0].configuration
    level = settings.get("level")
    kind = codec_id("n5", "gzip" if spec.name == "numcodecs.zlib" else spec.name)
    match spec.name if len(specs) == 1 else "":
        case "gzip":
            return {"type": kind, "level": level if level is not None else -1}
        case "numcodecs.zlib":
            return {"type": kind, "level": level if level is not None else -1, "useZlib": True}
        case "numcodecs.bz2":
            return {"type": kind, "blockSize": level or 9}
        case "numcodecs.lzma":
            if settings.get("format", 1) == 1 and not settings.get("filters"):
                return {"type": kind, "preset": settings.get("preset") or 6}
        case "zstd":
            return {"type": kind, "level": level if level is not None else 3}
        case "blosc":
            words = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}
            options = {"cname": "lz4", "clevel": 5, "blocksize": 0}  # zarr-python 2 requires each of these members
            options |= {name: settings[name] for name in options if name in settings}
            # nthreads is left out: readers do not need it, and tensorstore rejects it
            return {"type": kind, **options, "shuffle": words.get(settings.get("shuffle", ""), 1)}
        case name if kind is None and name.startswith("n5."):
            return {"type": name.removeprefix("n5."), **settings}
        case name if kind is not None and kind_of(name) == "bytes→bytes":
            return {"type": kind, **completed(name, settings)[0]}
    raise Unsupported(
        f"N5 cannot express the codecs {', '.join(s.name for s in specs)}",
        feature="codec in N5",
        advice=f"Choose one of {', '.join(['raw', *written_names('n5')])}.",
    )


def _dataset_form(metadata: ArrayMetadata) -> dict[str, Any]:
    """The members dimensions, blockSize, dataType and compression. Raises Unsupported for metadata that N5 cannot
    express.
    """
    if metadata.dtype.name not in _TYPES or not metadata.shape:
        what = f"data type {metadata.dtype.name}" if metadata.shape else "array without dimensions"
        raise Unsupported(f"N5 has no {what}", feature=f"{what} in N5", advice="Write Zarr v3.")
    if not isinstance(metadata.grid, RegularGrid) or not metadata.keys.reverse:
        raise Unsupported("N5 has only regular chunk grids and its own chunk keys", feature="chunk grid in N5")
    if metadata.fill.defined and metadata.fill != Fill(zero(metadata.dtype)):
        raise Unsupported("N5 has no fill value but zero", feature="fill value in N5")
    codecs = [spec for spec in metadata.codecs if spec.name != "transpose"]
    if len(codecs) != 1 or codecs[0].name != "n5_default":
        raise Unsupported("N5 stores values only in its own blocks (codec n5_default)", feature="codecs in N5")
    inner = [
        CodecSpec(item["name"], Configuration(item.get("configuration")))
        for item in codecs[0].configuration.get("codecs", [])
        if item["name"] not in ("transpose", "bytes")
    ]
    return {
        "dimensions": [*metadata.shape[::-1]],
        "blockSize": [*metadata.grid.chunk_shape[::-1]],
        "dataType": metadata.dtype.name,
        "compression": _compression_form(inner),
    }
