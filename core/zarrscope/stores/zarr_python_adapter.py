"""Makes a store of zarr-python 3 of any store of zarrscope: `zarrscope.as_zarr_store(store)`.

zarr-python is imported when the first such store is made; the engine does not need it. Each call runs on a thread of
asyncio's own pool, so one store serves every event loop. Documentation of the interface:
https://zarr.readthedocs.io/en/v3.1.6/api/zarr/abc/store/
"""

from __future__ import annotations

import asyncio
import os
import pickle
from collections.abc import AsyncIterator, Iterable, Iterator
from functools import cache
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any

from zarrscope.errors import Conflict, Unsupported
from zarrscope.errors.installing import how_to_install_packages
from zarrscope.model.storage import ABSENT, ByteRange
from zarrscope.runtime.tuning import SCANNED_AT_ONCE
from zarrscope.stores.store import Store

if TYPE_CHECKING:
    from types import ModuleType


def as_zarr_store(store: Store | str | os.PathLike[str], *, read_only: bool = False) -> Any:
    """The store, or the store at an address, for `zarr.open` and other functions that take a store of zarr-python 3.

    Parameters
    ----------
    store
        A Store, such as the `store` of a hierarchy, or an address as for `open`.
    read_only
        Refuses writing through the new store. It is read-only anyway if `store` cannot be written.

    Returns
    -------
    zarr.abc.store.Store
        A store with the same values. Closing it leaves `store` open.

    Raises
    ------
    Unsupported
        zarr-python 3 is not installed.
    ZarrscopeError
        The store at an address cannot be opened: NotFound, Unreadable, Unsupported.

    Examples
    --------
    >>> import zarr, zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> store = MemoryStore()
    >>> _ = zarrscope.open(store, "w-", dialect="v2").create_array("/a", shape=(3,), dtype="u1")
    >>> zarr.open_array(zarrscope.as_zarr_store(store), path="a", mode="r").shape
    (3,)
    """
    if not isinstance(store, Store):
        from zarrscope.stores.address import open_store

        store = open_store(os.fspath(store), "r" if read_only else "a")
    return adapter()(store, read_only=read_only)


def _again(kept: bytes | str, read_only: bool) -> Any:
    from zarrscope.stores.address import open_store

    store = pickle.loads(kept) if isinstance(kept, bytes) else open_store(kept, "r" if read_only else "a")
    return adapter()(store, read_only=read_only)


