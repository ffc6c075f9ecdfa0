"""The chunks of one array as they are stored: which there are, which are missing, what lies there besides, and whether
each can be decoded.

Where the store lists, the keys beneath the array's prefix are read once, and only as one bit per chunk of the grid (a
set of numbers where the grid is huge): a grid of 2^60 chunks costs what is stored. Where it cannot list, every chunk is
asked for, up to MAX_ASKED. Decoding goes in batches in C order of the grid, each batch on all cores, so findings come
in the same order every time and at most one chunk per core is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.background import shared
from zarrscope.crews import Crew, Stopped
from zarrscope.dialects import dialect_named
from zarrscope.errors import BadChunk, ZarrscopeError
from zarrscope.finding import Finding, descendant, failed_chunk, finding_of
from zarrscope.store import never

if TYPE_CHECKING:
    from zarrscope.array import Array
    from zarrscope.dialects import Dialect
    from zarrscope.locator import Index, Payload
    from zarrscope.metadata import ChunkKeys

BATCH = 256
"""So many chunks (shards) are decoded between two signs of progress."""
PARTS = 8
"""A batch goes to a cluster in so many pieces, and so many batches at once."""
UNITS = 1024
"""So many inner chunks of a shard are fetched at once."""
MAX_BITS = 1 << 26
"""A grid of up to so many chunks is kept as an array of flags."""
MAX_ASKED = 10_000_000
MOST_NAMED = 1000
"""So many missing chunks, and so many keys that are no chunks, are named of one array; of the rest only the number."""


def index_of(keys: ChunkKeys, key: str, ndim: int) -> Index | None:
    """The chunk that `key` belongs to, within the grid or not; None when it is no chunk's key."""
    if not key.startswith(keys.prefix):
        return None
    rest = key[len(keys.prefix) :]
    if ndim == 0:
        return () if rest == keys.scalar else None
    if not rest.startswith(keys.stem):
        return None
    parts = rest[len(keys.stem) :].split(keys.separator)
    if len(parts) != ndim or not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
        return None
    index = tuple(map(int, reversed(parts) if keys.reverse else parts))
    return index if keys.key(index) == key else None


