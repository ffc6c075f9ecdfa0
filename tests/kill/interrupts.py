"""Sends Ctrl-C at random microseconds, thousands of times: no handle or lock may leak, and no value may be wrong.

    python tests/kill/interrupts.py --rounds 5000 [--seed 7] [--dialects v3,v2]

In a round the main thread reads, writes, lists, checks, saves or makes nodes, and another thread sends the process
SIGINT after some random microseconds. What comes out of it must be KeyboardInterrupt and nothing else. Beside it
threads open, write, read back and close files of their own: whoever closes a handle twice closes one of theirs. What
was written in part holds, chunk by chunk, the old values or the new, and nothing is written any more once the interrupt
was raised. The last errors are kept, with all their frames, as an interactive Python does. In the end the handles of
/proc/self/fd and the threads are counted, and everything is read, written and compared once more. A round that takes
longer than a minute is a lock that stayed held: exit status 1, and the stacks of all threads.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import itertools
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from zarrscope.runtime.tuning import FETCH_THREADS

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from numpy.typing import NDArray

import zarrscope
from narrowing import as_array, as_group
from zarrscope.check.hierarchy import check
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope.nodes.move import move
from zarrscope.runtime import threads as background
from zarrscope.view import loader as chunks

STUCK_SECONDS = 60
HANDLES = Path("/proc/self/fd")


class Sender(threading.Thread):
    """Sends one SIGINT to the process after each `arm`."""

    def __init__(self) -> None:
        super().__init__(daemon=True, name="sender")
        self._armed, self._main = threading.Semaphore(0), threading.main_thread().ident or 0
        self.delay = 0.0
        self.sent = 0
        self.start()

    def arm(self, delay: float) -> None:
        self.delay = delay
        self._armed.release()

    def run(self) -> None:
        while True:
            self._armed.acquire()
            end = time.perf_counter() + self.delay
            if self.delay > 0.002:
                time.sleep(self.delay - 0.001)
            while time.perf_counter() < end:
                pass
            signal.pthread_kill(self._main, signal.SIGINT)
            self.sent += 1


class Neighbour(threading.Thread):
    """Opens its own files, writes, reads and closes them, until it is stopped."""

    def __init__(self, folder: Path, number: int, faults: Counter[str]) -> None:
        super().__init__(daemon=True, name=f"neighbour-{number}")
        self.folder, self.number, self.faults = folder, number, faults
        self.over = threading.Event()
        self.done = 0
        self.start()

    def run(self) -> None:
        pause = random.Random(self.number)
        for n in itertools.count():
            if self.over.is_set():
                return
            path, said = self.folder / f"own-{self.number}-{n % 8}", f"{self.number} {n} ".encode() * 20
            try:
                handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
                os.write(handle, said)
                time.sleep(pause.random() * 0.002)
                if os.pread(handle, len(said) + 1, 0) != said:
                    self.faults["a neighbour read back something else"] += 1
                os.close(handle)
                self.done += 1
            except OSError as error:
                self.faults[f"a neighbour met {error.strerror}"] += 1


class Written:
    """An array that the main thread writes, and the values that each chunk may have."""

    def __init__(self, array: Any, unit: tuple[int, int]) -> None:
        self.array, self.unit = array, unit
        """`unit`: the part that is replaced as a whole."""
        self.known = np.zeros(array.shape, array.dtype)
        self.wanted = self.known

    def write(self, where: tuple[slice, slice], value: int) -> None:
        self.wanted = self.known.copy()
        self.wanted[where] = value
        self.array[where] = value

    def settle(self) -> str | None:
        """Reads the array after a write that may have been interrupted; returns the faults."""
        found = self.array[...]
        time.sleep(0.001)
        if not np.array_equal(found, self.array[...]):
            return "something was written after the interrupt"
        known, self.known = self.known, found
        for y, x in itertools.product(*(range(0, n, u) for n, u in zip(found.shape, self.unit, strict=True))):
            at = (slice(y, y + self.unit[0]), slice(x, x + self.unit[1]))
            if not any(np.array_equal(found[at], each[at]) for each in (known, self.wanted)):
                return f"the chunk at {y}, {x} is neither old nor new"
        return None


class Place:
    """A hierarchy, and operations on it."""

    def __init__(self, folder: Path, dialect: str, dice: random.Random) -> None:
        self.folder, self.dialect, self.dice = folder, dialect, dice
        self.tree = h = zarrscope.open(folder / f"{dialect}.zarr", "w-", dialect=dialect)
        self.values: NDArray[Any] = np.arange(64 * 96, dtype="u4").reshape(64, 96)
        self.plain = h.create_array("/plain", shape=(64, 96), chunks=(8, 8), dtype="u4")
        self.plain[...] = self.values
        self.whole = Written(h.create_array("/whole", shape=(32, 32), chunks=(8, 8), dtype="u4"), (8, 8))
        self.written = [self.whole]
        self.arrays = [self.plain]
        if dialect == "v3":
            self.arrays.append(h.create_array("/shards", shape=(64, 96), chunks=(4, 4), shards=(32, 32), dtype="u4"))
            self.arrays[-1][...] = self.values
            sharded = h.create_array("/sharded", shape=(32, 32), chunks=(4, 4), shards=(16, 16), dtype="u4")
            self.written.append(Written(sharded, (16, 16)))
        for n in range(12):
            h.create_group(f"/many/g{n}", {"n": n})
        self.value = 0
        self.acts: dict[str, Callable[[], object]] = {
            "pixel": self.pixel, "plane": self.plane, "all": self.all, "load": self.load, "write": self.write,
            "part": self.part, "list": self.list, "walk": self.walk, "check": self.check, "save": self.save,
            "node": self.node, "open": self.open, "copy": self.copy, "keys": self.keys,
        }  # fmt: skip

    def same(self, found: Any, at: Any) -> None:
        if not np.array_equal(found, self.values[at]):
            raise AssertionError("wrong values")

    def at(self, shape: tuple[int, int], most: int) -> tuple[slice, slice]:
        row, column = (self.dice.randrange(n) for n in shape)
        return slice(row, row + self.dice.randint(1, most)), slice(column, column + self.dice.randint(1, most))

    def pixel(self) -> None:
        for _ in range(4):
            at = (self.dice.randrange(64), self.dice.randrange(96))
            self.same(self.dice.choice(self.arrays)[at], at)

    def plane(self) -> None:
        at = self.at((64, 96), 40)
        self.same(self.dice.choice(self.arrays)[at], at)

    def all(self) -> None:
        self.same(self.dice.choice(self.arrays)[...], ...)

    def load(self) -> None:
        array, at = self.dice.choice(self.arrays), self.at((64, 96), 60)
        loader = chunks.shared()
        self.same(loader.read(array, at), at)
        if self.dice.random() < 0.5:
            loader.invalidate(array)

    def write(self) -> None:
        self.value += 1
        self.dice.choice(self.written).write((slice(None), slice(None)), self.value)

    def part(self) -> None:
        self.value += 1
        self.dice.choice(self.written).write(self.at((32, 32), 14), self.value)

    def list(self) -> None:
        names = {child.name for child in as_group(self.tree["/many"]).children()}
        if names != {f"g{n}" for n in range(12)}:
            raise AssertionError(f"wrong names: {names}")

    def walk(self) -> None:
        for _ in self.tree.walk():
            pass

    def keys(self) -> None:
        store = self.tree.store
        for key in store.list():
            store.get(key)

    def check(self) -> None:
        told = [str(each) for each in check(self.tree, "/plain") if each.severity == "error"]
        if told:
            raise AssertionError("; ".join(told))

    def save(self) -> None:
        self.value += 1
        document = self.tree.document("/many/g1")
        self.tree.save("/many/g1", document.set(f"{attributes_pointer(self.tree, '/many/g1')}/n", self.value))

    def node(self) -> None:
        name = f"/made/n{self.dice.randrange(3)}"
        if name in self.tree:
            self.tree.erase(name)
        else:
            self.tree.create_array(name, shape=(8, 8), chunks=(4, 4), dtype="u1")[...] = 1

    def copy(self) -> None:
        names = [f"/moved/m{n}" for n in range(3)]
        there = [name for name in names if name in self.tree]
        if there:
            move(self.tree, there[0], self.dice.choice([name for name in names if name != there[0]]), replace=True)
        else:
            self.tree.create_array(names[0], shape=(16, 16), chunks=(4, 4), dtype="u1")[...] = 1

    def open(self) -> None:
        at = self.at((64, 96), 9)
        self.same(as_array(zarrscope.open(self.folder / f"{self.dialect}.zarr")["/plain"])[at], at)

    def final(self) -> Sequence[str]:
        """Repeats all operations without interrupts."""
        told = [each for written in self.written if (each := written.settle())]
        for name, act in self.acts.items():
            try:
                act()
            except (AssertionError, zarrscope.ZarrscopeError, OSError) as error:
                told.append(f"{self.dialect}: {name}: {error}")
        for array in self.arrays:
            self.same(array[...], ...)
        told += [str(each) for each in check(self.tree) if each.severity == "error"]
        return told


def leftovers(tree: Any) -> bool:
    return any(True for _ in tree.store.files.stale_temporaries())


def handles() -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in HANDLES.iterdir() if HANDLES.is_dir() else ():
        try:
            found[entry.name] = os.readlink(entry)
        except OSError:
            pass
    return found


def run(rounds: int, seed: int = 0, dialects: tuple[str, ...] = ("v3", "v2"), say: Any = None) -> dict[str, Any]:
    dice = random.Random(seed)
    began = time.monotonic()
    faults: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    kept: deque[BaseException] = deque(maxlen=4)
    background._shared = background.Background(decode_threads=4)
    with tempfile.TemporaryDirectory(prefix="zarrscope-interrupts-") as name:
        folder = Path(name)
        places = [Place(folder, dialect, dice) for dialect in dialects]
        usual: dict[str, float] = {}
        for place in places:  # the first run imports modules and starts threads
            for _ in range(3):
                for act, call in place.acts.items():
                    start = time.perf_counter()
                    call()
                    usual[act] = time.perf_counter() - start
                    for written in place.written:
                        written.settle()
        handler = signal.default_int_handler
        signal.signal(signal.SIGINT, handler)  # a shell starts background jobs with SIGINT ignored
        sender = Sender()
        threads_before, handles_before = threading.active_count(), handles()
        neighbours = [Neighbour(folder, n, faults) for n in range(3)]
        unfinished = 0
        for number in range(rounds):
            faulthandler.dump_traceback_later(STUCK_SECONDS, exit=True)
            place = dice.choice(places)
            act = dice.choice(list(place.acts))
            before, inside, hit = sender.sent, True, False
            delay = dice.random() * usual[act] * 1.2
            try:
                sender.arm(delay)  # the signal may arrive before this returns
                try:
                    place.acts[act]()
                    inside = False
                except (AssertionError, zarrscope.ZarrscopeError, OSError, RuntimeError, ValueError) as error:
                    faults[f"{act}: {type(error).__name__}: {error}"[:200]] += 1
                    kept.append(error)
                patience = time.monotonic() + 5
                while time.monotonic() < patience:
                    time.sleep(0.0005)
            except KeyboardInterrupt as error:
                hit = True
                kept.append(error)
            if not hit:
                faults[f"{act}: the interrupt was lost"] += 1
            if sender.sent != before + 1 and not hit:
                faults["the signal was not sent"] += 1
            hits[act] += hit and inside
            if signal.getsignal(signal.SIGINT) is not handler:
                faults["another handler of SIGINT was left behind"] += 1
                signal.signal(signal.SIGINT, handler)
            if act in ("write", "part"):
                for written in place.written:
                    if told := written.settle():
                        faults[told] += 1
            unfinished += act == "node" and leftovers(place.tree)
            if say is not None and (number + 1) % 500 == 0:
                say(f"{number + 1} rounds, {time.monotonic() - began:.0f} s, {sum(faults.values())} faults")
        faulthandler.dump_traceback_later(2 * STUCK_SECONDS, exit=True)
        for neighbour in neighbours:
            neighbour.over.set()
            neighbour.join()
        for place in places:
            for each in place.final():
                faults[each] += 1
        with_errors = {n: to for n, to in handles().items() if n not in handles_before}
        kept.clear()
        gc.collect()
        left = {n: to for n, to in handles().items() if n not in handles_before}
        pools = 3 * 4 + FETCH_THREADS
        faulthandler.cancel_dump_traceback_later()
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "rounds": rounds,
        "seconds": round(time.monotonic() - began, 1),
        "struck": sum(hits.values()),
        "struck in": dict(hits),
        "files of neighbours": sum(each.done for each in neighbours),
        "handles kept": len(left),
        "handles kept by errors": len(with_errors),
        "which": sorted(left.values())[:5],
        "threads more": max(0, threading.active_count() - threads_before - pools),
        "faults": dict(faults),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--dialects", default="v3,v2")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    told = run(options.rounds, options.seed, tuple(options.dialects.split(",")), lambda text: print(text, flush=True))
    print(json.dumps(told, indent=1))
    return 1 if told["faults"] or told["handles kept"] or told["handles kept by errors"] or told["threads more"] else 0


if __name__ == "__main__":
    sys.exit(main())
