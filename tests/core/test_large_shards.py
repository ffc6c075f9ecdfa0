"""Shards with very many inner chunks: checks find the same faults, and the cost depends on the stored chunks."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope.check import chunks as stored
from zarrscope.check import hierarchy as verify
from zarrscope.codecs.sharding import ShardIndex
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.wrappers import Counting, Wrapper

PLAIN = {"name": "bytes", "configuration": {"endian": "little"}}
CODECS: dict[str, list[Any]] = {
    "raw": [PLAIN],
    "zstd": [PLAIN, {"name": "zstd", "configuration": {"level": 0, "checksum": False}}],
}
SIDE = 20
"""Elements along a shard; 10 by 10 inner chunks lie in it, nested: 5 by 5 of 2 by 2."""


class Distant(Wrapper):
    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.remote = True


def sharded(codecs: str, nested: bool, shape: tuple[int, int] = (SIDE, SIDE)) -> MemoryStore:
    """A shard whose index has no checksum, so that the test can change entries."""
    store = MemoryStore()
    inner: list[Any] = CODECS[codecs]
    options: dict[str, Any] = {"chunks": (SIDE, SIDE)}

    def shard(side: int, within: list[Any]) -> list[Any]:
        configuration = {"chunk_shape": [side] * 2, "codecs": within, "index_codecs": [PLAIN], "index_location": "end"}
        return [{"name": "sharding_indexed", "configuration": configuration}]

    options["codecs"] = shard(4, shard(2, inner)) if nested else shard(2, inner)
    h = zarrscope.open(store, "w-")
    array = h.create_array("/a", shape=shape, dtype="u2", **options)
    array[:10] = np.arange(10 * shape[1]).reshape(10, shape[1]) + 1
    return store


def entries(store: MemoryStore, nested: bool) -> tuple[bytearray, Any]:
    value = bytearray(store.get("a/c/0/0") or b"")
    count = 25 if nested else 100
    return value, np.frombuffer(value, "<u8", count * 2, len(value) - 16 * count).reshape(count, 2)


DAMAGE: dict[str, Any] = {
    "nothing": lambda value, index: None,
    "beyond": lambda value, index: index.__setitem__((3, 0), 1 << 40),
    "too long": lambda value, index: index.__setitem__((3, 1), 1 << 40),
    "half absent": lambda value, index: index.__setitem__((3, 1), (1 << 64) - 1),
    "overlap": lambda value, index: index.__setitem__(4, index[3] - (4, 0)),
    "the same": lambda value, index: index.__setitem__(4, index[3]),
    "cut": lambda value, index: value.__delitem__(slice(20, 60)),
    "short": lambda value, index: index.__setitem__((3, 1), 3),
}


@pytest.mark.parametrize("distant", [False, True], ids=["near", "far"])
@pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])
@pytest.mark.parametrize("codecs", CODECS)
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.timeout(60)
def test_large_shards_are_judged_as_small_ones(
    damage: str, codecs: str, nested: bool, distant: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = sharded(codecs, nested, (SIDE, SIDE - 1))
    if damage == "cut":
        value = bytearray(store.get("a/c/0/0") or b"")
        del value[20:60]
    else:
        value, index = entries(store, nested)
        DAMAGE[damage](value, index)
        del index
    store.set("a/c/0/0", bytes(value))
    told: list[list[Any]] = []
    for most in (1 << 16, 1):
        monkeypatch.setattr(stored, "MANY", most)
        h = zarrscope.open(Distant(store) if distant else store)
        told.append([each for each in verify.check(h) if each.severity != "information"])
    small, large = ({(each.severity, each.key) for each in some} for some in told)
    assert small == large
    assert bool(small) == (damage != "nothing")
    codes = [{each.code for each in some} for some in told]
    if damage not in ("cut", "short", "too long"):  # impossible ranges are not compared for overlaps
        assert ("shard-overlap" in codes[0]) == ("shard-overlap" in codes[1])


@pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])
def test_inner_chunks_that_are_not_there_are_counted(nested: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "MANY", 1)
    store = sharded("zstd", nested, (SIDE, SIDE - 1))
    (found,) = verify.check(zarrscope.open(store))
    assert (found.code, found.message) == (
        "chunks-missing",
        "50 inner chunks are not in this shard: they read as the fill value",
    )


@pytest.mark.parametrize("damage", ["beyond", "short", "the same"])
@pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])
def test_an_index_that_is_wrong_everywhere_is_read_a_few_times(
    damage: str, nested: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "MANY", 1)
    store = sharded("zstd", nested)
    value, index = entries(store, nested)
    index[:] = {"beyond": (1 << 40, 4), "short": (0, 0), "the same": index[0]}[damage]
    del index
    store.set("a/c/0/0", bytes(value))
    counting = Counting(store)
    findings = [each for each in verify.check(zarrscope.open(counting)) if each.severity != "information"]
    assert 1 <= len(findings) <= 2
    assert counting.keys["get", "a/c/0/0"] < 12


def test_a_nested_shard_costs_what_is_stored() -> None:
    """2^36 inner chunks, of which a few are stored."""
    store = MemoryStore()
    deep: list[Any] = [{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [1, 1], "codecs": ["bytes"], "index_codecs": [PLAIN], "index_location": "end"}}]  # fmt: skip
    outer = {"chunk_shape": [512, 512], "codecs": deep, "index_codecs": [PLAIN], "index_location": "end"}
    side = 512 * 512
    h = zarrscope.open(store, "w-")
    array = h.create_array(
        "/a", shape=(side, side), dtype="u1", chunks=(side, side),
        codecs=[{"name": "sharding_indexed", "configuration": outer}],
    )  # fmt: skip
    assert isinstance(array, zarrscope.Array)
    if array.problem is not None:
        pytest.skip(str(array.problem))
    one, nothing = b"\7", (b"\xff" * 16)
    inner = one + (0).to_bytes(8, "little") + (1).to_bytes(8, "little") + nothing * (512 * 512 - 1)
    index = (0).to_bytes(8, "little") + len(inner).to_bytes(8, "little") + nothing * (512 * 512 - 1)
    store.set("a/c/0/0", inner + index)
    assert array[0, 0] == 7
    (found,) = verify.check(zarrscope.open(store))
    assert found.message.startswith(f"{side * side - 1:,} inner chunks are not")


def test_a_damaged_inner_chunk_far_away_is_asked_for_twice() -> None:
    """The index may have been outdated, so it is read once more, but not repeatedly."""
    store = sharded("zstd", False)
    value, index = entries(store, False)
    value[int(index[0, 0])] ^= 0xFF
    del index
    store.set("a/c/0/0", bytes(value))
    counting = Counting(Distant(store))
    array = zarrscope.open(counting)["/a"]
    assert isinstance(array, zarrscope.Array)
    assert array[2:4, 2:4].any()
    counting.reset()
    with pytest.raises(zarrscope.BadChunk):
        array[:2, :2]
    assert 1 <= counting.keys["get", "a/c/0/0"] <= 4


def test_the_places_of_very_many_inner_chunks_take_no_object_each() -> None:
    entries = np.arange(2 << 20, dtype="u8").reshape(1024, 1024, 2)
    entries[5, 7] = 2**64 - 1
    index = ShardIndex(entries, 0, False, None)
    tracemalloc.start()
    try:
        spans = index.locate_many([range(1024), range(1024)])
        assert tracemalloc.get_traced_memory()[0] < 40 << 20
    finally:
        tracemalloc.stop()  # it makes what follows ten times as slow
    expected = [None if start == 2**64 - 1 else (start, start + n) for start, n in entries.reshape(-1, 2).tolist()]
    assert [*spans] == expected
    assert len(spans) == len(expected)
    assert [spans[i] for i in (0, 5 * 1024 + 7, -1, -2)] == [expected[i] for i in (0, 5 * 1024 + 7, -1, -2)]
    assert spans[100_000:200_000] == expected[100_000:200_000]
    assert [*index.locate_many([range(4, 6), [7]])] == [expected[4 * 1024 + 7], None]
