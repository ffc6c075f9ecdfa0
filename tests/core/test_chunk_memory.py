"""The memory of chunks, measured by Python: the cache never exceeds its limit, and closing frees it."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import zarrscope
from zarrscope.errors import ZarrscopeError
from zarrscope.nodes.array import Array
from zarrscope.runtime.threads import Background, Mailbox
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.wrappers import FaultRule, Faults
from zarrscope.view.cache import buffer_bytes, compact, held
from zarrscope.view.loader import NEARBY, VISIBLE, ChunkLoader, ChunkResult

SIDE = 512
KINDS: dict[str, dict[str, Any]] = {
    "zstd": {"chunks": (1, 128, 128)},
    "raw": {"chunks": (1, 128, 128), "codecs": []},
    "raw shards": {"chunks": (1, 64, 64), "shards": (1, 512, 512), "codecs": []},
    "large": {"chunks": (8, 512, 512)},
    "clipped": {"chunks": (5, 300, 300)},
}


def stored() -> MemoryStore:
    store = MemoryStore()
    hierarchy = zarrscope.open(store, "w-")
    data = np.random.default_rng(1).integers(0, 4000, (8, SIDE, SIDE)).astype(np.uint16)
    for name, options in KINDS.items():
        hierarchy.create_array(f"/{name}", shape=data.shape, dtype="uint16", **options)[...] = data
    words = hierarchy.create_array("/words", shape=(64, 64), dtype="string", chunks=(8, 8))
    words[...] = np.array(["word" * (i % 97) for i in range(64 * 64)], object).reshape(64, 64)
    return store


@pytest.fixture(scope="module")
def volumes() -> MemoryStore:
    return stored()


def load(loader: ChunkLoader, arrays: list[Array], random: Random, over: list[str]) -> None:
    """A viewer that requests chunks at random, cancels some requests, and reads in between."""
    mailbox = Mailbox()
    owner = loader.background.owner(mailbox)
    tickets = []

    def came(_: ChunkResult) -> None:
        if loader.cache.size > loader.limit:
            over.append(f"{loader.cache.size} of {loader.limit}")

    for _ in range(8):
        array = random.choice(arrays)
        grid = array.chunk_grid_shape
        wanted = [tuple(random.randrange(n) for n in grid) for _ in range(random.randint(1, 24))]
        tickets.append(loader.request(owner, array, wanted, came, priority=random.choice([VISIBLE, NEARBY])))
        mailbox.run()
        if random.random() < 0.4:
            tickets.pop(random.randrange(len(tickets))).cancel()
        if random.random() < 0.4:
            try:
                loader.read(array, tuple(slice(*sorted(random.sample(range(n + 1), 2))) for n in array.shape))
            except ZarrscopeError:
                pass
    mailbox.run_until(lambda: all(ticket.finished for ticket in tickets), 60)
    owner.close()


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    limit=st.sampled_from([0, 300, 50_000, 1 << 20, 3 << 20, 9 << 20]),
    viewers=st.integers(1, 4),
    failing=st.integers(1, 20),
    seed=st.integers(0, 1 << 30),
)
def test_the_cache_keeps_to_its_limit_under_any_load(
    volumes: MemoryStore, limit: int, viewers: int, failing: int, seed: int
) -> None:
    chance = Random(seed)
    broken = FaultRule(matches=lambda operation, key: "/c/" in key and hash((key, seed)) % failing == 0)
    hierarchy = zarrscope.open(Faults(volumes, broken))
    arrays: list[Any] = [hierarchy[f"/{name}"] for name in (*KINDS, "words")]
    loader = ChunkLoader(Background(4, 2), limit=limit)
    over: list[str] = []
    # The first load makes objects that stay for the whole process.
    load(ChunkLoader(loader.background, limit=limit), arrays, Random(seed), over)
    gc.collect()
    gc.freeze()  # collecting among the objects of all tests before this one takes seconds while allocations are traced
    tracemalloc.start()
    try:
        threads = [
            threading.Thread(target=load, args=(loader, arrays, Random(chance.random()), over)) for _ in range(viewers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert not any(thread.is_alive() for thread in threads)
        for pool in (loader.background.file_pool, loader.background.decode_pool):
            reached = threading.Event()
            pool.put(99, reached.set)
            assert reached.wait(20)
        gc.collect()
        # The buffers that threads keep to decode into are not the cache's.
        made = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(False, "*/model/buffers.py")])
        resident = sum(each.size for each in made.statistics("filename"))
    finally:
        tracemalloc.stop()
        gc.unfreeze()
    assert over == []
    assert resident <= limit + (1 << 20), "what Python itself says is held"
    if limit >= 3 << 20 and viewers > 1 and failing > 1:  # failed chunks are not cached
        assert len(loader.cache) > 0
    loader.limit = 0
    assert (loader.cache.size, len(loader.cache)) == (0, 0)


def test_a_small_part_of_a_large_buffer_is_kept_as_a_copy() -> None:
    block = bytes(1 << 20)
    part = np.frombuffer(memoryview(block)[4096:8192], np.uint8)
    assert buffer_bytes(part) == 1 << 20
    assert held(compact(part)) == 4096
    assert not compact(part).flags.writeable
    whole = np.frombuffer(block, np.uint8)
    assert compact(whole) is whole
    rows = np.zeros((100, 100))
    assert compact(rows[:90]).base is rows
    assert held(compact(rows[:10])) == 8000


CLOSING = """
import gc, sys
from zarrscope.view import loader as chunks
from zarrscope.runtime.threads import Mailbox, shared
from zarrscope_app.presenters import Session, SessionStatus

