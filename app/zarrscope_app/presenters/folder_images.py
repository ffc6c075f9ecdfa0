"""Finds the images beneath a group that lists none itself, so that a folder of images is shown as thumbnails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from zarrscope.dialects import Child
from zarrscope.errors import ZarrscopeError
from zarrscope.model.frozen import frozen
from zarrscope.model.node_path import join_path, natural
from zarrscope.model.storage import never
from zarrscope.nodes.internals import node_context
from zarrscope.nodes.listing import attributes_beneath
from zarrscope.ome.collection import Collection, CollectionMember, role
from zarrscope.ome.metadata import has_multiscales
from zarrscope_app.presenters import strings

if TYPE_CHECKING:
    from zarrscope.nodes.group import Group

FEW = 256
"""The most children that are looked at before the group is shown."""
MOST = 6144
"""The most children that are looked at: as many as a layout has cells."""
PROBED = 32
"""The children that are looked at first. Unless one of them is an image, the others are not read: a group of thousands
of tables would cost as many requests."""

_SHOWN = ("image", "plate", "series")
"""The roles of the children that are shown, besides label images."""


@frozen
class FolderImages:
    """The images directly beneath a group, as a collection of the kind "images", or "plates" if all are plates; None if
    there are fewer than two. `only`: the image, if there is exactly one. `complete`: whether all children were looked
    at."""

    collection: Collection | None = None
    complete: bool = True
    only: CollectionMember | None = None


def images_beneath(
    group: Group, most: int, cancelled: Callable[[], bool] = never, *, listed: Sequence[Child] | None = None
) -> FolderImages:
    """Looks for images beneath a group of at most `most` children. Waits for the store. A child that cannot be read is
    left out, because its row in the tree states the reason. `listed`: the children, if they were listed before."""
    try:
        there = list(islice(group.list_names(cancelled) if listed is None else listed, most + 1))
        if len(there) > most:
            return FolderImages(None, complete=most >= MOST)
        listed = sorted(there, key=lambda child: natural(child.name))
        roles = _roles(group, listed[:PROBED], cancelled)
        if roles:
            roles |= _roles(group, listed[PROBED:], cancelled)
    except ZarrscopeError:
        return FolderImages()
    kind = "plates" if {*roles.values()} == {"plate"} else "images"
    found = tuple(
        CollectionMember(join_path(group.path, each.name), strings.clean(each.name, 60))
        for each in listed
        if each.name in roles
    )
    if len(found) < 2:
        return FolderImages(only=found[0] if found else None)
    return FolderImages(Collection(kind, group.path, group.name, found))


def _roles(group: Group, children: Sequence[Child], cancelled: Callable[[], bool]) -> dict[str, str]:
    """Name → role, for the children that are images or plates."""
    asked = [child for child in children if child.kind != "array"]
    groups = [child for child in group.inspect(asked, cancelled) if child.kind == "group"]
    attributes: dict[str, Mapping[str, Any]] = {child.name: child.attributes for child in groups}
    hierarchy = group.hierarchy
    if hierarchy.store.remote and not hierarchy.consolidated:  # the attributes may lie in a document of their own
        plain = [name for name, found in attributes.items() if not found]
        attributes |= attributes_beneath(node_context(hierarchy), group.path, plain, cancelled)
    roles = {name: role(found) for name, found in attributes.items()}
    return {name: each for name, each in roles.items() if each in _SHOWN or has_multiscales(attributes[name])}
