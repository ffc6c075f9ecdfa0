"""Upgrades a v2 hierarchy to v3 in place: each node gets a zarr.json for its present chunks. No chunk is changed.

v3 can use v2's chunk keys by its chunk key encoding "v2", so where the codecs mean the same (reference.md H.8), new
documents are enough. The root's zarr.json is written last: before that readers see v2, afterwards v3. v2's own
documents, and with them the access for v2 readers, stay until the caller asks to remove them. Removal goes from the
leaves to the root, and only after all elements were compared and the new documents passed the registered schemas
(dialects/strict.py). A killed run can be run again: it skips documents that are stored as planned; others are a
Conflict.
"""

from __future__ import annotations

from collections.abc import Callable

from zarrscope.convert.array_work import ArrayWork, WorkCount
from zarrscope.convert.copying import ConversionProgress, Result
from zarrscope.convert.planning import ConversionPlan, NodePlan, plan_beside
from zarrscope.dialects import dialect_named
from zarrscope.errors import BadChunk, Conflict, NotFound, Refused
from zarrscope.executors import executor_for
from zarrscope.executors.executor import Cancelled, Scheduler
from zarrscope.model.storage import ABSENT, never
from zarrscope.nodes.array import Array
from zarrscope.nodes.detect import fetch
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope.nodes.opening import open as open_hierarchy


def plan_upgrade(hierarchy: Hierarchy) -> ConversionPlan:
    """Plans the v3 documents of a v2 hierarchy, which may already lie beside a v3 hierarchy.

    Raises Refused (the hierarchy has another dialect, or no v2 documents are left; or v3 cannot read the chunks of an
    array unchanged, so it must be converted to a new place), ReadOnly.
    """
    hierarchy._nodes.need_writing("zarr.json")
    store = hierarchy.store
    if hierarchy.dialect.name == "v3":
        try:
            beside = open_hierarchy(store, "r+", dialect="v2")
            _ = beside.root
            hierarchy = beside
        except NotFound:
            if store.get(".zattrs") is None and store.get(".zmetadata") is None:
                raise Refused("It is Zarr v3 already, and has no documents of v2", store=store.url) from None
            # An interrupted removal left v2 documents at the root. The plan is empty, so that `upgrade` with `remove`
            # writes nothing and erases them.
            return ConversionPlan(hierarchy, store.url, store, hierarchy.dialect, (), ())
    if hierarchy.dialect.name != "v2":
        raise Refused(
            f"Only Zarr v2 can become Zarr v3 in place, not {hierarchy.dialect.title}",
            store=store.url,
            advice="Name a destination.",
        )
    plan = plan_beside(hierarchy, "v3")
    other = [node.path for node in plan.nodes if node.how == "encoded"]
    if other:
        raise Refused(
            f"{', '.join(other[:5])}{' …' if len(other) > 5 else ''}: v3 cannot describe these chunks unchanged",
            store=store.url,
            advice="Name a destination: the chunks are then encoded again.",
        )
    return plan


def upgrade(
    plan: ConversionPlan,
    *,
    allow_losses: bool = False,
    remove: bool = False,
    verify: bool = True,
    progress: Callable[[ConversionProgress], None] | None = None,
    cancelled: Callable[[], bool] = never,
    scheduler: Scheduler | None = None,
) -> Result:
    """Writes the v3 documents, compares the values that both dialects read, and with `remove` erases v2's documents.

    Arguments as for `run`. Raises Refused (losses), Conflict (another zarr.json is stored there), BadChunk (the two
    dialects read different values; the new documents are erased again).
    """
    if plan.losses and not allow_losses:
        raise Refused(
            "Zarr v3 cannot hold everything: " + " ".join(map(str, plan.losses[:5])),
            store=plan.source.url,
            advice="Allow the losses, or keep the hierarchy unchanged.",
        )
    store = plan.source.store
    ordered = sorted(plan.nodes, key=lambda node: (node.metadata is None, -node.target.rstrip("/").count("/")))
    written: list[str] = []
    try:
        for node in ordered:
            if cancelled():
                return Result(0, 0, 0, 0, verified=False, cancelled=True)
            for key, value in node.documents.items():
                try:
                    store.set(key, value, expect=ABSENT)
                    written.append(key)
                except Conflict:
                    if store.get(key) != value:
                        raise
        if verify:
            _verify(plan, progress, cancelled, scheduler)
    except Cancelled:
        return Result(0, 0, 0, plan.chunks, verified=False, cancelled=True)
    except (BadChunk, Conflict) as error:
        for key in reversed(written):
            store.erase(key)
        if isinstance(error, BadChunk):
            error.advice = "Zarr v2's documents and all chunks are as they were; the new documents were erased again."
        raise
    if remove:
        _need_no_fault(plan)
        _remove(plan)
    plan.source._nodes.forget()
    return Result(0, 0, 0, plan.chunks, verified=verify)


def _verify(
    plan: ConversionPlan,
    progress: Callable[[ConversionProgress], None] | None,
    cancelled: Callable[[], bool],
    scheduler: Scheduler | None,
) -> None:
    made = open_hierarchy(plan.source.store, dialect="v3")
    passed = 0
    executor = executor_for(scheduler)
    try:
        for node in plan.nodes:
            if node.array is None:
                continue
            target = made.open_node(node.target)
            if not isinstance(target, Array) or target.shape != node.array.shape:
                raise Conflict(f"{node.target} differs from the written document", store=plan.source.url)

            def done(some: WorkCount, node: NodePlan = node) -> None:
                nonlocal passed
                passed += some.chunks
                if progress is not None:
                    progress(ConversionProgress("verifying", node.path, passed, plan.chunks))

            work = ArrayWork(node.array, target)
            executor.run(work.compare, work.regions(written=True), done, cancelled, work.region_bytes)
    finally:
        executor.close()


def _need_no_fault(plan: ConversionPlan) -> None:
    """Raises Refused if a stored v3 document breaks the registered schemas, so that readers which refuse it can still
    use v2's documents."""
    store, made = plan.source.store, dialect_named("v3")
    for path in ["/", *(path for path, _ in open_hierarchy(store, dialect="v3").walk())]:
        for key, (pointer, problem) in made.faults({**fetch(store, made.documents(path))}):
            raise Refused(
                f"Other readers would refuse the new document: {pointer or 'it'} {problem}",
                store=store.url,
                key=key,
                pointer=pointer or None,
                advice="Zarr v2's documents are kept and can still be read. Correct the new document first.",
            )


def _remove(plan: ConversionPlan) -> None:
    """Removes the v2 documents of every v3 node, children before parents, and .zattrs after .zarray or .zgroup: if the
    process is killed, each v2 node is either unchanged or gone."""
    store, former = plan.source.store, dialect_named("v2")
    paths = ["/", *(path for path, _ in open_hierarchy(store, dialect="v3").walk())]
    for path in sorted(paths, key=lambda path: -path.rstrip("/").count("/")):
        for key in sorted(
            former.documents(path), key=lambda key: (key.endswith(".zattrs"), not key.endswith(".zmetadata"))
        ):
            store.erase(key)
