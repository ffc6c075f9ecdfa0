"""The plan for reading a selection: its parts along each axis, combined into rows and split into jobs (see read.py).

A *row* is the run of chunks along the last axis whose other indices are equal. Keys, places in the result and windows
are computed once per row, not once per chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from zarrscope.model.selection import AxisSelection, ChunkIndex, ChunkSelection, cross
from zarrscope.runtime.named_tuple import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

ExtendKey = Callable[[tuple[str, str], str], tuple[str, str]]


class PlanRow(NamedTuple):
    """The chunks along the last axis that share all other indices."""

    chunk: ChunkIndex
    """The index of the chunks, without the last axis."""
    key: tuple[str, str]
    """The key's text before and after the number of the last axis; for a shard, the whole key."""
    source: tuple[slice, ...]
    target: NDArray[Any]
    """The view of the result for these chunks: the whole length of the last axis."""
    whole: bool
    covers: bool
    """Whether `source` takes all elements within the array (see AxisSelection)."""
    source_ids: tuple[int, ...]
    """One id for each item of `source`; items with equal slices and `covers` have equal ids. The parts of chunks to
    decode (windows) are cached under these ids."""


class AxisPart(NamedTuple):
    """The part of a selection that lies in one chunk along one axis."""

    selection: AxisSelection
    text: str
    source_id: int


class RowSlice(NamedTuple):
    """Some neighbouring chunks of a row."""

    row: PlanRow
    parts: Sequence[AxisPart]
    spans: Sequence[tuple[int, int] | None] = ()
    """The byte ranges of the inner chunks in their shard; empty if the chunks have keys of their own."""

    def narrowed(self, start: int, stop: int) -> RowSlice:
        """The slice with the parts `start` to `stop` alone; itself if these are all."""
        if stop - start == len(self.parts):
            return self
        return RowSlice(self.row, self.parts[start:stop], self.spans[start:stop])


def rows(
    out: NDArray[Any], axes: Sequence[Sequence[AxisPart]], key: tuple[str, str], extend_key: ExtendKey
) -> Iterator[PlanRow]:
    """Yields a row for each combination of the parts of `axes`; `extend_key` adds the text of a part to a key."""

    def beneath(row: PlanRow) -> Iterator[PlanRow]:
        axis = len(row.chunk)
        if axis == len(axes):
            yield row
            return
        before = (slice(None),) * axis
        for part in axes[axis]:
            taken = part.selection
            longer_row = PlanRow(
                (*row.chunk, taken.chunk),
                extend_key(row.key, part.text),
                (*row.source, taken.source),
                row.target[(*before, taken.target)],
                row.whole and taken.whole,
                row.covers and taken.covers,
                (*row.source_ids, part.source_id),
            )
            yield from beneath(longer_row)

    return beneath(PlanRow((), key, (), out, True, True, ()))


def axis_parts(axes: Sequence[Sequence[AxisSelection]]) -> list[list[AxisPart]]:
    """Describes the selected parts along each axis, with the values that all rows share computed once."""
    made = []
    for parts in axes:
        kinds: dict[tuple[int, int | None, int, bool], int] = {}
        made.append(
            [
                AxisPart(part, str(part.chunk), kinds.setdefault((s.start, s.stop, s.step, part.covers), len(kinds)))
                for part in parts
                for s in (part.source,)
            ]
        )
    return made


def pack_jobs(row_slices: Iterable[RowSlice], size: int) -> Iterator[list[RowSlice]]:
    """Splits and joins row slices into jobs of `size` chunks."""
    job: list[RowSlice] = []
    room = size
    for row_slice in row_slices:
        at, count = 0, len(row_slice.parts)
        while at < count:
            n = min(room, count - at)
            job.append(row_slice.narrowed(at, at + n))
            at += n
            room -= n
            if not room:
                yield job
                job, room = [], size
    if job:
        yield job


def by_grid_chunk(
    parts: Sequence[Sequence[AxisSelection]], chunks_per_shard: ChunkIndex
) -> Iterator[list[ChunkSelection]]:
    """The chunk selections, grouped by grid chunk (one key each)."""
    per_axis: list[list[list[AxisSelection]]] = []
    for some, n in zip(parts, chunks_per_shard, strict=True):
        groups: dict[int, list[AxisSelection]] = {}
        for part in some:
            groups.setdefault(part.chunk // n, []).append(part)
        per_axis.append(list(groups.values()))
    for group in product(*per_axis):
        yield [cross(combination) for combination in product(*group)]
