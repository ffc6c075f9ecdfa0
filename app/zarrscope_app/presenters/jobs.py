"""Long jobs: the name, the progress and the result of each job, and how to cancel a job."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import Enum
from typing import Any

from zarrscope.errors import Refused
from zarrscope.model.frozen import frozen
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.coalesce import CoalescedCall
from zarrscope_app.presenters.signals import signal


class JobState(Enum):
    """Whether a job is running, done, failed or cancelled."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@frozen
class Job:
    """A long job as hosts show it.

    `progress`: from 0 to 1, None while unknown. `text`: shown beside the progress bar: "12 of 40 · 4 s left".
    `sentence`: the result in words, once the job has ended.
    """

    id: int
    name: str
    state: JobState
    progress: float | None = None
    text: str = ""
    sentence: str = ""
    details: str = ""


Report = Callable[[float | None, str], None]
"""A function report(progress from 0 to 1 or None, description of the current step), which may be called on the job's
thread."""


def if_complete(done: Callable[[JobResult[Any]], str]) -> Callable[[JobResult[Any]], str]:
    """A `late` function of `JobsPresenter.run`: it says nothing about work that was stopped or failed, and calls `done`
    for work that was complete before it could be stopped."""
    return lambda outcome: "" if outcome.error is not None else f"{strings.TOO_LATE} {done(outcome)}"


class JobsPresenter:
    """Jobs in the order of their start. `changed()` is emitted at most once per pass of the event loop."""

    changed = signal()

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._jobs: dict[int, Job] = {}
        self._stops: dict[int, Ticket] = {}
        """For each running job the ticket that asks its work to stop."""
        self._at_work: set[int] = set()
        """The jobs whose work has begun and not ended; changed on their threads."""
        self._notify = CoalescedCall(owner.post, self.changed.emit)
        self._next = 1

    @property
    def items(self) -> tuple[Job, ...]:
        """All jobs of the session, the finished ones included until they are dismissed."""
        return tuple(self._jobs.values())

    @property
    def running(self) -> tuple[Job, ...]:
        """The jobs that have not ended."""
        return tuple(job for job in self._jobs.values() if job.state is JobState.RUNNING)

    def run(
        self,
        name: str,
        work: Callable[[Report, Callable[[], bool]], Any],
        done: Callable[[JobResult[Any]], str] | None = None,
        late: Callable[[JobResult[Any]], str] | None = None,
        left: Callable[[JobResult[Any]], str] | None = None,
    ) -> int:
        """Runs work(report, cancelled) in the background. `done` gets the result and returns a sentence about it;
        without `done`, or if it returns "", a standard sentence is used.

        `late` gets the result of a job that was cancelled; the result holds a Refused error if the work had not begun.
        If it returns a sentence, the work was complete before it could be stopped: the job is then DONE with that
        sentence.

        `left` gets the same result if `late` has returned no sentence: it returns one about the data that the cancelled
        job leaves behind, shown as soon as the work has stopped.
        """
        id = self._next
        self._next += 1
        began = time.monotonic()
        self._put(Job(id, strings.clean(name), JobState.RUNNING))

        def report(progress: float | None, text: str) -> None:
            left = ""
            if progress and (spent := time.monotonic() - began) > 1:
                left = strings.time_left(spent * (1 - progress) / progress)
            said = " · ".join(part for part in (strings.clean(text), left) if part)
            self._owner.post(lambda: self._progress(id, progress, said))

        def ended(outcome: JobResult[Any]) -> None:
            if self._stops.pop(id, None) is None:  # it was cancelled
                sentence = late(outcome) if late is not None else ""
                remains = left(outcome) if left is not None and not sentence else ""
                if sentence and id in self._jobs:
                    self._put(replace(self._jobs[id], state=JobState.DONE, progress=1.0, text="", sentence=sentence))
                elif remains and id in self._jobs:
                    self._put(replace(self._jobs[id], sentence=f"{strings.STOPPED} {remains}"))
                return
            sentence = done(outcome) if done is not None else ""
            job = self._jobs.get(id)
            if job is None:
                return
            if outcome.error is not None:
                problem = strings.problem(outcome.error)
                self._put(
                    replace(job, state=JobState.FAILED, sentence=sentence or problem.headline, details=problem.details)
                )
            else:
                self._put(replace(job, state=JobState.DONE, progress=1.0, text="", sentence=sentence or strings.DONE))

        stopped = Ticket()

        def run(cancelled: Callable[[], bool]) -> object:
            if stopped.cancelled:
                raise Refused(strings.STOPPED)
            self._at_work.add(id)
            try:
                return work(report, lambda: stopped.cancelled or cancelled())
            finally:
                self._at_work.discard(id)

        # Cancelling a job sets `stopped` but leaves the ticket of `fetch` alone: the work may be complete before it can
        # stop, and `ended` then needs its result.
        self._stops[id] = stopped
        self._owner.fetch(run, ended)
        return id

    def cancel(self, id: int) -> None:
        """Asks a running job to stop; it ends CANCELLED, or DONE if its work was complete by then."""
        stop = self._stops.pop(id, None)
        if stop is not None:
            stop.cancel()
            self._put(replace(self._jobs[id], state=JobState.CANCELLED, sentence=strings.STOPPED))

    def cancel_all(self) -> None:
        """Asks all running jobs to stop."""
        for id in [*self._stops]:
            self.cancel(id)

    def stop_all(self, seconds: float) -> None:
        """Asks all jobs to stop, and waits at most `seconds` until their work has removed what is unfinished; for the
        end of the process. Any thread may call this."""
        end = time.monotonic() + seconds
        for stop in [*self._stops.values()]:
            stop.cancel()
        while self._at_work and time.monotonic() < end:
            time.sleep(0.01)

    def dismiss(self, id: int) -> None:
        """Removes a job that has ended."""
        if id not in self._stops and self._jobs.pop(id, None) is not None:
            self._notify.soon()

    def _progress(self, id: int, progress: float | None, text: str) -> None:
        job = self._jobs.get(id)
        if job is not None and job.state is JobState.RUNNING:
            self._put(replace(job, progress=None if progress is None else max(0.0, min(1.0, progress)), text=text))

    def _put(self, job: Job) -> None:
        self._jobs[job.id] = job
        self._notify.soon()


def stop_all(jobs: Iterable[JobsPresenter], seconds: float) -> None:
    """Stops all jobs of several presenters, and waits at most `seconds` in all until they have removed what is
    unfinished. Any thread may call this."""
    jobs, end = tuple(jobs), time.monotonic() + seconds
    for each in jobs:
        each.stop_all(0)
    for each in jobs:
        each.stop_all(max(0.0, end - time.monotonic()))
