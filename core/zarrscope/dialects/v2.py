"""Zarr v2: each node has a document .zarray or .zgroup, and possibly .zattrs.

    a/.zarray  {"zarr_format": 2, "shape": [4, 6], "chunks": [2, 3], "dtype": "<u2", "order": "C", "fill_value": 0,
                "compressor": {"id": "zlib", "level": 1}, "filters": null, "dimension_separator": "."}
    a/.zattrs  {"_ARRAY_DIMENSIONS": ["y", "x"]}
    a/0.1      the chunk in row 0, column 1

Specification: https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html; spec A.9. Documents of zarr-python 2, NCZarr,
GDAL and tensorstore that differ from it are read too. Unknown members are ignored; compressor, filters, order and
fill_value may be missing, because early writers left them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from zarrscope.dialects.defects import Defects, as_far_as_read, need_sound
from zarrscope.dialects.pipeline import NamedCodec, from_v2, to_v2
from zarrscope.dialects.protocol import DIMENSIONS, Child, Dialect, Erasure, Node, NodeKind, StoredDocument
from zarrscope.dialects.reading import Members, load, odd_number, prefix_of, stays_inside, token, within
from zarrscope.dialects.writing import check_plain_name, consolidated_json, document
from zarrscope.errors import BadMetadata, Refused, Unsupported
from zarrscope.jsondoc.parse import CONSOLIDATED_LIMIT
from zarrscope.model.dtype import DataType, Fill, spell
from zarrscope.model.fill_value import V2 as FILL
from zarrscope.model.fill_value import fill_json, parse_fill
from zarrscope.model.frozen import frozen
from zarrscope.model.metadata import (
    ArrayMetadata,
    ChunkKeys,
    CodecSpec,
    ExtensionOutcome,
    ExtensionReport,
    GroupMetadata,
    Origin,
    RegularGrid,
)
from zarrscope.model.storage import Entry
from zarrscope.model.typestr import parse_typestr, typestr


@frozen
class V2(Dialect):
    """The dialect of Zarr v2: documents .zgroup, .zarray, .zattrs, and .zmetadata at the root with copies of them."""

    lenient: bool = False
    """Whether attributes that are not an object are ignored, and chunks are also looked for under nested keys if the
    document states no separator."""

    name: ClassVar[str] = "v2"
    title: ClassVar[str] = "Zarr v2"
    named_kinds: ClassVar[bool] = True
    ome_zarr: ClassVar[str] = "0.4"
    wanted_separator: ClassVar[str | None] = "/"

    # ------------------------------------------------------------------ keys
    def documents(self, path: str, kind: NodeKind | None = None) -> tuple[str, ...]:
        prefix = prefix_of(path)
        if kind is not None:
            return f"{prefix}.z{kind}", f"{prefix}.zattrs"
        keys = (f"{prefix}.zarray", f"{prefix}.zgroup", f"{prefix}.zattrs")
        return keys if prefix else (*keys, ".zmetadata")

    def outline(self, path: str) -> tuple[str, ...]:
        prefix = prefix_of(path)
        return f"{prefix}.zarray", f"{prefix}.zgroup"

    def listing(self, path: str) -> str:
        return prefix_of(path)

    def children(self, path: str, entries: Iterable[Entry]) -> Iterator[Child]:
        for entry in entries:
            if entry.is_prefix and not entry.name.startswith((".nczarr", ".zarr")):
                yield Child(entry.name)

    def chunk_keys(self, path: str, ndim: int, separator: str | None = None) -> ChunkKeys:
        return ChunkKeys(prefix_of(path), "", separator or ".", "0")

    def attributes_at(self, path: str, kind: NodeKind) -> tuple[str, str]:
        return prefix_of(path) + ".zattrs", ""

    def erase(self, path: str, kind: NodeKind) -> Erasure:
        return Erasure(prefixes=(prefix_of(path),))

    def check_name(self, name: str) -> None:
        check_plain_name(name, self.title)
        if name.startswith((".z", ".nc")):
            raise Refused(f"{self.title} keeps its documents under names like {name!r}", advice="Choose another name.")
        if "\\" in name:
            raise Refused(f"{self.title} takes the backslash in {name!r} for a slash", advice="Choose another name.")

    # ------------------------------------------------------------------ reading
    def parse(self, path: str, documents: Mapping[str, StoredDocument]) -> Node | None:
        prefix = prefix_of(path)
        notes: list[str] = []
        kind = self.stated_kind(path, documents)
        if kind is None:
            return None
        key = f"{prefix}.z{kind}"
        defects = Defects(key)
        members = defects.attempt(load, documents, key, notes)
        attributes = defects.attributes(self._attributes, prefix, documents, notes)
        metadata: ArrayMetadata | GroupMetadata
        if kind == "array":
            metadata = (
                self._array(prefix, members, as_far_as_read(attributes), notes, defects)
                if members is not None
                else defects.nothing_of_array(self.name)
            )
        else:
            if members is not None:
                defects.attempt(_check_format, members, notes)
            metadata = GroupMetadata(self.name, defects=defects.found)
        return Node(path, metadata, attributes, tuple(notes))

    def stated_kind(self, path: str, documents: Mapping[str, StoredDocument]) -> NodeKind | None:
        prefix = prefix_of(path)
        if f"{prefix}.zarray" in documents:
            return "array"
        return "group" if f"{prefix}.zgroup" in documents else None

    def _attributes(self, prefix: str, documents: Mapping[str, StoredDocument], notes: list[str]) -> Mapping[str, Any]:
        key = f"{prefix}.zattrs"
        try:
            members = load(documents, key, notes, what="attributes")
        except BadMetadata as error:
            if not self.lenient:
                raise
            notes.append(f"The attributes are passed over: {error.message}")
            return {}
        return {} if members is None else members.value

    def _array(
        self,
        prefix: str,
        members: Members,
        attributes: Mapping[str, Any],
        notes: list[str],
        defects: Defects,
    ) -> ArrayMetadata:
        attempt = defects.attempt
        attempt(_check_format, members, notes)
        shape = attempt(members.ints, "shape")
        chunks = attempt(members.chunk_shape, "chunks", shape) if shape is not None else None
        for name in ("compressor", "filters", "fill_value", "order"):
            if name not in members:
                notes.append(f"The member {name!r} is missing, and taken as {'C' if name == 'order' else 'null'}")
        order = attempt(members.choice, "order", "C", "F", default="C")
        dtype, endian = attempt(_data_type, members) or (None, None)
        filters = attempt(self._filters, members)
        compressors = attempt(_compressors, members)
        codecs: tuple[CodecSpec, ...] | None = None
        if shape is not None and order and dtype and filters is not None and compressors is not None:
            made = attempt(from_v2, dtype, endian, len(shape), order, filters, compressors)
            dtype, codecs = made if made is not None else (dtype, None)
        fill = attempt(_fill, members, dtype) if dtype is not None else None
        separator = attempt(_separator, members)
        # The specification's default is ".", and other readers follow it. Old writers used "/" in chunk keys without
        # stating the separator; with `lenient` their chunks are found, too.
        nested = (ChunkKeys(prefix, "", "/", "0"),) if separator == "" and shape is not None and len(shape) > 1 else ()
        return defects.array(
            shape=shape,
            dtype=dtype,
            grid=RegularGrid(chunks) if chunks is not None else None,
            keys=ChunkKeys(prefix, "", separator or ".", "0") if separator is not None else None,
            codecs=codecs,
            fill=fill,
            dialect=self.name,
            stored_type=members.any("dtype"),
            dimension_names=dimension_names(attributes, len(shape)) if shape is not None else None,
            extensions=()
            if dtype is None or dtype.code is not None
            else (
                ExtensionReport(
                    "data type",
                    dtype.name,
                    False,
                    True,
                    ExtensionOutcome.REFUSED,
                    advice=dtype.advice,
                    pointer="/dtype",
                ),
            ),
            alternative_keys=nested if self.lenient else (),
            lenient_keys=() if self.lenient else nested,
        )

    def _filters(self, members: Members) -> list[NamedCodec]:
        value = members.get("filters", list, type(None)) or []
        if len(value) > 64:
            raise BadMetadata(f"{len(value)} filters are more than zarrscope allows (64)", pointer="/filters")
        return [_named(item, f"/filters/{i}") for i, item in enumerate(value)]

    def consolidated(self, documents: Mapping[str, StoredDocument]) -> dict[str, StoredDocument] | None:
        """The copies of documents in .zmetadata, by store key; None if there is no .zmetadata."""
        members = load(documents, ".zmetadata", [], limit=CONSOLIDATED_LIMIT)
        if members is None:
            return None
        with within(key=".zmetadata"):
            nodes = members.get("metadata", dict, default={})
            if members.any("zarr_consolidated_format", 1) != 1:
                raise Unsupported("The consolidated metadata has a format other than 1", feature="consolidated format")
        return {
            key: value
            for key, value in nodes.items()
            if isinstance(value, Mapping)
            and key.rpartition("/")[2] in (".zarray", ".zgroup", ".zattrs")
            and stays_inside(key)
        }

    def consolidated_location(self, key: str) -> tuple[str, str] | None:
        return ".zmetadata", "/metadata" + token(key)

    def consolidate(self, texts: Mapping[str, str], root: bytes | None) -> dict[str, bytes]:
        text = f'{{\n    "metadata": {consolidated_json(texts)},\n    "zarr_consolidated_format": 1\n}}'
        return {".zmetadata": text.encode("utf-8", "surrogatepass")}

    # ------------------------------------------------------------------ writing
    def write(
        self, path: str, metadata: ArrayMetadata | GroupMetadata, attributes: Mapping[str, Any]
    ) -> dict[str, bytes]:
        need_sound(metadata)
        prefix = prefix_of(path)
        own = dict(attributes)
        written: dict[str, bytes] = {}
        if isinstance(metadata, ArrayMetadata):
            written[f"{prefix}.zarray"] = document(self._form(metadata), indent=4)
            if metadata.dimension_names is not None and DIMENSIONS not in own:
                names = metadata.dimension_names
                own[DIMENSIONS] = [name if name is not None else f"dim_{i}" for i, name in enumerate(names)]
        else:
            written[f"{prefix}.zgroup"] = document({"zarr_format": 2}, indent=4)
        if own:
            written[f"{prefix}.zattrs"] = document(own, indent=4)
        return written

    def _form(self, metadata: ArrayMetadata) -> dict[str, Any]:
        if metadata.transformers:
            raise Unsupported("Zarr v2 has no storage transformers", feature="storage transformer in Zarr v2")
        if not isinstance(metadata.grid, RegularGrid):
            raise Unsupported("Zarr v2 has only regular chunk grids", feature="chunk grid in Zarr v2")
        keys = metadata.keys
        if keys.stem or keys.reverse:
            raise Unsupported("Zarr v2 cannot express these chunk keys", feature="chunk keys in Zarr v2")
        ndim = len(metadata.shape)
        order, endian, filters, compressor = to_v2(metadata.codecs, metadata.dtype, ndim, self.title)
        return {
            "zarr_format": 2,
            "shape": [*metadata.shape],
            "chunks": [*metadata.grid.chunk_shape],
            "dtype": typestr(metadata.dtype, endian),
            "compressor": compressor,
            "fill_value": fill_json(metadata.fill, metadata.dtype, FILL),
            "order": order,
            "filters": filters or None,
            **({"dimension_separator": keys.separator} if keys.separator != "." else {}),
        }


def _check_format(members: Members, notes: list[str]) -> None:
    found = members.need("zarr_format")
    if odd_number(found, 2):
        notes.append(f"zarr_format is written as {spell(found)}, and taken as 2")
    elif type(found) is not int or found != 2:
        raise BadMetadata(f"zarr_format is {spell(found)}, not 2", pointer="/zarr_format")


def _data_type(members: Members) -> tuple[DataType, str | None]:
    stored = members.need("dtype")
    with within("/dtype"):
        return parse_typestr(stored)


def _compressors(members: Members) -> list[NamedCodec]:
    """The compressor of the document as a list of one codec; an empty list if there is none."""
    value = members.get("compressor", dict, type(None))
    return [_named(value, "/compressor")] if value is not None else []


def _fill(members: Members, dtype: DataType) -> Fill:
    with within("/fill_value"):
        return parse_fill(members.any("fill_value"), dtype, FILL)


def _separator(members: Members) -> str:
    """The dimension_separator that the document states; "" if it states none."""
    separator = members.get("dimension_separator", str, type(None))
    if separator not in (None, ".", "/"):
        raise BadMetadata(
            f'dimension_separator must be "." or "/", not {spell(separator)}', pointer="/dimension_separator"
        )
    return separator or ""


def _named(value: object, pointer: str) -> NamedCodec:
    members = Members(value, pointer, "codec")
    identifier = members.need("id", str)
    return NamedCodec(identifier, members.value, identifier, Origin(pointer, pointer))


def dimension_names(attributes: Mapping[str, Any], ndim: int) -> tuple[str | None, ...] | None:
    """The names of dimensions from the attribute in which xarray stores them; None unless it has one name for each
    dimension."""
    names = attributes.get(DIMENSIONS)
    if isinstance(names, list) and len(names) == ndim and all(isinstance(name, str) for name in names):
        return tuple(names)
    return None
