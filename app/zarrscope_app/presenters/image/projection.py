"""A projection: for every pixel the highest, mean or lowest value along one axis, over a range of indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.model.frozen import frozen
from zarrscope.view.render import Plane

if TYPE_CHECKING:
    from zarrscope.model.dtype import Element

METHODS = {"max": "maximum", "mean": "mean", "min": "minimum"}
"""Id of a method → its title."""
KINDS = "buif"
"""The kinds of values that have a maximum: complex values and times have none."""


@frozen
class Projection:
    """A projection along `axis` from index `start` to before `stop`, at full resolution."""

    axis: int
    method: str
    start: int
    stop: int

    def at_level(self, factor: float, length: int) -> tuple[int, int]:
        """The range of the projection, converted to indices of a coarser level; at least one index."""
        first = min(max(0, int(self.start / factor)), length - 1)
        return first, min(length, max(first + 1, -int(-self.stop // factor)))


_COMBINE: dict[str, np.ufunc] = {"max": np.fmax, "min": np.fmin}


class Accumulator:
    """Combines the planes of a range into one, piece by piece and in any order. NaN is ignored, except where all values
    are NaN."""

    def __init__(self, method: str, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self._method = method
        self._count = np.zeros(shape, np.float64 if method == "mean" else bool)
        self._held: Plane = np.zeros(shape, np.float64 if method == "mean" else dtype)
        self._result = np.dtype(np.float32) if method == "mean" else dtype

    def add(self, rows: slice, columns: slice, stack: Plane) -> None:
        """Adds the part at `rows` and `columns` of n planes; `stack` is an array (n, rows, columns)."""
        held, count = self._held[rows, columns], self._count[rows, columns]
        if self._method == "mean":
            known = ~np.isnan(stack) if stack.dtype.kind == "f" else np.ones(stack.shape, bool)
            with np.errstate(all="ignore"):
                held += np.where(known, stack, 0).sum(0, dtype=np.float64)
            count += known.sum(0)
            return
        with np.errstate(all="ignore"):
            one = _COMBINE[self._method].reduce(stack, axis=0)
            held[...] = np.where(count, _COMBINE[self._method](held, one), one)
        count[...] = True

    def add_constant(self, rows: slice, columns: slice, value: Element, planes: int) -> None:
        """Adds planes of one constant value, for a chunk that is not stored."""
        shape = self._held[rows, columns].shape
        if self._method != "mean":
            self.add(rows, columns, np.full((1, *shape), value, self._held.dtype))
        elif value == value:
            self._held[rows, columns] += float(value) * planes
            self._count[rows, columns] += planes

    def result(self, fill: object) -> Plane:
        """The resulting plane; `fill` where nothing was added."""
        if self._method == "mean":
            with np.errstate(all="ignore"):
                mean = np.where(self._count > 0, self._held / self._count, np.nan)
            return mean.astype(self._result)
        return np.where(self._count, self._held, np.asarray(fill, self._result)).astype(self._result)
