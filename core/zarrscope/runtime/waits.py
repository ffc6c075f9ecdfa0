"""Names the request that a job of a thread pool waits for, so that a front end can show it; and stops such a job.

A job that only reads runs within `running(job)`. A store that is asked for a value sets the label (`asking`), and the
places that block until an answer comes mark that time (`waiting`). Both do nothing in threads without a job.
`ReadJob.stop` ends the wait of the thread as an interrupt does (interrupts.py), and the store cancels its request then.

A job that writes runs with a WriteJob, which only names the locks that it waits for (`waiting_for_lock`), and can only
be stopped while it waits for one.

A command line has no such jobs. After `watch_threads` every thread has a record of its own, which only names requests.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from zarrscope.runtime.interrupts import INTERRUPT, Interrupted, InterruptibleOperation, adopt, check
from zarrscope.runtime.named_tuple import NamedTuple

T = TypeVar("T")
_here = threading.local()
_watched: dict[int, ReadJob] | None = None
"""The jobs and records of all threads by the threads' identifiers; None unless `watch_threads` was called."""


class LockHolder(NamedTuple):
    """The process that holds a lock, as far as the system tells."""

    process: int = 0
    """The number of the process; 0 if it is not known."""
    program: str = ""
    """The name of its program; "" if it is not known."""
    stopped: bool = False
    """Whether the process is stopped, so that it cannot release the lock."""


class PendingRequest(NamedTuple):
    """A request that has not been answered, or a lock that is not free."""

    place: str
    """The address of the store; "" if the job did not name it."""
    key: str
    """The key or prefix that was requested; "" if the job did not name it."""
    since: float
    """The time of `time.monotonic` since which nothing came."""
    holder: LockHolder | None = None
    """For a lock, the process that holds it."""


class NextAttempt(NamedTuple):
    """The next attempt of a request that failed for a temporary reason."""

    reason: str
    """The reason of the failure, as the beginning of a sentence: "The server answered 503"."""
    number: int
    """The number of the attempt, from 2 on."""
    attempts: int
    """The most attempts."""
    seconds: float
    """The seconds of the pause before it."""
    asked: bool
    """Whether the server has asked for that pause (Retry-After)."""
    until: float
    """The time of `time.monotonic` at which the pause ends, and the attempt begins."""


_repeated: dict[repeating, NextAttempt] = {}


class repeating:
    """`with repeating(place, key) as repeats: …` encloses all attempts of a request to the store `place`."""

    __slots__ = ("_key", "_place")

    def __init__(self, place: str, key: str) -> None:
        self._place, self._key = place, key

    def __enter__(self) -> repeating:
        return self

    def __exit__(self, *_: object) -> None:
        _repeated.pop(self, None)

    def after(self, reason: str, number: int, attempts: int, seconds: float, *, asked: bool = False) -> None:
        """Names the next attempt, after a pause of some `seconds`."""
        _repeated[self] = NextAttempt(reason, number, attempts, seconds, asked, time.monotonic() + seconds)


def next_attempt(place: str, key: str = "") -> NextAttempt | None:
    """The next attempt of the request for `key` to the store `place`, or to the store of an archive there; if that one
    has not failed, the attempt of any other request there that begins last. None if no request has failed."""
    found = [(each._key == key, attempt) for each, attempt in [*_repeated.items()] if each._place in place]
    return max(found, key=lambda one: (one[0], one[1].until), default=(False, None))[1]


