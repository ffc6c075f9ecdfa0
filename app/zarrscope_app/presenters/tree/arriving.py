"""Lists the children of one row in a worker: names first, then the kinds of the visible ones.

Names are sent to the host's thread in batches, small ones first and larger ones later, so that a large group is neither
sorted nor painted too often. For a small group, all documents are read in parallel and sent with the names. For a large
group, documents are read only for visible rows (`inspected`).
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import chain, islice
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from zarrscope.dialects import Child
from zarrscope.errors import Unsupported
from zarrscope.model.frozen import frozen
from zarrscope.model.metadata import ArrayMetadata
from zarrscope.model.node_path import natural
from zarrscope.nodes.internals import node_context
from zarrscope.runtime.tuning import CHILDREN_AT_ONCE
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.node_details import group_icon, member_titles, stated_names
from zarrscope_app.presenters.tree.names import KEYS_AT_ONCE, NameBlock, Names, merged

if TYPE_CHECKING:
    from zarrscope.nodes.group import Group
    from zarrscope.nodes.hierarchy import Hierarchy

SMALL = 256
"""For a group of at most this many children, names and documents are read before rows are sent."""
EVERY_SECONDS = 0.2
"""Seconds between two batches of names, if there are many names already, because each batch requires sorting all of
them."""
LONGEST = 2.0
"""Seconds after which even a batch of a few names is sent."""
KINDS: tuple[Literal["group", "array"] | None, ...] = (None, "group", "array")
"""The kinds of nodes by the numbers that stand for them in `ArrivedNames.kinds`; None: not known yet."""


class Seen(NamedTuple):
    """The data about a child that its row shows, read from the documents of the child."""

    kind: Literal["group", "array"] | None
    detail: str
    icon: str
    badge: str
    plain: bool = False
    """Whether it is a group whose attributes, which may give it a more specific icon, were not read."""

    @classmethod
    def of(cls, child: Child) -> Seen:
        """Describes a child whose documents were read. Its error becomes the badge, or the reason why its documents,
        which were read, do not suffice to read its values: an unknown data type, for example."""
        error = child.error or (child.metadata.problem if child.metadata is not None else None)
        badge = strings.problem(error).headline if error is not None else ""
        found = icon(child)
        return cls(child.kind, detail(child), found, badge, plain=found == "group" and not child.attributes)


@frozen
class ArrivedNames:
    """A batch of new names in the order of their arrival, and the natural order of all names so far."""

    names: Sequence[NameBlock]
    kinds: bytes | bytearray
    order: array[int]
    seen: dict[int, Seen] = field(default_factory=dict)
    """The data of children whose documents were read, by position among all children."""
    origins: dict[int, str] = field(default_factory=dict)
    """The origin of children that the store did not list, in the words of `Child.origin`."""


Inspected = dict[int, Seen | None]
"""The results of reading the documents of names, by position among all children; None for a name that is not a node."""


class ListableGroup(Protocol):
    """The interface of a group for listing its children."""

    def list_names(self, cancelled: Callable[[], bool]) -> Iterator[Child]:
        """Yields the children without reading their documents; ends early once `cancelled()`."""

    def inspect(self, children: Iterable[Child], cancelled: Callable[[], bool]) -> Iterator[Child]:
        """Yields these children with the kind and error that their documents show."""


class Arrivals:
    """Lists the children of a group in a worker, and sends the results.

    `patient`: the documents of the first children, and all documents of a small group, are read before their rows are
    sent; for stores where this costs no round trip. Otherwise names are sent first, and those that are not nodes are
    removed later.
    """

    def __init__(
        self,
        group: ListableGroup,
        send: Callable[[ArrivedNames | Inspected], None],
        cancelled: Callable[[], bool],
        *,
        patient: bool,
        read: Callable[[Sequence[Child]], object] = lambda children: None,
    ) -> None:
        """`read` is called with children whose documents were read, before their rows are sent."""
        self._group, self._send, self._cancelled, self._patient = group, send, cancelled, patient
        self._read = read
        self._keys = Names()
        self._order = array("I")

    def run(self) -> None:
        """Lists the children, and sends them in batches."""
        listed = self._group.list_names(self._cancelled)
        first = list(islice(listed, SMALL + 1))
        if len(first) <= SMALL:
            self._small(first)
            return
        head = first[:CHILDREN_AT_ONCE]
        if self._patient:
            head = self._inspect_and_send(head)
        else:
            self._flush(head)
        self._large(first[CHILDREN_AT_ONCE:], listed)

    def _small(self, children: list[Child]) -> None:
        if not self._patient:
            self._flush(children)
        for at in range(0, len(children), CHILDREN_AT_ONCE):
            part = children[at : at + CHILDREN_AT_ONCE]
            if self._cancelled():
                return
            if self._patient:
                self._inspect_and_send(part)
            else:
                self._send(inspected(self._group, list(enumerate(part, at)), self._cancelled, self._read))

    def _inspect_and_send(self, children: Sequence[Child]) -> list[Child]:
        found = list(self._group.inspect(children, self._cancelled))
        self._read(found)
        self._flush(found, {len(self._keys) + i: Seen.of(child) for i, child in enumerate(found)})
        return found

    def _large(self, first: list[Child], rest: Iterator[Child]) -> None:
        sent, known = 0.0, len(self._keys)
        enough, some = max(SMALL, known), known // 2
        batch = _Batch()
        for child in chain(first, rest):
            batch.add(child)
            waited, count = time.monotonic() - sent, len(batch.kinds)
            if count >= enough or waited > LONGEST or (waited > EVERY_SECONDS and count > some):
                if self._cancelled():
                    return
                self._send_batch(batch)
                batch, sent, known = _Batch(), time.monotonic(), len(self._keys)
                enough, some = max(SMALL, known), known // 2
        self._send_batch(batch)

    def _flush(self, children: Sequence[Child], seen: dict[int, Seen] | None = None) -> None:
        batch = _Batch()
        for child in children:
            batch.add(child)
        self._send_batch(batch, seen)

    def _send_batch(self, batch: _Batch, seen: dict[int, Seen] | None = None) -> None:
        if not batch.kinds or self._cancelled():
            return
        first, blocks = len(self._keys), batch.blocks()
        for block in blocks:
            self._keys.extend(NameBlock.of([natural(name) for name in block.text.split("/")]))
        self._order = merged(self._order, range(first, len(self._keys)), self._keys.__getitem__)
        origins = {first + place: origin for place, origin in batch.origins.items()}
        self._send(ArrivedNames(blocks, batch.kinds, self._order, seen or {}, origins))


def list_children(
    hierarchy: Hierarchy,
    path: str,
    opened: Callable[[Group, dict[str, str]], None],
    send: Callable[[ArrivedNames | Inspected], None],
    cancelled: Callable[[], bool],
) -> bool | None:
    """Opens the group at `path`, and sends its children. Calls `opened` with the group and the titles of its wells or
    fields, and again with the names that images of a series state.

    Returns whether these are all children; None for an array, which has none. Runs in a worker.
    """
    node = hierarchy[path]
    if node.kind != "group":
        return None
    opened(node, member_titles(node))

    def read(found: Sequence[Child]) -> None:
        if names := names_in(node, found):
            opened(node, names)

    try:
        patient = not hierarchy.store.remote or not hierarchy.store.listable or hierarchy.consolidated
        Arrivals(node, send, cancelled, patient=patient, read=read).run()
    except Unsupported as error:
        if error.feature != "listing":
            raise
        return False
    # If a store cannot list, image metadata name children; there may be more.
    return hierarchy.store.listable or hierarchy.consolidated or path in node_context(hierarchy).indexed


class _Batch:
    """Children that are sent together, as columns: half a million objects would take 100 MB until they are sent."""

    def __init__(self) -> None:
        self.kinds = bytearray()
        self.origins: dict[int, str] = {}
        self._blocks: list[NameBlock] = []
        self._names: list[str] = []

    def add(self, child: Child) -> None:
        """Adds a child after the others."""
        if child.origin:
            self.origins[len(self.kinds)] = child.origin
        self.kinds.append(KINDS.index(child.kind))
        self._names.append(child.name)
        if len(self._names) == KEYS_AT_ONCE:
            self._blocks.append(NameBlock.of(self._names))
            self._names = []

    def blocks(self) -> list[NameBlock]:
        """The names of all children."""
        return [*self._blocks, NameBlock.of(self._names)] if self._names else self._blocks


def inspected(
    group: ListableGroup,
    asked: Sequence[tuple[int, Child]],
    cancelled: Callable[[], bool],
    read: Callable[[Sequence[Child]], object] = lambda children: None,
) -> Inspected:
    """Reads the documents of some children, given as (position, child). Runs in a worker. `read`: see `Arrivals`."""
    children = list(group.inspect([child for _, child in asked], cancelled))
    read(children)
    found = {child.name: Seen.of(child) for child in children}
    return {} if cancelled() else {place: found.get(child.name) for place, child in asked}


def names_in(group: Group, children: Sequence[Child]) -> dict[str, str]:
    """Path → the name that an image among the children of a series states; the documents of `children` were read."""
    return stated_names(group, ((child.name, child.attributes) for child in children if child.kind == "group"))


def detail(child: Child) -> str:
    """The dimmed text in the second column of a row."""
    metadata = child.metadata
    if not isinstance(metadata, ArrayMetadata):
        return ""
    if "shape" in metadata.unread:
        return strings.UNKNOWN_SHAPE
    return strings.rank(metadata.shape, strings.clean(metadata.dtype.name, 24))


def icon(child: Child) -> str:
    """The kind of icon in front of a row."""
    if child.kind == "group":
        return group_icon(child.attributes) or ("labels" if child.name == "labels" else "group")
    if child.kind == "array":
        metadata = child.metadata
        if isinstance(metadata, ArrayMetadata):
            numpy = metadata.dtype.numpy
            if numpy is not None and (numpy.kind in "OSU" or numpy.names):
                return "text"
        return "array"
    return "unknown"
