"""Compression and checksums of bytes: gzip, zlib, crc32c. (blosc and zstd are in blosc.py and zstd.py.)

Specification: https://zarr-specs.readthedocs.io/en/latest/v3/codecs/gzip/index.html (RFC 1952), https://zarr-specs.readthedocs.io/en/latest/v3/codecs/crc32c/index.html
(RFC 3720); zlib (RFC 1950): https://numcodecs.readthedocs.io/en/stable/

    {"data_type": "uint16", "codecs": [
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "numcodecs.zlib", "configuration": {"level": 1}},
        {"name": "gzip", "configuration": {"level": 5}},
        {"name": "crc32c"}]}

Safety (spec F.3 to F.7): nothing is decoded beyond the size of the chunk. If a library would allocate memory for any
length that the data state, or read past a cut buffer, the header is checked first.

Speed: a fast library does the work if it is installed, and releases the GIL. Otherwise there is a fallback. gzip uses
libdeflate, isal or at last zlib; crc32c uses google-crc32c or a table in Python.
"""

from __future__ import annotations

import zlib
from typing import ClassVar

import numpy as np

from zarrscope.codecs.codec import Buffer, BytesSpec, BytesToBytes, Octets, codec
from zarrscope.codecs.native import library
from zarrscope.codecs.settings import CodecSettings
from zarrscope.errors import BadChunk
from zarrscope.model.buffers import RangeReadable
from zarrscope.runtime.memo import memoized
from zarrscope.runtime.tuning import INFLATED_PIECE


class Deflated(BytesToBytes):
    """A deflate stream of one or several members, in a wrapper that zlib selects by its argument `wbits` (spec F.7)."""

    window: ClassVar[int]
    accepts_views = True
    checksummed = True

    def __init__(self, settings: CodecSettings, decoded: BytesSpec) -> None:
        super().__init__(settings, decoded)
        self.level = self._level(settings)

    def _level(self, settings: CodecSettings) -> int:
        return settings.integer("level", default=5, low=-1, high=9)

    def _expand(self, data: Buffer, limit: int) -> Buffer:
        fast = library("isal.isal_zlib") or zlib
        parts: list[bytes] = []
        total, rest = 0, data
        while True:
            stream: zlib._Decompress = fast.decompressobj(self.window)
            while not stream.eof:
                try:
                    part = stream.decompress(rest, limit + 1 - total)
                except Exception as error:
                    raise self.damaged(error) from None
                rest = stream.unconsumed_tail
                total += len(part)
                if total > limit:
                    raise self.too_long(limit)
                parts.append(part)
                if not stream.eof and not rest and not part:
                    raise self.damaged("the stream is cut off")
            rest = stream.unused_data
            if not rest or not bytes(rest).strip(b"\0"):
                return parts[0] if len(parts) == 1 else b"".join(parts)
            if self.window != 31:
                raise self.damaged(f"{len(rest)} bytes follow the end of the stream")


