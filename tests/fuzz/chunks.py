"""A fuzzer of chunk bytes: the outcome is always elements or a BadChunk that names its codec.

Starts from what every codec's examples (contracts/codec.py) encode to, shards, N5 blocks and nested lists among them,
and breaks it: bits flipped, numbers at the front made huge, pieces cut, doubled, swapped with those of another chunk.
Checksums at the end of a chunk are set right again in half of the cases, so that what lies behind them is reached.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import numpy as np

from contracts.codec import EXAMPLES, Named, attempt, numbers
from contracts.codec import pipeline as made
from zarrscope.codecs import CODECS, CodecPipeline
from zarrscope.codecs.sharding import shard_of
from zarrscope.errors import BadChunk, ZarrscopeError
from zarrscope.model.buffers import Arena, BytesSource

NUMBERS = [0, 1, 2, 7, 16, 255, 256, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1, 1 << 40]


LARGE: list[list[Named]] = [
    [],
    [("gzip", {"level": 1})],
    [("zstd", {"level": 1})],
    [("blosc", {"cname": "lz4", "typesize": 2, "blocksize": 4096})],
    [("blosc", {"cname": "zstd", "shuffle": "bitshuffle", "typesize": 2, "blocksize": 4096}), ("crc32c", {})],
]
"""The number of elements from which a part of a chunk is decoded alone."""


def broken_bytes(r: random.Random, data: bytes, others: Callable[[], bytes]) -> bytes:
    """`data` with one to four faults; `others` are bytes to mix in."""
    out = bytearray(data)
    for _ in range(r.choice((1, 1, 1, 2, 4))):
        at = r.randrange(min(len(out), r.choice((24, 64, 1 << 20))) + 1)
        if r.random() < 0.3:
            at = max(0, len(out) - at)
        match r.randrange(9):
            case 0 | 1:
                if at < len(out):
                    out[at] ^= 1 << r.randrange(8)
            case 2:
                if at < len(out):
                    out[at] = r.randrange(256)
            case 3 | 4:
                width, code = r.choice(((2, "H"), (4, "I"), (8, "Q")))
                if at + width <= len(out):
                    number = r.choice([*NUMBERS, len(out), len(out) - 4, len(out) + 1]) & ((1 << 8 * width) - 1)
                    struct.pack_into(r.choice("<>") + code, out, at, number)
            case 5:
                del out[at : at + r.randrange(1, 40)]
            case 6:
                del out[at:]
            case 7:
                out[at:at] = r.randbytes(r.randrange(1, 20)) * r.choice((1, 1, 50))
            case _:
                other = others()
                cut = r.randrange(len(other) + 1)
                out[at : at + len(other) - cut] = other[cut:]
    return bytes(out)


def checked(r: random.Random, pipeline: CodecPipeline, data: bytes) -> bytes:
    """In half of the cases gives `data` a correct CRC-32C, if the pipeline ends with one or the shard's index has
    one."""
    last, shard = pipeline.codecs[-1].name, shard_of(pipeline)
    if len(data) < 4 or r.random() < 0.5 or (last != "crc32c" and shard is None):
        return data
    import google_crc32c

    start, end = 0, len(data)
    if shard is not None:
        start, end = shard.index_range.span(len(data))
        if end - start < 4:
            return data
    return data[: end - 4] + struct.pack("<I", google_crc32c.value(data[start : end - 4])) + data[end:]


class ChunkFuzzer:
    """`step` raises an error unless the outcome is elements of the right shape or a BadChunk that names its codec."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(f"chunks {seed}")
        self.starts: list[tuple[CodecPipeline, bytes]] = []
        for name, examples in EXAMPLES.items():
            for example in examples if CODECS[name].installed else ():
                pipeline = example.pipeline()
                self.starts.append((pipeline, pipeline.encode(example.elements)))
        self.large = []
        for codecs in LARGE:
            pipeline = made([("bytes", {"endian": "big"}), *codecs], (20, 64, 128), "u2")
            self.large.append((pipeline, pipeline.encode(numbers("u2", pipeline.spec.shape))))
        self.values = self.refusals = self.parts = self.batches = self.cuts = 0

    def step(self) -> None:
        r = self.random
        pipeline, data = r.choice(self.starts)
        damaged = broken_bytes(r, data, lambda: r.choice(self.starts)[1])
        damaged = checked(r, pipeline, damaged)
        if attempt(pipeline, damaged) is None:
            self.refusals += 1
        else:
            self.values += 1
        self._index(pipeline, damaged)
        self._part(pipeline, damaged)
        if r.random() < 0.1:
            pipeline, large = r.choice(self.large)
            self._part(pipeline, broken_bytes(r, large, lambda: data))
            return
        self._many(pipeline, data, damaged)

    def _part(self, pipeline: CodecPipeline, data: bytes) -> None:
        """Decodes the part of the chunk that a random plane or row needs."""
        r = self.random
        selection = tuple(
            slice(0, n, 1) if r.random() < 0.5 else slice(at, at + 1, 1)
            for n in pipeline.spec.shape
            for at in (r.randrange(max(1, n)),)
        )
        window = pipeline.window(selection) if pipeline.spec.count else None
        if window is None:
            return
        try:
            found = pipeline.decode_window(BytesSource(data), window, np.empty(window.size, np.uint8))
            assert found.shape == tuple(part.stop - part.start for part in selection)
            self.parts += 1
            if pipeline.reads_blocks and (cut := pipeline.read_blocks(BytesSource(data), window)) is not None:
                joined = pipeline.decode_blocks([cut] * r.randrange(1, 4), window, self._memory, Arena())
                assert all(np.array_equal(one, found, equal_nan=found.dtype.kind in "fc") for one in joined)
                self.cuts += 1
        except BadChunk as error:
            self._refused(error)

    @staticmethod
    def _memory(size: int) -> np.ndarray:
        return np.empty(size, np.uint8)

    def _many(self, pipeline: CodecPipeline, good: bytes, bad: bytes) -> None:
        """Decodes the damaged chunk together with intact ones."""
        if not pipeline.decodes_many:
            return
        chunks = [good] * self.random.randrange(3) + [bad] + [good] * self.random.randrange(3)
        size = (pipeline.spec.nbytes or 0) * len(chunks)
        try:
            found = pipeline.decode_many(chunks, np.empty(size, np.uint8), Arena())
            assert found.shape == (len(chunks), *pipeline.spec.shape)
            self.batches += 1
        except BadChunk as error:
            self._refused(error)

    def _refused(self, error: BadChunk) -> None:
        self.refusals += 1
        if not error.codec:
            raise AssertionError("the error does not name its codec") from error

    def _index(self, pipeline: CodecPipeline, data: bytes) -> None:
        """Reads single inner chunks as an array does: the index first, then byte ranges."""
        shard = shard_of(pipeline)
        if shard is None:
            return
        try:
            part = shard.index_range.of(data)
            index = shard.decode_index(part)
            for _ in range(3):
                inner = tuple(self.random.randrange(n) for n in shard.grid)
                where = index.locate(inner)
                if where is not None:
                    attempt(shard.inner, where.of(data))
        except ZarrscopeError:
            self.refusals += 1
