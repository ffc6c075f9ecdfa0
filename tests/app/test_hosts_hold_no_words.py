"""Hosts contain no sentences and no number formats, which belong to presenters, and no overlong files."""

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
    "planes.py": {"Zarr explorer"},  # the widget's name in the manifest, by which napari finds it
    "tabs.py": {"reverse bold", "bold reverse"},  # styles
    "picker.py": {"bold reverse"},  # a style
    "panes.py": {"<table cellspacing='0' cellpadding='0'>"},  # markup
    "text.py": {"<span style='white-space:pre-wrap'>"},  # markup
}
MOST_LINES = 500


def _body(node: ast.AST) -> list[ast.AST]:
    found = getattr(node, "body", None)
    return found if isinstance(found, list) else []


def strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The line and the text of every string except docstrings."""
    documentation = {
        id(node.value)
        for parent in ast.walk(tree)
        for node in _body(parent)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.lineno, node.value


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_sentence(path: Path) -> None:
    allowed = NOT_FOR_PEOPLE.get(path.name, set())
    styles = re.compile(r"[{};]|color|border")  # style sheets
    found = [
        (line, text)
        for line, text in strings(ast.parse(path.read_text()))
        if SENTENCE.search(text) and text not in allowed and not styles.search(text)
    ]
    assert not found, "sentences belong to presenters/strings.py or commands.py"


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
    assert not formats, "numbers are formatted by presenters/strings.py"


def test_no_file_of_the_applications_is_long() -> None:
    lines = {path: len(path.read_text().splitlines()) for path in Path(zarrscope_app.__file__).parent.rglob("*.py")}
    assert not {str(path): n for path, n in lines.items() if n > MOST_LINES}


def test_the_browsers_half_has_no_words_either() -> None:
    scripts = sorted((Path(zarrscope_app.__file__).parent / "jupyter" / "static").glob("*.js"))
    code = re.sub(r"//[^\n]*", "", "\n".join(script.read_text("utf-8") for script in scripts))
    texts = re.findall(r'"([^"\n]*)"', code)
    assert not [text for text in texts if SENTENCE.search(text) and not text.startswith(("zs-", "num "))]


@pytest.mark.parametrize("folder", ["qt", "napari"])
def test_no_label_or_tooltip_of_a_window_can_be_html(folder: str) -> None:
    """Labels are of class `Label`; a tooltip is a constant of ours, or the result of `tip`
    (zarrscope_app/qt/text.py)."""
    bad = []
    for file in sorted((Path(zarrscope_app.__file__).parent / folder).glob("*.py")):
        if (folder, file.name) == ("qt", "text.py"):
            continue
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(call, ast.Call):
                continue
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if name == "QLabel":
                bad.append(f"{file.name}:{call.lineno} makes a QLabel")
            if name == "setToolTip":
                said = ast.unparse(call.args[-1])
                if not said.startswith(("tip(", "LABELS[", "command(", "strings.CANCEL", "labels['")):
                    bad.append(f"{file.name}:{call.lineno} setToolTip({said})")
    assert not bad
