"""Writing by lists and masks of positions gives the same values as numpy's assignment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zarrscope
from zarrscope.stores.memory import MemoryStore

zarr = pytest.importorskip("zarr", minversion="3")

LAYOUTS: list[dict[str, Any]] = [
    {"chunks": (3, 4)},
    {"chunks": (2, 2), "shards": (4, 6)},
    {"chunks": (7, 9)},
    {"chunks": (2, 3), "dialect": "v2"},
    {"chunks": (3, 2), "dialect": "n5"},
]
SHAPE = (7, 9)


def made(layout: dict[str, Any], dtype: str = "i4") -> tuple[zarrscope.Array, np.ndarray[Any, Any]]:
    """The same values in an array of zarrscope and in one of numpy."""
    rest = {name: value for name, value in layout.items() if name != "dialect"}
    array = zarrscope.open(MemoryStore(), "w-", dialect=layout.get("dialect", "v3")).create_array(
        "/a", shape=SHAPE, dtype=dtype, **rest
    )
    values = np.arange(63).reshape(SHAPE).astype(dtype)
    array[...] = values
    return array, values.copy()


def part(length: int) -> st.SearchStrategy[Any]:
    """An index along one axis."""
    return st.one_of(
        st.integers(-length, length - 1),
        st.slices(length),
        st.lists(st.integers(-length, length - 1), max_size=8),
        st.lists(st.booleans(), min_size=length, max_size=length).map(lambda mask: np.array(mask, bool)),
    )


def taken(parts: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The index as numpy's open mesh, and the shape without axes that are indexed by an integer."""
    axes = [
        np.atleast_1d(np.arange(n)[np.asarray(p, int) if isinstance(p, list) else p])
        for p, n in zip(parts, SHAPE, strict=True)
    ]
    return np.ix_(*axes), tuple(len(a) for a, p in zip(axes, parts, strict=True) if not isinstance(p, int))


@settings(deadline=None, max_examples=80)
@given(st.sampled_from(LAYOUTS), part(7), part(9), st.booleans())
def test_orthogonal_writing_is_as_numpy_does_it(layout: Any, first: Any, second: Any, one_value: bool) -> None:
    array, expected = made(layout)
    mesh, shape = taken((first, second))
    values = np.int32(-5) if one_value else -1 - np.arange(int(np.prod(shape)), dtype="i4").reshape(shape)
    before = expected[mesh]
    expected[mesh] = np.broadcast_to(values, shape).reshape(before.shape)
    array.oindex[first, second] = values
    np.testing.assert_array_equal(array[...], expected)
    np.testing.assert_array_equal(array.oindex[first, second], expected[mesh].reshape(shape))


