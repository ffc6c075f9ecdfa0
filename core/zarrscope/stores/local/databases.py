"""Recognises the databases of zarr-python 2 (SQLite, LMDB, dbm) at a path, by their first bytes and the names of their
files.

Only places where nothing else was found are looked at, so opening a folder of Zarr costs nothing more.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Literal, NamedTuple

from zarrscope.stores.recognition import Recognition
from zarrscope.stores.registry import Mode, StoreOptions, need_kind

if TYPE_CHECKING:
    from zarrscope.stores.store import Store

ENDINGS = (".db", ".dat", ".dir", ".pag", ".bak")
"""The endings that modules of dbm add to the name of a database."""
_LMDB_MAGIC = 0xBEEFC0DE
_DOCUMENTS = frozenset({"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata", "attributes.json"})
_TITLES = {"sqlite": "a SQLite database", "lmdb": "an LMDB environment", "dbm": "a database of dbm"}


class Database(NamedTuple):
    """A database that was found: the scheme that opens it, and the path that stands in such an address."""

    scheme: Literal["sqlite", "lmdb", "dbm"]
    path: str

    @property
    def url(self) -> str:
        """Its address."""
        path = self.path.replace(os.sep, "/")
        return f"{self.scheme}://{'' if path.startswith('/') else '/'}{path}"


def database_at(path: str) -> Database | None:
    """The database at a path, which may be a file, a folder of LMDB, or a name to which dbm adds an ending; None if
    there is none."""
    if os.path.isdir(path):
        return Database("lmdb", path) if os.path.isfile(os.path.join(path, "data.mdb")) else None
    try:
        with open(path, "rb") as file:
            head = file.read(20)
    except FileNotFoundError:
        return _dbm(path)
    except (OSError, ValueError):
        return None
    if head.startswith(b"SQLite format 3\0"):
        return _sqlite(path)
    if _LMDB_MAGIC in (int.from_bytes(head[16:], "little"), int.from_bytes(head[16:], "big")):
        folder, name = os.path.split(path)  # in a folder LMDB's lock has another name than beside a file
        return Database("lmdb", folder if name == "data.mdb" else path)
    root, ending = os.path.splitext(path)
    return _dbm(path) or (_dbm(root) if ending in ENDINGS else None)


def _sqlite(path: str) -> Database | None:
    """The database in a file of SQLite, by its table; None if the tables are those of another program."""
    import sqlite3
    from urllib.parse import quote

    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as database:
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error:
        return Database("sqlite", path)  # opening it raises the error with its reason
    if "zarr" in tables:
        return Database("sqlite", path)
    return Database("dbm", path) if "Dict" in tables and sys.version_info >= (3, 13) else None


def _dbm(path: str) -> Database | None:
    import dbm

    try:
        return Database("dbm", path) if dbm.whichdb(path) else None
    except (OSError, ValueError):
        return None


def open_found(path: str, mode: Mode, options: StoreOptions) -> Store | None:
    """Opens the database at a path, and says so; None if there is none. With the mode "a", a database of another
    program is not taken, because the new hierarchy would be written into it."""
    found = database_at(path)
    if found is None:
        return None
    if mode == "a":
        with closing(_opened(found, "r", options)) as store:
            if not any(key.rpartition("/")[2] in _DOCUMENTS for key in store.list()):
                return None
    store = _opened(found, mode, options)
    told = f"This is {_TITLES[found.scheme]}, so it was opened as {found.scheme}://"
    store._recognition = Recognition(found.scheme, told)
    return store


def _opened(found: Database, mode: Mode, options: StoreOptions) -> Store:
    return need_kind(found.scheme, found.url).open(found.url, mode, options)
