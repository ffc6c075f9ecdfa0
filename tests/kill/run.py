"""Kills writers at random moments, thousands of times; after each kill, nothing may be lost or half-written.

    python tests/kill/run.py --rounds 3000 [--dialects v3,v2] [--writers 3] [--seed 7] [--consolidated] [--zarr2 PYTHON]

In a round, writers forked from one process share one hierarchy and do all there is to do (writers.py) until, after some
random microseconds, all of them are killed with SIGKILL, or one of them while the others go on and end by themselves.
Then, in a process of its own: every target holds a value that was written whole and that nothing done later replaced,
by zarrscope and by the bytes of the files (reading.py); `check` finds no error. With --zarr2 the hierarchy, of the
draft of 2020, is made by zarr-python 2.18 and opened by it after every kill. Exit status 1 at the first that fails.
Ctrl-C ends it after the round under way.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import zarrscope
from kill.reading import Torn, differing, stored, values
from kill.writers import CONSOLIDATED, WRITTEN, Writer, make, targets
from zarrscope.check.hierarchy import check
from zarrscope.runtime import threads as background
from zarrscope.stores.local import temporaries as unfinished

LIFE = 150
"""The number of rounds that use one hierarchy."""
STALE_COPY = {"copy-stale", "copy-without-node", "copy-lacks-node"}
"""The state after a kill between writing a document and its consolidated copy: `check` reports it, and the next edit
mends it."""


stop: list[bool] = []
"""Not empty after Ctrl-C: the current round is the last."""


class Failed(Exception):
    """A value was lost or half-written."""


@dataclass
class Act:
    """An operation of a writer: it began at line `begun` of the log, and ended at `ended` if it was completed."""

    value: object
    begun: int
    ended: float = float("inf")
    outcome: str = ""


def acceptable(before: object, acts: list[Act]) -> list[object]:
    """The values that a target may have: `before`, or that of an operation unless one that began later was
    completed."""
    done = [act for act in acts if act.outcome == "done"]
    effective = [Act(before, -1, -1.0, "done"), *(act for act in acts if act.outcome in ("", "done"))]
    return [act.value for act in effective if not any(other.begun > act.ended for other in done)]


def acts_of(log: bytes) -> dict[str, list[Act]]:
    """The operations on each target. Raises Failed for an operation that failed in a way that is not allowed."""
    by_number: dict[str, Act] = {}
    found: dict[str, list[Act]] = {}
    for line, text in enumerate(log.decode().splitlines()):
        kind, number, rest = text.split(" ", 2)
        if kind == "B":
            target, _, value = rest.partition("|")
            act = by_number[number] = Act(_plain(value), line)
            found.setdefault(target, []).append(act)
        else:
            if rest.startswith("failed"):
                raise Failed(f"{rest} ({number})")
            by_number[number].ended, by_number[number].outcome = line, rest
    return found


def _plain(value: str) -> object:
    return None if value == "None" else int(value) if value.isdigit() else value


def inspected(path: Path, dialect: str) -> dict[str, Any]:
    """The state of the store after a kill, as JSON. Runs in a process of its own."""
    background._shared = background.Background(1, 1)
    try:
        read = values(path, dialect)
        told = differing(read, stored(path, dialect))
        findings = list(check(zarrscope.open(path, "r")))
    except Torn as torn:
        return {"failed": str(torn)}
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    errors = [str(each) for each in findings if each.severity == "error" and each.code not in STALE_COPY]
    counted = Counter(each.code for each in findings if each.severity != "information")
    return {"values": read, "failed": "; ".join([*told, *errors]), "findings": counted}


def consolidated(path: Path) -> list[str]:
    """Writes the consolidated metadata again, and returns the errors that a check then finds."""
    background._shared = background.Background(1, 1)
    zarrscope.open(path, "r+").consolidate()
    return [str(each) for each in check(zarrscope.open(path)) if each.severity == "error"]


@dataclass
class Trial:
    """Makes hierarchies of one dialect and uses each for a number of rounds."""

    dialect: str
    writers: int
    random: random.Random
    folder: Path
    consolidated: bool = False
    zarr2: Zarr2 | None = None
    rounds: int = 0
    acts: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    interrupted: int = 0
    _first: int = 1

    def begin(self) -> None:
        self.path = self.folder / f"{self.dialect}-{self.rounds}.zarr"
        self.known = targets(self.dialect)
        if self.zarr2 is not None:
            self.zarr2.make(self.path)
        else:
            in_child(lambda: make(self.path, self.dialect, consolidated=self.consolidated))

    def end(self) -> None:
        """Checks the hierarchy, after its consolidated metadata were written again, and drops it."""
        if self.consolidated and self.dialect in CONSOLIDATED:
            told = in_child(lambda: consolidated(self.path))
            if told:
                raise Failed(f"{self.dialect}, after {self.rounds} rounds: {told}")
        shutil.rmtree(self.path, ignore_errors=True)

    def round(self) -> None:
        if self.rounds % LIFE == 0:
            if self.rounds:
                self.end()
            self.begin()
        log = self.folder / "log"
        log.write_bytes(b"")
        flag = mmap.mmap(-1, 1 + self.writers)
        children = []
        append = os.open(log, os.O_WRONLY | os.O_APPEND)
        for number in range(self.writers):
            writer = Writer(
                self.path, self.dialect, append, number, self._first + number * 100_000, self.random.getrandbits(32)
            )

            def over(number: int = number) -> bool:
                flag[1 + number] = 1  # it has opened the hierarchy
                return flag[0] != 0

            children.append(fork(lambda writer=writer, over=over: writer.run(over)))
        self._first += 1_000_000
        all_of_them = self.random.random() < 0.7
        while not all(flag[1:]):
            time.sleep(0.0005)
        time.sleep(self.random.uniform(0.0, 0.04))
        for child in children if all_of_them else children[:1]:
            os.kill(child, signal.SIGKILL)
        if not all_of_them:
            time.sleep(self.random.uniform(0.0, 0.01))
            flag[0] = 1
        for i, child in enumerate(children):
            _, status = os.waitpid(child, 0)
            if status and not (os.WIFSIGNALED(status) and (all_of_them or i == 0)):
                raise Failed(f"writer {i} of {self.dialect} ended with {status}")
        os.close(append)
        self._judge(log.read_bytes())
        self.rounds += 1

    def _judge(self, log: bytes) -> None:
        acts = acts_of(log)
        found = in_child(lambda: inspected(self.path, self.dialect))
        if found["failed"]:
            raise Failed(f"{self.dialect}, round {self.rounds}: {found['failed']}\n{log.decode()}")
        for target, value in found["values"].items():
            allowed = acceptable(self.known[target], acts.get(target, []))
            if value not in allowed:
                raise Failed(
                    f"{self.dialect}, round {self.rounds}: {target} is {value!r}, which is none of {allowed}\n"
                    + log.decode()
                )
        if self.zarr2 is not None:
            self.zarr2.agree(self.path, found["values"])
        self.known = found["values"]
        for target, each in acts.items():
            self.acts[target.split()[0]] += sum(act.outcome == "done" for act in each)
            self.interrupted += sum(not act.outcome for act in each)
        self.findings.update(found["findings"])


class Zarr2:
    """A process of zarr-python 2.18 that opens the hierarchy and returns what it reads."""

    def __init__(self, python: str) -> None:
        self.process = subprocess.Popen(
            [python, "-W", "ignore", str(Path(__file__).with_name("zarr2.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "ZARR_V3_EXPERIMENTAL_API": "1"},
        )

    def ask(self, **question: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        return json.loads(answer) if answer else {"failed": "the process of zarr 2.18 ended"}

    def make(self, path: Path) -> None:
        made = self.ask(act="make", path=str(path))
        if "failed" in made:
            raise Failed(f"zarr 2.18: {made['failed']}")

    def agree(self, path: Path, values: dict[str, object]) -> None:
        """Raises Failed if zarr-python 2.18 does not open the hierarchy, or reads other values."""
        seen = self.ask(act="read", path=str(path))
        if "failed" in seen:
            raise Failed(f"zarr 2.18: {seen['failed']}")
        for target, value in seen.items():
            if values[target] != value:
                raise Failed(f"zarr 2.18 reads {value!r} at {target}, zarrscope {values[target]!r}")

    def close(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait(20)


def warm(folder: Path) -> None:
    """Imports the modules that the children need, so that they start together; starts no thread, which forking would
    lose."""
    background._shared = background.Background(1, 1)
    for dialect in ("v3", "v2", "n5"):
        make(folder / dialect, dialect, consolidated=False)
        told = inspected(folder / dialect, dialect)
        if told["failed"]:
            raise Failed(told["failed"])
    background._shared = None


def fork(work: Any) -> int:
    """Runs `work` in a child process that never returns; returns its process id."""
    child = os.fork()
    if child:
        return child
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    unfinished._draw()  # new random names for the child; a simulated system without fork does not draw them itself
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)


def in_child(work: Any) -> Any:
    """The result of `work`, run in a child so that none of its threads stays in the forking process."""
    reading, writing = os.pipe()

    def tell() -> None:
        answer = json.dumps(work(), default=str).encode()
        with os.fdopen(writing, "wb") as out:
            out.write(answer)

    child = fork(tell)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        text = answer.read()
    _, status = os.waitpid(child, 0)
    if status:
        raise Failed(f"the inspecting process ended with {status}")
    return json.loads(text)


def run(
    rounds: int,
    dialects: list[str],
    writers: int = 3,
    seed: int = 0,
    consolidated: bool = False,
    zarr2: str | None = None,
    say: Any = None,
) -> dict[str, Any]:
    """Runs this number of rounds, the dialects in turn. Raises Failed."""
    began = time.monotonic()
    judge = Zarr2(zarr2) if zarr2 else None
    with tempfile.TemporaryDirectory(prefix="zarrscope-kill-") as folder:
        warm(Path(folder) / "warm")
        trials = [
            Trial(dialect, writers, random.Random(f"{seed} {dialect}"), Path(folder), consolidated, judge)
            for dialect in dialects
        ]
        done = 0
        while done < rounds and not stop:
            trials[done % len(trials)].round()
            done += 1
            if say is not None and done % 200 == 0:
                say(f"{done} rounds, {time.monotonic() - began:.0f} s")
        for trial in trials:
            if trial.rounds:
                trial.end()
        if judge is not None:
            judge.close()
    return {
        "rounds": done,
        "seconds": round(time.monotonic() - began, 1),
        "done": sum((trial.acts for trial in trials), Counter()),
        "interrupted": sum(trial.interrupted for trial in trials),
        "findings": sum((trial.findings for trial in trials), Counter()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--dialects", default=",".join(WRITTEN))
    parser.add_argument("--writers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--consolidated", action="store_true")
    parser.add_argument("--zarr2", help="a Python with zarr-python 2.18: tries the draft of 2020 with it")
    options = parser.parse_args()
    dialects = ["draft-2020"] if options.zarr2 else options.dialects.split(",")
    try:
        told = run(options.rounds, dialects, options.writers, options.seed, options.consolidated, options.zarr2, print)
    except Failed as failed:
        print(failed, file=sys.stderr)
        return 1
    print(json.dumps(told, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
