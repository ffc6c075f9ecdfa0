"""Bounded, thread-safe memoisation; `forget_all` clears every cache.

Use it only for results that depend on the arguments alone, or that stay the same for the whole process. Data from
stores, which other programs change, have caches with rules of their own: the document cache of a hierarchy, the locator
of an array, and the chunk cache of viewers.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache, update_wrapper
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_forget: list[Callable[[], object]] = []


class Memoized(Protocol[P, T_co]):
    """A function whose last results are cached."""

    __wrapped__: Callable[..., Any]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T_co: ...

    def cache_clear(self) -> None:
        """Clears the cache."""


def memoized(size: int) -> Callable[[Callable[P, T]], Memoized[P, T]]:
    """Remembers the last `size` results of a function of hashable arguments; errors are not remembered.

    Examples
    --------
    >>> @memoized(16)
    ... def square(number: int) -> int:
    ...     print("computed")
    ...     return number * number
    >>> square(3), square(3)
    computed
    (9, 9)
    """

    def made(call: Callable[P, T]) -> Memoized[P, T]:
        found = lru_cache(maxsize=size)(call)  # thread-safe, and no slower than a dictionary
        _forget.append(found.cache_clear)
        return update_wrapper(found, call)  # type: ignore[return-value]  # the stub of lru_cache forgets the parameters

    return made


class Memo(Generic[T]):
    """A cache of the last `size` values by key, for results that do not follow from a function's arguments alone.

    Examples
    --------
    >>> memo = Memo[str](2)
    >>> for key in "abc":
    ...     memo.put(key, key.upper())
    >>> memo.get("a"), memo.get("c"), len(memo)
    (None, 'C', 2)
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, T] = OrderedDict()
        _forget.append(self.clear)

    def get(self, key: Hashable) -> T | None:
        """The value that was put last under the key, unless it was dropped meanwhile."""
        return self._values.get(key)  # a single atomic operation

    def put(self, key: Hashable, value: T) -> None:
        """Caches a value. If there are more than `size` values, drops the oldest."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self.size:
                self._values.popitem(last=False)

    def clear(self) -> None:
        """Removes all values."""
        with self._lock:
            self._values.clear()

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)


def forget_all() -> None:
    """Clears all memos of this process: for tests, and after a package was installed."""
    for forget in _forget:
        forget()
