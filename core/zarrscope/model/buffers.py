"""Encoded bytes that can be read in part, and arenas: blocks of memory that are reused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from zarrscope.runtime.lazy_numpy import np

if TYPE_CHECKING:
    from zarrscope.model.storage import Buffer


class RangeReadable(Protocol):
    """Encoded bytes. `read` returns fewer bytes than requested only at their end."""

    @property
    def size(self) -> int:
        """The number of bytes."""

    def read(self, start: int, stop: int) -> Buffer:
        """The bytes from `start` to before `stop`, clipped to the end."""


class BytesSource:
    """Bytes in memory as RangeReadable."""

    __slots__ = ("_data", "size")

    def __init__(self, data: Buffer) -> None:
        self._data = memoryview(data)
        self.size = len(data)

    def read(self, start: int, stop: int) -> Buffer:
        """The bytes from `start` to before `stop`, as a view."""
        return self._data[start:stop]


class Arena:
    """Memory that is given out piece by piece and taken back all at once: allocating new memory takes longer than
    filling it.
    """

    KEPT = 16 << 20
    """The most bytes that a cleared arena keeps."""
    FRONT = 4096
    """Bytes before the first piece that are never lent: space for a header in front of merged pieces."""

    def __init__(self) -> None:
        self.cleared = 0
        """How often it was cleared."""
        self._set(0)

    def _set(self, size: int) -> None:
        memory = np.empty(size, np.uint8)
        self._address: int = memory.__array_interface__["data"][0]
        self._all = memory.data
        self._used = self.FRONT

    def take(self, size: int) -> memoryview:
        """Lends `size` bytes, which are not initialised. Raises MemoryError."""
        if self._used + size > len(self._all):  # pieces lent earlier stay valid: they keep the old memory alive
            self._set(self.FRONT + max(size, min(2 * len(self._all), self.KEPT)))
        piece = self._all[self._used : self._used + size]
        self._used += size
        return piece

    def used(self) -> memoryview:
        """The memory from the front to the end of the last piece that was lent."""
        return self._all[: self._used]

    def offset(self, piece: Buffer) -> int | None:
        """The offset in `used` of a piece, or of a part of a piece; None if the given buffer lies outside the arena."""
        if isinstance(piece, bytes):
            return None
        at: int = np.frombuffer(piece, np.uint8).__array_interface__["data"][0] - self._address
        return at if at >= self.FRONT and at + len(piece) <= self._used else None

    def leave(self, size: int) -> None:
        """Gives back the last `size` bytes of the piece that was taken last."""
        self._used -= size

    def clear(self) -> None:
        """Takes all pieces back: callers must no longer use the pieces that they were lent."""
        self._used = self.FRONT
        self.cleared += 1
        if len(self._all) > self.FRONT + self.KEPT:
            self._set(0)
