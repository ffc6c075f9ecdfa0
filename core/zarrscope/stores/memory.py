"""A store in this process's memory: for tests, scratch hierarchies and `memory://name` addresses.

It gives the guarantees of store.py, and may be used from any thread. The operations are those of spec B.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import count
from weakref import WeakValueDictionary

from zarrscope.model.buffers import Arena
from zarrscope.model.storage import Buffer, ByteRange, Entry, Version
from zarrscope.runtime.keyed_locks import KeyedLocks
from zarrscope.stores.registry import Mode, StoreOptions
from zarrscope.stores.store import Store
from zarrscope.stores.value_reader import HeldReader, Reader

_numbers = count(1)
_named: dict[str, MemoryStore] = {}
_numbered: WeakValueDictionary[str, MemoryStore] = WeakValueDictionary()
_named_lock = threading.Lock()
_claims = KeyedLocks()


class _MemoryReader(HeldReader):
    """Reads the value that was stored when it was first read after `seek`, even if another one is stored since."""

    def _held(self) -> Buffer | None:
        if not self._asked:
            self._value, self._asked = self._store.get(self._key or ""), True
        return self._value

    def keep(self) -> object:
        return self._held()

    def take(self, key: str, kept: object) -> None:
        self._key, self._value, self._asked = key, kept if isinstance(kept, bytes) else None, True


class MemoryStore(Store):
    """Keys and values in a dict. `values` are the initial values. `url` is "memory://name"; without a name it has a
    number instead."""

    def __init__(self, values: Mapping[str, bytes] | None = None, *, name: str | None = None) -> None:
        self._name = name or str(next(_numbers))
        self.url = f"memory://{self._name}"
        self._lock = threading.Lock()
        self._values: dict[str, bytes] = {}
        for key, value in (values or {}).items():
            self.set(key, value)
        if name is None:
            _numbered[self._name] = self

    @classmethod
    def named(cls, name: str) -> MemoryStore:
        """The store of that name, which lives until the process ends. `name` may also be the number of a store, as long
        as that store is in use."""
        with _named_lock:
            return _numbered.get(name) or _named.setdefault(name, cls(name=name))

    def _reader(self, arena: Arena, limit: int | None = None) -> Reader:
        return _MemoryReader(self, limit)

    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None:
        value = self._values.get(key)
        return value if value is None or part is None else part.of(value)

    def _list(self) -> Iterator[str]:
        with self._lock:
            keys = list(self._values)
        return iter(keys)

    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        with self._lock:
            found = [(key[len(prefix) :], len(value)) for key, value in self._values.items() if key.startswith(prefix)]
        prefixes: set[str] = set()
        for rest, size in found:
            name, slash, _ = rest.partition("/")
            if not slash:
                yield Entry(name, False, size)
            elif name not in prefixes:
                prefixes.add(name)
                yield Entry(name, True)

    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        version = Version.of(value)
        with self._lock:
            if expect is not None:
                found = self._values.get(key)
                self._expect(key, expect, None if found is None else (found, Version.of(found)))
            self._values[key] = value
        return version

    def _size_of(self, key: str) -> int | None:
        value = self._values.get(key)
        return None if value is None else len(value)

    def _put(self, key: str, parts: Sequence[Buffer]) -> None:
        value = b"".join(parts)
        with self._lock:
            self._values[key] = value

    def _claim(self, key: str) -> AbstractContextManager[bool]:
        return _claims.hold((id(self), key))

    def _erase(self, key: str) -> None:
        with self._lock:
            self._values.pop(key, None)

    def _erase_prefix(self, prefix: str) -> None:
        with self._lock:
            for key in [key for key in self._values if key.startswith(prefix)]:
                del self._values[key]

    @property
    def _renames_within(self) -> bool:
        return True

    def _rename_within(self, keys: Sequence[tuple[str, str]], prefixes: Sequence[tuple[str, str]]) -> bool:
        with self._lock:
            named = [(key, to) for key, to in keys if key in self._values]
            for prefix, to in prefixes:
                named += [(key, to + key[len(prefix) :]) for key in self._values if key.startswith(prefix)]
            for key, to in named:
                self._values[to] = self._values.pop(key)
        return True


def open_memory(url: str, mode: Mode, options: StoreOptions) -> Store:
    """The store of a memory://name address."""
    return MemoryStore.named(url[len("memory://") :])
