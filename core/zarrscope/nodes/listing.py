"""Lists the children of a group with their kinds, one by one as they arrive.

The first children are yielded before the last are listed. A listing reads only the data that show names and kinds: on a
local disk one pass over the folder, elsewhere one document per child, several at once. The rest of a document is parsed
when a Child is asked for it. To show part of a large group, list only its names, which reads no document, and inspect
the visible ones. Consolidated metadata saves the requests to a remote store. In a store that cannot list, the children
are those named by OME-Zarr attributes or by a web server's index page (named_children.py). Request counts:
reference.md A.14.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from zarrscope.dialects import Child, NodeKind, ParsedChild, StoredDocument
from zarrscope.dialects.defects import as_far_as_read
from zarrscope.errors import Denied, NotFound, TooLarge, ZarrscopeError
from zarrscope.model.metadata import ArrayMetadata, GroupMetadata
from zarrscope.model.node_path import clean_path, close_to, join_path
from zarrscope.model.storage import Entry, ScannedChild, never
from zarrscope.nodes.detect import document_limit, fetch, need_no_folder
from zarrscope.runtime.tuning import CHILDREN_AT_ONCE, SEARCHED_AT_ONCE

if TYPE_CHECKING:
    from zarrscope.nodes.consolidated_metadata import ConsolidatedMetadata
    from zarrscope.nodes.context import NodeContext


def children(hierarchy: NodeContext, path: str, cancelled: Callable[[], bool] = never) -> Iterator[Child]:
    """See Group.children."""
    path = clean_path(path)
    return hierarchy.shown(path, _unless_erased(hierarchy, path, _children(hierarchy, path, cancelled), cancelled))


def list_names(hierarchy: NodeContext, path: str, cancelled: Callable[[], bool] = never) -> Iterator[Child]:
    """See Group.list_names."""
    path = clean_path(path)
    return hierarchy.shown(path, _unless_erased(hierarchy, path, _names(hierarchy, path, cancelled), cancelled))


def _unless_erased(
    hierarchy: NodeContext, path: str, found: Iterator[Child], cancelled: Callable[[], bool]
) -> Iterator[Child]:
    """Yields the children. If there are none, raises NotFound for a group that was erased since it was opened; a store
    lists nothing beneath a prefix that does not exist."""
    first = next(found, None)
    if first is not None:
        yield first
        yield from found
    elif not cancelled() and hierarchy.store.listable and _copies(hierarchy) is None:
        try:
            there = hierarchy.own_node(path) or hierarchy.implicit_group(path)
        except ZarrscopeError:  # a broken or denied document: the group is still there
            return
        if there is None:
            raise nothing_at(hierarchy, path)


def _copies(hierarchy: NodeContext) -> ConsolidatedMetadata | None:
    """The consolidated metadata from which children are listed; None if they are listed from the store."""
    return None if hierarchy.prefers_own else hierarchy.consolidated_metadata


def _names(hierarchy: NodeContext, path: str, cancelled: Callable[[], bool]) -> Iterator[Child]:
    copies = _copies(hierarchy)
    for child in _found_beneath(hierarchy, path) if copies is None else _copied(hierarchy, copies, path):
        if cancelled():
            return
        yield child


def inspect(
    hierarchy: NodeContext, path: str, children: Iterable[Child], cancelled: Callable[[], bool] = never
) -> Iterator[Child]:
    """See Group.inspect."""
    path = clean_path(path)
    found = iter(children)
    while (batch := list(islice(found, CHILDREN_AT_ONCE))) and not cancelled():
        told = [child for child in batch if child.has_details]
        named = [
            child for child in batch if child.kind is not None and not child.has_details and not hierarchy.prefers_own
        ]
        asked = [child for child in batch if child not in told and child not in named]
        yield from told
        yield from _with_documents(hierarchy, path, named, cancelled)
        yield from _with_kinds(hierarchy, path, asked, cancelled)


def _with_documents(
    hierarchy: NodeContext, path: str, batch: Sequence[Child], cancelled: Callable[[], bool]
) -> Iterator[Child]:
    """Children of known kind, with their documents from a remote store, fetched in parallel."""
    keys = {child.name: hierarchy.keys_of(join_path(path, child.name), child.kind) for child in batch}
    answers = hierarchy.answers([key for group in keys.values() for key in group], cancelled)
    for child in () if cancelled() else batch:
        held = {key: answers.get(key) for key in keys[child.name]}
        error = next((each for each in held.values() if isinstance(each, ZarrscopeError)), None)
        documents = {key: each for key, each in held.items() if isinstance(each, bytes)}
        if documents:
            yield child.of(child.kind, partial(_read_child, hierarchy, path, documents=documents))
        else:  # an implicit group, or one whose document cannot be read
            yield Child(child.name, child.kind, error=error, origin=child.origin)


def nothing_at(hierarchy: NodeContext, path: str) -> NotFound:
    """The error for a path without a node; it names anything else that is stored there."""
    if hierarchy.store._is_gone():
        return NotFound(
            "The folder of this hierarchy is not there any more",
            store=hierarchy.url,
            key=next(iter(hierarchy.keys_of(path)), None),
            advice="It was moved, renamed or erased, or its disk is no longer connected. Put it back, then try again.",
        )
    if path == "/":
        return NotFound(
            f"The root is not a node of {hierarchy.dialect.title}",
            store=hierarchy.url,
            key=next(iter(hierarchy.dialect.documents("/")), None),
            advice="Its documents may have been erased meanwhile.",
        )
    above, name = path.rpartition("/")[0] or "/", path.rpartition("/")[2]
    while True:
        try:
            node = hierarchy.node_at(above)
        except ZarrscopeError:
            node = None
        if node is not None or above == "/":
            break
        above, name = above.rpartition("/")[0] or "/", above.rpartition("/")[2]
    if node is not None and node.metadata.kind == "array":
        advice = f"{above} is an array; no nodes lie beneath an array."
    else:
        try:
            names = sorted(child.name for child in islice(children(hierarchy, above), 1000))
        except ZarrscopeError:
            names = []
        close = close_to(name, names)
        advice = f"{above} holds {', '.join(names[:8]) or 'nothing'}{' …' if len(names) > 8 else ''}."
        if close == name:  # listed, and yet no node: an empty folder, in a dialect whose groups need no document
            advice = f"{join_path(above, name)} is an empty folder: nothing is stored in it."
        elif close:
            advice += f" Did you mean {join_path(above, close)}?"
    return NotFound(
        f"There is no node {path}", store=hierarchy.url, key=next(iter(hierarchy.keys_of(path)), None), advice=advice
    )


def _children(hierarchy: NodeContext, path: str, cancelled: Callable[[], bool]) -> Iterator[Child]:
    """See Group.children; `path` is clean."""
    if (copies := _copies(hierarchy)) is not None:
        yield from _copied(hierarchy, copies, path)
        return
    names = _told_by(hierarchy, path) if hierarchy.store.bulk.scans_children and hierarchy.store.listable else ()
    if names:
        yield from _surveyed(hierarchy, path, names, cancelled)
        return
    own, read = hierarchy.prefers_own, partial(_read_child, hierarchy, path)
    seen: set[str] = set()
    batch: list[Child] = []
    for child in _found_beneath(hierarchy, path):
        if cancelled():
            return
        name = child.name
        if name in seen:
            continue
        seen.add(name)
        if child.kind is not None and not batch:  # as all children in the drafts: no document is fetched
            yield child.with_reader(read) if own else child
            continue
        batch.append(child)
        if len(batch) == CHILDREN_AT_ONCE:
            yield from _with_kinds(hierarchy, path, batch, cancelled)
            batch = []
    if batch:
        yield from _with_kinds(hierarchy, path, batch, cancelled)


def _told_by(hierarchy: NodeContext, path: str) -> tuple[str, ...]:
    """The names of the documents beneath a child's own prefix that show its kind; () if they lie elsewhere."""
    where = join_path(path, "?")
    prefix = hierarchy.dialect.listing(where)
    keys = hierarchy.outline_of(where)
    return tuple(key[len(prefix) :] for key in keys) if all(key.startswith(prefix) for key in keys) else ()


