"""An LMDB environment as a store: lmdb:///folder/name.lmdb, in the layout of zarr-python 2's LMDBStore.

Keys are stored in UTF-8 in the environment's unnamed database. The comparison with `expect` and the storing are one
transaction, and other processes that write wait for its end (lmdb_writers.py). All stores of this process on one folder
share one environment, because LMDB allows a process to open it only once. A Reader does not copy values: it gives
access to them in the memory map, within one read transaction that it renews (bench "databases").
Documentation of the layout: https://zarr.readthedocs.io/en/v2.18.3/api/storage.html#zarr.storage.LMDBStore
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from zarrscope.errors import NotEmpty, NotFound, Refused, Unreadable, ZarrscopeError
from zarrscope.model.buffers import Arena
from zarrscope.model.storage import Buffer, ByteRange, Entry, Version
from zarrscope.runtime.tuning import LMDB_PAGE
from zarrscope.runtime.waits import waiting_for_lock
from zarrscope.stores.file_address import nearest
from zarrscope.stores.keys import check_key, too_large
from zarrscope.stores.lmdb_writers import WritersMutex
from zarrscope.stores.local.failures import full_disk, is_full
from zarrscope.stores.local.lock_holders import locked
from zarrscope.stores.one_per_file import OnePerFile
from zarrscope.stores.registry import Mode, StoreOptions
from zarrscope.stores.store import Store
from zarrscope.stores.value_reader import HeldReader, Reader

if TYPE_CHECKING:
    from lmdb import Environment as Database
    from lmdb import Transaction

    from zarrscope.model.storage import Buffer

RENEWED_SECONDS = 1.0
"""The age in seconds after which a Reader renews its transaction: LMDB cannot reuse old pages while a transaction
lasts."""
WAIT = 30.0
"""Seconds to wait while another process writes into the environment."""
MOST = 1 << 30 if sys.platform == "win32" else 1 << 40
"""Bytes of address space for the memory map, which is the largest size of a database. On Windows the file gets this
size as soon as it is opened."""

_lock = threading.Lock()


class Environment:
    """The LMDB environment in a folder or a file. It is opened when it is first needed, and again after `close`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._open: Database | None = None
        self.writers: WritersMutex | None = None
        """The mutex of writers while the environment is open for writing."""
        self._transactions = 0
        """The number of transactions. LMDB crashes if the environment is closed while another thread uses one."""
        self._unwanted = False
        """Whether `close` was called during transactions, so that the end of the last one closes the environment."""

    def opened(self) -> Database:
        """The open environment; read-only if its file must not be written. Raises the errors of lmdb."""
        with _lock:
            if self._open is None:
                import lmdb

                there = os.path.exists(self.path)
                file = self.path if os.path.isfile(self.path) else os.path.join(self.path, "data.mdb")
                writable = not there or os.access(file, os.W_OK) or not os.path.exists(file)
                self._open = lmdb.open(
                    self.path,
                    map_size=max(MOST, os.path.getsize(file) if os.path.exists(file) else 0),
                    subdir=not os.path.isfile(self.path),
                    readonly=not writable,
                    lock=writable,
                    sync=False,  # `flush` syncs; until then a crash may lose the latest writes but corrupts nothing
                    meminit=False,
                )
                self.writers = WritersMutex(self.path) if writable else None
                self._unwanted = False
            return self._open

    def close(self) -> None:
        """Closes the environment, during transactions as soon as the last of them has ended."""
        with _lock:
            self._unwanted = self._transactions > 0
            self._close_unused()

    def _close_unused(self) -> None:
        if self._open is not None and not self._transactions:
            self._open.close()
            if self.writers is not None:
                self.writers.close()
            self._open = self.writers = None

    def join(self) -> None:
        """Counts a transaction that is to begin: the environment stays open until it has ended (`leave`)."""
        with _lock:
            self._transactions += 1

    def leave(self) -> None:
        """Stops counting a transaction, which has ended."""
        with _lock:
            self._transactions -= 1
            if self._unwanted:
                self._close_unused()


_environments = OnePerFile(Environment)


class _Kept:
    """The handle of a value in one Reader's transaction, which other Readers use (`keep`, `take`)."""

    __slots__ = ("__weakref__", "value")

    def __init__(self, value: Buffer | None) -> None:
        self.value = value


