"""Rebuilds the levels of images in place; every image can be opened at any moment.

New levels are written under unused names, chunks before documents, and compared with the level above them. Then the
document of each image's group is saved in one atomic write; if somebody else changed it meanwhile, that is a Conflict.
Only then are the former levels erased. The finest level is never touched. A journal at the root of the store records
the run and is erased at the end: after a crash, running the same rebuild again continues where it stopped, before or
after the switch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from zarrscope.convert.copying import ConversionProgress, DestinationWriter, Result
from zarrscope.convert.levels import Pyramid, entries
from zarrscope.convert.planning import JOURNAL, JOURNAL_LIMIT, Amount, NodePlan, node_json
from zarrscope.convert.pyramids import PyramidPlanner
from zarrscope.dialects import Dialect
from zarrscope.errors import BadChunk, Conflict, NotFound, Refused, ZarrscopeError
from zarrscope.executors import executor_for
from zarrscope.executors.executor import Cancelled, Executor, Scheduler
from zarrscope.model.metadata import GroupMetadata
from zarrscope.model.node_path import clean_path, join_path, natural
from zarrscope.model.storage import never
from zarrscope.nodes.array import Array
from zarrscope.nodes.consolidated import follow
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope.nodes.hierarchy import Group, Hierarchy
from zarrscope.ome.metadata import resolve


@dataclass(frozen=True)
class Switch:
    """The change of one group: its multiscales before and after, and the arrays that are no longer referenced."""

    path: str
    before: list[Any]
    after: list[Any]
    named: Mapping[str, Sequence[str]]
    """The paths of the new levels, relative to the group, by the path of the finest level."""
    former: tuple[str, ...]
    notes: tuple[str, ...] = ()
    switched: bool = False
    """Whether an earlier run made the switch, so that only the old levels must be erased."""


@dataclass(frozen=True)
class Rebuild(Amount):
    """The plan for rebuilding levels. `plan_rebuild` makes it, `rebuild` carries it out."""

    source: Hierarchy
    path: str
    wanted: Pyramid
    nodes: tuple[NodePlan, ...]
    """The plans of the new levels, and of new groups that contain them."""
    switches: tuple[Switch, ...]

    @property
    def former(self) -> tuple[str, ...]:
        """The paths of the old levels, which are erased at the end."""
        return tuple(path for switch in self.switches for path in switch.former)

    @property
    def journal(self) -> bytes:
        """The JSON that is stored while the job runs. A run with other arguments has another journal, and so does not
        resume this one."""
        members = {
            "zarrscope": "levels that are being built again",
            "path": self.path,
            "pyramid": _form(self.wanted),
            "groups": {s.path: {"named": s.named, "former": s.former} for s in self.switches},
        }
        return json.dumps(members, indent=2, sort_keys=True).encode()

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON, for scripts: the same plan always gives the same text."""
        return {
            "source": self.source.url,
            "to": self.source.dialect.name,
            "chunks": self.chunks,
            "nbytes": self.nbytes,
            "nodes": [node_json(node) for node in self.nodes],
            "images": [
                {"path": s.path, "multiscales": s.after, "erased": [*s.former], "notes": [*s.notes]}
                for s in self.switches
            ],
        }


def _form(wanted: Pyramid) -> dict[str, Any]:
    form: dict[str, Any] = json.loads(json.dumps(asdict(wanted)))
    return form


def plan_rebuild(hierarchy: Hierarchy, wanted: Pyramid, path: str = "/") -> Rebuild:
    """Plans new levels, in place, for the images at `path` and beneath it; reads documents only.

    If an earlier run was cut short, the plan contains only its remaining work. Raises NotFound, ReadOnly, Refused
    (there is no image, or the node is a plain array), Conflict (another rebuild was begun and not finished).
    """
    path = clean_path(path)
    hierarchy._nodes.need_writing(JOURNAL)
    begun = _begun(hierarchy, wanted, path)
    node = hierarchy.open_node(path)
    if isinstance(node, Array):
        raise Refused(
            "An array can become an image only at a new place, because the image is a group around it",
            store=hierarchy.url,
            advice="Name a destination.",
        )
    planner = _RebuildPlanner(hierarchy, wanted, begun)
    planner.group(node)
    if not planner.switches:
        reason = next(iter(planner.notes), None)
        raise Refused("There is no image to build levels for" + (f": {reason}" if reason else ""), store=hierarchy.url)
    return Rebuild(hierarchy, path, wanted, tuple(planner.nodes), tuple(planner.switches))


