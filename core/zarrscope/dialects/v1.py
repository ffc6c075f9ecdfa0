"""Zarr v1, for reading: one array per store, and nothing else.

    meta   {"zarr_format": 1, "shape": [4, 6], "chunks": [2, 3], "dtype": "<u2", "compression": "zlib",
            "compression_opts": 1, "fill_value": 0, "order": "C"}
    attrs  {}
    0.1    the chunk in row 0, column 1

Specification: https://zarr-specs.readthedocs.io/en/latest/v1/v1.0.html; spec A.11. v1 is never written, because v2 can
express everything that v1 can.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from zarrscope.dialects.defects import Defects
from zarrscope.dialects.pipeline import NamedCodec, from_v2
from zarrscope.dialects.protocol import Child, Detected, Dialect, Erasure, Node, NodeKind, StoredDocument
from zarrscope.dialects.reading import Members, glance, load, within
from zarrscope.errors import BadMetadata, Refused, Unsupported
from zarrscope.jsondoc.parse import parse_json
from zarrscope.model.dtype import DataType, Fill, spell
from zarrscope.model.fill_value import V2 as FILL
from zarrscope.model.fill_value import parse_fill
from zarrscope.model.metadata import ArrayMetadata, ChunkKeys, CodecSpec, GroupMetadata, Origin, RegularGrid
from zarrscope.model.storage import Entry
from zarrscope.model.typestr import parse_typestr


@dataclass(frozen=True)
class V1(Dialect):
    """The dialect of Zarr v1: one array, described by the documents "meta" and "attrs"."""

    lenient: bool = False

    name: ClassVar[str] = "v1"
    title: ClassVar[str] = "Zarr v1"

    def recognize(self, documents: Mapping[str, bytes]) -> Detected | None:
        try:
            found = parse_json(documents["meta"], key="meta")
        except BadMetadata:
            return None
        return Detected(self) if isinstance(found, Mapping) and found.get("zarr_format") == 1 else None

    def recognize_odd(self, documents: Mapping[str, bytes]) -> Detected | None:
        found = glance(documents, "meta")
        said = all(name in found for name in ("zarr_format", "shape", "chunks", "dtype"))
        return Detected(self) if said else None

    def guessed_kind(self, path: str, documents: Mapping[str, StoredDocument], beneath: Collection[str]) -> NodeKind:
        return "array"

    def recognize_broken(self, documents: Mapping[str, bytes], beneath: Collection[str]) -> Detected | None:
        return Detected(self) if "meta" in documents and "attrs" in beneath else None

    def documents(self, path: str, kind: NodeKind | None = None) -> tuple[str, ...]:
        return ("meta", "attrs") if not path.strip("/") else ()

    def listing(self, path: str) -> str:
        return ""

    def children(self, path: str, entries: Iterable[Entry]) -> Iterator[Child]:
        return iter(())

    def chunk_keys(self, path: str, ndim: int, separator: str | None = None) -> ChunkKeys:
        return ChunkKeys("", "", ".", "0")

    def attributes_at(self, path: str, kind: NodeKind) -> tuple[str, str]:
        return "attrs", ""

    def erase(self, path: str, kind: NodeKind) -> Erasure:
        return Erasure(prefixes=("",))

    def check_name(self, name: str) -> None:
        raise Refused("A store of Zarr v1 holds one array and no groups", advice="Write Zarr v3.")

    def parse(self, path: str, documents: Mapping[str, StoredDocument]) -> Node | None:
        if path.strip("/"):
            return None
        notes: list[str] = []
        members = load(documents, "meta", notes)
        if members is None:
            return None
        defects = Defects("meta")
        attributes = defects.attributes(_attributes, documents, notes)
        return Node("/", self._array(members, defects), attributes, tuple(notes))

    def stated_kind(self, path: str, documents: Mapping[str, StoredDocument]) -> NodeKind | None:
        return "array" if not path.strip("/") and "meta" in documents else None

    def _array(self, members: Members, defects: Defects) -> ArrayMetadata:
        attempt = defects.attempt
        attempt(_check_format, members)
        shape = attempt(members.ints, "shape")
        chunks = attempt(members.ints, "chunks", minimum=1, length=len(shape)) if shape is not None else None
        dtype, endian = attempt(_data_type, members) or (None, None)
        order = attempt(members.choice, "order", "C", "F", default="C")
        compression = attempt(_compression, members)
        codecs: tuple[CodecSpec, ...] | None = None
        if shape is not None and dtype is not None and order and compression is not None:
            made = attempt(from_v2, dtype, endian, len(shape), order, (), compression)
            dtype, codecs = made if made is not None else (dtype, None)
        return defects.array(
            shape=shape,
            dtype=dtype,
            grid=RegularGrid(chunks) if chunks is not None else None,
            keys=self.chunk_keys("/", len(shape or ())),
            codecs=codecs,
            fill=attempt(_fill, members, dtype) if dtype is not None else None,
            dialect=self.name,
            stored_type=members.any("dtype"),
        )

    def write(
        self, path: str, metadata: ArrayMetadata | GroupMetadata, attributes: Mapping[str, Any]
    ) -> dict[str, bytes]:
        raise Unsupported("Zarr v1 is not written", feature="writing Zarr v1", advice="Write Zarr v2 or v3.")


def _attributes(documents: Mapping[str, StoredDocument], notes: list[str]) -> Mapping[str, Any]:
    members = load(documents, "attrs", notes, what="attributes")
    return {} if members is None else members.value


def _check_format(members: Members) -> None:
    found = members.need("zarr_format")
    if type(found) is not int or found != 1:
        raise BadMetadata(f"zarr_format is {spell(found)}, not 1", pointer="/zarr_format")


def _data_type(members: Members) -> tuple[DataType, str | None]:
    stored = members.need("dtype")
    with within("/dtype"):
        return parse_typestr(stored)


def _fill(members: Members, dtype: DataType) -> Fill:
    with within("/fill_value"):
        return parse_fill(members.any("fill_value"), dtype, FILL)


def _compression(members: Members) -> list[NamedCodec]:
    """The codec that the members compression and compression_opts state. compression_opts is a level for zlib and bz2,
    an object of settings for blosc and lzma."""
    name = members.get("compression", str, type(None))
    options = members.any("compression_opts")
    if name in (None, "none"):
        return []
    at = "/compression_opts"
    settings: Mapping[str, Any] = options if isinstance(options, Mapping) else {}
    if type(options) is int:
        settings = {"level": options}
    members_at = (("level", at),) if type(options) is int else ()
    return [NamedCodec(str(name), settings, str(name), Origin("/compression", at, members_at))]
