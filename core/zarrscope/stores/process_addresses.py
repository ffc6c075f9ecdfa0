"""Numbers the stores of Python objects: object://3 is the third object that this process passed to zarrscope.open.

Front ends and layers open a store again by its address. Such an address is valid in this process, as long as the store
is in use.
"""

from __future__ import annotations

from itertools import count
from weakref import WeakValueDictionary

from zarrscope.errors import NotFound
from zarrscope.stores.registry import Mode, StoreOptions
from zarrscope.stores.store import Store

_numbers = count(1)
_numbered: WeakValueDictionary[str, Store] = WeakValueDictionary()


def object_address(store: Store) -> str:
    """An address by which this process opens `store` again."""
    url = f"object://{next(_numbers)}"
    _numbered[url] = store
    return url


def open_object_address(url: str, mode: Mode = "r", options: StoreOptions = None) -> Store:
    """The store, given as a Python object, for which `object_address` made the address `url`."""
    found = _numbered.get(url)
    if found is None:
        raise NotFound("There is no such object in this process", store=url, advice="Pass the object itself.")
    return found
