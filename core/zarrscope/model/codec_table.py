"""The table of all codecs: their kinds, their names in v3, v2, the drafts and N5, and the members of their
configurations.

A new codec needs a row here, a class in the module that the row names, registered with `@codec(name)`, and an example
in tests/contracts/codec.py. Dialects read this table only; the codecs themselves are imported when an array is opened.
A codec of another package adds its row in its decorator, when its entry point is loaded.

Each row holds the members of the `configuration` in JSON Schema, and names those that a document must contain for other
readers. `completed` adds these, and `schema.member_faults` reports violations.

Sources: the v3 specification, the schemas of zarr-extensions, the signatures of numcodecs. zarr-python refuses a codec
of numcodecs without a `configuration`, so there it is required even where it is empty.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from zarrscope.errors import Unsupported
from zarrscope.model.frozen import frozen
from zarrscope.model.plugins import loaded
from zarrscope.model.schema import Schema, integer, one_of

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

CodecKind = Literal["array→array", "array→bytes", "bytes→bytes"]
Family = Literal["v3", "v2", "draft", "n5"]
ARRAY: CodecKind = "array→array"
SERIALIZER: CodecKind = "array→bytes"
BYTES: CodecKind = "bytes→bytes"


@frozen
class CodecRow:
    """A row of the table of codecs. `name` is canonical: the name in v3, or "numcodecs." and the identifier in
    numcodecs."""

    name: str
    kind: CodecKind
    module: str = ""
    """The module that registers the codec's class; "" if the row only describes another spelling, or a codec that
    zarrscope never decodes."""
    members: Mapping[str, Schema] | None = None
    """The schemas of the configuration's members; None: no schema is known, so anything is allowed."""
    required: tuple[str, ...] = ()
    """The members that a v3 document must state. If the caller gave none, the member's "default" is written."""
    configured: bool = False
    """Whether a document has a `configuration` even if it is empty."""
    former: tuple[tuple[str, str], ...] = ()
    """(former name, registered name) of members: both are read, the registered one is written."""
    v3: tuple[str, ...] = ()
    """Other names of the codec in existing v3 documents."""
    v2: tuple[str, ...] = ()
    """Names of the codec in v2 (numcodecs identifiers). All are read, the first one is written; likewise in `draft` and
    `n5`."""
    draft: tuple[str, ...] = ()
    """Names of the codec in the drafts of v3, without the URI in front of them. The parameters are those of v2."""
    n5: tuple[str, ...] = ()
    """The values of `type` in N5 that mean the codec."""
    object_type: str = ""
    """The data type that v2's "|O" stands for if this object codec is among the filters."""
    needs: tuple[str, ...] = ()
    """The import names of packages, one of which must be installed; empty if numpy and the standard library are
    enough."""
    package: str = ""
    """The package to install, if its name differs from the first of `needs`."""
    reads: bool = True
    writes: bool = True

    @property
    def installed(self) -> bool:
        """Whether one of the packages that can decode this codec is installed; finds that out without importing
        them."""
        return not self.needs or any(_is_there(each) for each in self.needs)

    def names(self, family: Family) -> tuple[str, ...]:
        """The names of the codec in v3, v2, the drafts or N5."""
        others: tuple[str, ...] = getattr(self, family)
        return (self.name, *others) if family == "v3" else others


_there: set[str] = set()
"""Names of installed packages. Missing packages are not remembered but searched for each time, because a user may
install one meanwhile."""


def _is_there(package: str) -> bool:
    if package in _there and sys.modules.get(package, package) is not None:
        return True
    from importlib.util import find_spec

    found = find_spec(package) is not None
    if found:
        _there.add(package)
    return found


