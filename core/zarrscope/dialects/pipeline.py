"""From the codecs of a dialect to the one canonical pipeline, and back: array→array*, one array→bytes, bytes→bytes*.

Canonical names are those of v3, or "numcodecs." and the identifier of v2 (codecs.CODECS holds what each one does; this
module only knows which kind each is). The byte order of v2 and the drafts becomes the `bytes` codec, their order "F" a
transpose by the full reversal (spec D.4), filters stand before, compressors after it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from zarrscope.dialects.reading import Members, token
from zarrscope.dtype import DataType, data_type, parse_typestr, spell
from zarrscope.errors import BadMetadata, Unsupported
from zarrscope.metadata import CodecSpec, Configuration

Json = Any
Kind = Literal["array→array", "array→bytes", "bytes→bytes"]
MAX_CODECS = 64
MAX_SHARD_DEPTH = 4


def _numcodecs(*names: str) -> set[str]:
    return {f"numcodecs.{name}" for name in names}


def _imagecodecs(names: str) -> set[str]:
    return {f"imagecodecs_{name}" for name in names.split()}


OBJECT_CODECS = {
    "vlen-utf8": "string",
    "vlen-bytes": "bytes",
    "numcodecs.vlen-array": "object",
    "numcodecs.json2": "object",
    "numcodecs.msgpack2": "object",
    "numcodecs.pickle": "object",
    "numcodecs.categorize": "string",
}
"""What the elements of v2's "|O" are, by the object codec among the filters."""

ARRAY_TO_ARRAY = (
    {"transpose", "bitround", "scale_offset", "cast_value", "reshape"}
    | _numcodecs("delta", "fixedscaleoffset", "quantize", "bitround", "packbits", "astype", "categorize")
    | _imagecodecs("bitorder cms delta quantize xor")
)
ARRAY_TO_BYTES = (
    {"bytes", "sharding_indexed", "packbits", "zfp", "n5_default", "n5_block"}
    | ({*OBJECT_CODECS} - {"numcodecs.categorize"})
    | _numcodecs("zfpy", "pcodec")
    | _imagecodecs("apng avif bmp dds exr gif heif htj2k jpeg jpeg2k jpegls jpegxl jpegxr jpegxs ljpeg png qoi spng")
    | _imagecodecs("tiff webp wic b2nd eer lerc pcodec sperr sz3 zfp bcn brunsli dicomrle jetraw mozjpeg pglz rgbe")
)
BYTES_TO_BYTES = (
    {"gzip", "zstd", "blosc", "crc32c", "conditional"}
    | _numcodecs("blosc", "bz2", "crc32", "crc32c", "adler32", "fletcher32", "jenkins_lookup3", "gzip")
    | _numcodecs("lz4", "lzma", "shuffle", "zlib", "zstd")
    | _imagecodecs("aec blosc blosc2 brotli bz2 deflate gzip isal lz4 lz4f lz4h5 lzf lzfse lzham lzma lzo lzw packbits")
    | _imagecodecs("snappy szip zlib zlibng zopfli zstd")
)
_CORE_IN_V2 = {"gzip": "gzip", "zstd": "zstd", "blosc": "blosc", "vlen-utf8": "vlen-utf8", "vlen-bytes": "vlen-bytes"}
_SHUFFLES = {0: "noshuffle", 1: "shuffle", 2: "bitshuffle"}


def kind_of(name: str) -> Kind | None:
    """The kind of a codec by its canonical name; None for names unknown here."""
    if name in ARRAY_TO_ARRAY:
        return "array→array"
    if name in ARRAY_TO_BYTES:
        return "array→bytes"
    return "bytes→bytes" if name in BYTES_TO_BYTES else None


def bytes_codec(dtype: DataType, endian: str | None) -> CodecSpec:
    """The `bytes` codec for a type. Structs get no byte order: each of their fields has its own."""
    ordered = dtype.itemsize > 1 and (dtype.numpy is None or dtype.numpy.kind not in "SV" or dtype.name == "bfloat16")
    return CodecSpec("bytes", Configuration({"endian": endian or "little"} if ordered else {}))


def reversal(ndim: int) -> tuple[CodecSpec, ...]:
    """Order "F": the full reversal of the axes; nothing where it changes nothing."""
    return () if ndim < 2 else (CodecSpec("transpose", Configuration({"order": [*range(ndim)][::-1]})),)


