"""The Info tab: shows the description of a node at once, and reads its documents on request."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from zarrscope.check.inventory import Inventory, take_inventory
from zarrscope.errors import TooLarge, ZarrscopeError
from zarrscope.nodes.internals import node_context
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.coalesce import CoalescedCall
from zarrscope_app.presenters.node_description import MOST_LEVELS, Info, Item, as_text, ratio
from zarrscope_app.presenters.node_details import NodeDetails
from zarrscope_app.presenters.signals import signal

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.hierarchy import Hierarchy

MAX_DOCUMENT_CHARACTERS = 2_000_000
UNDOCUMENTED = "No document describes this node: it is there because of the nodes beneath it."

PATIENCE = 3.0
"""The most seconds for finding the stored size."""


def stored_text(nbytes: int, inventories: Sequence[Inventory], kind: str) -> str:
    """The stored size of one or several arrays in words: "1.4 MiB, 2.9 to 1; 299 of 528 chunks"."""
    sizes = [found.nbytes for found in inventories if found.known and found.nbytes is not None]
    if len(sizes) < len(inventories):
        return strings.UNKNOWN
    stored, complete = sum(sizes), all(found.complete for found in inventories)
    least = "" if complete else "at least "
    packed = f", {ratio(nbytes, stored)}" if nbytes and stored and complete else ""
    present, total = sum(found.present for found in inventories), sum(found.total for found in inventories)
    there = f"{strings.count(present)} of {strings.counted(total, kind)}"
    return f"{least}{strings.size(stored)}{packed}; {least}{there}"


STORED_HINTS = ("The stored size of the chunks.", "The stored size of the chunks of all levels.")


def _with(info: Info, stored: Item) -> Info:
    """The description with the stored size: among the storage of an array, or in the first section of a group, which
    describes its image."""
    titles = [section.title for section in info.sections]
    at = titles.index("Storage") if "Storage" in titles else 0
    sections = [
        replace(section, items=(*section.items, stored)) if i == at else section
        for i, section in enumerate(info.sections)
    ]
    return replace(info, sections=tuple(sections))


class MetadataPresenter:
    """The Info tab of one session."""

    changed = signal()

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._hierarchy: Hierarchy | None = None
        self._asked = False
        """Whether the documents of the node were requested."""
        self._arrays: tuple[Array, ...] = ()
        """The arrays whose stored size will be found: one, or the levels of an image."""
        self._ticket: Ticket | None = None
        self._notify = CoalescedCall(owner.post, self.changed.emit)
        self._state = Info()

    @property
    def state(self) -> Info:
        """The snapshot of the tab."""
        return self._state

    def show_node(self, details: NodeDetails) -> None:
        """Shows the description of a node. `measure` adds the stored size of a local array or image."""
        self.show(details.hierarchy, details.info)
        node, image = details.node, details.image
        if node is None or details.hierarchy.store.remote:
            return
        if node.kind == "array":
            found: tuple[Array, ...] = (node,)
        else:
            levels = image.levels[:MOST_LEVELS] if image is not None else ()
            found = tuple({level.array.path: level.array for level in levels}.values())
        if not any(array.metadata.unread for array in found):
            self._arrays = found

    def show_nothing(self, sentence: str = "") -> None:
        """Shows `sentence` as a problem."""
        self.show(None, Info(problem=sentence))

    def show(self, hierarchy: Hierarchy | None, info: Info) -> None:
        """Shows another node of a hierarchy, even one that cannot be opened; `info` is the result of `describe`."""
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None
        self._hierarchy, self._arrays = hierarchy, ()
        self._asked = False
        self._set(info)

    def measure(self) -> None:
        """Finds the stored size of the chunks, for local stores, in at most PATIENCE seconds; of an image that of all
        levels. A host calls this method whenever it paints; each node is measured once."""
        arrays, self._arrays = self._arrays, ()
        if not arrays:
            return
        shown = self._state.path
        # Values of varying length have no fixed size, so no compression ratio can be given.
        sized = all(array.metadata.dtype.itemsize for array in arrays)
        decoded = sum(array.nbytes for array in arrays) if sized else 0

        def work(cancelled: Callable[[], bool]) -> tuple[Inventory, ...]:
            end = time.monotonic() + PATIENCE
            return tuple(take_inventory(array, lambda: cancelled() or time.monotonic() > end) for array in arrays)

        def done(outcome: JobResult[tuple[Inventory, ...]]) -> None:
            if outcome.value is not None and self._state.path == shown:
                shards = all(array.problem is None and array.shards is not None for array in arrays)
                told = stored_text(decoded, outcome.value, "shard" if shards else "chunk")
                hint = STORED_HINTS[len(arrays) > 1]
                self._set(_with(self._state, Item("Stored", told, hint)))

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
            context = node_context(hierarchy)
            keys = context.keys_of(path)
            found = context.answers(keys)
            for key in keys:
                if isinstance(error := found[key], TooLarge):
                    found[key] = hierarchy.store.get(key)
                elif isinstance(error, ZarrscopeError):
                    raise error.located(store=hierarchy.url, key=key)
            return tuple(
                (strings.clean(key), strings.document(data, MAX_DOCUMENT_CHARACTERS))
                for key in keys
                if isinstance(data := found[key], bytes)
            )

        def done(outcome: JobResult[tuple[tuple[str, str], ...]]) -> None:
            self._ticket = None
            if outcome.error is not None:
                problem = strings.problem(outcome.error).headline
                self._set(replace(self._state, warnings=(*self._state.warnings, problem), loading=False))
            else:
                found, absent = outcome.value or (), "" if outcome.value else UNDOCUMENTED
                self._set(replace(self._state, documents=found, undocumented=absent, loading=False))

        self._set(replace(self._state, loading=True))
        self._ticket = self._owner.read(work, done)

    def text(self, columns: int = 0) -> str:
        """The whole description as plain text, for the clipboard, or for a screen of `columns` characters in a line."""
        return as_text(self._state, columns)
