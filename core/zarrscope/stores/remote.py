"""What stores on other machines share: one event loop on a thread of its own, many cancellable requests under way.

A subclass awaits one value at a time (`_fetch`); `get_many` runs up to IN_FLIGHT of them at once and hands them out as
they come. 2026-11-21 (tests/bench/run.py "http"): 128 at once, rather than 64: a plane of 128 chunks at 30 ms a request
takes 60 ms instead of 130, the computing for it 16 ms either way. A server that says it is asked too much is asked less
from then on (`narrow`), so the width costs nobody his server.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, TypeVar

from zarrscope.errors import NotFound, Unreadable, ZarrscopeError
from zarrscope.store import Answer, ByteRange, Request, Store

IN_FLIGHT = 128
_FEWEST = 4
_LOOK = 0.05
"""Seconds between looks whether a caller of get_many has lost interest."""

T = TypeVar("T")

_loop: asyncio.AbstractEventLoop | None = None
_guard = threading.Lock()


def loop() -> asyncio.AbstractEventLoop:
    """The event loop of all remote stores of this process, running."""
    global _loop
    with _guard:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="zarrscope-network", daemon=True).start()
        return _loop


def _after_fork() -> None:
    global _loop, _guard
    _loop, _guard = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class RemoteStore(Store):
    """A store whose values come by awaiting `_fetch` on a loop: the shared one, or the one of whoever fetches."""

    remote = True
    listable = False
    writable = False

    def __init__(self) -> None:
        self._width = IN_FLIGHT
        self._well = 0

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """Where `_fetch` is awaited."""
        return loop()

    async def _fetch(self, key: str, part: ByteRange | None) -> bytes | None:
        raise NotImplementedError

    def size(self, key: str) -> int | None:
        """How many bytes the value has; None when absent."""
        raise NotImplementedError

    @property
    def width(self) -> int:
        """How many requests may be under way in one get_many."""
        return self._width

    def narrow(self, width: int) -> None:
        """Half as many from now on: the server was asked too much when that many were under way."""
        if width == self._width:
            self._width = max(_FEWEST, width // 2)
            self._well = 0

    def widen(self) -> None:
        """A request went well: after enough of them, twice as many again."""
        if self._width < IN_FLIGHT:
            self._well += 1
            if self._well >= 8 * self._width:
                self._width, self._well = min(IN_FLIGHT, 2 * self._width), 0

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        finally:
            future.cancel()

    def _get(self, key: str, part: ByteRange | None) -> bytes | None:
        return self._wait(self._fetch(key, part))

    def _get_many(self, requests: Sequence[Request], cancelled: Callable[[], bool]) -> Iterator[tuple[int, Answer]]:
        if not requests or cancelled():
            return
        answers: queue.SimpleQueue[tuple[int, Answer]] = queue.SimpleQueue()
        todo = iter(enumerate(requests))

        async def work(number: int) -> None:
            for i, (key, part) in todo:
                try:
                    answers.put((i, await self._fetch(key, part)))
                except ZarrscopeError as error:
                    answers.put((i, error.located(store=self.url, key=key)))
                except Exception as error:
                    answers.put((i, Unreadable(f"The request failed: {error!r}", store=self.url, key=key)))
                if number >= self._width:
                    return

        async def all_of_it() -> None:
            await asyncio.gather(*(work(number) for number in range(min(self._width, len(requests)))))

        running = asyncio.run_coroutine_threadsafe(all_of_it(), self.loop)
        try:
            for _ in requests:
                while True:
                    if cancelled():
                        return
                    try:
                        answer = answers.get(timeout=_LOOK)
                        break
                    except queue.Empty:
                        continue
                yield answer
        finally:
            running.cancel()


class RemoteFile:
    """The one value of a distant store, read by ranges: an archive that ZipStore opens."""

    def __init__(self, store: RemoteStore) -> None:
        self._store = store
        size = store.size("")
        if size is None:
            raise NotFound("The server has no such file", store=store.url, advice="Check the address.")
        self.size = size

    def read_at(self, offset: int, length: int) -> bytes:
        value = self._store._get("", ByteRange(offset, length)) if length else b""
        if value is None:
            raise Unreadable("The file is no longer there", store=self._store.url)
        return value

    def close(self) -> None:
        self._store.close()
