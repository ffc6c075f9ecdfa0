"""The chunk loader's promises: one read per chunk, real cancelling, both laws, a bounded cache. No test sleeps."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

import zarrscope
from narrowing import not_none
from zarrscope.nodes.array import Array
from zarrscope.nodes.stored_array import StoredArray
from zarrscope.runtime.threads import Background, Mailbox
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import Counting, Gate
from zarrscope.view.loader import FAILED, FILL, NEARBY, PRESENT, VISIBLE, ChunkLoader, ChunkResult

SHAPE, CHUNKS = (40, 64, 64), (1, 16, 16)
DATA = np.arange(np.prod(SHAPE), dtype=np.uint32).reshape(SHAPE)


def stored(**more: Any) -> MemoryStore:
    store = MemoryStore()
    array = zarrscope.open(store, "w-").create_array("/a", shape=SHAPE, dtype="uint32", chunks=CHUNKS, **more)
    array[...] = DATA
    return store


@pytest.fixture(scope="module")
def values() -> MemoryStore:
    return stored()


def chunk_keys(operation: str, key: str) -> bool:
    return operation == "get" and "/c/" in key


def opened(store: Store) -> Array:
    array = zarrscope.open(store)["/a"]
    assert isinstance(array, Array)
    return array


def plane(z: int) -> list[tuple[int, ...]]:
    return [(z, y, x) for y in range(4) for x in range(4)]


def expected(index: tuple[int, ...]) -> Any:
    z, y, x = index
    return DATA[z : z + 1, 16 * y : 16 * y + 16, 16 * x : 16 * x + 16]


class Box(Mailbox):
    def __init__(self) -> None:
        super().__init__()
        self.posted = threading.Event()

    def __call__(self, call: Callable[[], None]) -> None:
        super().__call__(call)
        self.posted.set()


class Watching:
    """An owner on the test's thread, and all chunks that arrived for it."""

    def __init__(self, loader: ChunkLoader) -> None:
        self.mailbox = Box()
        self.owner = loader.background.owner(self.mailbox)
        self.results: list[ChunkResult] = []
        self.threads: set[threading.Thread] = set()
        self.done = 0

    def on_chunk(self, result: ChunkResult) -> None:
        self.results.append(result)
        self.threads.add(threading.current_thread())

    def on_done(self) -> None:
        self.done += 1

    def until_done(self, times: int = 1) -> None:
        self.mailbox.run_until(lambda: self.done >= times, timeout=20)


def test_each_chunk_comes_once_on_the_owners_thread_and_is_kept(values: MemoryStore) -> None:
    store = Counting(values)
    array = opened(store)
    loader = ChunkLoader(Background(4, 2))
    watching = Watching(loader)
    for _ in range(2):
        loader.request(watching.owner, array, [*plane(3), *plane(3)], watching.on_chunk, watching.on_done)
    watching.until_done(2)
    assert watching.threads == {threading.current_thread()}
    assert sorted(result.index for result in watching.results) == sorted(plane(3) * 2)
    for result in watching.results:
        assert result.state is PRESENT
        assert result.data is not None
        assert np.array_equal(result.data, expected(result.index))
        assert not result.data.flags.writeable
    assert sum(n for (op, key), n in store.keys.items() if chunk_keys(op, key)) == 16
    peeked = loader.peek(array, (3, 0, 0))
    assert peeked is not None
    assert np.array_equal(peeked, expected((3, 0, 0)))
    assert loader.peek(array, (4, 0, 0)) is None


def test_an_empty_request_is_done_at_once(values: MemoryStore) -> None:
    loader = ChunkLoader(Background(1, 1))
    watching = Watching(loader)
    loader.request(watching.owner, opened(values), [], watching.on_chunk, watching.on_done)
    watching.until_done()
    assert watching.results == []


