"""The operations on many values of a store (`store.bulk`), each done in the fastest way that its backend has.

Every store has all of these; operations that a backend lacks are derived from reading, listing and setting. They are
separate from the operations of `Store` because callers must observe more rules: `put` returns no version and is durable
only after `flush`, and bytes from a reader may lie in memory that is reused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from zarrscope.model.buffers import Arena
from zarrscope.model.storage import AnswerView, Buffer, Request, ScannedChild, never
from zarrscope.runtime.interrupts import steps, uninterrupted, uninterrupted_steps
from zarrscope.runtime.tuning import FOLDERS_AT_ONCE, VALUES_AT_ONCE
from zarrscope.runtime.waits import current_job, naming
from zarrscope.stores.backend import Backend
from zarrscope.stores.keys import check_key, check_prefix
from zarrscope.stores.value_reader import Reader

if TYPE_CHECKING:
    from zarrscope.stores.puts import Puts


class BulkOperations:
    """The operations of the store `store` on many values.

    Parameters
    ----------
    store
        The store.

    Examples
    --------
    >>> from zarrscope.stores.memory import MemoryStore
    >>> store = MemoryStore({"a/0": b"one", "a/1": b"two"})
    >>> store.bulk.size_of("a/0")
    3
    """

    __slots__ = ("_store",)

    def __init__(self, store: Backend) -> None:
        self._store = store

    @property
    def scans_children(self) -> bool:
        """Whether `scan_children` takes one pass over a folder, which is faster than `list_dir` and `get_many`."""
        return self._store._scans_children

    @property
    def reads_ahead(self) -> bool:
        """Whether the store may send chunks of a shard with its index, if an IndexRange asks for them."""
        return self._store._reads_ahead

    @property
    def gathers_puts(self) -> bool:
        """Whether `put` keeps values until many wait, because each write by `set` costs much more than the value: an
        archive gets a new directory each time."""
        return self._store._gathers_puts

    def filter_existing(self, keys: Sequence[str]) -> Sequence[str]:
        """Removes keys that certainly hold no value. A store for which finding that out is no cheaper than requesting
        each value returns all keys.

        Parameters
        ----------
        keys
            The keys.

        Returns
        -------
        Sequence[str]
            The keys to request, in the same order.

        Examples
        --------
        >>> import tempfile
        >>> from zarrscope.stores.local.store import LocalStore
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = LocalStore(folder)
        ...     _ = store.set("zarr.json", b"{}")
        ...     store.bulk.filter_existing([".zgroup", "zarr.json"])
        ['zarr.json']
        """
        return self._store._filter_existing(keys)

    def reader(self, arena: Arena, limit: int | None = None) -> Reader:
        """A reader for many values, one after the other, in one thread. The caller closes it.

        Parameters
        ----------
        arena
            Reused memory, in which the returned values may lie.
        limit
            The most bytes of each value, or part, that the caller can use; None for any number.

        Returns
        -------
        Reader
            The reader.

        Examples
        --------
        >>> from zarrscope.model.buffers import Arena
        >>> from zarrscope.stores.memory import MemoryStore
        >>> reader = MemoryStore({"a": b"value"}).bulk.reader(Arena())
        >>> reader.seek("a")
        >>> bytes(reader.whole())
        b'value'
        >>> reader.close()
        """
        return self._store._reader(arena, limit)

    @uninterrupted_steps
    def get_views(
        self, requests: Sequence[Request], cancelled: Callable[[], bool] = never, limit: int | None = None
    ) -> Iterator[tuple[int, AnswerView]]:
        """As `Store.get_many`, but the bytes of a value are not copied if another library owns their memory. A
        memoryview of them keeps that memory.

        Parameters
        ----------
        requests
            A key, and the part of the value or None, for each request.
        cancelled
            Reading ends early when this returns true.
        limit
            The most bytes of each answer that the caller can use; None for any number.

        Yields
        ------
        tuple[int, AnswerView]
            The index of the request; the bytes, None when nothing is stored, or the error.

        Raises
        ------
        Refused
            A key could leave the store.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> [(i, bytes(view)) for i, view in MemoryStore({"a": b"value"}).bulk.get_views([("a", None)])]
        [(0, b'value')]
        """
        keys = [check_key(key) for key, _ in requests]
        yield from self._watched(self._store._get_views(requests, cancelled, limit), requests, keys, limit)

    @uninterrupted_steps
    def get_growing(
        self, requests: list[Request], cancelled: Callable[[], bool] = never, limit: int | None = None
    ) -> Iterator[tuple[int, AnswerView]]:
        """As `get_views`, but the caller may append further requests before it takes the next answer. Some stores send
        them at once, others once the earlier ones are answered.

        Parameters
        ----------
        requests
            A key, and the part of the value or None, for each request. The list may grow.
        cancelled
            Reading ends early when this returns true.
        limit
            The most bytes of each answer that the caller can use; None for any number.

        Yields
        ------
        tuple[int, AnswerView]
            The index of the request; the bytes, None when nothing is stored, or the error.

        Raises
        ------
        Refused
            A key could leave the store.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> requests, found = [("a", None)], []
        >>> for i, view in MemoryStore({"a": b"b", "b": b"end"}).bulk.get_growing(requests):
        ...     found.append(bytes(view))
        ...     if i == 0:
        ...         requests.append((found[0].decode(), None))
        >>> found
        [b'b', b'end']
        """
        asked: list[Request] = []
        keys: list[str] = []

        def take() -> None:
            for request in requests[len(asked) :]:
                keys.append(check_key(request[0]))
                asked.append(request)

        take()
        for answer in self._watched(self._store._get_growing(asked, cancelled, limit), asked, keys, limit):
            yield answer
            take()

    def _watched(
        self,
        found: Iterator[tuple[int, AnswerView]],
        requests: Sequence[Request],
        keys: Sequence[str],
        limit: int | None,
    ) -> Iterator[tuple[int, AnswerView]]:
        """The answers, of which too long ones are errors; the running job names the key that it waits for."""
        if limit is not None:
            found = self._store._checked(found, requests, limit)
        if self._store.remote and current_job() is not None:
            found = naming(self._store.url, keys, found)
        return found

    def scan_children(
        self, prefix: str, names: Sequence[str], *, read: bool, limit: int | None = None
    ) -> Iterator[ScannedChild]:
        """Streams each prefix directly beneath `prefix`, with the first of the keys `names` in it that has a value.

        Parameters
        ----------
        prefix
            The prefix whose children are scanned: "" or ending in "/".
        names
            Names of the values to look for in each child.
        read
            Whether to read the value; otherwise only its name is returned.
        limit
            The most bytes of each value that the caller can use; None for any number.

        Yields
        ------
        ScannedChild
            The name of a prefix, the name of the value in it, and the value or the error of reading it.

        Raises
        ------
        Unsupported
            The store cannot list.
        Refused
            The prefix, or one of the names, could leave the store.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> store = MemoryStore({"a/zarr.json": b"{}", "b/other": b""})
        >>> [(child.name, child.document) for child in store.bulk.scan_children("", ["zarr.json"], read=False)]
        [('a', 'zarr.json'), ('b', None)]
        """
        self._store._need_listing()
        for name in names:
            check_key(name)
        found = self._store._scan_children(check_prefix(prefix), names, read, limit)
        return steps(found, 1 if self._store.remote else FOLDERS_AT_ONCE)

    @uninterrupted
    def put(self, key: str, *parts: Buffer) -> None:
        """Stores the concatenated parts as the whole value, atomically. Meant for data that can be written again after
        a power failure, such as the chunks of a copy.

        It returns no version, and does not wait until the value is on disk; `flush` does.

        Parameters
        ----------
        key
            The key of the value.
        *parts
            The parts of the value, in order.

        Raises
        ------
        ReadOnly
            The store is read-only.
        Refused
            The key could leave the store.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> store = MemoryStore()
        >>> store.bulk.put("a", b"one", b"two")
        >>> store.bulk.flush()
        >>> store.get("a")
        b'onetwo'
        """
        self._store._need_writing(key)
        self._store._put(check_key(key), parts)

    def puts(self, precondition: Callable[[], object] | None = None) -> Puts:
        """Stores many values as `put` does, in parallel if each takes a round trip.

        Parameters
        ----------
        precondition : callable, optional
            Nothing is stored before it has returned. If it raises, nothing is stored, and its error is raised. For a
            remote store it runs on another thread, while the caller prepares values.

        Returns
        -------
        Puts
            A context manager; when its block ends, all values are stored, or the first error is raised.

        Raises
        ------
        ReadOnly
            The store is read-only.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> store = MemoryStore()
        >>> with store.bulk.puts() as puts:
        ...     puts.put("a", [b"value"])
        >>> store.get("a")
        b'value'
        """
        self._store._need_writing("")
        from zarrscope.stores.puts import Puts

        return Puts(self._store, precondition)

    def list_sizes(self, prefix: str) -> Iterator[tuple[str, int | None]]:
        """The keys beneath a prefix, and the sizes of their values if the listing gives them.

        Parameters
        ----------
        prefix
            A prefix that ends in "/", or "".

        Yields
        ------
        tuple
            A key, and its size in bytes or None.

        Raises
        ------
        Unreadable
            The store did not answer.
        Unsupported
            The store cannot list its keys.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> [*MemoryStore({"a/b": b"value"}).bulk.list_sizes("a/")]
        [('a/b', 5)]
        """
        self._store._need_listing()
        yield from self._store._list_sizes(check_prefix(prefix))

    @uninterrupted
    def size_of(self, key: str) -> int | None:
        """The size of the value in bytes, if it can be found cheaply.

        Parameters
        ----------
        key
            The key of the value.

        Returns
        -------
        int | None
            None if finding it is not cheap, or nothing is stored.

        Raises
        ------
        Unreadable
            The store did not answer.
        Refused
            The key could leave the store.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> MemoryStore({"a": b"value"}).bulk.size_of("a")
        5
        """
        return self._store._size_of(check_key(key))

    @uninterrupted_steps
    def copy_many(
        self, source: Backend, pairs: Iterable[tuple[str, str]], cancelled: Callable[[], bool] = never
    ) -> Iterator[tuple[str, int | None]]:
        """Copies values to this store; after `flush` they are on disk. Absent values are skipped.

        Parameters
        ----------
        source
            The store to copy from.
        pairs
            The key in `source` and the key in this store, for each value.
        cancelled
            Copying ends early when this returns true.

        Yields
        ------
        tuple[str, int | None]
            The key in this store of each copied value, and its size if it is known.

        Raises
        ------
        Unreadable
            A value could not be read; the values before it are copied.
        ReadOnly
            The store is read-only.
        Refused
            A key could leave its store.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> store = MemoryStore({"a": b"value"})
        >>> list(store.bulk.copy_many(store, [("a", "b"), ("absent", "c")]))
        [('b', 5)]
        """
        for batch in _batches(pairs):
            for key, to in batch:
                check_key(key)
                self._store._need_writing(to)
                check_key(to)
            yield from self._store._copy_many(source, batch, cancelled)

    @uninterrupted_steps
    def compare_many(self, source: Backend, pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
        """Compares values of two stores.

        Parameters
        ----------
        source
            The other store.
        pairs
            The key in `source` and the key in this store, for each value.

        Yields
        ------
        str
            Each key of this store whose value differs.

        Raises
        ------
        Unreadable
            A value could not be read.
        Refused
            A key could leave its store.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> store = MemoryStore({"a": b"1", "b": b"1", "c": b"2"})
        >>> list(store.bulk.compare_many(store, [("a", "b"), ("a", "c")]))
        ['c']
        """
        for batch in _batches(pairs):
            for key, other in batch:
                check_key(key)
                check_key(other)
            yield from self._store._compare_many(source, batch)

    @uninterrupted
    def flush(self) -> None:
        """Waits until everything stored so far would survive a power failure, as far as the backend can tell.

        A single value that was stored by `set` is on disk already; those of `put` and `copy_many` need not be.

        Raises
        ------
        Unreadable
            The store did not answer.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> MemoryStore().bulk.flush()
        """
        self._store._flush()


def _batches(pairs: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    rest = iter(pairs)
    while batch := list(islice(rest, VALUES_AT_ONCE)):
        yield batch
