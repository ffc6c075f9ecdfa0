"""Background work: the only threads of the engine, besides the event loop of remote stores and the one that unmaps
memory (memory.py).

There are three thread pools, which start when needed and end when idle: *fetch* waits for remote stores, so it has many
threads; *files* reads local files; *decode* uses the available cores. A front end creates an Owner with one callable,
`post(fn)`, which schedules `fn` on the front end's own thread. The Owner submits jobs and gets Tickets.

Jobs that may wait (NEARBY, IDLE) start only when no urgent job is queued, a few at a time, on extra threads of each
pool, so they never take a thread from urgent jobs. While prefetching is held back (`Background.hold_prefetch`), none of
them starts in any pool, because an urgent chunk passes through two pools and then has to reach its owner's thread.

Two rules, each with a test:

* **Post.** Callbacks run on the owner's thread, through `post`, and `Ticket.cancel()` is called there too. So a
  cancelled ticket never calls back, and front ends need no locks.
* **No deadlock.** A blocked caller works: `share` processes items in the calling thread too and waits only for helpers
  that have started, and ChunkLoader.read runs queued jobs itself. So both can be called from a worker of these pools,
  from a napari thread or from a Dask worker.

A job that is cancelled before it starts never runs; in a running job `cancelled()` becomes true. After a fork the child
starts with empty pools.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from zarrscope.runtime.cpu import cores
from zarrscope.runtime.interrupts import LOOK_SECONDS, Interrupted, adopt, check, current, stop, uninterrupted
from zarrscope.runtime.pool import Priority as Priority
from zarrscope.runtime.pool import ThreadPool, log, pools
from zarrscope.runtime.tickets import JobResult as JobResult
from zarrscope.runtime.tickets import Ticket as Ticket
from zarrscope.runtime.tuning import FETCH_THREADS, FILE_THREADS
from zarrscope.runtime.waits import PendingRequest, ReadJob, WriteJob, running

Post = Callable[[Callable[[], None]], object]
"""Runs a callable on the owner's thread soon, in the order of the calls. Never blocks."""

T = TypeVar("T")

_backgrounds: weakref.WeakSet[Background] = weakref.WeakSet()