def test_forty_quick_moves_of_sixteen_chunks_read_the_last_sixteen(values: MemoryStore) -> None:
    gate = Gate(values, chunk_keys)
    store = Counting(gate)
    array = opened(store)
    loader = ChunkLoader(Background(1, 1))
    watching = Watching(loader)
    blocker = threading.Event()
    begun = threading.Event()

    def busy() -> None:
        begun.set()
        assert blocker.wait(20)

    loader.background.file_pool.put(0, busy)  # the one thread that reads files is taken while the slider moves
    assert begun.wait(20)
    for z in range(40):
        ticket = loader.request(watching.owner, array, plane(z), watching.on_chunk, watching.on_done)
        if z < 39:
            ticket.cancel()
    gate.release()
    blocker.set()
    watching.until_done()
    assert {result.index for result in watching.results} == set(plane(39))
    assert sum(n for (op, key), n in store.keys.items() if chunk_keys(op, key)) == 16


def test_moves_while_fetches_are_under_way_cost_no_more_than_the_threads(values: MemoryStore) -> None:
    gate = Gate(values, chunk_keys)
    array = opened(gate)
    loader = ChunkLoader(Background(2, 1))
    watching = Watching(loader)
    for z in range(40):
        ticket = loader.request(watching.owner, array, plane(z), watching.on_chunk, watching.on_done)
        if z == 0:
            assert gate.waiting(2)
        if z < 39:
            ticket.cancel()
    gate.release()
    watching.until_done()
    assert {result.index for result in watching.results} == set(plane(39))
    assert len(gate.arrived) <= 16 + 2


def test_two_owners_share_one_read_and_cancelling_one_leaves_the_other(values: MemoryStore) -> None:
    gate = Gate(values, chunk_keys)
    array, same = opened(gate), opened(gate)
    loader = ChunkLoader(Background(4, 1))
    one, other = Watching(loader), Watching(loader)
    first = loader.request(one.owner, array, plane(0), one.on_chunk, one.on_done)
    loader.request(other.owner, same, plane(0), other.on_chunk, other.on_done)
    assert gate.waiting(4)
    first.cancel()
    gate.release()
    other.until_done()
    one.mailbox.run()
    assert one.results == []
    assert len(other.results) == 16
    assert len(gate.arrived) == 16


def test_a_fetch_under_way_is_really_cancelled_and_a_later_request_fetches_anew() -> None:
    class Slow(Counting):
        """Answers get_many only when released, and checks `cancelled` meanwhile, as a remote store does."""

        remote = True

        def __init__(self, store: Store) -> None:
            super().__init__(store)
            self.asked = threading.Semaphore(0)
            self.saw_cancel = threading.Event()
            self.open = threading.Event()

        def _get_many(self, requests: Any, cancelled: Callable[[], bool], limit: int | None = None) -> Iterator[Any]:
            if not any("/c/" in key for key, _ in requests):
                yield from super()._get_many(requests, cancelled, limit)
                return
            self.asked.release()
            while not self.open.wait(0.005):
                if cancelled():
                    self.saw_cancel.set()
                    return
            yield from super()._get_many(requests, cancelled, limit)

    store = Slow(stored())
    store.remote = True
    array = opened(store)
    loader = ChunkLoader(Background(1, 1))
    watching = Watching(loader)
    ticket = loader.request(watching.owner, array, [(0, 0, 0)], watching.on_chunk, watching.on_done)
    assert store.asked.acquire(timeout=20)
    ticket.cancel()
    assert store.saw_cancel.wait(20)
    store.open.set()
    loader.request(watching.owner, array, [(0, 0, 0)], watching.on_chunk, watching.on_done)
    watching.until_done()
    assert [result.state for result in watching.results] == [PRESENT]


