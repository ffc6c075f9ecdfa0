"""Zarr v2: .zarray or .zgroup, and .zattrs, per node.

    a/.zarray  {"zarr_format": 2, "shape": [4, 6], "chunks": [2, 3], "dtype": "<u2", "order": "C", "fill_value": 0,
                "compressor": {"id": "zlib", "level": 1}, "filters": null, "dimension_separator": "."}
    a/.zattrs  {"_ARRAY_DIMENSIONS": ["y", "x"]}
    a/0.1      the chunk in row 0, column 1

Specification: zarr-specs v2; spec A.9, and what zarr-python 2, NCZarr, GDAL and tensorstore really write.
Unknown members are ignored; compressor, filters, order and fill_value may be missing, as early writers left them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from zarrscope.dialects.pipeline import Named, from_v2, to_v2
from zarrscope.dialects.protocol import DIMENSIONS, Child, Dialect, Erasure, Kind, Node, Source
from zarrscope.dialects.reading import Members, load, prefix_of, stays_inside, token, within
from zarrscope.dialects.writing import check_plain_name, copies, document
from zarrscope.dtype import parse_typestr, spell, typestr
from zarrscope.errors import BadMetadata, Refused, Unsupported
from zarrscope.fill import V2 as FILL
from zarrscope.fill import fill_json, parse_fill
from zarrscope.frozen import frozen
from zarrscope.jsontext import CONSOLIDATED_LIMIT
from zarrscope.metadata import ArrayMetadata, ChunkKeys, ExtensionReport, GroupMetadata, Outcome, RegularGrid
from zarrscope.store import Entry


@frozen
class V2(Dialect):
    lenient: bool = False
    """Pass over attributes that are not an object; look for chunks under nested keys where no separator is given."""

    name: ClassVar[str] = "v2"
    title: ClassVar[str] = "Zarr v2"
    named_kinds: ClassVar[bool] = True
    ome_zarr: ClassVar[str] = "0.4"
    wanted_separator: ClassVar[str | None] = "/"

    # ------------------------------------------------------------------ keys
    def documents(self, path: str, kind: Kind | None = None) -> tuple[str, ...]:
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

    def attributes_at(self, path: str, kind: Kind) -> tuple[str, str]:
        return prefix_of(path) + ".zattrs", ""

    def erase(self, path: str, kind: Kind) -> Erasure:
        return Erasure(prefixes=(prefix_of(path),))

    def check_name(self, name: str) -> None:
        check_plain_name(name, self.title)
        if name.startswith((".z", ".nc")):
            raise Refused(f"{self.title} keeps its documents under names like {name!r}", advice="Choose another name.")
        if "\\" in name:
            raise Refused(f"{self.title} takes the backslash in {name!r} for a slash", advice="Choose another name.")

    # ------------------------------------------------------------------ reading
    def parse(self, path: str, documents: Mapping[str, Source]) -> Node | None:
        prefix = prefix_of(path)
        notes: list[str] = []
        array = load(documents, f"{prefix}.zarray", notes)
        group = load(documents, f"{prefix}.zgroup", notes) if array is None else None
        if array is None and group is None:
            return None
        attributes = self._attributes(prefix, documents, notes)
        key = f"{prefix}.zarray" if array is not None else f"{prefix}.zgroup"
        metadata: ArrayMetadata | GroupMetadata = GroupMetadata(self.name)
        with within(key=key):
            if array is not None:
                metadata = self._array(prefix, array, attributes, notes)
            elif group is not None:
                _check_format(group)
        return Node(path, metadata, attributes, tuple(notes))

    def claimed(self, path: str, documents: Mapping[str, Source]) -> Kind | None:
        prefix = prefix_of(path)
        if f"{prefix}.zarray" in documents:
            return "array"
        return "group" if f"{prefix}.zgroup" in documents else None

    def _attributes(self, prefix: str, documents: Mapping[str, Source], notes: list[str]) -> Mapping[str, Any]:
        key = f"{prefix}.zattrs"
        try:
            members = load(documents, key, notes, what="attributes")
        except BadMetadata as error:
            if not self.lenient:
                raise
            notes.append(f"The attributes are passed over: {error.message}")
            return {}
        return {} if members is None else members.value

    def _array(self, prefix: str, members: Members, attributes: Mapping[str, Any], notes: list[str]) -> ArrayMetadata:
        _check_format(members)
        shape = members.ints("shape")
        chunks = members.chunk_shape("chunks", shape)
        for name in ("compressor", "filters", "fill_value", "order"):
            if name not in members:
                notes.append(f"The member {name!r} is missing, and taken as {'C' if name == 'order' else 'null'}")
        order = members.choice("order", "C", "F", default="C")
        stored = members.need("dtype")
        with within("/dtype"):
            dtype, endian = parse_typestr(stored)
        filters = self._filters(members)
        compressor = members.get("compressor", dict, type(None))
        compressors = [_named(compressor, "/compressor")] if compressor is not None else []
        dtype, codecs = from_v2(dtype, endian, len(shape), order, filters, compressors)
        with within("/fill_value"):
            fill = parse_fill(members.any("fill_value"), dtype, FILL)
        separator = members.get("dimension_separator", str, type(None))
        if separator not in (None, ".", "/"):
            raise BadMetadata(
                f'dimension_separator must be "." or "/", not {spell(separator)}', pointer="/dimension_separator"
            )
        # the text's default is ".", and other readers keep to it; stores of old writers that nested without saying so
        # are read leniently
        nested = (ChunkKeys(prefix, "", "/", "0"),) if separator is None and len(shape) > 1 else ()
        return ArrayMetadata(
            shape=shape,
            dtype=dtype,
            grid=RegularGrid(chunks),
            keys=ChunkKeys(prefix, "", separator or ".", "0"),
            codecs=codecs,
            fill=fill,
            dialect=self.name,
            dimension_names=dimension_names(attributes, len(shape)),
            extensions=()
            if dtype.numpy is not None
            else (
                ExtensionReport(
                    "data type", dtype.name, False, True, Outcome.REFUSED, advice=dtype.advice, pointer="/dtype"
                ),
            ),
            alternative_keys=nested if self.lenient else (),
            lenient_keys=() if self.lenient else nested,
        )

    def _filters(self, members: Members) -> list[Named]:
        value = members.get("filters", list, type(None)) or []
        if len(value) > 64:
            raise BadMetadata(f"{len(value)} filters are more than zarrscope allows (64)", pointer="/filters")
        return [_named(item, f"/filters/{i}") for i, item in enumerate(value)]

    def consolidated(self, documents: Mapping[str, Source]) -> dict[str, Source] | None:
        """The documents inside .zmetadata, by store key."""
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

    def copied_at(self, key: str) -> tuple[str, str] | None:
        return ".zmetadata", "/metadata" + token(key)

    def consolidate(self, texts: Mapping[str, str], root: bytes | None) -> dict[str, bytes]:
        text = f'{{\n    "metadata": {copies(texts)},\n    "zarr_consolidated_format": 1\n}}'
        return {".zmetadata": text.encode("utf-8", "surrogatepass")}

    # ------------------------------------------------------------------ writing
    def write(
        self, path: str, metadata: ArrayMetadata | GroupMetadata, attributes: Mapping[str, Any]
    ) -> dict[str, bytes]:
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


def _check_format(members: Members) -> None:
    found = members.need("zarr_format")
    if type(found) is not int or found != 2:
        raise BadMetadata(f"zarr_format is {spell(found)}, not 2", pointer="/zarr_format")


def _named(value: Any, pointer: str) -> Named:
    members = Members(value, pointer, "codec")
    identifier = members.need("id", str)
    return identifier, members.value, identifier


def dimension_names(attributes: Mapping[str, Any], ndim: int) -> tuple[str | None, ...] | None:
    """The names of dimensions as xarray stores them, where there is one for each."""
    names = attributes.get(DIMENSIONS)
    if isinstance(names, list) and len(names) == ndim and all(isinstance(name, str) for name in names):
        return tuple(names)
    return None
