"""The codecs bytes, transpose and reshape, and vlen-utf8 and vlen-bytes for strings of any length.

Specification: https://zarr-specs.readthedocs.io/en/latest/v3/codecs/bytes/index.html and
https://zarr-specs.readthedocs.io/en/latest/v3/codecs/transpose/index.html;
reshape, vlen-utf8 and vlen-bytes: https://github.com/zarr-developers/zarr-extensions/tree/main/codecs

    {"data_type": "int16", "codecs": [
        {"name": "transpose", "configuration": {"order": [1, 0]}},
        {"name": "reshape", "configuration": {"shape": [[0, 1]]}},
        {"name": "bytes", "configuration": {"endian": "big"}}]}

The codec "bytes" (spec C.1, D.4) stores the elements in C order, each little- or big-endian. Structured types keep the
order of their fields; `endian: big` applies to fields whose type states no byte order.
"""

from __future__ import annotations

import sys
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.codecs.codec import (
    ArraySpec,
    ArrayToArray,
    ArrayToBytes,
    Buffer,
    BytesSpec,
    Elements,
    codec,
)
from zarrscope.codecs.limits import MAX_CHUNK_BYTES
from zarrscope.codecs.native import needed
from zarrscope.codecs.objectsizes import TEXT, check_items
from zarrscope.codecs.settings import CodecSettings
from zarrscope.errors import BadChunk

if TYPE_CHECKING:
    from typing import Protocol

    class ElementCodec(Protocol):
        """A codec of numcodecs for elements of any length."""

        def encode(self, buf: Elements, /) -> Buffer:
            """The elements as bytes."""

        def decode(self, buf: Elements, /) -> Elements:
            """The elements that these bytes hold."""


# Types that `bytes` stores in one byte each, of which only the low bits count (spec C.2): name → (bits, signed).
SMALL = {
    "int2": (2, True),
    "int4": (4, True),
    "uint2": (2, False),
    "uint4": (4, False),
    "float4_e2m1fn": (4, False),
    "float6_e2m3fn": (6, False),
    "float6_e3m2fn": (6, False),
}


