"""Carrying a plan out: chunks in parallel, documents after them, then every element compared.

Memory holds one region per thread, of at most REGION_BYTES or one chunk of the destination, whichever is more. Nothing
is stored over anything: every value is set with ABSENT. Stores set whole values or nothing, so what a killed run left
behind is whole chunks, and the next run of the same plan takes each of them as done; the comparison at the end reads
all of it again.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zarrscope.array import Array
from zarrscope.background import shared
from zarrscope.convert.planning import JOURNAL, NodePlan, Plan
from zarrscope.errors import BadChunk, Conflict, Refused, ZarrscopeError
from zarrscope.hierarchy import Hierarchy
from zarrscope.locator import Index
from zarrscope.metadata import ArrayMetadata
from zarrscope.selection import Selection
from zarrscope.store import ABSENT, ByteRange, Store, never

REGION_BYTES = 32 << 20
BATCH = 64
"""So many chunks of a remote source are asked for at once."""


@dataclass(frozen=True)
class Progress:
    """How far a run is: chunks of the destination, out of how many, and what is being done with which node."""

    doing: str
    """"converting" or "verifying"."""
    path: str
    done: int
    total: int


@dataclass(frozen=True)
class Result:
    """What a run did, in chunks. `cancelled`: it was stopped, and the same plan goes on from there."""

    copied: int
    encoded: int
    blank: int
    """Of nothing but the fill value, so not stored; or not stored in the source."""
    kept: int
    """Stored by an earlier run."""
    verified: bool
    cancelled: bool = False


def run(
    plan: Plan,
    *,
    allow_losses: bool = False,
    verify: bool = True,
    progress: Callable[[Progress], None] | None = None,
    cancelled: Callable[[], bool] = never,
) -> Result:
    """Writes the destination, or goes on where an earlier run of the same plan stopped, and compares all elements.

    `progress` is called by one thread at a time, of several. Raises Refused (the plan loses something and
    `allow_losses` is False), Conflict (the destination holds anything else), BadChunk (a chunk of the source cannot be
    decoded, or the comparison found a difference, with its place), ReadOnly, Unreadable.
    """
    if plan.losses and not allow_losses:
        raise Refused(
            f"{plan.dialect.title} cannot hold everything: " + " ".join(map(str, plan.losses[:5])),
            store=plan.source.url,
            advice="Convert to another dialect, or allow the losses.",
        )
    store = plan.store if plan.store is not None else _opened(plan)
    return _Run(plan, store, progress, cancelled).go(verify)


def _opened(plan: Plan) -> Store:
    from zarrscope.stores.address import open_store

    return open_store(plan.destination, "a")


class _Stopped(Exception):
    """Somebody cancelled."""


class _Run:
    """One run. The counters belong to `_guard`."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        progress: Callable[[Progress], None] | None,
        cancelled: Callable[[], bool],
    ) -> None:
        self.plan, self.store, self.progress, self.cancelled = plan, store, progress, cancelled
        self._guard = threading.Lock()
        self._counts = {"copied": 0, "encoded": 0, "blank": 0, "kept": 0}
        self._done = 0
        self._resumed = False

    def go(self, verify: bool) -> Result:
        self._begin()
        verified = False
        try:
            for node in self.plan.nodes:
                if node.array is not None:
                    self._chunks(node)
                    self._documents(node)
            groups = [node for node in self.plan.nodes if node.array is None]
            for node in sorted(groups, key=lambda node: -node.target.rstrip("/").count("/")):
                self._documents(node)
            if verify:
                self._verify()
                verified = True
            self.store.erase(JOURNAL)
        except _Stopped:
            return self._result(verified=False, cancelled=True)
        return self._result(verified=verified, cancelled=False)

    def _result(self, *, verified: bool, cancelled: bool) -> Result:
        n = self._counts
        return Result(n["copied"], n["encoded"], n["blank"], n["kept"], verified, cancelled)

    # ------------------------------------------------------------------ the journal
    def _begin(self) -> None:
        """Claims an empty destination, or one that an earlier run of this plan has begun."""
        journal = json.dumps({"zarrscope": "an unfinished conversion", "plan": self.plan.digest}, indent=2).encode()
        if self.store.get(JOURNAL) is None:
            if next(self.store.list(), None) is not None:
                raise Conflict(
                    "The destination is not empty",
                    store=self.store.url,
                    advice="Name a new place; a conversion writes over nothing.",
                )
            try:
                self.store.set(JOURNAL, journal, expect=ABSENT)
                return
            except Conflict:
                pass  # somebody began at the same moment: the same conversion, or another
        if self.store.get(JOURNAL) != journal:
            raise Conflict(
                "Another conversion was begun there and not finished",
                store=self.store.url,
                key=JOURNAL,
                advice="Run it again as it was begun, or erase the destination; the source may have changed since.",
            )
        self._resumed = True

    # ------------------------------------------------------------------ documents
    def _documents(self, node: NodePlan) -> None:
        self._check()
        for key, value in sorted(node.documents.items(), key=lambda item: (item[0] != node.attributes_key, item[0])):
            try:
                self.store.set(key, value, expect=ABSENT)
            except Conflict:
                if not self._resumed or self.store.get(key) != value:
                    raise

    def _complete(self, node: NodePlan) -> bool:
        return self._resumed and all(self.store.get(key) == value for key, value in node.documents.items())

    # ------------------------------------------------------------------ chunks
    def _chunks(self, node: NodePlan) -> None:
        assert node.array is not None
        assert node.metadata is not None
        if self._complete(node):
            self._count("kept", node, node.chunks)
            return
        extent = node.metadata.grid.extent(node.metadata.shape)
        if node.how == "copied":
            indices = self._going(product(*map(range, extent)))
            shared().share(self._fetched(node, indices), lambda item: self._copy(node, *item))
            return
        target = Array(self.store, node.target, node.metadata)
        shared().share(self._going(_regions(node.array, node.metadata)), lambda r: self._encode(node, target, r))

    def _going(self, items: Iterator[Any]) -> Iterator[Any]:
        for item in items:
            self._check()
            yield item

    def _check(self) -> None:
        if self.cancelled():
            raise _Stopped

    def _stored(self, key: str) -> bool:
        return self._resumed and self.store.get(key, ByteRange(0, 1)) is not None

    def _put(self, key: str, value: bytes) -> None:
        try:
            self.store.set(key, value, expect=ABSENT)
        except Conflict:
            if not self._resumed:
                raise

    def _fetched(self, node: NodePlan, indices: Iterator[Index]) -> Iterator[tuple[str, bytes | None]]:
        """(key in the destination, the chunk's bytes) of chunks still to be copied; many are fetched at once."""
        assert node.array is not None
        assert node.metadata is not None
        before, store = node.array.metadata, node.array.store
        many = min(BATCH, max(1, REGION_BYTES // max(1, node.array.dtype.itemsize * prod(before.grid.chunk_shape))))
        while batch := list(islice(indices, many if store.remote else 1)):
            wanted = [(index, key) for index in batch if not self._stored(key := node.metadata.keys.key(index))]
            self._count("kept", node, len(batch) - len(wanted))
            for i, answer in store.get_many([(before.keys.key(index), None) for index, _ in wanted], self.cancelled):
                index, key = wanted[i]
                for where in before.alternative_keys if answer is None else ():
                    answer = answer if answer is not None else store.get(where.key(index))
                if isinstance(answer, ZarrscopeError):
                    raise answer
                yield key, answer
            self._check()

    def _copy(self, node: NodePlan, key: str, value: bytes | None) -> None:
        """One chunk as it is."""
        if value is not None:
            self._put(key, value)
        self._count("blank" if value is None else "copied", node)

    def _encode(self, node: NodePlan, target: Array, region: tuple[range, ...]) -> None:
        """The chunks of one region, encoded anew."""
        from zarrscope.codecs import is_fill

        assert node.array is not None
        metadata = target.metadata
        grid = metadata.grid
        indices = list(product(*region))
        wanted = [index for index in indices if not self._stored(metadata.keys.key(index))]
        self._count("kept", node, len(indices) - len(wanted))
        if not wanted:
            return
        spans = [_span(metadata, axis, chunks) for axis, chunks in enumerate(region)]
        values = node.array.read(_selection(spans))
        for index in wanted:
            shape = grid.shape_at(index)
            inside = [grid.edges(axis, metadata.shape[axis]).span(i) for axis, i in enumerate(index)]
            part = values[
                tuple(
                    slice(low - whole.start, high - whole.start)
                    for (low, high), whole in zip(inside, spans, strict=True)
                )
            ]
            if part.shape == shape:
                chunk = np.ascontiguousarray(part).reshape(shape)
            else:
                chunk = np.full(shape, target.fill_value, target.dtype)
                chunk[tuple(map(slice, part.shape))] = part
            blank = is_fill(chunk, metadata.fill) and (
                metadata.fill.defined or is_fill(chunk, node.array.metadata.fill)
            )
            if not blank:
                key = metadata.keys.key(index)
                try:
                    encoded = target.pipeline_of(shape).encode(chunk)
                except ZarrscopeError as error:
                    raise target.located(error, key)  # noqa: B904 - it is that error
                self._put(key, encoded)
            self._count("blank" if blank else "encoded", node)

    def _count(self, what: str, node: NodePlan, n: int = 1) -> None:
        with self._guard:
            self._counts[what] += n
            self._done += n
            if n and self.progress is not None:
                self.progress(Progress("converting", node.path, self._done, self.plan.chunks))

    # ------------------------------------------------------------------ comparing
    def _verify(self) -> None:
        """Reads both hierarchies as anybody would and compares all elements."""
        written = Hierarchy.reopen(self.store)
        self._done = 0
        for node in self.plan.nodes:
            target = written.open_node(node.target)
            if node.array is None:
                continue
            if not isinstance(target, Array):
                raise Conflict(f"{node.target} is no array any more", store=self.store.url)
            self._compare(node, target)

    def _compare(self, node: NodePlan, target: Array) -> None:
        source, metadata = node.array, node.metadata
        assert source is not None
        assert metadata is not None
        if target.shape != source.shape:
            raise Conflict(f"{node.target} has shape {target.shape}, not {source.shape}", store=self.store.url)

        def compare(region: tuple[range, ...]) -> None:
            spans = [_span(metadata, axis, chunks) for axis, chunks in enumerate(region)]
            selection = _selection(spans)
            if not _equal(source.read(selection), target.read(selection)):
                first = tuple(chunks.start for chunks in region)
                raise BadChunk(
                    f"What was written of {node.target} is not what {node.path} holds, at "
                    f"[{', '.join(f'{s.start}:{s.stop}' for s in spans)}]",
                    index=first,
                    store=self.store.url,
                    key=metadata.keys.key(first),
                    advice="The destination is not to be used: erase it. A codec that loses precision does this, too.",
                )
            with self._guard:
                self._done += prod(map(len, region))
                if self.progress is not None:
                    self.progress(Progress("verifying", node.path, self._done, self.plan.chunks))

        shared().share(self._going(_regions(source, metadata)), compare)


# ---------------------------------------------------------------------------------------------- regions
def _regions(source: Array, metadata: ArrayMetadata) -> Iterator[tuple[range, ...]]:
    """Blocks of the destination's chunks, per axis, that hold whole chunks of the source where memory allows."""
    grid = metadata.grid
    extent = grid.extent(metadata.shape)
    itemsize = metadata.dtype.itemsize or 64
    steps = [1] * len(extent)
    size = itemsize * prod(grid.chunk_shape)
    read = source.metadata.grid.chunk_shape
    for axis in reversed(range(len(extent))):
        own = grid.chunk_shape[axis] or 1
        wanted = max(1, min(-(-read[axis] // own), extent[axis]))
        steps[axis] = max(1, min(wanted, REGION_BYTES // max(1, size)))
        size *= steps[axis]
    starts = [range(0, n, step) for n, step in zip(extent, steps, strict=True)]
    for corner in product(*starts):
        yield tuple(range(start, min(n, start + step)) for start, n, step in zip(corner, extent, steps, strict=True))


def _span(metadata: ArrayMetadata, axis: int, chunks: range) -> range:
    """The elements of the array along one axis that some chunks hold."""
    edges = metadata.grid.edges(axis, metadata.shape[axis])
    return range(edges.span(chunks[0])[0], min(metadata.shape[axis], edges.span(chunks[-1])[1]))


def _selection(spans: list[range]) -> Selection:
    return Selection(tuple(spans), tuple(map(len, spans)), False)


def _equal(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """The same elements; for numbers the same bits, or NaN in both."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.hasobject:
        return all(map(_same, a.reshape(-1), b.reshape(-1)))
    if a.tobytes() == b.tobytes():
        return True
    return a.dtype.kind in "fc" and bool(np.array_equal(a, b, equal_nan=True))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b))
    return bool(a == b) or (a != a and b != b)