class _MapReader(HeldReader):
    """Reads values in the memory map. Its transaction begins with the first value and ends with `close`. After
    RENEWED_SECONDS the next `seek` ends the transaction and the next value begins another, but only if no value of it
    is in use any more: the arena was cleared since the last value was returned, and no other Reader holds a value from
    `keep`."""

    _store: LMDBStore

    def __init__(self, store: LMDBStore, arena: Arena, limit: int | None) -> None:
        super().__init__(store, limit)
        self._arena = arena
        self._transaction: Transaction | None = None
        self._began = 0.0
        self._lent = -1
        """The arena's count of clearings when the last value was returned."""
        self._kept: weakref.ref[_Kept] | None = None

    def seek(self, key: str) -> None:
        if self._transaction is not None and time.monotonic() - self._began > RENEWED_SECONDS:
            used = self._lent == self._arena.cleared or (self._kept is not None and self._kept() is not None)
            if not used:
                self.close()
        super().seek(check_key(key))  # after `close`, which forgets the key

    def _held(self) -> Buffer | None:
        if not self._asked:
            self._value, self._asked = self._mapped(self._key or ""), True
        self._lent = self._arena.cleared
        return self._value

    def _mapped(self, key: str) -> memoryview | None:
        environment = self._store._environment
        with self._store._answers(key):
            if self._transaction is None:
                environment.join()
                try:
                    self._transaction = environment.opened().begin(buffers=True)
                except BaseException:
                    environment.leave()
                    raise
                self._began = time.monotonic()
            stored = self._store._encoded(key)
            found = None if stored is None else self._transaction.get(stored)
            return None if found is None else memoryview(found)

    def keep(self) -> object:
        kept = None if self._kept is None else self._kept()
        if kept is None or kept.value is not self._held():
            kept = _Kept(self._held())
            self._kept = weakref.ref(kept)
        return kept

    def take(self, key: str, kept: object) -> None:
        self._key, self._value, self._asked = key, kept.value if isinstance(kept, _Kept) else None, True

    def close(self) -> None:
        if self._transaction is not None:
            self._transaction.abort()
            self._transaction = None
            self._store._environment.leave()
        self._key, self._value, self._asked = None, None, False


