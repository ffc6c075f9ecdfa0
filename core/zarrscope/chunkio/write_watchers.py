"""Notifies caches when the values of an array are written, and identifies arrays that show the same chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

if TYPE_CHECKING:
    from zarrscope.chunkio.source import ArraySource


class Watcher(Protocol):
    """Notified when values of an array are written, so that caches drop them."""

    def invalidate(self, array: ArraySource) -> None:
        """Called after values of `array` were written; the watcher drops all cached chunks of that array."""

    def forget_beneath(self, url: str, path: str) -> None:
        """Called after the node at `path` of the store `url` was erased or moved, together with everything below it."""


watchers: WeakSet[Any] = WeakSet()
"""Every Watcher of this process."""


def forget_beneath(url: str, path: str) -> None:
    """Notifies every watcher that the arrays at `path` and below it may have been replaced."""
    for watcher in list(watchers):
        watcher.forget_beneath(url, path)


class ArrayIdentity:
    """Equal for Array objects that show the same chunks: the same store, path and metadata, and the same rule for
    chunks that the store denies. Hashed once, compared fast."""

    __slots__ = ("_hash", "_parts")

    def __init__(self, url: str, path: str, metadata: object, missing_is_fill: bool) -> None:
        self._parts = (url, path, metadata, missing_is_fill)
        self._hash = hash(self._parts)

    @property
    def twin(self) -> ArrayIdentity:
        """The identity of the same array with the other rule for chunks to which access is denied."""
        url, path, metadata, missing_is_fill = self._parts
        return ArrayIdentity(url, path, metadata, not missing_is_fill)

    def lies_beneath(self, url: str, path: str) -> bool:
        """Whether the array is the node at `path` or lies below it."""
        return self._parts[0] == url and f"{self._parts[1]}/".startswith(f"{path.rstrip('/')}/")

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, ArrayIdentity) and self._hash == other._hash and self._parts == other._parts
        )
