"""Edits of long documents parse only the parts along their pointer, and give the same result as in short ones."""

from __future__ import annotations

import gc
import json
import random
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from zarrscope.dialects.reading import glance
from zarrscope.errors import ZarrscopeError
from zarrscope.jsondoc import parse, spans
from zarrscope.jsondoc.differences import differences
from zarrscope.jsondoc.document import Document, same_json
from zarrscope.jsondoc.parts import separators
from zarrscope.jsondoc.pointers import pointer_of
from zarrscope.jsondoc.spans import JsonSpan, outline, scan

LETTERS = 'ab",\\[]{}:é\U0001f642\n /~'


def text(chance: random.Random) -> str:
    return "".join(chance.choice(LETTERS) for _ in range(chance.randrange(5)))


def value(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.randrange(8 if depth < 4 else 5)
    if kind < 3:
        return chance.choice([None, True, -5, 7, 1.5, 1e300])
    if kind < 5:
        return text(chance)
    items = [value(chance, depth + 1) for _ in range(chance.randrange(5))]
    return items if kind < 7 else {text(chance): item for item in items}


def pointers(found: Any, place: str = "") -> Iterator[str]:
    yield place
    if isinstance(found, dict | list):
        for name, item in found.items() if isinstance(found, dict) else enumerate(found):
            yield from pointers(item, place + pointer_of([str(name)]))


def edits(seed: int) -> list[Any]:
    """The results of some edits of a document: texts, differences, errors."""
    chance = random.Random(seed)
    whole = {f"k{n}": value(chance) for n in range(chance.randrange(1, 5))}
    spelled = json.dumps(whole, indent=chance.choice([None, 2, "\t"]), ensure_ascii=chance.random() < 0.5)
    if chance.random() < 0.2:
        spelled = spelled.replace('"k1"', '"k0"')
    document = Document(spelled)
    found: list[Any] = []
    for _ in range(4):
        place = chance.choice([*pointers(document.value)])
        act = chance.choice(["set", "extend", "add", "remove", "move", "rename"])
        try:
            if act == "set":
                changed = document.set(place, value(chance))
            elif act == "extend":
                old = document.get(place)
                new = (old + [value(chance)] * chance.randrange(3))[chance.randrange(2) :] if type(old) is list else 1
                changed = document.set(place, new)
                assert same_json(changed.get(place), new)
            elif act == "add":
                changed = document.add(place + chance.choice(["/-", "/0", "/new"]), value(chance))
            elif act == "remove":
                changed = document.remove(place)
            elif act == "move":
                changed = document.move(place, chance.randrange(5))
            else:
                changed = document.rename(place, f"n{chance.randrange(3)}")
        except ZarrscopeError as error:
            found.append(str(error))
            continue
        found += [changed.text, differences(document, changed)]
        document = changed
    return found


def test_parts_that_are_made_one_by_one_give_the_same_edits(monkeypatch: pytest.MonkeyPatch) -> None:
    short = [edits(seed) for seed in range(400)]
    monkeypatch.setattr(spans, "LONG", 0)
    assert [edits(seed) for seed in range(400)] == short
    assert len({str(each) for each in short}) > 300


def places(span: JsonSpan) -> Any:
    names = [(name.value, name.start, name.stop) for name in span.names]
    return span.kind, span.start, span.stop, repr(span.value), names, [places(child) for child in span.children]


def test_parts_lie_where_the_scanner_finds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "LONG", 0)
    for seed in range(400):
        chance = random.Random(seed)
        whole = {"a": value(chance), "b": [value(chance), value(chance)]}
        spelled = json.dumps(whole, indent=chance.choice([None, 2]), ensure_ascii=chance.random() < 0.5)
        assert places(outline(spelled, whole)) == places(scan(spelled).root)


@pytest.mark.parametrize("piece", [1, 2, 3, 7])
def test_pieces_may_end_anywhere(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from zarrscope.jsondoc import parts

    spelled = '["a,\\"],", [1, {"b\\\\": ","}], "\\\\\\",", {}, "\\\\", 5]'
    whole = separators(spelled, 0, len(spelled))
    monkeypatch.setattr(parts, "JSON_PIECE", piece)
    assert separators(spelled, 0, len(spelled)).tolist() == whole.tolist()
    assert len(whole) == 7


COUNT = 200_000
EDITS: dict[str, Callable[[Document], Document]] = {
    "set": lambda document: document.set("/x/5", 1),
    "set text": lambda document: document.set_text(f"/x/{COUNT - 1}", "1"),
    "add": lambda document: document.add("/x/-", [1]),
    "remove": lambda document: document.remove(f"/x/{COUNT // 2}"),
    "move": lambda document: document.move("/x/5", 9),
    "beside": lambda document: document.set("/y", 2),
    "longer": lambda document: document.set("/x", [*document.get("/x"), 1, 2, 3]),
    "shorter": lambda document: document.set("/x", document.get("/x")[:-1000]),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_in_a_list_of_many_items_makes_no_object_of_each(edit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    items = ["[[]]"] * COUNT
    items[5] = "7"
    document = Document(f'{{"x": [{",".join(items)}], "y": 1}}', limit=64 << 20)
    made = 0
    real = JsonSpan.__init__

    def making(self: JsonSpan, *given: Any, **more: Any) -> None:
        nonlocal made
        made += 1
        real(self, *given, **more)

    monkeypatch.setattr(JsonSpan, "__init__", making)
    changed = EDITS[edit](document)
    assert 0 < len(differences(document, changed)) <= 5
    assert made < 3000


def test_finding_a_part_takes_little_memory() -> None:
    document = Document(f'{{"x": [{",".join(["[[]]"] * COUNT)}], "y": 1}}', limit=64 << 20)
    _ = document.text
    tracemalloc.start()
    try:
        assert document.text_at(f"/x/{COUNT - 1}") == "[[]]"
        assert document.text_at("/y") == "1"
        assert tracemalloc.get_traced_memory()[1] < 30 << 20
    finally:
        tracemalloc.stop()


def test_differences_leave_nothing_for_the_garbage_collection() -> None:
    before = Document(json.dumps({"x": [*range(100)]}))
    after = before.set("/x", [i + 1 for i in range(100)])
    gc.collect()
    gc.disable()
    try:
        assert len(differences(before, after)) == 100
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_glance_at_a_long_document_lets_other_threads_run() -> None:
    """json.loads keeps Python's lock to its end; the parser calls Python for each object and each number."""
    data = json.dumps({"node_type": "group", "attributes": {"x": [{"a": i} for i in range(20_000)]}}).encode()
    called = 0

    def profile(frame: Any, event: str, _: object) -> None:
        nonlocal called
        called += event == "call" and frame.f_code.co_filename == parse.__file__

    sys.setprofile(profile)
    try:
        found = glance({"zarr.json": data}, "zarr.json")
    finally:
        sys.setprofile(None)
    assert found["node_type"] == "group"
    assert called > 20_000
