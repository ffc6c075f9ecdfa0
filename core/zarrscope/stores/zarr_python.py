"""Makes a store of zarrscope of a store of zarr-python 3. `zarrscope.open` uses it for a Store, StorePath, Group or
Array of zarr-python.

zarr-python is not imported here, because a caller with such an object has already loaded it. The methods of its stores
are coroutines; they run on zarr-python's own event loop, because open resources such as an HTTP session belong to that
loop. The comparison with `expect` and the storing happen under a lock of this process; another process can store a
value in between. The operations are those of spec B.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from zarrscope.errors import Denied, Unreadable, ZarrscopeError
from zarrscope.errors.confidential import cause, scrub
from zarrscope.errors.visible import visible
from zarrscope.model.storage import ByteRange, Entry, Version
from zarrscope.runtime.tuning import SCANNED_AT_ONCE
from zarrscope.stores.keys import too_large
from zarrscope.stores.network import network
from zarrscope.stores.process_addresses import object_address, open_object_address
from zarrscope.stores.remote import RemoteStore
from zarrscope.stores.remote import loop as shared_loop

if TYPE_CHECKING:
    from types import ModuleType

T = TypeVar("T")

_ABSENT = (FileNotFoundError, IsADirectoryError, NotADirectoryError)
_MOST_TOLD = 300
"""The most characters of an error of another store that are repeated; some quote a whole document."""


def in_one_line(told: str) -> str:
    """The text of an error as a part of a sentence."""
    told = visible(" ".join(scrub(told).split())).removesuffix(":")
    return told if len(told) <= _MOST_TOLD else told[:_MOST_TOLD] + " …"


class _Ended(RuntimeError):
    """An error of a store that would have ended the event loop."""


async def guarded(work: Awaitable[T]) -> T:
    """Awaits the answer of a store. Turns errors that would end the event loop, or pass for a cancelling by the caller,
    into an ordinary error: `exit()` in a store, its own cancelled tasks, and panics of stores written in Rust."""
    try:
        return await work
    except (Exception, GeneratorExit):
        raise
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling()):
            raise
        raise _Ended(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__) from error


class ZarrPythonStore(RemoteStore):
    """The values of a zarr.abc.store.Store. It is read-only if that store is read-only or cannot erase values."""

    def __init__(self, store: Any) -> None:
        super().__init__(network())
        self._theirs = store
        self.listable = bool(store.supports_listing)
        self.writable = not store.read_only and bool(store.supports_writes and store.supports_deletes)
        self.remote = type(store).__name__ not in ("MemoryStore", "LocalStore")
        self.url = object_address(self)
        module = next(kind.__module__ for kind in type(store).__mro__ if kind.__module__ == "zarr.abc.store")
        self._requests: ModuleType = sys.modules[module]
        self._buffers: ModuleType = sys.modules["zarr.core.buffer"]
        # never one that can be written: opening an archive again with the mode "w" would empty it
        self._unopened = bool(store.read_only) and not getattr(store, "_is_open", True)

    def __reduce__(self) -> tuple[Any, ...]:
        return open_object_address, (self.url,)

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        own = getattr(sys.modules.get("zarr.core.sync"), "_get_loop", shared_loop)
        found: asyncio.AbstractEventLoop = own()
        return found

    async def _open(self) -> None:
        """Opens zarr-python's store if nobody has used it yet: not every store opens itself at its first request."""
        if self._unopened:
            await guarded(self._theirs._ensure_open())
            self._unopened = False

    # ------------------------------------------------------------------ reading
    async def _fetch(self, key: str, part: ByteRange | None, limit: int | None) -> bytes | None:
        try:
            await self._open()
            if part is not None and part.length == 0:
                return None if await self._part(key, ByteRange(0, 1)) is None else b""
            if part is not None or limit is None:
                return await self._part(key, part)
            value = await self._part(key, ByteRange(0, limit + 1))
            if value is not None and len(value) > limit:
                raise too_large(await self._size(key), limit)
            return value
        except ZarrscopeError:
            raise
        except Exception as error:
            if self._is_absent(error, key):
                return None
            raise self._failed(error, key) from cause(error)

    async def _part(self, key: str, part: ByteRange | None) -> bytes | None:
        try:
            value = await self._asked(key, part)
        except ZarrscopeError:
            raise
        except PermissionError:
            raise
        except Exception as error:  # some stores fail for a range beyond the end
            if part is None or self._is_absent(error, key):
                raise
            value = b""
        if value is None or part is None or (part.length is not None and len(value) == part.length):
            return value
        if part.start is not None and value:
            return value if part.length is None else value[: part.length]
        # For a range beyond the end of the value each store returns something else: read a range within the size.
        size = await self._size(key)
        if size is None:
            return None
        start, stop = part.span(size)
        return await self._asked(key, ByteRange(start, stop - start)) if stop > start else b""

    async def _asked(self, key: str, part: ByteRange | None) -> bytes | None:
        asked: object = None
        if part is not None and part.start is None:
            asked = self._requests.SuffixByteRequest(part.length)
        elif part is not None and part.length is None:
            asked = self._requests.OffsetByteRequest(part.start)
        elif part is not None:
            assert part.start is not None
            assert part.length is not None
            asked = self._requests.RangeByteRequest(part.start, part.start + part.length)
        found = await guarded(self._theirs.get(key, self._buffers.default_buffer_prototype(), asked))
        return None if found is None else bytes(found.to_bytes())

    async def _size(self, key: str) -> int | None:
        try:
            await self._open()
            return int(await guarded(self._theirs.getsize(key)))
        except ZarrscopeError:
            raise
        except Exception as error:
            if self._is_absent(error, key):
                return None
            raise self._failed(error, key) from cause(error)

    def size(self, key: str) -> int | None:
        """The size of the value in bytes; None when absent."""
        return self._wait(self._size(key))

    async def _ask_for_nothing(self, key: str) -> bool | None:
        return False

    def _hides(self, of_nothing: bool) -> bool:
        return of_nothing

    async def _readable(self, key: str) -> bool:
        return await self._size(key) is not None

    # ------------------------------------------------------------------ listing
    def _names(self, listed: Callable[[str], AsyncIterator[str]], prefix: str, asked: str) -> Iterator[str]:
        names: AsyncIterator[str] | None = None

        async def some() -> list[str]:
            nonlocal names
            await self._open()
            names = listed(asked) if names is None else names
            found: list[str] = []
            async for name in names:
                if not isinstance(name, str):
                    raise TypeError(f"a listing holds {type(name).__name__} in place of names")
                found.append(name)
                if len(found) == SCANNED_AT_ONCE:
                    break
            return found

        while True:
            try:
                batch = self._wait(guarded(some()))
            except ZarrscopeError:
                raise
            except _ABSENT:
                return
            except Exception as error:
                raise self._failed(error, prefix) from cause(error)
            yield from batch
            if len(batch) < SCANNED_AT_ONCE:
                return

    def _list_prefix(self, prefix: str) -> Iterator[str]:
        yield from self._names(self._theirs.list_prefix, prefix, prefix)

    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        """Lists one level. zarr-python returns only names; a request for each finds out whether it is a key or a
        prefix."""
        names = (name.strip("/") for name in self._names(self._theirs.list_dir, prefix, prefix.rstrip("/")))
        seen: set[str] = set()
        while batch := [*dict.fromkeys(name for name in islice(names, SCANNED_AT_ONCE) if name and name not in seen)]:
            if not seen and len(batch) == 1 and prefix and self._get(prefix[:-1], ByteRange(0, 1)) is not None:
                return  # `prefix` without its slash is a key, which some stores list as its own child
            seen.update(batch)
            held: set[str] = set()
            for i, answer in self._get_many([(prefix + name, ByteRange(0, 1)) for name in batch], lambda: False):
                if isinstance(answer, ZarrscopeError):
                    raise answer
                if answer is not None:
                    held.add(batch[i])
            yield from (Entry(name, name not in held) for name in batch)

    # ------------------------------------------------------------------ writing
    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        with self._lock_key(key):
            if expect is not None:
                found = self._get(key, None)
                self._expect(key, expect, None if found is None else (found, Version.of(found)))
            made = self._buffers.default_buffer_prototype().buffer.from_bytes(value)
            self._act(lambda: self._theirs.set(key, made), key)
        return Version.of(value)

    def _erase(self, key: str) -> None:
        with self._lock_key(key):
            if self._wait(self._size(key)) is not None:  # without a value some stores would erase a folder of that name
                self._act(lambda: self._theirs.delete(key), key, erases=True)

    def _act(self, work: Callable[[], Awaitable[object]], key: str, *, erases: bool = False) -> None:
        async def done() -> None:
            await guarded(work())

        try:
            self._wait(done())
        except ZarrscopeError:
            raise
        except Exception as error:
            if erases and self._is_absent(error, key):
                return
            raise self._failed(error, key) from cause(error)

    def _is_absent(self, error: Exception, key: str) -> bool:
        """Whether an error of the store says that there is no value. It must name the key, or nothing: a missing
        archive and a mistake in a store are such errors, too, and an absent chunk reads as the fill value."""
        told = unquote(str(error)).replace("\\\\", "/").replace("\\", "/")
        return isinstance(error, (*_ABSENT, KeyError)) and (key in told or not error.args)

    def _failed(self, error: Exception, key: str) -> Unreadable:
        kind = Denied if isinstance(error, PermissionError) else Unreadable
        told = str(error) if isinstance(error, _Ended) else f"{type(error).__name__}: {error}"
        return kind(
            f"The {type(self._theirs).__name__} failed: {in_one_line(told)}",
            store=self.url,
            key=key or None,
            advice="Check the store of zarr-python, then try again.",
        )
