"""One fetch of several chunks of one array, on one thread of the loader.

A chunk that comes is decoded, here or by another thread. A fetch that nobody wants any more ends early; chunks that it
has not delivered are queued again if a later request wants them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol

from zarrscope.chunkio.locator import EncodedChunk
from zarrscope.errors import ZarrscopeError
from zarrscope.runtime.interrupts import Interrupted
from zarrscope.runtime.threads import Background, Priority
from zarrscope.view.cache import FAILED, FILL, ChunkResult
from zarrscope.view.pending import PendingChunk, Stage


class FetchingLoader(Protocol):
    """The part of a loader that a fetch uses. `_lock` guards the stages of chunks."""

    _lock: threading.Condition

    @property
    def background(self) -> Background:
        """The threads that fetch and decode."""

    def _submit(self, entries: Sequence[PendingChunk], priority: int) -> None: ...

    def _submit_decoding(self, entry: PendingChunk) -> None: ...

    def _decode(self, entry: PendingChunk) -> None: ...

    def _finish(self, entry: PendingChunk, result: ChunkResult) -> None: ...

    def _forget(self, entry: PendingChunk) -> None: ...


class ChunkFetch:
    """The fetch of those chunks of `group` that are still needed and that no other thread has begun."""

    def __init__(self, loader: FetchingLoader, group: Sequence[PendingChunk]) -> None:
        self._loader = loader
        with loader._lock:
            self._mine = [entry for entry in group if entry.stage is Stage.QUEUED and entry.wanted_by > 0]
            for entry in self._mine:
                entry.stage = Stage.FETCHING
        self._left = {entry.index: entry for entry in self._mine}
        """The chunks for which the store has not answered."""
        self._absent: list[PendingChunk] | None = []
        """None after the first stored chunk was found: if no chunk at all is found, the array may have been erased."""
        self._given_up = False

    def run(self) -> None:
        """Fetches the chunks and delivers them, or the reason why they do not come. Raises Interrupted."""
        if not self._mine:
            return
        stored = self._mine[0].array._stored
        failure: ZarrscopeError | None = None
        try:
            for index, payload in stored.fetch([entry.index for entry in self._mine], self._is_unwanted):
                self._arrive(self._left.pop(index), payload)
            if self._absent:
                stored.need_unchanged(writing=False)
        except ZarrscopeError as error:
            failure = error
        except Exception as error:
            message = f"Fetching a chunk failed: {type(error).__name__}: {error}"
            failure = ZarrscopeError(message, store=stored.store.url)
        except Interrupted:  # only this fetch is given up: other requests may still want the chunks
            self._left.update((entry.index, entry) for entry in self._absent or ())
            self._queue_again()
            raise
        if failure is None:
            self._deliver_absent()
            if not self._left:
                return
            if self._given_up:
                self._queue_again()
                return
            failure = ZarrscopeError("The store gave no answer for a chunk", store=stored.store.url)
        for entry in (*self._left.values(), *(self._absent or ())):
            self._loader._finish(entry, ChunkResult(entry.index, FAILED, error=failure))

    def _is_unwanted(self) -> bool:
        """Whether no request wants any of the chunks. Once it was so, it stays so: the fetch ends."""
        self._given_up = self._given_up or all(entry.wanted_by == 0 for entry in self._mine)
        return self._given_up

    def _arrive(self, entry: PendingChunk, payload: EncodedChunk) -> None:
        if payload is None and self._absent is not None:
            self._absent.append(entry)
            return
        if payload is None:
            self._loader._finish(entry, ChunkResult(entry.index, FILL))
            return
        self._deliver_absent()
        self._absent = None
        if isinstance(payload, ZarrscopeError):
            self._loader._finish(entry, ChunkResult(entry.index, FAILED, error=payload))
        else:
            self._pass_on(entry, payload)

    def _deliver_absent(self) -> None:
        while self._absent:
            entry = self._absent.pop()
            self._loader._finish(entry, ChunkResult(entry.index, FILL))

    def _pass_on(self, entry: PendingChunk, payload: bytes | memoryview) -> None:
        """Decodes a chunk of a local store that is fetched ahead; has another thread decode any other."""
        loader = self._loader
        with loader._lock:
            wanted = entry.wanted_by > 0
            if wanted:
                entry.payload, entry.stage = payload, Stage.FETCHED
                loader._lock.notify_all()
            else:
                loader._forget(entry)
        if not wanted:
            return
        ahead = entry.priority > Priority.VISIBLE
        if ahead and not (entry.array.store.remote or loader.background.prefetch_holds):
            loader._decode(entry)
        else:
            loader._submit_decoding(entry)

    def _queue_again(self) -> None:
        """Queues the chunks that did not come, for a later request that wants them."""
        loader = self._loader
        for entry in self._left.values():
            with loader._lock:
                entry.stage, entry.again = Stage.QUEUED, False
                if not entry.wanted_by:
                    loader._forget(entry)
                loader._lock.notify_all()
            if entry.wanted_by:
                loader._submit([entry], entry.priority)
