"""Processes that move nodes are killed at random moments: the node is complete at its old or at its new path.

ZARRSCOPE_KILLS says how many processes are killed for each dialect and way.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import zarrscope
from contracts.killed import run_and_kill
from contracts.operations import NAMES, example, is_whole
from zarrscope.nodes import move as moving
from zarrscope.stores.local.store import LocalStore

KILLS = int(os.environ.get("ZARRSCOPE_KILLS", "3"))

_MOVES = """
import sys
import zarrscope
from zarrscope.nodes import move as moving
from zarrscope.stores.local.store import LocalStore

class Copying(LocalStore):
    def _can_move_prefix(self, source, prefix, to):
        return False

left, right, way = sys.argv[1:]
kind = Copying if way == "copied" else LocalStore
one = zarrscope.open(kind(left, sync=False), "r+")
two = one if left == right else zarrscope.open(kind(right, sync=False), "r+")
print("ready", flush=True)
while True:
    moving.move(one, "/g", "/in/h", two, replace=True)
    moving.move(two, "/in/h", "/g", one, replace=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["renamed", "copied"])
@pytest.mark.parametrize("name", NAMES)
def test_a_killed_move_loses_nothing(name: str, way: str, tmp_path: Path) -> None:
    chance = random.Random(name + way)
    left = tmp_path / "left"
    right = left if chance.random() < 0.5 else tmp_path / "right"
    example(name, LocalStore(left, sync=False))
    if right != left:
        zarrscope.open(LocalStore(right, sync=False), "w-", dialect=name)
    met = 0
    for _ in range(KILLS):
        run_and_kill(_MOVES, str(left), str(right), way, after=chance.random() * 0.3)
        one, two = zarrscope.open(left, "r+"), zarrscope.open(right, "r+")
        places = is_whole(one, "/g"), is_whole(two, "/in/h")
        assert any(places)
        assert is_whole(one, "/other", "/other")
        if not places[0]:
            met += 1
            moving.move(two, "/in/h", "/g", one, replace=True)
            assert is_whole(zarrscope.open(left), "/g")
        if any(key for key in two.store.list() if "in/h" in key):
            two.erase("/in/h")
    assert not [key for key in zarrscope.open(right).store.list() if "in/h" in key]


@pytest.mark.parametrize("way", ["renamed", "copied"])
def test_of_two_who_move_one_node_one_wins(way: str, tmp_path: Path) -> None:
    code = """
import sys, zarrscope
from zarrscope.nodes import move as moving
from zarrscope.stores.local.store import LocalStore
if sys.argv[3] == "copied":
    LocalStore._can_move_prefix = lambda *any: False
sys.stdin.readline()
try:
    moving.move(zarrscope.open(sys.argv[1], "r+"), "/g", sys.argv[2])
    print("won")
except zarrscope.ZarrscopeError as error:
    print(type(error).__name__)
"""
    for name in ("v3", "draft-2022-05"):
        place = tmp_path / name
        example(name, LocalStore(place, sync=False))
        movers = [
            subprocess.Popen(
                [sys.executable, "-c", code, str(place), to, way],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for to in ("/left", "/right")
        ]
        for mover in movers:
            assert mover.stdin is not None
            mover.stdin.write("go\n")
            mover.stdin.flush()
        told = [mover.communicate(timeout=60)[0].strip() for mover in movers]
        assert told.count("won") == 1, told
        whole = [path for path in ("/left", "/right") if is_whole(zarrscope.open(place), path)]
        assert len(whole) == 1 or way == "copied", "who copies may find out at the end that another was quicker"
        assert whole
        assert "/g" not in zarrscope.open(place)
