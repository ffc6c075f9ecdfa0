"""The heartbeat runs, and no gesture holds the window up for long. The true figures are made by heartbeat.py itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import form, heartbeat, window
from bench.settings import Settings


@pytest.mark.alone
def test_the_window_never_blocks(qapp: Any, tmp_path: Path) -> None:
    gaps = heartbeat.qt(heartbeat.demo(tmp_path), beats=300)
    print(gaps)
    assert gaps.beats == 300
    assert gaps.median >= 1000 * heartbeat.INTERVAL * 0.5
    assert gaps.max < 400  # a blocking read or decode of a whole stack would take longer; budgets are in heartbeat.py


@pytest.mark.alone
def test_panning_a_very_large_plane_leaves_time_for_frames(tmp_path: Path) -> None:
    """100,000 x 100,000 pixels. Only the computing of the window's own thread counts: gaps between beats contain what
    other processes do as well. A process of its own, because what another window leaves behind is cleared away in one
    of its beats."""
    told = window.ask(["pan", str(window.wide(Settings(tmp_path))), "--beats", "500"])
    print(told)
    assert told["work_p99"] <= heartbeat.MOST_WORK
    assert told["work_max"] <= 50


@pytest.mark.alone
def test_no_act_on_a_document_of_5_megabytes_holds_the_window_up(qapp: Any, tmp_path: Path) -> None:
    """Own computing, as above. A gap above 400 ms would mean that a worker keeps Python's lock, as the search for huge
    numbers in a text did."""
    stages = list(form.measure(form.make(tmp_path, 5.0)))
    print(*stages, sep="\n")
    assert len(stages) == 15
    assert stages[0].work_max <= 100, "the parts of the window are made, and modules loaded; 25 to 47 ms when alone"
    assert max(stage.work_max for stage in stages[1:]) <= 50
    assert sum(stage.late for stage in stages) <= sum(stage.beats for stage in stages) / 50
    assert max(stage.max for stage in stages) < 400
