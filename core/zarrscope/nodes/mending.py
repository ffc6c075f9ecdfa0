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
from zarrscope.model.node_path import clean_path
from zarrscope.nodes.detect import document_limit, fetch

if TYPE_CHECKING:
    from zarrscope.jsondoc.document import Document
    from zarrscope.nodes.context import NodeContext
    from zarrscope.nodes.hierarchy_like import HierarchyLike


def whole_document(hierarchy: HierarchyLike, path: str, key: str = "") -> Document:
    """The whole document at `key` of a node, even if its text is not JSON; by default the node's first faulty one, or
    else the one with its attributes. Raises NotFound if the node has no such document, and Unreadable.

    If the text is not JSON, the result is an `UnparsedDocument` with the `text` and the `fault`; `document_or_text`
    (jsondoc/unparsed.py) makes a document from a corrected text, for `Hierarchy.save`.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> h = zarrscope.open(MemoryStore({"zarr.json": b'{"zarr_format": 3, "node_type": "group"'}), mode="r+")
    >>> broken = whole_document(h, "/")
    >>> broken.fault.message
    'Line 1, column 40: The document ends too early: a quote, bracket or brace is not closed'
    >>> _ = h.save("/", document_or_text(broken.text + "}", broken.key, broken.version))
    >>> zarrscope.open(h.store).root.problem is None
    True
    """
    context, path = hierarchy._nodes, clean_path(path)
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


def consequence(hierarchy: HierarchyLike, path: str, document: Document) -> str:
    """The reason why a node would not be valid with an edited document, as a sentence; "" if it would be. Nothing is
    written. Raises Unreadable if the other documents of the node cannot be read.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> h = zarrscope.open(MemoryStore(), mode="w-")
    >>> consequence(h, "/", h.document("/").set("/node_type", "grupe"))
    'node_type must be "array" or "group", not "grupe"'
    """
    context, path = hierarchy._nodes, clean_path(path)
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
