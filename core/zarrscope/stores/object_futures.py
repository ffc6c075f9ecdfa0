"""Futures of obstore that are completed on obstore's own threads, without waking an event loop.

obstore asks the running event loop for a future, and hands the result over by `call_soon_threadsafe`. An event loop of
asyncio then wakes its thread for each value, by a system call at which obstore's thread gives the GIL away, and calls
two or three callbacks there. A plane of 128 values in 30 ms needs them all within a few milliseconds, in which other
threads decode. `begun` shows obstore an event loop that has only these two methods, and sets the result at once.

Examples
--------
>>> import asyncio, obstore
>>> from obstore.store import MemoryStore
>>> store, came = MemoryStore(), []
>>> async def read():
...     await obstore.put_async(store, "k", b"value")
...     future = begun(lambda: obstore.get_range_async(store, "k", start=1, end=3), came.append)
...     while not came:
...         await asyncio.sleep(0.001)
...     return bytes(await future)
>>> asyncio.run(read())
b'al'
"""

from __future__ import annotations

import asyncio
from asyncio import events
from collections.abc import Callable, Generator
from typing import Any, TypeAlias

Future: TypeAlias = "asyncio.Future[Any] | DirectFuture"
Came = Callable[[Any], object]
"""A function that is called once with the future that is done: on a thread of obstore, or on that which cancels."""


class DirectFuture:
    """The future of one request: the part of asyncio.Future that obstore and its callers use.

    It is done once: by the result, by an error or by `cancel`, whichever is first, on whatever thread. It can be
    awaited only when it is done.
    """

    __slots__ = ("_came", "_error", "_told", "_value")

    def __init__(self, came: Came) -> None:
        self._came = [came]  # taken by the first that ends it, because `pop` is atomic
        self._value: Any = None
        self._error: BaseException | None = None
        self._told: list[Callable[[DirectFuture], object]] = []

    # ------------------------------------------------------------------ called by obstore
    def add_done_callback(self, call: Callable[[DirectFuture], object], *, context: object = None) -> None:
        """obstore's callback, which ends the request when the future is cancelled."""
        self._told.append(call)

    def set_result(self, value: Any) -> None:
        """Ends the future by the result of the request."""
        self._end(value, None)

    def set_exception(self, error: BaseException) -> None:
        """Ends the future by the error of the request."""
        self._end(None, error)

    def cancelled(self) -> bool:
        """Whether `cancel` ended the future."""
        return isinstance(self._error, asyncio.CancelledError)

    # ------------------------------------------------------------------ called by its owner
    def cancel(self) -> bool:
        """Ends the request. Returns False if the future was done before."""
        return self._end(None, asyncio.CancelledError())

    def forget(self) -> None:
        """Lets go of the result, which the caller keeps where it needs it."""
        self._value = None

    def exception(self) -> BaseException | None:
        """The error of a future that is done."""
        return self._error

    def result(self) -> Any:
        """The result of a future that is done; raises its error."""
        if self._error is not None:
            raise self._error
        return self._value

    def __await__(self) -> Generator[Any, None, Any]:
        yield from ()
        return self.result()

    def _end(self, value: Any, error: BaseException | None) -> bool:
        try:
            came = self._came.pop()
        except IndexError:
            return False
        self._value, self._error = value, error
        told, self._told = self._told, []
        if self.cancelled():
            for call in told:
                call(self)
        came(self)
        return True


class _Loop:
    """The event loop that obstore sees while it begins one request."""

    __slots__ = ("_came",)

    def __init__(self, came: Came) -> None:
        self._came = came

    def create_future(self) -> DirectFuture:
        return DirectFuture(self._came)

    @staticmethod
    def call_soon_threadsafe(call: Callable[..., object], *told: Any, context: object = None) -> None:
        """Calls at once. remote.py looks for this name when the process ends."""
        call(*told)


def begun(request: Callable[[], Any], came: Came) -> Future:
    """Calls `request`, a function of obstore that returns a future, and returns this future. Runs on an event loop.

    `came` is called with the future when it is done, which may be before this function returns.
    """
    here = asyncio.get_running_loop()
    events._set_running_loop(_Loop(came))  # type: ignore[arg-type]  # it has what obstore calls
    try:
        made = request()
    finally:
        events._set_running_loop(here)
    return made if isinstance(made, DirectFuture) else _told_by_loop(made, came)


def completed_by_loop(request: Callable[[], Any], came: Came) -> Future:
    """As `begun`, but the future is one of the running event loop, which also calls `came`."""
    return _told_by_loop(request(), came)


def _told_by_loop(made: Any, came: Came) -> Future:
    future: asyncio.Future[Any] = asyncio.ensure_future(made)  # a future, or a coroutine that needs a whole event loop
    future.add_done_callback(came)
    return future
