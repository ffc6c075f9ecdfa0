"""Stores map keys to byte strings, with the operations of the specification (spec B; v3 core "Store interface").

The operations here first check keys and prefixes, so no backend ever gets a key that could leave the store (spec F.8);
then they call the methods that a concrete store overrides (backend.py). Operations on many values are in `bulk`
(bulk.py), and those that only stores of files have are in `files` (files.py).

These guarantees are tested by tests/contracts/store.py for every store, wrapper and transformer: An absent value is
None, never an error and never b"". None means that the value is certainly absent: a store that cannot know it raises
Unreadable. A set is atomic: a reader sees the old value or the new one, never a part. A set with `expect` changes the
value only if its stored version is still `expect`. list_dir streams one level. A value larger than the reader's `limit`
is not read: Unreadable is raised.
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

_latest_change: object = object()


def latest_change() -> object:
    """Identifies the latest change that this process made to any store: another object after each value that was set
    and each erasure. Chunks that are stored in bulk do not count."""
    return _latest_change


def _note_change() -> None:
    global _latest_change
    _latest_change = object()  # one assignment, so that threads need no lock


class Store(ReadableStore):
    """A map from keys to values.

    One class serves all stores, and its attributes state the abilities of each: those of a wrapper or of a remote store
    are known only at run time. With one protocol for each ability, an isinstance test on a wrapper would describe the
    wrapper, not the wrapped store.

    Attributes
    ----------
    url
        The address of the store without passwords, to show to users and to open the store again.
    listable, writable
        Whether the store can list, and whether it can be written.
    remote
        Whether each request costs a round trip. Callers should then send few requests, and many of them in parallel.
    document_limit
        The largest size of one metadata document, in bytes, if the opener of the store set one.
    allow_outside
        Whether to follow symbolic links that lead out of the store. Only stores of files have such links.
    remark
        Sentences about the store for the person who opens it, such as that a writable address is only read here; "" for
        none.
    tells_absence
        False for a server that gives the same answer for absent and for denied values, as a bucket does that may not be
        listed. Reading such a value raises Denied, because it may exist.
    missing_is_fill
        Whether the opener asked to take the denied values of such a store as absent; such chunks read as the fill
        value.
    taken_as_missing
        How many denied values were taken as absent for that reason. A hierarchy that was opened with such values has a
        warning.

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
        """The operations on many values, each done in the fastest way that this store has."""
        return BulkOperations(self)

    @property
    def files(self) -> FileOperations:
        """The operations that only stores of files have. Other stores answer as if they had no links, folders and
        temporary files."""
        return FileOperations(self)

    @property
    def tells_absence(self) -> bool:
        """False if the store is known to answer alike for values that do not exist and for values that it denies."""
        return True

    @property
    def missing_is_fill(self) -> bool:
        """Whether the opener of the store asked to take denied values as absent (Network.missing_is_fill)."""
        return False

    @property
    def taken_as_missing(self) -> int:
        """The number of denied values that were taken as absent so far, because of `missing_is_fill`."""
        return 0

    # ------------------------------------------------------------------ writing
    @uninterrupted
    def set(self, key: str, value: bytes, expect: Version | None = None) -> Version:
        """Stores the whole value, atomically.

        Parameters
        ----------
        key
            The key of the value.
        value
            The new value.
        expect
            The version that must be stored now: from `get_versioned`, or ABSENT; None accepts any version.

        Returns
        -------
        Version
            The version of the new value.

        Raises
        ------
        Conflict
            The stored version is not `expect`. Nothing has changed.
        ReadOnly
            The store is read-only.
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
        try:
            return self._set(check_key(key), bytes(value), expect)
        finally:
            _note_change()

    @uninterrupted
    def set_partial_values(self, values: Iterable[tuple[str, int, bytes]]) -> None:
        """Overwrites parts of values.

        Parameters
        ----------
        values
            The key, the offset of the part, and its new bytes. Parts of one key must not overlap, nor begin beyond the
            value's end.

        Raises
        ------
        ReadOnly
            The store is read-only.
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
            _note_change()

    @uninterrupted
    def erase(self, key: str) -> None:
        """Removes one value. Does nothing if it does not exist.

        Parameters
        ----------
        key
            The key of the value.

        Raises
        ------
        ReadOnly
            The store is read-only.
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
        try:
            self._erase(check_key(key))
        finally:
            _note_change()

    @uninterrupted
    def erase_values(self, keys: Iterable[str]) -> None:
        """Removes values, as `erase` does, one after the other.

        Parameters
        ----------
        keys
            The keys of the values.

        Raises
        ------
        ReadOnly
            The store is read-only.
        Refused
            A key could leave the store; the values before it are removed.

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
            The store is read-only.
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
        try:
            self._erase_prefix(check_prefix(prefix))
        finally:
            _note_change()

    def lock(self, key: str = "") -> AbstractContextManager[object]:
        """A lock for reading, changing and storing one value, or for adding, moving and removing nodes.

        It excludes other threads, and other processes where the store supports that. It is advisory: `set` does not
        check it, so a value that must not be lost is also stored with `expect`. The lock is reentrant.

        Parameters
        ----------
        key
            The key of the value; "" for adding, moving and removing nodes.

        Returns
        -------
        AbstractContextManager[object]
            The lock is held within its block.

        Raises
        ------
        ReadOnly
            The store is read-only.
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
    def close(self) -> None:
        """Closes files and connections. A closed store may be used again; it reopens them.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> store = MemoryStore({"a": b"value"})
        >>> store.close()
        >>> store.get("a")
        b'value'
        """

    # ------------------------------------------------------------------ details
    def _reader(self, arena: Arena, limit: int | None = None) -> Reader:
        return Reader(self, limit)


def renew(store: Store, other: Store) -> bool:
    """Makes a store take over the credentials and the address of another store that has the same values.

    Open nodes of the store go on with the new credentials; they need not be opened again.

    Parameters
    ----------
    store
        The store that is in use.
    other
        A store that was opened with other credentials, and has been used.

    Returns
    -------
    bool
        False if `other` is another kind of store, or has other values; nothing has changed then.

    Examples
    --------
    >>> from zarrscope.stores.memory import MemoryStore
    >>> renew(MemoryStore(), MemoryStore())
    False
    """
    return store._renew(other)
