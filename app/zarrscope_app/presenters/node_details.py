"""All data that the presenters of one node need, read in one background job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from zarrscope.dialects.defects import as_far_as_read
from zarrscope.errors import ZarrscopeError
from zarrscope.jsondoc.parse import parsed_once
from zarrscope.model.metadata import ExtensionOutcome as Found
from zarrscope.model.metadata import ExtensionReport
from zarrscope.nodes.extensions import demands_above
from zarrscope.nodes.internals import node_context
from zarrscope.nodes.misplaced import misplaced_chunks
from zarrscope.ome.collection import collection, role
from zarrscope.ome.metadata import multiscales
from zarrscope.view.image import (
    Collection,
    CollectionMember,
    Image,
    default_image,
    find_collection,
    find_images,
    members,
)
from zarrscope_app.presenters import origins, strings
from zarrscope_app.presenters.folder_images import FEW, FolderImages, images_beneath
from zarrscope_app.presenters.node_description import Info, describe
from zarrscope_app.presenters.origins import origin_of
from zarrscope_app.presenters.snippets import snippets

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group
    from zarrscope.nodes.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class NodeDetails:
    """A node and the data that were read about it, all in the background. `node` is None if the node cannot be read;
    `info.problem` then gives the reason."""

    hierarchy: Hierarchy
    node: Group | Array | None
    info: Info
    image: Image | None = None
    labels: dict[str, Image | None] | None = None
    """Label images by path. None for a remote store, so that the picture need not wait: `labels_of` finds them
    later."""
    icon: str = ""
    passable: bool = False
    """Whether the node, or more of it, would be shown if the hierarchy were opened leniently, ignoring required
    extensions that are not understood."""
    collection: Collection | None = None
    """The plate, well, series or label group that the node describes, or the images beneath a group that describes
    none; None for other nodes."""
    members: tuple[CollectionMember, ...] = ()
    """The images of a series, if its document does not list them."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """See `member_titles`."""
    fallback: ExtensionReport | None = None
    """The report on the data type of the node, if its document offers a fallback, used or not; otherwise None."""
    has_more: bool = False
    """Whether `images_beneath` may find images beneath the group later: those of a remote store, or of many children,
    are not waited for."""

    @property
    def has_picture(self) -> bool:
        """Whether there is a picture or a line to show, or a reason why it cannot be drawn."""
        image = self.image
        return image is not None and (drawable(image) or image.levels[0].array.problem is not None)


def _is_passable(node: Group | Array) -> bool:
    """Whether opening leniently would ignore an extension that the node requires."""
    return any(report.outcome is Found.REFUSED and report.passable for report in node.metadata.extensions)


def group_icon(attributes: Mapping[str, Any]) -> str:
    """The icon of a group that OME-Zarr metadata describe, else ""."""
    found = role(attributes)
    return "plate" if found in ("well", "series") else found


def kind_and_icon(node: Group | Array) -> tuple[Literal["group", "array"], str]:
    """The kind of a node, and the icon of its row."""
    return node.kind, group_icon(as_far_as_read(node.attributes)) if node.kind == "group" else ""


def member_titles(node: Group | Array) -> dict[str, str]:
    """Path → "well A/1" for the wells of a plate, "field 1" for the fields of a well; {} for other nodes. Reads
    nothing."""
    found = collection(as_far_as_read(node.attributes), node.path) if node.kind == "group" else None
    if found is None or found.kind not in ("plate", "well") or found.members is None:
        return {}
    paths, above = [member.path for member in found.members], node.path.rstrip("/") + "/"
    if found.kind == "well":
        return {path: f"field {number}" for number, path in enumerate(paths, 1)}
    return {path: f"well {strings.clean(path.removeprefix(above), 40)}" for path in paths}


def stated_names(node: Group | Array, children: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, str]:
    """Path → the name that an image of a series states for itself, for those of its `children` (name, attributes) with
    another name than that of the group; {} for other nodes, without a look at the children. Reads nothing."""
    if role(as_far_as_read(node.attributes)) != "series":
        return {}
    above = node.path.rstrip("/")
    named = {}
    for name, attributes in children:
        images = multiscales(attributes, f"{above}/{name}")
        stated = strings.clean(images[0].name.strip("/"), 60) if images else ""
        if stated not in ("", name):
            named[f"{above}/{name}"] = stated
    return named


def read_details(hierarchy: Hierarchy, path: str, origin: str | None = None) -> NodeDetails:
    """Reads all data that the presenters of a node need. Waits for the store. `origin`: as `Child.origin`, if the node
    was listed by its group."""
    with parsed_once(share=True):  # else a document of megabytes is parsed three times
        return _read_details(hierarchy, path, origin)


def _read_details(hierarchy: Hierarchy, path: str, origin: str | None) -> NodeDetails:
    node = hierarchy[path]
    image, described, icon, titles = None, None, "", dict[str, str]()
    warnings = [strings.clean(each) for each in demands_above(hierarchy, path)]
    labels: dict[str, Image | None] | None = {}
    misplaced = None
    found: tuple[CollectionMember, ...] = ()
    try:
        described = find_collection(node)
        _, icon = kind_and_icon(node)
        titles = member_titles(node)
        if node.kind == "group" and described is not None and described.members is None:
            found = tuple(members(node, described))
        image = default_image(node)
        if node.kind == "array" and (misplaced := misplaced_chunks(node)):
            warnings.append(misplaced)
        if image is not None:
            # Computed here, so that the host's thread never waits for a store.
            _ = (image.levels, image.axes, image.channels, image.plane, image.defaults, image.warnings)
            labels = None if hierarchy.store.remote else labels_of(hierarchy, image)
            if node.kind == "group":
                icon = icon or ("labels" if image.is_label else "image" if find_images(node) else "")
    except ZarrscopeError as error:
        warnings.append(strings.problem(error).headline)
        image = None
    told = origins.sentence(origin_of(hierarchy, node.path) if origin is None else origin)
    info = describe(node, image, described, hierarchy.extensions(node.path), told if node.path != "/" else "")
    info = replace(info, warnings=(*info.warnings, *warnings), snippets=snippets(node, image))
    gathered = FolderImages()
    if node.kind == "group" and image is None and described is None:
        cheap = not hierarchy.store.remote or hierarchy.consolidated
        gathered = images_beneath(node, FEW) if cheap else FolderImages(complete=False)
    fallback = next((report for report in node.metadata.extensions if report.fallback), None)
    passable = bool(misplaced) or _is_passable(node)
    return NodeDetails(
        hierarchy, node, info, image, labels, icon, passable, described or gathered.collection, found, titles, fallback,
        has_more=not gathered.complete,
    )  # fmt: skip


def axis_names(image: Image | None, array: Array) -> tuple[str, ...]:
    """The names of an array's axes in every view: from the image, or from the array."""
    if image is not None and len(image.axes) == array.ndim:
        return tuple(axis.name for axis in image.axes)
    return tuple(name or f"axis {i}" for i, name in enumerate(array.dimension_names or (None,) * array.ndim))


def labels_of(hierarchy: Hierarchy, image: Image) -> dict[str, Image | None]:
    """The label images that belong to an image, by path; None for one that cannot be drawn. Waits for the store."""
    node_context(hierarchy).prefetch(image.labels)
    return {path: _label_image(hierarchy, path) for path in image.labels}


def _label_image(hierarchy: Hierarchy, path: str) -> Image | None:
    try:
        found = find_images(hierarchy[path])
        if found:
            _ = (found[0].levels, found[0].axes, found[0].channels)
            return found[0] if found[0].levels[0].array.problem is None else None
    except ZarrscopeError:
        pass
    return None


def drawable(image: Image) -> bool:
    """Whether the image can be shown as a picture or a line."""
    array = image.levels[0].array
    if array.problem is not None:
        return False
    dtype = array.dtype
    return dtype.names is None and dtype.kind in "buifcmM" and array.size > 0
