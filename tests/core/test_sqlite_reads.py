"""Reads of a SQLite database from several threads, and of ranges of a value, beside programs that write to it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from narrowing import not_none
from zarrscope.errors import TooLarge, Unreadable
from zarrscope.model.buffers import Arena
from zarrscope.model.storage import ByteRange
from zarrscope.stores.sqlite import SQLiteStore

TABLES = {
    "a blob": ("CREATE TABLE zarr(k TEXT PRIMARY KEY, v BLOB)", b"0123456789"),
    "a text": ("CREATE TABLE zarr(k TEXT PRIMARY KEY, v BLOB)", "0123456789"),
    "a number": ("CREATE TABLE zarr(k TEXT PRIMARY KEY, v)", 123456789),
    "no row numbers": ("CREATE TABLE zarr(k TEXT PRIMARY KEY, v BLOB) WITHOUT ROWID", b"0123456789"),
}


@pytest.fixture
def store(tmp_path: Path) -> SQLiteStore:
    store = SQLiteStore(str(tmp_path / "x.db"))
    store.set("a", bytes(range(256)) * 4096)
    return store


@pytest.mark.parametrize("name", TABLES)
def test_a_range_has_the_bytes_of_the_whole_value(name: str, tmp_path: Path) -> None:
    table, value = TABLES[name]
    with closing(sqlite3.connect(tmp_path / "x.db")) as database, database:
        database.execute(table)
        database.execute("INSERT INTO zarr VALUES ('a', ?)", (value,))
    store = SQLiteStore(str(tmp_path / "x.db"), writable=False)
    whole = not_none(store.get("a"))
    reader = store.bulk.reader(Arena())
    reader.seek("a")
    source = not_none(reader.source())
    assert source.size == len(whole)
    for start, stop in ((0, 4), (2, 9), (5, 100), (9, 9)):
        assert bytes(source.read(start, stop)) == whole[start:stop]
        assert store.get("a", ByteRange(start, stop - start)) == whole[start:stop]
    reader.close()
    store.close()


def test_threads_read_at_the_same_time(store: SQLiteStore) -> None:
    """One connection answers one question after the other."""
    with store._database() as first, store._database() as second:
        assert first is not second
    inside = threading.Barrier(2, timeout=60)
    failed: list[BaseException] = []

    def read() -> None:
        try:
            reader = store.bulk.reader(Arena())
            reader.seek("a")
            source = not_none(reader.source())
            inside.wait()
            assert source.read(256, 258) == b"\0\1"
            inside.wait()
            reader.close()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed


def test_all_ranges_are_those_of_one_value(store: SQLiteStore) -> None:
    """A program that stores another value waits until the reader goes on."""
    reader = store.bulk.reader(Arena())
    reader.seek("a")
    source = not_none(reader.source())
    assert source.read(0, 2) == b"\0\1"
    stored = threading.Event()

    def write() -> None:
        SQLiteStore(store._path).set("a", b"\xff" * 1_048_576)
        stored.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert not stored.wait(0.3)
    assert source.read(1_048_574, 1_048_577) == b"\xfe\xff"
    reader.seek("b")
    assert stored.wait(60)
    writer.join(60)
    reader.seek("a")
    assert not_none(reader.source()).read(0, 2) == b"\xff\xff"
    reader.close()


def test_a_value_beyond_the_limit_is_refused_and_locks_nothing(store: SQLiteStore) -> None:
    reader = store.bulk.reader(Arena(), 1000)
    reader.seek("a")
    with pytest.raises(TooLarge):
        reader.source()
    store.set("a", b"1")
    reader.close()


INTERRUPTED = """
import os, sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA cache_size = 1")  # pages are written before the transaction ends
database.execute("BEGIN IMMEDIATE")
database.execute("REPLACE INTO zarr VALUES ('a', zeroblob(1048576))")
database.execute("REPLACE INTO zarr VALUES ('b', zeroblob(1048576))")
os._exit(9)  # as kill -9
"""


@pytest.mark.parametrize("opened", [False, True])
def test_a_writer_that_was_killed_does_not_end_reading(opened: bool, store: SQLiteStore) -> None:
    """A connection that only reads cannot undo its transaction: every read failed until somebody wrote."""
    path = Path(store._path)
    store.close()
    reading = SQLiteStore(str(path), writable=False)
    if opened:
        assert reading.get("a", ByteRange(1, 1)) == b"\1"
    before = path.read_bytes()
    subprocess.run([sys.executable, "-c", INTERRUPTED, str(path)], check=False, timeout=60)
    assert path.with_name("x.db-journal").exists()
    assert path.read_bytes() != before, "it has written a part"
    assert reading.get("a", ByteRange(1, 1)) == b"\1"
    assert [*reading.list()] == ["a"]
    reading.close()
    assert path.read_bytes()[100:] == before[100:]


def test_a_transaction_that_cannot_be_undone_here_is_explained(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store._path
    store.close()
    subprocess.run([sys.executable, "-c", INTERRUPTED, path], check=False, timeout=60)
    reading, connect = SQLiteStore(path, writable=False), sqlite3.connect

    def read_only(address: str, **options: Any) -> Any:
        return connect(address.replace("mode=rw", "mode=ro"), **options)

    monkeypatch.setattr(sqlite3, "connect", read_only)
    with pytest.raises(Unreadable, match="ended while it wrote") as caught:
        reading.get("a")
    assert "Copy x.db and the files beside it" in (caught.value.advice or "")


def test_closing_ends_the_connections_that_are_in_use_when_they_are_returned(store: SQLiteStore) -> None:
    with store._database() as used:
        store.close()
        assert used.execute("SELECT count(*) FROM zarr").fetchall() == [(1,)]
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        used.execute("SELECT 1")
    assert store.get("a", ByteRange(0, 1)) == b"\0", "it opens again"
