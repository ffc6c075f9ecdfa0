"""Changing a hierarchy: nodes created, documents saved, arrays resized, nodes erased.

Each document is stored atomically and only over the version that was read. The consolidated copy follows every edit,
second: when that fails, the hierarchy's `warnings` say that it is stale. Nothing is written to a node that demands an
extension unknown here. Specification: v3 core "Operations", dialects.md A.9, D.1.6.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zarrscope.dialects import Node, Source
from zarrscope.document import Document
from zarrscope.errors import BadMetadata, Conflict, ReadOnly, Refused, ZarrscopeError
from zarrscope.jsontext import CONSOLIDATED_LIMIT
from zarrscope.metadata import ArrayMetadata, GroupMetadata, Outcome
from zarrscope.naming import join_path
from zarrscope.probing import fetch
from zarrscope.store import ABSENT

if TYPE_CHECKING:
    from zarrscope.hierarchy import Hierarchy


def create_node(
    hierarchy: Hierarchy, path: str, metadata: ArrayMetadata | GroupMetadata, attributes: Mapping[str, Any]
) -> None:
    """Writes the documents of a new node, and of the groups above it that are missing. See Hierarchy.create_group."""
    hierarchy.need_writing(hierarchy.dialect.documents(path)[0])
    if len(hierarchy.dialects) > 1:
        raise Refused(
            "New nodes need a hierarchy, and this is a folder of several",
            store=hierarchy.url,
            advice="Open one of those beneath it and create the node there.",
        )
    names = [name for name in path.split("/") if name]
    for name in names:
        hierarchy.dialect.check_name(name)
    plan: list[tuple[str, dict[str, bytes]]] = []
    above = "/"
    for name in names:
        node = hierarchy.own_node(above)
        if node is not None:
            _need_understanding(hierarchy, node)
        if node is not None and node.metadata.kind == "array":
            raise Refused(
                f"{above} is an array: no node can be made beneath it",
                store=hierarchy.url,
                advice="Choose another path.",
            )
        if node is None:
            plan.append((above, hierarchy.dialect.write(above, GroupMetadata(hierarchy.dialect.name), {})))
        above = join_path(above, name)
    taken = hierarchy.own_node(path)
    if taken is not None:
        raise Conflict(
            f"There is a node {path} already: {'an array' if taken.metadata.kind == 'array' else 'a group'}",
            store=hierarchy.url,
            key=hierarchy.dialect.documents(path)[0],
            advice="Choose another path, or erase that node first.",
        )
    _need_other_case(hierarchy, path)
    plan.append((path, hierarchy.dialect.write(path, metadata, attributes)))
    for where, documents in plan:
        last = hierarchy.dialect.attributes_at(where, metadata.kind)[0]  # type: ignore[arg-type]
        # a document of attributes first: the node appears with them, not before them
        for key, value in sorted(documents.items(), key=lambda item: item[0] != last):
            try:
                hierarchy.store.set(key, value, expect=ABSENT)
            except Conflict:
                if where == path:
                    raise  # somebody made this node meanwhile; a group above made by others is as good as ours
            _repeat(hierarchy, {key: value})
    hierarchy.forget()


def save(hierarchy: Hierarchy, path: str, document: Document) -> Document:
    """See Hierarchy.save; `path` is clean."""
    hierarchy.need_writing(document.key)
    if document.version is None:
        raise Refused("A document without a version cannot be saved", key=document.key, advice="Read it anew first.")
    documents: dict[str, Source] = {**fetch(hierarchy.store, hierarchy.keys_of(path))}
    before = hierarchy.parsed(path, documents)
    if before is not None:
        _need_understanding(hierarchy, before)
    documents[document.key] = document.bytes
    after = hierarchy.parsed(path, documents)
    if before is not None and (after is None or after.metadata.kind != before.metadata.kind):
        raise BadMetadata(
            f"Saved like this, {path} would no longer be the node it is", store=hierarchy.url, key=document.key
        )
    version = hierarchy.store.set(document.key, document.bytes, expect=document.version)
    if path == "/":
        hierarchy.forget()
    _repeat(hierarchy, {document.key: document.bytes})
    return document.read_at(version)


def resize(hierarchy: Hierarchy, path: str, metadata: ArrayMetadata, shape: tuple[int, ...]) -> ArrayMetadata:
    """See Hierarchy.resize."""
    hierarchy.need_writing(hierarchy.dialect.documents(path)[0])
    changed = replace(metadata, shape=shape)
    node = hierarchy.own_node(path)
    if node is None:
        raise hierarchy.nothing_at(path)
    old, new = (hierarchy.dialect_of(node).write(path, each, node.attributes) for each in (metadata, changed))
    for key, value in new.items():
        was, now = json.loads(old[key]), json.loads(value)
        stored = hierarchy.store.get_versioned(key)
        if was == now or stored is None:
            continue
        document = Document(stored[0], key, stored[1], limit=CONSOLIDATED_LIMIT)
        for member in now:
            if was.get(member) != now[member]:
                document = document.set(f"/{member}", now[member])
        hierarchy.save(path, document)
    return changed


def erase(hierarchy: Hierarchy, path: str) -> None:
    """See Hierarchy.erase; `path` is clean."""
    hierarchy.need_writing(hierarchy.dialect.documents(path)[0])
    node = hierarchy.own_node(path) or hierarchy.node_at(path)
    if node is None:
        raise hierarchy.nothing_at(path)
    _need_understanding(hierarchy, node)
    erasure = hierarchy.dialect_of(node).erase(path, node.metadata.kind)  # type: ignore[arg-type]
    hierarchy.store.erase_values(erasure.keys)
    for prefix in erasure.prefixes:
        hierarchy.store.erase_prefix(prefix)
    hierarchy.forget()
    if path == "/":
        hierarchy.copies = None
    elif hierarchy.copies is not None:
        gone = [k for k in hierarchy.copies.documents if k in erasure.keys or k.startswith(tuple(erasure.prefixes))]
        _repeat(hierarchy, dict.fromkeys(gone))


def _need_understanding(hierarchy: Hierarchy, node: Node) -> None:
    """Raises ReadOnly for a node that demands an extension unknown here: a change might break what it promises."""
    for report in node.metadata.extensions:
        if report.outcome is Outcome.REFUSED and report.passable:
            raise ReadOnly(
                f"{node.path} demands the {report.point} {report.name!r}, which is not understood here",
                store=hierarchy.url,
                key=hierarchy.dialect_of(node).attributes_at(node.path, node.metadata.kind)[0],  # type: ignore[arg-type]
                pointer=report.pointer,
                advice="Nothing is written or erased there. Change it with what understands the extension.",
            )


def _need_other_case(hierarchy: Hierarchy, path: str) -> None:
    """Raises Refused where names that differ in case only may not lie side by side (the 2019 drafts, D.1.6)."""
    above, _, name = path.rpartition("/")
    if not name or not hierarchy.dialect.case_blind or not hierarchy.store.listable:
        return
    beside = hierarchy.dialect.children(above, hierarchy.store.list_dir(hierarchy.dialect.listing(above)))
    taken = next((child.name for child in beside if child.name != name and child.name.lower() == name.lower()), None)
    if taken is not None:
        raise Refused(
            f"{hierarchy.dialect.title} takes {name!r} and {taken!r}, which is there, for one name",
            store=hierarchy.url,
            advice="Choose a name that differs in more than upper and lower case.",
        )


def _repeat(hierarchy: Hierarchy, changes: Mapping[str, bytes | None]) -> None:
    """Brings the consolidated copy in step: the same change, second. A failure leaves a warning."""
    if hierarchy.copies is None:
        return
    try:
        hierarchy.copies.store(hierarchy.store, changes)
    except ZarrscopeError as error:
        stale = "The consolidated metadata is stale: it could not be brought in step"
        kept = (warning for warning in hierarchy.warnings if not warning.startswith(stale))
        hierarchy.warnings = (*kept, f"{stale} ({error.message})")
    hierarchy.copies = hierarchy.copies.changed(changes)
