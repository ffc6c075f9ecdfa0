"""Many coroutines that each fetch one value, run at once on the event loop of a remote store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, Protocol, TypeVar

from zarrscope.errors import Unreadable, ZarrscopeError
from zarrscope.model.storage import ByteRange, Request
from zarrscope.runtime.answers import AnswerQueue

T = TypeVar("T")


class ManyAnswers(Protocol[T]):
    """Requests that are under way. `answers` has the answers that arrived, each with the index of its request."""

    answers: AnswerQueue[tuple[int, T]]

    def more(self) -> None:
        """Sends requests that were added."""

    def cancel(self) -> None:
        """Cancels all requests that are not answered."""


class Fetching(Protocol):
    """The part of a store that its fetches use."""

    url: str

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The event loop on which requests are sent."""

    @property
    def width(self) -> int:
        """The most requests at once."""


class ManyFetches(Generic[T]):
    """Awaits `fetch` for each of the requests, as many at once as the store allows. `requests` may grow; then `more`
    has the new ones sent."""

    def __init__(
        self,
        store: Fetching,
        fetch: Callable[[str, ByteRange | None, int | None], Awaitable[T]],
        requests: Sequence[Request],
        limit: int | None,
    ) -> None:
        self.answers: AnswerQueue[tuple[int, T | ZarrscopeError]] = AnswerQueue()
        self._store, self._fetch, self._requests, self._limit = store, fetch, requests, limit
        self._next = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._over = False
        self._loop = store._loop
        self._loop.call_soon_threadsafe(self._fill)

    def more(self) -> None:
        """Sends requests that were added. May be called from any thread."""
        self._loop.call_soon_threadsafe(self._fill)

    def cancel(self) -> None:
        """Cancels all requests that are not answered. May be called from any thread."""
        self._loop.call_soon_threadsafe(self._end)

    # ------------------------------------------------------------------ on the event loop
    def _end(self) -> None:
        self._over = True
        for task in self._tasks:
            task.cancel()

    def _fill(self) -> None:
        """Starts tasks for further requests."""
        while not self._over and self._next < len(self._requests) and len(self._tasks) < self._store.width:
            task = self._loop.create_task(self._work(self._taken()))
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._fill()  # requests may have been added while it ended

    def _taken(self) -> int:
        self._next += 1
        return self._next - 1

    async def _work(self, i: int) -> None:
        """Fetches the value of the request `i`, and then further ones while the store allows as many tasks."""
        while True:
            key, part = self._requests[i]
            place = {"store": self._store.url, "key": key or None}
            try:
                self.answers.put((i, await self._fetch(key, part, self._limit)))
            except ZarrscopeError as error:
                self.answers.put((i, error.located(**place)))
            except BaseException as error:
                self.answers.put((i, Unreadable(f"The request failed: {error!r}", **place)))
                task = asyncio.current_task()
                if isinstance(error, GeneratorExit) or task is None or task.cancelling():
                    raise  # the caller needs no more; other errors must not end the requests that follow
            if self._next == len(self._requests) or len(self._tasks) > self._store.width:
                return
            i = self._taken()
