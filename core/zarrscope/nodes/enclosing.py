"""Finds the hierarchy that encloses a node whose address names the node alone: "cells.zarr/images/0".

`open` takes such an address as that of the node. A program that shows whole hierarchies opens the one around it. Only
if nothing is at the address, `open` itself looks for a store around it whose nodes are no folders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any
from urllib.parse import quote

from zarrscope.dialects import PROBES, detect
from zarrscope.errors import NotFound, Unsupported, ZarrscopeError
from zarrscope.model.node_path import paths_above
from zarrscope.nodes.detect import MAX_PARENTS, PlainFolder, fetch
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope.nodes.internals import node_context
from zarrscope.stores.address import REFERENCES, Address, open_store, parents, split_address, store_at
from zarrscope.stores.chains import CHAINS

ENDINGS = (".zarr", ".n5")
"""Endings of names that say by themselves that a hierarchy begins there."""
_OF_PARQUET = ".zmetadata"
"""The file in each folder of references in parquet."""


def opened_around(open: Callable[[str], Hierarchy], text: str) -> tuple[Hierarchy, str]:
    """Opens, by `open`, the outermost hierarchy around the node at an address; its `initial_path` is that node. If
    there is none around it, opens the address itself.

    Also returns the address of the hierarchy around the node, "" if there is none. Raises the errors of `open` for the
    address itself; a place around it that cannot be read is passed over.
    """
    for place in reversed([*_places_around(text)]):
        around = replace(place, node_path="").text
        try:
            found = open(around)
        except ZarrscopeError:
            continue
        if _holds(found, place.node_path):
            found.initial_path = f"/{place.node_path}"
            return found, around
        found.close()
    found = open(text)
    return found, _store_found_around(text, found)


def only_node_in(found: Hierarchy) -> str:
    """The path of the only hierarchy in a plain folder, or in folders of which each contains only the next; "/" if it
    contains several, and for a place that is a hierarchy itself. A folder on this computer is examined if it has a
    limited number of folders, one elsewhere only if it has one folder, because each costs a round trip."""
    context = node_context(found)
    most = 1 if context.store.remote else PlainFolder.searched
    path = "/"
    try:
        while len(context.dialects) > 1 and path.count("/") <= MAX_PARENTS:
            folder = found[path]
            if folder.kind != "group" or not getattr(folder.metadata, "implicit", False):
                return path
            if len([*islice(folder.list_names(), most + 1)]) > most:
                return "/"
            beneath = [*islice(folder.children(), 2)]
            if len(beneath) != 1:
                return "/"
            path = f"{path.rstrip('/')}/{beneath[0].name}"
    except ZarrscopeError:
        pass
    return "/"


def archive_in(folder: str, error: NotFound) -> str:
    """The address of the archive that is the only thing in a folder of this computer which was opened with this error;
    "" if there is no such archive, and for any other address."""
    if not error.archive or ("://" in folder and not folder.startswith("file://")):
        return ""
    return f"{folder.rstrip('/')}/{quote(error.archive) if '://' in folder else error.archive}"


def _store_found_around(text: str, found: Hierarchy) -> str:
    """The address of the store of a hierarchy that was opened at an address of a node which does not state where the
    store ends; "" if the address names the store."""
    try:
        stated = split_address(text).node_path
    except ZarrscopeError:  # it was opened by a host's own function
        return ""
    return "" if stated or not found.initial_path.strip("/") else Address(found.store.url).text


def opened_within(
    open: Callable[[Address], Hierarchy], address: Address, options: Mapping[str, Any] | None
) -> Hierarchy | None:
    """Opens, by `open`, the Icechunk repository or the reference file within which a node is, if there is nothing at
    the address itself: no file has the path of such a node. None if there is no such store or it has no such node.

    Raises Unsupported if there is such a store, but a package is missing that reads it.
    """
    for place in _stores_around(address, options):
        try:
            found = open(place)
        except Unsupported:
            raise
        except ZarrscopeError:
            continue
        if _holds(found, place.node_path):
            return found
        found.close()
    return None


def _stores_around(address: Address, options: Mapping[str, Any] | None) -> Iterator[Address]:
    """Yields the addresses of the node in the Icechunk repositories and reference files among the folders above, the
    innermost first. Repositories are looked for only where zarrscope can open them; that takes one listing per folder
    above, and a reference file one request if the name ends as those of reference files do."""
    if address.node_path or address.store_url.startswith(("zip:", "reference:")):
        return
    version, chain, outer = "", "", address.store_url
    if outer.startswith("icechunk:"):  # the node in a version of a repository
        version, chain, outer = outer.partition("::")
    from zarrscope.stores.icechunk import is_repository  # only failed addresses need it
    from zarrscope.stores.icechunk_storage import REPOSITORY_SCHEMES

    for above in islice(parents(Address(outer)), 1, MAX_PARENTS + 1):
        scheme, bare = above.store_url.partition(":")[0], above.store_url.partition("?")[0].lower()
        try:
            if bare.endswith(REFERENCES) and not version:
                if not bare.endswith(".json") and not fetch(store_at(above.store_url, "r", options), [_OF_PARQUET]):
                    continue
                yield Address(f"reference://::{above.store_url}", above.node_path)
            elif scheme in REPOSITORY_SCHEMES and is_repository(store_at(above.store_url, "r", options)):
                yield Address(f"{version}{chain}{above.store_url}", above.node_path)
        except ZarrscopeError:
            continue


def _holds(hierarchy: Hierarchy, path: str) -> bool:
    """Whether a node of the hierarchy is at `path`. A folder that only contains hierarchies encloses none, and a folder
    of chunks is no group without a document."""
    try:
        if len(node_context(hierarchy).dialects) > 1 or path not in hierarchy:
            return False
        if not getattr(hierarchy[path].metadata, "implicit", False):
            return True
        above = [hierarchy[each] for each in paths_above(f"/{path}") if each in hierarchy]
        return all(node.kind == "group" for node in above)
    except ZarrscopeError:
        return False


def _places_around(text: str) -> Iterator[Address]:
    """Yields the places that may be the hierarchy around an address, the innermost first.

    On this computer these are the folders above, as long as each is a node itself. On this computer and elsewhere they
    are the folders whose name says that a hierarchy begins there: looking at each folder elsewhere would cost a round
    trip. An address that names the hierarchy, or its format, has none.
    """
    try:
        address = split_address(text)
    except ZarrscopeError:
        return
    scheme = address.store_url.partition(":")[0]
    if address.node_path or address.dialect or scheme in CHAINS:
        return
    unbroken = scheme == "file"
    for above in islice(parents(address), 1, MAX_PARENTS + 1):
        named = above.store_url.partition("?")[0].lower().endswith(ENDINGS)
        unbroken = unbroken and _is_node(above)
        if unbroken or named:
            yield above


def _is_node(place: Address) -> bool:
    """Whether documents of Zarr are in this folder; False if it cannot be read."""
    try:
        return detect(fetch(open_store(place.store_url), PROBES, passed_over=[])) is not None
    except ZarrscopeError:
        return False
