"""A short run of the kill trials; run.py runs them for long, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kill.run import Act, acceptable
from kill.trial import trial as run_trial
from kill.writers import WRITTEN

pytestmark = pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="the trials fork")


def trial(*options: str) -> dict[str, Any]:
    """In a process of its own without threads, which forking would lose."""
    return run_trial("run.py", *options)


def test_what_may_be_found_after_a_kill() -> None:
    """The function that judges the state accepts no lost value and no wrong order."""
    assert acceptable("old", []) == ["old"]
    assert acceptable("old", [Act("new", 0)]) == ["old", "new"], "under way: the old value or the new"
    assert acceptable("old", [Act("new", 0, 1, "done")]) == ["new"], "done: the old one would be a loss"
    assert acceptable("old", [Act("new", 0, 1, "refused")]) == ["old"]
    first, second = Act("a", 0, 1, "done"), Act("b", 2, 3, "done")
    assert acceptable("old", [first, second]) == ["b"]
    together = [Act("a", 0, 2, "done"), Act("b", 1, 3, "done")]
    assert acceptable("old", together) == ["a", "b"], "at the same time: either may come last"
    assert acceptable("old", [first, Act("b", 2)]) == ["a", "b"]


def test_killed_writers_lose_nothing() -> None:
    """Two kills in every dialect that writes."""
    told = trial("--rounds", str(2 * len(WRITTEN)), "--consolidated", "--seed", "1")
    assert told["rounds"] == 2 * len(WRITTEN)
    assert sum(told["done"].values()) > 5


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killed_writers_lose_nothing_at_some_length() -> None:
    told = trial("--rounds", "70", "--consolidated", "--seed", "2")
    assert set(told["done"]) >= {"notes", "whole", "parts", "shards", "sized", "born", "own"}
    assert told["interrupted"] >= 20, "kills came while something was under way"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.needs("zarr2")
def test_a_hierarchy_of_zarr_2_18_opens_there_after_every_kill(zarr2: Path) -> None:
    """A hierarchy in the draft of 2020, made by zarr-python 2.18; zarrscope edits it and is killed."""
    told = trial("--rounds", "40", "--zarr2", str(zarr2), "--seed", "3")
    assert told["done"]["notes"] > 10
    assert told["interrupted"] >= 10
