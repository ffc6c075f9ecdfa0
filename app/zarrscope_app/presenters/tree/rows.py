"""One row of the tree, as hosts paint it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

ROOT = 0


class RowState(Enum):
    """Whether the children of a row are unknown, loading, listed or failed."""

    UNKNOWN = "unknown"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Row:
    id: int
    parent: int
    """-1 for the root."""
    path: str
    name: str
    """The name as text that is safe to display; never parse it: use `path`."""
    kind: Literal["group", "array"] | None
    """None: not known yet, or broken; paint it dimmed."""
    icon: str
    """The kind of icon: "group" | "image" | "labels" | "plate" (several images: a plate, well or series) |
    "array" | "text" | "unknown"."""
    detail: str
    """The dimmed second column: "5-D uint16"."""
    badge: str
    """The fault of the node, "" if there is none: shown as a mark with this text as its tooltip."""
    state: RowState
    expandable: bool
    expanded: bool
    depth: int
    """0 for the root."""
    sentence: str
    """A sentence about the row's children: loading, empty, or the reason why they could not be read; else ""."""
    retry: bool
    """Whether `retry(id)` may help."""
    offer: str
    """The command that would help, besides another try: "credentials", or ""."""
    dirty: bool
    """Whether the node's attributes have unsaved changes."""
    origin: str
    """How the node was found: "Listed by the store."; for a tooltip."""
