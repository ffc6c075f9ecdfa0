"""The work on one array, in pieces that any thread or any process can do, in any order, once or twice.

A Work holds all that a piece needs and pickles small; what a piece gives back are numbers. Every value is set with
ABSENT, so a piece that is done again, because a worker died over it, changes nothing that is there already.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zarrscope.array import Array
from zarrscope.convert.blocks import (
    REGION_BYTES,
    Region,
    Spans,
    equal,
    inside,
    regions,
    selection,
    slabs,
    spans_of,
    spelled,
)
from zarrscope.convert.downsampling import Method, block_bytes, downsample
from zarrscope.errors import BadChunk, Conflict, ZarrscopeError
from zarrscope.locator import Index
from zarrscope.store import ABSENT, ByteRange

BATCH = 64
"""So many chunks of a remote source are asked for at once."""


@dataclass(frozen=True, slots=True)
class Done:
    """What became of some chunks of the destination."""

    copied: int = 0
    encoded: int = 0
    blank: int = 0
    """Of nothing but the fill value, so not stored; or not stored in the source."""
    kept: int = 0
    """Stored by an earlier run."""

    @property
    def chunks(self) -> int:
        return self.copied + self.encoded + self.blank + self.kept

    def __add__(self, other: Done) -> Done:
        return Done(
            self.copied + other.copied,
            self.encoded + other.encoded,
            self.blank + other.blank,
            self.kept + other.kept,
        )


@dataclass(frozen=True)
class Work:
    """Making `target`, whose documents need not be there yet, of `source`: the array that is converted, or the level
    above. `again`: some of it may be there already, from an earlier run or a worker that died."""

    source: Array
    target: Array
    factors: tuple[int, ...] | None = None
    """Source elements per element of the target, for a level of a pyramid; None: the same elements."""
    method: Method = "nearest"
    again: bool = False

    # ------------------------------------------------------------------ what there is to do
    def batches(self) -> Iterator[list[Index]]:
        """The pieces for `copy`: chunks, several together where each request costs a round trip."""
        grid = self.target.metadata.grid
        indices = product(*map(range, grid.extent(self.target.shape)))
        many = 1
        if self.source.store.remote:
            size = max(1, self.source.dtype.itemsize * prod(grid.chunk_shape))
            many = min(BATCH, max(1, REGION_BYTES // size))
        while batch := list(islice(indices, many)):
            yield batch

    def regions(self) -> Iterator[Region]:
        """The pieces for `encode` and `compare`."""
        many = BATCH if self.source.store.remote else 1
        return regions(self.source.chunks, self.target.metadata, self.factors, many)

    @property
    def region_bytes(self) -> int:
        """About how much one region reads: for those who put several into one task."""
        first = next(self.regions(), None)
        if first is None:
            return 1
        size = prod(map(len, spans_of(self.target.metadata, first)))
        return max(1, size * block_bytes(self.factors or (), self.target.metadata.dtype.itemsize or 64))

    # ------------------------------------------------------------------ doing it
    def copy(self, batch: list[Index]) -> Done:
        """Chunks as they are."""
        keys, before = self.target.metadata.keys, self.source.metadata
        wanted = [index for index in batch if not self._stored(keys.key(index))]
        copied = blank = 0
        for i, answer in self.source.store.get_many([(before.keys.key(index), None) for index in wanted]):
            for where in before.alternative_keys if answer is None else ():
                answer = answer if answer is not None else self.source.store.get(where.key(wanted[i]))
            if isinstance(answer, ZarrscopeError):
                raise answer
            if answer is None:
                blank += 1
            else:
                self._put(keys.key(wanted[i]), answer)
                copied += 1
        return Done(copied=copied, blank=blank, kept=len(batch) - len(wanted))

    def encode(self, region: Region) -> Done:
        """The chunks of one region, encoded anew."""
        from zarrscope.codecs import is_fill

        metadata = self.target.metadata
        indices = list(product(*region))
        wanted = [index for index in indices if not self._stored(metadata.keys.key(index))]
        kept = len(indices) - len(wanted)
        if not wanted:
            return Done(kept=kept)
        spans = spans_of(metadata, region)
        values = self.values(spans)
        encoded = blank = 0
        for index in wanted:
            shape = metadata.grid.shape_at(index)
            part = values[inside(spans_of(metadata, tuple(range(i, i + 1) for i in index)), spans)]
            if part.shape == shape:
                chunk = np.ascontiguousarray(part).reshape(shape)
            else:
                chunk = np.full(shape, self.target.fill_value, self.target.dtype)
                chunk[tuple(map(slice, part.shape))] = part
            if is_fill(chunk, metadata.fill) and (metadata.fill.defined or is_fill(chunk, self.source.metadata.fill)):
                blank += 1
                continue
            key = metadata.keys.key(index)
            try:
                value = self.target.pipeline_of(shape).encode(chunk)
            except ZarrscopeError as error:
                raise self.target.located(error, key)  # noqa: B904 - it is that error
            self._put(key, value)
            encoded += 1
        return Done(encoded=encoded, blank=blank, kept=kept)

    def compare(self, region: Region) -> Done:
        """Reads the target as anybody would and compares all elements. Raises BadChunk with the place."""
        spans = spans_of(self.target.metadata, region)
        if not equal(self.values(spans), self.target.read(selection(spans))):
            first = tuple(chunks.start for chunks in region)
            raise BadChunk(
                f"What was written of {self.target.path} is not what {self.source.path} holds, at [{spelled(spans)}]",
                index=first,
                store=self.target.store.url,
                key=self.target.metadata.keys.key(first),
                advice="The destination is not to be used: erase it. A codec that loses precision does this, too.",
            )
        return Done(kept=prod(map(len, region)))

    def values(self, spans: Spans) -> NDArray[Any]:
        """What the target is to hold."""
        if self.factors is None:
            return self.source.read(selection(spans))
        out = np.empty(tuple(map(len, spans)), self.source.dtype)
        itemsize = self.source.metadata.dtype.itemsize or 64
        for slab in slabs(spans, self.source.chunks, itemsize, self.factors):
            above = tuple(
                range(s.start * f, min(s.stop * f, n))
                for s, f, n in zip(slab, self.factors, self.source.shape, strict=True)
            )
            out[inside(slab, spans)] = downsample(self.source.read(selection(above)), self.factors, self.method)
        return out

    def _stored(self, key: str) -> bool:
        return self.again and self.target.store.get(key, ByteRange(0, 1)) is not None

    def _put(self, key: str, value: bytes) -> None:
        try:
            self.target.store.set(key, value, expect=ABSENT)
        except Conflict:
            if not self.again:
                raise
