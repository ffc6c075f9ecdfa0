"""The table "Beside zarr-python" of resources/docs/python.md: every row is run with both."""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import MutableMapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import zarrscope
from machine import ROOT
from zarrscope.stores.memory import MemoryStore

zarr = pytest.importorskip("zarr", minversion="3")

PAGE = (ROOT / "resources" / "docs" / "python.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(.+?)` \| (\w+) \| (.*?) ?\|$", PAGE.partition("## Beside zarr-python")[2], re.MULTILINE)
CALLS = [row[0] for row in ROWS]
THEIRS = [
    name
    for cell, _ in re.findall(r"^\| (`\w+\..+?`) \| (.+) \|$", PAGE.partition("| only in zarr-python")[2], re.MULTILINE)
    for name in re.findall(r"`(.+?)`", cell)
]
"""The names that only zarr-python has, as "group.tree"."""


def made(folder: Path, zarr_format: int) -> str:
    """The same hierarchy for zarr-python and for zarrscope."""
    place = folder / "x.zarr"
    group = zarr.open_group(place, mode="w", zarr_format=zarr_format)
    group.create_array("a", shape=(4, 5), chunks=(2, 2), dtype="i4")[...] = np.arange(20).reshape(4, 5)
    group.create_array("b", shape=(3,), dtype="f4")
    group.create_array("without", shape=(0, 2), chunks=(1, 2), dtype="u1")
    group.create_array("text", shape=(2,), dtype=str)[...] = "cell"
    inner = group.create_group("g")
    inner.create_array("deep", shape=(2,), dtype="u1")
    inner.create_group("empty")
    group.attrs["made by"] = "zarr"
    return str(place)


def space(package: Any, url: str) -> dict[str, Any]:
    group = package.open_group(url, mode="r+")
    z = zarr if package is zarr else _Ours()
    return {"z": z, "url": url, "group": group, "array": group["a"], "np": np, "pickle": pickle}


class _Ours:
    """Public functions only, so that a row of the table cannot use others."""

    open = staticmethod(zarrscope.open)
    open_array = staticmethod(zarrscope.open_array)
    open_group = staticmethod(zarrscope.open_group)


class Kinds(frozenset[type]):
    """The built-in classes of an error."""


ABSTRACT = (OSError, LookupError, Exception, BaseException, object)


def outcome(call: str, names: dict[str, Any]) -> Any:
    """The result of a call in a form that can be compared; for an error, its built-in classes."""
    try:
        value = eval(call, dict(names))
    except Exception as error:
        return Kinds(kind for kind in type(error).__mro__ if kind.__module__ == "builtins" and kind not in ABSTRACT)
    if isinstance(value, np.ndarray | np.generic):
        return (value.dtype, value.tolist())
    return value


def stored(url: str) -> dict[str, Any]:
    """The whole hierarchy as zarr-python reads it."""
    group = zarr.open_group(url, mode="r")
    return {
        "attributes": dict(group.attrs),
        **{name: (node[...].tolist(), dict(node.attrs)) for name, node in group.arrays()},
    }


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(("call", "here", "why"), ROWS, ids=CALLS)
def test_each_row_holds(call: str, here: str, why: str, zarr_format: int, tmp_path: Path) -> None:
    urls = [made(tmp_path / name, zarr_format) for name in ("theirs", "ours")]
    theirs, ours = (outcome(call, space(each, url)) for each, url in zip((zarr, zarrscope), urls, strict=True))
    if here == "same":
        assert _alike(theirs, ours)
        assert isinstance(ours, Kinds) == ("Error`" in why)
        assert stored(urls[0]) == stored(urls[1])
        return
    if here == "ours":
        assert isinstance(theirs, Kinds)
        assert theirs & {AttributeError, TypeError}
        assert not isinstance(ours, Kinds)
        return
    assert here == "different"
    assert why, "a difference has a reason"
    assert not _alike(theirs, ours) or stored(urls[0]) != stored(urls[1])


