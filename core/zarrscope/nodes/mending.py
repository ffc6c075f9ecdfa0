"""Finds the faulty documents of a node, reads their whole text, even if it is not JSON, and checks whether a corrected
text would describe a valid node. The corrected document is stored by `Hierarchy.save`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrscope.dialects import StoredDocument, detect
from zarrscope.dialects.defects import UnreadAttributes
from zarrscope.errors import BadMetadata, NotFound, ZarrscopeError
from zarrscope.jsondoc.parse import CONSOLIDATED_LIMIT
from zarrscope.jsondoc.unparsed import document_or_text
from zarrscope.nodes.detect import document_limit, fetch

if TYPE_CHECKING:
    from zarrscope.jsondoc.document import Document
    from zarrscope.nodes.context import NodeContext


def read_whole(context: NodeContext, path: str, key: str = "") -> Document:
    """The whole document at `key`, by default the node's first faulty one, or else the one with its attributes."""
    node = context.node_at(path)
    if not key and node is not None:
        faulty = context.faulty_keys(path, node.metadata)
        key = faulty[0] if faulty else context.dialect_of(node).attributes_at(path, node.metadata.kind)[0]
    if key not in context.own_keys(path):
        raise NotFound(f"{path} has no document {key!r}", store=context.url, advice=_names(context, path))
    found = context.store.get_versioned(key, document_limit(context.store, "zarr.json"))
    if found is None:
        raise NotFound(f"The document {key} is not stored", store=context.url, key=key, advice=_names(context, path))
    return document_or_text(found[0], key, found[1], limit=CONSOLIDATED_LIMIT)


def _names(context: NodeContext, path: str) -> str:
    return f"Its documents: {', '.join(fetch(context.store, context.own_keys(path))) or 'none'}."


def consequence(context: NodeContext, path: str, document: Document) -> str:
    """The reason why the node would not be valid with this document, as a sentence; "" if it would be."""
    if context.defect is not None and context.defect.key == document.key:
        return _rules(document)
    documents: dict[str, StoredDocument] = {**fetch(context.store, context.keys_of(path))}
    documents[document.key] = document.bytes
    try:
        node = context.parsed(path, documents)
    except BadMetadata as error:
        return error.message
    if node is None:
        return f"With this text, {path} is not a node"
    if isinstance(node.attributes, UnreadAttributes):
        return node.attributes.defect.message
    own = [defect for defect in node.metadata.defects if defect.key == document.key]
    more = f" ({len(own) - 1} more)" if len(own) > 1 else ""
    return f"{own[0].message}{more}" if own else ""


def _rules(document: Document) -> str:
    """The reason why a document would not state the rules of a hierarchy; "" if it would."""
    try:
        found = detect({document.key: document.bytes})
    except ZarrscopeError as error:
        return error.message
    return "" if found is not None else "The document states no format"
