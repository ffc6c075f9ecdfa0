"""Gives a store that is in use other credentials."""

from __future__ import annotations

from zarrscope.stores.store import Store


def renew(store: Store, other: Store) -> bool:
    """Makes a store take over the credentials, and with them the address, of another store of the same place.

    Everything that uses the store goes on with the new credentials: open nodes need not be opened again.

    Parameters
    ----------
    store
        The store that is in use.
    other
        A store that was opened with other credentials, and has been used.

    Returns
    -------
    bool
        False if `other` is another kind of store or leads to another place; nothing has changed then.

    Examples
    --------
    >>> from zarrscope.stores.memory import MemoryStore
    >>> renew(MemoryStore(), MemoryStore())
    False
    """
    return store._renew(other)
