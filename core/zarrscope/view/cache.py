"""A cache of decoded chunks by array and index; the least recently used are dropped first.

Guarantees: it never holds more than `limit` bytes, counting the whole buffer that a chunk keeps alive; a chunk larger
than `limit` is not kept. It has no lock of its own; loader.ChunkLoader locks it.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.chunkio.write_watchers import ArrayIdentity
from zarrscope.errors import ZarrscopeError
from zarrscope.model.frozen import frozen
from zarrscope.model.selection import ChunkIndex
from zarrscope.runtime.tuning import VIEW_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ChunkState(Enum):
    """The state of a requested chunk: present, not stored, or failed."""

    PRESENT = "present"
    FILL = "fill"
    """No chunk is stored there, so the elements have the fill value."""
    FAILED = "failed"


PRESENT, FILL, FAILED = ChunkState.PRESENT, ChunkState.FILL, ChunkState.FAILED


@frozen
class ChunkResult:
    """One chunk of an array. `data` is clipped to the array's edge and read-only; only PRESENT chunks have `data`."""

    index: ChunkIndex
    state: ChunkState
    data: NDArray[Any] | None = None
    error: ZarrscopeError | None = None


class ChunkCache:
    """Keeps decoded chunks in memory, and drops those that were used longest ago.

    `find` and `put` take an array and an index. `size` is the number of bytes held, at most `limit`.
    """

    OVERHEAD = 400
    """The approximate memory of an entry besides its data, in bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self._numbers: dict[ArrayIdentity, int] = {}
        """A small number for each array, because the keys below are hashed for every chunk of every plane."""
        self._kept: OrderedDict[tuple[int, ChunkIndex], tuple[ChunkResult, int]] = OrderedDict()

    def find(self, identity: ArrayIdentity, indices: Iterable[ChunkIndex]) -> list[ChunkResult | None]:
        """The cached result for each index, or None; marks them as most recently used."""
        number = self._numbers.get(identity)
        if number is None:
            return [None for _ in indices]
        found: list[ChunkResult | None] = []
        kept = self._kept
        for index in indices:
            entry = kept.get((number, index))
            if entry is None:
                found.append(None)
            else:
                kept.move_to_end((number, index))
                found.append(entry[0])
        return found

    def get(self, identity: ArrayIdentity, index: ChunkIndex) -> ChunkResult | None:
        """The cached result for one chunk, which then counts as used; None if it is not cached."""
        return self.find(identity, (index,))[0]

    def put(self, identity: ArrayIdentity, result: ChunkResult) -> None:
        """Caches a result in place of the former one. A result that is larger than `limit` is not kept."""
        key = (self._numbers.setdefault(identity, len(self._numbers)), result.index)
        self._drop(key)
        cost = self.OVERHEAD + (0 if result.data is None else held(result.data))
        if cost <= self.limit:
            self._kept[key] = result, cost
            self.size += cost
            self.trim()

    def trim(self) -> None:
        """Drops results until at most `limit` bytes are held; needed after `limit` was lowered."""
        while self.size > self.limit:
            _, (_, cost) = self._kept.popitem(last=False)
            self.size -= cost

    def drop_array(self, identity: ArrayIdentity) -> None:
        """Drops all chunks of one array."""
        number = self._numbers.get(identity)
        for key in [key for key in self._kept if key[0] == number]:
            self._drop(key)

    def arrays_beneath(self, url: str, path: str) -> list[ArrayIdentity]:
        """The arrays at `path` of the store `url`, and beneath it, whose chunks are or were in the cache."""
        return [identity for identity in self._numbers if identity.lies_beneath(url, path)]

    def clear(self) -> None:
        """Drops all chunks of all arrays."""
        self._kept.clear()
        self.size = 0

    def __len__(self) -> int:
        return len(self._kept)

    def _drop(self, key: tuple[int, ChunkIndex]) -> None:
        gone = self._kept.pop(key, None)
        if gone is not None:
            self.size -= gone[1]


def held(data: NDArray[Any]) -> int:
    """The number of bytes that `data` keeps alive: its whole buffer, and the objects that it refers to."""
    size = buffer_bytes(data)
    if data.dtype.hasobject:
        size += sum(len(item) + 50 if isinstance(item, str | bytes) else 100 for item in data.flat)
    return size


def buffer_bytes(data: NDArray[Any]) -> int:
    """The size in bytes of the buffer that `data` owns or is a view of."""
    owner: Any = data
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    base = owner.base
    if isinstance(base, memoryview):
        base = base.obj
    beneath = buffer_bytes(base) if isinstance(base, np.ndarray) else 0
    if isinstance(base, bytes | bytearray):
        beneath = len(base)
    return max(int(owner.nbytes), beneath)


def compact(data: NDArray[Any]) -> NDArray[Any]:
    """Returns `data`, or a read-only copy if `data` would keep a much larger buffer alive."""
    if buffer_bytes(data) <= data.nbytes + data.nbytes // 4:
        return data
    copied = data.copy()
    copied.flags.writeable = False
    return copied


def default_limit() -> int:
    """The default size of the cache in bytes: a quarter of the machine's memory, at most 1 GiB."""
    try:
        return min(VIEW_BYTES, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4)
    except (AttributeError, ValueError, OSError):
        return VIEW_BYTES
