"""Further bytes→bytes codecs of numcodecs: bz2, lzma, lz4, shuffle, base64 and checksums (spec C.1, F.3, F.5).

Specification: https://numcodecs.readthedocs.io/en/stable/

    {"data_type": "uint16", "codecs": [
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "numcodecs.shuffle", "configuration": {"elementsize": 2}},
        {"name": "numcodecs.bz2", "configuration": {"level": 1}},
        {"name": "numcodecs.adler32", "configuration": {}}]}
"""

from __future__ import annotations

import base64
import bz2
import lzma
import zlib

import numpy as np

from zarrscope.codecs.codec import Buffer, BytesSpec, BytesToBytes, Octets, codec
from zarrscope.codecs.compress import Checksummed
from zarrscope.codecs.native import needed
from zarrscope.codecs.settings import CodecSettings

LZMA_MEMORY = 1 << 29


class Streamed(BytesToBytes):
    """Concatenated compressed streams, decoded piece by piece by a decompressor object of the standard library."""

    def _stream(self) -> bz2.BZ2Decompressor | lzma.LZMADecompressor:
        raise NotImplementedError  # each format overrides this

    def _expand(self, data: Buffer, limit: int) -> Buffer:
        parts: list[bytes] = []
        total, rest = 0, bytes(data)
        while rest or not parts:
            try:
                stream = self._stream()
                part = stream.decompress(rest, limit + 1 - total)
            except Exception as error:
                raise self.damaged(error) from None
            total += len(part)
            if total > limit:
                raise self.too_long(limit)
            if not stream.eof:
                raise self.damaged("the stream is cut off")
            parts.append(part)
            rest = stream.unused_data
            if not rest.strip(b"\0"):
                break
        return parts[0] if len(parts) == 1 else b"".join(parts)


@codec("numcodecs.bz2")
class Bz2(Streamed):
    """bzip2 streams, by the standard library."""

    checksummed = True

    def __init__(self, settings: CodecSettings, decoded: BytesSpec) -> None:
        super().__init__(settings, decoded)
        self.level = settings.integer("level", default=1, low=1, high=9)

    def _stream(self) -> bz2.BZ2Decompressor | lzma.LZMADecompressor:
        return bz2.BZ2Decompressor()

    def encode(self, data: bytes) -> bytes:
        return bz2.compress(data, self.level)


@codec("numcodecs.lzma")
class Lzma(Streamed):
    """LZMA, by the standard library. `format` 1 is .xz, 2 the old .lzma, 3 a raw stream, which `filters` describe."""

    def __init__(self, settings: CodecSettings, decoded: BytesSpec) -> None:
        super().__init__(settings, decoded)
        self.format = settings.choice("format", (1, 2, 3, 0), default=1)
        self.check = settings.integer("check", default=-1, low=-1, high=15)
        self.checksummed = self.format == lzma.FORMAT_XZ and self.check != lzma.CHECK_NONE
        self.preset = settings.integer("preset", low=0) if settings.has("preset") else None
        self.filters = settings.value("filters", None)
        if self.filters is not None and (
            not isinstance(self.filters, list) or not all(isinstance(item, dict) for item in self.filters)
        ):
            raise settings.fault("filters", "must be a list of objects")
        if any(
            type(item.get("dict_size")) is int and item["dict_size"] > LZMA_MEMORY // 2 for item in self.filters or []
        ):
            raise settings.fault("filters", f"asks for a dictionary of more than {LZMA_MEMORY // 2:,} bytes")
        try:
            self._stream()
        except Exception as error:
            raise settings.fault("filters", f"does not describe a stream: {error}") from None

    def _stream(self) -> bz2.BZ2Decompressor | lzma.LZMADecompressor:
        if self.format == lzma.FORMAT_RAW:
            return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=self.filters)
        return lzma.LZMADecompressor(self.format, memlimit=LZMA_MEMORY)

    def encode(self, data: bytes) -> bytes:
        form = self.format or lzma.FORMAT_XZ
        return lzma.compress(data, form, self.check, self.preset, self.filters)


