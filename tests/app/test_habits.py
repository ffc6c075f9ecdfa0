"""The tests that habits.md names exist, and every item that is ticked there names one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
HABITS = (Path(__file__).parent / "habits.md").read_text()
BY_HAND = ("installing.md", "looked at in", "pyproject.toml")
"""The words that an item may name in place of a test."""


def named(text: str) -> set[str]:
    """The tests and test files that the page names in backticks."""
    return {name.removesuffix(".py").rpartition("/")[2] for name in re.findall(r"`([\w/.]*test_\w+(?:\.py)?)`", text)}


def there() -> set[str]:
    """The names of all tests and test files that exist."""
    found: set[str] = set()
    for file in TESTS.rglob("*.py"):
        found.add(file.stem)
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                found.add(node.name)
    return found


def test_the_tests_that_are_named_exist() -> None:
    assert len(named(HABITS)) > 100
    assert named(HABITS) - there() == set()


def test_every_ticked_habit_names_what_shows_it() -> None:
    items = [line for line in HABITS.splitlines() if line.startswith("- [")]
    assert len(items) > 40
    for item in items:
        assert item.startswith(("- [x] ", "- [ ] "))
        assert named(item) or any(told in item for told in BY_HAND), item


def test_every_habit_of_the_window_is_ticked() -> None:
    window = HABITS.partition("## 3.1")[2].partition("## 3.2")[0]
    assert "- [x] " in window
    assert "- [ ] " not in window
