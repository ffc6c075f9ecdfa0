"""A few ways to end the terminal application; terminal.py tries all of them, by hand."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

pytest.importorskip("pty", reason="pseudo-terminals are POSIX")
pytest.importorskip("textual", reason="the terminal application's toolkit")

from fuzz.terminal import make_store
from kill.terminal import LIMIT, end_once


@pytest.mark.parametrize(
    ("way", "state", "leads"),
    [
        ("vanishes", "shows a sheet", False),
        ("vanishes", "loads", True),
        ("vanishes", "has edits", False),
        ("vanishes", "waits for chunks", False),
        ("SIGTERM", "is frozen", False),
        ("q", "loads", False),
        ("q", "has a stuck thread", False),
    ],
)
def test_it_ends_soon(way: str, state: str, leads: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "set back afterwards")
    stayed, wrong = end_once(tmp_path, make_store(tmp_path), way, state, leads, random.Random(1))
    assert not wrong
    assert stayed < LIMIT
