"""The parts of a section of the form, and the data from which a section is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from zarrscope.errors import ZarrscopeError
from zarrscope.model.frozen import frozen
from zarrscope.ome.edits import Edit
from zarrscope.ome.metadata import Axis, block, has_multiscales, multiscales, resolve
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form.field_editors import Editor
from zarrscope_app.presenters.form.view_models import Field, FieldKind, FormRow

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group
    from zarrscope.nodes.hierarchy import Hierarchy
    from zarrscope_app.presenters.node_details import NodeDetails

MOST_ROWS = 64
"""The most rows of one section; further members are in the list of all fields."""


@frozen
class Surroundings:
    """Data about a node that are not in its attributes: the shapes of its arrays, its dialect."""

    path: str = "/"
    kind: str = "group"
    dialect: str = ""
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The shapes of the levels' arrays, by their paths in the hierarchy."""
    limits: tuple[float, float] | None = None
    """The range of the data type, for integers only."""
    channels: int = 0
    """The length of the channel axis; 1 if there is none, 0 if it is not known."""

    def shape_of(self, path: str) -> tuple[int, ...] | None:
        """The shape of the array of a level; `path`: its path, as the document spells it."""
        place = resolve(self.path, path)
        return None if place is None else self.shapes.get(place)


@frozen
class Subject:
    """The attributes as edited now, with other data about their node."""

    attributes: Any
    around: Surroundings = Surroundings()
    linked: bool | None = None
    """Whether a pixel size typed for y also sets x; None means only while both are equal."""


@frozen
class Section:
    """One row of the table of sections, for one schema of metadata. `rows` returns no rows if the attributes do not
    follow the schema."""

    id: str
    title: str
    rows: Callable[[Subject], Sequence[FormRow]]
    edits: Callable[[Subject, Sequence[str], str], Sequence[Edit]]
    """(subject, the parts of a field's id, the typed text) → the edits. Raises Refused."""
    notes: Callable[[Subject], Sequence[str]] = lambda subject: ()


def is_image(subject: Subject) -> bool:
    """Whether the attributes describe an image."""
    return (
        isinstance(subject.attributes, dict)
        and has_multiscales(subject.attributes)
        and isinstance(block(subject.attributes)[0]["multiscales"][0], Mapping)
    )


def make_field(
    id: str,
    label: str,
    text: str,
    title: str,
    *,
    kind: FieldKind = "text",
    editor: Editor = "line",
    choices: Sequence[str] = (),
    summary: str | None = None,
) -> Field:
    """A field of a section; its id is not a JSON pointer: "size/2"."""
    return Field(
        id,
        strings.clean(label, 120),
        kind,
        text,
        strings.clean(text if summary is None else summary, 120),
        1,
        editor=editor,
        kinds=(kind,),
        title=strings.clean(title, 120),
        choices=tuple(choices),
    )


def surroundings_of(hierarchy: Hierarchy, node: Group | Array) -> Surroundings:
    """Reads the Surroundings of a node's attributes. Waits for the store; data that cannot be read keep their
    defaults."""
    found = multiscales(node.attributes, node.path) if isinstance(node.attributes, Mapping) else []
    around = Surroundings(node.path, node.kind, node.metadata.dialect)
    arrays = {level.path: _array(hierarchy, level.path) for image in found for level in image.datasets}
    known = {path: array for path, array in arrays.items() if array is not None}
    first = next(iter(known.values()), None)
    if first is None:
        return around
    return replace(
        around,
        shapes={path: tuple(array.shape) for path, array in known.items()},
        limits=_limits(first.metadata.dtype.numpy),
        channels=_channels(found[0].axes, first.shape),
    )


def surroundings_from(details: NodeDetails) -> Surroundings:
    """Makes the same Surroundings as `surroundings_of` from details that were already read. Reads nothing."""
    node, image = details.node, details.image
    assert node is not None, "a node that cannot be read has no form"
    around = Surroundings(node.path, node.kind, node.metadata.dialect)
    if image is None or image.multiscale is None or image.path != node.path:
        return around
    levels = image.levels
    return replace(
        around,
        shapes={level.path: tuple(level.shape) for level in levels},
        limits=_limits(image.dtype) if image.value_kind in "iu" else None,
        channels=_channels(image.multiscale.axes, levels[0].shape),
    )


def _array(hierarchy: Hierarchy, path: str) -> Array | None:
    try:
        found = hierarchy[path]
    except ZarrscopeError:
        return None
    return found if found.kind == "array" and "shape" not in found.metadata.unread else None


def _limits(dtype: Any) -> tuple[float, float] | None:
    import numpy as np

    if getattr(dtype, "kind", "") not in ("i", "u"):
        return None
    told = np.iinfo(dtype)
    return float(told.min), float(told.max)


def _channels(axes: Sequence[Axis] | None, shape: Sequence[int]) -> int:
    if axes is None:  # OME-Zarr 0.1 and 0.2 do not name axes: they are t, c, z, y, x
        return shape[1] if len(shape) == 5 else 1
    return next((shape[i] for i, axis in enumerate(axes) if axis.type == "channel" and i < len(shape)), 1)
