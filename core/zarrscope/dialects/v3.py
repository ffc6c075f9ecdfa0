"""Zarr v3: one zarr.json per node, as zarr-python 3, tensorstore and their contemporaries write it.

    a/zarr.json  {"zarr_format": 3, "node_type": "array", "shape": [4, 6], "data_type": "uint16",
                  "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
                  "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
                  "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd"}],
                  "fill_value": 0, "attributes": {}}
    a/c/0/1      the chunk in row 0, column 1

Specification: zarr-specs v3.0 and v3.1, ZEP 9 phase 2 for `extensions`; spec A.7 (what early writers did), A.8.
Unknown members make a node refused unless they say must_understand false; `lenient` opens it all the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

from zarrscope.dialects import extensions as known
from zarrscope.dialects.pipeline import as_json, extension, from_v3, kind_of
from zarrscope.dialects.protocol import Child, Dialect, Erasure, Kind, Node, Source
from zarrscope.dialects.reading import Members, attributes_of, glance, load, prefix_of, stays_inside, token, within
from zarrscope.dialects.writing import check_plain_name, copies, document
from zarrscope.dtype import CORE_NAMES, DataType, data_type, spell, to_json
from zarrscope.errors import BadMetadata, Refused, Unsupported
from zarrscope.fill import V3 as FILL
from zarrscope.fill import fill_json, parse_fill
from zarrscope.frozen import frozen
from zarrscope.jsontext import CONSOLIDATED_LIMIT, NODE_LIMIT
from zarrscope.metadata import (
    ArrayMetadata,
    ChunkGrid,
    ChunkKeys,
    CodecSpec,
    Configuration,
    ExtensionReport,
    GroupMetadata,
    Outcome,
    RegularGrid,
)
from zarrscope.plugins import plugin
from zarrscope.store import Entry

DOCUMENT = "zarr.json"
ALIKE = 4 << 10
ALIKE_KEPT = 512
"""Many nodes of a plate or a time series have the same document. The kinds that so many of at most `ALIKE` bytes tell
are remembered: a quarter of listing 2,000 such nodes (2026-11-21, tests/bench/run.py "listing")."""
_NO_WAY = "zarrscope cannot read the array without it; ask its writer which package understands it."


@frozen
class V3(Dialect):
    lenient: bool = False
    """Open what demands extensions unknown here, and null fill values; never write there."""
    fallbacks: bool = True
    """Read unknown data types as the fallback that their document offers (until 2023)."""

    name: ClassVar[str] = "v3"
    title: ClassVar[str] = "Zarr v3"
    ome_zarr: ClassVar[str] = "0.5"
    names_in: ClassVar[str | None] = None
    undefined_fill: ClassVar[bool] = False
    numcodecs: ClassVar[bool] = False

    # ------------------------------------------------------------------ keys
    def documents(self, path: str, kind: Kind | None = None) -> tuple[str, ...]:
        return (prefix_of(path) + DOCUMENT,)

    def listing(self, path: str) -> str:
        return prefix_of(path)

    def children(self, path: str, entries: Iterable[Entry]) -> Iterator[Child]:
        for entry in entries:
            if entry.is_prefix and not entry.name.startswith("__"):
                yield Child(entry.name)

    def chunk_keys(self, path: str, ndim: int, separator: str | None = None) -> ChunkKeys:
        separator = separator or "/"
        return ChunkKeys(prefix_of(path), f"c{separator}", separator, "c")

    def attributes_at(self, path: str, kind: Kind) -> tuple[str, str]:
        return prefix_of(path) + DOCUMENT, "/attributes"

    def erase(self, path: str, kind: Kind) -> Erasure:
        return Erasure(prefixes=(prefix_of(path),))

    def check_name(self, name: str) -> None:
        check_plain_name(name, self.title)
        if name.startswith("__") or name == DOCUMENT:
            raise Refused(f"{self.title} reserves the name {name!r}", advice="Choose another name.")

    # ------------------------------------------------------------------ reading
    def parse(self, path: str, documents: Mapping[str, Source]) -> Node | None:
        key = prefix_of(path) + DOCUMENT
        notes: list[str] = []
        members = load(documents, key, notes, limit=CONSOLIDATED_LIMIT)
        if members is None:
            return None
        source = documents[key]
        with within(key=key):
            if isinstance(source, bytes) and len(source) > NODE_LIMIT and "consolidated_metadata" not in members:
                raise BadMetadata(f"The document has {len(source):,} bytes; {NODE_LIMIT:,} are read", pointer="")
            _check_format(members)
            known.refuse_phase_3(members.value)
            reading = _Reading(self, path, members, notes)
            metadata = reading.array() if members.choice("node_type", "array", "group") == "array" else reading.group()
            return Node(path, metadata, attributes_of(members), tuple(notes))

    def claimed(self, path: str, documents: Mapping[str, Source]) -> Kind | None:
        source = documents.get(prefix_of(path) + DOCUMENT)
        if isinstance(source, bytes) and len(source) <= ALIKE:
            return _claimed(source)
        kind = glance(documents, prefix_of(path) + DOCUMENT).get("node_type")
        return kind if kind == "array" or kind == "group" else None

    def consolidated(self, documents: Mapping[str, Source]) -> dict[str, Source] | None:
        """The documents inside `consolidated_metadata` of kind "inline", by store key."""
        found: dict[str, Source] | None = None
        for key in documents:
            if key != DOCUMENT and not key.endswith("/" + DOCUMENT):
                continue
            source = documents[key]
            if isinstance(source, bytes) and b"consolidated_metadata" not in source and b"\\u" not in source:
                continue  # its name is not there in any spelling: nothing need be parsed
            members = load(documents, key, [], limit=CONSOLIDATED_LIMIT)
            inline = members.any("consolidated_metadata") if members else None
            if not isinstance(inline, Mapping) or inline.get("kind", "inline") != "inline":
                continue
            nodes = inline.get("metadata")
            if isinstance(nodes, Mapping):
                prefix = key.removesuffix(DOCUMENT)
                found = found or {}
                for name, value in nodes.items():
                    if stays_inside(name) and isinstance(value, Mapping):
                        found[f"{prefix}{name}/{DOCUMENT}"] = value
        return found

    def copied_at(self, key: str) -> tuple[str, str] | None:
        name = key.removesuffix("/" + DOCUMENT)  # the root's document holds the copies, and is not among them
        return None if name == key else (DOCUMENT, "/consolidated_metadata/metadata" + token(name))

    def consolidate(self, texts: Mapping[str, str], root: bytes | None) -> dict[str, bytes]:
        inner = copies({key.removesuffix("/" + DOCUMENT): text for key, text in texts.items()})
        inline = f'{{\n    "kind": "inline",\n    "must_understand": false,\n    "metadata": {inner}\n  }}'
        from zarrscope.document import Document

        whole = Document(root or b"", DOCUMENT, limit=CONSOLIDATED_LIMIT).set_text("/consolidated_metadata", inline)
        return {DOCUMENT: whole.bytes}

    # ------------------------------------------------------------------ writing
    def write(
        self, path: str, metadata: ArrayMetadata | GroupMetadata, attributes: Mapping[str, Any]
    ) -> dict[str, bytes]:
        form: dict[str, Any] = {"zarr_format": 3, "node_type": metadata.kind}
        if isinstance(metadata, ArrayMetadata):
            form |= _array_form(metadata)
        return {prefix_of(path) + DOCUMENT: document({**form, "attributes": dict(attributes)})}


@lru_cache(ALIKE_KEPT)
def _claimed(source: bytes) -> Kind | None:
    kind = glance({DOCUMENT: source}, DOCUMENT).get("node_type")
    return kind if kind == "array" or kind == "group" else None


def _check_format(members: Members) -> None:
    found = members.need("zarr_format")
    if type(found) is not int or found != 3:
        raise BadMetadata(
            f"zarr_format is {spell(found)}, not 3",
            pointer="/zarr_format",
            advice="Open it as the format that it names, or correct the number.",
        )


class _Reading:
    """One document on its way to canonical metadata: what it demands is collected in `reports`."""

    def __init__(self, dialect: V3, path: str, members: Members, notes: list[str]) -> None:
        self.dialect, self.path, self.members, self.notes = dialect, path, members, notes
        self.reports: list[ExtensionReport] = []
        for name in ("zarr_format", "node_type", "attributes"):
            members.any(name)

    def group(self) -> GroupMetadata:
        inline = self.members.any("consolidated_metadata")
        if inline is not None:
            good = isinstance(inline, Mapping) and isinstance(inline.get("metadata"), Mapping)
            kind = inline.get("kind", "inline") if isinstance(inline, Mapping) else None
            if kind != "inline" and good:
                self.notes.append(f"Consolidated metadata of kind {spell(kind)} is ignored")
            elif not good:
                self.notes.append("The consolidated metadata is malformed, and ignored")
        self._members_left()
        return GroupMetadata(self.dialect.name, extensions=tuple(self.reports))

    def array(self) -> ArrayMetadata:
        members = self.members
        shape = members.ints("shape")
        dtype = self._data_type()
        grid, separator = self._grid(shape)
        keys, others = self._keys(separator)
        codecs = self._codecs(dtype, len(shape))
        if members.value.get("consolidated_metadata") is None:
            members.any("consolidated_metadata")  # null was written into many nodes until 2025 (spec A.8.1)
        fill_value = members.need("fill_value")
        with within("/fill_value"):
            fill = parse_fill(fill_value, dtype, FILL, lenient=self.dialect.lenient)
        transformers = self._transformers()
        names = self._dimension_names(len(shape))
        self._members_left()
        return ArrayMetadata(
            shape=shape,
            dtype=dtype,
            grid=grid,
            keys=keys,
            codecs=codecs,
            fill=fill,
            dialect=self.dialect.name,
            dimension_names=names,
            transformers=transformers,
            extensions=tuple(self.reports),
            alternative_keys=others,
        )

    # ------------------------------------------------------------------ extension points
    def _report(
        self, point: str, spec: CodecSpec, pointer: str, *, ignorable: bool = False, advice: str = _NO_WAY
    ) -> bool:
        """Reports an extension that is not understood; True when it is passed over."""
        passed = ignorable and (not spec.must_understand or self.dialect.lenient)
        if passed and spec.must_understand:
            self.notes.append(f"The {point} {spec.name!r} must be understood, and is not: what is shown may be wrong")
        self.reports.append(
            ExtensionReport(
                point,
                spec.name,
                understood=False,
                required=spec.must_understand,
                outcome=Outcome.IGNORED if passed else Outcome.REFUSED,
                advice=advice,
                pointer=pointer,
                configuration=spec.configuration,
                passable=ignorable,
            )
        )
        return passed

    def _used(self, point: str, spec: CodecSpec, pointer: str) -> None:
        self.reports.append(
            ExtensionReport(point, spec.name, True, spec.must_understand, Outcome.USED, pointer=pointer)
        )

    def _data_type(self) -> DataType:
        value = self.members.need("data_type")
        with within("/data_type"):
            dtype = data_type(value)
            if isinstance(value, Mapping) and value.get("must_understand") is False:
                raise BadMetadata(
                    "A data type cannot be left ununderstood, whatever must_understand says",
                    pointer="/must_understand",
                    advice="Remove must_understand.",
                )
        fallback = None
        if dtype.numpy is None and isinstance(value, Mapping):
            fallback = self._fallback(dtype, value.get("fallback"))
        if fallback is not None and self.dialect.fallbacks:
            self.notes.append(f"The data type {dtype.name!r} is unknown: its values are shown as {fallback.name}")
            self.reports.append(
                ExtensionReport(
                    "data type",
                    dtype.name,
                    understood=False,
                    required=False,
                    outcome=Outcome.FELL_BACK,
                    advice=f"Shown as {fallback.name}, the fallback that the document offers.",
                    pointer="/data_type",
                    fallback=fallback.name,
                )
            )
            return fallback
        if dtype.name not in CORE_NAMES:
            known_here = dtype.numpy is not None
            self.reports.append(
                ExtensionReport(
                    "data type",
                    dtype.name,
                    understood=known_here,
                    required=True,
                    outcome=Outcome.USED if known_here else Outcome.REFUSED,
                    advice=f"Its fallback {fallback.name} is switched off." if fallback is not None else dtype.advice,
                    pointer="/data_type",
                    fallback=fallback.name if fallback is not None else "",
                )
            )
        return dtype

    def _fallback(self, dtype: DataType, value: Any) -> DataType | None:
        """The first type of `fallback`, one or a list, that is known here and of the same size, where that is known."""
        for name in value if isinstance(value, list) else [] if value is None else [value]:
            with within("/data_type/fallback"):
                other = data_type(name)
            if other.numpy is not None and dtype.itemsize in (0, other.itemsize):
                return other
        return None

    def _grid(self, shape: tuple[int, ...]) -> tuple[ChunkGrid, str | None]:
        """The grid, and the separator that documents of early 2023 kept in it."""
        value = self.members.need("chunk_grid")
        spec = extension(value, "/chunk_grid", "chunk grid", ignorable=False)
        settings = Members(spec.configuration, "/chunk_grid/configuration", "chunk grid's configuration")
        if spec.name == "regular":
            chunk_shape = settings.chunk_shape("chunk_shape", shape)
            separator = settings.choice("separator", "/", ".", default="") if "separator" in settings else None
            return RegularGrid(chunk_shape), separator
        grid = known.grid(spec, settings, shape)
        if grid is None:
            self._report("chunk grid", spec, "/chunk_grid")
            return RegularGrid(tuple(max(1, n) for n in shape)), None
        self._used("chunk grid", spec, "/chunk_grid")
        return grid, None

    def _keys(self, separator: str | None) -> tuple[ChunkKeys, tuple[ChunkKeys, ...]]:
        prefix = prefix_of(self.path)
        if "chunk_key_encoding" not in self.members and separator is not None:
            self.notes.append("The chunk keys are described as in early 2023")
            keys = ChunkKeys(prefix, f"c{separator}", separator, "c")
            return keys, (replace(keys, stem="c"),)
        pointer = "/chunk_key_encoding"
        spec = extension(self.members.need("chunk_key_encoding"), pointer, "chunk key encoding", ignorable=False)
        settings = Members(spec.configuration, pointer + "/configuration", "chunk key encoding's configuration")
        if spec.name == "default":
            separator = settings.choice("separator", "/", ".", default="/")
            return ChunkKeys(prefix, f"c{separator}", separator, "c"), ()
        if spec.name == "v2":
            return ChunkKeys(prefix, "", settings.choice("separator", "/", ".", default="."), "0"), ()
        made = plugin("chunk_key_encodings", spec.name)
        if made is not None:
            self._used("chunk key encoding", spec, pointer)
            return made(spec.configuration, prefix), ()
        self._report("chunk key encoding", spec, pointer)
        return ChunkKeys(prefix), ()

    def _codecs(self, dtype: DataType, ndim: int) -> tuple[CodecSpec, ...]:
        absent = "codecs" not in self.members
        value = self.members.any("codecs", [])
        if not value and isinstance(value, list) and not absent and not self.dialect.lenient:
            raise BadMetadata(
                "codecs is empty: an array→bytes codec such as bytes is needed",
                pointer="/codecs",
                advice='Write [{"name": "bytes", "configuration": {"endian": "little"}}] if chunks are plain bytes.',
            )
        codecs = from_v3(value, "/codecs", dtype, ndim, implicit=True)
        if absent or (isinstance(value, list) and len(codecs) != len(value)):
            self.notes.append("No codec turns arrays into bytes: little-endian bytes are assumed, as until July 2023")
        if any(_is_bare_bytes(item) for item in value) and any(
            spec.name == "bytes" and spec.configuration for spec in codecs
        ):
            self.notes.append("The bytes codec does not say its byte order: little-endian is assumed")
        for i, spec in enumerate(codecs):
            if spec.must_understand is False and kind_of(spec.name) is None:
                self._report("codec", spec, f"/codecs/{i}", ignorable=True, advice="It was passed over in reading.")
        return codecs

    def _transformers(self) -> tuple[CodecSpec, ...]:
        value = self.members.get("storage_transformers", list, default=[])
        specs = [extension(item, f"/storage_transformers/{i}", "storage transformer") for i, item in enumerate(value)]
        kept: list[CodecSpec] = []
        for i, spec in enumerate(specs):
            pointer = f"/storage_transformers/{i}"
            if plugin("storage_transformers", spec.name) is not None:
                self._used("storage transformer", spec, pointer)
                kept.append(spec)
            else:
                self._report("storage transformer", spec, pointer, ignorable=True)
        return tuple(kept)

    def _dimension_names(self, ndim: int) -> tuple[str | None, ...] | None:
        value = self.members.get("dimension_names", list, type(None))
        if value is None:
            return None
        if len(value) != ndim or not all(name is None or isinstance(name, str) for name in value):
            raise BadMetadata(
                f"dimension_names must hold {ndim} names (text or null), one per dimension, not {spell(value)}",
                pointer="/dimension_names",
            )
        return tuple(value)

    def _members_left(self) -> None:
        """`extensions` of ZEP 9, then members that nobody knows (v3.1 "Extension definition", spec A.8.3)."""
        if "extensions" in self.members:
            self._extensions(self.members.any("extensions"))
        for name in self.members.left():
            value = self.members.value[name]
            ignorable = isinstance(value, Mapping) and value.get("must_understand") is False
            self._report(
                "member",
                CodecSpec(name, must_understand=not ignorable),
                token(name),
                ignorable=True,
                advice=known.explain(name) or "It may change what the node means; open it leniently to look anyway.",
            )

    def _extensions(self, value: Any) -> None:
        if not isinstance(value, list):
            advice = "ZEP 9 gives it the form of a list of objects with a name."
            members = value if isinstance(value, Mapping) else {}
            whole = CodecSpec("extensions", must_understand=members.get("must_understand") is not False)
            self._report("member", whole, "/extensions", ignorable=True, advice=advice)
            for name, inner in members.items():  # the object form that ZEP 9 weighed: told, so that a person sees them
                if isinstance(inner, Mapping):
                    must = inner.get("must_understand") is not False
                    settings = {key: each for key, each in inner.items() if key != "must_understand"}
                    spec = CodecSpec(name, Configuration(settings), must)
                    advice = known.explain(name) or _NO_WAY
                    self._report("extension", spec, "/extensions" + token(name), ignorable=True, advice=advice)
            return
        if not value:
            self.notes.append("extensions is an empty list, which ZEP 9 asks to leave out")
        for i, item in enumerate(value):
            spec = extension(item, f"/extensions/{i}", "extension")
            report = known.understood(spec, f"/extensions/{i}")
            if report is None:
                advice = known.explain(spec.name) or _NO_WAY
                self._report("extension", spec, f"/extensions/{i}", ignorable=True, advice=advice)
            else:
                self.reports.append(report)


def _is_bare_bytes(item: Any) -> bool:
    """A bytes codec without configuration."""
    return item == "bytes" or (
        isinstance(item, Mapping) and item.get("name") == "bytes" and not item.get("configuration")
    )


# ---------------------------------------------------------------------------------------------- writing
def _array_form(metadata: ArrayMetadata) -> dict[str, Any]:
    """The members of an array document, spelled so that zarr-python 3.0 reads them: objects, no short-hands."""
    if metadata.transformers:
        raise Unsupported("Zarr v3 has no storage transformers", feature="storage transformer")
    dtype = metadata.dtype
    if dtype.name == "object" or '"subarray"' in dtype.configuration or _has_big_fields(dtype):
        raise Unsupported(
            f"Zarr v3 has no data type for {dtype}", feature=f"data type {dtype.name}", advice="Convert the values."
        )
    form: dict[str, Any] = {"shape": [*metadata.shape], "data_type": to_json(dtype)}
    form["chunk_grid"] = known.grid_form(metadata.grid)
    form["chunk_key_encoding"] = _keys_form(metadata.keys)
    form["fill_value"] = fill_json(metadata.fill, dtype, FILL)
    form["codecs"] = [as_json(spec) for spec in metadata.codecs]
    if metadata.dimension_names is not None:
        form["dimension_names"] = [*metadata.dimension_names]
    return form


def _has_big_fields(dtype: DataType) -> bool:
    return dtype.name == "struct" and dtype.numpy is not None and ">" in json.dumps(dtype.numpy.descr, default=str)


def _keys_form(keys: ChunkKeys) -> dict[str, Any]:
    if keys.reverse or keys.stem not in ("", f"c{keys.separator}"):
        raise Unsupported("Zarr v3 has no name for these chunk keys", feature="chunk key encoding")
    name = "default" if keys.stem else "v2"
    return {"name": name, "configuration": {"separator": keys.separator}}
