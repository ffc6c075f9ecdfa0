"""The position of an image in space: converts the transformations to a coordinate system of its document (RFC-5 of
OME-Zarr) to one matrix for viewers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.errors import NotFound, Unsupported, ZarrscopeError
from zarrscope.model.frozen import frozen
from zarrscope.nodes.array import Array
from zarrscope.ome.metadata import resolve
from zarrscope.ome.transforms import affine, systems
from zarrscope.view.image import Image, Level
from zarrscope_app.presenters import strings

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

NUMBERS_LIMIT = 4_000_000
"""The most elements of an array that holds the matrix or vector of a transformation."""


@frozen
class ImagePosition:
    """The position of an image: its axes in the coordinate system `system` ("" if the file names none)."""

    system: str
    extra: np.ndarray[Any, Any] | None
    """A matrix of shape (axes, axes + 1), to be applied after scale and translation of the level; None if there is
    none."""
    warnings: tuple[str, ...] = ()


def place_of(image: Image, wanted: str = "") -> ImagePosition:
    """The position of an image; `extra` is None if its document contains only scale and translation.

    The image is placed in the first coordinate system that its document lists; if the first is the system of its own
    levels, and exactly one other system is listed, the other is used. `wanted`: for a label image, the name of the
    system in which the image that it belongs to is placed.
    """
    entry = _entry(image)
    if entry is None or image.multiscale is None:
        return ImagePosition("", None)
    source = entry["datasets"][0]["path"]
    first = {"input": source, **_first_step(entry)}  # a document may leave out the input of the first step
    own, source = _name(first.get("output")), _name(first["input"]) or source
    about = {"multiscales": [{**entry, "datasets": [{"path": source, "coordinateTransformations": [first]}]}]}
    listed = [_name(system) for system in entry["coordinateSystems"]]
    level = next((v for v in image.levels if v.path == image.multiscale.datasets[0].path), image.levels[0])
    ways: dict[str, Any] = {}
    for name in dict.fromkeys([*listed, own, *systems(about), *([wanted] if wanted else [])]):
        if name and name != source:
            try:
                ways[name] = _way(image, about, source, name, len(level.shape))
            except NotFound as error:  # the document lists this system without a transformation to it
                if name == wanted:
                    ways[name] = error
            except ZarrscopeError as error:
                ways[name] = error
    others = [name for name in ways if name != own]
    first_listed = listed[0] if listed[0] in ways else own
    target = wanted or (first_listed if first_listed != own else others[0] if len(others) == 1 else own)
    said = [not_applied(name) for name in others if name != target]
    for goal in dict.fromkeys((target, own)):
        found = ways.get(goal)
        if isinstance(found, ZarrscopeError):
            said.append(not_applied(goal, found.message))
        elif found is not None:
            return ImagePosition(goal, _beyond(level, found), tuple(said))
    return ImagePosition("", None, tuple(said))


def _way(image: Image, about: Mapping[str, Any], source: str, target: str, rank: int) -> np.ndarray[Any, Any]:
    """The matrix from a level to a coordinate system with the same number of axes."""
    found = affine(about, source, target, rank, lambda path: np.asarray(_beside(image, path)[...]))
    if found.shape[0] != rank:
        raise Unsupported(f"it has {strings.counted(found.shape[0], 'axis', 'axes')}, the image {rank}")
    if not np.isfinite(found).all():
        raise Unsupported("its numbers are not finite")
    return found


def _beyond(level: Level, found: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """The matrix that, applied after the level's scale and translation, gives `found`; None if these alone give it."""
    plain = np.hstack([np.diag(level.scale), np.array([level.translation]).T])
    if np.allclose(found, plain, rtol=1e-9, atol=0):
        return None
    matrix = found[:, :-1] / np.array(level.scale)
    shift = found[:, -1] - matrix @ np.array(level.translation)
    return np.hstack([matrix, shift[:, None]])


def not_applied(system: str, why: str = "") -> str:
    """The sentence for a coordinate system to which no matrix leads."""
    because = f": {strings.clean(why.rstrip('.'))}" if why else ""
    return f"Where it lies in the coordinate system {strings.clean(system)!r} is not applied{because}."


def _entry(image: Image) -> Mapping[str, Any] | None:
    """The entry of `multiscales` from which the image was made, if it states coordinate systems; else None."""
    if image.multiscale is None:
        return None
    attributes: Mapping[str, Any] = image.node_at(image.path).attributes
    ome = attributes.get("ome")
    entries = (ome if isinstance(ome, Mapping) else attributes).get("multiscales")
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, Mapping) or not isinstance(entry.get("coordinateSystems"), list):
            continue
        datasets = entry.get("datasets")
        paths = [_path(item) for item in datasets] if isinstance(datasets, list) else []
        if not entry["coordinateSystems"] or not paths or not paths[0]:
            continue
        if resolve(image.path, paths[0]) == image.multiscale.datasets[0].path:
            return entry
    return None


def _path(dataset: object) -> str:
    path = dataset.get("path") if isinstance(dataset, Mapping) else None
    return path if isinstance(path, str) else ""


def _first_step(entry: JSON) -> Mapping[str, Any]:
    """The first transformation of the first level, as the document states it."""
    steps = entry["datasets"][0].get("coordinateTransformations")
    step = steps[0] if isinstance(steps, list) and steps else steps
    return step if isinstance(step, Mapping) else {}


def _name(end: object) -> str:
    """The name of the coordinate system at one end of a transformation, or the path of the array that stands for it."""
    if isinstance(end, Mapping):
        end = end.get("name") or end.get("path")
    return end if isinstance(end, str) else ""


def _beside(image: Image, path: str) -> Array:
    """Opens the array that a transformation names as the source of its numbers; `path` is relative to the image."""
    found = resolve(image.path, path)
    try:
        node = image.node_at(found) if found is not None else None
    except NotFound:
        node = None
    if not isinstance(node, Array) or node.size > NUMBERS_LIMIT:
        raise Unsupported(f"{strings.clean(path)} is not an array with the numbers of a transformation")
    return node


def matrix_of(
    place: ImagePosition, kept: list[int], fixed: Mapping[int, int]
) -> tuple[np.ndarray[Any, Any] | None, tuple[str, ...]]:
    """The homogeneous matrix for the axes of a layer; or None and a warning if the matrix mixes channels with other
    axes, because each channel is a layer of its own."""
    if place.extra is None:
        return None, ()
    rank = len(place.extra)
    if any(place.extra[i, j] or place.extra[j, i] for i in fixed for j in range(rank) if j != i):
        return None, (not_applied(place.system, "it mixes channels with other axes"),)
    matrix = np.eye(len(kept) + 1)
    matrix[:-1] = place.extra[np.ix_(kept, [*kept, rank])]
    return matrix, ()
