"""Compares the copies in consolidated metadata with the documents that they copy (spec A.8)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from zarrscope.check.finding import Finding, finding_of
from zarrscope.dialects import Dialect, StoredDocument
from zarrscope.errors import ZarrscopeError
from zarrscope.jsondoc.parse import parse_json
from zarrscope.nodes.detect import fetch
from zarrscope.nodes.hierarchy import Hierarchy

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON


def copies(hierarchy: Hierarchy) -> Mapping[str, StoredDocument] | None:
    """The documents that the root's consolidated metadata hold, by key; None if there are none to read."""
    store, dialect = hierarchy.store, hierarchy.dialect
    try:
        return dialect.consolidated({**fetch(store, dialect.documents("/"))})
    except ZarrscopeError:
        return None  # opening the hierarchy gave a warning about it


def stale_copies(
    hierarchy: Hierarchy, held: Mapping[str, StoredDocument] | None, path: str, cancelled: Callable[[], bool]
) -> list[Finding]:
    """Findings where the copies that consolidated metadata hold differ from the documents at `path` and beneath."""
    if held is None:
        return []
    store, dialect = hierarchy.store, hierarchy.dialect
    prefix = dialect.listing(path)
    places = {key: dialect.consolidated_location(key) for key in held if key.startswith(prefix)}
    keys = sorted(key for key, place in places.items() if place is not None)
    findings: list[Finding] = []
    for at in range(0, len(keys), 256):
        batch = keys[at : at + 256]
        answers = store.get_many([(key, None) for key in batch], cancelled)
        for i, answer in sorted(answers, key=lambda pair: pair[0]):
            key = batch[i]
            node = "/" + key.rpartition("/")[0]
            if isinstance(answer, ZarrscopeError):
                findings.append(finding_of(answer, node, key))
                continue
            told, place = _difference(dialect, node, key, held[key], answer), places[key]
            if told is not None and place is not None:
                (code, message), (holder, pointer) = told, place
                advice = "Readers that use the copy see other metadata. Consolidate the metadata again."
                findings.append(Finding("error", code, node, message, holder, pointer, advice))
    return findings


def _difference(
    dialect: Dialect, path: str, key: str, copy: StoredDocument, own: bytes | None
) -> tuple[str, str] | None:
    """Returns (code, message) if a copy differs in meaning from the node's own document, else None."""
    held = copy if isinstance(copy, Mapping) else parse_json(copy)
    if own is None:
        if not held:
            return None  # a copy of empty attributes, which need no document
        return "copy-without-node", "The consolidated metadata has a document that is not stored"
    try:
        stored = parse_json(own)
    except ZarrscopeError:
        return None  # the checks of the node report its broken document
    if _plain(held) == _plain(stored) or _same_node(dialect, path, key, held, own):
        return None
    return "copy-stale", "The consolidated metadata differs from the node's own document"


def _same_node(dialect: Dialect, path: str, key: str, held: JSON, own: bytes) -> bool:
    """Whether the copy `held` and the document `own` describe the same node. One may state a default that the other
    leaves out."""
    try:
        nodes = [dialect.parse(path, {key: each}) for each in (held, own)]
    except ZarrscopeError:
        return False
    first, second = nodes
    return (
        first is not None
        and second is not None
        and (first.metadata == second.metadata and _plain(first.attributes) == _plain(second.attributes))
    )


def _plain(document: object) -> JSON:
    """The content of a document without consolidated metadata, in a form in which NaN equals NaN."""
    if isinstance(document, Mapping):
        document = {name: value for name, value in document.items() if name != "consolidated_metadata"}
    return json.loads(json.dumps(document, sort_keys=True, default=str), parse_constant=str)
