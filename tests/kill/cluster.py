"""Kills Dask workers at random while they write one array; run by hand.

    python tests/kill/cluster.py --rounds 100 [--workers 2] [--seed 7]

In a round every block of an array is written, the blocks aligned with nothing, so that workers share chunks and shards;
after some random time a worker is killed with SIGKILL, and Dask gives its blocks to others. Then all elements are the
ones of this round, and `check` finds nothing. Exit status 1 at the first round of which that is not true.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask
import distributed
import numpy as np

import zarrscope
from narrowing import as_array
from zarrscope.check.hierarchy import check

ROWS, COLUMNS = 480, 256
PATIENCE = 40.0
"""Seconds to wait for Dask: a worker killed while it starts is not always started again."""
ARRAYS = {
    "/shards": {"shards": (48, 64), "chunks": (4, 16)},
    "/chunks": {"chunks": (16, 64)},
}


def fill(url: str, path: str, start: int, stop: int, value: int) -> int:
    array = as_array(zarrscope.open(url, "r+")[path])
    array[start:stop] = value
    return os.getpid()


def one_round(client: distributed.Client, url: str, value: int, chance: random.Random) -> None:
    """Raises AssertionError if a stored value differs from the written one."""
    blocks = list(pairwise([*range(0, ROWS, 7), ROWS]))
    written = [client.submit(fill, url, path, *block, value, pure=False) for path in ARRAYS for block in blocks]
    pids = sorted(client.run(os.getpid).values())
    time.sleep(chance.uniform(0.0, 0.3))
    os.kill(chance.choice(pids), signal.SIGKILL)
    distributed.wait(written, timeout=PATIENCE)
    h = zarrscope.open(url)
    for path in ARRAYS:
        found: Any = as_array(h[path])[...]
        assert (found == value).all(), f"{path} holds {np.unique(found)} after {value}"
    left = [each for each in check(h) if each.severity != "information"]
    assert not left, left


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    dask.config.set({"distributed.scheduler.allowed-failures": 1000})
    began = time.monotonic()
    chance = random.Random(asked.seed)
    killed = 0
    with tempfile.TemporaryDirectory(prefix="zarrscope-kill-") as folder:
        url = str(Path(folder) / "x.zarr")
        h = zarrscope.open(url, "w-")
        for path, settings in ARRAYS.items():
            h.create_array(path, shape=(ROWS, COLUMNS), dtype="u4", **settings)  # type: ignore[arg-type]  # each setting has another type
        while killed < asked.rounds:
            with (
                distributed.LocalCluster(
                    n_workers=asked.workers, threads_per_worker=2, dashboard_address=":0", silence_logs=50
                ) as cluster,
                distributed.Client(cluster) as client,
            ):
                try:
                    while killed < asked.rounds:
                        client.wait_for_workers(asked.workers, timeout=PATIENCE)
                        one_round(client, url, killed + 1, chance)
                        killed += 1
                        print(f"{killed} workers killed, {time.monotonic() - began:.0f} s", flush=True)
                except TimeoutError:
                    print("Dask gave a worker up: another cluster", flush=True)
                except AssertionError as failed:
                    print(f"round {killed}: {failed}", file=sys.stderr)
                    return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
