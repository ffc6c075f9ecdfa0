"""What a codec is: three kinds, the representations between them, and the registry that names them.

A codec is made for one place in one array's list of codecs: `Codec(settings, decoded)` checks its configuration against
the representation it will be given and computes, without data, the representation it makes (`encoded`; v3 core
"compute_encoded_representation_type"). After that it is immutable, so one object serves any number of threads.

Errors: BadMetadata or Unsupported when made, pointer relative to the codec's own JSON object ("/configuration/level");
BadChunk while decoding, never another exception, never more memory than `decoded` allows (spec F.3).

Names per dialect (spec A.13, C.1) are written at the codec, in its decorator, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np

from zarrscope.codecs.settings import Settings
from zarrscope.dtype import DataType, Fill, from_numpy
from zarrscope.errors import BadChunk, Unsupported
from zarrscope.frozen import frozen
from zarrscope.reader import Room, Source

if TYPE_CHECKING:
    import numpy.typing as npt

Buffer = bytes | bytearray | memoryview
Elements: TypeAlias = "npt.NDArray[Any]"
Octets: TypeAlias = "npt.NDArray[np.uint8]"
"""A contiguous 1-D array of bytes to decode into."""

Kind = Literal["array→array", "array→bytes", "bytes→bytes"]

MAX_CHUNK_BYTES = 1 << 30
"""A chunk that decodes to more is refused (spec F.2), and so is more text than this in a chunk of strings."""


@frozen
class ArraySpec:
    """Elements: `shape` (C order of axes), `dtype`, and the fill value in that dtype."""

    shape: tuple[int, ...]
    dtype: DataType
    fill: Fill

    @property
    def count(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int | None:
        """Bytes of all elements in memory order; None when their size varies."""
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
        """The same chunk in another guise whose fill value has no meaning (delta, bit packing …)."""
        return ArraySpec(
            shape, from_numpy(dtype.newbyteorder("=")), Fill(np.zeros((), dtype.newbyteorder("="))[()], defined=False)
        )


@frozen
class BytesSpec:
    """Bytes: `size` when it is known without data, and `limit`, which is never passed.

    `itemsize` is the size of the elements they are, 1 where that has no meaning: compressors that shuffle want it.
    """

    size: int | None
    limit: int
    itemsize: int = 1

    @classmethod
    def exactly(cls, size: int, itemsize: int = 1) -> BytesSpec:
        return cls(size, size, itemsize)

    def compressed(self) -> BytesSpec:
        """What a compressor makes of these bytes: unknown, but never far beyond them (spec F.3)."""
        return BytesSpec(None, 4 * self.limit + 65536)

    def longer(self, extra: int) -> BytesSpec:
        return BytesSpec(None if self.size is None else self.size + extra, self.limit + extra)


class ArrayToArray:
    """Elements to elements. `decode(encode(x))` is x, or what the codec's rounding leaves of it."""

    kind: ClassVar[Kind] = "array→array"
    name: ClassVar[str] = ""
    encoded: ArraySpec

    def __init__(self, settings: Settings, decoded: ArraySpec) -> None:
        self.decoded = decoded
        self.encoded = decoded

    def decode(self, array: Elements) -> Elements:
        """Elements of `decoded` from elements of `encoded`; a view where that will do."""
        raise NotImplementedError

    def encode(self, array: Elements) -> Elements:
        raise NotImplementedError

    def follow(self, selection: tuple[slice, ...]) -> tuple[slice, ...] | None:
        """What a selection of `decoded` selects of `encoded`, where that is one and decodes by itself."""
        return None

    def view(self, out: Elements) -> Elements | None:
        """`out` (of `decoded`) seen as `encoded`, so that filling the view fills it; None when there is none."""
        return None


class ArrayToBytes:
    """Elements to bytes: exactly one in every list of codecs."""

    kind: ClassVar[Kind] = "array→bytes"
    name: ClassVar[str] = ""
    encoded: BytesSpec
    plain: bool = False
    """The bytes are the elements as they lie in memory, but for what `settle` mends in place."""

    def __init__(self, settings: Settings, decoded: ArraySpec) -> None:
        self.decoded = decoded

    def decode(self, data: Buffer, out: Elements | None) -> Elements:
        """Elements of `decoded`, written into `out` (of any strides) when given, which is then returned."""
        raise NotImplementedError

    def encode(self, array: Elements) -> bytes:
        raise NotImplementedError

    def lend(self, array: Elements) -> Buffer:
        """As `encode`, but what it gives may be the memory of `array` itself: to be used before that changes."""
        return self.encode(array)

    @property
    def lends(self) -> bool:
        """Whether `lend` gives the memory of any contiguous array itself."""
        return False

    settles: bool = False
    """Whether there is anything to `settle`."""

    def settle(self, array: Elements) -> None:
        """Makes values of the raw bytes that were put into a contiguous array of some elements, where `plain`."""

    def check_length(self, found: int) -> None:
        """Raises BadChunk unless the elements take so many bytes, where that is known."""