def _begun(hierarchy: Hierarchy, wanted: Pyramid, path: str) -> Mapping[str, Any]:
    """The groups in the journal of an interrupted run; empty if there is no journal. Raises Conflict for the journal of
    another plan."""
    found = hierarchy.store.get(JOURNAL, None, JOURNAL_LIMIT)
    if found is None:
        return {}
    try:
        journal = json.loads(found)
        if journal["path"] == path and journal["pyramid"] == _form(wanted):
            groups: dict[str, Any] = journal["groups"]
            return groups
    except (ValueError, KeyError, TypeError):
        pass
    raise Conflict(
        "Another rebuild or conversion was begun there and not finished",
        store=hierarchy.url,
        key=JOURNAL,
        advice="Run it again with the same arguments; only then begin another.",
    )


class _RebuildPlanner:
    def __init__(self, hierarchy: Hierarchy, wanted: Pyramid, begun: Mapping[str, Any]) -> None:
        self.hierarchy, self.wanted, self.begun = hierarchy, wanted, begun
        self.tree = hierarchy.tree()
        self.nodes: list[NodePlan] = []
        self.switches: list[Switch] = []
        self.notes: list[str] = []

    def group(self, group: Group) -> None:
        before = entries(group.attributes)
        arrays: set[str] = set()
        if before:
            arrays = {place for p in _paths(before) if (place := resolve(group.path, p)) is not None}
            self._image(group, before)
        for name in sorted((child.name for child in group.children(tree=self.tree)), key=natural):
            path = join_path(group.path, name)
            if path in arrays:
                continue
            with suppress(ZarrscopeError):  # a node that does not open is not an image to rebuild
                node = self.hierarchy.open_node(path)
                if isinstance(node, Group):
                    self.group(node)

    def _image(self, group: Group, before: list[Any]) -> None:
        begun = self.begun.get(group.path)
        named: Mapping[str, Sequence[str]] = begun["named"] if begun is not None else {}
        former = tuple(begun["former"]) if begun is not None else ()
        paths = _paths(before)
        there = {resolve(group.path, path) for path in paths}
        if begun is not None and {n for names in named.values() for n in names} <= paths and not there & {*former}:
            left = ("Only the former levels remain to be erased",)
            self.switches.append(Switch(group.path, before, before, named, former, left, switched=True))
            return
        dialect = self.hierarchy._nodes.dialect_of(group)  # in a folder of several hierarchies, each has its own
        pyramids = PyramidPlanner(dialect, self.wanted, named)
        notes: list[str] = []
        after = entries(pyramids.rebuild(group, group.attributes, group.path, notes))
        self.notes += notes
        if not pyramids.built:
            return
        for finest, built in pyramids.built.items():
            array = self.hierarchy.open_node(finest)
            assert isinstance(array, Array)
            if array.problem is not None:
                raise array.problem
            separator = array.metadata.keys.separator if dialect.wanted_separator else None
            for made in pyramids.levels(finest, finest, array.metadata, separator):
                self._groups_above(built.target, made.target, dialect)
                documents = dialect.write(made.target, made.metadata, {})
                key = dialect.attributes_at(made.target, "array")[0]
                self.nodes.append(
                    NodePlan(finest, made.target, "built", documents, key, None, made.metadata, level=made.level)
                )
        names = {finest: [step.path for step in built.steps] for finest, built in pyramids.built.items()}
        former = tuple(sorted(pyramids.dropped - set(pyramids.built), key=natural))
        self.switches.append(Switch(group.path, before, after, names, former, tuple(notes)))

    def _groups_above(self, image: str, level: str, dialect: Dialect) -> None:
        place = image
        for name in level[len(image.rstrip("/")) :].split("/")[1:-1]:
            place = join_path(place, name)
            if place not in self.hierarchy and all(node.target != place for node in self.nodes):
                documents = dialect.write(place, GroupMetadata(dialect.name), {})
                key = dialect.attributes_at(place, "group")[0]
                self.nodes.append(NodePlan(image, place, "group", documents, key))


def _paths(listed: Sequence[Any]) -> set[str]:
    return {
        dataset["path"]
        for entry in listed
        if isinstance(entry, Mapping)
        for dataset in entry.get("datasets") or ()
        if isinstance(dataset, Mapping) and isinstance(dataset.get("path"), str)
    }


