"""Values of LMDB are decoded directly from its memory map, which stays valid while a Reader uses it."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope.model.buffers import Arena
from zarrscope.model.storage import ByteRange
from zarrscope.stores.address import open_store
from zarrscope.stores.store import Store

pytest.importorskip("lmdb")
from zarrscope.stores import lmdb as module


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = open_store(f"lmdb://{tmp_path}/x.lmdb", "w-")
    made.set("a", b"first" * 1000)
    yield made
    made.close()


def transactions(store: Any) -> int:
    number: int = store._environment._transactions
    return number


def test_a_value_is_not_copied(store: Store) -> None:
    reader = store.bulk.reader(Arena())
    reader.seek("a")
    whole, source = reader.whole(), reader.source()
    assert isinstance(whole, memoryview)
    assert source is not None
    first, second = np.frombuffer(whole, np.uint8), np.frombuffer(source.read(0, 9), np.uint8)
    assert np.shares_memory(first, second)
    del whole, source, first, second
    reader.close()
    assert not transactions(store)


def test_a_value_in_use_is_that_of_its_beginning(store: Store) -> None:
    """Although other programs replace it, and the store is closed."""
    reader = store.bulk.reader(Arena())
    reader.seek("a")
    value = reader.whole()
    assert value is not None
    for i in range(50):
        store.set("a", bytes([i]) * 5000)
    store.close()
    gc.collect()
    assert bytes(value) == b"first" * 1000
    del value
    reader.close()
    assert store.get("a") == bytes([49]) * 5000


def test_the_last_reader_closes_what_was_to_be_closed(store: Any) -> None:
    one, other = store.bulk.reader(Arena()), store.bulk.reader(Arena())
    for reader in (one, other):
        reader.seek("a")
        assert reader.part(ByteRange(0, 5)) == b"first"
    store.close()
    one.close()
    assert store._environment._open is not None
    other.close()
    assert store._environment._open is None


def test_a_transaction_is_renewed_only_while_no_value_is_in_use(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENEWED_SECONDS", -1.0)
    arena = Arena()
    reader = store.bulk.reader(arena)
    reader.seek("a")
    lent = reader.whole()
    store.set("a", b"second")
    reader.seek("b")
    reader.seek("a")
    assert bytes(reader.whole() or b"") == b"first" * 1000, "the arena was not cleared, so the value may be in use"
    kept = reader.keep()
    arena.clear()
    reader.seek("b")
    reader.seek("a")
    assert bytes(reader.whole() or b"") == b"first" * 1000, "another Reader may use the kept value"
    del kept, lent
    arena.clear()
    reader.seek("b")
    reader.seek("a")
    assert bytes(reader.whole() or b"") == b"second"
    reader.close()


def test_shards_are_read_by_several_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENEWED_SECONDS", -1.0)
    values = np.arange(256 * 256, dtype="u2").reshape(256, 256)
    with zarrscope.open(f"lmdb://{tmp_path}/shards.lmdb", "w-") as h:
        array = h.create_array("/a", shape=(256, 256), dtype="u2", chunks=(16, 16), shards=(128, 128))
        array[...] = values
        for _ in range(20):
            assert np.array_equal(array[...], values)
            assert np.array_equal(array[100:140, 7], values[100:140, 7])
        assert not transactions(h.store)


def test_closing_waits_for_what_other_threads_read(store: Store) -> None:
    """lmdb 1.4 crashes the process if an environment is closed during a transaction; newer ones raise an error."""
    done = threading.Event()
    failed: list[Exception] = []

    def read() -> None:
        try:
            while not done.is_set():
                assert store.get("a") == b"first" * 1000
                assert [entry.name for entry in store.list_dir("")] == ["a"]
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(500):
        store.close()
    done.set()
    for thread in threads:
        thread.join()
    assert not failed
    assert not transactions(store)


def test_a_value_is_read_after_its_transaction_was_renewed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow reader renews its transaction in `seek`; the key must survive that."""
    monkeypatch.setattr(module, "RENEWED_SECONDS", -1.0)
    arena = Arena()
    reader = store.bulk.reader(arena)
    for _ in range(3):
        reader.seek("a")
        assert bytes(reader.whole() or b"") == b"first" * 1000
        arena.clear()
    reader.close()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="this system does not list open files")
def test_a_store_that_is_dropped_keeps_no_file_open(tmp_path: Path) -> None:
    """The lock file stayed open: a process that opened many databases ran out of files."""

    def opened() -> list[str]:
        found = []
        for handle in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                found.append(os.readlink(f"/proc/self/fd/{handle}"))
        return [path for path in found if path.startswith(str(tmp_path))]

    store = open_store(f"lmdb://{tmp_path / 'x.lmdb'}", "a")
    store.set("a", b"1")
    assert len(opened()) > 1
    del store
    gc.collect()
    assert opened() == []
