"""Changes a hierarchy: creates nodes, saves documents, resizes arrays, erases nodes.

Each document is stored atomically, and only if the stored version is the one that was read. The document that makes a
node is written last when the node is created, and erased first when it is erased. So the remains of a crash are never
taken for a node, and a new array is never created where other data lie. Creating and erasing nodes takes a lock
(Store.lock): if two processes create the same node, one succeeds and the other gets a Conflict. The consolidated copies
are updated after every edit; if that fails, the hierarchy's `warnings` say that they are stale. A node that demands an
extension unknown here is never written.

Specification: v3 core "Operations", reference.md A.6 "Delete", "Existence", A.9, D.1.6.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zarrscope.dialects import Dialect, Node, NodeKind, StoredDocument
from zarrscope.errors import (
    BadMetadata,
    Conflict,
    Exists,
    NotFound,
    NotStandard,
    ReadOnly,
    Refused,
    Unsupported,
    ZarrscopeError,
)
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.nonstandard import need_standard
from zarrscope.jsondoc.parse import CONSOLIDATED_LIMIT, parsed_once
from zarrscope.jsondoc.unparsed import UnparsedDocument, document_or_text
from zarrscope.model.metadata import ArrayMetadata, ExtensionOutcome, GroupMetadata
from zarrscope.model.node_path import join_path, paths_above
from zarrscope.model.storage import ABSENT
from zarrscope.nodes.consolidated import follow
from zarrscope.nodes.detect import document_limit, fetch
from zarrscope.nodes.listing import nothing_at
from zarrscope.nodes.new_documents import NewDocuments, erased_on_failure

if TYPE_CHECKING:
    from zarrscope.nodes.context import NodeContext


# ---------------------------------------------------------------------------------------------- creating
def create_node(
    hierarchy: NodeContext, path: str, metadata: ArrayMetadata | GroupMetadata, attributes: Mapping[str, Any]
) -> NewDocuments:
    """Writes the documents of a new node, and of the groups above it that are missing, and returns them. None of them
    is left if it fails. See Hierarchy.create_group."""
    hierarchy.need_writing(key_of(hierarchy, path))
    with hierarchy.store.lock():
        above = need_place(hierarchy, path)
        taken = hierarchy.own_node(path)
        if taken is not None:
            raise Exists(
                f"There is a node {path} already: {'an array' if taken.metadata.kind == 'array' else 'a group'}",
                store=hierarchy.url,
                key=key_of(hierarchy, path),
                advice="Choose another path, or erase that node first.",
            )
        if metadata.kind == "array":
            need_nothing_beneath(hierarchy, path)
        documents = hierarchy.dialect.write(path, metadata, attributes)
        with erased_on_failure(hierarchy) as new:
            create_groups(hierarchy, above, new)
            _store_new(hierarchy, path, metadata.kind, documents, new)
        hierarchy.forget()
    return new


def need_place(hierarchy: NodeContext, path: str, *, instead_of: str = "") -> list[str]:
    """The paths of the missing groups above `path`, the root first.

    Raises Refused if a node may not be created at `path`: because of its name, beneath an array, or beside a name that
    counts as equal (except `instead_of`, which will be removed). Raises ReadOnly. In a folder of several hierarchies,
    use the context that `folders.within` returns.
    """
    hierarchy.need_writing(key_of(hierarchy, path))
    need_understanding_above(hierarchy, path)
    missing: list[str] = []
    for above in paths_above(path):
        node = hierarchy.own_node(above)
        if node is not None and node.metadata.kind == "group" and node.metadata.defects:
            raise node.metadata.defects[0].error.located(store=hierarchy.url)
        if node is not None and node.metadata.kind == "array":
            raise Refused(
                f"{above} is an array: no node can be made beneath it",
                store=hierarchy.url,
                advice="Choose another path.",
            )
        if node is None and above not in hierarchy.outside:
            missing.append(above)
    for name in path.split("/")[1:]:
        if name:
            hierarchy.dialect.check_name(name)
    _need_other_case(hierarchy, path, instead_of)
    return missing


def need_nothing_beneath(hierarchy: NodeContext, path: str) -> None:
    """Raises Conflict if values exist where an array at `path` would store its chunks, or nodes lie beneath
    `path`."""
    if not hierarchy.store.listable or path == "/":
        return
    # attributes without a node are left by a process that was killed while it created the node: see _store_new
    own = hierarchy.dialect.documents(path)
    for prefix in hierarchy.dialect.erase(path, "array").prefixes:
        entry = next((e for e in hierarchy.store.list_dir(prefix) if prefix + e.name not in own), None)
        if entry is not None:
            raise Conflict(
                f"Data already lies beneath {path}, though there is no array",
                store=hierarchy.url,
                key=prefix + entry.name,
                advice="Erase the keys there first, or choose another path. A copy or an erasure may have stopped.",
            )


def create_groups(hierarchy: NodeContext, paths: list[str], new: NewDocuments) -> None:
    """Writes the documents of groups, and adds them to `new`. The caller holds the lock for changing nodes. A group
    that others created meanwhile is kept."""
    for path in paths:
        documents = hierarchy.dialect.write(path, GroupMetadata(hierarchy.dialect.name), {})
        try:
            _store_new(hierarchy, path, "group", documents, new)
        except Conflict:
            continue


def _store_new(
    hierarchy: NodeContext, path: str, kind: NodeKind, documents: Mapping[str, bytes], new: NewDocuments
) -> None:
    """Stores a document of attributes first, so that the node already has them when it appears. `new` gets the
    documents that were stored."""
    stored = new.setdefault(path, {})
    first = hierarchy.dialect.attributes_at(path, kind)[0]
    for key, value in sorted(documents.items(), key=lambda item: item[0] != first):
        try:
            hierarchy.store.set(key, value, expect=ABSENT)
        except Conflict:
            left = hierarchy.store.get_versioned(key, document_limit(hierarchy.store, "zarr.json"))
            if key != first or len(documents) == 1 or left is None:
                raise
            # There is no node and we hold the lock: a process was killed after it had stored these attributes.
            hierarchy.store.set(key, value, expect=left[1])
        stored[key] = value
    follow(hierarchy, {**documents})


# ---------------------------------------------------------------------------------------------- documents
def save(hierarchy: NodeContext, path: str, document: Document, *, allow_nan: bool = False) -> Document:
    """Stores an edited document unless somebody changed it meanwhile. See Hierarchy.save; `path` is clean."""
    with parsed_once(share=True):
        return _save(hierarchy, path, document, allow_nan)


def _save(hierarchy: NodeContext, path: str, document: Document, allow_nan: bool) -> Document:
    hierarchy.need_writing(document.key)
    if isinstance(document, UnparsedDocument):
        raise document.fault.located(store=hierarchy.url, key=document.key)
    if document.version is None:
        raise Refused("A document without a version cannot be saved", key=document.key, advice="Read it again first.")
    documents: dict[str, StoredDocument] = {**fetch(hierarchy.store, hierarchy.keys_of(path))}
    before = hierarchy.described(path, documents)
    if before is not None:
        need_understanding(hierarchy, before)
    need_understanding_above(hierarchy, path)
    if document.notes and not allow_nan:
        stored = documents.get(document.key)
        known = document_or_text(stored, document.key, limit=CONSOLIDATED_LIMIT) if isinstance(stored, bytes) else None
        try:
            need_standard(known, document)
        except NotStandard as error:
            raise error.located(store=hierarchy.url) from None
    documents[document.key] = document.bytes
    # The kind of a node with a faulty document is a guess, so another kind may be right.
    faulty = before is not None and any(defect.key == document.key for defect in before.metadata.defects)
    after = (hierarchy.described if faulty else hierarchy.parsed)(path, documents)
    if before is not None and not faulty and (after is None or after.metadata.kind != before.metadata.kind):
        raise BadMetadata(
            f"With this edit {path} would no longer be a node of its kind ({before.metadata.kind})",
            store=hierarchy.url,
            key=document.key,
            advice="Nothing was saved: undo that part of the edit.",
        )
    # Non-standard values that are already stored may stay or be repaired; the edit must not add any.
    if after is not None and after.metadata.defects and not (before is not None and before.metadata.defects):
        wrong = after.metadata.defects[0].error.located(store=hierarchy.url)
        wrong.advice = wrong.own_advice or "Nothing was saved: correct the value first."
        raise wrong
    linked = hierarchy.store.files.links(document.key) > 1
    version = hierarchy.store.set(document.key, document.bytes, expect=document.version)
    if linked:
        note = f"The file {document.key} has another name (a hard link), which still has the former content"
        hierarchy.warnings = (*(each for each in hierarchy.warnings if each != note), note)
    if lost := hierarchy.store.files.lost_rights(document.key):
        rights = " and its ".join(lost)
        note = f"The file {document.key} could not keep its {rights}: set it again, or ask an administrator"
        hierarchy.warnings = (*(each for each in hierarchy.warnings if each != note), note)
    if path == "/":
        hierarchy.forget()
    follow(hierarchy, {document.key: document.bytes})
    return document.read_at(version)


def resize(hierarchy: NodeContext, path: str, metadata: ArrayMetadata, shape: tuple[int, ...]) -> ArrayMetadata:
    """See Array.resize. Raises Conflict when others have resized the array since `metadata` was read."""
    with parsed_once():
        return _resize(hierarchy, path, metadata, shape)


def _resize(hierarchy: NodeContext, path: str, metadata: ArrayMetadata, shape: tuple[int, ...]) -> ArrayMetadata:
    changed = replace(metadata, shape=shape)
    node = need_same_shape(hierarchy, path, metadata)
    if metadata.problem is not None:  # for example, the chunk grid is not understood
        raise metadata.problem.located(store=hierarchy.url, key=hierarchy.dialect_of(node).documents(path, "array")[0])
    for key, members in _resized(hierarchy.dialect_of(node), path, metadata, changed):
        stored = hierarchy.store.get_versioned(key, document_limit(hierarchy.store, "zarr.json"))
        if stored is None:
            continue
        document = Document(stored[0], key, stored[1], limit=CONSOLIDATED_LIMIT)
        for member, value in members.items():
            document = document.set(f"/{member}", value)
        save(hierarchy, path, document)
    return changed


def need_same_shape(hierarchy: NodeContext, path: str, metadata: ArrayMetadata) -> Node:
    """The array's node as stored now. Raises Conflict if its shape is another one than in `metadata`, NotFound,
    ReadOnly."""
    hierarchy.need_writing(key_of(hierarchy, path))
    node = hierarchy.own_node(path)
    if node is None:
        raise nothing_at(hierarchy, path)
    if not isinstance(node.metadata, ArrayMetadata) or node.metadata.shape != metadata.shape:
        raise Conflict(
            f"{path} was changed since it was opened",
            store=hierarchy.url,
            key=hierarchy.dialect_of(node).documents(path, "array")[0],
            advice="Open it again, then resize it.",
        )
    return node


def _resized(
    dialect: Dialect, path: str, before: ArrayMetadata, after: ArrayMetadata
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields (key, changed members with their new values) for each document that states the shape."""
    try:
        old, new = (
            dialect.write(path, each, {}) for each in (before, after)
        )  # without attributes, which may be large and do not change
    except Unsupported:  # the codec is unknown, but the shape can still be changed
        yield dialect.documents(path, "array")[0], {"shape": [*after.shape]}
        return
    for key, value in new.items():
        was, now = json.loads(old[key]), json.loads(value)
        members = {member: now[member] for member in now if was.get(member) != now[member]}
        if members:
            yield key, members