# ---------------------------------------------------------------------------------------------- numcodecs → canonical
def from_numcodecs(identifier: str, configuration: Mapping[str, Json], itemsize: int, spelled: str = "") -> CodecSpec:
    """A codec of numcodecs by its identifier, as v2 and the draft of 2020 name it. `itemsize` of what it is given."""
    settings = {name: value for name, value in configuration.items() if name != "id"}
    core = _CORE_IN_V2.get(identifier)
    if core is None:
        name = identifier if identifier.startswith("imagecodecs_") else f"numcodecs.{identifier}"
        return CodecSpec(name, Configuration(settings), spelled=spelled or identifier)
    if core == "blosc":
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
    elif core == "gzip":
        settings = {"level": settings.get("level", 1)}
    return CodecSpec(core, Configuration(settings), spelled=spelled or identifier)


def _output(spec: CodecSpec, dtype: DataType, endian: str | None) -> tuple[DataType, str | None]:
    """The type and byte order of what an array→array codec of numcodecs gives to the next codec."""
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
        return dtype, endian  # the codec itself will say what is wrong with its configuration


Named = tuple[str, Mapping[str, Json], str]
"""A codec of numcodecs: identifier, configuration, and how the document spells its name."""


def from_v2(
    dtype: DataType, endian: str | None, ndim: int, order: str, filters: Sequence[Named], compressors: Sequence[Named]
) -> tuple[DataType, tuple[CodecSpec, ...]]:
    """The canonical (data type, pipeline) of v2: order, then filters, then compressor.

    "|O" becomes the type that its object codec makes; without one, a type that is not supported.
    """
    if dtype.name == "object":
        made = [OBJECT_CODECS[name] for name in map(_canonical_name, filters) if name in OBJECT_CODECS]
        if not made:
            dtype = replace(dtype, numpy=None)
        elif made[0] != "object":
            dtype = data_type(made[0])
    out: list[CodecSpec] = [*(reversal(ndim) if order == "F" else ())]
    in_bytes = False
    stage, stage_endian = dtype, endian
    for named in (*filters, *compressors):
        kind = kind_of(_canonical_name(named))
        if not in_bytes and kind not in ("array→array", "array→bytes"):
            if not stage.variable:
                out.append(bytes_codec(stage, stage_endian))
            in_bytes = True
        spec = from_numcodecs(named[0], named[1], stage.itemsize, named[2])
        out.append(spec)
        if kind == "array→array":
            stage, stage_endian = _output(spec, stage, stage_endian)
        in_bytes = in_bytes or kind == "array→bytes"
    if not in_bytes and not stage.variable:
        out.append(bytes_codec(stage, stage_endian))
    return dtype, tuple(out)


def _canonical_name(named: Named) -> str:
    return from_numcodecs(named[0], {}, 1).name


# ---------------------------------------------------------------------------------------------- canonical → numcodecs
def to_v2(
    codecs: Sequence[CodecSpec], dtype: DataType, ndim: int, title: str
) -> tuple[str, str | None, list[dict[str, Json]], dict[str, Json] | None]:
    """(order, byte order, filters, compressor) that say the same. Raises Unsupported for what v2 cannot say."""
    rest = [*codecs]
    order, endian = "C", None
    if rest and rest[0].name == "transpose":
        if rest[0].configuration.get("order") != [*range(ndim)][::-1]:
            raise _cannot(title, rest[0], "only a full reversal of the axes can be written")
        order = "F"
        rest.pop(0)
    before: list[dict[str, Json]] = []
    after: list[dict[str, Json]] = []
    for i, spec in enumerate(rest):
        kind = kind_of(spec.name)
        if spec.name == "bytes":
            endian = _input_order(rest[:i]) or spec.configuration.get("endian")
        elif (
            kind == "array→bytes"
            and spec.name not in OBJECT_CODECS
            and not spec.name.startswith(("numcodecs.", "imagecodecs_"))
        ):
            raise _cannot(title, spec, "it has no codec of that kind")
        else:
            config = to_numcodecs(spec)
            if config is None:
                raise _cannot(title, spec, "numcodecs has no codec of that name")
            (before if kind == "array→array" or (not after and spec.name in OBJECT_CODECS) else after).append(config)
    if dtype.variable and not any(spec.name in OBJECT_CODECS for spec in rest):
        raise Unsupported(f"{title} needs an object codec such as vlen-utf8 for {dtype.name}", feature="object codec")
    compressor = after.pop() if after else None
    return order, endian, before + after, compressor


def _input_order(filters: Sequence[CodecSpec]) -> str | None:
    """The byte order that the first filter declares for what it is given."""
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