def several(names: str | Iterable[str]) -> tuple[str, ...]:
    """One name, or several, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


_TEXT: Schema = {"type": "string", "minLength": 1}
_FLAG: Schema = {"type": "boolean"}
_NUMBER: Schema = {"type": "number"}
_LIST: Schema = {"type": "array"}
_SIGN_FREE = 2**31 - 1
_PLACE = one_of("start", "end")
_EFFORT = {"meanings": {-1: 6}}
"""In zlib, −1 stands for the default level, which is 6; no schema allows −1."""

_GZIP = {"level": integer(0, 9, default=5, **_EFFORT)}
_ZSTD = {"level": integer(-131072, 22, default=3), "checksum": {"type": "boolean", "default": False}}
_BLOSC = {
    "cname": one_of("lz4", "lz4hc", "blosclz", "snappy", "zlib", "zstd", default="lz4"),
    "clevel": integer(0, 9, default=5),
    "shuffle": one_of("noshuffle", "shuffle", "bitshuffle", default="shuffle"),
    "typesize": integer(1, _SIGN_FREE),
    "blocksize": integer(0, _SIGN_FREE, default=0),
}

CODECS: dict[str, CodecRow] = {}
"""Every codec by its canonical name, in the order in which tables show it."""
_NAMES: dict[tuple[Family, str], str] = {}
"""(format: v3, v2, draft or n5; the name of a codec in this format) → the codec's canonical name."""


def register(row: CodecRow) -> CodecRow:
    """Adds a row; it replaces a row of the same name."""
    CODECS[row.name] = row
    families: tuple[Family, ...] = ("v3", "v2", "draft", "n5")
    for family in families:
        for name in row.names(family):
            _NAMES.setdefault((family, name), row.name)
    return row


def _row(
    module: str, kind: CodecKind, name: str, members: Mapping[str, Schema], required: str = "", **more: Any
) -> None:
    for field in ("v3", "v2", "draft", "n5", "needs"):
        more[field] = several(more.get(field, ()))
    module = f"zarrscope.codecs.{module}" if module else ""
    register(CodecRow(name, kind, module, members, tuple(required.split()), **more))


def _numcodecs(
    module: str, kind: CodecKind, name: str, members: Mapping[str, Schema], required: str = "", **m: Any
) -> None:
    """Adds the row of a codec of numcodecs; `name` is its identifier in numcodecs."""
    _row(module, kind, f"numcodecs.{name}", members, required, configured=True, **{"v2": name, **m})


