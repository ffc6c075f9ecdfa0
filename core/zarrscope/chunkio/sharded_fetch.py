"""Fetches chunks that lie in shards: the index of each shard, then byte ranges of it; or a whole shard in one request.

The ranges of a shard are requested as soon as its own index has arrived, so that one slow answer does not hold up the
chunks of other shards. Stores that answer requests in rounds (SSH, wrappers) answer all indexes first. A store that
reads ahead may send the chunks with the index.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Protocol

from zarrscope.errors import ZarrscopeError
from zarrscope.model.selection import ChunkIndex
from zarrscope.model.storage import AnswerView, Buffer, ByteRange, IndexAnswer, IndexRange, Request, ShardPlace
from zarrscope.runtime.tuning import MAX_BLOCK, MAX_GAP, MAX_WHOLE, MIN_BLOCK, RANGES_AT_ONCE

if TYPE_CHECKING:
    from zarrscope.chunkio.presence import Presence
    from zarrscope.codecs import Shard, ShardIndex
    from zarrscope.model.metadata import ArrayMetadata
    from zarrscope.stores.store import Store

_Fetched = tuple[ChunkIndex, AnswerView]
"""A chunk and its encoded bytes; None if none are stored; or the error of fetching them."""
Ask = Callable[[list[Request], Callable[[], bool]], Iterator[tuple[int, AnswerView]]]
"""The signature of BulkOperations.get_growing."""


MOST_AHEAD = 4096
"""The most chunks of one shard that an index is requested with."""
_SPARE = 64
"""Bytes by which an encoded chunk may be longer than a decoded one in the expected size of a shard. If it is longer,
the shard takes a second round trip."""


class Shards(Protocol):
    """The part of a Locator that a fetch uses: see there."""

    store: Store
    metadata: ArrayMetadata
    tiers: tuple[Shard, ...]
    chunks_per_shard: ChunkIndex
    presence: Presence | None

    @property
    def grid_shape(self) -> ChunkIndex:
        """The number of chunks along each axis."""

    def grid_index(self, chunk: ChunkIndex) -> ChunkIndex:
        """The index of the shard that holds a chunk."""

    def key(self, chunk: ChunkIndex) -> str:
        """The key of the shard that holds a chunk."""

    def locate(self, place: ShardPlace, index: ShardIndex, chunk: ChunkIndex) -> tuple[int, int] | None:
        """The byte range of a chunk in the stored value; None if it is absent. Raises BadChunk."""

    def cut(self, value: memoryview, span: tuple[int, int], key: str, chunk: ChunkIndex) -> AnswerView:
        """The bytes of a chunk within `value`."""

    def parsed(self, place: ShardPlace, shard: Shard, encoded: Buffer, size: int | None) -> ShardIndex:
        """The index of a shard. Raises BadChunk."""

    def remembered(self, place: ShardPlace) -> ShardIndex | None:
        """The cached index of a shard."""


class _IndexRead:
    """A request for the index of a shard, or for the whole shard, and the chunks that are wanted from it."""

    __slots__ = ("most", "place", "wanted")

    def __init__(self, place: ShardPlace, wanted: Sequence[ChunkIndex], most: int | None) -> None:
        """`most`: the largest expected size of the whole shard, in bytes; None: only the index is requested."""
        self.place, self.wanted, self.most = place, wanted, most


class _RangeBlock:
    """Neighbouring byte ranges of one value, fetched by one request."""

    __slots__ = ("key", "parts", "start", "stop")

    def __init__(self, key: str, start: int, stop: int, parts: list[tuple[int, int, ChunkIndex]]) -> None:
        self.key = key
        self.start = start
        self.stop = stop
        self.parts = parts


class ShardedFetch:
    """One fetch of `chunks`. `ask` answers requests, to which further ones are added meanwhile."""

    def __init__(self, locator: Shards, chunks: Sequence[ChunkIndex], cancelled: Callable[[], bool], ask: Ask) -> None:
        self._locator, self._chunks, self._cancelled, self._ask = locator, chunks, cancelled, ask
        self._remote = locator.store.remote
        self._ahead = locator.store.bulk.reads_ahead and len(locator.tiers) == 1
        self._requests: list[Request] = []
        self._asked: list[_IndexRead | _RangeBlock] = []
        """The purpose of each request."""
        size = prod(locator.metadata.grid.chunk_shape) * max(1, locator.metadata.dtype.itemsize)
        self._full_size = size
        """The decoded bytes of a shard all of whose chunks are stored."""
        outer = locator.tiers[0]
        self._margin = 0 if outer.at_start or outer.index_size > MAX_GAP else outer.index_size
        """Each read of ranges also asks for as many bytes as the index has, because a short answer shows where the
        shard ends."""

    def run(self) -> Iterator[Sequence[_Fetched]]:
        """Yields the chunks of one answer together. Ends early once `cancelled()` is true."""
        by_cell: dict[ChunkIndex, list[ChunkIndex]] = {}
        for chunk in self._chunks:
            by_cell.setdefault(self._locator.grid_index(chunk), []).append(chunk)
        for wanted in by_cell.values():
            yield from self._begin(ShardPlace(self._locator.key(wanted[0]), None, 0), wanted)
        for i, answer in self._ask(self._requests, self._cancelled):
            purpose = self._asked[i]
            if isinstance(purpose, _IndexRead):
                yield from self._index_came(purpose, answer)
            else:
                yield self._block_came(purpose, answer)
            if self._cancelled():
                return

    def _begin(self, place: ShardPlace, wanted: Sequence[ChunkIndex]) -> Iterator[Sequence[_Fetched]]:
        """Requests the index of a shard, unless it is known; then it requests the ranges."""
        locator = self._locator
        known = locator.remembered(place) if self._remote else None
        if known is not None:
            yield from self._spread(place, known, None, wanted)
            return
        part: ByteRange | None = locator.tiers[place.tier].index_range
        most: int | None = None
        if place.span is not None and part is not None:
            low, high = place.span
            start, stop = part.span(high - low)
            part = ByteRange(low + start, stop - start)
        elif self._remote and len(locator.tiers) == 1 and (most := self._better_whole(wanted)) is not None:
            part = None
            if self._full_size > MAX_WHOLE:  # it may hold more than is expected
                part = ByteRange(0, most) if locator.tiers[0].at_start else ByteRange.last(most)
        elif self._ahead and part is not None:
            part = self._with_chunks(part, wanted)
        self._asked.append(_IndexRead(place, wanted, most))
        self._requests.append((place.key, part))

    def _with_chunks(self, part: ByteRange, wanted: Sequence[ChunkIndex]) -> ByteRange:
        """The range of an index that also names the wanted chunks, for a store that may send them with it. It guesses
        that the index consists of plain numbers, and perhaps a checksum behind them."""
        locator = self._locator
        grid, inside = locator.tiers[0].grid, prod(locator.tiers[0].grid)
        if len(wanted) > MOST_AHEAD or locator.tiers[0].index_size not in (16 * inside, 16 * inside + 4):
            return part
        found = IndexRange(*part)
        numbers = []
        for chunk in wanted:
            number = 0
            for at, count in zip(chunk, grid, strict=True):
                number = number * count + at % count
            numbers.append(number)
        found.numbers, found.expected = numbers, len(wanted) * (self._full_size // inside)
        return found

    def _better_whole(self, wanted: Sequence[ChunkIndex]) -> int | None:
        """If at least half of a shard's chunks are wanted, and it is not too large, the most bytes of the whole shard;
        otherwise None. Chunks beyond the edge of the array do not count, because programs do not store them."""
        locator = self._locator
        inside = prod(
            min(per, count - cell * per)
            for per, count, cell in zip(
                locator.chunks_per_shard, locator.grid_shape, locator.grid_index(wanted[0]), strict=True
            )
        )
        each = self._full_size // prod(locator.chunks_per_shard)
        if 2 * len(wanted) < inside or inside * each > MAX_WHOLE:
            return None
        most = inside * (each + _SPARE) + locator.tiers[0].index_size
        return most if most <= MAX_WHOLE or self._full_size <= MAX_WHOLE else None

    def _index_came(self, asked: _IndexRead, answer: AnswerView) -> Iterator[Sequence[_Fetched]]:
        place, locator = asked.place, self._locator
        if locator.presence is not None:
            locator.presence.note(place.key, answer)
        if answer is None or isinstance(answer, ZarrscopeError):
            yield [(chunk, answer) for chunk in asked.wanted]
            return
        shard = locator.tiers[place.tier]
        whole, encoded = None, answer
        size = None if place.span is None else place.span[1] - place.span[0]
        if asked.most is not None:
            view = memoryview(answer)
            encoded = view[slice(*shard.index_range.span(len(view)))]
            if len(view) < asked.most or self._full_size <= MAX_WHOLE:
                whole, size = view, len(view)  # otherwise the shard holds more than is expected, and ranges follow
        try:
            index = locator.parsed(place, shard, encoded, size)
        except ZarrscopeError as error:
            located = error.located(store=locator.store.url, key=place.key)
            yield [(chunk, located) for chunk in asked.wanted]
            return
        blocks = answer.blocks if isinstance(answer, IndexAnswer) else ()
        yield from self._spread(place, index, whole, asked.wanted, blocks)

    def _spread(
        self,
        place: ShardPlace,
        index: ShardIndex,
        whole: memoryview | None,
        wanted: Sequence[ChunkIndex],
        blocks: Sequence[tuple[int, memoryview]] = (),
    ) -> Iterator[Sequence[_Fetched]]:
        """Yields the chunks of a shard that are absent, wrong, in `whole` or in `blocks` (bytes that came with the
        index, by their places), and requests the others."""
        locator = self._locator
        ranges: list[tuple[int, int, ChunkIndex]] = []
        arrived: list[_Fetched] = []
        beneath: dict[ShardPlace, list[ChunkIndex]] = {}
        for chunk in wanted:
            try:
                span = locator.locate(place, index, chunk)
            except ZarrscopeError as error:
                arrived.append((chunk, error.located(store=locator.store.url, key=place.key)))
                continue
            if span is None:
                arrived.append((chunk, None))
            elif place.tier + 1 < len(locator.tiers):
                beneath.setdefault(ShardPlace(place.key, span, place.tier + 1), []).append(chunk)
            elif whole is not None:
                arrived.append((chunk, locator.cut(whole, span, place.key, chunk)))
            elif blocks and (data := _within(blocks, *span)) is not None:
                arrived.append((chunk, data))
            else:
                ranges.append((*span, chunk))
        self._request(place.key, ranges)
        if arrived:
            yield arrived
        for inner, some in beneath.items():
            yield from self._begin(inner, some)

    def _request(self, key: str, ranges: list[tuple[int, int, ChunkIndex]]) -> None:
        """Requests byte ranges of a shard, in blocks that are larger the more bytes are wanted in all."""
        if not ranges:
            return
        in_all = sum(stop - start for start, stop, _ in ranges) * len(self._chunks) // len(ranges)
        most = min(MAX_BLOCK, max(MIN_BLOCK, in_all // RANGES_AT_ONCE)) if self._remote else MAX_BLOCK
        for block in _coalesce(key, ranges, most):
            self._asked.append(block)
            self._requests.append((key, ByteRange(block.start, block.stop - block.start + self._margin)))

    def _block_came(self, block: _RangeBlock, answer: AnswerView) -> list[_Fetched]:
        if isinstance(answer, ZarrscopeError):
            return [(chunk, answer) for _, _, chunk in block.parts]
        view = memoryview(answer or b"")
        if len(view) < block.stop - block.start + self._margin:
            view = view[: max(0, len(view) - self._margin)]
        cut = self._locator.cut
        return [
            (chunk, cut(view, (start - block.start, stop - block.start), block.key, chunk))
            for start, stop, chunk in block.parts
        ]


def _within(blocks: Sequence[tuple[int, memoryview]], start: int, stop: int) -> memoryview | None:
    """These bytes of a shard, if one of the blocks has all of them."""
    at = bisect_right(blocks, start, key=lambda block: block[0]) - 1
    if at < 0 or stop - blocks[at][0] > len(blocks[at][1]):
        return None
    return blocks[at][1][start - blocks[at][0] : stop - blocks[at][0]]


def _coalesce(key: str, ranges: Sequence[tuple[int, int, ChunkIndex]], most: int) -> list[_RangeBlock]:
    blocks: list[_RangeBlock] = []
    for start, stop, chunk in sorted(ranges, key=lambda r: r[:2]):
        last = blocks[-1] if blocks else None
        if last and start - last.stop <= MAX_GAP and max(stop, last.stop) - last.start <= most:
            last.stop = max(last.stop, stop)
            last.parts.append((start, stop, chunk))
        else:
            blocks.append(_RangeBlock(key, start, stop, [(start, stop, chunk)]))
    return blocks
