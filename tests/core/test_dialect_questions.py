"""No module above the dialects tests for a dialect by name: differences are members of the dialect
(dialects/protocol.py).
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import zarrscope
import zarrscope_app
from zarrscope.dialects import DIALECTS

CORE, APP = Path(zarrscope.__file__).parent, Path(zarrscope_app.__file__).parent
ABOUT_TWO = {"upgrading.py"}
"""Upgrades v2 to v3 in place, so it concerns exactly these two dialects."""
ABOVE = ("chunkio", "nodes", "view", "check", "convert", "executors")
"""The engine's packages above the dialects."""
FILES = sorted([*(path for room in ABOVE for path in (CORE / room).glob("*.py")), *APP.rglob("*.py")])
NAMES = {dialect.name for dialect in DIALECTS}


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.name not in ABOUT_TWO], ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_no_dialect_is_asked_for_by_name(path: Path) -> None:
    questions = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
        for part in ast.walk(side)
        if isinstance(part, ast.Constant) and part.value in NAMES
    ]
    assert not questions, f"lines {questions}"


def test_there_is_something_to_look_at() -> None:
    assert len(FILES) > 80
    assert {path.name for path in FILES} >= {"hierarchy.py", "planning.py", "session.py"}
