"""A few hostile stores of each kind that can be made quickly; hostile.py makes hundreds and runs every verb."""

import sys

import pytest

from fuzz import hostile

QUICK = ("hollow_document", "deep", "huge_valid", "hollow_chunk")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork, and no limit on a process")
@pytest.mark.parametrize("kind", QUICK)
def test_hostile_stores_take_neither_time_nor_memory(kind: str) -> None:
    found = hostile.run(1, 3, only=kind, verbs=("info", "check", "read"))
    assert found["faults"] == []
    assert found["tried"] == 3