@codec("gzip")
class Gzip(Deflated):
    """Deflate in the wrapper of gzip (RFC 1952): one or several members. Zeros may follow the last one."""

    window = 31

    def _expand_into(self, data: Buffer, out: Octets) -> None:
        deflate = library("deflate")
        # libdeflate stops after the first member and trusts its length field. So it is used only if that field states
        # the expected size.
        if deflate is not None and int.from_bytes(data[-4:], "little") == out.size:
            try:
                result = deflate.gzip_decompress(data, out.size)
            except Exception:
                result = b""
            if len(result) == out.size:
                out[:] = np.frombuffer(result, np.uint8)
                return
        super()._expand_into(data, out)

    def supports_partial(self, start: int, stop: int) -> bool:
        return 10 * stop <= 9 * (self.decoded.size or 0) and library("isal.igzip_lib") is not None

    def decode_partial(self, source: RangeReadable, out: Octets, start: int) -> None:
        """Decodes the stream only up to the last byte that is needed, for example for one plane of a chunk of 128³
        (benchmark "XY plane, gzip 128^3").

        The last four bytes of the stream hold the decoded size. If they hold another number, the whole chunk is
        decoded.
        """
        data, igzip = source.read(0, source.size), library("isal.igzip_lib")
        if igzip is None or len(data) < 18 or int.from_bytes(data[-4:], "little") != self.decoded.size:
            return super().decode_partial(source, out, start)
        stream = igzip.IgzipDecompressor(flag=igzip.DECOMP_GZIP)
        done, stop, rest = 0, start + out.size, data
        try:
            while done < stop and not stream.eof:
                piece = np.frombuffer(stream.decompress(rest, min(INFLATED_PIECE, stop - done)), np.uint8)
                if not piece.size and not rest:
                    break
                rest = b""
                low, high = max(done, start), done + piece.size
                if low < high:
                    out[low - start : high - start] = piece[low - done :]
                done = high
        except Exception as error:
            raise self.damaged(error) from None
        if done < stop:  # the first member of several ends here
            super().decode_partial(source, out, start)
        return None

    def encode(self, data: bytes) -> bytes:
        stream = zlib.compressobj(self.level, zlib.DEFLATED, self.window)
        return stream.compress(data) + stream.flush()


@codec("numcodecs.zlib")
class Zlib(Deflated):
    """Deflate in the wrapper of zlib (RFC 1950)."""

    window = 15

    def _level(self, settings: CodecSettings) -> int:
        return settings.integer("level", default=1, low=-1, high=9)

    def encode(self, data: bytes) -> bytes:
        return zlib.compress(data, self.level)


@memoized(1)
def _castagnoli() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return tuple(table)


def crc32c(data: Buffer) -> int:
    """CRC-32C (Castagnoli, RFC 3720) of the bytes."""
    google = library("google_crc32c")
    if google is not None:
        return int(google.value(bytes(data)))
    table, value = _castagnoli(), 0xFFFFFFFF
    for byte in bytes(data):
        value = value >> 8 ^ table[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


class Checksummed(BytesToBytes):
    """A codec that adds a checksum of `width` bytes, little-endian, before or after the bytes that it covers."""

    width = 4
    place = "end"
    checksummed = True

    def __init__(self, settings: CodecSettings, decoded: BytesSpec) -> None:
        super().__init__(settings, decoded)
        self.at_start = settings.choice("location", ("start", "end"), default=self.place) == "start"
        self.encoded = decoded.longer(self.width)

    def digest(self, data: Buffer) -> bytes:
        """The checksum of the bytes, `width` bytes long and little-endian."""
        raise NotImplementedError  # each checksum overrides this

    def decode(self, data: Buffer) -> Buffer:
        body = self._verified(data)
        if self.decoded.size is not None:
            self.check_size(len(body), self.decoded.size)
        return body

    def decode_into(self, data: Buffer, out: Octets) -> None:
        body = self._verified(data)
        self.check_size(len(body), out.size)
        out[:] = np.frombuffer(body, np.uint8)

    def _verified(self, data: Buffer) -> memoryview:
        whole = memoryview(data)
        if len(whole) < self.width:
            raise self.damaged(f"{len(whole)} bytes cannot hold the checksum of {self.width} bytes")
        if self.at_start:
            body, found = whole[self.width :], bytes(whole[: self.width])
        else:
            body, found = whole[: -self.width], bytes(whole[-self.width :])
        expected = self.digest(body)
        if found != expected:
            raise BadChunk(
                f"{self.name}: the stored checksum is {found.hex()}, but that of the {len(body):,} bytes is "
                f"{expected.hex()}: the chunk is damaged",
                codec=self.name,
            )
        return body

    def encode(self, data: bytes) -> bytes:
        return self.digest(data) + data if self.at_start else data + self.digest(data)


@codec("crc32c")
class Crc32c(Checksummed):
    """Adds the CRC-32C checksum, little-endian, after the bytes that it covers."""

    def digest(self, data: Buffer) -> bytes:
        return crc32c(data).to_bytes(4, "little")
