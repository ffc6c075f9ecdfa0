"""Short runs of the fuzzer of the terminal application with fixed seeds; terminal.py runs it for long, by hand."""

from __future__ import annotations

import pytest

pytest.importorskip("textual", reason="the terminal application's toolkit")

from fuzz.terminal import inside, over_a_terminal


def test_random_keys_within_the_process() -> None:
    tally = inside(seed=11, bursts=60)
    assert not tally.failures, tally.failures[0]
    assert tally.keys > 300


def test_random_keys_over_a_pseudo_terminal() -> None:
    pytest.importorskip("pty", reason="pseudo-terminals are POSIX")
    tally = over_a_terminal(seed=11, bursts=40)
    assert not tally.failures, tally.failures[0]
    assert tally.keys > 200
