"""Units and parts of units that are read but not yet decoded: decoded by one call, put in place by one assignment.

Python's share of a tiny unit, and of a part of a large one, is as large as the decoder's; and each call gives Python's
lock away, which the other threads want ("tiny", full: 22 ms instead of 54; "blosc-lz4 64^3", xy plane: 2.3 instead of
3.8). Where decoding many fails, the error names the one that is damaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.rows import Along, Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zarrscope.codecs import CodecPipeline
    from zarrscope.codecs.pipeline import Window
    from zarrscope.errors import ZarrscopeError
    from zarrscope.locator import Index
    from zarrscope.reader import Room
    from zarrscope.store import Buffer


class Gathered:
    """Of one job, each with its place in the result."""

    __slots__ = ("cuts", "units")

    def __init__(self) -> None:
        self.units: list[tuple[Row, Along, Buffer]] = []
        self.cuts: dict[int, tuple[Window, list[tuple[Row, Along, Any]]]] = {}
        """By the window's id."""

    def put(
        self,
        pipeline: CodecPipeline,
        unit_bytes: int,
        memory: Callable[[int], NDArray[np.uint8]],
        room: Room,
        failure: Callable[[Exception, Index], ZarrscopeError],
    ) -> None:
        """Decodes all and puts them into the result. `memory(size)` and `room`: as for `CodecPipeline.decode_cuts`.

        Raises what `failure` makes of an error and the unit that it is about.
        """
        if self.units:
            chunks = [data for _, _, data in self.units]
            try:
                decoded = pipeline.decode_batch(chunks, memory(len(chunks) * unit_bytes), room)
            except Exception:
                for row, along, data in self.units:
                    _alone(row, along, partial(pipeline.decode, data), failure)
                raise
            for at, row, some in _runs(self.units):
                _set(row, some, decoded[at : at + len(some)])
        for window, found in self.cuts.values():
            cuts = [cut for _, _, cut in found]
            try:
                decoded = pipeline.decode_cuts(cuts, window, memory, room)
            except Exception:
                for row, along, cut in found:
                    _alone(row, along, partial(pipeline.decode_cuts, [cut], window, memory, room), failure)
                raise
            for at, row, some in _runs(found):
                _join(row, some, decoded[at : at + len(some)])


def _alone(
    row: Row, along: Along, decode: Callable[[], object], failure: Callable[[Exception, Index], ZarrscopeError]
) -> None:
    try:
        decode()
    except Exception as error:
        raise failure(error, (*row.chunk, along.part.chunk))  # noqa: B904 - it is that error, or has it as its cause


def _runs(found: Sequence[tuple[Row, Along, object]]) -> Iterator[tuple[int, Row, list[Along]]]:
    """Those that lie side by side in one row of the result, and the number of the first."""
    some: list[Along] = []
    for i, (row, along, _) in enumerate(found):
        if some and (row is not found[i - 1][0] or along.part.target.start != some[-1].part.target.stop):
            yield i - len(some), found[i - 1][0], some
            some = []
        some.append(along)
    if some:
        yield len(found) - len(some), found[-1][0], some


def _set(row: Row, some: Sequence[Along], units: NDArray[Any]) -> None:
    """What is taken of neighbouring units. All but the first and the last are always taken whole along the row."""
    low, high = int(not some[0].part.whole), len(some) - int(not some[-1].part.whole)
    if high - low < 2 or not all(along.part.whole for along in some[low:high]):
        low = high = 0
    for i in (*range(low), *range(high, len(some))):
        part = some[i].part
        row.target[..., part.target] = units[i][(*row.source, part.source)]
    if high > low:
        _join(row, some[low:high], units[(slice(low, high), *row.source)])


def _join(row: Row, some: Sequence[Along], taken: NDArray[Any]) -> None:
    """Puts equal parts of neighbouring units side by side, by one assignment."""
    target = row.target[..., some[0].part.target.start : some[-1].part.target.stop]
    # Splitting an axis never copies: what is assigned arrives in the result.
    target = target.reshape(*target.shape[:-1], len(some), taken.shape[-1])
    target[...] = np.moveaxis(taken, 0, -2)
