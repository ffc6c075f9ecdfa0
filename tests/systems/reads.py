"""Reads whole arrays by many threads and compares every element; prints the numbers of errors as JSON.

python tests/systems/run.py --system windows      forces a system around it
python tests/systems/reads.py --reads 1000        on this machine as it is
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import zarrscope
from narrowing import as_array
from zarrscope.chunkio import read as reading
from zarrscope.runtime import threads as background

LAYOUTS: dict[str, dict[str, Any]] = {
    "shards": {"chunks": (4, 8, 8), "shards": (16, 32, 32)},
    "one shard": {"chunks": (4, 8, 8), "shards": (32, 64, 64)},
    "raw shards": {
        "chunks": (4, 8, 8),
        "shards": (32, 64, 64),
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    },
    "chunks": {"chunks": (8, 16, 16)},
}
SHAPE = (32, 64, 64)


def trial(folder: Path, reads: int, threads: int = 4) -> dict[str, int]:
    """Reads everything and parts this number of times, shared among threads and layouts. The arrays are small, but four
    threads of the engine read each, with very frequent thread switches."""
    background._shared = background.Background(4, 4)
    for limit in ("SERIAL_BYTES", "SERIAL_TINY_BYTES", "SERIAL_COPIED_BYTES", "SERIAL_QUICK_BYTES"):
        assert hasattr(reading, limit)
        setattr(reading, limit, 0)
    sys.setswitchinterval(1e-5)
    rng = np.random.default_rng(7)
    h = zarrscope.open(folder / "x.zarr", "w-")
    values = {}
    for i, (name, settings) in enumerate(LAYOUTS.items()):
        values[f"/{i}"] = rng.integers(0, 60_000, SHAPE).astype("u2")
        h.create_array(f"/{i}", shape=SHAPE, dtype="u2", attributes={"layout": name}, **settings)[...] = values[f"/{i}"]
    arrays = {path: zarrscope.open(folder / "x.zarr")[path] for path in values}
    told = {"reads": 0, "wrong": 0, "failed": 0}
    lock = threading.Lock()

    def work(first: int) -> None:
        for turn in range(first, reads, threads):
            path = f"/{turn % len(values)}"
            part = np.s_[turn % 8 : 30, 5:60, turn % 16 :]
            for index in (np.s_[...], part):
                wrong = failed = 0
                try:
                    wrong = int(not np.array_equal(as_array(arrays[path])[index], values[path][index]))
                except zarrscope.ZarrscopeError as error:
                    print(error, file=sys.stderr)
                    failed = 1
                with lock:
                    told["reads"] += index is Ellipsis
                    told["wrong"] += wrong
                    told["failed"] += failed

    workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reads", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="zarrscope-reads-") as folder:
        told = trial(Path(folder), options.reads)
    print(json.dumps(told))
    return 1 if told["wrong"] or told["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
