"""c-blosc 1: chunks of blocks that are compressed each by itself, with a header and a table of where they begin.

The library trusts a header, so it must be true first (spec F.4). And because a table only says where each block begins,
blocks of one chunk or of many can be given a header and a table of their own: that is how parts of chunks are decoded,
many by one call.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from struct import pack, unpack_from
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zarrscope.codecs import cblosc
from zarrscope.codecs.kinds import Buffer, BytesSpec, BytesToBytes, Octets, codec
from zarrscope.codecs.libraries import needed
from zarrscope.codecs.settings import Settings
from zarrscope.errors import ZarrscopeError
from zarrscope.reader import Room, Source

HEAD = 4096
"""Bytes of a chunk that are read first: they hold the table of up to 1,000 blocks."""
STORED = 2
"""The flag of a chunk that is stored as it is, without blocks."""


class Cut(NamedTuple):
    """Some blocks of a chunk, or bytes of one that is stored as it is."""

    head: bytes
    """Version, flags and element size: what holds for every block."""
    block: int
    """Decoded bytes of a block, but perhaps the last."""
    start: int
    size: int
    """What they decode to: from where in the chunk, and how much."""
    data: Buffer
    places: NDArray[Any]
    """Where in the data each block begins."""


@codec("blosc", v2="blosc", draft="blosc", n5="blosc", needs="numcodecs")
class Blosc(BytesToBytes):
    """One c-blosc 1 buffer. v3 spells the shuffle, v2 and the drafts number it; both are understood."""

    takes_views = True
    cuts = True
    shuffles: ClassVar = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2, 0: 0, 1: 1, 2: 2, -1: -1}
    compressors = ("lz4", "lz4hc", "blosclz", "zstd", "snappy", "zlib")

    def __init__(self, settings: Settings, decoded: BytesSpec) -> None:
        super().__init__(settings, decoded)
        self.cname = settings.choice("cname", self.compressors, default="lz4")
        self.quick = self.cname in ("lz4", "lz4hc", "blosclz")
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
        """One plane of a chunk ("xy plane", blosc): only the blocks that hold it are read and decoded."""
        cut = self.cut(source, start, start + out.size)
        if cut is None:
            return super().part(source, out, start)
        decoded = np.empty(cut.size, np.uint8)
        self.join([cut], decoded, None)
        out[:] = decoded[start - cut.start :][: out.size]
        return None

    def cut(self, source: Source, start: int, stop: int) -> Cut | None:
        size = self.decoded.size or 0
        first = source.read(0, min(source.size, HEAD))
        self._check_header(first, size, exact=True, whole=source.size)
        if first[2] & STORED:
            found = source.read(16 + start, 16 + stop)
            self.check_size(len(found), stop - start)
            return Cut(bytes(first[:4]), stop - start, start, stop - start, found, np.zeros(0, "<i4"))
        (block,) = unpack_from("<I", first, 8)
        count = -(-size // block)
        low, high = start // block, -(-stop // block)
        if high == count and size % block and low:
            low = min(low, count - 2)  # a shorter last block is known as such only behind another
        if 2 * (high - low) > count:
            return None
        table = 16 + 4 * count
        starts = np.frombuffer(first if table <= len(first) else source.read(0, table), "<u4", count, 16)
        data, places = self._blocks(source, starts.tolist(), low, high)
        return Cut(bytes(first[:4]), block, low * block, min(high * block, size) - low * block, data, places)

    def _blocks(self, source: Source, starts: list[int], low: int, high: int) -> tuple[Buffer, NDArray[Any]]:
        """Bytes that hold the blocks from `low` to `high`, and where in them each begins."""
        order = sorted(starts)
        if order[0] < 16 + 4 * len(starts) or order[-1] > source.size - 4:
            raise self.damaged("the table of its blocks points to what is none of them")
        wanted, order = starts[low:high], [*order, source.size]
        # Threads that compressed a chunk together left its blocks in any order: each ends where any other begins.
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

    def alike(self, cuts: Sequence[Cut]) -> bool:
        first = cuts[0]
        # A shorter last block is known as such only at the end; and the library counts in 31 bits.
        if len(cuts) > 1 and (first.size % first.block or len(cuts) * first.size > cblosc.LARGEST):
            return False
        return all(cut[:4] == first[:4] and len(cut.places) == len(first.places) for cut in cuts)

    def join(self, cuts: Sequence[Cut], out: Octets, room: Room | None) -> None:
        """Decodes cuts that are `alike` into `out`, one after the other, by one call.

        They get a header and a table, with which the library takes them for one chunk: the table says where each block
        begins, so the blocks stay where in the room they were read to.
        """
        first = cuts[0]
        if not len(first.places):
            for i, cut in enumerate(cuts):
                out[i * cut.size : (i + 1) * cut.size] = np.frombuffer(cut.data, np.uint8)
            return
        table = 16 + 4 * len(cuts) * len(first.places)
        fits = room is not None and table <= room.FRONT and len(room.used()) <= cblosc.LARGEST
        there = [room.offset(cut.data) for cut in cuts] if room is not None and fits else []
        offsets = [at for at in there if at is not None]
        if room is None or len(offsets) < len(cuts):
            offsets = [*accumulate((len(cut.data) for cut in cuts[:-1]), initial=table)]
            data: Any = bytearray().join((bytes(table), *(cut.data for cut in cuts)))
        else:
            data = room.used()
        places = first.places if len(cuts) == 1 else np.concatenate([cut.places for cut in cuts])
        places = places + (offsets[0] if len(cuts) == 1 else np.repeat(np.array(offsets, "<i4"), len(first.places)))
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
        if flags & STORED:
            if stored != size + 16:
                raise self.damaged(f"{stored:,} stored bytes cannot hold {size:,} uncompressed ones")
        elif size and 16 + 4 * -(-size // block) > stored:
            raise self.damaged(f"{stored:,} bytes cannot hold the table of its blocks")
        return size

    def most(self, size: int) -> int | None:
        return size + cblosc.HEADER

    def encode_each(self, chunks: Octets, which: Sequence[int], out: memoryview) -> list[int]:
        """Chunks and shards ("write full, blosc-lz4"): Python's part of an inner chunk is 2 µs instead of 6."""
        whole = chunks.shape[1] > 0 and chunks.shape[1] % self.typesize == 0
        typesize = self.typesize if whole else 1
        shuffle = self.shuffle if self.shuffle >= 0 else 2 if typesize == 1 else 1
        name = self.cname.encode()
        sizes = cblosc.compress(chunks, which, out, name, self.clevel, shuffle, typesize, self.blocksize)
        if not sizes:
            blosc, at = needed("numcodecs.blosc"), 0
            for i in which:
                # It takes the element size, which shapes the shuffle, from the buffer it is given.
                source = chunks[i].view(np.dtype((np.void, typesize)))
                made = blosc.compress(source, name, self.clevel, self.shuffle, self.blocksize)
                out[at : at + len(made)] = made
                at += len(made)
                sizes.append(len(made))
        return sizes

    def encode(self, data: bytes) -> bytes:
        out = np.empty(len(data) + cblosc.HEADER, np.uint8).data
        return bytes(out[: self.encode_each(np.frombuffer(data, np.uint8).reshape(1, -1), (0,), out)[0]])


@codec("numcodecs.blosc", needs="numcodecs")
class NumcodecsBlosc(Blosc):
    """blosc with the configuration of numcodecs."""
