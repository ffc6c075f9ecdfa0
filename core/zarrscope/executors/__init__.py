"""Executors run a job that is cut into pieces: on threads of this process, or on the workers of a Dask cluster."""

from __future__ import annotations

from zarrscope.executors.executor import Cancelled, Executor, Scheduler, ThreadExecutor

__all__ = ["Cancelled", "Executor", "Scheduler", "ThreadExecutor", "executor_for"]


def executor_for(scheduler: Scheduler | None) -> Executor:
    """The executor for `scheduler`: the threads of this process for None, a Dask cluster (cluster.DaskExecutor) for the
    address of its scheduler."""
    if scheduler is None:
        return ThreadExecutor()
    from zarrscope.executors.cluster import DaskExecutor

    return DaskExecutor(scheduler)
