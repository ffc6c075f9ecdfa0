"""Makes a store of a Python mapping from keys to bytes: a dict, an fsspec mapper, a store of zarr-python 2.

`zarrscope.open(mapping)` uses it. A mapping that is not a MutableMapping is opened read-only. A KeyError of the
mapping means that the value is absent; its other errors become Unreadable. store.py and spec B describe the operations.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager, suppress
from typing import Any

from zarrscope.errors import Refused, Unreadable
from zarrscope.model.storage import ByteRange, Version
from zarrscope.runtime.keyed_locks import KeyedLocks
from zarrscope.stores.keys import check_key, too_large
from zarrscope.stores.process_addresses import object_address
from zarrscope.stores.store import Store

_claims = KeyedLocks()


class MappingStore(Store):
    """The values of `mapping`. Without `url` the store gets a numbered address, by which this process can open it
    again (process_addresses.py)."""

    def __init__(self, mapping: Mapping[str, Any], url: str | None = None) -> None:
        self.mapping = mapping
        self.writable = isinstance(mapping, MutableMapping)
        self._lock = threading.RLock()
        self.url = url if url is not None else object_address(self)

    def _claim(self, key: str) -> AbstractContextManager[bool]:
        if type(self.mapping) is not dict:  # several processes may share another kind of mapping
            return super()._claim(key)
        return _claims.hold((id(self.mapping), key))

    def _read(self, key: str) -> bytes | None:
        try:
            value = self.mapping[key]
        except KeyError:
            return None
        except Exception as error:
            raise self._failed(error, key) from error
        try:
            return bytes(memoryview(value).cast("B")) if not isinstance(value, bytes) else value
        except TypeError:
            # The mapping that a MemoryStore of zarr-python keeps holds objects that only zarr-python may replace.
            theirs = type(value).__module__.startswith("zarr.")
            raise Unreadable(
                f"The mapping holds an object of type {type(value).__name__} instead of bytes",
                store=self.url,
                key=key,
                advice="Open the store or the node of zarr-python that uses this mapping."
                if theirs
                else "Store bytes under this key.",
            ) from None

    def _failed(self, error: Exception, key: str | None = None) -> Unreadable:
        return Unreadable(
            f"The mapping failed: {type(error).__name__}: {error}",
            store=self.url,
            key=key,
            advice="Check the mapping's own storage, then try again.",
        )

    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None:
        value = self._read(key)
        if value is not None and part is not None:
            value = part.of(value)
        if value is not None and limit is not None and len(value) > limit:
            raise too_large(len(value), limit).located(store=self.url, key=key)
        return value

    def _list(self) -> Iterator[str]:
        try:
            with self._lock:
                keys = list(self.mapping)
        except Exception as error:
            raise self._failed(error) from error
        for key in keys:
            try:
                yield check_key(key)
            except (Refused, TypeError):  # not a valid key, so no hierarchy uses it
                continue

    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        assert isinstance(self.mapping, MutableMapping)
        with self._lock:
            if expect is not None:
                found = self._read(key)
                self._expect(key, expect, None if found is None else (found, Version.of(found)))
            try:
                self.mapping[key] = value
            except Exception as error:
                raise self._failed(error, key) from error
        return Version.of(value)

    def _erase(self, key: str) -> None:
        assert isinstance(self.mapping, MutableMapping)
        try:
            with self._lock, suppress(KeyError):  # fsspec's mapping before 2026 ignores the default of `pop`
                self.mapping.pop(key, None)
        except Exception as error:
            raise self._failed(error, key) from error
