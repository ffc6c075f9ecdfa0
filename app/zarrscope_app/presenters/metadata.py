"""The Info tab: shows the description of a node at once, and reads its documents on request."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from psygnal import Signal

from zarrscope.check.inventory import Inventory, take_inventory
from zarrscope.nodes.internals import node_context
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.coalesce import CoalescedCall
from zarrscope_app.presenters.node_description import Info, Item, as_text, ratio
from zarrscope_app.presenters.node_details import NodeDetails

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.hierarchy import Hierarchy

MAX_DOCUMENT_CHARACTERS = 2_000_000


PATIENCE = 3.0
"""The most seconds for finding the stored size."""


def stored_text(nbytes: int, inventory: Inventory, kind: str) -> str:
    """The stored size in words: "1.4 MiB, 2.9 to 1; 299 of 528 chunks"."""
    if not inventory.known or inventory.nbytes is None:
        return strings.UNKNOWN
    least = "" if inventory.complete else "at least "
    packed = f", {ratio(nbytes, inventory.nbytes)}" if nbytes and inventory.nbytes and inventory.complete else ""
    there = f"{strings.count(inventory.present)} of {strings.counted(inventory.total, kind)}"
    return f"{least}{strings.size(inventory.nbytes)}{packed}; {least}{there}"


class MetadataPresenter:
    """The Info tab of one session."""

    changed = Signal()

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._hierarchy: Hierarchy | None = None
        self._asked = False
        """Whether the documents of the node were requested."""
        self._array: Array | None = None
        """The array whose stored size will be found."""
        self._ticket: Ticket | None = None
        self._notify = CoalescedCall(owner.post, self.changed.emit)
        self._state = Info()

    @property
    def state(self) -> Info:
        """The snapshot of the tab."""
        return self._state

    def show_node(self, details: NodeDetails) -> None:
        """Shows the description of a node. `measure` adds the stored size of a local array."""
        self.show(details.hierarchy, details.info)
        node = details.node
        if node is not None and node.kind == "array" and not node.store.remote and not node.metadata.unread:
            self._array = node

    def show_nothing(self, sentence: str = "") -> None:
        """Shows `sentence` as a problem."""
        self.show(None, Info(problem=sentence))

    def show(self, hierarchy: Hierarchy | None, info: Info) -> None:
        """Shows another node of a hierarchy, even one that cannot be opened; `info` is the result of `describe`."""
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None
        self._hierarchy, self._array = hierarchy, None
        self._asked = False
        self._set(info)

    def measure(self) -> None:
        """Finds the stored size of the chunks, for local stores, in at most PATIENCE seconds. A host calls this method
        whenever it paints; each array is measured once."""
        array, self._array = self._array, None
        if array is None:
            return
        shown = self._state.path
        # Values of varying length have no fixed size, so no compression ratio can be given.
        decoded = array.nbytes if array.metadata.dtype.itemsize else 0

        def work(cancelled: Callable[[], bool]) -> Inventory:
            end = time.monotonic() + PATIENCE
            return take_inventory(array, lambda: cancelled() or time.monotonic() > end)

        def done(outcome: JobResult[Inventory]) -> None:
            if outcome.value is not None and self._state.path == shown:
                kind = "shard" if array.problem is None and array.shards is not None else "chunk"
                stored = Item("Stored", stored_text(decoded, outcome.value, kind), "The stored size of the chunks.")
                sections = [
                    replace(section, items=(*section.items, stored)) if section.title == "Storage" else section
                    for section in self._state.sections
                ]
                self._set(replace(self._state, sections=tuple(sections)))

        self._owner.fetch(work, done)

    def _set(self, info: Info) -> None:
        self._state = info
        self._notify.soon()

    def load_documents(self) -> None:
        """Reads the node's JSON documents in the background; `changed` is emitted when `state.documents` is set."""
        hierarchy, path = self._hierarchy, self._state.path
        if hierarchy is None or self._asked:
            return
        self._asked = True  # the documents are requested once, although a host calls this method whenever it paints

        def work() -> tuple[tuple[str, str], ...]:
            keys = node_context(hierarchy).keys_of(path)
            found = hierarchy.store.get_partial_values([(key, None) for key in keys])
            return tuple(
                (strings.clean(key), strings.document(bytes(data), MAX_DOCUMENT_CHARACTERS))
                for key, data in zip(keys, found, strict=True)
                if data is not None
            )

        def done(outcome: JobResult[tuple[tuple[str, str], ...]]) -> None:
            self._ticket = None
            if outcome.error is not None:
                problem = strings.problem(outcome.error).headline
                self._set(replace(self._state, warnings=(*self._state.warnings, problem), loading=False))
            else:
                self._set(replace(self._state, documents=outcome.value or (), loading=False))

        self._set(replace(self._state, loading=True))
        self._ticket = self._owner.read(work, done)

    def text(self, columns: int = 0) -> str:
        """The whole description as plain text, for the clipboard, or for a screen of `columns` characters in a line."""
        return as_text(self._state, columns)