def _surveyed(
    hierarchy: NodeContext, path: str, names: tuple[str, ...], cancelled: Callable[[], bool]
) -> Iterator[Child]:
    """The children, from one pass over the folder. If the name of a document shows the kind, no document is read."""
    dialect = hierarchy.dialect
    prefix = dialect.listing(path)
    read = not all(each.named_kinds for each in hierarchy.dialects)
    whole = read and set(hierarchy.outline_of(path)) >= set(hierarchy.keys_of(path))
    told: dict[str, ScannedChild] = {}
    kinds = {} if read else {name: _stated_kind(hierarchy, path, {f"{prefix}{name}": b""}) for name in names}
    """Kinds that follow from the name of a document."""
    reader = partial(_read_child, hierarchy, path)
    own, above, where = hierarchy.prefers_own, join_path(path, ""), join_path(path, "?")
    of_group = {key.removeprefix(dialect.listing(where)) for key in hierarchy.keys_of(where, "group")}
    """The names of all documents of a group; see `_child`."""

    def entries() -> Iterator[Entry]:
        limit = document_limit(hierarchy.store)
        for found in hierarchy.store.bulk.scan_children(prefix, names, read=read, limit=limit):
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
        elif found.document in kinds:
            yield child.of(kinds[found.document], reader)
        elif found.document is None:
            made = _undocumented(hierarchy, path, name, names)
            if made is not None:
                yield made
        else:
            document = {f"{prefix}{name}/{found.document}": found.value or b""}
            kind = _stated_kind(hierarchy, f"{above}{name}", document)
            if kind is None:
                made = _child(hierarchy, path, name, document)
                if made is not None:
                    yield made
            elif whole and (kind == "array" or not own or of_group <= {found.document}):
                yield child.of(kind, partial(_read_child, hierarchy, path, documents=document))
            else:
                yield child.of(kind, reader)


