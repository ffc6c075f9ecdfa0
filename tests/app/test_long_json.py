"""The JSON text of a large document is made, edited and compared in pieces, and only the edited part is parsed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

from zarrscope.errors import BadMetadata
from zarrscope.jsondoc import parse, parts, sharing
from zarrscope.jsondoc.document import Document
from zarrscope_app.presenters.form import line_diff
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.json_text import fault_in, text_of, with_text
from zarrscope_app.presenters.form.line_diff import changed_lines

PREFIX = "/attributes"
ATTRIBUTES = {
    "ome": {"version": "0.5", "name": "x"},
    "numbers": [0.5 * i for i in range(20_000)],
    "rows": [{"label": i, "class": f"cell {i}"} for i in range(20_000)],
}


def document(newline: str = "\n") -> Document:
    spelled = json.dumps({"zarr_format": 3, "attributes": ATTRIBUTES, "node_type": "group"}, indent=2)
    return Document(spelled.replace("\n", newline), "zarr.json")


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of all texts that are parsed from now on."""
    lengths: list[int] = []
    real = parse.parse_text

    def parsing(text: str, notes: list[str]) -> object:
        lengths.append(len(text))
        return real(text, notes)

    for module in (parse, sharing):
        monkeypatch.setattr(module, "parse_text", parsing)
    return lengths


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_edit_of_the_text_parses_no_part_beside_it(newline: str, parsed: list[int]) -> None:
    before = document(newline)
    text = text_of(before, PREFIX)
    assert json.loads(text) == ATTRIBUTES
    assert text.startswith('{\n  "ome"'), "without the indentation of the attributes"
    parsed.clear()
    after = with_text(before, PREFIX, text.replace('"name": "x"', '"name": "other",\n    "more": 1'))
    assert after.text == before.text.replace('"name": "x"', f'"name": "other",{newline}      "more": 1')
    assert max(parsed) < 1000
    assert after.get("/attributes/rows") is before.get("/attributes/rows"), "both versions share what was not edited"


def test_a_text_may_not_reach_beyond_the_attributes() -> None:
    before = document()
    text = text_of(before, PREFIX)
    beyond = text[:-1] + '}, "added": {\n  "x": 1\n}'
    with pytest.raises(BadMetadata):
        with_text(before, PREFIX, beyond)
    fault = fault_in(beyond, Draft(before, PREFIX))
    assert fault is not None
    assert fault.line == text.count("\n") + 1


def test_a_fault_is_named_by_its_place_in_the_text() -> None:
    before = document()
    lines = text_of(before, PREFIX).split("\n")
    lines[30_000] = '"class" 5'
    fault = fault_in("\n".join(lines), Draft(before, PREFIX))
    assert fault is not None
    assert (fault.line, "column 9" in fault.sentence) == (30_001, True)


@pytest.mark.parametrize("piece", [1, 7, 1 << 16])
def test_texts_are_cut_anywhere(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"a": 1, "b": [1, {"c": "x\u2028y"}], "d": {"e": []}}
    chance = random.Random(piece)
    for indent in (None, 1, 4, "\t"):
        spelled = json.dumps({"x": 1, "attributes": small, "y": 2}, indent=indent, ensure_ascii=False)
        for newline in ("\n", "\r\n"):
            before = Document(spelled.replace("\n", newline))
            whole = text_of(before, PREFIX)
            at = chance.randrange(1, len(whole) - 1)
            typed = [f"{whole[:at]}{new}{whole[at + cut :]}" for cut in (0, 1, 5) for new in ("", "\n", "1", ",", '"')]
            expected = [_outcome(before, each) for each in typed]
            with monkeypatch.context() as patch:
                patch.setattr(parts, "JSON_PIECE", piece)
                assert text_of(before, PREFIX) == whole
                assert [_outcome(before, each) for each in typed] == expected


def _outcome(before: Document, text: str) -> str:
    try:
        made = with_text(before, PREFIX, text)
    except BadMetadata as error:
        return str(error)
    assert made.get(PREFIX) == json.loads(text)
    assert (made.get("/x"), made.get("/y")) == (1, 2)
    return made.text


EDITS: dict[str, Callable[[list[str]], list[str]]] = {
    "first": lambda lines: ["other", *lines[1:]],
    "last": lambda lines: [*lines[:-1], "other"],
    "gone": lambda lines: lines[:500] + lines[503:],
    "added": lambda lines: [*lines[:700], "a", "", "b", *lines[700:]],
    "two": lambda lines: [*lines[:100], "a", *lines[100:2000], *lines[2005:]],
    "cut off": lambda lines: lines[:50],
    "all": lambda lines: ["other"],
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_long_text_is_compared_around_its_change(edit: str, newline: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"line {i % 7}" if i % 5 else "" for i in range(3000)]
    lines[10] = "one\u2028and\x85two"
    before, after = newline.join(lines), newline.join(EDITS[edit](lines))
    expected = [*changed_lines(before, after, "a", "b")]
    assert expected[2].startswith("@@ -")
    monkeypatch.setattr(line_diff, "MOST_BROKEN", 1000)
    monkeypatch.setattr(parts, "JSON_PIECE", 100)
    assert [*changed_lines(before, after, "a", "b")] == expected


def test_of_a_long_text_only_the_lines_around_a_change_are_split() -> None:
    before = "\n".join(f"line {i}" for i in range(100_000))
    old, new, skipped = line_diff._around_changes(before, before.replace("line 70000\n", "other\n"))
    assert "line 70000" in old
    assert "other" in new
    assert max(len(old), len(new)) < 200
    assert before.splitlines()[skipped] == old.splitlines()[0]
