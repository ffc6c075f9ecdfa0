"""Notes which values a store without a listing was found to have, so that nobody asks for them again.

A folder and a bucket tell which chunks are stored by listing them. A plain web server does not: each chunk has to be
requested. Readers of chunks note the answers here, by key. A note is as old as a chunk in the cache of viewers, and is
dropped together with it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from weakref import WeakKeyDictionary

from zarrscope.errors import ZarrscopeError
from zarrscope.model.storage import AnswerView, ByteRange, Request, never
from zarrscope.runtime.interrupts import uninterrupted
from zarrscope.stores.store import Store

MOST_NOTED = 1 << 16
"""The most keys that are noted of one store, about 10 MB. The keys noted last are kept."""


class Presence:
    """The keys of one store that are known to have a value, or none."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._noted: OrderedDict[str, bool] = OrderedDict()

    @uninterrupted
    def note(self, key: str, answer: AnswerView) -> None:
        """Notes the answer to a request for a value, or for a part of it; an error tells nothing."""
        if isinstance(answer, ZarrscopeError):
            return
        with self._guard:
            self._noted.pop(key, None)
            self._noted[key] = answer is not None
            if len(self._noted) > MOST_NOTED:
                self._noted.popitem(last=False)

    def known(self, key: str) -> bool | None:
        """Whether there is a value; None if it was not noted."""
        return self._noted.get(key)

    @uninterrupted
    def forget(self, prefix: str) -> None:
        """Drops the notes about all keys that begin with `prefix`."""
        with self._guard:
            for key in [key for key in self._noted if key.startswith(prefix)]:
                del self._noted[key]


_of_stores: WeakKeyDictionary[Store, Presence] = WeakKeyDictionary()
_guard = threading.Lock()


def presence_of(store: Store) -> Presence | None:
    """The notes about a store; None for one that lists its keys, or whose values cost no round trip."""
    if store.listable or not store.remote:
        return None
    with _guard:
        return _of_stores.setdefault(store, Presence())


def are_present(store: Store, keys: Sequence[str], cancelled: Callable[[], bool] = never) -> Iterator[tuple[int, bool]]:
    """Yields (number of a key, whether it has a value), those that are noted first. Asks the store for the first byte
    of the others. Raises the first error."""
    noted = presence_of(store)
    unknown: list[int] = []
    for i, key in enumerate(keys):
        found = noted.known(key) if noted is not None else None
        if found is None:
            unknown.append(i)
        else:
            yield i, found
    requests: list[Request] = [(keys[i], ByteRange(0, 1)) for i in unknown]
    for j, answer in store.get_many(requests, cancelled):
        if isinstance(answer, ZarrscopeError):
            raise answer
        if noted is not None:
            noted.note(keys[unknown[j]], answer)
        yield unknown[j], answer is not None
