"""Arguments that a person gives by mistake: each is taken as numpy and zarr-python take it, or refused in words."""

from __future__ import annotations

import builtins
import copy
import json
import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from machine import ROOT
from narrowing import as_array
from zarrscope.model.dtype import data_type
from zarrscope.stores.memory import MemoryStore


@pytest.fixture
def h() -> zarrscope.Hierarchy:
    made = zarrscope.open(MemoryStore(), "w-")
    made.create_array("/g/a", shape=(4, 5), dtype="i4", chunks=(2, 2))[...] = np.arange(20).reshape(4, 5)
    made["/g"].attrs["x"] = {"y": [1]}
    return made


def test_one_number_is_one_axis_and_one_chunk_length_holds_for_all_axes(h: zarrscope.Hierarchy) -> None:
    one = h.create_array("/one", shape=np.int64(7), dtype="u1", chunks=3)  # type: ignore[arg-type]  # as numpy has it
    assert (one.shape, one.chunks) == ((7,), (3,))
    one.resize(9)
    assert one.shape == (9,)
    both = h.create_array("/both", shape=(8, 6), dtype="u1", chunks=2, shards=4, codecs="zstd")
    assert (both.chunks, both.shards) == ((2, 2), (4, 4))
    both[...] = 3
    assert as_array(zarrscope.open(h.store)["/both"])[7, 5] == 3


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"shape": (2**63,)}, zarrscope.Refused),
        ({"shape": (-1,)}, zarrscope.Refused),
        ({"shape": (4.0,)}, TypeError),
        ({"shape": ("4",)}, TypeError),
        ({"shape": "44"}, TypeError),
        ({"chunks": "auto"}, TypeError),
        ({"chunks": (2.5,)}, TypeError),
        ({"chunks": 0}, zarrscope.Refused),
        ({"codecs": [1]}, TypeError),
        ({"fill_value": 1.5}, zarrscope.Refused),
        ({"fill_value": [1, 2]}, zarrscope.Refused),
        ({"fill_value": "abcd", "dtype": "U3"}, zarrscope.Refused),
        ({"fill_value": 1e300, "dtype": "f4"}, zarrscope.Refused),
        ({"fill_value": 2, "dtype": "bool"}, zarrscope.Refused),
        ({"fill_value": 5, "dtype": "string"}, zarrscope.Refused),
        *(
            ({"fill_value": fill, "dtype": data_type(name)}, zarrscope.Refused)
            for name, fill in (
                ("int4", 9),
                ("uint2", -1),
                ("int4", 0.5),
                ("float4_e2m1fn", float("nan")),
                ("float4_e2m1fn", float("inf")),
                ("float8_e8m0fnu", 0.0),
                ("float8_e8m0fnu", -1),
                ("float8_e4m3fnuz", 1e9),
            )
        ),
    ],
    ids=str,
)
def test_an_array_that_would_not_be_the_one_asked_for_is_not_made(
    h: zarrscope.Hierarchy, wrong: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        h.create_array("/new", **{"shape": (4,), "dtype": "i4", **wrong})
    assert "/new" not in h


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        ("u1", 2.0),
        ("bool", 1),
        ("f4", 0.1),
        ("f4", float("inf")),
        ("S4", b"ab\0\0"),
        ("M8[s]", "2026-01-01"),
        ("c8", 1j),
    ],
    ids=str,
)
def test_fill_values_that_lose_nothing_are_taken(h: zarrscope.Hierarchy, dtype: str, fill: Any) -> None:
    made = h.create_array("/new", shape=(2,), dtype=dtype, fill_value=fill)
    assert made[0] == np.array(fill, dtype)


