"""Background work: the only threads of the engine (remote stores aside, which run their own event loop).

Three pools, started lazily and given back when idle: *fetch* waits for stores, so it is wide; *files* reads chunks that
lie on this machine; *decode* keeps the cores busy that this process may use. A front end makes itself an Owner with one
callable, `post(fn)`, which runs `fn` on its own thread soon; it submits work and gets Tickets.

Work that may wait (NEARBY, IDLE) begins only where nothing urgent is queued, little of it at a time, and never takes
the place of urgent work: each pool has as many threads for the urgent beside those that are busy with the rest. None of
it begins in any pool while somebody presses (`Background.press`): a chunk that is waited for passes through two pools,
and has not come before its owner's thread has it.

Two laws, each with a test:

* **Post.** Callbacks run on the owner's thread, through `post`, and `Ticket.cancel()` is called there too. Therefore a
  cancelled ticket never calls back; nobody needs a lock to know.
* **No deadlock.** Whoever blocks works meanwhile: `share` runs its items in the calling thread too and waits only for
  helpers that have begun, and chunks.ChunkLoader.read takes queued work over itself. So both are safe on a worker of
  these pools, a napari thread or a Dask worker.

A job cancelled before it began never runs; one under way sees its `cancelled()` turn true. After a fork the child
starts with empty pools.
"""

from __future__ import annotations

import heapq
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    import logging

from zarrscope.cores import cores
from zarrscope.frozen import frozen

Post = Callable[[Callable[[], None]], object]
"""Runs a callable on the owner's thread, soon, in order. Never blocks."""

T = TypeVar("T")

FETCH_THREADS = 32
FILE_THREADS = 4
"""Reading what the page cache holds hardly waits: more threads than this would only queue for Python's lock, and a user
interface behind them (tests/bench/heartbeat.py: p99 12 ms instead of 22). Enough for disks that do wait."""
IDLE_SECONDS = 10.0
"""A thread with nothing to do for that long ends: a login node should not carry it."""
HELD_SECONDS = 0.1
"""So often a thread looks whether what is held back may begin: nobody says so when who pressed was forgotten."""


class Priority(IntEnum):
    """Lower goes first; equal ones in the order of submission."""

    NOW = 0
    """Somebody is blocked until it is done."""
    VISIBLE = 1
    NEARBY = 2
    IDLE = 3


@frozen
class Outcome(Generic[T]):
    """What became of a job: its value, or the error it met."""

    value: T | None = None
    error: BaseException | None = None

    def get(self) -> T:
        """The value. Raises the error."""
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]


class Ticket:
    """A claim on a result to come. `cancel` and all callbacks belong to the owner's thread."""

    def __init__(self) -> None:
        self._cancelled = False
        self._finished = False

    @property
    def cancelled(self) -> bool:
        return self._cancelled

    @property
    def finished(self) -> bool:
        """The last callback was made."""
        return self._finished

    def cancel(self) -> None:
        """No callback comes after this. Queued work is dropped, running work is told."""
        self._cancelled = True

    def is_cancelled(self) -> bool:
        return self._cancelled


