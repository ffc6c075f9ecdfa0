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
class TreeRow:
    """The snapshot of one row. `id` refers to it in the methods of the presenters."""

    id: int
    parent: int
    """The id of the parent's row; -1 for the root."""
    path: str
    name: str
    """The name as text that is safe to display; use `path`, not this text, to refer to the node."""
    kind: Literal["group", "array"] | None
    """The kind of the node; None, which hosts paint dimmed, if it is not known yet or the node is broken."""
    icon: str
    """The kind of icon: "group" | "image" | "labels" | "plate" (several images: a plate, well or series) |
    "array" | "text" | "unknown"."""
    detail: str
    """The dimmed second column: "5-D uint16"."""
    title: str
    """"well A/1", "field 1" or the name that an image states; `detail` begins with it. "" for other nodes."""
    badge: str
    """The fault of the node, "" if there is none: shown as a mark with this text as its tooltip."""
    state: RowState
    expandable: bool
    expanded: bool
    depth: int
    """The number of groups that contain the node; 0 for the root."""
    sentence: str
    """A sentence about the row's children: loading, empty, or the reason why they could not be read; else ""."""
    retry: bool
    """Whether reading the children again, with `retry(id)`, may help."""
    offer: str
    """The id of a command that would help, besides `retry`: "credentials", or ""."""
    dirty: bool
    """Whether the node's attributes have unsaved changes."""
    origin: str
    """How the node was found: "Listed by the store."; hosts show this in a tooltip."""
