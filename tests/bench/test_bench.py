"""The measurements run, and stay within generous limits on a machine that does nothing else."""

from __future__ import annotations

import itertools
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
