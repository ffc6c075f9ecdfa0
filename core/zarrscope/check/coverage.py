"""Counts the data that a check has read, and names the arrays that it cannot verify: if an array's codecs keep no
checksum, its chunks may have changed and still decode."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from zarrscope.errors import ZarrscopeError
from zarrscope.stores.zip.store import ZipStore

if TYPE_CHECKING:
    from zarrscope.check.chunks import StoredChunks


@dataclass(slots=True)
class Coverage:
    """Counts the data that one run of a check reads; data that a journal records of an earlier run do not count.

    Examples
    --------
    >>> import numpy as np, zarrscope
    >>> from zarrscope.check.coverage import Coverage
    >>> from zarrscope.check.hierarchy import check
    >>> h = zarrscope.open({}, "w-")
    >>> h.create_array("/a", shape=(4,), dtype="u1", chunks=(2,))[...] = np.arange(4)
    >>> coverage = Coverage()
    >>> list(check(h, coverage=coverage))
    []
    >>> coverage.nodes, coverage.arrays, coverage.chunks, coverage.without_checksum
    (2, 1, 2, ['/a'])
    """

    nodes: int = 0
    arrays: int = 0
    """The arrays whose chunks were read."""
    chunks: int = 0
    """The decoded chunks of the grid (in a sharded array the shards)."""
    nbytes: int | None = 0
    """The encoded bytes of the chunks; None where a cluster read some of them."""
    without_checksum: list[str] = field(default_factory=list)
    """The paths of arrays with chunks that have no checksum."""

    def add(self, stored: StoredChunks, before: int = 0) -> None:
        """Adds the chunks of one array that this run decoded. `before`: the number that an earlier run decoded."""
        array = stored.array
        self.arrays += 1
        self.chunks += stored.chunks_read
        known = self.nbytes is not None and stored.bytes_read is not None
        self.nbytes = (self.nbytes or 0) + (stored.bytes_read or 0) if known else None
        if (stored.chunks_read or before) and not _guarded(stored):
            self.without_checksum.append(array.path)


def _guarded(stored: StoredChunks) -> bool:
    """Whether every chunk was compared with a checksum: of a codec, or of the zip archive that it lies in."""
    array = stored.array
    if isinstance(array.store, ZipStore) and array.shards is None:
        return True  # whole entries were read, and each has a checksum
    try:
        return array._stored.grid_chunk_pipeline(array.metadata.grid.chunk_shape).checksummed
    except ZarrscopeError:
        return True  # nothing was decoded, and a finding says why
