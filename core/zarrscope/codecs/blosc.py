"""c-blosc 1: a buffer holds a header, a table of offsets, and blocks, each of which is compressed by itself.

Specification: https://zarr-specs.readthedocs.io/en/latest/v3/codecs/blosc/index.html

    {"data_type": "uint16", "codecs": [
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2,
                                            "blocksize": 0}}]}

The library trusts the header, so it is checked before every call (spec F.4). Because the table only states where each
block begins, blocks of several chunks can be put under one new header and table. One call then decodes parts of many
chunks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from struct import pack, unpack_from
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrscope.codecs import cblosc
from zarrscope.codecs.codec import Buffer, BytesSpec, BytesToBytes, Octets, codec
from zarrscope.codecs.native import needed
from zarrscope.codecs.settings import CodecSettings
from zarrscope.errors import Unsupported, ZarrscopeError
from zarrscope.model.buffers import Arena, RangeReadable
from zarrscope.runtime.named_tuple import NamedTuple
from zarrscope.runtime.tuning import BLOSC_HEAD

if TYPE_CHECKING:
    from numpy.typing import NDArray

STORED = 2
"""The bit in the header's flags that marks a chunk stored uncompressed, without blocks."""


class EncodedBlocks(NamedTuple):
    """Some encoded blocks of a chunk, or bytes of a chunk that blosc stored uncompressed."""

    head: bytes
    """The first four bytes of the header: version, flags and element size, which apply to every block."""
    block: int
    """Decoded bytes of a block; the last block may be shorter."""
    start: int
    size: int
    """The number of decoded bytes; the first one lies at `start` in the decoded chunk."""
    data: Buffer
    places: NDArray[Any]
    """The offset of each block in `data`."""


