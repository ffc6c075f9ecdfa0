"""An edit does not parse the large unchanged parts of a document again: the old and the new value share them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import zarrscope
from narrowing import as_array
from zarrscope.errors import NotFound, Refused
from zarrscope.jsondoc import parse
from zarrscope.jsondoc.document import Document
from zarrscope.stores.memory import MemoryStore

LARGE: list[list[list[int]]] = [[[]]] * 20_000


def parsed_texts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the texts that are parsed from now on."""
    lengths: list[int] = []
    real = parse._parse_quickly

    def parsing(text: str, notes: list[str]) -> Any:
        lengths.append(len(text))
        return real(text, notes)

    monkeypatch.setattr(parse, "_parse_quickly", parsing)
    return lengths


ACTS: dict[str, Callable[[Any], object]] = {
    "resize": lambda array: array.resize((6,)),
    "set": lambda array: array.attrs.__setitem__("y", 1),
    "update": lambda array: array.attrs.update({"y": 1, "z": {"a": [2]}}),
    "remove": lambda array: array.attrs.__delitem__("small"),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("dialect", ["v3", "v2"])
def test_an_edit_parses_a_large_document_once(dialect: str, act: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    attributes = {"small": 0, "x": LARGE}
    made = zarrscope.open(store, "w-", dialect=dialect)
    made.create_array("/a", shape=(4,), dtype="u1", chunks=(2,), attributes=attributes)
    array = zarrscope.open(store, "r+")["a"]
    lengths = parsed_texts(monkeypatch)
    ACTS[act](array)
    assert sum(length > 100_000 for length in lengths) == 1, lengths
    monkeypatch.undo()
    again = as_array(zarrscope.open(store)["a"])
    assert again.attributes["x"] == LARGE
    assert again.shape == as_array(array).shape
    assert dict(again.attributes) == dict(array.attributes)


def values(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(7 if depth < 4 else 5)
    if kind == 5:
        return [values(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 6:
        return {f"k{rng.randrange(9)}": values(rng, depth + 1) for _ in range(rng.randrange(4))}
    return (None, True, rng.random(), rng.randrange(10**6), f'é"\\{rng.random()}')[kind]


def pointers(value: Any, above: str = "") -> Iterator[str]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in items:
        if not isinstance(value, list) or name < 9 or name > len(value) - 3:
            yield f"{above}/{name}"
            yield from pointers(each, f"{above}/{name}")


def edited(document: Document, rng: random.Random) -> Document:
    pointer = rng.choice([*pointers(document.value)])
    holder, new = document.get(pointer), values(rng)
    end = "/-" if isinstance(holder, list) else f"/new{rng.random()}" if isinstance(holder, dict) else None
    return rng.choice(
        [
            lambda: document.set(pointer, new),
            lambda: document.set_text(pointer, json.dumps(new)),
            lambda: document.remove(pointer),
            lambda: document.add(pointer + end, new) if end is not None else document,
        ]
    )()


def test_the_value_after_any_edit_is_that_of_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(11)
    tried = parsed = 0
    for _ in range(5):
        large = [values(rng, 2) for _ in range(4000)], {f"n{i}": values(rng, 2) for i in range(4000)}
        content = {"shape": [1], "attributes": {"list": large[0], "small": 1, "object": large[1]}}
        document = Document(json.dumps(content, indent=rng.choice([None, 2]), ensure_ascii=rng.random() < 0.5))
        lengths = parsed_texts(monkeypatch)
        for _ in range(8):
            before = len(document.bytes)
            lengths.clear()
            try:
                after = edited(document, rng)
            except (Refused, NotFound):
                continue
            tried += 1
            parsed += max(lengths, default=0) > 0.9 * before
            assert json.dumps(after.value) == json.dumps(json.loads(after.text)), "the order of members, too"
            document = after if isinstance(after.get("/attributes/object", None), dict) else document
        monkeypatch.undo()
    assert tried > 20
    assert parsed <= tried // 10


def test_non_standard_texts_are_parsed_whole() -> None:
    text = f'{{"x": {json.dumps(LARGE)}, "y": NaN, "z": 1}}'
    document = Document(text)
    assert document.set("/z", 2).notes == document.notes != ()
    mixed = Document(text.replace("NaN", "0")).set_text("/z", "NaN")
    assert mixed.notes != ()


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("act", ["set", "add", "insert", "remove", "move", "last", "first", "two"])
def test_an_edit_in_a_long_list_parses_only_the_items_around_it(
    act: str, indent: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = [{"label": i, "class": f"cell {i % 7}", "inner": [i, {}]} for i in range(20_000)]
    before = Document(json.dumps({"small": 1, "x": items}, indent=indent))
    acts: dict[str, Callable[[], Document]] = {
        "set": lambda: before.set("/x/9000/class", "other"),
        "add": lambda: before.add("/x/-", {"label": -1}),
        "insert": lambda: before.add("/x/10000", {"label": -1}),
        "remove": lambda: before.remove("/x/12000"),
        "move": lambda: before.move("/x/7000", 7002),
        "last": lambda: before.set("/x/19999", "last"),
        "first": lambda: before.remove("/x/0"),
        "two": lambda: before.set_texts({"/x/5/label": "-1", "/x/15000": "[]"}),
    }
    lengths = parsed_texts(monkeypatch)
    after = acts[act]()
    assert max(lengths) < 2000
    monkeypatch.undo()
    assert after.value == json.loads(after.text)
    assert after.text != before.text
    assert before.value == json.loads(before.text), "the value before the edit is another list"
    assert any(after.get("/x/15005") is item for item in before.value["x"]), "the items are shared"
