"""The reading part of a store: values, parts of values, and listings (store.py states the guarantees)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

from zarrscope.errors import ZarrscopeError
from zarrscope.model.storage import Answer, ByteRange, Entry, Request, Version, never
from zarrscope.runtime.interrupts import uninterrupted, uninterrupted_steps
from zarrscope.runtime.waits import asking, current_job, naming
from zarrscope.stores.backend import Backend
from zarrscope.stores.keys import check_key, check_prefix, too_large

_NOTHING = nullcontext()


class ReadableStore(Backend):
    """Reads values by key, and lists keys. Every Store is a ReadableStore.

    Examples
    --------
    >>> from zarrscope.stores.memory import MemoryStore
    >>> MemoryStore({"a/b": b"value"}).get("a/b")
    b'value'
    """

    def _labelling(self, key: str) -> AbstractContextManager[object]:
        """A context in which the running job is marked as waiting for this key of a remote store (runtime/waits.py)."""
        return asking(self.url, key) if self.remote else _NOTHING

    # ------------------------------------------------------------------ reading
    @uninterrupted
    def get(self, key: str, part: ByteRange | None = None, limit: int | None = None) -> bytes | None:
        """The value, or the given part of it.

        Parameters
        ----------
        key
            The key of the value.
        part
            The bytes to read; None for the whole value.
        limit
            The most bytes that the caller can use. A larger value is read only as far as needed to notice its size.

        Returns
        -------
        bytes | None
            None when nothing is stored.

        Raises
        ------
        Unreadable
            The store did not answer, denied access, or the requested bytes are more than `limit`.
        Refused
            The key could leave the store.

        Examples
        --------
        >>> from zarrscope.model.storage import ByteRange
        >>> from zarrscope.stores.memory import MemoryStore
        >>> MemoryStore({"a": b"value"}).get("a", ByteRange(1, 3))
        b'alu'
        """
        with self._labelling(key):
            value = self._get(check_key(key), part, limit)
        if limit is not None and value is not None and len(value) > limit:
            raise too_large(len(value), limit).located(store=self.url, key=key)
        return value

    @uninterrupted
    def get_partial_values(self, requests: Sequence[Request], limit: int | None = None) -> list[bytes | None]:
        """Many values, or parts of them; the first failure is raised.

        Parameters
        ----------
        requests
            The key and the part (None for all) of each; a key may repeat.
        limit
            The most bytes of each answer that the caller can use; None for any number.

        Returns
        -------
        list[bytes | None]
            One answer per request, in their order; None where nothing is stored.

        Raises
        ------
        Unreadable
            The store did not answer, denied access, or the requested bytes are more than `limit`.
        Refused
            A key could leave the store.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> MemoryStore({"a": b"1", "b": b"2"}).get_partial_values([("b", None), ("a", None), ("c", None)])
        [b'2', b'1', None]
        """
        answers: list[bytes | None] = [None] * len(requests)
        for i, answer in self.get_many(requests, limit=limit):
            if isinstance(answer, ZarrscopeError):
                raise answer
            answers[i] = answer
        return answers

    @uninterrupted_steps
    def get_many(
        self, requests: Sequence[Request], cancelled: Callable[[], bool] = never, limit: int | None = None
    ) -> Iterator[tuple[int, Answer]]:
        """Many values, or parts of them, in order of completion; several requests run at once if that is faster.

        Parameters
        ----------
        requests
            The key and the part (None for all) of each.
        cancelled
            Reading ends early when this returns true; running requests are stopped if the backend can do that.
        limit
            The most bytes of each answer that the caller can use; None for any number.

        Yields
        ------
        tuple[int, Answer]
            The index of a request, and its answer, or the error if it failed. After an error the other requests
            continue.

        Raises
        ------
        Refused
            A key could leave the store.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> sorted(MemoryStore({"a": b"1", "b": b"2"}).get_many([("b", None), ("a", None)]))
        [(0, b'2'), (1, b'1')]
        """
        return self._answers_in_operation(requests, cancelled, limit)

    def _answers_in_operation(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None
    ) -> Iterator[tuple[int, Answer]]:
        """As `get_many`, for callers that run within one operation (runtime/interrupts.py) themselves."""
        for key, _ in requests:
            check_key(key)
        found = self._get_many_within(requests, cancelled, limit)
        if self.remote and current_job() is not None:
            found = naming(self.url, [key for key, _ in requests], found)
        yield from found

    @uninterrupted
    def get_versioned(self, key: str, limit: int | None = None) -> tuple[bytes, Version] | None:
        """The value, and the version of this same value.

        Parameters
        ----------
        key
            The key of the value.
        limit
            The most bytes that the caller can use; None for any number.

        Returns
        -------
        tuple[bytes, Version] | None
            The value, and the version to pass to `set` as `expect`. None when nothing is stored.

        Raises
        ------
        Unreadable
            The store did not answer, denied access, or the value is larger than `limit`.
        Refused
            The key could leave the store.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> store = MemoryStore({"a": b"1"})
        >>> value, version = store.get_versioned("a")
        >>> _ = store.set("a", value + b"2", expect=version)
        >>> store.get("a")
        b'12'
        """
        with self._labelling(key):
            found = self._get_versioned(check_key(key), limit)
        if limit is not None and found is not None and len(found[0]) > limit:
            raise too_large(len(found[0]), limit).located(store=self.url, key=key)
        return found

    # ------------------------------------------------------------------ listing
    def list(self) -> Iterator[str]:
        """All keys, each once, in no order.

        Yields
        ------
        str
            A key.

        Raises
        ------
        Unsupported
            The store cannot list.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> sorted(MemoryStore({"a/b": b"", "c": b""}).list())
        ['a/b', 'c']
        """
        self._need_listing()
        yield from self._list()

    def list_prefix(self, prefix: str) -> Iterator[str]:
        """All keys that begin with `prefix`, in no order.

        Parameters
        ----------
        prefix
            "" or ending in "/".

        Yields
        ------
        str
            A key, with the prefix.

        Raises
        ------
        Unsupported
            The store cannot list.
        Refused
            The prefix could leave the store.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> list(MemoryStore({"a/b": b"", "c": b""}).list_prefix("a/"))
        ['a/b']
        """
        self._need_listing()
        with self._labelling(prefix):
            yield from self._list_prefix(check_prefix(prefix))

    def list_dir(self, prefix: str) -> Iterator[Entry]:
        """Streams the names of keys and prefixes directly beneath `prefix`, each once.

        Parameters
        ----------
        prefix
            "" or ending in "/".

        Yields
        ------
        Entry
            A name, and whether it is a prefix.

        Raises
        ------
        Unsupported
            The store cannot list.
        Refused
            The prefix could leave the store.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> [(entry.name, entry.is_prefix) for entry in MemoryStore({"a/b": b"", "c": b""}).list_dir("")]
        [('a', True), ('c', False)]
        """
        self._need_listing()
        with self._labelling(prefix):
            yield from self._list_dir(check_prefix(prefix))
