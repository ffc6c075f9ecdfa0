"""What lies beneath a group: children as they are found, their kinds known.

They stream: the first come before all are listed. A listing reads no more than it takes to tell names and kinds: on a
local disk one survey of the folder, elsewhere the documents that tell, side by side. What the documents say beyond that
is parsed when somebody asks a Child for it. Consolidated copies save the round trips where a store is far away; a store
that cannot list has the children that OME-Zarr attributes tell of. Request counts: dialects.md A.14.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from zarrscope.dialects import Child, Insight, Kind, Source
from zarrscope.errors import NotFound, Refused, ZarrscopeError
from zarrscope.metadata import GroupMetadata
from zarrscope.naming import clean_path, declared_paths, join_path
from zarrscope.probing import fetch
from zarrscope.store import Entry, Found

if TYPE_CHECKING:
    from zarrscope.consolidated import Copies
    from zarrscope.hierarchy import Hierarchy

BATCH = 64
"""So many children's documents are fetched side by side."""


def children(hierarchy: Hierarchy, path: str, cancelled: Callable[[], bool]) -> Iterator[Child]:
    """See Group.children; `path` is clean."""
    if hierarchy.copies is not None and not hierarchy.prefers_own:
        yield from _copied(hierarchy, hierarchy.copies, path)
        return
    names = _told_by(hierarchy, path) if hierarchy.store.surveys and hierarchy.store.listable else ()
    if names:
        yield from _surveyed(hierarchy, path, names, cancelled)
        return
    found = _found_beneath(hierarchy, path)
    seen: set[str] = set()
    while not cancelled():
        batch: list[Child] = []
        for child in found:
            if child.name not in seen:
                seen.add(child.name)
                batch.append(child)
            if len(batch) == BATCH:
                break
        if not batch:
            return
        yield from _with_kinds(hierarchy, path, batch, cancelled)


def _told_by(hierarchy: Hierarchy, path: str) -> tuple[str, ...]:
    """The names of the documents beneath a child's own prefix that tell what it is; () where they lie elsewhere."""
    where = join_path(path, "?")
    prefix = hierarchy.dialect.listing(where)
    keys = hierarchy.outline_of(where)
    return tuple(key[len(prefix) :] for key in keys) if all(key.startswith(prefix) for key in keys) else ()


def _surveyed(
    hierarchy: Hierarchy, path: str, names: tuple[str, ...], cancelled: Callable[[], bool]
) -> Iterator[Child]:
    """Children from one survey. Where the name of a document tells the kind, none is read."""
    dialect = hierarchy.dialect
    prefix = dialect.listing(path)
    read = not all(each.named_kinds for each in hierarchy.dialects)
    whole = read and set(hierarchy.outline_of(path)) >= set(hierarchy.keys_of(path))
    told: dict[str, Found] = {}
    kinds = {} if read else {name: _claimed(hierarchy, path, {f"{prefix}{name}": b""}) for name in names}
    """Where the name of a document tells."""

    def entries() -> Iterator[Entry]:
        for found in hierarchy.store.survey(prefix, names, read=read):
            told[found.name] = found
            yield Entry(found.name, True)

    for child in dialect.children(path, entries()):
        if cancelled():
            return
        name, found = child.name, told.pop(child.name)
        if child.kind is not None:
            yield child
        elif isinstance(found.value, ZarrscopeError):
            yield Child(name, error=found.value)
        elif found.holds in kinds:
            yield child.of(kinds[found.holds], partial(_look, hierarchy, path, name))
        elif found.holds is None:
            made = _undocumented(hierarchy, path, name, names)
            if made is not None:
                yield made
        else:
            document = {f"{prefix}{name}/{found.holds}": found.value or b""}
            made = _child(hierarchy, path, name, document, whole=whole)
            if made is not None:
                yield made


def _undocumented(hierarchy: Hierarchy, path: str, name: str, names: tuple[str, ...]) -> Child | None:
    """What is a child without a document of one of these names: nothing, or a group that nodes lie beneath."""
    where = join_path(path, name)
    prefix = hierarchy.dialect.listing(where)
    try:
        rest = fetch(hierarchy.store, [key for key in hierarchy.keys_of(where) if key[len(prefix) :] not in names])
    except ZarrscopeError as error:
        return Child(name, error=error)
    return _child(hierarchy, path, name, rest)


