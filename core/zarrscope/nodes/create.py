"""Makes the canonical metadata of new arrays from the caller's arguments, with defaults that suit images.

Defaults: decoded chunks of about 1 MiB, longest along the last axes; the codecs bytes and zstd at level 3; for strings
and byte strings of varying length vlen-utf8 and vlen-bytes instead of bytes. `shards` puts the chunks into
sharding_indexed shards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isinf, isnan, isqrt, prod
from operator import index
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import numpy as np

from zarrscope.dialects import Dialect
from zarrscope.dialects.pipeline import bytes_codec
from zarrscope.errors import Refused
from zarrscope.model.codec_table import kind_of
from zarrscope.model.dtype import DataType, Fill, is_small
from zarrscope.model.fill_value import undefined
from zarrscope.model.metadata import ArrayMetadata, CodecSpec, Configuration, RegularGrid
from zarrscope.model.typestr import from_numpy

if TYPE_CHECKING:
    import numpy.typing as npt

    from zarrscope.model.dtype import Element

CHUNK_BYTES = 1 << 20
PLANE_BYTES = 2 << 20
"""The most bytes of a chunk that is a part of one plane: 1024 x 1024 pixels of two bytes."""
FEW_BYTES = 1 << 18
"""A chunk of several whole planes holds as many planes as fit into this many bytes."""


CodecLike: TypeAlias = CodecSpec | Mapping[str, Any] | str
"""A codec as a caller may give it."""


class LayoutOptions(TypedDict, total=False):
    """The parameters of `create_array` that say how elements are stored, for functions that pass them on."""

    chunks: int | Sequence[int] | None
    shards: int | Sequence[int] | None
    codecs: CodecLike | Sequence[CodecLike] | None
    fill_value: object
    dimension_names: Sequence[str | None] | None
    attributes: Mapping[str, Any] | None
    separator: str | None
    overwrite: bool


class ArrayOptions(LayoutOptions, total=False):
    """All parameters of `create_array` that are given by name."""

    shape: int | Sequence[int] | None
    dtype: npt.DTypeLike | DataType
    data: npt.ArrayLike | None


LONGEST = (1 << 63) - 1
"""The longest axis: lengths are signed numbers of 64 bits."""


def as_lengths(name: str, given: int | Sequence[int], axes: int = 1) -> tuple[int, ...]:
    """The lengths along each axis from an argument; one number stands for the same length along all `axes`. Raises
    TypeError for other things than integers, Refused for numbers that are no length."""
    try:
        lengths = (index(given),) * axes if hasattr(given, "__index__") else tuple(map(index, given))
    except TypeError:
        raise TypeError(f"{name} must be a whole number, or one for each axis, not {given!r}") from None
    if any(not 0 <= n <= LONGEST for n in lengths):
        raise Refused(f"{name} {lengths} has a length that is not between 0 and 2**63 - 1")
    return lengths


def values_of(data: npt.ArrayLike | None, shape: object, dtype: object) -> npt.NDArray[Any] | None:
    """The values of a new array, from the arguments of `create_array`; None if it gets none. Raises ValueError unless
    either the values are given, or a shape and a data type."""
    if data is None:
        if shape is None or dtype is None:
            raise ValueError("a new array needs a shape and a dtype, or data")
        return None
    if shape is not None or dtype is not None:
        raise ValueError("data has a shape and a data type of its own: leave out shape and dtype")
    return np.asarray(data)


def need_fitting(
    path: str,
    has: tuple[int, ...],
    kind: np.dtype[Any],
    shape: int | Sequence[int],
    dtype: npt.DTypeLike,
    *,
    exact: bool,
) -> None:
    """Raises TypeError unless an array of shape `has` and data type `kind` fits what Group.require_array asks for."""
    if has != as_lengths("shape", shape):
        raise TypeError(f"{path} has the shape {has}, not {shape}")
    wanted = np.dtype(dtype)
    if kind != wanted if exact else not np.can_cast(kind, wanted):
        raise TypeError(f"{path} has the data type {kind}, not {wanted}")


def new_array(
    dialect: Dialect,
    path: str,
    *,
    shape: int | Sequence[int],
    dtype: npt.DTypeLike | DataType,
    chunks: int | Sequence[int] | None,
    shards: int | Sequence[int] | None,
    codecs: CodecLike | Sequence[CodecLike] | None,
    fill_value: object,
    dimension_names: Sequence[str | None] | None,
    separator: str | None,
) -> ArrayMetadata:
    """Metadata of a new array that `dialect` can write. Raises Refused (wrong shape), Unsupported (unknown type)."""
    shape = as_lengths("shape", shape)
    kind = from_numpy(dtype)
    if kind.numpy is not None and not kind.variable and not kind.itemsize:
        raise Refused(
            f"Elements of type {kind.name} would hold nothing: no length is stated",
            advice='State one ("S5", "U5", "V5"), or use "str" or "bytes", whose values may have any length.',
        )
    inner = as_lengths("chunks", chunks, len(shape)) if chunks is not None else ()
    if chunks is None:
        inner = guess_chunks(shape, kind.itemsize or 16, dimension_names)
    outer = as_lengths("shards", shards, len(shape)) if shards is not None else inner
    for name, given in (("chunks", inner), ("shards", outer)):
        if len(given) != len(shape) or any(n < 1 for n in given):
            raise Refused(f"{name} {given} do not fit the shape {shape}: one positive length per axis is needed")
    if dimension_names is not None and len(dimension_names) != len(shape):
        raise Refused(f"{len(dimension_names)} dimension names do not fit the {len(shape)} axes of shape {shape}")
    specs = default_codecs(kind)
    if codecs is not None:
        codecs = [codecs] if isinstance(codecs, CodecSpec | Mapping | str) else codecs
        specs = serialised([with_defaults(as_spec(codec), kind) for codec in codecs], kind)
    if shards is not None:
        if any(o % i for o, i in zip(outer, inner, strict=True)):
            raise Refused(f"Chunks {inner} do not divide shards {outer}: each length must be a multiple")
        specs = (sharding(inner, specs),)
    keys = dialect.chunk_keys(path, len(shape), separator)
    metadata = ArrayMetadata(
        shape=shape,
        dtype=kind,
        grid=RegularGrid(outer),
        keys=keys,
        codecs=specs,
        fill=as_fill(fill_value, kind),
        dialect=dialect.name,
        dimension_names=tuple(dimension_names) if dimension_names is not None else None,
    )
    return dialect.adapt(metadata)


def guess_chunks(shape: Sequence[int], itemsize: int, names: Sequence[str | None] | None = None) -> tuple[int, ...]:
    """Chunks for an array whose creator names none.

    If the last axes are named y and x, viewers read plane by plane: a chunk is a part of one plane, of at most
    PLANE_BYTES. Small planes are stacked along z, up to FEW_BYTES, because each chunk is one request or file. Other
    arrays get chunks of at most CHUNK_BYTES: the longest axis is halved, the first one among equals, until they fit.
    """
    chunks = [max(1, int(n)) for n in shape]
    axes = [str(name).lower() for name in names or ()]
    if axes[-2:] == ["y", "x"] and len(axes) == len(chunks):
        return _planes(chunks, axes, itemsize)
    while prod(chunks) * itemsize > CHUNK_BYTES and max(chunks, default=1) > 1:
        axis = chunks.index(max(chunks))
        chunks[axis] = -(-chunks[axis] // 2)
    return tuple(chunks)


def _planes(shape: Sequence[int], axes: Sequence[str], itemsize: int) -> tuple[int, ...]:
    side = 1 << (isqrt(PLANE_BYTES // itemsize).bit_length() - 1)  # a power of two
    chunks = [1] * (len(shape) - 2) + [min(n, side) for n in shape[-2:]]
    if "z" in axes[:-2]:
        z = axes.index("z")
        chunks[z] = max(1, min(shape[z], FEW_BYTES // (prod(chunks) * itemsize)))
    return tuple(chunks)


def as_spec(codec: CodecLike) -> CodecSpec:
    """The CodecSpec for a codec that the caller gives as a CodecSpec, {"name": …, "configuration": …}, or a name."""
    if isinstance(codec, CodecSpec):
        return codec
    if isinstance(codec, str):
        return CodecSpec(codec)
    if not isinstance(codec, Mapping):
        raise TypeError(f'a codec is a name, {{"name": …, "configuration": …}} or a CodecSpec, not {codec!r}')
    if "name" not in codec:
        raise Refused(
            f"A codec needs a name; this one has {', '.join(map(repr, codec)) or 'no members'}",
            advice='Write {"name": "blosc", "configuration": {…}}, as zarr.json does, also for v2.',
        )
    return CodecSpec(str(codec["name"]), Configuration(codec.get("configuration") or {}))


def serialised(specs: Sequence[CodecSpec], dtype: DataType) -> tuple[CodecSpec, ...]:
    """Adds an array→bytes codec if `specs` lack one, before the first codec that works on bytes."""
    kinds = [kind_of(spec.name) for spec in specs]
    if not {"array→bytes", None}.isdisjoint(kinds):
        return tuple(specs)
    at = kinds.index("bytes→bytes") if "bytes→bytes" in kinds else len(kinds)
    return (*specs[:at], default_codecs(dtype)[0], *specs[at:])


def with_defaults(spec: CodecSpec, dtype: DataType) -> CodecSpec:
    """Adds the settings that a document must state to a compressor that was given by its name alone."""
    itemsize = max(1, dtype.itemsize)
    known: dict[str, dict[str, Any]] = {
        "gzip": {"level": 5},
        "zstd": {"level": 3, "checksum": False},
        "blosc": {
            "cname": "zstd",
            "clevel": 5,
            "shuffle": "shuffle" if itemsize > 1 else "bitshuffle",
            "typesize": itemsize,
            "blocksize": 0,
        },
    }
    settings = known.get(spec.name)
    return CodecSpec(spec.name, Configuration({**settings, **spec.configuration})) if settings else spec


def default_codecs(dtype: DataType) -> tuple[CodecSpec, ...]:
    """The codecs of a new array for which the caller names none: zstd at level 3 without checksum, after the codec that
    makes bytes of the elements."""
    zstd = CodecSpec("zstd", Configuration({"level": 3, "checksum": False}))
    if dtype.name == "string":
        return CodecSpec("vlen-utf8"), zstd
    if dtype.name == "bytes":
        return CodecSpec("vlen-bytes"), zstd
    return bytes_codec(dtype, "little"), zstd


def sharding(chunks: Sequence[int], codecs: Sequence[CodecSpec]) -> CodecSpec:
    """The codec of shards whose inner chunks have the shape `chunks` and these codecs; the index is at the end, with a
    CRC-32C."""

    def form(spec: CodecSpec) -> dict[str, Any]:
        return (
            {"name": spec.name, "configuration": dict(spec.configuration)}
            if spec.configuration
            else {"name": spec.name}
        )

    return CodecSpec(
        "sharding_indexed",
        Configuration(
            {
                "chunk_shape": list(chunks),
                "codecs": [form(spec) for spec in codecs],
                "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
                "index_location": "end",
            }
        ),
    )


def as_fill(value: object, dtype: DataType) -> Fill:
    """The fill value with its exact bits. None gives an undefined fill value, which reads as zero, "" or False; `...`
    gives the default: NaT for times, as in zarr-python, else zero."""
    if value is ...:
        value = "NaT" if dtype.numpy is not None and dtype.numpy.kind in "mM" else 0
    if value is None:
        return undefined(dtype)
    if isinstance(value, Fill):
        return value
    if dtype.numpy is None:
        return Fill(value)
    if dtype.variable:
        empty = undefined(dtype).value
        if not isinstance(value, str | bytes) and value != 0:
            raise Refused(f"The fill value {value!r} does not fit the data type {dtype.name}: no text or bytes")
        return Fill(value if isinstance(value, str | bytes) else empty)
    if dtype.numpy.fields is not None and not isinstance(value, np.void | tuple):
        return replace(undefined(dtype), defined=True)
    if dtype.numpy.kind in "SUV" and type(value) is int and value == 0:
        return replace(undefined(dtype), defined=True)  # numpy would turn 0 into the text "0"
    try:
        if isinstance(value, str) and dtype.numpy.kind in "iufcb":
            raise ValueError("it is text, not a number")
        if dtype.numpy.kind in "iu" and isinstance(value, int):
            bounds = np.iinfo(dtype.numpy)
            if not bounds.min <= value <= bounds.max:  # numpy 1 would store another number, modulo 2**bits
                raise OverflowError(f"it is not between {bounds.min} and {bounds.max}")
        with np.errstate(over="ignore"):
            scalar = np.array(value, dtype.numpy)[()]
        if np.ndim(scalar):
            raise ValueError("one value is needed")
        if _small_differs(scalar, value) if is_small(dtype) else _differs(scalar, value):
            raise ValueError(f"{scalar} would be stored")
    except (ValueError, TypeError, OverflowError) as error:
        raise Refused(f"The fill value {value!r} does not fit the data type {dtype.name}: {error}") from None
    return Fill(scalar)


def _small_differs(scalar: Element, value: Element) -> bool:
    """Like `_differs`, for the types of ml_dtypes: their integers wrap around, and some floats lack 0, NaN or
    infinities."""
    found, wanted = float(scalar), float(value)
    if "int" in scalar.dtype.name:
        return found != wanted
    return isnan(found) != isnan(wanted) or (isinf(wanted) and found != wanted)


def _differs(scalar: Element, value: Element) -> bool:
    """Whether a fill value lost more than digits when it took its data type: a fraction, characters, its size."""
    kind = scalar.dtype.kind
    if kind in "biu":
        return bool(scalar != value)
    if kind in "fc":
        return bool(np.isfinite(value) and not np.isfinite(scalar))
    if kind not in "SU" or not isinstance(value, str | bytes):
        return False
    return len(scalar) < len(value.rstrip("\0") if isinstance(value, str) else value.rstrip(b"\0"))
