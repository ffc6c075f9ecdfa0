"""Executors run the pieces of a job: ThreadExecutor in this process, DaskExecutor on a Dask cluster (cluster.py).

A piece is a part of a job that can be done apart from the others, such as the conversion of one region. Workers take
pieces from one iterator when they are free. `done` is called for each result, by one thread at a time. The first error
stops the job and is raised by `run`. Once `cancelled()` is true, no piece starts any more. `run` waits for the pieces
that have started, so nothing is written after it has returned. If a worker of a cluster dies, another one runs its
piece again, so pieces must be idempotent.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from zarrscope.model.storage import never
from zarrscope.runtime.threads import shared
from zarrscope.runtime.tuning import TASK_BYTES
from zarrscope.stores.store import Store

if TYPE_CHECKING:
    from distributed import Client

Piece = TypeVar("Piece")
T = TypeVar("T")

Scheduler: TypeAlias = "str | os.PathLike[str] | Client"
"""The scheduler of a Dask cluster: its address, its scheduler file, or a Client that is connected to it."""
JOURNAL = ".zarrscope-convert.json"
"""The key of the journal of a conversion or a rebuild; it is erased at the end."""


class Cancelled(Exception):
    """The caller cancelled the job."""


class Executor(Protocol):
    """Runs pieces of work, with the guarantees in the module's docstring."""

    may_repeat: bool
    """Whether a piece may run twice in one job, because the worker that began it died."""

    def run(
        self,
        call: Callable[[Piece], T],
        pieces: Iterable[Piece],
        done: Callable[[T], None],
        cancelled: Callable[[], bool] = never,
        piece_bytes: int = TASK_BYTES,
    ) -> None:
        """Calls `done(call(piece))` for every piece. Raises the first error, or Cancelled."""

    def check_shared(self, store: Store, key: str, value: bytes) -> None:
        """Raises Refused if no worker finds `value` at `key`: the workers then have other files than this process."""

    def close(self) -> None:
        """Releases connections that the executor opened itself; it runs no further job."""


class ThreadExecutor:
    """Runs pieces on the threads of this process."""

    may_repeat = False

    def run(
        self,
        call: Callable[[Piece], T],
        pieces: Iterable[Piece],
        done: Callable[[T], None],
        cancelled: Callable[[], bool] = never,
        piece_bytes: int = TASK_BYTES,
    ) -> None:
        """As Executor.run. `piece_bytes` is ignored: each thread takes one piece at a time."""
        guard = threading.Lock()

        def one(piece: Piece) -> None:
            result = call(piece)
            with guard:
                done(result)

        shared().share(_until(cancelled, pieces), one)

    def check_shared(self, store: Store, key: str, value: bytes) -> None:
        """Does nothing: the threads of this process have the same files."""

    def close(self) -> None:
        """Does nothing: the threads belong to the process."""


def _until(cancelled: Callable[[], bool], pieces: Iterable[Piece]) -> Iterator[Piece]:
    for piece in pieces:
        if cancelled():
            raise Cancelled
        yield piece