def rebuild(
    plan: Rebuild,
    *,
    verify: bool = True,
    progress: Callable[[ConversionProgress], None] | None = None,
    cancelled: Callable[[], bool] = never,
    scheduler: Scheduler | None = None,
    remove: Callable[[str], object] | None = None,
) -> Result:
    """Builds the new levels, compares them, switches to them and erases the former levels. Arguments as for `run`.

    `remove(path)` removes a former level instead of erasing it, for example into the trash; `undo` can then restore it.

    Raises Conflict (somebody else changed an image's metadata meanwhile, so it stays as it is), BadChunk (the finest
    level cannot be read, or changed while it was read; nothing was switched), ReadOnly, Unreadable.
    """
    executor = executor_for(scheduler)
    try:
        return _RebuildRun(plan, executor, progress, cancelled, remove or plan.source.erase).go(verify)
    finally:
        executor.close()


def undo(plan: Rebuild, restore: Callable[[str], object], remove: Callable[[str], object]) -> None:
    """Undoes a rebuild: `restore(path)` brings back each former level, then the metadata are restored, and at the end
    `remove(path)` removes each new level. The image can be opened at any moment.

    Raises Conflict if the image's metadata were changed since the rebuild. The image then keeps its present metadata
    and all levels.
    """
    for path in plan.former:
        if path not in plan.source:
            restore(path)
    for switch in plan.switches:
        _put_entries(plan.source, switch.path, switch.after, switch.before)
    for node in reversed(plan.nodes):
        with suppress(NotFound):
            remove(node.target)


class _RebuildRun(DestinationWriter):
    def __init__(
        self,
        plan: Rebuild,
        executor: Executor,
        progress: Callable[[ConversionProgress], None] | None,
        cancelled: Callable[[], bool],
        remove: Callable[[str], object],
    ) -> None:
        super().__init__(plan.source.store, plan.nodes, executor, progress, cancelled)
        self.plan, self.remove = plan, remove

    def go(self, verify: bool) -> Result:
        hierarchy = self.plan.source
        self.begin(self.plan.journal, empty=False)
        try:
            for node in self.nodes:
                if node.metadata is not None:
                    self.chunks(node)
                self.documents(node)
                follow(hierarchy._nodes, node.documents)
            if verify:
                self._verify()
            self.store.bulk.flush()
            for switch in self.plan.switches:
                self.check()
                if not switch.switched:
                    self._switch(switch)
            self._erase()
            self.store.erase(JOURNAL)
        except Cancelled:
            return self.result(verified=False, cancelled=True)
        return self.result(verified=verify, cancelled=False)

    def _verify(self) -> None:
        try:
            self.verify()
        except BadChunk as error:
            for node in self.nodes:
                with suppress(NotFound):
                    self.plan.source.erase(node.target)
            self.store.erase(JOURNAL)
            error.advice = "The image is unchanged: its finest level may have changed meanwhile. Run it again."
            raise

    def _switch(self, switch: Switch) -> None:
        _put_entries(self.plan.source, switch.path, switch.before, switch.after)

    def _erase(self) -> None:
        for path in self.plan.former:
            with suppress(NotFound):
                self.remove(path)


def _put_entries(hierarchy: Hierarchy, path: str, before: Sequence[Any], after: Sequence[Any]) -> None:
    """Replaces the multiscales `before` by `after`, in one save. Raises Conflict if others are stored now."""
    document = hierarchy.document(path)
    pointer = attributes_pointer(hierarchy, path)
    pointer += "/ome/multiscales" if document.has(pointer + "/ome/multiscales") else "/multiscales"
    if not document.has(pointer) or document.get(pointer) != before:
        raise Conflict(
            f"The multiscales of {path} were changed meanwhile",
            store=hierarchy.url,
            key=document.key,
            pointer=pointer,
            advice="The new levels exist, but the image still uses the former ones. Run it again.",
        )
    for i, (old, new) in enumerate(zip(before, after, strict=True)):
        for member in new:
            if old.get(member) != new[member]:
                document = document.set(f"{pointer}/{i}/{member}", new[member])
        for member in old.keys() - new.keys():
            document = document.remove(f"{pointer}/{i}/{member}")
    hierarchy.save(path, document)
