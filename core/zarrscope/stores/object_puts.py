"""Many puts of a bucket at once: one future of obstore for each, and no task of asyncio.

As with reads (object_reads.py), only a put that fails gets a task, which goes on with it as its first attempt; the end
of another is told on the thread of obstore that received the answer, and the event loop notes it when it runs next.
Threads that encode hand their values over in a queue, and wake the event loop only if it has not been woken yet: each
wake is a system call, at which the thread gives the GIL away.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol

from zarrscope.errors import ZarrscopeError
from zarrscope.model.storage import Version
from zarrscope.stores.object_futures import Came, Future
from zarrscope.stores.object_reads import Sent
from zarrscope.stores.puts import WhenDone


class PutBucket(Protocol):
    """The methods of a bucket's store that ManyPuts calls, all but `_loop` on the event loop."""

    url: str

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The event loop on which requests are sent."""

    def _send_put(self, key: str, value: bytes, came: Came) -> Sent | None:
        """Sends the request that stores a value; `came` is called with its future on any thread. None: only `_put_if`
        can store it."""

    def _succeeded(self) -> None:
        """Notes that the service has accepted a request."""

    async def _put_if(self, key: str, value: bytes, expect: Version | None, sent: Sent | None = None) -> Version:
        """Stores a value, and repeats a failed request if that may help. `sent`: a request that was already sent, to be
        awaited as the first attempt."""


class _Put:
    """A value to store, and the future or task that stores it."""

    def __init__(self, key: str, value: bytes, done: WhenDone) -> None:
        self.key, self.value, self.done = key, value, done
        self.under_way: Future | None = None
        self.sent: Sent | None = None
        self.cancelled = False


class ManyPuts:
    """Stores values on the event loop of a store; one object for each event loop."""

    def __init__(self, store: PutBucket) -> None:
        self._store = store
        self.loop = store._loop
        self._waiting: deque[_Put] = deque()
        self._came: deque[_Put | None] = deque()
        """The puts whose requests are done, until the event loop notes it: those that failed, None for the others."""
        self._woken = False

    def begin(self, key: str, value: bytes, done: WhenDone) -> Callable[[], object]:
        """Stores a value, and calls `done` at the end. Returns a function that cancels it. May be called from any
        thread."""
        put = _Put(key, value, done)
        self._waiting.append(put)  # before `_woken` is read; `_send` clears `_woken` before it looks here
        self._wake()
        return partial(self.loop.call_soon_threadsafe, self._cancel, put)

    def _wake(self) -> None:
        if not self._woken:
            self._woken = True
            self.loop.call_soon_threadsafe(self._send)

    def _arrived(self, put: _Put, future: Future) -> None:
        """Tells the end of a put that did not fail. Runs on any thread."""
        if future.cancelled():
            put.done(asyncio.CancelledError())
        elif future.exception() is not None:
            self._came.append(put)
            self._wake()
        else:
            self._came.append(None)
            put.done(None)

    # ------------------------------------------------------------------ on the event loop
    def _send(self) -> None:
        self._woken = False
        while self._came:
            failed = self._came.popleft()
            if failed is None:
                self._store._succeeded()
            elif failed.cancelled:
                failed.done(asyncio.CancelledError())
            else:
                self._go_on(failed, failed.sent)
        while self._waiting:
            put = self._waiting.popleft()
            if put.cancelled:
                put.done(asyncio.CancelledError())
                continue
            put.sent = self._store._send_put(put.key, put.value, partial(self._arrived, put))
            if put.sent is None:
                self._go_on(put, None)
            else:
                put.under_way = put.sent.future

    def _cancel(self, put: _Put) -> None:
        put.cancelled = True
        if put.under_way is not None:
            put.under_way.cancel()

    def _go_on(self, put: _Put, sent: Sent | None) -> None:
        """Starts a task that stores the value. `sent`: a first request for it, which failed."""
        task = self.loop.create_task(self._store._put_if(put.key, put.value, None, sent))
        put.under_way = task
        task.add_done_callback(partial(self._ended, put))

    def _ended(self, put: _Put, task: asyncio.Task[Version]) -> None:
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if isinstance(error, ZarrscopeError):
            error = error.located(store=self._store.url, key=put.key)
        put.done(error)
