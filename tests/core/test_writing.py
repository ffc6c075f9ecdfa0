"""Writing gives the same values as numpy's assignment for all selections, chunks and shards, with a known number of
requests.
"""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zarrscope
import zarrscope.chunkio.write
from narrowing import as_array
from zarrscope.errors import BadChunk, ZarrscopeError
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import Counting, Wrapper

RAW = [{"name": "bytes", "configuration": {"endian": "little"}}]
TURNED = [
    {"name": "transpose", "configuration": {"order": [1, 0]}},
    {"name": "bytes", "configuration": {"endian": "big"}},
    {"name": "gzip", "configuration": {"level": 1}},
]
NESTED = [
    {
        "name": "sharding_indexed",
        "configuration": {
            "chunk_shape": [1, 2],
            "codecs": RAW,
            "index_codecs": RAW,
            "index_location": "start",
        },
    }
]


@st.composite
def slices(draw: st.DrawFn, length: int) -> slice:
    ends = st.none() | st.integers(-length - 1, length + 1)
    step = draw(st.sampled_from([None, 1, 2, 3, -1, -2, -5]))
    return slice(draw(ends), draw(ends), step)


@st.composite
def writes(draw: st.DrawFn) -> tuple[tuple[int, ...], dict[str, Any], list[tuple[slice, ...]]]:
    shape = (draw(st.integers(1, 13)), draw(st.integers(1, 17)))
    chunks = (draw(st.sampled_from([1, 2, 3])), draw(st.sampled_from([2, 4])))
    settings: dict[str, Any] = {"chunks": chunks}
    codecs = draw(st.sampled_from([None, RAW, TURNED]))
    if draw(st.booleans()):
        settings["shards"] = (chunks[0] * draw(st.integers(1, 3)), chunks[1] * draw(st.integers(1, 3)))
        codecs = draw(st.sampled_from([None, RAW, TURNED, NESTED]))
    settings |= {"codecs": codecs, "fill_value": draw(st.sampled_from([0, 7]))}
    selections = draw(st.lists(st.tuples(slices(shape[0]), slices(shape[1])), min_size=1, max_size=5))
    return shape, settings, selections


@given(writes(), st.sampled_from([1, 4, 1 << 20]))
def test_writing_equals_assigning_in_numpy(given_writes: Any, slab: int) -> None:
    shape, settings, selections = given_writes
    store = MemoryStore()
    array = zarrscope.open(store, "w-").create_array("/a", shape=shape, dtype="i2", **settings)
    model = np.full(shape, settings["fill_value"], "i2")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zarrscope.chunkio.write.SLAB_BYTES", slab)
        for turn, selection in enumerate(selections):
            size = model[selection].shape
            values = (np.arange(prod(size)).reshape(size) % 5 + 7 * (turn % 2)).astype("i2")
            array[selection] = values
            model[selection] = values
            assert (array[...] == model).all()
            assert (as_array(zarrscope.open(store)["/a"])[...] == model).all()


@pytest.mark.parametrize("dtype", ["f4", "string", "bool", "M8[s]"])
def test_shards_of_other_types(dtype: str) -> None:
    model: Any = {
        "f4": np.array([np.nan, -0.0, 1.5, 0.0] * 6, "f4"),
        "string": np.array(["", "a", "größe", "x" * 40] * 6, object),
        "bool": np.array([True, False, False, True] * 6),
        "M8[s]": np.array([0, 1, 2, 3] * 6, "M8[s]"),
    }[dtype].reshape(4, 6)
    store = MemoryStore()
    h = zarrscope.open(store, "w-")
    array = h.create_array("/a", shape=(4, 6), chunks=(2, 2), shards=(4, 4), dtype=dtype, fill_value=None)
    array[...] = model
    array[1:3, 1:5] = model[1:3, 1:5]
    found = as_array(zarrscope.open(store)["/a"])[...]
    assert found.tolist() == model.tolist() or np.array_equal(found, model, equal_nan=True)


def test_a_scalar_array_in_a_shard() -> None:
    array = zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=(), chunks=(), shards=(), dtype="u2")
    array[...] = 5
    assert array[()] == 5


def counted(store: Any) -> tuple[Counting, Any]:
    counting = Counting(store)
    h = zarrscope.open(counting, "w-")
    return counting, h.create_array("/a", shape=(8, 8), chunks=(2, 2), shards=(8, 8), dtype="u1", codecs=RAW)


def test_a_part_of_a_shard_is_one_get_and_one_set_and_touches_no_other_chunk(tmp_path: Path) -> None:
    counting, array = counted(LocalStore(tmp_path))
    array[...] = 1
    counting.reset()
    array[0:2, 0:3] = 2
    assert counting.requests == {"get": 2, "set": 1}, "one of the document, that the array is still there"
    counting.reset()
    array[...] = 3
    assert counting.requests == {"get": 1, "set": 1}, "a shard written whole is not read"
    counting.reset()
    array[...] = 0
    assert counting.requests == {"get": 1, "erase": 1}


class Turned(Wrapper):
    """A transformer that reverses the bytes of every value."""

    def _get(self, key: str, part: Any, limit: int | None = None) -> bytes | None:
        value = self.store.get(key)
        return None if value is None else value[::-1] if part is None else part.of(value[::-1])

    def _set(self, key: str, value: bytes, expect: Any) -> Any:
        return self.store.set(key, value[::-1], expect)

    _get_versioned = Store._get_versioned
    _get_many = Store._get_many


def test_what_is_put_goes_through_a_transformer_as_what_is_set() -> None:
    inner = MemoryStore()
    store = Turned(inner)
    store.bulk.put("a", b"1", b"2")
    assert inner.get("a") == b"21"
    assert store.get("a") == b"12"


def test_a_damaged_chunk_in_a_shard_stays_while_others_are_written(tmp_path: Path) -> None:
    """Only the written chunks are decoded: the rest of the shard is copied byte for byte."""
    store = LocalStore(tmp_path)
    h = zarrscope.open(store, "w-")
    codecs: list[dict[str, Any]] = [*RAW, {"name": "crc32c"}]
    array = h.create_array("/a", shape=(8,), chunks=(2,), shards=(8,), dtype="u1", codecs=codecs)
    array[...] = [1, 2, 3, 4, 5, 6, 7, 8]
    shard = bytearray(store.get("a/c/0") or b"")
    shard[0] ^= 0xFF
    store.set("a/c/0", bytes(shard))
    array[2:6] = 9
    assert array[2:8].tolist() == [9, 9, 9, 9, 7, 8]
    with pytest.raises(BadChunk):
        array[0:2]
    with pytest.raises(BadChunk, match="lose the other part"):
        array[0] = 5
    array[0:2] = [1, 2]


def test_what_cannot_be_encoded_stores_nothing(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    h = zarrscope.open(store, "w-")
    array = h.create_array("/a", shape=(4,), chunks=(2,), shards=(4,), dtype="string")
    array[...] = ["a", "b", "c", "d"]
    before = store.get("a/c/0")
    with pytest.raises((ZarrscopeError, TypeError, ValueError)):
        array[...] = np.array(["x", object(), "y", "z"], object)
    assert store.get("a/c/0") == before
    assert array[...].tolist() == ["a", "b", "c", "d"]