# ---------------------------------------------------------------------------------------------- erasing
def erase(hierarchy: NodeContext, path: str) -> None:
    """Removes a node and all beneath it. See Hierarchy.erase; `path` is clean."""
    hierarchy.need_writing(key_of(hierarchy, path))
    dialect, kind = need_node(hierarchy, path, remains=True)
    erase_node(hierarchy, dialect, path, kind)


def erase_node(hierarchy: NodeContext, dialect: Dialect, path: str, kind: NodeKind) -> None:
    """Erases everything that belongs to `path`, its own documents first."""
    from zarrscope.chunkio.write_watchers import forget_beneath

    erasure = dialect.erase(path, kind)
    documents = dialect.documents(path)
    with hierarchy.store.lock():
        stored = fetch(hierarchy.store, [*dict.fromkeys((*documents, *erasure.keys))])
        keys = sorted(stored, key=lambda key: (key not in documents, key))
        hierarchy.store.erase_values(keys)
        for prefix in erasure.prefixes:
            hierarchy.store.erase_prefix(prefix)
        hierarchy.forget()
        forget_beneath(hierarchy.url, path)
        if path == "/":
            hierarchy.consolidated_metadata = None
        else:
            follow(hierarchy, {}, gone=(keys, erasure.prefixes))


def need_node(hierarchy: NodeContext, path: str, *, remains: bool = False) -> tuple[Dialect, NodeKind]:
    """The dialect and the kind of the node at `path`; broken documents and implicit groups count as nodes.

    With `remains`, keys beneath a path without a node count as a group. Raises NotFound; Refused for a path within an
    array; ReadOnly for a node that demands an extension unknown here.
    """
    for above in paths_above(path):
        try:
            node = hierarchy.own_node(above)
        except ZarrscopeError:
            continue
        if node is not None and node.metadata.kind == "array":
            raise Refused(
                f"{above} is an array: the keys beneath it are its chunks",
                store=hierarchy.url,
                advice=f"Name {above} itself, or write its values.",
            )
    need_understanding_above(hierarchy, path)
    try:
        node = hierarchy.own_node(path) or hierarchy.node_at(path)
    except BadMetadata:
        documents = fetch(hierarchy.store, hierarchy.keys_of(path))
        for dialect in hierarchy.dialects:
            if any(key in documents for key in dialect.documents(path)):
                return dialect, dialect.stated_kind(path, documents) or "group"
        raise
    if node is not None:
        need_understanding(hierarchy, node)
        need_spelling(hierarchy, path)
        return hierarchy.dialect_of(node), node.metadata.kind
    if remains and path != "/" and hierarchy.store.listable:
        prefixes = hierarchy.dialect.erase(path, "group").prefixes
        if any(next(hierarchy.store.list_dir(prefix), None) is not None for prefix in prefixes):
            return hierarchy.dialect, "group"
    raise nothing_at(hierarchy, path)


