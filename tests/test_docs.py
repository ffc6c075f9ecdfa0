"""The docs match the code: generated parts are up to date, and every link, picture and path exists."""

from __future__ import annotations

import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

import machine

PAGES = [machine.ROOT / "README.md", *sorted((machine.ROOT / "resources" / "docs").rglob("*.md"))]
README_LINES = 150


def _named(page: Path) -> str:
    return page.relative_to(machine.ROOT).as_posix()


def _anchors(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_the_generated_pages_are_what_the_code_says() -> None:
    command = [sys.executable, "packaging/generated_docs.py", "--check"]
    done = subprocess.run(command, cwd=machine.ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_each_decision_has_its_four_parts_and_its_date() -> None:
    lacking = []
    for page in (page for page in PAGES if page.parent.name == "decisions" and page.name != "README.md"):
        text = page.read_text(encoding="utf-8")
        parts = ("Context", "Decision", "Rejected", "Consequence")
        lacking += [f"{page.name}: {part}" for part in parts if not re.search(rf"^(\*\*|#+ ){part}", text, re.M)]
        if not re.search(r"^\*Decided \d{4}-\d\d-\d\d\b", text, re.M):
            lacking.append(f"{page.name}: *Decided YYYY-MM-DD.*")
    assert not lacking


def test_the_readme_is_short() -> None:
    assert len(PAGES[0].read_text(encoding="utf-8").splitlines()) <= README_LINES


@pytest.mark.parametrize("page", PAGES, ids=_named)
def test_every_link_and_picture_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{_named(page)} links to {target}, which is not there"
        assert not anchor or anchor in _anchors(file), f"{_named(page)} links to {target}, which has no such heading"


@pytest.mark.parametrize("page", PAGES, ids=_named)
def test_every_path_that_it_names_is_there(page: Path) -> None:
    named = re.findall(r"`((?:packaging|tests|core|app|resources)/[\w./-]+)`", page.read_text(encoding="utf-8"))
    assert not [name for name in named if not (machine.ROOT / name).exists()]


def test_no_page_is_left_alone() -> None:
    linked = {
        (page.parent / target.partition("#")[0]).resolve()
        for page in PAGES
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
        if not re.match(r"[a-z]+:", target)
    }
    assert not [_named(page) for page in PAGES[1:] if page.resolve() not in linked]


def _rules(text: str) -> set[str]:
    """The rules of reference.md that a text cites, such as "spec A.6" or "F.13"."""
    sections = re.findall(r"\b(?:spec|reference\.md) ([A-Z])\b(?!\.\d)", text)
    return {*sections, *re.findall(r"(?<![\w./\"'])([A-FH]\.\d+(?:\.\d+)*)(?![\w\"'])", text)}


def _texts(file: Path) -> str:
    """The docstrings and comments of a module."""
    with file.open("rb") as opened:
        tokens = [*tokenize.tokenize(opened.readline)]
    comments = [each.string for each in tokens if each.type == tokenize.COMMENT]
    strings = [each.string for each in tokens if each.type == tokenize.STRING and each.string[:3] == '"""']
    return "\n".join(comments + strings)


PACKAGES = [machine.ROOT / "core" / "zarrscope", machine.ROOT / "app" / "zarrscope_app"]
EVERYTHING = [
    file
    for folder in ("core", "app", "resources/zarrscope_resources", "packaging", "tests")
    for file in sorted((machine.ROOT / folder).rglob("*.py"))
]
MODULES = [file for package in PACKAGES for file in sorted(package.rglob("*.py"))]


def test_every_rule_that_the_code_cites_is_in_the_reference() -> None:
    page = (machine.ROOT / "resources" / "docs" / "reference.md").read_text(encoding="utf-8")
    written = set(re.findall(r"^#+ ([A-H](?:\.\d+)*)\.? ", page, re.M))
    cited = {rule: file.name for file in EVERYTHING if file.name != "test_docs.py" for rule in _rules(_texts(file))}
    assert len(cited) > 40, "the citations were not found"
    assert not {rule: name for rule, name in cited.items() if rule not in written}


def test_every_file_that_the_code_names_exists() -> None:
    """A plain name is a file of the same folder or the one above; others are named with their folder."""
    files = [f"/{file.relative_to(machine.ROOT).as_posix()}" for file in machine.ROOT.glob("[a-z]*/**/*.py")]
    lost = []
    for file in MODULES:
        for name in re.findall(r"(?<![\w./-])[\w/.]*\w\.py\b", _texts(file)):
            beside = any((folder / name).is_file() for folder in (file.parent, file.parent.parent))
            if not beside and not ("/" in name and any(each.endswith(f"/{name}") for each in files)):
                lost.append(f"{file.relative_to(machine.ROOT)} names {name}")
        lost += [f"{file.name} names {name}" for name in re.findall(r"\b\w+\.md\b", _texts(file)) if name not in DOCS]
    assert not lost


DOCS = {page.name for page in PAGES}
