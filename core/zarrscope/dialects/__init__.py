"""Dialects: the versions of Zarr, its drafts, and N5. A dialect names the keys of a node's documents and chunks, and
translates the documents into canonical metadata and back.

A dialect does no I/O: it names keys and translates documents, and the hierarchy (zarrscope/nodes) fetches and stores
them. Therefore the hierarchy can fetch several documents in parallel, take documents from consolidated metadata without
a request, count its requests, and plan a change without making it.

`DIALECTS` lists all dialects in probing order, those of other packages last; `detect` finds the dialect of a hierarchy
from the documents at its root, fetched under the keys `PROBES`. protocol.py defines the interface of a dialect;
detection.py has the table of dialects; pipeline.py translates codecs.
"""

from typing import TYPE_CHECKING, Any

from zarrscope.dialects import detection
from zarrscope.dialects.detection import (
    LATE_PROBES,
    PROBES,
    bare_root_dialects,
    detect,
    detect_broken,
    detect_listed,
    dialect_named,
    late_probes,
    opened_as,
    plugin_faults,
    written_dialects,
)
from zarrscope.dialects.protocol import Child, Detected, Dialect, Erasure, Node, NodeKind, ParsedChild, StoredDocument

if TYPE_CHECKING:
    from zarrscope.dialects.detection import DIALECTS


def __getattr__(name: str) -> Any:
    if name == "DIALECTS":
        return detection.DIALECTS
    raise AttributeError(f"module 'zarrscope.dialects' has no attribute {name!r}")


__all__ = [
    "DIALECTS",
    "LATE_PROBES",
    "PROBES",
    "Child",
    "Detected",
    "Dialect",
    "Erasure",
    "Node",
    "NodeKind",
    "ParsedChild",
    "StoredDocument",
    "bare_root_dialects",
    "detect",
    "detect_broken",
    "detect_listed",
    "dialect_named",
    "late_probes",
    "opened_as",
    "plugin_faults",
    "written_dialects",
]
