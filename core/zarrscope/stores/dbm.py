"""A file of Python's dbm as a store: dbm:///folder/file, in the layout of zarr-python 2's DBMStore.

A file is opened by the module that made it (dbm.sqlite3, dbm.gnu, dbm.ndbm or dbm.dumb). A new file is never made by
dbm.ndbm, which cannot hold empty values. All stores of this process on one file share one handle, because some of the
modules lock the file. Other processes are not prevented from writing. dbm.dumb reads its index only when it opens a
file, so the file is opened again once its index has changed.
Documentation of the layout: https://zarr.readthedocs.io/en/v2.18.3/api/storage.html#zarr.storage.DBMStore
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from zarrscope.errors import NotEmpty, NotFound, Refused, Unreadable, Unsupported
from zarrscope.model.storage import Version
from zarrscope.stores.file_address import nearest
from zarrscope.stores.local.failures import full_disk, is_full
from zarrscope.stores.local.lock_holders import locked, other_writer
from zarrscope.stores.mapping import MappingStore
from zarrscope.stores.one_per_file import OnePerFile
from zarrscope.stores.registry import Mode, StoreOptions
from zarrscope.stores.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from dbm import _Database

    from zarrscope.model.storage import Buffer


_BUSY = (errno.EAGAIN, errno.EWOULDBLOCK)
"""The errors of dbm.gnu for a file that another process has locked; it does not wait."""


class DbmFile(MutableMapping[str, bytes]):
    """The keys and values of one file, as a mapping. The file is opened when it is first needed, and again after
    `close`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.writable = False
        self._lock = threading.RLock()
        self._open: _Database | _SqliteTable | None = None
        self._stamp: tuple[int, ...] | None = None
        """The stamp of the index of dbm.dumb when it was read; None for another kind of file."""
        self._unsaved = False
        """Whether values were stored since the last `sync`."""

    def write(self) -> None:
        """Allows writing from now on."""
        with self._lock:
            if not self.writable:
                self.close()
                self.writable = True

    def close(self) -> None:
        """Closes the file; the next use opens it again."""
        with self._lock:
            if self._open is not None:
                self._open.close()
                self._open, self._stamp, self._unsaved = None, None, False

    @property
    def holds_empty_values(self) -> bool:
        """Whether the file can hold empty values: dbm.ndbm reads an empty value as a missing one."""
        with self._lock:
            return type(self._database).__module__ != "_dbm"

    def sync(self) -> None:
        """Writes the stored values to the file."""
        with self._lock:
            if self.writable and (sync := getattr(self._open, "sync", None)) is not None:
                sync()
                self._stamp, self._unsaved = self._stamp and _stamp_of(self.path), False
            elif self.writable:
                self.close()

    @property
    def _database(self) -> Any:  # Any: typeshed says that keys may be texts, but none are
        if self._stamp is not None and not self._unsaved and _stamp_of(self.path) not in (None, self._stamp):
            old = self._open
            try:
                self._open_file()
            except Exception:  # the other process may still be writing the index
                self._open = old
        elif self._open is None:
            self._open_file()
        return self._open

    def _open_file(self) -> None:
        import dbm

        if self.writable and dbm.whichdb(self.path) is None:
            _new_kind().open(self.path, "c").close()
        stamp = _stamp_of(self.path)
        self._open = dbm.open(self.path, "c" if self.writable else "r")  # noqa: SIM115 - `close` closes it
        self._stamp = stamp if type(self._open).__module__ == "dbm.dumb" else None
        if dbm.whichdb(self.path) == "dbm.sqlite3":
            self._open.close()
            self._open = _SqliteTable(self.path, self.writable)

    def __getitem__(self, key: str) -> bytes:
        with self._lock:
            return bytes(self._database[_encoded(key)])

    def __setitem__(self, key: str, value: bytes) -> None:
        with self._lock:
            database, self._unsaved = self._database, True
            database[_encoded(key)] = value

    def __delitem__(self, key: str) -> None:
        with self._lock:
            del self._database[_encoded(key)]
            if self._stamp is not None:  # dbm.dumb has written its index
                self._stamp, self._unsaved = _stamp_of(self.path), False

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            keys = [bytes(key) for key in self._database.keys()]  # noqa: SIM118 - some have no __iter__
        return iter([key.decode("utf-8", "replace") for key in keys])

    def __len__(self) -> int:
        with self._lock:
            return len(self._database)


def _stamp_of(path: str) -> tuple[int, ...] | None:
    """The stamp of the index of a file of dbm.dumb, which is a new file each time it is written; None if there is none,
    as between two steps of writing it."""
    try:
        found = os.stat(f"{path}.dir")
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _new_kind() -> ModuleType:
    """The module that makes a new file: the one that dbm prefers, but never dbm.ndbm, which cannot hold empty
    values."""
    for name in ("dbm.sqlite3", "dbm.gnu"):
        with suppress(ImportError):
            return import_module(name)
    return import_module("dbm.dumb")


