"""Actions on a whole hierarchy, or on a part of it: write consolidated metadata, convert."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from zarrscope import convert
from zarrscope.dialects import dialect_named, written_dialects
from zarrscope.errors import Conflict
from zarrscope.model.storage import ABSENT, Version
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope.stores.dry_run import Operation
from zarrscope.stores.local.paths import path_of
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.formats import name_of
from zarrscope_app.presenters.jobs import Report
from zarrscope_app.presenters.nodes import words
from zarrscope_app.presenters.nodes.acts import (
    NOT_REFUSED,
    Act,
    ActField,
    ActPlace,
    ActResult,
    FieldRefusal,
    Fields,
    IsCancelled,
    PlannedAct,
    Undo,
)
from zarrscope_app.presenters.nodes.images import progress_of

ENDINGS = {"n5": ".n5"}
"""The usual endings of folder names by dialect; ".zarr" for all others."""


class Consolidate(Act):
    """Writes consolidated metadata at the root: for the whole hierarchy, even if another node is selected."""

    id = "consolidate"
    roots = True
    saved_first = False

    def fields(self, place: ActPlace) -> Fields:
        return ()

    def plan(self, place: ActPlace, given: Mapping[str, str], cancelled: IsCancelled) -> PlannedAct:
        planned = super().plan(place, given, cancelled)
        there = words.CONSOLIDATED if place.hierarchy.consolidated else ""
        said = " ".join(part for part in (words.CONSOLIDATE, there, planned.sentence) if part)
        return PlannedAct(planned.lines, said, planned.undo, planned.final)

    def do(self, place: ActPlace, given: Mapping[str, str], report: Report, cancelled: IsCancelled) -> ActResult:
        hierarchy = place.hierarchy
        log: list[Operation] = []
        hierarchy.dry_run(log).consolidate(cancelled)
        keys = [each.key for each in log if each.act == "set"]
        before = {key: hierarchy.store.get_versioned(key) for key in keys}
        if hierarchy.consolidate(cancelled) is None:
            return ActResult(place.path, sentence=words.NOT_CONSOLIDATED, cancelled=True)
        after = {key: hierarchy.store.get_versioned(key) for key in keys}

        def back(hierarchy: Hierarchy) -> str:
            for key in keys:
                _put_back(hierarchy, key, before[key], after[key])
            return place.path

        return ActResult(place.path, undo=Undo(words.undoing(self.id, ""), back))


def _put_back(
    hierarchy: Hierarchy, key: str, before: tuple[bytes, Version] | None, after: tuple[bytes, Version] | None
) -> None:
    """Restores the former value of a key. Raises Conflict if another program has stored a new one since."""
    now = hierarchy.store.get_versioned(key)
    if (None if now is None else now[0]) != (None if after is None else after[0]):
        raise Conflict(words.CHANGED_SINCE, store=hierarchy.url, key=key)
    if before is None:
        hierarchy.store.erase(key)
    else:
        hierarchy.store.set(key, before[0], expect=ABSENT if now is None else now[1])


class Convert(Act):
    """Writes the selected node, and everything beneath it, to another address, in any of the formats that can be
    written."""

    id = "convert"
    writes_here = False
    roots = True

    def fields(self, place: ActPlace) -> Fields:
        names = [name for name in written_dialects() if name != name_of(place.hierarchy, place.node)]
        chosen = names[0]
        named = tuple((name, dialect_named(name).title) for name in names)
        return (
            ActField("format", words.FORMAT, chosen, "choice", named),
            ActField("to", words.TARGET, self._proposed(place, chosen), "folder"),
        )

    def described(self, place: ActPlace, fields: Fields) -> Fields:
        """Proposes another folder for another format, unless a person has typed one."""
        given = {field.id: field.text for field in fields}
        if given["to"] not in {self._proposed(place, name) for name in written_dialects()}:
            return fields
        to = self._proposed(place, given["format"])
        return tuple(replace(field, text=to) if field.id == "to" else field for field in fields)

    @staticmethod
    def _proposed(place: ActPlace, dialect: str) -> str:
        url = place.hierarchy.url
        here = os.path.split(path_of(url).rstrip(os.sep)) if url.startswith("file:") else None
        folder, name = here if here is not None else (os.path.expanduser("~"), "converted")
        stem, former = words.split_ending(name)
        ending = ENDINGS.get(dialect, ".zarr")
        if place.name:  # a part of an image
            stem = f"{stem}-{place.name}"
        elif former.lower() == f".ome{ending}":
            ending = former
        for number in range(1, 1000):
            target = os.path.join(folder, f"{stem}-{dialect}{f'-{number}' if number > 1 else ''}{ending}")
            if not os.path.lexists(target) or is_unfinished(target):
                break
        return target

    def refused(self, place: ActPlace, given: Mapping[str, str]) -> FieldRefusal:
        return NOT_REFUSED if given.get("to") else ("to", strings.NEW_PLACE)

    def at_fault(self, error: BaseException) -> str:
        return "format" if isinstance(error, _Losses) else "to"

    def mark(self, place: ActPlace, given: Mapping[str, str]) -> tuple[str, str]:
        return words.FINAL_CONVERT, ""

    def plan(self, place: ActPlace, given: Mapping[str, str], cancelled: IsCancelled) -> PlannedAct:
        made = self._plan(place, given)
        lines = [
            words.node_line(node.how, node.target, getattr(node.metadata, "shape", None), node.nbytes)
            for node in made.nodes
        ]
        if made.losses:
            raise _Losses(made)
        said = words.converting(made.dialect.title, len(made.nodes), made.chunks, made.nbytes)
        if is_unfinished(_place_of(made)):
            said = f"{said} {words.GOES_ON}"
        undo, final = self.mark(place, given)
        return PlannedAct(tuple(lines), said, undo, final)

    def do(self, place: ActPlace, given: Mapping[str, str], report: Report, cancelled: IsCancelled) -> ActResult:
        made = self._plan(place, given)
        result = convert.run(made, progress=progress_of(report), cancelled=cancelled)
        if result.cancelled:
            return ActResult(place.path, sentence=words.unfinished(_place_of(made)), cancelled=True)
        return ActResult(place.path, sentence=words.written(_place_of(made)))

    @staticmethod
    def _plan(place: ActPlace, given: Mapping[str, str]) -> convert.ConversionPlan:
        target = os.path.expanduser(given["to"])
        return convert.plan(place.hierarchy, target, given["format"], path=place.path)


def is_unfinished(folder: str) -> bool:
    """Whether a conversion into this folder was begun and not finished: it has a journal."""
    return os.path.lexists(os.path.join(folder, convert.JOURNAL))


def _place_of(plan: convert.ConversionPlan) -> str:
    """The destination as a person writes it: a path if it is on this computer."""
    return path_of(plan.destination) if plan.destination.startswith("file:") else plan.destination


class _Losses(Conflict):
    """The losses of a conversion, raised as an error, because this action does not carry out a plan with losses."""

    def __init__(self, plan: convert.ConversionPlan) -> None:
        shown = " ".join(str(loss) for loss in plan.losses[:5])
        super().__init__(f"{words.lost(len(plan.losses))} {shown}", store=plan.source.url)
