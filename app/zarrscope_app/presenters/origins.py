"""Words about how a node was found: by listing the store, in consolidated or OME-Zarr metadata, in the index of a web
server, or by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrscope.nodes.internals import node_context

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy

_SENTENCES = {
    "": "Listed by the store.",
    "consolidated": "Named in the consolidated metadata.",
    "declared": "Named in the metadata of an image or a plate; this server cannot list.",
    "index": "Named in the index of the web server.",
    "typed": "Opened by its name.",
}
_MARKS = {
    "consolidated": "consolidated metadata",
    "declared": "OME-Zarr metadata",
    "index": "web index",
    "typed": "opened by name",
}
MEANING = "How the node was found."
"""The explanation of the line with the sentence."""
FIELD = '"listing", "consolidated" (metadata), "declared" (by OME-Zarr metadata), "index" (of a web server) or "typed".'
"""The explanation of the field in `--json`."""


def sentence(origin: str) -> str:
    """The sentence about an origin, as `Child.origin` states it: "Listed by the store." """
    return _SENTENCES[origin]


def mark(origin: str) -> str:
    """A few words beside a node in a listing; "" for a node that the store listed, as is usual."""
    return _MARKS.get(origin, "")


def field(origin: str) -> str:
    """The value for programs: "listing", "consolidated" …"""
    return origin or "listing"


def origin_of(hierarchy: Hierarchy, path: str) -> str:
    """The origin of a node that was opened by its path, without a request: only a listing by its group could tell that
    metadata or an index name the node."""
    nodes = node_context(hierarchy)
    if nodes.is_copied(path):
        return "consolidated"
    return "" if path == "/" or nodes.store.listable else "typed"
