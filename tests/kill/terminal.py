"""Ends the terminal application in every way at random moments, and measures how long it takes to exit.

    python tests/kill/terminal.py --rounds 50 --seed 1

Ways: `q`, SIGTERM, SIGHUP, SIGINT, and its terminal vanishes, because whoever held the other end was killed; as the
leader of its session, which gets SIGHUP then, and not. Meanwhile it loads from a server that never answers, shows a
chunk that never comes, shows a sheet, has edits that are not saved, or writes to a terminal that nobody reads. What
counts as a failure: it stays longer than LIMIT, has another exit status than it should, or loses an edit.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from contracts.http_server import WebServer, web_server
from fuzz.terminal import Terminal, make_store

LIMIT = 15.0
"""Seconds. The application's own limit is 3; the machine may be busy."""
READY = 60.0
WAYS = ("q", "SIGTERM", "SIGHUP", "SIGINT", "vanishes")
STATES = (
    "starts",
    "loads",
    "waits for chunks",
    "is still",
    "shows a sheet",
    "has edits",
    "has a stuck thread",
    "is frozen",
)
STUCK = """
import sys, threading
from zarrscope_app.cli import main
threading.Thread(target=threading.Event().wait).start()  # as one that asks a name server
main(sys.argv[1:])
"""


@dataclass
class Tally:
    """Counts the trials and their results."""

    rounds: int = 0
    slowest: float = 0.0
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.rounds} ends, the slowest {self.slowest:.1f} s, {len(self.failures)} failed"


class Held(Terminal):
    """A terminal whose other end, its screen, is held by a process of its own."""

    def __init__(self, place: str, leads: bool, program: Sequence[str] = ("-m", "zarrscope_app")) -> None:
        super().__init__(place, leads=leads, program=program)
        self.screen = subprocess.Popen(["sleep", "600"], pass_fds=[self.mine])

    def vanish(self) -> None:
        """Kills the process with the screen; no other process holds the terminal open."""
        os.close(self.mine)
        os.close(self.its)
        self.mine = self.its = -1
        self.screen.kill()

    def close(self) -> None:
        self.screen.kill()
        self.screen.wait()
        super().close()

    def await_text(self, text: bytes) -> None:
        end = time.monotonic() + READY
        while text not in self.tail:
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"{text!r} did not come: {self.tail[-2000:]!r}")
            self.drain(0.1)

    def stays(self, reading: bool, pressing: bool) -> float:
        """The seconds until it has ended; LIMIT if it has not by then."""
        begun = time.monotonic()
        pressed = begun
        while (stayed := time.monotonic() - begun) < LIMIT:
            if reading:
                self.drain(0.02)
            else:
                time.sleep(0.02)
            if self.process.poll() is not None:
                break
            if pressing and time.monotonic() - pressed > 1.0:  # keys pressed during its start may be lost
                pressed = time.monotonic()
                os.write(self.mine, b"q")
        return stayed


@contextmanager
def place_of(state: str, local: str) -> Iterator[tuple[str, WebServer | None]]:
    if state not in ("loads", "waits for chunks"):
        yield f"{local}/form" if state == "has edits" else local, None
        return
    root = Path(local)
    with web_server({str(f.relative_to(root)): f.read_bytes() for f in root.rglob("*") if f.is_file()}) as server:
        if state == "loads":
            server.gate.clear()
        try:
            yield f"{server.url}/plane" if state == "waits for chunks" else server.url, server
        finally:
            server.gate.set()


def bring(terminal: Held, state: str, server: WebServer | None, kept: Path, dice: random.Random) -> None:
    """Brings the application into this state."""
    if state == "starts":
        time.sleep(dice.uniform(0, 2))
        return
    if state == "loads":
        assert server is not None
        assert server.wait_held(1, READY)
        time.sleep(dice.uniform(0, 0.5))
        return
    terminal.await_text(b"q quit")
    if state == "waits for chunks":
        assert server is not None
        terminal.await_text(b"plane")
        server.gate.clear()
        terminal.write("\x1b[B\r]]]")
        server.wait_held(1, 5.0)  # it may have had the chunks already
    elif state == "shows a sheet":
        terminal.write("?")
        terminal.await_text(b"sides of a conflict")  # among the first lines of the dialog of keys
    elif state == "has edits":
        terminal.write("e")
        terminal.await_text(b"members")
        terminal.write("\r\x157\r")
        end = time.monotonic() + READY
        while not list(kept.rglob("unsaved-*.json")):
            assert time.monotonic() < end, terminal.tail[-2000:]
            terminal.drain(0.05)
    elif state == "is frozen":
        for _ in range(400):  # no program reads what these draw
            os.write(terminal.mine, b"\x1b[B\x1b[A[]")
        time.sleep(1.0)


def codes(way: str, state: str) -> set[int | None]:
    if way == "q":
        return {0}
    number = signal.SIGHUP if way == "vanishes" else getattr(signal, way)
    # Before Python has handlers, and without a terminal.
    early = {-number, -signal.SIGHUP, 1, 2} if state == "starts" else set()
    return {128 + number, *early}


def end_once(folder: Path, local: str, way: str, state: str, leads: bool, dice: random.Random) -> tuple[float, str]:
    """Ends the application once; returns how long it took, and the faults."""
    kept = Path(tempfile.mkdtemp(dir=folder))
    os.environ["XDG_STATE_HOME"] = str(kept)
    stuck = state == "has a stuck thread"
    with place_of(state, local) as (place, server):
        terminal = Held(place, leads, ("-c", STUCK) if stuck else ("-m", "zarrscope_app"))
        try:
            bring(terminal, state, server, kept, dice)
            if way == "vanishes":
                terminal.vanish()
            elif way == "q":
                terminal.write("q")
                if state == "shows a sheet":
                    terminal.write("q")
            else:
                os.kill(terminal.process.pid, getattr(signal, way))
            stayed = terminal.stays(way != "vanishes" and state != "is frozen", way == "q")
            wrong = ""
            if terminal.process.poll() not in codes(way, state):
                wrong = f"status {terminal.process.poll()} after {stayed:.1f} s: {terminal.tail[-500:]!r}"
            elif state == "has edits" and len(list(kept.rglob("unsaved-*.json"))) != 1:
                wrong = "the edit was lost"
            return stayed, wrong and f"{way} while it {state}, {'' if leads else 'not '}leading: {wrong}"
        finally:
            terminal.close()


def run(seed: int, rounds: int) -> Tally:
    """Ends it this number of times, in random ways and states."""
    dice, tally = random.Random(seed), Tally()
    cases = [
        (way, state, leads)
        for way in WAYS
        for state in STATES
        for leads in (False, True)
        if not (way == "q" and state in ("has edits", "is frozen"))  # it asks about unsaved edits, and gets no answer
    ]
    with tempfile.TemporaryDirectory() as folder:
        local = make_store(Path(folder))
        while tally.rounds < rounds:
            if tally.rounds % len(cases) == 0:
                dice.shuffle(cases)
            way, state, leads = cases[tally.rounds % len(cases)]
            tally.rounds += 1
            try:
                stayed, wrong = end_once(Path(folder), local, way, state, leads, dice)
            except AssertionError as error:
                stayed, wrong = 0.0, f"{way}, {state}: {error}"
            tally.slowest = max(tally.slowest, stayed)
            if wrong:
                tally.failures.append(wrong)
    return tally


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    tally = run(given.seed, given.rounds)
    for failure in tally.failures:
        print(failure)
    print(tally)
    return int(bool(tally.failures))


if __name__ == "__main__":
    sys.exit(main())
