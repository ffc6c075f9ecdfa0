"""Executors run the pieces of a job: on threads of this process, or on the workers of a Dask cluster."""

from __future__ import annotations

from typing import Any

from zarrscope.executors.executor import Cancelled, Executor, ThreadExecutor

__all__ = ["Cancelled", "Executor", "ThreadExecutor", "executor_for"]


def executor_for(scheduler: Any) -> Executor:
    """The executor for a scheduler: None gives this process, an address the Dask cluster there
    (cluster.DaskExecutor)."""
    if scheduler is None:
        return ThreadExecutor()
    from zarrscope.executors.cluster import DaskExecutor

    return DaskExecutor(scheduler)
