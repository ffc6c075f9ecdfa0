"""Runs all fuzzers for a long time, by hand: documents, chunk bytes and whole stores.

    python tests/fuzz/run.py --inputs 1000000 --jobs 2 [--only chunks] [--seed 7]

Child processes take pieces of 1,000 inputs each, under a limit of memory; an input that takes longer than 20 seconds,
or a process that dies, is a failure as any other exception is. A failure names its piece: `--only NAME --seed S
--piece P` runs that piece alone. Exit status 1 when there was one.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any, Protocol

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

PIECE = 1000
SECONDS = 20
MEMORY = 4 << 30
SHARES = {"documents": 5, "chunks": 4, "stores": 1}
"""The number of pieces, of ten, that each target gets."""


class Steps(Protocol):
    def step(self) -> None: ...


def fuzzer(name: str, seed: int) -> Steps:
    from fuzz.chunks import ChunkFuzzer
    from fuzz.documents import Fuzzer
    from fuzz.stores import StoreFuzzer

    made: dict[str, Any] = {"documents": Fuzzer, "chunks": ChunkFuzzer, "stores": StoreFuzzer}
    found: Steps = made[name](seed)
    return found


def reseed(name: str, steps: Any, seed: int, piece: int) -> None:
    steps.random.seed(f"{name} {seed} {piece}")
    if name == "stores":
        steps.documents.random.seed(f"{name} documents {seed} {piece}")


class Slow(Exception):
    """Processing an input took too long."""


def _too_slow(*_: Any) -> None:
    raise Slow(f"more than {SECONDS} seconds")


def work(name: str, seed: int, pieces: list[int]) -> None:
    """Runs the pieces, printing one line of JSON for each."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, _too_slow)
    steps: Any = fuzzer(name, seed)
    for piece in pieces:
        reseed(name, steps, seed, piece)
        failures = []
        for i in range(PIECE):
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            try:
                steps.step()
            except Exception:
                failures.append({"input": i, "text": traceback.format_exc(limit=-6)})
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            if len(failures) == 3:
                break
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(json.dumps({"piece": piece, "inputs": i + 1, "failures": failures, "mb": peak}), flush=True)


class Run:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.lock = threading.Lock()
        self.done: Counter[str] = Counter()
        self.failures: list[str] = []
        self.peak = 0

    def pieces(self, name: str, pieces: list[int]) -> None:
        """Runs child processes until all pieces are done; if a process dies, its piece is left out."""
        while pieces:
            command = [
                sys.executable,
                __file__,
                "--only",
                name,
                "--seed",
                str(self.seed),
                "--pieces",
                *map(str, pieces),
            ]
            child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert child.stdout is not None
            for line in child.stdout:
                self._take(name, json.loads(line))
                pieces = pieces[1:]
            child.wait()
            if pieces:
                self._failed(name, pieces[0], f"the process died with status {child.returncode}")
                pieces = pieces[1:]

    def _take(self, name: str, answer: dict[str, Any]) -> None:
        with self.lock:
            self.done[name] += answer["inputs"]
            self.peak = max(self.peak, answer["mb"])
        for failure in answer["failures"]:
            self._failed(name, answer["piece"], f"input {failure['input']}\n{failure['text']}")

    def _failed(self, name: str, piece: int, text: str) -> None:
        with self.lock:
            self.failures.append(text)
            print(f"--only {name} --seed {self.seed} --piece {piece}: {text}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=[*SHARES])
    parser.add_argument("--piece", type=int, help="this piece alone")
    parser.add_argument("--pieces", type=int, nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.pieces:
        work(options.only, options.seed, options.pieces)
        return 0
    start = time.perf_counter()
    run = Run(options.seed)
    names = [options.only] if options.only else [name for name, share in SHARES.items() for _ in range(share)]
    count = -(-options.inputs // PIECE)
    plan = [(names[i % len(names)], i) for i in range(count)] if options.piece is None else [(names[0], options.piece)]
    queue = [(name, [i for n, i in plan if n == name][k::4]) for name in dict.fromkeys(names) for k in range(4)]
    queue = [(name, some) for name, some in queue if some]

    def take() -> None:
        while True:
            with run.lock:
                if not queue:
                    return
                name, some = queue.pop(0)
            run.pieces(name, some)

    threads = [threading.Thread(target=take) for _ in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = ", ".join(f"{n:,} {name}" for name, n in run.done.items())
    total, spent = sum(run.done.values()), time.perf_counter() - start
    print(f"{total:,} inputs ({counts}) in {spent:.0f} s, peak {run.peak:,} MB, {len(run.failures)} failures")
    return 1 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main())