# ---------------------------------------------------------------------------------------------- v3 and its extensions
_row("array", SERIALIZER, "bytes", {"endian": one_of("little", "big")}, v3="endian", draft="endian")
_row(
    "array",
    ARRAY,
    "transpose",
    {"order": {"type": "array", "items": integer(0)}},
    "order",
    draft="transpose",
)
_row("array", ARRAY, "reshape", {"shape": _LIST}, "shape")
_row(
    "array",
    SERIALIZER,
    "vlen-utf8",
    {},
    v3="numcodecs.vlen-utf8",
    v2="vlen-utf8",
    needs="numcodecs",
    object_type="string",
)
_row(
    "array",
    SERIALIZER,
    "vlen-bytes",
    {},
    v3="numcodecs.vlen-bytes",
    v2="vlen-bytes",
    needs="numcodecs",
    object_type="bytes",
)
_row(
    "blosc",
    BYTES,
    "blosc",
    _BLOSC,
    "cname clevel shuffle typesize blocksize",
    v2="blosc",
    draft="blosc",
    n5="blosc",
    needs="numcodecs",
)
_row("compress", BYTES, "gzip", _GZIP, "level", v3="numcodecs.gzip", v2="gzip", draft="gzip", n5="gzip")
_row("compress", BYTES, "crc32c", {}, v3="numcodecs.crc32c", v2="crc32c")
_row(
    "sharding",
    SERIALIZER,
    "sharding_indexed",
    {
        "chunk_shape": {"type": "array", "items": integer(1)},
        "codecs": {**_LIST, "minItems": 1},
        "index_codecs": {**_LIST, "minItems": 1},
        "index_location": one_of("start", "end"),
    },
    "chunk_shape codecs index_codecs",
)
_row(
    "zstd",
    BYTES,
    "zstd",
    _ZSTD,
    "level checksum",
    v3="numcodecs.zstd",
    v2="zstd",
    draft="zstd",
    n5="zstd",
    needs=("numcodecs", "zstandard"),
)
_row("numeric", ARRAY, "bitround", {"keepbits": integer(0)}, "keepbits")
_row("numeric", ARRAY, "scale_offset", {"offset": {}, "scale": {}})
_row(
    "numeric",
    ARRAY,
    "cast_value",
    {
        "data_type": {"type": ["string", "object"]},
        "rounding": one_of("nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"),
        "out_of_range": one_of("clamp", "wrap"),
        "scalar_map": {"type": "object"},
    },
    "data_type",
)
_row(
    "packbits",
    SERIALIZER,
    "packbits",
    {
        "padding_encoding": one_of(
            "none", "start_byte", "end_byte", meanings={"first_byte": "start_byte", "last_byte": "end_byte"}
        ),
        "start_bit": {"type": ["integer", "null"], "minimum": 0},
        "end_bit": {"type": ["integer", "null"], "minimum": 0},
    },
    former=(("first_bit", "start_bit"), ("last_bit", "end_bit")),
)
_row(
    "floats",
    SERIALIZER,
    "zfp",
    {
        "mode": one_of("reversible", "expert", "fixed_accuracy", "fixed_rate", "fixed_precision"),
        "tolerance": _NUMBER,
        "rate": _NUMBER,
        "precision": integer(0),
        "minbits": integer(0),
        "maxbits": integer(0),
        "maxprec": integer(0),
        "minexp": integer(),
        "write_header": _FLAG,
    },
    "mode",
    needs="zfpy",
)
_row("n5", SERIALIZER, "n5_default", {"codecs": _LIST}, "codecs")
_row("n5", SERIALIZER, "n5_block", {"codecs": _LIST}, "codecs")
_row("n5", BYTES, "n5.lz4", {"blockSize": integer(1)}, n5="lz4", needs="numcodecs", writes=False)
_row("", BYTES, "conditional", {})

