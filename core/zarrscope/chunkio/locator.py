"""Where the units of reading lie: whole chunks under their own keys, or inner chunks within shards (nested ones too).

A *unit* is the smallest part of an array that can be fetched and decoded by itself: the grid's chunk, or, where the
array→bytes codec is an addressable sharding_indexed, the inner chunk of the innermost such shard. Units are numbered by
one grid over the whole array. `fetch` turns unit indices into encoded bytes with few requests: shard indexes first (all
at once), then byte ranges, those close together in one request; or the whole shard at one go when most of it is wanted.

Promises: nothing is asked twice in one fetch; a range that comes short is a BadChunk, never wrong data; a shard index
is parsed once while it stays the same. A local index is read anew each time (someone may have rewritten the shard); a
remote one is remembered, and asked again when what it points at does not decode. Specification: sharding-indexed codec
v1.0; dialects.md A.6.1, F.13.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from zarrscope.errors import BadChunk, ZarrscopeError
from zarrscope.metadata import ArrayMetadata, RegularEdges
from zarrscope.reader import Reader, Room
from zarrscope.store import Answer, Buffer, ByteRange, Request, Store, never

if TYPE_CHECKING:
    from zarrscope.codecs import CodecPipeline, Shard, ShardIndex
    from zarrscope.selection import Edges

Index = tuple[int, ...]
Payload = bytes | memoryview | ZarrscopeError | None
"""A unit's encoded bytes; None when nothing is stored (fill value); or why it could not be had."""

Ask = Callable[[Sequence[Request], Callable[[], bool]], Iterator[tuple[int, Answer]]]
"""As Store.get_many."""

MAX_GAP = 64 * 1024
"""Two ranges of one value that lie closer than this are fetched together: cheaper than another round trip."""
LOCAL_GAP = 8 * 1024
"""The same for a file: cheaper than another call of the system."""
MAX_BLOCK = 8 * 1024 * 1024
"""… but not into more than this at once, so that decoding begins before all has come."""
MIN_BLOCK = 128 * 1024
AT_ONCE = 64
"""From afar what is wanted comes in about so many blocks side by side, each between the two sizes: many connections
carry more than one, and decoding begins with the first (2026-11-21, tests/bench/run.py "http", shards)."""
MAX_WHOLE = 8 * 1024 * 1024
"""A remote shard that decodes to at most this is fetched whole when at least half of its units are wanted: one round
trip less, and what is not wanted comes in less time than that takes."""
MAX_INDEX_CACHE = 32 * 1024 * 1024


class _Place(NamedTuple):
    """A shard: its key, its span within the stored value (None: all of it), and its tier (0 is the outermost)."""

    key: str
    span: tuple[int, int] | None
    tier: int


