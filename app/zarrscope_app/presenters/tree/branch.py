"""The children of one row of the tree, as columns: a group of a hundred thousand children is lists, not objects.

Workers read the children, cut them into batches and sort; the host's thread only swaps lists in, which takes
microseconds however large the group is. A batch goes out when there is something to show: the first ones soon, later
ones larger, so that a large group is not sorted too often.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from zarrscope.dialects import Child
from zarrscope.model.metadata import ArrayMetadata
from zarrscope.model.node_path import natural
from zarrscope.runtime.threads import Ticket
from zarrscope_app.presenters import strings

FIRST_BATCH = 256
EVERY_SECONDS = 0.05


@dataclass(frozen=True)
class Batch:
    """New children in order of arrival, and the order of all that have come so far."""

    names: list[str]
    keys: list[str]
    kinds: list[Literal["group", "array"] | None]
    details: list[str]
    icons: list[str]
    badges: dict[int, str]
    """By position among all children."""
    order: list[int]


def arriving(children: Iterable[Child], send: Callable[[Batch], None], cancelled: Callable[[], bool]) -> None:
    """Sends all children in batches. Runs in a worker."""
    keys: list[str] = []
    order: list[int] = []
    batch: list[Child] = []
    sent = time.monotonic()

    def flush() -> None:
        nonlocal sent, order, batch
        first = len(keys)
        names = [child.name for child in batch]
        new = [natural(name) for name in names]
        keys.extend(new)
        order = [*order, *sorted(range(first, len(keys)), key=keys.__getitem__)]
        order.sort(key=keys.__getitem__)
        badges = {
            first + i: strings.problem(child.error).headline for i, child in enumerate(batch) if child.error is not None
        }
        kinds = [child.kind for child in batch]
        send(Batch(names, new, kinds, [detail(c) for c in batch], [icon(c) for c in batch], badges, order))
        batch = []
        sent = time.monotonic()

    for child in children:
        if cancelled():
            return
        batch.append(child)
        if len(batch) >= max(FIRST_BATCH, len(keys) // 4) or time.monotonic() - sent > EVERY_SECONDS:
            flush()
    if batch:
        flush()


def detail(child: Child) -> str:
    """The quiet second column."""
    metadata = child.metadata
    if not isinstance(metadata, ArrayMetadata):
        return ""
    if "shape" in metadata.unread:
        return strings.UNKNOWN_SHAPE
    return strings.rank(metadata.shape, strings.clean(metadata.dtype.name, 24))


def icon(child: Child) -> str:
    if child.kind == "group":
        return "labels" if child.name == "labels" else "group"
    if child.kind == "array":
        metadata = child.metadata
        if isinstance(metadata, ArrayMetadata):
            numpy = metadata.dtype.numpy
            if numpy is not None and (numpy.kind in "OSU" or numpy.names):
                return "text"
        return "array"
    return "unknown"


@dataclass(eq=False)
class Branch:
    """What is known beneath one row. Only the host's thread touches it."""

    id: int
    path: str
    depth: int
    expanded: bool = False
    state: str = "unknown"
    sentence: str = ""
    retry: bool = False
    dead: bool = False
    """Replaced by a refresh: its children's ids mean nothing any more."""
    ticket: Ticket | None = None
    names: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    kinds: list[Literal["group", "array"] | None] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    icons: list[str] = field(default_factory=list)
    badges: dict[int, str] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    ids: list[tuple[int, int]] = field(default_factory=list)
    """(first child, first id) of each block of ids."""
    below: dict[int, Branch] = field(default_factory=dict)
    """The branches of children, by child."""
    view: Any = None
    """(filter, order list it was made from, branches below) → the children that pass, when a filter is set."""

    def child_path(self, child: int) -> str:
        return f"{self.path.rstrip('/')}/{self.names[child]}"

    def child_id(self, child: int) -> int:
        at = bisect_left(self.ids, (child + 1, -1)) - 1
        first, id = self.ids[at]
        return id + child - first

    def child_named(self, name: str) -> int | None:
        key = natural(name)
        at = bisect_left(self.order, key, key=self.keys.__getitem__)
        if at < len(self.order) and self.keys[self.order[at]] == key:
            return self.order[at]
        return None

    def take(self, batch: Batch, first_id: int) -> None:
        self.ids.append((len(self.names), first_id))
        self.names.extend(batch.names)
        self.keys.extend(batch.keys)
        self.kinds.extend(batch.kinds)
        self.details.extend(batch.details)
        self.icons.extend(batch.icons)
        self.badges.update(batch.badges)
        self.order = batch.order

    def shown(self, needle: str) -> list[int]:
        """The children that pass the filter, in order. `needle` is casefolded; "" is no filter."""
        if not needle:
            return self.order
        kept = {k for k, branch in self.below.items() if branch.shown(needle)}
        stamp = (needle, id(self.order), frozenset(kept))
        if self.view is None or self.view[0] != stamp:
            names = self.names
            # The key begins with the casefolded name only where it has no digits, so names are folded anew.
            self.view = (stamp, [k for k in self.order if needle in names[k].casefold() or k in kept], self.order)
        found: list[int] = self.view[1]
        return found

    def place(self, child: int, needle: str) -> int:
        """The position of a child among those shown, -1 when it is hidden."""
        shown = self.shown(needle)
        at = bisect_left(shown, self.keys[child], key=self.keys.__getitem__)
        return at if at < len(shown) and shown[at] == child else -1

    def size(self, needle: str) -> int:
        """How many rows a flat list has beneath this one, this one not counted."""
        if not self.expanded:
            return 0
        count = len(self.shown(needle))
        for child, branch in self.below.items():
            if branch.expanded and (not needle or self.place(child, needle) >= 0):
                count += branch.size(needle)
        return count