# ---------------------------------------------------------------------------------------------- numcodecs
_numcodecs(
    "blosc",
    BYTES,
    "blosc",
    {
        "cname": _BLOSC["cname"],
        "clevel": _BLOSC["clevel"],
        "shuffle": one_of(-1, 0, 1, 2, default=1),
        "blocksize": _BLOSC["blocksize"],
        "typesize": integer(1, _SIGN_FREE),
    },
    needs="numcodecs",
    v2=(),
)
_numcodecs("", BYTES, "gzip", {"level": integer(0, 9, default=1, **_EFFORT)}, v2=())
_numcodecs("", BYTES, "zstd", _ZSTD, v2=())
_numcodecs("", BYTES, "crc32c", {"location": _PLACE}, v2=())
_numcodecs("compress", BYTES, "zlib", {"level": integer(0, 9, default=1, **_EFFORT)}, draft="zlib")
_numcodecs("numcodecs_streams", BYTES, "bz2", {"level": integer(1, 9, default=1)}, draft="bz2", n5="bzip2")
_numcodecs(
    "numcodecs_streams",
    BYTES,
    "lzma",
    {
        "format": one_of(1, 2, 3, default=1),
        "check": integer(-1, 10, default=-1),
        "preset": {"type": ["integer", "null"], "minimum": 0},
        "filters": {"type": ["array", "null"]},
    },
    draft="lzma",
    n5="xz",
)
_numcodecs("numcodecs_streams", BYTES, "lz4", {"acceleration": integer(default=1)}, draft="lz4", needs="numcodecs")
# without `elementsize`, numcodecs assumes 4, and zarr-python 3 the size of the elements
_numcodecs("numcodecs_streams", BYTES, "shuffle", {"elementsize": integer(1, 1 << 20, default=4)}, "elementsize")
_numcodecs("numcodecs_streams", BYTES, "base64", {})
_numcodecs("numcodecs_streams", BYTES, "crc32", {"location": _PLACE})
_numcodecs("numcodecs_streams", BYTES, "adler32", {"location": _PLACE})
_numcodecs("numcodecs_streams", BYTES, "fletcher32", {}, needs="numcodecs")
_numcodecs(
    "numcodecs_streams", BYTES, "jenkins_lookup3", {"initval": integer(0, 2**32 - 1, default=0)}, needs="numcodecs"
)
_numcodecs("numeric", ARRAY, "delta", {"dtype": _TEXT, "astype": _TEXT}, "dtype")
_numcodecs(
    "numeric",
    ARRAY,
    "fixedscaleoffset",
    {
        "offset": {"type": "number", "default": 0},
        "scale": {"type": "number", "default": 1},
        "dtype": _TEXT,
        "astype": _TEXT,
    },
    "offset scale dtype",
)
_numcodecs(
    "numeric", ARRAY, "quantize", {"digits": integer(-400, 400), "dtype": _TEXT, "astype": _TEXT}, "digits dtype"
)
_numcodecs("numeric", ARRAY, "bitround", {"keepbits": integer(0, 128)}, "keepbits")
_numcodecs("numeric", ARRAY, "packbits", {})
_numcodecs("numeric", ARRAY, "astype", {"encode_dtype": _TEXT, "decode_dtype": _TEXT}, "encode_dtype decode_dtype")
_numcodecs(
    "numeric",
    ARRAY,
    "categorize",
    {"labels": {"type": "array", "items": {"type": "string"}}, "dtype": _TEXT, "astype": _TEXT},
    "labels dtype",
    object_type="string",
)
_numcodecs("objects", SERIALIZER, "vlen-array", {"dtype": _TEXT}, "dtype", needs="numcodecs", object_type="object")
_numcodecs(
    "objects",
    SERIALIZER,
    "json2",
    {
        "encoding": {"type": "string", "default": "utf-8"},
        **dict.fromkeys(("skipkeys", "ensure_ascii", "check_circular", "allow_nan", "sort_keys", "strict"), _FLAG),
        "indent": {"type": ["integer", "null"]},
        "separators": {"type": ["array", "null"]},
    },
    object_type="object",
)
_numcodecs(
    "objects",
    SERIALIZER,
    "msgpack2",
    {"use_single_float": _FLAG, "use_bin_type": _FLAG, "raw": _FLAG},
    needs="msgpack",
    object_type="object",
)
_numcodecs("objects", SERIALIZER, "pickle", {"protocol": integer()}, object_type="object", reads=False, writes=False)
_numcodecs(
    "floats",
    SERIALIZER,
    "zfpy",
    {
        "mode": integer(0, 5, default=4),
        "tolerance": _NUMBER,
        "rate": _NUMBER,
        "precision": _NUMBER,
        "compression_kwargs": {"type": ["object", "null"]},
    },
    needs="zfpy",
)
_numcodecs(
    "floats",
    SERIALIZER,
    "pcodec",
    {
        "level": integer(0, 12, default=8),
        "mode_spec": _TEXT,
        "delta_spec": _TEXT,
        "paging_spec": _TEXT,
        "delta_encoding_order": {"type": ["integer", "null"]},
        "equal_pages_up_to": integer(1),
    },
    v3="pcodec",
    needs="pcodec",
)

BUILT_IN = frozenset(CODECS)

_IMAGE_CODECS: dict[CodecKind, str] = {
    ARRAY: "bitorder cms delta quantize xor",
    SERIALIZER: "apng avif bmp dds exr gif heif htj2k jpeg jpeg2k jpegls jpegxl jpegxr jpegxs ljpeg png qoi spng tiff "
    "webp wic b2nd eer lerc pcodec sperr sz3 zfp bcn brunsli dicomrle jetraw mozjpeg pglz rgbe",
    BYTES: "aec blosc blosc2 brotli bz2 deflate gzip isal lz4 lz4f lz4h5 lzf lzfse lzham lzma lzo lzw packbits snappy "
    "szip zlib zlibng zopfli zstd",
}
_IMAGE_KINDS = {f"imagecodecs_{name}": kind for kind, names in _IMAGE_CODECS.items() for name in names.split()}
"""Name → kind of the codecs of the package imagecodecs. zarrscope only decodes them, and has no schemas for them."""


