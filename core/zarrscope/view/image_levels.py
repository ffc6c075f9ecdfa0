"""Opens the levels of an image: their arrays, axes, scales and translations (see image.py)."""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeAlias

from zarrscope.dialects.defects import as_far_as_read
from zarrscope.errors import BadMetadata, NotFound, ZarrscopeError
from zarrscope.model.frozen import frozen
from zarrscope.ome.metadata import HISTORICAL_AXES, TYPE_OF_NAME, Axis, Dataset, Multiscale

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.hierarchy_like import HierarchyLike


@frozen
class Level:
    """One resolution. `shape` in elements, one number per axis of the image.

    physical position = scale x index + translation, in the axes' units, at pixel centres. `factors`: the number of
    elements of the finest level per element of this level, for each axis (1.0 for the finest level itself).
    """

    path: str
    shape: tuple[int, ...]
    scale: tuple[float, ...]
    translation: tuple[float, ...]
    factors: tuple[float, ...]
    array: Array = field(compare=False, repr=False)
    """The opened Array."""


OpenedLevels: TypeAlias = tuple[tuple[Level, ...], tuple[Axis, ...], tuple[str, ...]]
"""The levels from fine to coarse, the axes, and a sentence for each level that was left out or guessed."""


def open_plain(array: Array) -> OpenedLevels:
    """An array without metadata of an image, as its only level."""
    rank = array.ndim
    ones = (1.0,) * rank
    return (Level(array.path, tuple(array.shape), ones, (0.0,) * rank, ones, array),), _guess_axes(array), ()


def _guess_axes(array: Array) -> tuple[Axis, ...]:
    """The axes from dimension_names, or from xarray's `_ARRAY_DIMENSIONS` of v2; without either the last two axes are y
    and x."""
    rank = array.ndim
    names = list(array.metadata.dimension_names or ())
    if not names:
        stated = as_far_as_read(array.attributes).get("_ARRAY_DIMENSIONS")
        names = [n if isinstance(n, str) else None for n in stated] if isinstance(stated, list) else []
    if len(names) == rank and any(names):
        axes: list[Axis] = []
        for i, name in enumerate(names):
            own = name if name and all(name != axis.name for axis in axes) else f"{name or 'dim'}_{i}"
            axes.append(Axis(own, TYPE_OF_NAME.get(own.lower(), ""), guessed=not name))
        if _looks_rgb(array) and axes[2].type in ("", "channel"):
            axes[2] = replace(axes[2], type="channel", unit="rgb")
        return tuple(axes)
    if _looks_rgb(array):
        found: tuple[Axis, ...] = (Axis("y", "space"), Axis("x", "space"), Axis("c", "channel", "rgb"))
    else:
        last = ("y", "x")[-rank:] if rank >= 2 else ("x",)
        found = (*(Axis(f"dim_{i}") for i in range(rank - len(last))), *(Axis(name, "space") for name in last))
    return tuple(replace(axis, guessed=True) for axis in found)


def _looks_rgb(array: Array) -> bool:
    """Whether an array looks like a photograph: uint8, height x width x 3 (or 4, with opacity), with a height and a
    width of at least 16."""
    shape = array.shape
    return (
        len(shape) == 3 and shape[2] in (3, 4) and min(shape[:2]) >= 16 and array.metadata.dtype.name == "uint8"
    )  # fmt: skip


def open_levels(hierarchy: HierarchyLike, stated: Multiscale, path: str) -> OpenedLevels:
    """Opens what the multiscale metadata of the group at `path` describe. Raises the error of the first level if there
    is none that can be opened."""
    warnings: list[str] = []
    arrays = _open_arrays(hierarchy, stated, path, warnings)
    axes = _fit_axes(stated.axes, arrays[0][1], warnings)
    return _from_fine_to_coarse(_placed(arrays), warnings), axes, tuple(warnings)


