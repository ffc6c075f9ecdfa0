"""The operations that only stores made of files support (`store.files`): folders, links, moving a whole folder, and
names that differ only in upper and lower case or in their Unicode form.

Every store offers this interface. A store without files reports no links, folders and temporary files, and states that
it cannot move a prefix. A wrapper passes on the answers of the wrapped store, so no caller needs to check a
store's class.
"""

from __future__ import annotations

from collections.abc import Iterator

from zarrscope.runtime.interrupts import uninterrupted, uninterrupted_steps
from zarrscope.stores.backend import Backend, BackendEntry
from zarrscope.stores.keys import check_key, check_prefix


class FileOperations:
    """The operations of the store `store` on its files.

    Parameters
    ----------
    store
        The store.

    Examples
    --------
    >>> from zarrscope.stores.memory import MemoryStore
    >>> MemoryStore().files.ignores_spelling
    False
    """

    __slots__ = ("_store",)

    def __init__(self, store: Backend) -> None:
        self._store = store

    @property
    def ignores_spelling(self) -> bool:
        """Whether two keys that differ only in case or Unicode form lead to the same value."""
        return self._store._ignores_spelling()

    def spelled(self, key: str) -> str:
        """The key as it is stored, if the store ignores case or Unicode form.

        Parameters
        ----------
        key
            The key.

        Returns
        -------
        str
            `key` itself if the store distinguishes all spellings.

        Raises
        ------
        Refused
            The key could leave the store.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> MemoryStore({"a": b""}).files.spelled("A")
        'A'
        """
        return self._store._spelled(check_key(key))

    def lost_rights(self, key: str) -> tuple[str, ...]:
        """The rights that the value's file lost when it was last replaced, because the system did not permit to keep
        them. They are told once.

        Parameters
        ----------
        key
            The key of the value.

        Returns
        -------
        tuple of str
            Of "access control list", "group" and "mode"; empty in stores without files.

        Raises
        ------
        Refused
            The key could leave the store.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> MemoryStore().files.lost_rights("a")
        ()
        """
        return self._store._lost_rights(check_key(key))

    def links(self, key: str) -> int:
        """The number of hard links of the value's file.

        Parameters
        ----------
        key
            The key of the value.

        Returns
        -------
        int
            1 if the store has no hard links.

        Raises
        ------
        Refused
            The key could leave the store.

        Examples
        --------
        >>> import os, tempfile
        >>> from zarrscope.stores.local.store import LocalStore
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = LocalStore(folder)
        ...     _ = store.set("a", b"value")
        ...     os.link(f"{folder}/a", f"{folder}/b")
        ...     store.files.links("a")
        2
        """
        return self._store._links(check_key(key))

    def list_with_folders(self, prefix: str) -> Iterator[BackendEntry]:
        """Lists all keys and folders beneath a prefix, and links that cannot be followed.

        Parameters
        ----------
        prefix
            The prefix: "" or ending in "/".

        Yields
        ------
        BackendEntry
            A key; a folder; or neither, such as a broken link, with an error that gives the reason.

        Raises
        ------
        Unsupported
            The store cannot list.
        Refused
            The prefix could leave the store.

        Examples
        --------
        >>> import tempfile
        >>> from zarrscope.stores.local.store import LocalStore
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = LocalStore(folder)
        ...     _ = store.set("a/b", b"value")
        ...     sorted((found.key, found.is_folder) for found in store.files.list_with_folders(""))
        [('a', True), ('a/b', False)]
        """
        self._store._need_listing()
        yield from self._store._list_with_folders(check_prefix(prefix))

    @uninterrupted_steps
    def stale_temporaries(self, prefix: str = "") -> Iterator[str]:
        """Lists temporary files that killed writers left behind; the next writers remove them.

        Parameters
        ----------
        prefix
            The prefix: "" or ending in "/".

        Yields
        ------
        str
            The name of each file.

        Raises
        ------
        Refused
            The prefix could leave the store.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> list(MemoryStore({"a": b""}).files.stale_temporaries())
        []
        """
        yield from self._store._stale_temporaries(check_prefix(prefix))

    @uninterrupted
    def can_move_prefix(self, source: Backend, prefix: str, to: str) -> bool:
        """Whether `move_prefix` would probably succeed; nothing is moved to find out.

        Parameters
        ----------
        source
            The store that holds the values.
        prefix
            The prefix of the values in `source`.
        to
            Their prefix in this store.

        Returns
        -------
        bool
            False if the values must be copied and erased instead.

        Raises
        ------
        Refused
            A prefix could leave its store.

        Examples
        --------
        >>> from zarrscope.stores.memory import MemoryStore
        >>> store = MemoryStore({"a/b": b""})
        >>> store.files.can_move_prefix(store, "a/", "c/")
        False
        """
        return (
            self._store.writable
            and source.writable
            and self._store._can_move_prefix(source, check_prefix(prefix), check_prefix(to))
        )

    @uninterrupted
    def move_prefix(self, source: Backend, prefix: str, to: str) -> None:
        """Moves everything beneath `prefix` in `source` to beneath `to` in this store, atomically.

        Parameters
        ----------
        source
            The store that holds the values.
        prefix
            The prefix of the values in `source`.
        to
            Their new prefix in this store.

        Raises
        ------
        Conflict
            There are keys beneath `to`. Nothing has changed.
        Unsupported
            An atomic move is not possible. Nothing has changed.
        ReadOnly
            One of the stores is read-only.
        Refused
            A prefix could leave its store.

        Examples
        --------
        >>> import tempfile
        >>> from zarrscope.stores.local.store import LocalStore
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = LocalStore(folder)
        ...     _ = store.set("a/b", b"value")
        ...     store.files.move_prefix(store, "a/", "c/")
        ...     list(store.list())
        ['c/b']
        """
        self._store._need_writing(to)
        source._need_writing(prefix)
        self._store._move_prefix(source, check_prefix(prefix), check_prefix(to))
