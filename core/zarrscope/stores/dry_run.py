"""A wrapper of a store for dry runs: written values stay in memory, and every change is recorded.

A dry run calls the same code as the real run, in every dialect, only with a DryRunStore in place of the store. The code
reads back the values that it has written, gets the same conflicts, and leaves a list of the exact operations. Values
that are only copied or moved are not read: the DryRunStore remembers which store has them, and under which key.

It gives the guarantees of store.py; tests/contracts/store.py tests it. Changes that other programs make to the store
meanwhile are visible for all keys that the DryRunStore has not written.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from zarrscope.errors import Conflict, ZarrscopeError
from zarrscope.model.storage import Answer, ByteRange, Entry, Request, Version
from zarrscope.stores.backend import Backend
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import Wrapper

OperationKind = Literal["set", "copy", "move_prefix", "erase", "erase_prefix"]


@dataclass(frozen=True)
class Operation:
    """One change that the real run would make to a store.

    `size`: the number of bytes set, copied, moved or erased; None if it is not known without reading the values, or
    nothing is stored. `keys`: the number of stored values concerned. `source`: the key or prefix from which values are
    copied or moved, in the store `source_url`.
    """

    act: OperationKind
    key: str
    store: str
    size: int | None = None
    keys: int = 1
    source: str | None = None
    source_url: str | None = None

    @property
    def destroys(self) -> bool:
        """Whether the operation erases stored data."""
        return self.act in ("erase", "erase_prefix") and self.keys > 0


def ordered(log: Sequence[Operation]) -> tuple[Operation, ...]:
    """The operations in order, except that consecutive copies, which run in parallel, are sorted by key."""
    found: list[Operation] = []
    for _, alike in groupby(log, lambda each: (each.act, each.store, each.source_url)):
        group = list(alike)
        found += sorted(group, key=lambda each: each.key) if group[0].act == "copy" else group
    return tuple(found)


class DryRunStore(Wrapper):
    """Reads from a store, and records writes in `log` instead of carrying them out.

    For a change of two stores, a second DryRunStore with the `log` of the first records into the same list.
    """

    def __init__(self, store: Store, log: list[Operation] | None = None) -> None:
        super().__init__(store)
        self.log: list[Operation] = log if log is not None else []
        self._state = _State(store)
        self._guard = threading.RLock()

    @property
    def operations(self) -> tuple[Operation, ...]:
        """All operations so far, in order, except that consecutive copies, which run in parallel, are sorted by key."""
        return ordered(self.log)

    def _record(
        self,
        act: OperationKind,
        key: str,
        size: int | None = None,
        keys: int = 1,
        source: str | None = None,
        source_url: str | None = None,
    ) -> None:
        self.log.append(Operation(act, key, self.url, size, keys, source, source_url))

    # ------------------------------------------------------------------ reading
    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None:
        return _read(self._state.find(key), part, limit)

    def _get_many(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None = None
    ) -> Iterator[tuple[int, Answer]]:
        """Answers requests. Values that the DryRunStore has not written are requested from the store, in parallel."""
        elsewhere: dict[int, tuple[str, ByteRange | None]] = {}
        for i, (key, part) in enumerate(requests):
            if cancelled():
                return
            found = self._state.find(key)
            if isinstance(found, _Stored) and found.store is self.store:
                elsewhere[i] = (found.key, part)
                continue
            try:
                yield i, _read(found, part, limit)
            except ZarrscopeError as error:
                yield i, error.located(store=self.url, key=key)
        order = list(elsewhere)
        for j, answer in self.store.get_many([elsewhere[i] for i in order], cancelled, limit):
            yield order[j], answer

    def _get_versioned(self, key: str, limit: int | None = None) -> tuple[bytes, Version] | None:
        found = self._state.find(key)
        if isinstance(found, _Stored):
            return found.store._get_versioned(found.key, limit)
        return None if found is None else (found, Version.of(found))

    def _version_of(self, value: bytes) -> Version | None:
        return None

    def _size_of(self, key: str) -> int | None:
        found = self._state.find(key)
        if isinstance(found, _Stored):
            return found.store._size_of(found.key)
        return None if found is None else len(found)

    def _list(self) -> Iterator[str]:
        return self._state.keys("")

    def _list_prefix(self, prefix: str) -> Iterator[str]:
        return self._state.keys(prefix)

    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        return self._state.level(prefix)

    _scan_children = Store._scan_children

    # ------------------------------------------------------------------ writing
    # The methods of Store instead of those of Wrapper, which would call the wrapped store.
    _put, _flush, _lock_key = Store._put, Store._flush, Store._lock_key
    _stale_temporaries = Store._stale_temporaries

    def _claim(self, key: str) -> AbstractContextManager[bool]:
        return nullcontext(True)  # nobody else sees the writes of a dry run

    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        with self._guard:
            if expect is not None:
                self._expect(key, expect, self._get_versioned(key))
            self._state.values[key] = value
            self._record("set", key, size=len(value))
        return Version.of(value)

    def _erase(self, key: str) -> None:
        with self._guard:
            found = self._state.find(key)
            if isinstance(found, _Stored) and not _is_there(found):
                found = None
            self._record("erase", key, size=None if found is None else self._size_of(key), keys=int(found is not None))
            self._state.values[key] = None

    def _erase_prefix(self, prefix: str) -> None:
        with self._guard:
            keys = list(self._state.keys(prefix))
            self._record("erase_prefix", prefix, size=self._total(self, keys), keys=len(keys))
            self._state = _State(self._state, gone=(prefix,))

    def _copy_many(
        self, source: Backend, pairs: Sequence[tuple[str, str]], cancelled: Callable[[], bool]
    ) -> Iterator[tuple[str, int | None]]:
        for key, to in pairs:
            if cancelled():
                return
            found = _found_in(source, key)
            if found is None or (isinstance(found, _Stored) and not _is_there(found)):
                continue
            size = source._size_of(key)
            with self._guard:
                self._state.values[to] = found
                self._record("copy", to, size=size, source=key, source_url=source.url)
            yield to, size

    def _compare_many(self, source: Backend, pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
        different = [(key, to) for key, to in pairs if self._state.find(to) != _found_in(source, key)]
        return super()._compare_many(source, different)

    def _can_move_prefix(self, source: Backend, prefix: str, to: str) -> bool:
        inner = source.store if isinstance(source, DryRunStore) else source
        return self.store.files.can_move_prefix(inner, prefix, to)

    def _move_prefix(self, source: Backend, prefix: str, to: str) -> None:
        giving = source if isinstance(source, DryRunStore) else self
        with self._guard:
            if next(self._state.keys(to), None) is not None:
                raise Conflict("Something is stored there already", store=self.url, key=to)
            keys = list(giving._state.keys(prefix))
            self._record(
                "move_prefix", to, size=self._total(giving, keys), keys=len(keys), source=prefix, source_url=giving.url
            )
            before = giving._state
            giving._state = _State(before, gone=(prefix,))
            self._state = _State(self._state, arrived=(before, prefix, to))

    @staticmethod
    def _total(store: DryRunStore, keys: Sequence[str]) -> int | None:
        """The size of all values together; None if the size of one of them is unknown."""
        total = 0
        for key in keys:
            size = store._size_of(key)
            if size is None:
                return None
            total += size
        return total


@dataclass(frozen=True)
class _Stored:
    """A value that is not in memory: the store that has it, which may be another than the wrapped one, and its key
    there."""

    store: Backend
    key: str


_Found = bytes | _Stored | None


def _found_in(store: Backend, key: str) -> _Found:
    return store._state.find(key) if isinstance(store, DryRunStore) else _Stored(store, key)


def _is_there(found: _Stored) -> bool:
    return found.store._size_of(found.key) is not None or found.store._get(found.key, ByteRange(0, 0)) is not None


def _read(found: _Found, part: ByteRange | None, limit: int | None) -> bytes | None:
    if isinstance(found, _Stored):
        return found.store._get(found.key, part, limit)
    return found if found is None or part is None else part.of(found)


class _State:
    """The contents of the store after some recorded changes, as a layer over `below`, the contents before them.
    `values` are the values set and erased since. `gone` are prefixes erased or moved away. `arrived` is (the layer from
    which a prefix was moved, the prefix there, the prefix here). Only the topmost layer is written to."""

    def __init__(
        self,
        below: _State | Store,
        *,
        gone: tuple[str, ...] = (),
        arrived: tuple[_State, str, str] | None = None,
    ) -> None:
        self.below, self.gone, self.arrived = below, gone, arrived
        self.values: dict[str, _Found] = {}
        """The value of each changed key; None if it was erased."""

    def find(self, key: str) -> _Found:
        state: _State | Store = self
        while isinstance(state, _State):
            if key in state.values:
                return state.values[key]
            if state.arrived is not None and key.startswith(state.arrived[2]):
                state, old, new = state.arrived
                key = old + key[len(new) :]
            elif key.startswith(state.gone):
                return None
            else:
                state = state.below
        return _Stored(state, key)

    def keys(self, prefix: str) -> Iterator[str]:
        values = dict(self.values)
        if isinstance(self.below, Store):
            beneath = self.below.list_prefix(prefix)
        else:
            beneath = (key for key in self.below.keys(prefix) if not key.startswith(self.gone))
        yield from (key for key in beneath if key not in values)
        if self.arrived is not None:
            other, old, new = self.arrived
            if new.startswith(prefix):
                yield from (k for key in other.keys(old) if (k := new + key[len(old) :]) not in values)
            elif prefix.startswith(new):
                inner = old + prefix[len(new) :]
                yield from (k for key in other.keys(inner) if (k := new + key[len(old) :]) not in values)
        yield from (key for key, value in values.items() if value is not None and key.startswith(prefix))

    def level(self, prefix: str) -> Iterator[Entry]:
        """Lists one level: the listing of the layer below, with the changes of this layer applied."""
        touched: dict[str, None] = {}
        """The names directly beneath `prefix` in which this layer differs from the layer below. Names of prefixes end
        in a slash."""
        arrived = () if self.arrived is None else (self.arrived[2],)
        if prefix.startswith((*self.gone, *arrived)):
            for key in self.keys(prefix):
                name, slash, _ = key[len(prefix) :].partition("/")
                touched[name + slash] = None
            yield from (Entry(name.rstrip("/"), name.endswith("/")) for name in touched)
            return
        for place in (*self.values, *self.gone, *arrived):
            if place.startswith(prefix):
                name, slash, _ = place[len(prefix) :].partition("/")
                touched[name + slash] = None
        beneath = self.below.list_dir(prefix) if isinstance(self.below, Store) else self.below.level(prefix)
        yield from (entry for entry in beneath if entry.name + "/" * entry.is_prefix not in touched)
        for name in touched:
            if not name.endswith("/"):
                if self.values[prefix + name] is not None:
                    yield Entry(name, False)
            elif next(self.keys(prefix + name), None) is not None:
                yield Entry(name[:-1], True)
