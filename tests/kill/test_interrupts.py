"""A short run of the trials with interrupts; interrupts.py runs them for long, by hand."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from kill.trial import trial as run_trial

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals to one thread")


def trial(*options: str) -> dict[str, Any]:
    """In a process of its own, because its main thread is interrupted."""
    return run_trial("interrupts.py", *options)


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
