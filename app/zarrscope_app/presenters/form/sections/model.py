"""The parts of a section of the form, and the data from which a section is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from zarrscope.errors import ZarrscopeError
from zarrscope.model.frozen import frozen
from zarrscope.ome.edits import ChannelEdit, Edit, set_channel
from zarrscope.ome.metadata import Axis, Channel, block, has_multiscales, multiscales, number, resolve
from zarrscope.view.image import find_images
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form.field_editors import Editor
from zarrscope_app.presenters.form.pointer_names import NAMES
from zarrscope_app.presenters.form.sections.shown_channels import ReadChannels, ShownChannels, listed_channels
from zarrscope_app.presenters.form.view_models import Field, FieldKind, FormRow

if TYPE_CHECKING:
    from zarrscope.jsondoc.document import Document
    from zarrscope.model.json_value import JSON
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group
    from zarrscope.nodes.hierarchy import Hierarchy
    from zarrscope_app.presenters.node_details import NodeDetails

NAMED_IN = "v3"
"""The dialect whose arrays name their dimensions beside the attributes; in others an attribute does."""
MOST_ROWS = 64
"""The most rows of one section; further members are in the list of all fields."""


@frozen
class NodeFacts:
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
    named_axes: int = 0
    """The number of an array's dimensions if its document can name them beside the attributes, as in Zarr v3; 0 if it
    cannot."""
    shown: ShownChannels | None = field(default=None, compare=False, repr=False)
    """The channels as the picture shows them; None if there is no picture, or if nothing may be read."""

    @property
    def read_channels(self) -> ReadChannels | None:
        """The channels as they were read for an edit; None if no edit has read them."""
        return self.shown.known if self.shown is not None else None

    def shape_of(self, path: str) -> tuple[int, ...] | None:
        """The shape of the array of a level; `path`: its path, as the document spells it."""
        place = resolve(self.path, path)
        return None if place is None else self.shapes.get(place)


@frozen
class Subject:
    """The attributes as edited now, with other data about their node."""

    attributes: JSON
    facts: NodeFacts = NodeFacts()
    linked: bool | None = None
    """Whether a pixel size typed for y also sets x; None means only while both are equal."""
    names: object = None
    """The names of the dimensions that the document states beside the attributes; None if it states none."""

    @property
    def lacks_channel(self) -> bool:
        """Whether the metadata lack a channel of the image, so that an edit of a channel adds it."""
        listed = listed_channels(self.attributes)
        return len(listed) < self.facts.channels or not all(isinstance(each, Mapping) for each in listed)

    @property
    def must_read(self) -> bool:
        """Whether an edit of a channel reads values, which waits for the store."""
        shown = self.facts.shown
        return shown is not None and shown.known is None and (self.lacks_channel or self._lacks_window)

    @property
    def _lacks_window(self) -> bool:
        """Whether a channel does not state both ends of its window, so that an edit of one end needs the other."""
        windows = [each.get("window") for each in listed_channels(self.attributes) if isinstance(each, Mapping)]
        return any(
            not isinstance(window, Mapping) or number(window.get("start")) is None or number(window.get("end")) is None
            for window in windows
        )

    def set_channel(self, channel: int, change: ChannelEdit) -> list[Edit]:
        """The edits that change a channel. Channels that the metadata lack are added as the picture shows them: see
        `must_read`. Raises Refused."""
        facts = self.facts

        def shown() -> Sequence[Channel]:
            return facts.shown.read().channels if facts.shown is not None else ()

        return set_channel(self.attributes, channel, change, facts.channels or None, facts.limits, shown)


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
    first_parts: tuple[str, ...] = ()
    """The first parts of the ids of its fields, such as "size" of "size/2"; none means its own id."""
    of_images: bool = False
    """Whether the section is about an image or its labels: the view by meaning is then titled "Image"."""
    tells_levels: bool = False
    """Whether its notes say how the other levels of an image change when the finest one is edited."""

    def owns(self, first_part: str) -> bool:
        """Whether a field whose id begins with this part is a field of this section."""
        return first_part in (self.first_parts or (self.id,))


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


def subject_of(document: Document, prefix: str, facts: NodeFacts, linked: bool | None = None) -> Subject:
    """The attributes in a document, with other data about their node."""
    names = document.get(NAMES, None) if facts.named_axes else None
    return Subject(document.get(prefix, {}), facts, linked, names)


def node_facts(hierarchy: Hierarchy, node: Group | Array) -> NodeFacts:
    """Reads the NodeFacts of a node's attributes. Waits for the store; data that cannot be read keep their
    defaults."""
    found = multiscales(node.attributes, node.path) if isinstance(node.attributes, Mapping) else []
    facts = NodeFacts(node.path, node.kind, node.metadata.dialect, named_axes=_named_axes(node))
    arrays = {level.path: _array(hierarchy, level.path) for image in found for level in image.datasets}
    known = {path: array for path, array in arrays.items() if array is not None}
    first = next(iter(known.values()), None)
    if first is None:
        return facts
    image, limits = next(iter(find_images(node)), None), _limits(first.metadata.dtype.numpy)
    return replace(
        facts,
        shapes={path: tuple(array.shape) for path, array in known.items()},
        limits=limits,
        channels=_channels(found[0].axes, first.shape),
        shown=None if image is None or image.is_label else ShownChannels(image, limits),
    )


def node_facts_from(details: NodeDetails) -> NodeFacts:
    """Makes the same NodeFacts as `node_facts` from details that were already read. Reads nothing."""
    node, image = details.node, details.image
    assert node is not None, "a node that cannot be read has no form"
    facts = NodeFacts(node.path, node.kind, node.metadata.dialect, named_axes=_named_axes(node))
    if image is None or image.multiscale is None or image.path != node.path:
        return facts
    levels, limits = image.levels, _limits(image.dtype) if image.value_kind in "iu" else None
    return replace(
        facts,
        shapes={level.path: tuple(level.shape) for level in levels},
        limits=limits,
        channels=_channels(image.multiscale.axes, levels[0].shape),
        shown=None if image.is_label else ShownChannels(image, limits),
    )


def _named_axes(node: Group | Array) -> int:
    if node.kind != "array" or node.metadata.dialect != NAMED_IN or "shape" in node.metadata.unread:
        return 0
    return len(node.shape)


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
