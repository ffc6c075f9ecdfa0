"""Small inner chunks of a remote shard are fetched in one request and decoded in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope.codecs.zstd import Zstd
from zarrscope.errors import BadChunk
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.wrappers import Latency

SHAPE, CHUNKS = (96, 96), (8, 8)
VALUES = np.arange(96 * 96, dtype="u2").reshape(SHAPE)


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of chunks that each call decoded."""
    found: list[int] = []
    decode = Zstd.decode_many

    def counted(self: Zstd, chunks: Sequence[Any], *rest: Any) -> Any:
        found.append(len(chunks))
        return decode(self, chunks, *rest)

    monkeypatch.setattr(Zstd, "decode_many", counted)
    return found


def stored(shards: tuple[int, int], **how: Any) -> MemoryStore:
    store = MemoryStore()
    with zarrscope.open(store, "w-") as h:
        h.create_array("/a", shape=SHAPE, dtype="u2", chunks=CHUNKS, shards=shards, **how)[...] = VALUES
    return store


def opened(store: MemoryStore) -> Any:
    return zarrscope.open_array(Latency(store, 0.0), "/a")


@pytest.mark.parametrize("shards", [(48, 48), (96, 96)])
@pytest.mark.parametrize(
    "selection",
    [..., np.s_[5], np.s_[:, 7], np.s_[3:90:5, 60:4:-7], np.s_[40:60, 40:60], np.s_[17, 33]],
    ids=["all", "row", "column", "steps", "corner", "element"],
)
def test_all_selections_give_the_same_values(shards: tuple[int, int], selection: Any) -> None:
    array = opened(stored(shards))
    for _ in range(2):  # the second time, the index of the shard is known and ranges are read
        assert np.array_equal(array[selection], VALUES[selection])


def test_one_call_decodes_several(together: list[int]) -> None:
    array = opened(stored((96, 96)))
    assert np.array_equal(array[...], VALUES)
    assert sum(together) == 144
    assert len(together) < 20


def test_absent_chunks_are_the_fill_value_and_the_rest_is_decoded(together: list[int]) -> None:
    store = MemoryStore()
    with zarrscope.open(store, "w-") as h:
        array = h.create_array("/a", shape=SHAPE, dtype="u2", chunks=CHUNKS, shards=(96, 96), fill_value=9)
        array[:48] = VALUES[:48]
    expected = np.where(np.arange(96)[:, None] < 48, VALUES, 9)
    assert np.array_equal(opened(store)[...], expected)


def test_a_damaged_chunk_among_them_is_named() -> None:
    store = stored((96, 96))
    with zarrscope.open(store) as h:
        locator = h["/a"]._stored.locator
        index = locator.index_at(_reader(store), 0, None)
        assert index is not None
        span = index.locate((3, 4))
    assert span is not None
    assert span.start is not None
    value = bytearray(store.get("a/c/0/0") or b"")
    value[span.start + 9 : span.start + 14] = b"\xff" * 5
    store.set("a/c/0/0", bytes(value))
    with pytest.raises(BadChunk) as caught:
        opened(store)[...]
    assert caught.value.index == (3, 4)


def _reader(store: MemoryStore) -> Any:
    from zarrscope.model.buffers import Arena

    reader = store.bulk.reader(Arena())
    reader.seek("a/c/0/0")
    return reader