@cache  # not memoized, which can be cleared: two classes of one name would break isinstance and pickles
def adapter() -> Any:
    """The class ZarrscopeStore, made on first use. Raises Unsupported if zarr-python is missing, or older than 3."""
    try:
        theirs: Any = import_module("zarr.abc.store")
        buffers: ModuleType = import_module("zarr.core.buffer")
    except ImportError as error:
        raise Unsupported(
            f"A store for zarr-python needs zarr-python 3: {error}",
            feature="zarr-python",
            advice=how_to_install_packages("zarr>=3"),
        ) from error

    def part_of(asked: object) -> ByteRange | None:
        if asked is None:
            return None
        if isinstance(asked, theirs.RangeByteRequest):
            return ByteRange(asked.start, max(0, asked.end - asked.start))
        if isinstance(asked, theirs.OffsetByteRequest):
            return ByteRange(asked.offset, None)
        if isinstance(asked, theirs.SuffixByteRequest):
            return ByteRange.last(asked.suffix)
        raise ValueError(f"Unexpected byte_range, got {asked}.")

    class ZarrscopeStore(theirs.Store):  # type: ignore[misc]  # a class of zarr is Any where zarr is not installed
        """The values of `store`."""

        supports_writes = True
        supports_deletes = True
        supports_listing = True  # an instance overrides it if its store cannot list
        supports_partial_writes = False  # zarr-python before 3.1.2 reads this attribute

        def __init__(self, store: Store, *, read_only: bool = False) -> None:
            super().__init__(read_only=read_only or not store.writable)
            self.store = store
            self.supports_listing = store.listable

        def with_read_only(self, read_only: bool = False) -> ZarrscopeStore:
            if not read_only and not self.store.writable:
                raise ValueError(f"{self.store.url} is read-only")
            return type(self)(self.store, read_only=read_only)

        def __eq__(self, other: object) -> bool:
            if not isinstance(other, type(self)) or self.read_only != other.read_only:
                return False
            one, two = self.store, other.store
            return one is two or (type(one) is type(two) and one.url == two.url)

        def __hash__(self) -> int:
            return hash((self.store.url, self.read_only))

        def __repr__(self) -> str:
            return f"ZarrscopeStore({self.store.url!r})"

        def __str__(self) -> str:
            return self.store.url

        def __reduce__(self) -> tuple[Any, ...]:
            """Pickles the store, or only its address if the store cannot be pickled."""
            try:
                kept: bytes | str = pickle.dumps(self.store)
            except Exception:
                kept = self.store.url
            return _again, (kept, self.read_only)

        # -------------------------------------------------------------- synchronous
        def get_sync(self, key: str, *, prototype: Any = None, byte_range: object = None) -> Any:
            value = self.store.get(key, part_of(byte_range))
            return None if value is None else (prototype or buffers.default_buffer_prototype()).buffer.from_bytes(value)

        def set_sync(self, key: str, value: object) -> None:
            self._check_writable()
            if not isinstance(value, buffers.Buffer):
                raise TypeError(f"A value is a Buffer of zarr-python, not {type(value).__name__}: value must be Buffer")
            self.store.bulk.put(key, value.to_bytes())

        def delete_sync(self, key: str) -> None:
            self._check_writable()
            self.store.erase(key)

        # -------------------------------------------------------------- asynchronous
        async def get(self, key: str, prototype: object = None, byte_range: object = None) -> Any:
            await self._ensure_open()
            return await asyncio.to_thread(self.get_sync, key, prototype=prototype, byte_range=byte_range)

        async def get_partial_values(self, prototype: Any, key_ranges: Iterable[tuple[str, Any]]) -> list[Any]:
            asked = [(key, part_of(part)) for key, part in key_ranges]
            values = await asyncio.to_thread(self.store.get_partial_values, asked)
            made = (prototype or buffers.default_buffer_prototype()).buffer.from_bytes
            return [None if value is None else made(value) for value in values]

        async def exists(self, key: str) -> bool:
            return await asyncio.to_thread(self.store.get, key, ByteRange(0, 1)) is not None

        async def getsize(self, key: str) -> int:
            def asked() -> int | None:
                size = self.store.bulk.size_of(key)
                if size is None:
                    value = self.store.get(key)
                    size = None if value is None else len(value)
                return size

            size = await asyncio.to_thread(asked)
            if size is None:
                raise FileNotFoundError(key)
            return size

        async def set(self, key: str, value: object) -> None:
            await self._ensure_open()
            await asyncio.to_thread(self.set_sync, key, value)

        async def set_partial_values(self, key_start_values: Iterable[tuple[str, int, Any]]) -> None:
            """zarr-python before 3.1.2 requires this method."""
            self._check_writable()
            values = [(key, start, bytes(value)) for key, start, value in key_start_values]
            await asyncio.to_thread(self.store.set_partial_values, values)

        async def set_if_not_exists(self, key: str, value: Any) -> None:
            self._check_writable()
            await self._ensure_open()
            try:
                await asyncio.to_thread(self.store.set, key, value.to_bytes(), ABSENT)
            except Conflict:
                return

        async def delete(self, key: str) -> None:
            self._check_writable()
            await self._ensure_open()
            await asyncio.to_thread(self.store.erase, key)

        async def delete_dir(self, prefix: str) -> None:
            self._check_writable()
            prefix = prefix.strip("/")
            await asyncio.to_thread(self.store.erase_prefix, prefix and prefix + "/")

        async def clear(self) -> None:
            await self.delete_dir("")

        # -------------------------------------------------------------- listing
        def list(self) -> AsyncIterator[str]:
            return _awaited(self.store.list())

        def list_prefix(self, prefix: str) -> AsyncIterator[str]:
            above, slash, rest = prefix.rpartition("/")
            keys = self.store.list_prefix(above + slash)
            return _awaited(key for key in keys if key.startswith(prefix)) if rest else _awaited(keys)

        def list_dir(self, prefix: str) -> AsyncIterator[str]:
            prefix = prefix.strip("/")
            return _awaited(entry.name for entry in self.store.list_dir(prefix and prefix + "/"))

    return ZarrscopeStore


async def _awaited(names: Iterable[str]) -> AsyncIterator[str]:
    found: Iterator[str] = iter(names)
    while batch := await asyncio.to_thread(lambda: [*islice(found, SCANNED_AT_ONCE)]):
        for name in batch:
            yield name
