"""Stores that wrap another store: a part of it, a read-only view, and for tests wrappers that count, delay or fail
operations.

A wrapper passes every operation on to the same operation of the wrapped store, so an operation that the backend does in
a fast way stays fast. Its attributes, such as `listable`, `remote` and `url`, are those of the wrapped store unless
stated otherwise.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from zarrscope.errors import Unreadable, ZarrscopeError
from zarrscope.model.storage import Answer, Buffer, ByteRange, Entry, Request, Version, renamed
from zarrscope.stores.backend import Backend, BackendEntry
from zarrscope.stores.store import Store

if TYPE_CHECKING:
    from zarrscope.stores.puts import WhenDone


class Wrapper(Store):
    """Passes everything on to `store`. `before` is called with each operation and its key or prefix, and may wait or
    raise."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.url = store.url
        self.listable = store.listable
        self.writable = store.writable
        self.remote = store.remote
        self.document_limit = store.document_limit
        self.remark = store.remark
        self._gathers_puts = store._gathers_puts
        self._recognition = store._recognition

    def before(self, operation: str, key: str) -> None:
        """Called before each operation: get, list_prefix, list_dir, index, set, erase, erase_prefix, move_prefix."""

    def after(self, operation: str, key: str, size: int) -> None:
        """Called after a get or a set, with the number of bytes."""

    @property
    def allow_outside(self) -> bool:
        """Whether the wrapped store follows links that lead out of its folder."""
        return self.store.allow_outside

    @allow_outside.setter
    def allow_outside(self, allow: bool) -> None:
        self.store.allow_outside = allow

    @property
    def tells_absence(self) -> bool:
        return self.store.tells_absence

    @property
    def missing_is_fill(self) -> bool:
        return self.store.missing_is_fill

    @property
    def taken_as_missing(self) -> int:
        return self.store.taken_as_missing

    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None:
        self.before("get", key)
        value = self.store._get(key, part, limit)
        self.after("get", key, len(value or b""))
        return value

    def _get_many(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None = None
    ) -> Iterator[tuple[int, Answer]]:
        passed: list[int] = []
        for i, (key, _) in enumerate(requests):
            if cancelled():
                return
            try:
                self.before("get", key)
            except ZarrscopeError as error:
                yield i, error.located(store=self.url, key=key)
            else:
                passed.append(i)
        for i, answer in self.store._get_many([requests[i] for i in passed], cancelled, limit):
            self.after("get", requests[passed[i]][0], len(answer) if isinstance(answer, bytes) else 0)
            yield passed[i], answer

    def _get_versioned(self, key: str, limit: int | None = None) -> tuple[bytes, Version] | None:
        self.before("get", key)
        found = self.store._get_versioned(key, limit)
        self.after("get", key, 0 if found is None else len(found[0]))
        return found

    def _version_of(self, value: bytes) -> Version | None:
        return self.store._version_of(value)

    def _list(self) -> Iterator[str]:
        self.before("list_prefix", "")
        return self.store._list()

    def _list_prefix(self, prefix: str) -> Iterator[str]:
        self.before("list_prefix", prefix)
        return self.store._list_prefix(prefix)

    def _list_sizes(self, prefix: str) -> Iterator[tuple[str, int | None]]:
        if type(self)._list_prefix is not Wrapper._list_prefix:  # this wrapper changes keys: use its own listing
            return super()._list_sizes(prefix)
        self.before("list_prefix", prefix)
        return self.store._list_sizes(prefix)

    def _list_with_folders(self, prefix: str) -> Iterator[BackendEntry]:
        if type(self)._list_prefix is not Wrapper._list_prefix:  # this wrapper changes keys: use its own listing
            return super()._list_with_folders(prefix)
        self.before("list_prefix", prefix)
        return self.store._list_with_folders(prefix)

    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        self.before("list_dir", prefix)
        return self.store._list_dir(prefix)

    def _named_folders(self, prefix: str) -> Iterator[str] | None:
        self.before("index", prefix)
        return self.store._named_folders(prefix)

    def _folders_refused(self, prefix: str) -> int | None:
        return self.store._folders_refused(prefix)

    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        self.before("set", key)
        version = self.store._set(key, value, expect)
        self.after("set", key, len(value))
        return version

    def _put(self, key: str, parts: Sequence[Buffer]) -> None:
        if type(self)._set is not Wrapper._set:  # this wrapper changes values: store them through its own `_set`
            super()._put(key, parts)
            return
        self.before("set", key)
        self.store._put(key, parts)
        self.after("set", key, sum(map(len, parts)))

    def _flush(self) -> None:
        self.store._flush()

    def _lock_key(self, key: str) -> AbstractContextManager[object]:
        return self.store._lock_key(key)

    def _claim(self, key: str) -> AbstractContextManager[bool]:
        return self.store._claim(key)

    def _stale_temporaries(self, prefix: str) -> Iterator[str]:
        return self.store._stale_temporaries(prefix)

    def _erase(self, key: str) -> None:
        self.before("erase", key)
        self.store._erase(key)

    def _erase_prefix(self, prefix: str) -> None:
        self.before("erase_prefix", prefix)
        self.store._erase_prefix(prefix)

    def _size_of(self, key: str) -> int | None:
        return self.store._size_of(key)

    def _is_gone(self) -> bool:
        return self.store._is_gone()

    def _ignores_spelling(self) -> bool:
        return self.store._ignores_spelling()

    def _spelled(self, key: str) -> str:
        return self.store._spelled(key)

    def _links(self, key: str) -> int:
        return self.store._links(key)

    def _lost_rights(self, key: str) -> tuple[str, ...]:
        return self.store._lost_rights(key)

    def _is_folder(self, key: str) -> bool:
        return self.store._is_folder(key)

    def _folder_of(self, prefix: str) -> str | None:
        return self.store._folder_of(prefix)

    def _moved_away(self, prefix: str) -> None:
        self.store._moved_away(prefix)

    def _can_move_prefix(self, source: Backend, prefix: str, to: str) -> bool:
        return self.store._can_move_prefix(source, prefix, to)

    def _rename_within(self, keys: Sequence[tuple[str, str]], prefixes: Sequence[tuple[str, str]]) -> bool:
        if type(self)._set is not Wrapper._set:  # this wrapper changes keys or values
            return False
        self.before("rename", next((to for _, to in (*keys, *prefixes)), ""))
        return self.store._rename_within(keys, prefixes)

    def _move_prefix(self, source: Backend, prefix: str, to: str) -> None:
        self.before("move_prefix", to)
        self.store._move_prefix(source, prefix, to)

    def _renew(self, other: Backend) -> bool:
        if not isinstance(other, Wrapper) or type(other) is not type(self) or not self.store._renew(other.store):
            return False
        self.url = other.url
        return True

    def close(self) -> None:
        self.store.close()