class Background:
    """The pools of one process. Use `shared()`; create another one only in tests."""

    def __init__(self, fetch_threads: int = FETCH_THREADS, decode_threads: int | None = None) -> None:
        self.decode_threads = decode_threads or cores()
        self._pressed = threading.Lock()
        self._holders: weakref.WeakSet[Any] = weakref.WeakSet()
        held = self._holders.__len__
        # Prefetching uses the same network and GIL as urgent requests.
        self.fetch_pool = ThreadPool("fetch", fetch_threads, max(1, fetch_threads // 4), held)
        self.file_pool = ThreadPool("files", min(FILE_THREADS, fetch_threads), 1, held)
        # One core is left for the calling thread, which decodes too while it waits (`share`, ChunkLoader.read) or runs
        # a user interface.
        self.decode_pool = ThreadPool("decode", decode_threads or max(1, self.decode_threads - 1), None, held)
        _backgrounds.add(self)

    @uninterrupted
    def hold_prefetch(self, holder: object) -> None:
        """Holds back jobs that may wait, until `release_prefetch(holder)`, or until `holder` is garbage-collected."""
        with self._pressed:
            self._holders.add(holder)

    @uninterrupted
    def release_prefetch(self, holder: object) -> None:
        """Ends the hold of `holder`. Calling it twice does no harm."""
        with self._pressed:
            before = len(self._holders)
            self._holders.discard(holder)
            over = before and not self._holders
        if over:
            for pool in (self.fetch_pool, self.file_pool, self.decode_pool):
                pool.let_go()

    @property
    def prefetch_holds(self) -> bool:
        """Whether prefetching is held back, because a person waits for visible chunks."""
        return len(self._holders) > 0

    def owner(self, post: Post) -> Owner:
        """Makes the owner of the jobs of one front end (window, host, kernel); `post` schedules calls on its thread."""
        return Owner(self, post)

    @uninterrupted
    def share(
        self, items: Iterable[T], work: Callable[[T], object], threads: int | None = None, *, waits: bool = False
    ) -> None:
        """Runs `work` on every item in this thread and, if that is faster, also in decode threads; returns when all are
        done.

        All take their items from one iterator under one lock, so `items` may be a generator that fetches. The first
        error stops the rest and is raised here. `threads` counts the caller; the default is the number of available
        cores. `waits`: the work waits for a store, so threads of the pool for that help.
        """
        iterator = iter(items)
        helpers = (threads or self.decode_threads) - 1
        if helpers < 1:
            for item in iterator:
                check()
                work(item)
            return
        loop = _SharedLoop(iterator, work)
        for _ in range(helpers):
            (self.fetch_pool if waits else self.decode_pool).put(Priority.NOW, loop.help)
        loop.finish()


class _SharedLoop(Generic[T]):
    """The threads that share one iterator."""

    def __init__(self, iterator: Iterator[T], work: Callable[[T], object]) -> None:
        self._iterator, self._work = iterator, work
        self._take = threading.Lock()
        self._over = False
        self._busy = 0
        self._calm = threading.Condition(threading.Lock())
        self._error: BaseException | None = None
        operation = current()
        # Cleaning up after an interrupt must not be stopped by the same interrupt.
        self._operation = None if operation is None or operation.told else operation

    def help(self) -> None:
        with self._calm:
            if self._over:
                return
            self._busy += 1
        try:
            with adopt(self._operation):
                self._run()
        except Interrupted:
            pass  # the error was stored and is raised by `finish`
        finally:
            with self._calm:
                self._busy -= 1
                if not self._busy:
                    self._calm.notify_all()

    def finish(self) -> None:
        """Does the caller's own part of the work, then waits for the helpers that have started."""
        try:
            self._run()
        finally:
            with self._calm:
                self._over = True
                while self._busy:
                    self._calm.wait(LOOK_SECONDS)
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _stop_if_asked(self) -> None:
        if self._operation is not None and self._operation.signal:
            stop(self._operation)

    def _acquire(self) -> None:
        """Takes the lock of the iterator in short steps. If a signal arrives just before the main thread waits for a
        lock, Python runs its handler only after the wait; and the holder of this lock may be waiting for a server until
        that handler interrupts it."""
        while not self._take.acquire(timeout=LOOK_SECONDS):
            self._stop_if_asked()

    def _run(self) -> None:
        while True:
            try:
                self._acquire()
                try:
                    if self._over:
                        return
                    self._stop_if_asked()
                    item = next(self._iterator)
                except StopIteration:
                    self._over = True
                    return
                finally:
                    self._take.release()
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
    """Submits background jobs for one front end. All its methods are called on one thread, usually that of the
    interface; `post` runs a function on that thread."""

    def __init__(self, background: Background, post: Post) -> None:
        self.background = background
        self._post = post
        self._tickets: set[Ticket] = set()
        self._closed = False
        self.began: Callable[[], object] = lambda: None
        """Called when work was submitted."""

    def fetch(self, work: Callable[..., T], done: Callable[[JobResult[T]], None], priority: int = 1) -> Ticket:
        """Runs `work()`, or `work(cancelled)` if it has a parameter of that name, on the pool that waits for stores.

        `done(outcome)` is called on the owner's thread, unless the ticket was cancelled by then. `stop` only ends the
        wait of such work for a lock.
        """
        return self._submit(self.background.fetch_pool, work, done, priority, WriteJob())

    def read(self, work: Callable[..., T], done: Callable[[JobResult[T]], None], priority: int = 1) -> Ticket:
        """As `fetch`, for work that only reads: cancelling the ticket, or `stop`, also ends the thread's wait for a
        store, and cancels the request."""
        return self._submit(self.background.fetch_pool, work, done, priority, ReadJob())

    @property
    def busy(self) -> bool:
        """Whether any work has been submitted that is not done."""
        return any(not isinstance(ticket, _TimerTicket) for ticket in [*self._tickets])

    def waits(self) -> list[PendingRequest]:
        """The requests that a person waits for, the longest wait first."""
        found = (ticket.waiting for ticket in [*self._tickets])
        return sorted((each for each in found if each is not None), key=lambda each: each.since)

    def stop(self, error: Callable[[PendingRequest | None], BaseException]) -> bool:
        """Ends all work of `read` that is not done, and work of `fetch` that waits for a lock, like a failure: each
        callback gets the error that `error` makes for it. Returns False if there was none."""
        return sum([ticket.stop(error(ticket.waiting)) for ticket in [*self._tickets]]) > 0

    def decode(self, work: Callable[..., T], done: Callable[[JobResult[T]], None], priority: int = 1) -> Ticket:
        """Runs `work` on the pool that keeps the cores busy: it should compute without waiting.

        `done(outcome)` is called on the owner's thread, unless the ticket was cancelled by then.
        """
        return self._submit(self.background.decode_pool, work, done, priority)

    def later(self, seconds: float, call: Callable[[], None]) -> Ticket:
        """Calls `call` on the owner's thread after that time, unless the ticket was cancelled by then. It waits on a
        thread of its own, because those of the pools may all be waiting for a store."""
        ticket = _TimerTicket(self, seconds, call)
        self.adopt(ticket)
        if not ticket.cancelled:
            ticket.start()
        return ticket

    def post(self, call: Callable[[], None]) -> bool:
        """Schedules `call` on the owner's thread, unless the owner is closed. An error in `call` is logged, not raised.
        Returns False if `call` will certainly not be called."""

        def guarded() -> None:
            if self._closed:
                return
            try:
                call()
            except Exception:
                log().exception("A callback of zarrscope's background work failed")

        if self._closed:
            return False
        try:
            self._post(guarded)
        except Exception:  # the window or event loop was closed
            log().debug("A result could not be posted to its owner", exc_info=True)
            return False
        return True

    def adopt(self, ticket: Ticket) -> None:
        """Adds a ticket to those that `close` cancels."""
        if self._closed:
            ticket.cancel()
        else:
            self._tickets.add(ticket)
            if not isinstance(ticket, _TimerTicket):
                self.began()

    def release(self, ticket: Ticket) -> None:
        """Forgets a ticket whose last callback was made; a ticket that is unknown is no error."""
        self._tickets.discard(ticket)

    @uninterrupted
    def close(self) -> None:
        """Cancels all running and queued jobs. After this no callback is made."""
        self._closed = True
        tickets, self._tickets = self._tickets, set()
        for ticket in tickets:
            ticket.cancel()

    @uninterrupted
    def _submit(
        self,
        pool: ThreadPool,
        work: Callable[..., T],
        done: Callable[[JobResult[T]], None],
        priority: int,
        job: ReadJob | None = None,
    ) -> Ticket:
        ticket = _JobTicket(self, job)
        self.adopt(ticket)
        if ticket.cancelled:
            return ticket
        takes_cancelled = _takes_cancelled(work)

        def deliver(outcome: JobResult[T]) -> None:
            if not (ticket.cancelled or ticket.finished):
                ticket.finish()
                done(outcome)

        def run() -> None:
            if ticket.cancelled:
                return
            try:
                with running(job):
                    outcome = JobResult(work(ticket.is_cancelled) if takes_cancelled else work())
            except BaseException as error:
                given_up = isinstance(error, Interrupted) and isinstance(job, WriteJob) and job.given_up
                outcome = JobResult(error=ticket.told if given_up else error)
            if not ticket.cancelled and not (job is not None and job.stopped):
                self.post(lambda: deliver(outcome))

        ticket.run, ticket.fail = run, lambda error: self.post(lambda: deliver(JobResult(error=error)))
        pool.put(priority, ticket)
        return ticket


class _TimerTicket(Ticket):
    def __init__(self, owner: Owner, seconds: float, call: Callable[[], None]) -> None:
        super().__init__()
        self._owner, self._call = owner, call
        self._timer = threading.Timer(seconds, owner.post, (self._run,))
        self._timer.name, self._timer.daemon = "zarrscope-timer", True

    def start(self) -> None:
        self._timer.start()

    def cancel(self) -> None:
        super().cancel()
        self._timer.cancel()
        self._owner.release(self)

    def _run(self) -> None:
        if not self._cancelled:
            self._finished = True
            self._owner.release(self)
            self._call()


class _JobTicket(Ticket):
    def __init__(self, owner: Owner, job: ReadJob | None = None) -> None:
        super().__init__()
        self._owner, self._job = owner, job
        self.run: Callable[[], None] | None = None
        self.told: BaseException | None = None
        """The error of work that was stopped while it waited for a lock."""
        self.fail: Callable[[BaseException], object] = lambda _: None
        """Has the callback called with an error."""

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
            self.run = None  # frees the job's data now; its entry stays in the queue until its turn
            self._owner.release(self)
            if self._job is not None:
                self._job.stop()

    def is_cancelled(self) -> bool:
        return self._cancelled or (self._job is not None and self._job.stopped)

    @property
    def waiting(self) -> PendingRequest | None:
        stopped = self._job is None or self._job.stopped or self._finished
        return None if stopped or self._job is None else self._job.waiting

    def stop(self, error: BaseException) -> bool:
        if isinstance(self._job, WriteJob) and not (self._cancelled or self._finished):
            self.told = self.told or error  # before the thread of the work can see that it is stopped
            return self._job.give_up_lock()
        if self._job is None or self._cancelled or self._finished or self._job.stopped:
            return False
        self._job.stop()
        self.run = None
        self.fail(error)
        return True


def _takes_cancelled(work: Callable[..., Any]) -> bool:
    code = getattr(work, "__code__", None)
    if code is not None and not hasattr(work, "__wrapped__"):  # faster than a signature, by more than a submission
        return "cancelled" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    import inspect

    try:
        return "cancelled" in inspect.signature(work).parameters
    except (TypeError, ValueError):
        return False


class Mailbox:
    """A `post` for scripts, which have no event loop: it queues calls until the script runs them.

    `mailbox = Mailbox(); owner = shared().owner(mailbox); …; mailbox.run_until(lambda: ticket.finished)`
    """

    def __init__(self) -> None:
        from zarrscope.runtime.answers import AnswerQueue  # only scripts with an Owner need it

        # An interrupt comes before or after one of its methods, never within a change.
        self._calls: AnswerQueue[Callable[[], None]] = AnswerQueue()

    def __call__(self, call: Callable[[], None]) -> None:
        self._calls.put(call)

    def run(self) -> int:
        """Runs the calls that are queued, and returns their number."""
        calls = len(self._calls)
        for _ in range(calls):
            self._calls.get(timeout=0.0)()
        return calls

    def run_until(self, happened: Callable[[], bool], timeout: float = 60.0) -> None:
        """Runs calls as they arrive until `happened()` is true. Raises TimeoutError."""
        from queue import Empty

        end = time.monotonic() + timeout
        while not happened():
            if self.run():
                continue
            try:
                call = self._calls.get(timeout=max(0.0, end - time.monotonic()))
            except Empty:
                raise TimeoutError(f"No call arrived for {timeout} seconds") from None
            call()


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
    """Limits this process's Background, in a worker of a Dask cluster, to as many cores as the worker has threads,
    because the machine may run as many workers as it has cores. Does nothing in other processes."""
    found = getattr(getattr(sys.modules.get("distributed"), "Worker", None), "_instances", ())
    if threads := sum(worker.state.nthreads for worker in list(found)):
        shared().decode_threads = threads


def _after_fork() -> None:
    global _guard
    _guard = threading.Lock()
    for pool in list(pools):
        pool._reset()
    for background in list(_backgrounds):
        background._pressed = threading.Lock()
        background._holders.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
