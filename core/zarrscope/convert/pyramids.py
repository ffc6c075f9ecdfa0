"""Decides from attributes and shapes which images of a hierarchy get new levels, and describes these levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from zarrscope.convert.downsampling import Method, check_method
from zarrscope.convert.layout import coarser
from zarrscope.convert.levels import (
    LevelStep,
    Pyramid,
    PyramidLevel,
    entries,
    image_attributes,
    level_names,
    named_axes,
    steps,
    with_entries,
    with_levels,
)
from zarrscope.dialects import Dialect
from zarrscope.errors import Refused, ZarrscopeError
from zarrscope.model.metadata import ArrayMetadata
from zarrscope.model.node_path import join_path
from zarrscope.nodes.array import Array
from zarrscope.nodes.hierarchy import Group
from zarrscope.ome.metadata import resolve
from zarrscope.view.image import Image, find_images


@dataclass(frozen=True)
class PlannedPyramid:
    """The levels to build from one array. `image` is the path, in the source, of the group whose attributes describe
    the image, or None if there is no such group. `target` is the path of the new image in the destination.
    """

    image: str | None
    target: str
    steps: tuple[LevelStep, ...]
    method: Method


@dataclass(frozen=True)
class PlannedArray:
    """One level: its path in the destination, its metadata, how it is made, and the path of the array it replaces."""

    target: str
    metadata: ArrayMetadata
    level: PyramidLevel
    former: str | None


class PyramidPlanner:
    """Collects the pyramids to build, group by group, and gives the levels of each array."""

    def __init__(self, dialect: Dialect, wanted: Pyramid, named: Mapping[str, Sequence[str]] | None = None) -> None:
        """`named`: the paths of the new levels, by the path of their finest level. Levels that it does not name get
        unused paths beside the present levels. None: new levels may take the paths of the levels that they replace.
        """
        if not dialect.ome_zarr:
            raise Refused(
                f"OME-Zarr's pyramids can be built in Zarr v2 and v3 only, not in {dialect.title}",
                advice="Choose v3, or v2.",
            )
        self.dialect, self.wanted, self.named = dialect, wanted, named
        self.dropped: set[str] = set()
        """Paths of arrays in the source that new levels replace."""
        self.built: dict[str, PlannedPyramid] = {}
        """The planned pyramids by the path of their finest level in the source."""

    def rebuild(self, group: Group, own: Mapping[str, Any], target: str, notes: list[str]) -> dict[str, Any]:
        """The group's attributes with new levels in each of its multiscales; `own` are its attributes without them.

        A multiscale that cannot be rebuilt stays as it is, and a note gives the reason.
        """
        images, listed = find_images(group), entries(own)
        if not images or len(images) != len(listed):  # an entry could not be interpreted
            return dict(own)
        names = {child.name for child in group.children()}
        changed: list[Any] = []
        kept: set[str] = set()
        for image, entry in zip(images, listed, strict=True):
            try:
                changed.append(self._rebuilt(group, image, entry, target, names, notes))
            except ZarrscopeError as error:
                notes.append(f"The levels are kept as they are: {error.message.rstrip('.')}")
                changed.append(entry)
                paths = (d.get("path") for d in entry["datasets"] if isinstance(d, Mapping))
                kept |= {place for p in paths if isinstance(p, str) and (place := resolve(group.path, p)) is not None}
        self.dropped -= kept
        return with_entries(own, changed)

    def _rebuilt(
        self,
        group: Group,
        image: Image,
        entry: Mapping[str, Any],
        target: str,
        names: set[str],
        notes: list[str],
    ) -> dict[str, Any]:
        if "coordinateSystems" in entry:
            raise Refused("pyramids of OME-Zarr 0.6 are not built here")
        finest = image.levels[0]
        paths = [d["path"] for d in entry["datasets"] if isinstance(d, Mapping) and isinstance(d.get("path"), str)]
        base = next(path for path in paths if resolve(group.path, path) == finest.path)
        if finest.path in self.built or not finest.path.startswith(join_path(group.path, "")):
            raise Refused("the finest level belongs to another image")
        method = self._method(image, notes)
        check_method(method, finest.array.metadata.dtype)
        former = {path for path in paths if path != base}
        taken = names - {path.partition("/")[0] for path in former} if self.named is None else names | former
        chosen = (self.named or {}).get(finest.path) or level_names(base, taken | {base})
        found = steps(finest.shape, image.axes, chosen, self.wanted)
        self.built[finest.path] = PlannedPyramid(group.path, target, tuple(found), method)
        replaced = {place for path in former if (place := resolve(group.path, path)) is not None}
        self.dropped |= {place for place in replaced if place.startswith(join_path(group.path, ""))}
        many = f"{len(found)} level{'s' * (len(found) != 1)} below {base} by {method}"
        notes.append(many if found else f"{finest.path} is so small that it needs no levels below")
        if "metadata" in entry:
            notes.append("The multiscale's 'metadata', which describes how the former levels were made, is replaced")
        return with_levels(entry, base, found, method)

    def _method(self, image: Image, notes: list[str]) -> Method:
        discrete = image.is_label or image.dtype.kind == "b"
        if self.wanted.method is None:
            return "nearest" if discrete else "mean"
        if self.wanted.method == "mean" and image.is_label:
            notes.append("The mean of labels is not a label: nearest is used instead")
            return "nearest"
        return self.wanted.method

    def of_array(self, array: Array) -> tuple[dict[str, Any], list[str]]:
        """Returns (attributes, notes) of a new image at "/" with this array as finest level "/0". Raises Refused."""
        axes = named_axes(array.dimension_names, array.ndim, self.wanted.axes)
        method = self.wanted.method or ("nearest" if array.dtype.kind == "b" else "mean")
        check_method(method, array.metadata.dtype)
        found = steps(array.shape, axes, level_names("0", set()), self.wanted)
        self.built[array.path] = PlannedPyramid(None, "/", tuple(found), method)
        attributes = image_attributes(array.name, axes, self.dialect.ome_zarr)
        (entry,) = entries(attributes)
        own = with_entries(attributes, [with_levels(entry, "0", found, method)])
        from zarrscope.ome.validate import check

        notes = [f"OME-Zarr: {finding.message}" for finding in check(own)]
        return own, notes

    # ------------------------------------------------------------------ the levels themselves
    def levels(self, path: str, target: str, base: ArrayMetadata, separator: str | None) -> Iterator[PlannedArray]:
        """The levels to build from the array at `path`, which gets the path `target` and the metadata `base`."""
        built = self.built.get(path)
        if built is None:
            return
        above, metadata = target, base
        for step in built.steps:
            place = join_path(built.target, step.path)
            grid, codecs = coarser(base, step.shape)
            made = replace(
                base,
                shape=step.shape,
                grid=grid,
                codecs=codecs,
                keys=self.dialect.chunk_keys(place, base.ndim, separator),
                transformers=(),
                extensions=(),
                alternative_keys=(),
            )
            former = join_path(built.image, step.path) if built.image is not None else None
            level = PyramidLevel(above, metadata, step.factors, built.method)
            yield PlannedArray(place, made, level, former if former in self.dropped else None)
            above, metadata = place, made