def test_a_decode_under_way_ends_in_the_cache_though_nobody_wants_it(
    values: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = opened(values)
    decoding, go_on = threading.Event(), threading.Event()
    decode = StoredArray.decode_chunk

    def slow(self: StoredArray, unit: Any, data: Any) -> Any:
        decoding.set()
        assert go_on.wait(20)
        return decode(self, unit, data)

    monkeypatch.setattr(StoredArray, "decode_chunk", slow)
    background = Background(1, 1)
    loader = ChunkLoader(background)
    watching = Watching(loader)
    ticket = loader.request(watching.owner, array, [(1, 2, 3)], watching.on_chunk, watching.on_done)
    assert decoding.wait(20)
    ticket.cancel()
    go_on.set()
    after = watching.owner.decode(lambda: None, lambda outcome: None)  # the same one thread: after the decode
    watching.mailbox.run_until(lambda: after.finished)
    assert watching.results == []
    assert loader.peek(array, (1, 2, 3)) is not None


def with_a_plane_nearby(values: MemoryStore) -> tuple[Gate, Array, ChunkLoader, Watching]:
    """The only thread fetches a chunk, while plane 2 is requested in advance."""
    gate = Gate(values, chunk_keys)
    array = opened(gate)
    loader = ChunkLoader(Background(1, 1))
    watching = Watching(loader)
    loader.request(watching.owner, array, [(0, 0, 0)], watching.on_chunk, watching.on_done)
    assert gate.waiting(1)
    loader.request(watching.owner, array, plane(2), watching.on_chunk, watching.on_done, NEARBY)
    return gate, array, loader, watching


def test_what_is_visible_is_fetched_before_what_is_nearby(values: MemoryStore) -> None:
    gate, array, loader, watching = with_a_plane_nearby(values)
    loader.request(watching.owner, array, plane(1), watching.on_chunk, watching.on_done, VISIBLE)
    gate.release()
    watching.until_done(3)
    order = [key.split("/c/")[1].split("/")[0] for key in gate.arrived]
    assert order == ["0"] + ["1"] * 16 + ["2"] * 16
    assert gate.arrived[1:17] == [f"a/c/1/{y}/{x}" for y in range(4) for x in range(4)]


def test_a_chunk_wanted_nearby_and_then_at_once_goes_first(values: MemoryStore) -> None:
    gate, array, loader, watching = with_a_plane_nearby(values)
    loader.request(watching.owner, array, [(2, 3, 3)], watching.on_chunk, watching.on_done, VISIBLE)
    gate.release()
    watching.until_done(3)
    assert gate.arrived[1] == "a/c/2/3/3"
    assert len(gate.arrived) == 17


class Decoding:
    """Holds decodes back until they are released, and records their order. Threads of an earlier test may still decode:
    arrays that exist already do not count."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, holds: Callable[[tuple[int, ...]], bool]) -> None:
        self.begun: list[tuple[int, ...]] = []
        self.go_on = threading.Event()
        self._began = threading.Condition()
        decode = StoredArray.decode_chunk
        earlier = [each for each in gc.get_objects() if isinstance(each, StoredArray)]

        def slow(array: StoredArray, unit: Any, data: Any) -> Any:
            if any(array is each for each in earlier):
                return decode(array, unit, data)
            with self._began:
                self.begun.append(unit)
                self._began.notify_all()
            if holds(unit):
                assert self.go_on.wait(20)
            return decode(array, unit, data)

        monkeypatch.setattr(StoredArray, "decode_chunk", slow)

    def until(self, count: int) -> None:
        with self._began:
            assert self._began.wait_for(lambda: len(self.begun) >= count, 20)


def drained(pool: Any, priority: int = 99) -> None:
    """Waits until all jobs that were queued in a pool before, with at least this urgency, have begun."""
    reached = threading.Event()
    pool.put(priority, reached.set)
    assert reached.wait(20)


@pytest.mark.parametrize("threads", [1, 2])
def test_scrubbing_decodes_the_last_plane_and_in_vain_no_more_than_one_chunk_a_thread(
    values: MemoryStore, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    decoding = Decoding(monkeypatch, lambda unit: True)
    array = opened(values)
    loader = ChunkLoader(Background(4, threads))
    watching = Watching(loader)
    order = Random(3).sample(range(40), 40)
    for step, z in enumerate(order):
        ticket = loader.request(watching.owner, array, plane(z), watching.on_chunk, watching.on_done)
        drained(loader.background.file_pool, VISIBLE)  # its bytes have arrived, and wait to be decoded
        if step == 0:
            decoding.until(threads)
        if step < 39:
            ticket.cancel()
    decoding.go_on.set()
    watching.until_done()
    drained(loader.background.decode_pool)
    in_vain = [unit for unit in decoding.begun if unit[0] != order[-1]]
    assert len(in_vain) == threads <= 2
    assert {result.index for result in watching.results} == set(plane(order[-1]))
    assert len(decoding.begun) == 16 + threads


@pytest.mark.parametrize("held", ["read", "decoded"])
def test_what_is_nearby_holds_no_place_that_something_visible_needs(
    values: MemoryStore, monkeypatch: pytest.MonkeyPatch, held: str
) -> None:
    gate = Gate(values, lambda operation, key: held == "read" and operation == "get" and "/c/8/" in key)
    decoding = Decoding(monkeypatch, lambda unit: held == "decoded" and unit[0] == 8)
    array = opened(gate)
    loader = ChunkLoader(Background(1, 1))
    watching, ahead = Watching(loader), Watching(loader)
    loader.request(ahead.owner, array, plane(8), ahead.on_chunk, ahead.on_done, NEARBY)
    if held == "read":
        assert gate.waiting(1)
    else:
        decoding.until(1)
    loader.request(watching.owner, array, plane(1), watching.on_chunk, watching.on_done, VISIBLE)
    watching.until_done()
    assert [unit for unit in decoding.begun if unit[0] == 1] == plane(1)
    assert len(decoding.begun) == (16 if held == "read" else 17)
    gate.release()
    decoding.go_on.set()
    ahead.until_done()


def test_nothing_is_fetched_ahead_while_something_visible_is_on_its_way(
    values: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoding = Decoding(monkeypatch, lambda unit: unit[0] == 8)
    store = Counting(values)
    array = opened(store)
    loader = ChunkLoader(Background(4, 4))
    watching = Watching(loader)

    def nothing_ahead() -> None:
        for pool in (loader.background.file_pool, loader.background.decode_pool):
            drained(pool, VISIBLE)  # another thread is free
        assert decoding.begun == [(8, 0, 0)]
        assert not any("/c/9/" in key for _, key in store.keys)

    loader.request(watching.owner, array, [(8, 0, 0)], watching.on_chunk, watching.on_done, VISIBLE)
    decoding.until(1)
    loader.request(watching.owner, array, plane(9), watching.on_chunk, watching.on_done, NEARBY)
    nothing_ahead()
    decoding.go_on.set()
    assert watching.mailbox.posted.wait(20)
    nothing_ahead()  # this thread, which waits for the chunk, does not have it yet
    watching.until_done(2)


@pytest.mark.parametrize("how", ["cancelled", "closed", "forgotten", "deaf"])
def test_who_no_longer_waits_holds_nothing_up(values: MemoryStore, how: str) -> None:
    gate = Gate(values, lambda operation, key: operation == "get" and "/c/7/" in key)
    array = opened(gate)
    loader = ChunkLoader(Background(4, 4))
    watching, other = Watching(loader), Watching(loader)
    if how == "deaf":

        def deaf(call: Callable[[], None]) -> None:
            raise RuntimeError("the window is gone")

        other.owner = loader.background.owner(deaf)
    ticket = loader.request(other.owner, array, plane(7), other.on_chunk, other.on_done, VISIBLE)
    assert gate.waiting(1)
    assert loader.background.prefetch_holds
    if how == "cancelled":
        ticket.cancel()
    elif how == "closed":
        other.owner.close()
    gate.release()
    if how == "forgotten":
        assert other.mailbox.posted.wait(20)
        for pool in (loader.background.file_pool, loader.background.decode_pool):
            drained(pool, VISIBLE)
        del other, ticket
        end = time.monotonic() + 20
        while loader.background.prefetch_holds and time.monotonic() < end:
            gc.collect()  # a worker may have kept the last reference until now
    loader.request(watching.owner, array, plane(6), watching.on_chunk, watching.on_done, NEARBY)
    watching.until_done()
    assert not loader.background.prefetch_holds


def test_what_was_fetched_for_later_is_decoded_at_once_when_it_becomes_visible(
    values: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoding = Decoding(monkeypatch, lambda unit: unit[0] == 8)
    store = Counting(values)
    store.remote = True
    array = opened(store)
    loader = ChunkLoader(Background(1, 1))
    watching = Watching(loader)
    loader.request(watching.owner, array, plane(8), watching.on_chunk, priority=NEARBY)
    decoding.until(1)
    drained(loader.background.fetch_pool)
    loader.request(watching.owner, array, plane(7), watching.on_chunk, priority=NEARBY)
    drained(loader.background.fetch_pool)
    loader.request(watching.owner, array, [(7, 3, 3)], watching.on_chunk, watching.on_done, VISIBLE)
    watching.until_done()
    assert decoding.begun == [(8, 0, 0), (7, 3, 3)]
    decoding.go_on.set()


def test_read_equals_numpy_and_reads_each_chunk_once(values: MemoryStore) -> None:
    store = Counting(values)
    array = opened(store)
    loader = ChunkLoader(Background(2, 2))
    for index in ((3, slice(5, 40), slice(None, None, -3)), (3, 7, 7), (3, ..., None), np.s_[3:5, ::9, 60:2:-7]):
        assert np.array_equal(loader.read(array, index), DATA[index])
    assert isinstance(loader.read(array, (3, 7, 7)), np.uint32)
    assert max(n for (op, key), n in store.keys.items() if chunk_keys(op, key)) == 1


@pytest.mark.parametrize("pool", ["fetch", "decode"])
def test_reading_on_every_worker_at_once_does_not_deadlock(values: MemoryStore, pool: str) -> None:
    array = opened(values)
    background = Background(2, 2)
    loader = ChunkLoader(background)
    watching = Watching(loader)
    together = threading.Barrier(2, timeout=20)

    def work() -> Any:
        together.wait()  # every thread of the pool is inside a job now
        return loader.read(array, np.s_[5:7])

    tickets = [getattr(watching.owner, pool)(work, lambda outcome: watching.results.append(outcome)) for _ in range(2)]
    watching.mailbox.run_until(lambda: all(ticket.finished for ticket in tickets), timeout=20)
    for outcome in watching.results:
        assert np.array_equal(outcome.get(), DATA[5:7])  # type: ignore[attr-defined]  # the results of jobs here


def test_a_blocked_reader_takes_over_the_decoding_that_nobody_else_can_do(values: MemoryStore) -> None:
    array = opened(values)
    background = Background(2, 1)
    loader = ChunkLoader(background)
    watching = Watching(loader)
    busy, begun = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        assert busy.wait(20)

    watching.owner.decode(hold, lambda outcome: None)
    assert begun.wait(20)
    loader.request(watching.owner, array, plane(8), watching.on_chunk, watching.on_done)
    assert np.array_equal(loader.read(array, 8), DATA[8])  # the only decode thread is still held
    watching.until_done()
    busy.set()


def test_the_limit_holds_and_large_reads_go_past_the_cache(values: MemoryStore) -> None:
    array = opened(values)
    limit = 20 * (16 * 16 * 4 + 400)
    loader = ChunkLoader(Background(4, 2), limit=limit)
    watching = Watching(loader)
    for z in range(10):
        loader.request(watching.owner, array, plane(z), watching.on_chunk, watching.on_done)
    watching.until_done(10)
    assert len(watching.results) == 160
    assert 0 < loader.cache.size <= limit
    assert len(loader.cache) == 20
    kept = loader.cache.size
    assert np.array_equal(loader.read(array, ...), DATA)
    assert loader.cache.size == kept
    loader.limit = 3 * (16 * 16 * 4 + 400)
    assert len(loader.cache) == 3
    loader.limit = 10
    assert loader.cache.size == 0


def test_what_is_not_stored_is_fill_and_what_is_broken_fails_alone() -> None:
    store = MemoryStore()
    hierarchy = zarrscope.open(store, "w-")
    array = hierarchy.create_array("/a", shape=(6,), dtype="int16", chunks=(2,), fill_value=-7)
    array[0:4] = 1
    store.set("a/c/1", b"rubbish")
    loader = ChunkLoader(Background(2, 2))
    watching = Watching(loader)
    loader.request(watching.owner, array, [(0,), (1,), (2,)], watching.on_chunk, watching.on_done)
    watching.until_done()
    states = {result.index: result.state for result in watching.results}
    assert states == {(0,): PRESENT, (1,): FAILED, (2,): FILL}
    (error,) = [result.error for result in watching.results if result.error is not None]
    assert isinstance(error, zarrscope.BadChunk)
    assert error.index == (1,)
    assert error.key == "a/c/1"
    assert list(loader.peek(array, (2,))) == [-7, -7]  # type: ignore[arg-type]  # there is a chunk
    assert loader.peek(array, (1,)) is None
    with pytest.raises(zarrscope.BadChunk):
        loader.read(array, ...)
    assert list(loader.read(array, slice(4, 6))) == [-7, -7]
    store.set("a/c/1", store.get("a/c/0") or b"")  # repaired: the failure was not cached
    assert list(loader.read(array, ...)) == [1, 1, 1, 1, -7, -7]


def test_an_array_that_cannot_be_decoded_fails_every_chunk_with_its_reason() -> None:
    store = stored()
    text = store.get("a/zarr.json") or b""
    store.set("a/zarr.json", text.replace(b'"zstd"', b'"unheard-of"'))
    array = opened(Counting(store))
    loader = ChunkLoader(Background(1, 1))
    watching = Watching(loader)
    loader.request(watching.owner, array, plane(0), watching.on_chunk, watching.on_done)
    watching.until_done()
    assert {result.state for result in watching.results} == {FAILED}
    assert isinstance(watching.results[0].error, zarrscope.Unsupported)


def test_writing_here_makes_the_cache_let_go() -> None:
    store = stored()
    array = zarrscope.open(store, "r+")["/a"]
    assert isinstance(array, Array)
    loader = ChunkLoader(Background(1, 1))
    assert loader.read(array, (0, 0, 0)) == 0
    array[0, 0, 0] = 99
    assert loader.read(array, (0, 0, 0)) == 99


def test_the_units_of_one_shard_are_fetched_together() -> None:
    store = MemoryStore()
    hierarchy = zarrscope.open(store, "w-")
    made = hierarchy.create_array("/a", shape=(64, 64), dtype="uint16", chunks=(8, 8), shards=(32, 32))
    data = np.arange(64 * 64, dtype=np.uint16).reshape(64, 64)
    made[...] = data
    counting = Counting(store)
    array = opened(counting)
    counting.reset()
    loader = ChunkLoader(Background(4, 2))
    watching = Watching(loader)
    wanted = [(y, x) for y in range(4) for x in range(4)]
    loader.request(watching.owner, array, wanted, watching.on_chunk, watching.on_done)
    watching.until_done()
    assert counting.requests["get"] == 2  # the index, and all inner chunks in one range
    for result in watching.results:
        y, x = result.index
        assert np.array_equal(result.data, data[8 * y : 8 * y + 8, 8 * x : 8 * x + 8])  # type: ignore[arg-type]  # there is a chunk


def test_a_remote_store_is_asked_for_a_plane_at_one_go() -> None:
    class Remote(Counting):
        """Answers only after the chunks of all planes were requested."""

        def __init__(self, store: Store) -> None:
            super().__init__(store)
            self.remote = True
            self.asked: list[int] = []
            self.all_asked = threading.Event()

        def _get_many(self, requests: Any, cancelled: Callable[[], bool], limit: int | None = None) -> Iterator[Any]:
            if any("/c/" in key for key, _ in requests):
                self.asked.append(len(requests))
                if sum(self.asked) >= 160:
                    self.all_asked.set()
                assert self.all_asked.wait(20)
            yield from super()._get_many(requests, cancelled, limit)

    store = Remote(stored())
    array = opened(store)
    loader = ChunkLoader(Background(32, 1))
    watching = Watching(loader)
    wanted = [index for z in range(10) for index in plane(z)]
    loader.request(watching.owner, array, wanted, watching.on_chunk, watching.on_done)
    watching.until_done()
    assert store.asked == [16] * 10
    assert len(watching.results) == 160
    loader.request(watching.owner, array, plane(20), watching.on_chunk, watching.on_done, NEARBY)
    watching.until_done(2)
    assert store.asked[10:] == [4] * 4


def test_units_at_the_edge_are_clipped_to_the_array() -> None:
    store = MemoryStore()
    array = zarrscope.open(store, "w-").create_array("/a", shape=(5, 3), dtype="uint8", chunks=(4, 4), fill_value=9)
    array[4:, :] = 1
    loader = ChunkLoader(Background(1, 1))
    watching = Watching(loader)
    loader.request(watching.owner, array, [(0, 0), (1, 0)], watching.on_chunk, watching.on_done)
    watching.until_done()
    shapes = {result.index: not_none(loader.peek(array, result.index)).shape for result in watching.results}
    assert shapes == {(0, 0): (4, 3), (1, 0): (1, 3)}


def test_many_windows_and_readers_at_once_get_what_is_stored_and_nothing_is_left_behind() -> None:
    store = MemoryStore()
    hierarchy = zarrscope.open(store, "w-")
    data = np.random.default_rng(0).integers(0, 50, (16, 64, 64)).astype(np.uint16)
    written = [
        hierarchy.create_array("/a", shape=data.shape, dtype="uint16", chunks=(1, 16, 16)),
        hierarchy.create_array("/b", shape=data.shape, dtype="uint16", chunks=(2, 8, 8), shards=(8, 32, 32)),
    ]
    for array in written:
        array[...] = data
    loader = ChunkLoader(Background(4, 2), limit=100_000)
    faults: list[object] = []

    def window(random: Random) -> None:
        watching = Watching(loader)
        tickets = []
        for _ in range(60):
            array = random.choice(written)
            grid = array.chunk_grid_shape
            wanted = {tuple(random.randrange(n) for n in grid) for _ in range(random.randint(1, 20))}
            coming = set(wanted)

            def on_chunk(result: ChunkResult, array: Array = array, coming: set[Any] = coming) -> None:
                place = tuple(slice(i * n, (i + 1) * n) for i, n in zip(result.index, array.chunks, strict=True))
                if result.index not in coming or not np.array_equal(result.data, data[place]):  # type: ignore[arg-type]  # there is a chunk
                    faults.append(f"{array.path} {result.index} came wrong or twice")
                coming.discard(result.index)

            def on_done(coming: set[Any] = coming) -> None:
                if coming:
                    faults.append(f"done before {coming} came")

            priority = random.choice([VISIBLE, NEARBY])
            tickets.append(loader.request(watching.owner, array, wanted, on_chunk, on_done, priority))
            watching.mailbox.run()
            if random.random() < 0.5:
                tickets.pop(random.randrange(len(tickets))).cancel()
            if random.random() < 0.05:
                loader.invalidate(array)
        watching.mailbox.run_until(lambda: all(ticket.finished for ticket in tickets), timeout=60)

    def reader(random: Random) -> None:
        for _ in range(60):
            array = random.choice(written)
            place = tuple(slice(*sorted(random.sample(range(n + 1), 2))) for n in data.shape)
            assert np.array_equal(loader.read(array, place), data[place])

    def guarded(act: Callable[[Random], None], seed: int) -> None:
        try:
            act(Random(seed))
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=guarded, args=(act, seed)) for act in (window, reader) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    assert not any(thread.is_alive() for thread in threads)
    assert faults == []
    assert loader.cache.size <= loader.limit


def test_a_failing_callback_does_not_keep_the_other_chunks_back(values: MemoryStore) -> None:
    loader = ChunkLoader(Background(1, 1))
    watching = Watching(loader)

    def fail_first(result: ChunkResult) -> None:
        watching.on_chunk(result)
        if len(watching.results) == 1:
            raise RuntimeError("the first callback fails")

    loader.request(watching.owner, opened(values), plane(0), fail_first, watching.on_done)
    watching.until_done()
    assert len(watching.results) == 16