def _found_beneath(hierarchy: Hierarchy, path: str) -> Iterator[Child]:
    if hierarchy.store.listable:
        return hierarchy.dialect.children(path, hierarchy.store.list_dir(hierarchy.dialect.listing(path)))
    declared = [Child(name) for name in _declared_beneath(hierarchy, path)]
    if not declared:
        hierarchy.store._need_listing()
    return iter(declared)


def _with_kinds(
    hierarchy: Hierarchy, path: str, batch: Sequence[Child], cancelled: Callable[[], bool]
) -> Iterator[Child]:
    """The children that turn out to be nodes; kinds from their documents, fetched side by side."""
    keys = {child.name: hierarchy.outline_of(join_path(path, child.name)) for child in batch if child.kind is None}
    copies = hierarchy.copies.documents if hierarchy.copies is not None else {}
    documents: dict[str, Source] = {key: copies[key] for group in keys.values() for key in group if key in copies}
    wanted = [key for group in keys.values() for key in group if not any(k in documents for k in group)]
    failed: dict[str, ZarrscopeError] = {}
    for key, answer in hierarchy.answers(wanted, cancelled).items():
        if isinstance(answer, ZarrscopeError):
            failed[key] = answer
        elif answer is not None:
            documents[key] = answer
    if cancelled():
        return
    for child in batch:
        if child.kind is not None:
            yield child
            continue
        error = next((failed[key] for key in keys[child.name] if key in failed), None)
        if error is not None:
            yield Child(child.name, error=error)
            continue
        made = _child(hierarchy, path, child.name, {k: documents[k] for k in keys[child.name] if k in documents})
        if made is not None:
            yield made


def _child(
    hierarchy: Hierarchy, path: str, name: str, documents: Mapping[str, Source], *, whole: bool = True
) -> Child | None:
    """The child that these documents make, None where they make none. What they say is left for later where the kind
    shows at a glance; all its documents are read then where these are not the `whole` of them."""
    where = join_path(path, name)
    kind = _claimed(hierarchy, where, documents) if documents else None
    if kind is not None:
        return Child(name, kind, look=partial(_look, hierarchy, path, name, documents if whole else None))
    try:
        node = hierarchy.parsed(where, documents)
        if node is None and not documents:
            node = hierarchy.implicit_group(where, listed=True)
    except ZarrscopeError as error:
        return Child(name, error=error)
    return None if node is None else Child(name, node.metadata.kind, node.metadata)  # type: ignore[arg-type]


def _look(hierarchy: Hierarchy, path: str, name: str, documents: Mapping[str, Source] | None = None) -> Insight:
    """What the documents of a child say, or why they cannot be understood. None: its own, read now."""
    where = join_path(path, name)
    try:
        node = hierarchy.own_node(where) if documents is None else hierarchy.parsed(where, documents)
    except ZarrscopeError as error:
        return None, error
    if node is None:
        return None, NotFound("The node was removed after it was listed", store=hierarchy.url, key=where.lstrip("/"))
    return node.metadata, None


def _claimed(hierarchy: Hierarchy, path: str, documents: Mapping[str, Source]) -> Kind | None:
    kinds = (dialect.claimed(path, documents) for dialect in hierarchy.dialects)
    return next((kind for kind in kinds if kind is not None), None)


def _copied(hierarchy: Hierarchy, copies: Copies, path: str) -> Iterator[Child]:
    for child in hierarchy.dialect.children(path, copies.list_dir(hierarchy.dialect.listing(path))):
        where = join_path(path, child.name)
        keys = hierarchy.dialect.documents(where)
        documents = {key: copies.documents[key] for key in keys if key in copies.documents}
        made = _child(hierarchy, path, child.name, documents) if documents else None
        if made is None and not documents:  # documents of nodes lie beneath, so it is a group
            made = Child(child.name, "group", GroupMetadata(hierarchy.dialect.name, implicit=True))
        if made is not None:
            yield made


def _declared_beneath(hierarchy: Hierarchy, path: str) -> list[str]:
    """Names that OME-Zarr metadata of this group or of one above it tells of: for stores that cannot list."""
    names: dict[str, None] = {}
    above = path
    while True:
        try:
            node = hierarchy.node_at(above)
        except ZarrscopeError:
            node = None
        for declared in declared_paths(node.attributes) if node is not None else ():
            try:
                full = clean_path(join_path(above, declared))
            except Refused:  # leads out of the group: nobody's node (F.10)
                continue
            if full.startswith(path.rstrip("/") + "/") and full != path:
                names[full[len(path.rstrip("/")) + 1 :].partition("/")[0]] = None
        if above == "/":
            return list(names)
        above = above.rpartition("/")[0] or "/"
