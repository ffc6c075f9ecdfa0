"""Dialects: which documents a node has, where its chunks lie, and what the documents say in canonical terms.

A dialect is pure: it names keys and translates documents, the hierarchy does the I/O. So probes run side by side,
consolidated metadata is merely documents already at hand, requests can be counted, and a dry run is the plan itself.

`DIALECTS` lists them in probing order; `detect` finds the one of a hierarchy from the documents at its root, fetched
under the keys `PROBES`. protocol.py says what every dialect promises; pipeline.py knows how codecs translate.
"""

from zarrscope.dialects.detection import (
    DIALECTS,
    LATE_PROBES,
    PROBES,
    detect,
    detect_listed,
    dialect_named,
    late_probes,
    opened_as,
)
from zarrscope.dialects.protocol import Child, Detected, Dialect, Erasure, Insight, Kind, Node, Source

__all__ = [
    "DIALECTS",
    "LATE_PROBES",
    "PROBES",
    "Child",
    "Detected",
    "Dialect",
    "Erasure",
    "Insight",
    "Kind",
    "Node",
    "Source",
    "detect",
    "detect_listed",
    "dialect_named",
    "late_probes",
    "opened_as",
]