class ReadJob:
    """A job that only reads: it names the request that it waits for, and can be stopped."""

    __slots__ = ("_asked", "_began", "_lock", "_of_thread", "_operation", "_since")

    def __init__(self, of_thread: bool = False) -> None:
        self._of_thread = of_thread
        """Whether this is the record of a thread without a job: it begins with each request, and is never stopped."""
        self._operation = InterruptibleOperation(installed=False)
        self._asked = ("", "")
        self._began: float | None = None
        self._lock: waiting_for_lock | None = None
        """The lock that the thread waits for."""
        self._since: float | None = None
        """The time since which the thread waits; 0 while it computes; None if it never told that it waits."""

    def stop(self) -> None:
        """Ends the next wait of the job's thread, or the present one."""
        self._operation.signal = INTERRUPT

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called, so that the job ends at its next wait."""
        return bool(self._operation.signal)

    @property
    def waiting(self) -> PendingRequest | None:
        """The request that the job waits for; None while it computes, or has not started. If its store does not tell
        when it waits, the job counts as waiting since it began."""
        if (lock := self._lock) is not None:
            return lock.request
        since = self._began if self._since is None else self._since
        return PendingRequest(*self._asked, since) if since else None

    def _wait(self, since: float | None) -> float | None:
        former, self._since = self._since, since
        return former

    def _ask(self, asked: tuple[str, str]) -> tuple[str, str]:
        """Sets the names of the request, and returns the former ones."""
        former, self._asked = self._asked, asked
        if self._of_thread and former != asked and "" in (former[0], asked[0]):  # the outermost request begins or ends
            self._began, self._since = (time.monotonic(), None) if asked[0] else (None, None)
        return former


class WriteJob(ReadJob):
    """A job that may change data: it names only the lock that it waits for, and is stopped only while it does."""

    __slots__ = ("_given_up",)

    def __init__(self) -> None:
        super().__init__()
        self._given_up = False

    @property
    def waiting(self) -> PendingRequest | None:
        """The lock that the job waits for; None while it does not wait for a lock."""
        lock = self._lock
        return None if lock is None or self._given_up else lock.request

    def stop(self) -> None:
        """Does nothing: what was begun is written to its end."""

    def give_up_lock(self) -> bool:
        """Ends the present wait for a lock with Interrupted, unless the lock is given at this moment. Returns False if
        the job does not wait for a lock."""
        self._given_up = self._lock is not None
        return self._given_up

    @property
    def given_up(self) -> bool:
        """Whether `give_up_lock` was called, and the job has not gone on with its lock since."""
        return self._given_up


def current_job() -> ReadJob | None:
    """The job that this thread runs, or its record after `watch_threads`; None for other threads without a job."""
    found: ReadJob | None = getattr(_here, "job", None)
    if found is None and _watched is not None:
        found = _here.job = _watched[threading.get_ident()] = ReadJob(of_thread=True)
    return found


def watch_threads() -> None:
    """For applications without jobs: from now on every thread names the requests that it waits for (`longest_wait`)."""
    global _watched
    _watched = {} if _watched is None else _watched


def longest_wait() -> PendingRequest | None:
    """The request of any thread that has been without an answer for the longest time; None without `watch_threads`."""
    found = [wait for job in [*(_watched or {}).values()] if (wait := job.waiting) is not None]
    return min(found, key=lambda wait: wait.since, default=None)


@contextmanager
def running(job: ReadJob | None) -> Iterator[None]:
    """Makes `job` the job of this thread within the block; None: the block is not stoppable."""
    if job is None:
        yield
        return
    _here.job, job._began = job, time.monotonic()
    if _watched is not None:
        _watched[threading.get_ident()] = job
    try:
        with adopt(job._operation):
            yield
    finally:
        _here.job = job._began = None
        if _watched is not None:
            _watched.pop(threading.get_ident(), None)


class asking:
    """`with asking(place, key): …` sets the names of the request that is made within the block."""

    __slots__ = ("_asked", "_former", "_job")

    def __init__(self, place: str, key: str) -> None:
        self._job, self._asked = current_job(), (place, key)

    def __enter__(self) -> None:
        if self._job is not None:
            self._former = self._job._ask(self._asked)

    def __exit__(self, *_: object) -> None:
        if self._job is not None:
            self._job._ask(self._former)


class waiting:
    """`with waiting(): …` marks the time in which the thread waits for an answer."""

    __slots__ = ("_job",)

    def __init__(self) -> None:
        self._job = current_job()

    def __enter__(self) -> None:
        if self._job is not None:
            self._job._wait(time.monotonic())

    def __exit__(self, *_: object) -> None:
        if self._job is not None:
            self._job._wait(0.0)


class waiting_for_lock:
    """`with waiting_for_lock(place, key, holder) as wait: …` marks the time in which the thread waits for the lock of
    `place`, in order to write `key`. `holder` finds out who holds it, on any thread."""

    __slots__ = ("_holder", "_job", "_key", "_place", "_since")

    def __init__(self, place: str, key: str, holder: Callable[[], LockHolder] = LockHolder) -> None:
        self._place, self._key, self._holder = place, key, holder
        self._job, self._since = current_job(), time.monotonic()

    @property
    def request(self) -> PendingRequest:
        """The wait, with the present holder of the lock."""
        return PendingRequest(self._place, self._key, self._since, self._holder())

    def check(self) -> None:
        """Raises Interrupted if the wait is to end."""
        check()
        if self.given_up:
            raise Interrupted

    @property
    def given_up(self) -> bool:
        """Whether a person does not want to wait any longer."""
        return isinstance(self._job, WriteJob) and self._job.given_up

    def __enter__(self) -> waiting_for_lock:
        if self._job is not None:
            self._job._lock = self
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._job is not None:
            self._job._lock = None
            if kind is None and isinstance(self._job, WriteJob):
                self._job._given_up = False  # the lock came first


def naming(place: str, keys: Sequence[str], answers: Iterator[tuple[int, T]]) -> Iterator[tuple[int, T]]:
    """Passes answers on, given as (position in `keys`, answer). While the next one is awaited, the first key without an
    answer is named. `keys` may grow between two answers."""
    left, known = dict(enumerate(keys)), len(keys)
    while left:
        with asking(place, next(iter(left.values()))):
            found = next(answers, None)
        if found is None:
            return
        left.pop(found[0], None)
        yield found
        if len(keys) > known:
            left.update(enumerate(keys[known:], known))
            known = len(keys)
    yield from answers