def vanishing(hierarchy: NodeContext, path: str) -> list[str]:
    """The groups above `path` that exist only because something lies beneath them (implicit groups)."""
    found = []
    for above in paths_above(path):
        try:
            if above != "/" and hierarchy.own_node(above) is None:
                found.append(above)
        except ZarrscopeError:
            continue
    return found


def vanished(hierarchy: NodeContext, above: list[str]) -> tuple[str, ...]:
    """A sentence for each group of `above`, a result of `vanishing`, that is gone now."""
    return tuple(
        f"{each}, a group without its own document, vanishes as well: it contains nothing else"
        for each in above
        if each not in hierarchy
    )


# ---------------------------------------------------------------------------------------------- checks
def key_of(hierarchy: NodeContext, path: str) -> str:
    """The key to name in an error about the node at `path`; v1 has documents at the root only."""
    return next(iter(hierarchy.dialect.documents(path)), path)


def need_spelling(hierarchy: NodeContext, path: str) -> None:
    """Raises NotFound if the file system takes `path` for a node whose name has another case or Unicode form."""
    for key in hierarchy.keys_of(path):
        stored = hierarchy.store.files.spelled(key)
        if stored != key:
            raise NotFound(
                f"There is no node {path}: this file system takes the name for that of another node, {stored}",
                store=hierarchy.url,
                key=key,
                advice="Nothing was changed. Name the node as it is listed.",
            )


