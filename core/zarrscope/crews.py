"""Who does the pieces of a job: the threads of this process, or the workers of a Dask cluster.

Both take pieces from an iterator as they are free, tell of each that is done on one thread at a time, stop at the first
error, which is raised here, and begin nothing more once `cancelled()`; what is under way is waited for, so that nothing
is written any more when `each` has returned. A piece may be done twice on a cluster, whose scheduler gives it to
another worker when one dies: pieces must not mind.
"""

from __future__ import annotations

import pickle
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol, TypeVar

from zarrscope.background import keep_to_worker, shared
from zarrscope.errors import Refused, Unreadable, Unsupported, ZarrscopeError
from zarrscope.store import Store, never

Piece = TypeVar("Piece")
T = TypeVar("T")

TASK_BYTES = 32 << 20
"""So much is read by one task of a cluster: much more than it costs to send one."""
TASKS_PER_THREAD = 2
NOBODY_SECONDS = 60.0
"""A cluster without a single worker is waited for that long."""


class Stopped(Exception):
    """Somebody cancelled."""


class Crew(Protocol):
    """Does pieces of work; see the module for what it promises."""

    twice: bool
    """A piece may be done again while its first doing left something behind."""

    def each(
        self,
        call: Callable[[Piece], T],
        pieces: Iterable[Piece],
        done: Callable[[T], None],
        cancelled: Callable[[], bool] = never,
        piece_bytes: int = TASK_BYTES,
    ) -> None:
        """`done(call(piece))` for every piece. Raises the first error, or Stopped."""

    def sees(self, store: Store, key: str, value: bytes) -> None:
        """Raises Refused where a worker does not find `value` under `key`: it looks at other files."""

    def close(self) -> None: ...


class Threads:
    """The threads of this process."""

    twice = False

    def each(
        self,
        call: Callable[[Piece], T],
        pieces: Iterable[Piece],
        done: Callable[[T], None],
        cancelled: Callable[[], bool] = never,
        piece_bytes: int = TASK_BYTES,
    ) -> None:
        guard = threading.Lock()

        def one(piece: Piece) -> None:
            result = call(piece)
            with guard:
                done(result)

        shared().share(_until(cancelled, pieces), one)

    def sees(self, store: Store, key: str, value: bytes) -> None:
        pass

    def close(self) -> None:
        pass


def _until(cancelled: Callable[[], bool], pieces: Iterable[Piece]) -> Iterator[Piece]:
    for piece in pieces:
        if cancelled():
            raise Stopped
        yield piece