def to_numcodecs(spec: CodecSpec) -> dict[str, Json] | None:
    """The configuration of numcodecs with its id, or None where numcodecs has no such codec."""
    settings = dict(spec.configuration)
    if spec.name.startswith("numcodecs."):
        return {"id": spec.name.removeprefix("numcodecs."), **settings}
    if spec.name.startswith("imagecodecs_"):
        return {"id": spec.name, **settings}
    if spec.name == "blosc":
        numbers = {word: number for number, word in _SHUFFLES.items()}
        settings.pop("typesize", None)
        return {"id": "blosc", **settings, "shuffle": numbers.get(settings.get("shuffle", "shuffle"), 1)}
    if spec.name == "zstd" and not settings.get("checksum"):
        # tensorstore rejects the member in v2, where it came late and means no checksum when it is missing
        settings.pop("checksum", None)
    if spec.name in (*_CORE_IN_V2, "crc32c"):
        return {"id": spec.name, **settings}
    return None


# ---------------------------------------------------------------------------------------------- v3 lists
_RAW_NAME = r"[a-z0-9_.\-]+"
_URI_NAME = r"https?://[^/?#]+[^?#]*"


def is_name(name: str) -> bool:
    """Whether ZEP 9 lets an extension be called that: a raw name, or an http(s) URI without query and fragment."""
    return bool(re.fullmatch(_RAW_NAME, name) or re.fullmatch(_URI_NAME, name))


_PREFIXED = "Names with a prefix are of phase 3 of ZEP 9, which is not part of any released specification."


def extension(value: Json, pointer: str, what: str, *, ignorable: bool = True) -> CodecSpec:
    """A named extension: "name", or {name, configuration, must_understand} (v3.1 "Extension definition").

    Also {type: …} and configuration members beside the name, which early writers put there. Raises BadMetadata.
    """
    if isinstance(value, str):
        name: Json = value
        configuration: Json = {}
        must = True
    else:
        members = Members(value, pointer, what)
        member = "name" if "name" in members or "type" not in members else "type"
        name = members.need(member, str)
        configuration = members.get("configuration", dict, type(None)) or {}
        must = members.get("must_understand", bool, default=True)
        left = {key: members.value[key] for key in members.left()}
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
    value: Json, pointer: str, dtype: DataType | None, ndim: int, depth: int = 0, *, implicit: bool = False
) -> tuple[CodecSpec, ...]:
    """The codecs of a v3 document, short-hands written out, former names replaced, nested lists alike (spec A.7).

    `implicit`: a list without an array→bytes codec gets the little-endian `bytes` that was understood until July 2023.
    Codecs of unknown kind that must be understood are left for the codec floor to refuse.
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
            spec = replace(spec, configuration=bytes_codec(dtype, "little").configuration)  # left out by zarrita
        elif spec.name == "transpose" and spec.configuration.get("order") in ("C", "F"):
            axes = [*range(ndim)]
            order = axes if spec.configuration["order"] == "C" else axes[::-1]
            spec = replace(spec, configuration=Configuration({**spec.configuration, "order": order}))
        elif spec.name == "sharding_indexed":
            settings = _sharding(spec.configuration, here + "/configuration", dtype, ndim, depth)
            spec = CodecSpec(spec.name, settings, spec.must_understand, spec.spelled)
        if not is_name(spec.name) and spec.must_understand:
            raise BadMetadata(
                f"{spell(spec.name)} is no name that an extension may have: lower-case letters, digits, - _ . or a URI",
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


_INDEX_CODECS = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]


def _sharding(
    settings: Mapping[str, Json], pointer: str, dtype: DataType | None, ndim: int, depth: int
) -> Configuration:
    """sharding_indexed with its nested codecs written out.

    Without index_codecs the index is taken as zarr.js wrote it in 2023, with a checksum: of a plain one, which the text
    of that spring had, no store is known (2026-11; the rejected rival was the text, dialects.md A.7).
    """
    members = dict(settings)
    inner = from_v3(members.get("codecs", []), pointer + "/codecs", dtype, ndim, depth + 1, implicit=True)
    index = members.get("index_codecs", _INDEX_CODECS)
    outer = from_v3(index, pointer + "/index_codecs", None, ndim + 1, depth + 1)
    return Configuration(
        {**members, "codecs": [as_json(s) for s in inner], "index_codecs": [as_json(s) for s in outer]}
    )


def as_json(spec: CodecSpec) -> dict[str, Json]:
    """A codec as v3 documents write it, readable for every v3 reader: an object, with must_understand only if false."""
    form: dict[str, Json] = {"name": spec.name}
    if spec.configuration:
        form["configuration"] = dict(spec.configuration)
    if not spec.must_understand:
        form["must_understand"] = False
    return form
