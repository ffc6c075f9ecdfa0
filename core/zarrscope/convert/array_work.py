"""The conversion of one array, cut into pieces, which any thread or process can do, in any order, even twice.

An ArrayWork holds everything that a piece needs, and its pickle is small; the result of a piece is a few numbers. Every
value is stored only where nothing is stored yet (ABSENT). So if a worker dies and its piece is done again, nothing that
is already stored changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, wraps
from itertools import islice, product
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from zarrscope.chunkio.stored_chunks import MOST, blocks_touched, is_sparse, listed, stored_chunks
from zarrscope.chunkio.stored_chunks import ElementRanges as PresentSpans
from zarrscope.convert.blocks import (
    ChunkRegion,
    ElementRegion,
    equal,
    inside,
    region_shape,
    regions,
    selection,
    slabs,
    spans_of,
    spelled,
)
from zarrscope.convert.downsampling import Method, block_bytes, downsample
from zarrscope.errors import BadChunk, Conflict, Refused, ZarrscopeError
from zarrscope.model.selection import ChunkIndex
from zarrscope.model.storage import ABSENT, ByteRange
from zarrscope.nodes.array import Array
from zarrscope.nodes.stored_array import StoredArray
from zarrscope.runtime.tuning import REGION_BYTES, VALUES_AT_ONCE, VISITED_CHUNKS


@dataclass(frozen=True, slots=True)
class WorkCount:
    """Counts the destination chunks that were copied, encoded, left out as blank, or already there."""

    copied: int = 0
    encoded: int = 0
    blank: int = 0
    """Chunks that are not stored, because they hold only the fill value or are absent in the source."""
    kept: int = 0
    """Chunks that an earlier run stored."""
    assumed: int = 0
    """The number of values, not chunks, that the source denied and that count as missing."""

    @property
    def chunks(self) -> int:
        """The number of chunks that are done, in whichever of the four ways."""
        return self.copied + self.encoded + self.blank + self.kept

    def __add__(self, other: WorkCount) -> WorkCount:
        return WorkCount(
            self.copied + other.copied,
            self.encoded + other.encoded,
            self.blank + other.blank,
            self.kept + other.kept,
            self.assumed + other.assumed,
        )


WorkItem = TypeVar("WorkItem", list[ChunkIndex], ChunkRegion)


def _counted(do: Callable[[ArrayWork, WorkItem], WorkCount]) -> Callable[[ArrayWork, WorkItem], WorkCount]:
    """Makes `do` also count the values that the source denied and that were taken as missing: only the process that
    reads the source knows their number."""

    @wraps(do)
    def counted(work: ArrayWork, what: WorkItem) -> WorkCount:
        before = work.source.store.taken_as_missing
        done = do(work, what)
        assumed = work.source.store.taken_as_missing - before
        return replace(done, assumed=assumed) if assumed else done

    return counted


@dataclass(frozen=True)
class ArrayWork:
    """The work of making the array `target` from `source`: the array to convert, or the next finer level. The documents
    of `target` need not exist yet. `again`: some of its chunks may exist, from an earlier run or a worker that died.
    """

    source: Array
    target: Array
    factors: tuple[int, ...] | None = None
    """If the target is a level of a pyramid: elements of the source per element of the target, along each axis. None if
    the target has the elements of the source."""
    method: Method = "nearest"
    again: bool = False

    # ------------------------------------------------------------------ pieces
    def batches(self) -> Iterator[list[ChunkIndex]]:
        """The chunks to `copy`: one by one, or several at a time if each request costs a round trip."""
        grid = self.target.metadata.grid
        stored = stored_chunks(self.source._stored)
        indices = iter(stored) if stored is not None else product(*map(range, grid.grid_shape(self.target.shape)))
        many = 1
        if self.source.store.remote:
            size = max(1, self.source.dtype.itemsize * prod(grid.chunk_shape))
            many = min(VALUES_AT_ONCE, max(1, REGION_BYTES // size))
        while batch := list(islice(indices, many)):
            yield batch

    def regions(self, *, written: bool = False) -> Iterator[ChunkRegion]:
        """The regions to `encode`; if everything is `written`, the regions to `compare`.

        For a sparse array these are only the regions with stored chunks: elsewhere both arrays hold the same fill
        value.
        """
        metadata = self.target.metadata
        total = prod(metadata.grid.grid_shape(metadata.shape))
        if total <= VISITED_CHUNKS:
            return regions(metadata, self._region_shape())
        if not self._blank_alike:
            if total > MOST:
                raise self.target._stored.located(
                    Refused(
                        f"{total:,} chunks would have to be stored, because the destination has another fill value",
                        advice="Choose a dialect that can state this fill value, or convert a smaller array.",
                    )
                )
            return regions(metadata, self._region_shape())
        source, target = self.source._stored, self.target._stored
        found = listed((source, target) if written else (source,))
        if found is None:
            return regions(metadata, self._region_shape())
        steps = self._region_shape(0 if is_sparse(found) else REGION_BYTES)

        def block(array: StoredArray, spans: PresentSpans) -> list[range]:
            times = self.factors if self.factors is not None and array is source else (1,) * len(steps)
            touched = []
            for axis, ((low, high), factor, step) in enumerate(zip(spans, times, steps, strict=True)):
                edges, last = metadata.grid.edges(axis, metadata.shape[axis]), metadata.shape[axis] - 1
                first = edges.chunk_of(min(low // factor, last))
                touched.append(range(first // step, edges.chunk_of(min((high - 1) // factor, last)) // step + 1))
            return touched

        return regions(metadata, steps, blocks_touched(found, block))

    def _region_shape(self, max_bytes: int = REGION_BYTES) -> tuple[int, ...]:
        many = VALUES_AT_ONCE if self.source.store.remote and max_bytes else 1
        return region_shape(self.source.chunks, self.target.metadata, self.factors, many, max_bytes)

    @property
    def _blank_alike(self) -> bool:
        """Whether a chunk that is absent in the source can be absent in the target."""
        blank = np.full((1,), self.source.fill_value, self.source.dtype)
        return self._is_blank(blank)

    def _is_blank(self, chunk: NDArray[Any]) -> bool:
        from zarrscope.codecs import is_fill

        fill = self.target.metadata.fill
        return is_fill(chunk, fill) and (fill.defined or is_fill(chunk, self.source.metadata.fill))

    @property
    def region_bytes(self) -> int:
        """The approximate bytes that one region reads; small regions share a task of a cluster."""
        first = next(regions(self.target.metadata, self._region_shape()), None)
        if first is None:
            return 1
        size = prod(map(len, spans_of(self.target.metadata, first)))
        return max(1, size * block_bytes(self.factors or (), self.target.metadata.dtype.itemsize or 64))

    # ------------------------------------------------------------------ carrying out
    @_counted
    def copy(self, batch: list[ChunkIndex]) -> WorkCount:
        """Copies chunks without decoding them."""
        keys, before = self.target.metadata.keys, self.source.metadata
        wanted = [index for index in batch if not self._stored(keys.key(index))]
        copied = blank = 0
        store, max_size = self.source.store, self.source._stored.locator.max_stored_size
        with self.target.store.bulk.puts() as puts:
            for i, answer in store.get_many([(before.keys.key(index), None) for index in wanted], limit=max_size):
                for where in before.alternative_keys if answer is None else ():
                    answer = answer if answer is not None else store.get(where.key(wanted[i]), None, max_size)
                if isinstance(answer, ZarrscopeError):
                    raise answer
                if answer is None:
                    blank += 1
                else:
                    puts.add(partial(self._put, keys.key(wanted[i]), answer), len(answer))
                    copied += 1
        return WorkCount(copied=copied, blank=blank, kept=len(batch) - len(wanted))

    @_counted
    def encode(self, region: ChunkRegion) -> WorkCount:
        """Decodes one region of the source array and encodes it as chunks of the target array."""
        metadata = self.target.metadata
        indices = list(product(*region))
        wanted = [index for index in indices if not self._stored(metadata.keys.key(index))]
        kept = len(indices) - len(wanted)
        if not wanted:
            return WorkCount(kept=kept)
        spans = spans_of(metadata, region)
        values = self.values(spans)
        encoded = blank = 0
        with self.target.store.bulk.puts() as puts:
            for index in wanted:
                shape = metadata.grid.shape_at(index)
                chunk_spans = spans_of(metadata, tuple(range(i, i + 1) for i in index))
                taken: tuple[Any, ...] = (*inside(chunk_spans, spans), ...)  # `...`: also one text is an array
                part = values[taken]
                if part.shape == shape:
                    chunk = np.ascontiguousarray(part).reshape(shape)
                else:
                    chunk = np.full(shape, self.target.fill_value, self.target.dtype)
                    chunk[tuple(map(slice, part.shape))] = part
                if self._is_blank(chunk):
                    blank += 1
                    continue
                key = metadata.keys.key(index)
                try:
                    value = self.target._stored.grid_chunk_pipeline(shape).encode(chunk)
                except ZarrscopeError as error:
                    self.target._stored.located(error, key)
                    raise
                puts.add(partial(self._put, key, value), len(value))
                encoded += 1
        return WorkCount(encoded=encoded, blank=blank, kept=kept)

    @_counted
    def compare(self, region: ChunkRegion) -> WorkCount:
        """Reads the target as any reader would and compares all elements. Raises BadChunk with the place of a
        difference.
        """
        spans = spans_of(self.target.metadata, region)
        if not equal(self.values(spans), self.target._stored.read(selection(spans))):
            first = tuple(chunks.start for chunks in region)
            raise BadChunk(
                f"{self.target.path} differs from {self.source.path}, at [{spelled(spans)}]",
                index=first,
                store=self.target.store.url,
                key=self.target.metadata.keys.key(first),
                advice="The destination cannot be used: erase it. The cause may be a codec that loses precision.",
            )
        return WorkCount(kept=prod(map(len, region)))

    def values(self, spans: ElementRegion) -> NDArray[Any]:
        """The values that the target should hold."""
        if self.factors is None:
            return self.source._stored.read(selection(spans))
        out = np.empty(tuple(map(len, spans)), self.source.dtype)
        itemsize = self.source.metadata.dtype.itemsize or 64
        for slab in slabs(spans, self.source.chunks, itemsize, self.factors):
            above = tuple(
                range(s.start * f, min(s.stop * f, n))
                for s, f, n in zip(slab, self.factors, self.source.shape, strict=True)
            )
            out[inside(slab, spans)] = downsample(self.source._stored.read(selection(above)), self.factors, self.method)
        return out

    def _stored(self, key: str) -> bool:
        return self.again and self.target.store.get(key, ByteRange(0, 1)) is not None

    def _put(self, key: str, value: bytes) -> None:
        store = self.target.store
        try:
            if not store.bulk.gathers_puts:
                store.set(key, value, expect=ABSENT)
            elif store.get(key, ByteRange(0, 1)) is None:
                store.bulk.put(key, value)
            else:
                raise Conflict("There is a chunk already", store=store.url, key=key)
        except Conflict:
            if not self.again:
                raise