def _alike(theirs: Any, ours: Any) -> bool:
    if isinstance(theirs, Kinds) and isinstance(ours, Kinds):
        return bool(theirs & ours)
    return bool(theirs == ours)


@pytest.mark.parametrize("kind", ["Array", "Group"])
def test_the_table_names_all_that_is_public_here(kind: str) -> None:
    node = zarrscope.open(MemoryStore(), "w-")
    thing = node.create_array("/a", shape=(2,), dtype="u1") if kind == "Array" else node.root
    start = r"\barray" if kind == "Array" else r"\bgroup"
    named = {name for call in CALLS for name in re.findall(rf"{start}\.(\w+)", call)}
    assert {name for name in dir(thing) if not name.startswith("_")} <= named


def public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def named_in_rows(start: str) -> set[str]:
    """The names after `start` ("group", "array", "attrs", "z") in the calls of both tables."""
    return {name for call in [*CALLS, *THEIRS] for name in re.findall(rf"\b{start}\.(\w+)", call)}


def pair(kind: str) -> tuple[object, object]:
    """The same kind of thing of zarr-python and of zarrscope."""
    if kind == "z":
        return SimpleNamespace(**dict.fromkeys(zarr.__all__)), SimpleNamespace(**dict.fromkeys(zarrscope.__all__))
    theirs, ours = zarr.open_group({}, mode="w"), zarrscope.open(MemoryStore(), "w-")
    if kind == "group":
        return theirs, ours.root
    if kind == "attrs":
        return theirs.attrs, ours.root.attrs
    made = {"shape": (2,), "dtype": "u1"}
    return theirs.create_array("a", **made), ours.create_array("/a", **made)  # type: ignore[arg-type]  # a plain dict


KINDS = ["group", "array", "attrs", "z"]
COMPARED = re.search(r"^zarr==(.+)$", (ROOT / "packaging/constraints.txt").read_text("utf-8"), re.MULTILINE)
"""The version that the list was made from. Others may have more names, or fewer."""


@pytest.mark.filterwarnings("ignore")  # reading a deprecated name warns
@pytest.mark.parametrize("kind", KINDS)
def test_each_public_name_of_zarr_python_is_here_or_in_a_row(kind: str) -> None:
    theirs, ours = pair(kind)
    missing = public(theirs) - public(ours)
    if COMPARED is None or zarr.__version__ != COMPARED[1]:
        missing &= named_in_rows(kind)
    assert missing <= named_in_rows(kind)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_names_that_are_said_to_be_theirs_alone_are_not_here(kind: str) -> None:
    theirs, ours = pair(kind)
    listed = {name.partition(".")[2] for name in THEIRS if name.startswith(f"{kind}.")}
    assert not listed & {*dir(ours)}
    if COMPARED is not None and zarr.__version__ == COMPARED[1]:
        assert listed <= {*dir(theirs)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_each_name_that_both_have_is_in_a_row(kind: str) -> None:
    theirs, ours = pair(kind)
    both = public(theirs) & public(ours)
    if kind == "attrs":
        both -= {*dir(MutableMapping)}
    if kind == "z":
        both -= {"Array", "Group"}  # classes, whose names are compared above
    assert both <= named_in_rows(kind)


def test_each_keyword_of_zarr_python_for_new_arrays_is_here_or_in_a_row() -> None:
    theirs = {*inspect.signature(zarr.create_array).parameters, *inspect.signature(zarr.Group.create_array).parameters}
    ours = {*inspect.signature(zarrscope.Hierarchy.create_array).parameters}
    listed = set(re.findall(r"`(\w+)[`=]", PAGE.partition("| keyword of zarr-python")[2].partition("\n\n")[0]))
    assert theirs - ours - {"store", "name", "self"} <= listed
    assert not listed & {"shape", "dtype", "fill_value", "attributes", "dimension_names"}


def test_the_table_is_a_table() -> None:
    assert len(ROWS) > 60
    assert len(THEIRS) > 90
    assert len(set(THEIRS)) == len(THEIRS)
    assert {here for _, here, _ in ROWS} == {"same", "ours", "different"}
    assert len(set(CALLS)) == len(CALLS)