class Locator:
    """The units of one array in one store. Safe from any thread."""

    def __init__(self, store: Store, metadata: ArrayMetadata, pipeline: CodecPipeline | None) -> None:
        """`pipeline` None: the array cannot be decoded; its units are the chunks of its grid."""
        self.store = store
        self.metadata = metadata
        tiers: list[Shard] = []
        inner = pipeline
        while inner is not None and inner.shard is not None:
            tiers.append(inner.shard)
            inner = inner.shard.inner
        self.tiers = tuple(tiers)
        self.pipeline = inner
        """Decodes one unit, where all units are alike (see `shape_of`)."""
        ndim = metadata.ndim
        # units per inner chunk of tier t, along each axis; the last tier's inner chunk is the unit
        spans = [(1,) * ndim]
        for shard in reversed(self.tiers):
            spans.append(tuple(a * b for a, b in zip(spans[-1], shard.grid, strict=True)))
        self._units_per_inner = tuple(reversed(spans[:-1]))
        self.units_per_chunk: Index = spans[-1]
        """How many units make up one chunk of the grid, along each axis."""
        outer = metadata.grid.chunk_shape
        self.unit_shape: Index = tuple(c // n for c, n in zip(outer, self.units_per_chunk, strict=True))
        self._indexes: OrderedDict[_Place, tuple[bytes, ShardIndex]] = OrderedDict()
        self._indexes_size = 0
        self._guard = threading.Lock()

    # ------------------------------------------------------------------ the grid of units
    def edges(self, axis: int) -> Edges:
        length = self.metadata.shape[axis]
        if self.tiers:
            return RegularEdges(self.unit_shape[axis], length)
        return self.metadata.grid.edges(axis, length)

    @property
    def extent(self) -> Index:
        """How many units along each axis."""
        if self.tiers:
            return tuple(0 if n == 0 else -(-n // c) for n, c in zip(self.metadata.shape, self.unit_shape, strict=True))
        return self.metadata.grid.extent(self.metadata.shape)

    def shape_of(self, unit: Index) -> Index:
        """The decoded shape of a unit, its part over the array's edge included."""
        return self.unit_shape if self.tiers else self.metadata.grid.shape_at(unit)

    def chunk_of(self, unit: Index) -> Index:
        """The chunk of the grid (so the key) that holds a unit."""
        return tuple(u // n for u, n in zip(unit, self.units_per_chunk, strict=True)) if self.tiers else unit

    def key(self, unit: Index) -> str:
        return self.metadata.keys.key(self.chunk_of(unit))

    # ------------------------------------------------------------------ fetching
    def fetch(self, units: Iterable[Index], cancelled: Callable[[], bool] = never) -> Iterator[tuple[Index, Payload]]:
        """(unit, payload), in order of completion. Ends early once `cancelled()`."""
        if self.tiers and self.store.remote:
            yield from self._fetch_sharded(list(units), cancelled, self.store.get_many)
            return
        if self.tiers:
            yield from self._fetch_held(units, cancelled)
            return
        wanted = list(units)
        key = self.metadata.keys.key
        for i, answer in self.store.get_many([(key(unit), None) for unit in wanted], cancelled):
            yield wanted[i], answer

    def _fetch_held(self, units: Iterable[Index], cancelled: Callable[[], bool]) -> Iterator[tuple[Index, Payload]]:
        """One shard after the other, each held while it is read: one that replaces it meanwhile has other places."""
        by_key: dict[str, list[Index]] = {}
        for unit in units:
            by_key.setdefault(self.key(unit), []).append(unit)
        for wanted in by_key.values():
            reader = self.store.reader(Room())

            def ask(
                requests: Sequence[Request], cancelled: Callable[[], bool], reader: Reader = reader
            ) -> Iterator[tuple[int, Answer]]:
                for i, (key, part) in enumerate(requests):
                    try:
                        reader.seek(key)
                        found = reader.whole() if part is None else reader.part(part)
                        answer: Answer = None if found is None else bytes(found)
                    except ZarrscopeError as error:
                        answer = error.located(store=self.store.url, key=key)
                    yield i, answer

            try:
                yield from self._fetch_sharded(wanted, cancelled, ask)
            finally:
                reader.close()
            if cancelled():
                return

    def _fetch_sharded(
        self, units: list[Index], cancelled: Callable[[], bool], ask: Ask
    ) -> Iterator[tuple[Index, Payload]]:
        by_place: dict[_Place, list[Index]] = {}
        for unit in units:
            by_place.setdefault(_Place(self.key(unit), None, 0), []).append(unit)
        found: list[tuple[str, list[tuple[int, int, Index]]]] = []
        while by_place:
            beneath: dict[_Place, list[Index]] = {}
            for place, index, whole in self._load_indexes(by_place, cancelled, ask):
                wanted = by_place[place]
                if index is None or isinstance(index, ZarrscopeError):
                    yield from ((unit, index) for unit in wanted)
                    continue
                ranges: list[tuple[int, int, Index]] = []
                for unit in wanted:
                    try:
                        span = self._locate(place, index, unit)
                    except ZarrscopeError as error:
                        yield unit, error.located(store=self.store.url, key=place.key)
                        continue
                    if span is None:
                        yield unit, None
                    elif place.tier + 1 < len(self.tiers):
                        beneath.setdefault(_Place(place.key, span, place.tier + 1), []).append(unit)
                    elif whole is not None:
                        yield unit, self._cut(whole, span, place.key, unit)
                    else:
                        ranges.append((*span, unit))
                found.append((place.key, ranges))
            if cancelled():
                return
            by_place = beneath
        size = sum(stop - start for _, ranges in found for start, stop, _ in ranges)
        most = min(MAX_BLOCK, max(MIN_BLOCK, size // AT_ONCE)) if self.store.remote else MAX_BLOCK
        blocks = [block for key, ranges in found for block in _coalesce(key, ranges, most)]
        # reading on by the length of an index that lies at the end tells where the shard's chunks must have ended
        outer = self.tiers[0]
        margin = 0 if outer.at_start or outer.index_size > MAX_GAP else outer.index_size
        requests = [(block.key, ByteRange(block.start, block.stop - block.start + margin)) for block in blocks]
        for i, answer in ask(requests, cancelled):
            block = blocks[i]
            if isinstance(answer, ZarrscopeError):
                yield from ((unit, answer) for _, _, unit in block.parts)
                continue
            view = memoryview(answer or b"")
            if len(view) < block.stop - block.start + margin:
                view = view[: max(0, len(view) - margin)]
            for start, stop, unit in block.parts:
                yield unit, self._cut(view, (start - block.start, stop - block.start), block.key, unit)

    def _cut(self, value: memoryview, span: tuple[int, int], key: str, unit: Index) -> Payload:
        start, stop = span
        if stop > len(value):
            return BadChunk(
                f"The shard ends before chunk {unit}: its index points to bytes that are not there",
                codec="sharding_indexed",
                index=unit,
                store=self.store.url,
                key=key,
                advice="The shard was cut short or is being written; its other chunks can still be read.",
            )
        return value[start:stop]

    # ------------------------------------------------------------------ reading with a Reader, shards of one tier
    def spans(self, reader: Reader, key: str, inner: Sequence[Sequence[int]]) -> list[tuple[int, int] | None] | None:
        """Where a region of inner chunks lies in the shard `key`, as ShardIndex.locate_many; None without the shard."""
        shard = self.tiers[0]
        reader.seek(key)
        encoded = reader.part(shard.index_range)
        return None if encoded is None else self._parsed(_Place(key, None, 0), shard, encoded, None).locate_many(inner)

    def read_spans(
        self, reader: Reader, key: str, units: Sequence[Index], spans: Sequence[tuple[int, int] | None]
    ) -> list[Buffer | None]:
        """The units' bytes, from the shard `key`, which the reader is at; those close together by one request.

        Raises BadChunk, Unreadable, Refused."""
        shard = self.tiers[0]
        tail = 0 if shard.at_start else shard.index_size
        found: list[Buffer | None] = [None] * len(spans)
        order = sorted((span, i) for i, span in enumerate(spans) if span is not None)
        while order:
            (start, stop), _ = order[0]
            n = 1
            while n < len(order) and order[n][0][0] - stop <= LOCAL_GAP and order[n][0][1] - start <= MAX_BLOCK:
                stop = max(stop, order[n][0][1])
                n += 1
            block = memoryview(self._block(reader, start, stop, tail))
            for (low, high), i in order[:n]:
                data = self._cut(block, (low - start, high - start), key, units[i])
                if isinstance(data, ZarrscopeError):
                    raise data
                found[i] = data
            del order[:n]
        return found

    def _block(self, reader: Reader, start: int, stop: int, tail: int) -> Buffer:
        """Bytes of the shard, fewer where they would be its index, which is `tail` long, or there are no more."""
        if reader.size is not None:
            stop = min(stop, reader.size - tail)
            return reader.read(start, stop) if stop > start else b""
        # Reading on by the length of the index tells where the shard's chunks must have ended.
        value = reader.part(ByteRange(start, stop - start + tail)) or b""
        return value if len(value) == stop - start + tail else value[: max(0, len(value) - tail)]

    # ------------------------------------------------------------------ shard indexes
    def _load_indexes(
        self, places: dict[_Place, list[Index]], cancelled: Callable[[], bool], ask: Ask
    ) -> Iterator[tuple[_Place, ShardIndex | ZarrscopeError | None, memoryview | None]]:
        """(shard, its index, the shard's whole value where that was fetched at one go)."""
        remote = self.store.remote
        asked: list[tuple[_Place, bool]] = []
        requests: list[tuple[str, ByteRange | None]] = []
        for place, units in places.items():
            shard = self.tiers[place.tier]
            known = self._remembered(place) if remote else None
            if known is not None:
                yield place, known, None
                continue
            whole = remote and place.span is None and len(self.tiers) == 1 and self._better_whole(len(units))
            if whole:
                part = None
            elif place.span is None:
                part = shard.index_range
            else:
                low, high = place.span
                start, stop = shard.index_range.span(high - low)
                part = ByteRange(low + start, stop - start)
            asked.append((place, whole))
            requests.append((place.key, part))
        for i, answer in ask(requests, cancelled):
            place, whole = asked[i]
            if answer is None or isinstance(answer, ZarrscopeError):
                yield place, answer, None
                continue
            try:
                shard = self.tiers[place.tier]
                encoded = shard.index_range.of(answer) if whole else answer
                size = len(answer) if whole else None if place.span is None else place.span[1] - place.span[0]
                yield place, self._parsed(place, shard, encoded, size), memoryview(answer) if whole else None
            except ZarrscopeError as error:
                yield place, error.located(store=self.store.url, key=place.key), None

    def _better_whole(self, wanted: int) -> bool:
        dtype = self.metadata.dtype
        size = prod(self.metadata.grid.chunk_shape) * max(1, dtype.itemsize)
        return 2 * wanted >= prod(self.units_per_chunk) and size <= MAX_WHOLE

    def _locate(self, place: _Place, index: ShardIndex, unit: Index) -> tuple[int, int] | None:
        """The span, in the stored value, of the inner chunk of this shard that is or holds `unit`."""
        per_inner, grid = self._units_per_inner[place.tier], self.tiers[place.tier].grid
        found = index.locate(tuple(u // n % g for u, n, g in zip(unit, per_inner, grid, strict=True)))
        if found is None:
            return None
        start, length = found.start or 0, found.length or 0
        if place.span is None:
            return start, start + length
        return place.span[0] + start, place.span[0] + start + length

    def _parsed(self, place: _Place, shard: Shard, encoded: Buffer, size: int | None) -> ShardIndex:
        encoded = bytes(encoded)  # they compare, and outlive the room of a Reader
        with self._guard:
            known = self._indexes.get(place)
            if known is not None and known[0] == encoded:
                self._indexes.move_to_end(place)
                return known[1]
        index = shard.decode_index(encoded, size)
        with self._guard:
            old = self._indexes.pop(place, None)
            self._indexes[place] = (encoded, index)
            self._indexes_size += len(encoded) - (len(old[0]) if old else 0)
            while self._indexes_size > MAX_INDEX_CACHE and len(self._indexes) > 1:
                _, (dropped, _) = self._indexes.popitem(last=False)
                self._indexes_size -= len(dropped)
        return index

    def _remembered(self, place: _Place) -> ShardIndex | None:
        with self._guard:
            known = self._indexes.get(place)
            return known[1] if known else None

    def forget(self, key: str | None = None) -> bool:
        """Forgets the shard indexes under `key`, or all. Whether there were any."""
        with self._guard:
            stale = [place for place in self._indexes if key is None or place.key == key]
            for place in stale:
                encoded, _ = self._indexes.pop(place)
                self._indexes_size -= len(encoded)
            return bool(stale)


class _Block:
    """Neighbouring ranges of one value, fetched as one."""

    def __init__(self, key: str, start: int, stop: int, parts: list[tuple[int, int, Index]]) -> None:
        self.key = key
        self.start = start
        self.stop = stop
        self.parts = parts


def _coalesce(key: str, ranges: Sequence[tuple[int, int, Index]], most: int) -> list[_Block]:
    blocks: list[_Block] = []
    for start, stop, unit in sorted(ranges, key=lambda r: r[:2]):
        last = blocks[-1] if blocks else None
        if last and start - last.stop <= MAX_GAP and max(stop, last.stop) - last.start <= most:
            last.stop = max(last.stop, stop)
            last.parts.append((start, stop, unit))
        else:
            blocks.append(_Block(key, start, stop, [(start, stop, unit)]))
    return blocks
