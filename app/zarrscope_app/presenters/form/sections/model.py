"""What a section is made of, and what it is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from zarrscope.errors import ZarrscopeError
from zarrscope.ome.edits import Edit
from zarrscope.ome.metadata import resolve
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form.field_editors import Editor
from zarrscope_app.presenters.form.view_models import Field, FieldKind, Row

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy

MOST_ROWS = 200
"""Of one section; what is beyond them is found among all fields."""


@dataclass(frozen=True)
class Surroundings:
    """What is known of a node beside its attributes. Levels by their paths as the document spells them."""

    path: str = "/"
    kind: str = "group"
    dialect: str = ""
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    limits: tuple[float, float] | None = None
    """The range of the data type: of integers only."""
    channels: int = 0


@dataclass(frozen=True)
class Subject:
    """Attributes as they are edited now, and what is around them."""

    attributes: Any
    around: Surroundings = Surroundings()
    linked: bool | None = None
    """Whether y and x are edited as one; None: where they are equal."""


@dataclass(frozen=True)
class Section:
    """A kind of section. `rows` gives nothing where the attributes are not of its schema."""

    id: str
    title: str
    rows: Callable[[Subject], Sequence[Row]]
    edits: Callable[[Subject, Sequence[str], str], Sequence[Edit]]
    """(subject, the parts of a field's id, the text typed there) → what it asks for. Raises Refused."""
    notes: Callable[[Subject], Sequence[str]] = lambda subject: ()


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
    """A field of a section; its id is no JSON pointer: "size/2"."""
    return Field(
        id,
        strings.clean(label, 120),
        kind,
        text,
        strings.clean(text, 120) if summary is None else summary,
        1,
        editor=editor,
        kinds=(kind,),
        title=title,
        choices=tuple(choices),
    )


def surroundings_of(hierarchy: Hierarchy, node: Any) -> Surroundings:
    """Reads what is around a node's attributes. Blocks; what cannot be read is not known."""
    from zarrscope.ome.metadata import block

    attributes, path = node.attributes, node.path
    shapes: dict[str, tuple[int, ...]] = {}
    limits, channels = None, 0
    entries = block(attributes)[0].get("multiscales") if isinstance(attributes, Mapping) else None
    for entry in entries if isinstance(entries, list) else ():
        listed = entry.get("datasets") if isinstance(entry, Mapping) else None
        for dataset in listed if isinstance(listed, list) else ():
            name = dataset.get("path") if isinstance(dataset, Mapping) else None
            if not isinstance(name, str) or name in shapes:
                continue
            array = _array(hierarchy, path, name)
            if array is None:
                continue
            shapes[name] = tuple(array.shape)
            if limits is None:
                limits, channels = _limits(array.dtype), _channels(entry, array.shape)
    return Surroundings(path, node.kind, node.metadata.dialect, shapes, limits, channels)


def _array(hierarchy: Hierarchy, path: str, name: str) -> Any:
    place = resolve(path, name)
    try:
        found = hierarchy[place] if place is not None else None
    except ZarrscopeError:
        return None
    return found if found is not None and found.kind == "array" and "shape" not in found.metadata.unread else None


def _limits(dtype: Any) -> tuple[float, float] | None:
    import numpy as np

    if getattr(dtype, "kind", "") not in "iu":
        return None
    told = np.iinfo(dtype)
    return float(told.min), float(told.max)


def _channels(entry: Mapping[str, Any], shape: Sequence[int]) -> int:
    """How long the channel axis is; 1 without one."""
    from zarrscope.ome.metadata import multiscales

    found = multiscales({"multiscales": [entry]}, "/")
    axes = found[0].axes if found else None
    if axes is None and len(shape) == 5:  # 0.1 and 0.2
        return shape[1]
    for i, axis in enumerate(axes or ()):
        if axis.type == "channel" and i < len(shape):
            return shape[i]
    return 1