class ReadOnlyStore(Wrapper):
    """The same store, but read-only."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.writable = False


class PrefixStore(Wrapper):
    """The part of a store beneath `prefix` ("a/b/"), as a store of its own."""

    def __init__(self, store: Store, prefix: str, *, url: str | None = None) -> None:
        super().__init__(store)
        self.prefix = prefix
        self.url = url if url is not None else f"{store.url.rstrip('/')}/{prefix.rstrip('/')}"

    def _renew(self, other: Backend) -> bool:
        return isinstance(other, PrefixStore) and other.prefix == self.prefix and super()._renew(other)

    def _named(self, error: ZarrscopeError) -> ZarrscopeError:
        """The error with its key relative to this store, without the prefix."""
        if error.key is not None and error.key.startswith(self.prefix):
            error.key = error.key[len(self.prefix) :]
            error.store = self.url
        return error

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except ZarrscopeError as error:
            raise self._named(error) from error.__cause__

    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None:
        with self._naming():
            return self.store.get(self.prefix + key, part, limit)

    def _get_many(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None = None
    ) -> Iterator[tuple[int, Answer]]:
        inner = [renamed(each, self.prefix + each[0]) for each in requests]
        with self._naming():
            for i, answer in self.store.get_many(inner, cancelled, limit):
                yield i, self._named(answer) if isinstance(answer, ZarrscopeError) else answer

    def _get_versioned(self, key: str, limit: int | None = None) -> tuple[bytes, Version] | None:
        with self._naming():
            return self.store.get_versioned(self.prefix + key, limit)

    def _list(self) -> Iterator[str]:
        return self._list_prefix("")

    def _list_prefix(self, prefix: str) -> Iterator[str]:
        with self._naming():
            for key in self.store.list_prefix(self.prefix + prefix):
                yield key[len(self.prefix) :]

    def _list_with_folders(self, prefix: str) -> Iterator[BackendEntry]:
        with self._naming():
            for found in self.store.files.list_with_folders(self.prefix + prefix):
                error = None if found.error is None else self._named(found.error)
                yield BackendEntry(found.key[len(self.prefix) :], found.is_folder, error)

    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        with self._naming():
            yield from self.store.list_dir(self.prefix + prefix)

    def _named_folders(self, prefix: str) -> Iterator[str] | None:
        return self.store._named_folders(self.prefix + prefix)

    def _folders_refused(self, prefix: str) -> int | None:
        return self.store._folders_refused(self.prefix + prefix)

    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        with self._naming():
            return self.store.set(self.prefix + key, value, expect)

    def _put(self, key: str, parts: Sequence[Buffer]) -> None:
        with self._naming():
            self.store.bulk.put(self.prefix + key, *parts)

    def _puts_begun_at_once(self) -> int:
        return self.store._puts_begun_at_once()

    def _begin_put(self, key: str, value: bytes, done: WhenDone) -> Callable[[], object]:
        def ended(error: BaseException | None) -> None:
            done(self._named(error) if isinstance(error, ZarrscopeError) else error)

        return self.store._begin_put(self.prefix + key, value, ended)

    def _lock_key(self, key: str) -> AbstractContextManager[object]:
        return self.store._lock_key(self.prefix + key if key else "")

    def _claim(self, key: str) -> AbstractContextManager[bool]:
        return self.store._claim(self.prefix + key)

    def _stale_temporaries(self, prefix: str) -> Iterator[str]:
        for name in self.store.files.stale_temporaries(self.prefix + prefix):
            yield name[len(self.prefix) :]

    def _erase(self, key: str) -> None:
        with self._naming():
            self.store.erase(self.prefix + key)

    def _erase_prefix(self, prefix: str) -> None:
        with self._naming():
            self.store.erase_prefix(self.prefix + prefix)

    def _size_of(self, key: str) -> int | None:
        with self._naming():
            return self.store.bulk.size_of(self.prefix + key)

    def _is_gone(self) -> bool:
        return self.store._is_gone()

    def _ignores_spelling(self) -> bool:
        return self.store._ignores_spelling()

    def _spelled(self, key: str) -> str:
        found = self.store._spelled(self.prefix + key)
        return found[len(self.prefix) :] if found.startswith(self.prefix) else key

    def _links(self, key: str) -> int:
        return self.store._links(self.prefix + key)

    def _lost_rights(self, key: str) -> tuple[str, ...]:
        return self.store._lost_rights(self.prefix + key)

    def _is_folder(self, key: str) -> bool:
        return self.store._is_folder(self.prefix + key)

    def _folder_of(self, prefix: str) -> str | None:
        return self.store._folder_of(self.prefix + prefix)

    def _moved_away(self, prefix: str) -> None:
        self.store._moved_away(self.prefix + prefix)

    def _rename_within(self, keys: Sequence[tuple[str, str]], prefixes: Sequence[tuple[str, str]]) -> bool:
        inner = [[(self.prefix + old, self.prefix + new) for old, new in pairs] for pairs in (keys, prefixes)]
        with self._naming():
            return self.store._rename_within(*inner)

    def _can_move_prefix(self, source: Backend, prefix: str, to: str) -> bool:
        return self.store.files.can_move_prefix(source, prefix, self.prefix + to)

    def _move_prefix(self, source: Backend, prefix: str, to: str) -> None:
        with self._naming():
            self.store.files.move_prefix(source, prefix, self.prefix + to)


class Counting(Wrapper):
    """Counts requests: `requests[operation]`, `keys[(operation, key)]`, and the bytes `read` and `written`."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Resets all counts to zero."""
        self.requests: Counter[str] = Counter()
        self.keys: Counter[tuple[str, str]] = Counter()
        self.read = 0
        self.written = 0

    def before(self, operation: str, key: str) -> None:
        with self._lock:
            self.requests[operation] += 1
            self.keys[operation, key] += 1

    def after(self, operation: str, key: str, size: int) -> None:
        with self._lock:
            if operation == "set":
                self.written += size
            else:
                self.read += size


