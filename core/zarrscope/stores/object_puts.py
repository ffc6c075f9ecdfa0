"""Many puts of a bucket at once: one future of obstore for each, and no task of asyncio.

As with reads (object_reads.py), only a put that fails gets a task, which goes on with it as its first attempt. Threads
that encode hand their values over in a queue, and wake the event loop only if it has not been woken yet: each wake is a
system call, at which the thread gives the GIL away.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from zarrscope.errors import ZarrscopeError
from zarrscope.model.storage import Version
from zarrscope.stores.object_reads import Sent
from zarrscope.stores.puts import WhenDone


class PutBucket(Protocol):
    """The methods of a bucket's store that ManyPuts calls, all but `_loop` on the event loop."""

    url: str

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The event loop on which requests are sent."""

    def _send_put(self, key: str, value: bytes) -> Sent | None:
        """Sends the request that stores a value. None: only `_put_if` can store it."""

    def _succeeded(self) -> None:
        """Notes that the service has accepted a request."""

    async def _put_if(self, key: str, value: bytes, expect: Version | None, sent: Sent | None = None) -> Version:
        """Stores a value, and repeats a failed request if that may help. `sent`: a request that was already sent, to be
        awaited as the first attempt."""


class _Put:
    """A value to store, and the future or task that stores it."""

    def __init__(self, key: str, value: bytes, done: WhenDone) -> None:
        self.key, self.value, self.done = key, value, done
        self.under_way: asyncio.Future[Any] | None = None
        self.cancelled = False


class ManyPuts:
    """Stores values on the event loop of a store; one object for each event loop."""

    def __init__(self, store: PutBucket) -> None:
        self._store = store
        self.loop = store._loop
        self._waiting: deque[_Put] = deque()
        self._woken = False

    def begin(self, key: str, value: bytes, done: WhenDone) -> Callable[[], object]:
        """Stores a value, and calls `done` at the end. Returns a function that cancels it. May be called from any
        thread."""
        put = _Put(key, value, done)
        self._waiting.append(put)  # before `_woken` is read; `_send` clears `_woken` before it looks here
        if not self._woken:
            self._woken = True
            self.loop.call_soon_threadsafe(self._send)
        return partial(self.loop.call_soon_threadsafe, self._cancel, put)

    # ------------------------------------------------------------------ on the event loop
    def _send(self) -> None:
        self._woken = False
        while self._waiting:
            put = self._waiting.popleft()
            if put.cancelled:
                put.done(asyncio.CancelledError())
                continue
            sent = self._store._send_put(put.key, put.value)
            if sent is None:
                self._go_on(put, None)
            else:
                put.under_way = sent.future
                sent.future.add_done_callback(partial(self._arrived, put, sent))

    def _cancel(self, put: _Put) -> None:
        put.cancelled = True
        if put.under_way is not None:
            put.under_way.cancel()

    def _arrived(self, put: _Put, sent: Sent, future: asyncio.Future[Any]) -> None:
        if future.cancelled():
            put.done(asyncio.CancelledError())
        elif future.exception() is not None:
            self._go_on(put, sent)
        else:
            self._store._succeeded()
            put.done(None)

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
