"""Work in progress of a chunk loader: chunks being fetched or decoded, and the tickets that wait for them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import Protocol

from zarrscope.chunkio.write_watchers import ArrayIdentity
from zarrscope.errors import ZarrscopeError
from zarrscope.model.selection import ChunkIndex
from zarrscope.nodes.array import Array
from zarrscope.runtime.interrupts import uninterrupted
from zarrscope.runtime.threads import Background, Owner, Priority, Ticket
from zarrscope.runtime.waits import PendingRequest
from zarrscope.view.cache import ChunkResult

LoaderKey = tuple[ArrayIdentity, ChunkIndex]
log = logging.getLogger("zarrscope")


class Stage(Enum):
    """The state of a chunk that is being loaded."""

    QUEUED = auto()
    FETCHING = auto()
    FETCHED = auto()
    """The bytes of the chunk have arrived and will be decoded."""
    DECODING = auto()
    DONE = auto()


class PendingChunk:
    """A chunk that is being loaded. Its attributes only change under the loader's lock."""

    __slots__ = (
        "again", "array", "index", "key", "payload", "priority", "result", "since", "stage", "stale", "wanted_by",
        "watchers",
    )  # fmt: skip

    def __init__(self, array: Array, index: ChunkIndex) -> None:
        self.array = array
        self.index = index
        self.key: LoaderKey = (array._stored.identity, index)
        self.stage = Stage.QUEUED
        self.payload: bytes | memoryview | None = None
        self.result: ChunkResult | None = None
        self.priority: int = Priority.IDLE
        """The most urgent priority of the requests for this chunk."""
        self.wanted_by = 0
        self.watchers: list[ChunkTicket] = []
        self.since: float | None = None
        """The time since which an earlier request, cancelled meanwhile, has waited for this chunk."""
        self.again = False
        """Whether another attempt was asked for while this one was under way: if it fails, another one is made."""
        self.stale = False
        """Whether the array was written meanwhile: the chunk is delivered, but not kept."""


class Loader(Protocol):
    """The part of a loader that its tickets use: the lock for chunks in progress, and the method that ends a
    request."""

    _lock: threading.Condition

    @property
    def background(self) -> Background:
        """The threads that fetch and decode."""

    def _abandon(self, ticket: ChunkTicket) -> None: ...

    def _give_up(self, ticket: ChunkTicket, error: ZarrscopeError) -> None: ...


class ChunkTicket(Ticket):
    """One request: the chunks that have arrived for it and wait for the owner's thread."""

    def __init__(
        self,
        loader: Loader,
        owner: Owner,
        on_chunk: Callable[[ChunkResult], None],
        on_done: Callable[[], None] | None,
    ) -> None:
        super().__init__()
        self.loader, self.owner = loader, owner
        self.on_chunk, self.on_done = on_chunk, on_done
        self.entries: set[PendingChunk] = set()
        self.left = 0
        self.arrived: list[ChunkResult] = []
        self.posted = False
        self.since = time.monotonic()
        """The time since which no chunk of this request has arrived."""

    @uninterrupted
    def cancel(self) -> None:
        if not self._cancelled and not self._finished:
            self._cancelled = True
            self.owner.release(self)
            self.loader._abandon(self)
            self.loader.background.release_prefetch(self)

    @property
    def waiting(self) -> PendingRequest | None:
        entries = [entry for entry in [*self.entries] if entry.priority <= Priority.VISIBLE]
        if self._cancelled or not entries:
            return None
        first = next((entry for entry in entries if entry.stage is Stage.FETCHING), entries[0])
        return PendingRequest(first.array.store.url, first.array._stored.locator.key(first.index), self.since)

    @uninterrupted
    def stop(self, error: BaseException) -> bool:
        if self.waiting is None or not isinstance(error, ZarrscopeError):
            return False
        self.loader._give_up(self, error)
        return True

    def takes_over(self, entry: PendingChunk) -> None:
        """Counts the wait of earlier requests for a chunk as its own: when a picture moves, every step cancels a
        request and makes another one, for mostly the same chunks. Called under the loader's lock."""
        former = [ticket.since for ticket in entry.watchers] + ([] if entry.since is None else [entry.since])
        self.since = min([self.since, *former])

    def arrive(self, results: Iterable[ChunkResult]) -> bool:
        """Adds loaded chunks, under the loader's lock. Returns True when the owner must be notified."""
        self.arrived += results
        self.since = time.monotonic()
        first, self.posted = not self.posted, True
        return first

    @uninterrupted
    def _take(self) -> list[ChunkResult]:
        with self.loader._lock:
            arrived, self.arrived, self.posted = self.arrived, [], False
        return arrived

    def deliver(self) -> None:
        """Calls back for the chunks that have arrived, on the owner's thread."""
        for result in self._take():
            if self._cancelled:
                return
            self.left -= 1
            try:
                self.on_chunk(result)
            except Exception:  # an error in one callback must not hold back the other chunks
                log.exception("A callback for a chunk failed")
        if not self.left and not self._cancelled and not self._finished:
            self._finished = True
            self.owner.release(self)
            try:
                if self.on_done is not None:
                    self.on_done()
            finally:
                self.loader.background.release_prefetch(self)
