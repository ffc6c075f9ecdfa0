"""Carries out a plan: copies chunks in parallel, then writes documents, then compares every element.

Memory holds one region per thread, of at most REGION_BYTES or one chunk of the destination, whichever is more. Nothing
is overwritten: every value is stored with the condition ABSENT. Stores write a whole value or nothing, so a killed run
leaves whole chunks behind, and the next run of the same plan skips them; the comparison at the end reads all of them
again. array_work.py cuts the work into independent parts; executors/executor.py distributes these.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod

from zarrscope.convert.array_work import ArrayWork, WorkCount
from zarrscope.convert.planning import JOURNAL, JOURNAL_LIMIT, ConversionPlan, NodePlan
from zarrscope.errors import Conflict, Refused, ZarrscopeError
from zarrscope.executors import executor_for
from zarrscope.executors.executor import Cancelled, Executor, Scheduler
from zarrscope.model.storage import ABSENT, never
from zarrscope.nodes.array import Array
from zarrscope.nodes.opening import reopened
from zarrscope.stores.local.failures import FULL_DISK, is_full
from zarrscope.stores.store import Store


@dataclass(frozen=True)
class ConversionProgress:
    """The progress of a run: the current step and node, chunks done, and chunks in total."""

    doing: str
    """"converting", "building" (a level) or "verifying"."""
    path: str
    done: int
    total: int


@dataclass(frozen=True)
class Result:
    """The numbers of chunks of a run. If it was `cancelled`, run the same plan again to continue."""

    copied: int
    encoded: int
    blank: int
    """Chunks that are not stored, because they hold only the fill value or are absent in the source."""
    kept: int
    """Chunks that an earlier run stored."""
    verified: bool
    cancelled: bool = False
    assumed: int = 0
    """Values that the source refused to give, and that were taken as absent because the caller asked for that. On a
    cluster the true number may be larger."""


def run(
    plan: ConversionPlan,
    *,
    allow_losses: bool = False,
    verify: bool = True,
    progress: Callable[[ConversionProgress], None] | None = None,
    cancelled: Callable[[], bool] = never,
    scheduler: Scheduler | None = None,
) -> Result:
    """Writes the destination, or continues an earlier run of the same plan, and compares all elements.

    `scheduler`: the address of a Dask cluster's scheduler (or a distributed.Client). Its workers then do the work
    instead of the threads of this process; see executors/executor.py. `progress` is called by several threads, one at a
    time. Raises Refused (the plan loses something and `allow_losses` is False), Conflict (the destination holds
    anything else), BadChunk (a chunk of the source cannot be decoded, or the comparison found a difference, with its
    place), ReadOnly, Unreadable.
    """
    if plan.losses and not allow_losses:
        raise Refused(
            f"{plan.dialect.title} cannot hold everything: " + " ".join(map(str, plan.losses[:5])),
            store=plan.source.url,
            advice="Convert to another dialect, or allow the losses.",
        )
    store = plan.store if plan.store is not None else _opened(plan.destination)
    executor = executor_for(scheduler)
    try:
        return _ConvertRun(plan, store, executor, progress, cancelled).go(verify)
    finally:
        executor.close()


def with_destination(plan: ConversionPlan) -> ConversionPlan:
    """The plan with its destination opened, for `run`. Writes nothing, so that a front end can refuse a destination
    before it shows the plan. Raises Conflict if there is anything but an unfinished conversion, and ReadOnly."""
    store = plan.store if plan.store is not None else _opened(plan.destination)
    if store.get(JOURNAL, None, JOURNAL_LIMIT) is None:
        _need_empty(store)
    return replace(plan, store=store)


def _need_empty(store: Store) -> None:
    if next(store.list(), None) is not None:
        raise Conflict(
            "The destination is not empty",
            store=store.url,
            advice="Name a new place: a conversion never overwrites.",
        )


def _opened(destination: str) -> Store:
    from zarrscope.stores.address import open_store

    return open_store(destination, "a")


class DestinationWriter:
    """Writes the arrays and documents of a plan and compares them with the source. Conversion and rebuilding use it."""

    def __init__(
        self,
        store: Store,
        nodes: Iterable[NodePlan],
        executor: Executor,
        progress: Callable[[ConversionProgress], None] | None,
        cancelled: Callable[[], bool],
    ) -> None:
        self.store, self.executor, self.progress, self.cancelled = store, executor, progress, cancelled
        self.nodes = tuple(nodes)
        self.total = sum(node.chunks for node in self.nodes)
        self.sum = WorkCount()
        self.resumed = False
        """Whether the destination may already contain results of this job."""

    def result(self, *, verified: bool, cancelled: bool) -> Result:
        """The counts of this job. Its `assumed` also has the values that other processes of a cluster were denied."""
        n = self.sum
        assumed = max((node.array.store.taken_as_missing for node in self.nodes if node.array is not None), default=0)
        assumed += n.assumed if self.executor.may_repeat else 0  # on a cluster, other processes counted these
        return Result(n.copied, n.encoded, n.blank, n.kept, verified, cancelled, assumed)

    def begin(self, journal: bytes, *, empty: bool) -> None:
        """Stores the journal, which reserves the destination for this run. Raises Conflict if another run's journal is
        there, or, with `empty`, anything else."""
        if self.store.get(JOURNAL, None, JOURNAL_LIMIT) is None:
            if empty:
                _need_empty(self.store)
            try:
                self.store.set(JOURNAL, journal, expect=ABSENT)
            except Conflict:
                pass  # another process began at the same moment, with the same conversion or another one
            else:
                try:
                    self.executor.check_shared(self.store, JOURNAL, journal)
                except ZarrscopeError:
                    self.store.erase(JOURNAL)
                    raise
                return
        if self.store.get(JOURNAL, None, JOURNAL_LIMIT) != journal:
            raise Conflict(
                "Another conversion was begun there and not finished",
                store=self.store.url,
                key=JOURNAL,
                advice="Run it again with the same arguments, or erase the destination; the source may have changed.",
            )
        self.executor.check_shared(self.store, JOURNAL, journal)
        self.resumed = True

    # ------------------------------------------------------------------ documents
    def documents(self, node: NodePlan) -> None:
        """Stores the files of a node, then its documents, first the one with the attributes. Raises Conflict if a key
        has another value, and Cancelled."""
        self.check()
        documents = sorted(node.documents.items(), key=lambda item: (item[0] != node.attributes_key, item[0]))
        for key, value in (*node.files.items(), *documents):
            try:
                self.store.set(key, value, expect=ABSENT)
            except Conflict:
                if not self.resumed or self.store.get(key) != value:
                    raise

    def _complete(self, node: NodePlan) -> bool:
        return self.resumed and all(self.store.get(key) == value for key, value in node.documents.items())

    def check(self) -> None:
        """Raises Cancelled if the caller has cancelled the job."""
        if self.cancelled():
            raise Cancelled

    # ------------------------------------------------------------------ chunks
    def _work(self, node: NodePlan, target: Array) -> ArrayWork:
        again = self.resumed or self.executor.may_repeat
        if node.level is not None:
            finer = Array(self.store, node.level.above, node.level.metadata)
            return ArrayWork(finer, target, node.level.factors, node.level.method, again=again)
        assert node.array is not None  # a node without a level to build is an array of the source
        return ArrayWork(node.array, target, again=again)

    def chunks(self, node: NodePlan) -> None:
        """Copies or encodes the chunks of one array, and adds them to `sum`. Raises the first error, or Cancelled."""
        assert node.metadata is not None
        doing = "building" if node.level is not None else "converting"

        def done(some: WorkCount) -> None:
            self.sum += some
            self._tell(doing, node, self.sum.chunks)

        if self._complete(node):
            done(WorkCount(kept=node.chunks))
            return
        work = self._work(node, Array(self.store, node.target, node.metadata))
        before = self.sum.chunks
        if node.how == "copied":
            size = prod(node.metadata.grid.chunk_shape) * (node.metadata.dtype.itemsize or 64)
            self.executor.run(work.copy, work.batches(), done, self.cancelled, size)
        else:
            self.executor.run(work.encode, work.regions(), done, self.cancelled, work.region_bytes)
        left = node.chunks - (self.sum.chunks - before)
        if left:  # chunks that are absent in the source were not visited
            done(WorkCount(blank=left))

    def _tell(self, doing: str, node: NodePlan, done: int) -> None:
        if self.progress is not None:
            self.progress(
                ConversionProgress(doing, node.target if node.level is not None else node.path, done, self.total)
            )

    # ------------------------------------------------------------------ comparing
    def verify(self) -> None:
        """Opens both hierarchies normally and compares all elements."""
        written = reopened(self.store)
        passed = 0
        for node in self.nodes:
            target = written.open_node(node.target)
            if node.metadata is None:
                continue
            if not isinstance(target, Array):
                raise Conflict(f"{node.target} is not an array any more", store=self.store.url)
            if target.shape != node.metadata.shape:
                raise Conflict(
                    f"{node.target} has shape {target.shape}, not {node.metadata.shape}", store=self.store.url
                )

            def done(some: WorkCount, node: NodePlan = node) -> None:
                nonlocal passed
                passed += some.chunks
                self.sum += WorkCount(assumed=some.assumed)
                self._tell("verifying", node, passed)

            work = self._work(node, target)
            self.executor.run(work.compare, work.regions(written=True), done, self.cancelled, work.region_bytes)


class _ConvertRun(DestinationWriter):
    """One conversion to a new place."""

    def __init__(
        self,
        plan: ConversionPlan,
        store: Store,
        executor: Executor,
        progress: Callable[[ConversionProgress], None] | None,
        cancelled: Callable[[], bool],
    ) -> None:
        super().__init__(store, plan.nodes, executor, progress, cancelled)
        self.plan = plan

    def go(self, verify: bool) -> Result:
        journal = {"zarrscope": "an unfinished conversion", "plan": self.plan.digest}
        try:
            self.begin(json.dumps(journal, indent=2).encode(), empty=True)
            for node in self.nodes:
                if node.metadata is not None:
                    self.chunks(node)
                    self.documents(node)
            groups = [node for node in self.nodes if node.metadata is None]
            for node in sorted(groups, key=lambda node: -node.target.rstrip("/").count("/")):
                self.documents(node)
            if verify:
                self.verify()
            self.store.bulk.flush()
            self.store.erase(JOURNAL)
        except Cancelled:
            return self.result(verified=False, cancelled=True)
        except ZarrscopeError as error:
            if is_full(error) and not self._has_begun():
                error.advice = f"{FULL_DISK} Nothing was written."
            elif is_full(error):
                error.advice = (
                    "The disk is full. Make room, then run the same conversion again: it continues with the rest. Or "
                    f"delete the incomplete destination {self.store.url}; nothing was there before."
                )
            raise
        return self.result(verified=verify, cancelled=False)

    def _has_begun(self) -> bool:
        """Whether the journal was stored, so that there is something to continue or to delete."""
        with suppress(ZarrscopeError):
            return self.store.get(JOURNAL) is not None
        return True
