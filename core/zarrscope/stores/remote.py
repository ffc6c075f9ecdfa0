"""The base of remote stores: one event loop on its own thread, with many cancellable requests in parallel.

A subclass defines how one value is fetched (`_fetch`). `get_many` runs up to IN_FLIGHT of these coroutines in parallel
and yields the values as they arrive. Measured 2026-11-21 (tests/bench/run.py "http"): with 128 requests in parallel
instead of 64, a plane of 128 chunks at 30 ms a request takes 60 ms instead of 130; processor time is 16 ms either way.
If a server reports too many requests, fewer are sent from then on (`_narrow`), so the high limit does not overload it.

A value counts as absent only if the service says so. Some services deny access to absent values too (S3 if listing is
denied), or send a web page for them. To find out whether a service does, the store once requests a key that certainly
does not exist (`_ask_for_nothing`); `Denied.untold` then states that a denied value may be absent. It is treated as
absent only if the caller asked for that (`Network.missing_is_fill`), and only while a value that was read before can
still be read. So expired credentials never turn values into fill values.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import os
import queue
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterator, Sequence
from types import FrameType
from typing import Any, TypeVar
from uuid import uuid4

from zarrscope.errors import Denied, Unreadable, ZarrscopeError
from zarrscope.model.storage import Answer, AnswerView, ByteRange, Request, never
from zarrscope.runtime.interrupts import LOOK_SECONDS, check
from zarrscope.runtime.tuning import FEWEST_IN_FLIGHT, IN_FLIGHT
from zarrscope.runtime.waits import waiting
from zarrscope.stores.backend import Backend
from zarrscope.stores.many_fetches import ManyAnswers, ManyFetches
from zarrscope.stores.network import SETTINGS, Network
from zarrscope.stores.puts import WhenDone
from zarrscope.stores.store import Store

T = TypeVar("T")

_loop: asyncio.AbstractEventLoop | None = None
_guard = threading.Lock()


def loop() -> asyncio.AbstractEventLoop:
    """The event loop that all remote stores of this process share. It runs on a thread of its own."""
    global _loop
    with _guard:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            _loop.set_exception_handler(_tell)
            threading.Thread(target=_loop.run_forever, name="zarrscope-network", daemon=True).start()
            atexit.register(_end_requests, _loop)
        return _loop


END_SECONDS = 1.0
"""The most seconds for which the end of the process waits for threads of other libraries. Not measured."""


def _end_requests(ending: asyncio.AbstractEventLoop) -> None:
    """Cancels the requests that still run, and waits until no thread of obstore hands over an answer.

    Such a thread calls the loop's `call_soon_threadsafe`, where it lets other threads run while it wakes the loop. If
    the interpreter were finalized meanwhile, Python would unwind the thread's stack, and Rust would abort the process:
    5 of 100 processes that ended right after a request ended by SIGABRT.
    """
    deadline = time.monotonic() + END_SECONDS
    if ending.is_running():
        cancelled = asyncio.run_coroutine_threadsafe(_cancel_all(), ending)
        with contextlib.suppress(Exception):
            if cancelled.result(END_SECONDS):
                time.sleep(0.05)  # obstore's threads learn of it only then
    while _answering() and time.monotonic() < deadline:
        time.sleep(0.001)


async def _cancel_all() -> int:
    running = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in running:
        task.cancel()
    return len(running)


def _answering() -> bool:
    """Whether a thread that Python did not start is within `call_soon_threadsafe`."""
    own = {thread.ident for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        if ident in own:
            continue
        within: FrameType | None = frame
        while within is not None:
            if within.f_code.co_name == "call_soon_threadsafe":
                return True
            within = within.f_back
    return False


def _tell(where: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Reports errors as asyncio does, except those of requests that are cancelled because the process ends."""
    if not sys.is_finalizing():
        where.default_exception_handler(context)


def _after_fork() -> None:
    global _loop, _guard
    _loop, _guard = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _opened_again(kind: Callable[..., Store], url: str, options: dict[str, Any]) -> Store:
    from zarrscope.stores.whole_address import whole_address

    store: Store = kind(whole_address(url), **options)
    return store


