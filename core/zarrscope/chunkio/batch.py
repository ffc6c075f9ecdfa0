"""A batch of encoded chunks, or parts of chunks: decoded by one call and copied into the result by one assignment.

For a tiny chunk, or a part of a large one, Python takes as long as the decoder does; and each call releases the GIL,
for which the threads then compete (benchmark "tiny", full: 22 ms instead of 54; "blosc-lz4 64^3", xy plane: 2.3 instead
of 3.8). If a batch cannot be decoded, the error names the damaged chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.chunkio.read_plan import AxisPart, PlanRow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zarrscope.codecs import CodecPipeline
    from zarrscope.codecs.window import DecodeWindow
    from zarrscope.errors import ZarrscopeError
    from zarrscope.model.buffers import Arena
    from zarrscope.model.selection import ChunkIndex
    from zarrscope.model.storage import Buffer


class Batch:
    """The encoded chunks of one job, each with its place in the result."""

    __slots__ = ("blocks", "chunks")

    def __init__(self) -> None:
        self.chunks: list[tuple[PlanRow, AxisPart, Buffer]] = []
        self.blocks: dict[int, tuple[DecodeWindow, list[tuple[PlanRow, AxisPart, Any]]]] = {}
        """Encoded blocks by the id of their window."""

    def decode_into_result(
        self,
        pipeline: CodecPipeline,
        chunk_bytes: int,
        memory: Callable[[int], NDArray[np.uint8]],
        arena: Arena,
        failure: Callable[[Exception, ChunkIndex], ZarrscopeError],
    ) -> None:
        """Decodes all chunks and puts them into the result. `memory(size)` and `arena`: as for
        `CodecPipeline.decode_blocks`.

        If a chunk cannot be decoded, raises the exception that `failure(error, chunk)` returns.
        """
        if self.chunks:
            chunks = [data for _, _, data in self.chunks]
            try:
                decoded = pipeline.decode_many(chunks, memory(len(chunks) * chunk_bytes), arena)
            except Exception:
                for row, part, data in self.chunks:
                    _alone(row, part, partial(pipeline.decode, data), failure)
                raise
            for at, row, some in _runs(self.chunks):
                _set(row, some, decoded[at : at + len(some)])
        for window, found in self.blocks.values():
            encoded = [data for _, _, data in found]
            try:
                decoded = pipeline.decode_blocks(encoded, window, memory, arena)
            except Exception:
                for row, part, data in found:
                    _alone(row, part, partial(pipeline.decode_blocks, [data], window, memory, arena), failure)
                raise
            for at, row, some in _runs(found):
                _join(row, some, decoded[at : at + len(some)])


def _alone(
    row: PlanRow,
    part: AxisPart,
    decode: Callable[[], object],
    failure: Callable[[Exception, ChunkIndex], ZarrscopeError],
) -> None:
    try:
        decode()
    except Exception as error:
        raise failure(error, (*row.chunk, part.selection.chunk))  # noqa: B904 - the error caught, or a new one caused by it


def _runs(found: Sequence[tuple[PlanRow, AxisPart, object]]) -> Iterator[tuple[int, PlanRow, list[AxisPart]]]:
    """Runs of chunks that are neighbours in one row of the result: (number of the first, row, parts)."""
    some: list[AxisPart] = []
    for i, (row, part, _) in enumerate(found):
        if some and (row is not found[i - 1][0] or part.selection.target.start != some[-1].selection.target.stop):
            yield i - len(some), found[i - 1][0], some
            some = []
        some.append(part)
    if some:
        yield len(found) - len(some), found[-1][0], some


def _set(row: PlanRow, some: Sequence[AxisPart], chunks: NDArray[Any]) -> None:
    """Copies the selected parts of neighbouring decoded chunks into the result. Along the row, only the first and the
    last chunk may be selected in part."""
    low, high = int(not some[0].selection.whole), len(some) - int(not some[-1].selection.whole)
    if high - low < 2 or not all(part.selection.whole for part in some[low:high]):
        low = high = 0
    for i in (*range(low), *range(high, len(some))):
        taken = some[i].selection
        row.target[..., taken.target] = chunks[i][(*row.source, taken.source)]
    if high > low:
        _join(row, some[low:high], chunks[(slice(low, high), *row.source)])


def _join(row: PlanRow, some: Sequence[AxisPart], taken: NDArray[Any]) -> None:
    """Puts equal parts of neighbouring chunks side by side, by one assignment."""
    target = row.target[..., some[0].selection.target.start : some[-1].selection.target.stop]
    # Splitting an axis gives a view, so the assignment writes into the result.
    target = target.reshape(*target.shape[:-1], len(some), taken.shape[-1])
    target[...] = np.moveaxis(taken, 0, -2)
