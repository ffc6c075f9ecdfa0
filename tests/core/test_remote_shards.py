"""Small inner chunks of a remote shard are fetched in one request and decoded in one call. No shard waits for the index
of another."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, cast

import numpy as np
import pytest

import zarrscope
from contracts.http_server import WebServer, web_server
from narrowing import as_array
from zarrscope.codecs.zstd import Zstd
from zarrscope.errors import BadChunk, Refused
from zarrscope.model.storage import ByteRange, Request
from zarrscope.nodes.array import Array
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.remote import RemoteStore
from zarrscope.stores.wrappers import Counting, Latency

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
        locator = as_array(h["/a"])._stored.locator
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


def places() -> list[Any]:
    no_obstore = pytest.mark.skipif(find_spec("obstore") is None, reason="obstore is not installed")
    return [pytest.param("http", marks=[]), pytest.param("s3", marks=no_obstore)]


def served(kind: str, server: WebServer) -> tuple[str, dict[str, Any]]:
    if kind == "http":
        return f"{server.url}/pub", {}
    return "s3://pub", {"endpoint": server.url, "region": "us-east-1", "anon": True}


def in_bucket(shards: tuple[int, int]) -> dict[str, bytes]:
    store = stored(shards)
    return {f"pub/{key}": store.get(key) or b"" for key in store.list()}


@pytest.mark.parametrize("kind", places())
def test_chunks_are_requested_while_other_shards_have_not_answered(kind: str) -> None:
    with web_server(in_bucket((32, 32))) as server:
        url, options = served(kind, server)
        with zarrscope.open(url, storage_options=options) as h:
            array, found = h["/a"], list[Any]()
            server.gate.clear()
            before = server.held
            reading = threading.Thread(target=lambda: found.append(as_array(array)[5]))
            reading.start()
            try:
                assert server.wait_held(before + 3), "the indexes of three shards"
                server.let(1)
                assert server.wait_held(before + 4), "chunks of the shard that answered"
            finally:
                server.gate.set()
                reading.join(60)
            assert np.array_equal(found[0], VALUES[5])


@pytest.mark.parametrize("kind", places())
@pytest.mark.parametrize("width", [1, 2, 5])
def test_few_requests_at_once_are_enough(kind: str, width: int) -> None:
    with web_server(in_bucket((16, 16))) as server:
        url, options = served(kind, server)
        with zarrscope.open(url, storage_options=options) as h:
            store, array = cast("RemoteStore", h.store), cast("Array", h["/a"])
            store._width = width
            for part in (np.s_[3::16], np.s_[:, 9::16], np.s_[::16, ::16], np.s_[40:60, 40:60]):
                assert np.array_equal(array[part], VALUES[part])


@pytest.mark.parametrize("kind", places())
def test_one_shard_that_fails_does_not_hide_the_others(kind: str) -> None:
    values = in_bucket((32, 32))
    values["pub/a/c/0/1"] = b"no shard"
    with web_server(values) as server:
        url, options = served(kind, server)
        with zarrscope.open(url, storage_options=options) as h:
            locator = as_array(h["/a"])._stored.locator
            got = dict(locator.fetch([(0, column) for column in range(12)]))
            assert [type(got[0, column]) for column in range(12)] == [memoryview] * 4 + [BadChunk] * 4 + [
                memoryview
            ] * 4


def test_requests_may_be_added_to_any_store() -> None:
    for store in (stored((48, 48)), Latency(stored((48, 48)), 0.0)):
        requests: list[Request] = [("a/zarr.json", None), ("absent", None)]
        found = []
        for i, answer in store.bulk.get_growing(requests):
            found.append((i, answer is None))
            if i < 2:
                requests.append(("a/c/0/0", ByteRange(0, i + 1)))
        assert sorted(found) == [(0, False), (1, True), (2, False), (3, False)]
        requests = [("absent", None)]
        growing = store.bulk.get_growing(requests)
        assert next(growing) == (0, None)
        requests.append(("../outside", None))
        with pytest.raises(Refused):
            next(growing)


def larger_than_the_array(at_start: bool) -> MemoryStore:
    """An array of 20 x 20 elements within one shard of 96 x 96; the shard also holds chunks beyond the array's edge."""
    store = MemoryStore()
    how: dict[str, Any] = {"codecs": [index_at_start()]} if at_start else {"shards": (96, 96)}
    with zarrscope.open(store, "w-") as h:
        h.create_array("/a", shape=SHAPE, dtype="u2", chunks=(96, 96) if at_start else CHUNKS, **how)[...] = VALUES
    document = json.loads(store.get("a/zarr.json") or b"")
    store.set("a/zarr.json", json.dumps({**document, "shape": [20, 20]}).encode())
    return store


def index_at_start() -> dict[str, Any]:
    plain: list[Any] = [{"name": "bytes", "configuration": {"endian": "little"}}]
    settings = {"chunk_shape": [8, 8], "codecs": plain, "index_codecs": plain, "index_location": "start"}
    return {"name": "sharding_indexed", "configuration": settings}


@pytest.mark.parametrize("at_start", [False, True])
@pytest.mark.parametrize("limit", [1 << 20, 5000])
def test_an_array_smaller_than_its_shard_is_right_whatever_the_shard_holds(
    at_start: bool, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zarrscope.chunkio.sharded_fetch.MAX_WHOLE", limit)
    counting = Counting(larger_than_the_array(at_start))
    counting.remote = True
    array = zarrscope.open_array(counting, "/a")
    for part in (..., np.s_[5], np.s_[9:17, 3:12], np.s_[19, 19]):
        array._stored.locator.forget()
        counting.reset()
        assert np.array_equal(array[part], VALUES[:20, :20][part])
    if limit == 5000:
        assert counting.read < 9 * 200 + 2 * 16 * 144 + 1000, "not the chunks beyond the edge, too"


def test_all_of_an_array_smaller_than_its_shard_takes_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zarrscope.chunkio.sharded_fetch.MAX_WHOLE", 5000)
    store = MemoryStore()
    with zarrscope.open(store, "w-") as h:
        h.create_array("/a", shape=(20, 20), dtype="u2", chunks=CHUNKS, shards=(96, 96))[...] = VALUES[:20, :20]
    counting = Counting(store)
    counting.remote = True
    array = zarrscope.open_array(counting, "/a")
    counting.reset()
    assert np.array_equal(array[...], VALUES[:20, :20])
    assert [key for _, key in counting.keys] == ["a/c/0/0"]


def test_neighbouring_chunks_of_a_plane_share_requests() -> None:
    """16 chunks of 102,400 bytes, which lie beside each other in their shard: a request carries two of them."""
    values = np.random.default_rng(5).integers(0, 256, (1, 1280, 1280), "u1")
    store = MemoryStore()
    with zarrscope.open(store, "w-") as h:
        chunks, shards = (1, 320, 320), (3, 1280, 1280)
        h.create_array("/a", shape=(3, 1280, 1280), dtype="u1", chunks=chunks, shards=shards, codecs=[])[1:2] = values
    served = {key: store.get(key) or b"" for key in store.list()}
    with web_server(served) as server, zarrscope.open(server.url) as h:
        array = as_array(h["/a"])
        with server.changed:
            before = len(server.asked)
        assert np.array_equal(array[1], values[0])
        with server.changed:
            asked = [part for _, part in server.asked[before:]]
    assert len(asked) == 1 + 8, "the index, and eight times two chunks"