def need_understanding(hierarchy: NodeContext, node: Node) -> None:
    """Raises ReadOnly for a node that demands an extension unknown here: a change might break its rules."""
    for report in node.metadata.extensions:
        of_all = bool(report.key)  # the extension comes from another document, and applies to the whole hierarchy
        if report.outcome is ExtensionOutcome.REFUSED and (report.passable or of_all):
            raise ReadOnly(
                f"{node.path} demands the {report.point} {report.name!r}, which is not understood here",
                store=hierarchy.url,
                key=report.key or hierarchy.dialect_of(node).documents(node.path, node.metadata.kind)[0],
                pointer=report.pointer,
                advice="zarrscope changes nothing there or beneath. Use a program that understands the extension.",
            )


def need_understanding_above(hierarchy: NodeContext, path: str) -> None:
    """Raises ReadOnly beneath a group that demands an extension unknown here, because it also applies to the group's
    children (ZEP 9, "Application to subnodes"). The groups' documents are fetched in parallel, each once.
    """
    groups = [above for above in paths_above(path) if above not in hierarchy.checked_groups]
    found = fetch(hierarchy.store, [key for group in groups for key in hierarchy.keys_of(group, "group")])
    documents = {key: hierarchy.held(key, value) for key, value in found.items()}
    for group in groups:
        implicit = Node(group, GroupMetadata(hierarchy.dialect.name, extensions=hierarchy.dialect.extensions), {})
        try:
            node = hierarchy.parsed(group, documents) or implicit
        except ZarrscopeError:
            continue
        need_understanding(hierarchy, node)
        hierarchy.checked_groups.add(group)


def _need_other_case(hierarchy: NodeContext, path: str, instead_of: str = "") -> None:
    """Raises Refused if the dialect forbids names that differ only in case from a sibling's (2019 drafts, D.1.6), and
    the name is one."""
    above, _, name = path.rpartition("/")
    if not name or not hierarchy.dialect.case_blind or not hierarchy.store.listable:
        return
    beside = hierarchy.dialect.children(above, hierarchy.store.list_dir(hierarchy.dialect.listing(above)))
    taken = next(
        (
            child.name
            for child in beside
            if child.name != name and child.name.lower() == name.lower() and join_path(above, child.name) != instead_of
        ),
        None,
    )
    if taken is not None:
        raise Refused(
            f"{hierarchy.dialect.title} takes {name!r} and the existing {taken!r} for the same name",
            store=hierarchy.url,
            advice="Choose a name that differs in more than upper and lower case.",
        )
