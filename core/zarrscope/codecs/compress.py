"""Compression and checksums of bytes: gzip, zlib, blosc, crc32c (zstd.py has its own file for its frames).

Safety (spec F.3 to F.7): nothing is decoded beyond what the chunk can hold. Where a library would believe a length in
the data and allocate it, or read past a cut buffer, the header is checked first.

Speed (perf/README): all of these release the GIL. Each has a fast way and a plain one that is always there:
gzip: libdeflate, isal, zlib · crc32c: google-crc32c, a table in Python.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from struct import pack, unpack_from
from typing import Any, ClassVar

import numpy as np

from zarrscope.codecs import cblosc
from zarrscope.codecs.kinds import Buffer, BytesSpec, BytesToBytes, Octets, codec
from zarrscope.codecs.libraries import library, needed
from zarrscope.codecs.settings import Settings
from zarrscope.errors import BadChunk, ZarrscopeError
from zarrscope.reader import Source

PIECE = 256 * 1024
"""Bytes of a stream that are decoded at once where most of them are only passed over: they stay near the processor."""
HEAD = 4096
"""Bytes of a blosc chunk that are read first: they hold the table of up to 1,000 blocks."""


class Deflated(BytesToBytes):
    """A deflate stream in a wrapper that zlib knows by its window bits, one or several members long (spec F.7)."""

    window: ClassVar[int]
    takes_views = True

    def __init__(self, settings: Settings, decoded: BytesSpec) -> None:
        super().__init__(settings, decoded)
        self.level = self._level(settings)

    def _level(self, settings: Settings) -> int:
        return settings.integer("level", default=5, low=-1, high=9)

    def _expand(self, data: Buffer, limit: int) -> Buffer:
        fast = library("isal.isal_zlib") or zlib
        parts: list[bytes] = []
        total, rest = 0, data
        while True:
            stream: Any = fast.decompressobj(self.window)
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


@codec("gzip", v3="numcodecs.gzip", v2="gzip", draft="gzip", n5="gzip")
class Gzip(Deflated):
    """RFC 1952: members one after the other; zeros may follow the last."""

    window = 31

    def _expand_into(self, data: Buffer, out: Octets) -> None:
        deflate = library("deflate")
        # libdeflate stops at the first member and believes its length field: only where both fit is it used.
        if deflate is not None and int.from_bytes(data[-4:], "little") == out.size:
            try:
                result = deflate.gzip_decompress(data, out.size)
            except Exception:
                result = b""
            if len(result) == out.size:
                out[:] = np.frombuffer(result, np.uint8)
                return
        super()._expand_into(data, out)

    def pays(self, start: int, stop: int) -> bool:
        return 10 * stop <= 9 * (self.decoded.size or 0) and library("isal.igzip_lib") is not None

    def part(self, source: Source, out: Octets, start: int) -> None:
        """One plane of a chunk of 128³ ("XY plane, gzip 128^3"): the stream up to the last byte that is needed.

        That the chunk is whole is known from its last four bytes, the decoded size; anything else is decoded whole.
        """
        data, igzip = source.read(0, source.size), library("isal.igzip_lib")
        if igzip is None or len(data) < 18 or int.from_bytes(data[-4:], "little") != self.decoded.size:
            return super().part(source, out, start)
        stream = igzip.IgzipDecompressor(flag=igzip.DECOMP_GZIP)
        done, stop, rest = 0, start + out.size, data
        try:
            while done < stop and not stream.eof:
                piece = np.frombuffer(stream.decompress(rest, min(PIECE, stop - done)), np.uint8)
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
            super().part(source, out, start)
        return None

    def encode(self, data: bytes) -> bytes:
        stream = zlib.compressobj(self.level, zlib.DEFLATED, self.window)
        return stream.compress(data) + stream.flush()


@codec("numcodecs.zlib", v2="zlib", draft="zlib")
class Zlib(Deflated):
    """RFC 1950."""

    window = 15

    def _level(self, settings: Settings) -> int:
        return settings.integer("level", default=1, low=-1, high=9)

    def encode(self, data: bytes) -> bytes:
        return zlib.compress(data, self.level)


@codec("blosc", v2="blosc", draft="blosc", n5="blosc", needs="numcodecs")
class Blosc(BytesToBytes):
    """One c-blosc 1 buffer. v3 spells the shuffle, v2 and the drafts number it; both are understood."""

    takes_views = True
    shuffles: ClassVar = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2, 0: 0, 1: 1, 2: 2, -1: -1}
    compressors = ("lz4", "lz4hc", "blosclz", "zstd", "snappy", "zlib")

    def __init__(self, settings: Settings, decoded: BytesSpec) -> None:
        super().__init__(settings, decoded)
        self.cname = settings.choice("cname", self.compressors, default="lz4")
        self.clevel = settings.integer("clevel", default=5, low=0, high=9)
        self.shuffle = self.shuffles[settings.choice("shuffle", tuple(self.shuffles), default="shuffle")]
        self.blocksize = settings.integer("blocksize", default=0, low=0, high=(1 << 31) - 1)
        self.typesize = settings.integer("typesize", default=decoded.itemsize, low=1, high=(1 << 31) - 1)

    def _expand_into(self, data: Buffer, out: Octets) -> None:
        self._check_header(data, out.size, exact=True)
        if out.size:
            self._decompress(data, out)

    def _expand(self, data: Buffer, limit: int) -> Buffer:
        out = np.empty(self._check_header(data, limit, exact=False), np.uint8)
        if out.size:
            self._decompress(data, out)
        return out.data

    def pays(self, start: int, stop: int) -> bool:
        return 2 * (stop - start) <= (self.decoded.size or 0)

    def part(self, source: Source, out: Octets, start: int) -> None:
        """One plane of a chunk of 64³ to 128³ ("XY plane", blosc): only the blocks that hold it are read and decoded.

        They are put behind a header and a table of their own, where the library takes them for a whole chunk.
        """
        size = self.decoded.size or 0
        first, last = source.read(0, min(source.size, HEAD)), start + out.size
        self._check_header(first, size, exact=True, whole=source.size)
        if first[2] & 2:  # stored as it is
            found = source.read(16 + start, 16 + last)
            self.check_size(len(found), out.size)
            out[:] = np.frombuffer(found, np.uint8)
            return None
        (block,) = unpack_from("<I", first, 8)
        count = -(-size // block)
        low, high = start // block, -(-last // block)
        if high == count and size % block and low:
            low = min(low, count - 2)  # a shorter last block is known as such only behind another
        if 2 * (high - low) > count:
            return super().part(source, out, start)
        table = 16 + 4 * count
        starts = unpack_from(f"<{count}I", first if table <= len(first) else source.read(0, table), 16)
        blocks = self._blocks(source, starts, low, high)
        places = accumulate(map(len, blocks[:-1]), initial=16 + 4 * len(blocks))
        inner = min(high * block, size) - low * block
        lengths = 16 + 4 * len(blocks) + sum(map(len, blocks))
        cut = b"".join([bytes(first[:4]), pack(f"<{3 + len(blocks)}I", inner, block, lengths, *places), *blocks])
        self._check_header(cut, inner, exact=True)
        decoded = np.empty(inner, np.uint8)
        self._decompress(cut, decoded)
        out[:] = decoded[start - low * block :][: out.size]
        return None

    def _blocks(self, source: Source, starts: Sequence[int], low: int, high: int) -> list[Buffer]:
        """The blocks from `low` to `high`. Threads that compressed a chunk together left them in any order."""
        order = sorted(starts)
        if order[0] < 16 + 4 * len(starts) or order[-1] > source.size - 4:
            raise self.damaged("the table of its blocks points to what is none of them")
        spans = []
        for at in starts[low:high]:
            behind = bisect_right(order, at)
            spans.append((at, order[behind] if behind < len(order) else source.size))
        if sum(end - at for at, end in spans) > source.size:
            raise self.damaged("the blocks overlap")
        blocks = [source.read(*span) for span in spans]
        for data, (at, end) in zip(blocks, spans, strict=True):
            if len(data) != end - at:
                raise self.damaged("the chunk ends within a block")
        return blocks

    def _decompress(self, data: Buffer, out: Octets) -> None:
        try:
            cblosc.decompress(data, out)
        except ZarrscopeError:
            raise
        except Exception as error:
            raise self.damaged(error) from None

    def _check_header(self, data: Buffer, limit: int, *, exact: bool, whole: int | None = None) -> int:
        """The decoded size. The library trusts the header, so it must be true first (spec F.4).

        `whole`: the size of the chunk, where `data` is only its beginning.
        """
        there = len(data) if whole is None else whole
        if len(data) < 16:
            raise self.damaged(f"{len(data)} bytes cannot hold the header of 16")
        version, _, flags, typesize = data[:4]
        size: int
        size, block, stored = unpack_from("<3I", data, 4)
        if version != 2 or typesize < 1 or block > size or (size and block < 1):
            raise self.damaged("the header is not a blosc 1 header")
        if stored != there:
            raise self.damaged(f"the header counts {stored:,} bytes, the chunk has {there:,}")
        if exact:
            self.check_size(size, limit)
        elif size > limit:
            raise self.too_long(limit)
        if flags & 2:
            if stored != size + 16:
                raise self.damaged(f"{stored:,} stored bytes cannot hold {size:,} uncompressed ones")
        elif size and 16 + 4 * -(-size // block) > stored:
            raise self.damaged(f"{stored:,} bytes cannot hold the table of its blocks")
        return size

    def encode(self, data: bytes) -> bytes:
        blosc = needed("numcodecs.blosc")
        # The library takes the element size, which shapes the shuffle, from the buffer it is given.
        whole = len(data) > 0 and len(data) % self.typesize == 0
        source = np.frombuffer(data, np.dtype(f"V{self.typesize if whole else 1}"))
        return bytes(blosc.compress(source, self.cname.encode(), self.clevel, self.shuffle, self.blocksize))


@codec("numcodecs.blosc", needs="numcodecs")
class NumcodecsBlosc(Blosc):
    """blosc with the configuration of numcodecs."""


@cache
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
    """A checksum of `width` bytes, little-endian, before or after the bytes it covers."""

    width = 4
    place = "end"

    def __init__(self, settings: Settings, decoded: BytesSpec) -> None:
        super().__init__(settings, decoded)
        self.at_start = settings.choice("location", ("start", "end"), default=self.place) == "start"
        self.encoded = decoded.longer(self.width)

    def digest(self, data: Buffer) -> bytes:
        raise NotImplementedError

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
            raise self.damaged(f"{len(whole)} bytes cannot hold the checksum of {self.width}")
        if self.at_start:
            body, found = whole[self.width :], bytes(whole[: self.width])
        else:
            body, found = whole[: -self.width], bytes(whole[-self.width :])
        expected = self.digest(body)
        if found != expected:
            raise BadChunk(
                f"{self.name}: the checksum is {found.hex()}, of these {len(body):,} bytes it is {expected.hex()}: "
                "the chunk is damaged",
                codec=self.name,
            )
        return body

    def encode(self, data: bytes) -> bytes:
        return self.digest(data) + data if self.at_start else data + self.digest(data)


@codec("crc32c", v3="numcodecs.crc32c", v2="crc32c")
class Crc32c(Checksummed):
    def digest(self, data: Buffer) -> bytes:
        return crc32c(data).to_bytes(4, "little")
