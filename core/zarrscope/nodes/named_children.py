"""Children of a group in a store that cannot list: those named by OME-Zarr metadata, or by the index page of a web
server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from zarrscope.dialects import Child
from zarrscope.dialects.defects import as_far_as_read
from zarrscope.errors import Refused, Unsupported, ZarrscopeError
from zarrscope.model.node_path import clean_path, declared_paths, join_path
from zarrscope.model.storage import Entry
from zarrscope.runtime.tuning import SERIES_AT_ONCE

if TYPE_CHECKING:
    from zarrscope.nodes.context import NodeContext


def named_children(hierarchy: NodeContext, path: str) -> Iterator[Child]:
    """Children that metadata or an index page name; some may not exist. Raises Unsupported if there are
    no such names."""
    names: set[str] = set()
    for name in _declared_beneath(hierarchy, path):
        names.add(name)
        yield Child(name, origin="declared")
    index = hierarchy.store._named_folders(hierarchy.dialect.listing(path))
    if index is not None:
        hierarchy.indexed.add(path)
        for child in hierarchy.dialect.children(path, (Entry(name, True) for name in index)):
            if child.name not in names:
                child.origin = "index"
                yield child
        return
    refused = hierarchy.store._folders_refused(hierarchy.dialect.listing(path))
    if refused is not None:
        hierarchy.refused[path] = refused
    else:
        hierarchy.refused.pop(path, None)
    if not names:
        if refused is not None:
            why = f"answered {refused} to" if refused else "did not answer"
            raise Unsupported(
                f"The server {why} the request for the children of {path}",
                feature="listing",
                store=hierarchy.url,
                advice="Open a node by its path, or try again later.",
            )
        hierarchy.store._need_listing()


def _declared_beneath(hierarchy: NodeContext, path: str) -> Iterator[str]:
    """Names of children in the OME-Zarr metadata of this group or of a group above it."""
    names: dict[str, None] = {}
    above = path
    while True:
        attributes = _attributes(hierarchy, above)
        for declared in declared_paths(attributes):
            try:
                full = clean_path(join_path(above, declared))
            except Refused:  # a path that leads out of the group names none of its nodes (F.10)
                continue
            if full.startswith(path.rstrip("/") + "/") and full != path:
                names[full[len(path.rstrip("/")) + 1 :].partition("/")[0]] = None
        if above == path:
            names |= dict.fromkeys(_series(hierarchy, path, attributes))
        if above == "/":
            break
        above = above.rpartition("/")[0] or "/"
    yield from names


def _attributes(hierarchy: NodeContext, path: str) -> Mapping[str, Any]:
    try:
        node = hierarchy.node_at(path)
    except ZarrscopeError:
        node = None
    return as_far_as_read(node.attributes) if node is not None else {}


def _series(hierarchy: NodeContext, path: str, attributes: Mapping[str, Any]) -> Iterator[str]:
    """The images that bioformats2raw wrote: named in the group OME, else numbered from 0 (reference.md E.6)."""
    if "bioformats2raw.layout" not in {**attributes, **_member(attributes, "ome")}:
        return
    beside = _attributes(hierarchy, join_path(path, "OME"))
    for declared in ({**beside, **_member(beside, "ome")}).get("series") or ():
        if isinstance(declared, str) and declared:
            yield declared.partition("/")[0]
    found = SERIES_AT_ONCE if not beside else 0
    first = 0
    while found == SERIES_AT_ONCE:
        names = [str(number) for number in range(first, first + SERIES_AT_ONCE)]
        keys = {name: hierarchy.outline_of(join_path(path, name)) for name in names}
        answers = hierarchy.answers([key for each in keys.values() for key in each])
        there = [name for name in names if any(isinstance(answers.get(key), bytes) for key in keys[name])]
        yield from there
        found, first = len(there), first + SERIES_AT_ONCE


def _member(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, Mapping) else {}
