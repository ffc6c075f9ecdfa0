"""The window's benchmarks run and report all their figures. Nothing is timed."""

from __future__ import annotations

import pytest

from bench import report, window
from bench.results import OURS
from bench.settings import Settings

pytestmark = [pytest.mark.timeout(300), pytest.mark.slow, pytest.mark.needs("display")]


def test_every_walk_has_a_heartbeat_and_tells_its_memory(settings: Settings) -> None:
    settings.cases = ["plate", "pan"]
    rows = [*window.measure(settings)]
    assert [row.case for row in rows] == [
        f"{walk}, {figure}"
        for walk in ("pan", "plate")
        for figure in ("heartbeat p99", "heartbeat max", "memory beyond the cache")
    ]
    for row in rows:
        assert row.figures[OURS][0] >= 0
        assert report.line(row)


def test_a_start_tells_when_there_was_a_window_and_a_picture(settings: Settings) -> None:
    settings.cases = ["start"]
    first, coarse, sharp = (row.figures[OURS][0] for row in window.measure(settings))
    assert first > 0
    assert 0 <= coarse <= sharp