class _SqliteTable:
    """A file of dbm.sqlite3 (Python 3.13 and newer), opened by sqlite3 itself: a handle of dbm.sqlite3 can only be used
    by the thread that opened it."""

    def __init__(self, path: str, writable: bool) -> None:
        import sqlite3  # imported here: a Python may have been built without it

        address = f"{Path(path).as_uri()}?mode={'rw' if writable else 'ro'}"
        self._connection = sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None)

    def __getitem__(self, key: bytes) -> bytes:
        row = self._connection.execute("SELECT value FROM Dict WHERE key = CAST(? AS BLOB)", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        return bytes(row[0])

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self._connection.execute("REPLACE INTO Dict VALUES (CAST(? AS BLOB), CAST(? AS BLOB))", (key, value))

    def __delitem__(self, key: bytes) -> None:
        if not self._connection.execute("DELETE FROM Dict WHERE key = CAST(? AS BLOB)", (key,)).rowcount:
            raise KeyError(key)

    def keys(self) -> list[bytes]:
        return [key for (key,) in self._connection.execute("SELECT key FROM Dict")]

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT COUNT(*) FROM Dict").fetchone()[0])

    def sync(self) -> None:
        """Does nothing: the change of each statement is in the file when the statement returns."""

    def close(self) -> None:
        self._connection.close()

    def __del__(self) -> None:
        if hasattr(self, "_connection"):  # opening the file may have failed
            self.close()  # Python 3.13 warns of a connection that is dropped without being closed


def _encoded(key: str) -> bytes:
    try:
        return key.encode()
    except UnicodeEncodeError:
        raise KeyError(key) from None


_files = OnePerFile(DbmFile)


class DbmStore(MappingStore):
    """A file of dbm as a store. A value is in the file when `set` returns, but after `put` only after `flush`."""

    def __init__(self, path: str, *, writable: bool = True) -> None:
        path = os.path.abspath(path)
        self._file = _files.at(path)
        slash = "" if path.startswith("/") else "/"
        super().__init__(self._file, f"dbm://{slash}{path.replace(os.sep, '/')}")
        self._lock = self._file._lock  # all stores on the file share its lock
        self.writable = writable
        if writable:
            self._file.write()

    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        version = self._stored(key, value, expect)
        self._sync(key)
        return version

    def _put(self, key: str, parts: Sequence[Buffer]) -> None:
        self._stored(key, b"".join(parts), None)

    def _stored(self, key: str, value: bytes, expect: Version | None) -> Version:
        if not value and not self._file.holds_empty_values:
            raise Refused(
                "This kind of file, dbm.ndbm, cannot hold an empty value",
                store=self.url,
                key=key,
                advice="Use another store, such as sqlite://.",
            )
        return super()._set(key, value, expect)

    def _flush(self) -> None:
        self._sync()

    def _sync(self, key: str | None = None) -> None:
        try:
            self._file.sync()
        except Exception as error:
            raise self._failed(error, key) from error

    def _failed(self, error: Exception, key: str | None = None) -> Unreadable:
        if is_full(error) or "disk is full" in str(error):  # dbm.sqlite3 passes on the words of SQLite
            return full_disk(error, "written", store=self.url, key=key)
        if getattr(error, "errno", None) in _BUSY or "is locked" in str(error):  # dbm.gnu; the words of SQLite
            path = self._file.path
            holder = other_writer(*(path + ending for ending in ("", ".db", ".dir", ".pag", "-shm")))
            return locked(f"the file {os.path.basename(path)}", holder).located(store=self.url, key=key)
        return Unreadable(
            f"The file cannot be used: {error}",
            store=self.url,
            key=key,
            advice="It may be damaged, or locked by another program.",
        )

    def close(self) -> None:
        self._file.close()


def open_dbm(url: str, mode: Mode, options: StoreOptions) -> Store:
    """The file of a dbm:///path address."""
    import dbm

    path = url.partition("://")[2]
    path = path[1:] if os.name == "nt" and path[2:3] == ":" else path
    kind = dbm.whichdb(path)
    if kind is None and any(os.path.isfile(path + ending) for ending in ("", ".dir", ".dat", ".db", ".pag")):
        raise Unreadable(
            f"The file of dbm at {path} is damaged, or may not be read",
            store=url,
            advice="Check that you have permission to read the file. If it is damaged, restore it from a copy.",
        )
    if kind is None and mode in ("r", "r+"):
        raise NotFound(f"There is no file of dbm at {path}", store=url, advice=nearest(path))
    if kind == "":
        raise Unreadable(
            f"{path} is not a file of dbm, or it is damaged",
            store=url,
            advice="Open it by its path alone, or restore it from a copy.",
        )
    if kind is not None:
        try:
            __import__(kind)
        except ImportError as error:
            raise Unsupported(
                f"{path} was made by {kind}, which this Python does not have",
                feature=kind,
                store=url,
                advice=f"Open it with a Python that has {kind}.",
            ) from error
    store = DbmStore(path, writable=mode != "r")
    if mode == "w-" and next(iter(store.list()), None) is not None:
        raise NotEmpty(f"{path} exists and is not empty", store=url, advice="Choose another place.")
    return store
