"""Checks shards of very many inner chunks (up to 2^24, nested ones too) by the entries in their indexes.

Each index is read once and examined as arrays of numbers, which shows the entries that cannot be valid, the inner
chunks that overlap, and those that share all their bytes. Each stored inner chunk is then read in file order and
decoded; where elements are stored unencoded, checking its length is enough. Inner chunks that are not stored take no
time. One shard of 2^24 inner chunks takes about 700 MiB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.check.finding import Finding, failed_chunk
from zarrscope.errors import BadChunk, ZarrscopeError
from zarrscope.model.buffers import Arena
from zarrscope.model.storage import ByteRange
from zarrscope.runtime.tuning import CHECKED_GAP, CHECKED_INNER_CHUNKS, CHECKED_RANGE_BYTES

if TYPE_CHECKING:
    from typing import Literal

    from numpy.typing import NDArray

    from zarrscope.chunkio.locator import EncodedChunk
    from zarrscope.model.selection import ChunkIndex
    from zarrscope.nodes.array import Array

COMPARED = 1000
"""The most overlaps that are examined to find one with different bytes."""


class LargeShard:
    """One shard of the grid. `decoded` gives the finding for a damaged inner chunk; after `max_findings` the check
    stops."""

    def __init__(
        self,
        array: Array,
        chunk: ChunkIndex,
        decoded: Callable[[ChunkIndex, EncodedChunk], Finding | None],
        cancelled: Callable[[], bool],
        max_findings: int,
    ) -> None:
        self.array, self.chunk = array, chunk
        self.decoded, self.cancelled, self.max_findings = decoded, cancelled, max_findings
        self.locator = array._stored.locator
        self.key = array.metadata.keys.key(chunk)
        self.findings: list[Finding] = []
        self.stored = 0
        """The number of inner chunks within the array that an index says are stored, or whose index cannot be read."""
        self.total = 0
        """The number of inner chunks that lie within the array."""
        self._arena = Arena()
        self._reader = array.store.bulk.reader(self._arena, self.locator.max_stored_size)

    def run(self) -> bool:
        """Fills `findings`, `stored` and `total`. Returns False if the shard is not stored. Ends early if cancelled."""
        first = tuple(c * n for c, n in zip(self.chunk, self.locator.chunks_per_shard, strict=True))
        self.total = self._count(first, self.locator.chunks_per_shard)
        try:
            self._reader.seek(self.key)
            return self._check(0, None, first)
        except ZarrscopeError as error:
            self._fail(error)
            self.stored = self.total
            return True
        finally:
            self._reader.close()

    @property
    def is_full(self) -> bool:
        """Whether `max_findings` findings were made, so that the check of this shard ends."""
        return len(self.findings) >= self.max_findings

    def _count(self, first: ChunkIndex, many: ChunkIndex) -> int:
        """The number of these inner chunks that lie within the array."""
        return prod(max(0, min(n, end - low)) for low, n, end in zip(first, many, self.locator.grid_shape, strict=True))

    def _count_all(self, numbers: NDArray[Any], grid: ChunkIndex, per_inner: ChunkIndex, first: ChunkIndex) -> int:
        """The number of innermost chunks that these entries hold."""
        if prod(per_inner) == 1:
            return len(numbers)
        return sum(self._count(place, per_inner) for place in self._places(numbers, grid, per_inner, first))

    def _fail(self, error: ZarrscopeError, count: int = 1) -> None:
        finding = failed_chunk(error.located(store=self.array.store.url, key=self.key), self.array, self.key)
        finding = replace(finding, code="shard-index") if isinstance(error, BadChunk) else finding
        many = f"; {count:,} inner chunks have such a fault" if count > 1 else ""
        self.findings.append(replace(finding, message=finding.message + many))

    # ------------------------------------------------------------------ one index
    def _check(self, tier: int, span: tuple[int, int] | None, first: ChunkIndex) -> bool:
        """Checks the shard of this tier at `span` of the stored value (None: all of it); `first` is its first inner
        chunk."""
        grid, per_inner = self.locator.tiers[tier].grid, self.locator.chunks_per_inner[tier]
        limits = tuple(
            max(0, min(n, -(-(end - low) // per)))
            for n, low, per, end in zip(grid, first, per_inner, self.locator.grid_shape, strict=True)
        )
        index = self.locator.index_at(self._reader, tier, span)
        if index is None:
            return False
        region = index.entries[tuple(map(slice, limits))]
        sound, wrong = index.judged(region)
        numbers = np.flatnonzero(sound).astype(np.uint32)
        starts, ends = region.reshape(-1, 2)[numbers, 0], region.reshape(-1, 2)[numbers, 1]
        ends += starts
        bad = np.flatnonzero(wrong)
        if len(bad):
            self.stored += self._count_all(bad, limits, per_inner, first)
            try:
                index.locate(tuple(int(i) for i in np.unravel_index(int(bad[0]), limits)))
            except ZarrscopeError as error:
                self._fail(error, len(bad))
        del index, region, sound, wrong, bad
        self._arena.clear()
        starts, ends, numbers = _sorted(starts, ends, numbers)
        self._tell_overlaps(starts, ends, numbers, limits)
        new = np.ones(len(starts), bool)
        new[1:] = (starts[1:] != starts[:-1]) | (ends[1:] != ends[:-1])
        if tier + 1 == len(self.locator.tiers):
            self.stored += len(numbers)
            if not new.all():
                starts, ends, numbers = starts[new], ends[new], numbers[new]
            self._decode(starts, ends, numbers, limits, first, 0 if span is None else span[0])
            return True
        for at, place in enumerate(self._places(numbers, limits, per_inner, first)):
            low = 0 if span is None else span[0]
            if not new[at]:
                self.stored += self._count(place, per_inner)
                continue
            if self.is_full or self.cancelled():
                return True
            try:
                self._check(tier + 1, (low + int(starts[at]), low + int(ends[at])), place)
            except ZarrscopeError as error:
                self._fail(error)
                self.stored += self._count(place, per_inner)
        return True

    def _places(
        self, numbers: NDArray[Any], grid: ChunkIndex, per_inner: ChunkIndex, first: ChunkIndex
    ) -> Iterator[ChunkIndex]:
        """The first inner chunk of each of these entries."""
        for at in range(0, len(numbers), CHECKED_INNER_CHUNKS):
            places = (
                np.stack(np.unravel_index(numbers[at : at + CHECKED_INNER_CHUNKS], grid), axis=1) * per_inner + first
            )
            yield from map(tuple, places.tolist())

    def _tell_overlaps(self, starts: NDArray[Any], ends: NDArray[Any], numbers: NDArray[Any], grid: ChunkIndex) -> None:
        """Reports overlapping inner chunks. Inner chunks with identical byte ranges may be intended."""
        reach = np.maximum.accumulate(ends)
        later = np.flatnonzero((starts[1:] < reach[:-1]) & (ends[1:] > starts[1:])) + 1
        if not len(later):
            return
        few = later[:COMPARED]
        others = np.searchsorted(reach, reach[few - 1])
        same = (starts[few] == starts[others]) & (ends[few] == ends[others])
        at = int(np.argmin(same))
        pair = (numbers[others[at]], numbers[few[at]])
        names = " and ".join(str(tuple(int(i) for i in np.unravel_index(int(number), grid))) for number in pair)
        many = f"; {len(later):,} pairs overlap in all" if len(later) > 1 else ""
        how = "the same bytes" if same[at] else "bytes in common"
        text = f"The index gives the inner chunks {names} of shard {self.chunk} {how}{many}"
        advice = "One of them was overwritten: compare both with a copy, and write them again."
        severity: Literal["warning", "error"] = "warning" if same[at] else "error"
        self.findings.append(Finding(severity, "shard-overlap", self.array.path, text, self.key, None, advice))

    # ------------------------------------------------------------------ inner chunks
    def _decode(
        self,
        starts: NDArray[Any],
        ends: NDArray[Any],
        numbers: NDArray[Any],
        grid: ChunkIndex,
        first: ChunkIndex,
        low: int,
    ) -> None:
        pipeline = self.locator.pipeline
        if pipeline is not None and pipeline.copies_only and self._reader.size is not None:
            right = (ends - starts) == np.uint64(pipeline.encoded.size or 0)
            plain = (starts, ends) if right.all() else (starts[right], ends[right])
            ended = self._read_only(plain[0], plain[1], low)
            if ended is not None:  # entries beyond the end of the shard are invalid
                right &= ends + np.uint64(low) <= np.uint64(ended)
            if right.all():
                return
            starts, ends, numbers = starts[~right], ends[~right], numbers[~right]
        one = (1,) * len(first)
        inners = self._places(numbers, grid, one, first)
        for at in range(0, len(numbers), CHECKED_INNER_CHUNKS):
            if self.is_full or self.cancelled():
                break
            some = [
                (int(a) + low, int(b) + low)
                for a, b in zip(starts[at:][:CHECKED_INNER_CHUNKS], ends[at:][:CHECKED_INNER_CHUNKS], strict=True)
            ]
            self._decode_some([next(inners) for _ in some], some)
            self._arena.clear()

    def _decode_some(self, inners: list[ChunkIndex], spans: list[tuple[int, int]]) -> None:
        try:
            payloads: list[Any] = list(self.locator.read_spans(self._reader, self.key, inners, spans))
        except ZarrscopeError as error:
            if len(inners) > 1:  # reads fewer at a time, to find the damaged one
                half = len(inners) // 2
                self._decode_some(inners[:half], spans[:half])
                self._decode_some(inners[half:], spans[half:])
                return
            payloads = [error.located(store=self.array.store.url, key=self.key)]
        for inner, payload in zip(inners, payloads, strict=True):
            if self.is_full:
                return
            finding = self.decoded(inner, payload)
            if finding is not None:
                self.findings.append(finding)

    def _read_only(self, starts: NDArray[Any], ends: NDArray[Any], low: int) -> int | None:
        """Reads these inner chunks without decoding them. If the stored value ends before them, returns its length."""
        if not len(starts):
            return None
        reach = np.maximum.accumulate(ends)
        breaks = np.flatnonzero(starts[1:] > reach[:-1] + np.uint64(CHECKED_GAP)) + 1
        begins = [0, *breaks.tolist()]
        for begin, after in zip(begins, [*begins[1:], len(starts)], strict=True):
            at, stop = int(starts[begin]) + low, int(reach[after - 1]) + low
            while at < stop:
                if self.cancelled():
                    return None
                wanted = min(CHECKED_RANGE_BYTES, stop - at)
                got = len(self._reader.part(ByteRange(at, wanted)) or b"")
                self._arena.clear()
                at += got
                if got < wanted:
                    return at
        return None


def _sorted(starts: NDArray[Any], ends: NDArray[Any], numbers: NDArray[Any]) -> tuple[Any, Any, Any]:
    """The entries sorted by their offset in the file. Most indexes already are."""
    if (starts[1:] >= starts[:-1]).all():
        return starts, ends, numbers
    order = np.argsort(starts, kind="stable")
    return starts[order], ends[order], numbers[order]
