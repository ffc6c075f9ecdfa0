"""Zarr v1, for reading: one array per store, and nothing else.

    meta   {"zarr_format": 1, "shape": [4, 6], "chunks": [2, 3], "dtype": "<u2", "compression": "zlib",
            "compression_opts": 1, "fill_value": 0, "order": "C"}
    attrs  {}
    0.1    the chunk in row 0, column 1

Specification: zarr-specs v1; spec A.11. Nothing is written: what v1 says, v2 says too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from zarrscope.dialects.pipeline import Named, from_v2
from zarrscope.dialects.protocol import Child, Dialect, Erasure, Kind, Node, Source
from zarrscope.dialects.reading import Members, load, within
from zarrscope.dtype import parse_typestr, spell
from zarrscope.errors import BadMetadata, Refused, Unsupported
from zarrscope.fill import V2 as FILL
from zarrscope.fill import parse_fill
from zarrscope.metadata import ArrayMetadata, ChunkKeys, GroupMetadata, RegularGrid
from zarrscope.store import Entry


@dataclass(frozen=True)
class V1(Dialect):
    lenient: bool = False

    name: ClassVar[str] = "v1"
    title: ClassVar[str] = "Zarr v1"

    def documents(self, path: str, kind: Kind | None = None) -> tuple[str, ...]:
        return ("meta", "attrs") if not path.strip("/") else ()

    def listing(self, path: str) -> str:
        return ""

    def children(self, path: str, entries: Iterable[Entry]) -> Iterator[Child]:
        return iter(())

    def chunk_keys(self, path: str, ndim: int, separator: str | None = None) -> ChunkKeys:
        return ChunkKeys("", "", ".", "0")

    def attributes_at(self, path: str, kind: Kind) -> tuple[str, str]:
        return "attrs", ""

    def erase(self, path: str, kind: Kind) -> Erasure:
        return Erasure(prefixes=("",))

    def check_name(self, name: str) -> None:
        raise Refused("A store of Zarr v1 holds one array and no groups", advice="Write Zarr v3.")

    def parse(self, path: str, documents: Mapping[str, Source]) -> Node | None:
        if path.strip("/"):
            return None
        notes: list[str] = []
        members = load(documents, "meta", notes)
        if members is None:
            return None
        with within(key="meta"):
            metadata = self._array(members)
        attributes = load(documents, "attrs", notes, what="attributes")
        return Node("/", metadata, attributes.value if attributes else {}, tuple(notes))

    def claimed(self, path: str, documents: Mapping[str, Source]) -> Kind | None:
        return "array"

    def _array(self, members: Members) -> ArrayMetadata:
        found = members.need("zarr_format")
        if type(found) is not int or found != 1:
            raise BadMetadata(f"zarr_format is {spell(found)}, not 1", pointer="/zarr_format")
        shape = members.ints("shape")
        chunks = members.ints("chunks", minimum=1, length=len(shape))
        stored = members.need("dtype")
        with within("/dtype"):
            dtype, endian = parse_typestr(stored)
        order = members.choice("order", "C", "F", default="C")
        dtype, codecs = from_v2(dtype, endian, len(shape), order, (), _compression(members))
        with within("/fill_value"):
            fill = parse_fill(members.any("fill_value"), dtype, FILL)
        return ArrayMetadata(
            shape=shape,
            dtype=dtype,
            grid=RegularGrid(chunks),
            keys=self.chunk_keys("/", len(shape)),
            codecs=codecs,
            fill=fill,
            dialect=self.name,
        )

    def write(
        self, path: str, metadata: ArrayMetadata | GroupMetadata, attributes: Mapping[str, Any]
    ) -> dict[str, bytes]:
        raise Unsupported("Zarr v1 is not written", feature="writing Zarr v1", advice="Write Zarr v2 or v3.")


def _compression(members: Members) -> list[Named]:
    """blosc has an object of options, zlib and bz2 a level, lzma an object."""
    name = members.get("compression", str, type(None))
    options = members.any("compression_opts")
    if name in (None, "none"):
        return []
    settings: Mapping[str, Any] = options if isinstance(options, Mapping) else {}
    if type(options) is int:
        settings = {"level": options}
    return [(str(name), settings, str(name))]
