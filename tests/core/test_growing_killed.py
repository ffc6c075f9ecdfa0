"""`append` after which its writer was killed: the array is as before, or has all the values."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.killed import Dying, Killed, run_and_kill
from narrowing import as_array
from zarrscope.errors import Conflict, ZarrscopeError
from zarrscope.stores.address import open_store
from zarrscope.stores.mapping import MappingStore
from zarrscope.stores.memory import MemoryStore

LAYOUTS: dict[str, dict[str, Any]] = {
    "v3": {"dialect": "v3"},
    "v2": {"dialect": "v2"},
    "n5": {"dialect": "n5"},
    "shards": {"dialect": "v3", "shards": (6, 4)},
}


class Ending(Dying):
    """Counts the writes of whole chunks, too."""

    def _put(self, key: str, parts: Sequence[Any]) -> None:
        self._count()
        super()._put(key, parts)


def made(store: MemoryStore, dialect: str, **options: Any) -> np.ndarray[Any, Any]:
    """Stores an array of 5 × 4 elements, whose last chunks along each axis lie partly outside; returns its values."""
    h = zarrscope.open(store, "w-", dialect=dialect)
    array = h.create_array("/a", shape=(5, 3), chunks=(3, 2), dtype="i4", fill_value=0, **options)
    values = np.arange(1, 16).reshape(5, 3)
    array[...] = values
    return values


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_killed_at_any_write_an_append_is_done_whole_or_not_at_all(layout: str, axis: int) -> None:
    for writes in range(100):
        store = Ending()
        before = made(store, **LAYOUTS[layout])
        added = np.full((7, 3) if axis == 0 else (5, 7), 7)
        array = as_array(zarrscope.open(store, "r+")["/a"])
        store.left = writes
        try:
            array.append(added, axis=axis)
        except Killed:
            store.left = 10**9
        else:
            break
        found = as_array(zarrscope.open(store, "r+")["/a"])
        assert found.shape == before.shape
        np.testing.assert_array_equal(found[...], before)
        # Values that the killed writer left outside of the shape are overwritten, also by the fill value.
        again = np.where(np.arange(added.size).reshape(added.shape) % 2, 9, 0)[:, : 2 if axis else None]
        found.append(again, axis=axis)
        expected = np.concatenate([before, again], axis)
        np.testing.assert_array_equal(as_array(zarrscope.open(store)["/a"])[...], expected)
    assert writes > 2, "the writes were not counted"
    np.testing.assert_array_equal(as_array(zarrscope.open(store)["/a"])[...], np.concatenate([before, added], axis))


APPENDS = """
import itertools, sys
import numpy as np
import zarrscope
array = zarrscope.open_array(sys.argv[1], "/a", mode="r+")
for n in itertools.count(1):
    array.append(np.full((37, 8), n, "i4"))
    if n == 1:
        print("ready", flush=True)
"""


@pytest.mark.parametrize("after", [0.02, 0.05, 0.11])
@pytest.mark.parametrize("dialect", ["v2", "v3"])
def test_a_killed_process_leaves_no_fill_values_in_a_folder(tmp_path: Path, dialect: str, after: float) -> None:
    h = zarrscope.open(tmp_path / "x.zarr", "w-", dialect=dialect)
    h.create_array("/a", shape=(0, 8), chunks=(10, 8), dtype="i4", fill_value=0)
    run_and_kill(APPENDS, str(tmp_path / "x.zarr"), after=after)
    array = as_array(zarrscope.open(tmp_path / "x.zarr", "r+")["/a"])
    assert len(array) % 37 == 0
    assert (array[:, 0] == np.repeat(np.arange(1, len(array) // 37 + 1), 37)).all()
    array.append(np.full((37, 8), 5))  # the lock of the killed process is free
    assert (array[-37:] == 5).all()


TWO = """
import sys
import zarrscope
from zarrscope.errors import Conflict
array = zarrscope.open_array(sys.argv[1], "/a", mode="r+")
print("ready", flush=True)
sys.stdin.readline()
try:
    array.append([int(sys.argv[2])] * 5000)
    print("done")
except Conflict:
    print("refused")
