"""An image as the layers of a viewer: one per channel, labels after them, with names, places, units, colours, contrast.

`plan` waits for the store (it opens the levels, and reads a plane of the coarsest where the file gives no contrast):
run it as a background job, as `Layers.add` does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from zarrscope.background import Outcome, shared
from zarrscope.chunks import shared as chunk_loader
from zarrscope.errors import NotFound, ZarrscopeError
from zarrscope.pyramid import Image, default_image, default_window, find_images
from zarrscope.view import LazyView
from zarrscope_app.presenters import words
from zarrscope_app.presenters.session import Session
from zarrscope_app.presenters.turn import Post

SAMPLE_LIMIT = 4_000_000
"""Elements of the coarsest level that may be read to find a contrast."""


@dataclass(frozen=True)
class Layer:
    """`data`: lazy levels, finest first, all of the same axes. Per axis of `data`: names, scale, translation, units."""

    kind: str
    """ "image" | "labels"."""
    name: str
    data: tuple[LazyView, ...]
    axis_names: tuple[str, ...]
    scale: tuple[float, ...]
    translation: tuple[float, ...]
    units: tuple[str, ...]
    """As the file spells them ("micrometer"); "pixel" where it says nothing."""
    visible: bool
    color: tuple[int, int, int] | None = None
    contrast: tuple[float, float] | None = None
    label_colors: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)
    source: dict[str, str] = field(default_factory=dict)
    """Where it comes from: url, path."""


def plan(node: Any) -> list[Layer]:
    """The layers of a group or an array. Raises NotFound for a node without an image, and what opening raises."""
    image = default_image(node)
    if image is None:
        raise NotFound(
            f"{words.clean(node.path)} holds no image",
            store=node.hierarchy.url if hasattr(node, "hierarchy") else None,
            key=node.path,
            advice="Choose an array, or a group with OME-Zarr metadata.",
        )
    layers = _channels(image)
    for path in image.labels:
        try:
            for labels in find_images(image.hierarchy[path]):
                layers.append(_layer(labels, None, "labels", f"{image.name}: {labels.name} (labels)", visible=False))
        except ZarrscopeError:
            continue  # one broken label image is no reason to keep the picture back; the tree shows it with its fault
    return layers


def _channels(image: Image) -> list[Layer]:
    if image.is_label:
        return [_layer(image, None, "labels", image.name, visible=True)]
    several = len(image.channels) > 1
    title = image.name.strip("/").rpartition("/")[2] or image.hierarchy.url.rstrip("/").rpartition("/")[2]
    stated = image.multiscale is not None and bool(image.multiscale.channels)
    return [
        _layer(
            image,
            number,
            "image",
            f"{title}: {channel.label}" if several else channel.label if stated and channel.label else title,
            visible=channel.active,
            color=channel.color,
        )
        for number, channel in enumerate(image.channels)
    ]


def _layer(image: Image, number: int | None, kind: str, name: str, **look: Any) -> Layer:
    axis = image.channel_axis
    fixed = {} if axis is None else {axis: number or 0}
    kept = [i for i in range(len(image.axes)) if i not in fixed]
    data = tuple(LazyView(level.array)[_selection(len(image.axes), fixed)] for level in image.levels)
    finest = image.levels[0]
    contrast: tuple[float, float] | None = None
    if kind == "image":
        channel = image.channels[number or 0]
        low, high = map(float, default_window(channel, finest.array.dtype, _sample(image, data, channel)))
        contrast = (low, high if high > low else low + 1)
    return Layer(
        kind,
        words.clean(name),
        data,
        tuple(image.axes[i].name for i in kept),
        tuple(finest.scale[i] for i in kept),
        tuple(finest.translation[i] for i in kept),
        tuple(image.axes[i].unit or "pixel" for i in kept),
        contrast=contrast,
        label_colors=dict(image.label_colors),
        source={"url": image.hierarchy.url if image.hierarchy is not None else "", "path": image.path},
        **look,
    )


def _selection(rank: int, fixed: dict[int, int]) -> tuple[int | slice, ...]:
    return tuple(fixed.get(i, slice(None)) for i in range(rank))


def _sample(image: Image, data: tuple[LazyView, ...], channel: Any) -> np.ndarray[Any, Any] | None:
    """A plane of the coarsest level, the one shown first; None where the file states the contrast anyway."""
    if channel.window is not None:
        return None
    coarsest = data[-1]
    while coarsest.ndim > 2:
        coarsest = coarsest[coarsest.shape[0] // 2]
    return np.asarray(coarsest) if 0 < coarsest.size <= SAMPLE_LIMIT else None


class Layers:
    """Makes layers in the background for one host: `add(session, done)` for the selected node."""

    def __init__(self, post: Post) -> None:
        self._owner = shared().owner(post)
        self.loader = chunk_loader()

    def add(self, session: Session, done: Callable[[list[Layer]], None]) -> None:
        """`done` with the layers of the node that is selected; a failure becomes a problem of the session.

        Right after a selection the session has not looked at the node yet: then this opens it.
        """
        hierarchy, node, path = session.hierarchy, session.node, session.state.path
        if hierarchy is None:
            return

        def finished(outcome: Outcome[list[Layer]]) -> None:
            if outcome.error is not None:
                session.problems.add(outcome.error, path)
            else:
                assert outcome.value is not None
                done(outcome.value)

        self._owner.fetch(lambda: plan(node if node is not None else hierarchy[path]), finished)

    def close(self) -> None:
        self._owner.close()
