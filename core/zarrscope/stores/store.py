"""Stores: keys to byte strings, with the operations of the specification (spec B; v3 core "Store interface").

The operations here check keys and prefixes first, so no backend ever sees a key that could leave the store (spec F.8),
and pass on to what a concrete store overrides (backend.py). What the engine does with many values stands in `bulk`
(bulk.py), and what only stores of files can do in `files` (files.py).

Promises, held by tests/contracts/store.py for every store, wrapper and transformer: absence is None, never an error and
never b"", and it is known, never assumed: a store that cannot tell raises Unreadable; a set is atomic (a reader sees
the old value or the new, never a part); a value given with `expect` is stored only when the stored version is that one;
list_dir streams one level; a value larger than the `limit` that its reader can use is not read but Unreadable.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager

from zarrscope.model.buffers import Arena
from zarrscope.model.storage import Version
from zarrscope.runtime.interrupts import check, uninterrupted, uninterrupted_within
from zarrscope.stores.bulk import BulkOperations
from zarrscope.stores.files import FileOperations
from zarrscope.stores.keys import check_key, check_prefix
from zarrscope.stores.readable import ReadableStore
from zarrscope.stores.value_reader import Reader


class Store(ReadableStore):
    """Keys to values.

    One class with flags rather than one protocol per capability: a wrapper or a server learns only at run time what it
    can do, and an isinstance test on a wrapper would answer for the wrapper, not for what it wraps.

    Attributes
    ----------
    url
        Names the store for a person and for reopening, without passwords.
    listable, writable
        What can be done with it.
    remote
        Each request costs a round trip: ask for little, many at once.
    document_limit
        As many bytes of one metadata document are read, where whoever opened the store said so.
    allow_outside
        Symbolic links that lead out of the store are followed. Only stores of files have such links.
    remark
        Sentences about the store for the person who opens it.

    Examples
    --------
    >>> from zarrscope.stores.memory import MemoryStore
    >>> store = MemoryStore({"a/b": b"value"})
    >>> store.get("a/b")
    b'value'
    >>> store.get("a/c") is None
    True
    """

    @property
    def bulk(self) -> BulkOperations:
        """What the engine does with many values, by the shortest way that this store has."""
        return BulkOperations(self)

    @property
    def files(self) -> FileOperations:
        """What only stores of files can do; others answer as if they had no links, folders and leftovers."""
        return FileOperations(self)

    @property
    def tells_absence(self) -> bool:
        """Whether the store reports absent values as absent, as far as is known by now."""
        return True

    @property
    def assumes(self) -> bool:
        """Whether denied values count as absent where the store does not tell one from the other
        (Network.missing_is_fill)."""
        return False

    @property
    def taken_as_missing(self) -> int:
        """How many values counted as absent because the caller wanted it so, though the service did not say that."""
        return 0

    # ------------------------------------------------------------------ writing
    @uninterrupted
    def set(self, key: str, value: bytes, expect: Version | None = None) -> Version:
        """Stores the whole value, atomically.

        Parameters
        ----------
        key
            Under which key.
        value
            What is stored.
        expect
            The version that must be stored until now: of `get_versioned`, or ABSENT; None for any.

        Returns
        -------
        Version
            That of what is stored now.

        Raises
        ------
        Conflict
            The stored version is not `expect`. Nothing has changed.
        ReadOnly
            The store is not to be written to.
        Refused
            The key could leave the store.

        Examples
        --------
        >>> from zarrscope.model.storage import ABSENT
        >>> from zarrscope.stores.memory import MemoryStore
        >>> store = MemoryStore()
        >>> _ = store.set("a", b"value", expect=ABSENT)
        >>> store.get("a")
        b'value'
        """
        self._need_writing(key)
        return self._set(check_key(key), bytes(value), expect)

    @uninterrupted
    def set_partial_values(self, values: Iterable[tuple[str, int, bytes]]) -> None:
        """Overwrites parts of values.

        Parameters
        ----------
        values
            The key, where the part begins, and what is stored there. Parts of one key must not overlap, nor begin
            beyond the value's end.

        Raises
        ------
        ReadOnly
            The store is not to be written to.
        Refused
            A key could leave the store, or parts overlap or leave a gap.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> store = MemoryStore({"a": b"value"})
        >>> store.set_partial_values([("a", 0, b"V"), ("a", 5, b"s")])
        >>> store.get("a")
        b'Values'
        """
        patches: dict[str, list[tuple[int, bytes]]] = {}
        for key, start, value in values:
            self._need_writing(key)
            patches.setdefault(check_key(key), []).append((start, bytes(value)))
        for key, parts in patches.items():
            self._set_partial(key, parts)

    @uninterrupted
    def erase(self, key: str) -> None:
        """Removes one value. Nothing happens when it is not there.

        Parameters
        ----------
        key
            Which value.

        Raises
        ------
        ReadOnly
            The store is not to be written to.
        Refused
            The key could leave the store.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> store = MemoryStore({"a": b"", "b": b""})
        >>> store.erase("a")
        >>> list(store.list())
        ['b']
        """
        self._need_writing(key)
        self._erase(check_key(key))

    @uninterrupted
    def erase_values(self, keys: Iterable[str]) -> None:
        """Removes values, as `erase` does, one after the other.

        Parameters
        ----------
        keys
            Which values.

        Raises
        ------
        ReadOnly
            The store is not to be written to.
        Refused
            A key could leave the store; values before it are gone.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> store = MemoryStore({"a": b"", "b": b""})
        >>> store.erase_values(["a", "absent"])
        >>> list(store.list())
        ['b']
        """
        for key in keys:
            check()
            self.erase(key)

    @uninterrupted
    def erase_prefix(self, prefix: str) -> None:
        """Removes every value whose key begins with `prefix`.

        Parameters
        ----------
        prefix
            "" or ending in "/".

        Raises
        ------
        ReadOnly
            The store is not to be written to.
        Refused
            The prefix could leave the store.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> store = MemoryStore({"a/b": b"", "a/c": b"", "d": b""})
        >>> store.erase_prefix("a/")
        >>> list(store.list())
        ['d']
        """
        self._need_writing(prefix)
        self._erase_prefix(check_prefix(prefix))

    def lock(self, key: str = "") -> AbstractContextManager[object]:
        """A lock for reading, changing and storing one value, or for adding, moving and removing nodes.

        It excludes other threads, and other processes where the store supports that. It is advisory: `set` does not
        check it, so a value that must not be lost is also stored with `expect`. The lock is reentrant.

        Parameters
        ----------
        key
            Which value; "" for the nodes.

        Returns
        -------
        AbstractContextManager[object]
            The lock is held within its block.

        Raises
        ------
        ReadOnly
            The store is not to be written to.
        Refused
            The key could leave the store.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> store = MemoryStore({"a": b"1"})
        >>> with store.lock("a"):
        ...     _ = store.set("a", store.get("a") + b"2")
        >>> store.get("a")
        b'12'
        """
        self._need_writing(key)
        return uninterrupted_within(self._lock_key(check_key(key) if key else ""))

    @uninterrupted
    def flush(self) -> None:
        """Returns when everything stored so far would survive a power failure, as far as the backend can tell.

        Raises
        ------
        Unreadable
            The store did not answer.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> MemoryStore().flush()
        """
        self._flush()

    @uninterrupted
    def close(self) -> None:
        """Gives back what the store holds open. A closed store may be used again; it reopens.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> store = MemoryStore({"a": b"value"})
        >>> store.close()
        >>> store.get("a")
        b'value'
        """

    # ------------------------------------------------------------------ inside
    def _reader(self, arena: Arena, limit: int | None = None) -> Reader:
        return Reader(self, limit)