@codec("bytes")
class BytesCodec(ArrayToBytes):
    """Stores elements one after the other, in the byte order of `endian`."""

    plain = True

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded)
        size = decoded.nbytes
        if size is None:
            raise settings.unfit(
                f"cannot store elements of varying size ({decoded.dtype.name!r}): use a codec such as vlen-utf8"
            )
        self.dtype = decoded.numpy
        self.size = size
        self.word = _word(self.dtype)
        """The number of bytes that are reversed together: the size of an element, of a component of a complex number,
        or of a code point of a string."""
        structured = self.dtype.names is not None
        if settings.has("endian") or (self.word > 1 and not structured and self.dtype.itemsize):
            self.endian = settings.choice("endian", ("little", "big"))
        else:
            self.endian = "little"
        self.swapped = self.dtype.itemsize > 0 and self.word > 1 and self.endian != sys.byteorder
        self.stored = self.dtype
        if structured and self.endian == "big" and not _has_big_fields(self.dtype):
            self.stored = self.dtype.newbyteorder(">")
        self.plain = self.stored == self.dtype and size > 0
        self.small = SMALL.get(decoded.dtype.name)
        self.needs_fix_up = bool(self.swapped or self.small or self.dtype.kind == "b")
        self.encoded = BytesSpec.exactly(size, max(1, self.dtype.itemsize))

    def decode(self, data: Buffer, out: Elements | None) -> Elements:
        self.check_length(len(data))
        if out is None:
            out = np.empty(self.decoded.shape, self.dtype)
        if self.size:
            raw = np.frombuffer(data, np.uint8)
            if self.plain and out.flags.c_contiguous:
                out.reshape(-1).view(np.uint8)[:] = raw
                self.fix_up(out)
            else:
                found = raw.view(self.stored).reshape(self.decoded.shape)
                if self.plain and self.needs_fix_up:
                    found = found.copy()
                    self.fix_up(found)
                out[...] = found
        return out

    def check_length(self, found: int) -> None:
        if found != self.size:
            raise BadChunk(
                f"{self.name}: the chunk has {found:,} bytes where {self.size:,} are expected "
                f"({'×'.join(map(str, self.decoded.shape)) or '1'} elements of {self.dtype.itemsize})",
                codec=self.name,
            )

    def fix_up(self, array: Elements) -> None:
        if self.swapped:
            words = array.reshape(-1).view(f"u{self.word}")
            words[...] = words.view(words.dtype.newbyteorder())  # six times as quick as byteswap(inplace=True)
        elif self.dtype.kind == "b":
            raw = array.view(np.uint8)
            np.not_equal(raw, 0, out=array)
        elif self.small:
            bits, signed = self.small
            raw = array.view(np.int8 if signed else np.uint8)
            if signed:
                np.left_shift(raw, 8 - bits, out=raw)
                np.right_shift(raw, 8 - bits, out=raw)
            else:
                np.bitwise_and(raw, (1 << bits) - 1, out=raw)

    def encode(self, array: Elements) -> bytes:
        if self.swapped:
            array = np.array(array, order="C")
            array.reshape(-1).view(f"u{self.word}").byteswap(inplace=True)
        elif self.stored != self.dtype:
            array = array.astype(self.stored)
        return array.tobytes()

    @property
    def encodes_views(self) -> bool:
        return not self.swapped and self.stored == self.dtype and self.size > 0

    def encode_view(self, array: Elements) -> Buffer:
        if not self.encodes_views:
            return self.encode(array)
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _word(dtype: np.dtype[Any]) -> int:
    if dtype.names is not None or dtype.type in (np.void, np.bytes_):
        return 1
    if dtype.kind == "c":
        return dtype.itemsize // 2
    return 4 if dtype.kind == "U" else dtype.itemsize


def _has_big_fields(dtype: np.dtype[Any]) -> bool:
    if dtype.subdtype is not None:
        return _has_big_fields(dtype.subdtype[0])
    if dtype.names is None:
        return dtype.byteorder == ">"
    return any(_has_big_fields(dtype[name]) for name in dtype.names)


