"""A SQLite database as a store: sqlite:///folder/file.db, in the layout of zarr-python 2's SQLiteStore.

The database has one table, zarr(k TEXT PRIMARY KEY, v BLOB). For a range of a value, SQLite reads only
the pages up to it. To list one level, a query stops at the first key beneath a name, and the next query begins after
all keys beneath it.
`set` with `expect` compares and stores in one transaction, so no other process can change the value in between.
Documentation of the layout: https://zarr.readthedocs.io/en/v2.18.3/api/storage.html#zarr.storage.SQLiteStore
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from zarrscope.errors import NotEmpty, NotFound, Refused, Unreadable
from zarrscope.model.storage import ByteRange, Entry, Version
from zarrscope.runtime.interrupts import LOOK_SECONDS
from zarrscope.runtime.tuning import SQLITE_PAGE
from zarrscope.runtime.waits import LockHolder, waiting_for_lock
from zarrscope.stores.file_address import nearest
from zarrscope.stores.keys import check_key, too_large
from zarrscope.stores.local.failures import full_disk
from zarrscope.stores.local.lock_holders import locked, other_writer
from zarrscope.stores.registry import Mode, StoreOptions
from zarrscope.stores.store import Store
from zarrscope.stores.value_reader import Reader

if TYPE_CHECKING:
    from zarrscope.model.buffers import Arena, RangeReadable

WAIT = 30.0
"""Seconds to wait while another process has the database locked for writing."""
MOST_UNUSED = 8
"""The most connections that are kept open for later reads."""
_LAST = "\U0010ffff"
_LEFT = ("-journal", "-wal")
"""The ends of the names of the files that a program leaves which is killed while it writes."""
_ANY = "SELECT 1 FROM sqlite_master LIMIT 1"
_VALUE = "CASE typeof(v) WHEN 'blob' THEN v ELSE CAST(v AS BLOB) END"
"""SQL for the bytes of a value. CAST is used only for values that are not stored as a BLOB, because it copies all bytes
before the length is known."""
_SIZE = "CASE typeof(v) WHEN 'blob' THEN length(v) ELSE length(CAST(v AS BLOB)) END"


class _BlobSource:
    """An open value of a database. `read` copies only the bytes that are asked for."""

    def __init__(self, store: SQLiteStore, key: str, blob: sqlite3.Blob) -> None:
        self._store, self._key, self._blob = store, key, blob
        self.size = len(blob)

    def read(self, start: int, stop: int) -> bytes:
        start, stop = min(start, self.size), min(stop, self.size)
        with self._store._answers(self._key):
            self._blob.seek(start)
            return self._blob.read(max(0, stop - start))


class _BlobReader(Reader):
    """Reads ranges of a value without the rest of it. Other programs cannot store anything from `source` to the next
    `seek` or `close`: the ranges are those of one value."""

    _store: SQLiteStore

    def __init__(self, store: SQLiteStore, limit: int | None) -> None:
        super().__init__(store, limit)
        self._held = ExitStack()
        self._source: _BlobSource | None = None

    def seek(self, key: str) -> None:
        if key != self._key:
            self.close()
        super().seek(key)

    def source(self) -> RangeReadable | None:
        key = check_key(self._key or "")
        if self._source is None and not self._asked and _is_text(key):
            with self._store._answers(key), ExitStack() as held:
                database = held.enter_context(self._store._database(key))
                held.enter_context(_transaction(database))
                blob = _opened_blob(database, key)
                if blob is not None:
                    held.callback(blob.close)
                    if self._limit is not None and len(blob) > self._limit:
                        raise too_large(len(blob), self._limit).located(store=self._store.url, key=key)
                    self._source = _BlobSource(self._store, key, blob)
                    self._held = held.pop_all()
        return super().source() if self._source is None else self._source

    def close(self) -> None:
        self._source = None
        self._held.close()


class SQLiteStore(Store):
    """The rows of a database. Threads that read at the same time have a connection each, because SQLite answers one
    question of a connection after the other (benchmark "plane from sqlite"). Connections are opened when they are first
    needed, and again after `close`."""

    def __init__(self, path: str, *, writable: bool = True) -> None:
        self._path = os.path.abspath(path)
        self.url = "sqlite://" + ("" if self._path.startswith("/") else "/") + self._path.replace(os.sep, "/")
        self.writable = writable
        self._writing = threading.Lock()
        self._unused: list[sqlite3.Connection] = []
        self._closings = 0

    def __del__(self) -> None:
        self.close()  # Python 3.13 warns of a connection that is dropped without being closed

    @contextmanager
    def _database(self, key: str | None = None) -> Iterator[sqlite3.Connection]:
        """A connection that no other thread uses meanwhile."""
        with self._answers(key):
            closings = self._closings
            try:
                database = self._unused.pop()
            except IndexError:
                database = self._connected()
            reusable = False
            try:
                if not self.writable and any(os.path.exists(self._path + each) for each in _LEFT):
                    self._undo_interrupted(database)
                yield database
                reusable = closings == self._closings and len(self._unused) < MOST_UNUSED
            finally:
                if reusable:
                    self._unused.append(database)
                else:
                    database.close()

    def _connected(self) -> sqlite3.Connection:
        address = f"file:{quote(self._path)}?mode={'rwc' if self.writable else 'ro'}"
        database = sqlite3.connect(address, timeout=WAIT, isolation_level=None, check_same_thread=False, uri=True)
        try:
            if self.writable:
                database.execute("CREATE TABLE IF NOT EXISTS zarr(k TEXT PRIMARY KEY, v BLOB)")
        except BaseException:
            database.close()
            raise
        return database

    def _undo_interrupted(self, database: sqlite3.Connection) -> None:
        """Has SQLite undo what a program was writing when it was killed. A connection that only reads cannot do so, and
        refuses to read a state that was never complete."""
        try:
            _row(database, _ANY)
        except sqlite3.OperationalError as error:
            if not _is_interrupted(error):
                raise
            repairing = sqlite3.connect(f"file:{quote(self._path)}?mode=rw", timeout=WAIT, uri=True)
            try:
                _row(repairing, _ANY)
            finally:
                repairing.close()

    @contextmanager
    def _answers(self, key: str | None) -> Iterator[None]:
        """A context in which the errors of SQLite are raised as Unreadable."""
        try:
            yield
        except sqlite3.Error as error:
            if _is_full(error):
                raise full_disk(error, "written", store=self.url, key=key) from error
            if _is_busy(error):
                name = f"the database {os.path.basename(self._path)}"
                raise locked(name, self._holder()).located(store=self.url, key=key) from error
            if _is_interrupted(error):
                raise Unreadable(
                    "A program ended while it wrote into the database, and what it began can only be undone by writing",
                    store=self.url,
                    key=key,
                    advice=f"Copy {os.path.basename(self._path)} and the files beside it whose names begin with it to "
                    "a place where you may write, and open the copy.",
                ) from error
            raise Unreadable(
                f"The database failed: {error}",
                store=self.url,
                key=key,
                advice="It may be damaged, locked by another program, or not a database of Zarr.",
            ) from error

    def _rows(self, question: str, *values: Any, key: str | None = None) -> list[Any]:
        with self._database(key) as database:
            return database.execute(question, values).fetchall()

    def close(self) -> None:
        self._closings += 1  # connections in use are closed when they are returned
        while self._unused:
            self._unused.pop().close()

    # ------------------------------------------------------------------ reading
    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None:
        if not _is_text(key):
            return None
        if part is not None:
            return self._part(key, part, limit)
        with self._database(key) as database:
            return self._value(database, key, limit)

    def _value(self, database: sqlite3.Connection, key: str, limit: int | None = None) -> bytes | None:
        if limit is None:
            row = _row(database, f"SELECT {_VALUE} FROM zarr WHERE k = ?", key)
        else:
            question = f"SELECT CASE WHEN {_SIZE} <= ? THEN {_VALUE} END, {_SIZE} FROM zarr WHERE k = ?"
            row = _row(database, question, limit, key)
            if row and (size := row[1] or 0) > limit:
                raise too_large(size, limit).located(store=self.url, key=key)
        return bytes(row[0] or b"") if row else None

    def _part(self, key: str, part: ByteRange, limit: int | None) -> bytes | None:
        reader = _BlobReader(self, None)
        reader.seek(key)
        try:
            source = reader.source()
            if source is None:
                return None
            start, stop = part.span(source.size)
            if limit is not None and stop - start > limit:
                raise too_large(stop - start, limit).located(store=self.url, key=key)
            return bytes(source.read(start, stop))
        finally:
            reader.close()

    def _reader(self, arena: Arena, limit: int | None = None) -> Reader:
        return _BlobReader(self, limit)

    def _size_of(self, key: str) -> int | None:
        rows = self._rows(f"SELECT {_SIZE} FROM zarr WHERE k = ?", key) if _is_text(key) else []
        return int(rows[0][0] or 0) if rows else None

    # ------------------------------------------------------------------ listing
    def _list_prefix(self, prefix: str) -> Iterator[str]:
        low, high = _range(prefix)
        while rows := self._rows("SELECT k FROM zarr WHERE k >= ? AND k < ? ORDER BY k LIMIT 4096", low, high):
            yield from (row[0] for row in rows)
            low = rows[-1][0] + "\0"

    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        low, high = _range(prefix)
        question = f"SELECT k, length(CAST(v AS BLOB)) FROM zarr WHERE k >= ? AND k < ? ORDER BY k LIMIT {SQLITE_PAGE}"
        while rows := self._rows(question, low, high):
            for key, size in rows:
                name, slash, _ = key[len(prefix) :].partition("/")
                # "0" is the character after "/", so the next query skips all keys beneath this name
                low = f"{prefix}{name}0" if slash else key + "\0"
                yield Entry(name, True) if slash else Entry(name, False, size)
                if slash:
                    break

    # ------------------------------------------------------------------ writing
    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        if not _is_text(key):
            raise Refused(f"A database cannot hold the key {key!r}", store=self.url, key=key)
        with self._writing, self._database(key) as database:
            self._begin(database, key)
            try:
                if expect is not None:
                    found = self._value(database, key)
                    self._expect(key, expect, None if found is None else (found, Version.of(found)))
                database.execute("REPLACE INTO zarr VALUES (?, ?)", (key, value))
                database.execute("COMMIT")
            except BaseException:
                if database.in_transaction:  # a full disk ends it
                    database.execute("ROLLBACK")
                raise
        return Version.of(value)

    def _holder(self) -> LockHolder:
        """The process that writes into the database, as far as the system tells; SQLite itself does not."""
        return other_writer(self._path, f"{self._path}-shm")

    def _begin(self, database: sqlite3.Connection, key: str) -> None:
        """Begins to write. While another program writes, it waits in short steps, so that a person can end the wait."""
        end = time.monotonic() + WAIT
        database.execute(f"PRAGMA busy_timeout = {1000 * LOOK_SECONDS:.0f}")
        try:
            with waiting_for_lock(self._path, key, self._holder) as wait:
                while True:
                    try:
                        database.execute("BEGIN IMMEDIATE")
                        return
                    except sqlite3.OperationalError as error:
                        if not _is_busy(error) or time.monotonic() > end:
                            raise
                    wait.check()
        finally:
            database.execute(f"PRAGMA busy_timeout = {1000 * WAIT:.0f}")

    def _erase(self, key: str) -> None:
        if _is_text(key):
            with self._writing:
                self._rows("DELETE FROM zarr WHERE k = ?", key, key=key)

    def _erase_prefix(self, prefix: str) -> None:
        with self._writing:
            self._rows("DELETE FROM zarr WHERE k >= ? AND k < ?", *_range(prefix))

    @property
    def _renames_within(self) -> bool:
        return True

    def _rename_within(self, keys: Sequence[tuple[str, str]], prefixes: Sequence[tuple[str, str]]) -> bool:
        with self._writing, self._database(next((key for key, _ in (*keys, *prefixes)), "")) as database:
            self._begin(database, "")
            try:
                for key, to in keys:
                    database.execute("UPDATE zarr SET k = ? WHERE k = ?", (to, key))
                for prefix, to in prefixes:
                    values = (to, len(prefix) + 1, *_range(prefix))
                    database.execute("UPDATE zarr SET k = ? || substr(k, ?) WHERE k >= ? AND k < ?", values)
                database.execute("COMMIT")
            except BaseException:
                if database.in_transaction:
                    database.execute("ROLLBACK")
                raise
        return True


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    """All that is read within it is the state at one time."""
    database.execute("BEGIN")
    try:
        yield
    finally:
        if database.in_transaction:  # some errors end it
            database.execute("COMMIT")


def _opened_blob(database: sqlite3.Connection, key: str) -> sqlite3.Blob | None:
    """The value, open for reading; None if it is absent, or not of a type that SQLite can read in parts."""
    try:
        row = _row(database, "SELECT rowid FROM zarr WHERE k = ? AND typeof(v) = 'blob'", key)
        return database.blobopen("zarr", "v", row[0], readonly=True) if row else None
    except sqlite3.OperationalError as error:
        if _is_busy(error):
            raise
        return None  # a table without row numbers, or a view


def _row(database: sqlite3.Connection, question: str, *values: Any) -> tuple[Any, ...] | None:
    """The only row that answers the question, None if there is none. The question is ended: it locks nothing more."""
    rows = database.execute(question, values).fetchall()
    return rows[0] if rows else None


def _range(prefix: str) -> tuple[str, str]:
    """The bounds (low, high) of the keys that begin with `prefix`: low <= key < high."""
    return (prefix, prefix[:-1] + "0") if prefix else ("", _LAST)


def _is_full(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL or "disk is full" in str(error)


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY or "is locked" in str(error)


def _is_interrupted(error: sqlite3.Error) -> bool:
    """Whether a transaction that was not completed must be undone, or a log read, before anything can be read."""
    undone = sqlite3.SQLITE_READONLY_ROLLBACK, sqlite3.SQLITE_READONLY_RECOVERY
    return getattr(error, "sqlite_errorcode", None) in undone


def _is_text(key: str) -> bool:
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True


def open_sqlite(url: str, mode: Mode, options: StoreOptions) -> Store:
    """The database of a sqlite:///path address."""
    path = url.partition("://")[2]
    path = path[1:] if os.name == "nt" and path[2:3] == ":" else path
    if mode in ("r", "r+") and not os.path.isfile(path):
        raise NotFound(f"There is no database {path}", store=url, advice=nearest(path))
    store = SQLiteStore(path, writable=mode != "r")
    if mode == "w-" and next(iter(store.list()), None) is not None:
        raise NotEmpty(f"{path} exists and is not empty", store=url, advice="Choose another place.")
    return store
