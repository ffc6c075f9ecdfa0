"""Readers read many values of one store, one after the other, and share costs such as opening a folder.

A Reader is used by one thread, for one task. `seek(key)` selects the value for the following calls. If the backend can
keep the value's file open, these calls read the same value even if another one is stored at `key` meanwhile. Returned
bytes may lie in an Arena, which is memory that is reused; they are valid until the arena is cleared.

`Reader.source()` gives access to ranges of the selected value, for codecs that need not read all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from zarrscope.model.buffers import BytesSource, RangeReadable
from zarrscope.stores.keys import too_large

if TYPE_CHECKING:
    from zarrscope.model.storage import Buffer, ByteRange


class Readable(Protocol):
    """The interface of a store that a Reader needs."""

    url: str

    def get(self, key: str, part: ByteRange | None = None, limit: int | None = None) -> bytes | None:
        """The value or the given part of it, None if the key is absent. Raises TooLarge beyond `limit` bytes."""


class Reader:
    """A Reader for any store: each `whole` and each `part` is one request by `get`."""

    @property
    def size(self) -> int | None:
        """The size of the selected value in bytes, if it is known without a request; `read` works only then."""
        return None

    @property
    def stamp(self) -> str | None:
        """Identifies the state of the selected value for readers of other processes, if that is known without a
        request: equal stamps mean the same bytes. `size` is then known, too."""
        return None

    def read(self, start: int, stop: int) -> Buffer:
        """Reads the bytes from `start` to `stop`, or fewer if the value ends before. Only works if `size` is known."""
        raise NotImplementedError  # each store has its own reader

    def __init__(self, store: Readable, limit: int | None = None) -> None:
        """`limit`: the most bytes of one value, or of a part of it, that the caller can use."""
        self._store = store
        self._limit = limit
        self._key: str | None = None
        self._value: Buffer | None = None
        self._asked = False

    def seek(self, key: str) -> None:
        """Selects the value at `key` for the following calls. Raises Refused, Unreadable."""
        if key != self._key:
            self._key, self._value, self._asked = key, None, False

    def whole(self) -> Buffer | None:
        """The whole value; None when nothing is stored."""
        if not self._asked:
            self._value, self._asked = self._store.get(self._key or "", None, self._limit), True
        return self._value

    def part(self, part: ByteRange) -> Buffer | None:
        """A part of the value, clipped to its size; None when nothing is stored."""
        return self._store.get(self._key or "", part, self._limit)

    def source(self) -> RangeReadable | None:
        """Gives access to ranges of the value, until the next `seek`; None when nothing is stored."""
        value = self.whole()
        return None if value is None else BytesSource(value)

    def keep(self) -> object:
        """A handle of the selected value, which other Readers of this store can `take`; None if the backend cannot keep
        the value open."""
        return None

    def take(self, key: str, kept: object) -> None:
        """Selects the value of the handle `kept`, from `keep` of another Reader, even if another value was stored at
        `key` since."""
        self.seek(key)

    def close(self) -> None:
        """Closes files that are held open."""


class HeldReader(Reader):
    """A Reader for a store whose values lie in memory: a part of a value is a view of that memory, not a copy."""

    def whole(self) -> Buffer | None:
        value = self._held()
        return None if value is None else self._checked(value, 0, len(value))

    def part(self, part: ByteRange) -> Buffer | None:
        value = self._held()
        return None if value is None else self._checked(value, *part.span(len(value)))

    def source(self) -> RangeReadable | None:
        value = self._held()
        return None if value is None else BytesSource(self._checked(value, 0, len(value)))

    def _checked(self, value: Buffer, start: int, stop: int) -> Buffer:
        if self._limit is not None and stop - start > self._limit:
            raise too_large(stop - start, self._limit).located(store=self._store.url, key=self._key)
        return value if stop - start == len(value) else memoryview(value)[start:stop]

    def _held(self) -> Buffer | None:
        """The value of the selected key, not copied; None when nothing is stored."""
        raise NotImplementedError  # each store has its own memory
