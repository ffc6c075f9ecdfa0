"""The heartbeat runs, and no gesture holds the window up for long. The true figures are made by heartbeat.py itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import heartbeat


@pytest.mark.alone
def test_the_window_never_blocks(qapp: Any, tmp_path: Path) -> None:
    gaps = heartbeat.qt(heartbeat.demo(tmp_path), beats=300)
    print(gaps)
    assert gaps.beats == 300
    assert gaps.median >= 1000 * heartbeat.INTERVAL * 0.5
    assert gaps.max < 400  # a blocking read or decode of a whole stack would take longer; budgets are in heartbeat.py
