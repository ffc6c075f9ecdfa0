"""How statistics and pyramids scale with the workers of a Dask cluster on this machine.

    python tests/bench/cluster.py [--size full]

One array of noise and gradients, chunks 64^3 in shards of 128^3, zstd, warm. Workers are processes of one thread each.
Rows: what, seconds with one worker, with two, ratio. `statistics` is min, max, mean and a histogram of the whole array
with dask.array; `pyramid` builds and compares three levels with `convert.run(…, scheduler=…)`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import zarrscope
from zarrscope import convert

SIZES = {"smoke": (64, 128, 128), "small": (64, 256, 256), "full": (256, 768, 768)}


def measure(size: str = "small", rounds: int = 1) -> dict[str, dict[int, float]]:
    """Returns, for each job and number of workers, the median of `rounds` times in seconds. Raises AssertionError for a
    wrong value."""
    folder = Path(tempfile.mkdtemp(prefix="zarrscope-cluster-"))
    try:
        return _measured(folder, SIZES[size], rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measured(folder: Path, shape: tuple[int, ...], rounds: int) -> dict[str, dict[int, float]]:
    made = zarrscope.open(folder / "volume", "w-")
    values = np.random.default_rng(0).integers(0, 64, shape, "u2")
    values += np.arange(shape[0], dtype="u2")[:, None, None] * 7
    array = made.create_array(
        "/a", shape=shape, dtype="u2", chunks=(64,) * 3, shards=(128,) * 3, dimension_names=["z", "y", "x"]
    )
    array[...] = values
    wanted = (int(values.min()), int(values.max()), float(values.mean()), np.histogram(values, 64, (0, 4096))[0])
    seconds: dict[str, dict[int, list[float]]] = {"statistics": {}, "pyramid": {}}
    for turn in range(rounds):
        for workers in (1, 2):
            with cluster(workers, folder) as client:
                address = client.scheduler.address

                def statistics(client: Any = client) -> None:
                    _check(_statistics(client, zarrscope.open(folder / "volume")["/a"]), wanted)  # type: ignore[arg-type]  # an array, not a group

                def pyramid(address: str = address, place: str = str(folder / f"levels-{turn}-{workers}")) -> None:
                    source = zarrscope.open(folder / "volume")
                    plan = convert.plan(source, place, "v3", path="/a", pyramid=convert.Pyramid(levels=4))
                    assert convert.run(plan, scheduler=address).verified

                statistics()  # the workers' imports
                for what, work in (("statistics", statistics), ("pyramid", pyramid)):
                    seconds[what].setdefault(workers, []).append(_timed(work))
    return {what: {workers: median(times) for workers, times in per.items()} for what, per in seconds.items()}


@contextmanager
def cluster(workers: int, folder: Path) -> Iterator[Any]:
    """A Client of a cluster of `workers` processes."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0",
            local_directory=str(folder / "workers"),
        ) as made,
        Client(made, set_as_default=False) as client,
    ):  # fmt: skip
        yield client


def _statistics(client: Any, array: zarrscope.Array) -> tuple[int, int, float, Any]:
    import dask.array

    lazy = dask.array.from_array(array, chunks=array.shards or array.chunks, name=False)
    parts = [lazy.min(), lazy.max(), lazy.mean(), dask.array.histogram(lazy, 64, (0, 4096))[0]]
    low, high, mean, histogram = client.gather(client.compute(parts, optimize_graph=True))
    return int(low), int(high), float(mean), histogram


def _check(found: tuple[Any, ...], wanted: tuple[Any, ...]) -> None:
    assert found[:2] == wanted[:2], (found[:2], wanted[:2])
    assert abs(found[2] - wanted[2]) < 1e-6 * abs(wanted[2])
    assert np.array_equal(found[3], wanted[3])


def _timed(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    size = "full" if "full" in sys.argv[1:] else "small"
    for what, per in measure(size, rounds=3 if size == "full" else 1).items():
        print(f"{what:<12} 1 worker {per[1]:7.2f} s   2 workers {per[2]:7.2f} s   ratio {per[2] / per[1]:.2f}")
