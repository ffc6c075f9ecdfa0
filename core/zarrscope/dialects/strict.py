"""Finds violations of the registered schemas in a v3 document. zarrscope reads a node with such violations; other
readers may refuse it.

Reading (v3.py) accepts more than the schemas. These checks run before zarrscope replaces a document that other readers
can read, on every document that it writes, and in the package `check`. They ignore extensions whose names
model/codec_table.py does not contain; the reports in ArrayMetadata say how unknown extensions are handled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zarrscope.dialects.extensions import CHUNK_GRIDS
from zarrscope.dialects.reading import token
from zarrscope.errors import ZarrscopeError
from zarrscope.errors.visible import counted
from zarrscope.model.codec_table import codec_row
from zarrscope.model.dtype import DATA_TYPES, data_type
from zarrscope.model.fill_value import V3 as FILL
from zarrscope.model.fill_value import parse_fill
from zarrscope.model.json_value import JSON
from zarrscope.model.schema import Schema, SchemaFault, faults, member_faults, one_of

_CHUNK_KEY_ENCODINGS: dict[str, tuple[Mapping[str, Schema], tuple[str, ...]]] = {
    "default": ({"separator": one_of("/", ".")}, ()),
    "v2": ({"separator": one_of("/", ".")}, ()),
}

_GRIDS = {name: (row.members, tuple(row.members)) for name, row in CHUNK_GRIDS.items()}
"""Name of a chunk grid → (the members of its configuration, the names of the required ones: all)."""

_ARRAY = ("shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs")
_OPTIONAL = ("attributes", "dimension_names", "storage_transformers", "extensions", "consolidated_metadata")
_MAX_DEPTH = 8


def document_faults(document: Mapping[str, JSON]) -> Iterator[SchemaFault]:
    """The violations of the schemas in one zarr.json, as (JSON pointer, problem)."""
    array = document.get("node_type") == "array"
    yield from faults(document.get("zarr_format"), {"enum": [3]}, "/zarr_format")
    yield from faults(document.get("node_type"), {"enum": ["array", "group"]}, "/node_type")
    yield from faults(document.get("attributes", {}), {"type": "object"}, "/attributes")
    known = {"zarr_format", "node_type", *_OPTIONAL, *(_ARRAY if array else ())}
    for name, value in document.items():
        if name not in known and not (isinstance(value, Mapping) and value.get("must_understand") is False):
            yield token(name), "is not a member of the specification, and does not say must_understand false"
    if array:
        yield from _array_faults(document)


def _array_faults(document: Mapping[str, JSON]) -> Iterator[SchemaFault]:
    missing = [name for name in _ARRAY if name not in document]
    for name in missing:
        yield "", f'lacks the member "{name}"'
    shape = document.get("shape", [])
    wrong = list(faults(shape, {"type": "array", "items": {"type": "integer", "minimum": 0}}, "/shape"))
    yield from wrong
    ndim = len(shape) if not wrong else None
    if "data_type" not in missing:
        wrong = list(_data_type_faults(document["data_type"], "/data_type"))
        yield from wrong
        if not wrong and "fill_value" not in missing:
            yield from _fill_faults(document["fill_value"], document["data_type"])
    if "chunk_grid" not in missing:
        yield from _grid_faults(document["chunk_grid"], ndim)
    if "chunk_key_encoding" not in missing:
        yield from _extension_faults(document["chunk_key_encoding"], "/chunk_key_encoding", _CHUNK_KEY_ENCODINGS)
    if "codecs" not in missing:
        yield from codec_faults(document["codecs"], "/codecs", ndim, _wide(document.get("data_type")))
    names = document.get("dimension_names")
    if names is not None:
        wrong = list(faults(names, {"type": "array", "items": {"type": ["string", "null"]}}, "/dimension_names"))
        yield from wrong
        if not wrong and ndim is not None and len(names) != ndim:
            yield "/dimension_names", f"must have {counted(ndim, 'entry', 'entries')}, one per axis"
    yield from faults(document.get("storage_transformers", []), {"type": "array"}, "/storage_transformers")


# ---------------------------------------------------------------------------------------------- extension points
def _named(value: JSON, pointer: str, what: str) -> Iterator[SchemaFault]:
    """The faults in the form of `value`, an extension such as a codec: it must be a name or an object with a name."""
    if isinstance(value, str):
        return
    if not isinstance(value, Mapping):
        yield pointer, f"must be the name of a {what}, or an object with one"
        return
    if not isinstance(value.get("name"), str):
        yield pointer, 'lacks the member "name"'
    yield from faults(value.get("configuration", {}), {"type": "object"}, pointer + "/configuration")
    for name in value:
        if name not in ("name", "configuration", "must_understand"):
            yield pointer + token(name), "is not an allowed member"


def _parts(value: JSON) -> tuple[str, Mapping[str, JSON]]:
    return (value, {}) if isinstance(value, str) else (value["name"], value.get("configuration", {}))


def _extension_faults(
    value: JSON, pointer: str, table: Mapping[str, tuple[Mapping[str, Any], tuple[str, ...]]]
) -> Iterator[SchemaFault]:
    wrong = list(_named(value, pointer, "extension"))
    yield from wrong
    if wrong:
        return
    name, configuration = _parts(value)
    if name in table:
        members, required = table[name]
        at = pointer + "/configuration" if configuration else pointer
        yield from member_faults(configuration, members, required, at)


def _grid_faults(value: JSON, ndim: int | None) -> Iterator[SchemaFault]:
    wrong = list(_extension_faults(value, "/chunk_grid", _GRIDS))
    yield from wrong
    if wrong or ndim is None:
        return
    name, configuration = _parts(value)
    row = CHUNK_GRIDS.get(name)
    if row is not None and len(configuration[row.per_axis]) != ndim:
        yield (
            f"/chunk_grid/configuration/{row.per_axis}",
            f"must have {counted(ndim, 'entry', 'entries')}, one per axis",
        )


def _data_type_faults(value: JSON, pointer: str, depth: int = 0) -> Iterator[SchemaFault]:
    wrong = list(_named(value, pointer, "data type")) if depth <= _MAX_DEPTH else [(pointer, "nests too deep")]
    yield from wrong
    if wrong:
        return
    name, configuration = _parts(value)
    at = pointer + "/configuration" if configuration else pointer
    row = DATA_TYPES.get(name)
    if row is not None and row.members is not None:
        wrong = list(member_faults(configuration, row.members, row.required, at))
    yield from wrong
    try:
        data_type(value)
    except ZarrscopeError as error:
        if not wrong:
            yield pointer + (error.pointer or ""), error.message
        return
    if name == "struct" and not wrong:
        for i, field in enumerate(configuration["fields"]):
            here = f"{at}/fields/{i}"
            wrong = list(faults(field, {"type": "object"}, here))
            yield from wrong
            if not wrong:
                yield from _data_type_faults(field["data_type"], here + "/data_type", depth + 1)


def _fill_faults(value: JSON, named: JSON) -> Iterator[SchemaFault]:
    dtype = data_type(named)
    if dtype.name == "bool" and type(value) is not bool:
        yield "/fill_value", "must be true or false"
        return
    if dtype.name == "string" and not isinstance(value, str):
        yield "/fill_value", "must be text"
        return
    try:
        parse_fill(value, dtype, FILL)
    except ZarrscopeError as error:
        yield "/fill_value" + (error.pointer or ""), error.message


def _wide(named: JSON) -> bool:
    """Whether elements of the data type `named` have a byte order, because they are larger than one byte."""
    from zarrscope.dialects.pipeline import bytes_codec

    try:
        return bool(bytes_codec(data_type(named), "little").configuration)
    except ZarrscopeError:
        return False


def codec_faults(value: JSON, pointer: str, ndim: int | None, wide: bool, depth: int = 0) -> Iterator[SchemaFault]:
    """The faults of a list of codecs. `wide`: whether the elements that the codecs encode have a byte order."""
    wrong = list(faults(value, {"type": "array", "minItems": 1}, pointer))
    yield from wrong
    if wrong or depth > _MAX_DEPTH:
        return
    kinds: list[str | None] = []
    for i, item in enumerate(value):
        here = f"{pointer}/{i}"
        wrong = list(_named(item, here, "codec"))
        yield from wrong
        if wrong:
            kinds.append(None)
            continue
        name, configuration = _parts(item)
        row = codec_row(name)
        kinds.append(row.kind if row is not None else None)
        if row is None:
            if name == "endian":
                yield here, 'is called "bytes" since July 2023'
            continue
        there = isinstance(item, Mapping) and "configuration" in item
        if row.configured and not there:
            yield here, 'lacks the member "configuration", without which zarr-python refuses it'
        at = here + "/configuration" if there else here
        if row.members is not None:
            yield from member_faults(configuration, row.members, row.required, at)
        if name == "bytes" and wide and "endian" not in configuration and set(kinds[:-1]) <= {"array→array"}:
            yield at, 'lacks the member "endian", which elements of several bytes need'
        if name == "sharding_indexed":
            shape = configuration.get("chunk_shape")
            if ndim is not None and isinstance(shape, list) and len(shape) != ndim:
                yield at + "/chunk_shape", f"must have {counted(ndim, 'entry', 'entries')}, one per axis"
            if isinstance(configuration.get("codecs"), list):
                yield from codec_faults(configuration["codecs"], at + "/codecs", ndim, wide, depth + 1)
            if isinstance(configuration.get("index_codecs"), list):
                yield from codec_faults(configuration["index_codecs"], at + "/index_codecs", None, True, depth + 1)
    if None not in kinds:
        if kinds.count("array→bytes") != 1:
            yield (
                pointer,
                f"must have exactly one codec that makes bytes of elements, and has {kinds.count('array→bytes')}",
            )
        elif kinds != sorted(kinds, key=("array→array", "array→bytes", "bytes→bytes").index):
            yield pointer, "must have codecs of elements first, then the one that makes bytes, then codecs of bytes"
