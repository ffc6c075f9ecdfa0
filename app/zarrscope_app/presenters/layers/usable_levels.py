"""The levels of an image that a viewer of layers can show, and the reasons why it cannot show the others."""

from __future__ import annotations

import numpy as np

from zarrscope.errors import TooLarge, Unsupported, ZarrscopeError
from zarrscope.view.image import Image, Level
from zarrscope.view.render import as_numbers
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.image.choice import shown_path

PLANE_LIMIT = 1 << 30
"""The most bytes of a plane of the coarsest level, because viewers of layers read whole planes."""
ELSEWHERE = "zarrscope's window and terminal show its values."


def usable_levels(image: Image, kept: list[int]) -> tuple[list[Level], tuple[str, ...]]:
    """The levels that can be shown, and warnings about those that cannot. Raises if there is none to show."""
    usable: list[Level] = []
    warnings: list[str] = []
    first: ZarrscopeError | None = None
    for level in image.levels:
        problem = level.array.problem or _unfit(level, kept)
        if problem is None:
            usable.append(level)
            continue
        first = first or problem
        warnings.append(strings.clean(f"The level {level.path} is left out: {problem.message.rstrip('.')}."))
    if not usable:
        assert first is not None
        raise first
    coarsest = usable[-1]
    nbytes = int(np.prod([coarsest.shape[i] for i in kept[-2:]], dtype=object)) * coarsest.array.dtype.itemsize
    if nbytes > PLANE_LIMIT:
        raise TooLarge(
            f"One plane of {strings.clean(coarsest.path)} takes {strings.size(nbytes)}, and it would be read whole",
            size=nbytes,
            limit=PLANE_LIMIT,
            key=coarsest.path,
            advice="Add coarser levels, or open it in zarrscope's window, which reads only the displayed part.",
        )
    return usable, tuple(warnings)


def _unfit(level: Level, kept: list[int]) -> ZarrscopeError | None:
    """The reason why no layer can show this level; None if one can."""
    array = level.array
    path = strings.clean(shown_path(level.path, array.hierarchy.url if array.hierarchy is not None else None))
    if len(kept) < 2:
        return Unsupported(
            f"{path} has {strings.counted(len(kept), 'axis', 'axes')} to show, and a picture needs two",
            feature="picture of one axis",
            key=level.path,
            advice=ELSEWHERE,
        )
    if not all(level.shape):
        return Unsupported(
            f"{path} has no elements ({strings.shape(level.shape)}): there is nothing to draw",
            feature="picture without elements",
            key=level.path,
        )
    try:
        as_numbers(np.empty(0, array.dtype))
    except ZarrscopeError:
        return Unsupported(
            f"{path} holds values of type {strings.clean(array.metadata.dtype.name, 60)}, which cannot be drawn as a "
            "picture",
            feature=f"picture of {array.dtype}",
            key=level.path,
            advice=ELSEWHERE,
        )
    return None