def _undocumented(hierarchy: NodeContext, path: str, name: str, names: tuple[str, ...]) -> Child | None:
    """The implicit group of that name, for a child that has none of the documents `names`; None if it is no group."""
    where = join_path(path, name)
    prefix = hierarchy.dialect.listing(where)
    try:
        rest = fetch(hierarchy.store, [key for key in hierarchy.keys_of(where) if key[len(prefix) :] not in names])
    except ZarrscopeError as error:
        return Child(name, error=error)
    return _child(hierarchy, path, name, rest)


def _found_beneath(hierarchy: NodeContext, path: str) -> Iterator[Child]:
    if hierarchy.store.listable:
        return hierarchy.dialect.children(path, hierarchy.store.list_dir(hierarchy.dialect.listing(path)))
    from zarrscope.nodes.named_children import named_children

    return named_children(hierarchy, path)


def _with_kinds(
    hierarchy: NodeContext, path: str, batch: Sequence[Child], cancelled: Callable[[], bool]
) -> Iterator[Child]:
    """Yields the children that are nodes, with the kinds from their documents, which are fetched in parallel."""
    found = _by_documents(hierarchy, path, batch, cancelled)
    if hierarchy.store.listable:
        yield from found
        return
    origins = {child.name: child.origin for child in batch}
    for child in found:
        child.origin = origins[child.name]
        yield child


def _by_documents(
    hierarchy: NodeContext, path: str, batch: Sequence[Child], cancelled: Callable[[], bool]
) -> Iterator[Child]:
    """As `_with_kinds`, without the origins of the children."""
    keys = {child.name: hierarchy.outline_of(join_path(path, child.name)) for child in batch if child.kind is None}
    copies = hierarchy.consolidated_metadata.documents if hierarchy.consolidated_metadata is not None else {}
    documents: dict[str, StoredDocument] = {
        key: copies[key] for group in keys.values() for key in group if key in copies
    }
    wanted = [key for group in keys.values() for key in group if not any(k in documents for k in group)]
    failed: dict[str, ZarrscopeError] = {}
    for key, answer in hierarchy.answers(wanted, cancelled).items():
        if isinstance(answer, ZarrscopeError):
            failed[key] = answer
        elif answer is not None:
            documents[key] = answer
    own, read = hierarchy.prefers_own, partial(_read_child, hierarchy, path)
    plain: list[str] = []
    for child in batch:
        if cancelled():
            return
        if child.kind is not None:
            yield child.with_reader(read) if own else child
            continue
        errors = [failed[key] for key in keys[child.name] if key in failed]
        denied = [error for error in errors if isinstance(error, Denied | TooLarge)]
        if len(errors) > len(denied):
            yield Child(child.name, error=next(error for error in errors if error not in denied))
            continue
        held = {k: documents[k] for k in keys[child.name] if k in documents}
        if denied and not held:
            yield Child(child.name, error=denied[0])
            continue
        if not held and hierarchy.searches:
            plain.append(child.name)
            continue
        made = _child(hierarchy, path, child.name, held)
        if made is not None:
            yield made
    yield from _searched(hierarchy, path, plain, cancelled)


def _searched(
    hierarchy: NodeContext, path: str, names: Sequence[str], cancelled: Callable[[], bool]
) -> Iterator[Child]:
    """Those of these folders beneath which there are nodes, as groups; several are searched at once."""
    from zarrscope.runtime.threads import shared

    made: dict[str, Child | None] = {}

    def search(name: str) -> None:
        if not cancelled():
            made[name] = _child(hierarchy, path, name, {})

    for first in range(0, len(names), SEARCHED_AT_ONCE):
        now = names[first : first + SEARCHED_AT_ONCE]
        shared().share(now, search, len(now), waits=True)
        yield from (found for name in now if (found := made.get(name)) is not None)


