"""The memory of results: used again when nobody has it any more, never before; and what is not stored reads as fill."""

from __future__ import annotations

import gc
import mmap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import zarrscope
from zarrscope.nodes.array import Array
from zarrscope.runtime import memory, process

SHAPE = (16, 256, 256)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[memory.MemoryPool]:
    """An empty one that keeps results of 1 MiB, too."""
    try:
        mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).madvise(mmap.MADV_FREE)
    except OSError:
        pytest.skip("this system takes no memory back, so none is kept")
    made = memory.MemoryPool()
    monkeypatch.setattr(memory, "_pool", made)
    monkeypatch.setattr(process, "_owned", True)
    monkeypatch.setattr(memory, "KEPT_FROM", 1 << 20)
    yield made
    gc.collect()


@pytest.fixture
def array(tmp_path: Path) -> Array:
    """Of 2 MiB, its second half not stored."""
    made = zarrscope.open(tmp_path, "w-").create_array("/a", shape=SHAPE, dtype="uint16", chunks=(8, 64, 64))
    made[:8] = np.arange(8 * 256 * 256, dtype="u2").reshape(8, 256, 256)
    return made


def address(values: np.ndarray) -> int:
    return int(values.__array_interface__["data"][0])


def stored(values: np.ndarray) -> bool:
    half = np.arange(8 * 256 * 256, dtype="u2").reshape(8, 256, 256)
    return np.array_equal(values[:8], half) and not values[8:].any()


needs_advice = pytest.mark.skipif(
    not memory.MemoryPool.possible, reason="this system cannot be told that memory is free"
)


@needs_advice
def test_memory_is_used_again_when_the_last_view_of_it_is_gone(kept: memory.MemoryPool, array: Array) -> None:
    first = array[...]
    where, view = address(first), first[3:5, ::2].T
    before = view.copy()
    del first
    second = array[...]
    assert address(second) != where
    assert stored(second)
    assert np.array_equal(view, before)
    second[...] = 7
    del view
    third = array[...]
    assert address(third) == where
    assert stored(third)
    del second, third
    fourth = array[...]
    assert stored(fourth), "what was put into a result before is not read as the fill value"


@needs_advice
def test_a_smaller_result_takes_it_and_a_much_smaller_one_does_not(kept: memory.MemoryPool, array: Array) -> None:
    first = array[...]
    where = address(first)
    del first
    assert address(array[:12]) == where
    assert address(array[:7]) != where


@needs_advice
def test_no_more_is_kept_than_the_limit(kept: memory.MemoryPool, array: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    results = [array[...] for _ in range(5)]
    limit = 3 * results[0].nbytes
    monkeypatch.setattr(memory, "KEPT_BYTES", limit)
    del results
    assert sum(map(len, kept.waiting)) == limit


def test_where_memory_cannot_be_marked_as_free_none_is_kept(
    kept: memory.MemoryPool, array: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory.MemoryPool, "possible", False)
    assert stored(array[...])
    assert not kept.waiting
    monkeypatch.undo()


@needs_advice
def test_memory_that_the_system_does_not_want_marked_goes_back(
    kept: memory.MemoryPool, array: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mmap, "MADV_FREE", 12345)
    values = array[...]
    assert stored(values)
    del values
    assert not kept.waiting
