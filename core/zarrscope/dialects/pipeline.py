"""Converts the codecs of a dialect to a canonical list, and back. The list has any number of array→array codecs, one
array→bytes codec, and any number of bytes→bytes codecs.

Canonical names are those of v3, or "numcodecs." and the identifier of v2. model/codec_table.py holds the name of each
codec in v3, v2, the drafts and N5, its kind and the members of its configuration. The byte order of v2 and the drafts
becomes the codec `bytes`; their order "F" becomes a transpose that reverses all axes (spec D.4). Filters come before
`bytes`, compressors after it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from zarrscope.dialects.reading import Members, token
from zarrscope.errors import BadMetadata, Unsupported
from zarrscope.model.codec_table import Family, codec_id, codec_name, codec_row, completed, kind_of
from zarrscope.model.dtype import DataType, data_type, spell
from zarrscope.model.metadata import CodecSpec, Configuration, Origin
from zarrscope.model.typestr import parse_typestr
from zarrscope.runtime.named_tuple import NamedTuple

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

MAX_CODECS = 64
MAX_SHARD_DEPTH = 4

_SHUFFLES = {0: "noshuffle", 1: "shuffle", 2: "bitshuffle"}


def bytes_codec(dtype: DataType, endian: str | None) -> CodecSpec:
    """The `bytes` codec for a data type. It states no byte order for structs, because each field states its own."""
    ordered = dtype.itemsize > 1 and (not dtype.kind or dtype.kind not in "SV" or dtype.name == "bfloat16")
    return CodecSpec("bytes", Configuration({"endian": endian or "little"} if ordered else {}))


def reversal(ndim: int) -> tuple[CodecSpec, ...]:
    """The codecs for order "F": a transpose that reverses all axes, or none if there are fewer than two axes."""
    return () if ndim < 2 else (CodecSpec("transpose", Configuration({"order": [*range(ndim)][::-1]})),)


# ---------------------------------------------------------------------------------------------- numcodecs → canonical
def from_numcodecs(
    identifier: str, configuration: Mapping[str, JSON], itemsize: int, spelled: str = "", family: Family = "v2"
) -> CodecSpec:
    """The canonical codec for a configuration in the form of numcodecs, which v2, the drafts and N5 store.

    `itemsize` is the size of its input elements in bytes; `spelled` its name in the document, if that is not the
    identifier; `family` the format whose identifier it is.
    """
    settings = {name: value for name, value in configuration.items() if name != "id"}
    name = codec_name(family, identifier)
    if name == "blosc":
        shuffle = settings.get("shuffle", 1)
        if shuffle == -1:
            shuffle = 2 if itemsize == 1 else 1
        settings = {
            "cname": settings.get("cname", "lz4"),
            "clevel": settings.get("clevel", 5),
            "shuffle": _SHUFFLES.get(shuffle, shuffle) if type(shuffle) is int else shuffle,
            "typesize": max(1, itemsize),
            "blocksize": settings.get("blocksize", 0),
        }
    elif name == "gzip":
        settings = {"level": settings.get("level", 1)}
    return CodecSpec(name, Configuration(settings), spelled=spelled or identifier)


def _output(spec: CodecSpec, dtype: DataType, endian: str | None) -> tuple[DataType, str | None]:
    """The data type and byte order that an array→array codec of numcodecs passes to the next codec."""
    settings = spec.configuration
    if spec.name == "numcodecs.packbits":
        return data_type("uint8"), None
    member = "encode_dtype" if spec.name == "numcodecs.astype" else "astype"
    text = settings.get(member) or settings.get("dtype")
    if spec.name == "numcodecs.categorize":
        text = settings.get("astype", "u1")
    if not isinstance(text, str):
        return dtype, endian
    try:
        return parse_typestr(text if text[:1] in "<>|=" else "<" + text)
    except BadMetadata:
        return dtype, endian  # the constructor of the codec raises the error later


class NamedCodec(NamedTuple):
    """A codec in the form of numcodecs: its identifier, its configuration, its name as the document spells it, its
    position in the document, and the format whose identifier it is."""

    identifier: str
    configuration: Mapping[str, JSON]
    spelled: str
    origin: Origin
    family: Family = "v2"


def from_v2(
    dtype: DataType,
    endian: str | None,
    ndim: int,
    order: str,
    filters: Sequence[NamedCodec],
    compressors: Sequence[NamedCodec],
    *,
    dtype_at: str = "/dtype",
    order_at: str = "/order",
) -> tuple[DataType, tuple[CodecSpec, ...]]:
    """Converts the data type, order, filters and compressors of v2 to the canonical (data type, codecs). `dtype_at` and
    `order_at` are the JSON pointers of type and order in the document.

    The type "|O" becomes the type of the values that its object codec stores; without an object codec it becomes an
    unsupported type.
    """
    if dtype.name == "object":
        made = [made for made in map(_object_type, map(_canonical_name, filters)) if made]
        if not made:
            dtype = replace(dtype, code=None)
        elif made[0] != "object":
            dtype = data_type(made[0])
    out = list(with_origin(order_at, *(reversal(ndim) if order == "F" else ())))
    in_bytes = False
    stage, stage_endian = dtype, endian
    for named in (*filters, *compressors):
        kind = kind_of(_canonical_name(named))
        if not in_bytes and kind not in ("array→array", "array→bytes"):
            if not stage.variable:
                out += with_origin(dtype_at, bytes_codec(stage, stage_endian))
            in_bytes = True
        spec = from_numcodecs(named.identifier, named.configuration, stage.itemsize, named.spelled, named.family)
        spec = replace(spec, origin=named.origin)
        out.append(spec)
        if kind == "array→array":
            stage, stage_endian = _output(spec, stage, stage_endian)
        in_bytes = in_bytes or kind == "array→bytes"
    if not in_bytes and not stage.variable:
        out += with_origin(dtype_at, bytes_codec(stage, stage_endian))
    return dtype, tuple(out)


def with_origin(place: str, *codecs: CodecSpec) -> tuple[CodecSpec, ...]:
    """Copies of `codecs` whose origin, and that of their settings, is the member of the document at `place`, a JSON
    pointer."""
    return tuple(
        replace(spec, origin=Origin(place, place, tuple((name, place) for name in spec.configuration)))
        for spec in codecs
    )


def _canonical_name(named: NamedCodec) -> str:
    return codec_name(named.family, named.identifier)


def _object_type(name: str) -> str:
    """The data type of the values that the object codec with this name stores for v2's type "|O"; "" if `name` is not
    the name of an object codec."""
    row = codec_row(name)
    return "" if row is None else row.object_type


# ---------------------------------------------------------------------------------------------- canonical → numcodecs
def to_v2(
    codecs: Sequence[CodecSpec],
    dtype: DataType,
    ndim: int,
    title: str,
    *,
    filters: Family = "v2",
    compressor: Family = "v2",
) -> tuple[str, str | None, list[dict[str, JSON]], dict[str, JSON] | None]:
    """Translates codecs to v2: returns (order, byte order, filters, compressor).

    `filters` and `compressor` say by the names of which format they are stored; a codec without a name there keeps that
    of v2. Raises Unsupported for a codec that v2 does not have either.
    """
    rest = [*codecs]
    order, endian = "C", None
    if rest and rest[0].name == "transpose":
        if rest[0].configuration.get("order") != [*range(ndim)][::-1]:
            raise _cannot(title, rest[0], "only a full reversal of the axes can be written")
        order = "F"
        rest.pop(0)
    before: list[CodecSpec] = []
    after: list[CodecSpec] = []
    for i, spec in enumerate(rest):
        kind = kind_of(spec.name)
        if spec.name == "bytes":
            endian = _input_order(rest[:i]) or spec.configuration.get("endian")
        elif (
            kind == "array→bytes"
            and codec_id(compressor, spec.name) is None
            and codec_id("v2", spec.name) is None
            and not spec.name.startswith(("numcodecs.", "imagecodecs_"))
        ):
            raise _cannot(title, spec, "it has no codec of that kind")
        else:
            (before if kind == "array→array" or (not after and _object_type(spec.name)) else after).append(spec)
    if dtype.variable and not any(_object_type(spec.name) for spec in rest):
        raise Unsupported(f"{title} needs an object codec such as vlen-utf8 for {dtype.name}", feature="object codec")
    last = _stored(after.pop(), title, compressor) if after else None
    return order, endian, [_stored(spec, title, filters) for spec in before + after], last


def _stored(spec: CodecSpec, title: str, family: Family) -> dict[str, JSON]:
    config = to_numcodecs(spec, family)
    if config is None:
        raise _cannot(title, spec, "numcodecs has no codec of that name")
    return config


def _input_order(filters: Sequence[CodecSpec]) -> str | None:
    """The byte order that the first filter declares for its input."""
    for spec in filters:
        text = spec.configuration.get("dtype", spec.configuration.get("decode_dtype"))
        if isinstance(text, str):
            return "big" if text.startswith(">") else "little"
    return None


def _cannot(title: str, spec: CodecSpec, why: str) -> Unsupported:
    return Unsupported(
        f"{title} cannot express the codec {spec.name}: {why}",
        feature=f"codec {spec.name} in {title}",
        advice="Choose other codecs, or write Zarr v3.",
    )


def to_numcodecs(spec: CodecSpec, family: Family = "v2") -> dict[str, JSON] | None:
    """The codec as v2 documents store it: the configuration for numcodecs with its `id`; None if numcodecs does not
    have the codec. Another `family` replaces the `id` if it has a name for the codec."""
    settings = completed(spec.name, spec.configuration)[0]
    identifier = codec_id(family, spec.name) or codec_id("v2", spec.name)
    if identifier is None and spec.name.startswith(("numcodecs.", "imagecodecs_")):
        identifier = spec.name.removeprefix("numcodecs.")
    if identifier is None:
        return None
    if spec.name == "blosc":
        numbers = {word: number for number, word in _SHUFFLES.items()}
        settings.pop("typesize", None)
        return {"id": identifier, **settings, "shuffle": numbers.get(settings.get("shuffle", "shuffle"), 1)}
    if spec.name == "zstd" and not settings.get("checksum"):
        # a false `checksum` is left out: false is the default, and tensorstore rejects the member in v2
        settings.pop("checksum", None)
    return {"id": identifier, **settings}


# ---------------------------------------------------------------------------------------------- v3 lists
_RAW_NAME = r"[a-z0-9_.\-]+"
_URI_NAME = r"https?://[^/?#]+[^?#]*"


def is_name(name: str) -> bool:
    """Whether ZEP 9 allows `name` for an extension: lower-case letters, digits and _ . -, or an http(s) URI without
    query and fragment."""
    return bool(re.fullmatch(_RAW_NAME, name) or re.fullmatch(_URI_NAME, name))


_PREFIXED = "Names with a prefix are of phase 3 of ZEP 9, which is not part of any released specification."


def extension(value: JSON, pointer: str, what: str, *, ignorable: bool = True) -> CodecSpec:
    """Parses a named extension, such as a codec: "name", or {name, configuration, must_understand} (v3.1 "Extension
    definition"). Raises BadMetadata.

    Early writers wrote `type` for `name`, and the settings beside it without `configuration`: both are accepted.
    `what`: the type of extension, for messages. `ignorable`: whether must_understand may be false.
    """
    if isinstance(value, str):
        name: JSON = value
        configuration: JSON = {}
        must = True
    else:
        members = Members(value, pointer, what)
        member = "name" if "name" in members or "type" not in members else "type"
        name = members.need(member, str)
        configuration = members.get("configuration", dict, type(None)) or {}
        must = members.get("must_understand", bool, default=True)
        left = {key: members.value[key] for key in members.unread()}
        if left and not configuration:
            configuration = left
    if not name:
        raise BadMetadata(f"The {what} has an empty name", pointer=pointer)
    if not must and not ignorable:
        raise BadMetadata(
            f"The {what} {name!r} says must_understand false, but an array cannot be read without its {what}",
            pointer=pointer + "/must_understand",
            advice="Remove must_understand.",
        )
    return CodecSpec(name, Configuration(configuration), must, spelled=name)


def from_v3(
    value: JSON, pointer: str, dtype: DataType | None, ndim: int, depth: int = 0, *, implicit: bool = False
) -> tuple[CodecSpec, ...]:
    """Parses the codecs of a v3 document, at any nesting. Short forms are expanded, former names replaced (spec A.7).

    `implicit`: a list without an array→bytes codec gets the little-endian `bytes` that was implied until July 2023.
    Unknown codecs are kept; if they must be understood, the package `codecs` refuses them later.
    """
    if not isinstance(value, list):
        raise BadMetadata(f"codecs must be a list, not {spell(value)}", pointer=pointer)
    if len(value) > MAX_CODECS:
        raise BadMetadata(f"{len(value)} codecs are more than zarrscope allows ({MAX_CODECS})", pointer=pointer)
    if depth > MAX_SHARD_DEPTH:
        raise BadMetadata(f"Shards nest deeper than {MAX_SHARD_DEPTH} levels", pointer=pointer)
    out: list[CodecSpec] = []
    for i, item in enumerate(value):
        here = pointer + token(i)
        spec = extension(item, here, "codec")
        if spec.name == "endian":
            spec = CodecSpec("bytes", spec.configuration, spec.must_understand, spec.spelled)
        if spec.name == "bytes" and dtype is not None and "endian" not in spec.configuration:
            spec = replace(spec, configuration=bytes_codec(dtype, "little").configuration)  # zarrita left `endian` out
        elif spec.name == "transpose" and spec.configuration.get("order") in ("C", "F"):
            axes = [*range(ndim)]
            order = axes if spec.configuration["order"] == "C" else axes[::-1]
            spec = replace(spec, configuration=Configuration({**spec.configuration, "order": order}))
        elif spec.name == "sharding_indexed":
            settings = _sharding(spec.configuration, here + "/configuration", dtype, ndim, depth)
            spec = CodecSpec(spec.name, settings, spec.must_understand, spec.spelled)
        if not is_name(spec.name) and spec.must_understand:
            raise BadMetadata(
                f"{spell(spec.name)} is not a valid name of an extension: lower-case letters, digits, - _ . or a URI",
                pointer=here if isinstance(item, str) else here + "/name",
                advice=_PREFIXED if ":" in spec.name and "://" not in spec.name else None,
            )
        out.append(spec)
    kinds = [kind_of(spec.name) for spec in out]
    if implicit and "array→bytes" not in kinds and None not in kinds and dtype is not None:
        at = max((i + 1 for i, kind in enumerate(kinds) if kind == "array→array"), default=0)
        if not any(kind == "bytes→bytes" for kind in kinds[:at]):
            out.insert(at, bytes_codec(dtype, "little"))
    return tuple(out)


_INDEX_TYPE = data_type("uint64")
_INDEX_CODECS = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]


def _sharding(
    settings: Mapping[str, JSON], pointer: str, dtype: DataType | None, ndim: int, depth: int
) -> Configuration:
    """The configuration of sharding_indexed with its nested codecs expanded.

    If index_codecs is absent, the index is read as one with a checksum, which zarr.js wrote in 2023. The specification
    of spring 2023 implied an index without checksum, but no such store is known (2026-11; spec A.7).
    """
    members = dict(settings)
    inner = from_v3(members.get("codecs", []), pointer + "/codecs", dtype, ndim, depth + 1, implicit=True)
    index = members.get("index_codecs", _INDEX_CODECS)
    outer = from_v3(index, pointer + "/index_codecs", _INDEX_TYPE, ndim + 1, depth + 1)
    return Configuration(
        {**members, "codecs": [form_of(s) for s in inner], "index_codecs": [form_of(s) for s in outer]}
    )


def form_of(spec: CodecSpec) -> dict[str, JSON]:
    """The codec as a JSON object that has no more settings than its document states."""
    form: dict[str, JSON] = {"name": spec.name}
    if spec.configuration:
        form["configuration"] = dict(spec.configuration)
    if not spec.must_understand:
        form["must_understand"] = False
    return form


def as_json(spec: CodecSpec, itemsize: int = 0) -> dict[str, JSON]:
    """The codec as a v3 document stores it so that every v3 reader accepts it: a JSON object, which has must_understand
    only if that is false.

    Its configuration holds the members that model/codec_table.py requires; `itemsize` is the size of the elements in
    bytes, 0 if unknown.
    """
    form: dict[str, JSON] = {"name": spec.name}
    settings, needed = completed(spec.name, spec.configuration, itemsize)
    for member in ("codecs", "index_codecs"):
        if isinstance(settings.get(member), list | tuple):
            inner = itemsize if member == "codecs" else 8
            settings[member] = [as_json(_nested(item), inner) for item in settings[member]]
    if needed:
        form["configuration"] = settings
    if not spec.must_understand:
        form["must_understand"] = False
    return form


def _nested(item: JSON) -> CodecSpec:
    """The CodecSpec of a codec nested in another codec's configuration: from a CodecSpec, a name or a JSON object."""
    if isinstance(item, CodecSpec):
        return item
    if isinstance(item, str):
        return CodecSpec(item)
    return CodecSpec(item["name"], Configuration(item.get("configuration") or {}), item.get("must_understand", True))