def attributes_beneath(
    hierarchy: NodeContext, path: str, names: Iterable[str], cancelled: Callable[[], bool] = never
) -> dict[str, Mapping[str, Any]]:
    """Name → attributes, for those of the groups `names` beneath `path` that can be read.

    For hosts that show more of a group than a listing reads. Documents that are cached are not requested again, and the
    others are requested in parallel.
    """
    keys = {name: hierarchy.keys_of(join_path(path, name), "group") for name in names}
    answers = hierarchy.answers([key for group in keys.values() for key in group], cancelled)
    found: dict[str, Mapping[str, Any]] = {}
    for name, group in keys.items():
        documents = {key: value for key in group if isinstance(value := answers.get(key), bytes)}
        with suppress(ZarrscopeError):  # the listing has told a fault of the group
            node = hierarchy.described(join_path(path, name), documents) if documents else None
            if node is not None:
                found[name] = as_far_as_read(node.attributes)
    return found


def _child(hierarchy: NodeContext, path: str, name: str, documents: Mapping[str, StoredDocument]) -> Child | None:
    """The child that these documents describe; None if they describe no node. If its kind is evident, its metadata are
    parsed on demand. On a local disk a group's attributes are read before that, if another document has them: that
    costs no round trip."""
    where = join_path(path, name)
    kind = _stated_kind(hierarchy, where, documents) if documents else None
    if kind is not None:
        more = kind == "group" and hierarchy.prefers_own
        whole = not more or documents.keys() >= set(hierarchy.keys_of(where, kind))
        return Child(name, kind, read=partial(_read_child, hierarchy, path, documents=documents if whole else None))
    try:
        node = hierarchy.described(where, documents)
        if node is None and not documents:
            need_no_folder(hierarchy.store, hierarchy.outline_of(where))
            node = hierarchy.implicit_group(where, listed=True)
    except ZarrscopeError as error:
        return Child(name, error=error)
    if node is None:
        return None
    wrong = _wrong_with(hierarchy, node.metadata)
    return Child(name, node.metadata.kind, node.metadata, wrong, attributes=node.attributes)


def with_reader(hierarchy: NodeContext, path: str, child: Child) -> Child:
    """A child whose kind follows from its key. Its documents are read on demand, if that costs no round trip."""
    if child.kind is not None and hierarchy.prefers_own:
        return child.with_reader(partial(_read_child, hierarchy, path))
    return child


def _read_child(
    hierarchy: NodeContext, path: str, name: str, documents: Mapping[str, StoredDocument] | None = None
) -> ParsedChild:
    """Parses a child's documents into its metadata or an error. If `documents` is None, reads them first."""
    where = join_path(path, name)
    try:
        node = hierarchy.own_node(where) if documents is None else hierarchy.described(where, documents)
    except ZarrscopeError as error:
        return ParsedChild(None, error)
    if node is None:
        gone = NotFound("The node was removed after it was listed", store=hierarchy.url, key=where.lstrip("/"))
        return ParsedChild(None, gone)
    return ParsedChild(node.metadata, _wrong_with(hierarchy, node.metadata), node.attributes)


def _wrong_with(hierarchy: NodeContext, metadata: ArrayMetadata | GroupMetadata) -> ZarrscopeError | None:
    """The first fault in the documents of a node that can still be opened; None without faults."""
    return metadata.defects[0].error.located(store=hierarchy.url) if metadata.defects else None


def _stated_kind(hierarchy: NodeContext, path: str, documents: Mapping[str, StoredDocument]) -> NodeKind | None:
    kinds = (dialect.stated_kind(path, documents) for dialect in hierarchy.dialects)
    return next((kind for kind in kinds if kind is not None), None)


def _copied(hierarchy: NodeContext, copies: ConsolidatedMetadata, path: str) -> Iterator[Child]:
    for child in hierarchy.dialect.children(path, copies.list_dir(hierarchy.dialect.listing(path))):
        where = join_path(path, child.name)
        keys = hierarchy.dialect.documents(where)
        documents = {key: copies.documents[key] for key in keys if key in copies.documents}
        made = _child(hierarchy, path, child.name, documents) if documents else None
        if made is None and not documents:  # nodes lie beneath, so it is an implicit group
            made = Child(child.name, "group", GroupMetadata(hierarchy.dialect.name, implicit=True))
        if made is not None:
            made.origin = "consolidated"
            yield made
