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
    """Clean text; never parse it: use `path`."""
    kind: Literal["group", "array"] | None
    """None: not known yet, or broken; paint it dim."""
    icon: str
    """"group" | "image" | "labels" | "array" | "text" | "unknown": what the picture in front stands for."""
    detail: str
    """The quiet second column: "5-D uint16"."""
    badge: str
    """Why something is wrong with the node, "" when nothing is: a mark, and this as its tool tip."""
    state: RowState
    expandable: bool
    expanded: bool
    depth: int
    """0 for the root."""
    sentence: str
    """About its children: loading, empty, why they could not be read. "" when there is nothing to say."""
    retry: bool
    """`retry(id)` makes sense."""
    dirty: bool
    """Its attributes have changes that are not saved."""
    origin: str
    """How it was found: "Listed by the store."; for a tool tip."""
