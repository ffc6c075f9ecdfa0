"""What ZEP 9 says about nodes below a group with extensions: told by the hierarchy, for display."""

from __future__ import annotations

import json
from typing import Any

import pytest

import zarrscope
from zarrscope.stores.memory import MemoryStore

URI = "https://example.com/zarr/"


def group(*items: Any) -> bytes:
    form = {"zarr_format": 3, "node_type": "group", "attributes": {}}
    return json.dumps(form | ({"extensions": [*items]} if items else {})).encode()


def test_a_child_shows_what_the_groups_above_it_declare() -> None:
    store = MemoryStore()
    note = {"name": URI + "note", "configuration": {"a": 1}, "must_understand": False}
    ref = {"name": URI + "note-ref", "configuration": {"reference": "../.."}, "must_understand": False}
    store.set("zarr.json", group(note))
    store.set("g/zarr.json", group())
    store.set("g/h/zarr.json", group(ref))
    found = zarrscope.open(store).extensions("/g/h")
    assert [(each.report.name, each.origin, each.form) for each in found] == [
        (URI + "note-ref", "/g/h", "reference"),
        (URI + "note", "/", "above"),
    ]
    assert found[0].target == "/"
    assert [report.configuration["a"] for report in found[0].resolved] == [1]


def test_a_group_that_demands_what_is_unknown_opens_but_does_not_list() -> None:
    store = MemoryStore()
    store.set("zarr.json", group({"name": URI + "offset", "configuration": {"offset": [1]}}))
    store.set("g/zarr.json", group())
    root = zarrscope.open(store)["/"]
    assert isinstance(root, zarrscope.Group)
    assert root.problem is not None
    with pytest.raises(zarrscope.ZarrscopeError) as caught:
        next(iter(root.children()))
    assert (caught.value.key, caught.value.pointer) == ("zarr.json", "/extensions/0")
    lenient = zarrscope.open(store, "r+", lenient=True)
    assert not lenient.writable
    opened = lenient["/"]
    assert isinstance(opened, zarrscope.Group)
    assert [child.name for child in opened.children()] == ["g"]
    assert opened.warnings


def test_an_array_tells_of_its_codecs_too() -> None:
    store = MemoryStore()
    form = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [4],
        "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 0,
        "codecs": [
            {"name": "numcodecs.delta", "configuration": {"dtype": "<u2"}},
            {"name": "bytes", "configuration": {"endian": "little"}},
            {"name": URI + "squeeze", "must_understand": False},
            {"name": URI + "mystery"},
        ],
    }
    store.set("zarr.json", json.dumps(form).encode())
    array = zarrscope.open(store)["/"]
    assert isinstance(array, zarrscope.Array)
    assert [(r.name, r.outcome.value, r.required) for r in array.extensions if r.point == "codec"] == [
        (URI + "squeeze", "ignored", False),
        ("numcodecs.delta", "used", True),
        (URI + "mystery", "refused", True),
    ]
    assert "mystery" in str(array.problem)
