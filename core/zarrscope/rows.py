"""The plan of a selection: the parts of each axis, crossed row by row and cut into jobs. reading.py works it off.

A *row* is the run of units along the last axis that share all else, so that keys, targets and windows are worked out
once for many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from zarrscope.locator import Index
from zarrscope.selection import Part, Piece, join

if TYPE_CHECKING:
    from numpy.typing import NDArray

Longer = Callable[[tuple[str, str], str], tuple[str, str]]


class Row(NamedTuple):
    """The units along the last axis that share all other indices."""

    chunk: Index
    """Their index, but for the last axis."""
    key: tuple[str, str]
    """What comes before and after the last axis' part of a key; of a shard, the key itself."""
    source: tuple[slice, ...]
    target: NDArray[Any]
    """Their place in the result, all along the last axis."""
    whole: bool
    kinds: tuple[int, ...]
    """Equal for equal sources: windows are remembered by them."""


class Along(NamedTuple):
    """One part of an axis."""

    part: Part
    text: str
    kind: int


class Stretch(NamedTuple):
    """Some neighbouring units of a row."""

    row: Row
    some: Sequence[Along]
    spans: Sequence[tuple[int, int] | None] = ()
    """Of inner chunks: where they lie in the shard."""

    def cut(self, start: int, stop: int) -> Stretch:
        if stop - start == len(self.some):
            return self
        return Stretch(self.row, self.some[start:stop], self.spans[start:stop])


def rows(out: NDArray[Any], axes: Sequence[Sequence[Along]], key: tuple[str, str], longer: Longer) -> Iterator[Row]:
    """One for each combination of the parts of `axes`; `longer` adds the text of a part to a key."""

    def beneath(row: Row) -> Iterator[Row]:
        axis = len(row.chunk)
        if axis == len(axes):
            yield row
            return
        before = (slice(None),) * axis
        for along in axes[axis]:
            part = along.part
            longer_row = Row(
                (*row.chunk, part.chunk),
                longer(row.key, along.text),
                (*row.source, part.source),
                row.target[(*before, part.target)],
                row.whole and part.whole,
                (*row.kinds, along.kind),
            )
            yield from beneath(longer_row)

    return beneath(Row((), key, (), out, True, ()))


def alongs(axes: Sequence[Sequence[Part]]) -> list[list[Along]]:
    """Each axis' parts with what is worked out once for all rows."""
    made = []
    for parts in axes:
        kinds: dict[tuple[int, int | None, int], int] = {}
        made.append(
            [
                Along(part, str(part.chunk), kinds.setdefault((s.start, s.stop, s.step), len(kinds)))
                for part in parts
                for s in (part.source,)
            ]
        )
    return made


def packed(stretches: Iterable[Stretch], size: int) -> Iterator[list[Stretch]]:
    """What is given cut or put together to jobs of `size` units."""
    job: list[Stretch] = []
    room = size
    for stretch in stretches:
        at, count = 0, len(stretch.some)
        while at < count:
            n = min(room, count - at)
            job.append(stretch.cut(at, at + n))
            at += n
            room -= n
            if not room:
                yield job
                job, room = [], size
    if job:
        yield job


def by_chunk(parts: Sequence[Sequence[Part]], units_per_chunk: Index) -> Iterator[list[Piece]]:
    """The pieces, those of one chunk of the grid (one key) together."""
    per_axis: list[list[list[Part]]] = []
    for some, n in zip(parts, units_per_chunk, strict=True):
        groups: dict[int, list[Part]] = {}
        for part in some:
            groups.setdefault(part.chunk // n, []).append(part)
        per_axis.append(list(groups.values()))
    for group in product(*per_axis):
        yield [join(combination) for combination in product(*group)]
