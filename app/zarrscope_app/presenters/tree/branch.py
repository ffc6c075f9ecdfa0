"""The children of one row of the tree, as columns: a group of a million children is a few arrays, not objects.

Workers list, sort, search and inspect (arriving.py, names.py); the host's thread only swaps in their results, which
takes microseconds for a group of any size.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from zarrscope.dialects import Child
from zarrscope.model.node_path import natural
from zarrscope.runtime.threads import Ticket
from zarrscope.runtime.waits import PendingRequest
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.tree.arriving import KINDS, ArrivedNames, Inspected, Seen
from zarrscope_app.presenters.tree.names import Names

if TYPE_CHECKING:
    from zarrscope.nodes.group import Group

SEARCHED_AT_ONCE = 2000
"""The most names that the host's thread searches itself; more names are searched in a worker."""


@dataclass(eq=False)
class Branch:
    """The children of one row that have arrived. A child is an int: its position in the order of arrival. Used on the
    host's thread only."""

    id: int
    path: str
    depth: int
    expanded: bool = False
    state: str = "unknown"
    sentence: str = ""
    retry: bool = False
    denied: bool = False
    """Whether the children could not be listed because the service denied the credentials."""
    unfolds: int = 0
    """How many more groups beneath may be expanded automatically, if each is the only child of the one above."""
    unlisted: str = ""
    """The sentence that there may be more children than these, because the server did not list them; "" if it did."""
    dead: bool = False
    """Whether a refresh has replaced this branch; the ids of its children are then invalid."""
    ticket: Ticket | None = None
    node: Group | None = None
    """The group, after it was opened."""
    origins: dict[int, str] = field(default_factory=dict)
    """Child → how it was found (`Child.origin`), for children that the store did not list."""
    names: Names = field(default_factory=Names)
    kinds: bytearray = field(default_factory=bytearray)
    seen: dict[int, Seen] = field(default_factory=dict)
    """Child → the data of its row, for children whose documents were read."""
    wanted: dict[int, None] = field(default_factory=dict)
    """Visible children whose documents must still be read, those that became visible last at the end."""
    inspecting: Ticket | None = None
    plain: dict[int, None] = field(default_factory=dict)
    """Visible groups whose attributes must still be read for their icons, in the order of `wanted`."""
    describing: Ticket | None = None
    order: array[int] = field(default_factory=lambda: array("I"))
    gone: set[int] = field(default_factory=set)
    """Children whose names turned out not to be those of nodes."""
    ids: list[tuple[int, int]] = field(default_factory=list)
    """(first child, its id) for each batch; ids within a batch are consecutive."""
    below: dict[int, Branch] = field(default_factory=dict)
    """Child → its own branch, if one was made."""
    found: tuple[str, array[int], array[int]] | None = None
    """The result of the last search in a worker: (filter, the order that was searched, the matching children); None
    before."""
    searching: Ticket | None = None
    _view: tuple[Any, array[int]] | None = None
    """A cache of the displayed children while a filter is set: (the data from which the list was made, the list)."""

    def child_path(self, child: int) -> str:
        """The path of a child in the hierarchy."""
        return f"{self.path.rstrip('/')}/{self.names[child]}"

    def child_id(self, child: int) -> int:
        """The id of a child's row, which is unique in the tree and never changes."""
        at = bisect_left(self.ids, (child + 1, -1)) - 1
        first, id = self.ids[at]
        return id + child - first

    def kind(self, child: int) -> Literal["group", "array"] | None:
        """The kind of a child; None if it is not known yet, or the child is broken."""
        seen = self.seen.get(child)
        return KINDS[self.kinds[child]] if seen is None else seen.kind

    def _key(self, child: int) -> str:
        return natural(self.names[child])

    def _at(self, child: int, among: array[int]) -> int:
        """The position of a child in the sorted list `among`; -1 if the list does not contain the child."""
        at = bisect_left(among, self._key(child), key=self._key)
        return at if at < len(among) and among[at] == child else -1

    def child_named(self, name: str) -> int | None:
        """The child with exactly this name; None if none has arrived. Found by bisection in the sorted names."""
        at = bisect_left(self.order, natural(name), key=self._key)
        if at < len(self.order) and self.names[self.order[at]] == name:
            return self.order[at]
        return None

    def take(self, batch: ArrivedNames, first_id: int) -> None:
        """Adds a batch of children that arrived."""
        self.ids.append((len(self.names), first_id))
        for block in batch.names:
            self.names.extend(block)
        self.kinds.extend(batch.kinds)
        self.seen.update(batch.seen)
        self.origins.update(batch.origins)
        self.order = batch.order
        if self.gone:
            self.order = array("I", (child for child in batch.order if child not in self.gone))

    def tell(self, inspected: Inspected) -> None:
        """Records the data of inspected children, and removes names that are not nodes."""
        order = self.order
        for child, seen in inspected.items():
            self.wanted.pop(child, None)
            if seen is not None:
                self.seen[child] = seen
            elif child not in self.gone:
                self.gone.add(child)
                order = order[:] if order is self.order else order
                if (at := self._at(child, order)) >= 0:
                    del order[at]
        self.order = order

    def see_again(self) -> None:
        """Forgets the faults of children: their documents are read again when they become visible."""
        self.seen = {child: seen for child, seen in self.seen.items() if not seen.badge}

    def child(self, child: int) -> Child:
        """A Child object for reading the documents of a child."""
        return Child(self.names[child], KINDS[self.kinds[child]])

    def stop_listing(self) -> None:
        """Cancels the listing; the children that have arrived stay."""
        if self.ticket is not None:
            self.ticket.cancel()
            self.ticket = None

    def stop(self) -> None:
        """Cancels the listing and the reading of documents."""
        self.stop_listing()
        for ticket in (self.inspecting, self.describing, self.searching):
            if ticket is not None:
                ticket.cancel()
        self.inspecting = self.describing = self.searching = None

    # ------------------------------------------------------------------ the filter
    def search(self, needle: str) -> Callable[[Callable[[], bool]], array[int]] | None:
        """A function that searches the children that pass the filter, to be run in a worker; None if the result is
        cached or quick to compute."""
        if not needle or len(self.names) <= SEARCHED_AT_ONCE or self._is_found(needle):
            return None
        return self.names.search(needle, self.order)

    def _is_found(self, needle: str) -> bool:
        return self.found is not None and self.found[0] == needle and self.found[1] is self.order

    def _matching(self, needle: str) -> array[int]:
        """The children whose own name passes the filter; of a large group, those that the last search has found."""
        if len(self.names) <= SEARCHED_AT_ONCE and not self._is_found(needle):
            self.found = (needle, self.order, self.names.search(needle, self.order)(lambda: False))
        return self.found[2] if self.found is not None else array("I")

    def shown(self, needle: str) -> array[int]:
        """The children that pass the filter, or have rows beneath them that do, in natural order. `needle` is
        casefolded; "" means that no filter is set."""
        if not needle:
            return self.order
        found = self._matching(needle)
        kept = frozenset(k for k, branch in self.below.items() if k not in self.gone and branch.shown(needle))
        if not kept:
            return found
        if self._view is None or self._view[0][0] is not found or self._view[0][1] != kept:
            view = found[:]
            for child in kept:
                if self._at(child, found) < 0:
                    insort(view, child, key=self._key)
            self._view = ((found, kept), view)
        return self._view[1]

    def place(self, child: int, needle: str) -> int:
        """The position of a child among the displayed children; -1 if the filter hides the child."""
        return self._at(child, self.shown(needle))

    def size(self, needle: str) -> int:
        """The number of rows beneath the row of this branch if the tree is painted as a flat list."""
        if not self.expanded:
            return 0
        count = len(self.shown(needle))
        for child, branch in self.below.items():
            if branch.expanded and (self.place(child, needle) >= 0 if needle else child not in self.gone):
                count += branch.size(needle)
        return count

    def rows_before(self, child: int, needle: str) -> int:
        """The number of rows between the row of this branch and the row of a child if the tree is painted as a flat
        list."""
        place = max(0, self.place(child, needle))
        opened = [(self.place(k, needle), branch) for k, branch in self.below.items() if branch.expanded]
        return place + sum(branch.size(needle) for at, branch in opened if 0 <= at < place)

    def flatten(self, needle: str, at: int, start: int, stop: int, found: list[tuple[Branch, int]]) -> int:
        """Appends the children in the rows `start` to `stop` of a flat list. `at`: the row of the first child; returns
        the row after the last one. Runs of children without rows beneath them are sliced, not visited one by one."""
        if not self.expanded:
            return at
        shown = self.shown(needle)
        opened = sorted((p, k) for k, b in self.below.items() if b.expanded and (p := self.place(k, needle)) >= 0)
        done = 0
        for place, child in [*opened, (len(shown), -1)]:
            if at >= stop:
                break
            upto = min(place + 1, len(shown))
            low, high = max(done, done + start - at), min(upto, done + stop - at)
            found.extend((self, k) for k in shown[low:high])
            at += upto - done
            done = upto
            if child >= 0:
                below = self.below[child]
                if at + below.size(needle) <= start:
                    at += below.size(needle)
                else:
                    at = below.flatten(needle, at, start, stop, found)
        return at


def changed_waits(
    branches: Iterable[Branch], sentence: Callable[[PendingRequest | None], str], opening: str
) -> Iterator[Branch]:
    """Sets the sentences of loading branches, and yields those that got another one. `sentence`: makes the sentence
    about a request, "" for a short wait; `opening`: the sentence of the root while the hierarchy is being opened."""
    for branch in branches:
        if branch.state == "loading":
            ticket = branch.ticket
            told = opening or strings.OPENING if ticket is None else sentence(ticket.waiting) or strings.LOADING
            if branch.sentence != told:
                branch.sentence = told
                yield branch