class StoredChunks:
    """Checks the chunks of `array`, which can be decoded here (`array.problem` is None)."""

    def __init__(
        self,
        array: Array,
        dialect: Dialect,
        expect_all: bool = False,
        cancelled: Callable[[], bool] = never,
        crew: Crew | None = None,
    ) -> None:
        """`crew`: who decodes, where that is not this process."""
        self.array = array
        self.crew = crew
        self.dialect = dialect
        self.cancelled = cancelled
        self.extent = array.metadata.grid.extent(array.shape)
        self.total = prod(self.extent)
        """How many chunks the grid has, stored or not."""
        self.documents_seen = array.metadata.keys.prefix == dialect.listing(array.path) and array.store.listable
        """Documents lie among the chunks: `listed` tells of nodes beneath the array."""
        self._missing = "error" if expect_all else "information"
        self._present: np.ndarray[tuple[int], np.dtype[np.bool_]] | set[int] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What a worker of a cluster needs to decode: not what is stored, but whether that is known."""
        known = None if self._present is None else set[int]()
        return {**self.__dict__, "_present": known, "crew": None, "cancelled": never, "dialect": None}

    # ------------------------------------------------------------------ what lies there
    def listed(self) -> list[Finding]:
        """Reads the keys: chunks that are missing, and what is stored besides. Raises Unreadable."""
        store, keys = self.array.store, self.array.metadata.keys
        if not store.listable:
            return []
        self._present = np.zeros(self.total, bool) if self.total <= MAX_BITS else set()
        forms = (keys, *self.array.metadata.alternative_keys)
        documents = {key.rpartition("/")[2] for key in self.dialect.documents("/node")}
        besides = self._besides()
        own = set(self.dialect.documents(self.array.path))
        beneath: dict[str, str] = {}
        others = 0
        strays: list[tuple[str, bool]] = []
        for count, key in enumerate(store.list_prefix(keys.prefix)):
            if count % 1024 == 0 and self.cancelled():
                return []
            index = next((i for i in (index_of(form, key, len(self.extent)) for form in forms) if i is not None), None)
            if index is not None and all(i < n for i, n in zip(index, self.extent, strict=True)):
                self._note(index)
            elif self.documents_seen and key.rpartition("/")[2] in documents:
                if key not in own:
                    node = "/" + key.rpartition("/")[0]
                    beneath[node] = min(key, beneath.get(node, key))
            elif key not in besides:
                others += 1
                strays.append((key, index is not None))
                if len(strays) >= 2 * MOST_NAMED:
                    strays = sorted(strays)[:MOST_NAMED]
        findings = [descendant(self.dialect, self.array.path, node, beneath[node]) for node in sorted(beneath)]
        findings += self._strays(sorted(strays)[:MOST_NAMED], others, tuple(f"{node[1:]}/" for node in beneath))
        return findings + self._absent()

    def _besides(self) -> set[str]:
        """The documents of this array in other dialects that the hierarchy is in, too."""
        also = self.array.hierarchy.also if self.array.hierarchy is not None else ()
        return {key for name in also for key in dialect_named(name).documents(self.array.path)}

    def _note(self, index: Index) -> None:
        at = self._number(index)
        if isinstance(self._present, set):
            self._present.add(at)
        elif self._present is not None:
            self._present[at] = True

    def _strays(self, keys: list[tuple[str, bool]], count: int, nodes: tuple[str, ...]) -> list[Finding]:
        findings = []
        for key, outside in keys:
            if nodes and key.startswith(nodes):
                continue  # a part of the node beneath, which is a finding already
            if outside:
                message = "This chunk lies outside the array: nobody reads it"
                advice = "The array was shrunk, or its shape is wrong. Erase the chunk, or correct the shape."
                findings.append(self._finding("warning", "chunk-outside", message, key, advice))
            else:
                message = "This key belongs to no chunk of the array"
                advice = "It may be left over from an interrupted write; erase it when nobody needs it."
                findings.append(self._finding("warning", "stray-key", message, key, advice))
        if count > len(keys):
            message = f"{count - len(keys):,} more keys belong to no chunk of the array"
            findings.append(self._finding("warning", "stray-keys", message, None))
        return findings

    def _absent(self) -> list[Finding]:
        """The chunks that are not stored; one finding when none is."""
        if self._present is None or not self.total:
            return []
        there = len(self._present) if isinstance(self._present, set) else int(np.count_nonzero(self._present))
        missing = self.total - there
        if not there and self.total > 1:
            text = f"None of the {self.total:,} chunks is stored: the array is all fill value"
            return [self._finding(self._missing, "chunks-missing", text, None)]
        if isinstance(self._present, set):
            numbers = (n for n in range(self.total) if n not in self._present)
        else:
            numbers = (int(n) for n in np.flatnonzero(~self._present))
        findings = [self._not_stored(self._index(n)) for n in islice(numbers, min(missing, MOST_NAMED))]
        if missing > len(findings):
            text = f"{missing - len(findings):,} more chunks are not stored"
            findings.append(self._finding(self._missing, "chunks-missing", text, None))
        return findings

    def _not_stored(self, chunk: Index) -> Finding:
        what = "Shard" if self.array.locator.tiers else "Chunk"
        text = f"{what} {chunk} is not stored: it reads as the fill value"
        return self._finding(self._missing, "chunk-missing", text, self.array.metadata.keys.key(chunk))

    # ------------------------------------------------------------------ decoding
    def decoded(self, start: int = 0) -> Iterator[tuple[int, list[Finding]]]:
        """(chunks of the grid passed so far, findings among the last of them), until all are done or cancelled."""
        if self._present is None and self.total > MAX_ASKED:
            text = f"The store cannot list its keys, and {self.total:,} chunks are too many to ask for one by one"
            yield self.total, [self._finding("warning", "chunks-not-checked", text, None)]
            return
        try:
            self.array.check_size(self.array.locator.unit_shape)
        except ZarrscopeError as error:
            yield self.total, [finding_of(error, self.array.path)]
            return
        numbers = self._to_decode(start)
        many = BATCH if self.crew is None else BATCH * PARTS
        while batch := [self._index(n) for n in islice(numbers, many)]:
            found = self._batch(batch) if self.crew is None else self._by_crew(self.crew, batch)
            if self.cancelled():
                return
            start = self._number(batch[-1]) + 1
            yield start, [finding for chunk in batch for finding in found.get(chunk, ())]
        if start < self.total:
            yield self.total, []

    def _by_crew(self, crew: Crew, chunks: list[Index]) -> dict[Index, list[Finding]]:
        """As `_batch`, by the workers of a cluster."""
        found: dict[Index, list[Finding]] = {}
        part = BATCH // PARTS
        pieces = [chunks[n : n + part] for n in range(0, len(chunks), part)]
        size = part * prod(self.array.metadata.grid.chunk_shape) * (self.array.metadata.dtype.itemsize or 64)
        try:
            crew.each(self._batch, pieces, found.update, self.cancelled, size)
        except Stopped:
            pass  # what was found so far is no step of the check
        return found

    def _to_decode(self, start: int) -> Iterator[int]:
        present = self._present
        if present is None:
            return iter(range(start, self.total))
        if isinstance(present, set):
            return iter(sorted(n for n in present if n >= start))
        return (start + int(n) for n in np.flatnonzero(present[start:]))

    def _batch(self, chunks: list[Index]) -> dict[Index, list[Finding]]:
        found: dict[Index, list[Finding]] = {}
        array = self.array
        if array.locator.tiers:

            def shard(chunk: Index) -> None:
                if told := self._shard(chunk):
                    found[chunk] = told

            shared().share(chunks, shard)
            return found

        def one(item: tuple[Index, Payload]) -> None:
            if not self.cancelled() and (told := self._decoded(*item)) is not None:
                found[item[0]] = [told]

        def read(chunk: Index) -> None:
            for item in array.fetch([chunk], self.cancelled):
                one(item)

        if array.store.remote:
            shared().share(array.fetch(chunks, self.cancelled), one)
        else:
            shared().share(chunks, read)
        return found

    def _decoded(self, unit: Index, payload: Payload) -> Finding | None:
        array = self.array
        key = array.locator.key(unit)
        if payload is None:  # the store cannot list, or the chunk was erased meanwhile
            return self._not_stored(array.locator.chunk_of(unit))
        if isinstance(payload, ZarrscopeError):
            return failed_chunk(payload, array, key)
        try:
            array.decode_unit(unit, payload)
        except ZarrscopeError as error:
            told = None if array.locator.tiers else self._wrong_size(unit, len(payload), key)
            return told or failed_chunk(error, array, key)
        return None

    def _wrong_size(self, unit: Index, size: int, key: str) -> Finding | None:
        expected = self.array.pipeline_of(self.array.locator.shape_of(unit)).encoded.size
        if size and (expected is None or size == expected):
            return None
        wanted = f", {expected:,} are expected" if expected is not None else ""
        code = "chunk-truncated" if expected is None or size < expected else "chunk-size"
        text = f"Chunk {unit} has {size:,} bytes{wanted}"
        return self._finding("error", code, text, key, "Restore the chunk from a copy, or erase it.")

    def _shard(self, chunk: Index) -> list[Finding]:
        """The findings within one shard: its index once, then each inner chunk that lies within the array."""
        locator = self.array.locator
        spans = [
            range(c * n, min((c + 1) * n, whole))
            for c, n, whole in zip(chunk, locator.units_per_chunk, locator.extent, strict=True)
        ]
        found: dict[Index, Finding] = {}
        absent: list[Index] = []
        misplaced: list[Index] = []
        asked = product(*spans)
        while units := list(islice(asked, UNITS)):
            if self.cancelled():
                return []
            for unit, payload in self.array.fetch(units, self.cancelled):
                if payload is None:
                    absent.append(unit)
                    continue
                finding = self._decoded(unit, payload)
                if finding is not None and isinstance(payload, ZarrscopeError):
                    misplaced.append(unit)
                    if isinstance(payload, BadChunk):  # the index, its checksum, or where it points to
                        finding = replace(finding, code="shard-index")
                if finding is not None:
                    found[unit] = finding
        if len(absent) == prod(len(span) for span in spans) and self._present is None:
            return [self._not_stored(chunk)]
        for unit in sorted(misplaced)[1:]:  # an index that is wrong fails many inner chunks alike: it is one finding
            del found[unit]
        if len(misplaced) > 1:
            first = found[min(misplaced)]
            found[min(misplaced)] = replace(first, message=f"{first.message}; so for {len(misplaced):,} inner chunks")
        key = self.array.metadata.keys.key(chunk)
        for unit in sorted(absent)[:MOST_NAMED]:
            text = f"Inner chunk {unit} is not in its shard: it reads as the fill value"
            found[unit] = self._finding(self._missing, "chunk-missing", text, key)
        if len(absent) > MOST_NAMED:
            text = f"{len(absent) - MOST_NAMED:,} more inner chunks are not in this shard"
            found[max(absent)] = self._finding(self._missing, "chunks-missing", text, key)
        return [found[unit] for unit in sorted(found)]

    # ------------------------------------------------------------------ numbers
    def _number(self, index: Index) -> int:
        number = 0
        for i, n in zip(index, self.extent, strict=True):
            number = number * n + i
        return number

    def _index(self, number: int) -> Index:
        index: list[int] = []
        for n in reversed(self.extent):
            number, i = divmod(number, n)
            index.append(i)
        return tuple(reversed(index))

    def _finding(self, severity: str, code: str, message: str, key: str | None, advice: str | None = None) -> Finding:
        return Finding(severity, code, self.array.path, message, key, None, advice)  # type: ignore[arg-type]
