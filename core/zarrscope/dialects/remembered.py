"""What documents said when they were read last: the same bytes at the same place are not parsed and checked again.

Documents are fetched anew each time; only what follows from their bytes, the dialect and the path is remembered, of the
last `KEPT` documents of at most `LIMIT` bytes. What is remembered cannot be changed: metadata are frozen, and
attributes are handed out as copies. Not remembered are faults, and what hangs on packages that may be installed
meanwhile: whatever is reported as an extension, and dialects of other packages.

2026-11-21 (tests/bench/run.py "warm"): parsing and checking takes 30 to 60 µs, half of opening an array again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Any

from zarrscope.dialects.detection import detect
from zarrscope.dialects.protocol import Detected, Dialect, Node, Source

KEPT = 512
LIMIT = 8 << 10
MOST_NESTED = 200
"""Of attributes with more objects and lists no copies are made: they may lie inside one another."""

_found: OrderedDict[Hashable, Any] = OrderedDict()
"""In the order of reading. Each call of it is whole by itself, so threads need no lock."""


def detected(documents: Mapping[str, bytes], lenient: bool) -> Detected | None:
    """As `detect`."""
    same = _comparable(documents)
    found: Detected | None = _found.get((lenient, same)) if same else None
    if found is None:
        found = detect(documents, lenient=lenient)
        if same and found is not None and not hasattr(found.dialect, "signs"):
            _remember((lenient, same), found)
    return found


def parsed(dialect: Dialect, path: str, documents: Mapping[str, Source]) -> Node | None:
    """As `dialect.parse`."""
    same = _comparable(documents)
    if not same:
        return dialect.parse(path, documents)
    node: Node | None = _found.get((dialect, path, same))
    if node is None:
        node = dialect.parse(path, documents)
        nested = sum(document.count(b"{") + document.count(b"[") for _, document in same)
        if node is None or node.metadata.extensions or nested > MOST_NESTED:
            return node
        _remember((dialect, path, same), node)
    return Node(path, node.metadata, _copy(node.attributes), node.warnings)


def _comparable(documents: Mapping[str, Source]) -> tuple[tuple[str, bytes], ...]:
    """The documents as something to remember by; () where that would take too much."""
    size = 0
    found = []
    for key, value in documents.items():
        if not isinstance(value, bytes):
            return ()
        size += len(value)
        found.append((key, bytes(value)))  # a Held would keep what was made of it
        if size > LIMIT:
            return ()
    return tuple(found)


def _remember(key: Hashable, value: Any) -> None:
    _found[key] = value
    if len(_found) > KEPT:
        _found.popitem(last=False)


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _copy(each) for name, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list) else value