@settings(deadline=None, max_examples=80)
@given(st.sampled_from(LAYOUTS), st.data())
def test_writing_points_is_as_numpy_does_it(layout: Any, data: st.DataObject) -> None:
    array, expected = made(layout)
    n = data.draw(st.integers(0, 20))
    rows = data.draw(st.lists(st.integers(-7, 6), min_size=n, max_size=n))
    columns = data.draw(st.lists(st.integers(-9, 8), min_size=n, max_size=n))
    values = -1 - np.arange(n, dtype="i4")
    expected[np.asarray(rows, int), np.asarray(columns, int)] = values
    array.vindex[rows, columns] = values
    np.testing.assert_array_equal(array[...], expected)


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(LAYOUTS), st.lists(st.booleans(), min_size=63, max_size=63))
def test_writing_by_a_mask_is_as_numpy_does_it(layout: Any, flags: list[bool]) -> None:
    array, expected = made(layout)
    mask = np.array(flags).reshape(SHAPE)
    values = -1 - np.arange(int(mask.sum()), dtype="i4")
    expected[mask] = values
    array.vindex[mask] = values
    np.testing.assert_array_equal(array[...], expected)
    array.vindex[mask] = 0
    assert not array[...][mask].any()


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_of_an_element_that_is_named_twice_the_last_value_stays(layout: dict[str, Any]) -> None:
    array, _ = made(layout)
    array.vindex[[1, 6, 1], [2, 8, 2]] = [10, 20, 30]
    assert array[1, 2] == 30
    array.oindex[[0, 0], [5, 3, 5]] = [[1, 2, 3], [4, 5, 6]]
    assert (array[0, 5], array[0, 3]) == (6, 5)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_zarr_python_writes_the_same(tmp_path: Path, zarr_format: int) -> None:
    for name in ("ours", "theirs"):
        made = zarr.create_array(
            tmp_path / name, shape=(6, 8), chunks=(4, 3), dtype="i4", zarr_format=zarr_format, fill_value=0
        )
        made[...] = np.arange(48).reshape(6, 8)
    theirs = zarr.open_array(tmp_path / "theirs", mode="r+")
    ours = zarrscope.open_array(tmp_path / "ours", mode="r+")
    for array in (theirs, ours):
        array.oindex[[0, 5], [1, 2, 7]] = [[1, 2, 3], [4, 5, 6]]
        array.oindex[np.array([True, False] * 3), slice(2, 4)] = 9
        array.vindex[[0, 3, 5], [0, 4, 7]] = [-1, -2, -3]
        array.vindex[np.eye(6, 8, dtype=bool)] = 77
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "ours")[...], theirs[...])


def test_text_and_missing_chunks_are_written(tmp_path: Path) -> None:
    array = zarrscope.open(tmp_path / "x.zarr", "w-").create_array("/a", shape=(6,), dtype="string", chunks=(4,))
    array.oindex[[5, 1]] = ["five", "one"]
    assert array[...].tolist() == ["", "one", "", "", "", "five"]
    array.vindex[[1, 2]] = "both"
    assert array[...].tolist() == ["", "both", "both", "", "", "five"]


def test_an_array_without_axes_is_written() -> None:
    array = zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=(), dtype="i4")
    array.oindex[...] = 3
    assert array.oindex[...] == 3
    array.vindex[()] = 4
    assert array.vindex[()] == 4


def test_each_chunk_is_written_once_whatever_number_of_its_elements_change() -> None:
    store = MemoryStore()
    array = zarrscope.open(store, "w-").create_array("/a", shape=(8, 8), dtype="i4", chunks=(4, 4), shards=(8, 4))
    written: list[str] = []
    original = MemoryStore._set

    def counted(key: str, *rest: Any) -> Any:
        written.append(key)
        return original(store, key, *rest)

    store._set = counted  # type: ignore[assignment, method-assign]  # counts the calls
    array.oindex[[0, 3, 5, 7], [0, 2, 3]] = 1
    assert written == ["a/c/0/0"]
    array.vindex[[0, 7, 1, 6], [0, 7, 0, 6]] = 1
    assert sorted(written) == ["a/c/0/0", "a/c/0/0", "a/c/0/1"]


def test_what_does_not_fit_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    array, expected = made(LAYOUTS[0])
    for index, values in (([7], 1), ([0.5], 1), ([True], 1)):
        with pytest.raises(IndexError):
            array.oindex[index] = values
    with pytest.raises(IndexError):
        array.vindex[[0], [9]] = 1
    for write in (
        lambda: array.oindex.__setitem__(([0, 1], [0, 1]), [1, 2, 3]),
        lambda: array.vindex.__setitem__(([0, 1], [0, 1]), [1, 2, 3]),
    ):
        with pytest.raises(ValueError, match="broadcast"):
            write()
    np.testing.assert_array_equal(array[...], expected)
    zarrscope.open(tmp_path / "x.zarr", "w-").create_array("/a", shape=(4,), dtype="u1")
    locked = zarrscope.open_array(tmp_path / "x.zarr", "a")
    for indexer in (locked.oindex, locked.vindex):
        with pytest.raises(zarrscope.ReadOnly):
            indexer[[0]] = 1
