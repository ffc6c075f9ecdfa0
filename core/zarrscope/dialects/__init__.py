"""Dialects: which documents a node has, where its chunks lie, and what the documents say in canonical terms.

A dialect is pure: it names keys and translates documents, the hierarchy does the I/O. So probes run side by side,
consolidated metadata is merely documents already at hand, requests can be counted, and a dry run is the plan itself.

`DIALECTS` lists them in probing order; `detect` finds the one of a hierarchy from the documents at its root, fetched
under the keys `PROBES`. protocol.py says what every dialect promises; pipeline.py knows how codecs translate.
"""

from typing import TYPE_CHECKING, Any

from zarrscope.dialects import detection
from zarrscope.dialects.detection import (
    LATE_PROBES,
    PROBES,
    detect,
    detect_listed,
    dialect_named,
    late_probes,
    opened_as,
)
from zarrscope.dialects.protocol import Child, Detected, Dialect, Erasure, Insight, Kind, Node, Source

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
