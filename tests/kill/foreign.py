"""Races with a program that does not use zarrscope's locks: it stores a document while zarrscope saves the same one.

    python tests/kill/foreign.py --races 2000 [--how rename|place] [--ways exchange|rename] [--seed 7]

Each round reads the document, lets the other program store another one after some random microseconds, by a plain
rename or in place, and saves meanwhile. What the other stored came after our reading, so it must be what is there at
the end, whether we were told of a conflict or were earlier; anything else was lost. Exit status 1 when something was.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter

from narrowing import not_none
from zarrscope.errors import Conflict
from zarrscope.stores.local.store import LocalStore

OTHER = """
import os, sys, time
path, how = sys.argv[1:]
print("ready", flush=True)
for line in sys.stdin:
    delay, text = line.split()
    end = time.perf_counter() + float(delay)
    if how == "rename":
        with open(path + ".other", "w") as file:
            file.write(text)
    while time.perf_counter() < end:
        pass
    if how == "rename":
        os.rename(path + ".other", path)
    elif how == "slow":
        with open(path, "r+") as file:
            time.sleep(0.0005)
            file.write(text)
            file.truncate()
    else:
        with open(path, "w") as file:
            file.write(text)
    print("done", flush=True)
"""


def races(count: int, how: str, seed: int, *, exchanges: bool = True, folder: str | None = None) -> Counter[str]:
    """Runs races and counts their results: "conflict", "earlier" (zarrscope stored first) and "lost". `how`: the way
    the other program writes: "rename", "place", or "slow" (in place, half a millisecond after opening)."""
    chance = random.Random(seed)
    told: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir=folder) as place:
        store = LocalStore(place, sync=False)
        store._exchanges = exchanges
        path = os.path.join(place, "zarr.json")
        store.set("zarr.json", b"first")
        begun = time.perf_counter()
        for i in range(50):
            store.set("zarr.json", b"warm%d" % i, expect=not_none(store.get_versioned("zarr.json"))[1])
        span = 2 * (time.perf_counter() - begun) / 50
        arguments = [sys.executable, "-c", OTHER, path, how]
        with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdin is not None
            assert other.stdout is not None
            other.stdout.readline()
            for i in range(count):
                found = store.get_versioned("zarr.json")
                assert found is not None
                theirs = f"theirs-{i}"
                other.stdin.write(f"{chance.uniform(0, span)} {theirs}\n")
                other.stdin.flush()
                try:
                    store.set("zarr.json", b"ours-%d" % i, expect=found[1])
                    saved = True
                except Conflict:
                    saved = False
                other.stdout.readline()
                with open(path) as file:
                    kept = file.read() == theirs
                told["lost" if not kept else "earlier" if saved else "conflict"] += 1
            other.stdin.close()
        assert [name for name in os.listdir(place) if name != "zarr.json"] == []
    return told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--races", type=int, default=2000)
    parser.add_argument("--how", choices=("rename", "place", "slow"))
    parser.add_argument("--ways", choices=("exchange", "rename"), default="exchange")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--folder")
    given = parser.parse_args()
    lost = 0
    for how in ("rename", "place", "slow") if given.how is None else (given.how,):
        told = races(given.races, how, given.seed, exchanges=given.ways == "exchange", folder=given.folder)
        print(
            f"{how}: {given.races} races, "
            + ", ".join(f"{told[each]} {each}" for each in ("conflict", "earlier", "lost"))
        )
        lost += told["lost"]
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
