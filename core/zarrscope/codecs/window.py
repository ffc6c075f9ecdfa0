"""The part of a chunk's decoded bytes that a selection needs."""

from __future__ import annotations

from math import prod

from zarrscope.runtime.named_tuple import NamedTuple


class DecodeWindow(NamedTuple):
    """The decoded bytes of a chunk that a selection needs. They hold elements of `shape`; `take` selects from these.

    `shape` and `take` are in the order of axes in which the elements are stored.
    """

    start: int
    stop: int
    shape: tuple[int, ...]
    take: tuple[slice, ...]
    size: int


def window_of(selection: tuple[slice, ...], shape: tuple[int, ...], itemsize: int) -> DecodeWindow:
    """The window of a selection with a slice for each axis, in the order in which the elements are stored."""
    axis, row = 0, 0
    low, high = _span(selection[0])
    while high - low == 1 and axis + 1 < len(shape):
        row = row * shape[axis] + low
        axis += 1
        low, high = _span(selection[axis])
    length = prod(shape[axis + 1 :]) * itemsize
    start = (row * shape[axis] + low) * length
    size = (high - low) * length
    take = (*(slice(0, 1),) * axis, _shifted(selection[axis], low), *selection[axis + 1 :])
    return DecodeWindow(start, start + size, ((1,) * axis + (high - low, *shape[axis + 1 :])), take, size)


def _span(part: slice) -> tuple[int, int]:
    """The lowest index that the slice takes, and the highest plus 1, also if the step is negative."""
    start, step = part.start, part.step
    stop = -1 if part.stop is None else part.stop
    last = start + (stop - start - (1 if step > 0 else -1)) // step * step
    return (start, last + 1) if step > 0 else (last, start + 1)


def _shifted(part: slice, by: int) -> slice:
    stop = None if part.stop is None or part.stop < by else part.stop - by
    return slice(part.start - by, stop, part.step)
