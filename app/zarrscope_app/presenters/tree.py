"""The tree of a hierarchy: rows that arrive while one looks at them.

Row ids are ints, stable while the session lives; the root's is 0. A host asks `count(id)` and `rows(id, start, stop)`,
which never block, and repaints when `changed(id)` says that the children of `id` are others, or in another order or
state; the row `id` itself may have changed with them. Hosts without a tree widget paint `flat(start, stop)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from psygnal import Signal

ROOT = 0


class RowState(Enum):
    """What is known about the children of a row."""

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
    """None: not known yet; paint it dim."""
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


class TreePresenter:
    """Rows of one session. All methods on the host's thread; none waits."""

    changed = Signal(int)
    """The children (or their state) of this row, at most once a loop turn for each."""

    def row(self, id: int) -> Row:
        """One row. Raises KeyError for an id that is gone (after a refresh)."""
        raise NotImplementedError

    def count(self, id: int) -> int:
        """How many children pass the filter, of those that have arrived."""
        raise NotImplementedError

    def rows(self, id: int, start: int, stop: int) -> list[Row]:
        """Children start … stop-1 in natural order ("img2" before "img10")."""
        raise NotImplementedError

    def position(self, id: int) -> int:
        """The place of a row among the children of its parent, -1 when the filter hides it."""
        raise NotImplementedError

    @property
    def flat_count(self) -> int:
        """How many rows `flat` has: the root and everything beneath expanded rows."""
        raise NotImplementedError

    def flat(self, start: int, stop: int) -> list[Row]:
        """The tree as one list, depth first, as far as it is expanded."""
        raise NotImplementedError

    def expand(self, id: int) -> None:
        """Shows the children; fetches them the first time."""
        raise NotImplementedError

    def collapse(self, id: int) -> None:
        raise NotImplementedError

    def toggle(self, id: int) -> None:
        raise NotImplementedError

    def refresh(self, id: int = ROOT) -> None:
        """Reads the children again. Ids beneath are new afterwards."""
        raise NotImplementedError

    def cancel(self, id: int) -> None:
        """Stops fetching the children; those that came stay."""
        raise NotImplementedError

    def retry(self, id: int) -> None:
        """After FAILED or a cancel: fetches again."""
        raise NotImplementedError

    def filter(self, text: str) -> None:
        """Shows only rows whose name contains `text` (no matter the case), and the rows above them. "" shows all."""
        raise NotImplementedError

    def find(self, path: str) -> int | None:
        """The row of a node, if it has arrived."""
        raise NotImplementedError

    def reveal(self, path: str) -> None:
        """Expands what lies above a node, as far as need be, fetching on the way."""
        raise NotImplementedError

    def open_child(self, id: int, name: str) -> None:
        """Adds a child by name, where the store cannot list: "a" or "a/b". A wrong name becomes the row's sentence."""
        raise NotImplementedError
