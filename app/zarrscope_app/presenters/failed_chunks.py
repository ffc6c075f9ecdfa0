"""The chunks that a presenter could not read, and the news that a later attempt has read one of them."""

from __future__ import annotations

from psygnal import Signal

from zarrscope.model.selection import ChunkIndex
from zarrscope.view.loader import ChunkResult


class TellsFailedChunks:
    """Part of a presenter that reads chunks. The presenter calls `heard` for each chunk that arrives."""

    failed = Signal(object, str, tuple)
    """Emits (error, path of the array, index of the chunk) when a chunk could not be read."""
    recovered = Signal(str, tuple)
    """Emits (path of the array, index of the chunk) when a chunk that had failed was read."""

    def __init__(self) -> None:
        self._failures: set[tuple[str, ChunkIndex]] = set()

    def heard(self, path: str, result: ChunkResult) -> None:
        """Emits `failed` or `recovered`, if the result of a chunk of the array at `path` is news."""
        chunk = path, result.index
        if result.error is not None:
            self._failures.add(chunk)
            self.failed.emit(result.error, *chunk)
        elif chunk in self._failures:
            self._failures.discard(chunk)
            self.recovered.emit(*chunk)