def _open_arrays(
    hierarchy: HierarchyLike, stated: Multiscale, path: str, warnings: list[str]
) -> list[tuple[Dataset, Array]]:
    """The arrays of the levels that can be opened; `warnings` gets a sentence about each of the others."""
    # Fetch the documents of all levels and labels at once, because the first picture waits for them. Labels have none.
    labels = [] if stated.is_label else [path.rstrip("/") + "/labels"]
    hierarchy._nodes.prefetch([*(dataset.path for dataset in stated.datasets), *labels])
    opened: list[tuple[Dataset, Array]] = []
    first_error: ZarrscopeError | None = None
    for dataset in stated.datasets:
        try:
            node = hierarchy[dataset.path]
            if node.metadata.defects and (node.kind != "array" or "shape" in node.metadata.unread):
                raise node.metadata.defects[0].error
            if node.kind != "array":
                raise NotFound(f"{dataset.path} is a group, where the image expects an array")
            if opened and node.ndim != opened[0][1].ndim:
                raise NotFound(f"{dataset.path} has {node.ndim} axes, the finest level {opened[0][1].ndim}")
        except ZarrscopeError as error:
            first_error = first_error or error
            document = f"{error.key}: " if isinstance(error, BadMetadata) and error.key else ""
            warnings.append(f"The level {dataset.path} is left out: {document}{error.message.rstrip('.')}.")
            continue
        opened.append((dataset, node))
    if opened:
        return opened
    if isinstance(first_error, NotFound) and first_error.key is not None:
        raise _missing(first_error, stated.datasets[0].path, path) from first_error
    if first_error is not None:
        raise first_error
    raise NotFound("This image names no level", advice="Its 'datasets' list is empty.")


def _missing(error: NotFound, array: str, path: str) -> NotFound:
    """The error of an image whose arrays do not exist, made from the one about the first of them."""
    advice = "Correct the paths under 'datasets' of its 'multiscales', or store the arrays that are missing."
    about = f"The image {path} names the array {array}, which does not exist"
    return NotFound(about, store=error.store, key=error.key, advice=f"{advice} {error.advice or ''}".rstrip())


def _placed(arrays: list[tuple[Dataset, Array]]) -> list[Level]:
    """The levels with scale, translation and factors. Where the metadata state none, the shapes beside that of the
    first level decide."""
    first_dataset, first = arrays[0]
    rank = first.ndim
    base_scale = _fitting(first_dataset.scale, rank) or (1.0,) * rank
    base_translation = _fitting(first_dataset.translation, rank) or (0.0,) * rank
    levels = []
    for dataset, node in arrays:
        ratios = tuple(f / c if c else 1.0 for f, c in zip(first.shape, node.shape, strict=True))
        scale = _fitting(dataset.scale, rank) or tuple(s * r for s, r in zip(base_scale, ratios, strict=True))
        translation = _fitting(dataset.translation, rank)
        if translation is None:
            translation = base_translation if dataset.scale is None else (0.0,) * rank
        factors = tuple(_factor(s / b if b else 0.0, r) for s, b, r in zip(scale, base_scale, ratios, strict=True))
        levels.append(Level(node.path, tuple(node.shape), scale, translation, factors, node))
    return levels


def _fitting(numbers: tuple[float, ...] | None, rank: int) -> tuple[float, ...] | None:
    """The numbers of a transformation, if there is one for each axis."""
    return numbers if numbers is not None and len(numbers) == rank else None


def _from_fine_to_coarse(levels: list[Level], warnings: list[str]) -> tuple[Level, ...]:
    """The levels sorted by size, with their factors relative to the finest."""
    ordered = sorted(levels, key=lambda level: -math.prod(level.shape))
    finest = ordered[0]
    if finest is levels[0]:
        return tuple(ordered)
    warnings.append("The levels are not listed from fine to coarse; they are shown in that order.")
    return tuple(
        replace(v, factors=tuple(f / b for f, b in zip(v.factors, finest.factors, strict=True))) for v in ordered
    )


def _factor(stated: float, ratio: float) -> float:
    """The factor of a level: the ratio of the scales if it agrees with the shapes (odd lengths are rounded), else the
    ratio of the shapes."""
    return stated if stated > 0 and abs(stated - ratio) <= 0.34 * ratio else ratio


def _fit_axes(axes: tuple[Axis, ...] | None, array: Array, warnings: list[str]) -> tuple[Axis, ...]:
    """The stated axes if they fit the array; else axes by its dimension names; else the last ones of t, c, z, y, x."""
    rank = array.ndim
    if axes is not None and len(axes) == rank:
        return axes
    if axes is not None:
        warnings.append(f"The image describes {len(axes)} axes, its arrays have {rank}; their names are guessed.")
    names = array.metadata.dimension_names
    if names is None and rank <= len(HISTORICAL_AXES):
        return tuple(Axis(n, TYPE_OF_NAME[n]) for n in HISTORICAL_AXES[len(HISTORICAL_AXES) - rank :])
    return _guess_axes(array)