class Cluster:
    """The workers of an existing Dask cluster: its scheduler's address ("tcp://host:8786"), or a Client of it.

    Workers must have zarrscope, and see the stores under the same addresses. Raises Unsupported (Dask is not installed
    here, or zarrscope is not there), Unreadable (nobody answers).
    """

    twice = True

    def __init__(self, scheduler: Any, timeout: float = 30.0) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise Unsupported(
                "Dask is not installed here",
                feature="distributed",
                advice="pip install 'zarrscope[dask]'.",
            ) from None
        self._own = isinstance(scheduler, str)
        if not self._own:
            self.client = scheduler
            return
        _need_answer(scheduler, timeout)
        try:
            client: Any = Client
            self.client = client(scheduler, timeout=timeout, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise _nobody(scheduler, error) from error

    def close(self) -> None:
        if self._own:
            self.client.close(timeout=10)

    def threads(self) -> int:
        """How many pieces the cluster can work on at once; 0 while it has no workers. Raises Unreadable."""
        try:
            if self.client.status == "running":
                return sum(self.client.nthreads().values())
        except OSError:
            pass
        raise Unreadable(
            "The connection to the scheduler of the cluster is lost",
            advice="Run the same again: it goes on where it was.",
        )

    def sees(self, store: Store, key: str, value: bytes) -> None:
        if store.url.startswith("memory:"):
            raise Refused("What is in the memory of one process cannot be seen by a cluster", store=store.url)
        found = self.client.run(_seen, store.url, key, on_error="return")
        for error in found.values():
            if isinstance(error, ImportError):
                raise Unsupported(
                    f"The workers of the cluster have no {error.name}",
                    feature=str(error.name),
                    advice="Install zarrscope in the environment of the workers.",
                ) from error
        # a worker that ends at this moment is no worker that cannot see
        blind = sorted(worker for worker, seen in found.items() if seen != value and not isinstance(seen, OSError))
        if blind:
            raise Refused(
                f"The worker {blind[0]} does not see this store" + (f" ({len(blind)} do not)" * (len(blind) > 1)),
                store=store.url,
                advice="Use a place that every worker reaches under the same address, such as a shared folder.",
            )

    def each(
        self,
        call: Callable[[Piece], T],
        pieces: Iterable[Piece],
        done: Callable[[T], None],
        cancelled: Callable[[], bool] = never,
        piece_bytes: int = TASK_BYTES,
    ) -> None:
        payload = pickle.dumps(call)
        most = max(1, TASK_BYTES // max(1, piece_bytes))
        begun = 0
        waiting = iter(pieces)
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        running: set[Any] = set()
        error: BaseException | None = None
        stopped = False
        threads = self.threads()
        try:
            while True:
                while error is None and not stopped and len(running) < max(1, threads * TASKS_PER_THREAD):
                    # small tasks first, so that a small job is shared by all; larger ones for a large job
                    batch = list(islice(waiting, max(1, min(most, begun // (4 * max(1, threads))))))
                    if not batch:
                        break
                    begun += len(batch)
                    future = self.client.submit(_do, payload, batch, pure=False)
                    running.add(future)
                    future.add_done_callback(ended.put)
                if not running:
                    break
                finished = self._next(ended, cancelled)
                stopped = stopped or cancelled()
                threads = self.threads()
                if finished is None:
                    if not threads:
                        break
                    continue
                running.discard(finished)
                try:
                    for result in _result(finished):
                        done(result)
                except Exception as met:
                    error = error or met
        finally:  # interrupted, or nobody is left: what has not begun is not to begin later
            if running and self.client.status == "running":
                self.client.cancel(list(running))
        if error is not None:
            raise error
        if stopped:
            raise Stopped

    def _next(self, ended: queue.SimpleQueue[Any], cancelled: Callable[[], bool]) -> Any:
        """The next future that ended; None when somebody cancelled. Raises Unreadable when nobody is left to work."""
        alone = 0.0
        while True:
            try:
                return ended.get(timeout=1.0)
            except queue.Empty:
                if cancelled():
                    return None
                alone = 0.0 if self.threads() else alone + 1.0
                if alone >= NOBODY_SECONDS:
                    raise Unreadable(
                        f"The cluster has had no worker for {NOBODY_SECONDS:g} seconds",
                        advice="Start workers, and run the same again: it goes on where it was.",
                    ) from None


def _nobody(scheduler: str, error: BaseException) -> Unreadable:
    return Unreadable(
        f"No Dask scheduler answers at {scheduler}: {error}",
        advice="Check the address, such as tcp://host:8786, and that the cluster is running.",
    )


def _need_answer(scheduler: str, timeout: float) -> None:
    """Raises Unreadable where nobody listens: a Client that cannot connect would leave its thread behind."""
    import socket

    from distributed.comm.addressing import get_address_host_port

    try:
        host, port = get_address_host_port(scheduler)
        socket.create_connection((host, port), timeout).close()
    except (OSError, ValueError, TypeError) as error:
        raise _nobody(scheduler, error) from error


def crew_of(scheduler: Any) -> Crew:
    """None: the threads of this process."""
    return Threads() if scheduler is None else Cluster(scheduler)


def _result(future: Any) -> list[Any]:
    """What a task gave. Raises what it raised; what became of the cluster as Unreadable."""
    try:
        if future.status == "finished":
            results: list[Any] = future.result()
            return results
        met = future.exception()
    except Exception as error:  # the connection to the scheduler is gone
        met = error
    if isinstance(met, ZarrscopeError):
        raise met
    raise Unreadable(
        f"The cluster did not finish a task: {type(met).__name__}: {met}",
        advice="Run the same again: it goes on where it was.",
    ) from met


# ---------------------------------------------------------------------------------------------- on the workers
def _seen(url: str, key: str) -> bytes | None:
    from zarrscope.stores.address import open_store

    return open_store(url, "r").get(key)


@lru_cache(maxsize=16)
def _loaded(payload: bytes) -> Callable[[Any], Any]:
    """The work, opened once per process."""
    found: Callable[[Any], Any] = pickle.loads(payload)
    return found


def _do(payload: bytes, batch: list[Any]) -> list[Any]:
    """One task."""
    keep_to_worker()
    call = _loaded(payload)
    return [call(piece) for piece in batch]