class Gate(Wrapper):
    """Holds back operations until they are released, so that tests control a slow store without sleeping.

    `holds(operation, key)` decides whether an operation waits; by default all do. `waiting(n)` returns once n
    operations wait. `arrived` has their keys in the order of arrival.
    """

    def __init__(self, store: Store, holds: Callable[[str, str], bool] = lambda operation, key: True) -> None:
        super().__init__(store)
        self.holds = holds
        self.arrived: list[str] = []
        self._open = False
        self._permits = 0
        self._waiting = 0
        self._changed = threading.Condition()

    def before(self, operation: str, key: str) -> None:
        if not self.holds(operation, key):
            return
        with self._changed:
            self.arrived.append(key)
            self._waiting += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._open or self._permits > 0)
            self._waiting -= 1
            if not self._open:
                self._permits -= 1

    def release(self, count: int | None = None) -> None:
        """Lets `count` operations pass; without `count`, all of them from now on."""
        with self._changed:
            if count is None:
                self._open = True
            else:
                self._permits += count
            self._changed.notify_all()

    def hold(self) -> None:
        """Holds back operations again from now on."""
        with self._changed:
            self._open = False
            self._permits = 0

    def waiting(self, count: int = 1, timeout: float = 20.0) -> bool:
        """Waits until at least `count` operations are held back. Returns False if fewer are held back after `timeout`
        seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._waiting >= count, timeout)


class Latency(Wrapper):
    """Acts like a remote store: delays each operation by `seconds`, and one get_many with all its requests only
    once."""

    def __init__(self, store: Store, seconds: float, wait: Callable[[float], None] = time.sleep) -> None:
        super().__init__(store)
        self.remote = True
        self.seconds = seconds
        self._wait = wait

    def before(self, operation: str, key: str) -> None:
        self._wait(self.seconds)

    def _get_many(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None = None
    ) -> Iterator[tuple[int, Answer]]:
        if requests and not cancelled():
            self._wait(self.seconds)
            yield from self.store._get_many(requests, cancelled, limit)


@dataclass
class FaultRule:
    """A rule for which operations fail: of those that match, the first `skip` succeed and the next `times` fail; None
    stands for all others."""

    error: Callable[[], ZarrscopeError] = field(
        default=lambda: Unreadable("The network failed", advice="This fault was made for a test.")
    )
    matches: Callable[[str, str], bool] = lambda operation, key: True
    skip: int = 0
    times: int | None = None


class Faults(Wrapper):
    """Raises an error in the operations that one of `faults` selects. A set that fails stores nothing."""

    def __init__(self, store: Store, *faults: FaultRule) -> None:
        super().__init__(store)
        self.faults = list(faults)
        self._seen: Counter[int] = Counter()
        self._lock = threading.Lock()

    def before(self, operation: str, key: str) -> None:
        with self._lock:
            for fault in self.faults:
                if not fault.matches(operation, key):
                    continue
                seen = self._seen[id(fault)]
                self._seen[id(fault)] += 1
                if seen >= fault.skip and (fault.times is None or seen < fault.skip + fault.times):
                    raise fault.error().located(store=self.url, key=key)


__all__ = ["Counting", "FaultRule", "Faults", "Gate", "Latency", "PrefixStore", "ReadOnlyStore", "Wrapper"]
