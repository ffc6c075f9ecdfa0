"""Replaces the credentials of a store that is in use."""

from __future__ import annotations

from zarrscope.stores.store import Store


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