def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20

def look(planes):
    mailbox = Mailbox()
    session = Session(sys.argv[1], mailbox, path="/a")
    mailbox.run_until(lambda: session.state.status is SessionStatus.READY and not session.state.selecting)
    session.slice.fit((512, 512))
    mailbox.run_until(lambda: session.slice.frame.tiles and session.slice.frame.loading == 0)
    array = session.hierarchy["/a"]
    for z in range(planes):
        chunks.shared().read(array, z)
    kept = resident()
    session.close()
    for pool in (shared().file_pool, shared().decode_pool):
        import threading
        reached = threading.Event()
        pool.put(99, reached.set)
        assert reached.wait(20)
    del session, array
    return kept

look(1)
before = resident()
kept = look(128)
after = resident()
print(before, kept, after, chunks.shared().cache.size)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_memory_returns_when_the_last_viewer_closes(tmp_path: Path) -> None:
    data = np.random.default_rng(2).integers(0, 900, (128, 512, 512)).astype(np.uint16)
    hierarchy = zarrscope.open(tmp_path / "v.zarr", "w-")
    hierarchy.create_array("/a", shape=data.shape, dtype="uint16", chunks=(8, 128, 128))[...] = data
    told = subprocess.run(
        [sys.executable, "-c", CLOSING, str(tmp_path / "v.zarr")], capture_output=True, text=True, timeout=120
    )
    assert told.returncode == 0, told.stderr
    before, kept, after, size = map(float, told.stdout.split())
    assert kept - before > 60, "64 MiB of chunks were kept"
    assert size == 0
    assert after - before < 20


def test_chunks_stay_while_another_viewer_has_the_store_open(volumes: MemoryStore) -> None:
    array: Any = zarrscope.open(volumes)["/zstd"]
    other: Any = zarrscope.open(stored())["/zstd"]
    loader = ChunkLoader(Background(2, 1))
    for url in (array.store.url, array.store.url, other.store.url):
        loader.opened(url)
    loader.read(array, 0)
    loader.read(other, 0)
    kept = len(loader.cache)
    loader.closed(array.store.url)
    assert len(loader.cache) == kept == 32
    loader.closed(array.store.url)
    assert len(loader.cache) == 16
    assert loader.peek(other, (0, 0, 0)) is not None
