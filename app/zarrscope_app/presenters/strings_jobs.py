"""Sentences about running jobs, and the question before they are left."""

from __future__ import annotations

from collections.abc import Iterable

JOBS_RUN = "Stop the running work?"
JOBS_LEAVE = "Leaving stops it and keeps nothing unfinished. A stopped conversion can go on later."
STOP_JOBS = "Stop and leave"


def job_progress(name: str, progress: float | None, text: str) -> str:
    """The name and the progress of a running job: "Copy nuclei 12 % · copying: 1,536 values"."""
    share = "" if progress is None else f" {round(progress * 100)} %"
    return " · ".join(part for part in (f"{name}{share}", text) if part)


def jobs_question(jobs: Iterable[tuple[str, float | None, str]]) -> str:
    """The question before a hierarchy is closed while jobs of it run: one line for each (name, progress, text)."""
    return "\n".join((JOBS_RUN, "", *(f"  {job_progress(*job)}" for job in jobs), "", JOBS_LEAVE))
