"""Shares one object per file (a connection, a lock) among all stores of this process that use that file."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class OnePerFile(Generic[T]):
    """Makes an object for a file, unless one is in use for it. Different paths of the same file share one object.

    Examples
    --------
    >>> class Handle:
    ...     def __init__(self, path: str) -> None:
    ...         self.path = path
    >>> handles = OnePerFile(Handle)
    >>> first = handles.at("a.db")
    >>> handles.at("./a.db") is first
    True
    """

    def __init__(self, make: Callable[[str], T]) -> None:
        self._make = make
        self._found: WeakValueDictionary[str, T] = WeakValueDictionary()
        self._lock = threading.Lock()

    def at(self, path: str) -> T:
        """The object for the file at `path`."""
        place = os.path.realpath(path)
        with self._lock:
            found = self._found.get(place)
            if found is None:
                found = self._found[place] = self._make(path)
            return found
