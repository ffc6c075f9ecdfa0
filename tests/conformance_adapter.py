"""zarrscope as the conformance runner sees it, with what it may offer besides: OME-Zarr's rules and transformations."""

from __future__ import annotations

from typing import Any

import zarrscope
from zarrscope.ome.transforms import transform as transform_points
from zarrscope.ome.validate import validate

Error = zarrscope.ZarrscopeError


def open_array(path: str, node: str) -> Any:
    array = zarrscope.open(path)["/" + node.strip("/")]
    if not isinstance(array, zarrscope.Array):
        raise Error(f"{path}: {node or '/'} is a group, not an array")
    return _Array(array)


def open_group(path: str, node: str) -> Any:
    group = zarrscope.open(path)["/" + node.strip("/")]
    if not isinstance(group, zarrscope.Group):
        raise Error(f"{path}: {node or '/'} is an array, not a group")
    return _Group(group)


def validate_ome(attributes: dict[str, Any], strict: bool) -> None:
    validate(attributes, strict)


def transform(path: str, source: str, target: str, coordinates: Any) -> Any:
    hierarchy = zarrscope.open(path)

    def read(where: str) -> Any:
        found = hierarchy["/" + where.strip("/")]
        assert isinstance(found, zarrscope.Array)
        return found[...]

    return transform_points(hierarchy["/"].attributes, source, target, coordinates, read)


class _Array:
    def __init__(self, array: zarrscope.Array) -> None:
        self._array = array
        self.shape, self.dtype, self.attrs = array.shape, array.dtype, array.attributes

    def __getitem__(self, selection: Any) -> Any:
        return self._array[selection]


class _Group:
    def __init__(self, group: zarrscope.Group) -> None:
        self._group, self.attrs = group, group.attributes

    def children(self) -> dict[str, str]:
        return {child.name: str(child.kind) for child in self._group.children()}
