"""Reading many values of one store in a row without paying for each what need be paid once.

A Reader belongs to one thread and one task. `seek(key)` names the value that the other calls are about; the value stays
the one that was there then, though another may be stored in its place meanwhile, where the backend can hold it open.
What a Reader gives lies in a Room, memory that is used again and again, and is good until the room is cleared.

A Source is one value of known size of which any part can be read: what codecs take that need not see all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from zarrscope.store import Buffer, ByteRange, Store


class Source(Protocol):
    """Encoded bytes; `read` gives fewer than asked for only where there are no more."""

    @property
    def size(self) -> int: ...

    def read(self, start: int, stop: int) -> Buffer: ...


class Held:
    """Bytes in memory as a Source."""

    __slots__ = ("_data", "size")

    def __init__(self, data: Buffer) -> None:
        self._data = memoryview(data)
        self.size = len(data)

    def read(self, start: int, stop: int) -> Buffer:
        return self._data[start:stop]


class Room:
    """Memory given out piece by piece and taken back all at once: fresh memory costs more than what is put there."""

    KEPT = 16 << 20
    """Bytes that a cleared room keeps at most."""
    FRONT = 4096
    """Bytes before the first piece that are never given out: for a header before what is joined."""

    def __init__(self) -> None:
        self._set(0)

    def _set(self, size: int) -> None:
        memory = np.empty(size, np.uint8)
        self._address: int = memory.__array_interface__["data"][0]
        self._all = memory.data
        self._used = self.FRONT

    def take(self, size: int) -> memoryview:
        """`size` bytes of whatever content. Raises MemoryError."""
        if self._used + size > len(self._all):  # pieces given out before keep the old memory alive
            self._set(self.FRONT + max(size, min(2 * len(self._all), self.KEPT)))
        piece = self._all[self._used : self._used + size]
        self._used += size
        return piece

    def used(self) -> memoryview:
        """All from the front to the end of the last piece."""
        return self._all[: self._used]

    def offset(self, piece: Buffer) -> int | None:
        """Where in `used` a piece begins, or a part of one; None where it lies elsewhere."""
        if isinstance(piece, bytes):
            return None
        at: int = np.frombuffer(piece, np.uint8).__array_interface__["data"][0] - self._address
        return at if at >= self.FRONT and at + len(piece) <= self._used else None

    def leave(self, size: int) -> None:
        """So many bytes at the end of the piece taken last were not needed."""
        self._used -= size

    def clear(self) -> None:
        """All pieces come back: whoever has one still must not use it."""
        self._used = self.FRONT
        if len(self._all) > self.FRONT + self.KEPT:
            self._set(0)


class Reader:
    """Any store's values, asked for by `get`: one request for each `whole` and `part`."""

    @property
    def size(self) -> int | None:
        """Bytes of the value, where that is known without asking; then there is `read`."""
        return None

    def read(self, start: int, stop: int) -> Buffer:
        """These bytes of it, fewer where there are no more. Only where `size` is known."""
        raise NotImplementedError

    def __init__(self, store: Store) -> None:
        self._store = store
        self._key: str | None = None
        self._value: bytes | None = None
        self._asked = False

    def seek(self, key: str) -> None:
        """What follows is about the value at `key`. Raises Refused, Unreadable."""
        if key != self._key:
            self._key, self._value, self._asked = key, None, False

    def whole(self) -> Buffer | None:
        """All of it; None when nothing is stored."""
        if not self._asked:
            self._value, self._asked = self._store.get(self._key or ""), True
        return self._value

    def part(self, part: ByteRange) -> Buffer | None:
        """A part of it, clipped to what is there; None when nothing is stored."""
        return self._store.get(self._key or "", part)

    def source(self) -> Source | None:
        """It as a Source, until the next `seek`; None when nothing is stored."""
        value = self.whole()
        return None if value is None else Held(value)

    def keep(self) -> object:
        """The value that is there now, for other Readers of this store (`take`); None where it cannot be held."""
        return None

    def take(self, key: str, kept: object) -> None:
        """As `seek`, to the very value that another Reader kept, whatever is stored at `key` since."""
        self.seek(key)

    def close(self) -> None:
        """Gives back what is held open."""
