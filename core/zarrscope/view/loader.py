"""Chunks for viewers: decoded once, kept in memory, fetched in the order in which they are needed.

`ChunkLoader.request` delivers chunks of an array (array.chunks) to an owner as they become available; `read` returns a
selection and blocks. Both share one cache of limited size and one table of chunks in progress, so a chunk is read only
once for any number of windows. Guarantees:

* Two tickets for one chunk cause one read. When all tickets for a chunk are cancelled, its queued fetch is dropped, a
  running fetch is cancelled, and fetched bytes are not decoded. A running decode finishes and its result is cached, so
  at most one decode per thread is wasted.
* A request that asks for another attempt, or for a chunk that no other request wants any more, does not get the failure
  of a fetch that had begun before: the chunk is fetched once more.
* VISIBLE chunks precede NEARBY ones when they are fetched and when they are decoded; within one request the order of
  the indices is kept. No NEARBY job starts between a VISIBLE request and the delivery of its last chunk.
* Both rules of runtime/threads.py hold: callbacks run on the owner's thread only, and a thread that blocks in `read`
  runs the queued fetches and decodes for which it waits, so `read` is safe on any thread.
* The cache never holds more than `limit` bytes (cache.py). Its arrays are read-only. The chunks of a store are dropped
  when the last viewer closes it.

Chunks stay as they were first read until `invalidate`; arrays call it when they are written in this process.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

import zarrscope.view.cache as caches
from zarrscope.chunkio.write_watchers import ArrayIdentity, watchers
from zarrscope.errors import ZarrscopeError
from zarrscope.model.selection import ChunkIndex, select
from zarrscope.nodes.array import Array
from zarrscope.nodes.stored_array import StoredArray
from zarrscope.runtime import memory
from zarrscope.runtime.interrupts import LOOK_SECONDS, check, uninterrupted
from zarrscope.runtime.threads import Background, Owner, Priority, Ticket
from zarrscope.runtime.threads import shared as shared_background
from zarrscope.runtime.tuning import VIEW_BYTES
from zarrscope.view.cache import FAILED, FILL, PRESENT, ChunkCache, ChunkResult, ChunkState
from zarrscope.view.fetching import ChunkFetch
from zarrscope.view.pending import ChunkTicket, LoaderKey, PendingChunk, Stage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zarrscope.model.dtype import Element

__all__ = [
    "FAILED", "FILL", "NEARBY", "PRESENT", "VIEW_BYTES", "VISIBLE",
    "ChunkCache", "ChunkLoader", "ChunkResult", "ChunkState", "shared",
]  # fmt: skip

REMOTE_KEYS, REMOTE_KEYS_AHEAD = 16, 4
"""The most keys of a remote store, visible ones and prefetched ones, that one job fetches in parallel. With one key for
each job, 32 threads would need several round trips for a plane. There are not more, because a job is cancelled as a
whole."""

VISIBLE, NEARBY = Priority.VISIBLE, Priority.NEARBY


class _PrefetchHold:
    """Marks a running call of `read`: meanwhile the loader starts no prefetching."""


class ChunkLoader:
    """Fetches and decodes chunks in the background for all viewers of a process.

    Use `shared()`; make another one only in tests. Every method may be called from any thread, except `Ticket.cancel`.
    """

    def __init__(self, background: Background | None = None, limit: int = VIEW_BYTES) -> None:
        self._background = background
        self.cache = ChunkCache(limit)
        self._reset()
        watchers.add(self)
        _loaders.add(self)

    def _reset(self) -> None:
        self._lock = threading.Condition(threading.Lock())
        self._under_way: dict[LoaderKey, PendingChunk] = {}
        self._viewers: Counter[str] = Counter()

    @property
    def background(self) -> Background:
        """The threads that fetch and decode: those given, else those of the process."""
        return self._background or shared_background()

    @property
    def limit(self) -> int:
        """The largest number of bytes of decoded chunks that are kept."""
        return self.cache.limit

    @limit.setter
    def limit(self, value: int) -> None:
        with self._lock:
            self.cache.limit = value
            self.cache.trim()

    # ------------------------------------------------------------------ requests
    def peek(self, array: Array, index: ChunkIndex) -> NDArray[Any] | None:
        """The chunk if it is in the cache now; the fill value if it is known not to be stored. Never
        waits for a store."""
        result = self.peek_result(array, index)
        if result is None or result.data is not None:
            return None if result is None else result.data
        return np.broadcast_to(np.asarray(array.fill_value, array.dtype), array._stored.clipped_chunk_shape(index))

    @uninterrupted
    def peek_result(self, array: Array, index: ChunkIndex) -> ChunkResult | None:
        """The cached result for a chunk, which also states whether it is stored; None while it is not in the cache."""
        with self._lock:
            return self.cache.get(array._stored.identity, index)

    @uninterrupted
    def under_way(self, array: Array) -> list[ChunkIndex]:
        """The chunks of an array that are now queued, being fetched or being decoded."""
        with self._lock:
            return [index for identity, index in self._under_way if identity == array._stored.identity]

    @uninterrupted
    def request(
        self,
        owner: Owner,
        array: Array,
        indices: Iterable[ChunkIndex],
        on_chunk: Callable[[ChunkResult], None],
        on_done: Callable[[], None] | None = None,
        priority: Priority = VISIBLE,
        *,
        again: bool = False,
    ) -> Ticket:
        """Delivers each chunk once, on the owner's thread, as it becomes available; then calls `on_done`. Must be
        called on the owner's thread. `again`: a person asks for another attempt, so that a fetch which began before
        does not count if it fails."""
        ticket = ChunkTicket(self, owner, on_chunk, on_done)
        owner.adopt(ticket)
        if ticket.cancelled:
            return ticket
        wanted = list(dict.fromkeys(tuple(index) for index in indices))
        ticket.left = len(wanted)
        problem = array.problem
        with self._lock:
            at_hand = [ChunkResult(index, FAILED, error=problem) for index in wanted] if problem is not None else []
            begin: list[PendingChunk] = []
            if problem is None:
                at_hand, begin = self._enter(array, wanted, ticket, priority, again=again)
            tell = bool(at_hand or not wanted) and ticket.arrive(at_hand)
            if ticket.entries and priority <= VISIBLE:
                self.background.hold_prefetch(ticket)
        self._submit(begin, priority)
        if tell:
            self._tell(ticket)
        return ticket

    def _tell(self, ticket: ChunkTicket) -> None:
        if not ticket.owner.post(ticket.deliver):
            self.background.release_prefetch(ticket)

    def _enter(
        self, array: Array, wanted: Sequence[ChunkIndex], ticket: ChunkTicket | None, priority: int, *, again: bool
    ) -> tuple[list[ChunkResult], list[PendingChunk]]:
        """Returns (cached chunks, entries of the other chunks that must be submitted because they are newly queued or
        have become more urgent). Called under the lock."""
        at_hand: list[ChunkResult] = []
        begin: list[PendingChunk] = []
        identity = array._stored.identity
        for index, cached in zip(wanted, self.cache.find(identity, wanted), strict=True):
            if cached is not None:
                at_hand.append(cached)
                continue
            entry = self._under_way.get((identity, index))
            if entry is None:
                entry = PendingChunk(array, index)
                self._under_way[entry.key] = entry
            elif entry.stage is not Stage.QUEUED and (again or not entry.wanted_by):
                entry.again = True
            entry.wanted_by += 1
            if ticket is not None:
                ticket.takes_over(entry)
                entry.watchers.append(ticket)
                ticket.entries.add(entry)
            if priority < entry.priority or entry.stage is Stage.QUEUED:
                entry.priority = min(entry.priority, priority)
                begin.append(entry)
        return at_hand, begin

    def _submit(self, entries: Sequence[PendingChunk], priority: int) -> None:
        """Submits jobs that fetch chunks, which are then decoded. A job has all chunks of one key, because those of a
        shard are fetched together; for a remote store the chunks of several keys, requested in parallel."""
        groups: dict[ChunkIndex, list[PendingChunk]] = {}
        for entry in entries:
            if entry.stage is Stage.QUEUED:
                groups.setdefault(entry.array._stored.locator.grid_index(entry.index), []).append(entry)
            elif entry.stage is Stage.FETCHED:
                self._submit_decoding(entry)
        remote = bool(entries) and entries[0].array.store.remote
        background = self.background
        # Prefetched chunks of local stores are decoded on spare cores, by the thread that has read their bytes.
        local = background.file_pool if priority <= VISIBLE else background.decode_pool
        pool = background.fetch_pool if remote else local
        together = 1 if not remote else REMOTE_KEYS if priority <= VISIBLE else REMOTE_KEYS_AHEAD
        keys = iter(groups.values())
        while job := [entry for group in islice(keys, together) for entry in group]:
            pool.put(priority, partial(self._fetch, job))

    def _submit_decoding(self, entry: PendingChunk) -> None:
        self.background.decode_pool.put(entry.priority, partial(self._decode, entry))

    # ------------------------------------------------------------------ working
    def _fetch(self, group: Sequence[PendingChunk]) -> None:
        """Fetches the chunks of the group that are still needed and that no other thread has begun."""
        ChunkFetch(self, group).run()

    def _decode(self, entry: PendingChunk) -> None:
        """Decodes the chunk unless another thread does so, or no request wants it any more."""
        with self._lock:
            if entry.stage is not Stage.FETCHED or entry.payload is None:
                return
            entry.stage = Stage.DECODING
            payload, entry.payload = entry.payload, None
        try:
            data = caches.compact(entry.array._stored.decode_chunk(entry.index, payload))
            result = ChunkResult(entry.index, PRESENT, data=data)
        except ZarrscopeError as error:
            result = ChunkResult(entry.index, FAILED, error=error)
        except Exception as error:
            failure = ZarrscopeError(f"Decoding failed: {type(error).__name__}: {error}")
            result = ChunkResult(entry.index, FAILED, error=failure)
        self._finish(entry, result)

    def _finish(self, entry: PendingChunk, result: ChunkResult) -> None:
        if result.state is FAILED and self._begins_again(entry):
            self._submit([entry], entry.priority)
            return
        tell: list[ChunkTicket] = []
        with self._lock:
            entry.stage, entry.result = Stage.DONE, result
            self._forget(entry)
            if result.state is not FAILED and not entry.stale:  # failures are not cached: the next attempt may succeed
                self.cache.put(entry.array._stored.identity, result)
            for ticket in entry.watchers:
                ticket.entries.discard(entry)
                if ticket.arrive([result]):
                    tell.append(ticket)
            entry.watchers.clear()
            self._lock.notify_all()
        for ticket in tell:
            self._tell(ticket)

    def _begins_again(self, entry: PendingChunk) -> bool:
        """Queues a chunk whose fetch failed, if a request that was made after the fetch had begun wants it."""
        with self._lock:
            if not (entry.again and entry.wanted_by):
                return False
            entry.again, entry.stage, entry.payload = False, Stage.QUEUED, None
            self._lock.notify_all()
        return True

    def _forget(self, entry: PendingChunk) -> None:
        if self._under_way.get(entry.key) is entry:
            del self._under_way[entry.key]

    @uninterrupted
    def _abandon(self, ticket: ChunkTicket) -> None:
        with self._lock:
            for entry in ticket.entries:
                entry.watchers.remove(ticket)
                entry.since = ticket.since
                self._leave(entry)
            ticket.entries.clear()
            ticket.arrived.clear()

    @uninterrupted
    def _give_up(self, ticket: ChunkTicket, error: ZarrscopeError) -> None:
        """Delivers `error` for the chunks that have not arrived, and cancels their requests."""
        with self._lock:
            left = [*ticket.entries]
            for entry in left:
                entry.watchers.remove(ticket)
                self._leave(entry)
                if not entry.wanted_by:  # the next request makes a fetch of its own, not waiting for the stopped one
                    self._forget(entry)
            ticket.entries.clear()
            tell = ticket.arrive([ChunkResult(entry.index, FAILED, error=error) for entry in left])
        if tell:
            self._tell(ticket)

    def _leave(self, entry: PendingChunk) -> None:
        """Records that one request does not want the chunk any more. When no request wants it, its bytes are dropped,
        so that no thread decodes them. Called under the lock."""
        entry.wanted_by -= 1
        if not entry.wanted_by and entry.stage in (Stage.QUEUED, Stage.FETCHED):
            entry.payload = None
            self._forget(entry)

    # ------------------------------------------------------------------ reading
    @uninterrupted
    def read(self, array: Array, selection: object) -> NDArray[Any] | Element:
        """`array[selection]` through the cache. Blocks; safe on any thread, those of the pools too.

        Raises the errors of array[selection]. A selection of more than a quarter of `limit` does not use the cache.
        """
        chosen = select(selection, array.shape)
        locator = array._stored.locator
        parts = chosen.axis_selections([locator.edges(axis) for axis in range(array.ndim)])
        touched = prod(len(p) for p in parts)
        if array.problem is not None or 4 * touched * prod(locator.chunk_shape) * array.dtype.itemsize > self.limit:
            return array[selection]
        out = np.empty(chosen.full_shape, array.dtype)
        if not chosen.size:
            return out.reshape(chosen.shape)
        results = self._gather(array, list(product(*([part.chunk for part in axis] for axis in parts))))
        sources = product(*([part.source for part in axis] for axis in parts))
        targets = product(*([part.target for part in axis] for axis in parts))
        for result, source, target in zip(results, sources, targets, strict=True):
            if result.data is not None:
                out[target] = result.data[source]
            elif result.error is not None:
                raise result.error
            else:
                out[target] = array.fill_value
        shaped = out.reshape(chosen.shape)
        return shaped[()] if chosen.scalar else shaped

    def _gather(self, array: Array, wanted: Sequence[ChunkIndex]) -> list[ChunkResult]:
        """The result for each index. The calling thread itself fetches and decodes the chunks that no other thread has
        begun."""
        with self._lock:
            found = self.cache.find(array._stored.identity, wanted)
            missing = [index for index, result in zip(wanted, found, strict=True) if result is None]
            if missing:
                _, begin = self._enter(array, missing, None, Priority.NOW, again=False)
                waiting = {index: self._under_way[array._stored.identity, index] for index in missing}
        if missing:
            if len(begin) > 1:
                self._submit(begin, Priority.NOW)
            came = self._await(array, waiting)
            found = [came[index] if result is None else result for index, result in zip(wanted, found, strict=True)]
        return found  # type: ignore[return-value]  # none is missing any more

    def _await(self, array: Array, waiting: dict[ChunkIndex, PendingChunk]) -> dict[ChunkIndex, ChunkResult]:
        came: dict[ChunkIndex, ChunkResult] = {}
        chunk_of = array._stored.locator.grid_index
        hold = _PrefetchHold()
        self.background.hold_prefetch(hold)
        try:
            while waiting:
                for index, entry in [*waiting.items()]:
                    if entry.stage is Stage.QUEUED:
                        chunk = chunk_of(index)
                        self._fetch([e for e in waiting.values() if chunk_of(e.index) == chunk])
                    if entry.stage is Stage.FETCHED:
                        self._decode(entry)
                    if entry.result is not None:
                        came[index] = entry.result
                        del waiting[index]
                with self._lock:
                    while waiting and all(e.stage in (Stage.FETCHING, Stage.DECODING) for e in waiting.values()):
                        self._lock.wait(LOOK_SECONDS)
                        check()
        finally:
            with self._lock:
                for entry in waiting.values():
                    self._leave(entry)
            self.background.release_prefetch(hold)
        return came

    # ------------------------------------------------------------------ dropping chunks
    @uninterrupted
    def invalidate(self, array: Array | StoredArray) -> None:
        """Drops the array's chunks: the next request reads them again. Chunks in progress are delivered
        but not kept."""
        stored = array._stored if isinstance(array, Array) else array
        stored.locator.forget()
        identities = {stored.identity, stored.identity.twin} if stored.store.remote else {stored.identity}
        with self._lock:
            self._drop_arrays(identities)

    @uninterrupted
    def forget_beneath(self, url: str, path: str) -> None:
        """Removes from the cache the chunks of every array at or beneath `path` in the store `url`, after these arrays
        were erased or moved."""
        with self._lock:
            under_way = {entry.array._stored.identity for entry in self._under_way.values()}
            gone = {identity for identity in under_way if identity.lies_beneath(url, path)}
            self._drop_arrays(gone.union(self.cache.arrays_beneath(url, path)))

    @uninterrupted
    def opened(self, url: str) -> None:
        """Records that a viewer shows the store `url`. Each call needs a matching `closed`."""
        with self._lock:
            self._viewers[url] += 1

    @uninterrupted
    def closed(self, url: str) -> None:
        """Records that a viewer closed the store. After the last one its chunks are dropped, and their memory returns
        to the system."""
        with self._lock:
            self._viewers[url] -= 1
            if self._viewers[url] > 0:
                return
            del self._viewers[url]
        self.forget_beneath(url, "/")
        self.background.file_pool.put(Priority.IDLE, memory.give_back)

    def _drop_arrays(self, gone: set[ArrayIdentity]) -> None:
        for identity in gone:
            self.cache.drop_array(identity)
        for key, entry in list(self._under_way.items()):
            if key[0] in gone and entry.stage is not Stage.QUEUED:
                entry.stale = True
                del self._under_way[key]


_loaders: weakref.WeakSet[ChunkLoader] = weakref.WeakSet()
_shared: ChunkLoader | None = None
_guard = threading.Lock()


def shared() -> ChunkLoader:
    """The one ChunkLoader of this process: all windows share its cache."""
    global _shared
    if _shared is None:
        with _guard:
            if _shared is None:
                _shared = ChunkLoader(limit=caches.default_limit())
    return _shared


def _after_fork() -> None:
    global _guard
    _guard = threading.Lock()
    for loader in list(_loaders):
        loader._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
