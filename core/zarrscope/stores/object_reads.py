"""Many reads of a bucket at once: one future of obstore for each, and no task of asyncio.

A task, a time limit and the coroutines between them take as much computing for each value as the request itself. A
request that succeeds therefore gets none. A request that fails gets a task, which goes on with the failed request as
its first attempt: it is sent again, if at all, like any other request to the bucket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

from zarrscope.errors import Unreadable, ZarrscopeError
from zarrscope.model.storage import AnswerView, ByteRange, DocumentRequest, Request
from zarrscope.runtime.answers import AnswerQueue
from zarrscope.runtime.named_tuple import NamedTuple


class Sent(NamedTuple):
    """A request that was sent, and the state of its store at that moment."""

    future: asyncio.Future[Any]
    until: float | None
    """The time of the event loop at which the request counts as failed; None: no limit."""
    login: int
    found_logins: int
    width: int


class Bucket(Protocol):
    """The methods of a bucket's store that ManyReads calls, all on the event loop."""

    url: str

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The event loop on which requests are sent."""

    @property
    def width(self) -> int:
        """The most requests at once."""

    def _send_read(self, key: str, part: ByteRange | None, limit: int | None) -> Sent | None:
        """Sends the request for a value. None: only `_fetch_view` can read it."""

    def _received(self, sent: Sent, key: str, part: ByteRange | None, limit: int | None) -> memoryview | None:
        """The value in the answer to a request. None: the request failed, and `_fetch_view` has to go on with it."""

    async def _fetch_view(
        self, key: str, part: ByteRange | None, limit: int | None, sent: Sent | None = None, *, versioned: bool = False
    ) -> bytes | memoryview | None:
        """Reads a value, and repeats a failed request if that may help. None: the value is absent.

        `sent`: a request for the value that was already sent, to be awaited as the first attempt. `versioned`: the
        result is a VersionedValue.
        """


class ManyReads:
    """Sends the requests of one `get_many` on the event loop, as many at once as the store allows. The results are put
    into `answers` in order of completion. `requests` may grow; then `more` has the new ones sent."""

    def __init__(self, store: Bucket, requests: Sequence[Request], limit: int | None) -> None:
        self.answers: AnswerQueue[tuple[int, AnswerView]] = AnswerQueue()
        self._store, self._limit = store, limit
        self._requests, self._next = requests, 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._under_way: dict[int, Sent] = {}
        self._loop = store._loop
        self._timer: asyncio.TimerHandle | None = None
        self._over = False
        self._loop.call_soon_threadsafe(self._fill)

    def cancel(self) -> None:
        """Cancels all requests that are not answered. May be called from any thread."""
        self._loop.call_soon_threadsafe(self._end)

    def more(self) -> None:
        """Sends requests that were added. May be called from any thread."""
        self._loop.call_soon_threadsafe(self._fill)

    # ------------------------------------------------------------------ on the event loop
    def _end(self) -> None:
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
        for sent in self._under_way.values():
            sent.future.cancel()
        for task in self._tasks:
            task.cancel()

    def _fill(self) -> None:
        """Sends further requests."""
        while not self._over and len(self._under_way) + len(self._tasks) < self._store.width:
            if (i := self._next) == len(self._requests):
                return
            self._next += 1
            key, part = self._requests[i]
            versioned = isinstance(self._requests[i], DocumentRequest)
            sent = None if versioned else self._store._send_read(key, part, self._limit)
            if sent is None:
                self._go_on(i, key, part, None)
                continue
            self._under_way[i] = sent
            sent.future.add_done_callback(partial(self._arrived, i, key, part))
            if self._timer is None and sent.until is not None:
                self._timer = self._loop.call_at(sent.until, self._give_up_late)

    def _arrived(self, i: int, key: str, part: ByteRange | None, future: asyncio.Future[Any]) -> None:
        sent = self._under_way.pop(i)
        if self._over:
            if not future.cancelled():
                future.exception()  # asyncio writes an error that nobody asked for to stderr
            return
        value = self._store._received(sent, key, part, self._limit)
        if value is None:
            self._go_on(i, key, part, sent)
        else:
            self.answers.put((i, value))
        self._fill()

    def _go_on(self, i: int, key: str, part: ByteRange | None, sent: Sent | None) -> None:
        """Starts a task that reads a value. `sent`: a first request for it, which failed."""
        task = self._loop.create_task(self._read(i, key, part, sent))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not self._over:
            self._fill()

    async def _read(self, i: int, key: str, part: ByteRange | None, sent: Sent | None) -> None:
        try:
            versioned = isinstance(self._requests[i], DocumentRequest)
            self.answers.put((i, await self._store._fetch_view(key, part, self._limit, sent, versioned=versioned)))
        except ZarrscopeError as error:
            self.answers.put((i, error.located(store=self._store.url, key=key)))
        except Exception as error:
            self.answers.put((i, Unreadable(f"The request failed: {error!r}", store=self._store.url, key=key)))

    def _late(self, sent: Sent) -> bool:
        return sent.until is not None and sent.until <= self._loop.time()

    def _give_up_late(self) -> None:
        """Cancels requests that took too long, so that `_fetch_view` raises the error that says so."""
        self._timer = None
        limits = [sent.until for sent in self._under_way.values() if sent.until is not None and not self._late(sent)]
        if limits:
            self._timer = self._loop.call_at(min(limits), self._give_up_late)
        for sent in [*self._under_way.values()]:
            if self._late(sent):
                sent.future.cancel()
