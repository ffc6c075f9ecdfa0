"""Where the chunks of an array are stored: under keys of their own, or within shards (nested ones too).

A *chunk* is the smallest part of an array that is encoded by itself. It is a cell of the metadata's chunk grid (a *grid
chunk*), or, if the grid chunk is stored as a shard, an inner chunk of the innermost shard. Chunks are numbered by one
grid over the whole array. `fetch` turns chunk indices into encoded bytes with few requests: shard indexes and then byte
ranges, nearby ones merged into one request; or a whole shard in one request when most of it is wanted
(sharded_fetch.py).

Promises: one fetch requests nothing twice; a byte range that arrives incomplete becomes a BadChunk error, never wrong
data; a shard index is parsed only once as long as its bytes stay the same. The index of a local shard is read each
time, because another process may have rewritten the shard; the index of a remote shard is cached, and read again when a
chunk that it locates cannot be decoded. Specification: sharding-indexed codec v1.0; reference.md A.6.1, F.13.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from zarrscope.errors import BadChunk, ZarrscopeError
from zarrscope.model.buffers import Arena
from zarrscope.model.metadata import ArrayMetadata, RegularEdges, RegularGrid
from zarrscope.model.selection import ChunkIndex
from zarrscope.model.storage import AnswerView, Buffer, ByteRange, Request, ShardPlace, never
from zarrscope.runtime.tuning import LOCAL_GAP, MAX_BLOCK, SHARD_INDEX_BYTES
from zarrscope.stores.store import Store
from zarrscope.stores.value_reader import Reader

if TYPE_CHECKING:
    from zarrscope.chunkio.presence import Presence
    from zarrscope.codecs import CodecPipeline, Shard, ShardIndex
    from zarrscope.model.selection import Edges

EncodedChunk = AnswerView
"""The encoded bytes of a chunk; None if none are stored (fill value); or the error of fetching them."""
Fetched = tuple[ChunkIndex, EncodedChunk]

SLACK = 64 * 1024
"""Bytes that are read beyond the size of the largest valid chunk, so that a codec can report that one is too long."""
MAX_STORED_SIZE = 2 << 30
"""The largest stored value that is read when its expected size is unknown."""
MOST_INNER_SHARDS = 1 << 14
"""The most inner shards of one shard that are checked for overlapping chunks."""


class Locator:
    """The chunks of one array in one store. Safe from any thread."""

    def __init__(self, store: Store, metadata: ArrayMetadata, pipeline: CodecPipeline | None) -> None:
        """`pipeline`: None if the array cannot be decoded; inner chunks of shards are then unknown."""
        self.store = store
        self.metadata = metadata
        from zarrscope import codecs

        tiers: list[Shard] = []
        inner = pipeline
        while inner is not None and inner.alone is not None and (shard := codecs.shard_of(inner)) is not None:
            tiers.append(shard)
            inner = shard.inner
        self.tiers = tuple(tiers)
        self.pipeline = inner
        """Decodes one chunk, where all chunks have the same shape (see `stored_chunk_shape`)."""
        encoded = pipeline.encoded.limit if pipeline is not None else MAX_STORED_SIZE
        self.max_stored_size = (encoded if isinstance(metadata.grid, RegularGrid) else MAX_STORED_SIZE) + SLACK
        """The largest size in bytes of a stored grid chunk, whatever its elements are; larger values are not read."""
        ndim = metadata.ndim
        # Chunks per inner chunk of tier t, along each axis; the inner chunk of the last tier is the chunk.
        spans = [(1,) * ndim]
        for shard in reversed(self.tiers):
            spans.append(tuple(a * b for a, b in zip(spans[-1], shard.grid, strict=True)))
        self.chunks_per_inner = tuple(reversed(spans[:-1]))
        self.chunks_per_shard: ChunkIndex = spans[-1]
        """Chunks per grid chunk, along each axis; 1 without shards."""
        outer = metadata.grid.chunk_shape
        self.chunk_shape: ChunkIndex = tuple(c // n for c, n in zip(outer, self.chunks_per_shard, strict=True))
        self._indexes: OrderedDict[ShardPlace, tuple[bytes, ShardIndex]] = OrderedDict()
        self._indexes_size = 0
        self.presence: Presence | None = None
        if store.remote and not store.listable:
            from zarrscope.chunkio.presence import presence_of  # only here: folders and buckets list their keys

            self.presence = presence_of(store)
        self._edges: dict[int, Edges] = {}
        self._guard = threading.Lock()

    # ------------------------------------------------------------------ the grid of chunks
    def edges(self, axis: int) -> Edges:
        """The edges of the chunks along an axis; in shards, those of the inner chunks, which are regular."""
        if axis not in self._edges:
            length, grid = self.metadata.shape[axis], self.metadata.grid
            self._edges[axis] = RegularEdges(self.chunk_shape[axis], length) if self.tiers else grid.edges(axis, length)
        return self._edges[axis]

    @property
    def grid_shape(self) -> ChunkIndex:
        """The number of chunks along each axis."""
        if self.tiers:
            return tuple(
                0 if n == 0 else -(-n // c) for n, c in zip(self.metadata.shape, self.chunk_shape, strict=True)
            )
        return self.metadata.grid.grid_shape(self.metadata.shape)

    def stored_chunk_shape(self, chunk: ChunkIndex) -> ChunkIndex:
        """The decoded shape of a chunk, including the part that lies beyond the array's edge."""
        return self.chunk_shape if self.tiers else self.metadata.grid.shape_at(chunk)

    def grid_index(self, chunk: ChunkIndex) -> ChunkIndex:
        """The index of the grid chunk, and so of the key, that holds a chunk."""
        return tuple(u // n for u, n in zip(chunk, self.chunks_per_shard, strict=True)) if self.tiers else chunk

    def key(self, chunk: ChunkIndex) -> str:
        """The store key that holds a chunk; for an inner chunk, the key of its shard."""
        return self.metadata.keys.key(self.grid_index(chunk))

    # ------------------------------------------------------------------ fetching
    def fetch(
        self, chunks: Iterable[ChunkIndex], cancelled: Callable[[], bool] = never
    ) -> Iterator[tuple[ChunkIndex, EncodedChunk]]:
        """Fetches encoded chunks. Yields (chunk, payload) in order of completion, and ends early once `cancelled()`."""
        for arrived in self.fetch_together(chunks, cancelled):
            yield from arrived

    def fetch_together(
        self, chunks: Iterable[ChunkIndex], cancelled: Callable[[], bool] = never
    ) -> Iterator[Sequence[Fetched]]:
        """Like `fetch`, but yields the chunks of one answer together, so that one call can decode them."""
        bulk, limit = self.store.bulk, self.max_stored_size
        if self.tiers and self.store.remote:
            from zarrscope.chunkio.sharded_fetch import ShardedFetch  # arrays without shards do not need it

            yield from ShardedFetch(self, list(chunks), cancelled, partial(bulk.get_growing, limit=limit)).run()
            return
        if self.tiers:
            yield from self._fetch_held(chunks, cancelled)
            return
        wanted = list(chunks)
        key = self.metadata.keys.key
        for i, answer in bulk.get_views([(key(chunk), None) for chunk in wanted], cancelled, limit):
            if self.presence is not None:
                self.presence.note(key(wanted[i]), answer)
            yield ((wanted[i], answer),)

    def _fetch_held(self, chunks: Iterable[ChunkIndex], cancelled: Callable[[], bool]) -> Iterator[Sequence[Fetched]]:
        """Reads one shard after another. The file of a shard stays open while its chunks are read, because a shard that
        replaced it would have another index.
        """
        from zarrscope.chunkio.sharded_fetch import ShardedFetch  # arrays without shards do not need it

        by_key: dict[str, list[ChunkIndex]] = {}
        for chunk in chunks:
            by_key.setdefault(self.key(chunk), []).append(chunk)
        for wanted in by_key.values():
            reader = self.store.bulk.reader(Arena(), self.max_stored_size)

            def ask(
                requests: list[Request], cancelled: Callable[[], bool], reader: Reader = reader
            ) -> Iterator[tuple[int, AnswerView]]:
                for i, (key, part) in enumerate(requests):
                    try:
                        reader.seek(key)
                        found = reader.whole() if part is None else reader.part(part)
                        answer: AnswerView = None if found is None else bytes(found)
                    except ZarrscopeError as error:
                        answer = error.located(store=self.store.url, key=key)
                    yield i, answer

            try:
                yield from ShardedFetch(self, wanted, cancelled, ask).run()
            finally:
                reader.close()
            if cancelled():
                return

    def cut(self, value: memoryview, span: tuple[int, int], key: str, chunk: ChunkIndex) -> EncodedChunk:
        """The bytes of a chunk within `value`, the bytes of its shard or of a part of it; BadChunk if they are not
        there."""
        start, stop = span
        if stop > len(value):
            return BadChunk(
                f"The shard ends before chunk {chunk}: its index points to bytes that are not there",
                codec="sharding_indexed",
                index=chunk,
                store=self.store.url,
                key=key,
                advice="The shard was cut short or is being written; its other chunks can still be read.",
            )
        return value[start:stop]

    def index_at(self, reader: Reader, tier: int, span: tuple[int, int] | None) -> ShardIndex | None:
        """The index of a shard of this tier, at `span` of the value that the reader is at (None: all of it); None when
        nothing is stored. It may share memory of the reader. Raises BadChunk, Unreadable."""
        shard, size = self.tiers[tier], reader.size
        part = shard.index_range
        if span is not None:
            size = span[1] - span[0]
            start, stop = part.span(size)
            part = ByteRange(span[0] + start, stop - start)
        encoded = reader.part(part)
        return None if encoded is None else shard.decode_index(encoded, size)

    def overlaps(self, chunk: ChunkIndex) -> list[tuple[int, int, bool]]:
        """Pairs of inner chunks of one grid chunk's shard that have bytes in common: (number of one, number of the
        other, whether they share all bytes).

        Empty where the shard's index cannot be read. For shards within shards see `inner_overlaps`.
        """
        shard, key = self.tiers[0], self.metadata.keys.key(chunk)
        place = ShardPlace(key, None, 0)
        index = self.remembered(place)
        if index is None or not self.store.remote:
            reader = self.store.bulk.reader(Arena(), self.max_stored_size)
            try:
                reader.seek(key)
                encoded = reader.part(shard.index_range)
                if encoded is None:
                    return []
                index = self.parsed(place, shard, encoded, None)
            except ZarrscopeError:
                return []
            finally:
                reader.close()
        return index.overlaps()

    def inner_overlaps(
        self, chunk: ChunkIndex, cancelled: Callable[[], bool] = never
    ) -> list[tuple[tuple[int, ...], list[tuple[int, int, bool]]]]:
        """Inner chunks with bytes in common, in the shards that lie within a shard of the grid.

        For each such shard: the numbers of the inner chunks that lead to it, from the outermost shard inwards, and its
        pairs as `overlaps` returns them. At most MOST_INNER_SHARDS are examined, one after the other.
        """
        if len(self.tiers) < 2:
            return []
        key = self.metadata.keys.key(chunk)
        found: list[tuple[tuple[int, ...], list[tuple[int, int, bool]]]] = []
        pending: list[tuple[tuple[int, ...], tuple[int, int] | None]] = [((), None)]
        reader = self.store.bulk.reader(Arena(), self.max_stored_size)
        try:
            reader.seek(key)
            for _ in range(MOST_INNER_SHARDS):
                if not pending or cancelled():
                    break
                path, span = pending.pop(0)
                try:
                    index = self._index_within(reader, key, len(path), span)
                except ZarrscopeError:
                    continue  # reading the inner chunks of this shard reports the fault
                if index is None:
                    continue
                if path and (pairs := index.overlaps()):
                    found.append((path, pairs))
                if len(path) + 1 < len(self.tiers):
                    low = span[0] if span is not None else 0
                    for number in index.present.ravel().nonzero()[0].tolist():
                        start, length = index.entries.reshape(-1, 2)[number].tolist()
                        if start + length < 1 << 62:
                            pending.append(((*path, number), (low + start, low + start + length)))
        finally:
            reader.close()
        return found

    def _index_within(self, reader: Reader, key: str, tier: int, span: tuple[int, int] | None) -> ShardIndex | None:
        """The index of a shard of this tier in the value that the reader has open; None if no value is stored."""
        shard, part = self.tiers[tier], self.tiers[tier].index_range
        if span is not None:
            start, stop = part.span(span[1] - span[0])
            part = ByteRange(span[0] + start, stop - start)
        encoded = reader.part(part)
        size = None if span is None else span[1] - span[0]
        return None if encoded is None else self.parsed(ShardPlace(key, span, tier), shard, encoded, size)

    # ------------------------------------------------------------------ reading with a Reader, shards of one tier
    def spans(
        self, reader: Reader, key: str, inner: Sequence[Sequence[int]]
    ) -> Sequence[tuple[int, int] | None] | None:
        """The byte ranges of a region of inner chunks in the shard `key`, as ShardIndex.locate_many returns them; None
        if the shard is not stored."""
        shard = self.tiers[0]
        reader.seek(key)
        encoded = reader.part(shard.index_range)
        return (
            None if encoded is None else self.parsed(ShardPlace(key, None, 0), shard, encoded, None).locate_many(inner)
        )

    def read_spans(
        self, reader: Reader, key: str, chunks: Sequence[ChunkIndex], spans: Sequence[tuple[int, int] | None]
    ) -> list[Buffer | None]:
        """Reads the bytes of chunks from the shard `key`, which the reader has open. Chunks that lie close together are
        read by one request.

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
                data = self.cut(block, (low - start, high - start), key, chunks[i])
                if isinstance(data, ZarrscopeError):
                    raise data
                found[i] = data
            del order[:n]
        return found

    def _block(self, reader: Reader, start: int, stop: int, tail: int) -> Buffer:
        """Reads the bytes from `start` to `stop` of the shard, or fewer if the shard ends before `stop`. The last
        `tail` bytes of the shard are its index and are left out."""
        if reader.size is not None:
            stop = min(stop, reader.size - tail)
            return reader.read(start, stop) if stop > start else b""
        # The size is unknown, so `tail` more bytes are requested: a short answer shows where the shard ends.
        value = reader.part(ByteRange(start, stop - start + tail)) or b""
        return value if len(value) == stop - start + tail else value[: max(0, len(value) - tail)]

    # ------------------------------------------------------------------ shard indexes
    def locate(self, place: ShardPlace, index: ShardIndex, chunk: ChunkIndex) -> tuple[int, int] | None:
        """The byte range, in the stored value, of the inner chunk of this shard that is `chunk` or contains it."""
        per_inner, grid = self.chunks_per_inner[place.tier], self.tiers[place.tier].grid
        found = index.locate(tuple(u // n % g for u, n, g in zip(chunk, per_inner, grid, strict=True)))
        if found is None:
            return None
        start, length = found.start or 0, found.length or 0
        if place.span is None:
            return start, start + length
        return place.span[0] + start, place.span[0] + start + length

    def parsed(self, place: ShardPlace, shard: Shard, encoded: Buffer, size: int | None) -> ShardIndex:
        """The index of a shard of `size` bytes (None: unknown), which is cached. Raises BadChunk."""
        if (
            len(encoded) > SHARD_INDEX_BYTES and not self.store.remote
        ):  # decoded at once, so that no second copy is in memory
            return shard.decode_index(encoded, size)
        encoded = bytes(encoded)  # bytes can be compared, and stay valid after the Reader reuses its arena
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
            while self._indexes_size > SHARD_INDEX_BYTES and len(self._indexes) > 1:
                _, (dropped, _) = self._indexes.popitem(last=False)
                self._indexes_size -= len(dropped)
        return index

    def remembered(self, place: ShardPlace) -> ShardIndex | None:
        """The cached index of a shard."""
        with self._guard:
            known = self._indexes.get(place)
            return known[1] if known else None

    def forget(self, key: str | None = None) -> bool:
        """Drops the cached shard indexes of the key `key`, or all of them if it is None, and then also what is noted
        about stored keys. Returns whether any indexes were cached."""
        if key is None and self.presence is not None:
            self.presence.forget(self.metadata.keys.prefix)
        with self._guard:
            stale = [place for place in self._indexes if key is None or place.key == key]
            for place in stale:
                encoded, _ = self._indexes.pop(place)
                self._indexes_size -= len(encoded)
            return bool(stale)
