"""data/requirements.tsv lists every must and should of five specifications with its tests, or the reason why it has
none; data/hazards.tsv does so for untrusted files (reference.md F).

test_draft_examples.py has the addresses of the texts. `places` are text:line, with the lines of the texts as plain
text; `proof` names test functions, or gives a dated reason. The rules are in our words.
"""

from __future__ import annotations

import ast
import csv
import re
from pathlib import Path

import pytest

import machine

TESTS = Path(__file__).resolve().parents[1]
KEYWORD = re.compile(r"\b(must|should|shall)\b", re.IGNORECASE)


def rows(table: str = "requirements") -> list[dict[str, str]]:
    with (TESTS / "data" / f"{table}.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def functions() -> set[str]:
    found = set()
    for path in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                found.add(node.name)
    return found


def test_every_requirement_has_tests_that_exist_or_a_dated_reason() -> None:
    known = functions()
    assert len(rows()) > 50
    for row in rows():
        assert row["rule"], row
        if not re.match(r"20\d\d-\d\d-\d\d: \w", row["proof"]):
            names = row["proof"].split()
            assert names, row
            assert not [name for name in names if name not in known], row


def test_every_place_is_listed_once() -> None:
    places = [place for row in rows() for place in row["places"].split()]
    assert all(re.fullmatch(r"00[0-4]:\d+", place) for place in places)
    assert len(places) == len(set(places))


def test_every_rule_on_hazards_has_tests_that_exist() -> None:
    known = functions()
    assert [int(row["rule"]) for row in rows("hazards")] == [*range(1, 30)]
    for row in rows("hazards"):
        names = row["proof"].split()
        assert row["what holds"], row
        assert names, row
        assert not [name for name in names if name not in known], row


@pytest.mark.needs("cases")
def test_no_requirement_of_the_texts_is_left_out() -> None:
    conformance = machine.conformance()
    assert conformance is not None
    texts = sorted((conformance.parent / "seeds").glob("00*.txt"))
    if not texts:
        pytest.skip("the texts do not lie in the folder seeds beside the conformance cases")
    listed = {place for row in rows() for place in row["places"].split()}
    for path in texts:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if KEYWORD.search(line):
                assert f"{path.name[:3]}:{number}" in listed, line
