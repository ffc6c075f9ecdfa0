"""The result of a job in the background, and the handle on it (threads.py)."""

from __future__ import annotations

from typing import Generic, TypeVar

from zarrscope.runtime.named_tuple import NamedTuple
from zarrscope.runtime.waits import PendingRequest

T = TypeVar("T")


class JobResult(NamedTuple, Generic[T]):
    """The result of a job: its value, or the error that it raised."""

    value: T | None = None
    error: BaseException | None = None

    def get(self) -> T:
        """Returns the value, or raises the error."""
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # a job without an error has a T, which may be None


class Ticket:
    """A handle on a future result. Call `cancel` on the owner's thread; all callbacks run there."""

    def __init__(self) -> None:
        self._cancelled = False
        self._finished = False

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called; then no callback is made any more."""
        return self._cancelled

    @property
    def finished(self) -> bool:
        """Whether the last callback was made."""
        return self._finished

    def cancel(self) -> None:
        """Cancels the job: no callback is made after this. A queued job is dropped; a running one sees `cancelled()`
        become true."""
        self._cancelled = True

    def is_cancelled(self) -> bool:
        """The same as `cancelled`. As a method, it can be passed to functions that have a `cancelled` parameter."""
        return self._cancelled

    @property
    def waiting(self) -> PendingRequest | None:
        """The request that a person waits for because of this ticket; None if no answer is outstanding."""
        return None

    def stop(self, error: BaseException) -> bool:
        """Ends the work like a failure: the callback gets `error`, at once. Returns False if that is not possible,
        because the work may also change data, or no answer is outstanding."""
        return False
