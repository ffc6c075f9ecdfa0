"""A cache of parsed documents: if a node's documents are fetched again with the same bytes, they are not parsed again.

Documents are fetched each time. Only the parsed result is cached: it depends on the bytes, the dialect and the path.
The cache holds the last `KEPT` results, each of documents of at most `LIMIT` bytes. Cached results cannot be changed:
metadata are frozen, and callers get copies of attributes. Broken documents are not cached, nor are results that change
if a package is installed: nodes with reported extensions, and dialects of other packages.

Measured 2026-11-21 (tests/bench/run.py "warm"): parsing and checking takes 30 to 60 µs, half of opening an array again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zarrscope.dialects.detection import detect, is_built_in
from zarrscope.dialects.protocol import Detected, Dialect, Node, StoredDocument
from zarrscope.errors import BadMetadata, ZarrscopeError
from zarrscope.runtime.memo import Memo
from zarrscope.runtime.tuning import PARSED_BYTES as LIMIT
from zarrscope.runtime.tuning import PARSED_DOCUMENTS as KEPT

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

MOST_NESTED = 200
"""Documents that contain more JSON objects and lists are not cached: they may be nested deeply, and the cache copies
attributes recursively."""

_found: Memo[Any] = Memo(KEPT)


def detected(documents: Mapping[str, bytes], lenient: bool) -> Detected | None:
    """The dialect of a hierarchy from its documents at the root (`detect`); the result is cached."""
    same = _comparable(documents)
    found: Detected | None = _found.get((lenient, same)) if same else None
    if found is None:
        found = detect(documents, lenient=lenient)
        if same and found is not None and is_built_in(found.dialect.name):
            _found.put((lenient, _kept(same)), found)
    return found


def parsed(dialect: Dialect, path: str, documents: Mapping[str, StoredDocument]) -> Node | None:
    """The node that the documents describe (`dialect.parse`), or None; the result is cached."""
    same = _comparable(documents)
    if not same:
        return _parsed(dialect, path, documents)
    node: Node | None = _found.get((dialect, path, same))
    if node is None:
        node = _parsed(dialect, path, documents)
        nested = sum(document.count(b"{") + document.count(b"[") for _, document in same)
        if node is None or node.metadata.extensions or node.metadata.defects or nested > MOST_NESTED:
            return node
        _found.put((dialect, path, _kept(same)), node)
    return Node(path, node.metadata, _copy(node.attributes), node.warnings)


def _parsed(dialect: Dialect, path: str, documents: Mapping[str, StoredDocument]) -> Node | None:
    """Parses without the cache. An unexpected exception becomes a BadMetadata of this node, so that a listing of its
    siblings can continue."""
    try:
        return dialect.parse(path, documents)
    except (ZarrscopeError, MemoryError):
        raise
    except Exception as error:
        made = BadMetadata(
            f"The document cannot be read here ({type(error).__name__}: {error})",
            key=next(iter(documents), None),
            advice="This is a mistake in zarrscope, or in an extension that is installed. Please report it.",
        )
        raise made from error


def _comparable(documents: Mapping[str, StoredDocument]) -> tuple[tuple[str, bytes], ...]:
    """The documents as a cache key; () if they are too large to be kept, or came already parsed."""
    size = 0
    found = []
    for key, value in documents.items():
        if not isinstance(value, bytes):
            return ()
        size += len(value)
        found.append((key, value))
        if size > LIMIT:
            return ()
    return tuple(found)


def _kept(same: tuple[tuple[str, bytes], ...]) -> tuple[tuple[str, bytes], ...]:
    """The key to keep: with copies, because a ParsedBytes would keep its parsed value in memory."""
    return tuple((key, bytes(value)) for key, value in same)


def _copy(value: object) -> JSON:
    if isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101 - asking an abstract class takes longer
        return {name: _copy(each) for name, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list) else value