@codec("transpose")
class Transpose(ArrayToArray):
    """Reorders the axes: encoded axis i is decoded axis order[i]. `order` may also be "C" or "F", an early spelling
    (spec A.7)."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded)
        axes = tuple(range(len(decoded.shape)))
        order = settings.value("order")
        if order in ("C", "F"):
            self.order = axes if order == "C" else axes[::-1]
        else:
            self.order = settings.integers("order", length=len(axes))
        if tuple(sorted(self.order)) != axes:
            raise settings.fault("order", f"must name each of the {len(axes)} axes once, not {list(self.order)}")
        self.inverse = tuple(self.order.index(axis) for axis in axes)
        self.encoded = ArraySpec(tuple(decoded.shape[axis] for axis in self.order), decoded.dtype, decoded.fill)

    def decode(self, array: Elements) -> Elements:
        return array.transpose(self.inverse)

    def encode(self, array: Elements) -> Elements:
        return array.transpose(self.order)

    def map_selection(self, selection: tuple[slice, ...]) -> tuple[slice, ...]:
        return tuple(selection[axis] for axis in self.order)

    def view(self, out: Elements) -> Elements:
        return out.transpose(self.order)


@codec("reshape")
class Reshape(ArrayToArray):
    """Changes the shape and keeps the elements in C order. In `shape`, −1 stands for the remaining length, and [i, j]
    joins the axes i and j."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded)
        shape = settings.value("shape")
        if not isinstance(shape, list | tuple):
            raise settings.fault("shape", f"must be a list, not {shape!r}")
        sizes, last = [], -1
        for item in shape:
            if isinstance(item, list | tuple):
                axes = [axis for axis in item if type(axis) is int and 0 <= axis < len(decoded.shape)]
                if len(axes) != len(item) or any(axis <= low for low, axis in zip([last, *axes], axes, strict=False)):
                    raise settings.fault("shape", f"names axes out of order or out of range: {item!r}")
                last = axes[-1] if axes else last
                sizes.append(prod(decoded.shape[axis] for axis in axes))
            elif type(item) is int and (item > 0 or item == -1 or (item == 0 and decoded.count == 0)):
                sizes.append(item)
            else:
                raise settings.fault("shape", f"must hold positive sizes, one −1, or lists of axes, not {item!r}")
        known = prod(size for size in sizes if size != -1)
        if sizes.count(-1) > 1 or (-1 in sizes and (known == 0 or decoded.count % known)):
            raise settings.fault("shape", f"{shape!r} does not divide the chunk's {decoded.count} elements")
        sizes = [decoded.count // known if size == -1 else size for size in sizes]
        if prod(sizes) != decoded.count or len(sizes) > 32:
            raise settings.fault("shape", f"{shape!r} does not hold the chunk's {decoded.count} elements")
        self.encoded = ArraySpec(tuple(sizes), decoded.dtype, decoded.fill)

    def decode(self, array: Elements) -> Elements:
        return array.reshape(self.decoded.shape)

    def encode(self, array: Elements) -> Elements:
        return array.reshape(self.encoded.shape)

    def view(self, out: Elements) -> Elements | None:
        return out.reshape(self.encoded.shape) if out.flags.c_contiguous else None


class VariableLength(ArrayToBytes):
    """Stores the number of items as a uint32, then for each item its length as a uint32 and its bytes. All numbers are
    little-endian, the items in C order."""

    text = False
    """Whether items are text, which may take more memory decoded than as UTF-8."""
    item_size = TEXT

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded)
        if not decoded.dtype.variable:
            raise settings.unfit(f"stores items of varying size, but the data type is {decoded.dtype.name!r}")
        self.encoded = BytesSpec(None, MAX_CHUNK_BYTES)

    def decode(self, data: Buffer, out: Elements | None) -> Elements:
        if len(data) < 4:
            raise BadChunk(f"{self.name}: {len(data)} bytes cannot hold the number of items", codec=self.name)
        count = int.from_bytes(data[:4], "little")
        if count != self.decoded.count:
            raise BadChunk(
                f"{self.name}: the chunk states {count:,} items where {self.decoded.count:,} are expected",
                codec=self.name,
            )
        if len(data) < 4 + 4 * count:
            raise BadChunk(f"{self.name}: {len(data):,} bytes cannot hold {count:,} items", codec=self.name)
        check_items(self.name, data, count, text=self.text, each=self.item_size)
        found = self._items(data)
        if out is None:
            return found.reshape(self.decoded.shape)
        out[...] = found.reshape(self.decoded.shape)
        return out

    def encode(self, array: Elements) -> bytes:
        # numcodecs flattens in memory order, but the specification requires C order. numcodecs needs writable memory.
        flat = np.ascontiguousarray(array).reshape(-1)
        return bytes(self._codec().encode(flat if flat.flags.writeable else flat.copy()))

    def _items(self, data: Buffer) -> Elements:
        found: Elements = self._codec().decode(np.frombuffer(data, np.uint8))
        return found

    def _codec(self) -> ElementCodec:
        raise NotImplementedError  # each item type overrides this


@codec("vlen-utf8")
class VlenUtf8(VariableLength):
    """Stores strings of any length as UTF-8, as numcodecs "vlen-utf8" does."""

    text = True

    def _codec(self) -> ElementCodec:
        found: ElementCodec = needed("numcodecs.vlen").VLenUTF8()
        return found


@codec("vlen-bytes")
class VlenBytes(VariableLength):
    """Stores byte strings of any length, as numcodecs "vlen-bytes" does."""

    def _codec(self) -> ElementCodec:
        found: ElementCodec = needed("numcodecs.vlen").VLenBytes()
        return found
