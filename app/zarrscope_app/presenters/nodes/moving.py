"""Actions on an existing node: move, rename, copy, erase."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from zarrscope.model.node_path import clean_path, join_path
from zarrscope.nodes import move as moving
from zarrscope.nodes import trash
from zarrscope.nodes.edit import vanished, vanishing
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope.nodes.internals import node_context
from zarrscope_app.presenters import strings
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
    Undo,
)
from zarrscope_app.presenters.nodes.creating import erase_empty, missing_groups


class Move(Act):
    """Moves a node to another path."""

    id = "move"

    def fields(self, place: ActPlace) -> Fields:
        return (ActField("to", words.NEW_PLACE, place.path),)

    def refused(self, place: ActPlace, given: Mapping[str, str]) -> FieldRefusal:
        return new_place(place, given)

    def do(self, place: ActPlace, given: Mapping[str, str], report: Report, cancelled: IsCancelled) -> ActResult:
        above = missing_groups(place.hierarchy, given["to"], place.path)
        moved = moving.move(place.hierarchy, place.path, given["to"], cancelled=cancelled, progress=_progress(report))
        if moved.cancelled:
            erase_empty(place.hierarchy, above)
            said = words.copies_remain(moved.to) if moved.remains else words.not_moved(place.name)
            return ActResult(place.path, sentence=said, cancelled=True)

        def back(hierarchy: Hierarchy) -> str:
            came = moving.move(hierarchy, moved.to, moved.path).to
            erase_empty(hierarchy, above)
            return came

        undo = Undo(words.undoing(self.id, place.name), back)
        return ActResult(clean_path(given["to"]), moved=True, notes=moved.notes, undo=undo)


class Rename(Move):
    """Gives a node another name in its group. Slashes around the typed name are left out."""

    id = "rename"

    def fields(self, place: ActPlace) -> Fields:
        return (ActField("to", words.NEW_NAME, place.name),)

    def refused(self, place: ActPlace, given: Mapping[str, str]) -> FieldRefusal:
        name = given.get("to", "").strip("/")
        if not name or name == place.name:
            return "to", words.OTHER_NAME
        return ("to", words.NAME_WITH_SLASH) if "/" in name else NOT_REFUSED

    def do(self, place: ActPlace, given: Mapping[str, str], report: Report, cancelled: IsCancelled) -> ActResult:
        to = join_path(place.path.rpartition("/")[0], given["to"].strip("/"))
        return super().do(place, {"to": to}, report, cancelled)


class Copy(Act):
    """Copies a node to another path, byte for byte."""

    id = "copy"

    def fields(self, place: ActPlace) -> Fields:
        proposed = join_path(place.path.rpartition("/")[0], words.copy_name(place.name))
        return (ActField("to", words.NEW_PLACE, proposed),)

    def refused(self, place: ActPlace, given: Mapping[str, str]) -> FieldRefusal:
        return new_place(place, given)

    def mark(self, place: ActPlace, given: Mapping[str, str]) -> tuple[str, str]:
        return (words.UNDO, "") if trash.available(place.hierarchy) else ("", words.FINAL_COPY)

    def do(self, place: ActPlace, given: Mapping[str, str], report: Report, cancelled: IsCancelled) -> ActResult:
        above = missing_groups(place.hierarchy, given["to"])
        copied = moving.copy(place.hierarchy, place.path, given["to"], cancelled=cancelled, progress=_progress(report))
        if copied.cancelled:
            erase_empty(place.hierarchy, above)
            said = words.copies_remain(copied.to) if copied.remains else words.NOT_COPIED
            return ActResult(place.path, sentence=said, cancelled=True)

        def back(hierarchy: Hierarchy) -> str:
            trash.put(hierarchy, copied.to)
            erase_empty(hierarchy, above)
            return copied.path

        undo = Undo(words.undoing(self.id, place.name), back) if trash.available(place.hierarchy) else None
        return ActResult(clean_path(given["to"]), notes=copied.notes, undo=undo)


class Remove(Act):
    """Moves a node into the trash if there is one, otherwise erases it for good."""

    id = "remove"
    danger = True

    def fields(self, place: ActPlace) -> Fields:
        there = trash.available(place.hierarchy)
        hint = words.TRASH_HINT if there else words.NO_TRASH
        return (ActField("trash", words.TRASH, "yes", "flag", hint=hint),) if there else ()

    def mark(self, place: ActPlace, given: Mapping[str, str]) -> tuple[str, str]:
        if given.get("trash"):
            return words.UNDO_REMOVE, ""
        return "", strings.joined(words.FINAL_ERASE, "" if trash.available(place.hierarchy) else words.NO_TRASH)

    def do(self, place: ActPlace, given: Mapping[str, str], report: Report, cancelled: IsCancelled) -> ActResult:
        if given.get("trash"):
            thrown = trash.put(place.hierarchy, place.path)

            def back(hierarchy: Hierarchy) -> str:
                return trash.restore(hierarchy, trash.identify(hierarchy, thrown.id, thrown.path)).path

            undo = Undo(words.undoing(self.id, place.name), back)
            return ActResult(None, moved=True, notes=thrown.notes, sentence=words.thrown(place.name), undo=undo)
        above = vanishing(node_context(place.hierarchy), place.path)
        place.hierarchy.erase(place.path)
        return ActResult(None, moved=True, notes=vanished(node_context(place.hierarchy), above))


def new_place(place: ActPlace, given: Mapping[str, str]) -> FieldRefusal:
    """The reason why a node cannot be put at the typed path; NOT_REFUSED if it can."""
    to = given.get("to", "").strip("/")
    return ("to", strings.NEW_PLACE) if not to or to == place.path.strip("/") else NOT_REFUSED


def _progress(report: Report) -> Callable[[moving.MoveProgress], None]:
    def progress(state: moving.MoveProgress) -> None:
        report(None, words.carried(state.doing, state.done))

    return progress
