"""Zarr v3: one zarr.json per node, as zarr-python 3, tensorstore and their contemporaries write it.

    a/zarr.json  {"zarr_format": 3, "node_type": "array", "shape": [4, 6], "data_type": "uint16",
                  "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
                  "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
                  "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd"}],
                  "fill_value": 0, "attributes": {}}
    a/c/0/1      the chunk in row 0, column 1

Specification: https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html (v3.0 and v3.1), ZEP 9 phase 2 for
`extensions`; spec A.7 (forms of early writers), A.8. A node with unknown members is refused, unless they state
must_understand false; `lenient` opens it nevertheless.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from zarrscope.dialects import extensions as known
from zarrscope.dialects.defects import Defects, need_sound
from zarrscope.dialects.pipeline import as_json, form_of, from_v3
from zarrscope.dialects.protocol import Child, Detected, Dialect, Erasure, Node, NodeKind, StoredDocument
from zarrscope.dialects.reading import (
    Members,
    attributes_of,
    glance,
    load,
    odd_number,
    prefix_of,
    stays_inside,
    text_of,
    token,
    within,
)
from zarrscope.dialects.v3_parser import DocumentParser
from zarrscope.errors import BadMetadata, Refused, Unsupported
from zarrscope.jsondoc.parse import CONSOLIDATED_LIMIT, NODE_LIMIT, parse_json
from zarrscope.model.dtype import DataType, spell, to_json
from zarrscope.model.fill_value import V3 as FILL
from zarrscope.model.fill_value import fill_json
from zarrscope.model.frozen import frozen
from zarrscope.model.metadata import (
    ArrayMetadata,
    ChunkKeys,
    GroupMetadata,
)
from zarrscope.model.schema import SchemaFault
from zarrscope.model.storage import Entry
from zarrscope.runtime.memo import memoized
from zarrscope.runtime.tuning import ALIKE_BYTES, ALIKE_DOCUMENTS

DOCUMENT = "zarr.json"
_CONSOLIDATED = b"consolidated_metadata"
_KINDS = ["array", "group"]
_STATED = rb'"node_type"\s*:\s*"(array|group)"'
_CHUNK = r"c/?|[0-9]+(\.[0-9]+)*/?"
"""Matches names beneath an array: the folder "c" of its chunks, its only chunk "c", or chunk keys as in v2."""


@frozen
class V3(Dialect):
    """The dialect of Zarr v3: one zarr.json for each node."""

    lenient: bool = False
    """Whether null fill values and nodes that demand unknown extensions are accepted. If so, nothing may be written."""
    fallbacks: bool = True
    """Whether unknown data types are read as the fallback that their document offers. Documents offered one until
    2023."""

    name: ClassVar[str] = "v3"
    title: ClassVar[str] = "Zarr v3"
    ome_zarr: ClassVar[str] = "0.5"
    names_in: ClassVar[str | None] = None
    undefined_fill: ClassVar[bool] = False
    numcodecs: ClassVar[bool] = False

    # ------------------------------------------------------------------ at the root
    def recognize(self, documents: Mapping[str, bytes]) -> Detected | None:
        if DOCUMENT not in documents:
            return Detected(self)  # a subclass in another package may have other `signs` than zarr.json
        document = parse_json(documents[DOCUMENT], key=DOCUMENT, limit=CONSOLIDATED_LIMIT)
        if not isinstance(document, Mapping):
            raise BadMetadata(f"zarr.json must hold a JSON object, not {spell(document)}", pointer="")
        known.refuse_phase_3(document)
        if "zarr_format" not in document:
            raise BadMetadata(
                f"zarr.json has no zarr_format; it holds {', '.join([*document][:8]) or 'nothing'}",
                pointer="",
                advice="This is hardly the document of a Zarr hierarchy.",
            )
        form = document["zarr_format"]
        if (type(form) is int and form == 3) or odd_number(form, 3):
            return Detected(self)
        if isinstance(form, str):
            return None
        raise Unsupported(
            f"zarr_format {spell(form)} in zarr.json is not known to zarrscope",
            feature=f"zarr_format {spell(form)}",
            pointer="/zarr_format",
            advice="Zarr v3 has the number 3; the drafts before it an address at purl.org.",
        )

    def recognize_odd(self, documents: Mapping[str, bytes]) -> Detected | None:
        found = glance(documents, DOCUMENT)
        return Detected(self) if found.get("node_type") in _KINDS or looks_like_array(found) else None

    # ------------------------------------------------------------------ keys
    def documents(self, path: str, kind: NodeKind | None = None) -> tuple[str, ...]:
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

    def attributes_at(self, path: str, kind: NodeKind) -> tuple[str, str]:
        return prefix_of(path) + DOCUMENT, "/attributes"

    def erase(self, path: str, kind: NodeKind) -> Erasure:
        return Erasure(prefixes=(prefix_of(path),))

    def check_name(self, name: str) -> None:
        from zarrscope.dialects.writing import check_plain_name

        check_plain_name(name, self.title)
        if name.startswith("__") or name == DOCUMENT:
            raise Refused(f"{self.title} reserves the name {name!r}", advice="Choose another name.")

    # ------------------------------------------------------------------ reading
    def parse(self, path: str, documents: Mapping[str, StoredDocument]) -> Node | None:
        key = prefix_of(path) + DOCUMENT
        notes: list[str] = []
        source = documents.get(key)
        limit = CONSOLIDATED_LIMIT if isinstance(source, bytes) and _CONSOLIDATED in source else NODE_LIMIT
        members = load(documents, key, notes, limit=limit)
        if members is None:
            return None
        defects = Defects(key)
        defects.attempt(_check_format, members, notes)
        defects.attempt(known.refuse_phase_3, members.value)
        with within(key=key):
            kind = _kind(members, defects)
        attributes = defects.attributes(attributes_of, members)
        reading = DocumentParser(self, path, members, notes, defects)
        return Node(path, reading.array() if kind == "array" else reading.group(), attributes, tuple(notes))

    def stated_kind(self, path: str, documents: Mapping[str, StoredDocument]) -> NodeKind | None:
        source = documents.get(prefix_of(path) + DOCUMENT)
        if isinstance(source, bytes) and len(source) <= ALIKE_BYTES:
            return _stated_kind(source)
        kind = glance(documents, prefix_of(path) + DOCUMENT).get("node_type")
        return kind if kind == "array" or kind == "group" else None

    def guessed_kind(self, path: str, documents: Mapping[str, StoredDocument], beneath: Collection[str]) -> NodeKind:
        text = text_of(documents, prefix_of(path) + DOCUMENT)
        if b"consolidated_metadata" not in text:  # copies of other documents state kinds, too
            if (stated := re.search(_STATED, text)) is not None:
                return "array" if stated[1] == b"array" else "group"
            if b'"chunk_grid"' in text:
                return "array"
        if any(key.endswith("/" + DOCUMENT) for key in beneath):
            return "group"
        return "array" if any(re.fullmatch(_CHUNK, key) for key in beneath) else "group"

    def recognize_broken(self, documents: Mapping[str, bytes], beneath: Collection[str]) -> Detected | None:
        text = documents.get(DOCUMENT)
        if text is None:
            return None
        told = re.search(_STATED, text) or any(
            key.endswith("/" + DOCUMENT) or re.fullmatch(_CHUNK, key) for key in beneath
        )
        return Detected(self) if told else None

    def consolidated(self, documents: Mapping[str, StoredDocument]) -> dict[str, StoredDocument] | None:
        """The copies of documents in the member `consolidated_metadata` of kind "inline", by store key; None if there
        are none."""
        found: dict[str, StoredDocument] | None = None
        for key in documents:
            if key != DOCUMENT and not key.endswith("/" + DOCUMENT):
                continue
            source = documents[key]
            if isinstance(source, bytes) and b"consolidated_metadata" not in source and b"\\u" not in source:
                continue  # the text does not contain the member's name, so it need not be parsed
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

    def consolidated_location(self, key: str) -> tuple[str, str] | None:
        name = key.removesuffix("/" + DOCUMENT)  # the root's document holds the copies and is not copied
        return None if name == key else (DOCUMENT, "/consolidated_metadata/metadata" + token(name))

    def consolidate(self, texts: Mapping[str, str], root: bytes | None) -> dict[str, bytes]:
        from zarrscope.dialects.writing import consolidated_json

        inner = consolidated_json({key.removesuffix("/" + DOCUMENT): text for key, text in texts.items()})
        inline = f'{{\n    "kind": "inline",\n    "must_understand": false,\n    "metadata": {inner}\n  }}'
        from zarrscope.jsondoc.document import Document

        whole = Document(root or b"", DOCUMENT, limit=CONSOLIDATED_LIMIT).set_text("/consolidated_metadata", inline)
        return {DOCUMENT: whole.bytes}

    def faults(self, documents: Mapping[str, StoredDocument]) -> list[tuple[str, SchemaFault]]:
        from zarrscope.dialects.strict import document_faults

        found: list[tuple[str, SchemaFault]] = []
        for key in documents:
            members = load(documents, key, [], limit=CONSOLIDATED_LIMIT)
            if members is not None:
                found += [(key, fault) for fault in document_faults(members.value)]
        return found

    # ------------------------------------------------------------------ writing
    def write(
        self, path: str, metadata: ArrayMetadata | GroupMetadata, attributes: Mapping[str, Any]
    ) -> dict[str, bytes]:
        need_sound(metadata)
        form: dict[str, Any] = {"zarr_format": 3, "node_type": metadata.kind}
        if isinstance(metadata, ArrayMetadata):
            form |= _array_form(metadata)
            _need_no_fault(form)
        from zarrscope.dialects.writing import document

        return {prefix_of(path) + DOCUMENT: document({**form, "attributes": dict(attributes)})}


@memoized(ALIKE_DOCUMENTS)
def _stated_kind(source: bytes) -> NodeKind | None:
    kind = glance({DOCUMENT: source}, DOCUMENT).get("node_type")
    return kind if kind == "array" or kind == "group" else None


def _check_format(members: Members, notes: list[str]) -> None:
    found = members.need("zarr_format")
    if odd_number(found, 3):
        notes.append(f"zarr_format is written as {spell(found)}, and taken as 3")
    elif type(found) is not int or found != 3:
        raise BadMetadata(
            f"zarr_format is {spell(found)}, not 3",
            pointer="/zarr_format",
            advice="A newer zarrscope may read it; if the number is wrong, correct it."
            if type(found) is int and found > 3
            else "Open it as the format that it names, or correct the number.",
        )


def looks_like_array(document: Mapping[str, Any]) -> bool:
    """Whether a document has members that only arrays have, whatever its node_type says."""
    return "shape" in document and any(name in document for name in ("data_type", "chunk_grid", "codecs"))


def _kind(members: Members, defects: Defects) -> NodeKind:
    """The kind that node_type states. If its value is invalid or absent, "array" if the document has members of arrays;
    else an invalid value counts as "group", and BadMetadata is raised for an absent one.
    """
    kind = defects.attempt(members.choice, "node_type", "array", "group")
    if kind is not None:
        return "array" if kind == "array" else "group"
    if looks_like_array(members.value):
        return "array"
    if "node_type" not in members:
        members.need("node_type")
    return "group"


# ---------------------------------------------------------------------------------------------- writing
def _array_form(metadata: ArrayMetadata) -> dict[str, Any]:
    """The members of an array document. Codecs are always objects, not names alone, because zarr-python 3.0 reads no
    other form."""
    if metadata.transformers:
        raise Unsupported("Zarr v3 has no storage transformers", feature="storage transformer")
    dtype = metadata.dtype
    if dtype.name == "object" or '"subarray"' in dtype.configuration or _has_big_fields(dtype):
        raise Unsupported(
            f"Zarr v3 has no data type for {dtype}", feature=f"data type {dtype.name}", advice="Convert the values."
        )
    form: dict[str, Any] = {"shape": [*metadata.shape], "data_type": to_json(dtype)}
    form["chunk_grid"] = metadata.grid.to_json()
    form["chunk_key_encoding"] = _keys_form(metadata.keys)
    form["fill_value"] = fill_json(metadata.fill, dtype, FILL)
    plain = from_v3([form_of(spec) for spec in metadata.codecs], "/codecs", dtype, metadata.ndim)
    form["codecs"] = [as_json(spec, dtype.itemsize) for spec in plain]
    if metadata.dimension_names is not None:
        form["dimension_names"] = [*metadata.dimension_names]
    return form


def _need_no_fault(form: Mapping[str, Any]) -> None:
    """Raises Unsupported for a document that other readers may refuse (strict.py)."""
    from zarrscope.dialects.strict import document_faults

    for pointer, problem in document_faults(form):
        raise Unsupported(
            f"Other readers would refuse the document: {pointer or 'it'} {problem}",
            feature="a document that breaks its schema",
            pointer=pointer,
            advice="Choose other codecs or settings.",
        )


def _has_big_fields(dtype: DataType) -> bool:
    if dtype.name != "struct" or dtype.numpy is None:
        return False
    import json

    return ">" in json.dumps(dtype.numpy.descr, default=str)


def _keys_form(keys: ChunkKeys) -> dict[str, Any]:
    if keys.reverse or keys.stem not in ("", f"c{keys.separator}"):
        raise Unsupported("Zarr v3 has no chunk key encoding that gives these keys", feature="chunk key encoding")
    name = "default" if keys.stem else "v2"
    return {"name": name, "configuration": {"separator": keys.separator}}
