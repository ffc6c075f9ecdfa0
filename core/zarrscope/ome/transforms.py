"""Transforms coordinates from one system to another: the transformations of OME-Zarr 0.6 (RFC-5; spec E.7).

    transform(attributes, "array", "world", [[1, 2]])     → [[10.0, 40.0]]

Coordinates are points × axes, float64. The path between two systems may use any number of the group's transformations,
also the inverse of one that can be inverted. For transformations whose parameters lie in arrays (`path`), the callable
`read` returns the array of a path; fields of displacements and coordinates are not supported.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from zarrscope.errors import BadMetadata, NotFound, Unsupported
from zarrscope.errors.visible import counted

Points = npt.NDArray[np.float64]
ReadArray = Callable[[str], npt.NDArray[Any]]

MAX_STEPS = 64
_EMPTY = np.zeros((0, 0))


class TransformError(BadMetadata):
    """A coordinate transformation that cannot be used, with the reason."""

    title = "A coordinate transformation is not one"


def transform(
    attributes: Mapping[str, Any], source: str, target: str, coordinates: object, read: ReadArray | None = None
) -> Points:
    """Transforms `coordinates` (points × axes) from the coordinate system `source` to `target`.

    Raises NotFound (no such system, or no path between them), TransformError, Unsupported.
    """
    ome = attributes["ome"] if isinstance(attributes.get("ome"), Mapping) else attributes
    edges, ranks = _graph(ome)
    for name in (source, target):
        if name not in ranks:
            known = ", ".join(sorted(ranks)) or "none"
            raise NotFound(f"There is no coordinate system {name!r}", pointer="/ome", advice=f"There are: {known}.")
    points = np.asarray(coordinates, np.float64)
    rank = ranks[source]
    if points.ndim != 2 or (rank is not None and points.shape[1] != rank):
        axes = "any axes" if rank is None else counted(rank, "axis", "axes")
        raise TransformError(f"The coordinates have shape {points.shape}; {source!r} has {axes}")
    for step, forward in _way(edges, source, target):
        points = _apply(step, points, forward, read, 0)
    return points


def affine(attributes: Mapping[str, Any], source: str, target: str, rank: int, read: ReadArray | None = None) -> Points:
    """The transformation from `source` to `target` as one matrix.

    Parameters
    ----------
    attributes
        The attributes of the group that states the transformations.
    source, target
        Names of coordinate systems, or paths of arrays.
    rank
        The number of axes of `source`.
    read
        Returns the array of a path, for transformations whose numbers lie in arrays.

    Returns
    -------
    Points
        Axes of `target` x (`rank` + 1): the last column is the translation.

    Raises
    ------
    NotFound
        There is no such system, or no path between them.
    TransformError
        A transformation on the path is not valid.
    Unsupported
        A transformation on the path is not supported.
    """
    moved = transform(attributes, source, target, np.vstack([np.zeros((1, rank)), np.eye(rank)]), read)
    return np.asarray(np.hstack([(moved[1:] - moved[0]).T, moved[:1].T]), np.float64)


def systems(attributes: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of all coordinate systems and paths that transformations of this group lead from or to."""
    ome = attributes["ome"] if isinstance(attributes.get("ome"), Mapping) else attributes
    return tuple(_graph(ome)[1])


_Graph = dict[str, list[tuple[str, Mapping[str, Any], bool]]]


def _graph(ome: Mapping[str, Any]) -> tuple[_Graph, dict[str, int | None]]:
    ranks: dict[str, int | None] = {}
    edges: _Graph = {}
    holders = [ome.get("scene"), *_list(ome.get("multiscales"))]
    for holder in holders:
        if not isinstance(holder, Mapping):
            continue
        steps = [*_list(holder.get("coordinateTransformations"))]
        for dataset in _list(holder.get("datasets")):
            steps += _list(dataset.get("coordinateTransformations")) if isinstance(dataset, Mapping) else []
        for system in _list(holder.get("coordinateSystems")):
            if isinstance(system, Mapping) and isinstance(system.get("name"), str):
                ranks[system["name"]] = len(_list(system.get("axes"))) or None
        for step in steps:
            if not isinstance(step, Mapping):
                continue
            source, target = _end(step.get("input")), _end(step.get("output"))
            if source is None or target is None:
                continue
            edges.setdefault(source, []).append((target, step, True))
            edges.setdefault(target, []).append((source, step, False))
            ranks.setdefault(source)
            ranks.setdefault(target)
    return edges, ranks


