"""Pools of threads that take jobs from queues in order of priority; threads.py uses them.

A thread is started when a job is queued and no thread is idle. It ends when it has had no job for a while.
"""

from __future__ import annotations

import atexit
import heapq
import threading
import time
import weakref
from collections.abc import Callable
from enum import IntEnum
from itertools import count
from typing import TYPE_CHECKING

from zarrscope.runtime.interrupts import uninterrupted
from zarrscope.runtime.tuning import IDLE_SECONDS

if TYPE_CHECKING:
    import logging

HELD_SECONDS = 0.1
"""Seconds between two checks whether held jobs may start: a holder that is garbage-collected notifies no thread."""
END_SECONDS = 0.5
"""The most seconds that the end of the process waits for running jobs; some may wait for a server much longer."""


class Priority(IntEnum):
    """The urgency of a job: lower numbers go first, equal numbers in the order of submission."""

    NOW = 0
    """A thread is blocked until the job is done."""
    VISIBLE = 1
    NEARBY = 2
    IDLE = 3


class ThreadPool:
    """Daemon threads over one priority heap of callables. Up to `size` threads run urgent jobs; up to `deferred` run
    the other jobs, which start only while fewer than `size` threads are busy."""

    def __init__(
        self, name: str, size: int, deferred: int | None = None, prefetch_held: Callable[[], int] = lambda: 0
    ) -> None:
        """While `prefetch_held()` is true, no job that may wait is started."""
        self.name, self.size = name, size
        self.deferred = size if deferred is None else deferred
        self._prefetch_held = prefetch_held
        self._reset()
        pools.add(self)

    def _reset(self) -> None:
        self._wake = threading.Condition(threading.Lock())
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self._idle = 0
        self._threads = 0
        self._urgent = 0
        self._deferrable = 0
        """The numbers of threads that run urgent and deferrable jobs."""
        self._named = count(1)
        self._started: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
        self._ended = False

    @uninterrupted
    def put(self, priority: int, job: Callable[[], None]) -> None:
        """Queues `job`. If no thread can be started at all, runs it at once in this thread."""
        with self._wake:
            heapq.heappush(self._heap, (priority, next(self._order), job))
            start = len(self._heap) > self._idle and self._threads < self.size + self._deferrable
            start = start or self._ended
            if start:
                self._threads += 1
            elif self._may_begin():
                self._wake.notify()
        if start:
            try:
                if self._ended:
                    raise RuntimeError("the process ends")
                _end_at_exit()
                name = f"zarrscope-{self.name}-{next(self._named)}"
                thread = threading.Thread(target=self._work, name=name, daemon=True)
                with self._wake:
                    self._started.add(thread)
                thread.start()
            except RuntimeError:  # the limit on threads is reached, or the interpreter is shutting down
                with self._wake:
                    self._threads -= 1
                    stranded = [] if self._threads and not self._ended else self._heap
                    if stranded:
                        self._heap = []
                for _, _, left in sorted(stranded, key=lambda entry: entry[:2]):
                    self._run(left)

    def _may_begin(self) -> bool:
        """Whether one more thread may start the most urgent job."""
        if not self._heap:
            return False
        if self._heap[0][0] <= Priority.VISIBLE:
            return self._urgent < self.size
        places = min(self.deferred - self._deferrable, self.size - self._urgent - self._deferrable)
        return places > 0 and not self._prefetch_held()

    def let_go(self) -> None:
        """Wakes threads after prefetching was allowed again, but only as many as may start a job, because each of them
        needs the GIL."""
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
                    if self._ended:
                        self._threads -= 1
                        self._wake.notify_all()
                        return
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
            del job  # else the waiting thread would keep the job's data alive

    def _count(self, urgent: bool, by: int) -> None:
        if urgent:
            self._urgent += by
        else:
            self._deferrable += by

    def _run(self, job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException:
            log().exception("A background job of zarrscope failed, and no caller waits for its result")

    @property
    def threads(self) -> int:
        """The number of threads that exist now, the idle ones included."""
        return self._threads

    def end(self, deadline: float) -> None:
        """Drops queued jobs, and waits until `deadline` (of time.monotonic) for running ones. A job that is added later
        runs in the thread that adds it."""
        with self._wake:
            self._ended, self._heap = True, []
            self._wake.notify_all()
            while self._threads and (left := deadline - time.monotonic()) > 0:
                self._wake.wait(left)
            started = [*self._started]
        for thread in started:  # a thread that is no longer counted still runs the last lines of `_work`
            if thread.is_alive():
                thread.join(max(0.0, deadline - time.monotonic()))


pools: weakref.WeakSet[ThreadPool] = weakref.WeakSet()
"""All pools of this process, which a forked child empties."""


_ends_at_exit = False


def _end_at_exit() -> None:
    """Makes all pools end before the interpreter is finalized. If a daemon thread returned to Python after that, its
    stack would be unwound, and C++ and Rust libraries on it would abort the process. The exit handler is registered
    when the first thread starts. So it runs before the exit handlers of toolkits imported by then, whose objects the
    threads use."""
    global _ends_at_exit
    if not _ends_at_exit:
        _ends_at_exit = True
        atexit.register(_end_pools)


def _end_pools() -> None:
    deadline = time.monotonic() + END_SECONDS
    for pool in list(pools):
        pool.end(deadline)


def log() -> logging.Logger:
    """The logger of this package. `logging` is imported here, because few processes need it."""
    import logging

    return logging.getLogger("zarrscope")
