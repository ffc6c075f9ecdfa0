"""The three kinds of codec, their input and output types, and the registration of a codec class by name.

A codec is made for one place in one array's list of codecs: `Codec(settings, decoded)` checks its configuration against
the representation that it decodes to and computes, without data, the representation that it encodes to (`encoded`; v3
core "compute_encoded_representation_type"). After that it is immutable, so one object serves any number of threads.

Errors: making a codec raises BadMetadata or Unsupported, with a pointer relative to the codec's own JSON object
("/configuration/level"). Decoding raises BadChunk and no other exception, and never takes more memory than `decoded`
allows (spec F.3).

Kinds and names per dialect (spec A.13, C.1) are listed in model/codec_table.py; a codec of another package gives its
own in the decorator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from zarrscope.codecs.settings import CodecSettings
from zarrscope.errors import BadChunk, Unsupported
from zarrscope.model import codec_table
from zarrscope.model.buffers import Arena, RangeReadable
from zarrscope.model.dtype import DataType, Fill
from zarrscope.model.frozen import frozen
from zarrscope.model.schema import Schema
from zarrscope.model.storage import Buffer as Buffer
from zarrscope.model.typestr import from_numpy

if TYPE_CHECKING:
    import numpy.typing as npt

Elements: TypeAlias = "npt.NDArray[Any]"
Octets: TypeAlias = "npt.NDArray[np.uint8]"
"""A contiguous 1-D array of bytes to decode into."""


@frozen
class ArraySpec:
    """Describes decoded elements: their `shape` (in C order), their `dtype`, and the fill value in that dtype."""

    shape: tuple[int, ...]
    dtype: DataType
    fill: Fill

    @property
    def count(self) -> int:
        """The number of elements; 1 for an array without axes."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int | None:
        """The size of all elements in bytes; None when the size of an element varies."""
        return None if self.dtype.variable else self.count * self.dtype.itemsize

    @property
    def numpy(self) -> np.dtype[Any]:
        """The dtype of decoded values. Raises Unsupported when numpy cannot hold them here."""
        if self.dtype.numpy is None:
            raise Unsupported(
                f"The data type {self.dtype.name!r} cannot be decoded here",
                feature=f"data type {self.dtype.name}",
                advice=self.dtype.advice or None,
            )
        return self.dtype.numpy

    def zero(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> ArraySpec:
        """Returns a spec with this shape and dtype, but without a fill value: deltas or packed bits have none."""
        return ArraySpec(
            shape, from_numpy(dtype.newbyteorder("=")), Fill(np.zeros((), dtype.newbyteorder("="))[()], defined=False)
        )


@frozen
class BytesSpec:
    """Describes encoded bytes: their `size` where it is known without data, and the `limit` that they never exceed.

    `itemsize` is the size of the elements that they encode, for codecs that shuffle bytes; 1 where that has no meaning.
    """

    size: int | None
    limit: int
    itemsize: int = 1

    @classmethod
    def exactly(cls, size: int, itemsize: int = 1) -> BytesSpec:
        """Bytes of a size that is known without data, so that it is also their limit."""
        return cls(size, size, itemsize)

    def compressed(self) -> BytesSpec:
        """The output of a compressor: of unknown size, but limited (spec F.3). The worst known codec adds a third
        (base64); the rest is a margin for trailing bytes that some writers leave."""
        return BytesSpec(None, self.limit + self.limit // 2 + 65536)

    def longer(self, extra: int) -> BytesSpec:
        """The same bytes with `extra` bytes more, such as a checksum."""
        return BytesSpec(None if self.size is None else self.size + extra, self.limit + extra)


class ArrayToArray:
    """A codec from elements to elements. `decode(encode(x))` is x, apart from the codec's own rounding."""

    kind: ClassVar[codec_table.CodecKind] = "array→array"
    name: ClassVar[str] = ""
    encoded: ArraySpec

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        self.decoded = decoded
        self.encoded = decoded

    def need_encoding(self) -> None:
        """Raises Unsupported for a codec that can only decode here. Called before an array is created."""

    def decode(self, array: Elements) -> Elements:
        """Turns elements that `encoded` describes into elements that `decoded` describes, as a view if possible."""
        raise NotImplementedError  # each codec overrides this

    def encode(self, array: Elements) -> Elements:
        """Turns elements that `decoded` describes into elements that `encoded` describes. Raises Refused for values
        that it cannot store."""
        raise NotImplementedError  # each codec overrides this

    def map_selection(self, selection: tuple[slice, ...]) -> tuple[slice, ...] | None:
        """The part of `encoded` that decodes to `selection` of `decoded`; None if no such part can be selected."""
        return None

    def view(self, out: Elements) -> Elements | None:
        """A view of `out` (shape of `decoded`) in the shape of `encoded`: filling the view fills `out`.

        None if no such view is possible.
        """
        return None


class ArrayToBytes:
    """A codec from elements to bytes. Every list of codecs has exactly one."""

    kind: ClassVar[codec_table.CodecKind] = "array→bytes"
    name: ClassVar[str] = ""
    encoded: BytesSpec
    plain: bool = False
    """Whether the bytes are the elements as they lie in memory, except for corrections by `fix_up` in place."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        self.decoded = decoded

    def need_encoding(self) -> None:
        """Raises Unsupported for a codec that can only decode here. Called before an array is created."""

    def decode(self, data: Buffer, out: Elements | None) -> Elements:
        """Decodes to the elements that `decoded` describes. If `out` is given (with any strides), writes them into it
        and returns it."""
        raise NotImplementedError  # each codec overrides this

    def encode(self, array: Elements) -> bytes:
        """Turns elements that `decoded` describes, with any strides, into bytes. Raises Refused for values that it
        cannot store."""
        raise NotImplementedError  # each codec overrides this

    def encode_view(self, array: Elements) -> Buffer:
        """Returns the encoded bytes; where possible as a view of `array`, valid until `array` changes."""
        return self.encode(array)

    @property
    def encodes_views(self) -> bool:
        """Whether `encode_view` gives a view of every contiguous array."""
        return False

    checksummed: bool = False
    """Whether decoding a whole chunk compares its bytes with a checksum that is stored with them."""
    needs_fix_up: bool = False
    """Whether `fix_up` changes anything."""

    def fix_up(self, array: Elements) -> None:
        """Turns raw bytes, which were copied into a contiguous array, into values in place, for example by swapping the
        byte order. Called only if `plain`."""

    def check_length(self, found: int) -> None:
        """Raises BadChunk if the size of the encoded elements is known and is not `found` bytes."""


class BytesToBytes:
    """A codec from bytes to bytes: compression or a checksum.

    A subclass implements `_expand`, and `_expand_into` where decoding into given memory is faster. There are three ways
    to decode: `decode_into` (a whole chunk), `decode_partial` (the part of a large chunk that a selection needs) and
    `decode_many` (many tiny chunks in one call). The last two have a default that decodes whole chunks.
    If `reads_blocks`, `read_blocks` and `decode_blocks` do the work of `decode_partial` for many chunks in one call.
    """

    kind: ClassVar[codec_table.CodecKind] = "bytes→bytes"
    name: ClassVar[str] = ""
    encoded: BytesSpec
    accepts_views: ClassVar[bool] = False
    """Whether `encode` accepts any contiguous memory, not only bytes."""
    reads_blocks: ClassVar[bool] = False
    """Whether the codec implements `read_blocks` and `decode_blocks`."""
    fast: bool = False
    """Whether decoding takes little longer than copying."""
    checksummed: bool = False
    """Whether decoding a whole chunk compares its bytes with a checksum that is stored with them."""

    def __init__(self, settings: CodecSettings, decoded: BytesSpec) -> None:
        self.decoded = decoded
        self.encoded = decoded.compressed()

    def need_encoding(self) -> None:
        """Raises Unsupported for a codec that can only decode here. Called before an array is created."""

    def decode(self, data: Buffer) -> Buffer:
        """Decodes all bytes: exactly `decoded.size` where that is known, else at most `decoded.limit`."""
        size = self.decoded.size
        if size is None:
            return self._expand(data, self.decoded.limit)
        out = np.empty(size, np.uint8)
        self.decode_into(data, out)
        return out.data

    def decode_into(self, data: Buffer, out: Octets) -> None:
        """Decodes `data` into `out`, and fills it completely, or raises BadChunk."""
        self._expand_into(data, out)

    def supports_partial(self, start: int, stop: int) -> bool:
        """Whether `decode_partial` of these decoded bytes may cost clearly less than decoding all."""
        return False

    def decode_partial(self, source: RangeReadable, out: Octets, start: int) -> None:
        """Fills `out` with the decoded bytes from `start`; `decoded.size` is known. Raises BadChunk.

        Bytes cut off at the end are noticed, other damage only if the decoder finds it in the decoded part: a checksum
        at the end of the chunk is not compared.
        """
        whole = np.empty(self.decoded.size or 0, np.uint8)
        self.decode_into(source.read(0, source.size), whole)
        out[:] = whole[start : start + out.size]

    def decode_many(self, chunks: Sequence[Buffer], out: Octets, arena: Arena) -> Octets:
        """Decodes several chunks, each `decoded.size` long, one after the other into `out` or into memory of the codec.

        `arena`: the chunks may lie in this memory, and the codec may take more of it.
        """
        size = out.size // len(chunks)
        for i, data in enumerate(chunks):
            self.decode_into(data, out[i * size : (i + 1) * size])
        return out

    def read_blocks(self, source: RangeReadable, start: int, stop: int) -> object:
        """Reads the encoded blocks that hold the decoded bytes from `start` to `stop`. Returns None if decoding the
        whole chunk is better.

        The result has two attributes, `start` and `size`, which state the decoded bytes of these blocks. Raises
        BadChunk.
        """
        return None

    def can_merge(self, parts: Sequence[Any]) -> bool:
        """Whether `decode_blocks` can decode these results of `read_blocks` together. A single result always can."""
        return len(parts) == 1

    def decode_blocks(self, parts: Sequence[Any], out: Octets, arena: Arena | None) -> None:
        """Decodes results of `read_blocks` into `out`, one after the other.

        `arena` as for `decode_many`. Raises BadChunk.
        """
        raise NotImplementedError  # each codec overrides this

    def encode(self, data: bytes) -> bytes:
        """Returns the compressed bytes, or the bytes with their checksum."""
        raise NotImplementedError  # each codec overrides this

    def max_encoded_size(self, size: int) -> int | None:
        """The most bytes that `encode_many` may need for a chunk of `size` bytes; None if the codec does not implement
        it."""
        return None

    def encode_many(self, chunks: Octets, which: Sequence[int], out: memoryview) -> list[int]:
        """Encodes the rows `which` of `chunks`, one after the other, into `out`. Returns their encoded sizes."""
        raise NotImplementedError  # each codec overrides this

    def _expand(self, data: Buffer, limit: int) -> Buffer:
        """Decodes to at most `limit` bytes; raises BadChunk when there are more."""
        raise NotImplementedError  # each codec overrides this

    def _expand_into(self, data: Buffer, out: Octets) -> None:
        result = self._expand(data, out.size)
        self.check_size(len(result), out.size)
        out[:] = np.frombuffer(result, np.uint8)

    def check_size(self, found: int, expected: int) -> None:
        """Raises BadChunk if decoding gave `found` bytes where the chunk has `expected`."""
        if found != expected:
            raise BadChunk(
                f"{self.name} gave {found:,} bytes where the chunk has {expected:,}: it is cut off or damaged",
                codec=self.name,
            )

    def too_long(self, limit: int) -> BadChunk:
        """The error for encoded bytes that decode to more than `limit` bytes."""
        return BadChunk(f"{self.name} gave more than the {limit:,} bytes that fit the chunk", codec=self.name)

    def damaged(self, why: object) -> BadChunk:
        """The error for bytes that are not in the codec's format; `why` is the library's own error."""
        return BadChunk(f"{self.name} cannot decode these bytes: {why}", codec=self.name)


Codec = ArrayToArray | ArrayToBytes | BytesToBytes
CodecClass = type[ArrayToArray] | type[ArrayToBytes] | type[BytesToBytes]


CLASSES: dict[str, CodecClass] = {}
"""The codecs that were imported so far, by canonical name; registry.py imports the others."""

CodecClassT = TypeVar("CodecClassT", bound=CodecClass)


def codec(
    name: str,
    *,
    v2: str | Iterable[str] | None = None,
    draft: str | Iterable[str] = (),
    n5: str | Iterable[str] = (),
    members: Mapping[str, Schema] | None = None,
    required: Iterable[str] = (),
    object_type: str = "",
    needs: str | Iterable[str] = (),
    package: str = "",
    writes: bool = True,
) -> Callable[[CodecClassT], CodecClassT]:
    """Registers a codec class under its canonical name.

    Parameters
    ----------
    name
        The name in v3 documents. For zarrscope's own codecs, model/codec_table.py holds the other properties.
    v2, draft, n5
        The names in these dialects; the first one is written. By default v2 uses `name`, and the other dialects have no
        name for the codec.
    members, required
        The members that its configuration may hold, each described in JSON Schema, and those that it must hold.
    object_type
        "string", "bytes" or "object", if the codec stores elements of any length and is a filter in v2.
    needs, package
        Import names, of which one must be installed, and the package to install when none is.
    writes
        Whether the codec can encode.

    Examples
    --------
    >>> from zarrscope.codecs import BytesToBytes, codec
    >>> @codec("example.flip", members={})
    ... class Flip(BytesToBytes):
    ...     def encode(self, data):
    ...         return bytes(255 - byte for byte in data)
    ...     def _expand(self, data, limit):
    ...         return self.encode(data)
    >>> Flip.name
    'example.flip'
    """

    def register(made: CodecClassT) -> CodecClassT:
        row = codec_table.CODECS.get(name)
        if name in codec_table.BUILT_IN and row is not None:
            if row.module != made.__module__ or row.kind != made.kind:
                raise TypeError(f"The name {name!r} is that of a codec of zarrscope itself: {row.kind} in {row.module}")
        else:
            other = CLASSES.get(name)
            if other is not None and (other.__module__, other.__qualname__) != (made.__module__, made.__qualname__):
                raise TypeError(f"{other.__module__} registers a codec {name!r} already")
            codec_table.register(
                codec_table.CodecRow(
                    name,
                    made.kind,
                    made.__module__,
                    members,
                    tuple(required),
                    v2=(name,) if v2 is None else codec_table.several(v2),
                    draft=codec_table.several(draft),
                    n5=codec_table.several(n5),
                    object_type=object_type,
                    needs=codec_table.several(needs),
                    package=package,
                    writes=writes,
                )
            )
        made.name = name
        CLASSES[name] = made
        return made

    return register


def is_fill(array: Elements, fill: Fill) -> bool:
    """Whether every element has the bits of the fill value: −0.0 differs from 0.0, and NaN equals NaN (spec A.12)."""
    if array.size == 0:
        return True
    if array.dtype.kind == "O":
        return all(item == fill.value for item in array.flat)
    item = np.zeros((), array.dtype)
    item[()] = fill.value
    size = array.dtype.itemsize
    if size == 0:
        return True
    word = np.dtype(f"V{size}") if size not in (1, 2, 4, 8) else np.dtype(f"u{size}")
    if array.flat[0].tobytes() != item.tobytes():
        return False
    flat = np.ascontiguousarray(array).reshape(-1)
    if word.kind == "V":
        return bool((flat.view(np.uint8).reshape(-1, size) == np.frombuffer(item.tobytes(), np.uint8)).all())
    return bool((flat.view(word) == np.frombuffer(item.tobytes(), word)[0]).all())
