"""A SQLite database as a store: sqlite:///folder/file.db, in the layout of zarr-python 2's SQLiteStore.

The database has one table, zarr(k TEXT PRIMARY KEY, v BLOB). For a range of a value, SQLite returns only these bytes.
To list one level, a query stops at the first key beneath a name, and the next query begins after all keys beneath it.
`set` with `expect` compares and stores in one transaction, so no other process can change the value in between.
Documentation of the layout: https://zarr.readthedocs.io/en/v2.18.3/api/storage.html#zarr.storage.SQLiteStore
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from zarrscope.errors import NotEmpty, NotFound, Refused, Unreadable
from zarrscope.model.storage import ByteRange, Entry, Version
from zarrscope.runtime.interrupts import LOOK_SECONDS
from zarrscope.runtime.tuning import SQLITE_PAGE
from zarrscope.runtime.waits import waiting_for_lock
from zarrscope.stores.file_address import nearest
from zarrscope.stores.keys import too_large
from zarrscope.stores.local.failures import full_disk
from zarrscope.stores.registry import Mode, StoreOptions
from zarrscope.stores.store import Store

WAIT = 30.0
"""Seconds to wait while another process has the database locked for writing."""
_LAST = "\U0010ffff"
_VALUE = "CASE typeof(v) WHEN 'blob' THEN v ELSE CAST(v AS BLOB) END"
"""SQL for the bytes of a value. CAST is used only for values that are not stored as a BLOB, because it copies all bytes
before the length is known."""
_SIZE = "CASE typeof(v) WHEN 'blob' THEN length(v) ELSE length(CAST(v AS BLOB)) END"


class SQLiteStore(Store):
    """The rows of a database. The connection is opened when it is first needed, and again after `close`."""

    _open: sqlite3.Connection | None = None

    def __init__(self, path: str, *, writable: bool = True) -> None:
        self._path = os.path.abspath(path)
        self.url = "sqlite://" + ("" if self._path.startswith("/") else "/") + self._path.replace(os.sep, "/")
        self.writable = writable
        self._lock = threading.RLock()

    def __del__(self) -> None:
        if self._open is not None:  # Python 3.13 warns of a connection that is dropped without being closed
            self._open.close()

    @contextmanager
    def _database(self, key: str | None = None) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._open is None:
                    mode = "rwc" if self.writable else "ro"
                    address = f"file:{quote(self._path)}?mode={mode}"
                    self._open = sqlite3.connect(
                        address, timeout=WAIT, isolation_level=None, check_same_thread=False, uri=True
                    )
                    if self.writable:
                        self._open.execute("CREATE TABLE IF NOT EXISTS zarr(k TEXT PRIMARY KEY, v BLOB)")
                yield self._open
            except sqlite3.Error as error:
                if _is_full(error):
                    raise full_disk(error, "written", store=self.url, key=key) from error
                if _is_busy(error):
                    raise Unreadable(
                        f"Another program has locked the database {os.path.basename(self._path)}",
                        store=self.url,
                        key=key,
                        advice="Wait until that program is done, or close it, then try again.",
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
        with self._lock:
            if self._open is not None:
                self._open.close()
                self._open = None

    # ------------------------------------------------------------------ reading
    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None:
        if not _is_text(key):
            return None
        with self._database(key):
            return self._value(key, limit) if part is None else self._part(key, part, limit)

    def _value(self, key: str, limit: int | None) -> bytes | None:
        if limit is None:
            rows = self._rows(f"SELECT {_VALUE} FROM zarr WHERE k = ?", key)
        else:
            rows = self._rows(
                f"SELECT CASE WHEN {_SIZE} <= ? THEN {_VALUE} END, {_SIZE} FROM zarr WHERE k = ?", limit, key
            )
            if rows and (size := rows[0][1] or 0) > limit:
                raise too_large(size, limit).located(store=self.url, key=key)
        return bytes(rows[0][0] or b"") if rows else None

    def _part(self, key: str, part: ByteRange, limit: int | None) -> bytes | None:
        rows = self._rows(f"SELECT {_SIZE} FROM zarr WHERE k = ?", key)
        if not rows:
            return None
        start, stop = part.span(rows[0][0] or 0)
        if limit is not None and stop - start > limit:
            raise too_large(stop - start, limit).located(store=self.url, key=key)
        if stop <= start:
            return b""
        rows = self._rows(f"SELECT substr({_VALUE}, ?, ?) FROM zarr WHERE k = ?", start + 1, stop - start, key)
        return bytes(rows[0][0]) if rows else None

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
        with self._database(key) as database:
            self._begin(database, key)
            try:
                if expect is not None:
                    found = self._get(key, None)
                    self._expect(key, expect, None if found is None else (found, Version.of(found)))
                database.execute("REPLACE INTO zarr VALUES (?, ?)", (key, value))
                database.execute("COMMIT")
            except BaseException:
                if database.in_transaction:  # a full disk ends it
                    database.execute("ROLLBACK")
                raise
        return Version.of(value)

    def _begin(self, database: sqlite3.Connection, key: str) -> None:
        """Begins to write. While another program writes, it waits in short steps, so that a person can end the wait.
        SQLite does not tell which process that is."""
        end = time.monotonic() + WAIT
        database.execute(f"PRAGMA busy_timeout = {1000 * LOOK_SECONDS:.0f}")
        try:
            with waiting_for_lock(self._path, key) as wait:
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
            self._rows("DELETE FROM zarr WHERE k = ?", key, key=key)

    def _erase_prefix(self, prefix: str) -> None:
        self._rows("DELETE FROM zarr WHERE k >= ? AND k < ?", *_range(prefix))


def _range(prefix: str) -> tuple[str, str]:
    """The bounds (low, high) of the keys that begin with `prefix`: low <= key < high."""
    return (prefix, prefix[:-1] + "0") if prefix else ("", _LAST)


def _is_full(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL or "disk is full" in str(error)


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY or "is locked" in str(error)


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
