"""Runs a job, cut into pieces (executor.py), on the workers of an existing Dask cluster.

Each worker is first asked a question, workers that join later as well. It may take part if its answer shows that it
runs the same zarrscope as this process and finds the same bytes of a document at the same address. A worker that may
not take part is reported with the reason, and the job goes on with the others; if none may take part, the job is
refused. Before `run` returns or raises, it waits for the pieces that have begun, so nothing is written afterwards.

How to start a cluster: https://docs.dask.org/en/stable/deploying.html
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pickle
import queue
import time
from collections.abc import Callable, Iterable
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from zarrscope.errors import Refused, Unreadable, Unsupported, ZarrscopeError
from zarrscope.errors.confidential import scrub
from zarrscope.errors.installing import how_to_install
from zarrscope.errors.visible import visible
from zarrscope.executors.cluster_worker import (
    ANSWER_SECONDS,
    HALT_SECONDS,
    ProbedKey,
    do_batch,
    halt,
    question,
    reason_against,
)
from zarrscope.executors.executor import Cancelled, Scheduler
from zarrscope.model.storage import never
from zarrscope.runtime.answers import AnswerQueue
from zarrscope.runtime.tuning import TASK_BYTES, TASKS_PER_THREAD
from zarrscope.stores.store import Store

if TYPE_CHECKING:
    pass

Piece = TypeVar("Piece")
T = TypeVar("T")

CONNECT_SECONDS = 4.0
"""Connecting to a scheduler fails after this time, and so does waiting for its first bytes."""
FIRST_WORKER_SECONDS = 6.0
"""A job fails if its cluster has no worker after this time, unless `wait_for_workers` states another."""
NOBODY_SECONDS = 60.0
"""A job fails if its cluster has lost all workers for this time."""
ASK_AGAIN_SECONDS = 30.0
"""A worker that did not answer is asked again after this time."""
SILENT_SECONDS = 20.0
"""A worker is reported as silent if its scheduler has received nothing from it for this time."""

_log = logging.getLogger("zarrscope.executors.cluster")


class DaskExecutor:
    """The workers of an existing Dask cluster.

    Parameters
    ----------
    scheduler
        The scheduler's address (``"tcp://host:8786"``), the path of its scheduler file (a ``Path``, or text that ends
        in ``.json``), or a ``distributed.Client``.
    wait_for_workers
        Seconds to wait for a first worker.

    Raises
    ------
    Unsupported
        Dask is not installed here.
    Unreadable
        No scheduler answers there, or the scheduler file cannot be read.
    """

    may_repeat = True

    def __init__(self, scheduler: Scheduler, wait_for_workers: float = FIRST_WORKER_SECONDS) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise Unsupported(
                "Dask is not installed here",
                feature="distributed",
                advice=how_to_install("dask") + ".",
            ) from None
        self._wait = wait_for_workers
        self._place: ProbedKey | None = None
        self._fit: set[str] = set()
        self._unfit: dict[str, str] = {}
        """Worker → the reason why it may not take part."""
        self._heard: dict[str, tuple[float, float]] = {}
        """Worker → (when the scheduler last received something from it, by the scheduler's clock; when this process
        first saw that time, by its own clock)."""
        self._told: set[str] = set()
        """Workers that were reported as silent."""
        self._asked: dict[str, float] = {}
        """Worker that did not answer → when it was asked."""
        self.client: Any  # distributed's Client, whose methods have no types
        self._own = isinstance(scheduler, str | os.PathLike)
        if not isinstance(scheduler, str | os.PathLike):
            self.client = scheduler
            return
        address = _address(scheduler)
        _need_answer(address)
        try:
            client: Any = Client
            self.client = client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise _nobody(address, error) from error

    def close(self) -> None:
        """Closes the client if the executor made it. The cluster and its workers stay."""
        if self._own:
            self.client.close(timeout=10)

    # ------------------------------------------------------------------ workers
    def _workers(self) -> dict[str, int]:
        """Worker → the number of its threads. Raises Unreadable."""
        try:
            if self.client.status == "running":
                return dict(self.client.nthreads())
        except OSError:
            pass
        raise Unreadable(
            "The connection to the scheduler of the cluster is lost",
            advice="Run the same command again to continue.",
        )

    def threads(self) -> int:
        """The number of pieces that the accepted workers can run at once. Asks new workers. Raises Unreadable."""
        there = self._workers()
        now = time.monotonic()
        new = [
            worker
            for worker in there
            if worker not in self._fit
            and worker not in self._unfit
            and now - self._asked.get(worker, -ASK_AGAIN_SECONDS) >= ASK_AGAIN_SECONDS
        ]
        if new:
            self._ask(new)
        self._fit &= {*there}
        return sum(there[worker] for worker in self._fit)

    def _ask(self, workers: list[str]) -> None:
        """Asks each worker, accepts those with the right answers, and reports why the others may not take part."""
        place = self._place
        asked_for = question(place)

        async def one(worker: str) -> object:
            asked = self.client.run(eval, asked_for, workers=[worker], on_error="return")
            try:
                found: dict[str, Any] = await asyncio.wait_for(asked, ANSWER_SECONDS)
            except TimeoutError:
                return TimeoutError()
            except Exception as error:  # the future ended meanwhile
                return error
            return found.get(worker)

        async def all_of_them() -> list[Any]:
            return await asyncio.gather(*map(one, workers))

        there = None
        for worker, answer in zip(workers, self.client.sync(all_of_them), strict=True):
            if isinstance(answer, OSError) and not isinstance(answer, TimeoutError):
                there = self._workers() if there is None else there
                if worker not in there:
                    continue  # the worker has left, which is not a fault
            reason = reason_against(answer, place)
            if reason is None:
                self._fit.add(worker)
                continue
            told = f"The worker {worker} {visible(scrub(reason))}"
            if not isinstance(answer, TimeoutError):
                self._unfit[worker] = told
                _log.warning("%s. It takes no part.", told)
            else:
                if worker not in self._asked:
                    _log.warning("%s. It takes no part until it does.", told)
                self._asked[worker] = time.monotonic()

    def _need_workers(self) -> None:
        """Raises Unreadable if there are no workers, Refused if none may take part."""
        begun = time.monotonic()
        while not self.threads():
            if time.monotonic() - begun >= self._wait or self._unfit:
                break
            time.sleep(0.1)
        if self._fit:
            return
        if self._unfit:
            reason = next(iter(self._unfit.values()))
            others = len(self._unfit) - 1
            raise Refused(
                reason + (f", and {others} more may not take part either" if others else ""),
                store=self._place.url if self._place is not None else None,
                advice="Every worker must run the same zarrscope, and find the data under the same address.",
            )
        if self._asked:
            raise Unreadable(
                f"No worker of the cluster answered within {ANSWER_SECONDS:g} seconds",
                advice="Look at the cluster's dashboard, or start its workers again.",
            )
        raise Unreadable(
            f"The scheduler answers, but had no worker for {self._wait:g} seconds",
            advice="Start workers (dask worker ADDRESS), then run the same again. A cluster that starts workers on "
            "demand must keep at least one.",
        )

    def check_shared(self, store: Store, key: str, value: bytes) -> None:
        """Restricts the job to workers that find `value` under `key`. Raises Refused if there are none."""
        if store.url.startswith("memory:"):
            raise Refused("A cluster cannot read from the memory of this process", store=store.url)
        self._place = ProbedKey(store.url, key, sha256(value).hexdigest(), store.allow_outside)
        self._fit.clear()
        self._unfit.clear()
        self._asked.clear()
        self._need_workers()

    # ------------------------------------------------------------------ work
    def run(
        self,
        call: Callable[[Piece], T],
        pieces: Iterable[Piece],
        done: Callable[[T], None],
        cancelled: Callable[[], bool] = never,
        piece_bytes: int = TASK_BYTES,
    ) -> None:
        """Calls `call` on the workers and `done` here. `piece_bytes`, the memory of a piece, decides how many go into a
        task. Raises as Executor.run, and Unreadable or Refused if no worker can take part."""
        if not self._fit:
            self._need_workers()
        _Job(self, call, pieces, done, cancelled, piece_bytes).run()

    def tell_of_silent_workers(self) -> None:
        """Reports, once, each worker from which its scheduler has received nothing for a while."""
        try:
            workers = self.client.scheduler_info()["workers"]
        except (OSError, KeyError, TypeError):
            return
        now = time.monotonic()
        for worker in self._fit:
            last = workers.get(worker, {}).get("last_seen", 0.0)
            known = self._heard.get(worker)
            if known is None or known[0] != last:
                self._heard[worker] = last, now
                self._told.discard(worker)
            elif now - known[1] > SILENT_SECONDS and worker not in self._told:
                self._told.add(worker)
                _log.warning(
                    "The worker %s has not been heard of for %d seconds. The job waits for its work; the scheduler "
                    "gives that work to another worker once it considers this one dead.",
                    worker,
                    now - known[1],
                )

    def halt(self, job: str) -> None:
        """Waits until no worker works on the job any more; reports the workers that do not answer."""
        try:
            there = [worker for worker in self._workers() if worker in self._fit]
        except Unreadable:
            return

        async def one(worker: str) -> bool:
            try:
                await asyncio.wait_for(self.client.run(halt, job, workers=[worker], on_error="return"), HALT_SECONDS)
            except TimeoutError:
                return False
            except Exception:  # the worker has ended, so it writes nothing any more
                pass
            return True

        async def all_of_them() -> list[bool]:
            return await asyncio.gather(*map(one, there))

        if not there:
            return
        for worker, ended in zip(there, self.client.sync(all_of_them), strict=True):
            if not ended:
                _log.warning("The worker %s does not answer; it may still write the chunks that it began.", worker)


class _Job:
    """One call of `run`."""

    def __init__(
        self,
        cluster: DaskExecutor,
        call: Callable[[Any], Any],
        pieces: Iterable[Any],
        done: Callable[[Any], None],
        cancelled: Callable[[], bool],
        piece_bytes: int,
    ) -> None:
        self.cluster, self.client = cluster, cluster.client
        self.payload = pickle.dumps(call)
        self.waiting = iter(pieces)
        self.done, self.cancelled = done, cancelled
        self.most = max(1, TASK_BYTES // max(1, piece_bytes))
        self.name = uuid4().hex
        self.begun = 0
        self.ended: AnswerQueue[Any] = AnswerQueue()
        self.running: dict[Any, tuple[list[Any], frozenset[str]]] = {}
        """Future → its pieces, and the workers that may do them."""
        self.threads = 0

    def run(self) -> None:
        """Raises the first error, or Cancelled."""
        error: BaseException | None = None
        stopped = False
        self.threads = self.cluster.threads()
        try:
            while True:
                while error is None and not stopped and len(self.running) < max(1, self.threads * TASKS_PER_THREAD):
                    # tasks begin small, so that all workers share a small job, and grow in a large one
                    size = max(1, min(self.most, self.begun // (4 * max(1, self.threads))))
                    batch = list(islice(self.waiting, size))
                    if not batch:
                        break
                    self.begun += len(batch)
                    self._submit(batch)
                if not self.running:
                    break
                finished = self._next()
                stopped = stopped or self.cancelled()
                if finished is None or finished not in self.running:
                    if stopped or error is not None:
                        break
                    continue
                del self.running[finished]
                try:
                    for result in _result(finished):
                        self.done(result)
                except Exception as met:
                    error = error or met
        finally:  # however the job ended: tasks that have not begun are cancelled, the others are waited for
            if self.running and self.client.status == "running":
                self.client.cancel([*self.running])
                self.cluster.halt(self.name)
        if error is not None:
            raise error
        if stopped:
            raise Cancelled

    def _submit(self, batch: list[Any]) -> None:
        workers = frozenset(self.cluster._fit)
        future = self.client.submit(
            do_batch,
            self.payload,
            self.name,
            batch,
            pure=False,
            workers=sorted(workers) or None,
            allow_other_workers=False,
        )
        self.running[future] = batch, workers
        future.add_done_callback(self.ended.put)

    def _next(self) -> Any:
        """The next future that ended; None if the job was cancelled. Raises Unreadable if no worker is left."""
        alone = 0.0
        while True:
            try:
                return self.ended.get(timeout=1.0)
            except queue.Empty:
                if self.cancelled():
                    return None
            self.threads = self.cluster.threads()
            self.cluster.tell_of_silent_workers()
            self._give_to_others()
            alone = 0.0 if self.threads else alone + 1.0
            if alone >= NOBODY_SECONDS:
                raise Unreadable(
                    f"The cluster has had no worker for {NOBODY_SECONDS:g} seconds",
                    advice="Start workers, and run the same command again to continue.",
                )

    def _give_to_others(self) -> None:
        """Gives a task to other workers if all workers that may run it have left: the scheduler would wait for them."""
        fit = self.cluster._fit
        left = [future for future, (_, workers) in self.running.items() if fit and not workers & fit]
        for future in left:
            batch, _ = self.running.pop(future)
            self.client.cancel([future])
            self._submit(batch)


# ---------------------------------------------------------------------------------------------- the scheduler
def _address(scheduler: str | os.PathLike[str]) -> str:
    """The scheduler's address, read from its scheduler file if a file was given. Raises Unreadable."""
    given = os.fspath(scheduler)
    if isinstance(scheduler, str) and not given.endswith(".json"):
        return given
    try:
        found = json.loads(Path(given).read_bytes())["address"]
    except FileNotFoundError as error:
        raise Unreadable(
            f"There is no scheduler file {given}", advice="dask scheduler --scheduler-file FILE writes one."
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unreadable(
            f"{given} is not a scheduler file: {type(error).__name__}: {error}",
            advice="dask scheduler --scheduler-file FILE writes one.",
        ) from error
    return str(found)


def _nobody(scheduler: str, error: BaseException) -> Unreadable:
    return Unreadable(
        f"No Dask scheduler answers at {scheduler}: {error}",
        advice="Check the address, such as tcp://host:8786, and that the cluster is running.",
    )


def _need_answer(scheduler: str) -> None:
    """Raises Unreadable if nothing listens at the address: a Client that cannot connect would leave its thread
    running."""
    import socket

    from distributed.comm.addressing import get_address_host_port

    try:
        host, port = get_address_host_port(scheduler)
        with socket.create_connection((host, port), CONNECT_SECONDS) as connection:
            if not scheduler.startswith("tls:") and not connection.recv(8):  # a scheduler sends the first bytes
                raise ConnectionError("the program at this address is not a Dask scheduler")
    except TimeoutError as error:
        raise _nobody(scheduler, TimeoutError(f"silence for {CONNECT_SECONDS:g} seconds")) from error
    except (OSError, ValueError, TypeError) as error:
        raise _nobody(scheduler, error) from error


def _result(future: Any) -> list[Any]:
    """The result of a task. Raises its error, or Unreadable if the cluster failed."""
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
        advice="Run the same command again to continue.",
    ) from met
