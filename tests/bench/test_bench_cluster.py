"""The measurement of clusters runs and gives correct values; its times are not checked."""

from __future__ import annotations

import pytest

from bench.cluster import measure


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_measurement_runs() -> None:
    pytest.importorskip("distributed")
    found = measure("smoke")
    assert {what: sorted(per) for what, per in found.items()} == {"statistics": [1, 2], "pyramid": [1, 2]}
    assert all(seconds > 0 for per in found.values() for seconds in per.values())
