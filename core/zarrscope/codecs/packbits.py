"""packbits: elements of few bits, packed from the least significant bit of each byte (spec C.1, D.6).

Specification: https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/packbits

    {"data_type": "bool", "codecs": [
        {"name": "packbits", "configuration": {"padding_encoding": "first_byte"}}]}

`first_bit` and `last_bit` choose the bits that are kept of each element, counted from the least significant one. If the
last bits of a signed integer are left out, the highest kept bit is its sign. A separate byte states the number of
padding bits; `padding_encoding` puts it first or last, or leaves it out.
"""

from __future__ import annotations

import numpy as np

from zarrscope.codecs.array import SMALL
from zarrscope.codecs.codec import ArraySpec, ArrayToBytes, Buffer, BytesSpec, Elements, codec
from zarrscope.codecs.settings import CodecSettings
from zarrscope.errors import BadChunk

_PADDINGS = {"none": "none", "first_byte": "first", "start_byte": "first", "last_byte": "last", "end_byte": "last"}


@codec("packbits")
class PackBits(ArrayToBytes):
    """Packs elements of one to a few bits into bytes, the first element in the lowest bits."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded)
        if decoded.dtype.variable or decoded.numpy.names is not None or decoded.numpy.kind in "USO":
            raise settings.unfit(f"packs numbers, but the data type is {decoded.dtype.name!r}")
        self.padding = _PADDINGS[settings.choice("padding_encoding", tuple(_PADDINGS), default="none")]
        dtype = decoded.numpy
        self.parts = 2 if dtype.kind == "c" else 1
        self.width = dtype.itemsize // self.parts
        bits, self.signed = SMALL.get(decoded.dtype.name, (8 * self.width, dtype.kind == "i"))
        if dtype.kind == "b":
            bits = 1
        # The README of the codec and its schema give these two settings different names.
        first = "first_bit" if settings.has("first_bit") or not settings.has("start_bit") else "start_bit"
        last = "last_bit" if settings.has("last_bit") or not settings.has("end_bit") else "end_bit"
        self.first = settings.integer(first, low=0, high=bits - 1) if settings.has(first) else 0
        self.last = settings.integer(last, low=self.first, high=bits - 1) if settings.has(last) else bits - 1
        total = decoded.count * self.parts * (self.last - self.first + 1)
        self.total = total
        self.size = -(-total // 8)
        self.encoded = BytesSpec.exactly(self.size + (self.padding != "none"))

    def decode(self, data: Buffer, out: Elements | None) -> Elements:
        assert self.encoded.size is not None
        if len(data) != self.encoded.size:
            raise BadChunk(
                f"{self.name}: the chunk has {len(data):,} bytes where {self.encoded.size:,} are expected",
                codec=self.name,
            )
        raw = np.frombuffer(data, np.uint8)
        if self.padding != "none":
            counted, raw = (raw[0], raw[1:]) if self.padding == "first" else (raw[-1], raw[:-1])
            if counted != -self.total % 8:
                raise BadChunk(
                    f"{self.name}: the chunk states {counted} bits of padding where {-self.total % 8} are expected",
                    codec=self.name,
                )
        kept = np.unpackbits(raw, count=self.total, bitorder="little").reshape(-1, self.last - self.first + 1)
        whole = np.zeros((len(kept), 8 * self.width), np.uint8)
        whole[:, self.first : self.last + 1] = kept
        if self.signed:
            whole[:, self.last + 1 :] = kept[:, -1:]
        octets = np.packbits(whole, axis=1, bitorder="little")
        found = self._turned(octets).reshape(-1).view(self.decoded.numpy).reshape(self.decoded.shape)
        if out is None:
            return found
        out[...] = found
        return out

    def encode(self, array: Elements) -> bytes:
        octets = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(-1, self.width)
        bits = np.unpackbits(self._turned(octets), axis=1, bitorder="little")[:, self.first : self.last + 1]
        packed = np.packbits(bits.reshape(-1), bitorder="little").tobytes()
        counted = bytes([-self.total % 8])
        return {"none": packed, "first": counted + packed, "last": packed + counted}[self.padding]

    def _turned(self, octets: Elements) -> Elements:
        """Converts the bytes of each element from little-endian to the machine's order, or back."""
        return octets if np.little_endian else np.ascontiguousarray(octets[:, ::-1])
