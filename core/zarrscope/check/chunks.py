"""Checks the stored chunks of one array: missing chunks, keys that do not belong to a chunk, and chunks that cannot be
decoded.

Where the store can list, the keys beneath the array's prefix are read once and kept as one bit per chunk of the grid;
for a huge grid, as a set of chunk numbers. A grid of 2^60 chunks thus takes only as much memory as its stored chunks
need. Where the store cannot list, each chunk is requested, up to MAX_ASKED chunks. Chunks are decoded in batches in C
order of the grid, each batch on all cores. Findings therefore come in the same order every time, and at most one chunk
per core is in memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.check.finding import Finding, Severity, descendant, failed_chunk, finding_of
from zarrscope.check.large_shards import LargeShard
from zarrscope.chunkio.stored_chunks import index_at, index_of, number_of, region_of
from zarrscope.dialects import dialect_named
from zarrscope.errors import BadChunk, ZarrscopeError
from zarrscope.executors.executor import Cancelled, Executor
from zarrscope.model.storage import never
from zarrscope.runtime.threads import shared
from zarrscope.runtime.tuning import CHECKED_AT_ONCE, CHECKED_BYTES, CHECKED_INNER_CHUNKS, CHECKED_PARTS

if TYPE_CHECKING:
    from zarrscope.chunkio.locator import EncodedChunk
    from zarrscope.dialects import Dialect
    from zarrscope.model.metadata import ChunkKeys
    from zarrscope.model.selection import ChunkIndex
    from zarrscope.nodes.array import Array

MANY = 1 << 16
"""In a shard with more inner chunks than this, only the inner chunks that its index names are checked."""
_large = threading.Lock()
"""Held while a large shard index, of some hundred megabytes, is in memory, so that there is at most one at a time."""
MAX_BITS = 1 << 26
"""A grid of at most this many chunks is kept as an array of flags."""
MAX_ASKED = 10_000_000
MAX_NAMED_ENTRIES = 100_000
"""In a check that does not list the chunks, at most this many entries of a folder are checked for broken links."""
MOST_NAMED = 1000
"""Per array, at most this many missing chunks, and stray keys, are named; the rest are counted."""


class StoredChunks:
    """Checks the chunks of `array`, which must be decodable on this machine (`array.problem` is None)."""

    def __init__(
        self,
        array: Array,
        dialect: Dialect,
        expect_all: bool = False,
        cancelled: Callable[[], bool] = never,
        executor: Executor | None = None,
    ) -> None:
        """`executor` decodes the chunks; with None the threads of this process do."""
        self.array = array
        self.executor = executor
        self.dialect = dialect
        self.cancelled = cancelled
        self.extent = array.metadata.grid.grid_shape(array.shape)
        self.total = prod(self.extent)
        """The number of chunks in the grid, stored or not."""
        self.documents_seen = array.metadata.keys.prefix == dialect.listing(array.path) and array.store.listable
        """Whether listing the chunks also shows documents of nodes beneath the array; `listed` then reports them."""
        self._missing: Severity = "error" if expect_all else "information"
        self._blocked: list[tuple[int | None, ...]] = []
        """Indices of chunks whose key is blocked by a folder or a broken link; None: all indices along that axis."""
        self._present: np.ndarray[tuple[int], np.dtype[np.bool_]] | set[int] | None = None
        self.chunks_read = 0
        """The number of chunks of the grid that were read and decoded."""
        self._sizes: list[int] = []
        """The encoded size of each chunk of the present batch; several threads append to it."""
        self.bytes_read: int | None = None if executor is not None else 0
        """The encoded bytes that this process read; None if the workers of a cluster read them."""

    def __getstate__(self) -> dict[str, Any]:
        """The state that a cluster worker needs for decoding. It contains whether the stored chunks were listed, but
        not the list."""
        known = None if self._present is None else set[int]()
        return {**self.__dict__, "_present": known, "executor": None, "cancelled": never, "dialect": None}

    # ------------------------------------------------------------------ stored keys
    def listed(self) -> list[Finding]:
        """Lists the keys; finds missing chunks and stray keys. Raises Unreadable."""
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
        blocked: list[Finding] = []
        folders: list[str] = []
        for count, (key, is_folder, error) in enumerate(store.files.list_with_folders(keys.prefix)):
            if count % 1024 == 0 and self.cancelled():
                return []
            if is_folder or error is not None:
                if (found := self._blocked_by(key, error, forms)) is not None and len(blocked) < MOST_NAMED:
                    blocked.append(found)
                    folders.append(f"{key}/")
                continue
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
        findings += self._strays(sorted(strays)[:MOST_NAMED], others, (*(f"{node[1:]}/" for node in beneath), *folders))
        return findings + sorted(blocked, key=lambda found: found.key or "") + self._absent()

    def links(self) -> list[Finding]:
        """Findings for broken links among the topmost folders of chunks, for a check that does not list the chunks."""
        store, keys = self.array.store, self.array.metadata.keys
        if not store.listable:
            return []
        prefixes = [keys.prefix, *([keys.prefix + keys.stem] if keys.stem.endswith("/") else [])]
        found: dict[str, Finding] = {}
        for prefix in prefixes:
            if prefix.rstrip("/") in found:
                continue  # a broken link
            for key, _, error in islice(store.files.list_with_folders(prefix), MAX_NAMED_ENTRIES):
                if "/" in key[len(prefix) :]:
                    break  # only the topmost level is checked, and it is listed first
                if error is not None and (told := self._blocked_by(key, error, (keys,))) is not None:
                    found[key] = told
        return [found[key] for key in sorted(found)][:MOST_NAMED]

    def _blocked_by(self, key: str, error: ZarrscopeError | None, forms: tuple[ChunkKeys, ...]) -> Finding | None:
        """Records a folder in the place of a chunk's file, or a broken link in the path of chunks."""
        region = next((found for form in forms if (found := region_of(form, key, len(self.extent))) is not None), None)
        inside = region is not None and all(i is None or i < n for i, n in zip(region, self.extent, strict=True))
        if error is None:
            if not inside or region is None or None in region:
                return None  # chunks lie in it
            self._blocked.append(region)
            text = f"There is a folder where chunk {region} should be: it reads as the fill value"
            return self._finding("error", "chunk-folder", text, key, "Restore the chunk from a copy.")
        if not inside or region is None:
            return self._finding("warning", "stray-link", error.message.rstrip("."), key, error.advice)
        self._blocked.append(region)
        what = "The chunks beneath" if None in region else f"Chunk {region}"
        text = f"{what} cannot be read: {error.message.rstrip('.')}"
        return self._finding("error", "chunk-link", text, key, error.advice)

    def _behind(self, index: ChunkIndex) -> bool:
        """Whether a reported broken link, or a reported folder in the place of a file, explains why a chunk is
        missing."""
        return any(all(i is None or i == n for i, n in zip(region, index, strict=True)) for region in self._blocked)

    def _besides(self) -> set[str]:
        """The keys of metadata documents that describe this array in other dialects in which the hierarchy is stored,
        too."""
        also = self.array.hierarchy.other_dialects if self.array.hierarchy is not None else ()
        return {key for name in also for key in dialect_named(name).documents(self.array.path)}

    def _note(self, index: ChunkIndex) -> None:
        at = self._number(index)
        if isinstance(self._present, set):
            self._present.add(at)
        elif self._present is not None:
            self._present[at] = True

    def _strays(self, keys: list[tuple[str, bool]], count: int, nodes: tuple[str, ...]) -> list[Finding]:
        findings = []
        for key, outside in keys:
            if nodes and key.startswith(nodes):
                continue  # the key belongs to a node beneath the array, which is already reported
            if outside:
                message = "This chunk lies outside the array, so it is never read"
                advice = "The array was shrunk, or its shape is wrong. Erase the chunk, or correct the shape."
                findings.append(self._finding("warning", "chunk-outside", message, key, advice))
            else:
                message = "This key belongs to no chunk of the array"
                advice = "It may be left over from an interrupted write; erase it if it is not needed."
                findings.append(self._finding("warning", "stray-key", message, key, advice))
        if count > len(keys):
            message = f"{count - len(keys):,} more keys belong to no chunk of the array"
            findings.append(self._finding("warning", "stray-keys", message, None))
        return findings

    def _absent(self) -> list[Finding]:
        """Findings for chunks that are not stored; a single finding when no chunk is stored at all."""
        if self._present is None or not self.total:
            return []
        if self._blocked:
            return self._absent_besides()
        there = len(self._present) if isinstance(self._present, set) else int(np.count_nonzero(self._present))
        missing = self.total - there
        if not there and self.total > 1:
            text = f"None of the {self.total:,} chunks is stored: all elements have the fill value"
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

    def _absent_besides(self) -> list[Finding]:
        """Findings for chunks that are not stored, leaving out those whose keys a link or a folder hides."""
        present = self._present
        assert present is not None
        absent = (
            n
            for n in range(min(self.total, MAX_BITS))
            if not (n in present if isinstance(present, set) else present[n]) and not self._behind(self._index(n))
        )
        findings = [self._not_stored(self._index(n)) for n in islice(absent, MOST_NAMED)]
        if len(findings) == MOST_NAMED and next(absent, None) is not None:
            findings.append(self._finding(self._missing, "chunks-missing", "More chunks are not stored", None))
        return findings

    def _not_stored(self, chunk: ChunkIndex) -> Finding:
        what = "Shard" if self.array._stored.locator.tiers else "Chunk"
        text = f"{what} {chunk} is not stored: it reads as the fill value"
        return self._finding(self._missing, "chunk-missing", text, self.array.metadata.keys.key(chunk))

    # ------------------------------------------------------------------ decoding
    def decoded(self, start: int = 0) -> Iterator[tuple[int, list[Finding]]]:
        """Decodes chunks from number `start` on.

        Yields the number of chunks checked so far, with the findings since the last time.
        """
        if self._present is None and self.total > MAX_ASKED:
            text = f"The store cannot list its keys, and {self.total:,} chunks are too many to ask for one by one"
            yield self.total, [self._finding("warning", "chunks-not-checked", text, None)]
            return
        try:
            self.array._stored.check_size(self.array._stored.locator.chunk_shape)
        except ZarrscopeError as error:
            yield self.total, [finding_of(error, self.array.path)]
            return
        numbers = self._to_decode(start)
        many = CHECKED_AT_ONCE if self.executor is None else CHECKED_AT_ONCE * CHECKED_PARTS
        while batch := [self._index(n) for n in islice(numbers, many)]:
            found = self._batch(batch) if self.executor is None else self._by_executor(self.executor, batch)
            if self.cancelled():
                return
            start = self._number(batch[-1]) + 1
            self.chunks_read += len(batch)
            if self.bytes_read is not None:
                self.bytes_read += sum(self._sizes)
                self._sizes.clear()
            yield start, [finding for chunk in batch for finding in found.get(chunk, ())]
        if start < self.total:
            yield self.total, []

    def _by_executor(self, executor: Executor, chunks: list[ChunkIndex]) -> dict[ChunkIndex, list[Finding]]:
        """Findings of a batch of chunks, decoded by the workers of a cluster."""
        found: dict[ChunkIndex, list[Finding]] = {}
        part = CHECKED_AT_ONCE // CHECKED_PARTS
        pieces = [chunks[n : n + part] for n in range(0, len(chunks), part)]
        size = part * prod(self.array.metadata.grid.chunk_shape) * (self.array.metadata.dtype.itemsize or 64)
        try:
            executor.run(self._batch, pieces, found.update, self.cancelled, size)
        except Cancelled:
            pass  # the caller does not record findings of a cancelled batch
        return found

    def _to_decode(self, start: int) -> Iterator[int]:
        present = self._present
        if present is None:
            return iter(range(start, self.total))
        if isinstance(present, set):
            return iter(sorted(n for n in present if n >= start))
        return (start + int(n) for n in np.flatnonzero(present[start:]))

    def _batch(self, chunks: list[ChunkIndex]) -> dict[ChunkIndex, list[Finding]]:
        found: dict[ChunkIndex, list[Finding]] = {}
        array = self.array
        if array._stored.locator.tiers:

            def shard(chunk: ChunkIndex) -> None:
                if told := [*self._shard(chunk), *self._overlaps(chunk)]:
                    found[chunk] = told

            shared().share(chunks, shard)
            return found

        def one(item: tuple[ChunkIndex, EncodedChunk]) -> None:
            if not self.cancelled() and (told := self._decoded(*item)) is not None:
                found[item[0]] = [told]

        def read(chunk: ChunkIndex) -> None:
            for item in array._stored.fetch([chunk], self.cancelled):
                one(item)

        if array.store.remote:
            shared().share(array._stored.fetch(chunks, self.cancelled), one, self._threads)
        else:
            shared().share(chunks, read, self._threads)
        return found

    @property
    def _threads(self) -> int:
        """The number of chunks to decode at once: fewer when they are large, to limit memory."""
        size = prod(self.array._stored.locator.chunk_shape) * max(1, self.array.dtype.itemsize)
        return min(shared().decode_threads, max(1, CHECKED_BYTES // max(1, size)))

    def _decoded(self, chunk: ChunkIndex, payload: EncodedChunk) -> Finding | None:
        array = self.array
        key = array._stored.locator.key(chunk)
        if payload is None:  # the store cannot list, or the chunk was erased meanwhile
            return self._not_stored(array._stored.locator.grid_index(chunk))
        if isinstance(payload, ZarrscopeError):
            return failed_chunk(payload, array, key)
        self._sizes.append(len(payload))
        try:
            array._stored.decode_chunk(chunk, payload)
        except ZarrscopeError as error:
            told = None if array._stored.locator.tiers else self._wrong_size(chunk, len(payload), key)
            return told or failed_chunk(error, array, key)
        return None

    def _wrong_size(self, chunk: ChunkIndex, size: int, key: str) -> Finding | None:
        expected = self.array._stored.grid_chunk_pipeline(
            self.array._stored.locator.stored_chunk_shape(chunk)
        ).encoded.size
        if size and (expected is None or size == expected):
            return None
        wanted = f", {expected:,} are expected" if expected is not None else ""
        code = "chunk-truncated" if expected is None or size < expected else "chunk-size"
        text = f"Chunk {chunk} has {size:,} bytes{wanted}"
        return self._finding("error", code, text, key, "Restore the chunk from a copy, or erase it.")

    def _shard(self, chunk: ChunkIndex) -> list[Finding]:
        """The findings within one shard: first those of its index, then those of each inner chunk that lies within the
        array."""
        locator = self.array._stored.locator
        spans = [
            range(c * n, min((c + 1) * n, whole))
            for c, n, whole in zip(chunk, locator.chunks_per_shard, locator.grid_shape, strict=True)
        ]
        if prod(locator.chunks_per_shard) > MANY:
            with _large:
                return self._large_shard(chunk)
        found: dict[ChunkIndex, Finding] = {}
        absent: list[ChunkIndex] = []
        misplaced: list[ChunkIndex] = []
        asked = product(*spans)
        while inner_chunks := list(islice(asked, CHECKED_INNER_CHUNKS)):
            if self.cancelled():
                return []
            for inner, payload in self.array._stored.fetch(inner_chunks, self.cancelled):
                if payload is None:
                    absent.append(inner)
                    continue
                finding = self._decoded(inner, payload)
                if finding is not None and isinstance(payload, ZarrscopeError):
                    misplaced.append(inner)
                    if isinstance(payload, BadChunk):  # the shard index is wrong, not the data of this chunk
                        finding = replace(finding, code="shard-index")
                if finding is not None:
                    found[inner] = finding
        if len(absent) == prod(len(span) for span in spans) and self._present is None:
            return [self._not_stored(chunk)]
        for inner in sorted(misplaced)[1:]:  # a wrong index makes many inner chunks fail: report the first one only
            del found[inner]
        if len(misplaced) > 1:
            first = found[min(misplaced)]
            many = f"{first.message}; {len(misplaced):,} inner chunks have such a fault"
            found[min(misplaced)] = replace(first, message=many)
        key = self.array.metadata.keys.key(chunk)
        for inner in sorted(absent)[:MOST_NAMED]:
            text = f"Inner chunk {inner} is not in its shard: it reads as the fill value"
            found[inner] = self._finding(self._missing, "chunk-missing", text, key)
        if len(absent) > MOST_NAMED:
            text = f"{len(absent) - MOST_NAMED:,} more inner chunks are not in this shard"
            found[max(absent)] = self._finding(self._missing, "chunks-missing", text, key)
        return [found[inner] for inner in sorted(found)]

    def _overlaps(self, chunk: ChunkIndex) -> list[Finding]:
        """Findings for inner chunks that share bytes. Two that share all their bytes may be intended."""
        if prod(self.array._stored.locator.chunks_per_shard) > MANY:
            return []  # `_large_shard` reports the overlaps of such a shard
        locator = self.array._stored.locator
        found = [self._overlap(chunk, (), pairs) for pairs in (locator.overlaps(chunk),) if pairs]
        inner = locator.inner_overlaps(chunk, self.cancelled)
        found += [self._overlap(chunk, path, pairs) for path, pairs in inner[:MOST_NAMED]]
        if len(inner) > MOST_NAMED:
            text = f"{len(inner) - MOST_NAMED:,} more shards within this one have chunks with bytes in common"
            found.append(self._finding("error", "shard-overlap", text, self.array.metadata.keys.key(chunk)))
        return found

    def _overlap(self, chunk: ChunkIndex, path: tuple[int, ...], pairs: list[tuple[int, int, bool]]) -> Finding:
        """Describes one overlap. `path`: the numbers of the shards on the way to the one that holds these chunks."""
        tiers = self.array._stored.locator.tiers

        def place(number: int, tier: int) -> str:
            return str(tuple(map(int, np.unravel_index(number, tiers[tier].grid))))

        one, other, same = min(pairs, key=lambda pair: pair[2])
        names = " and ".join(place(number, len(path)) for number in (one, other))
        within = "".join(f"inner shard {place(number, tier)} of " for tier, number in reversed([*enumerate(path)]))
        many = f"; {len(pairs):,} pairs overlap in all" if len(pairs) > 1 else ""
        how = "the same bytes" if same else "bytes in common"
        text = f"The index gives the inner chunks {names} of {within}shard {chunk} {how}{many}"
        advice = "One of them was overwritten: compare both with a copy, and write them again."
        key = self.array.metadata.keys.key(chunk)
        return self._finding("warning" if same else "error", "shard-overlap", text, key, advice)

    def _large_shard(self, chunk: ChunkIndex) -> list[Finding]:
        """Findings in a shard with very many inner chunks, at most as many as a person can read."""
        shard = LargeShard(self.array, chunk, self._decoded, self.cancelled, MOST_NAMED)
        if not shard.run():
            return [self._not_stored(chunk)]
        if self.cancelled():
            return []
        if shard.is_full:
            text = f"{MOST_NAMED:,} inner chunks of this shard are damaged: its other chunks were not checked"
            return [*shard.findings, self._finding("error", "chunks-not-checked", text, shard.key)]
        absent = shard.total - shard.stored
        if not absent:
            return shard.findings
        text = f"{absent:,} inner chunks are not in this shard: they read as the fill value"
        return [*shard.findings, self._finding(self._missing, "chunks-missing", text, shard.key)]

    # ------------------------------------------------------------------ chunk numbers
    def _number(self, index: ChunkIndex) -> int:
        return number_of(index, self.extent)

    def _index(self, number: int) -> ChunkIndex:
        return index_at(number, self.extent)

    def _finding(
        self, severity: Severity, code: str, message: str, key: str | None, advice: str | None = None
    ) -> Finding:
        return Finding(severity, code, self.array.path, message, key, None, advice)