"""


def test_of_processes_that_append_at_once_one_is_refused(tmp_path: Path) -> None:
    zarrscope.open(tmp_path / "x.zarr", "w-").create_array("/a", shape=(5,), chunks=(10,), dtype="u1")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", TWO, str(tmp_path / "x.zarr"), str(n)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in (1, 2, 3)
    ]
    for each in writers:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in writers:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    told = [each.communicate()[0].strip() for each in writers]
    assert sorted(told) == ["done", "refused", "refused"]
    values = zarrscope.open_array(tmp_path / "x.zarr", "/a")[...]
    assert values[5:].tolist() == [told.index("done") + 1] * 5000


def test_values_of_a_refused_append_never_show(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "x.zarr"), "a")
    zarrscope.open(store, "w-").create_array("/a", shape=(5,), chunks=(4,), dtype="u1", fill_value=0)
    first, second = (as_array(zarrscope.open(store, "r+")["/a"]) for _ in range(2))
    second.resize(30)
    with pytest.raises(Conflict):
        first.append([9] * 20)
    assert not second[...].any()


def test_threads_with_objects_of_their_own_overwrite_nothing(tmp_path: Path) -> None:
    place = tmp_path / "x.zarr"
    zarrscope.open(place, "w-").create_array("/a", shape=(0,), chunks=(7,), dtype="u1")

    def append(n: int) -> bool:
        try:
            zarrscope.open_array(place, "/a", mode="r+").append([n] * 10)
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        stored = [n for n, done in zip(range(1, 31), pool.map(append, range(1, 31)), strict=True) if done]
    values = zarrscope.open_array(place, "/a")[...]
    assert sorted(values.tolist()) == sorted(n for n in stored for _ in range(10))
    assert all(len(set(values[i : i + 10].tolist())) == 1 for i in range(0, len(values), 10))


class Full(MemoryStore):
    """Stores no chunk but those of the first row."""

    def _put(self, key: str, parts: Sequence[Any]) -> None:
        if key.startswith("a/c/") and key not in ("a/c/0", "a/c/1"):
            raise zarrscope.Unreadable("The disk is full", store=self.url, key=key)
        super()._put(key, parts)


def test_a_failed_append_leaves_no_chunks() -> None:
    store = Full()
    array = zarrscope.open(store, "w-").create_array("/a", shape=(2,), dtype="u1", chunks=(2,))
    array[...] = [1, 2]
    keys = {*store.list()}
    with pytest.raises(ZarrscopeError, match="The disk is full"):
        array.append([3, 4, 5, 6])
    assert {*store.list()} == keys


def test_where_processes_cannot_be_excluded_the_shape_is_stored_first() -> None:
    seen: list[str] = []

    class Shared(MemoryStore):
        """Stands in for a bucket, which several processes may write."""

        _claim: Callable[..., Any] = zarrscope.stores.store.Store._claim

        def _set(self, key: str, *rest: Any) -> Any:
            seen.append(key)
            return super()._set(key, *rest)

        def _put(self, key: str, parts: Sequence[Any]) -> None:
            seen.append(key)
            super()._put(key, parts)

    array = zarrscope.open(Shared(), "w-").create_array("/a", shape=(2,), dtype="u1", chunks=(2,))
    seen.clear()
    array.append([3, 4])
    assert seen == ["a/zarr.json", "a/c/1"]


def test_a_dry_run_resizes_and_appends_to_an_array_that_it_made(tmp_path: Path) -> None:
    h = zarrscope.open(tmp_path / "x.zarr", "w-")
    log: list[Any] = []
    array = h.dry_run(log).create_array("/a", shape=(2,), dtype="u1")
    array.resize(3)
    array.append([4])
    assert array[...].tolist() == [0, 0, 0, 4]
    assert log
    assert "/a" not in h


def test_an_array_that_was_erased_is_not_found(tmp_path: Path) -> None:
    h = zarrscope.open(tmp_path / "x.zarr", "w-")
    array = h.create_array("/a", shape=(2,), dtype="u1")
    h.erase("/a")
    for change in (lambda: array.append([1]), lambda: array.resize(1)):
        with pytest.raises(zarrscope.NotFound):
            change()
    assert "/a" not in h


def test_a_dict_is_claimed_and_another_mapping_is_not() -> None:
    order: list[str] = []

    class Noted(dict[str, bytes]):
        def __setitem__(self, key: str, value: bytes) -> None:
            order.append(key)
            super().__setitem__(key, value)

    store = MappingStore({})
    with store._claim("a/zarr.json") as alone:
        assert alone
    noted = Noted()
    array = zarrscope.open(noted, "w-").create_array("/a", shape=(2,), dtype="u1", chunks=(2,))
    order.clear()
    array.append([3, 4])
    assert order == ["a/zarr.json", "a/c/1"], "another mapping may be shared"
