"""A short piece of the trials with interrupts; interrupts.py runs them at length by hand."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals to one thread")


def trial(*options: str) -> dict[str, Any]:
    """In a process of its own: its main thread is struck."""
    command = [sys.executable, str(Path(__file__).with_name("interrupts.py")), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])
    return told


def test_interrupts_leave_nothing_open_locked_or_wrong() -> None:
    told = trial("--rounds", "100", "--seed", "1")
    assert told["struck"] > 30, "interrupts came while something was under way"
    assert told["files of neighbours"] > 10
    assert not told["faults"]
    assert not told["handles kept"]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("dialects", ["v3,v2", "n5,draft-2020"])
def test_interrupts_leave_nothing_open_locked_or_wrong_at_some_length(dialects: str) -> None:
    told = trial("--rounds", "400", "--seed", "2", "--dialects", dialects)
    assert told["struck"] > 130
    assert len(told["struck in"]) >= 12
