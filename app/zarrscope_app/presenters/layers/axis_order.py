"""The order of a layer's axes if a transformation exchanges them.

Viewers of layers draw the last two axes, and invert the part of the layer's matrix for these two. If the matrix leads
one of them to another axis, that part has no inverse, and drawing fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zarrscope_app.presenters.image.placement import not_applied

ON_EDGE = "it turns the plane of the last two axes on edge"
FLAT = 1e-9
"""The determinant, in units of the largest number of the matrix, below which a plane counts as turned on edge."""

Matrix = np.ndarray[Any, Any]


def drawable(matrix: Matrix | None, rank: int, system: str) -> tuple[list[int], Matrix | None, tuple[str, ...]]:
    """(the order of the data's axes in which a viewer can draw them, the homogeneous matrix for that order, warnings).
    The matrix is None, with a warning, if no order helps."""
    if matrix is None or rank < 2:
        return list(range(rank)), matrix, ()
    linear = matrix[:-1, :-1]
    largest = float(np.abs(linear).max()) or 1.0
    if abs(float(np.linalg.det(linear[-2:, -2:] / largest))) > FLAT:
        return list(range(rank)), matrix, ()
    used = np.abs(linear) > FLAT * largest
    if not (used.sum(axis=0) == 1).all() or not (used.sum(axis=1) == 1).all():
        return list(range(rank)), None, (not_applied(system, ON_EDGE),)
    order = [int(axis) for axis in used.argmax(axis=1)]
    moved = matrix.copy()
    moved[:-1, :-1] = linear[:, order]
    return order, None if np.array_equal(moved, np.eye(rank + 1)) else moved, ()
