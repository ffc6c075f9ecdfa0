"""The measurements run, and stay within generous limits on a machine that does nothing else."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest

from bench import heartbeat, startup


@pytest.mark.alone
def test_the_terminal_application_never_blocks(tmp_path: Path) -> None:
    gaps = heartbeat.tui(heartbeat.demo(tmp_path), beats=300)
    print(gaps)
    assert gaps.beats == 300
    assert gaps.max < 400


@pytest.mark.alone
def test_starting_is_quick(tmp_path: Path) -> None:
    seconds, slowness = startup.measure(heartbeat.demo(tmp_path), runs=3), heartbeat.slowness()
    print(seconds, slowness)
    assert seconds["help"]["best"] < 0.6 * slowness  # 0.04 to 0.3 on an idle machine
    assert seconds["open"]["best"] < 2.0 * slowness


def test_gaps_tell_the_worst_beat() -> None:
    heart = heartbeat.Heart(100, itertools.repeat(None))
    while heart.beat():
        pass
    heart.gaps[17] = 250.0
    result = heart.result("none")
    assert (result.beats, result.max) == (100, 250.0)
    assert result.median <= result.p99 <= result.max


def test_the_longest_gap_is_told_in_parts() -> None:
    """A thread that sleeps does not compute: what is not a wait for a core is the rest."""
    heart = heartbeat.Heart(3, itertools.repeat(None))
    heart.beat()
    for seconds in (0.01, 0.2, 0.01):
        time.sleep(seconds)
        heart.beat()
    gaps = heart.result("")
    work, queued, rest = gaps.longest
    assert gaps.max >= 200
    assert min(work, queued, rest) >= 0
    assert work + queued + rest + heartbeat.INTERVAL * 1000 == pytest.approx(gaps.max)
