"""Hosts paint and forward: no sentence and no number format of their own, and no file that outgrows its purpose."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import zarrscope_app

HOSTS = ("qt", "tui", "napari", "jupyter")
FILES = sorted(path for host in HOSTS for path in (Path(zarrscope_app.__file__).parent / host).glob("*.py"))
SENTENCE = re.compile(r"[A-Za-z]{3,} [a-z]{2,}")
NOT_FOR_PEOPLE = {
    "dock.py": {"Zarr explorer"},  # the widget's name in the manifest, by which napari finds it
    "app.py": {"reverse bold", "bold reverse"},  # styles
    "panes.py": {"</h4><table cellspacing='0' cellpadding='3'>"},  # markup
    "widget.py": {
        "explore() takes an address or an opened hierarchy, group or array, not "
    },  # a programmer's TypeError
}
MOST_LINES = 500


def strings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Every string but docstrings."""
    documentation = {
        id(node.value)
        for parent in ast.walk(tree)
        for node in (parent.body if isinstance(getattr(parent, "body", None), list) else ())
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_sentence(path: Path) -> None:
    allowed = NOT_FOR_PEOPLE.get(path.name, set())
    styles = re.compile(r"[{};]|color|border")  # style sheets
    found = [
        (node.lineno, node.value)
        for node in strings(ast.parse(path.read_text()))
        if SENTENCE.search(node.value) and node.value not in allowed and not styles.search(node.value)
    ]
    assert not found, "sentences belong to presenters/words.py or commands.py"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_number_format(path: Path) -> None:
    formats = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FormattedValue)
        and isinstance(node.format_spec, ast.JoinedStr)
        and any(
            isinstance(v, ast.Constant) and re.search(r"\.\d|,|[efg%]$", str(v.value)) for v in node.format_spec.values
        )
    ]
    assert not formats, "numbers are formatted by presenters/words.py"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MOST_LINES


def test_the_browsers_half_has_no_words_either() -> None:
    script = (Path(zarrscope_app.__file__).parent / "jupyter" / "static" / "widget.js").read_text()
    code = re.sub(r"//[^\n]*", "", script)
    texts = re.findall(r'"([^"\n]*)"', code)
    assert not [text for text in texts if SENTENCE.search(text) and not text.startswith(("zs-", "num "))]
