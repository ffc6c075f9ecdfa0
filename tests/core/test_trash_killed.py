"""Processes that move nodes into the trash and back are killed at random moments: nothing is lost.

ZARRSCOPE_KILLS says how many processes are killed for each dialect.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from contracts.killed import run_and_kill
from contracts.operations import NAMES, example, is_whole
from zarrscope.errors import Conflict
from zarrscope.model.storage import Version
from zarrscope.nodes import trash
from zarrscope.stores.local.names import is_temporary
from zarrscope.stores.local.store import LocalStore

KILLS = int(os.environ.get("ZARRSCOPE_KILLS", "2"))

_THROWS = """
import sys
import zarrscope
from zarrscope.nodes import trash
from zarrscope.stores.local.store import LocalStore

h = zarrscope.open(LocalStore(sys.argv[1], sync=False), "r+")
print("ready", flush=True)
while True:
    trash.restore(h, trash.put(h, "/g").id)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_killed_throw_loses_nothing(name: str, tmp_path: Path) -> None:
    chance = random.Random(name)
    place = tmp_path / "x.zarr"
    example(name, LocalStore(place, sync=False))
    for _ in range(KILLS):
        run_and_kill(_THROWS, str(place), after=chance.random() * 0.2)
        h = zarrscope.open(place, "r+")
        entries = trash.entries(h)
        assert len(entries) <= 1
        if not is_whole(h, "/g"):
            assert entries, "neither here nor there"
            if h.dialect.apart:
                assert h.dialect.name.startswith("draft")
            else:
                assert "/g" not in h, "old or new, nothing between"
            trash.restore(h, entries[0].id)
        assert is_whole(zarrscope.open(place), "/g")
        assert is_whole(zarrscope.open(place), "/other", "/other")
        trash.empty(h)
    left = [each.name for each in tmp_path.glob(".x.zarr.trash/*")]
    assert all(map(is_temporary, left)), "only what a killed process was writing stays, until it is swept"


class _Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("name", NAMES)
def test_wherever_a_throw_ends_it_can_be_mended(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each change of the disk in turn is the last one that happens."""

    class Ending(LocalStore):
        left = 0

        def _step(self) -> None:
            if Ending.left == 0:
                raise _Killed
            Ending.left -= 1

        def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
            self._step()
            return super()._set(key, value, expect)

        def _erase(self, key: str) -> None:
            self._step()
            super()._erase(key)

        def _erase_prefix(self, prefix: str) -> None:
            self._step()
            super()._erase_prefix(prefix)

        def _move_prefix(self, source: Any, prefix: str, to: str) -> None:
            self._step()
            super()._move_prefix(source, prefix, to)

    monkeypatch.setattr("zarrscope.stores.local.trash.LocalStore", Ending)
    for act in ("put", "restore"):
        for steps in range(40):
            place = tmp_path / f"{act}-{steps}" / "x.zarr"
            example(name, LocalStore(place, sync=False))
            h = zarrscope.open(Ending(place, sync=False), "r+")
            Ending.left = -1
            id = trash.put(h, "/g").id if act == "restore" else ""
            Ending.left = steps
            ended = False
            try:
                if act == "put":
                    trash.put(h, "/g")
                else:
                    trash.restore(h, id)
            except _Killed:
                ended = True
            Ending.left = -1
            again = zarrscope.open(place, "r+")
            whole, entries = is_whole(again, "/g"), trash.entries(again)
            assert whole or entries, (act, steps)
            if not again.dialect.apart:
                assert whole == ("/g" in again), (act, steps)
            if entries:
                try:
                    trash.restore(again, entries[0].id)
                except Conflict:
                    assert whole, (act, steps)
            assert is_whole(zarrscope.open(place), "/g"), (act, steps)
            if not ended:
                break
        assert not ended