@codec("numcodecs.lz4")
class Lz4(BytesToBytes):
    """Stores the decoded size as a little-endian int32, then one LZ4 block. This is neither the LZ4 frame format nor
    Java's format."""

    def __init__(self, settings: CodecSettings, decoded: BytesSpec) -> None:
        super().__init__(settings, decoded)
        self.acceleration = settings.integer("acceleration", default=1)

    def _size(self, data: Buffer, limit: int) -> int:
        if len(data) < 5:
            raise self.damaged(f"{len(data)} bytes cannot hold a block")
        size = int.from_bytes(data[:4], "little", signed=True)
        if size <= 0:
            raise self.damaged(f"they state a decoded size of {size} bytes")
        if size > limit:
            raise self.too_long(limit)
        return size

    def _expand_into(self, data: Buffer, out: Octets) -> None:
        self.check_size(self._size(data, out.size), out.size)
        try:
            needed("numcodecs.lz4").decompress(data, out)
        except Exception as error:
            raise self.damaged(error) from None

    def _expand(self, data: Buffer, limit: int) -> Buffer:
        out = np.empty(self._size(data, limit), np.uint8)
        self._expand_into(data, out)
        return out.data

    def encode(self, data: bytes) -> bytes:
        return bytes(needed("numcodecs.lz4").compress(data, self.acceleration))


@codec("numcodecs.shuffle")
class Shuffle(BytesToBytes):
    """Stores the first byte of every element, then the second byte of every element, and so on."""

    def __init__(self, settings: CodecSettings, decoded: BytesSpec) -> None:
        super().__init__(settings, decoded)
        self.elementsize = settings.integer("elementsize", default=4, low=1, high=1 << 20)
        if decoded.size is not None and decoded.size % self.elementsize:
            raise settings.fault("elementsize", f"{self.elementsize} does not divide the chunk's {decoded.size} bytes")
        self.encoded = decoded

    def _expand(self, data: Buffer, limit: int) -> Buffer:
        if len(data) > limit:
            raise self.too_long(limit)
        return self._turned(data, self.elementsize)

    def _turned(self, data: Buffer, width: int) -> bytes:
        if len(data) % self.elementsize:
            raise self.damaged(f"{len(data):,} bytes are not a whole number of elements of {self.elementsize}")
        return np.frombuffer(data, np.uint8).reshape(width, -1).T.tobytes() if len(data) else b""

    def encode(self, data: bytes) -> bytes:
        return self._turned(data, len(data) // self.elementsize)


@codec("numcodecs.base64")
class Base64(BytesToBytes):
    """Stores the bytes as Base64 text."""

    def _expand(self, data: Buffer, limit: int) -> Buffer:
        try:
            result = base64.standard_b64decode(bytes(data))
        except ValueError as error:
            raise self.damaged(error) from None
        if len(result) > limit:
            raise self.too_long(limit)
        return result

    def encode(self, data: bytes) -> bytes:
        return base64.standard_b64encode(data)


@codec("numcodecs.crc32")
class Crc32(Checksummed):
    """The CRC-32 checksum of zlib."""

    place = "start"

    def digest(self, data: Buffer) -> bytes:
        return zlib.crc32(data).to_bytes(4, "little")


@codec("numcodecs.adler32")
class Adler32(Checksummed):
    """The Adler-32 checksum of zlib."""

    place = "start"

    def digest(self, data: Buffer) -> bytes:
        return zlib.adler32(data).to_bytes(4, "little")


@codec("numcodecs.fletcher32")
class Fletcher32(Checksummed):
    """The Fletcher-32 checksum, as HDF5 computes it."""

    def digest(self, data: Buffer) -> bytes:
        # numcodecs cannot return the checksum alone: `encode` returns the data followed by it. Like HDF5, it pads data
        # of odd length before it computes the checksum.
        return bytes(needed("numcodecs.fletcher32").Fletcher32().encode(bytes(data)))[-4:]


@codec("numcodecs.jenkins_lookup3")
class JenkinsLookup3(Checksummed):
    """The checksum of Bob Jenkins' lookup3 hash."""

    def __init__(self, settings: CodecSettings, decoded: BytesSpec) -> None:
        super().__init__(settings, decoded)
        self.initval = settings.integer("initval", default=0, low=0, high=(1 << 32) - 1)
        if settings.has("prefix"):
            raise settings.unsupported("prefix", "a prefix to the checksum")

    def digest(self, data: Buffer) -> bytes:
        return int(needed("numcodecs.jenkins").jenkins_lookup3(bytes(data), self.initval)).to_bytes(4, "little")