class _Pool:
    """Daemon threads over one priority heap of thunks: up to `size` for what is urgent, and up to `deferred` for the
    rest, which begins only while fewer than `size` are busy."""

    def __init__(
        self, name: str, size: int, deferred: int | None = None, pressing: Callable[[], int] = lambda: 0
    ) -> None:
        """While `pressing()` nothing that may wait is begun."""
        self.name, self.size = name, size
        self.deferred = size if deferred is None else deferred
        self._pressing = pressing
        self._reset()
        _pools.add(self)

    def _reset(self) -> None:
        self._wake = threading.Condition(threading.Lock())
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self._idle = 0
        self._threads = 0
        self._urgent = 0
        self._deferrable = 0
        """How many threads are busy with the one and the other."""
        self._named = count(1)

    def put(self, priority: int, job: Callable[[], None]) -> None:
        """Queues `job`. Where no thread can be had at all, it is run here and now."""
        with self._wake:
            heapq.heappush(self._heap, (priority, next(self._order), job))
            start = len(self._heap) > self._idle and self._threads < self.size + self._deferrable
            if start:
                self._threads += 1
            elif self._may_begin():
                self._wake.notify()
        if start:
            try:
                threading.Thread(
                    target=self._work, name=f"zarrscope-{self.name}-{next(self._named)}", daemon=True
                ).start()
            except RuntimeError:  # a limit on threads, or the interpreter is going down
                with self._wake:
                    self._threads -= 1
                    stranded = [] if self._threads else self._heap
                    if stranded:
                        self._heap = []
                for _, _, left in sorted(stranded, key=lambda entry: entry[:2]):
                    self._run(left)

    def _may_begin(self) -> bool:
        """Whether the first of the heap may be begun by one more thread."""
        if not self._heap:
            return False
        if self._heap[0][0] <= Priority.VISIBLE:
            return self._urgent < self.size
        places = min(self.deferred - self._deferrable, self.size - self._urgent - self._deferrable)
        return places > 0 and not self._pressing()

    def let_go(self) -> None:
        """Nobody presses any more: wakes as many threads as may begin, for each wants Python's lock."""
        with self._wake:
            if self._heap and self._may_begin():
                self._wake.notify(min(len(self._heap), self.deferred - self._deferrable))

    def _work(self) -> None:
        urgent: bool | None = None
        while True:
            with self._wake:
                if urgent is not None:
                    self._count(urgent, -1)
                while not self._may_begin():
                    self._idle += 1
                    woken = self._wake.wait(HELD_SECONDS if self._heap else IDLE_SECONDS)
                    self._idle -= 1
                    if not woken and not self._heap:
                        self._threads -= 1
                        return
                priority, _, job = heapq.heappop(self._heap)
                urgent = priority <= Priority.VISIBLE
                self._count(urgent, 1)
            self._run(job)
            del job  # what it holds must not live on while the thread waits

    def _count(self, urgent: bool, by: int) -> None:
        if urgent:
            self._urgent += by
        else:
            self._deferrable += by

    def _run(self, job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException:
            _log().exception("A background job of zarrscope failed where nobody waits for it")

    @property
    def threads(self) -> int:
        return self._threads


_pools: weakref.WeakSet[_Pool] = weakref.WeakSet()
_backgrounds: weakref.WeakSet[Background] = weakref.WeakSet()


class Background:
    """The pools of one process. Use `shared()`; make another one only to test."""

    def __init__(self, fetch_threads: int = FETCH_THREADS, decode_threads: int | None = None) -> None:
        self.decode_threads = decode_threads or cores()
        self._pressed = threading.Lock()
        self._pressing: weakref.WeakSet[Any] = weakref.WeakSet()
        pressing = self._pressing.__len__
        # What is fetched ahead shares the network, or Python's lock, with what comes to be waited for meanwhile.
        self.fetch_pool = _Pool("fetch", fetch_threads, max(1, fetch_threads // 4), pressing)
        self.file_pool = _Pool("files", min(FILE_THREADS, fetch_threads), 1, pressing)
        # One core is left to whoever asks: it decodes too while it waits (`share`, ChunkLoader.read), or it is a user
        # interface that has to answer.
        self.decode_pool = _Pool("decode", decode_threads or max(1, self.decode_threads - 1), None, pressing)
        _backgrounds.add(self)

    def press(self, who: object) -> None:
        """`who` waits for something: nothing that may wait begins before `relax(who)`, or before `who` is forgotten by
        everybody else."""
        with self._pressed:
            self._pressing.add(who)

    def relax(self, who: object) -> None:
        """It has what it waited for, or wants it no longer. To say so twice does no harm."""
        with self._pressed:
            before = len(self._pressing)
            self._pressing.discard(who)
            over = before and not self._pressing
        if over:
            for pool in (self.fetch_pool, self.file_pool, self.decode_pool):
                pool.let_go()

    @property
    def pressed(self) -> bool:
        return len(self._pressing) > 0

    def owner(self, post: Post) -> Owner:
        """One front end (window, host, kernel): its jobs, and the way back to its thread."""
        return Owner(self, post)

    def share(self, items: Iterable[T], work: Callable[[T], object], threads: int | None = None) -> None:
        """Runs `work` on every item in this thread and, where that helps, in decode threads; returns when all is done.

        All take their items from one iterator under one lock, so `items` may be a generator that fetches. The first
        error stops the rest and is raised here. `threads` counts the caller; the default is the cores at hand.
        """
        iterator = iter(items)
        helpers = (threads or self.decode_threads) - 1
        if helpers < 1:
            for item in iterator:
                work(item)
            return
        crew = _Crew(iterator, work)
        for _ in range(helpers):
            self.decode_pool.put(Priority.NOW, crew.help)
        crew.finish()


class _Crew(Generic[T]):
    """The threads that share one iterator."""

    def __init__(self, iterator: Iterator[T], work: Callable[[T], object]) -> None:
        self._iterator, self._work = iterator, work
        self._take = threading.Lock()
        self._over = False
        self._busy = 0
        self._calm = threading.Condition(threading.Lock())
        self._error: BaseException | None = None

    def help(self) -> None:
        with self._calm:
            if self._over:
                return
            self._busy += 1
        try:
            self._run()
        finally:
            with self._calm:
                self._busy -= 1
                if not self._busy:
                    self._calm.notify_all()

    def finish(self) -> None:
        """The caller's own share, then waiting for those who have begun."""
        try:
            self._run()
        finally:
            with self._calm:
                self._over = True
                while self._busy:
                    self._calm.wait()
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _run(self) -> None:
        while True:
            try:
                with self._take:
                    if self._over:
                        return
                    try:
                        item = next(self._iterator)
                    except StopIteration:
                        self._over = True
                        return
                self._work(item)
            except BaseException as error:
                with self._calm:
                    self._over = True
                    if self._error is None:
                        self._error = error
                if not isinstance(error, Exception):
                    raise
                return


class Owner:
    """Submits jobs for one front end. Its methods belong to the thread that `post` leads to."""

    def __init__(self, background: Background, post: Post) -> None:
        self.background = background
        self._post = post
        self._tickets: set[Ticket] = set()
        self._closed = False

    def fetch(self, work: Callable[..., T], done: Callable[[Outcome[T]], None], priority: int = 1) -> Ticket:
        """Runs `work()`, or `work(cancelled)` where it takes an argument of that name, on the pool that may wait.

        `done(outcome)` is called on the owner's thread, unless the ticket was cancelled by then.
        """
        return self._submit(self.background.fetch_pool, work, done, priority)

    def decode(self, work: Callable[..., T], done: Callable[[Outcome[T]], None], priority: int = 1) -> Ticket:
        """As `fetch`, on the pool that keeps the cores busy: `work` should not wait for anything."""
        return self._submit(self.background.decode_pool, work, done, priority)

    def post(self, call: Callable[[], None]) -> bool:
        """`call` on the owner's thread, unless it is closed. An error in it is logged and ends there. False when it
        will certainly not be called."""

        def guarded() -> None:
            if self._closed:
                return
            try:
                call()
            except Exception:
                _log().exception("A callback of zarrscope's background work failed")

        if self._closed:
            return False
        try:
            self._post(guarded)
        except Exception:  # the window or loop behind it is gone
            _log().debug("A result could not be posted to its owner", exc_info=True)
            return False
        return True

    def adopt(self, ticket: Ticket) -> None:
        """Makes `ticket` one that `close` cancels."""
        if self._closed:
            ticket.cancel()
        else:
            self._tickets.add(ticket)

    def release(self, ticket: Ticket) -> None:
        self._tickets.discard(ticket)

    def close(self) -> None:
        """Cancels everything under way. Nothing calls back after this."""
        self._closed = True
        tickets, self._tickets = self._tickets, set()
        for ticket in tickets:
            ticket.cancel()

    def _submit(self, pool: _Pool, work: Callable[..., T], done: Callable[[Outcome[T]], None], priority: int) -> Ticket:
        ticket = _JobTicket(self)
        self.adopt(ticket)
        if ticket.cancelled:
            return ticket
        takes_cancelled = _takes_cancelled(work)

        def deliver(outcome: Outcome[T]) -> None:
            if not ticket.cancelled:
                ticket.finish()
                done(outcome)

        def run() -> None:
            if ticket.cancelled:
                return
            try:
                outcome = Outcome(work(ticket.is_cancelled) if takes_cancelled else work())
            except BaseException as error:
                outcome = Outcome(error=error)
            if not ticket.cancelled:
                self.post(lambda: deliver(outcome))

        ticket.run = run
        pool.put(priority, ticket)
        return ticket


class _JobTicket(Ticket):
    def __init__(self, owner: Owner) -> None:
        super().__init__()
        self._owner = owner
        self.run: Callable[[], None] | None = None

    def __call__(self) -> None:
        run, self.run = self.run, None
        if run is not None:
            run()

    def finish(self) -> None:
        self._finished = True
        self._owner.release(self)

    def cancel(self) -> None:
        if not self._finished:
            self._cancelled = True
            self.run = None  # what the job holds goes now, though its place in the queue stays until reached
            self._owner.release(self)


def _log() -> logging.Logger:
    import logging

    return logging.getLogger("zarrscope")


def _takes_cancelled(work: Callable[..., Any]) -> bool:
    import inspect

    try:
        return "cancelled" in inspect.signature(work).parameters
    except (TypeError, ValueError):
        return False


class Mailbox:
    """The `post` of a script, which has no event loop: calls queue up until the script runs them.

    `mailbox = Mailbox(); owner = shared().owner(mailbox); …; mailbox.run_until(lambda: ticket.finished)`
    """

    def __init__(self) -> None:
        self._calls: list[Callable[[], None]] = []
        self._came = threading.Condition()

    def __call__(self, call: Callable[[], None]) -> None:
        with self._came:
            self._calls.append(call)
            self._came.notify_all()

    def run(self) -> int:
        """Runs what has come so far; how many calls that were."""
        with self._came:
            calls, self._calls = self._calls, []
        for call in calls:
            call()
        return len(calls)

    def run_until(self, happened: Callable[[], bool], timeout: float = 60.0) -> None:
        """Runs calls as they come until `happened()`. Raises TimeoutError."""
        end = time.monotonic() + timeout
        while not happened():
            if self.run():
                continue
            with self._came:
                left = end - time.monotonic()
                if not self._calls and (left <= 0 or not self._came.wait(left)):
                    raise TimeoutError(f"Nothing came for {timeout} seconds")


_shared: Background | None = None
_guard = threading.Lock()


def shared() -> Background:
    """The one Background of this process."""
    global _shared
    if _shared is None:
        with _guard:
            if _shared is None:
                _shared = Background()
    return _shared


def keep_to_worker() -> None:
    """In a worker of a Dask cluster, keeps this process's Background to as many cores as the worker has threads: there
    may be as many workers on the machine as it has cores. Elsewhere nothing happens."""
    found = getattr(getattr(sys.modules.get("distributed"), "Worker", None), "_instances", ())
    if threads := sum(worker.state.nthreads for worker in list(found)):
        shared().decode_threads = threads


def _after_fork() -> None:
    global _guard
    _guard = threading.Lock()
    for pool in list(_pools):
        pool._reset()
    for background in list(_backgrounds):
        background._pressed = threading.Lock()
        background._pressing.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