class BytesToBytes:
    """Bytes to bytes: compression and checksums. A subclass writes `_expand`, and `_expand_into` where it pays.

    A decoder has three verbs: `decode_into` (a whole chunk), `part` (only what a selection needs of a large chunk) and
    `batch` (many tiny chunks by one call). The last two are derived; where a codec has a better way, it says what for.
    `cut` and `join` are `part` for many chunks by one call, where a codec has them.
    """

    kind: ClassVar[Kind] = "bytes→bytes"
    name: ClassVar[str] = ""
    encoded: BytesSpec
    takes_views: ClassVar[bool] = False
    """`encode` takes any contiguous memory, not only bytes."""
    cuts: ClassVar[bool] = False
    """Whether there is `cut`."""
    quick: bool = False
    """Whether decoding takes little longer than copying."""

    def __init__(self, settings: Settings, decoded: BytesSpec) -> None:
        self.decoded = decoded
        self.encoded = decoded.compressed()

    def decode(self, data: Buffer) -> Buffer:
        """All decoded bytes: exactly `decoded.size` where that is known, else at most `decoded.limit`."""
        size = self.decoded.size
        if size is None:
            return self._expand(data, self.decoded.limit)
        out = np.empty(size, np.uint8)
        self.decode_into(data, out)
        return out.data

    def decode_into(self, data: Buffer, out: Octets) -> None:
        """Fills `out` whole, or raises BadChunk."""
        self._expand_into(data, out)

    def pays(self, start: int, stop: int) -> bool:
        """Whether `part` may cost clearly less than decoding all."""
        return False

    def part(self, source: Source, out: Octets, start: int) -> None:
        """Fills `out` with the decoded bytes from `start`; `decoded.size` is known. Raises BadChunk.

        Bytes cut off at the end are noticed, other damage only where it lies in what is decoded.
        """
        whole = np.empty(self.decoded.size or 0, np.uint8)
        self.decode_into(source.read(0, source.size), whole)
        out[:] = whole[start : start + out.size]

    def batch(self, chunks: Sequence[Buffer], out: Octets, room: Room) -> Octets:
        """All chunks decoded, one after the other, each `decoded.size` long: in `out`, or in memory of its own.

        `room`: where the chunks were read to, if anywhere; what else was taken of it is left alone.
        """
        size = out.size // len(chunks)
        for i, data in enumerate(chunks):
            self.decode_into(data, out[i * size : (i + 1) * size])
        return out

    def cut(self, source: Source, start: int, stop: int) -> Any:
        """What of a chunk is needed for the decoded bytes from `start` to `stop`; None where that is all, or unknown.

        It decodes to `cut.size` bytes from `cut.start`. It is read already, or lies in the room that the source reads
        to. Raises BadChunk.
        """
        return None

    def alike(self, cuts: Sequence[Any]) -> bool:
        """Whether `join` can decode them together: each alone it always can."""
        return len(cuts) == 1

    def join(self, cuts: Sequence[Any], out: Octets, room: Room | None) -> None:
        """Fills `out` with what the cuts decode to, one after the other. `room` as for `batch`. Raises BadChunk."""
        raise NotImplementedError

    def encode(self, data: bytes) -> bytes:
        raise NotImplementedError

    def most(self, size: int) -> int | None:
        """How much room `encode_each` needs for so many bytes; None where there is only `encode`."""
        return None

    def encode_each(self, chunks: Octets, which: Sequence[int], out: memoryview) -> list[int]:
        """Encodes each row of `chunks` that is asked for by itself, one after the other in `out`: how long they are."""
        raise NotImplementedError

    def _expand(self, data: Buffer, limit: int) -> Buffer:
        """At most `limit` bytes; raises BadChunk when there are more."""
        raise NotImplementedError

    def _expand_into(self, data: Buffer, out: Octets) -> None:
        result = self._expand(data, out.size)
        self.check_size(len(result), out.size)
        out[:] = np.frombuffer(result, np.uint8)

    def check_size(self, found: int, expected: int) -> None:
        if found != expected:
            raise BadChunk(
                f"{self.name} gave {found:,} bytes where the chunk has {expected:,}: it is cut off or damaged",
                codec=self.name,
            )

    def too_long(self, limit: int) -> BadChunk:
        return BadChunk(f"{self.name} gave more than the {limit:,} bytes that fit the chunk", codec=self.name)

    def damaged(self, why: object) -> BadChunk:
        return BadChunk(f"{self.name} cannot decode these bytes: {why}", codec=self.name)


Codec = ArrayToArray | ArrayToBytes | BytesToBytes
CodecClass = type[ArrayToArray] | type[ArrayToBytes] | type[BytesToBytes]


@frozen
class Registered:
    """One row of the registry: a codec's canonical name, what the dialects call it, what does the work."""

    name: str
    kind: Kind
    make: CodecClass
    ids: Mapping[str, tuple[str, ...]]
    """Family of dialects ("v3", "v2", "draft", "n5") → the names used there; the first one is written."""
    libraries: tuple[str, ...]
    """Import names of which one must be there; empty when numpy and the standard library do."""
    package: str
    """What to install when they are missing."""
    reads: bool
    writes: bool

    @property
    def installed(self) -> bool:
        return not self.libraries or any(find_spec(library) is not None for library in self.libraries)


CODECS: dict[str, Registered] = {}
"""Every codec by canonical name, in reading order. Others come through entry points (see lookup.py) on a miss."""

Made = TypeVar("Made", bound=CodecClass)


def codec(
    name: str,
    *,
    v3: str | Iterable[str] = (),
    v2: str | Iterable[str] = (),
    draft: str | Iterable[str] = (),
    n5: str | Iterable[str] = (),
    needs: str | Iterable[str] = (),
    package: str = "",
    reads: bool = True,
    writes: bool = True,
) -> Callable[[Made], Made]:
    """Registers a codec class under its canonical name; `v3` lists other spellings met in v3 documents."""

    def register(made: Made) -> Made:
        made.name = name
        ids = {"v3": (name, *_several(v3)), "v2": _several(v2), "draft": _several(draft), "n5": _several(n5)}
        CODECS[name] = Registered(name, made.kind, made, ids, _several(needs), package, reads, writes)
        return made

    return register


def _several(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def is_fill(array: Elements, fill: Fill) -> bool:
    """Whether every element is the fill value to the bit: −0.0 is not 0.0, and NaN is NaN (spec A.12)."""
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