@codec("blosc")
class Blosc(BytesToBytes):
    """Stores a chunk as one c-blosc 1 buffer. The configuration states the shuffle by a name (v3) or by a number (v2
    and the drafts); both are accepted."""

    accepts_views = True
    reads_blocks = True
    shuffles: ClassVar = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2, 0: 0, 1: 1, 2: 2, -1: -1}
    compressors = ("lz4", "lz4hc", "blosclz", "zstd", "snappy", "zlib")

    def __init__(self, settings: CodecSettings, decoded: BytesSpec) -> None:
        super().__init__(settings, decoded)
        self.cname = settings.choice("cname", self.compressors, default="lz4")
        self.fast = self.cname in ("lz4", "lz4hc", "blosclz")
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

    def supports_partial(self, start: int, stop: int) -> bool:
        return 2 * (stop - start) <= (self.decoded.size or 0)

    def decode_partial(self, source: RangeReadable, out: Octets, start: int) -> None:
        """Reads and decodes only the blocks that hold the wanted bytes (benchmark "xy plane", blosc)."""
        part = self.read_blocks(source, start, start + out.size)
        if part is None:
            return super().decode_partial(source, out, start)
        decoded = np.empty(part.size, np.uint8)
        self.decode_blocks([part], decoded, None)
        out[:] = decoded[start - part.start :][: out.size]
        return None

    def read_blocks(self, source: RangeReadable, start: int, stop: int) -> EncodedBlocks | None:
        size = self.decoded.size or 0
        first = source.read(0, min(source.size, BLOSC_HEAD))
        self._check_header(first, size, exact=True, whole=source.size)
        if first[2] & STORED:
            found = source.read(16 + start, 16 + stop)
            self.check_size(len(found), stop - start)
            return EncodedBlocks(bytes(first[:4]), stop - start, start, stop - start, found, np.zeros(0, "<i4"))
        (block,) = unpack_from("<I", first, 8)
        count = -(-size // block)
        low, high = start // block, -(-stop // block)
        if high == count and size % block and low:
            low = min(low, count - 2)  # the library recognises a short last block only if another block precedes it
        if 2 * (high - low) > count:
            return None
        table = 16 + 4 * count
        starts = np.frombuffer(first if table <= len(first) else source.read(0, table), "<u4", count, 16)
        data, places = self._blocks(source, starts.tolist(), low, high)
        return EncodedBlocks(bytes(first[:4]), block, low * block, min(high * block, size) - low * block, data, places)

    def _blocks(self, source: RangeReadable, starts: list[int], low: int, high: int) -> tuple[Buffer, NDArray[Any]]:
        """Reads the bytes of the blocks number `low` to `high`; returns them with the offset of each block."""
        order = sorted(starts)
        if order[0] < 16 + 4 * len(starts) or order[-1] > source.size - 4:
            raise self.damaged("the table of its blocks points outside the blocks")
        wanted, order = starts[low:high], [*order, source.size]
        # If several threads compressed a chunk, its blocks lie in any order. A block ends where the block that lies
        # after it begins.
        at = bisect_left(order, wanted[0])
        if wanted == order[at : at + len(wanted)]:
            spans = [(wanted[0], order[at + len(wanted)])]
        else:
            spans = [(start, order[bisect_right(order, start)]) for start in wanted]
        if sum(end - start for start, end in spans) > source.size:
            raise self.damaged("the blocks overlap")
        found = [source.read(*span) for span in spans]
        for data, (start, end) in zip(found, spans, strict=True):
            if len(data) != end - start:
                raise self.damaged("the chunk ends within a block")
        if len(found) == 1:
            return found[0], np.array(wanted, "<i4") - wanted[0]
        return b"".join(found), np.fromiter(accumulate(map(len, found[:-1]), initial=0), "<i4", len(found))

    def can_merge(self, parts: Sequence[EncodedBlocks]) -> bool:
        first = parts[0]
        # c-blosc allows only the last block of a buffer to be short, and limits sizes to 31 bits.
        if len(parts) > 1 and (first.size % first.block or len(parts) * first.size > cblosc.LARGEST):
            return False
        return all(part[:4] == first[:4] and len(part.places) == len(first.places) for part in parts)

    def decode_blocks(self, parts: Sequence[EncodedBlocks], out: Octets, arena: Arena | None) -> None:
        """Decodes `parts`, for which `can_merge` is true, into `out`, one after the other, by one call.

        They get a common header and table, so that the library treats them as one chunk. The table states where each
        block begins, so the blocks need not be moved within the arena.
        """
        first = parts[0]
        if not len(first.places):
            for i, part in enumerate(parts):
                out[i * part.size : (i + 1) * part.size] = np.frombuffer(part.data, np.uint8)
            return
        table = 16 + 4 * len(parts) * len(first.places)
        fits = arena is not None and table <= arena.FRONT and len(arena.used()) <= cblosc.LARGEST
        there = [arena.offset(part.data) for part in parts] if arena is not None and fits else []
        offsets = [at for at in there if at is not None]
        if arena is None or len(offsets) < len(parts):
            offsets = [*accumulate((len(part.data) for part in parts[:-1]), initial=table)]
            data: bytearray | memoryview = bytearray().join((bytes(table), *(part.data for part in parts)))
        else:
            data = arena.used()
        places = first.places if len(parts) == 1 else np.concatenate([part.places for part in parts])
        places = places + (offsets[0] if len(parts) == 1 else np.repeat(np.array(offsets, "<i4"), len(first.places)))
        data[:16] = first.head + pack("<3I", out.size, first.block, len(data))
        data[16:table] = places.tobytes()
        self._decompress(data, out)

    def _decompress(self, data: Buffer, out: Octets) -> None:
        try:
            cblosc.decompress(data, out)
        except ZarrscopeError:
            raise
        except Exception as error:
            raise self.damaged(error) from None

    def _check_header(self, data: Buffer, limit: int, *, exact: bool, whole: int | None = None) -> int:
        """Checks the header and returns the decoded size: the library trusts the header (spec F.4).

        `whole`: the size of the chunk, if `data` is only its beginning.
        """
        there = len(data) if whole is None else whole
        if len(data) < 16:
            raise self.damaged(f"{len(data)} bytes cannot hold the header of 16 bytes")
        version, _, flags, typesize = data[:4]
        size: int
        size, block, stored = unpack_from("<3I", data, 4)
        if version != 2 or typesize < 1 or block > size or (size and block < 1):
            raise self.damaged("the header is not a blosc 1 header")
        if stored != there:
            raise self.damaged(f"the header states {stored:,} bytes, but the chunk has {there:,}")
        if exact:
            self.check_size(size, limit)
        elif size > limit:
            raise self.too_long(limit)
        if flags & STORED:
            if stored != size + 16:
                raise self.damaged(f"{stored:,} stored bytes cannot hold {size:,} uncompressed ones")
        elif size and 16 + 4 * -(-size // block) > stored:
            raise self.damaged(f"{stored:,} bytes cannot hold the table of its blocks")
        return size

    def need_encoding(self) -> None:
        blosc = needed("numcodecs.blosc")
        if self.cname not in blosc.list_compressors():
            raise Unsupported(
                f"The blosc library that is installed here has no {self.cname}: nothing could be written",
                feature=f"blosc with {self.cname}",
                pointer="/configuration/cname",
                advice=f"Choose one of {', '.join(blosc.list_compressors())}.",
            )

    def max_encoded_size(self, size: int) -> int | None:
        return size + cblosc.HEADER

    def encode_many(self, chunks: Octets, which: Sequence[int], out: memoryview) -> list[int]:
        """Encodes several chunks at once, so that Python takes 2 µs per inner chunk instead of 6 (benchmark "write
        full, blosc-lz4").
        """
        whole = chunks.shape[1] > 0 and chunks.shape[1] % self.typesize == 0
        typesize = self.typesize if whole else 1
        shuffle = self.shuffle if self.shuffle >= 0 else 2 if typesize == 1 else 1
        name = self.cname.encode()
        sizes = cblosc.compress(chunks, which, out, name, self.clevel, shuffle, typesize, self.blocksize)
        if not sizes:
            blosc, at = needed("numcodecs.blosc"), 0
            for i in which:
                # numcodecs takes the element size, on which the shuffle depends, from the buffer that it is given.
                source = chunks[i].view(np.dtype((np.void, typesize)))
                made = blosc.compress(source, name, self.clevel, self.shuffle, self.blocksize)
                out[at : at + len(made)] = made
                at += len(made)
                sizes.append(len(made))
        return sizes

    def encode(self, data: bytes) -> bytes:
        out = np.empty(len(data) + cblosc.HEADER, np.uint8).data
        return bytes(out[: self.encode_many(np.frombuffer(data, np.uint8).reshape(1, -1), (0,), out)[0]])


@codec("numcodecs.blosc")
class NumcodecsBlosc(Blosc):
    """blosc with the configuration of numcodecs."""