def _end(value: object) -> str | None:
    """The name of a coordinate system, stated as an object or, early on, as text; "path#name" for another group's."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        return None
    name, path = value.get("name"), value.get("path")
    parts = [part for part in (path, name) if isinstance(part, str) and part]
    return "#".join(parts) or None


def _way(edges: _Graph, source: str, target: str) -> list[tuple[Mapping[str, Any], bool]]:
    """The shortest chain of transformations from one system to the other."""
    came: dict[str, tuple[str, Mapping[str, Any], bool] | None] = {source: None}
    queue = deque([source])
    while queue and target not in came:
        here = queue.popleft()
        for there, step, forward in edges.get(here, ()):
            if there not in came:
                came[there] = (here, step, forward)
                queue.append(there)
    if target not in came:
        raise NotFound(f"No transformation leads from {source!r} to {target!r}", pointer="/ome")
    way = []
    back = came[target]
    while back is not None:
        here, step, forward = back
        way.append((step, forward))
        back = came[here]
    return way[::-1]


# ---------------------------------------------------------------------- one transformation
def _apply(step: Mapping[str, Any], points: Points, forward: bool, read: ReadArray | None, depth: int) -> Points:
    if depth > 8:
        raise TransformError("Transformations nest too deeply")
    kind = step.get("type")
    rank = points.shape[1]
    if kind == "identity":
        return points
    if kind == "sequence":
        steps = _steps(step)
        for inner in steps if forward else steps[::-1]:
            points = _apply(inner, points, forward, read, depth + 1)
        return points
    if kind == "bijection":
        return _apply(_inner(step, "forward" if forward else "inverse"), points, True, read, depth + 1)
    if kind == "byDimension":
        return _by_dimension(step, points, forward, read, depth)
    if kind in ("scale", "translation"):
        vector = _array(step, str(kind), read, 1)
        if len(vector) != rank:
            raise TransformError(
                f"{kind} has {counted(len(vector), 'number')}, the coordinates {counted(rank, 'axis', 'axes')}",
                pointer=f"/{kind}",
            )
        if kind == "translation":
            return points + vector if forward else points - vector
        if not forward and not vector.all():
            raise Unsupported("A scale of 0 cannot be inverted", feature="transformation scale")
        return points * vector if forward else points / vector
    if kind == "mapAxis":
        order = _order(step, rank)
        return points[:, order] if forward else points[:, np.argsort(order)]
    if kind in ("affine", "rotation"):
        matrix = _array(step, str(kind), read, 2)
        return _linear(matrix, points, forward, str(kind))
    raise Unsupported(
        f"The transformation {kind!r} is not supported here",
        feature=f"transformation {kind}",
        pointer="/type",
        advice="Supported are: " + ", ".join(sorted(_CHECKS)) + ".",
    )


def _linear(matrix: Points, points: Points, forward: bool, kind: str) -> Points:
    rows, columns = matrix.shape
    inputs = columns - 1 if kind == "affine" else columns
    square, shift = matrix[:, :inputs], matrix[:, inputs] if kind == "affine" else np.zeros(rows)
    if points.shape[1] != (inputs if forward else rows):
        raise TransformError(f"{kind} is {rows} x {columns}, the coordinates have {points.shape[1]} axes")
    if forward:
        return np.asarray(points @ square.T + shift, np.float64)
    if rows != inputs or np.linalg.matrix_rank(square) < rows:
        raise Unsupported(f"This {kind} cannot be inverted", feature=f"transformation {kind}")
    return np.asarray(np.linalg.solve(square, (points - shift).T).T, np.float64)


def _by_dimension(step: Mapping[str, Any], points: Points, forward: bool, read: ReadArray | None, depth: int) -> Points:
    parts: list[tuple[Mapping[str, Any], list[int], list[int]]] = []
    for item in _steps(step):
        inner = item.get("transformation", item)
        here, there = _axes(item, "input"), _axes(item, "output")
        if not isinstance(inner, Mapping):
            raise TransformError("byDimension needs transformations", pointer="/transformations")
        parts.append((inner, here, there) if forward else (inner, there, here))
    outputs = [axis for _, _, there in parts for axis in there]
    if sorted(outputs) != [*range(len(outputs))]:
        raise TransformError("Each output axis of byDimension must occur once", pointer="/transformations")
    moved = np.empty((len(points), len(outputs)))
    for inner, here, there in parts:
        if max(here, default=-1) >= points.shape[1]:
            raise TransformError("byDimension takes an axis that the input does not have", pointer="/transformations")
        made = _apply(inner, points[:, here], forward, read, depth + 1)
        if made.shape[1] != len(there):
            raise TransformError("byDimension gives other axes than it names", pointer="/transformations")
        moved[:, there] = made
    return moved


def _axes(item: Mapping[str, Any], end: str) -> list[int]:
    value = item.get(f"{end}Axes", item.get(f"{end}_axes"))
    if not isinstance(value, list) or not value or not all(type(i) is int and 0 <= i < 64 for i in value):
        raise TransformError(f"byDimension needs {end}Axes, a list of indices", pointer="/transformations")
    return value


def _array(step: Mapping[str, Any], name: str, read: ReadArray | None, ndim: int) -> Points:
    value = step.get(name)
    if value is None and isinstance(step.get("path"), str):
        if read is None:
            raise Unsupported(f"The numbers of this {name} lie in an array", feature=f"transformation {name} by path")
        value = read(step["path"])
    try:
        found = np.asarray(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        found = _EMPTY[:0]
    if found.ndim != ndim or not found.size or found.dtype != np.float64 or value is None:
        form = "a list of numbers" if ndim == 1 else "a matrix"
        raise TransformError(f"{name} must be {form}", pointer=f"/{name}")
    return found


def _order(step: Mapping[str, Any], rank: int | None) -> list[int]:
    value = step.get("mapAxis")
    if not isinstance(value, list) or not all(type(i) is int for i in value) or sorted(value) != [*range(len(value))]:
        raise TransformError("mapAxis must name each axis once by its index", pointer="/mapAxis")
    if rank is not None and len(value) != rank:
        raise TransformError(f"mapAxis names {len(value)} axes of {rank}", pointer="/mapAxis")
    return value


def _steps(step: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    value = step.get("transformations")
    if not isinstance(value, list) or not value or len(value) > MAX_STEPS:
        raise TransformError("transformations must be a list with at least one entry", pointer="/transformations")
    if not all(isinstance(item, Mapping) for item in value):
        raise TransformError("each of the transformations must be an object", pointer="/transformations")
    return value


def _inner(step: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = step.get(name)
    if not isinstance(value, Mapping):
        raise TransformError(f"{name} must be a transformation", pointer=f"/{name}")
    return value


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else []


# ---------------------------------------------------------------------- checks of parameters
Rank = int | None


def check_parameters(step: Mapping[str, Any], source: Rank, target: Rank, depth: int = 0) -> None:
    """Raises TransformError if the parameters do not fit the type, or the numbers of axes (None: not known)."""
    kind = step.get("type")
    if depth > 8 or not isinstance(kind, str) or kind not in _CHECKS:
        raise TransformError(f"There is no transformation {kind!r}", pointer="/type")
    _CHECKS[kind](step, source, target, depth)


def _same(kind: str, source: Rank, target: Rank) -> None:
    if source is not None and target is not None and source != target:
        raise TransformError(f"{kind} keeps the number of axes, but it leads from {source} to {target}")


def _check_identity(step: Mapping[str, Any], source: Rank, target: Rank, depth: int) -> None:
    _same("identity", source, target)


def _check_vector(step: Mapping[str, Any], source: Rank, target: Rank, depth: int) -> None:
    kind = str(step["type"])
    _same(kind, source, target)
    vector = _array({kind: step.get(kind)}, kind, None, 1)
    for rank in (source, target):
        if rank is not None and len(vector) != rank:
            raise TransformError(f"{kind} must give one number for each of {rank} axes", pointer=f"/{kind}")
    if any(isinstance(n, (str, bool)) for n in step[kind]):
        raise TransformError(f"{kind} must be a list of numbers", pointer=f"/{kind}")


def _check_matrix(step: Mapping[str, Any], source: Rank, target: Rank, depth: int) -> None:
    kind = str(step["type"])
    if kind not in step and isinstance(step.get("path"), str):
        return
    rows, columns = _array({kind: step.get(kind)}, kind, None, 2).shape
    if kind == "rotation":
        _same(kind, source, target)
        columns += 1
        if rows != columns - 1:
            raise TransformError("the matrix of a rotation must be square", pointer="/rotation")
    if (source is not None and columns != source + 1) or (target is not None and rows != target):
        raise TransformError(f"the matrix of this {kind} does not fit the axes", pointer=f"/{kind}")


def _check_map(step: Mapping[str, Any], source: Rank, target: Rank, depth: int) -> None:
    _order(step, source)
    _order(step, target)


def _check_project(step: Mapping[str, Any], source: Rank, target: Rank, depth: int) -> None:
    found = {name: step[name] for name in ("droppedInputs", "createdOutputs") if name in step}
    if not found:
        raise TransformError("projectAxis must name droppedInputs or createdOutputs")
    for name, value in found.items():
        top = source if name == "droppedInputs" else target
        indices = [i.get("index") if isinstance(i, Mapping) else i for i in value] if isinstance(value, list) else []
        if not indices or not all(type(i) is int and i >= 0 and (top is None or i < top) for i in indices):
            raise TransformError(f"{name} must be indices of existing axes", pointer=f"/{name}")
        if len({*indices}) != len(indices):
            raise TransformError(f"{name} must name each axis once", pointer=f"/{name}")
        for i, item in enumerate(value):
            if isinstance(item, Mapping) and "value" in item and not _is_coordinate(item["value"]):
                raise TransformError("the value of a created axis must be a number", pointer=f"/{name}/{i}/value")
    made = (
        None if source is None else source - len(found.get("droppedInputs", ())) + len(found.get("createdOutputs", ()))
    )
    if made is not None and (made < 1 or (target is None and _beyond(found.get("createdOutputs", ()), made))):
        raise TransformError(f"projectAxis makes {made} axes of {source}, which createdOutputs does not fit")
    if made is not None and target is not None and made != target:
        raise TransformError(f"projectAxis makes {made} axes of {source}, but the output has {target}")


def _is_coordinate(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and bool(np.isfinite(value))


def _beyond(created: Sequence[Any], made: int) -> bool:
    return any((each["index"] if isinstance(each, Mapping) else each) >= made for each in created)


def _check_sequence(step: Mapping[str, Any], source: Rank, target: Rank, depth: int) -> None:
    steps = _steps(step)
    if all(inner.get("type") in _KEEPS for inner in steps):
        _same("the sequence", source, target)
        source = source if source is not None else target
    for i, inner in enumerate(steps):
        last = i == len(steps) - 1
        try:
            check_parameters(inner, source, target if last else None, depth + 1)
        except TransformError as error:
            raise error.beneath(f"/transformations/{i}") from None
        source = _rank_after(inner, source)


_KEEPS = ("scale", "translation", "identity", "rotation", "mapAxis")


def _rank_after(step: Mapping[str, Any], source: Rank) -> Rank:
    """The number of axes after a transformation that was checked; None if only the array of its parameters shows it."""
    kind = str(step["type"])
    own = step.get(kind)
    if kind in _KEEPS or kind == "affine":  # their parameter has one entry for each axis of the result
        return len(own) if isinstance(own, list) else None if kind == "affine" else source
    if kind == "projectAxis":
        dropped, created = (len(step.get(name, ())) for name in ("droppedInputs", "createdOutputs"))
        return None if source is None else source - dropped + created
    if kind == "sequence":
        for inner in _steps(step):
            source = _rank_after(inner, source)
        return source
    if kind == "byDimension":
        return sum(len(_axes(item, "output")) for item in _steps(step))
    return _rank_after(_inner(step, "forward"), source) if kind == "bijection" else None


def _check_by_dimension(step: Mapping[str, Any], source: Rank, target: Rank, depth: int) -> None:
    taken: list[int] = []
    for item in _steps(step):
        here, there = _axes(item, "input"), _axes(item, "output")
        taken += there
        inner = item.get("transformation", item)
        if not isinstance(inner, Mapping):
            raise TransformError("byDimension needs transformations", pointer="/transformations")
        check_parameters(inner, len(here), len(there), depth + 1)
        if source is not None and max(here) >= source:
            raise TransformError("byDimension takes an axis that does not exist", pointer="/transformations")
    if len({*taken}) != len(taken) or (target is not None and sorted(taken) != [*range(target)]):
        raise TransformError("each output axis must be made once by byDimension", pointer="/transformations")


def _check_bijection(step: Mapping[str, Any], source: Rank, target: Rank, depth: int) -> None:
    check_parameters(_inner(step, "forward"), source, target, depth + 1)
    check_parameters(_inner(step, "inverse"), target, source, depth + 1)


def _check_field(step: Mapping[str, Any], source: Rank, target: Rank, depth: int) -> None:
    if not isinstance(step.get("path"), str):
        raise TransformError(f"{step['type']} must name the path of its field", pointer="/path")


_CHECKS: dict[str, Callable[[Mapping[str, Any], Rank, Rank, int], None]] = {
    "identity": _check_identity,
    "scale": _check_vector,
    "translation": _check_vector,
    "mapAxis": _check_map,
    "projectAxis": _check_project,
    "affine": _check_matrix,
    "rotation": _check_matrix,
    "sequence": _check_sequence,
    "byDimension": _check_by_dimension,
    "bijection": _check_bijection,
    "displacements": _check_field,
    "coordinates": _check_field,
}
