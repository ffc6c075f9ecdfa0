"""Lists in plain indexing, blocks, `append`, and nodes made by a group: as in zarr-python 3, and safely."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from narrowing import as_array, as_group
from zarrscope.errors import Exists, Unreadable
from zarrscope.stores.memory import MemoryStore

zarr = pytest.importorskip("zarr", minversion="3")

VALUES = np.arange(20).reshape(4, 5)
MASK = np.array([True, False, True, False])


@pytest.fixture(params=[2, 3])
def both(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, zarrscope.Array]:
    """Two equal arrays, as zarr-python and as zarrscope open them, in each format."""
    found: list[Any] = []
    for name, package in (("theirs", zarr), ("ours", zarrscope)):
        made = zarr.open_group(tmp_path / name, mode="w", zarr_format=request.param)
        made.create_array("a", shape=(4, 5), chunks=(2, 2), dtype="i4")[...] = VALUES
        found.append(package.open_group(str(tmp_path / name), mode="r+")["a"])
    return found[0], found[1]


# ---------------------------------------------------------------------------------------------- lists
ALIKE: list[Any] = [
    ([0, 2],),
    ([3, 0, 3], slice(None)),
    (slice(None), [0, 2]),
    ([0, 2], [1, 3]),
    ([0, 2], 1),
    (1, [0, -1]),
    (slice(None), np.array([True, False, True, False, False])),
    (VALUES > 10,),
]


@pytest.mark.parametrize("index", ALIKE, ids=str)
def test_lists_read_and_write_as_in_zarr_python_and_numpy(both: tuple[Any, zarrscope.Array], index: Any) -> None:
    index = index if len(index) > 1 else index[0]
    theirs, ours = both
    np.testing.assert_array_equal(ours[index], VALUES[index])
    np.testing.assert_array_equal(theirs[index], VALUES[index])
    expected = VALUES.copy()
    expected[index] = np.arange(VALUES[index].size).reshape(VALUES[index].shape)
    for array in (theirs, ours):
        array[index] = np.arange(VALUES[index].size).reshape(VALUES[index].shape)
        np.testing.assert_array_equal(array[...], expected)


@pytest.mark.parametrize(
    "index",
    [
        MASK,
        ([0, 2], ...),
        (..., [0, 2]),
        [],
        (range(3),),
        ([[0, 1], [2, 3]], [0, 1]),
        (MASK, [1, 3]),
        np.array(3),
        (np.array([1]),),
        ((0, 2),),
    ],
    ids=str,
)
def test_more_lists_are_read_as_numpy_reads_them(both: tuple[Any, zarrscope.Array], index: Any) -> None:
    np.testing.assert_array_equal(both[1][index], VALUES[index])


def test_one_list_beside_integers_and_slices() -> None:
    volume = np.arange(24).reshape(2, 3, 4)
    array = zarrscope.open({}, "w-").create_array("/a", shape=(2, 3, 4), dtype="i4", chunks=(2, 2, 2))
    array[...] = volume
    index: Any
    for index in [(slice(None), [0, 2], 1), ([0, 1], 0), (0, [1, 2], [0, 1]), (1, [2, 0]), (..., 1, [3, 0])]:
        np.testing.assert_array_equal(array[index], volume[index])
    for index in [(0, slice(None), [0, 2]), ([0, 1], slice(None), [0, 2]), ([0, 1], [0, 2])]:
        with pytest.raises(IndexError, match="oindex"):
            array[index]
        with pytest.raises(IndexError, match="oindex"):
            array[index] = 1
    for index in [([0, 1], None), (0, [1, 2], [0, 1], None)]:
        with pytest.raises(IndexError, match="newaxis does not go with lists"):
            array[index]
    with pytest.raises(IndexError, match=r"newaxis are valid here$"):
        array["x"]
    np.testing.assert_array_equal(array[...], volume)


@pytest.mark.parametrize("index", [[9], [1.5], ["x"], [[0], [1, 2]], np.ones((2, 2), bool), ([0], [0], [0])], ids=str)
def test_lists_that_do_not_fit_are_index_errors(both: tuple[Any, zarrscope.Array], index: Any) -> None:
    for array in both:
        with pytest.raises((IndexError, ValueError)):
            array[index]
    with pytest.raises(IndexError):
        both[1][index]


def test_a_mask_of_one_axis_stands_for_its_positions_among_points() -> None:
    array = zarrscope.open({}, "w-").create_array("/a", shape=(4, 5), dtype="i4")
    array[...] = VALUES
    assert array.vindex[MASK, [1, 3]].tolist() == [1, 13]
    with pytest.raises(IndexError, match="the mask has the shape"):
        array.vindex[MASK[:3], [1, 3]]


def test_dask_passes_lists_on() -> None:
    dask = pytest.importorskip("dask.array")
    array = zarrscope.open({}, "w-").create_array("/a", shape=(4, 5), dtype="i4", chunks=(2, 2))
    array[...] = VALUES
    assert dask.from_array(array, chunks=array.chunks)[1:][[0, 2]].compute().tolist() == VALUES[[1, 3]].tolist()


# ---------------------------------------------------------------------------------------------- blocks
@pytest.mark.parametrize(
    "index", [(0, 1), 1, (-1, -1), (slice(0, 2), 1), (..., 0), slice(0, 0), slice(0, 9), ...], ids=str
)
def test_blocks_are_those_of_zarr_python(both: tuple[Any, zarrscope.Array], index: Any) -> None:
    theirs, ours = both
    np.testing.assert_array_equal(ours.blocks[index], theirs.blocks[index])
    for array in both:
        array.blocks[index] = 7
    np.testing.assert_array_equal(ours[...], theirs[...])


@pytest.mark.parametrize("index", [9, (0, 0, 0), slice(None, None, 2), None, [0, 1], "x"], ids=str)
def test_blocks_that_are_not_there_are_index_errors(both: tuple[Any, zarrscope.Array], index: Any) -> None:
    for array in both:
        with pytest.raises(IndexError):
            array.blocks[index]


def test_a_block_of_a_sharded_array_is_a_shard(tmp_path: Path) -> None:
    theirs = zarr.create_array(tmp_path / "a", shape=(6, 8), chunks=(2, 2), shards=(4, 4), dtype="i4")
    theirs[...] = np.arange(48).reshape(6, 8)
    ours = zarrscope.open_array(tmp_path / "a")
    for index in ((0, 1), (1, 0), slice(0, 1)):
        np.testing.assert_array_equal(ours.blocks[index], theirs.blocks[index])


def test_an_array_without_axes_is_one_block() -> None:
    array = zarrscope.open({}, "w-").create_array("/a", shape=(), dtype="u1")
    array.blocks[()] = 3
    assert array.blocks[()].tolist() == 3


# ---------------------------------------------------------------------------------------------- append
@pytest.mark.parametrize(("shape", "axis"), [((3, 5), 0), ((4, 2), 1), ((0, 5), 0)])
def test_append_is_as_in_zarr_python(both: tuple[Any, zarrscope.Array], shape: tuple[int, ...], axis: int) -> None:
    values = np.arange(np.prod(shape)).reshape(shape) + 100
    assert both[1].append(values, axis=axis) == both[0].append(values, axis=axis)
    np.testing.assert_array_equal(both[1][...], both[0][...])
    np.testing.assert_array_equal(both[1][...], np.concatenate([VALUES, values], axis))


@pytest.mark.parametrize("values", [7, np.ones(5), np.ones((1, 4)), np.ones((1, 5, 1))])
def test_values_of_another_shape_are_value_errors(both: tuple[Any, zarrscope.Array], values: Any) -> None:
    for array in both:
        with pytest.raises(ValueError, match=r"shape|axis"):
            array.append(values)
        assert array.shape == (4, 5)


@pytest.mark.parametrize(
    ("values", "axis", "error"),
    [([[300]], 0, OverflowError), ([["x"]], 0, ValueError), ([[1]], 2, ValueError), ([[1]], 0.5, TypeError)],
)
def test_wrong_values_leave_the_array_as_it_was(values: Any, axis: Any, error: type[Exception]) -> None:
    stored: dict[str, bytes] = {}
    array = zarrscope.open(stored, "w-").create_array("/a", shape=(2, 1), dtype="u1")
    before = dict(stored)
    with pytest.raises(error):
        array.append(values, axis=axis)
    assert stored == before


def test_axes_are_counted_from_the_end_as_in_numpy() -> None:
    array = zarrscope.open({}, "w-").create_array("/a", shape=(2, 1), dtype="u1")
    assert array.append([[1], [2]], axis=-1) == (2, 2)
    assert array[...].tolist() == [[0, 1], [0, 2]]


def test_who_appends_to_an_array_that_others_enlarged_gets_a_conflict() -> None:
    h = zarrscope.open(MemoryStore(), "w-")
    h.create_array("/a", shape=(1,), dtype="u1", chunks=(4,))
    first, second = as_array(h["/a"]), as_array(h["/a"])
    first.append([1, 2])
    with pytest.raises(zarrscope.Conflict):
        second.append([8, 9])
    assert as_array(h["/a"])[...].tolist() == [0, 1, 2]


def test_threads_that_append_to_one_object_take_turns() -> None:
    array = zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=(0,), dtype="u1", chunks=(3,))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: array.append([n] * 2), range(20)))
    assert sorted(array[...].tolist()) == sorted([*range(20)] * 2)


class Failing(MemoryStore):
    """Stores no chunk of an array "a" but the first."""

    def _put(self, key: str, parts: Sequence[Any]) -> None:
        if key.startswith("a/c/") and key != "a/c/0":
            raise Unreadable("The disk is full", store=self.url, key=key)
        super()._put(key, parts)


def test_an_append_that_cannot_be_stored_is_undone() -> None:
    array = zarrscope.open(Failing(), "w-").create_array("/a", shape=(2,), dtype="u1", chunks=(2,))
    array[...] = [1, 2]
    with pytest.raises(Unreadable, match="The disk is full"):
        array.append([3, 4])
    assert array.shape == (2,)
    assert zarrscope.open_array(array.store, "/a")[...].tolist() == [1, 2]


def test_append_needs_permission() -> None:
    store = MemoryStore()
    zarrscope.open(store, "w-").create_array("/a", shape=(2,), dtype="u1")
    with pytest.raises(zarrscope.ReadOnly):
        zarrscope.open_array(store, "/a").append([1])


def test_texts_can_be_appended() -> None:
    array = zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=(1,), dtype=str)
    array[0] = "a"
    assert array.append(["b", "cc"]) == (3,)
    assert array[...].tolist() == ["a", "b", "cc"]


# ---------------------------------------------------------------------------------------------- nodes
def test_groups_make_nodes_as_in_zarr_python(tmp_path: Path) -> None:
    for package, place in ((zarr, "theirs"), (zarrscope, "ours")):
        zarr.open_group(tmp_path / place, mode="w")
        group: Any = package.open_group(str(tmp_path / place), mode="r+").create_group("g", attributes={"n": 1})
        array = group.create_array("a/b", shape=(4,), chunks=(2,), dtype="u1", fill_value=3)
        assert (array.shape, array.chunks, array[0]) == ((4,), (2,), 3)
        assert group.create_group(name="h").attrs.asdict() == {}
        with pytest.raises((ValueError, FileExistsError)):
            group.create_group("h")
    theirs, ours = (zarr.open_group(tmp_path / name, mode="r") for name in ("theirs", "ours"))
    assert [*theirs["g"].attrs.items()] == [*ours["g"].attrs.items()] == [("n", 1)]
    assert sorted(theirs["g"].array_keys()) == sorted(ours["g"].array_keys()) == []
    assert theirs["g/a/b"][...].tolist() == ours["g/a/b"][...].tolist() == [3] * 4


def test_a_group_makes_nodes_beneath_itself_only() -> None:
    group = as_group(zarrscope.open({}, "w-").create_group("/g"))
    assert group.create_array("a", shape=2, dtype="u1").path == "/g/a"
    with pytest.raises(Exists):
        group.create_array("a", shape=2, dtype="u1")
    with pytest.raises(TypeError, match="the path of a node is text"):
        group.create_group(3)  # type: ignore[arg-type]  # the test of the refusal
    with pytest.raises(zarrscope.Refused):
        group.create_group("../b")
