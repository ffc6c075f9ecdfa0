"""Every long job: its name, how far it is, how to stop it, how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from psygnal import Signal


class JobState(Enum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Job:
    """`progress` 0 … 1, None while unknown. `text` for the bar: "12 of 40 · 4 s left". `sentence` the result."""

    id: int
    name: str
    state: JobState
    progress: float | None = None
    text: str = ""
    sentence: str = ""
    details: str = ""


class JobsPresenter:
    """Jobs in the order they began. `changed()` at most once a loop turn."""

    changed = Signal()

    @property
    def items(self) -> tuple[Job, ...]:
        raise NotImplementedError

    @property
    def running(self) -> int:
        raise NotImplementedError

    def cancel(self, id: int) -> None:
        """Asks a running job to stop; it ends CANCELLED."""
        raise NotImplementedError

    def dismiss(self, id: int) -> None:
        """Forgets a job that has ended."""
        raise NotImplementedError