class RemoteStore(Store):
    """A store that gets its values by awaiting `_fetch` on an event loop. `network` has its time limits and number of
    attempts."""

    remote = True
    listable = False
    writable = False

    def __init__(self, network: Network) -> None:
        self.network = network
        self._width = IN_FLIGHT
        self._well = 0
        self._taken = 0
        self._read_before: str | None = None
        """A key whose value this store has read."""
        self._of_nothing: Any = None
        """The result of `_ask_for_nothing`; None: not known yet."""
        self._public_options: dict[str, Any] = {}
        """The options that are not network settings, without passwords and secret keys."""
        self._asking: _Shared | None = None
        self._trying: _Shared | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles by the public address: passwords and tokens are never in a pickle (zarrscope.errors.confidential)."""
        settings = {name: getattr(self.network, name) for name in SETTINGS}
        known = {"_read_before": self._read_before, "_of_nothing": self._of_nothing}
        return _opened_again, (type(self), self.url, {**settings, **self._public_options}), known

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The event loop on which `_fetch` is awaited."""
        return loop()

    async def _fetch(self, key: str, part: ByteRange | None, limit: int | None) -> bytes | None:
        """Fetches one value; None if it is absent. A denied value is passed to `_raise_denied`, which raises Denied or
        treats the value as absent."""
        raise NotImplementedError  # each service has its own requests

    async def _ask_for_nothing(self, key: str) -> Any:
        """Requests `key`, which does not exist, and describes the answer; None if there was no conclusive answer."""
        raise NotImplementedError  # each service sends its own requests

    def size(self, key: str) -> int | None:
        """The size of the value in bytes; None when absent."""
        raise NotImplementedError  # each service sends its own requests

    def read_end(self, key: str, length: int) -> tuple[bytes, int] | None:
        """The last `length` bytes of a value (the whole value if it is shorter), and its size; None when absent."""
        return self._end_of(key, self.size(key), length)

    def _end_of(self, key: str, size: int | None, length: int) -> tuple[bytes, int] | None:
        """As `read_end`, for a value whose size is known. The end comes from the version that the size belongs to."""
        if not size:
            return None if size is None else (b"", 0)
        for _, answer in self._get_unchanged([(key, ByteRange(max(0, size - length), length))], never, length):
            if isinstance(answer, ZarrscopeError):
                raise answer
            return None if answer is None else (answer, size)
        return None

    def _get_unchanged(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None
    ) -> Iterator[tuple[int, Answer]]:
        """As `_get_many`, but each part must come from the version of the value whose end `read_end` read last, as far
        as the service states versions. Otherwise the answer is the error of `_replaced`."""
        return self._get_many(requests, cancelled, limit)

    def _is_replaced(self, key: str) -> bool:
        """Whether the service states another version for the value than when `read_end` read it."""
        return False

    def _replaced(self) -> Unreadable:
        """The error if a file was replaced on its server while it was open."""
        return Unreadable(
            "The file was replaced on its server after it was opened",
            store=self.url,
            advice="Open it again: the parts of the former file that were read do not fit the new one.",
        )

    async def _readable(self, key: str) -> bool:
        """Whether the value at `key`, which was read before, can still be read."""
        raise NotImplementedError  # each service sends its own requests

    # ------------------------------------------------------------------ other credentials
    def _renew(self, other: Backend) -> bool:
        if not isinstance(other, RemoteStore) or type(other) is not type(self):
            return False
        here = self._place_of()
        if here is None or here != other._place_of():
            return False

        async def take() -> None:
            self._take(other)

        self._wait(take())
        return True

    def _place_of(self) -> Hashable:
        """Identifies the server and path of the values, without credentials: stores with equal results differ only in
        credentials. None if the credentials of this store cannot be replaced."""
        return None

    def _take(self, other: Any) -> None:
        """Takes over the credentials of `other`, which has the same values. Runs on the event loop, so that no request
        is made with parts of both credentials."""
        self.url = other.url
        self._public_options = other._public_options
        self._of_nothing = other._of_nothing

    # ------------------------------------------------------------------ absence
    @property
    def tells_absence(self) -> bool:
        return self._of_nothing is None or not self._hides(self._of_nothing)

    def _hides(self, of_nothing: Any) -> bool:
        """Whether `of_nothing`, the result of `_ask_for_nothing`, shows that the service gives the same answer for
        absent and for denied values."""
        raise NotImplementedError  # each service sends its own requests

    @property
    def missing_is_fill(self) -> bool:
        return self.network.missing_is_fill

    @property
    def taken_as_missing(self) -> int:
        """The number of denied values that were treated as absent so far (`Network.missing_is_fill`)."""
        return self._taken

    async def _answer_of_nothing(self) -> Any:
        """The result of `_ask_for_nothing`, which is called once; parallel callers wait for the same request."""
        if self._of_nothing is None:
            if self._asking is None or self._asking.is_over():
                self._asking = _Shared(self._asked_for_nothing())
            await self._asking.wait()
        return self._of_nothing

    async def _asked_for_nothing(self) -> None:
        self._of_nothing = await self._ask_for_nothing(f".zarrscope-{uuid4().hex}")

    async def _raise_denied(self, error: Denied) -> None:
        """Raises `error`, unless the denied value may be treated as absent."""
        if error.untold:
            if self.network.missing_is_fill and await self._still_readable():
                self._taken += 1
                return
            error.advice = Denied.UNTOLD_ADVICE
            if self.network.missing_is_fill:
                error.advice = "A value that was read before cannot be read any more: check the credentials."
                if self._read_before is None:
                    error.advice = "Nothing at all could be read there: check the address and the credentials."
            if error.tried:
                error.advice += f" Tried: {', '.join(error.tried)}."
        raise error

    async def _still_readable(self) -> bool:
        """Whether a value that was read before can still be read. It waits for an attempt that begins after this call,
        because the result of an earlier one may be out of date."""
        if self._read_before is None:
            return False
        if self._trying is None or self._trying.begun or self._trying.is_over():
            self._trying = _Shared(self._readable(self._read_before))
        return bool(await self._trying.wait())

    # ------------------------------------------------------------------ many at once
    def _longest(self, part: ByteRange | None, limit: int | None) -> float | None:
        """The longest time, in seconds, that fetching a value may take: all attempts and pauses, and all its bytes at
        the lowest speed allowed. None: no limit."""
        most = limit if part is None or part.length is None else part.length
        if most is None or not self.network.min_speed:
            return None
        return self.network.attempts * self.network.timeout + self.network.patience + most / self.network.min_speed

    @property
    def width(self) -> int:
        """The number of requests that one get_many may run at once."""
        return self._width

    def _narrow(self, width: int) -> None:
        """Halves the number of parallel requests, after the server answered that it gets too many. `width`: the number
        when the request was sent; several such answers to parallel requests halve it only once."""
        if width == self._width:
            self._width = max(FEWEST_IN_FLIGHT, width // 2)
            self._well = 0

    def _widen(self) -> None:
        """Counts a successful request; after enough of them, doubles the number of parallel requests again."""
        if self._width < IN_FLIGHT:
            self._well += 1
            if self._well >= 8 * self._width:
                self._width, self._well = min(IN_FLIGHT, 2 * self._width), 0

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            with waiting():
                # With a time-out, because on Windows nothing interrupts a wait without one.
                while not concurrent.futures.wait([future], LOOK_SECONDS).done:
                    check()  # lets the user interrupt, because the server may never answer
            return future.result()
        finally:
            future.cancel()

    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None:
        try:
            return self._wait(self._fetch(key, part, limit))
        except ZarrscopeError as error:
            raise error.located(store=self.url, key=key or None) from error.__cause__

    def _get_many(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None = None
    ) -> Iterator[tuple[int, Answer]]:
        return self._fetched(self._fetch, requests, cancelled, limit)

    def _get_growing(
        self, requests: list[Request], cancelled: Callable[[], bool], limit: int | None
    ) -> Iterator[tuple[int, AnswerView]]:
        if type(self)._get_many is not RemoteStore._get_many:
            return super()._get_growing(requests, cancelled, limit)
        return self._fetched(self._fetch, requests, cancelled, limit)

    def _fetched(
        self,
        fetch: Callable[[str, ByteRange | None, int | None], Awaitable[T]],
        requests: Sequence[Request],
        cancelled: Callable[[], bool],
        limit: int | None,
    ) -> Iterator[tuple[int, T | ZarrscopeError]]:
        """Awaits `fetch` for each request, many at once, and yields the results in order of completion. The caller may
        append requests before it takes the next result."""
        if requests and not cancelled():
            yield from self._arriving(requests, ManyFetches(self, fetch, requests, limit), cancelled)

    @staticmethod
    def _arriving(
        requests: Sequence[object], many: ManyAnswers[T], cancelled: Callable[[], bool]
    ) -> Iterator[tuple[int, T]]:
        """Yields the answers to `requests`, which may grow, as they arrive. Calls `many.cancel` at the end, and when
        the caller needs no more."""
        known, answered = len(requests), 0
        try:
            while answered < len(requests):
                if len(requests) > known:
                    known = len(requests)
                    many.more()
                with waiting():
                    while True:
                        check()
                        if cancelled():
                            return
                        try:
                            answer = many.answers.get(timeout=LOOK_SECONDS)
                            break
                        except queue.Empty:
                            continue
                answered += 1
                yield answer
        finally:
            many.cancel()

    def _begun(self, work: Callable[[], Coroutine[Any, Any, object]], key: str, done: WhenDone) -> Callable[[], object]:
        """Starts `work` on the event loop, which calls `done` at its end. Returns a function that cancels it."""
        where, tasks = self._loop, list[asyncio.Task[object]]()

        def begin() -> None:
            tasks.append(where.create_task(work()))
            tasks[0].add_done_callback(ended)

        def ended(task: asyncio.Task[object]) -> None:
            error = asyncio.CancelledError() if task.cancelled() else task.exception()
            done(error.located(store=self.url, key=key) if isinstance(error, ZarrscopeError) else error)

        where.call_soon_threadsafe(begin)
        return lambda: where.call_soon_threadsafe(lambda: tasks[0].cancel())


class _Shared:
    """A coroutine that several tasks of one event loop await. It continues if one of them is cancelled."""

    def __init__(self, work: Coroutine[Any, Any, Any]) -> None:
        self.begun = False
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._run(work))

    async def _run(self, work: Coroutine[Any, Any, Any]) -> object:
        self.begun = True
        return await work

    def is_over(self) -> bool:
        """Whether a new coroutine is needed: this one is done, or belongs to another event loop."""
        return self._task.done() or self._loop is not asyncio.get_running_loop()

    async def wait(self) -> object:
        return await asyncio.shield(self._task)
