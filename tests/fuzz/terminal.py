"""A fuzzer of the terminal application: random keys in bursts, in a pseudo-terminal and in this process.

    python tests/fuzz/terminal.py --seconds 120 --seed 1     # over a pseudo-terminal
    python tests/fuzz/terminal.py --seconds 120 --inside     # through Textual's Pilot, quicker

A burst is written in one go, so that keys, mouse reports, pasted text and escape sequences arrive together; between
bursts the terminal changes its size. What counts as a failure: the program ends by itself with another status than 0
or 2, hangs, or tells of a fault that it survived. Each failure is printed with the seed and the bursts that led to it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import zarrscope

if TYPE_CHECKING:
    from textual.message import Message

WAIT = 60.0
ESCAPE_SECONDS = 0.3
"""A key that follows Escape sooner counts as a key with Alt."""
PRINTABLE = "".join(chr(c) for c in range(32, 127)) + "äß漢🙂\u200b\u202e"
MEANT = "evnNxcdu?/[]\\agGjkhl<>+-=0123456789mtrbosy. "
SEQUENCES = (
    "\r", "\t", "\x1b[Z", "\x1b", "\x7f", "\x08", "\x13", "\x1a", "\x19", "\x06", "\x14", "\x12", "\x01", "\x05",
    "\x15", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[5~", "\x1b[6~", "\x1b[H", "\x1b[F", "\x1b[3~", "\x1b[15~",
    "\x1bOP", "\x1b[1;5A", "\x1b[1;5B", "\x1b[1;5C", "\x1b[1;5D", "\x1b[1;2C", "\x1b[1;2D", "\x1b[1;3C", "\x1b[1;3D",
    "\x1b[200~pasted\ntext\x1b[201~", "\x1b[200~[1, 2]\x1b[201~", "\x1b[200~\x1b[201~",
)  # fmt: skip
LEAVING = ("q", "\x03", "\x11", "\x17")
SIZES = ((24, 80), (60, 160), (5, 20), (1, 1), (3, 200), (40, 10), (24, 80))


@dataclass
class Tally:
    """Counts the trials and their results."""

    keys: int = 0
    bursts: int = 0
    starts: int = 0
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.keys} keys in {self.bursts} bursts, {self.starts} starts, {len(self.failures)} failed"


def make_store(folder: Path) -> str:
    """An image of channels with labels, a table, text, and attributes of all kinds."""
    place = str(folder / "fuzz.zarr")
    h = zarrscope.open(place, mode="w-")
    axes = [{"name": "c", "type": "channel"}, *({"name": n, "type": "space", "unit": "micrometer"} for n in "zyx")]
    scale = [{"type": "scale", "scale": [1, 0.5, 0.25, 0.25]}]
    multiscale = {"name": "cells", "axes": axes, "datasets": [{"path": "0", "coordinateTransformations": scale}]}
    h.create_group("/cells", {"ome": {"version": "0.5", "multiscales": [multiscale]}, "note": "x", "on": True})
    image = h.create_array("/cells/0", shape=(2, 5, 40, 50), dtype="uint16", chunks=(1, 1, 20, 25))
    image[...] = np.arange(2 * 5 * 40 * 50).reshape(2, 5, 40, 50) % 997
    h.create_array("/line", shape=(300,), dtype="float64", chunks=(50,))[...] = np.linspace(-1, 1, 300)
    h.create_array("/plane", shape=(30, 20), dtype="float32", chunks=(7, 7))[...] = np.nan
    h.create_group("/form", {"a": 1, "b": [1, 2, {"c": None}], "d": {}, "e": "text", "f": [], "g": {"h": {"i": True}}})
    h.create_array("/one", shape=(), dtype="int8", chunks=())[...] = 5
    h.create_array("/none", shape=(0, 3), dtype="int8", chunks=(1, 1))
    return place


def burst(dice: random.Random) -> list[str]:
    """Keys that are sent to the terminal in one write."""
    keys = []
    for _ in range(dice.choice((1, 2, 2, 3, 5, 8, 20, 60))):
        kind = dice.random()
        if kind < 0.45:
            keys.append(dice.choice(MEANT))
        elif kind < 0.6:
            keys.append(dice.choice(PRINTABLE))
        elif kind < 0.93:
            keys.append(dice.choice(SEQUENCES))
        elif kind < 0.995:
            at = f"{dice.randint(1, 90)};{dice.randint(1, 30)}"
            button = dice.choice((0, 64, 65, 35))
            keys.append(f"\x1b[<{button};{at}M" + (f"\x1b[<{button};{at}m" if button == 0 else ""))
        else:
            keys.append(dice.choice(LEAVING))
    return keys


# ---------------------------------------------------------------------- over a pseudo-terminal
class Terminal:
    """The command in a pseudo-terminal, whose output is read continuously."""

    def __init__(self, place: str, *, leads: bool = False, program: Sequence[str] = ("-m", "zarrscope_app")) -> None:
        """With `leads`, this is the controlling terminal of the command, which gets SIGHUP when the terminal
        vanishes."""
        import fcntl
        import pty
        import termios

        self.mine, self.its = pty.openpty()
        self.size(24, 80)
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "TEXTUAL_ANIMATIONS": "none",
                       "PYTHONFAULTHANDLER": "1"}  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, *program, "tui", "--write", place],
            stdin=self.its, stdout=self.its, stderr=self.its, env=environment, start_new_session=True,
            preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if leads else None,
        )  # fmt: skip
        self.tail = b""

    def size(self, rows: int, columns: int) -> None:
        """Changes the size, as a terminal's window does."""
        import fcntl
        import termios

        fcntl.ioctl(self.its, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if hasattr(self, "process"):
            os.killpg(self.process.pid, signal.SIGWINCH)

    def drain(self, seconds: float) -> bool:
        """Reads the output that arrives within this time; returns whether there was any."""
        if not select.select([self.mine], [], [], seconds)[0]:
            return False
        self.tail = (self.tail + os.read(self.mine, 1 << 16))[-200_000:]
        return True

    def write(self, text: str) -> None:
        """Writes all of it and reads meanwhile, because full buffers in both directions would be a deadlock."""
        data = text.encode()
        while data:
            readable, writable, _ = select.select([self.mine], [self.mine], [], 1.0)
            if readable:
                self.drain(0)
            if writable:
                data = data[os.write(self.mine, data[:512]) :]
            if self.process.poll() is not None:
                return

    def quiet(self) -> None:
        """Waits until no output has arrived for a moment."""
        end = time.monotonic() + WAIT
        while self.drain(0.05) and time.monotonic() < end:
            pass

    def leave(self) -> int | None:
        """Ends the application as a user would, from any dialog and with any edits. Returns None if it hangs."""
        end = time.monotonic() + WAIT
        while self.process.poll() is None and time.monotonic() < end:
            self.write("\x1b")  # closes an input, and a dialog
            until = time.monotonic() + ESCAPE_SECONDS
            while time.monotonic() < until:
                self.drain(0.05)
            self.quiet()
            self.write("q")
            self.quiet()
            self.write("x")  # discards the edits if it asks
            for _ in range(20):
                if self.process.poll() is not None:
                    break
                self.drain(0.05)
        while self.drain(0.05):
            pass
        return self.process.poll()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for handle in (self.mine, self.its):
            if handle >= 0:
                os.close(handle)


def over_a_terminal(seed: int, seconds: float = 0.0, bursts: int = 0) -> Tally:
    """Sends bursts of keys until the time has passed, or `bursts` have been sent."""
    dice, tally = random.Random(seed), Tally()
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        place = make_store(Path(folder))
        os.environ["XDG_STATE_HOME"] = folder

        def more() -> bool:
            return tally.bursts < bursts or time.monotonic() < end

        while more():
            terminal, sent = Terminal(place), []
            tally.starts += 1
            try:
                until = time.monotonic() + WAIT
                while b"quit" not in terminal.tail and time.monotonic() < until:
                    terminal.drain(0.1)
                for _ in range(60):
                    if terminal.process.poll() is not None or not more():
                        break
                    keys = burst(dice)
                    sent.append(keys)
                    tally.keys, tally.bursts = tally.keys + len(keys), tally.bursts + 1
                    terminal.write("".join(keys))
                    if dice.random() < 0.1:
                        terminal.size(*dice.choice(SIZES))
                    if dice.random() < 0.5:
                        terminal.quiet()
                status = terminal.leave()
                if status is None:
                    terminal.process.send_signal(signal.SIGABRT)  # prints the stacks of its threads
                    while terminal.drain(1.0):
                        pass
                if status != 0 or b"Traceback" in terminal.tail:
                    told = terminal.tail[-3000:].decode(errors="replace")
                    tally.failures.append(f"seed {seed}, status {status}, after {sent}:\n{told!r}")
            finally:
                terminal.close()
    return tally


# ---------------------------------------------------------------------- within the process
def as_keys(written: str) -> list[Message]:
    """The events that Textual makes from a terminal's input."""
    from textual._xterm_parser import XTermParser

    parser = XTermParser()
    return [event for part in (written, "") for event in parser.feed(part)]


async def _inside(place: str, dice: random.Random, more: Callable[[], bool], tally: Tally) -> None:
    from zarrscope_app.tui.app import Explorer

    app = Explorer(place, writable=True)
    tally.starts += 1
    sent: list[list[str]] = []
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(200):
            keys = burst(dice)
            if not more() or app._exit:
                break
            sent.append(keys)
            tally.keys, tally.bursts = tally.keys + len(keys), tally.bursts + 1
            for event in as_keys("".join(keys)):
                app.post_message(event)  # in one go: the event loop does not run between them
            if dice.random() < 0.1:
                rows, columns = dice.choice(SIZES)
                await pilot.resize_terminal(columns, rows)
            await pilot.pause(0.0 if dice.random() < 0.5 else 0.01)
            if app.faults:
                tally.failures.append(f"after {sent[-4:]}:\n{app.faults[0]}")
                app.faults.clear()


def inside(seed: int, seconds: float = 0.0, bursts: int = 0) -> Tally:
    """Like `over_a_terminal`, but through Textual's Pilot."""
    dice, tally = random.Random(seed), Tally()
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        place = make_store(Path(folder))
        os.environ["XDG_STATE_HOME"] = folder
        while tally.bursts < bursts or time.monotonic() < end:
            try:
                asyncio.run(_inside(place, dice, lambda: tally.bursts < bursts or time.monotonic() < end, tally))
            except Exception as error:
                tally.failures.append(f"seed {seed}: {type(error).__name__}: {error}")
    return tally


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--inside", action="store_true")
    given = parser.parse_args(arguments)
    tally = (inside if given.inside else over_a_terminal)(given.seed, given.seconds)
    for failure in tally.failures[:5]:
        print(failure)
    print(tally)
    return int(bool(tally.failures))


if __name__ == "__main__":
    sys.exit(main())
