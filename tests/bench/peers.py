"""Runs engines in separate processes; each round measures every engine once, in random order.

    with Peers(["zarrscope", "tensorstore"]) as peers:
        figures, unable = peers.rounds(7, lambda peer, round: peer.ask("read", case="full", seed=round)["seconds"])

Only one of them works at any time. A peer that says it cannot is left out of the rounds, with its reason.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import machine
from bench.results import BEFORE, OURS

TESTS = Path(__file__).resolve().parents[1]


def before() -> Path | None:
    """The interpreter of another checkout's environment, which run.py --before names."""
    named = os.environ.get("ZARRSCOPE_BEFORE")
    return Path(named) if named else None


ELSEWHERE = {"zarr 2.18": machine.zarr2, "zarr 2.18, database": machine.zarr2, BEFORE: before}
"""Engines that need another interpreter."""


class Unable(Exception):
    """An engine cannot do a task, or is not installed."""


class WrongValues(Exception):
    """An engine read values that differ from those that were written."""


class Peer:
    """The process of one engine. `ask` raises Unable with the engine's message."""

    def __init__(self, name: str) -> None:
        self.name = name
        python = ELSEWHERE[name]() if name in ELSEWHERE else Path(sys.executable)
        if python is None:
            raise Unable("no environment with zarr-python 2.18: ZARRSCOPE_ZARR2 says where it is")
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the process
        self._process = subprocess.Popen(
            [str(python), "-m", "bench.engines", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            env=environment(),
        )
        self.versions: dict[str, str] = self.ask("versions")["versions"]

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        line = self._process.stdout.readline()
        if not line:
            self._process.wait(30)
            self._said.seek(0)
            said = self._said.read().strip().splitlines()
            raise Unable(said[-1] if said else f"it ended with status {self._process.returncode}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise Unable(answer["error"])
        return answer

    def close(self) -> None:
        self._process.communicate(timeout=60)
        self._said.close()


def environment() -> dict[str, str]:
    """For processes that import from this folder. They keep the bytecode of modules, as an installed program does:
    where a variable forbids it, each start compiles every module again, which takes longer than all the rest."""
    path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": path, "PYTHONNOUSERSITE": "1"}


class Peers:
    """The engines of `names` that are installed; `missing` gives the reasons for the others."""

    def __init__(self, names: Sequence[str]) -> None:
        self.missing: dict[str, str] = {}
        self.all: dict[str, Peer] = {}
        for name in (*names, *([BEFORE] if before() and OURS in names else [])):
            try:
                self.all[name] = Peer(name)
            except Unable as error:
                self.missing[name] = str(error)

    def __enter__(self) -> Peers:
        return self

    def __exit__(self, *_: object) -> None:
        for peer in self.all.values():
            peer.close()

    def rounds(
        self,
        count: int,
        measure: Callable[[Peer, int], float],
        prepare: Callable[[Peer], object] = lambda peer: None,
        names: Sequence[str] | None = None,
    ) -> tuple[dict[str, list[float]], dict[str, str]]:
        """The figures by engine, and the reasons why others have none. `prepare` runs once per engine, untimed; it
        opens and checks."""
        figures: dict[str, list[float]] = {}
        unable: dict[str, str] = {}
        for name, peer in self.all.items():
            if names is not None and name not in (*names, BEFORE):
                continue
            try:
                prepare(peer)
            except Unable as error:
                unable[name] = str(error)
            else:
                figures[name] = []
        chance = random.Random(count)
        for number in range(count):
            order = list(figures)
            chance.shuffle(order)
            for name in order:
                figures[name].append(measure(self.all[name], number))
        return figures, unable
