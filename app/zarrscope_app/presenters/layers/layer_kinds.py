"""The kind of layer that a person asks for: images, labels, points from a table of coordinates, or a part of complex
values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.errors import TooLarge, Unsupported
from zarrscope_app.presenters import Session, strings
from zarrscope_app.presenters.image.words import PARTS
from zarrscope_app.presenters.layers.presenter import AS_PARTS, Layer, plan

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group

KINDS = {"image": "Add as images", "labels": "Add as labels", "points": "Add as points"}
"""Kind → label of its menu entry, for every image."""
PART_KINDS = {part: f"Add the {PARTS[part]}" for part in AS_PARTS}
"""Kind → label of its menu entry, for images of complex values, which show their magnitudes otherwise."""
CHOOSE = "Add as"
MOST_POINTS = 1_000_000
MOST_COLUMNS = 6
"""The most coordinates of a point; a table with more columns hardly holds points."""

Planner = Callable[["Group | Array", Any, int | None], list[Layer]]
"""A function that makes the layers of (node, view, number of the image); `layers.plan` is one."""


def planner(kind: str) -> Planner:
    """The function that plans layers of this `kind`; for "", the file states whether a layer is an image or labels."""
    if kind in PART_KINDS:
        return partial(_of_part, part=kind)
    return _points if kind == "points" else partial(plan, kind=kind)


def kinds_of(session: Session | None) -> dict[str, str]:
    """The kinds as which the selected node can be added, with their labels."""
    channels = session.slice.state.channels if session is not None else ()
    return KINDS | PART_KINDS if any(channel.parts for channel in channels) else KINDS


def _of_part(node: Group | Array, view: object = None, number: int | None = None, *, part: str) -> list[Layer]:
    """The layers of an image that shows a part of its complex values, with that part's own contrast."""
    shown = dict(view) if isinstance(view, Mapping) else {}
    sliced = shown.get("slice")
    return plan(node, {**shown, "slice": {**(sliced or {}), "channels": [{"part": part}]}}, number)


def _points(node: Group | Array, view: object = None, number: int | None = None) -> list[Layer]:
    """A layer with a point for each row of a table of numbers. Raises Unsupported for any other array."""
    if node.kind != "array" or len(node.shape) != 2 or not 2 <= node.shape[1] <= MOST_COLUMNS:
        raise Unsupported(
            "Points are an array of two axes: a row for each point, with its 2 to 6 coordinates", feature="points"
        )
    if node.dtype.kind not in "iuf":
        raise Unsupported(f"Coordinates of points are numbers, not {strings.clean(str(node.dtype))}", feature="points")
    if node.shape[0] > MOST_POINTS:
        raise TooLarge(
            f"{strings.counted(node.shape[0], 'point')} are more than the {MOST_POINTS:,} that a viewer can show",
            size=node.shape[0],
            limit=MOST_POINTS,
            key=node.path,
        )
    rank = node.shape[1]
    url = node.hierarchy.url if node.hierarchy is not None else ""
    return [
        Layer(
            "points",
            strings.clean(node.name or "points"),
            (),
            (),
            (1.0,) * rank,
            (0.0,) * rank,
            (),
            ("pixel",) * rank,
            visible=True,
            coordinates=np.asarray(node[...], float),
            source={"url": url, "path": node.path},
        )
    ]