def test_lengths_and_indices_that_are_no_whole_numbers_are_refused(h: zarrscope.Hierarchy) -> None:
    array = h["/g/a"]
    assert isinstance(array, zarrscope.Array)
    before = array[...]
    for shape in ((4.5, 5), "ab", ("4", "5")):
        with pytest.raises(TypeError, match="shape must hold"):
            array.resize(shape)  # type: ignore[arg-type]  # on purpose
    for lengths in ((2**63, 5), (-1, 5)):
        with pytest.raises(ValueError, match="between 0 and 2"):
            array.resize(lengths)
    with pytest.raises(ValueError, match=r"2 axes, and the shape \(4, 5, 6\) has 3"):
        array.resize((4, 5, 6))
    with pytest.raises(TypeError):
        array.read_chunk((0.5, 0))  # type: ignore[arg-type]  # on purpose
    assert np.array_equal(array[...], before)


def test_a_path_that_is_no_text_is_a_type_error(h: zarrscope.Hierarchy) -> None:
    for node in (h, h["/g"]):
        for path in (1, None, b"a", Path("a")):
            with pytest.raises(TypeError, match="the path of a node is text"):
                node[path]  # type: ignore[index]  # no text: it must be refused


@pytest.mark.parametrize("path", ["/g", "/g/a"])
def test_attributes_as_read_take_no_change(h: zarrscope.Hierarchy, path: str) -> None:
    node = h[path]
    node.attrs["x"] = {"y": [1]}
    attributes: Any = node.attributes
    changes = [
        lambda: attributes.__setitem__("x", 2), lambda: attributes.update(x=2), lambda: attributes.pop("x"),
        lambda: attributes.setdefault("z", 2), attributes.clear, attributes.popitem,
        lambda: attributes.__delitem__("x"), lambda: attributes.__ior__({"x": 2}),
    ]  # fmt: skip
    for change in changes:
        with pytest.raises(TypeError, match="attrs saves changes"):
            change()
    assert attributes == {"x": {"y": [1]}}
    assert json.loads(json.dumps(attributes)) == attributes
    assert isinstance(attributes, Mapping)
    plain = copy.deepcopy(attributes)
    plain["x"] = 3  # type: ignore[index]  # a copy is a plain dict
    assert pickle.loads(pickle.dumps(attributes)) == attributes
    with pytest.raises(TypeError):
        pickle.loads(pickle.dumps(node)).attributes["x"] = 3
    node.attrs.refresh()
    with pytest.raises(TypeError):
        node.attributes["x"] = 3  # type: ignore[index]  # it must fail


def test_names_are_completed_in_ipython_and_a_store_that_is_gone_proposes_none(tmp_path: Path) -> None:
    h = zarrscope.open(str(tmp_path / "h"), "w-")
    h.create_array("/g/a", shape=(2,), dtype="u1")
    group: Any = h["/g"]
    assert h._ipython_key_completions_() == ["g"]
    assert group._ipython_key_completions_() == ["a"]
    (tmp_path / "h").rename(tmp_path / "gone")
    assert h._ipython_key_completions_() == []
    assert group._ipython_key_completions_() == []
    assert "/g" in repr(group)


PAGE = (ROOT / "resources" / "docs" / "python.md").read_text(encoding="utf-8")
WRONG = [
    (call, error)
    for error, cell in re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.partition("Wrong arguments raise")[2], re.MULTILINE)
    for call in re.findall(r"`(.+?)`", cell)
]


@pytest.mark.parametrize(("call", "error"), WRONG, ids=[call for call, _ in WRONG])
def test_wrong_arguments_raise_the_errors_of_the_guide(call: str, error: str) -> None:
    made = zarrscope.open(MemoryStore(), "w-")
    array, group = made.create_array("/a", shape=(4, 5), dtype="u1", chunks=(2, 2)), made.root
    with pytest.raises(getattr(builtins, error)) as caught:
        exec(call, {"array": array, "group": group, "np": np})
    assert not isinstance(caught.value, zarrscope.ZarrscopeError)
    assert len(str(caught.value).split()) > 3, "the text names the fault"


def test_the_guide_has_a_table_of_wrong_arguments() -> None:
    assert len(WRONG) > 10