# ---------------------------------------------------------------------------------------------- looking one up
def codec_row(name: str) -> CodecRow | None:
    """The row of the codec with this canonical name, built in or from a plugin; None for an unknown name.

    Returns None for a plugin that cannot be loaded; codecs.registry.resolve gives the reason.
    """
    row = CODECS.get(name)
    if row is not None:
        return row
    try:
        made = loaded("codecs", name)
    except Unsupported:
        return None
    own = made.__dict__.get("name") if isinstance(made, type) else None
    if own in CODECS:  # the plugin's decorator added the row, perhaps under another name
        return CODECS[own]
    kind = getattr(made, "kind", None)
    return register(CodecRow(name, kind, v2=(name,))) if kind in (ARRAY, SERIALIZER, BYTES) else None


def kind_of(name: str) -> CodecKind | None:
    """The kind of the codec with this canonical name; None for an unknown name."""
    row = codec_row(name)
    return _IMAGE_KINDS.get(name) if row is None else row.kind


def codec_name(family: Family, identifier: str) -> str:
    """The canonical name of the codec that v3, v2, the drafts or N5 (`family`) call `identifier`.

    An unknown name stays as it is (with "numcodecs." before it in v2), so that messages can show it.
    """
    name = _NAMES.get((family, identifier))
    if name is None and identifier not in CODECS and codec_row(identifier) is not None:
        name = _NAMES.get((family, identifier))
    if name is not None:
        return name
    return f"numcodecs.{identifier}" if family == "v2" and not identifier.startswith("imagecodecs_") else identifier


def is_codec_name(family: Family, identifier: str) -> bool:
    """Whether v3, v2, the drafts or N5 (`family`) have a codec that they call `identifier`, built in or from a
    plugin."""
    if (family, identifier) not in _NAMES and identifier not in CODECS:
        codec_row(identifier)  # the decorator of a plugin adds its names
    return (family, identifier) in _NAMES


def written_names(family: Family) -> list[str]:
    """The names that v3, v2, the drafts or N5 (`family`) give the codecs which zarrscope can encode."""
    return [row.names(family)[0] for row in CODECS.values() if row.writes and row.names(family)]


def codec_id(family: Family, name: str) -> str | None:
    """The name of a codec in v3, v2, the drafts or N5 (`family`); None if that format has no such codec."""
    row = codec_row(name)
    names = row.names(family) if row is not None else ()
    return names[0] if names else None


# ---------------------------------------------------------------------------------------------- writing
def completed(name: str, configuration: Mapping[str, JSON], itemsize: int = 0) -> tuple[dict[str, JSON], bool]:
    """Returns (an equivalent configuration with all members that a document must have, whether the document needs a
    configuration).

    Members keep their order. Missing required members get the values that decoding and encoding assume. Members that
    are null are removed unless a schema allows null. `itemsize`: the size of the elements before a compressor, 0 if it
    is not known.
    """
    row = codec_row(name)
    if row is None or row.members is None:
        return dict(configuration), bool(configuration)
    made: dict[str, JSON] = {}
    former = dict(row.former)
    for member, value in configuration.items():
        member = former.get(member, member)
        schema = row.members.get(member, {})
        if value is None and "null" not in schema.get("type", ()):
            continue
        meanings = schema.get("meanings", {})
        made[member] = meanings.get(value, value) if type(value) in (int, str) else value
    for member in row.required:
        if member in made:
            continue
        schema = row.members[member]
        if "default" in schema:
            made[member] = schema["default"]
        elif member == "typesize":
            made[member] = max(1, itemsize)
    return made, bool(made) or row.configured