class LMDBStore(Store):
    """The values of an environment. A key has at most 511 bytes, unless LMDB was built with another limit."""

    def __init__(self, path: str, *, writable: bool = True) -> None:
        path = os.path.abspath(path)
        slash = "" if path.startswith("/") else "/"
        self.url = f"lmdb://{slash}{path.replace(os.sep, '/')}"
        self.writable = writable
        self._environment = _environments.at(path)

    @contextmanager
    def _transaction(self, key: str | None = None, *, write: bool = False) -> Iterator[Transaction]:
        with self._answers(key):
            self._environment.join()
            try:
                database = self._environment.opened()
                if write:
                    self._await_writers(key)
                with database.begin(write=write, buffers=True) as transaction:
                    yield transaction
            finally:
                self._environment.leave()

    def _await_writers(self, key: str | None) -> None:
        """Waits while another process writes, as far as the system tells, in short steps, so that a person can end the
        wait. Raises Unreadable if it takes too long."""
        writers = self._environment.writers
        if writers is None or not writers.is_locked:
            return
        path, deadline, pause = self._environment.path, time.monotonic() + WAIT, 0.0005
        with waiting_for_lock(path, key or "", lambda: writers.holder) as wait:
            while writers.is_locked:
                if time.monotonic() > deadline:
                    name = f"the environment {os.path.basename(path)}"
                    raise locked(name, writers.holder).located(store=self.url, key=key)
                wait.check()
                time.sleep(pause)
                pause = min(2 * pause, 0.02)

    @contextmanager
    def _answers(self, key: str | None) -> Iterator[None]:
        """A context in which errors of LMDB and of the system are raised as Unreadable."""
        import lmdb

        try:
            yield
        except ZarrscopeError:
            raise
        except lmdb.Error as error:
            if is_full(error):
                raise full_disk(error, "written", store=self.url, key=key) from error
            raise Unreadable(
                f"LMDB failed: {error}",
                store=self.url,
                key=key,
                advice="The database may be damaged. Values stored before are not lost.",
            ) from error
        except OSError as error:
            raise Unreadable(
                f"LMDB cannot be opened: {error}",
                store=self.url,
                key=key,
                advice="Check that the disk is connected, and whether you may read it.",
            ) from error

    def _encoded(self, key: str) -> bytes | None:
        """The bytes under which LMDB stores the key; None if it cannot store such a key."""
        try:
            found = key.encode()
        except UnicodeEncodeError:
            return None
        return found if len(found) <= self._environment.opened().max_key_size() else None

    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None:
        with self._transaction(key) as transaction:
            stored = self._encoded(key)
            value = None if stored is None else transaction.get(stored)
            if value is None:
                return None
            start, stop = (part or ByteRange(0, None)).span(len(value))
            if limit is not None and stop - start > limit:
                raise too_large(stop - start, limit).located(store=self.url, key=key)
            return bytes(value[start:stop]) if stop > start else b""

    def _reader(self, arena: Arena, limit: int | None = None) -> Reader:
        return _MapReader(self, arena, limit)

    def _size_of(self, key: str) -> int | None:
        with self._transaction(key) as transaction:
            stored = self._encoded(key)
            value = None if stored is None else transaction.get(stored)
            return None if value is None else len(value)

    # ------------------------------------------------------------------ listing
    def _list_prefix(self, prefix: str) -> Iterator[str]:
        begins = low = prefix.encode("utf-8", "surrogatepass")
        while True:
            page: list[bytes] = []
            with self._transaction() as transaction:
                cursor = transaction.cursor()
                found = cursor.set_range(low) if low else cursor.first()
                while found and len(page) < LMDB_PAGE and bytes(cursor.key()).startswith(begins):
                    page.append(bytes(cursor.key()))
                    found = cursor.next()
            if not page:
                return
            yield from (key.decode("utf-8", "replace") for key in page)
            low = page[-1] + b"\0"

    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        begins = low = prefix.encode("utf-8", "surrogatepass")
        while True:
            page: list[Entry] = []
            with self._transaction() as transaction:
                cursor = transaction.cursor()
                found = cursor.set_range(low) if low else cursor.first()
                while found and len(page) < LMDB_PAGE:
                    key = bytes(cursor.key())
                    if not key.startswith(begins):
                        break
                    name, slash, _ = key[len(begins) :].partition(b"/")
                    page.append(
                        Entry(name.decode("utf-8", "replace"), bool(slash), None if slash else len(cursor.value()))
                    )
                    # "0" is the character after "/", so this skips all keys beneath the name
                    low = begins + name + b"0" if slash else key + b"\0"
                    found = cursor.set_range(low)
            if not page:
                return
            yield from page

    # ------------------------------------------------------------------ writing
    def _store(self, key: str, value: bytes, expect: Version | None) -> Version:
        with self._transaction(key, write=True) as transaction:
            stored = self._encoded(key)
            if stored is None:
                raise Refused(
                    f"LMDB cannot hold the key {key[:60]!r}",
                    store=self.url,
                    key=key,
                    advice="Choose a shorter name: a key may have 511 bytes at most.",
                )
            if expect is not None:
                there = transaction.get(stored)
                found = None if there is None else bytes(there)
                self._expect(key, expect, None if found is None else (found, Version.of(found)))
            transaction.put(stored, value)
        return Version.of(value)

    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        version = self._store(key, value, expect)
        self._flush()
        return version

    def _put(self, key: str, parts: Sequence[Buffer]) -> None:
        self._store(key, b"".join(parts), None)

    def _flush(self) -> None:
        if self.writable:
            with self._transaction():  # it keeps the environment open meanwhile
                self._environment.opened().sync(True)

    def _erase(self, key: str) -> None:
        with self._transaction(key, write=True) as transaction:
            stored = self._encoded(key)
            if stored is not None:
                transaction.delete(stored)

    def _erase_prefix(self, prefix: str) -> None:
        begins = prefix.encode("utf-8", "surrogatepass")
        with self._transaction(prefix, write=True) as transaction:
            cursor = transaction.cursor()
            found = cursor.set_range(begins) if begins else cursor.first()
            while found and bytes(cursor.key()).startswith(begins):
                found = cursor.delete()

    @property
    def _renames_within(self) -> bool:
        return True

    def _rename_within(self, keys: Sequence[tuple[str, str]], prefixes: Sequence[tuple[str, str]]) -> bool:
        place = next((key for key, _ in (*keys, *prefixes)), "")
        with self._transaction(place, write=True) as transaction:
            named = [*keys]
            for prefix, to in prefixes:
                begins = prefix.encode("utf-8", "surrogatepass")
                cursor = transaction.cursor()
                found = cursor.set_range(begins)
                while found and bytes(cursor.key()).startswith(begins):
                    key = bytes(cursor.key()).decode("utf-8", "surrogatepass")
                    named.append((key, to + key[len(prefix) :]))
                    found = cursor.next()
            moves = []
            for key, to in named:
                old, new = self._encoded(key), self._encoded(to)
                if old is None or new is None:  # a name is too long
                    return False
                moves.append((old, new))
            for old, new in moves:
                if (value := transaction.get(old)) is not None:
                    transaction.put(new, bytes(value))
                    transaction.delete(old)
        self._flush()
        return True

    def close(self) -> None:
        self._environment.close()


def open_lmdb(url: str, mode: Mode, options: StoreOptions) -> Store:
    """The environment of an lmdb:///path address."""
    path = url.partition("://")[2]
    path = path[1:] if os.name == "nt" and path[2:3] == ":" else path
    if mode in ("r", "r+") and not (os.path.isfile(path) or os.path.isfile(os.path.join(path, "data.mdb"))):
        raise NotFound(f"There is no LMDB environment at {path}", store=url, advice=nearest(path))
    store = LMDBStore(path, writable=mode != "r")
    try:
        if mode == "w-" and next(iter(store.list()), None) is not None:
            raise NotEmpty(f"{path} exists and is not empty", store=url, advice="Choose another place.")
    except ZarrscopeError:
        store.close()
        raise
    return store
