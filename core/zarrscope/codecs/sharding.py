"""The codec sharding_indexed: a shard holds inner chunks and an index of their byte ranges (spec A.6.1, C.1, F.13).

Specification: https://zarr-specs.readthedocs.io/en/latest/v3/codecs/sharding-indexed/index.html

    {"data_type": "uint16", "codecs": [
        {"name": "sharding_indexed", "configuration": {
            "chunk_shape": [2, 3],
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
            "index_location": "end"}}]}

A shard holds the encoded inner chunks in any order, possibly with gaps, and an index at its end or start. For each
inner chunk, in C order, the index holds the offset and the length as uint64. If both are 2^64−1, the inner chunk is
absent: all its elements have the fill value. The storage transformer of 2022 has the same format, with `index_codecs`
of little-endian bytes and no checksum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from zarrscope.codecs.codec import (
    ArraySpec,
    ArrayToBytes,
    Buffer,
    BytesSpec,
    Elements,
    codec,
    is_fill,
)
from zarrscope.codecs.pipeline import PLAIN, CodecPipeline
from zarrscope.codecs.settings import CodecSettings
from zarrscope.errors import BadChunk, BadMetadata
from zarrscope.model.dtype import DataType, Fill
from zarrscope.model.selection import ChunkIndex
from zarrscope.model.storage import ByteRange
from zarrscope.runtime.tuning import INDEX_ENTRIES_AT_ONCE, SPANS_AT_ONCE

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_ENTRIES = 1 << 24
SLACK = 64 * 1024
"""Bytes that are read beyond the size of the largest valid inner chunk, so that a codec can report that one is too
long."""
NOWHERE = (1 << 64) - 1
NAME = "sharding_indexed"


_MOST_OVERLAPS = 1000
"""The most overlaps that are reported per shard."""


StoredSpan = tuple[int, int] | None
"""The byte range (start, stop) of an inner chunk in its shard; None if it is not stored."""


class _Spans(Sequence[StoredSpan]):
    """The byte ranges of very many inner chunks: a tuple for each of them would take 150 bytes."""

    def __init__(
        self, offsets: npt.NDArray[np.uint64], lengths: npt.NDArray[np.uint64], stored: npt.NDArray[np.bool_]
    ) -> None:
        self._offsets, self._lengths, self._stored = offsets, lengths, stored

    def __len__(self) -> int:
        return len(self._offsets)

    @overload
    def __getitem__(self, index: int) -> StoredSpan: ...

    @overload
    def __getitem__(self, index: slice) -> list[StoredSpan]: ...

    def __getitem__(self, index: int | slice) -> StoredSpan | list[StoredSpan]:
        if isinstance(index, int):
            return self[index : index + 1 or None][0]
        parts = self._offsets[index].tolist(), self._lengths[index].tolist(), self._stored[index].tolist()
        return [(start, start + length) if there else None for start, length, there in zip(*parts, strict=True)]

    def __iter__(self) -> Iterator[StoredSpan]:
        for start in range(0, len(self), SPANS_AT_ONCE):
            yield from self[start : start + SPANS_AT_ONCE]


class ShardIndex:
    """The byte range of each inner chunk within its shard, from the shard's start; checked on access (F.13)."""

    __slots__ = ("_at_start", "_index_size", "_most", "_size", "entries")

    def __init__(
        self, entries: npt.NDArray[np.uint64], index_size: int, at_start: bool, size: int | None, most: int = NOWHERE
    ) -> None:
        """`most`: the largest possible size of an encoded inner chunk, in bytes."""
        self.entries = entries
        """The offset and the length of each inner chunk: uint64, of shape grid + (2,)."""
        self._index_size = index_size
        self._at_start = at_start
        self._size = size
        self._most = most

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """A mask, in the shape of the grid, of the inner chunks that are present."""
        present: npt.NDArray[np.bool_] = (self.entries[..., 0] != NOWHERE) | (self.entries[..., 1] != NOWHERE)
        return present

    def judged(self, region: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Two masks over the entries of `region` in C order: the valid ones, and those that are present but invalid
        (`locate` raises the reason)."""
        pairs = region.reshape(-1, 2)
        good, bad = np.empty(len(pairs), bool), np.empty(len(pairs), bool)
        for at in range(0, len(pairs), INDEX_ENTRIES_AT_ONCE):
            here = slice(at, at + INDEX_ENTRIES_AT_ONCE)
            good[here], bad[here] = self._judged(pairs[here, 0], pairs[here, 1])
        return good, bad

    def _judged(
        self, offsets: npt.NDArray[np.uint64], lengths: npt.NDArray[np.uint64]
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        far = np.uint64((1 << 63) - 1)
        high = far if self._size is None else np.uint64(self._size - (0 if self._at_start else self._index_size))
        low = np.uint64(self._index_size if self._at_start else 0)
        good: npt.NDArray[np.bool_] = (
            (offsets >= low) & (offsets <= high) & (lengths <= high - np.minimum(offsets, high))
        )
        good &= lengths <= np.uint64(min(self._most, NOWHERE))
        return good, ~good & ((offsets != NOWHERE) | (lengths != NOWHERE))

    def overlaps(self) -> list[tuple[int, int, bool]]:
        """Pairs of overlapping inner chunks by their numbers in C order: (the first, the one that begins within it,
        whether both are the same bytes). Invalid entries are skipped."""
        numbers = np.flatnonzero(self.present)
        offsets, lengths = self.entries.reshape(-1, 2)[numbers].T
        good = (lengths > 0) & (offsets < np.uint64(1 << 62)) & (lengths < np.uint64(1 << 62))
        numbers, starts, ends = numbers[good], offsets[good], offsets[good] + lengths[good]
        order = np.lexsort((numbers, starts))
        numbers, starts, ends = numbers[order], starts[order], ends[order]
        reach = np.maximum.accumulate(ends)
        furthest = np.maximum.accumulate(np.where(ends == reach, np.arange(len(ends)), 0))
        found = []
        for at in (np.flatnonzero(starts[1:] < reach[:-1]) + 1)[:_MOST_OVERLAPS].tolist():
            other = furthest[at - 1]
            same = bool(starts[other] == starts[at] and ends[other] == ends[at])
            found.append((int(numbers[other]), int(numbers[at]), same))
        return found

    def locate(self, index: ChunkIndex) -> ByteRange | None:
        """The byte range of an inner chunk; None if it is absent. Raises BadChunk for an invalid entry.

        If the shard's size is unknown, an entry beyond its end is not noticed here; reading it gives too few bytes.
        """
        offset, length = self.entries[index].tolist()
        if offset == NOWHERE and length == NOWHERE:
            return None
        problem = self._problem(offset, length)
        if problem:
            raise BadChunk(
                f"{NAME}: the index places inner chunk {index} at byte {offset:,}, {length:,} long: {problem}",
                codec=NAME,
            )
        return ByteRange(offset, length)

    def locate_many(self, indices: Sequence[Sequence[int]]) -> Sequence[StoredSpan]:
        """The byte ranges (start, stop) of the inner chunks of a region, in C order. `indices` holds the indices along
        each axis. Raises BadChunk, as `locate` does."""
        if all(len(some) == 1 for some in indices):
            found = self.locate(tuple(some[0] for some in indices))
            return [None if found is None else found.span(1 << 63)]
        region = self.entries[np.ix_(*indices)].reshape(-1, 2)
        offsets, lengths = region[:, 0], region[:, 1]
        good, bad = self.judged(region)
        for wrong in np.flatnonzero(bad)[:1]:
            at = np.unravel_index(int(wrong), [len(some) for some in indices])
            self.locate(tuple(some[int(i)] for some, i in zip(indices, at, strict=True)))
        spans = _Spans(offsets, lengths, good)
        return spans if len(spans) > SPANS_AT_ONCE else spans[:]

    def _problem(self, offset: int, length: int) -> str | None:
        if offset == NOWHERE or length == NOWHERE:
            return "only one of its two numbers marks it as absent"
        if offset + length > (1 << 63) - 1:
            return "that is beyond any shard"
        low = self._index_size if self._at_start else 0
        high = NOWHERE
        if self._size is not None:
            high = self._size if self._at_start else self._size - self._index_size
        if offset < low:
            return "the index itself lies there"
        if offset + length > high:
            return f"the chunks end at byte {high:,}"
        if length > self._most:
            return f"a chunk encodes to {self._most:,} bytes at most"
        return None

    def __reduce__(self) -> tuple[Any, ...]:
        return ShardIndex, (self.entries, self._index_size, self._at_start, self._size, self._most)


class Shard:
    """The layout of one shard: finds, reads and writes an inner chunk without decoding the others."""

    def __init__(
        self, grid: ChunkIndex, inner: CodecPipeline, index: CodecPipeline, at_start: bool, spec: ArraySpec
    ) -> None:
        self.grid = grid
        """The number of inner chunks per shard along each axis."""
        self.inner = inner
        self._index = index
        assert index.encoded.size is not None
        self.index_size: int = index.encoded.size
        """The size of the encoded index in bytes."""
        self.at_start = at_start
        self.spec = spec

    @property
    def index_range(self) -> ByteRange:
        """The bytes of the encoded index within the shard: its first or its last `index_size` bytes."""
        return ByteRange(0, self.index_size) if self.at_start else ByteRange.last(self.index_size)

    def decode_index(self, data: Buffer, size: int | None = None) -> ShardIndex:
        """Decodes the index from its bytes, which lie at `index_range` of the shard. The shard's `size`, if known,
        allows stricter checks.
        """
        if len(data) != self.index_size:
            raise BadChunk(
                f"{NAME}: the shard has {len(data):,} bytes of index where {self.index_size:,} are expected: "
                "it is cut off",
                codec=NAME,
            )
        most = self.inner.encoded.limit + SLACK
        entries = self._index.decode_view(data) if self._index.is_flat else self._index.decode(data)
        return ShardIndex(entries, self.index_size, self.at_start, size, most)

    def split(self, data: Buffer) -> dict[ChunkIndex, memoryview]:
        """The encoded inner chunks that are present in a whole shard."""
        whole = memoryview(data)
        if len(whole) < self.index_size:
            raise BadChunk(
                f"{NAME}: the shard has {len(whole):,} bytes, its index alone {self.index_size:,}", codec=NAME
            )
        found = self.decode_index(
            whole[: self.index_size] if self.at_start else whole[len(whole) - self.index_size :], len(whole)
        )
        chunks = {}
        for index in map(tuple, np.argwhere(found.present).tolist()):
            part = found.locate(index)
            assert part is not None
            assert part.start is not None
            assert part.length is not None
            chunks[index] = whole[part.start : part.start + part.length]
        return chunks

    def assemble(self, chunks: Mapping[ChunkIndex, Buffer]) -> bytes:
        """A shard made of these encoded inner chunks, in C order, and its index. All other inner chunks are absent."""
        return b"".join(self.parts(chunks))

    def parts(self, chunks: Mapping[ChunkIndex, Buffer]) -> list[Buffer]:
        """The pieces of a shard made of these encoded inner chunks, in order. Joined, they equal the result of
        `assemble`."""
        entries = np.full((*self.grid, 2), NOWHERE, np.uint64)
        at = self.index_size if self.at_start else 0
        parts: list[Buffer] = []
        for index in sorted(chunks):
            data = chunks[index]
            entries[index] = at, len(data)
            at += len(data)
            parts.append(data)
        encoded = self._index.encode(entries)
        return [encoded, *parts] if self.at_start else [*parts, encoded]

    def indices(self) -> Iterator[ChunkIndex]:
        """All inner chunks in C order."""
        return product(*map(range, self.grid))

    def place(self, index: ChunkIndex) -> tuple[slice, ...]:
        """The elements of the shard that an inner chunk holds."""
        return tuple(slice(i * n, (i + 1) * n) for i, n in zip(index, self.inner.spec.shape, strict=True))


@codec(NAME)
class Sharding(ArrayToBytes):
    """The codec sharding_indexed: a chunk stored as a shard of inner chunks with an index."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded)
        shape = settings.integers("chunk_shape", length=len(decoded.shape), low=1)
        for whole, part in zip(decoded.shape, shape, strict=True):
            if whole % part:
                raise settings.fault("chunk_shape", f"{list(shape)} does not divide the shard {list(decoded.shape)}")
        grid = tuple(whole // part for whole, part in zip(decoded.shape, shape, strict=True))
        if prod(grid) > MAX_ENTRIES:
            raise settings.fault("chunk_shape", f"makes {prod(grid):,} chunks per shard; the limit is {MAX_ENTRIES:,}")
        try:
            budget = settings.budget.deeper()
        except BadMetadata as error:
            raise error.beneath(settings.pointer("codecs")) from None
        inner = CodecPipeline(
            settings.codecs("codecs", default=[]),
            ArraySpec(shape, decoded.dtype, decoded.fill),
            at=settings.pointer("codecs"),
            implicit=True,
            budget=budget,
        )
        index = CodecPipeline(
            settings.codecs("index_codecs", default=[PLAIN]),
            ArraySpec((*grid, 2), DataType("uint64", np.dtype("u8"), 8), Fill(np.uint64(NOWHERE))),
            at=settings.pointer("index_codecs"),
            implicit=True,
            budget=budget,
        )
        if index.encoded.size is None:
            raise settings.fault("index_codecs", "must give an index of fixed size, so they cannot compress it")
        at_start = settings.choice("index_location", ("end", "start"), default="end") == "start"
        self.shard = Shard(grid, inner, index, at_start, decoded)
        self.encoded = BytesSpec(None, inner.encoded.limit * prod(grid) + index.encoded.size)
        self.checksummed = inner.checksummed

    def need_encoding(self) -> None:
        self.shard.inner.need_encoding()

    def decode(self, data: Buffer, out: Elements | None) -> Elements:
        shard = self.shard
        if out is None:
            out = np.empty(self.decoded.shape, self.decoded.numpy)
        chunks = shard.split(data)
        if len(chunks) < prod(shard.grid):
            out[...] = self.decoded.fill.value
        for index, part in chunks.items():
            shard.inner.decode(part, out[shard.place(index)])
        return out

    def encode(self, array: Elements) -> bytes:
        shard = self.shard
        chunks = {}
        for index in shard.indices():
            part = array[shard.place(index)]
            if not is_fill(part, self.decoded.fill):
                chunks[index] = shard.inner.encode(part)
        return shard.assemble(chunks)


def shard_of(pipeline: CodecPipeline) -> Shard | None:
    """The layout of the pipeline's shards, for reading inner chunks by byte range; None if that is not possible."""
    return pipeline.alone.shard if isinstance(pipeline.alone, Sharding) else None
